/* arena.c - bump allocation in chunks that grow with use; nothing is ever returned alone. */
#include "base/arena.h"

#include <stdalign.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"

/* Under AddressSanitizer each piece is a chunk of its own: only so it sees a step beyond one. */
#if defined(__SANITIZE_ADDRESS__)
#define ALONE true
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define ALONE true
#endif
#endif
#ifndef ALONE
#define ALONE false
#endif

enum { CHUNK_MIN = 4096, CHUNK_MAX = 256 * 1024 };

struct chunk {
    struct chunk *next;
    size_t used, size;
    alignas(max_align_t) unsigned char data[];
};

struct arena {
    struct chunk *head; /* the one being filled */
    size_t next_size;
};

struct arena *arena_new(void)
{
    struct arena *a = xcalloc(1, sizeof(*a));

    a->next_size = CHUNK_MIN;
    return a;
}

void arena_free(struct arena *a)
{
    if (!a)
        return;
    for (struct chunk *c = a->head, *next; c; c = next) {
        next = c->next;
        free(c);
    }
    free(a);
}

/* Of memory that was used before calloc() clears the whole chunk, and most jobs need a part of one:
 * what is taken from a chunk is cleared then. A piece with a chunk of its own is large, and fresh
 * pages come cleared from the kernel. */
static struct chunk *chunk_new(size_t size, bool cleared)
{
    struct chunk *c = cleared ? xcalloc(1, sizeof(*c) + size) : xmalloc(sizeof(*c) + size);

    *c = (struct chunk){.size = size};
    return c;
}

/* A piece of memory. *clear: it is not cleared yet. */
static void *take(struct arena *a, size_t size, bool *clear)
{
    const size_t align = alignof(max_align_t);
    struct chunk *c = a->head;
    void *p;

    *clear = true;
    if (size > SIZE_MAX / 2)
        size = SIZE_MAX / 2; /* xcalloc() ends it */
    if (!ALONE)
        size = (size + align - 1) / align * align;
    if (!ALONE && c && c->size - c->used >= size) {
        p = c->data + c->used;
        c->used += size;
        return p;
    }
    if (ALONE || size > a->next_size / 4) { /* a chunk of its own, behind the one being filled */
        struct chunk *own = chunk_new(size, true);

        *clear = false;
        own->used = size;
        own->next = c ? c->next : NULL;
        if (c)
            c->next = own;
        else
            a->head = own;
        return own->data;
    }
    c = chunk_new(a->next_size, false);
    c->next = a->head;
    c->used = size;
    a->head = c;
    if (a->next_size < CHUNK_MAX)
        a->next_size *= 2;
    return c->data;
}

void *arena_alloc(struct arena *a, size_t size)
{
    bool clear;
    void *p = take(a, size, &clear);

    return clear ? memset(p, 0, size) : p;
}

void *arena_calloc(struct arena *a, size_t n, size_t size)
{
    size_t bytes;

    if (__builtin_mul_overflow(n, size, &bytes))
        bytes = SIZE_MAX;
    return arena_alloc(a, bytes);
}

char *arena_strdup(struct arena *a, const char *s)
{
    return s ? arena_strndup(a, s, strlen(s)) : NULL;
}

char *arena_strndup(struct arena *a, const char *s, size_t n)
{
    bool clear;
    char *copy = take(a, n + 1, &clear);

    if (n)
        memcpy(copy, s, n);
    copy[n] = '\0';
    return copy;
}

/* Most of what is made is short: only what is not is formatted twice. */
char *arena_vprintf(struct arena *a, const char *fmt, va_list ap)
{
    char near[256];
    va_list again;

    va_copy(again, ap);
    int n = vsnprintf(near, sizeof(near), fmt, ap);
    char *s = arena_alloc(a, n > 0 ? (size_t)n + 1 : 1);

    if (n >= (int)sizeof(near))
        (void)vsnprintf(s, (size_t)n + 1, fmt, again);
    else if (n > 0)
        memcpy(s, near, (size_t)n);
    va_end(again);
    return s;
}

char *arena_printf(struct arena *a, const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    char *s = arena_vprintf(a, fmt, ap);
    va_end(ap);
    return s;
}
