/* err.c - formatting of struct err. Texts are cut rather than lost: an error path must not fail. */
#include "base/err.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>

/* Appends to a text of `used` bytes; returns the bytes used now. */
static size_t append(struct err *e, size_t used, const char *fmt, va_list ap)
{
    static const char cut[] = "...";
    int n = vsnprintf(e->text + used, sizeof(e->text) - used, fmt, ap);

    if (n < 0)
        return used;
    if ((size_t)n < sizeof(e->text) - used)
        return used + (size_t)n;
    memcpy(e->text + sizeof(e->text) - sizeof(cut), cut, sizeof(cut));
    return sizeof(e->text) - 1;
}

static size_t appendf(struct err *e, size_t used, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
static size_t appendf(struct err *e, size_t used, const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    used = append(e, used, fmt, ap);
    va_end(ap);
    return used;
}

int err_set(struct err *e, int code, const char *fmt, ...)
{
    va_list ap;

    if (!e)
        return code;
    e->code = code;
    va_start(ap, fmt);
    append(e, 0, fmt, ap);
    va_end(ap);
    return code;
}

const char *err_reason(int error)
{
    struct rlimit limit;

    if (error == EFBIG && getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY)
        return "File too large (ulimit -f)";
    return strerror(error);
}

const char *err_start_reason(int error)
{
    return error == EAGAIN ? "too many processes (ulimit -u, or pids.max of a control group)"
                           : strerror(error);
}

int err_sys(struct err *e, int code, const char *fmt, ...)
{
    va_list ap;
    size_t used;

    if (!e)
        return code;
    e->code = code;
    va_start(ap, fmt);
    used = append(e, 0, fmt, ap);
    va_end(ap);
    appendf(e, used, ": %s", err_reason(-code));
    return code;
}

int err_wrap(struct err *e, int code, const char *fmt, ...)
{
    char inner[LIMIT_ERR_TEXT];
    va_list ap;
    size_t used;

    if (!e)
        return code;
    memcpy(inner, e->text, sizeof(inner));
    e->code = code;
    va_start(ap, fmt);
    used = append(e, 0, fmt, ap);
    va_end(ap);
    appendf(e, used, ": %s", inner);
    return code;
}
