/* agent.c - the rsh agent: looks like ssh, runs the command inside a replica of this run.
 *
 * mpirun, mpiexec.hydra, horovodrun, pdsh and people's scripts call it as they would call ssh or
 * rsh. Their command is started by the supervisor, with our stdin, stdout and stderr; we wait and
 * end as it ended. A host that is no replica goes to the real ssh. Being killed needs no care: the
 * supervisor sees the connection close.
 *
 * Not here: terminals, forwarded ports (replicas reach each other without), other users.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/limits.h"
#include "base/mem.h"
#include "shim/stand_in.h"
#include "shim/daemon.h"
#include "shim/forward.h"
#include "shim/host.h"
#include "shim/packet.h"
#include "shim/peer.h"
#include "shim/roles.h"

#define SSH_FLAGS "46AaCfGgKkMNnqsTtVvXxYy"
#define SSH_WITH_ARGUMENT "BbcDEeFIiJLlmOopQRSWw"

enum { SSH_FAILED = 255, RESOLVE_S = 60 };

struct call {
    char *host; /* without the user; NULL if there is none */
    struct strbuf command;
    bool no_stdin;   /* -n */
    bool background; /* -f */
    bool no_command; /* -N */
    bool forwards;   /* -L and its like */
};

/* --- the command line ------------------------------------------------------------------------- */

static void take_flag(char flag, struct call *call)
{
    call->no_stdin |= flag == 'n' || flag == 'f';
    call->background |= flag == 'f';
    call->no_command |= flag == 'N';
    call->forwards |= flag == 'L' || flag == 'R' || flag == 'D' || flag == 'W';
}

/* One word of options. Returns how many words it took, 0 if it is none. */
static int skip_options(char **argv, struct call *call)
{
    const char *p = argv[0];

    if (*p != '-' || !p[1])
        return 0;
    while (*++p) {
        take_flag(*p, call);
        if (strchr(SSH_WITH_ARGUMENT, *p))
            return p[1] || !argv[1] ? 1 : 2; /* -p22 or -p 22 */
        if (!strchr(SSH_FLAGS, *p))
            return 1; /* ssh would complain; we need to know nothing of it */
    }
    return 1;
}

/* [ssh://][user@]host[:port]; a port only in the first form, or an IPv6 address would lose its end.
 */
static char *parse_host(const char *word)
{
    bool uri = strncmp(word, "ssh://", 6) == 0;
    const char *host = uri ? word + 6 : word, *at = strrchr(host, '@');

    host = at ? at + 1 : host;
    return xstrndup(host, uri ? strcspn(host, ":/") : strlen(host));
}

static void default_command(struct call *call)
{
    const char *shell = getenv("SHELL");

    if (call->no_command)
        strbuf_addstr(&call->command, "exec sleep infinity");
    else
        strbuf_addstr(&call->command, shell && *shell ? shell : "/bin/sh");
}

/* As ssh does it: options may stand before and after the host, until "--"; then all is the command.
 */
static void parse(char **argv, struct call *call)
{
    bool options = true;
    int n;

    for (argv++; *argv; argv += n) {
        if (options && strcmp(*argv, "--") == 0) {
            options = false;
            n = 1;
            continue;
        }
        n = options ? skip_options(argv, call) : 0;
        if (n == 0 && call->host)
            break;
        if (n == 0) {
            call->host = parse_host(*argv);
            n = 1;
        }
    }
    for (; *argv; argv++) {
        if (call->command.len)
            strbuf_addch(&call->command, ' ');
        strbuf_addstr(&call->command, *argv);
    }
    if (!call->command.len)
        default_command(call);
}

/* --- the real ssh ----------------------------------------------------------------------------- */

/* Becomes the next program of our name in PATH that is not ourselves. */
static int real_ssh(char **argv, const struct call *call)
{
    const char *name = basename(argv[0]);
    char file[PATH_MAX];

    if (strcmp(name, "agent") == 0)
        name = "ssh";
    if (find_next(name, file, sizeof(file)))
        execv(file, argv);
    fprintf(stderr,
            "muster-shim: %s is not a host of this job, and no other %s was found in PATH\n",
            call->host ? call->host : "(none)", name);
    return SSH_FAILED;
}

/* --- the call --------------------------------------------------------------------------------- */

static bool wants_forward(int sock)
{
    const char *mark = getenv("MUSTER_FORWARD"); /* we are ourselves an agent's command */

    return mark ? strcmp(mark, "1") == 0 : forward_wanted(sock, getppid());
}

/* The mpirun that asks: its ranks there belong to it, whatever else is named like it. */
static const char *find_origin(void)
{
    static char text[LIMIT_LAUNCH_ID + 1];
    const char *mark = getenv("MUSTER_LAUNCH"); /* orted may call us, too */

    if (mark)
        snprintf(text, sizeof(text), "%s", mark);
    else
        mpirun_origin(getppid(), text);
    return text;
}

static int send_run(int sock, const struct call *call)
{
    bool forward = wants_forward(sock);
    auto_close int null_fd = call->no_stdin ? open("/dev/null", O_RDONLY | O_CLOEXEC) : -1;
    int fds[3] = {null_fd >= 0 ? null_fd : STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO};
    auto_strbuf struct strbuf frame = STRBUF_INIT;
    size_t begin = wire_frame_begin(&frame, WIRE_AGENT_RUN);

    wire_put_str(&frame, call->host);
    wire_put_str(&frame, call->command.buf);
    wire_put_u32(&frame, forward);
    wire_put_str(&frame, find_origin());
    wire_frame_end(&frame, begin);
    return packet_send(sock, &frame, fds, 3);
}

