/* parts.h - what the files of the daemon share.
 *
 *     daemon.c   the loop: rounds, signals, beginning and end
 *     jobs.c     all jobs, by id and number
 *     served.c   one job: from the queue to its end
 *     resume.c   one that a daemon before us has started
 *     finish.c   its end
 *     admit.c    who starts next: the jobs as src/queue sees them
 *     server.c   connections of other verbs
 *     requests.c what they ask for; request_array.c of all jobs of an array
 *     store.c    the database
 *     config.c   queues and what they may use
 *     code.c     snapshots of jobs' code, and their working copies
 *     retire.c   run directories that are removed by themselves
 *     member.c   where all users share a queue: asks the system daemon instead of admit.c
 *     preempt.c  jobs that make room for others, and go on later
 *
 * One round of the loop:
 *
 *   decide   what was reported of each job becomes events; the queue starts jobs; ended jobs get
 *            their reports
 *   commit   all of it, with one transaction
 *   act      replies are sent, watchers hear the events, engines carry out
 *
 * What was only reported, and is followed by nothing, may wait LIMIT_COMMIT_WAIT_MS for its commit:
 * a supervisor says it again to the next daemon.
 *
 * A commit that fails is tried again every LIMIT_STORE_RETRY_MS; until then nothing is acted upon.
 */
#ifndef DAEMON_PARTS_H
#define DAEMON_PARTS_H

#include <uv.h>

#include "daemon/daemon.h"
#include "daemon/planner.h"
#include "daemon/store.h"
#include "daemon/tally.h"
#include "doc/tree.h"
#include "engine/turn.h"
#include "foreground/aborts.h"
#include "foreground/control.h"
#include "foreground/log_gaps.h"
#include "foreground/usage_watch.h"
#include "queue/queue.h"

struct server;
struct member;
struct hang; /* inspect/hang.h */
struct peer; /* a connection */

/* What a job needs while it runs. */
struct active {
    struct served *served;
    struct arena *a; /* its plan, and the submission it was made of */
    struct planned planned;
    struct rundir rd;
    struct job *job;
    struct journal *journal;
    struct engine *engine;
    struct turn *turn;
    struct control *control; /* NULL: could not be had */
    struct usage_watched *usage;
    struct engine_client client;
    const struct inherited *inherited; /* in its arena; NULL: of an older muster */
    struct aborts aborts;
    struct log_gaps gaps;
    uv_timer_t *wake;
    int64_t max_duration_ms; /* that its queue sets; 0: none */
    bool is_local;           /* its engine is engine_local, not engine_nothing */
    struct hang *hang;       /* NULL: nobody asked for it */
    bool released;           /* the engine holds nothing any more */
    bool told;               /* its report is written, its end is about to be committed */
    bool heard;              /* the engine has reported something */
    bool watched;            /* its plan is a record: nothing of it can be started (resume.c) */
    struct engine_ops ops;   /* watched: those of the engine but for that */
    struct err refusal;      /* of the engine, before anything was started; code 0: none */
};

struct served {
    struct daemon *d;
    struct stored row;          /* its texts are heap */
    char *snapshot;             /* of its code; heap, or NULL */
    struct common *common;      /* NULL after its end */
    char *own;                  /* the part of its request that is not there; heap */
    struct queue_place *places; /* started: heap, one per replica */
    struct active *act;         /* started */
    ns_t since;                 /* real time at which it started or was resumed; 0: row.started */
    bool stopping;              /* cancelled, or to be */
    bool dirty;                 /* something was reported, or its time has come */
    bool is_new;                /* not committed yet */
    bool has_dir;               /* ended: its run directory may have to be removed one day */
    struct peer *submitter;     /* is_new: gets the reply; NULL: went away */
    /* Of a daemon of the system daemon's: */
    bool announced;
    uint64_t said;  /* a hash of what was said about it */
    uint64_t grant; /* the last one that was heard of */
    char *why;      /* it waits; heap, or NULL */
    struct served *next_dirty, *next_id;
};

/* What jobs of one submission have in common: freed with the last of them that ends. */
struct common {
    int refs;
    char *request; /* text of it; of a job of an array, as far as it is that of all */
    size_t len;
    char *snapshot;           /* or NULL */
    struct queue_role *roles; /* what each needs */
    uint32_t n_roles;
    struct queue_after *afters; /* ids are numbers of jobs */
    uint32_t n_afters;
    uint32_t n_replicas;
    ns_t max_duration;
};

