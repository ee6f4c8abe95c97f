/* parts.h - what the files of the Kubernetes engine share.
 *
 *     kubernetes.c  the operations: what is asked for
 *     cluster.c     the objects of the run: created, kept alive, deleted
 *     pod_facts.c   what the API server says of a pod: a pure function
 *     pod_status.c  what is new of it becomes observations
 *     pod_events.c  events, where a pod's own status does not say why it waits
 *     pod_link.c    the shim in a pod: its frames, its logs, and a connection that may be lost
 *     init_log.c    init containers that failed, and what they wrote
 *     exec.c        commands in a replica for somebody outside the job
 *     policies.c    what may keep pods from reaching each other
 *     pod_code.c    code and inputs, which are sent to it first
 *     attach.c      a run that another muster has started
 *     owned.c       a job that is an object of the cluster
 *
 * A replica is a pod. The pod exists from `open` (or the first `start`) on; when its container
 * runs, the engine connects to the shim inside by exec, and from then on speaks to it as the local
 * engine does to its own. What the shim cannot say any more, because its container is gone, the
 * pod's status says.
 */
#ifndef ENGINE_KUBERNETES_PARTS_H
#define ENGINE_KUBERNETES_PARTS_H

#include <uv.h>

#include "base/strbuf.h"
#include "base/strvec.h"
#include "engine/engine.h"
#include "engine/code.h"
#include "engine/kubernetes/launches.h"
#include "engine/kubernetes/objects.h"
#include "engine/kubernetes/pod_facts.h"
#include "engine/kubernetes/stream.h"
#include "engine/kubernetes/watch.h"
#include "journal/away.h"
#include "shim/wire.h"

enum pod_state {
    POD_NONE,
    POD_WANTED,  /* to be created when the objects it needs are there */
    POD_CREATED, /* asked for, or known to exist; not running yet */
    POD_RUNS,    /* its container runs: connected, or connecting */
    POD_ENDED,
};

struct log_place { /* of a log that a pod sends */
    char *name;    /* "": marks */
    int64_t size;  /* bytes that we have */
};

struct sending { /* of code into a pod (pod_code.c) */
    bool on;
    size_t next; /* entry of the list */
    int fd;      /* of a file that is partly sent, or -1 */
    int64_t offset, bytes;
};

struct pod {
    struct kubernetes *kb;
    uint32_t replica, attempt, generation;
    enum pod_state state;
    char *name, *ip, *waits_for;
    struct kube_stream *stream; /* or NULL */
    uv_timer_t *timer;          /* until the next try to connect */
    struct strbuf in, out;      /* frames; out: until the shim is ready */
    struct strbuf trying;       /* what it has to try in the network, until that is answered */
    bool is_set_up;             /* the shim was: from now on muster attaches */
    bool ready;                 /* it answers on this connection, and has the code */
    unsigned refused;           /* times in a row that a connection could not be made */
    unsigned invalid;           /* messages of its shim that made no sense */
    bool heard;                 /* its shim has answered on this connection */
    /* Of a pod that was there before us (attach.c): */
    bool adopted;
    bool seen;                  /* the watch has it, too */
    bool was_running, was_open; /* by the journal: a process of it; the replica */
    bool reopen;                /* its replica may not have been opened */
    bool spoke;                 /* its shim has reported of processes: it has its code */
    bool told;                  /* its shim has reported all that happened meanwhile */
    bool has_code;
    struct sending sending;
    struct log_place *logs;
    size_t n_logs, cap_logs;
    struct strbuf marks; /* a line that is not complete */
    bool container_ended;
    struct ending end; /* if it has */

    enum pod_stage stage;
    bool pulls;                    /* an event says that it pulls an image */
    char *news_reason, *news_text; /* the last event that says why it does not start; or NULL */
    ns_t pull_failed;        /* clock_mono(): since when its image cannot be pulled; 0: it can */
    ns_t quota_until;        /* clock_mono(): how long its creation is tried; 0: not refused yet */
    bool ours;               /* we have ended or deleted it: what is said of that is no news */
    enum cause_kind removed; /* somebody removes it: GONE, EVICTED; NONE: nobody */
    char *why;               /* … in the API server's words */
    ns_t removed_at;         /* clock_run() when that was seen */
    ns_t ended_at;           /* clock_run() of the end that made us ask; 0: none */
    ns_t gone_by;            /* clock_mono() when it has to be gone */
    ns_t lost_at;            /* clock_mono() since when its shim does not answer; 0: it does */
    bool unseen;             /* its node does not answer, or its shim */
    bool asks, asked;        /* whether somebody removes it, before an end is told */
    struct kube_call *init_call; /* asks for the log of an init container that failed; or NULL */
    int init_log;                /* that is written to this file; or -1 */
};

