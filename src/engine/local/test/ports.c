/* ports.c - leases: numbers that stay the same, are held, and are given back; who has a taken one.
 */
#include "engine/local/ports.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "base/arena.h"
#include "base/io.h"
#include "base/tap.h"

struct job { /* two roles with ports, as a dialect would make them */
    struct port_request worker[2], ps[1];
    struct role roles[2];
    struct job_spec spec;
};

/* Another run of this test has other first guesses: its files are elsewhere. */
static void job_init(struct job *j)
{
    static char dir[64];

    (void)snprintf(dir, sizeof(dir), "/jobs/%d", (int)getpid());
    *j = (struct job){
        .worker = {{.label = "sync", .count = 1}, {.label = "data", .count = 2}},
        .ps = {{.label = "MASTER_PORT", .count = 1, .usual = 29500, .first_only = true}},
        .roles = {{.name = "worker", .replicas = 3}, {.name = "ps", .replicas = 2}},
        .spec = {.name = "job", .file = "x/job.yaml", .dir = dir, .n_roles = 2},
    };
    j->roles[0].ports = j->worker;
    j->roles[0].n_ports = 2;
    j->roles[1].ports = j->ps;
    j->roles[1].n_ports = 1;
    j->spec.roles = j->roles;
}

static int bind_to(int family, int port)
{
    struct sockaddr_in6 six = {.sin6_family = AF_INET6, .sin6_port = htons((uint16_t)port)};
    struct sockaddr_in four = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    int fd = socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0);

    if (fd >= 0 && bind(fd, family == AF_INET ? (struct sockaddr *)&four : (struct sockaddr *)&six,
                        family == AF_INET ? sizeof(four) : sizeof(six)) == 0)
        return fd;
    if (fd >= 0)
        (void)close(fd);
    return -1;
}

static bool is_free(int family, int port)
{
    int fd = bind_to(family, port);

    if (fd >= 0)
        (void)close(fd);
    return fd >= 0;
}

static bool has_ipv6(void)
{
    int fd = socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0);

    if (fd >= 0)
        (void)close(fd);
    return fd >= 0;
}

/* The kernel's own, for connections. */
static bool is_ephemeral(int port)
{
    auto_strbuf struct strbuf sb = STRBUF_INIT;
    char *end;

    (void)io_read_file(AT_FDCWD, "/proc/sys/net/ipv4/ip_local_port_range", 64, &sb, NULL);
    long low = strtol(sb.buf, &end, 10), high = strtol(end, NULL, 10);
    return port >= low && port <= high;
}

static void test_any(struct arena *a)
{
    struct job j;
    struct leases held, again;
    const int *ports, *second, *look;
    struct err e = {0};
    bool outside = true, distinct = true, kept = true;

    job_init(&j);
    is_int(ports_lease(a, &j.spec, false, &look, NULL, &e), 0, "what would be taken");
    is_int(ports_lease(a, &j.spec, false, &ports, &held, &e), 0, "ports are leased");
    is_int(spec_n_ports(&j.spec), 10, "as many as the job asks for");
    for (size_t i = 0; i < 10; i++) {
        outside &= ports[i] >= 20000 && ports[i] <= 65000 && !is_ephemeral(ports[i]);
        for (size_t k = 0; k < i; k++)
            distinct &= ports[i] != ports[k];
        kept &= !is_free(AF_INET, ports[i]) && !(has_ipv6() && is_free(AF_INET6, ports[i]));
    }
    ok(outside, "outside the ephemeral range");
    ok(distinct, "no number twice");
    ok(kept, "each is held, for IPv6 too");
    is_int(memcmp(look, ports, 10 * sizeof(int)), 0, "they are what a look showed");
    is_int(ports_lease(a, &j.spec, false, &second, &again, &e), 0, "a second job of this file");
    ok(second[0] != ports[0], "gets others meanwhile");
    leases_release(&again);
    leases_release(&held);
    ok(is_free(AF_INET, ports[0]) && is_free(AF_INET, ports[9]), "all are free afterwards");
    j.spec.file = "job.yaml"; /* called from its own directory */
    is_int(ports_lease(a, &j.spec, false, &second, &again, &e), 0, "again");
    is_int(memcmp(second, ports, 10 * sizeof(int)), 0, "the file gets its numbers again");
    leases_release(&again);
}

