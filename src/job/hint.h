/* hint.h - what the last lines of the first failure say to somebody who knows the plan. */
#ifndef JOB_HINT_H
#define JOB_HINT_H

#include "base/strbuf.h"
#include "job/job.h"

/* Adds one clause without a full stop, or nothing. tail is NULL-terminated, or NULL. Of a job that
 * has succeeded it is the beginning of a rank's log: one thing can be wrong all the same. */
void hint_for(const struct job *job, const char *const *tail, struct strbuf *out);

/* missing.c: the clause for a program that was not there; false if that was not it. */
bool hint_missing(const struct job *job, const char *const *tail, struct strbuf *out);

/* interpreter.c: the clause for a script whose interpreter cannot be started; false if that was not
 * it. */
bool hint_interpreter(const struct job *job, const char *const *tail, struct strbuf *out);

/* hint_launcher.c: the rank that torchrun or horovodrun names. False: none does. */
bool hint_launcher(const char *const *tail, struct strbuf *out);

/* hint_other.c: does it say that other ranks went away? And the exception that a log ends with,
 * unless it is about that; NULL: none. */
bool hint_lost_others(const char *const *tail);
/* The last line that may be about a lost peer, in the words of any program; NULL: none. Wider than
 * the above: only of use where somebody is known to have left. */
const char *hint_lost_peer(const char *const *tail);
/* Is the line in the words of a framework's own transport? Its peers are ranks. */
bool hint_is_of_framework(const char *line);
const char *hint_exception(const char *const *tail);

#endif
