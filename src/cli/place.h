/* place.h - the engine of --on, in this program or in another one.
 *
 * An engine that needs large libraries is in a program of its own, muster-NAME: everything that
 * `muster` can do, with that engine. It is started in place of this one, with the same words.
 */
#ifndef CLI_PLACE_H
#define CLI_PLACE_H

#include "engine/engine.h"

/* The words of the command line, before anybody changes their order. */
void place_remember(int argc, char **argv);

/* 0, or -errno with e: there is no such engine. Does not return if another program has it. */
int place_engine(const char *name, const struct engine_class **ret, struct err *e);

/* Where muster-NAME is, as a heap string; NULL: not found. */
char *place_find(const char *name);

/* Starts muster-NAME in place of this program, with these words (argv[0] is "muster"). Returns only
 * if that is not possible: -errno with e. */
int place_become(const char *name, char **argv, struct err *e);

#endif
