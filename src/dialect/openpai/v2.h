/* v2.h - the job protocol v2 as its tables decode it, and how a role's command is composed.
 *
 * The tables are what the REST server of v1.8 enforces. A value of which several types are allowed,
 * or whose null means something, is left as a node for the lowering.
 */
#ifndef DIALECT_OPENPAI_V2_H
#define DIALECT_OPENPAI_V2_H

#include "dialect/dialect.h"
#include "dialect/openpai/template.h"
#include "doc/bind.h"

#define PAI2_PLUGINS "com.microsoft.pai.runtimeplugin"

struct pai2_completion {
    const struct node *at;
    const struct node *min_failed, *min_succeeded;
};

struct pai2_resources {
    const struct node *at;
    const struct node *cpu, *memory, *gpu, *ports;
};

struct pai2_options { /* extraContainerOptions */
    const struct node *at;
    const struct node *shm;
    bool infiniband;
};

struct pai2_role {
    const struct node *at;
    const struct node *instances, *task_retries;
    const struct pai2_completion *completion;
    const struct pai2_resources *resources;
    const struct pai2_options *options;
    const char *image, *data, *output, *script; /* names of prerequisites */
    const char *const *prerequisites;
    const char *const *commands;
};

struct pai2_prerequisite { /* of all types; uri and auth are checked by type */
    const struct node *at;
    const char *name, *type, *plugin, *failure_policy;
    const struct node *uri, *auth;
};

struct pai2_deployment_role {
    const struct node *at;
    const char *const *pre, *const *post;
};

struct pai2_deployment {
    const struct node *at;
    const char *name;
    const struct node *roles;
};

struct pai2_defaults {
    const struct node *at;
    const char *virtual_cluster, *deployment;
};

struct pai2_job {
    const struct node *at;
    const char *name, *type, *unused;
    const struct node *protocol, *version, *prerequisites, *parameters, *secrets, *retries, *roles;
    BIND_LIST(struct pai2_deployment) deployments;
    const struct pai2_defaults *defaults;
    const struct node *extras;
};

extern const struct bind_table pai2_job_table, pai2_role_table, pai2_deployment_role_table;
extern const struct bind_table pai2_image_table, pai2_prerequisite_table;
extern const char *const pai2_may_be_null[]; /* keys; NULL-terminated */

/* All prerequisites of a job. */
struct pai2_prerequisites {
    struct pai2_prerequisite *v;
    size_t n;
    bool wrong; /* some were refused: what is missing may be among them */
};

void pai2_read_prerequisites(const struct binder *b, const struct pai2_job *job,
                             struct pai2_prerequisites *ret);

/* The one of that name and type (NULL: any), or NULL. */
const struct pai2_prerequisite *pai2_find(const struct pai2_prerequisites *all, const char *type,
                                          const char *name);

/* The same, with an error at `at` if there is none. */
const struct pai2_prerequisite *pai2_refer(const struct binder *b,
                                           const struct pai2_prerequisites *all,
                                           const struct node *at, const char *type,
                                           const char *name);

/* Every secret the file holds, NULL-terminated; NULL if there is none. */
const char *const *pai2_secret_texts(const struct binder *b, const struct pai2_job *job,
                                     const struct pai2_prerequisites *all);

/* Findings are shown with their line of the file, but not with one that may hold a secret. */
void pai2_hide_secrets(const struct binder *b, const struct pai2_job *job,
                       const struct pai2_prerequisites *all);

/* One role's command in the making. */
struct pai2_command {
    struct binder b;
    const struct read_options *opts;
    const struct pai2_job *job;
    const struct pai2_role *role;
    const char *role_name;
    const struct pai2_prerequisites *prerequisites;
    const struct pai2_deployment_role *deployment; /* of this role, or NULL */
    size_t *budget;                                /* bytes that texts may still have */
};

/* Composes the text that bash runs: out->shell, and out->shell_secret if there is a secret in it.
 */
void pai2_compose(const struct pai2_command *c, struct role *out);

struct pai2_cmd { /* a cmd plugin that concerns the role */
    const struct node *params;
    bool ignore; /* its failurePolicy */
};

/* The role's cmd plugins, those of its prerequisites first, as OpenPAI orders them. */
size_t pai2_cmds(const struct pai2_command *c, struct pai2_cmd **ret);

enum pai2_when { PAI2_BEFORE, PAI2_AFTER }; /* the user's commands */

/* Is the callback (one of a plugin's `callbacks`) for that moment? */
bool pai2_event_is(const struct node *callback, enum pai2_when when);

/* Looks at the plugins of the job once: tells which are not run here and what is wrong with them.
 */
void pai2_check_plugins(const struct binder *b, const struct pai2_job *job);

#endif
