/* kernel.h - system calls for which musl 1.2 has no header: pidfds, mount trees, close_range().
 *
 * With glibc it includes glibc's own headers. The shim for pods is built with musl where that is
 * installed (doc/design/musl.md).
 */
#ifndef BASE_KERNEL_H
#define BASE_KERNEL_H

#include <fcntl.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifdef __GLIBC__

#include <sys/pidfd.h>

#else

#include <linux/close_range.h>
#include <linux/mount.h>
#include <linux/stat.h>

#ifndef AT_RECURSIVE
#define AT_RECURSIVE 0x8000
#endif

static inline int pidfd_open(pid_t pid, unsigned flags)
{
    return (int)syscall(SYS_pidfd_open, pid, flags);
}

static inline int pidfd_send_signal(int fd, int sig, siginfo_t *info, unsigned flags)
{
    return (int)syscall(SYS_pidfd_send_signal, fd, sig, info, flags);
}

static inline int close_range(unsigned first, unsigned last, int flags)
{
    return (int)syscall(SYS_close_range, first, last, flags);
}

static inline int open_tree(int dir, const char *path, unsigned flags)
{
    return (int)syscall(SYS_open_tree, dir, path, flags);
}

static inline int move_mount(int from_dir, const char *from, int to_dir, const char *to,
                             unsigned flags)
{
    return (int)syscall(SYS_move_mount, from_dir, from, to_dir, to, flags);
}

static inline int mount_setattr(int dir, const char *path, unsigned flags, struct mount_attr *attr,
                                size_t size)
{
    return (int)syscall(SYS_mount_setattr, dir, path, flags, attr, size);
}

static inline int statx(int dir, const char *path, int flags, unsigned mask, struct statx *ret)
{
    return (int)syscall(SYS_statx, dir, path, flags, mask, ret);
}

#endif
#endif
