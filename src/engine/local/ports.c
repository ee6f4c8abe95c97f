/* ports.c - see ports.h. The socket never listens: connecting to it is refused until the job does.
 *
 * Not here: who holds a port that is taken (port_owner.c).
 */
#include "engine/local/ports.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/io.h"
#include "base/mem.h"
#include "engine/local/port_owner.h"

/* Numbers for whoever asks for none in particular: above what services use, and outside the range
 * from which the kernel takes the local ports of connections. */
#define PORT_FIRST 20000
#define PORT_LAST 65000

struct range { /* the numbers of [PORT_FIRST, PORT_LAST] without [low, high], counted from 0 */
    unsigned low, high, n;
};

/* One port number of the job: whose it is. */
struct wanted {
    const struct role *role;
    int32_t index; /* of the replica */
    const struct port_request *port;
    int32_t i; /* of the label's numbers */
};

struct lease_request {
    struct arena *arena;
    const struct job_spec *spec;
    bool look_only;
    struct range range;
    const struct wanted *wanted; /* n of them, in the order of spec_n_ports() */
    int *numbers;                /* as many; 0: not given yet */
    struct leases *held;
    size_t n;
};

/* --- numbers ------------------------------------------------------------------------------------
 */

static struct range usable_range(void)
{
    auto_strbuf struct strbuf sb = STRBUF_INIT;
    struct range r = {.low = 32768, .high = 60999};

    if (io_read_file(AT_FDCWD, "/proc/sys/net/ipv4/ip_local_port_range", 64, &sb, NULL) == 0) {
        char *end;
        unsigned long low = strtoul(sb.buf, &end, 10), high = strtoul(end, NULL, 10);
        if (low > 0 && high >= low && high < 65536) {
            r.low = (unsigned)low;
            r.high = (unsigned)high;
        }
    }
    if (r.low < PORT_FIRST)
        r.low = PORT_FIRST;
    if (r.high > PORT_LAST)
        r.high = PORT_LAST;
    r.n = PORT_LAST - PORT_FIRST + 1;
    if (r.low <= r.high)
        r.n -= r.high - r.low + 1;
    if (r.n == 0) /* all of them are the kernel's: nothing better is left */
        r = (struct range){.low = 1, .high = 0, .n = PORT_LAST - PORT_FIRST + 1};
    return r;
}

static unsigned nth_port(const struct range *r, unsigned k)
{
    unsigned port = PORT_FIRST + k;

    return r->low <= r->high && port >= r->low ? port + (r->high - r->low + 1) : port;
}

static uint64_t mix(uint64_t h, const void *data, size_t n)
{
    const unsigned char *p = data;

    for (size_t i = 0; i < n; i++)
        h = (h ^ p[i]) * UINT64_C(0x100000001b3); /* FNV-1a */
    return h;
}

static uint64_t mix_text(uint64_t h, const char *text)
{
    return text ? mix(h, text, strlen(text) + 1) : mix(h, "", 1);
}

/* The directory is absolute and the file is as the user called it: its last part is always the
 * same. */
static unsigned first_guess(const struct lease_request *lr, const struct wanted *w)
{
    const struct job_spec *spec = lr->spec;
    const char *slash = spec->file ? strrchr(spec->file, '/') : NULL;
    uint64_t h = UINT64_C(0xcbf29ce484222325);

    h = mix_text(h, spec->dir);
    h = mix_text(h, slash ? slash + 1 : spec->file);
    h = mix_text(h, spec->name);
    h = mix_text(h, w->role->name);
    h = mix(h, &w->index, sizeof(w->index));
    h = mix_text(h, w->port->label);
    h = mix(h, &w->i, sizeof(w->i));
    return (unsigned)(h % lr->range.n);
}

/* --- sockets ------------------------------------------------------------------------------------
 */

static int allow_reuse(int fd)
{
    int on = 1;

    if (setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) < 0 ||
        setsockopt(fd, SOL_SOCKET, SO_REUSEPORT, &on, sizeof(on)) < 0)
        return -errno;
    return 0;
}

/* One socket of IPv6 that takes IPv4 too keeps both away; without IPv6 there is only the other. */
static int open_socket(struct sockaddr_storage *addr, unsigned port)
{
    struct sockaddr_in6 six = {.sin6_family = AF_INET6, .sin6_port = htons((uint16_t)port)};
    struct sockaddr_in four = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    int off = 0;
    auto_close int fd = socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0);

    *addr = (struct sockaddr_storage){0};
    if (fd >= 0 && setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof(off)) == 0) {
        memcpy(addr, &six, sizeof(six));
        return TAKE_FD(fd);
    }
    if (fd < 0 && errno != EAFNOSUPPORT)
        return -errno;
    memcpy(addr, &four, sizeof(four));
    int fd4 = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    return fd4 < 0 ? -errno : fd4;
}

