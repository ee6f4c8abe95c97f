/* charts.c - the parts of a page that are drawn: the time line, CPU and memory, the ranks.
 *
 * Shapes are inline SVG without text, stretched to the width they get; texts are HTML beside them,
 * so that they stay legible on a narrow screen.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/limits.h"
#include "base/mem.h"
#include "base/num.h"
#include "story/html.h"

/* --- the time line ---------------------------------------------------------------------------- */

static double percent(const struct story *s, ns_t at)
{
    double part = s->to > s->from ? 100.0 * (double)(at - s->from) / (double)(s->to - s->from) : 0;

    return part < 0 ? 0 : part > 100 ? 100 : part;
}

static void add_span(struct strbuf *out, const struct story *s, const struct story_span *span)
{
    static const char *const classes[] = {[STORY_RUNS] = "run",
                                          [STORY_SUCCEEDED] = "run",
                                          [STORY_STOPPED] = "run",
                                          [STORY_FAILED] = "run",
                                          [STORY_FAILED_FIRST] = "first"};
    double from = percent(s, span->from), to = percent(s, span->to);

    strbuf_addf(out,
                "<rect class=\"%s\" x=\"%.2f%%\" y=\"2\" width=\"%.2f%%\" height=\"10\" rx=\"2\"/>",
                classes[span->end], from, to - from < 0.4 ? 0.4 : to - from);
    if (span->end == STORY_FAILED)
        strbuf_addf(out, "<rect class=\"fail\" x=\"%.2f%%\" y=\"0\" width=\"3\" height=\"14\"/>",
                    to > 99.4 ? 99.4 : to);
}

static void add_row(struct strbuf *out, const struct story *s, const char *label,
                    const struct story_span *spans, size_t n, const char *words, bool bad)
{
    strbuf_addstr(out, "<div class=\"row\"><div class=\"mono\">");
    page_text(out, label);
    strbuf_addstr(out,
                  "</div><svg aria-hidden=\"true\"><rect class=\"track\" y=\"6\" width=\"100%\" "
                  "height=\"2\"/>");
    for (size_t i = 0; i < n && i < LIMIT_PAGE_SPANS; i++)
        add_span(out, s, &spans[i]);
    strbuf_addf(out, "</svg><div class=\"%s\">", bad ? "bad" : "soft");
    page_text(out, words);
    strbuf_addstr(out, "</div></div>\n");
}

static void add_attempts(const struct story *s, struct strbuf *out)
{
    strbuf_addstr(out, "<div class=\"row\"><div class=\"soft\">attempts</div><svg "
                       "aria-hidden=\"true\">");
    for (size_t i = 0; i < s->n_attempts && i < LIMIT_PAGE_SPANS; i++) {
        double from = percent(s, s->attempts[i].from), to = percent(s, s->attempts[i].to);

        strbuf_addf(out,
                    "<rect class=\"track\" x=\"%.2f%%\" y=\"2\" width=\"%.2f%%\" height=\"10\"/>",
                    from, to - from < 0.4 ? 0.4 : to - from);
    }
    strbuf_addf(out, "</svg><div class=\"soft\">%zu</div></div>\n", s->n_attempts);
}

static void add_reasons(const struct story *s, struct strbuf *out)
{
    for (size_t i = 0; s->n_attempts > 1 && i < s->n_attempts && i < LIMIT_PAGE_SPANS; i++) {
        if (!*s->attempts[i].why)
            continue;
        strbuf_addf(out, "<p class=\"soft\">attempt %u: ", s->attempts[i].number);
        page_text(out, s->attempts[i].why);
        strbuf_addstr(out, "</p>\n");
    }
    if (!s->first || s->n_stopped == 0)
        return;
    strbuf_addf(out, "<p>%zu %s stopped because of ", s->n_stopped,
                s->n_stopped == 1 ? "other was" : "others were");
    page_text(out, s->first);
    strbuf_addstr(out, "</p>\n");
}

