/* prefix.c - what stands before a line: exact where programs read it, aligned and coloured where
 * people do.
 */
#include "foreground/prefix.h"

#include <stdlib.h>
#include <string.h>

#include "base/tap.h"

static void shows(const char *text, bool by_rank, bool colour, int columns, const char *want)
{
    auto_strbuf struct strbuf out = STRBUF_INIT;
    struct prefix p;

    prefix_init(&p, text, by_rank);
    prefix_add(&out, &p, colour, columns);
    is_str(out.buf, want, "%s%s, %d columns", text, colour ? " in colour" : "", columns);
    prefix_release(&p);
}

static unsigned hue(const char *text, bool by_rank)
{
    struct prefix p;

    prefix_init(&p, text, by_rank);
    prefix_release(&p);
    return p.hue;
}

int main(void)
{
    (void)setenv("TERM", "xterm", 1);
    shows("worker-2", false, false, 0, "[worker-2] ");
    shows("worker-2/7", true, false, 0, "[worker-2/7] ");
    shows("w-0", false, false, 6, "[w-0]    ");
    shows("worker-10", false, false, 3, "[worker-10] ");
    ok(hue("worker-1", false) != hue("worker-2", false), "neighbours differ");
    is_int(hue("worker-1/0", false), hue("worker-1/5", false), "ranks of a replica do not");
    ok(hue("worker-0/0", true) != hue("worker-0/1", true), "unless there is one replica alone");
    is_int(hue("worker-3", false), hue("worker-3", false), "the same in every run");

    auto_strbuf struct strbuf few = STRBUF_INIT, many = STRBUF_INIT;
    struct prefix p;
    prefix_init(&p, "worker-0", false);
    prefix_add(&few, &p, true, 0);
    (void)setenv("TERM", "xterm-256color", 1);
    prefix_add(&many, &p, true, 0);
    has(few.buf, "m[worker-0]\033[0m ", "the colour ends with the prefix");
    ok(!strstr(few.buf, "38;5") && strstr(many.buf, "38;5"), "more colours where there are more");
    prefix_release(&p);
    return tap_done();
}
