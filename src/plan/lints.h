/* lints.h - what in a job's commands and variables will not work as it stands. Internal to plan/.
 */
#ifndef PLAN_LINTS_H
#define PLAN_LINTS_H

#include "base/shellwords.h"
#include "plan/notes.h"

/* Looks into the commands of every role. The plan is complete but for notes. */
void lints_collect(struct notes *ns, const struct plan *plan);

/* lints_host.c: names the commands that change the machine itself, as they would a container. */
void lint_host(struct notes *ns, const struct plan *plan);
/* A role's command as text for a shell, cut into words. */
struct command {
    struct notes *ns;
    const struct plan *plan;
    const struct role *role;
    const char *text;
    bool by_shell; /* a shell reads it: variables in it are expanded */
    const struct shell_word *v;
    size_t n;
};

/* What stands behind KEY in "KEY=VALUE", "--key=VALUE" or in the word after "key"; NULL if word i
 * is neither. A value with an expansion in it is none: nothing can be said of it. */
const char *lint_value(const struct command *c, size_t i, const char *key, bool next_word);

/* A literal of the role's own environment, or NULL. */
const char *lint_literal(const struct role *role, const char *name);

/* lints_more.c */
void lint_addresses(struct command *c);
void lint_launchers(struct command *c);
void lint_environments(struct notes *ns, const struct plan *plan);

#endif
