/* mem.h - heap memory that never fails: out of memory aborts with a line on stderr. */
#ifndef BASE_MEM_H
#define BASE_MEM_H

#include <stddef.h>

void *xmalloc(size_t n);
void *xcalloc(size_t n, size_t size);
void *xrealloc_array(void *p, size_t n, size_t size); /* checks n * size */
char *xstrdup(const char *s);
char *xstrndup(const char *s, size_t n);
char *xasprintf(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* Makes room for one more element in the array p of *cap elements of which n are used. */
#define GROW(p, n, cap)                                                                            \
    do {                                                                                           \
        if ((n) == (cap)) {                                                                        \
            (cap) = (cap) ? (cap)*2 : 8;                                                           \
            (p) = xrealloc_array((p), (cap), sizeof(*(p)));                                        \
        }                                                                                          \
    } while (0)

#endif
