/* parts.h - what the files of the system daemon share.
 *
 *     system.c   the loop, signals, directories; beginning and end
 *     peers.c    connections: questions of other verbs, and links to users' daemons
 *     members.c  users' daemons: started, and started again
 *     identity.c a child becomes a user
 *     book.c     the jobs of all users as their daemons have announced them
 *     decide.c   who starts next, and why the others wait
 *     store.c    what must survive us
 *
 * A link is a connection of a user's daemon. Its first message is the request "member"; from then
 * on both sides send lines of JSON.
 *
 *   from a user's daemon
 *     {"job":N,"id","name","queue","priority","state" (a word of the queue),"grant","submitted",
 *      "max_ms","roles":[[replicas,cpu,memory,gpu,ports]…]}   a job of its database, new or changed
 *     {"gone":N}                                      it has ended, or was deleted
 *     {"told":true}                                   every job was sent since the link was made
 *   to it
 *     {"start":N,"grant":G,"gpus":["0,1"…]}          one text for each replica
 *     {"stop":N,"why":"pause"|"requeue"|"exceeded","text"}
 *     {"why":N,"text"}                                why it waits
 *     {"ask":N,"request":"cancel"|"kill"|"pause"|"resume"}    root asks for it
 *     {"end":true}                                    it has to end; its jobs go on
 *
 * What is granted is decided here and kept here: a job that calls itself running without a grant
 * holds nothing. `grant` of a job is the last one that its daemon has seen, so that a line that was
 * sent before a start cannot undo it.
 */
#ifndef SYSTEM_PARTS_H
#define SYSTEM_PARTS_H

#include <uv.h>

#include "base/arena.h"
#include "base/inherited.h"
#include "base/strbuf.h"
#include "base/strvec.h"
#include "doc/tree.h"
#include "queue/queue.h"
#include "system/system.h"

struct sys_store;
struct peer;

struct job_entry {
    int64_t number; /* in the database of its user */
    char *line;     /* as it was announced; heap, as are the other texts */
    char *id, *name, *queue;
    int priority;
    enum queue_state state; /* as announced */
    int64_t submitted;
    ns_t max_duration;
    struct queue_role *roles;
    uint32_t n_roles, n_replicas;

    uint64_t order;             /* of its arrival here */
    uint64_t grant;             /* the last one; 0: none */
    bool granted;               /* it holds its places */
    bool stopping;              /* it was told to make room */
    bool said;                  /* since its link was made */
    ns_t since;                 /* granted: when */
    struct queue_place *places; /* granted: one for each replica */
    char *why;                  /* it waits; NULL: not known yet */
    uint32_t ahead;             /* UINT32_MAX: it has no place */
};

struct user {
    struct system *sys;
    uid_t uid;
    char *name;       /* as last looked up, or "uid 1000" */
    char *state_home; /* $XDG_STATE_HOME of who asked for the daemon, "" */
    struct inherited inherited;
    struct job_entry **jobs; /* sorted by number */
    size_t n, cap;
    struct peer *link; /* NULL: its daemon is not connected */
    bool told;         /* its daemon has sent all jobs */
    pid_t pid;         /* of the daemon, if we have started it and it lives; else 0 */
    int said_fd;       /* with pid: the pipe on which it says why it could not begin */
    ns_t start_at;     /* clock_mono() when it has to be started; 0: not */
    unsigned failures; /* in a row */
};

struct system {
    const struct system_options *opts;
    uv_loop_t loop;
    struct sys_store *store;
    char *program; /* this one */
    char *run;     /* the directory with the socket */
    int run_fd, users_fd;
    struct user **users;
    size_t n_users, cap_users;
    struct peers *peers;
    struct arena *config_arena;
    struct daemon_config config; /* in that arena */
    struct queue_machine machine;
    uint64_t last_order, last_grant, promised;
    bool changed;   /* the queue has to be asked */
    bool explained; /* reasons are as of the last decision */
    uv_prepare_t prepare;
    uv_timer_t queue_timer, why_timer, member_timer;
    uv_signal_t signals[4];
    bool leaving;
};

void system_note(struct system *sys, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* --- members.c -------------------------------------------------------------------------------- */

/* Finds a user; makes one if there is none. */
struct user *user_get(struct system *sys, uid_t uid);
void user_free(struct user *u);
/* Starts its daemon unless it runs. Its end, or its link, comes later. */
int member_start(struct user *u, struct err *e);
/* Its daemon is needed: starts it in a moment, later after failures, if nobody connects. */
void member_want(struct user *u);
void members_reap(struct system *sys);
/* Its link is made, or lost. */
void member_linked(struct user *u, struct peer *link);
void member_lost(struct user *u);

/* --- peers.c ---------------------------------------------------------------------------------- */

int peers_open(struct system *sys, struct err *e);
void peers_close(struct system *sys);
void peers_flush(struct system *sys);                      /* what was committed may be sent */
void peer_send(struct peer *p, const struct strbuf *line); /* to a link; adds the newline */
/* Answers all who wait for the daemon of this user. NULL: it runs. */
void peers_started(struct user *u, const char *why_not);

/* --- book.c ----------------------------------------------------------------------------------- */

/* A line of a user's daemon. -EPROTO: it is no such line; the link has to be closed. */
int book_line(struct user *u, const char *text, size_t len, struct err *e);
/* A row of the store. */
void book_load(struct system *sys, uid_t uid, const char *line, const struct job_entry *kept,
               const char *gpus);
struct job_entry *book_find(const struct user *u, const char *id);
void book_link_made(struct user *u);
void entry_free(struct job_entry *j);
/* The GPUs of each replica, as JSON: ["0,1",""]. */
void book_put_gpus(const struct job_entry *j, struct strbuf *out);
/* What everybody may see of every job, a line of JSON for each; id: only of this one, unless NULL.
 */
void book_list(struct system *sys, const char *id, struct strbuf *out);

/* --- decide.c --------------------------------------------------------------------------------- */

int decide_configure(struct system *sys, struct err *e);
void decide(struct system *sys);
void decide_explain(struct system *sys); /* fills in job->why and ahead, sends what has changed */

/* --- store.c ---------------------------------------------------------------------------------- */

/* Its descriptors are this process's alone. -EPROTO: made by a newer muster. */
int sys_store_open(const char *path, struct sys_store **ret, struct err *e);
void sys_store_close(struct sys_store *s); /* NULL is fine */
/* Calls user_get() and book_load() for what is there. */
int sys_store_load(struct system *sys, struct err *e);
/* These take effect with the commit. */
void sys_store_user(struct sys_store *s, const struct user *u);
void sys_store_job(struct sys_store *s, uid_t uid, const struct job_entry *j);
void sys_store_gone(struct sys_store *s, uid_t uid, int64_t number);
/* False: it could not be written; what changed is in memory only. */
bool sys_store_commit(struct sys_store *s, struct err *e);

#endif
