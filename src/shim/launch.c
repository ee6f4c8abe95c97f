/* launch.c - around the launcher's command of a job of the operator: takes the reports of its ranks
 * and writes what became of them into the container's termination message (records.h).
 *
 *     muster-shim launch DIR [--hydra] [--message FILE] -- COMMAND [ARGS]
 *
 * DIR has this program as muster-record and the job's key, in all pods of the job. As the first
 * process of the container it hands signals on to the command, reaps what is left to it, and ends
 * as the command ended. Whatever is missing for records, the command runs: then it simply becomes
 * the command.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/io.h"
#include "base/limits.h"
#include "base/mem.h"
#include "shim/greet.h"
#include "shim/records.h"
#include "shim/roles.h"
#include "shim/wire.h"

#define MESSAGE "/dev/termination-log" /* where a kubelet looks if the pod does not say */

enum { FRAME_BYTES = 4096, CATCH_UP_MS = 200, BACKLOG = 4096 };

struct client {
    struct client *prev, *next;
    int fd;
    bool proven;
    unsigned char number[GREET_NUMBER];
    struct record *record; /* NULL: it has not said which rank it is */
    struct strbuf in;
};

struct launch {
    const char *dir, *message;
    bool hydra;
    char **command;
    unsigned char key[PEER_KEY_BYTES];
    int listens, signals, set;
    struct records *records;
    struct client *clients;
    unsigned n_clients;
    struct rlimit files; /* as the command gets it */
    pid_t pid;
};

/* --- reports ---------------------------------------------------------------------------------- */

static void client_free(struct launch *l, struct client *c)
{
    if (c->record)
        records_lost(l->records, c->record, clock_mono());
    if (c->prev)
        c->prev->next = c->next;
    else
        l->clients = c->next;
    if (c->next)
        c->next->prev = c->prev;
    l->n_clients--;
    close(c->fd);
    strbuf_release(&c->in);
    free(c);
}

static bool acknowledge(int fd)
{
    auto_strbuf struct strbuf frame = STRBUF_INIT;

    wire_frame_end(&frame, wire_frame_begin(&frame, WIRE_RANK_ACK));
    return send(fd, frame.buf, frame.len, MSG_NOSIGNAL | MSG_DONTWAIT) == (ssize_t)frame.len;
}

static bool rank_begins(struct launch *l, struct client *c, struct wire_reader *body)
{
    struct record_rank rank = {.rank = wire_get_u32(body), .size = wire_get_u32(body)};

    rank.launch = wire_get_str(body);
    rank.host = wire_get_str(body);
    rank.program = wire_get_i64(body);
    if (!wire_done(body) || c->record)
        return false;
    c->record = records_begin(l->records, &rank, clock_mono());
    return c->record && acknowledge(c->fd);
}

static bool rank_ends(struct launch *l, struct client *c, struct wire_reader *body)
{
    struct record_end end = {.status = (int)wire_get_u32(body)};

    end.told = wire_get_u32(body);
    end.oom = wire_get_u32(body);
    end.exec_error = (int)wire_get_u32(body);
    if (!wire_done(body) || !c->record || end.exec_error > 0 || end.exec_error < -LIMIT_ERRNO)
        return false;
    records_end(l->records, TAKE_PTR(c->record), &end, clock_mono());
    return acknowledge(c->fd);
}

static bool take_frame(struct launch *l, struct client *c, enum wire_type type,
                       struct wire_reader *body)
{
    switch (type) {
    case WIRE_RECORD_RANK:
        return rank_begins(l, c, body);
    case WIRE_RECORD_TOLD:
        if (c->record)
            records_told(c->record);
        return true;
    case WIRE_RECORD_END:
        return rank_ends(l, c, body);
    default:
        return false;
    }
}

static bool take_proof(struct launch *l, struct client *c)
{
    unsigned char proof[GREET_PROOF];

    if (!greet_check(l->key, c->number, (const unsigned char *)c->in.buf, proof) ||
        send(c->fd, proof, sizeof(proof), MSG_NOSIGNAL | MSG_DONTWAIT) != sizeof(proof))
        return false;
    strbuf_consume(&c->in, GREET_ANSWER_BYTES);
    c->proven = true;
    return true;
}

/* What has come of one connection. False: it is of no use any more. */
static bool take_input(struct launch *l, struct client *c)
{
    enum wire_type type;
    struct wire_reader body;
    long n;

    if (!c->proven && c->in.len >= GREET_ANSWER_BYTES && !take_proof(l, c))
        return false;
    if (!c->proven)
        return true;
    while ((n = wire_frame_next(c->in.buf, c->in.len, &type, &body)) > 0) {
        if (!take_frame(l, c, type, &body))
            return false;
        strbuf_consume(&c->in, (size_t)n);
    }
    return n == 0 && c->in.len < FRAME_BYTES;
}

static void readable(struct launch *l, struct client *c)
{
    ssize_t n;

    strbuf_reserve(&c->in, FRAME_BYTES);
    n = recv(c->fd, c->in.buf + c->in.len, FRAME_BYTES, MSG_DONTWAIT);
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (n > 0)
        c->in.len += (size_t)n;
    if (n <= 0 || !take_input(l, c))
        client_free(l, c);
}

