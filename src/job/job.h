/* job.h - the job core: the state of a job, and what to do next.
 *
 * Pure. No clock, no I/O, no globals: time is an argument, the outside comes in as observations and
 * leaves as decisions. Three functions, each usable alone:
 *
 *   job_observe()  compares the reports of an engine with the state and returns the new events.
 *                  Reports may come twice, late or out of order.
 *   job_apply()    folds one event into the state. The only writer of state.
 *   job_decide()   returns the events that are due now. Some of them are decisions: once such an
 *                  event is in the journal and applied, the engine carries it out. After its events
 *                  are applied, another call at the same time returns none.
 *
 * A job is thus its journal: replaying the events gives the same state. The result of every
 * rule (a restart, its delay, the cause) is stored in the event, so that a later version with other
 * rules replays what happened. decide.c and completion.c determine the end of a job, retry.c what
 * follows a failure, cause.c the first failure; verdict.c and the status views report it.
 *
 * An attempt lasts from the first start to the end of all processes. struct attempt, inside the
 * job, is the current attempt; earlier ones are kept in `past`. Within an attempt, the restart
 * policy of a role may start a single process again: that is a restart, and each start of a process
 * is an instance.
 */
#ifndef JOB_JOB_H
#define JOB_JOB_H

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/clock.h"
#include "base/limits.h"
#include "plan/plan.h"

enum proc_state {
    PROC_PENDING,
    PROC_BACKOFF, /* has ended and will be restarted by the policy of its role */
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
    CAUSE_LOST,
    CAUSE_GONE, /* disappeared with unknown exit status */
    /* refused before the start: */
    CAUSE_PORT,
    CAUSE_SECRET,
    CAUSE_IMAGE,
    CAUSE_UNSCHEDULABLE,
    CAUSE_EVICTED, /* by the platform, after it was started */
    CAUSE_LAST = CAUSE_EVICTED
};
const char *cause_kind_name(enum cause_kind k); /* "exit", "not-ready", … as CONTRACTS §4 */

#define MEMORY_OF_MACHINE "machine"   /* the machine's memory, not the limit of a control group */
#define MEMORY_OF_UNKNOWN "somewhere" /* control groups could not be read */

/* How a process or a rank ended. */
struct ending {
    ns_t at;
    bool known; /* false: gone with unknown exit status */
    int code;   /* exit code, or -1 if a signal ended it */
    int signal; /* or 0 */
    /* What the platform did to it: IMAGE and UNSCHEDULABLE (never started), NOT_READY (cannot
     * reach another replica), EVICTED, GONE (removed). Nothing else is known then: how its
     * processes ended follows from that. NONE: nothing. */
    enum cause_kind fate;
    /* -errno if exec or its preparation failed; ENDING_NOT_STARTED: the attempt was stopped before;
     * 0 otherwise */
    int exec_errno;
    char exec_what[64]; /* the step that failed: "exec", "chdir /x" */
    char program[64];   /* rank: what could not be executed; "" = not told */
    char init[64];      /* the init command that ended; "" = the process itself */
    ns_t told;          /* rank: when its launcher signalled it before its end; 0 = never */
    char left[16];      /* launcher: the mpirun that was still running; "" = none */
    bool by_itself;     /* it failed without a signal from Muster, although a stop was requested */
    bool unobserved;    /* launcher: some mpirun had ranks that were not observed */
    bool oom;
    bool oom_nearby; /* oom, but only known: the kernel killed some process at that time */
    uint32_t oom_in; /* 1 + the replica with an earlier out-of-memory kill; 0 = none */
    int64_t max_rss; /* bytes, -1 = unknown */
    int64_t memory_limit, memory_peak; /* bytes, -1 = unknown; only with oom or oom_in */
    char memory_of
        [LIMIT_GROUP_TEXT];     /* owner of the limit: a control group's directory, MEMORY_OF_*;
                                          "" = the replica, or no kill */
    int64_t shm_size, shm_free; /* of /dev/shm after its end, bytes; shm_size 0: unknown */
};

