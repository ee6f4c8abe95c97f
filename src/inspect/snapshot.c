/* snapshot.c - processes and threads from /proc; see snapshot.h. */
#include "inspect/snapshot.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "base/io.h"
#include "base/limits.h"
#include "base/mem.h"
#include "base/num.h"
#include "base/procs.h"
#include "inspect/traffic.h"

#define SMALL_FILE (64 * 1024)

/* --- one file of a process -----------------------------------------------------------------------
 */

static bool read_of(pid_t pid, const char *file, struct strbuf *sb)
{
    char path[96];

    (void)snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, file);
    strbuf_truncate(sb, 0);
    return io_read_file(AT_FDCWD, path, SMALL_FILE, sb, NULL) == 0;
}

/* The number after a word at the beginning of a line. */
static uint64_t number_after(const char *text, const char *word)
{
    for (const char *p = text; *p; p += strcspn(p, "\n"), p += *p == '\n')
        if (strncmp(p, word, strlen(word)) == 0)
            return strtoull(p + strlen(word), NULL, 10);
    return 0;
}

/* The last number of the line NSpid: what the innermost namespace calls it. */
static pid_t inner_pid(const char *status)
{
    const char *p = strstr(status, "\nNSpid:");
    pid_t pid = 0;

    if (!p)
        return 0;
    p += strlen("\nNSpid:");
    while (*p && *p != '\n') {
        char *end;

        pid = (pid_t)strtol(p, &end, 10);
        if (end == p)
            break;
        p = end;
    }
    return pid;
}

/* --- who is below --------------------------------------------------------------------------------
 */

struct all {
    struct snapshot_process *v; /* by pid, ascending once sorted */
    size_t n, cap;
};

static void add_one(pid_t pid, void *ctx)
{
    struct all *all = ctx;

    GROW(all->v, all->n, all->cap);
    all->v[all->n++] = (struct snapshot_process){
        .pid = pid, .parent = proc_parent(pid), .replica = -1, .rank = -1};
}

static int by_pid(const void *x, const void *y)
{
    const struct snapshot_process *a = x, *b = y;

    return (a->pid > b->pid) - (a->pid < b->pid);
}

static struct snapshot_process *find_pid(struct snapshot_process *v, size_t n, pid_t pid)
{
    struct snapshot_process key = {.pid = pid};

    return n ? bsearch(&key, v, n, sizeof(*v), by_pid) : NULL;
}

static bool is_below(const struct all *all, pid_t pid, pid_t root)
{
    for (int i = 0; i < LIMIT_ANCESTORS; i++) {
        const struct snapshot_process *p = find_pid(all->v, all->n, pid);

        if (!p || p->parent <= 0)
            return false;
        if (p->parent == root)
            return true;
        pid = p->parent;
    }
    return false;
}

/* --- who it is -----------------------------------------------------------------------------------
 */

static int32_t replica_by_name(const struct plan *plan, const char *role, const char *index)
{
    size_t n = strlen(role);

    for (uint32_t i = 0; i < plan->n_replicas; i++) {
        const char *name = plan->replicas[i].name; /* ROLE-INDEX */

        if (strncmp(name, role, n) == 0 && name[n] == '-' && strcmp(name + n + 1, index) == 0)
            return (int32_t)i;
    }
    return -1;
}

/* mpirun's word comes before RANK, which a script may have set for itself. */
int32_t snapshot_rank_in(const struct strbuf *env)
{
    static const char *const names[] = {"OMPI_COMM_WORLD_RANK", "PMI_RANK", "HOROVOD_RANK", "RANK"};
    uint32_t rank;

    for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
        const char *value = environ_value(env, names[i]);

        if (value && num_u32(value, &rank) == 0 && rank < LIMIT_PROCESSES)
            return (int32_t)rank;
    }
    return -1;
}

static void identify(const struct plan *plan, struct snapshot_process *p)
{
    auto_strbuf struct strbuf env = STRBUF_INIT;

    if (proc_environ(p->pid, &env) < 0)
        return;
    const char *role = environ_value(&env, "MUSTER_ROLE");
    const char *index = environ_value(&env, "MUSTER_INDEX");
    if (role && index)
        p->replica = replica_by_name(plan, role, index);
    p->rank = snapshot_rank_in(&env);
    p->of_torchrun = environ_value(&env, "TORCHELASTIC_RUN_ID");
}

