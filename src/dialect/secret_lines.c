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

/* --- a text without them ---------------------------------------------------------------------- */

#define MASK "***"

/* Where the value of a line begins: behind "- " and "key: ". The whole length: it has none. */
static size_t value_start(const char *line, size_t len)
{
    size_t at = indentation(line, len);

    while (at + 1 < len && line[at] == '-' && line[at + 1] == ' ') {
        at += 2;
        while (at < len && line[at] == ' ')
            at++;
    }
    for (size_t i = at; i < len; i++)
        if (line[i] == ':' && (i + 1 == len || line[i + 1] == ' ')) {
            i++;
            while (i < len && line[i] == ' ')
                i++;
            return i;
        }
    return at;
}

static bool is_blank(const char *text, size_t len)
{
    for (size_t i = 0; i < len; i++)
        if (text[i] != ' ' && text[i] != '\t' && text[i] != '\r')
            return false;
    return true;
}

/* block: the line belongs to a text of several lines, so that nothing in it is a key. Sets
 * it if the line begins one. */
static void mask_line(const char *line, size_t len, bool *block, size_t *block_indent,
                      struct strbuf *out)
{
    size_t indent = indentation(line, len);

    if (*block && !is_blank(line, len) && indent <= *block_indent)
        *block = false;
    size_t at = *block ? indent : value_start(line, len);
    if (is_blank(line + at, len - at)) {
        strbuf_add(out, line, len);
        return;
    }
    if (!*block && (line[at] == '|' || line[at] == '>')) {
        *block = true;
        *block_indent = indent;
        strbuf_add(out, line, len);
        return;
    }
    strbuf_add(out, line, at);
    strbuf_addstr(out,
                  *block ? MASK : "\"" MASK "\""); /* what is masked can still be read as YAML */
    /* a quoted value may go on in the next line, where nothing is a key either */
    if (!*block && (line[at] == '"' || line[at] == '\'') && line[len - 1] != line[at]) {
        *block = true;
        *block_indent = indent;
    }
}

static void mask_yaml(const char *p, size_t len, struct strbuf *out)
{
    const char *end = p + len;
    bool kube = memmem(p, len, "Secret", 6), hidden = false, block = false;
    size_t key_indent = 0, block_indent = 0;

    while (p < end) {
        size_t n = 0, brk = 0;

        while (p + n < end && !(brk = text_line_break(p + n, (size_t)(end - p) - n)))
            n++;
        if (hidden && !goes_on(p, n, key_indent))
            hidden = block = false;
        bool key = !hidden && has_key(p, n, kube);
        if (key) {
            hidden = true;
            key_indent = indentation(p, n);
        }
        if (hidden)
            mask_line(p, n, &block, &block_indent, out);
        else
            strbuf_add(out, p, n);
        strbuf_add(out, p + n, brk);
        p += n + brk;
    }
}

static size_t number_length(const char *p, const char *end)
{
    size_t n = 0;

    while (p + n < end && p[n] && strchr("0123456789+-.eE", p[n]))
        n++;
    return n > 0 && (*p == '-' || (*p >= '0' && *p <= '9')) ? n : 0;
}

/* Every literal from the key on, as far as its brackets go; a text whose brackets do not close is
 * hidden to its end. */
static void mask_json(const char *p, size_t len, struct strbuf *out)
{
    const char *end = p + len;
    bool kube = memmem(p, len, "Secret", 6);
    int depth = -1; /* of brackets inside of what is hidden; -1: nothing is */
    bool value = false;

    while (p < end) {
        if (*p == '"') {
            const char *q = p + 1;

            while (q < end && *q != '"')
                q += 1 + (*q == '\\');
            q = q < end ? q + 1 : end;
            const char *after = q;
            while (after < end && strchr(" \t\r\n", *after))
                after++;
            bool is_key = after < end && *after == ':';
            if (depth < 0 && is_key && has_key(p, (size_t)(after + 1 - p), kube)) {
                depth = 0;
                value = false;
            }
            if (depth >= 0 && !is_key) {
                strbuf_addstr(out, "\"" MASK "\"");
                value = true;
            } else {
                strbuf_add(out, p, (size_t)(q - p));
            }
            p = q;
        } else {
            if (depth >= 0 && strchr("{[", *p)) {
                depth++;
                value = true;
            } else if (depth > 0 && strchr("}]", *p)) {
                depth--;
            } else if (depth == 0 && value && strchr(",}]", *p)) {
                depth = -1;
            }
            size_t n = depth >= 0 ? number_length(p, end) : 0;
            if (n > 0) {
                strbuf_addstr(out, "\"" MASK "\"");
                value = true;
            } else {
                strbuf_addch(out, *p);
            }
            p += n ? n : 1;
        }
    }
}

void mask_secret_lines(const char *text, size_t len, bool json, struct strbuf *out)
{
    if (json)
        mask_json(text, len, out);
    else
        mask_yaml(text, len, out);
}
