/* wire.c - see wire.h. Numbers are copied byte by byte: a field follows its neighbour without
 * padding and may start anywhere. */
#include "shim/wire.h"

#include <errno.h>
#include <string.h>

#include "base/limits.h"
#include "base/mem.h"

struct header {
    uint32_t length; /* of the body */
    uint16_t type, zero;
};
_Static_assert(sizeof(struct header) == WIRE_HEADER, "a frame's header has no padding");

size_t wire_frame_begin(struct strbuf *sb, enum wire_type type)
{
    struct header h = {.type = (uint16_t)type};
    size_t begin = sb->len;

    strbuf_add(sb, &h, sizeof(h));
    return begin;
}

void wire_frame_end(struct strbuf *sb, size_t begin)
{
    uint32_t length = (uint32_t)(sb->len - begin - WIRE_HEADER);

    memcpy(sb->buf + begin + offsetof(struct header, length), &length, sizeof(length));
}

void wire_put_u32(struct strbuf *sb, uint32_t v)
{
    strbuf_add(sb, &v, sizeof(v));
}

void wire_put_i64(struct strbuf *sb, int64_t v)
{
    strbuf_add(sb, &v, sizeof(v));
}

void wire_put_str(struct strbuf *sb, const char *s)
{
    strbuf_add(sb, s, strlen(s) + 1);
}

void wire_put_strs(struct strbuf *sb, const char *const *v)
{
    uint32_t n = 0;

    while (v && v[n])
        n++;
    wire_put_u32(sb, n);
    for (uint32_t i = 0; i < n; i++)
        wire_put_str(sb, v[i]);
}

void wire_put_bytes(struct strbuf *sb, const void *p, size_t n)
{
    wire_put_u32(sb, (uint32_t)n);
    strbuf_add(sb, p, n);
}

long wire_frame_next(const char *buf, size_t n, enum wire_type *ret_type, struct wire_reader *ret)
{
    struct header h;

    if (n < sizeof(h))
        return 0;
    memcpy(&h, buf, sizeof(h));
    if (h.zero != 0 || h.length > LIMIT_FRAME_BYTES)
        return -EPROTO;
    if (n - sizeof(h) < h.length)
        return 0;
    buf += sizeof(h);
    *ret_type = (enum wire_type)h.type;
    *ret = (struct wire_reader){.p = buf, .end = buf + h.length};
    return (long)(sizeof(h) + h.length);
}

static void get(struct wire_reader *r, void *to, size_t n)
{
    if (r->broken || (size_t)(r->end - r->p) < n) {
        r->broken = true;
        memset(to, 0, n);
        return;
    }
    memcpy(to, r->p, n);
    r->p += n;
}

uint32_t wire_get_u32(struct wire_reader *r)
{
    uint32_t v;

    get(r, &v, sizeof(v));
    return v;
}

int64_t wire_get_i64(struct wire_reader *r)
{
    int64_t v;

    get(r, &v, sizeof(v));
    return v;
}

const char *wire_get_str(struct wire_reader *r)
{
    const char *s = r->p, *nul = NULL;

    if (!r->broken)
        nul = memchr(s, '\0', (size_t)(r->end - s));
    if (!nul) {
        r->broken = true;
        return "";
    }
    r->p = nul + 1;
    return s;
}

const char **wire_get_strs(struct wire_reader *r)
{
    uint32_t n = wire_get_u32(r);
    const char **v;

    if (n > (size_t)(r->end - r->p)) { /* each has at least its NUL: the count is a lie */
        r->broken = true;
        n = 0;
    }
    v = xcalloc((size_t)n + 1, sizeof(*v));
    for (uint32_t i = 0; i < n; i++)
        v[i] = wire_get_str(r);
    return v;
}

const void *wire_get_bytes(struct wire_reader *r, size_t *ret_n)
{
    size_t n = wire_get_u32(r);
    const char *p = r->p;

    if (r->broken || n > (size_t)(r->end - p)) {
        r->broken = true;
        n = 0;
    }
    r->p += n;
    *ret_n = n;
    return p;
}

bool wire_done(const struct wire_reader *r)
{
    return !r->broken && r->p == r->end;
}
