/* observe.c - from reports to events: only what is new, only what makes sense.
 *
 * Engines may say a thing twice, late, or out of order, and a broken one may name a process that
 * does not exist. Whatever passes here fits the state and can be folded.
 */
#include <stdlib.h>

#include "base/limits.h"
#include "base/mem.h"
#include "job/job.h"
#include "job/sight.h"

void events_add(struct events *es, const struct event *e)
{
    GROW(es->v, es->n, es->cap);
    es->v[es->n++] = *e;
}

void events_release(struct events *es)
{
    free(es->v);
    *es = (struct events){0};
}

static bool proc_is_new(const struct job *job, const struct observation *o)
{
    if (o->process >= job->plan->n_processes ||
        (o->instance && o->instance != job->procs[o->process].restarts + 1))
        return false;
    enum proc_state s = job->procs[o->process].state;
    if (o->kind == OBS_STARTED)
        return s == PROC_STARTING;
    /* what cannot be executed may be known before anything starts */
    if (o->kind == OBS_SPAWN_FAILED && s == PROC_PENDING && !job->begun)
        return job->phase == JOB_PENDING && job->attempt == 1 && !job->pause_wanted;
    /* a replica of a gang may fail to come up before any of its processes was started */
    if (o->kind == OBS_SPAWN_FAILED && s == PROC_PENDING && job->gated)
        return job->gates[job->plan->processes[o->process].replica] == GATE_ASKED;
    return s == PROC_STARTING || s == PROC_RUNNING;
}

static bool opening_is_new(const struct job *job, const struct observation *o)
{
    return job->gated && o->replica < job->plan->n_replicas &&
           job->gates[o->replica] == GATE_ASKED && job->phase != JOB_ENDED &&
           job->phase != JOB_HELD;
}

static const struct rank *rank_find(const struct job *job, const struct observation *o)
{
    if (o->launch == 0 || o->launch > job->n_launches)
        return NULL;
    const struct launch *l = &job->launches[o->launch - 1];
    return o->rank < l->size ? &l->ranks[o->rank] : NULL;
}

/* Whoever looks into a job may call mpirun in it by hand. That is no part of the job's story. */
static bool is_private(const struct job *job)
{
    int32_t launcher = job->plan->launcher;

    return job->phase == JOB_HELD ||
           (job->debugging && (launcher < 0 || job_waits(job, (uint32_t)launcher)));
}

/* A rank may live several times, and a late word of an earlier life must not touch a later one:
 * times tell them apart. */
static bool rank_is_new(const struct job *job, const struct observation *o)
{
    const struct rank *r = rank_find(job, o);

    if (!job->begun)
        return false;
    if (o->kind == OBS_RANK_EXITED)
        return r && r->state == PROC_RUNNING && o->at >= r->started;
    if (is_private(job))
        return false;
    if (o->launch == 0 || o->launch > job->n_launches + 1 || o->rank >= LIMIT_PROCESSES ||
        o->size > LIMIT_PROCESSES || o->replica >= job->plan->n_replicas)
        return false;
    return !r || r->state == PROC_PENDING || (r->state == PROC_ENDED && o->at > r->end.at);
}

/* Only the earliest of a launch is kept. A daemon may be lost before there is a rank. */
static bool blame_is_new(const struct job *job, const struct observation *o)
{
    bool of_daemon = o->blame == BLAME_DAEMON || o->blame == BLAME_AGENT;

    if (o->launch == 0 || o->launch > job->n_launches + of_daemon || o->blame == BLAME_NONE ||
        o->blame > BLAME_LAST || o->replica >= job->plan->n_replicas || is_private(job) ||
        job->phase == JOB_ENDED)
        return false;
    if (o->launch > job->n_launches)
        return job->begun;
    const struct launch *l = &job->launches[o->launch - 1];
    bool fits = o->rank < l->size || (l->size == 0 && of_daemon);
    if (!fits || l->blame.kind == BLAME_NONE || o->at < l->blame.at)
        return fits;
    /* How a daemon ended may be known later than that it did; an MPI_Abort and mpirun's time limit
     * only from logs. Ranks that lose each other after a signal for mpirun call that an error. */
    return (o->at == l->blame.at && o->end.known && !l->blame.end.known) ||
           ((o->blame == BLAME_ABORT || o->blame == BLAME_TIMEOUT ||
             (o->blame == BLAME_ERROR && l->blame.kind != BLAME_SIGNAL)) &&
            l->blame.kind != o->blame);
}

static bool mpirun_end_is_new(const struct job *job, const struct observation *o)
{
    if (o->launch == 0 || o->launch > job->n_launches + 1 || job->phase == JOB_ENDED)
        return false;
    if (o->launch <= job->n_launches)
        return job->launches[o->launch - 1].over == 0;
    return job->begun && !is_private(job) && o->end.known && ending_exit_code(&o->end) != 0;
}

bool job_resumable(const struct job *job)
{
    if (job->phase == JOB_ENDED || job->cancel_signal)
        return false;
    if (job->phase == JOB_HELD)
        return !job->hold_over;
    return job->pause_wanted ||
           (job->debugging && !job->debug_over && job->begun && job->stop == STOP_NONE);
}

/* What was done to its replica is why it ended; the signal or status of its end is how that was
 * done. */
static void forget_how(struct ending *e)
{
    e->known = e->oom = false;
    e->code = -1;
    e->signal = e->exec_errno = 0;
}

