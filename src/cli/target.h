/* target.h - which run a verb is about, and what is told if there is none. */
#ifndef CLI_TARGET_H
#define CLI_TARGET_H

#include "cli/cli.h"
#include "run/runs.h"

#define TARGET_ABOUT                                                                               \
    "ID is a run's id or the beginning of one, the job's name, or a run directory (with a / in "   \
    "it). It may be left out if exactly one job runs."

/* Finds the run that word means (NULL: none was given). 0, or the exit code after telling why not. */
int target_find(const struct verb *verb, struct arena *a, const char *word, struct run_ref *ret);

/* The same for a verb that wants a living run: an ended one is told with its outcome. */
int target_living(const struct verb *verb, struct arena *a, const char *word, struct run_ref *ret);

/* "muster: error: RUN: text"; EXIT_FAILED. */
int target_failed(const struct run_ref *run, const struct err *e);

/* Parses the command line of a verb that takes at most max operands and no command. */
int target_operands(const struct verb *verb, void *options, int argc, char **argv, int max,
                    struct operands *ret);

/* A whole verb that only asks a living run for something and tells the result on stdout. */
int target_ask(const struct verb *verb, int argc, char **argv, const char *request,
               const char *done);

#endif
