/* text.c - the time line of a run as text: one line per process or rank, or per group of them. */
#include <string.h>

#include "base/limits.h"
#include "base/mem.h"
#include "base/num.h"
#include "base/utf8.h"
#include "story/story.h"

#define LONGEST_LABEL 28
#define LONGEST_WORDS 30
#define LEAST_BAR 10

struct layout {
    const struct story *s;
    int label, bar, words;
};

/* Printable, at most so many columns; padded. */
static void add_padded(struct strbuf *out, const char *text, int width)
{
    auto_strbuf struct strbuf safe = STRBUF_INIT;
    int taken = 0;
    uint32_t c;

    strbuf_add_escaped(&safe, text, strlen(text));
    for (size_t i = 0, n; i < safe.len; i += n) {
        n = utf8_decode(safe.buf + i, safe.len - i, &c);
        int w = n ? utf8_width(c) : 1;

        n = n ? n : 1;
        if (taken + w > width)
            break;
        strbuf_add(out, safe.buf + i, n);
        taken += w;
    }
    for (; taken < width; taken++)
        strbuf_addch(out, ' ');
}

static void end_line(struct strbuf *out)
{
    while (out->len > 0 && out->buf[out->len - 1] == ' ')
        strbuf_truncate(out, out->len - 1);
    strbuf_addch(out, '\n');
}

static int column_of(const struct layout *l, ns_t at)
{
    double part =
        l->s->to > l->s->from ? (double)(at - l->s->from) / (double)(l->s->to - l->s->from) : 0;
    int column = (int)(part * l->bar);

    return column < 0 ? 0 : column >= l->bar ? l->bar - 1 : column;
}

static void fill(const struct layout *l, char *bar, const struct story_span *span, char with)
{
    int from = column_of(l, span->from), to = column_of(l, span->to);

    memset(bar + from, with, (size_t)to - (size_t)from + 1);
    if (span->end >= STORY_FAILED)
        bar[to] = span->end == STORY_FAILED_FIRST ? 'X' : 'x';
}

static void add_row(const struct layout *l, const char *label, const struct story_span *spans,
                    size_t n, char with, const char *words, struct strbuf *out)
{
    auto_free char *bar = xcalloc(1, (size_t)l->bar + 1);

    memset(bar, ' ', (size_t)l->bar);
    for (size_t i = 0; i < n; i++)
        fill(l, bar, &spans[i], with);
    strbuf_addstr(out, "  ");
    add_padded(out, label, l->label);
    strbuf_addf(out, " |%s| ", bar);
    add_padded(out, words, l->words);
    end_line(out);
}

/* "attempts   1       2     3" */
static void add_attempts(const struct layout *l, struct strbuf *out)
{
    auto_free char *bar = xcalloc(1, (size_t)l->bar + 1);
    int free_from = 0;

    memset(bar, ' ', (size_t)l->bar);
    for (size_t i = 0; i < l->s->n_attempts; i++) {
        auto_free char *number = xasprintf("%u", l->s->attempts[i].number);
        int at = column_of(l, l->s->attempts[i].from), n = (int)strlen(number);

        if (at < free_from || at + n > l->bar)
            continue;
        memcpy(bar + at, number, (size_t)n);
        free_from = at + n + 1;
    }
    strbuf_addstr(out, "  ");
    add_padded(out, "attempt", l->label);
    strbuf_addf(out, "  %s", bar);
    end_line(out);
}

static void add_axis(const struct layout *l, struct strbuf *out)
{
    char took[DURATION_TEXT];
    const char *end = duration_text((l->s->to - l->s->from) / NS_PER_MS, took);

    strbuf_addstr(out, "  ");
    add_padded(out, "", l->label);
    strbuf_addf(out, "  0%*s", l->bar - 1, (int)strlen(end) < l->bar - 2 ? end : "");
    end_line(out);
}

static void add_failures(const struct story *s, int columns, struct strbuf *out)
{
    size_t shown = 0;

    for (size_t i = 0; s->n_attempts > 1 && i < s->n_attempts; i++) {
        auto_free char *text = NULL;

        if (!*s->attempts[i].why)
            continue;
        if (shown++ == LIMIT_STORY_ATTEMPTS) {
            strbuf_addstr(out, "  …\n");
            break;
        }
        text = xasprintf("attempt %u: %s", s->attempts[i].number, s->attempts[i].why);
        strbuf_addstr(out, "  ");
        add_padded(out, text, columns - 2);
        end_line(out);
    }
    if (s->first && s->n_stopped > 0) {
        auto_free char *text = xasprintf("%zu %s stopped because of %s", s->n_stopped,
                                         s->n_stopped == 1 ? "other was" : "others were", s->first);
        strbuf_addstr(out, "  ");
        add_padded(out, text, columns - 2);
        end_line(out);
    }
}

/* The width of a column so far, or what this text needs. */
static int at_most(int most, int so_far, const char *text)
{
    int n = (int)strlen(text);

    return n > most ? most : n > so_far ? n : so_far;
}

void story_text(const struct story *s, int columns, struct strbuf *out)
{
    auto_arena struct arena *a = arena_new();
    const struct story_group *v;
    struct layout l = {.s = s, .label = 8, .words = 8};
    size_t left, n;

    n = story_groups(a, s, columns - LONGEST_LABEL - LONGEST_WORDS, LIMIT_STORY_ROWS, &v, &left);
    for (size_t i = 0; i < n; i++) {
        l.label = at_most(LONGEST_LABEL, l.label, v[i].label);
        l.words = at_most(LONGEST_WORDS, l.words, v[i].words);
    }
    l.bar = columns - 6 - l.label - l.words; /* 2 before the label, 4 around the bar */
    if (l.bar < LEAST_BAR)
        l.bar = LEAST_BAR;
    if (n == 0)
        return;
    add_axis(&l, out);
    if (s->n_attempts > 1)
        add_attempts(&l, out);
    if (s->n_pauses > 0)
        add_row(&l, "paused", s->pauses, s->n_pauses, '-', "", out);
    for (size_t i = 0; i < n; i++) {
        const struct story_row *r = &s->rows[v[i].first];

        add_row(&l, v[i].label, r->spans, r->n, '=', v[i].words, out);
    }
    if (left > 0)
        strbuf_addf(out, "  … %zu more\n", left);
    add_failures(s, columns, out);
}
