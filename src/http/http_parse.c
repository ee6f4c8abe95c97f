/* http_parse.c - see http_parse.h. */
#include "http/http_parse.h"

#include <ctype.h>
#include <stdint.h>
#include <string.h>
#include <strings.h>

#include "base/cleanup.h"

struct head { /* what its lines have said */
    bool http_1_0, has_length, has_host, chunked, close, keep;
    uint64_t length;
};

const char *http_reason(int status)
{
    static const struct {
        int status;
        const char *text;
    } reasons[] = {
        {200, "OK"},
        {201, "Created"},
        {202, "Accepted"},
        {204, "No Content"},
        {304, "Not Modified"},
        {400, "Bad Request"},
        {401, "Unauthorized"},
        {403, "Forbidden"},
        {404, "Not Found"},
        {405, "Method Not Allowed"},
        {408, "Request Timeout"},
        {409, "Conflict"},
        {410, "Gone"},
        {413, "Content Too Large"},
        {414, "URI Too Long"},
        {421, "Misdirected Request"},
        {422, "Unprocessable Content"},
        {429, "Too Many Requests"},
        {431, "Request Header Fields Too Large"},
        {500, "Internal Server Error"},
        {501, "Not Implemented"},
        {503, "Service Unavailable"},
        {505, "HTTP Version Not Supported"},
    };

    for (size_t i = 0; i < ARRAY_SIZE(reasons); i++)
        if (reasons[i].status == status)
            return reasons[i].text;
    return "Unknown";
}

/* --- lines ------------------------------------------------------------------------------------ */

/* The line at *at, without its end; false if it has none yet. */
static bool next_line(const char *bytes, size_t n, size_t *at, const char **ret, size_t *ret_n)
{
    const char *line = bytes + *at, *end = memchr(line, '\n', n - *at);

    if (!end)
        return false;
    *ret = line;
    *ret_n = (size_t)(end - line);
    *at += *ret_n + 1;
    if (*ret_n > 0 && line[*ret_n - 1] == '\r')
        --*ret_n;
    return true;
}

static bool is_token(const char *text, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (!isalnum((unsigned char)text[i]) && (!text[i] || !strchr("!#$%&'*+-.^_`|~", text[i])))
            return false;
    return n > 0;
}

/* Control characters have no place in a head. */
static bool is_clean(const char *text, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if ((unsigned char)text[i] < ' ' && text[i] != '\t')
            return false;
    return true;
}

static bool copy(char *to, size_t room, const char *text, size_t n)
{
    if (n >= room)
        return false;
    memcpy(to, text, n);
    to[n] = '\0';
    return true;
}

/* METHOD /path?query HTTP/1.1: 0, or the status of its refusal. */
static int read_request_line(const char *line, size_t n, struct head *h, struct http_request *rq)
{
    const char *target = memchr(line, ' ', n), *version, *end = line + n, *query;
    size_t path;

    if (!target || !is_clean(line, n))
        return 400;
    target++;
    version = memchr(target, ' ', (size_t)(end - target));
    if (!version || !is_token(line, (size_t)(target - 1 - line)) || *target != '/')
        return 400;
    path = (size_t)(version - target);
    version++;
    if (end - version != 8 || memcmp(version, "HTTP/", 5) != 0)
        return 400;
    if (memcmp(version, "HTTP/1.", 7) != 0 || (version[7] != '0' && version[7] != '1'))
        return 505;
    h->http_1_0 = version[7] == '0';
    query = memchr(target, '?', path);
    if (query &&
        !copy(rq->query, sizeof(rq->query), query + 1, path - (size_t)(query + 1 - target)))
        return 414;
    if (query)
        path = (size_t)(query - target);
    if (!copy(rq->method, sizeof(rq->method), line, (size_t)(target - 1 - line)))
        return 501;
    return copy(rq->path, sizeof(rq->path), target, path) ? 0 : 414;
}

/* --- headers ---------------------------------------------------------------------------------- */

static int read_length(const char *text, size_t n, struct head *h)
{
    uint64_t value = 0;

    if (n == 0 || n > 15)
        return n ? 413 : 400;
    for (size_t i = 0; i < n; i++) {
        if (!isdigit((unsigned char)text[i]))
            return 400;
        value = value * 10 + (uint64_t)(text[i] - '0');
    }
    if (h->has_length && h->length != value)
        return 400;
    h->has_length = true;
    h->length = value;
    return 0;
}