void page_time_line(const struct page *p, struct strbuf *out)
{
    enum { RESOLUTION = 120 };
    auto_arena struct arena *a = arena_new();
    const struct story *s = p->story;
    const struct story_group *v;
    size_t left = 0, n = s ? story_groups(a, s, RESOLUTION, LIMIT_PAGE_GROUPS, &v, &left) : 0;
    char took[DURATION_TEXT];

    if (n == 0)
        return;
    strbuf_addf(out,
                "<h2>Time line</h2>\n<div class=\"row axis\"><span></span><div><span>0</span>"
                "<span>%s</span></div><span></span></div>\n",
                duration_text((s->to - s->from) / NS_PER_MS, took));
    if (s->n_attempts > 1)
        add_attempts(s, out);
    if (s->n_pauses > 0)
        add_row(out, s, "paused", s->pauses, s->n_pauses, "", false);
    for (size_t i = 0; i < n; i++) {
        const struct story_row *r = &s->rows[v[i].first];

        add_row(out, s, v[i].label, r->spans, r->n, v[i].words, v[i].end == STORY_FAILED_FIRST);
    }
    if (left > 0)
        strbuf_addf(out, "<p class=\"soft\">%zu more</p>\n", left);
    add_reasons(s, out);
}

/* --- CPU and memory --------------------------------------------------------------------------- */

enum what { CPU, MEMORY };

static double value_at(const struct series_point *p, enum what what)
{
    return what == CPU ? p->cpu : (double)p->memory;
}

/* At a moment, between two points; NAN where the rank was not there. */
static double value_of(const struct series_row *r, double ms, enum what what)
{
    size_t low = 0, high = r->n;

    if (r->n < 2 || ms < (double)r->v[0].ms || ms > (double)r->v[r->n - 1].ms)
        return NAN;
    while (high - low > 1) {
        size_t mid = low + (high - low) / 2;

        if ((double)r->v[mid].ms <= ms)
            low = mid;
        else
            high = mid;
    }
    if (high == r->n)
        return value_at(&r->v[low], what);
    double part = (ms - (double)r->v[low].ms) / (double)(r->v[high].ms - r->v[low].ms);
    return value_at(&r->v[low], what) * (1 - part) + value_at(&r->v[high], what) * part;
}

struct chart {
    const struct page *p;
    enum what what;
    double most;
};

/* A line of a rank through at most LIMIT_PAGE_POINTS of its points, in a box of 1000 by height. */
static void add_line(struct strbuf *out, const struct chart *c, const struct series_row *r,
                     const char *class, double width, double height)
{
    size_t step = r->n / LIMIT_PAGE_POINTS + 1;
    bool begun = false;

    strbuf_addf(out, "<path class=\"%s\" d=\"", class);
    for (size_t i = 0; i < r->n; i += step) {
        double x = c->p->usage->last_ms ? width * (double)r->v[i].ms / (double)c->p->usage->last_ms
                                        : 0,
               y = height - 1 - (height - 2) * value_at(&r->v[i], c->what) / c->most;

        strbuf_addf(out, "%c%.1f %.1f", begun ? 'L' : 'M', x, y);
        begun = true;
    }
    strbuf_addstr(out, "\"/>");
}

static int by_value(const void *x, const void *y)
{
    double a = *(const double *)x, b = *(const double *)y;

    return (a > b) - (a < b);
}

