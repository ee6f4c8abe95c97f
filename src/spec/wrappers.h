/* wrappers.h - commands that only start another command: `env A=1 CMD`, `nice -n 5 CMD`,
 * `timeout 5m CMD`.
 *
 * Who wants to know what a command line really runs looks behind these words.
 */
#ifndef SPEC_WRAPPERS_H
#define SPEC_WRAPPERS_H

#include <stddef.h>

/* Where the command begins that argv[0] of n words starts; 0 if argv[0] is no wrapper, n if it is
 * one and the command cannot be told. */
size_t wrapper_words(const char *const *argv, size_t n);

/* The same through all wrappers. */
size_t wrappers_end(const char *const *argv, size_t n);

#endif
