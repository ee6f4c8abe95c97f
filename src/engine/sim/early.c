/* early.c - who left with 0 while others needed it, worked out from the log of events alone.
 *
 * The core reads it off the state of the job (job/early.c, job/blame.c). As in oracle.c: slow,
 * plain, and written without a look at how the core does it.
 */
#include <string.h>

#include "engine/sim/inside.h"
#include "job/early.h"

#define NEARLY_NS (50 * NS_PER_MS) /* a socket is closed that long before its process has ended */

/* --- an mpirun that ends the others because of it ------------------------------------------------
 */

/* How a rank ended for good, if that was before `until`; NULL: it did not. */
static const struct event *rank_end(const struct sim *s, size_t until, uint32_t launch,
                                    uint32_t rank)
{
    const struct event *last = NULL;

    for (size_t i = oracle_attempt(s); i < s->log.n; i++) {
        const struct event *ev = &s->log.v[i];
        if ((ev->type == EVENT_RANK_EXITED || ev->type == EVENT_RANK_STARTED) &&
            ev->launch == launch && ev->rank == rank)
            last = ev;
    }
    return last && last->type == EVENT_RANK_EXITED && last < &s->log.v[until] ? last : NULL;
}

static uint32_t size_of(const struct sim *s, uint32_t launch)
{
    for (size_t i = oracle_attempt(s); i < s->log.n; i++)
        if (s->log.v[i].type == EVENT_RANK_STARTED && s->log.v[i].launch == launch)
            return s->log.v[i].size;
    return 0;
}

/* The last that left before any of the others was told to end. */
const struct event *oracle_leaver(const struct sim *s, size_t until, uint32_t launch)
{
    const struct event *leaver = NULL;
    ns_t told = 0;

    for (uint32_t r = 0; r < size_of(s, launch); r++) {
        const struct event *ev = rank_end(s, s->log.n, launch, r);
        if (ev && ev->end.told && (!told || ev->end.told < told))
            told = ev->end.told;
    }
    for (uint32_t r = 0; r < size_of(s, launch); r++) {
        const struct event *ev = rank_end(s, until, launch, r);
        if (ev && ending_ok(&ev->end) && !ev->end.told && ev->at <= told &&
            (!leaver || ev->at > leaver->at))
            leaver = ev;
    }
    return leaver;
}

/* --- whoever a survivor has lost ----------------------------------------------------------------
 */

static bool are_one_world(const struct sim *s, uint32_t a, uint32_t b)
{
    const struct process *p = s->plan->processes;
    enum framework framework = s->plan->spec->framework;

    if (p[a].rank >= 0 || p[b].rank >= 0)
        return p[a].rank >= 0 && p[b].rank >= 0;
    return framework == FRAMEWORK_PYTORCH || framework == FRAMEWORK_TENSORFLOW ||
           s->plan->replicas[p[a].replica].role == s->plan->replicas[p[b].replica].role;
}

/* How member i of the cause's world ended before the stop, the cause itself left out. */
static const struct event *member_end(const struct sim *s, size_t until, uint32_t i)
{
    const struct cause *c = &s->job->cause;

    if (c->launch >= 0)
        return (int32_t)i != c->rank ? rank_end(s, until, (uint32_t)c->launch + 1, i) : NULL;
    if ((int32_t)i == c->process || sim_waits(s, i) || !are_one_world(s, i, (uint32_t)c->process))
        return NULL;
    return oracle_end(s, until, i);
}

/* The only one that ended with 0 after the stop, within half a second. */
static struct early oracle_leaving(const struct sim *s, uint32_t n, size_t until)
{
    const struct cause *c = &s->job->cause;
    struct early leaving = {0};

    for (size_t i = until + 1; n > 0 && i < s->log.n; i++) {
        const struct event *ev = &s->log.v[i];
        bool rank = ev->type == EVENT_RANK_EXITED && (int32_t)ev->launch == c->launch + 1;
        bool process = ev->type == EVENT_EXITED && c->launch < 0 && !sim_waits(s, ev->process) &&
                       are_one_world(s, ev->process, (uint32_t)c->process);
        uint32_t who = c->launch >= 0 ? ev->rank : ev->process;

        if (!(c->launch >= 0 ? rank : process) || !ending_ok(&ev->end) ||
            (int32_t)who == (c->launch >= 0 ? c->rank : c->process) ||
            ev->at >= s->log.v[until].at + NS_PER_S / 2)
            continue;
        leaving.first = who;
        leaving.n++;
    }
    return leaving.n == 1 ? leaving : (struct early){0};
}

void check_early(struct sim *s)
{
    static const char *const tail[] = {"RuntimeError: Connection closed by peer", NULL};
    const struct cause *c = &s->job->cause;
    struct early is = early_find(s->job, tail, ""), want = {0};
    auto_strbuf struct strbuf text = STRBUF_INIT;
    size_t until = oracle_until_stop(s);
    uint32_t n = c->launch >= 0 ? size_of(s, (uint32_t)c->launch + 1) : s->plan->n_processes;
    ns_t first = 0;

    if ((c->kind != CAUSE_EXIT && c->kind != CAUSE_SIGNAL) || c->end.init[0] ||
        (c->launch < 0 && c->process < 0))
        n = 0;
    for (uint32_t i = 0; i < n; i++) {
        const struct event *ev = member_end(s, until, i);
        if (!ev || !ending_ok(&ev->end) || ev->at >= c->end.at + NEARLY_NS)
            continue;
        if (!want.n++ || ev->at < first) {
            want.first = i;
            first = ev->at;
        }
    }
    if (want.n == 0)
        want = oracle_leaving(s, n, until);
    if (is.found != (want.n > 0) || is.n != want.n || is.first != want.first)
        sim_break(s, "%u left early, first %u, says the core; it was %u, first %u", is.n, is.first,
                  want.n, want.first);
    early_before(s->job, &is, &text);
    if ((text.len > 0) != is.found || strstr(text.buf, "  ") || strstr(text.buf, "while were"))
        sim_break(s, "who left early is told as \"%s\"", text.buf);
}
