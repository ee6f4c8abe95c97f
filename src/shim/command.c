/* command.c - what an rsh agent runs inside a replica: a shell command with the replica's
 * environment and the agent's own stdin, stdout and stderr.
 *
 * When the agent goes away first, its command is killed with its process group, as sshd does it
 * with a session; what has made itself a daemon (orted does) stays.
 */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/io.h"
#include "base/mem.h"
#include "shim/server.h"

struct command {
    struct child child;               /* first */
    struct client *client;            /* NULL: the agent is gone */
    bool is_proxy;                    /* Hydra's, on its replica */
    bool is_observed;                 /* a rank of it has a wrapper */
    bool is_daemon;                   /* of an mpirun: a proxy, or orted */
    char origin[LIMIT_LAUNCH_ID + 1]; /* of that mpirun; "" = not known */
};

static void answer(struct client *c, enum wire_type type)
{
    auto_strbuf struct strbuf frame = STRBUF_INIT;

    wire_frame_end(&frame, wire_frame_begin(&frame, type));
    (void)packet_send(c->fd, &frame, NULL, 0); /* else it is gone: we shall see */
}

static void answer_exited(struct client *c, int status)
{
    auto_strbuf struct strbuf frame = STRBUF_INIT;
    size_t begin = wire_frame_begin(&frame, WIRE_AGENT_EXITED);

    wire_put_u32(&frame, (uint32_t)status);
    wire_frame_end(&frame, begin);
    (void)packet_send(c->fd, &frame, NULL, 0);
}

static void command_ended(struct shim *s, struct child *child, int status, int64_t max_rss)
{
    struct command *cmd = (struct command *)child;

    (void)max_rss;
    s->unobserved |= cmd->is_proxy && !cmd->is_observed;
    if (cmd->client) {
        if (cmd->is_daemon && !cmd->is_observed)
            ranks_daemon_failed(s, &cmd->child, cmd->client->pid, cmd->origin, status);
        cmd->client->command = NULL;
        answer_exited(cmd->client, status);
    }
    free(cmd);
}

void command_abandoned(struct shim *s, struct client *c)
{
    (void)s;
    (void)kill(-c->command->child.pid, SIGKILL);
    c->command->client = NULL;
    c->command = NULL;
}

static struct command *find_command(const struct shim *s, pid_t pid)
{
    struct child *c = child_find(s, pid);

    return c && c->ended == command_ended ? (struct command *)c : NULL;
}

pid_t command_agent(const struct shim *s, pid_t pid)
{
    const struct command *cmd = find_command(s, pid);

    return cmd && cmd->client ? cmd->client->pid : 0;
}

void command_observed(const struct shim *s, pid_t pid)
{
    struct command *cmd = find_command(s, pid);

    if (cmd)
        cmd->is_observed = true;
}

bool command_was_cut(const struct shim *s, pid_t pid)
{
    const struct command *cmd = find_command(s, pid);

    return cmd && !cmd->client;
}

/* --- who is meant ----------------------------------------------------------------------------- */

/* Is the name a word of the line? */
static bool line_has(const char *line, const char *name)
{
    static const char blanks[] = " \t";
    size_t len = strlen(name);

    for (;;) {
        size_t n;

        line += strspn(line, blanks);
        n = strcspn(line, " \t\n#");
        if (n == 0)
            return false;
        if (n == len && strncasecmp(line, name, n) == 0)
            return true;
        line += n;
    }
}

/* The replica whose host name stands beside this address or other name in the job's /etc/hosts. */
static struct replica *find_in_hosts(const struct shim *s, const char *name)
{
    for (const char *line = s->hosts; *line; line += strcspn(line, "\n"), line += *line == '\n') {
        if (!line_has(line, name))
            continue;
        for (uint32_t i = 0; i < s->n_replicas; i++) {
            if (line_has(line, s->replicas[i].host))
                return &s->replicas[i];
        }
    }
    return NULL;
}

static bool is_localhost(const char *host)
{
    return strcasecmp(host, "localhost") == 0 || strcmp(host, "127.0.0.1") == 0 ||
           strcmp(host, "::1") == 0;
}

/* A replica is meant by its host name, with or without a domain, by its own name, by whatever else
 * the hosts file calls it, or by being where the agent is. */
static struct replica *find_replica(const struct shim *s, const struct client *c, const char *host)
{
    size_t n = strcspn(host, ".");
    struct replica *r;

