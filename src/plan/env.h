/* env.h - one process's environment in the making. Internal to plan/.
 *
 * Each family of variables is one file with one function that adds to the set; env.c calls them in
 * the order of precedence, so that a later family wins by putting the same name again.
 */
#ifndef PLAN_ENV_H
#define PLAN_ENV_H

#include "plan/plan.h"

struct env_set {
    struct arena *arena;
    struct start start;
    struct env_value *v;
    size_t n, cap;
    uint32_t *index; /* open addressing by name, places from 1; some families are O(replicas) */
    size_t n_index;  /* a power of two */
    bool local;      /* what is put now only makes sense on this machine */
};

/* Adds a variable, or replaces it at its old place. why: the reason of a default, or NULL. */
void env_put(struct env_set *set, const char *name, const char *value, enum origin origin,
             const char *why);
void env_putf(struct env_set *set, enum origin origin, const char *name, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));
/* Adds a variable of the job as it stands in the file: a reference, or a text in which $(NAME) is
 * left. */
void env_put_unresolved(struct env_set *set, const struct env_entry *entry);
const struct env_value *env_get(const struct env_set *set, const char *name); /* or NULL */

/* The caller's variables that reach every process: the same for all of a plan. */
size_t env_passed_on(struct arena *a, const struct facts *facts, const struct env_value **ret);

/* The caller's value, or NULL; with --clean-env there are none beyond the few that stay. */
const char *caller_getenv(struct arena *a, const struct facts *facts, const char *name);

/* $(NAME) and $$ as a kubelet expands them: unknown names stay as they are written. */
const char *env_expand(const struct env_set *set, const char *text);

/* A table of defaults, of MPI and the frameworks. */
struct env_default {
    const char *name;
    unsigned families; /* as the table's own enum says; 0 = always */
    /* All but AS_IT_IS only make sense on this machine. */
    enum {
        AS_IT_IS,
        ONLY_HERE,
        IN_SCRATCH,
        INTERFACE,
        THREADS,
        HOSTFILE_OPEN_MPI,
        HOSTFILE_HYDRA
    } where;
    const char *value;
    bool (*when)(const struct plan *plan); /* NULL = always */
    const char *why;
};

/* Adds what the row says, or the caller's value of that name. */
void env_put_default(struct env_set *set, const struct plan *plan, const struct env_default *d);

/* The share of this machine's cores that each process of the job has, 1 at least. */
int64_t env_threads(const struct plan *plan);

void env_caller(struct env_set *set, const struct plan *plan, const struct process *process);
void env_muster(struct env_set *set, const struct plan *plan, const struct process *process);
void env_mpi(struct env_set *set, const struct plan *plan, const struct process *process);
void env_mpi_operator(struct env_set *set, const struct plan *plan, const struct process *process);
void env_horovod(struct env_set *set, const struct plan *plan, const struct process *process);
/* Where the rendezvous is: the first replica that was promised a port for it. */
const struct replica *env_torch_master(const struct plan *plan);
void env_training(struct env_set *set, const struct plan *plan, const struct process *process);
void env_torch(struct env_set *set, const struct plan *plan, const struct process *process);
void env_pytorchjob(struct env_set *set, const struct plan *plan, const struct process *process);
void env_torchrun(struct env_set *set, const struct plan *plan, const struct process *process);
void env_tensorflow(struct env_set *set, const struct plan *plan, const struct process *process);
void env_openpai(struct env_set *set, const struct plan *plan, const struct process *process);
void env_azureml(struct env_set *set, const struct plan *plan, const struct process *process);
void env_shared(struct env_set *set, const struct plan *plan, const struct process *process);

/* What a container of the job says itself: a role's, or that of one of its init commands. */
struct env_entries {
    const struct env_entry *from, *v; /* whole secrets and config maps, then single variables */
    size_t n_from, n;
    int init; /* its number, -1 = the role's own */
};
void env_job(struct env_set *set, const struct plan *plan, const struct replica *replica,
             const struct env_entries *entries, bool masked);

void env_image(struct env_set *set, const struct plan *plan, const struct process *process);
const char *image_prefix(const struct plan *plan, const struct process *process); /* or NULL */

/* The value of a fieldRef or resourceFieldRef, or NULL if Muster does not know the field. */
const char *env_reference(struct arena *a, const struct plan *plan, const struct replica *replica,
                          const struct env_entry *entry);

/* The value of a Secret or ConfigMap that was given to this run, or NULL. */
const char *env_given(const struct facts *facts, const struct env_entry *entry);

/* The whole environment of a process that is being made, families and job. */
void env_make(struct env_set *set, const struct plan *plan, const struct process *process,
              bool masked);
/* The same with what another container says instead of the role's own. */
void env_make_with(struct env_set *set, const struct plan *plan, const struct process *process,
                   const struct env_entries *entries, bool masked);

#endif
