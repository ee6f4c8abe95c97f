/* What fits into a row of a terminal, and prefixes. */
#include "foreground/screen.h"

#include <stdlib.h>
#include <string.h>

#include "base/tap.h"
#include "foreground/prefix.h"

static void cuts(const char *text, int columns, const char *want, const char *name)
{
    auto_strbuf struct strbuf out = STRBUF_INIT;

    screen_cut(&out, text, strlen(text), columns);
    is_str(out.buf, want, "%s", name);
}

static void prefixed(const char *text, bool by_rank, bool colour, int columns, const char *want)
{
    auto_strbuf struct strbuf out = STRBUF_INIT;
    CLEANUP(prefix_release) struct prefix p;

    prefix_init(&p, text, by_rank);
    prefix_add(&out, &p, colour, columns);
    is_str(out.buf, want, "%s in %d columns", text, columns);
}

static bool differ(const char *a, const char *b, bool by_rank)
{
    auto_strbuf struct strbuf out = STRBUF_INIT, other = STRBUF_INIT;
    CLEANUP(prefix_release) struct prefix p;
    CLEANUP(prefix_release) struct prefix q;

    prefix_init(&p, a, by_rank);
    prefix_init(&q, b, by_rank);
    prefix_add(&out, &p, true, 0);
    prefix_add(&other, &q, true, 0);
    return strncmp(out.buf, other.buf, strcspn(out.buf, "m")) != 0;
}

int main(void)
{
    cuts("abc", 3, "abc", "fits");
    cuts("abcd", 3, "abc", "cut");
    cuts("", 3, "", "empty");
    cuts("日本語", 5, "日本", "a wide character that does not fit is left out");
    cuts("é̀a", 1, "é̀", "what combines has no width");
    cuts("\xff\xfe!", 2, "??", "bytes that are no characters");
    cuts("\033[31mred\033[0m", 2, "\033[31mre\033[0m", "colours have no width and end");
    cuts("a\033[2Ab\033[Kc\a\b\td", 9, "abc d", "nothing moves the cursor");
    cuts("a\033", 9, "a", "an escape without its end");
    cuts("a\033[3", 9, "a", "a sequence without its end");

    prefixed("worker-2", false, false, 0, "[worker-2] ");
    prefixed("worker-2/7", false, false, 12, "[worker-2/7]   ");
    (void)setenv("TERM", "xterm", 1);
    prefixed("w-0", false, true, 0, "\033[32m[w-0]\033[0m ");
    ok(differ("w-0", "w-1", false), "neighbours have other colours");
    ok(!differ("w-0/1", "w-0/2", false), "ranks of a replica have its colour");
    ok(differ("w-0/1", "w-0/2", true), "or their own");
    return tap_done();
}
