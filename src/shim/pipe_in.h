/* pipe_in.h - reading what a process writes into a pipe, without ever waiting for it. */
#ifndef SHIM_PIPE_IN_H
#define SHIM_PIPE_IN_H

#include <stddef.h>

/* One read from a non-blocking pipe: its bytes, or 0 if there are none now. At the end of the pipe
 * *fd is closed and becomes -1. */
size_t pipe_take(int *fd, void *buf, size_t size);

/* Calls take, which returns what pipe_take() did, for what is in the pipe now and no more: a child
 * that never stops writing, or that holds the pipe for ever, must not keep us here. -1 is empty. */
void pipe_drain(int fd, size_t (*take)(void *ctx), void *ctx);

#endif
