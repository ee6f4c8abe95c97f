/* sockets.c - the connections of a job's processes, and who is at the other end.
 *
 * A process's descriptors give inodes, /proc/PID/net/tcp of its network namespace gives their
 * addresses. The other end of a connection is the socket with the same two addresses the other way
 * round; if nobody has accepted it yet, whoever listens there. Unix sockets are only listed: /proc
 * does not say who their peer is.
 */
#include <arpa/inet.h>
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/io.h"
#include "base/limits.h"
#include "base/mem.h"
#include "base/num.h"
#include "base/proc_net.h"
#include "inspect/snapshot.h"

struct entry { /* a line of a table */
    unsigned long inode;
    struct snapshot_socket is;
};

struct table { /* of one network namespace, by inode */
    ino_t ns;
    struct entry *v;
    size_t n, cap;
};

/* --- tables --------------------------------------------------------------------------------------
 */

static const char *address_text(struct arena *a, const struct tcp_end *end)
{
    char name[INET6_ADDRSTRLEN] = "";

    (void)inet_ntop(end->six ? AF_INET6 : AF_INET, end->word, name, sizeof(name));
    return arena_printf(a, end->six ? "[%s]:%u" : "%s:%u", name, end->port);
}

static bool read_tcp(struct arena *a, const char *line, struct entry *ret)
{
    struct tcp_line l;

    if (!proc_tcp_line(line, &l) || l.inode == 0)
        return false;
    *ret = (struct entry){.inode = l.inode,
                          .is = {.tcp = true,
                                 .owner = -1,
                                 .local = address_text(a, &l.local),
                                 .far = address_text(a, &l.far),
                                 .state = l.state,
                                 .unsent = l.unsent,
                                 .unread = l.unread}};
    return true;
}

/* "ADDRESS: REFS PROTOCOL FLAGS TYPE STATE INODE PATH" */
static bool read_unix(struct arena *a, const char *line, struct entry *ret)
{
    const char *path;

    *ret = (struct entry){.inode = strtoul(proc_net_word(line, 6), NULL, 10), .is = {.owner = -1}};
    path = proc_net_word(line, 6);
    path += strcspn(path, " \n");
    path += *path == ' ';
    ret->is.local = arena_strndup(a, path, strcspn(path, "\n"));
    return ret->inode != 0;
}

static int by_inode(const void *x, const void *y)
{
    const struct entry *a = x, *b = y;

    return (a->inode > b->inode) - (a->inode < b->inode);
}

static void read_table(struct arena *a, pid_t pid, const char *name,
                       bool (*read_line)(struct arena *, const char *, struct entry *),
                       struct table *t)
{
    auto_strbuf struct strbuf sb = STRBUF_INIT;
    char path[64];
    struct entry one;

    (void)snprintf(path, sizeof(path), "/proc/%d/net/%s", (int)pid, name);
    if (io_read_file(AT_FDCWD, path, PROC_NET_BYTES, &sb, NULL) < 0)
        return;
    for (const char *p = sb.buf; *p; p += strcspn(p, "\n"), p += *p == '\n')
        if (read_line(a, p, &one)) {
            GROW(t->v, t->n, t->cap);
            t->v[t->n++] = one;
        }
}

struct tables {
    struct table *v;
    size_t n, cap;
};

static ino_t namespace_of(pid_t pid)
{
    char path[64];
    struct stat st;

    (void)snprintf(path, sizeof(path), "/proc/%d/ns/net", (int)pid);
    return stat(path, &st) == 0 ? st.st_ino : 0;
}

static const struct table *table_of(struct arena *a, struct tables *ts, pid_t pid)
{
    ino_t ns = namespace_of(pid);

    for (size_t i = 0; i < ts->n; i++)
        if (ts->v[i].ns == ns)
            return &ts->v[i];
    GROW(ts->v, ts->n, ts->cap);
    struct table *t = &ts->v[ts->n++];
    *t = (struct table){.ns = ns};
    read_table(a, pid, "tcp", read_tcp, t);
    read_table(a, pid, "tcp6", read_tcp, t);
    read_table(a, pid, "unix", read_unix, t);
    if (t->n > 0)
        qsort(t->v, t->n, sizeof(*t->v), by_inode);
    return t;
}

/* --- descriptors ---------------------------------------------------------------------------------
 */

static unsigned long socket_inode(int fds, const char *name)
{
    char link[64];
    ssize_t n = readlinkat(fds, name, link, sizeof(link) - 1);

    if (n < 0)
        return 0;
    link[n] = '\0';
    return strncmp(link, "socket:[", strlen("socket:[")) == 0
               ? strtoul(link + strlen("socket:["), NULL, 10)
               : 0;
}

