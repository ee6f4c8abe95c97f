/* story.c - see story.h: folding the journal, and what looks the same. */
#include "story/story.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "journal/journal.h"

struct making {
    struct arena *a;
    struct story *s;
    struct job *job; /* folded again */
    size_t *of_process;
    size_t *of_rank; /* of mpirun, + 1; 0: none yet */
    size_t n_of_rank;
    size_t cap_rows, cap_attempts, cap_pauses;
};

/* An array in the arena that has room for one more. */
static void *grown(struct arena *a, void *v, size_t n, size_t *cap, size_t size)
{
    if (n < *cap)
        return v;
    *cap = *cap ? 2 * *cap : 8;
    void *more = arena_calloc(a, *cap, size);
    if (n > 0)
        memcpy(more, v, n * size);
    return more;
}

static size_t add_row(struct making *m, const char *replica, int32_t rank, const char *label)
{
    struct story *s = m->s;

    s->rows = grown(m->a, s->rows, s->n_rows, &m->cap_rows, sizeof(*s->rows));
    s->rows[s->n_rows] =
        (struct story_row){.label = rank >= 0 ? arena_printf(m->a, "%s/%d", replica, (int)rank)
                                              : arena_strdup(m->a, label),
                           .replica = arena_strdup(m->a, replica),
                           .rank = rank};
    return s->n_rows++;
}

static void add_processes(struct making *m)
{
    const struct plan *plan = m->job->plan;

    m->of_process = ARENA_ARRAY(m->a, size_t, plan->n_processes + 1);
    for (uint32_t i = 0; i < plan->n_processes; i++) {
        const struct process *p = &plan->processes[i];
        const struct replica *r = &plan->replicas[p->replica];

        m->of_process[i] =
            add_row(m, r->name, p->rank,
                    r->n_processes > 1 ? arena_printf(m->a, "%s.%d", r->name, p->slot) : r->name);
    }
}

static size_t row_of_rank(struct making *m, uint32_t rank, uint32_t replica)
{
    if (rank >= m->n_of_rank) {
        size_t n = 2 * (size_t)rank + 64, *more = ARENA_ARRAY(m->a, size_t, n);

        if (m->n_of_rank)
            memcpy(more, m->of_rank, m->n_of_rank * sizeof(*more));
        m->of_rank = more;
        m->n_of_rank = n;
    }
    if (!m->of_rank[rank])
        m->of_rank[rank] = 1 + add_row(m, m->job->plan->replicas[replica].name, (int32_t)rank, "");
    return m->of_rank[rank] - 1;
}

/* --- spans ------------------------------------------------------------------------------------ */

static void begin(struct making *m, size_t row, ns_t at)
{
    struct story_row *r = &m->s->rows[row];

    r->spans = grown(m->a, r->spans, r->n, &r->cap, sizeof(*r->spans));
    r->spans[r->n++] = (struct story_span){.from = at, .to = 0, .words = ""};
}

static void finish(struct making *m, size_t row, const struct event *ev, bool asked)
{
    struct story_row *r = &m->s->rows[row];

    if (r->n == 0 || r->spans[r->n - 1].to)
        begin(m, row, ev->at);
    struct story_span *span = &r->spans[r->n - 1];
    span->to = ev->at;
    span->words = ending_words(m->a, &ev->end);
    span->end = ending_ok(&ev->end)           ? STORY_SUCCEEDED
                : asked && !ev->end.by_itself ? STORY_STOPPED
                                              : STORY_FAILED;
}

/* --- attempts --------------------------------------------------------------------------------- */

static void begin_attempt(struct making *m, uint32_t number, ns_t at)
{
    struct story *s = m->s;

    s->attempts = grown(m->a, s->attempts, s->n_attempts, &m->cap_attempts, sizeof(*s->attempts));
    s->attempts[s->n_attempts++] = (struct story_attempt){.number = number, .from = at, .why = ""};
}

static struct story_row *row_of_cause(struct making *m, const struct cause *c)
{
    struct story *s = m->s;

    if (c->rank >= 0 && (size_t)c->rank < m->n_of_rank && m->of_rank[c->rank])
        return &s->rows[m->of_rank[c->rank] - 1];
    if (c->process >= 0 && (uint32_t)c->process < m->job->plan->n_processes)
        return &s->rows[m->of_process[c->process]];
    for (size_t i = 0; c->replica >= 0 && i < s->n_rows; i++)
        if (strcmp(s->rows[i].replica, m->job->plan->replicas[c->replica].name) == 0 &&
            (c->rank < 0 || s->rows[i].rank == c->rank))
            return &s->rows[i];
    return NULL;
}