/* reuse: even if closed connections of others are still known (see try_fixed()). */
static int try_port(unsigned port, bool reuse, int *ret_fd)
{
    struct sockaddr_storage addr;
    auto_close int fd = open_socket(&addr, port);
    int r = fd < 0 ? fd : reuse ? allow_reuse(fd) : 0;

    if (r == 0 && bind(fd, (struct sockaddr *)&addr, sizeof(addr)) < 0)
        r = -errno;
    if (r == 0 && !reuse)
        r = allow_reuse(fd);
    if (r == 0)
        *ret_fd = TAKE_FD(fd);
    return r;
}

/* A name that only one process of this network can have, for as long as it lives. */
static int lock_port(unsigned port, int *ret_fd)
{
    struct sockaddr_un addr = {.sun_family = AF_UNIX};
    auto_close int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    int n = snprintf(addr.sun_path + 1, sizeof(addr.sun_path) - 1, "muster/port/%u", port);

    if (fd < 0 || bind(fd, (struct sockaddr *)&addr,
                       (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)n)) < 0)
        return -errno;
    *ret_fd = TAKE_FD(fd);
    return 0;
}

static bool is_in_range(const struct range *r, unsigned port)
{
    return port >= PORT_FIRST && port <= PORT_LAST && !(port >= r->low && port <= r->high);
}

/* A number that a job insists on. For a minute after its last use the kernel still knows the
 * connections that were closed, and binds such a port only with SO_REUSEADDR, which would not see
 * the lease of another run. So runs keep each other off fixed ports by a lock too; only a number
 * that may also be somebody's guess has to wait. */
static int try_fixed(const struct range *range, unsigned port, int *ret_fd, int *ret_lock)
{
    int r = lock_port(port, ret_lock);

    if (r < 0)
        return r;
    r = try_port(port, false, ret_fd);
    if (r == -EADDRINUSE && !is_in_range(range, port) && port_is_closing(port))
        r = try_port(port, true, ret_fd);
    return r;
}

/* --- leasing ------------------------------------------------------------------------------------
 */

static int bind_error(int r, struct err *e)
{
    if (r == -EMFILE)
        return err_set(e, r,
                       "too few file descriptors to reserve ports; raise the limit (ulimit -n)");
    return err_sys(e, r, "cannot reserve a port");
}

static int lease_any(const struct lease_request *lr, const struct wanted *w, int *ret_fd,
                     struct err *e)
{
    unsigned k = first_guess(lr, w);

    for (unsigned tries = 0; tries < lr->range.n; tries++, k = (k + 1) % lr->range.n) {
        unsigned port = nth_port(&lr->range, k);
        int r = try_port(port, false, ret_fd);
        if (r == 0)
            return (int)port;
        if (r != -EADDRINUSE && r != -EACCES)
            return bind_error(r, e);
    }
    return err_set(e, -EADDRINUSE, "no free port between %d and %d outside the ephemeral range",
                   PORT_FIRST, PORT_LAST);
}

static const char *place(const struct lease_request *lr, const struct wanted *w)
{
    if (!w->port->at || !lr->spec->file)
        return "";
    return arena_printf(lr->arena, "%s:%u: ", lr->spec->file, w->port->at->pos.line);
}

/* Whoever of this job has the number already, or NULL. */
static const struct wanted *taken_by_ourselves(const struct lease_request *lr, int port)
{
    for (size_t i = 0; i < lr->n; i++)
        if (lr->numbers[i] == port)
            return &lr->wanted[i];
    return NULL;
}

