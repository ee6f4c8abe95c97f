/* reserve.c - see reserve.h. */
#include "rundir/reserve.h"

#include <fcntl.h>
#include <unistd.h>

#include "base/mem.h"

/* A rank takes some 300 bytes of the report, a replica some 600; a verdict and its log tail some 20
 * KiB. */
enum { FOR_JOB = 48 * 1024, FOR_EACH = 1024 };

void reserve_take(int dir_fd, const struct plan *plan)
{
    off_t world = plan->world > 0 ? plan->world : 0;
    off_t size = FOR_JOB + FOR_EACH * ((off_t)plan->n_replicas + plan->n_processes + world);
    auto_close int fd = openat(dir_fd, RESERVE_NAME, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);

    if (fd >= 0 && fallocate(fd, 0, 0, size) < 0)
        (void)unlinkat(dir_fd, RESERVE_NAME, 0);
}

void reserve_release(int dir_fd)
{
    (void)unlinkat(dir_fd, RESERVE_NAME, 0);
}