static void add_socket(struct snapshot_process *p, const struct table *t, unsigned long inode,
                       int fd)
{
    struct entry key = {.inode = inode};
    const struct entry *e = t->n ? bsearch(&key, t->v, t->n, sizeof(*t->v), by_inode) : NULL;

    if (!e)
        return;
    if (p->n_sockets == LIMIT_SNAPSHOT_SOCKETS) {
        p->more_sockets++;
        return;
    }
    p->sockets[p->n_sockets] = e->is;
    p->sockets[p->n_sockets++].fd = fd;
}

static void read_sockets(struct arena *a, struct tables *ts, struct snapshot_process *p)
{
    char path[64];
    const struct table *t = table_of(a, ts, p->pid);
    DIR *dir;
    struct dirent *ent;

    (void)snprintf(path, sizeof(path), "/proc/%d/fd", (int)p->pid);
    dir = opendir(path);
    if (!dir)
        return;
    p->sockets = ARENA_ARRAY(a, struct snapshot_socket, LIMIT_SNAPSHOT_SOCKETS);
    while ((ent = readdir(dir))) {
        unsigned long inode = socket_inode(dirfd(dir), ent->d_name);
        uint32_t fd;

        if (inode && num_u32(ent->d_name, &fd) == 0)
            add_socket(p, t, inode, (int)fd);
    }
    (void)closedir(dir);
}

/* --- the other end -------------------------------------------------------------------------------
 */

struct end { /* a tcp socket and whose it is, by its own address */
    const struct snapshot_socket *s;
    size_t process;
};

static int by_local(const void *x, const void *y)
{
    const struct end *a = x, *b = y;

    return strcmp(a->s->local, b->s->local);
}

static const struct end *first_at(const struct end *ends, size_t n, const char *local)
{
    size_t low = 0, high = n;

    while (low < high) {
        size_t mid = low + (high - low) / 2;

        if (strcmp(ends[mid].s->local, local) < 0)
            low = mid + 1;
        else
            high = mid;
    }
    return ends + low;
}

static void find_listener(const struct end *ends, size_t n, const char *local,
                          struct snapshot_socket *s)
{
    for (const struct end *e = first_at(ends, n, local);
         s->owner < 0 && e < ends + n && strcmp(e->s->local, local) == 0; e++)
        if (e->s->state == SOCKET_LISTEN)
            s->owner = (int32_t)e->process;
}

static void find_other_end(const struct end *ends, size_t n, struct snapshot_socket *s)
{
    char any[64];
    const char *port = strrchr(s->far, ':');

    for (const struct end *e = first_at(ends, n, s->far);
         e < ends + n && strcmp(e->s->local, s->far) == 0; e++)
        if (strcmp(e->s->far, s->local) == 0) {
            s->owner = (int32_t)e->process;
            s->accepted = true;
            return;
        }
    find_listener(ends, n, s->far, s);
    (void)snprintf(any, sizeof(any), "0.0.0.0%s", port ? port : "");
    find_listener(ends, n, any, s);
    (void)snprintf(any, sizeof(any), "[::]%s", port ? port : "");
    find_listener(ends, n, any, s);
}

static void match_ends(struct snapshot *lk)
{
    struct end *ends = NULL;
    size_t n = 0, cap = 0;

    for (size_t i = 0; i < lk->n; i++)
        for (size_t k = 0; k < lk->v[i].n_sockets; k++)
            if (lk->v[i].sockets[k].tcp) {
                GROW(ends, n, cap);
                ends[n++] = (struct end){&lk->v[i].sockets[k], i};
            }
    if (n > 0)
        qsort(ends, n, sizeof(*ends), by_local);
    for (size_t i = 0; i < lk->n; i++)
        for (size_t k = 0; k < lk->v[i].n_sockets; k++) {
            struct snapshot_socket *s = &lk->v[i].sockets[k];

            if (s->tcp && s->state != SOCKET_LISTEN)
                find_other_end(ends, n, s);
        }
    free(ends);
}

void snapshot_sockets(struct arena *a, struct snapshot *lk)
{
    struct tables ts = {0};

    for (size_t i = 0; i < lk->n; i++)
        read_sockets(a, &ts, &lk->v[i]);
    for (size_t i = 0; i < ts.n; i++)
        free(ts.v[i].v);
    free(ts.v);
    match_ends(lk);
}

const char *socket_state_name(unsigned state)
{
    static const char *const names[] = {"",           "established", "syn-sent",  "syn-received",
                                        "fin-wait-1", "fin-wait-2",  "time-wait", "closed",
                                        "close-wait", "last-ack",    "listening", "closing"};

    return state < ARRAY_SIZE(names) ? names[state] : "";
}