/* -f: whoever called us goes on as soon as the command runs; what waits for it is a child of ours.
 */
static void go_to_background(void)
{
    if (fork() > 0)
        _exit(0);
    (void)setsid();
}

/* The exit code, or -ENOENT if the host is no replica. */
static int run(int sock, const struct call *call)
{
    char buf[64];
    struct packet p;
    int r = send_run(sock, call), status;

    while (r == 0) {
        r = packet_receive(sock, buf, sizeof(buf), &p);
        if (r == 0 && p.type == WIRE_AGENT_NO_HOST)
            return -ENOENT;
        if (r == 0 && p.type == WIRE_AGENT_RAN && call->background)
            go_to_background();
        if (r == 0 && p.type == WIRE_AGENT_RAN && call->forwards)
            fprintf(stderr, "muster-shim: port forwarding is not supported; the hosts of a job "
                            "reach each other directly\n");
        if (r == 0 && p.type == WIRE_AGENT_EXITED) {
            status = (int)wire_get_u32(&p.body);
            return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
        }
    }
    fprintf(stderr, "muster-shim: cannot run a command on %s: %s\n", call->host, strerror(-r));
    return SSH_FAILED;
}

int agent_main(int argc, char **argv)
{
    struct call call = {.command = STRBUF_INIT};
    auto_close int sock = -1;
    int r = -ENOENT;

    (void)argc;
    parse(argv, &call);
    if (call.host)
        sock = packet_connect_run();
    if (sock >= 0)
        r = run(sock, &call);
    if (r == -ENOENT && call.host) {
        bool forward = sock >= 0 && wants_forward(sock);
        r = peer_run(&(struct peer_call){.host = call.host,
                                         .command = call.command.buf,
                                         .origin = find_origin(),
                                         .forward = forward,
                                         .no_stdin = call.no_stdin});
        if (r < 0 && r != -ENOENT)
            r = SSH_FAILED;
    }
    if (r == -ENOENT)
        r = real_ssh(argv, &call);
    strbuf_release(&call.command);
    free(call.host);
    return r;
}

/* --- in a pod of the operator ----------------------------------------------------------------- */

/* A name that was just made may not be known to the cluster's resolver yet. */
static int resolve(const char *name, char address[INET6_ADDRSTRLEN])
{
#ifdef __GLIBC__
    /* its resolver loads libraries, which an image has or has not: see doc/design/musl.md */
    unsigned char bytes[sizeof(struct in6_addr)];

    if (inet_pton(AF_INET, name, bytes) != 1 && inet_pton(AF_INET6, name, bytes) != 1)
        return -EOPNOTSUPP;
    (void)snprintf(address, INET6_ADDRSTRLEN, "%s", name);
    return 0;
#else
    static const struct addrinfo hints = {.ai_socktype = SOCK_STREAM};
    static const struct timespec moment = {.tv_sec = 1};
    struct addrinfo *found = NULL;
    int r = EAI_NONAME;

    for (int i = 0; i < RESOLVE_S && (r = getaddrinfo(name, NULL, &hints, &found)) != 0; i++)
        (void)nanosleep(&moment, NULL);
    if (r != 0)
        return -ENOENT;
    r = getnameinfo(found->ai_addr, found->ai_addrlen, address, INET6_ADDRSTRLEN, NULL, 0,
                    NI_NUMERICHOST);
    freeaddrinfo(found);
    return r == 0 ? 0 : -ENOENT;
#endif
}

/* `muster-shim kubexec KEY_FILE DOMAIN [OPTIONS] POD COMMAND…`: as `kubectl exec POD` would run it.
 * A bare name is below DOMAIN; one with a dot, or a colon, is complete. */
int kubexec_main(int argc, char **argv)
{
    struct call call = {.command = STRBUF_INIT};
    unsigned char key[PEER_KEY_BYTES];
    char address[INET6_ADDRSTRLEN];
    auto_free char *name = NULL;
    int r;

    if (argc < 4) {
        fprintf(stderr, "usage: muster-shim kubexec KEY_FILE DOMAIN [OPTIONS] POD COMMAND...\n");
        return SSH_FAILED;
    }
    parse(argv + 2, &call);
    if (!call.host || !greet_key(argv[1], key)) {
        fprintf(stderr, "muster-shim: %s\n",
                call.host ? "this job's key cannot be read" : "no pod is named");
        return SSH_FAILED;
    }
    name = strpbrk(call.host, ".:") ? xstrdup(call.host) : xasprintf("%s.%s", call.host, argv[2]);
    r = resolve(name, address);
    if (r < 0)
        fprintf(stderr, "muster-shim: cannot resolve %s: %s\n", name,
                r == -ENOENT ? "not found" : strerror(-r));
    else /* kubectl exec gives no stdin, either */
        r = peer_ask(
            address, key,
            &(struct peer_call){
                .host = call.host, .command = call.command.buf, .origin = "", .no_stdin = true});
    strbuf_release(&call.command);
    free(call.host);
    return r < 0 ? SSH_FAILED : r;
}
