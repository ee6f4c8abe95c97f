/* python.c - threads, frames and lines of an interpreter; see python.h.
 *
 * The numbers in the table are offsets in CPython's own structures on machines of 64 bits. They do
 * not change within a version: extensions are compiled with them. Everything that is read may be
 * nonsense; every list has an end here whether or not it has one there.
 */
#include "inspect/python.h"

#include <elf.h>
#include <string.h>

#include "base/limits.h"
#include "base/mem.h"
#include "base/strbuf.h"

static const struct layout {
    uint64_t version; /* of Py_Version, the upper two bytes */
    uint16_t interpreters, threads;
    uint16_t next, native_id; /* of a thread */
    uint16_t cframe, current; /* its newest frame; behind one pointer more unless cframe is 0 */
    uint16_t code, previous, at, owner; /* of a frame */
    uint16_t first_line, bytecode;      /* of a code object */
    uint16_t ascii, wide;               /* where the text of a string begins */
} layouts[] = {
    {0x030b, 40, 16, 8, 160, 56, 8, 32, 48, 56, 69, 72, 184, 48, 72},
    {0x030c, 40, 72, 8, 144, 56, 0, 0, 8, 56, 70, 68, 192, 40, 56},
    {0x030d, 632, 7344, 8, 160, 0, 72, 0, 8, 56, 70, 68, 200, 40, 56},
};

enum { /* the same in all of them */
       CODE_FILE = 112,
       CODE_NAME = 128, /* with its class */
       CODE_LINES = 136,
       TEXT_LENGTH = 16,
       TEXT_STATE = 32,
       BYTES_LENGTH = 16,
       BYTES_DATA = 32,
       OWNED_BY_C = 3, /* a frame that stands for a call from C: nothing of it is the script's */
       FREE_THREADED = 16, /* of the runtime, from 3.13 on, behind a mark */
};

struct reader {
    struct arena *a;
    const struct py_memory *m;
    const struct layout *l;
};

static bool get(const struct py_memory *m, uint64_t at, void *to, size_t n)
{
    return at != 0 && m->read(m->ctx, at, to, n);
}

static uint64_t pointer(const struct py_memory *m, uint64_t at)
{
    uint64_t v;

    return get(m, at, &v, sizeof(v)) ? v : 0;
}

/* --- strings -------------------------------------------------------------------------------------
 */

static void add_utf8(struct strbuf *sb, uint32_t c)
{
    if (c < 0x80) {
        strbuf_addch(sb, (char)c);
    } else if (c < 0x800) {
        strbuf_addch(sb, (char)(0xc0 | c >> 6));
    } else if (c < 0x10000) {
        strbuf_addch(sb, (char)(0xe0 | c >> 12));
        strbuf_addch(sb, (char)(0x80 | (c >> 6 & 0x3f)));
    } else {
        strbuf_addch(sb, (char)(0xf0 | (c >> 18 & 7)));
        strbuf_addch(sb, (char)(0x80 | (c >> 12 & 0x3f)));
        strbuf_addch(sb, (char)(0x80 | (c >> 6 & 0x3f)));
    }
    if (c >= 0x80)
        strbuf_addch(sb, (char)(0x80 | (c & 0x3f)));
}

/* A string object as text that a terminal may show; NULL if it is none. */
static const char *text_at(const struct reader *r, uint64_t at)
{
    auto_strbuf struct strbuf raw = STRBUF_INIT, clean = STRBUF_INIT;
    uint8_t data[4 * LIMIT_PY_TEXT];
    uint64_t length;
    uint32_t state;

    if (!get(r->m, at + TEXT_LENGTH, &length, sizeof(length)) ||
        !get(r->m, at + TEXT_STATE, &state, sizeof(state)))
        return NULL;
    size_t kind = state >> 2 & 7;
    bool compact = state >> 5 & 1, ascii = state >> 6 & 1;
    if (!compact || (kind != 1 && kind != 2 && kind != 4) || length > LIMIT_PY_TEXT ||
        !get(r->m, at + (ascii ? r->l->ascii : r->l->wide), data, length * kind))
        return NULL;
    for (size_t i = 0; i < length; i++) {
        uint32_t c = 0;

        memcpy(&c, data + i * kind, kind); /* little-endian, as the offsets are */
        add_utf8(&raw, c);
    }
    strbuf_add_escaped(&clean, raw.buf, raw.len);
    return arena_strndup(r->a, clean.buf, clean.len);
}

/* --- lines ---------------------------------------------------------------------------------------
 */

struct line_table {
    uint8_t data[LIMIT_PY_LINES];
    size_t n, at;
};

static uint32_t varint(struct line_table *t)
{
    uint32_t v = 0;

    for (unsigned shift = 0; t->at < t->n && shift < 32; shift += 6) {
        uint8_t byte = t->data[t->at++];

        v |= (uint32_t)(byte & 0x3f) << shift;
        if (!(byte & 0x40))
            break;
    }
    return v;
}

