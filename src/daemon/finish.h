/* finish.h - the end of a job of the daemon: its report, and what is given back. */
#ifndef DAEMON_FINISH_H
#define DAEMON_FINISH_H

#include "daemon/parts.h"

/* The engine has released the job: writes the report, and notes the outcome for the next commit. */
void finish_tell(struct active *act);
/* The same for a job that could not be started; nothing of it runs. */
void finish_refused(struct active *act, const struct err *why);
/* Notes the outcome of a job that has nothing to report. */
void finish_row(struct served *s, const char *outcome, int exit_code);
/* The end is committed: gives everything back. act is freed, and its job has no `act` any more. */
void finish_leave(struct active *act);
/* Frees all that is left of it without touching files: the job goes on without us. */
void finish_release(struct active *act);

/* SIGKILL for the supervisor that is noted there, and at level `none` for what it has started. */
void finish_kill_shim(int scratch_fd, const char *run_id);

#endif
