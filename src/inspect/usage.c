/* usage.c - see usage.h. */
#include "inspect/usage.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/clock.h"
#include "base/io.h"
#include "base/limits.h"
#include "base/mem.h"
#include "base/num.h"
#include "base/procs.h"
#include "inspect/snapshot.h"

/* A program's environment is that of its parent until it is executed, so the owner of a young
 * process is looked up again. */
#define LOOKS_UNTIL_KNOWN 3
#define LONGEST_ID 64 /* of MUSTER_RUN_ID; what is longer is not ours */

struct seen { /* a process */
    pid_t pid, parent;
    unsigned long long started; /* with the pid: who it is */
    int looks;
    char *run_id, *replica; /* heap; NULL: not of a job */
    int32_t rank;
    uint64_t cpu_ms, memory, read, written;
    bool here; /* in this look */
};

struct usage {
    char *only;        /* heap, or NULL */
    struct seen *seen; /* by pid */
    size_t n_seen, cap_seen;
    size_t n_known; /* those of the looks before: sorted */
    pid_t *pids;    /* of the look that is going on */
    size_t n_pids, cap_pids, next_pid;
    bool looking, everyone; /* everyone: processes of other users count too */
    struct arena *a;        /* of the rows; NULL: none yet */
    struct usage_row *rows;
    size_t n_rows;
    ns_t at;
    long ticks, page;
};

struct usage *usage_new(const char *run_id)
{
    struct usage *u = xcalloc(1, sizeof(*u));

    u->only = run_id ? xstrdup(run_id) : NULL;
    u->ticks = sysconf(_SC_CLK_TCK) > 0 ? sysconf(_SC_CLK_TCK) : 100;
    u->page = sysconf(_SC_PAGESIZE);
    u->everyone = geteuid() == 0; /* a job of root's may change its user */
    return u;
}

static void forget_who(struct seen *s)
{
    free(s->run_id);
    free(s->replica);
    s->run_id = s->replica = NULL;
}

void usage_free(struct usage *u)
{
    if (!u)
        return;
    for (size_t i = 0; i < u->n_seen; i++)
        forget_who(&u->seen[i]);
    free(u->seen);
    free(u->pids);
    arena_free(u->a);
    free(u->only);
    free(u);
}

static int by_pid(const void *x, const void *y)
{
    const struct seen *a = x, *b = y;

    return (a->pid > b->pid) - (a->pid < b->pid);
}

/* --- one process ------------------------------------------------------------------------------ */

static bool read_of(pid_t pid, const char *file, struct strbuf *sb)
{
    char path[64];

    (void)snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, file);
    strbuf_truncate(sb, 0);
    return io_read_file(AT_FDCWD, path, 4096, sb, NULL) == 0;
}

/* Fields of stat, which come after a name that may hold anything. Times include those of children
 * that were waited for, so that the sum of a job does not go back when one of them ends. */
static bool read_stat(const struct usage *u, pid_t pid, struct seen *ret)
{
    enum {
        PARENT = 4,
        USER = 14,
        SYSTEM,
        CHILDREN_USER,
        CHILDREN_SYSTEM,
        STARTED = 22,
        RESIDENT = 24
    };
    auto_strbuf struct strbuf sb = STRBUF_INIT;
    const char *p = read_of(pid, "stat", &sb) ? strrchr(sb.buf, ')') : NULL;
    unsigned long long field[RESIDENT + 1] = {0};

    if (!p || strlen(p) < 4)
        return false;
    p += 3; /* the state is field 3 */
    for (int i = PARENT; i <= RESIDENT; i++) {
        char *end;

        field[i] = strtoull(p, &end, 10);
        p = end;
    }
    ret->pid = pid;
    ret->parent = (pid_t)field[PARENT];
    ret->started = field[STARTED];
    ret->cpu_ms = (field[USER] + field[SYSTEM] + field[CHILDREN_USER] + field[CHILDREN_SYSTEM]) *
                  1000 / (unsigned long)u->ticks;
    ret->memory = field[RESIDENT] * (unsigned long)u->page;
    return true;
}

static uint64_t number_after(const char *text, const char *word)
{
    const char *p = strstr(text, word);

    return p ? strtoull(p + strlen(word), NULL, 10) : 0;
}

