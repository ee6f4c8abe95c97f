/* lives.h - the life of a pod's main container, as its object tells it: a pure function.
 *
 * A container may be started again in the same pod (restartPolicy OnFailure, Always): then the pod
 * has had several lives, and tells how the one before the present ended.
 *
 * There is one of these for every pod of every job, so it is kept small.
 */
#ifndef OPERATOR_LIVES_H
#define OPERATOR_LIVES_H

#include "engine/kubernetes/pod_facts.h"

struct life_end {
    ns_t at; /* to the second; 0: unknown */
    int16_t code, signal;
    bool known, oom;
    bool init; /* of an init container: the main one was never started */
};

struct life {
    uint32_t attempt, instance; /* of its first life: WANT_START_ANNOTATION; 0: it has none */
    uint32_t restarts;          /* lives before the present one */
    enum pod_stage stage;
    bool over;                /* ENDED, and nothing in the pod starts it again */
    bool ready;               /* RUNS, and says that it can be used */
    bool deleting;            /* a deletion time is set */
    bool out_of_sight;        /* its node does not answer */
    ns_t started;             /* RUNS: since when, to the second; 0: unknown */
    struct life_end end;      /* ENDED */
    struct life_end before;   /* restarts > 0: of the life before this one */
    enum cause_kind removed;  /* somebody removes it: GONE, EVICTED; NONE: nobody */
    enum cause_kind fate;     /* of what it waits for */
    const char *text;         /* what it waits for, or why it is removed; NULL: nothing is said */
    bool recorded;            /* WANT_RECORDS_ANNOTATION */
    const char *ranks;        /* ENDED: what it says of its ranks (ranks.h); NULL: nothing */
    const char *ranks_before; /* restarts > 0: what the life before this one said; or NULL */
};

/* `main` is the container that counts; the first, if there is none of that name. Texts are in a, or
 * in the pod. */
struct life pod_life(struct arena *a, const struct node *pod, const char *main);

/* The container that counts: `main`, else the first. */
const char *main_container(const struct node *pod, const char *main);

/* When it was, of what is heard of now: by the cluster's clock, which counts whole seconds, if that
 * is some time ago; else by ours, which keeps the order. */
ns_t life_time(ns_t at, ns_t now);
struct ending life_ending(const struct life_end *end, ns_t now);

#endif
