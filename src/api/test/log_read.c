/* log_read.c - lines of several logs by pages: each line once, in the order of time,
 * whatever the direction and the length of a page. */
#include "api/log_read.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/io.h"
#include "base/rng.h"
#include "base/tap.h"
#include "rundir/marks.h"

static char dir[] = "/tmp/log-read-XXXXXX";
static int dir_fd;

static void append(const char *path, const char *text, size_t n)
{
    char name[256];

    (void)snprintf(name, sizeof(name), "%s/%s", dir, path);
    int fd = open(name, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    (void)io_write_all(fd, text, n);
    (void)close(fd);
}

static void begin(void)
{
    char name[256];

    memcpy(dir, "/tmp/log-read-XXXXXX", sizeof(dir));
    if (!mkdtemp(dir))
        exit(1);
    (void)snprintf(name, sizeof(name), "%s/logs", dir);
    (void)mkdir(name, 0700);
    dir_fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

static void end(void)
{
    (void)close(dir_fd);
    (void)io_remove_tree(AT_FDCWD, dir, NULL);
}

struct world { /* logs as they were written */
    struct rng rng;
    uint64_t size[4];
    size_t n; /* lines */
};

static const char *const names[] = {"w-0.log", "w-0.rank-1.log", "w-1.log", "w-10.log"};

/* A line of a log at a time, in one or two pieces with marks of their own. */
static void write_line(struct world *w, int64_t ms, int log, size_t length)
{
    char mark[128], path[64];
    auto_strbuf struct strbuf line = STRBUF_INIT;

    strbuf_addf(&line, "%zu:", w->n++);
    while (line.len < length)
        strbuf_addch(&line, 'x');
    strbuf_addch(&line, '\n');
    (void)snprintf(path, sizeof(path), "logs/%s", names[log]);
    (void)snprintf(mark, sizeof(mark), "%lld %llu o %s\n", (long long)ms,
                   (unsigned long long)w->size[log], names[log]);
    append(MARKS_NAME, mark, strlen(mark));
    append(path, line.buf, line.len);
    w->size[log] += line.len;
}

static void make_world(struct world *w, uint64_t seed, int lines)
{
    int64_t ms = 1000;

    *w = (struct world){0};
    w->rng.state = seed;
    for (int i = 0; i < lines; i++) {
        ms += (int64_t)rng_below(&w->rng, 3); /* several of one time */
        int log = (int)rng_below(&w->rng, 4);
        bool is_long = rng_below(&w->rng, 40) == 0;
        write_line(w, ms, log, rng_below(&w->rng, is_long ? 60000 : 200));
    }
}

/* All lines by pages. Their numbers by log have to rise, and so have the times of all. */
static bool walk(struct logs_of *lo, size_t most, bool back, size_t want)
{
    auto_arena struct arena *keep = arena_new();
    struct log_place at = {.log = ""};
    const struct log_place *from = NULL;
    bool *seen = calloc(want, 1), good = true;
    size_t n = 0;
    int64_t last = back ? INT64_MAX : 0;

    for (int pages = 0; good && pages < 100000; pages++) {
        auto_arena struct arena *a = arena_new();
        const struct log_wish w = {.rank = -1,
                                   .before = back ? from : NULL,
                                   .after = back ? NULL : &at,
                                   .most = most,
                                   .ended = true};
        struct log_page page;

        logs_read(lo, a, &w, &page);
        for (size_t i = 0; i < page.n; i++) {
            const struct log_line *l = &page.v[back ? page.n - 1 - i : i];
            size_t number = strtoul(l->text, NULL, 10);

            good = good && number < want && !seen[number] &&
                   (back ? l->at.ms <= last : l->at.ms >= last);
            if (good)
                seen[number] = true;
            last = l->at.ms;
            n++;
        }
        if (page.n == 0 && !page.cut)
            break;
        at = back ? page.first : page.last;
        at.log = arena_strdup(keep, at.log);
        from = &at;
        if (back && !page.more_before && !page.cut)
            break;
    }
    free(seen);
    if (!good || n != want)
        tap_diag("%zu of %zu lines", n, want);
    return good && n == want;
}

static void pages(uint64_t seed)
{
    static const size_t sizes[] = {1, 3, 50, 5000};
    struct logs_of *lo = NULL;
    struct world w;
    struct err e;

    begin();
    make_world(&w, seed, 600);
    is_int(logs_open(dir_fd, &lo, &e), 0, "a run's logs");
    logs_look(lo);
    for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
        ok(walk(lo, sizes[i], false, w.n), "forwards by %zu, seed %llu", sizes[i],
           (unsigned long long)seed);
        ok(walk(lo, sizes[i], true, w.n), "backwards by %zu", sizes[i]);
    }
    write_line(&w, 100000, 2, 10);
    logs_look(lo);
    ok(walk(lo, 7, false, w.n), "with a line that came later");
    logs_free(lo);
    end();
}

static void wishes(void)
{
    auto_arena struct arena *a = arena_new();
    struct logs_of *lo = NULL;
    struct log_page page;
    struct log_place p;
    auto_strbuf struct strbuf text = STRBUF_INIT;

    begin();
    append("logs/w-0.log", "one\ntwo", 7);
    append("logs/w-0.rank-3.attempt-2.log", "three\n\xff\n", 8);
    append("logs/nonsense", "x\n", 2);
    static const char marks[] = "5000 0 o w-0.log\nnonsense\n9223372036854775807 1 o w-0.log\n"
                                "7000 0 e w-0.rank-3.attempt-2.log\n9";
    append(MARKS_NAME, marks, sizeof(marks) - 1);
    (void)logs_open(dir_fd, &lo, NULL);
    logs_look(lo);
    struct log_wish w = {.rank = -1, .most = 10};
    logs_read(lo, a, &w, &page);
    is_int(page.n, 3, "a line without an end does not count while the run goes on");
    is_int(page.v[2].attempt, 2, "whose it is");
    is_int(page.v[2].rank, 3, "of which rank");
    is_int(page.v[0].at.ms, 5000, "at what time");
    w.ended = true;
    logs_read(lo, a, &w, &page);
    is_int(page.n, 4, "afterwards it does");
    w.grep = "wo";
    logs_read(lo, a, &w, &page);
    ok(page.n == 1 && page.v[0].len == 3, "lines with a text");
    w = (struct log_wish){.rank = 3, .most = 1, .ended = true};
    logs_read(lo, a, &w, &page);
    ok(page.n == 1 && page.v[0].len == 1 && page.more_before, "the last one of a rank");
    w = (struct log_wish){.rank = -1, .most = 9, .now_ms = 7000 + LIMIT_LOG_SETTLE_MS - 1};
    logs_read(lo, a, &w, &page);
    is_int(page.n, 1, "lines of the last moment are left for later");
    log_place_write(&text, &(struct log_place){12, 34, "w-0.log"});
    ok(log_place_read(a, text.buf, &p) && p.ms == 12 && p.offset == 34 &&
           strcmp(p.log, "w-0.log") == 0,
       "a cursor as text");
    static const char *const bad[] = {
        "", "1", "1.", "1.2", "x.2.a", "-1.2.a", "1.-2.a", "1.x.a", "9223372036854775807.1.a"};
    for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
        ok(!log_place_read(a, bad[i], &p), "\"%s\" is none", bad[i]);
    w = (struct log_wish){.rank = -1, .most = 9, .after = &(struct log_place){1, 1 << 30, "../x"}};
    logs_read(lo, a, &w, &page);
    is_int(page.n, 3, "a place in a log that is not there is a time");
    logs_free(lo);
    end();
}

int main(void)
{
    const char *word = getenv("MUSTER_TEST_SEED");
    uint64_t seed = word ? strtoull(word, NULL, 10) : (uint64_t)time(NULL);

    wishes();
    for (uint64_t i = 0; i < 5; i++)
        pages(seed + i);
    return tap_done();
}
