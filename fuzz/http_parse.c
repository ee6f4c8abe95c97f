/* http_parse.c - fuzzes the reader of HTTP requests, whose bytes come from the network.
 *
 * A request that is complete is so with exactly its bytes and with none less; what is refused stays
 * refused, whatever follows. */
#include <string.h>

#include "common.h"
#include "http/http_parse.h"

enum { BODY = 64 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *text = (const char *)data;
    struct http_request rq, again;
    long whole = http_parse(text, size, BODY, &rq), before = 0;

    MUST(whole <= (long)size && *http_reason(whole < 0 ? (int)-whole : 200) != 'U');
    for (size_t n = 0; n <= size; n++) {
        long now = http_parse(text, n, BODY, &again);

        MUST(before == 0 || now == before); /* it was known already */
        MUST(now <= 0 || (size_t)now <= n);
        before = now;
    }
    MUST(before == whole);
    if (whole <= 0)
        return 0;
    MUST(http_parse(text, (size_t)whole - 1, BODY, &again) == 0);
    MUST(rq.body_len <= BODY && rq.body + rq.body_len == text + whole);
    MUST(http_parse_head(text, size, BODY, &again) == rq.body - text);
    MUST(strlen(rq.method) > 0 && rq.path[0] == '/');
    return 0;
}
