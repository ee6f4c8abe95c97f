/* muster_v1.h - Muster's own job file as decoded, and what its parts are lowered with.
 *
 *     apiVersion: muster/v1
 *     name: my-training
 *     framework: pytorch
 *     roles:
 *       worker: {replicas: 2, slots: 4, command: python train.py}
 *
 * It can say all that struct job_spec can: every other dialect is raised into it. Where a value has
 * a short and a long form, the field is a node and the long form has a table of its own.
 * doc/design/native-form.md says why it looks as it does.
 */
#ifndef DIALECT_MUSTER_MUSTER_V1_H
#define DIALECT_MUSTER_MUSTER_V1_H

#include "dialect/dialect.h"
#include "doc/bind.h"

#define MUSTER_V1 "muster/v1"

struct mv1_value { /* a variable that is no text of the file's own */
    const struct node *at;
    const struct node *value;
    const char *secret, *config_map, *key, *field, *resource;
    const struct node *divisor;
    bool optional;
};

struct mv1_env_from {
    const struct node *at;
    const char *secret, *config_map, *prefix;
    bool optional;
};

struct mv1_mount {
    const struct node *at;
    const char *path, *name, *empty_dir, *host_path, *config_map, *secret, *claim, *sub_path;
    bool other, expand_sub_path, read_only, optional;
    const struct node *items, *size;
    int32_t mode; /* 0 if absent */
};

struct mv1_init {
    const struct node *at;
    const char *name, *image, *workdir;
    const struct node *command, *env;
    const char *const *args;
    BIND_LIST(struct mv1_env_from) env_from;
    BIND_LIST(struct mv1_mount) mounts;
};

struct mv1_port {
    const struct node *at;
    int32_t count, from, usual;
    bool first_only;
};

struct mv1_amount {
    const struct node *at;
    const struct node *request, *limit;
};

struct mv1_resources {
    const struct node *at;
    const struct node *cpu, *memory, *gpu, *shm;
};

struct mv1_restart {
    const struct node *at;
    const char *policy;
    const struct node *limit;
};

struct mv1_role {
    const struct node *at;
    const char *kind, *shell, *image, *workdir;
    int32_t replicas;
    bool expand, own_slots, hosts_ranks, ends_alone;
    const struct node *slots, *command, *env, *ports, *restart, *fails_after, *succeeds_after,
        *grace, *template_;
    const char *const *args;
    const struct mv1_resources *resources;
    BIND_LIST(struct mv1_env_from) env_from;
    BIND_LIST(struct mv1_mount) mounts;
    BIND_LIST(struct mv1_init) init;
};

struct mv1_mpi {
    const struct node *at;
    const char *home, *sshd;
    const struct node *mca, *program;
    const char *const *args;
};

struct mv1_mode_role {
    const struct node *at;
    bool skip_init;
    const char *const *command, *const *args;
};

struct mv1_mode { /* debug, pause */
    const struct node *at;
    bool enabled;
    BIND_LIST(struct mv1_mode_role) roles;
};

struct mv1_retries {
    const struct node *at;
    const struct node *max;
    bool by_class;
};

struct mv1_elastic {
    const struct node *at;
    int32_t min_replicas, max_replicas, max_restarts, processes, port;
    const char *backend, *host, *id;
    const char *const *conf;
    bool standalone;
};

struct mv1_openpai {
    const struct node *at;
    int32_t version;
    const char *data_dir, *output_dir, *code_dir;
};

struct mv1_platform {
    const struct node *at;
    const char *like, *hosts, *services, *environment, *status;
};

struct mv1_job {
    const struct node *at;
    const char *api_version, *name, *generate, *namespace_, *framework, *clean_up, *queue,
        *experiment, *target, *target_type, *implementation;
    BIND_LIST(struct mv1_role) roles;
    const struct mv1_mpi *mpi;
    const struct mv1_elastic *elastic;
    const struct mv1_openpai *openpai;
    const struct node *retries, *deadline, *ttl, *debug, *pause, *platform;
    int32_t restart_budget, priority; /* -1 if absent */
    bool ranks, gang, clean_up_workers, sparse_cluster;
};

extern const struct bind_table mv1_job_table, mv1_value_table, mv1_port_table, mv1_amount_table,
    mv1_restart_table, mv1_retries_table, mv1_mode_table, mv1_platform_table;

/* The words of the form, in the order of the enums they stand for; NULL-terminated. */
extern const char *const mv1_frameworks[],
    *const mv1_kinds[], *const mv1_shells[], *const mv1_policies[], *const mv1_clean_ups[];

/* Words that stand for numbers, NULL-terminated; what each means is said where it is lowered. */
extern const char *const mv1_slots_words[],
    *const mv1_never[], *const mv1_successes[], *const mv1_repeats[], *const mv1_any_port[];

/* The place of word among words; -1 if it is not there (the table has told it) or NULL. */
int mv1_word(const char *word, const char *const *words);

/* --- single values (values.c) ------------------------------------------------------ */

/* "10m", "30s", 0: in seconds, rounded up. False after adding an error. */
bool mv1_duration(const struct binder *b, const struct node *node, int64_t *ret);

/* A number from min on, or a word that stands for one. The word's value is values[its place]. False
 * after adding an error. */
bool mv1_number(const struct binder *b, const struct node *node, int32_t min, int32_t max,
                const char *const *words, const int32_t *values, int32_t *ret);

/* A command as it is executed: a list as it is, a text by a shell. NULL after adding an error. */
const char *const *mv1_argv(const struct binder *b, const struct node *node, enum shell_kind shell);

/* --- the parts of a role (role.c, pod.c) --------------------------------- */

/* All of the role but what depends on others: how a command of an MPI job's hosts is run, ports
 * that its framework needs. */
void mv1_lower_role(const struct binder *b, const struct mv1_role *in, enum framework framework,
                    struct role *role);

/* `env` by name, and whole secrets and config maps. */
void mv1_lower_env(const struct binder *b, const struct node *env, const struct env_entry **ret,
                   size_t *ret_n);
void mv1_lower_env_from(const struct binder *b, const struct mv1_env_from *v, size_t n,
                        const struct env_entry **ret, size_t *ret_n);

/* owner makes the names of volumes that have none: it is different for each list of a job. */
void mv1_lower_mounts(const struct binder *b, const struct mv1_mount *v, size_t n,
                      const char *owner, const struct mount **ret, size_t *ret_n);
void mv1_lower_init(const struct binder *b, const struct mv1_role *in, struct role *role);

/* What the job finds of the platform it was written for (platform.c). Before the roles are
 * lowered... */
void mv1_lower_platform(const struct binder *b, const struct node *at, struct job_spec *out);
/* ... and after that: what the platform's environment needs to know of them. */
void mv1_lower_environment(const struct binder *b, const struct mv1_job *in, struct job_spec *out,
                           struct role *roles);

/* The launcher and its hosts, and the mpirun line where Muster composes it (mpi.c).
 * roles has room for one more than *n. */
void mv1_lower_mpi(const struct binder *b, const struct mv1_job *in, struct job_spec *out,
                   struct role *roles, size_t *n);

#endif
