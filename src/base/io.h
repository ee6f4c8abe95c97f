/* io.h - files and descriptors: whole writes, whole reads with a limit, temp + rename. */
#ifndef BASE_IO_H
#define BASE_IO_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/strbuf.h"

/* All n bytes or -errno; EINTR is retried, EAGAIN waits with poll(). */
int io_write_all(int fd, const void *data, size_t n);

/* Opens a file where a job may have put something else: a pipe is not waited for, a symbolic link
 * not followed. The descriptor, or -errno: -EEXIST if it is no regular file. */
int io_open_regular(int dirfd, const char *path, int flags, mode_t mode);

/* The whole file into sb. -EFBIG beyond limit (the text names it), -EISDIR, … Works for pipes. */
int io_read_file(int dirfd, const char *path, size_t limit, struct strbuf *sb, struct err *e);
/* The same for a file that somebody else may have put there: -EINVAL unless it is a regular one. A
 * pipe is not waited for, a symbolic link not followed. */
int io_read_regular(int dirfd, const char *path, size_t limit, struct strbuf *sb, struct err *e);
/* The same from a descriptor that is open; name is for the error text. */
int io_read_fd(int fd, const char *name, size_t limit, struct strbuf *sb, struct err *e);

/* What a pipe gives until its writers have closed it: true; false when the time (clock_mono()) or
 * the room is used up before. */
bool io_read_until(int fd, ns_t deadline, size_t limit, struct strbuf *sb);

/* Writes name below dirfd by temporary file and rename, mode 0600. */
int io_write_atomic(int dirfd, const char *name, const void *data, size_t n, struct err *e);

/* mkdir -p, mode for each directory it makes. */
int io_mkdir_p(const char *path, mode_t mode, struct err *e);

/* Removes what is below path and path itself; symbolic links are removed, never followed.
 * A path that is not there is fine. */
int io_remove_tree(int dirfd, const char *path, struct err *e);

/* Is nothing in the directory that fd is open on? */
int io_dir_is_empty(int fd, bool *ret);

/* Opens /dev/null where one of descriptors 0 to 2 is closed: else the next file that is opened
 * would become a standard stream. For the first line of main(). False if that is impossible. */
bool io_fill_streams(void);
/* Was it closed then? */
bool io_stream_was_closed(int fd);

/* A file that reaches the caller's limit (ulimit -f) fails with -EFBIG and does not end the
 * process. Programs that are executed have the default again. */
void io_survive_file_limit(void);

/* The next connection of a listening socket, close-on-exec and non-blocking, or -errno. Where
 * descriptors have run out (-EMFILE, -ENFILE) *spare, any descriptor kept for this, is given up for
 * a moment to take the connection and close it: else the socket would stay ready and its loop spin.
 */
int io_accept(int listen_fd, int *spare);
int io_spare(void); /* a descriptor to keep, or -1 */

/* Checks that n more descriptors can be opened. 0, or -EMFILE or -ENFILE; e says what to raise. */
int io_need_descriptors(int n, struct err *e);

int io_set_nonblock(int fd);
int io_set_cloexec(int fd, int on);

#endif
