/* http_parse.c - requests as kubelets, Prometheus and the API server send them, and others. */
#include "http/http_parse.h"

#include <string.h>

#include "base/cleanup.h"
#include "base/tap.h"

static struct http_request rq;

static long parse(const char *text)
{
    return http_parse(text, strlen(text), 100, &rq);
}

static void good(void)
{
    static const char probe[] = "GET /healthz?x=1 HTTP/1.1\r\nHost: 10.0.0.1:8081\r\n"
                                "User-Agent: kube-probe/1.34\r\nConnection: close\r\n\r\n";
    static const char post[] = "POST /validate HTTP/1.1\nhost: h\ncontent-length:  5 \n\nabcdeGET";

    is_int(parse(probe), sizeof(probe) - 1, "a probe");
    is_str(rq.method, "GET", "its method");
    is_str(rq.path, "/healthz", "its path, without the query");
    ok(!rq.keep && rq.body_len == 0, "the connection is closed");
    is_int(parse(post), sizeof(post) - 1 - 3, "a body; the next request begins after it");
    ok(rq.keep && rq.body_len == 5 && memcmp(rq.body, "abcde", 5) == 0, "is found");
    for (size_t i = 0; i < sizeof(post) - 4; i++)
        if (http_parse(post, i, 100, &rq) != 0)
            ok(false, "%zu bytes of it are not enough", i);
    ok(parse("GET / HTTP/1.0\r\n\r\n") > 0 && !rq.keep, "HTTP/1.0 closes");
    ok(parse("GET / HTTP/1.0\r\nConnection: x, Keep-Alive\r\n\r\n") > 0 && rq.keep,
       "unless it says otherwise");
    ok(parse("GET / HTTP/1.1\r\nConnection: upgrade ,\tclose\r\n\r\n") > 0 && !rq.keep,
       "HTTP/1.1 stays, unless it says otherwise");
    ok(parse("POST / HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 1\r\n\r\nx") > 0,
       "the same length twice");
}

static void headers(void)
{
    ok(parse("PUT /a%20b?x=1&y=%41 HTTP/1.1\r\nHost: h:80\r\nAuthorization: bearer abc\r\n"
             "Content-Type: application/json\r\nIf-None-Match: \"e\"\r\nLast-Event-ID: 7\r\n"
             "Expect: 100-Continue\r\n\r\n") > 0,
       "a request with headers");
    is_str(rq.path, "/a%20b", "its path as it was sent");
    is_str(rq.query, "x=1&y=%41", "its query likewise");
    is_str(rq.host, "h:80", "its host");
    is_str(rq.token, "abc", "its token");
    is_str(rq.type, "application/json", "its type");
    is_str(rq.matches, "\"e\"", "its ETag");
    is_str(rq.last_event, "7", "its last event");
    ok(rq.expects, "the client waits before it sends the body");
    ok(parse("GET / HTTP/1.1\r\nAuthorization: Basic abc\r\n\r\n") > 0 && !*rq.token && !*rq.host,
       "another kind of authorization is none");
    is_int(http_parse_head("GET / HTTP/1.1\nContent-Length: 9\n\nab", 36, 10, &rq), 34,
           "the head alone");
    is_int((long)rq.body_len, 9, "and what will come");
}

static void bad(void)
{
    static const struct {
        int status;
        const char *text;
    } cases[] = {
        {400, "\r\n"},
        {400, "GET\r\n"},
        {400, "GET /\r\n"},
        {400, "GET http://h/ HTTP/1.1\r\n"},
        {400, "G(T / HTTP/1.1\r\n"},
        {400, "GET / HTTP/1.1 x\r\n"},
        {400, "GET /\001 HTTP/1.1\r\n"},
        {505, "GET / HTTP/2.0\r\n"},
        {505, "GET / HTTP/1.9\r\n"},
        {501, "PROPFINDPROPFIND / HTTP/1.1\r\n"},
        {400, "GET / HTTP/1.1\r\nNo colon\r\n"},
        {400, "GET / HTTP/1.1\r\nName : x\r\n"},
        {400, "GET / HTTP/1.1\r\nA: b\r\n folded\r\n"},
        {400, "GET / HTTP/1.1\r\nContent-Length:\r\n"},
        {400, "GET / HTTP/1.1\r\nContent-Length: -1\r\n"},
        {400, "GET / HTTP/1.1\r\nContent-Length: 1,1\r\n"},
        {400, "GET / HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 2\r\n"},
        {400, "GET / HTTP/1.1\r\nHost: a\r\nHost: a\r\n"},
        {413, "GET / HTTP/1.1\r\nContent-Length: 99999999999999999999\r\n"},
        {413, "GET / HTTP/1.1\r\nContent-Length: 101\r\n\r\n"},
        {501, "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n"},
        {400, "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\nContent-Length: 3\r\n\r\n"},
    };
    static char large[LIMIT_HTTP_HEAD_BYTES + 100];

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
        is_int(parse(cases[i].text), -cases[i].status, "refused: case %zu", i);
    memset(large, 'x', sizeof(large) - 1);
    memcpy(large, "GET / HTTP/1.1\r\nA: ", 19);
    is_int(parse(large), -431, "a head without an end");
    memset(large, 'x', sizeof(large) - 1);
    memcpy(large, "GET /", 5);
    large[600] = '\0';
    is_int(parse(large), 0, "a long path may still come to its end");
    memcpy(large + 590, " HTTP/1.1\n", 10);
    is_int(parse(large), -414, "but is refused");
    memset(large, 'x', sizeof(large) - 1);
    memcpy(large, "GET /?", 6);
    memcpy(large + 2100, " HTTP/1.1\n", 11);
    is_int(parse(large), -414, "so is a long query");
    memset(large, 'x', sizeof(large) - 1);
    memcpy(large, "GET / HTTP/1.1\nAuthorization: Bearer ", 37);
    memcpy(large + 400, "\n\n", 3);
    is_int(parse(large), -431, "and a long token");
    is_int(http_parse("GET /\0 HTTP/1.1\n\n", 17, 0, &rq), -400, "a NUL");
}

int main(void)
{
    good();
    headers();
    bad();
    return tap_done();
}
