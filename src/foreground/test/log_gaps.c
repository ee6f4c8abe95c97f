/* Logs that are not complete: what is counted, and the sentence about it. */
#include "foreground/log_gaps.h"

#include <errno.h>

#include "base/tap.h"

static void add(struct log_gaps *g, const char *log, int64_t missing)
{
    log_gaps_add(g, &(struct unlogged){.log = log, .error = -ENOSPC, .missing = missing});
}

static void sentence_is(const struct log_gaps *g, const char *want, const char *name)
{
    auto_strbuf struct strbuf text = STRBUF_INIT;

    log_gaps_sentence(g, &text);
    if (*want)
        has(text.buf, want, "%s", name);
    else
        is_str(text.buf, "", "%s", name);
}

int main(void)
{
    struct log_gaps g = {0};

    sentence_is(&g, "", "nothing is missing, nothing is said");
    ok(!log_gaps_find(&g, "a.log") && !log_gaps_find(&g, NULL), "none is found");
    add(&g, "a.log", 1024);
    add(&g, "b.log", 1);
    add(&g, "a.log", 1024);
    is_int(g.n, 2, "one entry per log");
    is_int(log_gaps_find(&g, "a.log")->bytes, 2048, "bytes are added up");
    is_int(log_gaps_find(&g, "b.log")->error, ENOSPC, "the error is kept");
    sentence_is(&g, "a.log lacks 2", "the log and how much");
    sentence_is(&g, "No space left on device", "the reason");
    g.not_shown = 4096;
    sentence_is(&g, "was not shown either", "what nobody has seen");
    for (int i = 0; i < 40; i++) {
        char name[16];

        (void)snprintf(name, sizeof(name), "w-%d.log", i);
        add(&g, name, 1);
    }
    sentence_is(&g, " more", "many are folded");
    log_gaps_release(&g);
    return tap_done();
}