static void read_io(struct seen *s)
{
    auto_strbuf struct strbuf sb = STRBUF_INIT;

    if (!read_of(s->pid, "io", &sb))
        return;
    s->read = number_after(sb.buf, "rchar: ");
    s->written = number_after(sb.buf, "wchar: ");
}

/* What a job puts into its environment may be anything. */
static bool is_ours(const char *run, const char *role, const char *index)
{
    uint32_t number;

    return strlen(run) <= LONGEST_ID && strlen(role) <= LIMIT_NAME && num_u32(index, &number) == 0;
}

/* A program that was given an environment of its own is its parent's. */
static void inherit(const struct usage *u, struct seen *s)
{
    const struct seen key = {.pid = s->parent};
    const struct seen *parent =
        u->n_known ? bsearch(&key, u->seen, u->n_known, sizeof(key), by_pid) : NULL;

    if (!parent || !parent->run_id)
        return;
    s->run_id = xstrdup(parent->run_id);
    s->replica = xstrdup(parent->replica);
    s->rank = parent->rank;
}

static void find_who(const struct usage *u, struct seen *s)
{
    auto_strbuf struct strbuf env = STRBUF_INIT;
    auto_strbuf struct strbuf replica = STRBUF_INIT;
    const char *run, *role, *index;

    s->looks++;
    if (proc_environ(s->pid, &env) < 0)
        return;
    run = environ_value(&env, "MUSTER_RUN_ID");
    role = environ_value(&env, "MUSTER_ROLE");
    index = environ_value(&env, "MUSTER_INDEX");
    forget_who(s);
    if (!run) {
        inherit(u, s);
        return;
    }
    if (!role || !index || !is_ours(run, role, index) || (u->only && strcmp(run, u->only) != 0))
        return;
    strbuf_addf(&replica, "%s-%s", role, index);
    s->run_id = xstrdup(run);
    s->replica = strbuf_detach(&replica);
    s->rank = snapshot_rank_in(&env);
}

/* --- all of them ------------------------------------------------------------------------------ */

static void see(struct usage *u, pid_t pid)
{
    struct seen key = {.pid = pid, .rank = -1}, *s = NULL;

    if ((!u->everyone && !proc_is_own(pid)) || !read_stat(u, pid, &key))
        return;
    if (u->n_known > 0)
        s = bsearch(&key, u->seen, u->n_known, sizeof(*s), by_pid);
    if (s && s->started == key.started) {
        s->cpu_ms = key.cpu_ms;
        s->memory = key.memory;
        s->parent = key.parent;
    } else {
        GROW(u->seen, u->n_seen, u->cap_seen);
        s = &u->seen[u->n_seen++];
        *s = key;
    }
    s->here = true;
    if (s->looks < LOOKS_UNTIL_KNOWN)
        find_who(u, s);
    if (s->run_id)
        read_io(s);
}

/* Those that are gone leave. */
static void sweep(struct usage *u)
{
    size_t n = 0;

    for (size_t i = 0; i < u->n_seen; i++) {
        if (u->seen[i].here)
            u->seen[n++] = u->seen[i];
        else
            forget_who(&u->seen[i]);
    }
    u->n_seen = u->n_known = n;
    if (n > 0)
        qsort(u->seen, n, sizeof(*u->seen), by_pid);
    for (size_t i = 0; i < n; i++)
        u->seen[i].here = false;
}

/* --- rows ------------------------------------------------------------------------------------- */

static int by_owner(const void *x, const void *y)
{
    const struct usage_row *a = x, *b = y;
    int c = strcmp(a->run_id, b->run_id);

    c = c ? c : strverscmp(a->replica, b->replica); /* worker-2 before worker-10 */
    return c ? c : (a->rank > b->rank) - (a->rank < b->rank);
}

/* The same, and the first process of a rank first. */
static int by_owner_and_pid(const void *x, const void *y)
{
    const struct usage_row *a = x, *b = y;
    int c = by_owner(a, b);

    return c ? c : (a->pid > b->pid) - (a->pid < b->pid);
}