/* Words separated by commas. */
static void read_connection(const char *text, size_t n, struct head *h)
{
    while (n > 0) {
        const char *comma = memchr(text, ',', n);
        size_t word = comma ? (size_t)(comma - text) : n, used = comma ? word + 1 : word;

        while (word > 0 && (*text == ' ' || *text == '\t')) {
            text++;
            word--;
            n--;
            used--;
        }
        while (word > 0 && (text[word - 1] == ' ' || text[word - 1] == '\t'))
            word--;
        h->close |= word == 5 && strncasecmp(text, "close", 5) == 0;
        h->keep |= word == 10 && strncasecmp(text, "keep-alive", 10) == 0;
        text += used;
        n -= used;
    }
}

static bool is_named(const char *name, size_t n, const char *as)
{
    return strlen(as) == n && strncasecmp(name, as, n) == 0;
}

/* A second Host could be read by somebody else in front of us. */
static int read_host(const char *text, size_t n, struct head *h, struct http_request *rq)
{
    if (h->has_host)
        return 400;
    h->has_host = true;
    return copy(rq->host, sizeof(rq->host), text, n) ? 0 : 400;
}

static int read_token(const char *text, size_t n, struct http_request *rq)
{
    if (n < 7 || strncasecmp(text, "Bearer ", 7) != 0)
        return 0;
    return copy(rq->token, sizeof(rq->token), text + 7, n - 7) ? 0 : 431;
}

static int read_text(const char *name, size_t name_n, const char *text, size_t n,
                     struct http_request *rq)
{
    const struct {
        const char *name;
        char *to;
        size_t room;
    } texts[] = {
        {"content-type", rq->type, sizeof(rq->type)},
        {"if-none-match", rq->matches, sizeof(rq->matches)},
        {"last-event-id", rq->last_event, sizeof(rq->last_event)},
    };

    for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
        if (is_named(name, name_n, texts[i].name) && !copy(texts[i].to, texts[i].room, text, n))
            return 431;
    return 0;
}

static int read_header(const char *line, size_t n, struct head *h, struct http_request *rq)
{
    const char *colon = memchr(line, ':', n), *value;
    size_t name, left;

    if (!colon || !is_clean(line, n) || !is_token(line, (size_t)(colon - line)))
        return 400;
    name = (size_t)(colon - line);
    value = colon + 1;
    left = n - name - 1;
    while (left > 0 && (*value == ' ' || *value == '\t')) {
        value++;
        left--;
    }
    while (left > 0 && (value[left - 1] == ' ' || value[left - 1] == '\t'))
        left--;
    if (is_named(line, name, "content-length"))
        return read_length(value, left, h);
    if (is_named(line, name, "host"))
        return read_host(value, left, h, rq);
    if (is_named(line, name, "authorization"))
        return read_token(value, left, rq);
    if (is_named(line, name, "connection"))
        read_connection(value, left, h);
    rq->expects |=
        is_named(line, name, "expect") && left == 12 && strncasecmp(value, "100-continue", 12) == 0;
    h->chunked |= is_named(line, name, "transfer-encoding");
    return read_text(line, name, value, left, rq);
}

/* --- a request -------------------------------------------------------------------------------- */

/* Up to the empty line: its length, 0 or -STATUS. */
static long parse_head(const char *bytes, size_t n, struct head *h, struct http_request *rq)
{
    size_t at = 0, len, seen = n < LIMIT_HTTP_HEAD_BYTES ? n : LIMIT_HTTP_HEAD_BYTES;
    const char *line;
    bool first = true;
    int status = 0;

    while (next_line(bytes, seen, &at, &line, &len)) {
        if (len == 0 && !first)
            return (long)at;
        if (first)
            status = read_request_line(line, len, h, rq);
        else
            status = read_header(line, len, h, rq);
        if (status)
            return -status;
        first = false;
    }
    return n >= LIMIT_HTTP_HEAD_BYTES ? -431 : 0;
}

long http_parse_head(const char *bytes, size_t n, size_t body_limit, struct http_request *ret)
{
    struct head h = {0};
    struct http_request rq = {0};
    long head = parse_head(bytes, n, &h, &rq);

    if (head <= 0)
        return head;
    if (h.chunked)
        return h.has_length ? -400 : -501;
    if (h.length > body_limit)
        return -413;
    rq.keep = !h.close && (!h.http_1_0 || h.keep);
    rq.body = bytes + head;
    rq.body_len = (size_t)h.length;
    *ret = rq;
    return head;
}

long http_parse(const char *bytes, size_t n, size_t body_limit, struct http_request *ret)
{
    struct http_request rq;
    long head = http_parse_head(bytes, n, body_limit, &rq);

    if (head <= 0)
        return head;
    if (n - (size_t)head < rq.body_len)
        return 0;
    *ret = rq;
    return head + (long)rq.body_len;
}
