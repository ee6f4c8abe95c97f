/* preview.h - Azure ML's preview jobs as decoded.
 *
 *   name, type (MpiJob, PytorchJob, TensorflowJob), experiment_name, compute, and by type the role
 *   sections launcher, worker, parameter_server, each {num_replicas, spec, resource_limits}
 *
 * The vendor's examples have `resource_limits` inside a role's spec and beside it.
 */
#ifndef DIALECT_AZUREML_PREVIEW_H
#define DIALECT_AZUREML_PREVIEW_H

#include "doc/bind.h"

struct azp_code {
    const struct node *at;
    const char *path;
};

struct azp_spec {
    const struct node *at;
    const char *command, *environment;
    const struct azp_code *code;
    const struct node *limits;
};

struct azp_role {
    const struct node *at;
    int32_t num_replicas; /* 0 if absent, as all counts here */
    const struct azp_spec *spec;
    const struct node *limits;
    int32_t per_node[4]; /* processes per node under its four names: azp_per_node_keys */
};

struct azp_compute {
    const struct node *at;
    const char *type, *target;
    int32_t instance_count;
};

struct azp_job {
    const struct node *at;
    const char *name, *type, *experiment;
    const struct azp_role *launcher, *worker, *parameter_server;
    const struct azp_compute *compute;
};

extern const char *const azp_per_node_keys[4]; /* the first is the name of today */
extern const struct bind_table azp_job_table;

#endif