/* Of many ranks: the range they are in, and the one in the middle. */
static void add_band(struct strbuf *out, const struct chart *c, double height)
{
    enum { STEPS = 120 };
    const struct series *u = c->p->usage;
    auto_free double *v = xcalloc(u->n, sizeof(*v));
    double low[STEPS + 1], high[STEPS + 1], mid[STEPS + 1];
    int n_steps = 0, at[STEPS + 1];

    for (int i = 0; i <= STEPS; i++) {
        size_t n = 0;

        for (size_t k = 0; k < u->n; k++) {
            double value = value_of(&u->rows[k], (double)u->last_ms * i / STEPS, c->what);
            if (!isnan(value))
                v[n++] = height - 1 - (height - 2) * value / c->most;
        }
        if (n == 0)
            continue;
        qsort(v, n, sizeof(*v), by_value);
        low[n_steps] = v[0];
        high[n_steps] = v[n - 1];
        mid[n_steps] = v[n / 2];
        at[n_steps++] = i;
    }
    strbuf_addstr(out, "<path class=\"band\" d=\"");
    for (int i = 0; i < n_steps; i++)
        strbuf_addf(out, "%c%.1f %.1f", i ? 'L' : 'M', at[i] * 1000.0 / STEPS, low[i]);
    for (int i = n_steps; i-- > 0;)
        strbuf_addf(out, "L%.1f %.1f", at[i] * 1000.0 / STEPS, high[i]);
    strbuf_addstr(out, "\"/><path class=\"mid\" d=\"");
    for (int i = 0; i < n_steps; i++)
        strbuf_addf(out, "%c%.1f %.1f", i ? 'L' : 'M', at[i] * 1000.0 / STEPS, mid[i]);
    strbuf_addstr(out, "\"/>");
}

/* Who failed first, as a row of usage. */
static const struct series_row *hot_row(const struct page *p)
{
    const struct story *s = p->story;

    for (size_t i = 0; s && s->first && i < s->n_rows; i++)
        if (strcmp(s->rows[i].label, s->first) == 0)
            return series_of(p->usage, s->rows[i].replica, s->rows[i].rank);
    return NULL;
}

static void add_chart(const struct page *p, enum what what, struct strbuf *out)
{
    enum { HEIGHT = 100 };
    const struct series *u = p->usage;
    const struct series_row *hot = hot_row(p);
    struct chart c = {.p = p, .what = what};
    char text[DURATION_TEXT], took[DURATION_TEXT];

    for (size_t i = 0; i < u->n; i++) {
        double most = what == CPU ? u->rows[i].peak_cpu : (double)u->rows[i].peak_memory;
        c.most = most > c.most ? most : c.most;
    }
    if (what == CPU && c.most < 10)
        c.most = 10;
    if (c.most <= 0)
        c.most = 1;
    strbuf_addf(out, "<div class=\"chart\"><h3>%s of each rank</h3><p><span>",
                what == CPU ? "CPU" : "Memory");
    if (what == CPU)
        strbuf_addf(out, "%.0f %% of a core", c.most);
    else
        strbuf_addstr(out, bytes_text((int64_t)c.most, text));
    strbuf_addf(out,
                "</span><span>%s</span></p><svg viewBox=\"0 0 1000 %d\" "
                "preserveAspectRatio=\"none\" aria-hidden=\"true\">",
                u->n > LIMIT_PAGE_LINES ? "range and median" : "", HEIGHT);
    if (u->n > LIMIT_PAGE_LINES)
        add_band(out, &c, HEIGHT);
    else
        for (size_t i = 0; i < u->n; i++)
            add_line(out, &c, &u->rows[i], "one", 1000, HEIGHT);
    if (hot)
        add_line(out, &c, hot, "hot", 1000, HEIGHT);
    strbuf_addf(out, "</svg><p><span>0</span><span>%s</span></p></div>\n",
                duration_text(u->last_ms, took));
}

void page_usage(const struct page *p, struct strbuf *out)
{
    const struct series_row *hot;

    if (!p->usage || p->usage->n == 0 || p->usage->last_ms == 0)
        return;
    strbuf_addstr(out, "<h2>CPU and memory</h2>\n<div class=\"charts\">\n");
    add_chart(p, CPU, out);
    add_chart(p, MEMORY, out);
    strbuf_addstr(out, "</div>\n");
    hot = hot_row(p);
    if (hot) {
        strbuf_addstr(out, "<p class=\"soft\"><span class=\"bad\">");
        page_text(out, p->story->first);
        strbuf_addstr(out, "</span> failed first.</p>\n");
    }
}

/* --- ranks ------------------------------------------------------------------------------------ */

