/* oracle.c - what the outcome has to be, worked out from the log of events alone.
 *
 * Written without a look at how the core does it: no state that is kept up to date, only the whole
 * log, read again from its beginning. Slow and plain on purpose; where it and the core disagree,
 * one of them is wrong.
 */
#include <signal.h>

#include "engine/sim/inside.h"

static bool is_end(const struct event *ev)
{
    return ev->type == EVENT_EXITED || ev->type == EVENT_START_FAILED;
}

size_t oracle_attempt(const struct sim *s)
{
    size_t from = 0;

    for (size_t i = 0; i < s->log.n; i++)
        if (s->log.v[i].type == EVENT_ATTEMPT || s->log.v[i].type == EVENT_PAUSED)
            from = i;
    return from;
}

/* How much of the log counts: what came after the stop says nothing. */
static size_t until_stop(const struct sim *s, const struct event **ret_stop)
{
    for (size_t i = oracle_attempt(s); i < s->log.n; i++) {
        enum event_type t = s->log.v[i].type;
        if (t == EVENT_STOP || t == EVENT_KILL || t == EVENT_LOST || t == EVENT_ENDED) {
            *ret_stop = &s->log.v[i];
            return i;
        }
    }
    *ret_stop = NULL;
    return s->log.n;
}

size_t oracle_until_stop(const struct sim *s)
{
    const struct event *stop;

    return until_stop(s, &stop);
}

/* Not if it was started again, or was to be, or is to be. */
const struct event *oracle_end(const struct sim *s, size_t n, uint32_t process)
{
    const struct event *end = NULL;

    if (s->job->procs[process].state == PROC_BACKOFF)
        return NULL;
    for (size_t i = oracle_attempt(s); i < s->log.n; i++) {
        const struct event *ev = &s->log.v[i];
        if (ev->process != process)
            continue;
        if (ev->type == EVENT_RESTART)
            end = NULL;
        if (is_end(ev) && i < n && !s->job->procs[process].stop_asked)
            end = ev;
    }
    return end;
}

static bool not_prepared(const struct ending *e)
{
    if (e->fate == CAUSE_IMAGE || e->fate == CAUSE_UNSCHEDULABLE)
        return true;
    return e->exec_errno != 0 && !(e->exec_what[0] == 'e' && e->exec_what[1] == 'x');
}

/* The earliest failure; of several at one time the first in the log. */
static const struct event *first_failure(const struct sim *s, size_t n)
{
    const struct event *first = NULL;

    for (size_t i = oracle_attempt(s); i < n; i++) {
        const struct event *ev = &s->log.v[i];
        if (is_end(ev) && oracle_end(s, n, ev->process) == ev && !ending_ok(&ev->end) &&
            (!first || ev->at < first->at))
            first = ev;
    }
    return first;
}

struct verdict { /* the earliest thing that ends the job */
    int outcome; /* 0 nothing yet, 1 success, 2 failure */
    ns_t at;
    const struct event *unprepared;
};

static void verdict_add(struct verdict *v, int outcome, ns_t at, const struct event *unprepared)
{
    if (v->outcome && (at > v->at || (at == v->at && outcome <= v->outcome)))
        return;
    *v = (struct verdict){outcome, at, unprepared};
}