    if (is_localhost(host))
        return replica_of_pid(s, c->pid);
    for (uint32_t i = 0; i < s->n_replicas; i++) {
        r = &s->replicas[i];
        if (strcasecmp(r->host, host) == 0 || strcmp(r->name, host) == 0)
            return r;
    }
    r = find_in_hosts(s, host);
    for (uint32_t i = 0; i < s->n_replicas && !r && n > 0; i++) {
        if (strncasecmp(s->replicas[i].host, host, n) == 0 && s->replicas[i].host[n] == '\0')
            r = &s->replicas[i];
    }
    return r;
}

/* --- running ---------------------------------------------------------------------------------- */

/* The replica's environment and the marks that tell rank wrappers what the agent found out. */
static const char **command_env(const struct replica *r, bool forward, const char *origin)
{
    const char **v;
    size_t n = 0;

    while (r->env[n])
        n++;
    v = xmalloc((n + 3) * sizeof(*v));
    memcpy(v, r->env, n * sizeof(*v));
    v[n] = forward ? "MUSTER_FORWARD=1" : "MUSTER_FORWARD=0";
    v[n + 1] = origin;
    v[n + 2] = NULL;
    return v;
}

static bool has_program(const char *text, const char *name)
{
    for (const char *p = strstr(text, name); p; p = strstr(p + 1, name))
        if (p > text && (p[-1] == '/' || p[-1] == ' ') && p[strlen(name)] == ' ')
            return true;
    return false;
}

/* To the caller of an agent, unless it does not read: the supervisor waits for nobody. */
static void complain(int fd, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
static void complain(int fd, const char *fmt, ...)
{
    struct pollfd pfd = {.fd = fd, .events = POLLOUT};
    va_list ap;

    if (poll(&pfd, 1, 0) <= 0)
        return;
    va_start(ap, fmt);
    (void)vdprintf(fd, fmt, ap);
    va_end(ap);
}

static int start(struct shim *s, struct client *c, struct replica *r, const char *text,
                 bool forward, const char *launch, const int fds[3])
{
    const char *argv[] = {"/bin/sh", "-c", text, NULL};
    auto_free char *origin = *launch ? xasprintf("MUSTER_LAUNCH=%s", launch) : NULL;
    auto_free const char **env = command_env(r, forward, origin);
    struct spawn sp = {
        .replica = r, .cwd = r->cwd, .argv = argv, .env = env, .fds = {fds[0], fds[1], fds[2]}};
    struct err e = {0};
    struct command *cmd;
    pid_t pid;

    if (spawn_process(s, &sp, &pid, NULL, &e) < 0) {
        complain(fds[2], "muster-shim: cannot run a command in %s: %s: %s\n", r->name, e.text,
                 err_start_reason(-e.code));
        return e.code;
    }
    cmd = xcalloc(1, sizeof(*cmd));
    cmd->child = (struct child){.pid = pid, .replica = r, .ended = command_ended};
    cmd->client = c;
    cmd->is_proxy = strstr(text, "hydra_pmi_proxy") || strstr(text, "hydra_bstrap_proxy");
    cmd->is_daemon = cmd->is_proxy || has_program(text, "orted") || has_program(text, "prted");
    (void)snprintf(cmd->origin, sizeof(cmd->origin), "%s", launch);
    c->command = cmd;
    child_add(s, &cmd->child);
    return 0;
}

/* env: it was there once, and may be again. */
static bool takes_commands(const struct shim *s, const struct replica *r)
{
    /* without an environment it is still at its init commands */
    return r->env && (r->waits || r->expects || r->n_main > 0 || s->held);
}

int command_run(struct shim *s, struct client *c, struct packet *p)
{
    enum { SSH_FAILED = 255 << 8 }; /* the status ssh has when it could not run the command */
    const char *host = wire_get_str(&p->body), *text = wire_get_str(&p->body);
    bool forward = wire_get_u32(&p->body);
    const char *origin = wire_get_str(&p->body);
    struct replica *r;

    if (!wire_done(&p->body) || p->n_fds != 3 || c->command || c->rank ||
        strlen(origin) > LIMIT_LAUNCH_ID)
        return -EPROTO;
    r = find_replica(s, c, host);
    if (!r) {
        elsewhere_add(s, c->pid, origin);
        answer(c, WIRE_AGENT_NO_HOST);
        return 0;
    }
    answer(c, WIRE_AGENT_RAN);
    if (!takes_commands(s, r)) {
        complain(p->fds[2], "muster-shim: %s is not running\n", r->name);
        answer_exited(c, SSH_FAILED);
    } else if (start(s, c, r, text, forward, origin, p->fds) < 0) {
        answer_exited(c, SSH_FAILED);
    }
    return 0;
}
