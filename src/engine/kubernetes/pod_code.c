/* pod_code.c - sends code and inputs into a pod, over the connection to its shim.
 *
 * A bounded piece for each turn of the loop, and only when the connection has room: a slow pod
 * costs neither memory nor anybody else's time. Nothing else is sent to the shim before it has
 * answered that all files are written, so that no process starts with half of its code. After a
 * lost connection it begins again.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/io.h"
#include "base/limits.h"
#include "base/mem.h"
#include "engine/kubernetes/parts.h"
#include "shim/wire.h"

enum {
    PIECE = 64 * 1024, /* of a file in one frame */
    TURN = 256 * 1024, /* in one turn of the loop */
    PROGRESS_S = 5,    /* between two notes */
};

int pod_code_list(struct kubernetes *kb, struct err *e)
{
    const struct site *site = &kb->plan->facts->site;
    int r = 0;

    if (site->code_from)
        r = code_add(&kb->code, site->code_from, POD_CODE, "use --code-volume CLAIM", e);
    for (size_t i = 0; site->inputs && i < kb->plan->spec->n_values && r == 0; i++) {
        if (!site->inputs_from[i])
            continue;
        r = code_add(&kb->code, site->inputs_from[i], site->inputs[i] + strlen(POD_RUN_DIR "/"),
                     "use --claim NAME=CLAIM", e);
        if (r < 0)
            err_wrap(e, r, "input %s", kb->plan->spec->values[i].name);
    }
    return r;
}

void pod_code_tell(struct kubernetes *kb)
{
    const struct code_list *list = &kb->code;

    if (list->left_out > 0) {
        auto_free char *text =
            xasprintf("code: %zu %s left out, as %s says", list->left_out,
                      list->left_out == 1 ? "entry is" : "entries are", list->left_out_by);
        kb->client->note(kb->client->ctx, text);
    }
    if (list->leads_out > 0) {
        auto_free char *text =
            xasprintf("code: the symbolic link %s leads out of the directory and may not resolve "
                      "in the pods%s",
                      list->first_out, list->leads_out > 1 ? ", and so do others" : "");
        kb->client->note(kb->client->ctx, text);
    }
}

/* Those that have all of it count, as long as others have not: the numbers only grow. */
bool pod_code_progress(const struct kubernetes *kb, struct strbuf *out)
{
    int64_t sent = 0, all = 0;
    uint32_t n = 0;
    bool any = false;

    for (uint32_t i = 0; i < kb->plan->n_replicas; i++) {
        const struct pod *p = &kb->pods[i];

        any |= p->sending.on;
        n += p->sending.on || p->has_code;
        sent += p->sending.on ? p->sending.bytes : p->has_code ? kb->code.bytes : 0;
    }
    all = n * kb->code.bytes;
    if (any)
        strbuf_addf(out, "code: %lld of %lld MiB sent to %u %s", (long long)(sent >> 20),
                    (long long)((all + (1 << 20) - 1) >> 20), n, n == 1 ? "pod" : "pods");
    return any;
}

static void tell_progress(struct kubernetes *kb)
{
    auto_strbuf struct strbuf text = STRBUF_INIT;

    if (clock_mono() < kb->told_code + PROGRESS_S * NS_PER_S)
        return;
    kb->told_code = clock_mono();
    if (pod_code_progress(kb, &text))
        kb->client->note(kb->client->ctx, text.buf);
}

void pod_code_stop(struct pod *p)
{
    if (p->sending.on && p->sending.fd >= 0)
        (void)close(p->sending.fd);
    p->sending = (struct sending){.fd = -1};
}

static void put_file(struct strbuf *out, const struct code_entry *v, const char *data, size_t n)
{
    size_t frame = wire_frame_begin(out, WIRE_FILE);

    wire_put_u32(out, v->mode);
    wire_put_str(out, v->to);
    wire_put_bytes(out, data, n);
    wire_frame_end(out, frame);
}

static void put_more(struct strbuf *out, const char *data, size_t n)
{
    size_t frame = wire_frame_begin(out, WIRE_MORE);

    wire_put_bytes(out, data, n);
    wire_frame_end(out, frame);
}