struct daemon {
    const struct daemon_options *opts;
    uv_loop_t loop;
    struct store *store;
    struct server *server;
    struct member *member; /* NULL: this daemon has a queue of its own */
    void *front;           /* of opts->front */
    struct tally tally;
    struct usage_watch *usage; /* of all its jobs */
    struct served **jobs;      /* in the order of submission; ended ones, too */
    size_t n, cap;
    struct served **open; /* those that have not ended, in the same order, and some that have */
    size_t n_open, cap_open;
    struct served **buckets; /* by id */
    size_t n_buckets;        /* a power of two, or 0 */
    struct served *dirty;    /* a list */
    size_t n_active;
    size_t n_changed;   /* jobs that were submitted or have ended since memory was given back */
    bool queue_changed; /* a job was submitted or has ended, … */
    ns_t queue_wake;    /* clock_run() when the queue has to be asked again; 0: no need */
    uint64_t promised;
    struct arena *config_arena;
    struct daemon_config config; /* in that arena */
    struct queue_machine machine;
    int64_t last_number, last_turn;
    uv_prepare_t prepare;
    uv_timer_t retry, queue_timer, commit_timer, retire_timer;
    ns_t retire_from; /* clock_mono(): not before that */
    uv_signal_t signals[4];
    bool made_room; /* a job's end was decided in this round */
    bool urgent;    /* somebody waits for the next commit */
    bool stuck;     /* the last commit has failed, and somebody was told */
    bool leaving;   /* SIGTERM: no job is started any more */
};