struct kubernetes {
    struct engine engine; /* first */
    const struct plan *plan;
    const struct engine_client *client;
    uv_loop_t *loop;
    int logs_fd, run_fd;
    struct arena *arena; /* of the access and names */
    struct kube_access access;
    struct kube_client *api;
    struct kube_run run;
    bool owned; /* the job is an object of the cluster: owned.h */
    struct kube_watch *watch;
    struct kube_watch *events; /* NULL: nobody has waited for long enough */
    bool events_refused;
    uv_timer_t *heartbeat;
    uv_timer_t *events_timer;
    ns_t anchored;    /* clock_mono() when the anchor was created */
    struct away away; /* what another muster needs to attach */
    bool beats;       /* a heartbeat is on its way */
    int64_t leave_s;  /* detach as soon as it has arrived; 0: do not */
    bool attaching;   /* not all that happened meanwhile is known yet: nothing is decided */
    bool late;        /* … and who has not answered by now is not waited for */
    uint32_t attempt; /* attach: the present one */
    struct deferred *deferred;
    size_t n_deferred, cap_deferred;
    uv_timer_t *attach_timer;
    const char *gone;     /* attach: the run is not in the cluster any more, and why; NULL: it is */
    unsigned missing;     /* objects that pods need and that are not there yet */
    unsigned creating;    /* pods whose creation has no answer yet */
    uint32_t create_from; /* no pod before this one waits to be created */
    bool refused, releasing, released;
    bool told_to_end; /* the processes of this attempt were, by us; killed: by SIGKILL */
    bool killed;
    bool no_anchor;        /* it was refused: there is nothing to delete */
    bool told_right;       /* that one is missing, while something runs */
    struct err refusal;    /* if refused */
    struct code_list code; /* what every pod is sent; empty: nothing */
    const char *no_code;   /* attach: why it cannot be sent any more; NULL: it can */
    ns_t told_code;        /* when progress was last reported */
    struct pod *pods;      /* by replica */
    struct start *starts;  /* by process: the one asked for last; attempt 0: none */
    bool *running;         /* by process: it was asked for and its end is not known */
    struct launches launches;
    uint32_t launches_of; /* that attempt's */
    struct start
        *put_off; /* by process: asked for while its pod is being removed; attempt 0: none */
};

static inline const struct replica *pod_replica(const struct pod *p)
{
    return &p->kb->plan->replicas[p->replica];
}

/* "/api/v1/namespaces/NS/pods" + rest */
const char *kube_path(struct arena *a, const struct kubernetes *kb, const char *rest);

/* --- cluster.c -------------------------------------------------------------------------------- */

int cluster_open(struct kubernetes *kb, struct err *e); /* its client; creates nothing */
int cluster_begin(struct kubernetes *kb, struct err *e);
int cluster_attach(struct kubernetes *kb, struct err *e);
void cluster_detach(struct kubernetes *kb, int64_t keep_s);
/* What was observed takes effect. */
void cluster_turn(struct kubernetes *kb);
/* Creates the pod, now or when all it needs is there. Does nothing if it exists. */
void cluster_want_pod(struct pod *p, uint32_t attempt);
void cluster_delete_pod(struct pod *p);
/* Asks for the object of this pod; `done` gets a list of at most one. */
void cluster_ask_pod(struct pod *p, void (*done)(void *ctx, const struct kube_answer *answer));
/* The job cannot be run: what was created of it is deleted. */
void cluster_refuse(struct kubernetes *kb, const char *why);
/* The same, unless something runs already: a right may have been taken away meanwhile. */
void cluster_lacks_right(struct kubernetes *kb, const char *why);
/* Deletes everything, then calls client->released. */
void cluster_end(struct kubernetes *kb);

/* What pods need is made; what is there already stays. False: the job was refused. */
bool cluster_make_parts(struct kubernetes *kb);

/* --- kubernetes.c ----------------------------------------------------------------------------- */

