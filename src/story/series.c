/* series.c - see series.h. */
#include "story/series.h"

#include <string.h>

#include "base/limits.h"
#include "doc/json_read.h"

struct reading {
    struct arena *a;
    struct series *s;
    size_t cap;
    size_t *slots; /* hash of replica and rank: row + 1 */
};

#define SLOTS ((size_t)LIMIT_SERIES_ROWS * 2) /* a power of two */

/* FNV-1a. */
static size_t hash_of(const char *replica, int32_t rank)
{
    uint64_t h = UINT64_C(0xcbf29ce484222325) ^ (uint32_t)rank;

    for (; *replica; replica++)
        h = (h ^ (unsigned char)*replica) * UINT64_C(0x100000001b3);
    return (size_t)((h ^ h >> 32) & (SLOTS - 1));
}

/* NULL: there are too many. */
static struct series_row *row_for(struct reading *r, const char *replica, int32_t rank)
{
    struct series *s = r->s;
    size_t i = hash_of(replica, rank);

    for (; r->slots[i]; i = (i + 1) & (SLOTS - 1)) {
        struct series_row *row = &s->rows[r->slots[i] - 1];

        if (row->rank == rank && strcmp(row->replica, replica) == 0)
            return row;
    }
    if (s->n == LIMIT_SERIES_ROWS)
        return NULL;
    if (s->n == r->cap) {
        r->cap = r->cap ? 2 * r->cap : 64;
        struct series_row *more = ARENA_ARRAY(r->a, struct series_row, r->cap);
        if (s->n)
            memcpy(more, s->rows, s->n * sizeof(*more));
        s->rows = more;
    }
    r->slots[i] = s->n + 1;
    s->rows[s->n] = (struct series_row){.replica = arena_strdup(r->a, replica), .rank = rank};
    return &s->rows[s->n++];
}

static void add_point(struct reading *r, struct series_row *row, struct series_point p)
{
    if (row->n == row->cap) {
        row->cap = row->cap ? 2 * row->cap : 16;
        struct series_point *more = ARENA_ARRAY(r->a, struct series_point, row->cap);
        if (row->n)
            memcpy(more, row->v, row->n * sizeof(*more));
        row->v = more;
    }
    const struct series_point begin = {0}, *before = row->n ? &row->v[row->n - 1] : &begin;

    if (row->n > 0 && p.ms <= before->ms)
        return; /* a rank twice in a line, or a clock that went back */
    if (p.cpu_ms > before->cpu_ms && p.ms > before->ms) { /* less: a process of it has ended */
        uint64_t cpu = (p.cpu_ms - before->cpu_ms) * 100 / (uint64_t)(p.ms - before->ms);
        p.cpu = cpu < LIMIT_SERIES_CPU ? (uint32_t)cpu : LIMIT_SERIES_CPU;
    }
    row->v[row->n++] = p;
    if (p.memory > row->peak_memory)
        row->peak_memory = p.memory;
    if (p.cpu > row->peak_cpu)
        row->peak_cpu = p.cpu;
}

/* ["worker-0",0,cpu_ms,memory,read,written] */
static void read_item(struct reading *r, int64_t ms, const struct node *item)
{
    enum { REPLICA, RANK, CPU, MEMORY, READ, WRITTEN, FIELDS };

    if (item->type != NODE_SEQ || item->n != FIELDS || item->items[REPLICA]->type != NODE_STRING ||
        strlen(item->items[REPLICA]->text) > LIMIT_NAME + 16)
        return;
    const struct node *rank = item->items[RANK];
    bool none = rank->type == NODE_NULL;

    if (!none && (rank->type != NODE_INT || rank->i < 0 || rank->i > INT32_MAX))
        return;
    for (int i = CPU; i < FIELDS; i++)
        if (item->items[i]->type != NODE_INT || item->items[i]->i < 0 ||
            item->items[i]->i > INT64_MAX / 1000)
            return;
    struct series_row *row = row_for(r, item->items[REPLICA]->text, none ? -1 : (int32_t)rank->i);
    if (row)
        add_point(r, row,
                  (struct series_point){.ms = ms,
                                        .cpu_ms = (uint64_t)item->items[CPU]->i,
                                        .memory = (uint64_t)item->items[MEMORY]->i,
                                        .read = (uint64_t)item->items[READ]->i,
                                        .written = (uint64_t)item->items[WRITTEN]->i});
}

static void read_line(struct reading *r, const char *text, size_t len)
{
    auto_arena struct arena *a = arena_new();
    const struct node *line = json_node(a, text, len), *ms = node_get(line, "ms"),
                      *of = node_get(line, "of");

    if (!ms || ms->type != NODE_INT || ms->i < r->s->last_ms || ms->i > INT64_MAX / 1000000 ||
        !of || of->type != NODE_SEQ)
        return;
    r->s->last_ms = ms->i;
    for (size_t i = 0; i < of->n; i++)
        read_item(r, ms->i, of->items[i]);
}

const struct series *series_read(struct arena *a, const char *text, size_t len)
{
    struct reading r = {
        .a = a, .s = ARENA_NEW(a, struct series), .slots = ARENA_ARRAY(a, size_t, SLOTS)};
    const char *end = text + len, *nl;

    for (const char *p = text; p < end && (nl = memchr(p, '\n', (size_t)(end - p))); p = nl + 1)
        read_line(&r, p, (size_t)(nl - p));
    return r.s;
}

const struct series_row *series_of(const struct series *s, const char *replica, int32_t rank)
{
    for (size_t i = 0; s && i < s->n; i++)
        if ((rank < 0 || s->rows[i].rank == rank) && strcmp(s->rows[i].replica, replica) == 0)
            return &s->rows[i];
    return NULL;
}
