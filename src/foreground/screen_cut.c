/* screen_cut.c - as much of a text as fits into a row of a terminal; see screen.h. */
#include "foreground/screen.h"

#include "base/utf8.h"

/* The length of the escape sequence at s; *ret_keep if it is a colour. */
static size_t escape_length(const char *s, size_t n, bool *ret_keep)
{
    size_t i = 2;

    *ret_keep = false;
    if (n < 2 || s[1] != '[')
        return 1;
    while (i < n && (unsigned char)s[i] < 0x40)
        i++;
    *ret_keep = i < n && s[i] == 'm';
    return i < n ? i + 1 : n;
}

void screen_cut(struct strbuf *out, const char *text, size_t n, int columns)
{
    bool coloured = false, keep;

    for (size_t i = 0, len; i < n; i += len) {
        uint32_t c;
        int width;

        if (text[i] == '\033') {
            len = escape_length(text + i, n - i, &keep);
            if (keep)
                strbuf_add(out, text + i, len);
            coloured |= keep;
            continue;
        }
        len = utf8_decode(text + i, n - i, &c);
        bool valid = len > 0;
        len = valid ? len : 1;
        if (text[i] != '\t' && valid && utf8_is_control(c))
            continue;
        width = valid && text[i] != '\t' ? utf8_width(c) : 1;
        if (width > columns)
            break;
        columns -= width;
        if (text[i] == '\t')
            strbuf_addch(out, ' ');
        else if (valid)
            strbuf_add(out, text + i, len);
        else
            strbuf_addch(out, '?');
    }
    if (coloured)
        strbuf_addstr(out, "\033[0m");
}
