/* command.h - a role's command in one form: the argument list that a container would be given.
 *
 * The model has three: an argument list, text for one of three shells, and the parts of an mpirun
 * line. For a comparison of jobs and for writing one for Kubernetes all are the same thing.
 */
#ifndef SPEC_COMMAND_H
#define SPEC_COMMAND_H

#include "spec/spec.h"

/* NULL-terminated, in the arena, with $ doubled where a kubelet would take it for its own; NULL if
 * the role has no command. A secret in it is "***". */
const char *const *spec_command(struct arena *a, const struct job_spec *spec,
                                const struct role *role);

/* The words of shell text's shell before the text, "-c" included; NULL-terminated. */
const char *const *shell_argv(enum shell_kind kind);

/* `sh -c TEXT` where the text is one command of plain words: these words. Else argv; NULL stays
 * NULL. */
const char *const *shell_plain(struct arena *a, const char *const *argv);

/* Length of the option of mpirun that args begins with, values included; 0 if it begins with none.
 */
size_t mpirun_option(const char *const *args);

/* Is argv a call of Open MPI's mpirun or its like, with the words of the program behind its
 * options? Gives the number of words before these, or 0. *ret_home is DIR of DIR/bin/mpirun, or
 * NULL. */
size_t mpirun_split(struct arena *a, const char *const *argv, const char **ret_home);

#endif
