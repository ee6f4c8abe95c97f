/* cluster_jobs.h - the verbs about jobs that an operator runs in a cluster: `--on kubernetes`.
 *
 *     muster list --on kubernetes
 *     muster logs --on kubernetes -f NAME
 *
 * Such a job is the object that `muster submit --on kubernetes` has created; its name is its id. It
 * is asked of the cluster each time, nothing about it is kept here. Functions that return an int
 * return the exit code, after telling why.
 */
#ifndef CLI_CLUSTER_JOBS_H
#define CLI_CLUSTER_JOBS_H

#include "cli/cli.h"
#include "client/runs.h"
#include "engine/engine.h"

struct cluster_options {
    const char *on, *context, *namespace_; /* as given, or NULL */
};
extern const struct opt cluster_opts[];
#define CLUSTER_PART(type, field)                                                                  \
    {                                                                                              \
        "jobs of an operator", cluster_opts, offsetof(type, field)                                 \
    }

struct cluster { /* which one is asked */
    const struct engine_class *place;
    const struct cluster_options *o;
};

/* Which cluster the options mean: 0 and ret->place, NULL without --on; or the exit code. local: the
 * option given besides that only works on this machine, or NULL. */
int cluster_choose(const struct verb *verb, const struct cluster_options *o, const char *local,
                   struct cluster *ret);

int cluster_list(const struct cluster *c, struct arena *a, struct runs *ret);
int cluster_show(const struct verb *verb, const struct cluster *c, const struct operands *ops,
                 const char *output);
int cluster_wait(const struct verb *verb, const struct cluster *c, const struct operands *ops);
int cluster_logs(const struct verb *verb, const struct cluster *c, const struct operands *ops,
                 bool follow);
/* JOBS_PAUSE and those after it, of each; done: "being paused". */
int cluster_ask(const struct verb *verb, const struct cluster *c, enum jobs_ask what,
                const struct operands *ops, const char *done);

#endif