static void add_spark(const struct page *p, const struct series_row *u, enum what what,
                      struct strbuf *out)
{
    struct chart c = {.p = p,
                      .what = what,
                      .most = what == CPU ? (u->peak_cpu > 100 ? u->peak_cpu : 100)
                                          : (double)(u->peak_memory ? u->peak_memory : 1)};

    strbuf_addstr(out, "<td><svg viewBox=\"0 0 100 20\" preserveAspectRatio=\"none\" "
                       "aria-hidden=\"true\">");
    add_line(out, &c, u, "one", 100, 20);
    strbuf_addstr(out, "</svg></td>");
}

static void add_used(const struct page *p, const struct series_row *u, struct strbuf *out)
{
    char text[DURATION_TEXT];
    const struct series_point *last = u && u->n ? &u->v[u->n - 1] : NULL;

    if (!last) {
        strbuf_addstr(out, "<td></td><td></td><td></td><td></td><td></td><td></td>");
        return;
    }
    strbuf_addf(out, "<td class=\"num\">%s</td>", duration_text((int64_t)last->cpu_ms, text));
    add_spark(p, u, CPU, out);
    strbuf_addf(out, "<td class=\"num\">%s</td>", bytes_text((int64_t)u->peak_memory, text));
    add_spark(p, u, MEMORY, out);
    strbuf_addf(out, "<td class=\"num\">%s</td>", bytes_text((int64_t)last->read, text));
    strbuf_addf(out, "<td class=\"num\">%s</td>", bytes_text((int64_t)last->written, text));
}

static void add_rank(const struct page *p, const struct story_row *r, struct strbuf *out)
{
    const struct story_span *last = &r->spans[r->n - 1];
    bool bad = last->end == STORY_FAILED_FIRST;
    char took[DURATION_TEXT];
    ns_t ran = 0;

    for (size_t i = 0; i < r->n; i++)
        ran += r->spans[i].to - r->spans[i].from;
    strbuf_addf(out, "<tr><td class=\"mono%s\">", bad ? " bad" : "");
    page_text(out, r->label);
    strbuf_addf(out, "</td><td%s>", bad ? " class=\"bad\"" : "");
    page_text(out, last->end == STORY_RUNS ? "running" : last->words);
    strbuf_addstr(out, last->end == STORY_STOPPED ? ", stopped" : bad ? ", failed first" : "");
    strbuf_addf(out, "</td><td class=\"num\">%zu</td><td class=\"num\">%s</td>", r->n,
                duration_text(ran / NS_PER_MS, took));
    add_used(p, series_of(p->usage, r->replica, r->rank), out);
    strbuf_addstr(out, "</tr>\n");
}

static bool is_worth_a_row(const struct story *s, size_t i, size_t rest)
{
    return s->rows[i].spans[s->rows[i].n - 1].end == STORY_FAILED_FIRST || i < rest;
}

void page_ranks(const struct page *p, struct strbuf *out)
{
    const struct story *s = p->story;
    size_t shown = 0;

    if (!s || s->n_rows == 0)
        return;
    strbuf_addstr(out, "<h2>Ranks</h2>\n<div class=\"wide\"><table>\n<tr><th>replica/rank</th>"
                       "<th>end</th><th class=\"num\">starts</th><th class=\"num\">ran</th>"
                       "<th class=\"num\">CPU time</th><th>CPU</th>"
                       "<th class=\"num\">peak memory</th><th>memory</th>"
                       "<th class=\"num\">read</th><th class=\"num\">written</th></tr>\n");
    for (size_t i = 0; i < s->n_rows && shown < LIMIT_PAGE_RANKS; i++)
        if (is_worth_a_row(s, i, LIMIT_PAGE_RANKS - 16)) {
            add_rank(p, &s->rows[i], out);
            shown++;
        }
    strbuf_addstr(out, "</table></div>\n");
    if (shown < s->n_rows)
        strbuf_addf(out, "<p class=\"soft\">%zu more</p>\n", s->n_rows - shown);
}
