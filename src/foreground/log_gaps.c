/* log_gaps.c - see log_gaps.h. */
#include "foreground/log_gaps.h"

#include <stdlib.h>
#include <string.h>

#include "base/limits.h"
#include "base/mem.h"
#include "base/num.h"

void log_gaps_release(struct log_gaps *g)
{
    for (size_t i = 0; i < g->n; i++)
        free(g->v[i].log);
    free(g->v);
    *g = (struct log_gaps){0};
}

static struct log_gap *find(const struct log_gaps *g, const char *log)
{
    for (size_t i = 0; i < g->n; i++)
        if (strcmp(g->v[i].log, log) == 0)
            return &g->v[i];
    return NULL;
}

const struct log_gap *log_gaps_find(const struct log_gaps *g, const char *log)
{
    return log ? find(g, log) : NULL;
}

void log_gaps_add(struct log_gaps *g, const struct unlogged *u)
{
    struct log_gap *gap = find(g, u->log);

    if (!gap) {
        GROW(g->v, g->n, g->cap);
        gap = &g->v[g->n++];
        *gap = (struct log_gap){.log = xstrdup(u->log), .error = -u->error};
    }
    gap->bytes += u->missing;
}

void log_gaps_sentence(const struct log_gaps *g, struct strbuf *out)
{
    char size[DURATION_TEXT];

    if (g->n == 0)
        return;
    strbuf_addstr(out, "logs are incomplete: ");
    for (size_t i = 0; i < g->n && i < LIMIT_GAPS_NAMED; i++)
        strbuf_addf(out, "%s%s lacks %s", i ? ", " : "", g->v[i].log,
                    bytes_text(g->v[i].bytes, size));
    if (g->n > LIMIT_GAPS_NAMED)
        strbuf_addf(out, " and %zu more", g->n - LIMIT_GAPS_NAMED);
    strbuf_addf(out, " (%s)", log_gap_reason(&g->v[0]));
    if (g->not_shown > 0)
        strbuf_addf(out, "; %s of this output was not shown either",
                    bytes_text(g->not_shown, size));
}
