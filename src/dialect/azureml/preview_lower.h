/* preview_lower.h - what the files that lower Azure ML's preview jobs share. */
#ifndef DIALECT_AZUREML_PREVIEW_LOWER_H
#define DIALECT_AZUREML_PREVIEW_LOWER_H

#include "dialect/azureml/preview.h"
#include "dialect/dialect.h"

enum azp_type { AZP_MPI, AZP_PYTORCH, AZP_TENSORFLOW, AZP_N_TYPES };
enum { AZP_N_ROLES = 2 }; /* no type has more */

struct azp_out {               /* a role being made */
    const struct azp_role *in; /* its section, or NULL */
    struct role *role;
    const struct node *gpu_at; /* the value that limits its GPUs, or NULL */
};

struct azp {
    struct binder b;
    const struct read_options *opts;
    const struct doc *doc;
    const struct azp_job *job;
    struct job_spec *out;
    struct role *spec_roles; /* out->roles */
    struct azp_out roles[AZP_N_ROLES];
};

/* Processes per node as the section says under one of its four names; 0 if it does not. *ret_at, if
 * wanted, is the value. */
int32_t azp_per_node(struct azp *l, const struct azp_role *in, const struct node **ret_at);

/* The role's limits, from wherever its section has them. Both places may speak, if they agree. */
void azp_lower_limits(struct azp *l, const struct azp_role *in, struct azp_out *out);

/* How many workers an MpiJob has and how many processes each takes, with a note on what told it. */
void azp_count_mpi(struct azp *l, const struct azp_out *launcher, const struct azp_out *worker);

#endif