/* When did the k-th replica of a role fail (or succeed)? 0 = not yet. */
static ns_t kth(const struct sim *s, size_t n, const struct role *role, bool failing, int32_t k)
{
    ns_t best = 0;

    for (uint32_t i = 0; i < s->plan->n_replicas; i++) { /* is replica i's end the k-th? */
        ns_t at[64] = {0};
        int32_t earlier = 0, total = 0;
        ns_t mine = 0;
        for (uint32_t r = 0; r < s->plan->n_replicas && r < 64; r++) {
            const struct replica *rp = &s->plan->replicas[r];
            bool failed = false, all = rp->role == role;
            for (uint32_t p = 0; all && p < rp->n_processes; p++) {
                const struct event *ev = oracle_end(s, n, rp->first_process + p);
                all = ev != NULL;
                if (!ev)
                    break;
                failed |= !ending_ok(&ev->end);
                at[r] = ev->at > at[r] ? ev->at : at[r];
            }
            if (!all || failed != failing)
                at[r] = 0;
            total += at[r] != 0;
        }
        mine = i < 64 ? at[i] : 0;
        for (uint32_t r = 0; r < 64; r++)
            earlier += at[r] != 0 && at[r] <= mine;
        if (mine && total >= k && earlier >= k && (best == 0 || mine < best))
            best = mine;
    }
    return best;
}

/* When did the role's first replica succeed? 0 = not (yet). */
static ns_t first_success(const struct sim *s, size_t n, const struct role *role)
{
    const struct replica *rp = s->plan->replicas;
    ns_t at = 0;

    while (rp->role != role)
        rp++;
    for (uint32_t p = 0; p < rp->n_processes; p++) {
        const struct event *ev = oracle_end(s, n, rp->first_process + p);
        if (!ev || !ending_ok(&ev->end))
            return 0;
        at = ev->at > at ? ev->at : at;
    }
    return at;
}

/* Failures that no count tolerates. */
static void add_each(const struct sim *s, size_t n, const struct role *role, struct verdict *v)
{
    for (uint32_t p = 0; p < s->plan->n_processes; p++) {
        const struct event *ev = oracle_end(s, n, p);
        if (!ev || ending_ok(&ev->end) ||
            s->plan->replicas[s->plan->processes[p].replica].role != role)
            continue;
        if (not_prepared(&ev->end))
            verdict_add(v, 2, ev->at, s->job->counted ? ev : NULL);
        else if (role->min_failed == 0)
            verdict_add(v, 2, ev->at, NULL);
    }
}

/* When had all that do not serve succeeded, if others do? 0 = not yet. */
static ns_t served_at(const struct sim *s, size_t n)
{
    ns_t at = 0;
    bool serving = false;

    for (uint32_t p = 0; p < s->plan->n_processes; p++) {
        const struct task *task = s->plan->processes[p].task;
        const struct event *ev = task && !task->serves ? oracle_end(s, n, p) : NULL;

        serving |= task && task->serves;
        if (task && !task->serves && (!ev || !ending_ok(&ev->end)))
            return 0;
        if (ev && ev->at > at)
            at = ev->at;
    }
    return serving ? at : 0;
}

/* Of two at the same time: failure before success, then roles in order. */
static struct verdict by_rules(const struct sim *s, size_t n)
{
    struct verdict v = {0};

    for (size_t k = 0; k < s->plan->spec->n_roles; k++) {
        const struct role *role = &s->plan->spec->roles[k];
        add_each(s, n, role, &v);
        ns_t at = role->min_failed > 0 ? kth(s, n, role, true, role->min_failed) : 0;
        if (at)
            verdict_add(&v, 2, at, NULL);
        at = role->min_succeeded > 0 ? kth(s, n, role, false, role->min_succeeded) : 0;
        if (at)
            verdict_add(&v, 1, at, NULL);
        at = role->first_decides ? first_success(s, n, role) : 0;
        if (at)
            verdict_add(&v, 1, at, NULL);
    }
    if (served_at(s, n))
        verdict_add(&v, 1, served_at(s, n), NULL);
    return v;
}

enum outcome oracle_rules(const struct sim *s)
{
    static const enum outcome words[] = {OUTCOME_NONE, OUTCOME_SUCCEEDED, OUTCOME_FAILED};

    return words[by_rules(s, s->log.n).outcome];
}