static int open_file(const struct code_entry *v)
{
    int fd = open(v->from, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    struct stat st;

    if (fd < 0)
        return -errno;
    if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode))
        return fd;
    (void)close(fd);
    return -EINVAL;
}

/* The next piece of a file. What it has grown by since it was listed is left. */
static int put_piece(struct strbuf *out, struct sending *s, const struct code_entry *v)
{
    static char piece[PIECE];
    bool first = s->fd < 0;
    int64_t left = v->size - s->offset;
    ssize_t n = 0;

    if (first)
        s->fd = open_file(v);
    if (s->fd < 0)
        return s->fd;
    if (left > 0)
        n = read(s->fd, piece, left < PIECE ? (size_t)left : PIECE);
    if (n < 0)
        return -errno;
    if (first)
        put_file(out, v, piece, (size_t)n);
    else if (n > 0)
        put_more(out, piece, (size_t)n);
    s->offset += n;
    s->bytes += n;
    if (n > 0 && s->offset < v->size)
        return 0;
    (void)close(s->fd);
    s->fd = -1;
    s->offset = 0;
    s->next++;
    return 0;
}

/* A file of a ConfigMap: all of it. */
static int put_kept(struct strbuf *out, struct sending *s, const struct code_entry *v)
{
    int64_t n;

    put_file(out, v, v->data, v->size < PIECE ? (size_t)v->size : PIECE);
    for (int64_t at = PIECE; at < v->size; at += n) {
        n = v->size - at < PIECE ? v->size - at : PIECE;
        put_more(out, v->data + at, (size_t)n);
    }
    s->bytes += v->size;
    s->next++;
    return 0;
}

static int put_entry(struct strbuf *out, struct sending *s, const struct code_entry *v)
{
    if (S_ISREG(v->mode) && v->data)
        return put_kept(out, s, v);
    if (S_ISREG(v->mode))
        return put_piece(out, s, v);
    put_file(out, v, v->target ? v->target : "", v->target ? strlen(v->target) : 0);
    s->next++;
    return 0;
}

void pod_code_more(struct pod *p)
{
    auto_strbuf struct strbuf out = STRBUF_INIT;
    const struct code_list *list = &p->kb->code;
    struct sending *s = &p->sending;
    int r = 0;

    if (!s->on || !p->stream)
        return;
    while (out.len < TURN && s->next < list->n && r == 0)
        r = put_entry(&out, s, &list->v[s->next]);
    if (r < 0) {
        struct err e;

        (void)err_sys(&e, r, "cannot read %s", list->v[s->next].from);
        pod_code_stop(p);
        cluster_refuse(p->kb, e.text);
        return;
    }
    if (s->next == list->n)
        wire_frame_end(&out, wire_frame_begin(&out, WIRE_FILES_END));
    else
        kube_stream_ask(p->stream);
    kube_stream_send(p->stream, out.buf, out.len);
    tell_progress(p->kb);
}

bool pod_code_begin(struct pod *p)
{
    if (p->kb->no_code && !p->has_code) {
        pod_refuse(p, CAUSE_UNSCHEDULABLE, p->kb->no_code);
        return true;
    }
    if (p->kb->code.n == 0 || p->has_code)
        return false;
    if (p->kb->told_code == 0)
        p->kb->told_code = clock_mono();
    p->sending = (struct sending){.on = true, .fd = -1};
    pod_code_more(p);
    return true;
}

bool pod_code_answer(struct pod *p, struct wire_reader *r)
{
    int error = (int)wire_get_u32(r);
    const char *path = wire_get_str(r);

    if (!wire_done(r))
        return false;
    pod_code_stop(p);
    if (error == 0) {
        p->has_code = p->ready = true;
        pod_flush(p);
        return true;
    }
    auto_free char *text =
        xasprintf("cannot write %s/%s in pod %s: %s", POD_RUN_DIR, path, p->name, strerror(-error));
    cluster_refuse(p->kb, text);
    return true;
}
