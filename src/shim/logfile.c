/* logfile.c - see logfile.h. */
#include "shim/logfile.h"

#include <errno.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/limits.h"

void logfile_begin(struct logfile *l, int fd, int marks_fd)
{
    struct stat st;

    l->fd = fd;
    l->marks_fd = marks_fd;
    l->size = fstat(fd, &st) == 0 ? (uint64_t)st.st_size : 0;
}

/* One write, so that marks of several writers never mix. Without it the bytes count as the stream
 * of the mark before. */
static void mark(struct logfile *l, bool is_err)
{
    int64_t now = clock_run() / NS_PER_MS;
    char line[LIMIT_NAME + 256];

    if (l->marks_fd < 0)
        return;
    /* a clock that was set back gives a mark too */
    if (l->mark_ms && is_err == l->is_err && now >= l->mark_ms &&
        now - l->mark_ms < LOGFILE_MARK_MS)
        return;
    int n = snprintf(line, sizeof(line), "%lld %llu %c %s\n", (long long)now,
                     (unsigned long long)l->size, is_err ? 'e' : 'o', l->name);
    if (n < 0 || (size_t)n >= sizeof(line) || write(l->marks_fd, line, (size_t)n) != n)
        return;
    l->mark_ms = now;
    l->is_err = is_err;
}

size_t logfile_write(struct logfile *l, bool is_err, const char *data, size_t n)
{
    size_t done = 0;

    if (l->error || l->fd < 0)
        return 0;
    mark(l, is_err);
    while (done < n) {
        ssize_t w = write(l->fd, data + done, n - done);

        if (w < 0 && errno == EINTR)
            continue;
        if (w <= 0) {
            l->error = w < 0 ? -errno : -EIO;
            break;
        }
        done += (size_t)w;
    }
    l->size += done;
    return done;
}