static bool watch(const struct launch *l, int fd, void *what)
{
    struct epoll_event ev = {.events = EPOLLIN, .data.ptr = what};

    return epoll_ctl(l->set, EPOLL_CTL_ADD, fd, &ev) == 0;
}

static void connected(struct launch *l)
{
    int fd = accept4(l->listens, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    struct client *c;

    if (fd < 0)
        return;
    c = xcalloc(1, sizeof(*c));
    c->fd = fd;
    c->in = (struct strbuf)STRBUF_INIT;
    c->next = l->clients;
    if (c->next)
        c->next->prev = c;
    l->clients = c;
    if (++l->n_clients > LIMIT_RECORD_CLIENTS || !greet_number(c->number) ||
        send(fd, c->number, sizeof(c->number), MSG_NOSIGNAL) != sizeof(c->number) ||
        !watch(l, fd, c))
        client_free(l, c);
}

/* --- the command ------------------------------------------------------------------------------ */

_Noreturn static void become(char **command)
{
    sigset_t none;

    (void)sigemptyset(&none);
    (void)sigprocmask(SIG_SETMASK, &none, NULL);
    (void)execvp(command[0], command);
    dprintf(STDERR_FILENO, "muster-shim: cannot execute %s: %s\n", command[0], strerror(errno));
    _exit(errno == ENOENT ? 127 : 126);
}

static void start_command(struct launch *l)
{
    l->pid = fork();
    if (l->pid != 0)
        return;
    (void)setrlimit(RLIMIT_NOFILE, &l->files);
    become(l->command);
}

/* Returns the command's wait status, or -1. Orphans are ours, too, as the container's first. */
static int reap(struct launch *l)
{
    int status, ended = -1;
    pid_t pid;

    while ((pid = waitpid(-1, &status, WNOHANG)) > 0)
        if (pid == l->pid) {
            ended = status;
            l->pid = 0;
        }
    return ended;
}

/* What a terminal sends has come to the command already: it is in the same group. */
static int signalled(struct launch *l)
{
    struct signalfd_siginfo info;
    int status = -1;

    while (status < 0 && read(l->signals, &info, sizeof(info)) == sizeof(info)) {
        if (info.ssi_signo == SIGCHLD)
            status = reap(l);
        else if (info.ssi_code != SI_KERNEL && l->pid > 0)
            (void)kill(l->pid, (int)info.ssi_signo);
    }
    return status;
}

/* Takes what comes within that time, at most; -1: without end. The command's wait status once it
 * has ended, else -1. */
static int attend(struct launch *l, int patience_ms)
{
    struct epoll_event ev[64];
    int n = epoll_wait(l->set, ev, ARRAY_SIZE(ev), patience_ms), status = -1;

    for (int i = 0; i < n; i++) {
        if (ev[i].data.ptr == &l->signals)
            status = signalled(l);
        else if (ev[i].data.ptr == &l->listens)
            connected(l);
        else
            readable(l, ev[i].data.ptr);
    }
    return status;
}

static bool any_rank(const struct launch *l)
{
    for (const struct client *c = l->clients; c; c = c->next)
        if (c->record)
            return true;
    return false;
}

/* mpirun ends when its daemons have; a rank that was killed with its node may not be known yet. */
static void catch_up(struct launch *l)
{
    ns_t until = clock_mono() + CATCH_UP_MS * NS_PER_MS;

    do
        (void)attend(l, any_rank(l) ? CATCH_UP_MS / 10 : 0);
    while (any_rank(l) && clock_mono() < until);
}

/* At the end of what others have written there: a kubelet reads the end of the file. */
static void write_message(const struct launch *l)
{
    auto_close int fd = open(l->message, O_RDWR | O_APPEND | O_CLOEXEC);
    auto_strbuf struct strbuf text = STRBUF_INIT;
    char last = '\n';
    off_t size;

    if (fd < 0)
        return;
    size = lseek(fd, 0, SEEK_END);
    if (size > 0)
        (void)!pread(fd, &last, 1, size - 1);
    if (last != '\n')
        strbuf_addch(&text, '\n');
    records_write(l->records, clock_mono(), &text);
    if (text.len > 1)
        (void)io_write_all(fd, text.buf, text.len);
}

/* --- before it -------------------------------------------------------------------------------- */

/* The address that other pods reach us by: the pod's, else that of the way out. */
static bool own_address(char text[INET6_ADDRSTRLEN])
{
    const char *told = getenv("MUSTER_ADDRESS");
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(9)};
    socklen_t len = sizeof(to);
    auto_close int sock = -1;

    if (told && *told && strlen(told) < INET6_ADDRSTRLEN) {
        snprintf(text, INET6_ADDRSTRLEN, "%s", told);
        return true;
    }
    (void)inet_pton(AF_INET, "192.0.2.1", &to.sin_addr); /* nothing is sent there */
    sock = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    return sock >= 0 && connect(sock, (struct sockaddr *)&to, sizeof(to)) == 0 &&
           getsockname(sock, (struct sockaddr *)&to, &len) == 0 &&
           inet_ntop(AF_INET, &to.sin_addr, text, INET6_ADDRSTRLEN);
}