#define ENDING_NOT_STARTED (-ECANCELED)
#define ENDING_UNKNOWN                                                                             \
    ((struct ending){.code = -1, .max_rss = -1, .memory_limit = -1, .memory_peak = -1})

/* In a few words, for a table: "exit 3", "SIGKILL", "out of memory". */
const char *ending_words(struct arena *a, const struct ending *e);

struct proc {
    enum proc_state state;
    ns_t started;
    struct ending end;
    bool stop_asked;           /* a stop was requested before its end */
    uint32_t restarts;         /* in this attempt; the instance is restarts + 1 */
    uint32_t restarts_counted; /* of these, the number that counts against the role's limit */
    uint32_t restarts_free;    /* the number of latest restarts that did not */
    ns_t restart_at;           /* PROC_BACKOFF: time of the restart */
};

struct rank {
    enum proc_state state; /* PROC_PENDING: not seen yet */
    uint32_t replica;
    uint32_t incarnations; /* mpirun may restart a rank */
    bool forwarded;        /* its output is also in the launcher's log */
    ns_t started;
    struct ending end;
    bool stop_asked;
    char *log; /* heap */
};

/* Why mpirun ended its ranks although none of them failed. */
enum blame_kind {
    BLAME_NONE,
    BLAME_ABORT,   /* a rank called MPI_Abort with end.code */
    BLAME_EARLY,   /* mpirun reports that a rank ended without MPI_Finalize */
    BLAME_DAEMON,  /* its daemon on a replica ended while ranks were running */
    BLAME_AGENT,   /* the same, because its rsh agent was killed */
    BLAME_SIGNAL,  /* mpirun received end.signal */
    BLAME_TIMEOUT, /* mpirun reports that its own time limit was reached */
    BLAME_NOTHING, /* mpirun failed and started no rank */
    BLAME_ERROR    /* MPI's error handler ended a rank; mpirun's exit code is end.code modulo 256 */
};
#define BLAME_LAST BLAME_ERROR
const char *blame_kind_name(enum blame_kind k); /* "abort", "early", … */

struct blame {
    enum blame_kind kind;
    ns_t at;
    uint32_t rank;    /* ABORT, EARLY, ERROR */
    uint32_t replica; /* DAEMON, AGENT */
    struct ending end;
};

struct launch {         /* one mpirun, derived from its ranks; size 0: it started none */
    struct rank *ranks; /* array of size */
    uint32_t size, started, ended;
    int32_t first_failed; /* rank, -1 = none */
    ns_t last_end;
    ns_t over;          /* when mpirun itself ended; 0 = it runs, or is not observed */
    ns_t began;         /* when mpirun was started; 0 = unknown */
    int64_t program;    /* what it runs, as a number to compare; 0 = unknown */
    int code;           /* mpirun without ranks: its exit code as in a shell */
    bool unwatched;     /* mpirun without ranks: it may have had some that were not observed */
    struct blame blame; /* the earliest */
};

/* Why something has not started: "needs 4 GPUs, 2 free; ahead: 3 jobs". */
struct wait_reason {
    char *what;           /* heap; NULL: not waiting. Without numbers, the whole reason */
    int64_t needs;        /* the amount needed; 0: no numbers */
    int64_t free;         /* the amount free; -1: unknown */
    uint32_t ahead;       /* number of jobs ahead */
    enum cause_kind fate; /* what the start timeout makes of it; NONE: not ready */
    ns_t since;           /* it waits, for whatever */
};
#define WAITING_JOB UINT32_MAX /* instead of a replica: the job as a whole */

struct sight {
    bool lost;  /* out of sight: its processes have their last known state */
    ns_t since; /* start of the last time out of sight; 0: never */
    enum cause_kind
        removed; /* its removal has begun: EVICTED or GONE; its processes may still run */
    ns_t removed_at;
};

enum job_phase {
    JOB_PENDING,
    JOB_RUNNING,
    JOB_STOPPING,
    JOB_KILLING,
    JOB_PAUSED, /* no process runs; waits to be resumed */
    JOB_HELD,   /* failed; replicas are kept until it is resumed */
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
    STOP_COMPLETED, /* enough replicas have succeeded, by the completion policy */
    STOP_DEADLINE,
    STOP_PAUSE,
    STOP_HANG,
    STOP_DEBUG /* debug mode has ended */
};

