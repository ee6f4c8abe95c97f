/* io.h - files and descriptors: whole writes, whole reads with a limit, temp + rename. */
#ifndef BASE_IO_H
#define BASE_IO_H

#include <stddef.h>
#include <sys/types.h>

#include "base/err.h"
#include "base/strbuf.h"

/* All n bytes or -errno; EINTR is retried, EAGAIN waits with poll(). */
int io_write_all(int fd, const void *data, size_t n);

/* The whole file into sb. -EFBIG beyond limit (the text names it), -EISDIR, … Works for pipes. */
int io_read_file(int dirfd, const char *path, size_t limit, struct strbuf *sb, struct err *e);
/* The same from a descriptor that is open; name is for the error text. */
int io_read_fd(int fd, const char *name, size_t limit, struct strbuf *sb, struct err *e);

/* Writes name below dirfd by temporary file and rename, mode 0600. */
int io_write_atomic(int dirfd, const char *name, const void *data, size_t n, struct err *e);

/* mkdir -p, mode for each directory it makes. */
int io_mkdir_p(const char *path, mode_t mode, struct err *e);

/* Removes what is below path and path itself; symbolic links are removed, never followed.
 * A path that is not there is fine. */
int io_remove_tree(int dirfd, const char *path, struct err *e);

int io_set_nonblock(int fd);
int io_set_cloexec(int fd, int on);

#endif
