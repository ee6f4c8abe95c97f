/* netlink.c - see netlink.h. One message at a time, each acknowledged: a replica takes four.
 *
 * Not here: reading anything back. Interfaces get numbers of our choice, so nothing has to be
 * looked up.
 */
#include "shim/netlink.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/if_addr.h>
#include <linux/if_link.h>
#include <linux/neighbour.h>
#include <linux/rtnetlink.h>
#include <linux/veth.h>
#include <net/if.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cleanup.h"

struct message {
    struct nlmsghdr header; /* its length grows with what is put */
    char body[512];
};

/* --- putting a message together --------------------------------------------------------------- */

static void *put(struct message *m, const void *data, size_t n)
{
    char *at = (char *)m + NLMSG_ALIGN(m->header.nlmsg_len);

    memcpy(at, data, n);
    m->header.nlmsg_len = NLMSG_ALIGN(m->header.nlmsg_len) + (uint32_t)n;
    return at;
}

static void put_attr(struct message *m, unsigned short type, const void *data, size_t n)
{
    struct rtattr attr = {.rta_type = type, .rta_len = (unsigned short)RTA_LENGTH(n)};

    (void)put(m, &attr, sizeof(attr));
    if (n > 0)
        (void)put(m, data, n);
}

static void put_text(struct message *m, unsigned short type, const char *text)
{
    put_attr(m, type, text, strlen(text) + 1);
}

static struct rtattr *nest_begin(struct message *m, unsigned short type)
{
    struct rtattr attr = {.rta_type = type};

    return put(m, &attr, sizeof(attr));
}

static void nest_end(struct message *m, struct rtattr *nest)
{
    nest->rta_len = (unsigned short)((char *)m + m->header.nlmsg_len - (char *)nest);
}

static struct message message(unsigned short type, unsigned short flags, const void *head, size_t n)
{
    struct message m = {.header = {.nlmsg_len = NLMSG_HDRLEN,
                                   .nlmsg_type = type,
                                   .nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK | flags}};

    (void)put(&m, head, n);
    return m;
}

static void put_hardware_address(struct message *m, unsigned short type, uint32_t tag)
{
    uint32_t low = htonl(tag);
    unsigned char bytes[6] = {0x02}; /* locally administered */

    memcpy(bytes + 2, &low, sizeof(low));
    put_attr(m, type, bytes, sizeof(bytes));
}

/* --- sending ---------------------------------------------------------------------------------- */

int netlink_open(void)
{
    int sock = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);

    return sock < 0 ? -errno : sock;
}

static int talk(int sock, const struct message *m)
{
    struct {
        struct nlmsghdr header;
        struct nlmsgerr error;
        char rest[1024]; /* our own message comes back with an error */
    } answer;
    ssize_t n;

    if (send(sock, m, m->header.nlmsg_len, 0) < 0)
        return -errno;
    do
        n = recv(sock, &answer, sizeof(answer), 0);
    while (n < 0 && errno == EINTR);
    if (n < 0)
        return -errno;
    if ((size_t)n < sizeof(answer.header) + sizeof(answer.error.error) ||
        answer.header.nlmsg_type != NLMSG_ERROR)
        return -EPROTO;
    return answer.error.error;
}

/* --- requests --------------------------------------------------------------------------------- */

int netlink_up(int sock, int index)
{
    struct ifinfomsg link = {.ifi_index = index, .ifi_flags = IFF_UP, .ifi_change = IFF_UP};
    struct message m = message(RTM_NEWLINK, 0, &link, sizeof(link));

    return talk(sock, &m);
}

int netlink_bridge(int sock, const char *name, int index)
{
    struct ifinfomsg link = {.ifi_index = index, .ifi_flags = IFF_UP, .ifi_change = IFF_UP};
    struct message m = message(RTM_NEWLINK, NLM_F_CREATE | NLM_F_EXCL, &link, sizeof(link));
    struct rtattr *info;

    put_text(&m, IFLA_IFNAME, name);
    info = nest_begin(&m, IFLA_LINKINFO);
    put_text(&m, IFLA_INFO_KIND, "bridge");
    nest_end(&m, info);
    return talk(sock, &m);
}

int netlink_veth(int sock, const struct veth *v)
{
    struct ifinfomsg link = {.ifi_flags = IFF_UP, .ifi_change = IFF_UP};
    struct ifinfomsg peer_link = {.ifi_index = v->peer_index};
    struct message m = message(RTM_NEWLINK, NLM_F_CREATE | NLM_F_EXCL, &link, sizeof(link));
    struct rtattr *info, *data, *peer;

    put_text(&m, IFLA_IFNAME, v->name);
    put_attr(&m, IFLA_MASTER, &v->bridge, sizeof(v->bridge));
    info = nest_begin(&m, IFLA_LINKINFO);
    put_text(&m, IFLA_INFO_KIND, "veth");
    data = nest_begin(&m, IFLA_INFO_DATA);
    peer = nest_begin(&m, VETH_INFO_PEER);
    (void)put(&m, &peer_link, sizeof(peer_link));
    put_text(&m, IFLA_IFNAME, v->peer_name);
    put_hardware_address(&m, IFLA_ADDRESS, v->peer_tag);
    put_attr(&m, IFLA_NET_NS_FD, &v->peer_netns, sizeof(v->peer_netns));
    nest_end(&m, peer);
    nest_end(&m, data);
    nest_end(&m, info);
    return talk(sock, &m);
}

int netlink_address(int sock, int index, uint32_t address, int prefix)
{
    struct ifaddrmsg head = {.ifa_family = AF_INET,
                             .ifa_prefixlen = (unsigned char)prefix,
                             .ifa_index = (unsigned)index};
    struct message m = message(RTM_NEWADDR, NLM_F_CREATE | NLM_F_EXCL, &head, sizeof(head));
    uint32_t all = htonl(address | (0xffffffffU >> prefix));
    uint32_t own = htonl(address);

    put_attr(&m, IFA_LOCAL, &own, sizeof(own));
    put_attr(&m, IFA_ADDRESS, &own, sizeof(own));
    put_attr(&m, IFA_BROADCAST, &all, sizeof(all));
    return talk(sock, &m);
}

int netlink_neighbour(int sock, int index, uint32_t address, uint32_t tag)
{
    struct ndmsg head = {.ndm_family = AF_INET, .ndm_ifindex = index, .ndm_state = NUD_PERMANENT};
    struct message m = message(RTM_NEWNEIGH, NLM_F_CREATE | NLM_F_REPLACE, &head, sizeof(head));
    uint32_t dst = htonl(address);

    put_attr(&m, NDA_DST, &dst, sizeof(dst));
    put_hardware_address(&m, NDA_LLADDR, tag);
    return talk(sock, &m);
}
