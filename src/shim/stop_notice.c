/* stop_notice.c - see stop_notice.h. */
#include "shim/stop_notice.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/io.h"
#include "shim/stand_in.h"

enum { ANSWER_MS = 5000 };

static const int endings[] = {SIGTERM, SIGINT, SIGHUP, SIGQUIT};

static void watch_signals(struct stop_notice *t)
{
    sigset_t set;

    sigemptyset(&set);
    for (size_t i = 0; i < ARRAY_SIZE(endings); i++)
        sigaddset(&set, endings[i]);
    t->fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
}

/* --- the sentinel -------------------------------------------------------------------------------
 */

struct word {
    bool is_end;
    int status;
};

/* Answers as long as it lives, and ends as it is told. */
static void be_sentinel(int sock) __attribute__((noreturn));
static void be_sentinel(int sock)
{
    struct word w;

    while (read(sock, &w, sizeof(w)) == sizeof(w)) {
        if (w.is_end)
            _exit(end_as_child(w.status));
        (void)!write(sock, &w, sizeof(w));
    }
    _exit(end_as_child(SIGKILL)); /* our other half was killed */
}

/* What was sent SIGKILL does not answer any more, even if it is not dead yet. */
static bool answers(int sock)
{
    struct pollfd pfd = {.fd = sock, .events = POLLIN};
    struct word w = {0};

    return send(sock, &w, sizeof(w), MSG_NOSIGNAL) == sizeof(w) && poll(&pfd, 1, ANSWER_MS) > 0 &&
           read(sock, &w, sizeof(w)) == sizeof(w);
}

static bool split(struct stop_notice *t)
{
    pid_t self = getpid(), pid;
    int socks[2];

    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, socks) < 0)
        return false;
    pid = fork();
    if (pid > 0) {
        close(socks[1]);
        be_sentinel(socks[0]);
    }
    close(socks[0]);
    if (pid < 0)
        close(socks[1]);
    t->sentinel = pid == 0 ? self : 0;
    t->sock = socks[1];
    return pid == 0;
}

/* --- both ---------------------------------------------------------------------------------------
 */

void stop_notice_begin(struct stop_notice *t, bool hydra)
{
    *t = (struct stop_notice){.launcher = getppid(), .fd = -1};
    if (!hydra || !split(t))
        watch_signals(t);
}

void stop_notice_leave(const struct stop_notice *t)
{
    if (t->sentinel)
        (void)setpgid(0, 0);
}

/* The first that our launcher has sent; 0 = none. */
static int read_signals(const struct stop_notice *t)
{
    struct signalfd_siginfo si;
    int first = 0;

    while (t->fd >= 0 && read(t->fd, &si, sizeof(si)) == sizeof(si))
        if ((pid_t)si.ssi_pid == t->launcher && first == 0)
            first = (int)si.ssi_signo;
    return first;
}

bool stop_notice_read(struct stop_notice *t)
{
    int sent = read_signals(t);

    if (sent == 0 || t->at)
        return false;
    t->at = clock_run();
    return true;
}

/* The signals that were sent to the group: one bit each, as the kernel counts them. */
static uint64_t sent_to_group(pid_t sentinel)
{
    static const char key[] = "\nShdPnd:";
    auto_strbuf struct strbuf status = STRBUF_INIT;
    const char *line;
    char path[64];

    snprintf(path, sizeof(path), "/proc/%d/status", (int)sentinel);
    if (io_read_file(AT_FDCWD, path, 16384, &status, NULL) < 0)
        return 0;
    line = strstr(status.buf, key);
    return line ? strtoull(line + strlen(key), NULL, 16) : 0;
}

static bool has(uint64_t set, int sig)
{
    return set & (UINT64_C(1) << (sig - 1));
}

/* What cannot be trapped ends the rank by itself; after another signal it may end as it likes. */
static bool sentinel_shows(const struct stop_notice *t, int status)
{
    uint64_t sent = sent_to_group(t->sentinel);

    for (size_t i = 0; i < ARRAY_SIZE(endings); i++)
        if (has(sent, endings[i]))
            return true;
    return WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL && !answers(t->sock);
}

void stop_notice_finish(struct stop_notice *t, int status)
{
    /* a group is signalled in one go: if it has come to the rank, it has come to us */
    if (t->at == 0 && WIFSIGNALED(status) && read_signals(t) == WTERMSIG(status))
        t->at = clock_run();
    if (!t->sentinel)
        return;
    if (sentinel_shows(t, status))
        t->at = clock_run();
}

int stop_notice_end(const struct stop_notice *t, int status)
{
    struct word w = {.is_end = true, .status = status};

    if (!t->sentinel)
        return end_as_child(status);
    (void)send(t->sock, &w, sizeof(w), MSG_NOSIGNAL);
    return 0;
}
