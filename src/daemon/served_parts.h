/* served_parts.h - what served.c and resume.c share: the steps in which a job becomes active. */
#ifndef DAEMON_SERVED_PARTS_H
#define DAEMON_SERVED_PARTS_H

#include "daemon/parts.h"

/* served->act, empty. */
struct active *served_active(struct served *s);
/* Its request: as it was typed, and for the planner, which changes the order of the words. Also
 * names its directories. */
int served_submission(struct active *act, struct submission *typed, struct submission *ret,
                      struct err *e);
/* The journal in the database, with its copy in the run directory. */
int served_journal(struct active *act, struct err *e);
/* The GPUs of each replica, as the queue has chosen them; NULL: none has any. */
const char *const *served_gpus(struct active *act);
struct engine_open served_engine(struct active *act);
/* With job, journal and engine: makes turn and control socket. */
void served_turn(struct active *act);
/* As the engine reports it; ctx is the active. */
void served_observed(void *ctx, const struct observation *o);

/* Does a job that can only be watched need something to be started? */
bool resume_is_stuck(const struct active *act);

#endif