/* The earliest loss of a daemon that the core heard of, of an mpirun. */
static const struct event *lost_daemon(const struct sim *s, uint32_t mpirun)
{
    const struct event *first = NULL;

    for (size_t i = oracle_attempt(s); mpirun > 0 && i < s->log.n; i++) {
        const struct event *ev = &s->log.v[i];
        if (ev->type == EVENT_BLAMED && ev->launch == mpirun && (!first || ev->at < first->at))
            first = ev;
    }
    return first;
}

/* The rank of an mpirun that failed earliest and was not started anew. */
static const struct event *failed_rank(const struct sim *s, size_t n, uint32_t mpirun)
{
    const struct event *first = NULL, *daemon = lost_daemon(s, mpirun);

    for (size_t i = oracle_attempt(s); mpirun > 0 && i < n; i++) {
        const struct event *ev = &s->log.v[i];
        bool mended = false;
        if (ev->type != EVENT_RANK_EXITED || ev->launch != mpirun || ending_ok(&ev->end) ||
            (!ev->end.oom &&
             (ev->end.told || (daemon && ev->replica == daemon->replica && ev->at >= daemon->at))))
            continue;
        for (size_t k = i + 1; k < s->log.n; k++)
            mended |= s->log.v[k].type == EVENT_RANK_STARTED && s->log.v[k].launch == mpirun &&
                      s->log.v[k].rank == ev->rank;
        bool before =
            !first || ev->at < first->at || (ev->at == first->at && ev->rank < first->rank);
        if (!mended && before)
            first = ev;
    }
    return first;
}

/* The first mpirun with a failed rank whose status the launcher returns; 0 = none. */
static uint32_t returned_mpirun(const struct sim *s, uint32_t base, uint32_t last)
{
    size_t n = oracle_until_stop(s);
    const struct event *end =
        s->plan->launcher >= 0 ? oracle_end(s, n, (uint32_t)s->plan->launcher) : NULL;

    for (uint32_t l = base + 1; end && !ending_ok(&end->end) && l <= last; l++) {
        const struct event *rank = failed_rank(s, n, l);
        if (rank && ending_exit_code(&rank->end) == ending_exit_code(&end->end))
            return l;
    }
    return 0;
}

/* The number of the present launcher's mpirun that counts; 0 = it has none. Of the launcher before
 * it there may still be something to hear. If all reports of its ranks were lost, an mpirun is
 * known by the loss of a daemon. */
static uint32_t its_mpirun(const struct sim *s)
{
    uint32_t last = 0, base = 0; /* base: so many are of launchers before this one */

    for (size_t i = oracle_attempt(s); i < s->log.n; i++) {
        const struct event *ev = &s->log.v[i];
        if ((ev->type == EVENT_RANK_STARTED || ev->type == EVENT_BLAMED) && ev->launch > last)
            last = ev->launch;
        if (ev->type == EVENT_RESTART && (int32_t)ev->process == s->plan->launcher)
            base = last;
    }
    uint32_t found = oracle_mpirun(s, base, last);
    found = found ? found : returned_mpirun(s, base, last);
    return last <= base ? 0 : found ? found : last;
}

static struct expected of_event(const struct event *ev)
{
    bool rank = ev->type == EVENT_RANK_EXITED;

    return (struct expected){.outcome = OUTCOME_FAILED,
                             .exit_code = ending_exit_code(&ev->end),
                             .process = rank ? -1 : (int32_t)ev->process,
                             .rank = rank ? (int32_t)ev->rank : -1};
}

/* Had the launcher nothing it could have started? mpirun's own code says nothing then. */
static bool ran_nothing(const struct sim *s, const struct event *launcher)
{
    return its_mpirun(s) == 0 && launcher->end.code >= 0 && !launcher->end.init[0] &&
           s->plan->facts->machine.program_errno;
}

/* A pause, and the end of the debugging, end with whatever comes first of a cancel and the loss of
 * the supervisor. */
