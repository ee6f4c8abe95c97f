/* tap.c - see tap.h. The one place in the libraries that prints: it is only linked into tests. */
#include "base/tap.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int n_tests, n_failed;

static bool report(bool pass, const char *file, int line, const char *fmt, va_list ap)
{
    n_tests++;
    printf("%sok %d - ", pass ? "" : "not ", n_tests);
    vprintf(fmt, ap);
    putchar('\n');
    if (!pass) {
        n_failed++;
        printf("# failed at %s:%d\n", file, line);
    }
    fflush(stdout); /* what was printed must survive a crash */
    return pass;
}

bool tap_ok(bool pass, const char *file, int line, const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    report(pass, file, line, fmt, ap);
    va_end(ap);
    return pass;
}

bool tap_is_int(long long got, long long want, const char *file, int line, const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    if (!report(got == want, file, line, fmt, ap))
        tap_diag(" got %lld\nwant %lld", got, want);
    va_end(ap);
    return got == want;
}

bool tap_is_str(const char *got, const char *want, const char *file, int line, const char *fmt, ...)
{
    bool pass = got && want ? strcmp(got, want) == 0 : got == want;
    va_list ap;

    va_start(ap, fmt);
    if (!report(pass, file, line, fmt, ap))
        tap_diag(" got '%s'\nwant '%s'", got ? got : "(NULL)", want ? want : "(NULL)");
    va_end(ap);
    return pass;
}

bool tap_has(const char *text, const char *part, const char *file, int line, const char *fmt, ...)
{
    bool pass = text && strstr(text, part);
    va_list ap;

    va_start(ap, fmt);
    if (!report(pass, file, line, fmt, ap))
        tap_diag("'%s'\nis not in '%s'", part, text ? text : "(NULL)");
    va_end(ap);
    return pass;
}

void tap_diag(const char *fmt, ...)
{
    char text[4096];
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(text, sizeof(text), fmt, ap);
    va_end(ap);
    for (char *line = text, *next; line; line = next) {
        next = strchr(line, '\n');
        if (next)
            *next++ = '\0';
        printf("# %s\n", line);
    }
    fflush(stdout);
}

void tap_skip_all(const char *why)
{
    printf("1..0 # SKIP %s\n", why);
    exit(0);
}

int tap_done(void)
{
    printf("1..%d\n", n_tests);
    return n_failed || !n_tests;
}
