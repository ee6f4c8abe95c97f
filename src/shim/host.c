/* host.c - see host.h.
 *
 *     muster-shim host KEY_FILE -- COMMAND [ARGS]
 *
 * Three kinds of process: the first one, which listens, hands signals on to the command and ends as
 * it ended; one for each connection, which copies streams (peer_serve()); and beside that one a
 * runner, which starts the command that is asked for and kills it when the connection is lost.
 */
#include "shim/host.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/limits.h"
#include "base/mem.h"
#include "shim/packet.h"
#include "shim/roles.h"

/* --- a command of the launcher ---------------------------------------------------------------- */

static void no_signals_blocked(void)
{
    sigset_t none;

    (void)sigemptyset(&none);
    (void)sigprocmask(SIG_SETMASK, &none, NULL);
    (void)signal(SIGPIPE, SIG_DFL);
}

/* A session of its own: what is left of it can be killed at once, and a daemon that leaves the
 * session (Open MPI's) stays. */
static pid_t start(const char *command, struct packet *p)
{
    pid_t pid = fork();

    if (pid != 0)
        return pid;
    (void)setsid();
    no_signals_blocked();
    for (int i = 0; i < 3; i++)
        if (dup2(p->fds[i], i) < 0)
            _exit(126);
    (void)execl("/bin/sh", "sh", "-c", command, (char *)NULL);
    dprintf(STDERR_FILENO, "muster-shim: cannot run /bin/sh: %s\n", strerror(errno));
    _exit(127);
}

static void send_end(int sock, int status)
{
    auto_strbuf struct strbuf frame = STRBUF_INIT;
    size_t begin = wire_frame_begin(&frame, WIRE_AGENT_EXITED);

    wire_put_u32(&frame, (uint32_t)status);
    wire_frame_end(&frame, begin);
    (void)packet_send(sock, &frame, NULL, 0);
}

/* Waits for the command's end, or for that of the connection. */
static void follow(int sock, pid_t pid, int signals)
{
    int status = 0;

    for (;;) {
        struct pollfd fds[2] = {{.fd = sock, .events = POLLIN}, {.fd = signals, .events = POLLIN}};
        struct signalfd_siginfo info;

        if (poll(fds, 2, -1) < 0 && errno != EINTR)
            break;
        if (fds[1].revents)
            (void)!read(signals, &info, sizeof(info));
        if (waitpid(pid, &status, WNOHANG) == pid) {
            send_end(sock, status);
            return;
        }
        if (fds[0].revents)
            break;
    }
    (void)kill(-pid, SIGKILL);
}

_Noreturn static void runner(int sock)
{
    static char buf[LIMIT_PACKET_BYTES];
    struct packet p;
    sigset_t child;
    int signals;

    (void)sigemptyset(&child);
    (void)sigaddset(&child, SIGCHLD);
    (void)sigprocmask(SIG_BLOCK, &child, NULL);
    signals = signalfd(-1, &child, SFD_CLOEXEC);
    if (packet_receive(sock, buf, sizeof(buf), &p) == 0 && p.type == WIRE_AGENT_RUN &&
        p.n_fds == 3) {
        (void)wire_get_str(&p.body); /* the host: it is this one */
        pid_t pid = start(wire_get_str(&p.body), &p);

        packet_close(&p);
        if (pid > 0)
            follow(sock, pid, signals);
    }
    _exit(0);
}

/* A process for each: whoever does not prove itself keeps nobody else waiting. */
_Noreturn static void connection(int sock, const unsigned char *key)
{
    int pair[2];

    no_signals_blocked();
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (!peer_greet(sock, key) || socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
        _exit(1);
    switch (fork()) {
    case -1:
        _exit(1);
    case 0:
        (void)close(sock);
        (void)close(pair[0]);
        runner(pair[1]);
    default:
        (void)close(pair[1]);
        _exit(peer_serve(sock, pair[0]) < 0);
    }
}

/* --- the first process ------------------------------------------------------------------------ */

struct host {
    pid_t command;
    unsigned char key[PEER_KEY_BYTES];
    int listens, signals;
    unsigned connections;
};

static pid_t begin_command(char **argv)
{
    pid_t pid = fork();

    if (pid != 0)
        return pid;
    no_signals_blocked();
    (void)execvp(argv[0], argv);
    dprintf(STDERR_FILENO, "muster-shim: cannot run %s: %s\n", argv[0], strerror(errno));
    _exit(errno == ENOENT ? 127 : 126);
}

static void connected(struct host *h)
{
    auto_close int sock = accept4(h->listens, NULL, NULL, SOCK_CLOEXEC);
    pid_t pid;

    if (sock < 0 || h->connections >= LIMIT_HOST_CONNECTIONS)
        return;
    pid = fork();
    if (pid == 0) {
        (void)close(h->listens);
        (void)close(h->signals);
        connection(sock, h->key);
    }
    h->connections += pid > 0;
}

/* Orphans are ours, too, as the first process of the container. Returns the command's wait status,
 * or -1. Ends of others are counted as those of connections: fewer is never wrong. */
static int reap(struct host *h)
{
    int status, ended = -1;
    pid_t pid;

    while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
        if (pid == h->command)
            ended = status;
        else if (h->connections > 0)
            h->connections--;
    }
    return ended;
}

static int stay(struct host *h)
{
    int status = -1;

    while (status < 0) {
        struct pollfd fds[2] = {{.fd = h->signals, .events = POLLIN},
                                {.fd = h->listens, .events = POLLIN}};
        struct signalfd_siginfo info;

        if (poll(fds, 2, -1) < 0 && errno != EINTR)
            return 125;
        if (fds[0].revents && read(h->signals, &info, sizeof(info)) == sizeof(info)) {
            if (info.ssi_signo == SIGCHLD)
                status = reap(h);
            else
                (void)kill(h->command, (int)info.ssi_signo);
        }
        if (fds[1].revents)
            connected(h);
    }
    return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

int host_main(int argc, char **argv)
{
    static const int handed_on[] = {SIGTERM, SIGINT,  SIGHUP,  SIGQUIT,
                                    SIGUSR1, SIGUSR2, SIGCONT, SIGCHLD};
    struct host h = {0};
    sigset_t set;

    if (argc < 4 || strcmp(argv[2], "--") != 0) {
        fprintf(stderr, "usage: muster-shim host KEY_FILE -- COMMAND [ARGS...]\n");
        return 2;
    }
    if (!greet_key(argv[1], h.key)) {
        fprintf(stderr, "muster-shim: cannot read a key from %s: %s\n", argv[1], strerror(errno));
        return 125;
    }
    (void)prctl(PR_SET_CHILD_SUBREAPER, 1);
    (void)sigemptyset(&set);
    for (size_t i = 0; i < ARRAY_SIZE(handed_on); i++)
        (void)sigaddset(&set, handed_on[i]);
    (void)sigprocmask(SIG_BLOCK, &set, NULL);
    h.signals = signalfd(-1, &set, SFD_CLOEXEC);
    h.listens = peer_socket();
    if (h.listens < 0) {
        fprintf(stderr, "muster-shim: cannot listen on port %d: %s\n", PEER_PORT,
                strerror(-h.listens));
        return 125;
    }
    h.command = begin_command(argv + 3);
    return h.command < 0 ? 125 : stay(&h);
}
