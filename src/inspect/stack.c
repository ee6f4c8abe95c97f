/* stack.c - a debugger, run with a limit of time and of output; see stack.h. */
#include "inspect/stack.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/io.h"
#include "base/limits.h"

#define PID_WORD "PID" /* stands for the number in the tables below */

/* Nothing of the user's configuration, no scripts beside the program, no downloads. */
#define GDB                                                                                        \
    "gdb", "-nx", "-batch", "-iex", "set auto-load off", "-iex", "set debuginfod enabled off"
#define ALL_THREADS "-ex", "thread apply all backtrace 40", "-p", PID_WORD, NULL

static const char *const gdb[] = {GDB, ALL_THREADS};
/* Reading the symbols of a framework takes gdb 7 seconds per process, 0.6 without. Python's own
 * stack is known then, and only a library that waits for others is worth its time. */
static const char *const gdb_quick[] = {
    GDB,
    "-iex",
    "set auto-solib-add off",
    "-ex",
    "sharedlibrary /libc[.]\\|/libmpi\\|/libopen\\|/mca_\\|/libuc\\|/libgloo",
    ALL_THREADS};
static const char *const py_spy[] = {"py-spy", "dump", "--nonblocking", "--pid", PID_WORD, NULL};

#define MAX_WORDS 16
_Static_assert(ARRAY_SIZE(gdb_quick) <= MAX_WORDS, "the longest of them");

/* Its standard output and error are the pipe; no signal of ours is held back or ignored in it. */
static int start(const char *const *words, pid_t pid, int pipe_in, pid_t *ret)
{
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attr;
    sigset_t none, all;
    char number[16];
    char *argv[MAX_WORDS];
    size_t n = 0;

    (void)snprintf(number, sizeof(number), "%d", (int)pid);
    for (; words[n]; n++)
        argv[n] = strcmp(words[n], PID_WORD) == 0 ? number : (char *)(uintptr_t)words[n];
    argv[n] = NULL;
    (void)sigemptyset(&none);
    (void)sigfillset(&all);
    (void)posix_spawn_file_actions_init(&actions);
    (void)posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    (void)posix_spawn_file_actions_adddup2(&actions, pipe_in, STDOUT_FILENO);
    (void)posix_spawn_file_actions_adddup2(&actions, pipe_in, STDERR_FILENO);
    (void)posix_spawnattr_init(&attr);
    (void)posix_spawnattr_setsigmask(&attr, &none);
    (void)posix_spawnattr_setsigdefault(&attr, &all);
    (void)posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
    int r = posix_spawnp(ret, words[0], &actions, &attr, argv, environ);
    (void)posix_spawnattr_destroy(&attr);
    (void)posix_spawn_file_actions_destroy(&actions);
    return -r;
}

static int ask(const char *const *words, pid_t pid, int64_t limit_ms, struct strbuf *out)
{
    int ends[2], status;
    pid_t child;

    if (pipe2(ends, O_CLOEXEC) < 0)
        return -errno;
    auto_close int from = ends[0], to = ends[1];
    int r = start(words, pid, to, &child);
    if (r < 0)
        return r;
    (void)close(TAKE_FD(to));
    if (!io_read_until(from, clock_mono() + limit_ms * NS_PER_MS, LIMIT_STACK_BYTES, out)) {
        (void)kill(child, SIGKILL); /* not reaped: still its pid; what it traced goes on */
        strbuf_addf(out, "\n(%s timed out or printed too much)\n", words[0]);
    }
    while (waitpid(child, &status, 0) < 0 && errno == EINTR)
        ;
    return 0;
}

bool stack_of(pid_t pid, enum stack_of what, int64_t limit_ms, struct strbuf *out)
{
    if (what == STACK_OF_UNKNOWN_PYTHON && ask(py_spy, pid, limit_ms, out) == 0)
        return true;
    return ask(what == STACK_OF_PROGRAM ? gdb : gdb_quick, pid, limit_ms, out) == 0;
}
