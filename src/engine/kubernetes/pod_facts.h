/* pod_facts.h - what the API server's object says of a pod: a pure function, without memory of what
 * it said before.
 */
#ifndef ENGINE_KUBERNETES_POD_FACTS_H
#define ENGINE_KUBERNETES_POD_FACTS_H

#include "base/arena.h"
#include "doc/tree.h"
#include "job/job.h"

enum pod_stage {
    STAGE_PENDING,  /* on no node yet */
    STAGE_STARTING, /* on a node: its volumes, its images, its init containers */
    STAGE_RUNS,     /* the container that the shim is in runs */
    STAGE_ENDED
};

enum pod_trouble {
    TROUBLE_NONE,
    TROUBLE_PULL,    /* the image could not be pulled; the kubelet tries again */
    TROUBLE_FOREVER, /* it will never start */
};

struct pod_facts {
    enum pod_stage stage;
    const char *ip, *node; /* "": not known */
    /* PENDING, STARTING: */
    const char *waits;    /* for what, in one sentence; NULL: the API server does not say */
    enum cause_kind fate; /* what it is if that does not change */
    enum pod_trouble trouble;
    /* Somebody removes it, or has: EVICTED by the platform, GONE for another reason; NONE: no. */
    enum cause_kind removed;
    const char *why;   /* in one sentence */
    int64_t grace_s;   /* until it is to be gone; 0: it is, or nobody removes it */
    bool out_of_sight; /* its node does not answer */
    struct ending end; /* ENDED; known is false if the API server does not know how */
};

/* The fields of a pod that are read, for struct watch_client. */
extern const char *const pod_facts_pick[];

/* Texts are in the object, or in a. */
struct pod_facts pod_facts(struct arena *a, const struct node *pod);

/* Is it an event of this pod that says why it does not start? Texts are those of the event. */
struct pod_news {
    const char *pod, *reason, *message;
};
bool pod_news(const struct node *event, struct pod_news *ret);
extern const char *const pod_news_pick[]; /* what is read of an event */

#endif
