/* strvec.c - see strvec.h. */
#include "base/strvec.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/mem.h"

char *strvec_empty[1];

void strvec_push_take(struct strvec *sv, char *s)
{
    if (sv->n + 1 >= sv->cap) {
        sv->cap = sv->cap ? sv->cap * 2 : 8;
        sv->v = xrealloc_array(sv->v == strvec_empty ? NULL : sv->v, sv->cap, sizeof(*sv->v));
    }
    sv->v[sv->n++] = s;
    sv->v[sv->n] = NULL;
}

void strvec_push(struct strvec *sv, const char *s)
{
    strvec_push_take(sv, xstrdup(s));
}

void strvec_pushf(struct strvec *sv, const char *fmt, ...)
{
    va_list ap;
    char *s;

    va_start(ap, fmt);
    if (vasprintf(&s, fmt, ap) < 0)
        abort();
    va_end(ap);
    strvec_push_take(sv, s);
}

void strvec_release(struct strvec *sv)
{
    for (size_t i = 0; i < sv->n; i++)
        free(sv->v[i]);
    if (sv->v != strvec_empty)
        free(sv->v);
    *sv = (struct strvec)STRVEC_INIT;
}