void daemon_note(struct daemon *d, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* --- jobs.c ----------------------------------------------------------------------------------- */

struct served *daemon_find(const struct daemon *d, const char *id); /* NULL: none */
struct served *daemon_number(struct daemon *d, int64_t number);
struct served *daemon_add(struct daemon *d, const struct stored *row);
/* Forgets a job: it was refused, or its row is removed. */
void daemon_drop(struct daemon *d, struct served *s);
/* Lets the jobs go on without us, as SIGTERM does. */
void daemon_leave(struct daemon *d);

void served_free(struct served *s);
/* Appends its request, JSON; nothing after its end. */
void served_request(const struct served *s, struct strbuf *ret);
/* Its end is committed. */
void served_forget_needs(struct served *s);

/* --- served.c --------------------------------------------------------------------------------- */

/* Reads what the request says about the queue; a job without it needs nothing. */
void served_read_needs(const struct daemon *d, const char *request, struct common *ret);
const char *served_phase(const struct served *s); /* "waiting", "running", "ended", … */
void served_mark(struct served *s);               /* it takes part in the next round */

/* Plans a waiting job and creates it: its first events are folded, nothing is committed. If it
 * cannot be started, it has ended with a report that says why. */
void served_start(struct served *s);
/* A waiting job that is cancelled is created to end at once. */
void served_cancel_waiting(struct served *s);
/* The same without a run directory: its row is all that is left. */
void served_end_waiting(struct served *s);
/* Neither has it ended, nor is it about to. */
bool served_is_open(const struct served *s);
/* A waiting job that can never start ends as one that could not be started. */
void served_refuse(struct served *s, const struct err *why);
/* A job that a daemon before us has started. */
void served_resume(struct served *s);
/* Steps of a round. */
void served_decide(struct served *s, ns_t now);
/* Something follows from the commit, which must not wait. */
bool served_is_due(const struct served *s);
void served_act(struct served *s, ns_t now);
/* Lets the job go on without us. */
void served_leave(struct served *s);
/* Is durable when it returns. */
void served_observe(struct served *s, enum obs_kind kind);
/* Is durable with the next commit. */
void served_post(struct served *s, enum obs_kind kind);

extern const struct engine_class engine_nothing; /* runs nothing: nothing.c */

/* --- config.c --------------------------------------------------------------------------------- */

/* At the beginning: errors are fatal. */
int config_read(struct daemon *d, struct err *e);
/* At SIGHUP: with errors the old configuration stays. */
void config_reload(struct daemon *d);
/* The queue that this name, or none, means. NULL: there is none; *why has those that exist. */
const char *config_queue(const struct daemon *d, const char *name, struct strbuf *why);

/* --- preempt.c -------------------------------------------------------------------------------- */

/* Carries out a decision of the queue: the job makes room for another one; why: "preempted by …".
 */
void preempt_stop(struct served *s, const char *why, bool requeue);
/* After it was decided upon: a job that is paused now releases what it has. */
void preempt_check(struct served *s);
/* The queue has places for a job that released its own: it goes on. */
void preempt_resume(struct served *s);
/* Somebody asks to resume it. True: the queue does, when there is room. */
bool preempt_resume_asked(struct served *s);

/* --- code.c ----------------------------------------------------------------------------------- */

/* Makes the working copy of a job, in its run directory; sets sub->code. */
int code_copy(struct served *s, const struct rundir *rd, struct submission *sub, struct err *e);
/* The same of a job whose working copy is there. */
void code_find(struct arena *a, const struct rundir *rd, struct submission *sub);
/* The job has ended: what it has not changed is removed. */
void code_prune(struct active *act);
/* Its end is committed: the snapshot goes with the last job that has it. */
void code_forget(struct served *s);
/* At the beginning: removes snapshots that no job has. */
void code_sweep(struct daemon *d);

/* --- retire.c --------------------------------------------------------------------------------- */

/* Soon, removes what the limits on run directories no longer allow. */
void retire_later(struct daemon *d);

/* --- admit.c ---------------------------------------------------------------------------------- */

/* The places of a job that a daemon before us has started. */
void admit_restore(struct served *s);
/* Can it never start on this machine? Then why. */
bool admit_never(struct served *s, struct strbuf *why);
/* Starts whoever may start now; served_start() for each. Not all: only jobs that wait; what was
 * decided of others in this round must be carried out before anything else is. */
void admit(struct daemon *d, bool all);
/* Why each waiting job waits: calls fn for each; if `only` is not NULL, for that one. */
void admit_explain(struct daemon *d, const struct served *only,
                   void (*fn)(void *ctx, struct served *s, const char *why), void *ctx);

/* What it holds, and whether that may change. */
enum queue_state admit_state(const struct served *s);
/* How the jobs that it waits for stand; s->n_afters of them, in the arena. */
const struct queue_after *admit_afters(struct arena *a, const struct served *s);
void admit_places(struct served *s, const struct queue_place *places);

/* --- member.c --------------------------------------------------------------------------------- */

/* Connects to the system daemon, and again whenever the connection is lost. */
void member_open(struct daemon *d);
void member_close(struct daemon *d);
void member_free(struct daemon *d); /* when the loop has ended */
/* In place of a decision: says what has changed. Ends jobs that wait for one that has failed. */
void member_admit(struct daemon *d);
void member_explain(struct daemon *d, void (*fn)(void *ctx, struct served *s, const char *why),
                    void *ctx);
/* A job is not known any more. */
void member_dropped(struct served *s);

/* --- server.c --------------------------------------------------------------------------------- */

int server_open(struct daemon *d, int dir_fd, struct server **ret, struct err *e);
void server_free(struct server *sv); /* NULL is fine */
void peer_answer(struct peer *p, const struct strbuf *head, const struct strbuf *body);
void peer_refuse(struct peer *p, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* The reply comes later: when the job is committed, or has ended. */
void peer_defer(struct peer *p, struct served *s, bool until_end);
/* The reply has the ids of jobs that were changed, when that is committed. */
void peer_defer_change(struct peer *p, const struct served *s);
/* Replies to all whose jobs were committed, or could not be (e), and whose jobs have ended. */
void server_committed(struct server *sv, const struct err *e);

/* --- requests.c ------------------------------------------------------------------------------- */

void request_serve(struct daemon *d, struct peer *p, const char *text, size_t len);
/* what: "cancel", "kill", "pause", "resume"; word: the id of one of its jobs. */
void request_array(struct daemon *d, struct peer *p, const char *what, const char *word);
/* The head of an answer about one job. */
void request_answer_job(struct peer *p, const struct served *s);
void request_answer_ids(struct peer *p, const struct strvec *ids);

#endif