/* Whether a replica of a gang is ready. */
enum gate_state { GATE_CLOSED, GATE_ASKED, GATE_UP };

struct cause { /* the first failure; replica and rank are -1 for a job-level cause */
    enum cause_kind kind;
    int32_t replica, rank, process, launch;
    enum blame_kind blame; /* how it made mpirun end the ranks; NONE: its own failure */
    struct ending end;
    int exit_code; /* exit code of `run` */
};

struct job_rules {    /* what a caller may set; times in ms */
    int64_t grace_ms; /* for roles without their own */
    bool grace_fixed; /* grace_ms applies to every role */
    int64_t start_timeout_ms, recovery_timeout_ms;
    bool trust_launcher;
    bool hold;   /* keep the replicas of a failed attempt */
    bool queued; /* nothing starts before admission, also after a pause */
    /* Every replica is opened first, also where the file does not ask for it, so that the network
     * between them can be tried; only: the job has succeeded then. */
    bool preflight, preflight_only;
};

/* How a platform classifies a failure (retry.c). */
enum failure_class {
    FAILURE_UNKNOWN,   /* retried up to the limit of the file */
    FAILURE_TRANSIENT, /* caused by the platform: retried without being counted */
    FAILURE_CONFLICT,  /* the same, with a delay */
    FAILURE_PERMANENT, /* never retried */
};

/* The state of one attempt. A list, because the fields are also fields of struct job; struct
 * attempt resets all of them for the next attempt. */
#define ATTEMPT_FIELDS                                                                             \
    enum job_phase phase;                                                                          \
    bool begun;    /* a process was started or a replica opened */                                 \
    ns_t begin_at; /* earliest start */                                                            \
    ns_t running_at, stop_at, kill_at, ended;                                                      \
    struct proc *procs; /* plan->n_processes */                                                    \
    uint32_t n_pending, n_backoff, n_starting, n_running, n_ended;                                 \
    uint32_t restarts_counted; /* of all processes */                                              \
                                                                                                   \
    enum gate_state *gates; /* if gated: plan->n_replicas of them; else NULL */                    \
    uint32_t n_up;                                                                                 \
    bool *role_killed;           /* plan->spec->n_roles: its grace period has passed */            \
    struct wait_reason *waiting; /* per replica, then the job; NULL: nothing has waited */         \
    struct sight *sight;         /* per replica */                                                 \
    char **why; /* per replica: the platform's words for its fate, heap; NULL: no replica has */   \
                                                                                                   \
    struct launch *launches; /* in order of appearance */                                          \
    uint32_t n_launches;                                                                           \
    uint32_t launch_base; /* number of launches of earlier instances of the launcher */            \
                                                                                                   \
    int32_t first_failed; /* the process that failed first, tolerated or not; -1 = none */         \
    enum stop_reason stop;                                                                         \
    int32_t stop_replica;      /* STOP_NOT_READY: who */                                           \
    enum cause_kind stop_fate; /* STOP_NOT_READY: the fate of what it waited for */                \
    char *hung;    /* heap; which rank waits for which, then a table; NULL: no hang detected */    \
    char *refused; /* heap; why it was not started; NULL = it was started */                       \
    enum cause_kind refused_kind;                                                                  \
    bool debug_over; /* debug mode is to end */                                                    \
    ns_t held_at;    /* JOB_HELD: start time */                                                    \
    bool hold_over;  /* the held replicas can be released */                                       \
                                                                                                   \
    enum outcome outcome; /* set when phase is JOB_ENDED */                                        \
    int exit_code;                                                                                 \
    struct cause cause; /* kind CAUSE_NONE if it succeeded */

struct attempt {
    ATTEMPT_FIELDS
};

struct job {
    const struct plan *plan;
    struct job_rules rules;

    union {
        struct {
            ATTEMPT_FIELDS
        };
        struct attempt present; /* the same as a whole */
    };
    uint32_t attempt; /* its number, from 1 */
    bool resumed;     /* a pause came before it */
    bool debugging;   /* debug mode: replicas start without their commands */