static int64_t signed_varint(struct line_table *t)
{
    uint32_t v = varint(t);

    return v & 1 ? -(int64_t)(v >> 1) : (int64_t)(v >> 1);
}

/* Entries say how many units of bytecode they are for, and how far their line is from the one
 * before; columns are in them too. Returns the line of a unit, or 0. */
static int64_t line_of(struct line_table *t, int64_t line, uint64_t unit)
{
    enum { SHORT = 10, ONE_LINE = 13, NO_COLUMNS = 13, LONG = 14, NONE = 15 };

    for (uint64_t end = 0; t->at < t->n;) {
        uint8_t first = t->data[t->at++];
        unsigned code = first >> 3 & 15;

        if (code < SHORT) {
            t->at += 1;
        } else if (code < ONE_LINE) {
            line += code - SHORT;
            t->at += 2;
        } else if (code == NO_COLUMNS) {
            line += signed_varint(t);
        } else if (code == LONG) {
            line += signed_varint(t);
            for (int i = 0; i < 3; i++)
                (void)varint(t);
        }
        end += (first & 7) + 1;
        if (unit < end)
            return code == NONE ? 0 : line;
    }
    return 0;
}

static int line_at(const struct reader *r, uint64_t code, uint64_t instruction)
{
    static struct line_table t; /* too large for a small stack */
    uint64_t table = pointer(r->m, code + CODE_LINES), begin = code + r->l->bytecode, length;
    int32_t first;

    if (!get(r->m, code + r->l->first_line, &first, sizeof(first)))
        return 0;
    if (instruction < begin) /* it has not begun */
        return first;
    if (!table || !get(r->m, table + BYTES_LENGTH, &length, sizeof(length)))
        return 0;
    t.at = 0;
    t.n = length < sizeof(t.data) ? length : sizeof(t.data);
    if (!get(r->m, table + BYTES_DATA, t.data, t.n))
        return 0;
    int64_t line = line_of(&t, first, (instruction - begin) / 2);
    return line > 0 && line <= INT32_MAX ? (int)line : 0;
}

/* --- frames and threads --------------------------------------------------------------------------
 */

static void read_frames(const struct reader *r, uint64_t at, struct py_thread *t)
{
    struct py_frame frames[LIMIT_PY_FRAMES];

    for (size_t steps = 0; at && steps < LIMIT_PY_FRAMES; steps++) {
        uint64_t code = pointer(r->m, at + r->l->code);
        uint8_t owner;

        if (!get(r->m, at + r->l->owner, &owner, sizeof(owner)))
            break;
        if (owner != OWNED_BY_C) {
            struct py_frame f = {.file = text_at(r, pointer(r->m, code + CODE_FILE)),
                                 .function = text_at(r, pointer(r->m, code + CODE_NAME)),
                                 .line = line_at(r, code, pointer(r->m, at + r->l->at))};

            if (!code || !f.file || !f.function)
                break;
            frames[t->n++] = f;
        }
        at = pointer(r->m, at + r->l->previous);
    }
    t->frames = ARENA_ARRAY(r->a, struct py_frame, t->n + 1);
    memcpy(t->frames, frames, t->n * sizeof(*frames));
}

static uint64_t newest_frame(const struct reader *r, uint64_t thread)
{
    uint64_t from = r->l->cframe ? pointer(r->m, thread + r->l->cframe) : thread;

    return from ? pointer(r->m, from + r->l->current) : 0;
}

static void read_threads(const struct reader *r, uint64_t runtime, struct py_stack *ret)
{
    uint64_t interpreter = pointer(r->m, runtime + r->l->interpreters);
    uint64_t at = interpreter ? pointer(r->m, interpreter + r->l->threads) : 0;

    *ret = (struct py_stack){.v = ARENA_ARRAY(r->a, struct py_thread, LIMIT_SNAPSHOT_THREADS)};
    while (at && ret->n < LIMIT_SNAPSHOT_THREADS) {
        struct py_thread t = {.id = (int64_t)pointer(r->m, at + r->l->native_id)};

        read_frames(r, newest_frame(r, at), &t);
        ret->v[ret->n++] = t;
        at = pointer(r->m, at + r->l->next);
    }
}

/* --- symbols -------------------------------------------------------------------------------------
 */

enum { MAX_HEADERS = 64, MAX_DYNAMIC = 512, MAX_CHAIN = 4096 };

struct object {
    const struct py_memory *m;
    uint64_t bias, symbols, strings, hash;
};

/* Where a loader has put its own addresses in, they are whole; else the bias is missing. */
static uint64_t whole(const struct object *o, uint64_t address)
{
    return address < o->bias ? address + o->bias : address;
}

static bool read_dynamic(struct object *o, uint64_t at)
{
    for (int i = 0; i < MAX_DYNAMIC; i++) {
        Elf64_Dyn d;

        if (!get(o->m, at + (uint64_t)i * sizeof(d), &d, sizeof(d)) || d.d_tag == DT_NULL)
            break;
        if (d.d_tag == DT_SYMTAB)
            o->symbols = whole(o, d.d_un.d_ptr);
        else if (d.d_tag == DT_STRTAB)
            o->strings = whole(o, d.d_un.d_ptr);
        else if (d.d_tag == DT_GNU_HASH)
            o->hash = whole(o, d.d_un.d_ptr);
    }
    return o->symbols && o->strings && o->hash;
}

