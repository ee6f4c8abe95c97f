/* secret_lines.c - see secret_lines.h. Too many hidden lines cost a person a look into the file;
 * one too few shows a password. So a line counts as a key's wherever the word stands in it, and in
 * JSON, where no indentation can be trusted, what is hidden goes on to the end. */
#include "dialect/secret_lines.h"

#include <string.h>

#include "base/cleanup.h"
#include "doc/text.h"

/* Does the line hold one of the keys: the word, perhaps a quote and blanks, a colon? Values of a
 * Secret of Kubernetes stand below `data`, which is the end of other words. */
static bool has_key(const char *line, size_t len, bool kube)
{
    static const char *const keys[] = {"secrets", "auth", "stringData", "data"};

    for (size_t k = 0; k < (kube ? ARRAY_SIZE(keys) : 2); k++) {
        size_t n = strlen(keys[k]);
        const char *at = line, *end = line + len;

        while ((at = memmem(at, (size_t)(end - at), keys[k], n))) {
            bool ends_word =
                k == 3 && at > line && ((at[-1] | 0x20) >= 'a' && (at[-1] | 0x20) <= 'z');
            const char *p = at + n;

            while (p < end && strchr("\"' \t", *p) && *p)
                p++;
            if (p < end && *p == ':' && !ends_word)
                return true;
            at++;
        }
    }
    return false;
}

static size_t indentation(const char *line, size_t len)
{
    size_t n = 0;

    while (n < len && line[n] == ' ')
        n++;
    return n;
}

/* Does the line belong to what is hidden? A list may stand in its key's own column. */
static bool goes_on(const char *line, size_t len, size_t key_indent)
{
    size_t n = indentation(line, len);

    return n == len || n > key_indent || (n == key_indent && line[n] == '-');
}

void hide_secret_lines(const struct doc *doc, bool json, struct diags *ds)
{
    const char *p = doc->source, *end = p + doc->source_len;
    uint32_t first = 0; /* of the lines that are hidden, or 0 */
    size_t key_indent = 0;
    bool kube = memmem(p, doc->source_len, "Secret", 6);

    for (uint32_t n = 1; p < end; n++) {
        size_t len = 0, brk = 0;

        while (p + len < end && !(brk = text_line_break(p + len, (size_t)(end - p) - len)))
            len++;
        if (first && !json && !goes_on(p, len, key_indent)) {
            diags_hide_lines(ds, first, n - 1);
            first = 0;
        }
        if (!first && has_key(p, len, kube)) {
            first = n;
            key_indent = indentation(p, len);
        }
        p += len + brk;
    }
    if (first)
        diags_hide_lines(ds, first, UINT32_MAX);
}