static bool runs_program(pid_t pid, const struct stat *program)
{
    char path[64];
    struct stat st;

    (void)snprintf(path, sizeof(path), "/proc/%d/exe", (int)pid);
    return stat(path, &st) == 0 && st.st_dev == program->st_dev && st.st_ino == program->st_ino;
}

/* The text from a field of stat on, behind the name; NULL: it is not there. */
static const char *read_stat(pid_t pid, int field, struct strbuf *sb)
{
    const char *p = read_of(pid, "stat", sb) ? strrchr(sb->buf, ')') : NULL;

    for (int at = 2; p && at < field; at++)
        p = strchr(p + 1, ' ');
    return p;
}

/* Fields 14 and 15 of stat: ticks in user and in system mode. */
static uint64_t read_cpu(pid_t pid)
{
    auto_strbuf struct strbuf sb = STRBUF_INIT;
    const char *p = read_stat(pid, 14, &sb);
    unsigned long user = 0, kernel = 0;
    long ticks = sysconf(_SC_CLK_TCK);

    if (p) {
        char *end;

        user = strtoul(p, &end, 10);
        kernel = strtoul(end, NULL, 10);
    }
    return (user + kernel) * 1000 / (uint64_t)(ticks > 0 ? ticks : 100);
}

static void read_life(struct snapshot_process *p)
{
    auto_strbuf struct strbuf sb = STRBUF_INIT;

    if (read_of(p->pid, "io", &sb))
        p->bytes = number_after(sb.buf, "rchar:") + number_after(sb.buf, "wchar:");
    if (read_of(p->pid, "status", &sb))
        p->runs = number_after(sb.buf, "voluntary_ctxt_switches:") +
                  number_after(sb.buf, "nonvoluntary_ctxt_switches:");
    p->cpu_ms = read_cpu(p->pid);
}

/* The traffic of a network namespace that is not ours is counted once: for a rank, if it has one.
 */
static void add_traffic(struct snapshot *lk)
{
    struct traffic *t = traffic_read();
    struct {
        ino_t ns;
        size_t process;
    } *seen = NULL;
    size_t n = 0, cap = 0, k;
    ino_t ns;

    for (size_t i = 0; i < lk->n; i++) {
        if (traffic_sees(lk->v[i].pid, &ns)) {
            lk->v[i].bytes += lk->v[i].ours ? 0 : traffic_of(t, lk->v[i].pid);
            continue;
        }
        for (k = 0; k < n && seen[k].ns != ns; k++)
            ;
        if (ns == 0 || lk->v[i].ours)
            continue;
        if (k == n) {
            GROW(seen, n, cap);
            seen[n].ns = ns;
            seen[n++].process = i;
        } else if (lk->v[i].rank >= 0) {
            seen[k].process = i;
        }
    }
    for (k = 0; k < n; k++)
        lk->v[seen[k].process].bytes += traffic_of_namespace(lk->v[seen[k].process].pid);
    free(seen);
    traffic_free(t);
}

/* A program may have overwritten its environment: then its parent's word counts. */
static void inherit(struct snapshot *lk)
{
    for (size_t i = 0; i < lk->n; i++) {
        struct snapshot_process *p = &lk->v[i], *up = p;

        for (int k = 0; k < LIMIT_ANCESTORS && up && up->replica < 0; k++)
            up = find_pid(lk->v, lk->n, up->parent);
        if (up && p->replica < 0)
            p->replica = up->replica;
    }
}

/* Kubeflow gives a container RANK, its node's number, for torchrun to take; its children are ranks.
 */
static void see_torchrun(struct snapshot *lk)
{
    for (size_t i = 0; i < lk->n; i++) {
        struct snapshot_process *up =
            lk->v[i].of_torchrun ? find_pid(lk->v, lk->n, lk->v[i].parent) : NULL;

        if (up && !up->of_torchrun)
            up->rank = -1;
    }
}

