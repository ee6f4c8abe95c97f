/* usage.c - what processes use, of real ones: whose each is, their sums, what hostile ones claim;
 * and the file of a run, whose lines become rarer and which follows no link.
 */
#include "inspect/usage.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/io.h"
#include "base/limits.h"
#include "base/mem.h"
#include "base/procs.h"
#include "base/tap.h"
#include "inspect/usage_log.h"

static char run_id[64];

static void nap(void)
{
    (void)nanosleep(&(struct timespec){.tv_nsec = 20 * NS_PER_MS}, NULL);
}

/* A shell with a mark of its own, leader of a group. */
static pid_t start(const char *role, const char *index, const char *rank, const char *command)
{
    pid_t pid = fork();

    if (pid == 0) {
        auto_free char *of_role = xasprintf("MUSTER_ROLE=%s", role);
        auto_free char *of_index = xasprintf("MUSTER_INDEX=%s", index);
        auto_free char *of_rank = xasprintf("RANK=%s", rank);
        auto_free char *of_run = xasprintf("MUSTER_RUN_ID=%s", run_id);
        auto_free char *of_command = xstrdup(command);
        char sh[] = "sh", minus_c[] = "-c", path[] = "PATH=/usr/bin:/bin";
        char *argv[] = {sh, minus_c, of_command, NULL};
        char *envp[] = {path, of_run, of_role, of_index, *rank ? of_rank : NULL, NULL};

        (void)setpgid(0, 0);
        (void)execve("/bin/sh", argv, envp);
        _exit(127);
    }
    (void)setpgid(pid, pid);
    for (int i = 0; i < 500; i++) { /* until it is executed: its environment is ours before */
        auto_strbuf struct strbuf env = STRBUF_INIT;

        if (proc_environ(pid, &env) == 0 && environ_value(&env, "MUSTER_RUN_ID"))
            break;
        nap();
    }
    return pid;
}

static void stop(pid_t pid)
{
    (void)kill(-pid, SIGKILL);
    (void)waitpid(pid, NULL, 0);
}

static const struct usage_row *row(const struct usage *u, const char *replica, int32_t rank)
{
    const struct usage_row *v;
    size_t n = usage_rows_of(u, run_id, &v);

    for (size_t i = 0; i < n; i++)
        if (strcmp(v[i].replica, replica) == 0 && v[i].rank == rank)
            return &v[i];
    return NULL;
}

/* Looks until a row has what is wanted of it. */
static const struct usage_row *look_until(struct usage *u, const char *replica, int32_t rank,
                                          bool (*fine)(const struct usage_row *))
{
    for (int i = 0; i < 500; i++) {
        usage_look(u);
        const struct usage_row *r = row(u, replica, rank);
        if (r && fine(r))
            return r;
        nap();
    }
    return NULL;
}

static bool is_busy(const struct usage_row *r)
{
    return r->cpu_ms > 0 && r->cpu_percent > 0 && r->memory > 0;
}

static bool has_two(const struct usage_row *r)
{
    return r->processes == 2;
}

static bool wrote(const struct usage_row *r)
{
    return r->written >= 1000000 && r->read >= 1000000;
}

static void test_sums(void)
{
    struct usage *u = usage_new(run_id);
    pid_t busy = start("worker", "2", "10", "while :; do :; done");
    pid_t alone = start("launcher", "0", "", "sleep 1000 & wait");
    pid_t cleaned = start("worker", "1", "3", "env -i sleep 1000 & wait");
    pid_t io = start("worker", "0", "0",
                     "dd if=/dev/zero bs=1000 count=1000 | cat >/dev/null; wait; sleep 1000");
    const struct usage_row *v;

    ok(look_until(u, "worker-2", 10, is_busy), "a busy rank has CPU time, a rate and memory");
    ok(look_until(u, "launcher-0", -1, has_two), "a replica without a rank has its processes");
    ok(look_until(u, "worker-1", 3, has_two),
       "a process with an empty environment is its parent's");
    ok(look_until(u, "worker-0", 0, wrote), "bytes that were read and written are counted");
    usage_look(u);
    is_int(usage_rows(u, &v), 4, "a row each");
    is_str(v[0].replica, "launcher-0", "in order");
    is_str(v[3].replica, "worker-2", "to the last");

    struct usage *slow = usage_new(NULL);
    int steps = 0;
    while (!usage_step(slow, 1))
        steps++;
    ok(steps > 3, "a look can be taken in pieces");
    is_int(usage_rows_of(slow, run_id, &v), 4, "with the same rows");
    is_int(usage_rows_of(slow, "nobody", &v), 0, "and none of a run that is not there");
    usage_free(slow);
    stop(busy);
    usage_look(u);
    ok(!row(u, "worker-2", 10), "what has ended leaves");
    stop(alone);
    stop(cleaned);
    stop(io);
    usage_free(u);
}