    ns_t created;
    bool gated;    /* no command starts before every replica is ready */
    bool counted;  /* some role sets the number of failures or successes that ends the job */
    bool admitted; /* the job may start */
    int cancel_signal;
    bool cancel_asked; /* by `muster cancel`; cancel_signal is SIGTERM */
    bool cancel_again; /* a second signal: skip the grace period */
    bool lost;
    bool silent;        /* lost: the supervisor did not respond and was killed */
    bool pause_wanted;  /* paused, or to be */
    ns_t paused_at;     /* of the last pause */
    ns_t deadline_from; /* the first start of a command since the last pause; 0 = none yet */
    uint32_t random;
    ns_t activity; /* last output or rank ending; not an event, only advances */

    struct job *past; /* earlier attempts, oldest first; their own `past` is NULL */
    uint32_t n_past;
    uint32_t retries;         /* attempts that followed a failure */
    uint32_t retries_counted; /* of these, the number that counts against the limit */
    uint32_t retries_free;    /* the number of latest retries that did not, all because of ... */
    int32_t free_replica;     /* ... this replica; -1 = none */
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
    OBS_PAUSE,        /* a request, as CANCEL is */
    OBS_RESUME,       /* continue a paused, held or debugged job */
    OBS_HUNG,         /* --hang-timeout has passed; text describes the hang */
    OBS_BLAMED,       /* why mpirun ends its ranks: launch, blame and its fields */
    OBS_MPIRUN_ENDED, /* the mpirun of a launch */
    OBS_GONE,         /* a replica disappeared; exit statuses of its processes are unknown */
    OBS_WAITING,      /* what a replica or the job (WAITING_JOB) waits for; no text: no longer */
    OBS_UNKNOWN,      /* a replica is out of sight: its state is unknown */
    OBS_REMOVAL,  /* the platform begins to remove a replica; end.fate and text give the reason */
    OBS_ADMITTED, /* the job may start */
    OBS_REFUSED   /* the platform will not run a replica; end.fate and text give the reason */
};

struct observation {
    enum obs_kind kind;
    ns_t at;
    uint32_t attempt;               /* 0: the current one */
    uint32_t instance;              /* of the process, from 1; 0: the current one */
    uint32_t process;               /* STARTED, SPAWN_FAILED, EXITED */
    uint32_t replica, launch, rank; /* RANK_*, OPENED (replica); launch counts from 1 */
    uint32_t size;                  /* RANK_STARTED */
    bool forwarded;
    const char *log;
    struct ending end; /* SPAWN_FAILED (exec_errno), EXITED, RANK_EXITED */
    int signal;        /* CANCEL */
    bool asked;        /* CANCEL: by `muster cancel`, not by a signal */
    bool silent;       /* LOST: alive but not responding */
    const char *text;  /* HUNG, WAITING; with end.fate: the platform's words */
    enum blame_kind blame;
    int64_t needs, free; /* WAITING, as in struct wait_reason; its fate is end.fate */
    uint32_t ahead;
    ns_t began;      /* RANK_STARTED, MPIRUN_ENDED: as in struct launch */
    int64_t program; /* likewise */
};

/* --- events ----------------------------------------------------------------------------------- */

enum event_type {
    EVENT_CREATED,
    EVENT_OPEN, /* decision: create this replica, without a command */
    EVENT_OPENED,
    EVENT_START, /* decision: start this process */
    EVENT_STARTED,
    EVENT_START_FAILED,
    EVENT_EXITED,
    EVENT_RANK_STARTED,
    EVENT_RANK_EXITED,
    EVENT_CANCEL,
    EVENT_LOST,
    EVENT_STOP,    /* decision: SIGTERM to all processes */
    EVENT_KILL,    /* decision: SIGKILL to all processes */
    EVENT_ENDED,   /* decision: the job is over; release the engine */
    EVENT_RESTART, /* decision: restart this process */
    EVENT_ATTEMPT, /* decision: clear the attempt and start the next */
    EVENT_PAUSE,
    EVENT_PAUSED, /* decision: clear the attempt and start nothing */
    EVENT_RESUME,
    EVENT_HUNG,
    EVENT_HELD,      /* decision: the attempt is over; keep its replicas */
    EVENT_KILL_ROLE, /* decision: SIGKILL to this role; its grace period has passed */
    EVENT_BLAMED,
    EVENT_WAITING,
    EVENT_UNKNOWN,
    EVENT_SEEN, /* a replica is back in sight, without other news */
    EVENT_ADMITTED,
    EVENT_MPIRUN_ENDED,
    EVENT_REMOVAL,
    EVENT_LAST = EVENT_REMOVAL
};
const char *event_type_name(enum event_type t);

