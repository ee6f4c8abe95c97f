/* job.h - the job core: what is known of a running job, and what has to be done next.
 *
 * Pure. No clock, no I/O, no globals: time is an argument, the outside comes in as observations and
 * leaves as decisions. Three functions, each usable alone:
 *
 *   job_observe()  compares what an engine reports with what is known and yields the events that are
 *                  new. Reports may come twice, late or out of order.
 *   job_apply()    folds one event into the state. The only writer of state.
 *   job_decide()   yields the events that are due now. Some of them are decisions: once such an
 *                  event is in the journal and applied, the engine carries it out. After its own
 *                  events are applied, job_decide() has nothing more to say at the same time.
 *
 * A job is thus its journal: replaying the events gives the same state. What ends a job is in
 * decide.c and completion.c, what follows a failure in retry.c, what counts as the first one in
 * cause.c; how it is told, in verdict.c and the status views.
 *
 * An attempt is everything from the first start to the end of all. The fields of struct job are those
 * of the present attempt; the ones before it are kept in `past`, each as the job it was. Within an
 * attempt a single process may be started anew by its role's own rule: that is a restart, and each
 * start of a process is an instance.
 */
#ifndef JOB_JOB_H
#define JOB_JOB_H

#include <stdbool.h>
#include <stdint.h>

#include "base/clock.h"
#include "plan/plan.h"

enum proc_state {
    PROC_PENDING,
    PROC_BACKOFF, /* it has ended and will be started again, by its role's own rule */
    PROC_STARTING,
    PROC_RUNNING,
    PROC_ENDED
};

enum outcome {
    OUTCOME_NONE,
    OUTCOME_SUCCEEDED,
    OUTCOME_FAILED,
    OUTCOME_STOPPED,
    OUTCOME_NEVER_STARTED,
    OUTCOME_CANCELLED
};
const char *outcome_name(enum outcome o); /* "succeeded", "failed", "stopped", … */

enum cause_kind {
    CAUSE_NONE,
    CAUSE_EXIT,
    CAUSE_SIGNAL,
    CAUSE_OOM,
    CAUSE_EXEC,
    CAUSE_NOT_READY,
    CAUSE_DEADLINE,
    CAUSE_HANG,
    CAUSE_CANCELLED,
    CAUSE_LOST
};
const char *cause_kind_name(enum cause_kind k); /* "exit", "not-ready", … as CONTRACTS §4 */

/* How a process or a rank ended. */
struct ending {
    ns_t at;
    bool known;         /* false: it is gone and nobody could say how */
    int code;           /* exit code, or -1 if a signal ended it */
    int signal;         /* or 0 */
    int exec_errno;     /* -errno if it never became the program; 0 otherwise */
    char exec_what[64]; /* what failed then: "exec", "chdir /x" */
    char init[64];      /* the init command that ended so, before the process; "" = itself */
    bool oom;
    uint32_t
        oom_in; /* 1 + the replica where another was killed for want of memory before; 0 = none */
    int64_t max_rss;                   /* bytes, -1 = unknown */
    int64_t memory_limit, memory_peak; /* bytes, -1 = unknown; only with one of the two */
};

struct proc {
    enum proc_state state;
    ns_t started;
    struct ending end;
    bool stop_asked;           /* we had asked it to end before it did */
    uint32_t restarts;         /* in this attempt; it is instance restarts + 1 */
    uint32_t restarts_counted; /* of them, those that use up its role's limit */
    uint32_t restarts_free;    /* the last so many did not */
    ns_t restart_at;           /* PROC_BACKOFF: when */
};

struct rank {
    enum proc_state state; /* PROC_PENDING: not seen yet */
    uint32_t replica;
    uint32_t incarnations; /* mpirun may start a rank anew */
    bool forwarded;        /* its output is also in the launcher's */
    ns_t started;
    struct ending end;
    bool stop_asked;
    char *log; /* heap */
};

struct launch {         /* one mpirun as its ranks show it */
    struct rank *ranks; /* size of them */
    uint32_t size, started, ended;
    int32_t first_failed; /* rank, -1 = none */
    ns_t last_end;
};

