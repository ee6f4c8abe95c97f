/* command.h - a role's argv as one of its processes gets it. Internal to plan/. */
#ifndef PLAN_COMMAND_H
#define PLAN_COMMAND_H

#include "plan/plan.h"

/* The process's argv with $(NAME) and $$ expanded where its role asks for that, else as it is. */
const char *const *command_expand(struct arena *a, const struct plan *plan,
                                  const struct process *process, struct start start, bool masked);

/* A command as text that a shell would read: shell text as it is, {"bash", "-c", TEXT} as TEXT,
 * another argv in quotes where it needs them. NULL: there is no command. *ret_by_shell: does a
 * shell really read it? */
const char *command_shown(struct arena *a, const char *shell, const char *const *argv,
                          bool *ret_by_shell);

#endif
