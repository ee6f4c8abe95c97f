/* conditions.h - a job's conditions as the operators of Kubeflow keep them.
 *
 * Whoever tells a job's story sets one condition after the other, in the order of time; what
 * setting one does to the others is known here. There is at most one of each type.
 */
#ifndef JOB_CONDITIONS_H
#define JOB_CONDITIONS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/clock.h"
#include "doc/json.h"

enum condition_type {
    CONDITION_CREATED,
    CONDITION_RUNNING,
    CONDITION_RESTARTING,
    CONDITION_SUSPENDED,
    CONDITION_SUCCEEDED,
    CONDITION_FAILED,
    CONDITION_TYPES
};

struct condition {
    enum condition_type type;
    bool status;
    const char *reason, *message;
    ns_t updated, changed;
};

struct conditions {
    struct condition v[CONDITION_TYPES];
    size_t n;
    bool
        failed_is_last; /* the training operator sets nothing after Failed, the MPI operator does */
};

/* reason and message are not copied. */
void conditions_set(struct conditions *cs, enum condition_type type, bool status,
                    const char *reason, const char *message, ns_t at);

const struct condition *conditions_get(const struct conditions *cs, enum condition_type type);

/* As a JSON list, in the order in which they were last set. */
void conditions_write(const struct conditions *cs, struct json *j);

/* A time as Kubernetes writes it: to the second. */
void kube_kv_time(struct json *j, const char *key, ns_t at);

#endif
