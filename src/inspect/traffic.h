/* traffic.h - bytes that went through the TCP connections of this machine, per socket.
 *
 * /proc/PID/io counts read(2) and write(2), but not send(2) and recv(2); the kernel's sock_diag
 * tells what each connection has carried. Only connections of our own network namespace are seen;
 * for another one there is the sum of all its IP traffic.
 */
#ifndef INSPECT_TRAFFIC_H
#define INSPECT_TRAFFIC_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct traffic;

/* As it is now. Never NULL; empty where the kernel does not tell. */
struct traffic *traffic_read(void);
void traffic_free(struct traffic *t);

/* Is the process in our own network namespace? *ret_ns tells namespaces apart. */
bool traffic_sees(pid_t pid, ino_t *ret_ns);

/* Through the sockets that a process has open. */
uint64_t traffic_of(const struct traffic *t, pid_t pid);

/* Through the whole network namespace of a process. */
uint64_t traffic_of_namespace(pid_t pid);

#endif
