/* network.c - level `network`: a bridge in the job's own network namespace, and for each replica a
 * namespace with lo and eth0, whose other end is in the bridge.
 *
 * There is no way out: the bridge has no address and no neighbour outside the job. Two jobs may
 * therefore use the same addresses, and every replica has all ports to itself.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "shim/netlink.h"
#include "shim/shim.h"

#define NETWORK_PREFIX 16 /* of the job's addresses */
#define BRIDGE_INDEX 2    /* in the job's namespace, after lo */
#define ETH0_INDEX 2      /* in a replica's */

#define MODULE_HINT "; load the kernel modules bridge and veth (as root: modprobe bridge veth)"

static int make_bridge(struct shim *s, struct err *e)
{
    int r;

    s->net_fd = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);
    if (s->net_fd < 0)
        return err_sys(e, -errno, "cannot open the job's network namespace");
    s->net_sock = netlink_open();
    r = s->net_sock < 0 ? s->net_sock : netlink_up(s->net_sock, LOOPBACK_INDEX);
    if (r < 0)
        return err_sys(e, r, "cannot set up the job's network");
    r = netlink_bridge(s->net_sock, "br0", BRIDGE_INDEX);
    if (r < 0)
        return err_set(e, r, "cannot create a bridge: %s%s", strerror(-r),
                       r == -EOPNOTSUPP ? MODULE_HINT : "");
    return 0;
}

/* The kernel keeps one table of neighbours for all namespaces, with room for some 1,000 that were
 * found by asking: too few for 64 replicas that all talk to each other. What is told beforehand
 * does not count. */
static int name_neighbours(const struct shim *s, const struct replica *r, int sock)
{
    int result = 0;

    for (uint32_t i = 0; i < s->n_replicas && s->n_replicas <= LIMIT_NEIGHBOURS && result == 0;
         i++) {
        struct in_addr address;

        if (i != r->id && inet_pton(AF_INET, s->replicas[i].address, &address) == 1)
            result = netlink_neighbour(sock, ETH0_INDEX, ntohl(address.s_addr), i + 1);
    }
    return result;
}

static int set_up_eth0(const struct shim *s, const struct replica *r, uint32_t address, int sock)
{
    int result = netlink_up(sock, LOOPBACK_INDEX);

    if (result == 0)
        result = netlink_address(sock, ETH0_INDEX, address, NETWORK_PREFIX);
    if (result == 0)
        result = netlink_up(sock, ETH0_INDEX);
    if (result == 0)
        result = name_neighbours(s, r, sock);
    return result;
}

static int connect_replica(const struct shim *s, struct replica *r, struct err *e)
{
    auto_close int net_fd = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);
    auto_close int sock = netlink_open();
    struct in_addr address;
    char name[16];
    struct veth v = {.name = name,
                     .bridge = BRIDGE_INDEX,
                     .peer_name = "eth0",
                     .peer_index = ETH0_INDEX,
                     .peer_netns = net_fd,
                     .peer_tag = r->id + 1};
    int result;

    if (net_fd < 0 || sock < 0)
        return err_sys(e, -errno, "cannot keep the network of %s", r->name);
    if (inet_pton(AF_INET, r->address, &address) != 1)
        return err_set(e, -EINVAL, "%s has no address: %s", r->name, r->address);
    snprintf(name, sizeof(name), "v%u", r->id);
    result = netlink_veth(s->net_sock, &v);
    if (result < 0)
        return err_set(e, result, "cannot create eth0 of %s: %s%s", r->name, strerror(-result),
                       result == -EOPNOTSUPP ? MODULE_HINT : "");
    result = set_up_eth0(s, r, ntohl(address.s_addr), sock);
    if (result < 0)
        return err_sys(e, result, "cannot set up eth0 of %s", r->name);
    r->net_fd = TAKE_FD(net_fd);
    return 0;
}

/* All of them before anything starts: what is sent to a replica that is not there yet is lost, and
 * sent again only after a second. */
int network_open(struct shim *s, struct err *e)
{
    int result = make_bridge(s, e);

    for (uint32_t i = 0; i < s->n_replicas && result == 0; i++) {
        if (unshare(CLONE_NEWNET) < 0)
            return err_sys(e, -errno, "cannot create a network namespace");
        result = connect_replica(s, &s->replicas[i], e);
        if (setns(s->net_fd, CLONE_NEWNET) < 0)
            return err_sys(e, -errno, "cannot return to the job's network namespace");
    }
    return result;
}

/* Programs look for interfaces in /sys/class/net, which shows those of whoever mounted /sys. The
 * two directories that differ are laid over the old ones; /sys/fs/cgroup and all else stay. Where
 * this is not allowed (a container's masked /sys) they see the machine's names there: no reason to
 * fail. */
void network_show(const struct shim *s)
{
    static const char *const dirs[] = {"devices/virtual/net", "class/net"};
    auto_free char *sys = s->scratch_dir ? xasprintf("%s/sys", s->scratch_dir) : NULL;

    if (!sys) /* only a probe */
        return;
    if (mkdir(sys, 0700) < 0 && errno != EEXIST)
        return;
    if (mount("sysfs", sys, "sysfs", MS_NOSUID | MS_NODEV | MS_NOEXEC, NULL) < 0)
        return;
    for (size_t i = 0; i < ARRAY_SIZE(dirs); i++) {
        auto_free char *from = xasprintf("%s/%s", sys, dirs[i]);
        auto_free char *to = xasprintf("/sys/%s", dirs[i]);

        (void)mount(from, to, NULL, MS_BIND, NULL);
    }
    (void)umount2(sys, MNT_DETACH);
}