enum job_phase {
    JOB_PENDING,
    JOB_RUNNING,
    JOB_STOPPING,
    JOB_KILLING,
    JOB_PAUSED, /* nothing of it runs; it waits to be resumed */
    JOB_HELD,   /* it has failed, and its replicas are kept until it is resumed */
    JOB_ENDED
};
const char *job_phase_name(enum job_phase p); /* "pending", "running", … */

/* Why the gang is being stopped. */
enum stop_reason {
    STOP_NONE,
    STOP_FINISHED,
    STOP_FAILURE,
    STOP_NOT_READY,
    STOP_STALLED,
    STOP_CANCEL,
    STOP_LOST,
    STOP_COMPLETED, /* enough replicas have succeeded, by the file's own rule */
    STOP_DEADLINE,
    STOP_PAUSE,
    STOP_HANG,
    STOP_DEBUG /* it was debugged long enough */
};

/* Whether a replica of a gang has answered. */
enum gate_state { GATE_CLOSED, GATE_ASKED, GATE_UP };

struct cause { /* the first failure; replica and rank are -1 for a job-level cause */
    enum cause_kind kind;
    int32_t replica, rank, process, launch;
    struct ending end;
    int exit_code; /* what `run` returns for it */
};

struct job_rules { /* what a caller may set; times in ms */
    int64_t grace_ms, start_timeout_ms, recovery_timeout_ms;
    bool trust_launcher;
    bool hold; /* an attempt that has failed is kept for whoever wants to look into it */
};

/* What a platform makes of a failure (retry.c). */
enum failure_class {
    FAILURE_UNKNOWN,   /* retried as often as the file says */
    FAILURE_TRANSIENT, /* the platform's fault: retried, and not counted */
    FAILURE_CONFLICT,  /* the same, after a while */
    FAILURE_PERMANENT, /* never retried */
};

struct job {
    const struct plan *plan;
    struct job_rules rules;

    enum job_phase phase;
    ns_t created;     /* the job */
    uint32_t attempt; /* from 1 */
    bool begun;       /* something of this attempt has been started or opened */
    bool resumed;     /* this attempt follows a pause, at once or later */
    ns_t begin_at;    /* no earlier is anything started in this attempt */
    ns_t running_at, stop_at, kill_at, ended;
    struct proc *procs; /* plan->n_processes */
    uint32_t n_pending, n_backoff, n_starting, n_running, n_ended;
    uint32_t restarts_counted; /* of all processes, in this attempt */

    bool gated;             /* no command starts before every replica has answered */
    enum gate_state *gates; /* if so: plan->n_replicas of them; else NULL */
    uint32_t n_up;
    bool counted; /* some role says how many failures or successes end the job */

    struct launch *launches; /* in order of appearance */
    uint32_t n_launches;
    uint32_t launch_base; /* so many are of instances of the launcher before the present one */

    int32_t first_failed; /* process whose own failure came first, tolerated or not; -1 = none */
    enum stop_reason stop;
    int32_t stop_replica; /* STOP_NOT_READY: who */
    int cancel_signal;
    bool cancel_again; /* a second signal: no more grace */
    bool lost;
    char *hung;         /* who waits for whom, in words; NULL = it is not known to hang; heap */
    bool pause_wanted;  /* paused, or to be */
    ns_t paused_at;     /* of the last pause */
    bool debugging;     /* replicas come up, their commands are not started */
    bool debug_over;    /* the debugging is to end */
    ns_t held_at;       /* JOB_HELD: since when */
    bool hold_over;     /* what was kept is no longer wanted */
    ns_t deadline_from; /* the first start of a command since the last pause; 0 = none yet */
    uint32_t random;
    ns_t activity; /* last output or rank ending; not an event, only advances */

    struct job *past; /* attempts before this one, oldest first, ended; with none of their own */
    uint32_t n_past;
    uint32_t retries;         /* attempts that followed a failure */
    uint32_t retries_counted; /* of them, those that use up the budget */
    uint32_t retries_free;    /* the last so many did not, all because of ... */
    int32_t free_replica;     /* ... this one; -1 = none */