struct event {
    enum event_type type;
    ns_t at;
    uint32_t process;
    uint32_t replica, launch, rank, size;
    uint32_t role; /* KILL_ROLE */
    bool forwarded;
    const char *log;
    struct ending end;
    int signal;
    bool asked;            /* CANCEL */
    bool silent;           /* LOST */
    const char *text;      /* HUNG, WAITING; with end.fate: the platform's words; CREATED from a
                         journal: mark of its record, or NULL */
    enum stop_reason stop; /* STOP_NOT_READY: with end.fate */
    int32_t stop_replica;
    uint32_t attempt; /* ATTEMPT: the number of the new one */
    ns_t begin_at;    /* ATTEMPT: earliest start; a restarted process: time of the restart */
    enum blame_kind blame;
    int64_t needs, free; /* WAITING */
    uint32_t ahead;
    ns_t began;         /* RANK_STARTED, MPIRUN_ENDED */
    int64_t program;    /* likewise */
    bool again;         /* EXITED, START_FAILED: restarted by its role's policy, at begin_at */
    bool counted;       /* the restart or ATTEMPT counts against the limit */
    bool retry;         /* ATTEMPT: it follows a failure, not a pause or debug mode */
    uint32_t random;    /* CREATED: a random number that spreads delays */
    struct cause cause; /* ENDED, ATTEMPT, PAUSED: what ended the attempt */
};

struct events { /* a batch; logs and texts point to memory that lives until the batch is applied */
    struct event *v;
    size_t n, cap;
};
void events_add(struct events *es, const struct event *e);
void events_release(struct events *es);

/* --- the core --------------------------------------------------------------------------------- */

/* A new job without events. plan must outlive it. */
struct job *job_new(const struct plan *plan, const struct job_rules *rules);
void job_free(struct job *job);

/* A job that Muster refused or failed to start: no process was started. Not an event: such a job
 * has no journal. */
struct job *job_refused(const struct plan *plan, enum cause_kind kind, const char *why, ns_t at);

/* Adds the events that follow from o; none if o is not new or invalid (unknown ids). */
void job_observe(const struct job *job, const struct observation *o, struct events *out);

void job_apply(struct job *job, const struct event *e);

/* Adds the events that are due at now. */
void job_decide(const struct job *job, ns_t now, struct events *out);

/* When to call job_decide() again if nothing happens; 0 = no need. */
ns_t job_wake(const struct job *job);

/* Output was written. Not an event, because it would flood the journal and only postpones a
 * timeout. */
void job_activity(struct job *job, ns_t at);

/* --- time to end (grace.c) -------------------------------------------------------------------- */

/* Time between SIGTERM and SIGKILL, of a role and the maximum of all roles. */
int64_t job_grace_ms(const struct job *job, size_t role);
int64_t job_longest_grace_ms(const struct job *job);
/* When to kill a role before the others while the job is stopped; 0 = not, or already done. */
ns_t job_role_kill_at(const struct job *job, size_t role);

/* --- what follows a failure (retry.c) --------------------------------------------------------- */

/* By OpenPAI's exit table (exit_spec.c). */
enum failure_class failure_class(const struct ending *e);

struct retry {
    bool again;
    bool counted; /* counts against the limit */
    int64_t delay_ms;
};
/* What follows the current attempt, after all its processes have ended. */
struct retry job_retry(const struct job *job);
/* The ending by which OpenPAI classifies an attempt: of the task that reached the completion count,
 * else of the first failure. NULL: no process or rank failed. */