/* A process each, in order. */
static size_t list_processes(const struct usage *u, struct usage_row *v)
{
    size_t n = 0;

    for (size_t i = 0; i < u->n_seen; i++) {
        const struct seen *s = &u->seen[i];

        if (s->run_id)
            v[n++] = (struct usage_row){.run_id = s->run_id,
                                        .replica = s->replica,
                                        .rank = s->rank,
                                        .pid = s->pid,
                                        .processes = 1,
                                        .cpu_ms = s->cpu_ms,
                                        .memory = s->memory,
                                        .read = s->read,
                                        .written = s->written};
    }
    if (n > 0)
        qsort(v, n, sizeof(*v), by_owner_and_pid);
    return n;
}

/* Neighbours of the same rank become one. */
static size_t merge(struct usage_row *v, size_t n)
{
    size_t rows = 0;

    for (size_t i = 0; i < n; i++) {
        struct usage_row *to = rows ? &v[rows - 1] : NULL;

        if (!to || by_owner(to, &v[i]) != 0) {
            v[rows++] = v[i];
            continue;
        }
        to->processes++;
        to->cpu_ms += v[i].cpu_ms;
        to->memory += v[i].memory;
        to->read += v[i].read;
        to->written += v[i].written;
    }
    return rows;
}

static uint64_t per_second(uint64_t now, uint64_t before, ns_t passed)
{
    return now > before ? (uint64_t)((double)(now - before) * 1e9 / (double)passed) : 0;
}

static void add_rates(const struct usage *u, struct usage_row *r, ns_t passed)
{
    const struct usage_row *before =
        u->n_rows ? bsearch(r, u->rows, u->n_rows, sizeof(*r), by_owner) : NULL;

    if (!before || passed < NS_PER_MS)
        return;
    r->cpu_percent = (uint32_t)(per_second(r->cpu_ms, before->cpu_ms, passed) / 10);
    r->read_rate = per_second(r->read, before->read, passed);
    r->write_rate = per_second(r->written, before->written, passed);
}

static void make_rows(struct usage *u)
{
    struct arena *a = arena_new();
    struct usage_row *v = ARENA_ARRAY(a, struct usage_row, u->n_seen + 1);
    ns_t now = clock_mono();
    size_t n = merge(v, list_processes(u, v));

    for (size_t i = 0; i < n; i++) {
        add_rates(u, &v[i], u->at ? now - u->at : 0);
        v[i].run_id = arena_strdup(a, v[i].run_id);
        v[i].replica = arena_strdup(a, v[i].replica);
    }
    arena_free(u->a);
    u->a = a;
    u->rows = v;
    u->n_rows = n;
    u->at = now;
}

static void list_pid(pid_t pid, void *ctx)
{
    struct usage *u = ctx;

    GROW(u->pids, u->n_pids, u->cap_pids);
    u->pids[u->n_pids++] = pid;
}

bool usage_step(struct usage *u, size_t most)
{
    if (!u->looking) {
        u->n_pids = u->next_pid = 0;
        procs_each(list_pid, u);
        u->looking = true;
    }
    for (; u->next_pid < u->n_pids && most > 0; most--)
        see(u, u->pids[u->next_pid++]);
    if (u->next_pid < u->n_pids)
        return false;
    u->looking = false;
    sweep(u);
    make_rows(u);
    return true;
}

void usage_look(struct usage *u)
{
    do {
    } while (!usage_step(u, SIZE_MAX));
}

size_t usage_rows(const struct usage *u, const struct usage_row **ret)
{
    *ret = u->rows;
    return u->n_rows;
}

/* The first row that does not come before this run. */
static size_t first_row(const struct usage *u, const char *run_id)
{
    size_t low = 0, high = u->n_rows;

    while (low < high) {
        size_t mid = low + (high - low) / 2;

        if (strcmp(u->rows[mid].run_id, run_id) < 0)
            low = mid + 1;
        else
            high = mid;
    }
    return low;
}

size_t usage_rows_of(const struct usage *u, const char *run_id, const struct usage_row **ret)
{
    size_t first = first_row(u, run_id), n = 0;

    while (first + n < u->n_rows && strcmp(u->rows[first + n].run_id, run_id) == 0)
        n++;
    *ret = u->rows + first;
    return n;
}
