/* served.h - jobs of the daemon as runs: those that wait have no run directory, and what verbs ask
 * of them is asked of the daemon. */
#ifndef CLIENT_SERVED_H
#define CLIENT_SERVED_H

#include "client/runs.h"

/* Adds what only the daemon knows of the job; of one without a run directory that is all there is.
 */
void served_fill(const struct node *job, struct run_ref *ret);

/* runs_ask() of a job that waits. -ENOENT: it has to be started for that. */
int served_ask(struct arena *a, const struct run_ref *run, const char *request, struct err *e);

/* The report of a job without a run directory: in the same form, with what the daemon has. */
void served_report(const struct run_ref *run, struct strbuf *ret);

#endif
