/* secret_lines.c - fuzzes what hides the secrets of a job file before it is shown.
 *
 * Lines stay where they are, a text without a key of secrets stays as it is, and what was
 * hidden once needs no hiding. */
#include <string.h>

#include "common.h"
#include "base/strbuf.h"
#include "dialect/secret_lines.h"

static size_t lines_of(const char *text, size_t n)
{
    size_t lines = 0;

    for (size_t i = 0; i < n; i++)
        lines += text[i] == '\n';
    return lines;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *text = (const char *)data;
    bool any = memmem(text, size, "secrets", 7) || memmem(text, size, "auth", 4) ||
               memmem(text, size, "Secret", 6);

    for (int json = 0; json < 2; json++) {
        auto_strbuf struct strbuf once = STRBUF_INIT, twice = STRBUF_INIT;

        mask_secret_lines(text, size, json, &once);
        if (!json)
            MUST(lines_of(once.buf, once.len) == lines_of(text, size));
        if (!any)
            MUST(once.len == size && memcmp(once.buf, text, size) == 0);
        mask_secret_lines(once.buf, once.len, json, &twice);
    }
    return 0;
}