    enum outcome outcome; /* set when phase is JOB_ENDED */
    int exit_code;
    struct cause cause; /* kind CAUSE_NONE if it succeeded */
};

/* --- outside in ------------------------------------------------------------------------------- */

enum obs_kind {
    OBS_OPENED,
    OBS_STARTED,
    OBS_SPAWN_FAILED,
    OBS_EXITED,
    OBS_RANK_STARTED,
    OBS_RANK_EXITED,
    OBS_CANCEL,
    OBS_LOST,
    OBS_PAUSE,  /* a request, as CANCEL is */
    OBS_RESUME, /* go on: after a pause, after a failure that is held, to end the debugging */
    OBS_HUNG    /* --hang-timeout has passed; text says what was seen */
};

struct observation {
    enum obs_kind kind;
    ns_t at;
    uint32_t attempt;               /* the one it is about; 0: the present one */
    uint32_t instance;              /* of the process, from 1; 0: the present one */
    uint32_t process;               /* STARTED, SPAWN_FAILED, EXITED */
    uint32_t replica, launch, rank; /* RANK_*, OPENED (replica); launch counts from 1 */
    uint32_t size;                  /* RANK_STARTED */
    bool forwarded;
    const char *log;
    struct ending end; /* SPAWN_FAILED (exec_errno), EXITED, RANK_EXITED */
    int signal;        /* CANCEL */
    const char *text;  /* HUNG */
};

/* --- events ----------------------------------------------------------------------------------- */

enum event_type {
    EVENT_CREATED,
    EVENT_OPEN, /* decision: make this replica, without a command */
    EVENT_OPENED,
    EVENT_START, /* decision: start this process */
    EVENT_STARTED,
    EVENT_START_FAILED,
    EVENT_EXITED,
    EVENT_RANK_STARTED,
    EVENT_RANK_EXITED,
    EVENT_CANCEL,
    EVENT_LOST,
    EVENT_STOP,    /* decision: SIGTERM to all that lives */
    EVENT_KILL,    /* decision: SIGKILL to all that lives */
    EVENT_ENDED,   /* decision: nothing is left to do; release what the engine holds */
    EVENT_RESTART, /* decision: start this process again */
    EVENT_ATTEMPT, /* decision: the attempt is over, the next one begins: clear away what is left */
    EVENT_PAUSE,
    EVENT_PAUSED, /* decision: the attempt is over, nothing is to run: clear away what is left */
    EVENT_RESUME,
    EVENT_HUNG,
    EVENT_HELD, /* decision: the attempt is over, keep its replicas as hosts */
    EVENT_LAST = EVENT_HELD
};
const char *event_type_name(enum event_type t);

struct event {
    enum event_type type;
    ns_t at;
    uint32_t process;
    uint32_t replica, launch, rank, size;
    bool forwarded;
    const char *log;
    struct ending end;
    int signal;
    const char *text;
    enum stop_reason stop;
    int32_t stop_replica;
    uint32_t attempt; /* ATTEMPT: the number of the new one */
    ns_t begin_at;    /* ATTEMPT: nothing of it starts before */
    bool counted;     /* ATTEMPT: it uses up the budget */
    bool retry;       /* ATTEMPT: it follows a failure, not a pause or the debugging */
    uint32_t random;  /* CREATED: any number; waiting times are spread by it */
};

struct events { /* a batch; logs and texts point to memory that lives until the batch is applied */
    struct event *v;
    size_t n, cap;
};
void events_add(struct events *es, const struct event *e);
void events_release(struct events *es);

/* --- the core --------------------------------------------------------------------------------- */

/* A job that nothing has happened to. plan must outlive it. */
struct job *job_new(const struct plan *plan, const struct job_rules *rules);
void job_free(struct job *job);

/* Adds the events that follow from o; none if it tells nothing new or nonsense (unknown ids). */
void job_observe(const struct job *job, const struct observation *o, struct events *out);

void job_apply(struct job *job, const struct event *e);

