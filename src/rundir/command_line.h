/* command_line.h - how a run was started: its command line and working directory, kept in its run
 * directory.
 *
 * For `muster rerun` and for `muster show`. The environment is not kept: it may hold secrets. A job
 * that came by HTTP has the words that would have submitted it.
 */
#ifndef RUNDIR_COMMAND_LINE_H
#define RUNDIR_COMMAND_LINE_H

#include <stdbool.h>

#include "base/err.h"
#include "base/strbuf.h"
#include "base/strvec.h"

#define COMMAND_NAME "command.json" /* {"version":1,"argv":["run",…],"cwd":"/…","http":true} */

struct command_line {
    struct strvec argv; /* from the verb on: "run", "job.yaml"; "submit", … */
    char *cwd;
    bool by_http;
};
#define COMMAND_INIT                                                                               \
    {                                                                                              \
        .argv = STRVEC_INIT                                                                        \
    }
void command_line_release(struct command_line *c);
#define auto_command CLEANUP(command_line_release)

/* What this process was called with; argv[0] is the verb. */
void command_line_of(int argc, char *const *argv, struct command_line *ret);

/* In the run directory, mode 0600. */
int command_line_write(int run_fd, const struct command_line *c, struct err *e);
/* -ENOENT if the run has none, -EINVAL if it cannot be read; *ret is untouched then. */
int command_line_read(int run_fd, struct command_line *ret, struct err *e);

/* What command_line_text() is: "started as", … */
const char *command_line_label(const struct command_line *c);
/* "muster run job.yaml", quoted for a shell. */
void command_line_text(const struct command_line *c, struct strbuf *out);

#endif