/* The last one, by this cause or for no reason. */
static void end_attempt(struct making *m, const struct event *ev)
{
    struct story *s = m->s;
    struct story_attempt *t = s->n_attempts ? &s->attempts[s->n_attempts - 1] : NULL;
    struct story_row *row = ev->cause.kind != CAUSE_NONE ? row_of_cause(m, &ev->cause) : NULL;

    s->first = NULL;
    s->n_stopped = 0;
    if (t && !t->to)
        t->to = ev->at;
    if (row && row->n > 0 && row->spans[row->n - 1].end >= STORY_STOPPED) {
        row->spans[row->n - 1].end = STORY_FAILED_FIRST;
        s->first = row->label;
    }
    if (t && row && row->n > 0)
        t->why = arena_printf(m->a, "%s: %s", row->label, row->spans[row->n - 1].words);
    else if (t && ev->cause.kind != CAUSE_NONE)
        t->why = cause_kind_name(ev->cause.kind);
    for (size_t i = 0; i < s->n_rows; i++) {
        const struct story_row *r = &s->rows[i];

        s->n_stopped += r->n > 0 && r->spans[r->n - 1].end == STORY_STOPPED && t &&
                        r->spans[r->n - 1].to >= t->from;
    }
}

static void begin_pause(struct making *m, ns_t at)
{
    struct story *s = m->s;

    s->pauses = grown(m->a, s->pauses, s->n_pauses, &m->cap_pauses, sizeof(*s->pauses));
    s->pauses[s->n_pauses++] = (struct story_span){.from = at, .words = ""};
}

static void end_pause(struct making *m, ns_t at)
{
    if (m->s->n_pauses && !m->s->pauses[m->s->n_pauses - 1].to)
        m->s->pauses[m->s->n_pauses - 1].to = at;
}

/* --- events ----------------------------------------------------------------------------------- */

/* After the event was folded. */
static void see(struct making *m, const struct event *ev)
{
    struct story *s = m->s;

    switch (ev->type) {
    case EVENT_CREATED:
        s->from = ev->at;
        begin_attempt(m, 1, ev->at);
        break;
    case EVENT_STARTED:
        begin(m, m->of_process[ev->process], ev->at);
        break;
    case EVENT_EXITED:
    case EVENT_START_FAILED:
        finish(m, m->of_process[ev->process], ev, m->job->procs[ev->process].stop_asked);
        break;
    case EVENT_RANK_STARTED:
        begin(m, row_of_rank(m, ev->rank, ev->replica), ev->at);
        break;
    case EVENT_RANK_EXITED:
        finish(m, row_of_rank(m, ev->rank, ev->replica), ev,
               m->job->launches[ev->launch - 1].ranks[ev->rank].stop_asked);
        break;
    case EVENT_ATTEMPT:
        end_attempt(m, ev);
        begin_attempt(m, ev->attempt, ev->begin_at > ev->at ? ev->begin_at : ev->at);
        break;
    case EVENT_PAUSED:
        end_attempt(m, ev);
        begin_pause(m, ev->at);
        break;
    case EVENT_RESUME:
        end_pause(m, ev->at);
        break;
    case EVENT_ENDED:
        end_attempt(m, ev);
        s->ended = true;
        break;
    default:
        break;
    }
    if (ev->at > s->to)
        s->to = ev->at;
}

/* What only waits for mpirun's ranks, and what never ran, has no row; what runs, runs until now. */
static void tidy(struct making *m)
{
    struct story *s = m->s;
    size_t n = 0;

    for (uint32_t i = 0; m->n_of_rank && i < m->job->plan->n_processes; i++)
        if (job_waits(m->job, i))
            s->rows[m->of_process[i]].n = 0;
    for (size_t i = 0; i < s->n_rows; i++) {
        struct story_row *r = &s->rows[i];

        if (r->n == 0)
            continue;
        for (size_t k = 0; k < r->n; k++)
            if (!r->spans[k].to)
                r->spans[k].to = k + 1 < r->n ? r->spans[k + 1].from : s->to;
        s->rows[n++] = *r;
    }
    s->n_rows = n;
    for (size_t i = 0; i < s->n_attempts; i++)
        if (!s->attempts[i].to)
            s->attempts[i].to = s->to;
    end_pause(m, s->to);
}

