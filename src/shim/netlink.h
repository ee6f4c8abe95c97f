/* netlink.h - the few requests to the kernel's rtnetlink that a replica's network takes.
 *
 * A socket speaks for the network namespace it was made in, wherever its owner goes afterwards.
 * Every function waits for the kernel's answer: 0 or -errno.
 */
#ifndef SHIM_NETLINK_H
#define SHIM_NETLINK_H

#include <stdint.h>

#define LOOPBACK_INDEX 1 /* in every network namespace */

struct veth { /* a pair of interfaces: one end here, in a bridge, the other elsewhere */
    const char *name;
    int bridge; /* index of its interface */
    const char *peer_name;
    int peer_index;    /* the number it gets there */
    int peer_netns;    /* descriptor of the namespace it goes to */
    uint32_t peer_tag; /* makes its hardware address, so that it is the same in every run */
};

int netlink_open(void); /* a descriptor or -errno */
int netlink_up(int sock, int index);
int netlink_bridge(int sock, const char *name, int index);
int netlink_veth(int sock, const struct veth *v); /* this end is up afterwards, not the other */
int netlink_address(int sock, int index, uint32_t address, int prefix);
/* Says for good what the hardware address of that tag's owner is. */
int netlink_neighbour(int sock, int index, uint32_t address, uint32_t tag);

#endif
