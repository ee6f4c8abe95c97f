/* matrix.h - `submit --matrix NAME=V1,V2`: one job for each combination of values. */
#ifndef CLI_MATRIX_H
#define CLI_MATRIX_H

#include "base/err.h"
#include "base/strvec.h"
#include "cli/cli.h"
#include "cli/submit_daemon.h"
#include "doc/json.h"

/* Are the words of --matrix valid, and how many jobs do they make with --count? 0, or the exit code
 * after telling why not. */
int matrix_check(const struct verb *verb, const struct strvec *matrix, int64_t count,
                 int64_t *ret_total);

/* Warns of {NAME} in the words of the command of an array that no --matrix has. */
void matrix_warn(const struct strvec *matrix, int64_t count, char *const *words, int n);

/* "matrix":[{"name","values"}…] */
void matrix_put(struct json *j, const struct strvec *matrix);

/* For the daemon: a job of an array gets its name, its variables and, in the words of a command,
 * the values for {NAME}. */
void matrix_apply_words(struct arena *a, const struct submission *sub, struct operands *ops);
void matrix_apply(struct arena *a, const struct submission *sub, struct submitted *s);

#endif
