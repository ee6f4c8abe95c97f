/* err.h - the error a failing function leaves with its caller.
 *
 * Convention of the project: functions return 0 or -errno; those that can say more than the number
 * take a caller's `struct err *` last. The text is complete enough to be shown to a person as it
 * is. On the way up each level may put its context in front with err_wrap(). A NULL err is allowed
 * everywhere: the text is then lost, the code is not.
 *
 *     return err_set(e, -ENOENT, "no shim beside %s", path);
 *     r = run_dir_make(…, e);
 *     if (r < 0)
 *         return err_wrap(e, r, "cannot prepare the run");
 */
#ifndef BASE_ERR_H
#define BASE_ERR_H

#include "base/limits.h"

struct err {
    int code; /* 0 or -errno */
    char text[LIMIT_ERR_TEXT];
};

/* Formats the text, stores the code, returns the code. Too long a text is cut, marked with "...".
 */
int err_set(struct err *e, int code, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

/* As err_set() with ": " and err_reason(-code) appended. */
int err_sys(struct err *e, int code, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

/* What the number says, and the limit of the caller's that it comes from: "File too large
 * (ulimit -f)". error > 0. */
const char *err_reason(int error);

/* The same for fork() and exec(): EAGAIN is a limit on processes there. */
const char *err_start_reason(int error);

/* Puts "context: " in front of the text that is there. Returns code. */
int err_wrap(struct err *e, int code, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

#endif
