/* operator.h - what the files of the operator share.
 *
 *     main.c     options, signals, the loop; flags.c has the options
 *     serve.c    which kinds the cluster has; their objects come and go
 *     pods.c     pods of all jobs, as the API server shows them; whose.c has their labels
 *     tend.c     one job: its object becomes a plan, its turns, its time
 *     place.c    the engine of such a job: pods become observations, decisions become wishes
 *     carry.c    wishes become objects
 *     companion.c  PodGroup and autoscaler, as long as the job needs them
 *     change.c   a job that runs is changed: replicas, and the files that name them
 *     ranks.c    what a launcher says of its ranks
 *     launcher.c the batch Job of a launcher, when its pods do not tell
 *     keep.c     what must survive the operator, and the status that people see
 *     tail.c     the last lines of the pod that failed first
 *     announce.c events, and the first failure in words
 *     waiting.c  what a job waits for
 *     own.c      jobs of Muster's own kind, which have another engine (own.h)
 *     monitor.c  health and metrics by HTTP (http.c, metrics.c)
 *     webhook.c  validation when a job is applied (review.c, tls.c, cert.c)
 *
 * One loop, one client, and for every kind and for pods one watch, however many jobs there are. A
 * job that something was heard of is put into a queue and has one turn at the end of the loop's
 * round, however much was heard. The state of a job is in the cluster: pods say what runs, and an
 * annotation of the job says what pods cannot (keep.c). doc/design/operator.md has the reasons.
 */
#ifndef OPERATOR_OPERATOR_H
#define OPERATOR_OPERATOR_H

#include <uv.h>

#include "engine/kubernetes/apply.h"
#include "engine/kubernetes/watch.h"
#include "engine/turn.h"
#include "operator/flags.h"
#include "operator/lives.h"
#include "operator/metrics.h"
#include "operator/served.h"
#include "operator/wants.h"
#include "operator/whose.h"

struct asked;
struct question;
struct own;
struct controller;
struct tended;
struct http_server;
struct webhook;

enum { OWN_KEY_BYTES = 32 };

/* The pod of a replica. Of several pods of a launcher that is a batch Job the last one counts. */
struct hand {
    bool wanted;       /* the core has asked for it */
    struct start want; /* … for this start */
    bool dirty;        /* there is news of it */
    bool exists;       /* the API server has shown it */
    bool creating, deleting;
    bool early;                 /* a launcher that is created before the core asks for it */
    bool let_go;                /* the job is over, and it may go on */
    bool remove;                /* its pod is to be deleted */
    uint32_t lives_before;      /* of earlier pods of a launcher's Job */
    char *name, *uid;           /* heap; NULL: there was none yet */
    char *container;            /* heap: the one that counts; NULL as above */
    ns_t made;                  /* its time of creation */
    struct life life;           /* its text is `text` */
    char *text;                 /* heap, or NULL */
    char *ranks, *ranks_before; /* likewise: those of `life` */
};

/* An object that follows the job's policy, and is there only while pods may be scheduled. */
struct companion {
    const struct want *want; /* NULL: the job has none */
    char *spec;              /* as it was last written; or NULL */
    bool over;               /* it was deleted, or is being */
};

enum made { MADE_NOT, MADE_ASKED, MADE_THERE }; /* an object that is not a pod */