void snapshot_at(struct arena *a, const struct plan *plan, pid_t root, struct snapshot *ret)
{
    struct all all = {0};
    struct stat shim = {0};
    struct snapshot lk = {0};

    procs_each(add_one, &all);
    if (all.n > 0)
        qsort(all.v, all.n, sizeof(*all.v), by_pid);
    (void)stat(plan->facts->site.shim, &shim);
    lk.v = ARENA_ARRAY(a, struct snapshot_process, all.n + 1);
    for (size_t i = 0; i < all.n; i++)
        if (is_below(&all, all.v[i].pid, root))
            lk.v[lk.n++] = all.v[i];
    free(all.v);
    for (size_t i = 0; i < lk.n; i++) {
        lk.v[i].ours = runs_program(lk.v[i].pid, &shim);
        identify(plan, &lk.v[i]);
        read_life(&lk.v[i]);
    }
    inherit(&lk);
    see_torchrun(&lk);
    add_traffic(&lk);
    *ret = lk;
}

/* --- system calls --------------------------------------------------------------------------------
 */

static const struct call {
    long number;
    const char *name;
    enum wait_kind kind;
} calls[] = {
    {SYS_read, "read", WAIT_READ},
    {SYS_readv, "readv", WAIT_READ},
    {SYS_recvfrom, "recvfrom", WAIT_READ},
    {SYS_recvmsg, "recvmsg", WAIT_READ},
    {SYS_recvmmsg, "recvmmsg", WAIT_READ},
    {SYS_connect, "connect", WAIT_CONNECT},
#ifdef SYS_accept
    {SYS_accept, "accept", WAIT_ACCEPT},
#endif
    {SYS_accept4, "accept4", WAIT_ACCEPT},
#ifdef SYS_poll
    {SYS_poll, "poll", WAIT_ANY},
#endif
#ifdef SYS_select
    {SYS_select, "select", WAIT_ANY},
#endif
#ifdef SYS_epoll_wait
    {SYS_epoll_wait, "epoll_wait", WAIT_ANY},
#endif
    {SYS_ppoll, "ppoll", WAIT_ANY},
    {SYS_pselect6, "pselect6", WAIT_ANY},
    {SYS_epoll_pwait, "epoll_pwait", WAIT_ANY},
    {SYS_restart_syscall, "restart_syscall", WAIT_ANY},
    {CALL_RUNNING, "running", WAIT_ANY}, /* it may look at its sockets without waiting */
    {CALL_UNKNOWN, "unknown", WAIT_NOT},
    {SYS_write, "write", WAIT_NOT},
    {SYS_writev, "writev", WAIT_NOT},
    {SYS_sendto, "sendto", WAIT_NOT},
    {SYS_sendmsg, "sendmsg", WAIT_NOT},
    {SYS_futex, "futex", WAIT_NOT},
    {SYS_wait4, "wait4", WAIT_NOT},
    {SYS_waitid, "waitid", WAIT_NOT},
    {SYS_nanosleep, "nanosleep", WAIT_NOT},
    {SYS_clock_nanosleep, "clock_nanosleep", WAIT_NOT},
    {SYS_rt_sigsuspend, "rt_sigsuspend", WAIT_NOT},
    {SYS_rt_sigtimedwait, "rt_sigtimedwait", WAIT_NOT},
    {SYS_flock, "flock", WAIT_NOT},
    {SYS_fcntl, "fcntl", WAIT_NOT},
    {SYS_ioctl, "ioctl", WAIT_NOT},
#ifdef SYS_pause
    {SYS_pause, "pause", WAIT_NOT},
#endif
};

const char *snapshot_call_name(struct arena *a, long call)
{
    for (size_t i = 0; i < ARRAY_SIZE(calls); i++)
        if (calls[i].number == call)
            return calls[i].name;
    return arena_printf(a, "call %ld", call);
}

enum wait_kind snapshot_wait_kind(long call)
{
    for (size_t i = 0; i < ARRAY_SIZE(calls); i++)
        if (calls[i].number == call)
            return calls[i].kind;
    return WAIT_NOT;
}

bool snapshot_is_join(long call)
{
    return call == SYS_futex;
}

/* --- a closer look -------------------------------------------------------------------------------
 */

