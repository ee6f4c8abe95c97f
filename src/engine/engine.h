/* engine.h - the interface between the job core and the place where processes run.
 *
 * An engine carries out decisions and reports observations. It never decides; it never sees a
 * dialect. Every call is idempotent: starting a started process or stopping an ended one does
 * nothing. Calls return at once; their results arrive as observations.
 *
 * A new engine is a struct engine_class, a row in registry.c, and a name in t/t0570-engines.t,
 * which drives every engine through the same scripts (t/libprog/engines.c).
 */
#ifndef ENGINE_ENGINE_H
#define ENGINE_ENGINE_H

#include <sys/types.h>

#include "base/arena.h"
#include "engine/survey.h"
#include "job/job.h"

struct engine;
struct engine_client;
struct node;
struct engine_here;
struct strbuf;
struct uv_loop_s;
struct inherited; /* base/inherited.h */

/* --- which engines there are ------------------------------------------------------------------ */

struct engine_open {
    struct uv_loop_s *loop;
    const struct plan *plan; /* of the same class */
    int stdin_fd;            /* stdin of rank 0 of a job without a file; -1 = /dev/null */
    int scratch_fd, logs_fd; /* directories of the run */
    bool waits;              /* the job continues without us, until another process attaches */
    const struct inherited
        *inherited;        /* whose umask and limits its processes have; NULL: ours. Must
                                    outlive the engine */
    bool resumes;          /* open: the job has begun, and nothing of it is there; nothing is
                                started before it is asked for */
    const struct job *job; /* attach: as its journal has it; used during the call only */
    const struct engine_client *client; /* must outlive the engine */
};

/* Objects that are handed to a controller of the place, as their file has them. */
struct engine_apply {
    const struct node *const *objects;
    size_t n;
    const char *context, *namespace_; /* options, or NULL */
    bool wait;                        /* until the jobs among them have ended */
    /* The object was accepted; NULL: that is told. */
    void (*sent)(void *ctx, const struct node *object);
    void (*told)(void *ctx, const char *text);  /* a line for the user */
    void (*noted)(void *ctx, const char *text); /* one beside it */
    void *ctx;
};

/* What can be asked about the jobs that a controller of the place runs, by who submitted them. */
enum jobs_ask {
    JOBS_LIST,   /* all of them */
    JOBS_GET,    /* one, as it is now */
    JOBS_FOLLOW, /* one, now and each time it changes, until it has ended */
    JOBS_LOGS,
    JOBS_PAUSE, /* from here on, something is asked of one */
    JOBS_RESUME,
    JOBS_CANCEL, /* one that has not ended, which is removed */
    JOBS_DELETE, /* one that has ended */
};

struct engine_jobs {
    enum jobs_ask ask;
    const char *name;                 /* NULL: JOBS_LIST */
    const char *context, *namespace_; /* options, or NULL */
    bool follow;                      /* JOBS_LOGS: until the job has ended */
    /* LIST, GET, FOLLOW: an object, as the place has it. */
    void (*job)(void *ctx, const struct node *object);
    /* LOGS: a line of a replica, without its end. */
    void (*line)(void *ctx, const char *replica, const char *text, size_t n);
    void (*noted)(void *ctx, const char *text); /* trouble that may pass */
    void *ctx;
};

struct engine_class {
    const char *name;
    bool has_images; /* containers are made of images: --image gives another one, not a place */
    bool detaches;   /* its engines have `detach` */
    /* Looks up what the plan needs. *s is SURVEY_INIT. On -errno, e names what is missing and the
     * remedy, s->cause the kind of refusal. */
    int (*survey)(struct arena *a, const struct survey_request *rq, struct survey *s,
                  struct err *e);
    /* Plans the job for the survey, and looks up what its commands need. */
    int (*plan)(struct arena *a, const struct job_spec *spec, struct survey *s,
                const struct plan **ret, struct err *e);
    /* Appends the objects that the job would consist of, as YAML. NULL: it has none. */
    void (*manifests)(struct arena *a, const struct plan *plan, struct strbuf *out);
    /* Creates an engine for a new job. */
    int (*open)(const struct engine_open *how, struct engine **ret, struct err *e);
    /* Creates an engine for a job that another process has started: reports its state, starts and
     * ends nothing. NULL: jobs of this engine end with the process that opened it. An engine that
     * detaches calls client->turn for the first time when all of its state is reported. */
    int (*attach)(const struct engine_open *how, struct engine **ret, struct err *e);
    /* An object of that name that holds the code of the plan's job, for a controller that has not
     * its directory; NULL: it has none to send. option: what the user can do if it is too large. */
    int (*pack)(struct arena *a, const struct plan *plan, const char *name, const char *option,
                const struct node **ret, struct err *e);
    /* Sends them, one after the other, and waits. Returns 0, 1 if a job has failed, or -errno.
     * NULL: there is no controller. */
    int (*apply)(const struct engine_apply *how, struct err *e);
    /* Asks about jobs that a controller runs, and waits. -ENOENT: there is no such job. NULL: there
     * is no controller. */
    int (*jobs)(const struct engine_jobs *how, struct err *e);
    const struct engine_here *here; /* NULL: the processes are not on this machine */
};

