/* text.c - see text.h. */
#include "doc/text.h"

#include <string.h>

#include "base/utf8.h"

size_t text_line_break(const char *s, size_t n)
{
    if (s[0] == '\n')
        return 1;
    if (s[0] == '\r')
        return n > 1 && s[1] == '\n' ? 2 : 1;
    if ((unsigned char)s[0] < 0xc2) /* most of every text */
        return 0;
    if (n > 1 && memcmp(s, "\xc2\x85", 2) == 0)
        return 2;
    if (n > 2 && (memcmp(s, "\xe2\x80\xa8", 3) == 0 || memcmp(s, "\xe2\x80\xa9", 3) == 0))
        return 3;
    return 0;
}

/* JSON allows in strings whatever is no control character of ASCII. */
static bool allowed(uint32_t c, enum text_kind kind)
{
    if (c < 0x20)
        return c == '\t' || c == '\n' || c == '\r';
    return kind == TEXT_JSON || c < 0x7f || c == 0x85 ||
           (c >= 0xa0 && c <= 0xfffd && c != 0xfeff) || c >= 0x10000;
}

size_t text_check(const char *text, size_t len, enum text_kind kind, struct diags *ds)
{
    static const char utf16[] = "save the file as UTF-8";
    struct pos pos = {1, 1};
    size_t i = 0, step;

    for (uint32_t c = 0; i < len; i += step) {
        unsigned int byte = (unsigned char)text[i];
        size_t brk;

        if (byte >= 0x20 && byte < 0x7f) {
            step = 1;
            pos.column++;
            continue;
        }
        brk = text_line_break(text + i, len - i);
        if (brk) {
            pos = (struct pos){pos.line + 1, 1};
            step = brk;
            continue;
        }
        step = utf8_decode(text + i, len - i, &c);
        if (!step) {
            diag_pos(ds, pos, "", "E0002", utf16, "byte %02X is not UTF-8", byte);
            return i;
        }
        if (!allowed(c, kind)) {
            const char *what = c ? "control character" : "NUL byte";

            diag_pos(ds, pos, "", "E0002", NULL, "%s U+%04X in the text", what, c);
            return i;
        }
        pos.column++;
    }
    return i;
}
