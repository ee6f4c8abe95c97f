/* hang_table.c - who is where and waits for whom, as a small table for a terminal.
 *
 *     rank 0 on worker-0   wait.py:7 (time.sleep(1000))
 *     rank 1 on worker-1   wait.py:14 (client.recv(1))    waits for rank 0 on worker-0
 */
#include <stdlib.h>
#include <string.h>

#include "base/limits.h"
#include "inspect/hang.h"
#include "inspect/waits.h"

enum { COLUMNS = 3 };

struct row {
    const char *cells[COLUMNS]; /* who, where, waits for */
    size_t more;                /* others of which the same is true */
    size_t at;                  /* in the order in which they were found */
};

static const char *where(struct arena *a, const struct snapshot_process *p)
{
    auto_strbuf struct strbuf sb = STRBUF_INIT;

    if (snapshot_is_stopped(p)) {
        hang_add_stop(p, &sb);
        if (p->place.file)
            strbuf_addf(&sb, " at %s:%d", p->place.file, p->place.line);
        return arena_strdup(a, sb.buf);
    }
    hang_add_place(p, &sb);
    if (!p->place.file && !p->inside)
        return p->n_threads == 0 ? ""
               : p->threads[0].call == CALL_RUNNING
                   ? "running"
                   : arena_printf(a, "in %s", snapshot_call_name(a, p->threads[0].call));
    if (!strncmp(sb.buf, " is at ", 7))
        return arena_strdup(a, sb.buf + 7);
    return arena_strdup(a, sb.buf + (sb.len > 0));
}

static const char *whom(struct arena *a, const struct hang_seen *seen, const struct edge *e)
{
    auto_strbuf struct strbuf sb = STRBUF_INIT;
    const struct snapshot_process *to = e->socket ? owner_of(seen->snapshot, e->socket) : NULL;

    if (!e->socket)
        return "";
    if (e->socket->state == SOCKET_LISTEN)
        return arena_printf(a, "waits for a connection to %s", e->socket->local);
    if (e->choices > 1)
        return arena_printf(a, "waits for one of %zu connections", e->choices);
    strbuf_addstr(&sb, "waits for ");
    if (to)
        hang_add_name(seen->job, to, &sb);
    else
        strbuf_addf(&sb, "%s, outside the job", e->socket->far);
    if (to && !e->socket->accepted)
        strbuf_addstr(&sb, ", which has not accepted");
    return arena_strdup(a, sb.buf);
}

static void add_rows(const struct row *rows, size_t n, struct strbuf *out)
{
    size_t width[COLUMNS] = {0};

    for (size_t i = 0; i < n; i++)
        for (size_t c = 0; c < COLUMNS; c++)
            if (strlen(rows[i].cells[c]) > width[c])
                width[c] = strlen(rows[i].cells[c]);
    for (size_t i = 0; i < n; i++) {
        size_t end;

        strbuf_addstr(out, "\n");
        for (size_t c = 0; c < COLUMNS; c++)
            if (width[c])
                strbuf_addf(out, "%-*s  ", (int)width[c], rows[i].cells[c]);
        for (end = out->len; end > 0 && out->buf[end - 1] == ' ';)
            end--;
        strbuf_truncate(out, end);
    }
}

static bool knows_place(const struct snapshot_process *p)
{
    return p->place.file || p->inside;
}

static bool is_child(const struct snapshot_process *p, const struct snapshot_process *up)
{
    return p->parent == up->pid && p->rank == up->rank && p->replica == up->replica && !up->ours;
}

/* One row for a rank: not the shell that waits for it, nor what it has started for itself. */
static bool is_aside(const struct snapshot *lk, const struct snapshot_process *p)
{
    for (size_t i = 0; i < lk->n; i++) {
        if (!knows_place(p) && is_child(&lk->v[i], p) && *lk->v[i].command)
            return true;
        if (is_child(p, &lk->v[i]) && knows_place(&lk->v[i]))
            return true;
    }
    return false;
}

/* Who waits for nobody is whom the others wait for; else it is more often than not alone. */
static int by_guilt(const void *x, const void *y)
{
    const struct row *a = x, *b = y;
    int r = (*a->cells[2] != '\0') - (*b->cells[2] != '\0');

    if (r == 0)
        r = (a->more > b->more) - (a->more < b->more);

    return r ? r : (a->at > b->at) - (a->at < b->at);
}

/* Ranks that do the same are one row, that of the first. */
static bool is_merged(struct row *rows, size_t last)
{
    for (size_t i = 0; i < last; i++)
        if (!strcmp(rows[i].cells[1], rows[last].cells[1]) &&
            !strcmp(rows[i].cells[2], rows[last].cells[2])) {
            rows[i].more++;
            return true;
        }
    return false;
}

void hang_table(const struct hang_seen *seen, struct strbuf *out)
{
    auto_arena struct arena *a = arena_new();
    const struct snapshot *lk = seen->snapshot;
    bool ranks = snapshot_has_ranks(lk);
    struct row rows[LIMIT_HANG_ROWS];
    size_t n = 0, more = 0;

    for (size_t i = 0; i < lk->n; i++) {
        auto_strbuf struct strbuf who = STRBUF_INIT;
        struct edge e = edge_of(lk, &lk->v[i]);

        if (!is_told(&lk->v[i], ranks) || is_aside(lk, &lk->v[i]))
            continue;
        if (n == LIMIT_HANG_ROWS) {
            more++;
            continue;
        }
        hang_add_name(seen->job, &lk->v[i], &who);
        rows[n] = (struct row){
            .cells = {arena_strdup(a, who.buf), where(a, &lk->v[i]), whom(a, seen, &e)}};
        rows[n].at = n;
        n += !is_merged(rows, n);
    }
    qsort(rows, n, sizeof(rows[0]), by_guilt);
    for (size_t i = 0; i < n; i++)
        if (rows[i].more > 0)
            rows[i].cells[0] = arena_printf(a, "%s and %zu more", rows[i].cells[0], rows[i].more);
    add_rows(rows, n, out);
    if (more > 0)
        strbuf_addf(out, "\n%zu more: see " HANG_TEXT, more);
}