/* What can only be asked of an engine whose processes are on this machine. */
struct engine_here {
    /* The parent of the job's processes; it may change with each attempt. 0: there is none now. */
    pid_t (*root)(const struct engine *en);
};

extern const struct engine_class engine_local, engine_sim;
/* Only linked into muster-kubernetes. */
extern const struct engine_class engine_kubernetes __attribute__((weak));

extern const char *const engine_names[]; /* NULL-terminated */

/* Finds a class by name. -ENOSYS: not implemented yet; -EINVAL: unknown. */
int engine_by_name(const char *name, const struct engine_class **ret, struct err *e);

/* --- what one does ---------------------------------------------------------------------------- */

/* A command inside a replica that is not part of the job. */
struct engine_exec;
struct exec_client {
    /* Called once with the wait status, or with -1 and e if the command could not be run or the job
     * is over. The engine_exec is freed before. */
    void (*ended)(void *ctx, int status, const struct err *e);
    void *ctx;
};

/* One end of a trial of the network between two replicas (preflight.h). */
struct net_try {
    uint32_t id, replica;
    uint32_t to; /* the replica that is called; `replica` itself: it listens */
    uint32_t port;
    const unsigned char *token; /* WIRE_TOKEN bytes */
};
struct net_tried {
    uint32_t id;
    int32_t error;                /* 0 or -errno */
    uint32_t port;                /* of one that listens */
    const char *address;          /* likewise */
    int64_t latency, bytes, took; /* of one that called; ns */
};

struct engine_ops {
    /* create the replica for this attempt, without a command */
    void (*open)(struct engine *en, uint32_t replica, uint32_t attempt);
    void (*start)(struct engine *en, uint32_t process, struct start start);
    /* To every running command and rank. SIGTERM ends the attempt: a start that was asked for and
     * has not begun may be left out, and is reported as OBS_SPAWN_FAILED, ENDING_NOT_STARTED. */
    void (*signal)(struct engine *en, int sig);
    /* SIGKILL to every process of the job; after release, also limit the wait for its end */
    void (*kill)(struct engine *en);
    void (*kill_role)(struct engine *en, uint32_t role); /* the same for one role */
    void (*hold)(struct engine *en);    /* the attempt is over, keep its replicas */
    void (*clear)(struct engine *en);   /* end the attempt; another may follow */
    void (*release)(struct engine *en); /* end everything, then call client->released */
    /* Lets the job continue without us for so long, then calls client->detached. NULL: cannot. */
    void (*detach)(struct engine *en, int64_t keep_s);
    /* The decisions of this turn are complete; send them as one batch. NULL: every call takes
     * effect at once. */
    void (*commit)(struct engine *en);
    /* Ends the job at once, unless it was opened with `waits`: then the job continues. The loop
     * must run once more afterwards. */
    void (*free)(struct engine *en);

    /* Runs a shell command inside a replica with these descriptors, which the caller keeps.
     * NULL: not supported. exec_stop kills it without calling `ended`; required before free. */
    int (*exec)(struct engine *en, uint32_t replica, const char *command, const int fds[3],
                const struct exec_client *client, struct engine_exec **ret, struct err *e);
    void (*exec_stop)(struct engine_exec *x);
    /* Opens a log for reading; the caller closes the descriptor. -ENOENT: nothing was written
     * yet. */
    int (*log_open)(struct engine *en, const char *name);
    /* Appends what its replicas are doing, before all of them run, for people: "2 pods pending, 3
     * running". NULL: there is nothing to say. */
    void (*status)(const struct engine *en, struct strbuf *out);
    /* Between `open` of all replicas and the first `start`: client->tried gets the answer. NULL:
     * there is no network to try. try_end ends those that listen. */
    void (*try)(struct engine *en, const struct net_try *t);
    void (*try_end)(struct engine *en);
    /* Finds out what may keep replicas from reaching each other; client->explained gets a clause.
     * NULL: nothing is known. */
    void (*explain_unreachable)(struct engine *en);
};

struct engine { /* the first member of each kind */
    const struct engine_ops *ops;
};

/* Output that could not be written to its log. */
struct unlogged {
    const char *log;
    int error;        /* -errno */
    int64_t missing;  /* additional bytes missing in the log */
    const char *data; /* the part of them that can be shown */
    size_t n;
    bool is_err; /* data is stderr */
};

struct engine_client {
    void (*observed)(void *ctx, const struct observation *o);
    void (*note)(void *ctx, const char *text); /* a message for the user */
    void (*turn)(void *ctx);                   /* all observations of this turn were delivered */
    void (*unlogged)(void *ctx, const struct unlogged *u); /* may be NULL */
    void (*released)(void *ctx); /* the engine holds nothing of the job any more */
    /* The job continues without us; or, with e, only with us. NULL: `detach` is never called. */
    void (*detached)(void *ctx, const struct err *e);
    /* The engine cannot run the job; nothing was started, and nothing more is reported. NULL:
     * reported as OBS_LOST. */
    void (*refused)(void *ctx, const struct err *e);
    void (*tried)(void *ctx, const struct net_tried *t); /* only after ops->try */
    void (*explained)(void *ctx, const char *text);      /* only after explain_unreachable */
    void *ctx;
};

#endif
