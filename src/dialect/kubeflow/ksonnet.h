/* ksonnet.h - the three prototypes of Kubeflow's ksonnet package mpi-job, as documents.
 *
 *     ks generate mpi-job-simple NAME --gpus 16
 *     muster generate mpi-job-simple NAME --gpus 16
 *
 * Pure: parameters in, one JSON document out.
 */
#ifndef DIALECT_KUBEFLOW_KSONNET_H
#define DIALECT_KUBEFLOW_KSONNET_H

#include "base/err.h"
#include "doc/json.h"

#define KSONNET_PREFIX "io.ksonnet.pkg."
#define KSONNET_PARAMS_MAX 8

struct ksonnet_param {
    const char *name;
    const char *preset; /* NULL: the component's name */
    bool number;
    const char *help;
};

struct ksonnet_values {
    const char *namespace_;
    const char *v[KSONNET_PARAMS_MAX]; /* as the prototype's params; none is NULL */
};

struct ksonnet_prototype {
    const char *name;
    const char *summary;
    struct ksonnet_param params[KSONNET_PARAMS_MAX]; /* up to the first without a name */
    bool is_operator;                                /* v[1] of its values is the image */
    void (*write)(struct json *j, const struct ksonnet_values *values);
};

extern const struct ksonnet_prototype *const ksonnet_prototypes[]; /* NULL-terminated */

/* By name, with or without KSONNET_PREFIX; NULL if there is none. */
const struct ksonnet_prototype *ksonnet_find(const char *name);

/* Checks numbers, names and GPU counts; -EINVAL with e set names the parameter. */
int ksonnet_check(const struct ksonnet_prototype *p, const struct ksonnet_values *values,
                  struct err *e);

#endif
