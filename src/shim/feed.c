/* feed.c - see feed.h. */
#include "shim/feed.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/io.h"
#include "base/limits.h"
#include "base/mem.h"
#include "shim/pod.h"

struct feed_log {
    char *name;    /* "": RUN_DIR/marks */
    int64_t sent;  /* bytes */
    int64_t until; /* so many before the reports that wait */
};

static struct feed_log *get(struct feed *f, const char *name)
{
    for (size_t i = 0; i < f->n; i++)
        if (strcmp(f->v[i].name, name) == 0)
            return &f->v[i];
    GROW(f->v, f->n, f->cap);
    f->v[f->n] = (struct feed_log){.name = xstrdup(name)};
    return &f->v[f->n++];
}

void feed_add(struct shim *s, const char *name)
{
    if (s->pod)
        (void)get(&s->pod->feed, name);
}

void feed_stop(struct shim *s)
{
    if (!s->pod)
        return;
    s->pod->feed.on = false;
    strbuf_truncate(&s->pod->feed.held, 0);
}

static const char *file_of(const struct feed_log *log)
{
    return *log->name ? log->name : "../marks";
}

/* Reports wait for what logs hold now, and no more: a process that goes on writing does not keep
 * back the end of another one. */
static void wait_for_logs(struct shim *s)
{
    struct feed *f = &s->pod->feed;
    struct stat st;

    for (size_t i = 0; i < f->n; i++)
        f->v[i].until =
            s->pod->unread || fstatat(s->logs_fd, file_of(&f->v[i]), &st, AT_SYMLINK_NOFOLLOW) < 0
                ? 0
                : st.st_size;
}

void feed_tell_all(struct shim *s)
{
    struct strbuf *held = &s->pod->feed.held;

    strbuf_truncate(held, 0); /* what came since the connection is in the history */
    history_put(&s->history, held);
    wire_frame_end(held, wire_frame_begin(held, WIRE_TOLD));
}

static bool is_complete(const struct feed *f)
{
    for (size_t i = 0; i < f->n; i++)
        if (f->v[i].sent < f->v[i].until)
            return false;
    return true;
}

void feed_hold(struct shim *s, size_t frame, bool is_end)
{
    struct strbuf *out = &s->link.out;
    struct feed *f = s->pod ? &s->pod->feed : NULL;

    if (!f || s->link.fd < 0)
        return;
    if (is_end && f->on)
        wait_for_logs(s);
    if (f->on && f->held.len == 0 && (!is_end || is_complete(f)))
        return;
    strbuf_add(&f->held, out->buf + frame, out->len - frame);
    strbuf_truncate(out, frame);
}

int feed_follow(struct shim *s, struct wire_reader *r)
{
    uint32_t n = wire_get_u32(r);
    struct feed *f;

    if (!s->pod)
        return -EPROTO;
    f = &s->pod->feed;
    (void)get(f, "");
    for (size_t i = 0; i < f->n; i++)
        f->v[i].sent = 0;
    for (uint32_t i = 0; i < n && !r->broken; i++) {
        const char *name = wire_get_str(r);
        int64_t offset = wire_get_i64(r);

        if (offset < 0 || (*name && !output_log_name_ok(name)))
            return -EPROTO;
        get(f, name)->sent = offset;
    }
    f->on = true;
    wait_for_logs(s);
    return wire_done(r) ? 0 : -EPROTO;
}

static void put_output(struct shim *s, struct feed_log *log, const char *data, size_t n)
{
    struct strbuf *out = &s->link.out;
    size_t frame = wire_frame_begin(out, WIRE_OUTPUT);

    wire_put_str(out, log->name);
    wire_put_i64(out, log->sent);
    wire_put_bytes(out, data, n);
    wire_frame_end(out, frame);
    log->sent += (int64_t)n;
}

/* What cannot be read any more is not waited for. */
static bool ends_here(struct feed_log *log)
{
    log->until = 0;
    return false;
}

/* True if there may be more, for which there is no room now. */
static bool send_log(struct shim *s, struct feed_log *log)
{
    static char chunk[32 * 1024];
    const char *name = file_of(log);
    struct stat st;
    ssize_t n;

    if (fstatat(s->logs_fd, name, &st, AT_SYMLINK_NOFOLLOW) < 0 || st.st_size <= log->sent)
        return ends_here(log);
    auto_close int fd = io_open_regular(s->logs_fd, name, O_RDONLY, 0);
    if (fd < 0)
        return ends_here(log);
    while (!link_is_full(&s->link)) {
        n = pread(fd, chunk, sizeof(chunk), log->sent);
        if (n <= 0)
            return ends_here(log);
        put_output(s, log, chunk, (size_t)n);
    }
    return true;
}

bool feed_logs(struct shim *s)
{
    struct feed *f = s->pod ? &s->pod->feed : NULL;
    bool more = false;

    if (!f || !f->on || s->link.fd < 0 || !s->is_set_up)
        return false;
    for (size_t i = 0; !s->pod->unread && i < f->n; i++)
        more |= send_log(s, &f->v[i]);
    if (f->held.len > 0 && is_complete(f)) {
        strbuf_add(&s->link.out, f->held.buf, f->held.len);
        strbuf_truncate(&f->held, 0);
    }
    return more;
}

void feed_finish(struct shim *s, int timeout_ms)
{
    while (feed_logs(s))
        if (link_flush_wait(&s->link, timeout_ms) < 0)
            return;
}
