/* drain.h - the last words of a run to streams that nobody may be reading.
 *
 * A job that has ended must not wait for ever because a pager sleeps: what is left to show is given
 * up after LIMIT_DRAIN_MS without progress, or at once by a signal. The logs are complete all the
 * same.
 */
#ifndef FOREGROUND_DRAIN_H
#define FOREGROUND_DRAIN_H

#include <stdbool.h>

/* SIGINT, SIGTERM and SIGHUP (and the two that are passed on) wait until drain_guard(). */
void drain_hold_signals(void);
/* Has one of the first three come since? One that was ignored before does not come. */
bool drain_hurried(void);

/* From now on the stream goes nowhere: /dev/null takes its place. */
void drain_close(int fd);

/* For everything that is still written to stdout and stderr, by whatever function: a stream that a
 * write waits for is closed as above after LIMIT_DRAIN_MS, or by one of the signals, which do
 * nothing else any more. After that time other calls that wait, such as opening a pipe for a
 * report, fail with EINTR. */
void drain_guard(void);

#endif