struct kubernetes *kubernetes_new(const struct engine_open *how);
/* The engine is *ret, or it is freed. */
int kubernetes_finish_open(struct kubernetes *kb, int r, struct engine **ret);

/* --- owned.c ---------------------------------------------------------------------------------- */

void owned_end(struct kubernetes *kb);  /* release: pods end, and are kept */
void owned_left(struct kubernetes *kb); /* a connection has ended meanwhile */

/* --- attach.c --------------------------------------------------------------------------------- */

/* What journal and run directory know. */
void attach_prepare(struct kubernetes *kb, const struct job *job);
/* Who had which number, by these lines (launches.h), which are changed. */
void attach_read_launches(struct kubernetes *kb, const struct job *job, char *lines);
void attach_find_pods(struct kubernetes *kb); /* the anchor is there */
void attach_gone(struct kubernetes *kb);      /* it is not */
void attach_synced(struct kubernetes *kb);    /* the watch has listed all pods */
bool attach_is_done(const struct kubernetes *kb);
/* Reports of several pods are told in the order of their times, when all are here. */
void attach_defer(struct pod *p, enum wire_type type, const struct wire_reader *body, ns_t at);
void attach_tell(struct kubernetes *kb);
void attach_release(struct kubernetes *kb);

/* --- pod_status.c ----------------------------------------------------------------------------- */

void pods_watch(struct kubernetes *kb);
void pod_look(struct pod *p, const struct node *object); /* takes in what is new */
void pod_is_missing(struct pod *p);                      /* there is no such object */
/* It will never come: nothing more is tried. */
void pod_refuse(struct pod *p, enum cause_kind fate, const char *why);
void pod_tell_sight(struct pod *p, bool unseen);
/* Its commands are to end; where none has begun, it is deleted, and that is their end. */
void pod_unwanted(struct pod *p);

/* --- pod_events.c ----------------------------------------------------------------------------- */

/* Some pod waits: events are read if that lasts. */
void events_wanted(struct kubernetes *kb);
void events_end(struct kubernetes *kb);
/* Counts of pods for people: "2 pods pending, 1 pulling, 5 running". */
void pods_status(const struct kubernetes *kb, struct strbuf *out);

/* --- init_log.c ------------------------------------------------------------------------------- */

/* An init container has failed (p->end): its end is reported when its log is here. */
void pod_fetch_init_log(struct pod *p);
void pod_init_forget(struct pod *p);

/* --- exec.c ----------------------------------------------------------------------------------- */

int kubernetes_exec(struct engine *en, uint32_t replica, const char *command, const int fds[3],
                    const struct exec_client *client, struct engine_exec **ret, struct err *e);
void kubernetes_exec_stop(struct engine_exec *x);

/* --- policies.c ------------------------------------------------------------------------------- */

void kubernetes_explain_unreachable(struct engine *en);

/* --- pod_link.c ------------------------------------------------------------------------------- */

void pod_connect(struct pod *p);
void pod_report(struct pod *p, enum wire_type type, struct wire_reader *r); /* kept by attach.c */
struct log_place *pod_log(struct pod *p, const char *name); /* made if it is not known */
void pod_close(struct pod *p);                              /* for good */
/* Frames for the shim: sent, or kept until it is ready. */
struct strbuf *pod_out(struct pod *p);
void pod_flush(struct pod *p);
/* Who has which address, as far as it is known: before commands that need the others. */
void pod_put_hosts(struct pod *p);
void pod_put_clock(struct strbuf *out); /* the time of the run; a pod keeps the latest */
/* The container is gone, and so is the connection: tells how its processes have ended. */
void pod_container_ended(struct pod *p);

/* --- pod_code.c ------------------------------------------------------------------------------- */

struct wire_reader;
/* Lists what is sent. -E2BIG: it is too much. */
int pod_code_list(struct kubernetes *kb, struct err *e);
void pod_code_tell(struct kubernetes *kb); /* what of it people should know */
/* "code: 37 of 120 MiB sent to 4 pods", as long as it is being sent to some. */
bool pod_code_progress(const struct kubernetes *kb, struct strbuf *out);
/* Begins to send it. False: the pod has it, or there is nothing. */
bool pod_code_begin(struct pod *p);
void pod_code_more(struct pod *p); /* the connection has room */
void pod_code_stop(struct pod *p);
bool pod_code_answer(struct pod *p, struct wire_reader *r); /* WIRE_FILES */

#endif
