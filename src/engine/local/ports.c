/* ports.c - see ports.h. The socket never listens: connecting to it is refused until the job does. */
#include "engine/local/ports.h"

#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/io.h"
#include "base/mem.h"

#define PORT_FIRST 20000
#define PORT_LAST 65000
#define PORT_TRIES 400

static void ephemeral_range(unsigned *ret_low, unsigned *ret_high)
{
    auto_strbuf struct strbuf sb = STRBUF_INIT;

    *ret_low = 32768;
    *ret_high = 60999;
    if (io_read_file(-1, "/proc/sys/net/ipv4/ip_local_port_range", 64, &sb, NULL) < 0)
        return;
    char *end;
    unsigned long low = strtoul(sb.buf, &end, 10), high = strtoul(end, NULL, 10);
    if (low > 0 && high >= low && high < 65536) {
        *ret_low = (unsigned)low;
        *ret_high = (unsigned)high;
    }
}

static int try_port(unsigned port, int *ret_fd)
{
    struct sockaddr_in addr = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    int on = 1;
    auto_close int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    if (fd < 0 || bind(fd, (struct sockaddr *)&addr, sizeof(addr)) < 0)
        return -errno;
    if (setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) < 0 ||
        setsockopt(fd, SOL_SOCKET, SO_REUSEPORT, &on, sizeof(on)) < 0)
        return -errno;
    *ret_fd = TAKE_FD(fd);
    return 0;
}

static int lease_any(int *ret_fd, struct err *e)
{
    unsigned low, high;

    ephemeral_range(&low, &high);
    for (int i = 0; i < PORT_TRIES; i++) {
        unsigned port = PORT_FIRST + arc4random_uniform(PORT_LAST - PORT_FIRST + 1);
        if (port >= low && port <= high)
            continue;
        int r = try_port(port, ret_fd);
        if (r == 0)
            return (int)port;
        if (r != -EADDRINUSE && r != -EACCES)
            return err_sys(e, r, "cannot reserve a port");
    }
    return err_set(e, -EADDRINUSE, "no free port between %d and %d outside the ephemeral range",
                   PORT_FIRST, PORT_LAST);
}

int ports_lease(struct arena *a, const struct job_spec *spec, bool own_network, const int **ret,
                struct leases *held, struct err *e)
{
    size_t n = spec_n_ports(spec);
    int *numbers = ARENA_ARRAY(a, int, n + 1);

    (void)own_network;
    *held = (struct leases){.fds = xcalloc(n + 1, sizeof(int))};
    for (; held->n < n; held->n++) {
        int port = lease_any(&held->fds[held->n], e);

        if (port < 0) {
            leases_release(held);
            return port;
        }
        numbers[held->n] = port;
    }
    *ret = numbers;
    return 0;
}

void leases_release(struct leases *held)
{
    for (size_t i = 0; i < held->n; i++)
        (void)close(held->fds[i]);
    free(held->fds);
    *held = (struct leases){0};
}
