/* procs.c - the parent of a process, the mark of a run, and the sweep that goes by it. */
#include "base/procs.h"

#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/io.h"
#include "base/tap.h"

/* A sleeper with this mark; its environment is there when this returns. */
static pid_t start(const char *mark)
{
    char variable[64];
    int fds[2];
    char byte;
    pid_t pid;

    (void)snprintf(variable, sizeof(variable), "MUSTER_RUN_ID=%s", mark);
    if (pipe(fds) < 0)
        return -1;
    pid = fork();
    if (pid == 0) {
        const char *const argv[] = {"sleep", "60", NULL}, *const env[] = {"A=1", variable, NULL};

        (void)io_set_cloexec(fds[0], 1);
        (void)io_set_cloexec(fds[1], 1);
        (void)execve("/bin/sleep", (void *)(uintptr_t)argv, (void *)(uintptr_t)env);
        _exit(127);
    }
    (void)close(fds[1]);
    (void)!read(fds[0], &byte, 1); /* exec closes the other end */
    (void)close(fds[0]);
    return pid;
}

static int end_of(pid_t pid)
{
    int status = -1;

    (void)waitpid(pid, &status, 0);
    return status;
}

static void test_look(void)
{
    auto_strbuf struct strbuf words = STRBUF_INIT;
    pid_t pid = start("look");

    is_int(proc_parent(pid), getpid(), "the parent of a child");
    is_int(proc_parent(0x7ffffff), 0, "of nobody");
    ok(proc_is_own(pid), "it is ours");
    is_int(proc_environ(pid, &words), 0, "its environment");
    is_str(environ_value(&words, "MUSTER_RUN_ID"), "look", "has the variable");
    is_str(environ_value(&words, "A"), "1", "and another");
    is_str(environ_value(&words, "MUSTER_RUN"), NULL, "not one with half its name");
    (void)kill(pid, SIGKILL);
    (void)end_of(pid);
}

static void test_sweep(void)
{
    char id[48], other_id[64];
    pid_t one, two, other;

    (void)snprintf(id, sizeof(id), "procs-test-%d", (int)getpid());
    (void)snprintf(other_id, sizeof(other_id), "%s-other", id);
    one = start(id);
    two = start(id);
    other = start(other_id);
    procs_sweep(id);
    is_int(end_of(one), SIGKILL, "one of the run");
    is_int(end_of(two), SIGKILL, "the other one of it");
    ok(kill(other, 0) == 0 && waitpid(other, NULL, WNOHANG) == 0, "and none of another");
    (void)kill(other, SIGKILL);
    (void)end_of(other);
}

int main(void)
{
    test_look();
    test_sweep();
    return tap_done();
}