static enum stop_reason after_pause(const struct sim *s, enum stop_reason why)
{
    size_t from = oracle_attempt(s);
    enum event_type first = s->log.v[from].type;
    bool paused = first == EVENT_PAUSED || (from == 0 && s->plan->spec->pause && !s->job->begun);

    if (why != STOP_PAUSE && why != STOP_DEBUG &&
        !(paused && (why == STOP_NONE || why == STOP_LOST)))
        return why;
    for (size_t i = from; i < s->log.n; i++) {
        if (s->log.v[i].type == EVENT_CANCEL)
            return STOP_CANCEL;
        if (s->log.v[i].type == EVENT_LOST)
            return STOP_LOST;
    }
    return why;
}

static struct expected by_stop(const struct sim *s, const struct event *stop)
{
    enum stop_reason why = !stop                       ? STOP_NONE
                           : stop->type == EVENT_LOST  ? STOP_LOST
                           : stop->type == EVENT_ENDED ? STOP_NONE
                                                       : stop->stop;
    struct expected e = {.outcome = OUTCOME_SUCCEEDED, .process = -1, .rank = -1};
    int sig = 0;

    why = after_pause(s, why);
    for (size_t i = 0; i < s->log.n && !sig; i++)
        if (s->log.v[i].type == EVENT_CANCEL)
            sig = s->log.v[i].signal;
    if (why == STOP_CANCEL) {
        e.outcome = OUTCOME_CANCELLED;
        e.exit_code = 128 + sig;
    } else if (why == STOP_DEADLINE || why == STOP_HANG) {
        e.outcome = OUTCOME_FAILED;
        e.exit_code = 124;
    } else if (why == STOP_LOST || why == STOP_NOT_READY) {
        e.outcome = OUTCOME_FAILED;
        e.exit_code = 125;
    }
    return e;
}

/* Did the launcher end with 0 over ranks that had not? Of the mpirun that counts all have to;
 * of the others none may be left running, but by one that ended before and was tried again. */
static bool unfinished(const struct sim *s, const struct event *launcher)
{
    uint32_t last = its_mpirun(s), base = 0, seen = 0;
    bool bad = false;

    for (size_t i = oracle_attempt(s); i < s->log.n; i++) {
        const struct event *ev = &s->log.v[i];
        seen = ev->type == EVENT_RANK_STARTED && ev->launch > seen ? ev->launch : seen;
        if (ev->type == EVENT_RESTART && (int32_t)ev->process == s->plan->launcher)
            base = seen;
    }
    for (size_t i = oracle_attempt(s); i < s->log.n; i++) {
        const struct event *ev = &s->log.v[i], *end = ev;
        if (ev->type != EVENT_RANK_STARTED || ev->launch <= base)
            continue;
        for (size_t k = i + 1; k < s->log.n; k++)
            if ((s->log.v[k].type == EVENT_RANK_EXITED || s->log.v[k].type == EVENT_RANK_STARTED) &&
                s->log.v[k].launch == ev->launch && s->log.v[k].rank == ev->rank)
                end = &s->log.v[k];
        bool ended = end->type == EVENT_RANK_EXITED;
        bool left = (!ended || (end->at > launcher->at &&
                                (end->end.told == 0 || end->end.told > launcher->at))) &&
                    !oracle_over_and_tried_again(s, ev->launch, seen);
        bad |= !(ended && ending_ok(&end->end)) && (left || ev->launch == last);
    }
    return bad;
}

/* Did an mpirun that had ended only some of its ranks hang until the job was stopped? Its status is
 * then that of the stop. */
static bool was_stalled(const struct sim *s, size_t n, const struct event *launcher)
{
    return n < s->log.n && launcher >= &s->log.v[n] && s->log.v[n].stop == STOP_STALLED;
}

/* The rank that made mpirun end the others by leaving with 0: none of them failed by itself, and
 * the launcher was not ended from outside. */
