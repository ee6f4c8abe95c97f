/* flags.h - the command line of the operator, as Go's flag package reads one.
 *
 * The operator takes the place of mpi-operator and training-operator in their own Deployments, so
 * it takes their flags: -flag and --flag, "-flag value" and "-flag=value"; a boolean flag takes a
 * value only after "=". What has a meaning here is mapped, the rest is accepted and named in the
 * log (`ignored`).
 *
 * Pure: words in, values out. Values are words of argv, or in `ignored`.
 */
#ifndef OPERATOR_FLAGS_H
#define OPERATOR_FLAGS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "base/err.h"
#include "base/strvec.h"

struct operator_flags {
    bool help, version;
    const char *namespace_;                       /* NULL: all */
    const char *context;                          /* of the kubeconfig; or NULL */
    const char *kubeconfig;                       /* or NULL */
    const char *master;                           /* the API server's address; or NULL */
    const char *lock_namespace;                   /* of the lease; or NULL */
    const char *lease;                            /* its name; or NULL */
    bool leader_elect;                            /* a lease in the operator's own namespace */
    const char *cluster_domain;                   /* or NULL */
    const char *gang_scheduler;                   /* or NULL */
    const char *metrics, *health;                 /* addresses; "0": none; NULL: not said */
    const char *webhook;                          /* an address; or NULL */
    const char *webhook_service, *webhook_secret; /* names; or NULL */
    const char *init_image;                       /* of PyTorchJobs; or NULL */
    int64_t init_tries;                           /* likewise; 0: not said */
    int64_t gpus_per_node;                        /* of MPIJob v1alpha1; 0: not said */
    struct strvec kinds;                          /* that are served: "tfjob", …; none: all */
    struct strvec ignored;                        /* sentences for the log */
};

/* argv[0] is the program. -EINVAL names the flag; *ret is to be released in any case. */
int flags_parse(int argc, const char *const *argv, struct operator_flags *ret, struct err *e);
void flags_release(struct operator_flags *flags);

/* Is the kind one of --enable-scheme? "TFJob" is also "tfjob". */
bool flags_serve_kind(const struct operator_flags *flags, const char *kind);

void flags_help(FILE *out); /* muster operator --help */

#endif
