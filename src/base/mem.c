/* mem.c - allocation that ends the program when memory is out: there is no sensible way on from
 * there, and code without those branches is code that can be read. */
#include "base/mem.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void out_of_memory(void) __attribute__((noreturn));
static void out_of_memory(void)
{
    static const char text[] = "muster: out of memory\n";

    if (write(STDERR_FILENO, text, sizeof(text) - 1) < 0) {
        /* nobody is left to tell */
    }
    _exit(125); /* as whatever muster itself fails at; what it supervises ends with it */
}

static void *check(void *p)
{
    if (!p)
        out_of_memory();
    return p;
}

void *xmalloc(size_t n)
{
    return check(malloc(n ? n : 1));
}

void *xcalloc(size_t n, size_t size)
{
    return check(calloc(n ? n : 1, size ? size : 1));
}

void *xrealloc_array(void *p, size_t n, size_t size)
{
    size_t bytes;

    if (__builtin_mul_overflow(n, size, &bytes))
        out_of_memory();
    return check(realloc(p, bytes ? bytes : 1));
}

char *xstrdup(const char *s)
{
    return check(strdup(s));
}

char *xstrndup(const char *s, size_t n)
{
    return check(strndup(s, n));
}

char *xasprintf(const char *fmt, ...)
{
    va_list ap;
    char *s;

    va_start(ap, fmt);
    if (vasprintf(&s, fmt, ap) < 0)
        out_of_memory();
    va_end(ap);
    return s;
}
