/* arena.h - memory for things that are built once and freed together.
 *
 * Documents, specs and plans live in an arena and are const after construction. Allocation never
 * fails (out of memory aborts), memory is zeroed and aligned for any type.
 */
#ifndef BASE_ARENA_H
#define BASE_ARENA_H

#include <stdarg.h>
#include <stddef.h>

#include "base/cleanup.h"

struct arena;

struct arena *arena_new(void);
void arena_free(struct arena *a); /* NULL is fine */
static inline void arena_freep(struct arena **a)
{
    arena_free(*a);
}
#define auto_arena CLEANUP(arena_freep)

void *arena_alloc(struct arena *a, size_t size);
void *arena_calloc(struct arena *a, size_t n, size_t size); /* checks n * size */

#define ARENA_NEW(a, type) ((type *)arena_alloc((a), sizeof(type)))
#define ARENA_ARRAY(a, type, n) ((type *)arena_calloc((a), (n), sizeof(type)))

char *arena_strdup(struct arena *a, const char *s); /* NULL gives NULL */
char *arena_strndup(struct arena *a, const char *s, size_t n);
char *arena_printf(struct arena *a, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
char *arena_vprintf(struct arena *a, const char *fmt, va_list ap);

#endif