static void test_hostile(void)
{
    auto_free char *name = xcalloc(1, 5001);
    struct usage *u = usage_new(run_id);
    const struct usage_row *v;
    pid_t p[3];

    memset(name, 'x', 5000);
    p[0] = start(name, "0", "", "sleep 1000");
    p[1] = start("worker", "../../x", "", "sleep 1000");
    p[2] = start("worker", "7", "99999999999", "sleep 1000");
    usage_look(u);
    is_int(usage_rows(u, &v), 1, "what is no role or no index is not counted");
    ok(row(u, "worker-7", -1), "and a rank that is no number is none");
    for (int i = 0; i < 3; i++)
        stop(p[i]);
    usage_free(u);
}

static size_t lines_in(int dir, struct strbuf *text)
{
    size_t n = 0;

    strbuf_truncate(text, 0);
    (void)io_read_regular(dir, RUNDIR_USAGE, LIMIT_USAGE_BYTES, text, NULL);
    for (size_t i = 0; i < text->len; i++)
        n += text->buf[i] == '\n';
    return n;
}

static void test_log(void)
{
    char dir[] = "/tmp/usage-test.XXXXXX";
    auto_strbuf struct strbuf text = STRBUF_INIT;
    struct usage *u = usage_new(run_id);
    struct usage_log log;
    struct stat st;

    if (!mkdtemp(dir)) {
        ok(false, "a directory in /tmp");
        return;
    }
    auto_close int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    pid_t pid = start("worker", "0", "0", "sleep 1000");

    usage_look(u);
    usage_log_begin(&log, run_id, fd, NS_PER_S, 0);
    usage_log_add(&log, u, NS_PER_S + NS_PER_S / 2);
    is_int(lines_in(fd, &text), 0, "nothing within the first second");
    ok(fstatat(fd, RUNDIR_USAGE, &st, 0) < 0, "not even a file");
    for (ns_t at = NS_PER_S; at < 7 * 24 * 3600 * NS_PER_S; at = log.next)
        usage_log_add(&log, u, at);
    size_t week = lines_in(fd, &text);
    ok(week > 300 && week < 2000, "%zu lines of a week", week);
    has(text.buf, "{\"ms\":1000,\"of\":[[\"worker-0\",0,", "the first is that of the first second");
    is_int(fstatat(fd, RUNDIR_USAGE, &st, 0) == 0 ? st.st_mode & 0777 : 0, 0600, "mode 0600");

    usage_log_begin(&log, run_id, fd, 1000 * NS_PER_S, 3600 * NS_PER_S);
    usage_log_add(&log, u, 1001 * NS_PER_S);
    is_int(lines_in(fd, &text), week + 1, "a daemon that comes later adds to it");
    has(text.buf, "{\"ms\":3601000,", "with the age of the run");
    is_int((log.next - 1001 * NS_PER_S) / NS_PER_S, 30, "and as rarely as its age asks for");

    auto_close int big = openat(fd, RUNDIR_USAGE, O_WRONLY | O_CLOEXEC);
    (void)!ftruncate(big, LIMIT_USAGE_BYTES);
    usage_log_add(&log, u, 5000 * NS_PER_S);
    is_int(fstatat(fd, RUNDIR_USAGE, &st, 0) == 0 ? st.st_size : 0, LIMIT_USAGE_BYTES,
           "it ends at its limit");

    (void)unlinkat(fd, RUNDIR_USAGE, 0);
    (void)!symlinkat("victim", fd, RUNDIR_USAGE);
    usage_log_add(&log, u, 10000 * NS_PER_S);
    ok(fstatat(fd, "victim", &st, 0) < 0, "a link is not followed");
    (void)unlinkat(fd, RUNDIR_USAGE, 0);
    (void)mkfifoat(fd, RUNDIR_USAGE, 0600);
    usage_log_add(&log, u, 20000 * NS_PER_S);
    ok(fstatat(fd, RUNDIR_USAGE, &st, 0) == 0 && S_ISFIFO(st.st_mode),
       "a pipe is left alone and not waited for");
    stop(pid);
    usage_free(u);
    (void)io_remove_tree(AT_FDCWD, dir, NULL);
}

int main(void)
{
    (void)snprintf(run_id, sizeof(run_id), "test-%d", (int)getpid());
    test_sums();
    test_hostile();
    test_log();
    return tap_done();
}
