/* stop_notice.h - did its launcher tell a rank to end, before it did? Part of the rank wrapper.
 *
 * orted sends SIGTERM to the process group of the wrapper, in which the rank is too, and SIGKILL a
 * second later. The wrapper blocks these signals and reads who sent them. hydra_pmi_proxy often
 * sends SIGKILL at once, which nobody can block. There the wrapper is two processes: the one that
 * the proxy started stays in the group as a sentinel, and its child, which has left the group, does
 * the work. The sentinel's pending signals, or its silence, show what the group was sent.
 */
#ifndef SHIM_STOP_NOTICE_H
#define SHIM_STOP_NOTICE_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/clock.h"

struct stop_notice {
    pid_t launcher; /* the daemon that started us */
    int fd;         /* of signals; -1: there is a sentinel, or nothing */
    pid_t sentinel; /* 0 = none */
    int sock;       /* to it */
    ns_t at;        /* when it was told; 0 = it was not */
};

/* Before anything else; hydra: the wrapper becomes two, and the second returns. */
void stop_notice_begin(struct stop_notice *t, bool hydra);
/* The rank has been started: a wrapper that is two leaves its group. */
void stop_notice_leave(const struct stop_notice *t);
/* fd is readable. True if it was told just now. */
bool stop_notice_read(struct stop_notice *t);
/* The rank has ended with this status. */
void stop_notice_finish(struct stop_notice *t, int status);
/* Ends as the rank did: the exit code, if there is one. */
int stop_notice_end(const struct stop_notice *t, int status);

#endif