const struct story *story_make(struct arena *a, const struct job *job, const char *journal,
                               size_t len)
{
    struct making m = {.a = a, .s = ARENA_NEW(a, struct story)};
    const char *end = journal + len, *nl;

    m.job = job_new(job->plan, &job->rules);
    add_processes(&m);
    for (const char *p = journal; p < end && (nl = memchr(p, '\n', (size_t)(end - p)));
         p = nl + 1) {
        auto_arena struct arena *line = arena_new();
        struct event ev;

        if (journal_read_line(line, p, (size_t)(nl - p), &ev, NULL) < 0 ||
            !journal_fits(m.job, &ev))
            break;
        job_apply(m.job, &ev);
        see(&m, &ev);
    }
    tidy(&m);
    job_free(m.job);
    return m.s;
}

/* --- groups ----------------------------------------------------------------------------------- */

/* In which of so many cells a time falls. */
static int cell_of(const struct story *s, ns_t at, int cells)
{
    double part = s->to > s->from ? (double)(at - s->from) / (double)(s->to - s->from) : 0;
    int cell = (int)(part * cells);

    return cell < 0 ? 0 : cell >= cells ? cells - 1 : cell;
}

static bool looks_same(const struct story *s, const struct story_row *x, const struct story_row *y,
                       int cells)
{
    if (x->n != y->n)
        return false;
    for (size_t i = 0; i < x->n; i++)
        if (x->spans[i].end != y->spans[i].end ||
            abs(cell_of(s, x->spans[i].from, cells) - cell_of(s, y->spans[i].from, cells)) > 1 ||
            abs(cell_of(s, x->spans[i].to, cells) - cell_of(s, y->spans[i].to, cells)) > 1 ||
            strcmp(x->spans[i].words, y->spans[i].words) != 0)
            return false;
    return true;
}

static const char *group_words(struct arena *a, const struct story_row *r)
{
    const struct story_span *last = &r->spans[r->n - 1];
    const char *how = last->end == STORY_RUNS           ? "running"
                      : last->end == STORY_FAILED_FIRST ? ", failed first"
                      : last->end == STORY_STOPPED      ? ", stopped"
                                                        : "";

    return r->n > 1 ? arena_printf(a, "%s%s; %zu starts", last->words, how, r->n)
                    : arena_printf(a, "%s%s", last->words, how);
}

static struct story_group make_group(struct arena *a, const struct story *s, size_t first, size_t n)
{
    const struct story_row *r = &s->rows[first];

    return (struct story_group){.first = first,
                                .n = n,
                                .label = n == 1 ? r->label
                                                : arena_printf(a, "%s + %zu more", r->label, n - 1),
                                .words = group_words(a, r),
                                .end = r->spans[r->n - 1].end};
}

/* The failures first, by how near they are to the first one; then the order of the plan. */
static size_t choose(struct story_group *v, size_t n, size_t most, size_t *ret_left)
{
    size_t kept = 0, failures = 0, quota = most / 2;

    for (size_t i = 0; i < n; i++)
        failures += v[i].end == STORY_FAILED_FIRST;
    for (size_t i = 0; i < n; i++) {
        bool first = v[i].end == STORY_FAILED_FIRST && failures <= most;
        bool failed = v[i].end == STORY_FAILED && quota > 0;
        bool room = kept + failures < most;

        if (first || room) {
            failures -= first;
            quota -= failed;
            v[kept++] = v[i];
        } else
            *ret_left += v[i].n;
    }
    return kept;
}

size_t story_groups(struct arena *a, const struct story *s, int cells, size_t most,
                    const struct story_group **ret, size_t *ret_left)
{
    struct story_group *v = ARENA_ARRAY(a, struct story_group, s->n_rows + 1);
    size_t n = 0;

    for (size_t i = 0; i < s->n_rows;) {
        size_t k = i + 1;

        while (k < s->n_rows && looks_same(s, &s->rows[i], &s->rows[k], cells))
            k++;
        v[n++] = make_group(a, s, i, k - i);
        i = k;
    }
    *ret = v;
    *ret_left = 0;
    return n > most ? choose(v, n, most, ret_left) : n;
}