static int lease_fixed(const struct lease_request *lr, const struct wanted *w, int *ret_fd,
                       int *ret_lock, struct err *e)
{
    int port = w->port->begin_at + w->i;

    if (port < 1 || port > 65535)
        return err_set(e, -EINVAL, "%sport %d of %s is not a valid port number", place(lr, w), port,
                       w->port->label);
    const struct wanted *ours = lr->look_only ? NULL : taken_by_ourselves(lr, port);
    if (ours)
        return err_set(e, -EADDRINUSE,
                       "%sport %d is used by both %s-%d and %s-%d, which share the ports of this "
                       "machine; use `--isolate network` to give every replica its own ports",
                       place(lr, w), port, ours->role->name, ours->index, w->role->name, w->index);
    int r = try_fixed(&lr->range, (unsigned)port, ret_fd, ret_lock);
    if (r == 0 || lr->look_only)
        return port;
    if (r == -EADDRINUSE)
        return err_set(e, r,
                       "%sport %d of %s-%d (%s) is already in use by %s; free it, or use "
                       "`--isolate network` to give every replica its own ports",
                       place(lr, w), port, w->role->name, w->index, w->port->label,
                       port_owner(lr->arena, (unsigned)port));
    return bind_error(r, e);
}

/* Fixed numbers come first: a guess must not take one of them away. */
static int lease_all(const struct lease_request *lr, struct err *e)
{
    for (int fixed = 1; fixed >= 0; fixed--)
        for (size_t i = 0; i < lr->n; i++) {
            const struct wanted *w = &lr->wanted[i];
            int *fd = &lr->held->fds[i];

            if ((w->port->begin_at != 0) != fixed)
                continue;
            int port = fixed ? lease_fixed(lr, w, fd, fd + lr->n, e) : lease_any(lr, w, fd, e);
            if (port < 0)
                return port;
            lr->numbers[i] = port;
        }
    return 0;
}

/* --- networks of their own ----------------------------------------------------------------------
 */

static int give_all(const struct lease_request *lr, struct err *e)
{
    spec_own_ports(lr->spec, PORT_FIRST, lr->numbers);
    for (size_t i = 0; i < lr->n; i++) {
        const struct wanted *w = &lr->wanted[i];

        if (lr->numbers[i] > 65535)
            return err_set(e, -EINVAL, "%sport %d of %s is not a valid port number", place(lr, w),
                           lr->numbers[i], w->port->label);
    }
    return 0;
}

/* ------------------------------------------------------------------------------------------------
 */

static const struct wanted *list_wanted(struct arena *a, const struct job_spec *spec, size_t n)
{
    struct wanted *v = ARENA_ARRAY(a, struct wanted, n + 1), *next = v;

    for (size_t k = 0; k < spec->n_roles; k++) {
        const struct role *role = &spec->roles[k];

        for (int32_t index = 0; role->n_ports && index < role->replicas; index++)
            for (size_t p = 0; p < role->n_ports; p++)
                for (int32_t i = 0;
                     port_applies(&role->ports[p], index) && i < role->ports[p].count; i++)
                    *next++ = (struct wanted){role, index, &role->ports[p], i};
    }
    return v;
}

int ports_lease(struct arena *a, const struct job_spec *spec, bool own_network, const int **ret,
                struct leases *held, struct err *e)
{
    struct leases looked = {0};
    struct lease_request lr = {
        .arena = a,
        .spec = spec,
        .look_only = !held,
        .range = usable_range(),
        .held = held ? held : &looked,
        .n = spec_n_ports(spec),
    };

    lr.wanted = list_wanted(a, spec, lr.n);
    lr.numbers = ARENA_ARRAY(a, int, lr.n + 1);
    *lr.held = (struct leases){.fds = xcalloc(2 * lr.n + 1, sizeof(int)), .n = 2 * lr.n};
    for (size_t i = 0; i < lr.held->n; i++)
        lr.held->fds[i] = -1;
    int r = own_network ? give_all(&lr, e) : lease_all(&lr, e);
    if (r < 0 || lr.look_only)
        leases_release(lr.held);
    if (r == 0 || lr.look_only)
        *ret = lr.numbers;
    return r;
}

void ports_hold(const struct job_spec *spec, bool own_network, const int *numbers,
                struct leases *held)
{
    size_t n = own_network ? 0 : spec_n_ports(spec);

    *held = (struct leases){.fds = xcalloc(n + 1, sizeof(int)), .n = n};
    for (size_t i = 0; i < n; i++)
        if (numbers[i] <= 0 || (try_port((unsigned)numbers[i], false, &held->fds[i]) < 0 &&
                                try_port((unsigned)numbers[i], true, &held->fds[i]) < 0))
            held->fds[i] = -1;
}

void leases_release(struct leases *held)
{
    for (size_t i = 0; i < held->n; i++)
        if (held->fds[i] >= 0)
            (void)close(held->fds[i]);
    free(held->fds);
    *held = (struct leases){0};
}