struct tended {
    struct controller *op;
    struct engine engine; /* see place.c */
    const struct served_kind *kind;
    char *key;           /* NAMESPACE/OPERATOR-NAME/NAME */
    char *version;       /* resourceVersion of what we have */
    char *sent_version;  /* … when its state was last sent; or NULL */
    int64_t generation;  /* likewise: of its spec */
    unsigned noted;      /* likewise: which of SERVED_SUSPEND and SERVED_DEBUG */
    struct arena *arena; /* of all that follows */
    struct served served;
    struct job *job; /* NULL: the object is not valid, has ended, or is another operator's */
    struct turn *turn;
    struct hand *hands;  /* by replica */
    bool *running;       /* by replica */
    unsigned char *made; /* by want: enum made; not used for pods */
    const struct want *wants;
    size_t n_wants;
    const struct want **pods_of;     /* by replica: its pod, or its Job */
    const struct want **services_of; /* by replica: its Service, or NULL */
    struct companion group, scaler;  /* PodGroup, HorizontalPodAutoscaler */
    uint32_t launcher;               /* its replica, if there is one; see launcher.c */
    int look_s;                      /* its Job is asked for after so long; 0: no need to */
    ns_t look_at;
    struct arena *next_arena; /* of a plan that is to be taken over; NULL: there is none */
    struct served next_served;
    char *files;   /* as the ConfigMap was last written; or NULL */
    ns_t files_at; /* not again before */
    enum { TAIL_NOT, TAIL_ASKED, TAIL_KNOWN } tail_state;
    char *tail;    /* the last lines of the first failure: tail.c */
    char *tail_of; /* … the name of its pod; or NULL */
    size_t tail_n;
    ns_t expires;            /* the object is deleted; 0: it is kept, or has not ended */
    bool found;              /* some of its objects were there already */
    ns_t secret_since;       /* its Secret was there already; 0: not seen */
    bool has_shared;         /* what pods refer to was created */
    bool suspend, suspended; /* the Job of its launcher: is to be; is */
    bool job_waits;          /* that Job: it is of a job that is debugged */
    char *job_uid;           /* that Job's, heap; NULL: not known yet */
    char *old_job_uid;       /* of one that was deleted; or NULL */
    ns_t carry_at;           /* nothing is asked for before, because it was refused */
    int pause_s;             /* … for so long; 0: not refused since the last success */
    char *refusal;           /* … in these words; or NULL */
    const char *private_key, *public_key; /* or NULL */
    const char *agent, *agent_key;        /* or NULL; the program is one of the controller's */
    struct asked *asked;                  /* requests of carry.c that have no answer yet */
    unsigned in_flight;                   /* creations and deletions that have no answer yet */
    bool decided;                         /* something is to be carried out, after it was kept */
    bool keeping, telling;                /* a request of keep.c has no answer yet */
    bool keep_failed;                     /* the last one that was to keep something failed */
    char *kept, *told;  /* what the cluster has of us: annotation, status; or NULL */
    unsigned announced; /* conditions that an event has told */
    char *waits_for;    /* waiting.c: as it was last told; NULL: it does not wait, or not long */
    ns_t waits_at;      /* … and when to look again; 0: it does not wait */
    bool waits_new;     /* the status does not have waits_for yet */
    bool queued, gone;
    bool seen;           /* since its kind was listed anew */
    struct tended *next; /* in the queue */
    uv_timer_t *wake;
    struct own *own; /* of a MusterJob; NULL: of any other kind */
};

struct kind_watch {
    struct controller *op;
    const struct served_kind *kind;
    struct kube_watch *watch;
    bool synced;
};

struct controller {
    uv_loop_t *loop;
    struct arena *arena;
    struct kube_access access;
    struct kube_client *api;
    const struct operator_flags *flags;
    struct operator_options options;
    const char *agent;          /* agent.h; NULL: not needed yet */
    const char *recorder;       /* likewise */
    const char *namespace_;     /* the only one that is served; NULL: all */
    const char *lock_namespace; /* of the lease; NULL: none is taken */
    bool leads, lost;           /* the lease */
    ns_t began;                 /* clock_real() */
    struct metrics metrics;
    struct http_server *servers[2];
    size_t n_servers;
    struct webhook *webhook; /* NULL: none */
    struct kind_watch *kinds;
    size_t n_kinds;
    unsigned asking;                         /* discoveries without an answer */
    struct question *questions;              /* serve.c: of these, for a version */
    struct kube_watch *pods[WHOSE_FAMILIES]; /* NULL: the jobs are not known yet */
    unsigned pods_synced;
    bool pods_stale;      /* a kind came after they were listed */
    bool pods_known;      /* nothing is decided before */
    struct tended **jobs; /* sorted by key */
    size_t n_jobs, cap_jobs;
    struct tended *queue, **queue_end;
    uv_timer_t *look;                 /* for kinds that are not there yet */
    bool key_asked, key_known;        /* of MusterJobs: own_key.c */
    unsigned char key[OWN_KEY_BYTES]; /* … that of the operators */
};