/* What its role's rule makes of the end is decided now and kept with it. */
static void add_restart(const struct job *job, struct event *ev)
{
    struct retry again = job_restart(job, ev->process, &ev->end);

    ev->again = again.again;
    ev->counted = again.counted;
    ev->begin_at = again.again ? ev->at + again.delay_ms * NS_PER_MS : 0;
}

/* The rest is new while the job is in a state for it. */
static bool admission_is_new(const struct job *job, const struct observation *o)
{
    (void)o;
    return !job->admitted && job->phase != JOB_ENDED;
}

static bool cancel_is_new(const struct job *job, const struct observation *o)
{
    (void)o;
    return job->phase != JOB_ENDED && !job->cancel_again;
}

static bool supervisor_loss_is_new(const struct job *job, const struct observation *o)
{
    (void)o;
    return job->phase != JOB_ENDED && !job->lost;
}

static bool hang_is_new(const struct job *job, const struct observation *o)
{
    return job->phase == JOB_RUNNING && job->stop == STOP_NONE && !job->hung && o->text &&
           !job->debugging;
}

static bool pause_is_new(const struct job *job, const struct observation *o)
{
    (void)o;
    return job->phase != JOB_ENDED && job->phase != JOB_HELD && !job->pause_wanted &&
           !job->cancel_signal;
}

static bool resume_is_new(const struct job *job, const struct observation *o)
{
    (void)o;
    return job_resumable(job);
}

/* What becomes of each report; of those that are of a whole replica, see observe_replica(). */
static const struct {
    enum event_type event;
    bool (*is_new)(const struct job *job, const struct observation *o);
} reports[] = {
    [OBS_OPENED] = {EVENT_OPENED, opening_is_new},
    [OBS_STARTED] = {EVENT_STARTED, proc_is_new},
    [OBS_SPAWN_FAILED] = {EVENT_START_FAILED, proc_is_new},
    [OBS_EXITED] = {EVENT_EXITED, proc_is_new},
    [OBS_RANK_STARTED] = {EVENT_RANK_STARTED, rank_is_new},
    [OBS_RANK_EXITED] = {EVENT_RANK_EXITED, rank_is_new},
    [OBS_CANCEL] = {EVENT_CANCEL, cancel_is_new},
    [OBS_LOST] = {EVENT_LOST, supervisor_loss_is_new},
    [OBS_HUNG] = {EVENT_HUNG, hang_is_new},
    [OBS_PAUSE] = {EVENT_PAUSE, pause_is_new},
    [OBS_RESUME] = {EVENT_RESUME, resume_is_new},
    [OBS_BLAMED] = {EVENT_BLAMED, blame_is_new},
    [OBS_MPIRUN_ENDED] = {EVENT_MPIRUN_ENDED, mpirun_end_is_new},
    [OBS_WAITING] = {EVENT_WAITING, sight_waiting_is_new},
    [OBS_UNKNOWN] = {EVENT_UNKNOWN, sight_loss_is_new},
    [OBS_REMOVAL] = {EVENT_REMOVAL, sight_removal_is_new},
    [OBS_ADMITTED] = {EVENT_ADMITTED, admission_is_new},
};

/* Everything of it that lived has ended, nobody knows how; or it never comes. */
static void observe_replica(const struct job *job, const struct observation *o, enum obs_kind kind,
                            struct events *out)
{
    struct observation end = {.kind = kind, .at = o->at, .text = o->text, .end = ENDING_UNKNOWN};
    const struct replica *r =
        o->replica < job->plan->n_replicas ? &job->plan->replicas[o->replica] : NULL;

    end.end.fate = o->end.fate;
    for (uint32_t i = 0; r && i < r->n_processes; i++) {
        end.process = r->first_process + i;
        job_observe(job, &end, out);
    }
}

void job_observe(const struct job *job, const struct observation *o, struct events *out)
{
    if (o->attempt && o->attempt != job->attempt)
        return; /* of an attempt that is over */
    if (o->kind == OBS_GONE) {
        observe_replica(job, o, OBS_EXITED, out);
        return;
    }
    if (o->kind == OBS_REFUSED) {
        if (ending_is_refused(&o->end))
            observe_replica(job, o, OBS_SPAWN_FAILED, out);
        return;
    }
    if ((size_t)o->kind >= ARRAY_SIZE(reports) || !reports[o->kind].is_new ||
        !reports[o->kind].is_new(job, o)) {
        sight_regain(job, o, out);
        return;
    }
    struct event ev = {
        .type = reports[o->kind].event,
        .at = o->at,
        .process = o->process,
        .replica = o->replica,
        .launch = o->launch,
        .rank = o->rank,
        .size = o->size,
        .forwarded = o->forwarded,
        .log = o->log,
        .end = o->end,
        .signal = o->signal,
        .asked = o->asked,
        .silent = o->silent,
        .text = o->text,
        .blame = o->blame,
        .needs = o->needs,
        .free = o->free,
        .ahead = o->ahead,
        .began = o->began,
        .program = o->program,
    };
    if (ev.end.fate && o->kind != OBS_WAITING)
        forget_how(&ev.end);
    if (o->kind == OBS_EXITED || o->kind == OBS_SPAWN_FAILED)
        add_restart(job, &ev);
    events_add(out, &ev);
}
