/* packet.h - one frame per packet of a SOCK_SEQPACKET socket, descriptors beside it: how agents,
 * rank wrappers and the supervisor talk.
 */
#ifndef SHIM_PACKET_H
#define SHIM_PACKET_H

#include <sys/types.h>

#include "base/strbuf.h"
#include "shim/wire.h"

#define PACKET_FDS 3 /* at most, in one packet */

struct packet {
    enum wire_type type;
    struct wire_reader body; /* on the caller's buffer */
    int fds[PACKET_FDS];     /* -1 where there is none; packet_close() closes those not taken */
    int n_fds;
};

/* Both as sockets of the directory dir_fd; a socket or -errno. */
int packet_listen(int dir_fd, const char *name);
int packet_connect(int dir_fd, const char *name);
int stream_listen(int dir_fd, const char *name); /* the same without packets */
/* Connects to the supervisor of the run that this process belongs to (MUSTER_RUN_DIR); -ENOENT if
 * it belongs to none. */
int packet_connect_run(void);

/* Who is at the other end (of a connection: who listened): its pid, or -1. */
pid_t packet_peer(int sock, uid_t *ret_uid);

/* 0 or -errno. No SIGPIPE. */
int packet_send(int sock, const struct strbuf *frame, const int *fds, int n_fds);

/* 0, -EAGAIN, -ECONNRESET (the other side is gone), -EPROTO (not one of our frames, or more
 * descriptors than PACKET_FDS). Only with 0 does the caller own descriptors: all others that came
 * are closed. */
int packet_receive(int sock, char *buf, size_t size, struct packet *ret);
void packet_close(struct packet *p);

#endif