static void read_call(pid_t pid, pid_t tid, struct snapshot_thread *t)
{
    auto_strbuf struct strbuf sb = STRBUF_INIT;
    char file[64], *end;

    t->call = CALL_UNKNOWN;
    (void)snprintf(file, sizeof(file), "task/%d/syscall", (int)tid);
    if (!read_of(pid, file, &sb))
        return;
    if (strncmp(sb.buf, "running", strlen("running")) == 0) {
        t->call = CALL_RUNNING;
        return;
    }
    long number = strtol(sb.buf, &end, 10);
    if (end == sb.buf || number < 0)
        return;
    t->call = number;
    t->first = strtoul(end, NULL, 16);
}

static struct snapshot_thread read_thread(struct arena *a, pid_t pid, pid_t tid)
{
    auto_strbuf struct strbuf sb = STRBUF_INIT;
    struct snapshot_thread t = {.tid = tid, .name = "", .wchan = "", .state = '?'};
    char file[64];

    (void)snprintf(file, sizeof(file), "task/%d/stat", (int)tid);
    if (read_of(pid, file, &sb)) {
        const char *open = strchr(sb.buf, '('), *close = strrchr(sb.buf, ')');

        if (open && close && close > open && close[1] == ' ') {
            t.name = arena_strndup(a, open + 1, (size_t)(close - open) - 1);
            t.state = close[2];
        }
    }
    (void)snprintf(file, sizeof(file), "task/%d/wchan", (int)tid);
    if (read_of(pid, file, &sb) && strcmp(sb.buf, "0") != 0)
        t.wchan = arena_strndup(a, sb.buf, strcspn(sb.buf, "\n"));
    read_call(pid, tid, &t);
    return t;
}

static void read_threads(struct arena *a, struct snapshot_process *p)
{
    char path[64];
    DIR *dir;
    struct dirent *ent;

    (void)snprintf(path, sizeof(path), "/proc/%d/task", (int)p->pid);
    dir = opendir(path);
    p->threads = ARENA_ARRAY(a, struct snapshot_thread, LIMIT_SNAPSHOT_THREADS);
    while (dir && (ent = readdir(dir))) { /* ascending: the main thread is the first */
        uint32_t tid;

        if (num_u32(ent->d_name, &tid) < 0)
            continue;
        if (p->n_threads < LIMIT_SNAPSHOT_THREADS)
            p->threads[p->n_threads++] = read_thread(a, p->pid, (pid_t)tid);
        else
            p->more_threads++;
    }
    if (dir)
        (void)closedir(dir);
}

/* Field 52 of stat is the status that its parent would be told; 0 in kernels before 5.18. */
static int read_stop_signal(const struct snapshot_process *p)
{
    auto_strbuf struct strbuf sb = STRBUF_INIT;
    const char *text = snapshot_is_stopped(p) ? read_stat(p->pid, 52, &sb) : NULL;
    long sig = text ? strtol(text, NULL, 10) : 0;

    return sig > 0 && sig < NSIG ? (int)sig : 0;
}

bool snapshot_is_stopped(const struct snapshot_process *p)
{
    return p->n_threads > 0 && p->threads[0].state == 'T';
}

static const char *read_command(struct arena *a, pid_t pid)
{
    auto_strbuf struct strbuf sb = STRBUF_INIT, text = STRBUF_INIT;

    (void)read_of(pid, "cmdline", &sb);
    for (const char *w = sb.buf; w < sb.buf + sb.len; w += strlen(w) + 1) {
        if (text.len > 0)
            strbuf_addch(&text, ' ');
        strbuf_add_escaped(&text, w, strlen(w));
    }
    return arena_strndup(a, text.buf, text.len);
}

void snapshot_closer(struct arena *a, struct snapshot *lk)
{
    auto_strbuf struct strbuf sb = STRBUF_INIT;

    if (lk->n > LIMIT_SNAPSHOT_PROCESSES)
        lk->n = LIMIT_SNAPSHOT_PROCESSES;
    for (size_t i = 0; i < lk->n; i++) {
        struct snapshot_process *p = &lk->v[i];

        p->command = read_command(a, p->pid);
        p->inner = read_of(p->pid, "status", &sb) ? inner_pid(sb.buf) : 0;
        read_threads(a, p);
        p->stop_signal = read_stop_signal(p);
    }
    snapshot_sockets(a, lk);
}
