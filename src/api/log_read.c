/* log_read.c - see log_read.h. */
#include "api/log_read.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/io.h"
#include "base/mem.h"
#include "base/strvec.h"
#include "journal/journal.h"
#include "rundir/log_name.h"
#include "rundir/marks.h"

#define MS_MOST (INT64_MAX / NS_PER_MS) /* later is nobody's time */

enum { CHUNK_LEAST = 4096, CHUNK_MOST = 1 << 20, PAGE_BYTES = 8 << 20 };

struct stamp {
    uint64_t offset;
    int64_t ms; /* never less than that before it */
};

struct one_log {
    char *name;
    struct log_owner owner;
    bool elsewhere; /* its lines are in its launcher's log, too */
    off_t size;
    struct stamp *v;
    size_t n, cap;
};

struct logs_of {
    int dir_fd, logs_fd;
    struct one_log *v; /* by name */
    size_t n, cap;
    off_t marks_at, journal_at;
    size_t n_stamps;
    struct strbuf rest; /* of the marks, a line that is not complete */
};

/* --- which logs there are --------------------------------------------------------------------- */

int logs_open(int dir_fd, struct logs_of **ret, struct err *e)
{
    auto_close int logs_fd = openat(dir_fd, "logs", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    auto_close int own = fcntl(dir_fd, F_DUPFD_CLOEXEC, 3);

    if (logs_fd < 0 || own < 0)
        return err_sys(e, -errno, "cannot open its logs");
    *ret = xcalloc(1, sizeof(**ret));
    **ret =
        (struct logs_of){.dir_fd = TAKE_FD(own), .logs_fd = TAKE_FD(logs_fd), .rest = STRBUF_INIT};
    return 0;
}

void logs_free(struct logs_of *lo)
{
    if (!lo)
        return;
    for (size_t i = 0; i < lo->n; i++) {
        free(lo->v[i].name);
        free(lo->v[i].v);
    }
    free(lo->v);
    strbuf_release(&lo->rest);
    (void)close(lo->dir_fd);
    (void)close(lo->logs_fd);
    free(lo);
}

static size_t place_of(const struct logs_of *lo, const char *name, bool *ret_there)
{
    size_t low = 0, high = lo->n;

    *ret_there = false;
    while (low < high) {
        size_t mid = low + (high - low) / 2;
        int r = strcmp(lo->v[mid].name, name);

        if (r == 0) {
            *ret_there = true;
            return mid;
        }
        if (r < 0)
            low = mid + 1;
        else
            high = mid;
    }
    return low;
}

static struct one_log *log_of(struct logs_of *lo, const char *name, bool make)
{
    struct log_owner owner;
    bool there;
    size_t i = place_of(lo, name, &there);

    if (there)
        return &lo->v[i];
    if (!make || lo->n >= LIMIT_PROCESSES || !log_name_parse(name, &owner))
        return NULL;
    GROW(lo->v, lo->n, lo->cap);
    memmove(lo->v + i + 1, lo->v + i, (lo->n++ - i) * sizeof(*lo->v));
    lo->v[i] = (struct one_log){.name = xstrdup(name)};
    (void)log_name_parse(lo->v[i].name, &lo->v[i].owner);
    return &lo->v[i];
}

static void look_for_logs(struct logs_of *lo)
{
    int fd = openat(lo->logs_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *dir = fd < 0 ? NULL : fdopendir(fd);
    const struct dirent *d;

    while (dir && (d = readdir(dir)))
        (void)log_of(lo, d->d_name, true);
    if (dir)
        (void)closedir(dir);
    else if (fd >= 0)
        (void)close(fd);
    for (size_t i = 0; i < lo->n; i++) {
        struct stat st;

        if (fstatat(lo->logs_fd, lo->v[i].name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
            S_ISREG(st.st_mode))
            lo->v[i].size = st.st_size;
    }
}

/* --- their marks ------------------------------------------------------------------------------ */

static void take_mark(struct logs_of *lo, char *line)
{
    char *p = line;
    int64_t ms = strtoll(line, &p, 10);

    if (p == line || *p != ' ' || ms < 0 || ms > MS_MOST)
        return;
    uint64_t offset = strtoull(p + 1, &p, 10);
    if (p[0] != ' ' || !p[1] || p[2] != ' ' || !p[3])
        return;
    struct one_log *log = log_of(lo, p + 3, true);
    if (!log || lo->n_stamps >= LIMIT_MARKS)
        return;
    const struct stamp *last = log->n ? &log->v[log->n - 1] : NULL;
    if (last && (offset < last->offset || ms <= last->ms)) /* only the stream differs */
        return;
    if (!log->v)
        log->n = log->cap = 0; /* so it is, but clang's analyzer cannot know */
    GROW(log->v, log->n, log->cap);
    log->v[log->n++] = (struct stamp){.offset = offset, .ms = ms};
    lo->n_stamps++;
}

static void read_marks(struct logs_of *lo)
{
    auto_close int fd = io_open_regular(lo->dir_fd, MARKS_NAME, O_RDONLY, 0);
    auto_free char *buf = xmalloc(CHUNK_MOST);
    ssize_t n;

    while (fd >= 0 && (n = pread(fd, buf, CHUNK_MOST, lo->marks_at)) > 0) {
        char *p, *nl;

        lo->marks_at += n;
        strbuf_add(&lo->rest, buf, (size_t)n);
        p = lo->rest.buf;
        while ((nl = memchr(p, '\n', lo->rest.len - (size_t)(p - lo->rest.buf)))) {
            *nl = '\0';
            take_mark(lo, p);
            p = nl + 1;
        }
        strbuf_consume(&lo->rest, (size_t)(p - lo->rest.buf));
        if (lo->rest.len > LIMIT_ERR_TEXT) /* no mark is that long */
            strbuf_truncate(&lo->rest, 0);
    }
}

/* Ranks whose lines mpirun also writes: among others they would come twice. */
static void find_elsewhere(struct logs_of *lo)
{
    auto_strbuf struct strbuf text = STRBUF_INIT;
    const char *p, *nl;
    struct stat st;

    if (fstatat(lo->dir_fd, JOURNAL_NAME, &st, AT_SYMLINK_NOFOLLOW) < 0 ||
        st.st_size == lo->journal_at || journal_text(lo->dir_fd, &text, NULL) < 0)
        return;
    lo->journal_at = st.st_size;
    for (p = text.buf; (nl = strchr(p, '\n')); p = nl + 1) {
        if (!memmem(p, (size_t)(nl - p), "\"forwarded\":true", strlen("\"forwarded\":true")))
            continue;
        auto_arena struct arena *a = arena_new();
        struct event ev;
        struct one_log *log;

        if (journal_read_line(a, p, (size_t)(nl - p), &ev, NULL) == 0 && ev.forwarded && ev.log &&
            (log = log_of(lo, ev.log, false)))
            log->elsewhere = true;
    }
}

void logs_look(struct logs_of *lo)
{
    look_for_logs(lo);
    read_marks(lo);
    find_elsewhere(lo);
}

uint64_t logs_size(const struct logs_of *lo)
{
    uint64_t n = 0;

    for (size_t i = 0; i < lo->n; i++)
        n += (uint64_t)lo->v[i].size;
    return n;
}

/* The time of a byte. */
static int64_t time_at(const struct one_log *log, uint64_t offset)
{
    size_t low = 0, high = log->n;

    while (low < high) {
        size_t mid = low + (high - low) / 2;

        if (log->v[mid].offset <= offset)
            low = mid + 1;
        else
            high = mid;
    }
    return low ? log->v[low - 1].ms : 0;
}

/* The first byte whose time is at least ms; the end if there is none. */
static uint64_t first_since(const struct one_log *log, int64_t ms)
{
    size_t low = 0, high = log->n;

    if (ms <= 0)
        return 0;
    while (low < high) {
        size_t mid = low + (high - low) / 2;

        if (log->v[mid].ms < ms)
            low = mid + 1;
        else
            high = mid;
    }
    return low < log->n ? log->v[low].offset : (uint64_t)log->size;
}

/* --- places ----------------------------------------------------------------------------------- */

bool log_place_read(struct arena *a, const char *text, struct log_place *ret)
{
    char *end;
    int64_t ms = strtoll(text, &end, 10);

    if (end == text || *end != '.' || ms < 0 || ms > MS_MOST)
        return false;
    text = end + 1;
    uint64_t offset = strtoull(text, &end, 10);
    if (end == text || *end != '.' || *text == '-' || offset > INT64_MAX)
        return false;
    *ret = (struct log_place){.ms = ms, .offset = offset, .log = arena_strdup(a, end + 1)};
    return true;
}

void log_place_write(struct strbuf *out, const struct log_place *p)
{
    strbuf_addf(out, "%lld.%llu.%s", (long long)p->ms, (unsigned long long)p->offset, p->log);
}

static int compare(const struct log_place *x, const struct log_place *y)
{
    if (x->ms != y->ms)
        return x->ms < y->ms ? -1 : 1;
    int r = strcmp(x->log, y->log);
    if (r == 0 && x->offset != y->offset)
        return x->offset < y->offset ? -1 : 1;
    return r;
}

static int by_place(const void *a, const void *b)
{
    return compare(&((const struct log_line *)a)->at, &((const struct log_line *)b)->at);
}

/* The beginning of the line that has this byte; as far back as a line is long. */
static uint64_t line_start(int fd, uint64_t offset)
{
    auto_free char *buf = xmalloc(LIMIT_LINE_BYTES);
    uint64_t from = offset > LIMIT_LINE_BYTES ? offset - LIMIT_LINE_BYTES : 0;
    ssize_t n = pread(fd, buf, (size_t)(offset - from), (off_t)from);
    const char *nl = n > 0 ? memrchr(buf, '\n', (size_t)n) : NULL;

    return nl ? from + (uint64_t)(nl - buf) + 1 : from;
}

static uint64_t line_end(int fd, uint64_t offset)
{
    auto_free char *buf = xmalloc(LIMIT_LINE_BYTES);
    ssize_t n = pread(fd, buf, LIMIT_LINE_BYTES, (off_t)offset);
    const char *nl = n > 0 ? memchr(buf, '\n', (size_t)n) : NULL;

    return nl ? offset + (uint64_t)(nl - buf) + 1 : offset + (uint64_t)(n > 0 ? n : 0);
}

/* Where the lines of the log that come after the place begin; own: of the line at the place itself
 * the end, else its beginning. */
static uint64_t offset_of(const struct one_log *log, int fd, const struct log_place *p, bool own)
{
    int r = strcmp(log->name, p->log);
    uint64_t size = (uint64_t)log->size;

    if (r == 0)
        return p->offset >= size ? size : own ? line_end(fd, p->offset) : p->offset;
    uint64_t first = first_since(log, r < 0 ? p->ms + 1 : p->ms);
    return first >= size ? size : line_start(fd, first);
}

/* --- pages ------------------------------------------------------------------------------------ */

struct reading {
    struct arena *a;
    const struct log_wish *w;
    struct log_line *v; /* heap */
    size_t n, cap;
    struct log_place edge; /* beyond it lines may be missing */
    bool has_edge;
    size_t bytes;
};

static bool is_wanted(const struct log_wish *w, const struct one_log *log)
{
    const struct log_owner *own = &log->owner;

    if (w->replica && strcmp(w->replica, own->replica) != 0)
        return false;
    if (w->rank >= 0 && w->rank != own->rank)
        return false;
    if (w->attempt > 0 && w->attempt != own->attempt)
        return false;
    return w->replica || w->rank >= 0 || !log->elsewhere;
}

static void add_line(struct reading *rd, const struct one_log *log, uint64_t at, const char *text,
                     size_t n, size_t with_end)
{
    GROW(rd->v, rd->n, rd->cap);
    rd->v[rd->n++] = (struct log_line){
        .at = {.ms = time_at(log, at + with_end - 1), .offset = at, .log = log->name},
        .replica = log->owner.replica,
        .rank = log->owner.rank,
        .attempt = log->owner.attempt,
        .text = text,
        .len = n};
}

static void move_edge(struct reading *rd, const struct log_place *to, bool up)
{
    if (rd->has_edge && (compare(to, &rd->edge) > 0) != up)
        return;
    rd->edge = *to;
    rd->has_edge = true;
}

/* The lines in [at, at + n); the rest of an unfinished one is left: returns where it begins. */
static uint64_t split(struct reading *rd, const struct one_log *log, const char *buf, size_t n,
                      uint64_t at, bool last)
{
    size_t from = 0;

    while (from < n) {
        const char *nl = memchr(buf + from, '\n', n - from);
        size_t len = nl ? (size_t)(nl - (buf + from)) : n - from;

        if (len > LIMIT_LINE_BYTES) { /* a piece */
            len = LIMIT_LINE_BYTES;
            nl = NULL;
        } else if (!nl && !last && len < LIMIT_LINE_BYTES) {
            break;
        }
        add_line(rd, log, at + from, buf + from, len, len + (nl != NULL));
        from += len + (nl != NULL);
    }
    return at + from;
}

static char *read_bytes(struct reading *rd, int fd, uint64_t from, size_t n, size_t *ret_n)
{
    char *buf = arena_alloc(rd->a, n + 1);
    ssize_t got = pread(fd, buf, n, (off_t)from);

    *ret_n = got > 0 ? (size_t)got : 0;
    rd->bytes += *ret_n;
    return buf;
}

/* The last lines before `end`. */
static void read_back(struct reading *rd, const struct one_log *log, int fd, uint64_t end,
                      size_t chunk)
{
    uint64_t from = end > chunk ? end - chunk : 0;
    size_t n;
    const char *buf = read_bytes(rd, fd, from, (size_t)(end - from), &n), *nl;
    size_t first = rd->n;

    if (from > 0 && (nl = memchr(buf, '\n', n)) && nl + 1 < buf + n) {
        size_t skip = (size_t)(nl + 1 - buf);

        buf += skip;
        from += skip;
        n -= skip;
    } else if (from > 0 && chunk < LIMIT_LINE_BYTES) {
        read_back(rd, log, fd, end, LIMIT_LINE_BYTES + 1);
        return;
    }
    (void)split(rd, log, buf, n, from, rd->w->ended || end < (uint64_t)log->size);
    if (from > 0 && rd->n > first)
        move_edge(rd, &rd->v[first].at, true);
}

/* The first lines from `at` on. */
static void read_on(struct reading *rd, const struct one_log *log, int fd, uint64_t at,
                    size_t chunk)
{
    uint64_t size = (uint64_t)log->size, left = size > at ? size - at : 0;
    size_t n, first = rd->n;
    bool all = left <= chunk;
    const char *buf = read_bytes(rd, fd, at, all ? (size_t)left : chunk, &n);
    uint64_t to = split(rd, log, buf, n, at, all && rd->w->ended);

    if (rd->n == first && !all && chunk <= LIMIT_LINE_BYTES)
        read_on(rd, log, fd, at, LIMIT_LINE_BYTES + 1);
    else if (rd->n > first && !all && to < size)
        move_edge(rd, &rd->v[rd->n - 1].at, false);
}

static bool has_text(const struct log_line *l, const char *text)
{
    return memmem(l->text, l->len, text, strlen(text)) != NULL;
}

/* Drops what is beyond the edge and what was not asked for. */
static void choose(struct reading *rd)
{
    const struct log_wish *w = rd->w;
    size_t kept = 0;

    for (size_t i = 0; i < rd->n; i++) {
        const struct log_line *l = &rd->v[i];
        int r = rd->has_edge ? compare(&l->at, &rd->edge) : 0;

        if (w->after ? r > 0 || compare(&l->at, w->after) <= 0
                     : r < 0 || (w->before && compare(&l->at, w->before) >= 0))
            continue;
        if (w->now_ms && l->at.ms > w->now_ms - LIMIT_LOG_SETTLE_MS && l->at.ms <= w->now_ms)
            continue;
        if (!w->grep || has_text(l, w->grep))
            rd->v[kept++] = *l;
    }
    rd->n = kept;
    if (rd->n)
        qsort(rd->v, rd->n, sizeof(*rd->v), by_place);
}

static void read_once(struct logs_of *lo, struct reading *rd)
{
    const struct log_wish *w = rd->w;
    size_t chosen = 0;

    for (size_t i = 0; i < lo->n; i++)
        chosen += is_wanted(w, &lo->v[i]);
    size_t chunk = chosen ? PAGE_BYTES / 4 / chosen : 0;
    chunk = chunk < CHUNK_LEAST ? CHUNK_LEAST : chunk > CHUNK_MOST ? CHUNK_MOST : chunk;
    for (size_t i = 0; i < lo->n; i++) {
        const struct one_log *log = &lo->v[i];

        if (!is_wanted(w, log) || log->size == 0)
            continue;
        auto_close int fd = io_open_regular(lo->logs_fd, log->name, O_RDONLY, 0);
        if (fd < 0)
            continue;
        if (w->after)
            read_on(rd, log, fd, offset_of(log, fd, w->after, true), chunk);
        else
            read_back(rd, log, fd,
                      w->before ? offset_of(log, fd, w->before, false) : (uint64_t)log->size,
                      chunk);
    }
    choose(rd);
}

static void keep(struct log_page *ret, struct arena *a, const struct log_line *v, size_t n,
                 bool front)
{
    struct log_line *all = ARENA_ARRAY(a, struct log_line, ret->n + n + 1);

    if (n)
        memcpy(all + (front ? 0 : ret->n), v, n * sizeof(*v));
    if (ret->n)
        memcpy(all + (front ? n : 0), ret->v, ret->n * sizeof(*v));
    ret->v = all;
    ret->n += n;
}

void logs_read(struct logs_of *lo, struct arena *a, const struct log_wish *w, struct log_page *ret)
{
    struct log_wish now = *w;
    struct log_place to;
    size_t bytes = 0;

    *ret = (struct log_page){.first = w->after ? *w->after : (struct log_place){.log = ""},
                             .last = w->after ? *w->after : (struct log_place){.log = ""}};
    for (;;) {
        struct reading rd = {.a = a, .w = &now};
        size_t left = w->most - ret->n;

        read_once(lo, &rd);
        bytes += rd.bytes;
        size_t n = rd.n < left ? rd.n : left, from = w->after ? 0 : rd.n - n;

        keep(ret, a, rd.v ? rd.v + from : NULL, n, !w->after);
        ret->more_before = !w->after && (rd.has_edge || n < rd.n);
        to = rd.edge;
        free(rd.v);
        if (ret->n == w->most || !rd.has_edge)
            break;
        /* the page is not full, and there is more */
        if (bytes >= PAGE_BYTES) {
            ret->cut = true;
            if (w->after)
                ret->last = to;
            else
                ret->first = to;
            break;
        }
        if (w->after)
            now.after = &to;
        else
            now.before = &to;
    }
    if (ret->n && !(ret->cut && !w->after))
        ret->first = ret->v[0].at;
    if (ret->n && !(ret->cut && w->after))
        ret->last = ret->v[ret->n - 1].at;
}
