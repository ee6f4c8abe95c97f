/* openpai.h - what the two OpenPAI dialects share: names, numbers, ports, the first sleep.
 *
 * A task role becomes a role of plain replicas with one process each, which run the role's command
 * in bash. Both forms have the same ports (`ssh` and `http` are always there), the same completion
 * counts and the same variables; they differ in how the file says it (v1.c, v2.c).
 *
 * Host names are `<role>-<index>` with the role as it is spelt: plan/ makes a valid name of one
 * that has `_`, `.` or `~` in it.
 */
#ifndef DIALECT_OPENPAI_OPENPAI_H
#define DIALECT_OPENPAI_OPENPAI_H

#include "dialect/dialect.h"
#include "doc/bind.h"

#define PAI_NAME_MAX 255 /* characters of a job's name */

/* Adds an error at the node unless name consists of letters, digits and the characters of extra; it
 * must not begin with a digit if `identifier`. what: "jobName", "a task role's name". */
bool pai_check_name(const struct binder *b, const struct node *at, const char *what,
                    const char *name, const char *extra, bool identifier);

/* Errors for roles that cannot be told apart or whose hosts' names get too long. at[i] is where the
 * name of roles[i] stands. */
void pai_check_roles(const struct binder *b, const struct role *roles, size_t n,
                     const struct node *const *at);

struct pai_int { /* a number of the file */
    const char *key;
    int32_t min, max, def;
    bool quotes; /* "5" counts as 5, with a warning: the first REST server did so */
};

/* The number at node, or def: if node is NULL, or after an error. */
int32_t pai_int(const struct binder *b, const struct pai_int *want, const struct node *node);

/* Null is no value for OpenPAI's servers: an error at every known key of the mapping (and, by the
 * table, below it) that has null, but for the keys in `except` (NULL-terminated). */
void pai_reject_nulls(const struct binder *b, const struct bind_table *table,
                      const struct node *node, const char *const *except);

/* A job with what both versions have in common. */
struct job_spec *pai_new_job(struct arena *a, const struct dialect *dialect, const struct doc *doc);
/* The job, checked as every job is; NULL if there are more errors than n_before. */
struct job_spec *pai_finish(struct job_spec *job, struct diags *ds, size_t n_before);

/* A role with what every task role has; resources are unset, shared memory is not said. */
struct role pai_role(const char *name, enum shell_kind shell);

#define PAI_MB(n) ((int64_t)(n) << 20)

/* Of /dev/shm where the file says nothing. */
enum { PAI1_SHM_MB = 64, PAI2_SHM_MB = 512 };
void pai_default_shm(struct role *role, int version);

/* cpu, memory and shared memory in the units of the files; 0 of the first two is no limit. Shared
 * memory that the file does not give (said is NULL) never exceeds the memory. */
void pai_resources(struct role *role, int32_t cpu, int32_t memory_mb, int32_t gpu, int32_t shm_mb,
                   const struct node *shm_said);

/* Gives the role its ports: those in v (n of them) with a count, then `ssh` and `http` unless they
 * are among them. */
void pai_set_ports(struct arena *a, struct role *role, const struct port_request *v, size_t n);

/* Looks for a `sleep` of a minute or more at the beginning of the role's command, which was how
 * tasks waited for each other: a warning, or, with opts->skip_start_sleep, it is dropped with a
 * note. text and *secret (or NULL) are advanced alike. */
void pai_start_sleep(const struct binder *b, const struct read_options *opts, const struct node *at,
                     const char **text, const char **secret);

/* A wish that cannot be met here. */
void pai_warn_rdma(const struct binder *b, const struct node *at, const char *key);

#endif
