/* hang_places.c - where the processes of a job that hangs are: ranks that are at the same place are
 * told together, and the fewest first. Who is where nobody else is, is whom the others wait for,
 * more often than not; that is left to the reader, who knows the script. */
#include <stdlib.h>
#include <string.h>

#include "base/limits.h"
#include "base/mem.h"
#include "inspect/hang.h"
#include "inspect/waits.h"

/* --- what a debugger's stack shows
 * ---------------------------------------------------------------- */

static const char *mpi_function(struct arena *a, const char *line, size_t n)
{
    const char *at = memmem(line, n, "MPI_", strlen("MPI_"));

    if (!at || at == line || (at[-1] != ' ' && at[-1] != 'P'))
        return NULL;
    size_t name = strspn(at, "ABCDEFGHIJKLMNOPQRSTUVWXYZ_abcdefghijklmnopqrstuvwxyz0123456789");
    return at + name < line + n && (at[name] == ' ' || at[name] == '(') ? arena_strndup(a, at, name)
                                                                        : NULL;
}

/* MPI is called by the thread that waits; gloo has threads of its own for that. */
const char *hang_inside(struct arena *a, const char *stack)
{
    const char *main_thread = strstr(stack, "Thread 1 (");

    for (const char *p = main_thread ? main_thread : stack; *p;) {
        size_t n = strcspn(p, "\n");
        const char *mpi = *p == '#' ? mpi_function(a, p, n) : NULL;

        if (mpi)
            return mpi;
        p += n + (p[n] == '\n');
    }
    if (strstr(stack, "gloo::transport::tcp::UnboundBuffer::wait"))
        return "gloo";
    return NULL;
}

/* --- who is together
 * ------------------------------------------------------------------------------ */

struct group {
    const struct snapshot_process **v;
    size_t n;
};

static bool has_place(const struct snapshot_process *p)
{
    return p->place.file || p->inside;
}

/* A process that a rank has started for itself is not another rank. */
static bool is_helper(const struct snapshot *lk, const struct snapshot_process *p)
{
    for (size_t i = 0; i < lk->n; i++) {
        const struct snapshot_process *up = &lk->v[i];

        if (up->pid == p->parent && !up->ours && has_place(up) && up->rank == p->rank &&
            up->replica == p->replica)
            return true;
    }
    return false;
}

static int compare_words(const char *a, const char *b)
{
    return strcmp(a ? a : "", b ? b : "");
}

/* What a debugger knows of one of two that are at one place, it need not have had the time to find
 * out of the other. */
static int compare_places(const struct snapshot_process *a, const struct snapshot_process *b)
{
    int r = compare_words(a->place.file, b->place.file);

    r = r ? r : (a->place.line > b->place.line) - (a->place.line < b->place.line);
    r = r ? r : compare_words(a->place.function, b->place.function);
    return r || a->place.file ? r : compare_words(a->inside, b->inside);
}

static int by_place(const void *x, const void *y)
{
    const struct snapshot_process *a = *(const struct snapshot_process *const *)x;
    const struct snapshot_process *b = *(const struct snapshot_process *const *)y;
    int r = compare_places(a, b);

    r = r ? r : (a->rank > b->rank) - (a->rank < b->rank);
    r = r ? r : (a->replica > b->replica) - (a->replica < b->replica);
    return r ? r : (a->pid > b->pid) - (a->pid < b->pid);
}

static int by_size(const void *x, const void *y)
{
    const struct group *a = x, *b = y;
    int r = (a->n > b->n) - (a->n < b->n);

    return r ? r : by_place(&a->v[0], &b->v[0]);
}

static size_t make_groups(struct arena *a, const struct snapshot *lk, struct group **ret)
{
    const struct snapshot_process **v = ARENA_ARRAY(a, const struct snapshot_process *, lk->n + 1);
    struct group *groups = ARENA_ARRAY(a, struct group, lk->n + 1);
    bool ranks = snapshot_has_ranks(lk);
    size_t n = 0, n_groups = 0;

    for (size_t i = 0; i < lk->n; i++)
        if (is_told(&lk->v[i], ranks) && has_place(&lk->v[i]) && !is_helper(lk, &lk->v[i]))
            v[n++] = &lk->v[i];
    qsort(v, n, sizeof(struct snapshot_process *), by_place);
    for (size_t i = 0; i < n; i++) {
        if (i == 0 || compare_places(v[i - 1], v[i]) != 0)
            groups[n_groups++].v = &v[i];
        groups[n_groups - 1].n++;
    }
    qsort(groups, n_groups, sizeof(*groups), by_size);
    *ret = groups;
    return n_groups;
}

/* --- in words
 * ------------------------------------------------------------------------------------- */

static void add_place(const struct snapshot_place *at, const char *inside, bool several,
                      struct strbuf *out)
{
    if (inside)
        strbuf_addf(out, several ? " wait in %s" : " waits in %s", inside);
    else
        strbuf_addstr(out, several ? " are" : " is");
    if (!at->file)
        return;
    strbuf_addf(out, " at %s", at->file);
    if (at->line > 0)
        strbuf_addf(out, ":%d", at->line);
    if (strcmp(at->function, "<module>") != 0)
        strbuf_addf(out, " in %s", at->function);
    if (at->source)
        strbuf_addf(out, " (%s)", at->source);
}

void hang_add_place(const struct snapshot_process *p, struct strbuf *out)
{
    add_place(&p->place, p->inside, false, out);
}

/* What all of them wait in, or NULL. */
static const char *common_inside(const struct group *g)
{
    for (size_t i = 0; i < g->n; i++)
        if (!g->v[i]->inside || strcmp(g->v[i]->inside, g->v[0]->inside) != 0)
            return NULL;
    return g->v[0]->inside;
}

static void add_members(const struct job *job, const struct group *g, struct strbuf *out)
{
    if (g->n == 1) {
        hang_add_name(job, g->v[0], out);
        return;
    }
    for (size_t i = 0, last; i < g->n; i = last + 1) {
        int32_t rank = g->v[i]->rank;

        for (last = i;
             last + 1 < g->n && rank >= 0 && g->v[last + 1]->rank == g->v[last]->rank + 1;)
            last++;
        strbuf_addstr(out, i > 0 ? ", " : rank >= 0 ? "ranks " : "");
        if (rank < 0)
            hang_add_name(job, g->v[i], out);
        else
            strbuf_addf(out, "%d", rank);
        if (last > i)
            strbuf_addf(out, last == i + 1 ? ", %d" : " to %d", g->v[last]->rank);
    }
}

void hang_add_places(const struct hang_seen *seen, const char *before, struct strbuf *out)
{
    auto_arena struct arena *a = arena_new();
    struct group *groups;
    size_t n = make_groups(a, seen->snapshot, &groups), more = 0;

    for (size_t i = 0; i < n; i++) {
        if (i >= LIMIT_HANG_PLACES) {
            more += groups[i].n;
            continue;
        }
        strbuf_addstr(out, i == 0 ? before : "; ");
        add_members(seen->job, &groups[i], out);
        add_place(&groups[i].v[0]->place, common_inside(&groups[i]), groups[i].n > 1, out);
    }
    if (more > 0)
        strbuf_addf(out, "; %zu more are at other locations", more);
}
