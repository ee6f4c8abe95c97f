/* pipe_in.c - see pipe_in.h. */
#include "shim/pipe_in.h"

#include <errno.h>
#include <sys/ioctl.h>
#include <unistd.h>

size_t pipe_take(int *fd, void *buf, size_t size)
{
    ssize_t n = read(*fd, buf, size);

    if (n > 0)
        return (size_t)n;
    if (n == 0 || (errno != EAGAIN && errno != EINTR)) {
        (void)close(*fd);
        *fd = -1;
    }
    return 0;
}

void pipe_drain(int fd, size_t (*take)(void *ctx), void *ctx)
{
    int left = 0;

    if (fd >= 0)
        (void)ioctl(fd, FIONREAD, &left);
    while (left > 0) {
        size_t n = take(ctx);

        if (n == 0)
            return;
        left -= (int)n;
    }
}
