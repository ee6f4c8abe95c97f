/* feed.c - see feed.h. */
#include "shim/feed.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/limits.h"
#include "base/mem.h"
#include "shim/pod.h"

struct feed_log {
    char *name;   /* "": RUN_DIR/marks */
    int64_t sent; /* bytes */
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
    if (s->pod)
        s->pod->feed.on = false;
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

/* True if there may be more, for which there is no room now. */
static bool send_log(struct shim *s, struct feed_log *log)
{
    static char chunk[32 * 1024];
    const char *name = *log->name ? log->name : "../marks";
    struct stat st;
    ssize_t n;

    if (fstatat(s->logs_fd, name, &st, AT_SYMLINK_NOFOLLOW) < 0 || st.st_size <= log->sent)
        return false;
    auto_close int fd = openat(s->logs_fd, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    if (fd < 0)
        return false;
    while (!link_is_full(&s->link)) {
        n = pread(fd, chunk, sizeof(chunk), log->sent);
        if (n <= 0)
            return false;
        put_output(s, log, chunk, (size_t)n);
    }
    return true;
}

bool feed_logs(struct shim *s)
{
    bool more = false;

    if (!s->pod || !s->pod->feed.on || s->link.fd < 0 || !s->is_set_up)
        return false;
    for (size_t i = 0; i < s->pod->feed.n; i++)
        more |= send_log(s, &s->pod->feed.v[i]);
    return more;
}

void feed_finish(struct shim *s, int timeout_ms)
{
    while (feed_logs(s))
        if (link_flush_wait(&s->link, timeout_ms) < 0)
            return;
}