static const struct event *blamed_leaver(const struct sim *s, size_t n,
                                         const struct event *launcher)
{
    const struct ending *e = &launcher->end;

    if (failed_rank(s, n, its_mpirun(s)) || (ending_ok(e) && !unfinished(s, launcher)))
        return NULL;
    if (!was_stalled(s, n, launcher) &&
        (oracle_end(s, n, launcher->process) != launcher || e->signal || e->code == 124 ||
         (e->code > 128 && e->code <= 128 + SIGRTMAX)))
        return NULL;
    return its_mpirun(s) ? oracle_leaver(s, n, its_mpirun(s)) : NULL;
}

struct expected oracle(const struct sim *s)
{
    const struct event *stop, *rank = NULL, *first, *launcher = NULL, *lost = NULL;
    size_t n = until_stop(s, &stop);

    first = first_failure(s, n);
    if (s->plan->launcher >= 0) {
        rank = failed_rank(s, n, its_mpirun(s));
        for (size_t i = oracle_attempt(s); i < s->log.n; i++) {
            const struct event *ev = &s->log.v[i];
            bool its = (int32_t)ev->process == s->plan->launcher;
            if (ev->type == EVENT_LOST)
                lost = ev;
            else if (its && (is_end(ev) || ev->type == EVENT_RESTART))
                launcher = is_end(ev) ? ev : NULL;
        }
        /* an mpirun that hung, and was lost while it was being stopped, has ended then */
        if (!launcher && lost && stop && stop->stop == STOP_STALLED)
            launcher = lost;
        bool trusted = launcher && ending_ok(&launcher->end) && s->rules->trust_launcher;
        const struct event *end = launcher ? launcher : lost; /* it has ended when it was lost */
        const struct event *daemon = lost_daemon(s, its_mpirun(s));
        if (!rank || trusted || !(end ? rank->at <= end->at : !first))
            rank = NULL;
        if (rank && (!daemon || rank->at <= daemon->at))
            return of_event(rank);
        /* ended after the stop, or before it and was to be started again: that decides nothing */
        bool asked = launcher && oracle_end(s, n, launcher->process) != launcher;
        if (daemon && launcher && !trusted && !s->job->debugging && daemon->at <= launcher->at &&
            (!first || first == launcher) && (!asked || (stop && stop->stop == STOP_STALLED)))
            return (struct expected){
                .outcome = OUTCOME_FAILED, .exit_code = 128 + SIGKILL, .process = -1, .rank = -1};
        const struct event *leaver =
            !daemon && launcher && !trusted ? blamed_leaver(s, n, launcher) : NULL;
        if (leaver && !s->job->debugging && (!first || first == launcher))
            return (struct expected){.outcome = OUTCOME_FAILED,
                                     .exit_code =
                                         ending_ok(&launcher->end) || was_stalled(s, n, launcher)
                                             ? 1
                                             : ending_exit_code(&launcher->end),
                                     .process = -1,
                                     .rank = (int32_t)leaver->rank};
        if (launcher && ending_ok(&launcher->end) && !trusted && !s->job->debugging && !first &&
            oracle_end(s, n, launcher->process) == launcher &&
            (unfinished(s, launcher) || *launcher->end.left))
            return (struct expected){.outcome = OUTCOME_FAILED,
                                     .exit_code = 1,
                                     .process = s->plan->launcher,
                                     .rank = -1};
        if (launcher && ending_ok(&launcher->end) && !trusted && !s->job->debugging &&
            ran_nothing(s, launcher))
            first = launcher;
    }
    struct verdict v = by_rules(s, n);
    bool nothing = first && first == launcher && ran_nothing(s, launcher);
    if (v.outcome != 2 && !(nothing && ending_ok(&launcher->end)))
        return by_stop(s, stop);
    /* a rank that failed after its daemon was lost comes before what failed later */
    struct expected e = of_event(v.unprepared ? v.unprepared : rank ? rank : first);
    if (nothing && !v.unprepared)
        e.exit_code = 127;
    return e;
}