/* Adds the events that are due at now. */
void job_decide(const struct job *job, ns_t now, struct events *out);

/* When job_decide() should be asked again although nothing happens; 0 = no need. */
ns_t job_wake(const struct job *job);

/* Output was written. Kept beside the events because it would flood a journal and only ever
 * postpones a time-out. */
void job_activity(struct job *job, ns_t at);

/* --- what follows a failure (retry.c) --------------------------------------------------------- */

/* By OpenPAI's exit table (exit_spec.c). */
enum failure_class failure_class(const struct ending *e);

struct retry {
    bool again;
    bool counted; /* it uses up the budget */
    int64_t delay_ms;
};
/* What is to follow the present attempt, given that all of it has ended. */
struct retry job_retry(const struct job *job);
/* The ending that OpenPAI judges an attempt by: that of the task that made the count full, else that
 * of the first failure. NULL: no process or rank is to blame. */
const struct ending *job_judged_by(const struct job *job);
/* What is to follow the end of this process, if it has ended by itself. */
struct retry job_restart(const struct job *job, uint32_t process);
/* Would this process, which has ended, have been started again, had it not been so often enough? */
bool job_restarts_spent(const struct job *job, uint32_t process);

/* When the job's deadline is; 0 = it has none, or has not begun. */
ns_t job_deadline(const struct job *job);

/* --- reading it ------------------------------------------------------------------------------- */

/* The last mpirun of the present instance of the launcher, or NULL. */
static inline const struct launch *job_last_launch(const struct job *job)
{
    return job->n_launches > job->launch_base ? &job->launches[job->n_launches - 1] : NULL;
}

/* The present start of a process. */
static inline struct start job_start(const struct job *job, uint32_t process)
{
    return (struct start){.attempt = job->attempt,
                          .instance = job->procs[process].restarts + 1,
                          .resumed = job->resumed,
                          .debug = job->debugging};
}

/* Is it a host that only waits, in its present start? */
static inline bool job_waits(const struct job *job, uint32_t process)
{
    return process_waits(&job->plan->processes[process], job_start(job, process));
}

/* Is there something that OBS_RESUME would end? */
bool job_resumable(const struct job *job);

/* "debugging", or the name of the phase. */
const char *job_state_name(const struct job *job);

bool ending_ok(const struct ending *e); /* exit code 0 */
bool ending_is_ours(
    const struct ending *e); /* Muster could not prepare it; no command is to blame */
int ending_exit_code(const struct ending *e); /* as a shell would give it; 127/126 for exec */

/* What ended the job, or will, by the counts of its roles (completion.c). */
struct trigger {
    enum outcome outcome; /* OUTCOME_NONE, OUTCOME_FAILED or OUTCOME_SUCCEEDED */
    int32_t replica;      /* the one that made the count full, -1 = none */
    int32_t unprepared;   /* its process that Muster could not prepare, if that was it; else -1 */
    uint32_t count;       /* so many of its role had ended that way */
    ns_t at;
};
struct trigger job_trigger(const struct job *job);

/* The first failure as things stand (cause.c); also before the job has ended. CAUSE_NONE where the
 * job's own rule tolerates what failed. */
struct cause job_cause(const struct job *job);
/* The same, tolerated or not: CAUSE_NONE if every process that has ended did so with 0. */
struct cause job_first_failure(const struct job *job);
/* The replica because of which the others were stopped, -1 = none. */
int32_t job_stopped_by(const struct job *job);

/* Outcome of a process, a rank or a whole replica, given the cause. */
enum outcome job_proc_outcome(const struct job *job, uint32_t process);
enum outcome job_rank_outcome(const struct job *job, uint32_t launch, uint32_t rank);

struct replica_view {
    enum proc_state state;
    enum outcome outcome;
    int32_t exit_code; /* -1 = none */
    int32_t signal;    /* 0 = none */
    ns_t started, ended;
    int64_t max_rss; /* -1 = unknown */
    uint32_t restarts;
};
struct replica_view job_replica(const struct job *job, uint32_t replica);

#endif
