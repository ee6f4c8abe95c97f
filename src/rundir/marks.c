/* marks.c - see marks.h. */
#include "rundir/marks.h"

#include <fcntl.h>
#include <search.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/limits.h"
#include "base/mem.h"
#include "base/strbuf.h"

#define CHUNK (64 * 1024)

struct known {
    uint64_t offset;
    int64_t ms;
    bool is_err;
};

struct marks_of {
    char *name; /* first: the key */
    struct known *v;
    size_t first, n, cap; /* v[first] to v[n - 1] */
};

struct marks {
    int dir_fd, fd; /* fd -1: there is no file so far */
    bool times;
    void *by_name; /* tsearch tree of struct marks_of */
    size_t waiting, limit;
    struct strbuf in; /* a line that is not whole yet */
};

struct marks *marks_new(int dir_fd, bool times)
{
    struct marks *m = xcalloc(1, sizeof(*m));

    *m = (struct marks){.dir_fd = dir_fd, .fd = -1, .times = times, .in = STRBUF_INIT};
    m->limit = times ? LIMIT_MARK_TIMES : LIMIT_MARKS;
    return m;
}

static void free_of(void *p)
{
    struct marks_of *of = p;

    free(of->name);
    free(of->v);
    free(of);
}

void marks_free(struct marks *m)
{
    if (!m)
        return;
    tdestroy(m->by_name, free_of);
    strbuf_release(&m->in);
    if (m->fd >= 0)
        (void)close(m->fd);
    free(m);
}

static int by_name(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

struct marks_of *marks_of(struct marks *m, const char *log)
{
    struct marks_of **found = tfind(&log, &m->by_name, by_name);

    if (found)
        return *found;
    struct marks_of *of = xcalloc(1, sizeof(*of));
    of->name = xstrdup(log);
    (void)tsearch(of, &m->by_name, by_name);
    return of;
}

static void forget_front(struct marks *m, struct marks_of *of, size_t n)
{
    of->first += n;
    m->waiting -= n;
    if (of->first >= 64 && of->first * 2 > of->n) {
        memmove(of->v, of->v + of->first, (of->n - of->first) * sizeof(*of->v));
        of->n -= of->first;
        of->first = 0;
    }
}

static void add(struct marks *m, const char *log, const struct known *e)
{
    struct marks_of *of = marks_of(m, log);
    const struct known *last = of->n > of->first ? &of->v[of->n - 1] : NULL;

    if (last && (e->offset < last->offset || (!m->times && e->is_err == last->is_err)))
        return;
    if (!of->v)
        of->first = of->n = of->cap = 0;
    GROW(of->v, of->n, of->cap);
    of->v[of->n++] = *e;
    m->waiting++;
}

/* A line that is none (the disk was full) is left out. */
static void take_line(struct marks *m, char *line)
{
    struct known e;
    char *p = line;

    e.ms = strtoll(line, &p, 10);
    if (p == line || *p != ' ')
        return;
    e.offset = strtoull(p + 1, &p, 10);
    if (p[0] != ' ' || (p[1] != 'o' && p[1] != 'e') || p[2] != ' ' || !p[3])
        return;
    e.is_err = p[1] == 'e';
    add(m, p + 3, &e);
}

static void take_lines(struct marks *m)
{
    char *p = m->in.buf, *end = m->in.buf + m->in.len, *nl;

    while ((nl = memchr(p, '\n', (size_t)(end - p)))) {
        *nl = '\0';
        take_line(m, p);
        p = nl + 1;
    }
    strbuf_consume(&m->in, (size_t)(p - m->in.buf));
    if (m->in.len > LIMIT_ERR_TEXT) /* no mark is that long */
        strbuf_truncate(&m->in, 0);
}

void marks_read(struct marks *m)
{
    ssize_t n = CHUNK;

    if (m->fd < 0)
        m->fd = openat(m->dir_fd, MARKS_NAME, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    while (m->fd >= 0 && n == CHUNK && m->waiting < m->limit) {
        strbuf_reserve(&m->in, CHUNK);
        n = read(m->fd, m->in.buf + m->in.len, CHUNK);
        if (n > 0) {
            m->in.len += (size_t)n;
            m->in.buf[m->in.len] = '\0';
            take_lines(m);
        }
    }
}

struct mark marks_at(struct marks *m, struct marks_of *of, uint64_t offset)
{
    size_t skip = 0, n = of->n - of->first;

    if (n == 0)
        return (struct mark){.until = UINT64_MAX};
    const struct known *v = of->v + of->first;
    while (skip + 1 < n && v[skip + 1].offset <= offset)
        skip++;
    if (skip > 0) {
        forget_front(m, of, skip);
        v = of->v + of->first;
        n -= skip;
    }
    if (v[0].offset > offset)
        return (struct mark){.until = v[0].offset};
    bool known = n > 1 || m->waiting < m->limit;
    return (struct mark){.until = n > 1 ? v[1].offset : UINT64_MAX,
                         .ms = known ? v[0].ms : 0,
                         .is_err = v[0].is_err};
}