static void test_fixed(struct arena *a)
{
    struct job j;
    struct leases held;
    const int *ports, *any;
    struct err e = {0};

    job_init(&j);
    is_int(ports_lease(a, &j.spec, false, &any, NULL, &e), 0, "free numbers");
    j.roles[0].replicas = 1;
    j.worker[1].begin_at = any[3];
    j.worker[1].count = 2;
    is_int(ports_lease(a, &j.spec, false, &ports, &held, &e), 0, "fixed ones are leased: %s",
           e.text);
    ok(ports[1] == any[3] && ports[2] == any[3] + 1, "as they were asked for");
    ok(!is_free(AF_INET, any[3] + 1), "and held");
    leases_release(&held);

    /* a guess must not take what another part of the job must have */
    j.worker[1].begin_at = any[0];
    j.worker[1].count = 1;
    is_int(ports_lease(a, &j.spec, false, &ports, &held, &e), 0, "fixed ones first: %s", e.text);
    ok(ports[1] == any[0] && ports[0] != any[0], "the guess goes elsewhere");
    leases_release(&held);

    j.roles[0].replicas = 2;
    is_int(ports_lease(a, &j.spec, false, &ports, &held, &e), -EADDRINUSE,
           "two replicas, one number");
    has(e.text, "worker-0 and worker-1", "both are named");
    has(e.text, "--isolate network", "and what helps");
    ok(is_free(AF_INET, any[0]), "nothing stays held");
    is_int(ports_lease(a, &j.spec, false, &ports, NULL, &e), 0, "a look does not refuse");
    is_int(ports[1], any[0], "and shows the number");
    j.worker[1].begin_at = 65535;
    j.worker[1].count = 2;
    is_int(ports_lease(a, &j.spec, false, &ports, &held, &e), -EINVAL, "beyond the last port");
    has(e.text, "65536", "which is named");
}

static void test_holder(struct arena *a)
{
    struct job j;
    struct leases held;
    const int *any, *ports;
    struct err e = {0};
    char pid_text[32], byte;
    int up[2];

    job_init(&j);
    j.roles[0].replicas = 1;
    is_int(ports_lease(a, &j.spec, false, &any, NULL, &e), 0, "a free number");
    j.worker[0].begin_at = any[0];
    ok(pipe(up) == 0, "a pipe");
    pid_t pid = fork();
    if (pid == 0) {
        (void)close(up[0]);
        int fd = bind_to(AF_INET, any[0]);
        if (fd < 0 || listen(fd, 1) < 0 || write(up[1], "x", 1) != 1)
            _exit(1);
        (void)pause();
        _exit(0);
    }
    (void)close(up[1]);
    is_int(read(up[0], &byte, 1), 1, "another process listens");
    is_int(ports_lease(a, &j.spec, false, &ports, &held, &e), -EADDRINUSE,
           "a taken port is refused");
    (void)snprintf(pid_text, sizeof(pid_text), "(pid %d)", (int)pid);
    has(e.text, pid_text, "its holder is named");
    has(e.text, "already in use by ports (", "with its program");
    (void)kill(pid, SIGKILL);
    (void)waitpid(pid, NULL, 0);
    (void)close(up[0]);
}

/* A server that closes its connections first leaves its port in TIME_WAIT: a second run of its job
 * must not have to wait. Gives the port, an ephemeral one. */
static int used_port(void)
{
    struct sockaddr_in addr = {.sin_family = AF_INET};
    socklen_t len = sizeof(addr);
    int server = bind_to(AF_INET, 0), client = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    if (setsockopt(server, SOL_SOCKET, SO_REUSEADDR, &len, sizeof(int)) < 0 ||
        listen(server, 1) < 0 || getsockname(server, (struct sockaddr *)&addr, &len) < 0)
        return -1;
    addr.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (connect(client, (struct sockaddr *)&addr, sizeof(addr)) < 0)
        return -1;
    (void)close(accept(server, NULL, NULL));
    (void)close(client);
    (void)close(server);
    return ntohs(addr.sin_port);
}

static void test_used(struct arena *a)
{
    struct job j;
    struct leases held, again;
    const int *ports;
    struct err e = {0};

    job_init(&j);
    j.roles[0].replicas = 1;
    j.worker[0].begin_at = used_port();
    ok(j.worker[0].begin_at > 0 && !is_free(AF_INET, j.worker[0].begin_at), "a port in TIME_WAIT");
    is_int(ports_lease(a, &j.spec, false, &ports, &held, &e), 0, "can be leased: %s", e.text);
    is_int(ports_lease(a, &j.spec, false, &ports, &again, &e), -EADDRINUSE, "by one only");
    leases_release(&held);
    is_int(ports_lease(a, &j.spec, false, &ports, &again, &e), 0, "then by the next");
    leases_release(&again);
}

static void test_own_network(struct arena *a)
{
    struct job j;
    struct leases held;
    const int *ports;
    struct err e = {0};
    const int want[] = {20000, 20001, 20002, 20000, 20001, 20002, 20000, 20001, 20002, 29500};

    job_init(&j);
    is_int(ports_lease(a, &j.spec, true, &ports, &held, &e), 0, "networks of their own");
    is_int(memcmp(ports, want, sizeof(want)), 0, "the usual numbers, each replica from the start");
    ok(is_free(AF_INET, 29500) || held.fds[9] < 0, "nothing is bound");
    leases_release(&held);
    j.worker[1].begin_at = 20000;
    is_int(ports_lease(a, &j.spec, true, &ports, &held, &e), 0, "fixed ones among them");
    ok(ports[0] == 20002 && ports[1] == 20000 && ports[4] == 20000, "for every replica, no clash");
    leases_release(&held);
    j.worker[1].count = LIMIT_PORTS;
    is_int(ports_lease(a, &j.spec, true, &ports, &held, &e), -EINVAL, "too many from there on");
    has(e.text, "is not a valid port number", "and why");
}

int main(void)
{
    struct arena *a = arena_new();

    test_any(a);
    test_fixed(a);
    test_holder(a);
    test_used(a);
    test_own_network(a);
    arena_free(a);
    return tap_done();
}
