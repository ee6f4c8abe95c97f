/* target.h - which run a verb is about, and what is told if there is none. */
#ifndef CLI_TARGET_H
#define CLI_TARGET_H

#include "cli/cli.h"
#include "client/runs.h"

#define TARGET_ID "ID is a run's id or the beginning of one, the job's name, or a run directory. "
/* Of verbs that also take several. */
#define TARGET_ARRAY "@ID means all jobs of an array, with the id of any of them. "
/* Of verbs that act on a job that runs. */
#define TARGET_ABOUT TARGET_ID "It is optional if exactly one job is running."
/* Of verbs that only read. */
#define TARGET_ABOUT_NEWEST                                                                        \
    TARGET_ID "Defaults to the newest run, also if several runs have the name."

/* Finds the run that word means (NULL: none was given). 0, or the exit code after telling why not.
 */
int target_pick(const struct verb *verb, struct arena *a, const char *word, enum runs_want want,
                struct run_ref *ret);

/* For verbs that root may use on jobs of others, where there is a system daemon: true if id is one,
 * with the exit code after telling what was done. */
bool target_others(struct arena *a, const char *id, const char *request, const char *done,
                   int *ret_code);

/* All jobs of the array that word ("@ID") means; at least one. 0, or
 * the exit code after telling why not. */
int target_array(const struct verb *verb, struct arena *a, const char *word, struct runs *ret);
static inline bool target_is_array(const char *word)
{
    return word && *word == '@';
}

/* For a verb that only reads: the newest one, if several may be meant. */
int target_find(const struct verb *verb, struct arena *a, const char *word, struct run_ref *ret);

/* For a verb that acts on a living run: an ended one is told with its outcome, one that is stopped
 * or does not respond with what to do. */
int target_living(const struct verb *verb, struct arena *a, const char *word, struct run_ref *ret);

/* The second half of it: 0, or the exit code. */
int target_is_living(const struct run_ref *run);

/* Asks a living run for something. 0, or the exit code after telling why not. A job that is about
 * to run, or to end, is waited for; one that was cancelled meanwhile is none to complain about. */
int target_request(struct arena *a, struct run_ref *run, const char *request);

/* "muster: error: RUN: text"; EXIT_FAILED. */
int target_failed(const struct run_ref *run, const struct err *e);

/* Parses the command line of a verb that takes at most max operands and no command. */
int target_operands(const struct verb *verb, void *options, int argc, char **argv, int max,
                    struct operands *ret);

/* The rest of a verb that only asks a living run for something and tells the result on stdout. */
int target_ask(const struct verb *verb, const struct operands *ops, const char *request,
               const char *done);
/* The same of all jobs of an array that have not ended. */
int target_ask_array(const struct verb *verb, const char *word, const char *request,
                     const char *done);

#endif