const struct ending *job_judged_by(const struct job *job);
/* What follows if this process ends like this now, without being stopped. */
struct retry job_restart(const struct job *job, uint32_t process, const struct ending *end);
/* Has this process, which has ended, used up its restarts? */
bool job_restarts_spent(const struct job *job, uint32_t process);

/* The deadline of the job; 0 = none, or not started. */
ns_t job_deadline(const struct job *job);

/* --- reading it ------------------------------------------------------------------------------- */

/* The last mpirun of the current instance of the launcher that has ranks, or NULL. */
static inline const struct launch *job_last_launch(const struct job *job)
{
    for (uint32_t k = job->n_launches; k > job->launch_base; k--)
        if (job->launches[k - 1].size > 0)
            return &job->launches[k - 1];
    return NULL;
}

/* The mpirun that decides, of those that have ranks (tries.c): the first that failed and was not
 * tried again, else the last. -1 or NULL: there is none. */
int32_t job_judged_launch(const struct job *job);
const struct launch *job_judged(const struct job *job);

/* The current start of a process. */
static inline struct start job_start(const struct job *job, uint32_t process)
{
    return (struct start){.attempt = job->attempt,
                          .instance = job->procs[process].restarts + 1,
                          .resumed = job->resumed,
                          .debug = job->debugging};
}

/* Does its current start only make it a waiting host? */
static inline bool job_waits(const struct job *job, uint32_t process)
{
    return process_waits(&job->plan->processes[process], job_start(job, process));
}

/* Does OBS_RESUME have an effect? */
bool job_resumable(const struct job *job);

/* "debugging", or the name of the phase. */
const char *job_state_name(const struct job *job);
/* The same while its run lives: "ending" after the end, until nothing of it is left. */
const char *job_live_state_name(const struct job *job);

/* What the replica (or WAITING_JOB) waits for; NULL: nothing known. */
const struct wait_reason *job_waiting(const struct job *job, uint32_t replica);
/* The first reason: of the job, else of its first waiting replica. */
const struct wait_reason *job_first_waiting(const struct job *job);
struct strbuf;
void waiting_text(const struct wait_reason *w, struct strbuf *out); /* "needs 4 GPUs, 2 free" */
/* All of them: "2 of 5 workers pending: 0/3 nodes are available". Nothing if nothing waits. */
void waiting_summary(const struct job *job, struct strbuf *out);

/* The platform's words for the fate of a replica, or NULL. */
const char *job_why(const struct job *job, uint32_t replica);

bool ending_ok(const struct ending *e);         /* exit code 0 */
bool ending_is_refused(const struct ending *e); /* the platform never started it */
bool ending_is_ours(
    const struct ending *e); /* it was never reached: Muster or the platform could not prepare it */
int ending_exit_code(const struct ending *e); /* as in a shell; 127/126 for exec */

/* What ended or will end the job, by the completion counts of its roles (completion.c). */
struct trigger {
    enum outcome outcome; /* OUTCOME_NONE, OUTCOME_FAILED or OUTCOME_SUCCEEDED */
    int32_t replica;      /* the one that reached the count, -1 = none */
    int32_t unprepared;   /* its process that Muster failed to prepare; else -1 */
    uint32_t count;       /* number of replicas of its role that ended this way */
    ns_t at;
};
struct trigger job_trigger(const struct job *job);

/* The first failure so far (cause.c), also before the job has ended. CAUSE_NONE if the completion
 * policy tolerates the failure. */
struct cause job_cause(const struct job *job);
/* The same, tolerated or not: CAUSE_NONE if every process that has ended exited with status 0. */
struct cause job_first_failure(const struct job *job);
/* Of the last mpirun: the number of ranks left running when its launcher ended; the number that had
 * not ended by themselves, including these. */
uint32_t job_ranks_left(const struct job *job);
uint32_t job_ranks_unfinished(const struct job *job);
/* The replica that caused the others to be stopped, -1 = none. */
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
    uint32_t running; /* number of running processes; above 0 the replica has not ended */
    ns_t unseen;      /* out of sight since; 0: in sight */
};
struct replica_view job_replica(const struct job *job, uint32_t replica);

#endif
