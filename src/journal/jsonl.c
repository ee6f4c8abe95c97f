/* jsonl.c - the journal of a foreground run: JSON lines in its run directory. */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/io.h"
#include "base/mem.h"
#include "journal/journal.h"
#include "journal/record.h"

struct jsonl {
    struct journal journal;
    int dir_fd, fd;
    off_t whole; /* so much of the file is lines that count */
    struct strbuf batch;
    struct strbuf record; /* until it is written; then empty */
};

static void jsonl_add(struct journal *jn, const struct job *job, const struct event *ev)
{
    struct jsonl *jl = (struct jsonl *)jn;

    if (ev->type == EVENT_CREATED)
        record_write(&jl->record, job->plan, &job->rules);
    journal_line(&jl->batch, job, ev);
}

/* At a place of the file, not at its end: what a failed write has left is written over. */
static int write_at(int fd, const char *text, size_t n, off_t at)
{
    for (size_t done = 0; done < n;) {
        ssize_t r = pwrite(fd, text + done, n - done, at + (off_t)done);

        if (r < 0 && errno != EINTR)
            return -errno;
        done += r > 0 ? (size_t)r : 0;
    }
    return 0;
}

static int jsonl_commit(struct journal *jn, struct err *e)
{
    struct jsonl *jl = (struct jsonl *)jn;
    int r;

    if (jl->batch.len == 0)
        return 0;
    if (jl->record.len > 0) {
        r = io_write_atomic(jl->dir_fd, RECORD_NAME, jl->record.buf, jl->record.len, e);
        if (r < 0)
            return r;
        strbuf_truncate(&jl->record, 0);
    }
    r = write_at(jl->fd, jl->batch.buf, jl->batch.len, jl->whole);
    if (r < 0)
        return err_sys(e, r, "cannot write %s", JOURNAL_NAME);
    jl->whole += (off_t)jl->batch.len;
    strbuf_truncate(&jl->batch, 0);
    return 0;
}

static void jsonl_close(struct journal *jn)
{
    struct jsonl *jl = (struct jsonl *)jn;

    (void)close(jl->fd);
    (void)close(jl->dir_fd);
    strbuf_release(&jl->batch);
    strbuf_release(&jl->record);
    free(jl);
}

static const struct journal_ops jsonl_ops = {
    .add = jsonl_add, .commit = jsonl_commit, .close = jsonl_close};

/* A line without its end counts for nobody: its writer was killed. */
static off_t whole_lines(int fd, off_t size)
{
    char chunk[4096];

    while (size > 0) {
        size_t n = size < (off_t)sizeof(chunk) ? (size_t)size : sizeof(chunk);
        const char *nl =
            pread(fd, chunk, n, size - (off_t)n) == (ssize_t)n ? memrchr(chunk, '\n', n) : NULL;

        size -= (off_t)n;
        if (nl)
            return size + (nl - chunk) + 1;
    }
    return 0;
}

int journal_open_jsonl(int dirfd, struct journal **ret, struct err *e)
{
    auto_close int dir = fcntl(dirfd, F_DUPFD_CLOEXEC, 0);
    auto_close int fd = openat(dirfd, JOURNAL_NAME, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    struct stat st;

    if (dir < 0 || fd < 0 || fstat(fd, &st) < 0)
        return err_sys(e, -errno, "cannot create %s", JOURNAL_NAME);
    struct jsonl *jl = xcalloc(1, sizeof(*jl));
    off_t whole = whole_lines(fd, st.st_size);
    *jl = (struct jsonl){.journal.ops = &jsonl_ops,
                         .dir_fd = TAKE_FD(dir),
                         .fd = TAKE_FD(fd),
                         .whole = whole,
                         .batch = STRBUF_INIT,
                         .record = STRBUF_INIT};
    *ret = &jl->journal;
    return 0;
}
