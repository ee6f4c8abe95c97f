/* proc_net.h - one line of /proc/PID/net/tcp, tcp6 or unix. */
#ifndef BASE_PROC_NET_H
#define BASE_PROC_NET_H

#include <stdbool.h>
#include <stdint.h>

#define PROC_NET_BYTES (16 * 1024 * 1024) /* of a table that are read */

/* As the kernel numbers them. */
enum socket_state {
    SOCKET_ESTABLISHED = 1,
    SOCKET_SYN_SENT = 2,
    SOCKET_TIME_WAIT = 6,
    SOCKET_CLOSE_WAIT = 8,
    SOCKET_LISTEN = 10,
};

/* An IPv4 address that is mapped into IPv6 is given as IPv4, so that both ends of a connection are
 * written alike. */
struct tcp_end {
    bool six;
    uint32_t word[4]; /* network byte order; IPv4: the first */
    unsigned port;
};

struct tcp_line {
    struct tcp_end local, far;
    unsigned state, uid;
    unsigned long unsent, unread; /* bytes */
    unsigned long inode;          /* 0: no process has it */
};

/* Parses a line of tcp or tcp6. False: it is none, such as the heading. */
bool proc_tcp_line(const char *line, struct tcp_line *ret);

/* The word of that number in a line, counted from 0; "" if it has fewer. */
const char *proc_net_word(const char *line, int k);

#endif