/* Any free port: the environment says which. */
static int listen_anywhere(bool v6, int *ret_port)
{
    struct sockaddr_in6 any6 = {.sin6_family = AF_INET6};
    struct sockaddr_in any4 = {.sin_family = AF_INET};
    auto_close int sock =
        socket(v6 ? AF_INET6 : AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    socklen_t len = v6 ? sizeof(any6) : sizeof(any4);
    struct sockaddr *any = v6 ? (struct sockaddr *)&any6 : (struct sockaddr *)&any4;

    if (sock < 0 || bind(sock, any, len) < 0 || listen(sock, BACKLOG) < 0 ||
        getsockname(sock, any, &len) < 0)
        return -1;
    *ret_port = ntohs(v6 ? any6.sin6_port : any4.sin_port);
    return TAKE_FD(sock);
}

/* Stand-ins for Hydra's mpiexec, first in PATH: it has no fork agent (mpirun.c). */
static void put_stand_ins(const char *dir)
{
    static const char *const names[] = {"mpirun", "mpiexec", "mpiexec.hydra"};
    const char *path = getenv("PATH"), *tmp = getenv("TMPDIR");
    auto_free char *program = xasprintf("%s/muster-shim", dir);
    auto_free char *bin = xasprintf("%s/muster-XXXXXX", tmp && *tmp ? tmp : "/tmp");
    auto_free char *with = NULL;

    if (!mkdtemp(bin))
        return;
    for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
        auto_free char *link = xasprintf("%s/%s", bin, names[i]);

        (void)!symlink(program, link);
    }
    with = xasprintf("%s:%s", bin, path ? path : "/usr/local/bin:/usr/bin:/bin");
    (void)setenv("PATH", with, 1);
}

static void put_environment(const struct launch *l, const char *address, int port)
{
    static const char *const agents[] = {"OMPI_MCA_orte_fork_agent", "PRTE_MCA_prte_fork_agent"};
    auto_free char *wrapper = xasprintf("%s/" RECORDS_WRAPPER, l->dir);
    auto_free char *where = xasprintf("%d@%s", port, address);

    (void)unsetenv("MUSTER_ADDRESS");
    (void)setenv(RECORDS_VARIABLE, where, 1);
    for (size_t i = 0; i < ARRAY_SIZE(agents); i++)
        (void)setenv(agents[i], wrapper, 0);
    if (l->hydra)
        put_stand_ins(l->dir);
}

static bool prepare(struct launch *l)
{
    static const int handed_on[] = {SIGTERM, SIGINT,  SIGHUP,  SIGQUIT,
                                    SIGUSR1, SIGUSR2, SIGCONT, SIGCHLD};
    auto_free char *key = xasprintf("%s/key", l->dir);
    char address[INET6_ADDRSTRLEN];
    struct rlimit most;
    sigset_t set;
    int port;

    if (!greet_key(key, l->key) || !own_address(address) ||
        (l->listens = listen_anywhere(strchr(address, ':') != NULL, &port)) < 0 ||
        (l->set = epoll_create1(EPOLL_CLOEXEC)) < 0)
        return false;
    put_environment(l, address, port);
    (void)getrlimit(RLIMIT_NOFILE, &l->files); /* a descriptor for each rank */
    most = (struct rlimit){l->files.rlim_max, l->files.rlim_max};
    (void)setrlimit(RLIMIT_NOFILE, &most);
    (void)sigemptyset(&set);
    for (size_t i = 0; i < ARRAY_SIZE(handed_on); i++)
        (void)sigaddset(&set, handed_on[i]);
    (void)sigprocmask(SIG_BLOCK, &set, NULL);
    l->signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
    l->records = records_new();
    return l->signals >= 0 && watch(l, l->signals, &l->signals) &&
           watch(l, l->listens, &l->listens);
}

static bool parse(struct launch *l, int argc, char **argv)
{
    int i = 2;

    l->dir = argc > 1 ? argv[1] : NULL;
    for (; i < argc && strcmp(argv[i], "--") != 0; i++) {
        if (strcmp(argv[i], "--hydra") == 0)
            l->hydra = true;
        else if (strcmp(argv[i], "--message") == 0 && i + 1 < argc)
            l->message = argv[++i];
        else
            return false;
    }
    l->command = argv + i + 1;
    return i + 1 < argc;
}

int launch_main(int argc, char **argv)
{
    struct launch l = {.message = MESSAGE, .listens = -1, .signals = -1, .set = -1};
    int status = -1;

    if (!parse(&l, argc, argv)) {
        fprintf(stderr, "usage: muster-shim launch DIR [--hydra] [--message FILE] -- "
                        "COMMAND [ARGS...]\n");
        return 2;
    }
    if (!prepare(&l))
        become(l.command);
    start_command(&l);
    if (l.pid < 0)
        become(l.command);
    while (status < 0)
        status = attend(&l, -1);
    catch_up(&l);
    write_message(&l);
    while (l.clients)
        client_free(&l, l.clients);
    records_free(l.records);
    return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}