/* log.c: one line of JSON on stderr: time, level, what, and of which job (or NULL). */
void tell(const struct tended *t, const char *level, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

/* --- serve.c ---------------------------------------------------------------------------------- */

void serve_begin(struct controller *op);
void serve_end(struct controller *op);
/* The job of that key, or NULL. */
struct tended *serve_find(struct controller *op, const char *key);

/* --- pods.c ----------------------------------------------------------------------------------- */

void pods_begin(struct controller *op); /* lists and watches them */
void pods_end(struct controller *op);

/* --- tend.c ----------------------------------------------------------------------------------- */

struct tended *tend_new(struct controller *op, const struct served_kind *kind, const char *key);
void tend_object(struct tended *t, const struct node *object); /* as it is now */
void tend_soon(struct tended *t);                              /* a turn at the end of this round */
void tend_later(struct tended *t);                             /* a turn in a second */
void tend_wake(struct tended *t, ns_t at);                     /* a turn at that time; 0: none */
void tend_turn(struct tended *t);
/* The job in the state of that snapshot, for t->served; one from the beginning if it is none. */
void tend_load(struct tended *t, const char *state, size_t len);
/* Its first part: t->job and t->turn. False: it is a new one, for tend_create(). */
bool tend_load_job(struct tended *t, const char *state, size_t len);
void tend_create(struct tended *t);
void tend_free(struct tended *t); /* its object is gone */

/* --- place.c ---------------------------------------------------------------------------------- */

void place_begin(struct tended *t);
void place_resume(struct tended *t); /* pods of processes that run in t->job are wanted */
/* A pod of this replica is there as `pod` says, or is gone. */
void place_pod(struct tended *t, uint32_t replica, enum watch_change change,
               const struct node *pod);
void place_report(struct tended *t); /* what is known of all pods, as observations */
void place_release(struct tended *t);
/* Is the replica a batch Job, whose controller makes its pods? */
bool place_by_job(const struct tended *t, uint32_t replica);
/* Does its pod belong to an attempt, or a start, that is over? */
bool place_is_stale(const struct tended *t, uint32_t replica);
void place_observe(struct tended *t, uint32_t replica, struct observation *o);

/* --- carry.c ---------------------------------------------------------------------------------- */

void carry_out(struct tended *t);     /* creates and deletes what is due */
void carry_release(struct tended *t); /* forgets requests that were cancelled */

const char *carry_path(struct arena *a, const struct tended *t, const struct want *w);
/* For others that ask for something of a job: a request whose answer matters to nobody. */
void carry_request(struct tended *t, const char *method, const char *path, const char *type,
                   const struct node *body);

/* --- companion.c ------------------------------------------------------------------------------ */

void companions_follow(struct tended *t); /* they are changed, or deleted */
/* With a gang scheduler no pod starts before all are there: a launcher is created with its workers,
 * unless the file says otherwise. */
bool gang_needs_launcher(const struct tended *t);

/* Its pod, by the uid that we know. */
void carry_delete_pod(struct tended *t, uint32_t replica);

/* --- change.c --------------------------------------------------------------------------------- */

/* Another plan for the job, in `arena`, which it takes over when nothing is on its way any more. */
void change_take(struct tended *t, struct arena *arena, const struct served *now);
/* Takes it over, if that is possible; true: not yet, and nothing may be asked for. */
bool change_waits(struct tended *t);
/* Hostfile and discover_hosts.sh follow the workers; when to call it again, 0: any time. */
ns_t change_files(struct tended *t);

/* --- launcher.c ------------------------------------------------------------------------------- */

ns_t launcher_look(struct tended *t); /* when to call it again, at the latest; 0: any time */

/* --- keep.c ----------------------------------------------------------------------------------- */

#define KEEP_STATE OWN_DOMAIN "/state"
#define KEEP_VERSION OWN_DOMAIN "/written-in"
#define KEEP_EXIT APPLY_EXIT_CODE /* of a job that has ended: what `muster run` would return */
/* Writes what must survive us, then carries out what was decided. */
void keep_state(struct tended *t);
void keep_delete(struct tended *t); /* the object itself, and all that it owns */
void keep_status(struct tended *t); /* if it differs from what the cluster has */
void keep_event(struct tended *t, const char *type, const char *reason, const char *text);

/* --- tail.c ----------------------------------------------------------------------------------- */

/* True as long as nothing may be removed or told yet, because lines are on their way. */
bool tail_waits(struct tended *t);
const char *tail_text(struct arena *a, const struct tended *t); /* " Last lines of …", or "" */

/* --- waiting.c -------------------------------------------------------------------------------- */

/* Tells what the job waits for, if it is time. Returns when to call it again; 0: no need. */
ns_t waiting_tell(struct tended *t);

/* --- announce.c ------------------------------------------------------------------------------- */

/* The conditions of a status that hold, as t->announced has them. */
unsigned announced_by(const struct node *status);
/* Adds the first failure to the status, and sends events of the conditions that are new. */
void announce(struct arena *a, struct tended *t, struct node *status);
/* Counts the conditions that hold now and did not `before` (t->announced). */
void announce_count(struct tended *t, unsigned before);

#endif