static bool read_object(struct object *o, uint64_t base)
{
    Elf64_Ehdr head;
    Elf64_Phdr p;
    uint64_t dynamic = 0;

    if (!get(o->m, base, &head, sizeof(head)) || memcmp(head.e_ident, ELFMAG, SELFMAG) != 0 ||
        head.e_ident[EI_CLASS] != ELFCLASS64 || head.e_ident[EI_DATA] != ELFDATA2LSB ||
        head.e_phentsize != sizeof(p))
        return false;
    for (int i = 0; i < head.e_phnum && i < MAX_HEADERS; i++) {
        if (!get(o->m, base + head.e_phoff + (uint64_t)i * sizeof(p), &p, sizeof(p)))
            return false;
        if (p.p_type == PT_LOAD && p.p_offset == 0)
            o->bias = base - p.p_vaddr;
        if (p.p_type == PT_DYNAMIC)
            dynamic = p.p_vaddr;
    }
    return dynamic && read_dynamic(o, o->bias + dynamic);
}

static bool is_named(const struct object *o, const Elf64_Sym *s, const char *name)
{
    char text[32];
    size_t n = strlen(name) + 1;

    return n <= sizeof(text) && get(o->m, o->strings + s->st_name, text, n) &&
           memcmp(text, name, n) == 0;
}

static uint64_t find_symbol(const struct object *o, const char *name)
{
    struct {
        uint32_t buckets, first, bloom, shift;
    } head;
    uint32_t hash = 5381, i, link;
    Elf64_Sym s;

    for (const char *p = name; *p; p++)
        hash = hash * 33 + (unsigned char)*p;
    if (!get(o->m, o->hash, &head, sizeof(head)) || head.buckets == 0)
        return 0;
    uint64_t buckets = o->hash + sizeof(head) + (uint64_t)head.bloom * sizeof(uint64_t);
    uint64_t chain = buckets + (uint64_t)head.buckets * sizeof(uint32_t);
    if (!get(o->m, buckets + (uint64_t)(hash % head.buckets) * sizeof(i), &i, sizeof(i)))
        return 0;
    for (int steps = 0; i >= head.first && steps < MAX_CHAIN; steps++, i++) {
        if (!get(o->m, chain + (uint64_t)(i - head.first) * sizeof(link), &link, sizeof(link)))
            return 0;
        if ((link | 1) == (hash | 1) && get(o->m, o->symbols + i * sizeof(s), &s, sizeof(s)) &&
            is_named(o, &s, name))
            return o->bias + s.st_value;
        if (link & 1)
            return 0;
    }
    return 0;
}

/* -----------------------------------------------------------------------------------------------
 */

const char *python_stack(struct arena *a, const struct py_memory *m, uint64_t base,
                         struct py_stack *ret)
{
    struct object o = {.m = m};
    struct reader r = {.a = a, .m = m};
    char mark[8];

    if (!read_object(&o, base))
        return "";
    uint64_t runtime = find_symbol(&o, "_PyRuntime"), at = find_symbol(&o, "Py_Version");
    uint64_t version = at ? pointer(m, at) : 0;
    if (!runtime)
        return "";
    for (size_t i = 0; i < ARRAY_SIZE(layouts); i++)
        if (layouts[i].version == version >> 16)
            r.l = &layouts[i];
    if (!r.l && !version)
        return "its Python is older than 3.11";
    if (!r.l)
        return arena_printf(a, "its Python is %u.%u, whose stacks cannot be read",
                            (unsigned)(version >> 24 & 0xff), (unsigned)(version >> 16 & 0xff));
    if (get(m, runtime, mark, sizeof(mark)) && memcmp(mark, "xdebugpy", sizeof(mark)) == 0 &&
        pointer(m, runtime + FREE_THREADED))
        return "its Python has no global interpreter lock; its stacks cannot be read";
    read_threads(&r, runtime, ret);
    return NULL;
}

const struct py_thread *python_main(const struct py_stack *s, pid_t inner)
{
    for (size_t i = 0; i < s->n; i++)
        if (s->v[i].id == inner && s->v[i].n > 0)
            return &s->v[i];
    return s->n > 0 && s->v[s->n - 1].n > 0 ? &s->v[s->n - 1] : NULL; /* the oldest */
}

static bool is_library(const char *file)
{
    return strstr(file, "/site-packages/") || strstr(file, "/dist-packages/") ||
           strstr(file, "/lib/python3") || *file == '<';
}

const struct py_frame *python_own(const struct py_thread *t)
{
    for (size_t i = 0; i < t->n; i++)
        if (!is_library(t->frames[i].file))
            return &t->frames[i];
    return t->n > 0 ? &t->frames[0] : NULL;
}
