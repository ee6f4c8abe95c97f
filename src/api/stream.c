/* stream.c - server-sent events: the list of jobs, or one job with its events and lines.
 *
 * Four times a second, while somebody listens, it is compared with what was sent before. A client
 * that does not read is cut off (http.h).
 */
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "api/log_read.h"
#include "api/parts.h"
#include "base/mem.h"
#include "journal/journal.h"

#define TICK_MS 250
#define BEAT_NS (15 * NS_PER_S)
#define LOOK_NS NS_PER_S
#define JOB_NS (500 * NS_PER_MS)
#define SKIPS 2 /* pages of lines that are read over in a tick */

struct seen { /* a job as it was sent */
    char *id;
    uint64_t mark;
    bool here;
};

struct watcher {
    struct api *api;
    struct watcher *prev, *next;
    struct http_exchange *x;
    char *job; /* NULL: the list */
    bool logs;
    ns_t beat;         /* clock_mono() of the last bytes */
    ns_t sent;         /* of the job */
    uint64_t hash;     /* of what was sent */
    struct seen *seen; /* sorted by id */
    size_t n_seen, cap_seen;
    bool began;
    int64_t seq;         /* the last event that was sent */
    off_t journal;       /* its size then */
    uint64_t cursor;     /* of the list */
    uint64_t commits;    /* of the daemon, when the list was last compared, */
    ns_t looked;         /* and at what time */
    struct strbuf place; /* cursor of the lines; "": at their end */
};

static uint64_t hash_bytes(uint64_t h, const void *data, size_t n)
{
    const unsigned char *p = data;

    for (size_t i = 0; i < n; i++)
        h = (h ^ p[i]) * UINT64_C(1099511628211);
    return h;
}
#define HASH_BEGIN UINT64_C(14695981039346656037)

static void watcher_free(struct watcher *w)
{
    struct api *api = w->api;

    if (w->prev)
        w->prev->next = w->next;
    else
        api->watchers = w->next;
    if (w->next)
        w->next->prev = w->prev;
    if (--api->n_watchers == 0)
        (void)uv_timer_stop(&api->tick);
    for (size_t i = 0; i < w->n_seen; i++)
        free(w->seen[i].id);
    free(w->seen);
    free(w->job);
    strbuf_release(&w->place);
    free(w);
}

static void on_gone(void *arg)
{
    watcher_free(arg);
}

/* --- sending ---------------------------------------------------------------------------------- */

/* The cursor of a job's stream: the last event, and the lines. */
static void add_id(const struct watcher *w, struct strbuf *out)
{
    if (w->job)
        strbuf_addf(out, "id: %lld/%s\n", (long long)w->seq, w->place.buf);
    else
        strbuf_addf(out, "id: %llu\n", (unsigned long long)w->cursor);
}

/* False: the watcher is gone. */
static bool tell(struct watcher *w, const char *event, const struct strbuf *data)
{
    auto_strbuf struct strbuf text = STRBUF_INIT;

    if (event) {
        strbuf_addf(&text, "event: %s\n", event);
        add_id(w, &text);
        strbuf_addstr(&text, "data: ");
        strbuf_add(&text, data->buf, data->len); /* JSON on one line */
        strbuf_addstr(&text, "\n\n");
    } else {
        strbuf_addstr(&text, ":\n\n");
    }
    w->beat = clock_mono();
    if (http_stream_send(w->x, text.buf, text.len))
        return true;
    watcher_free(w);
    return false;
}

/* --- the list --------------------------------------------------------------------------------- */

static uint64_t mark_of(const struct entry *en)
{
    uint64_t h = HASH_BEGIN;
    const char *texts[] = {en->phase, en->outcome, en->waiting, en->queue, en->verdict};

    for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
        h = hash_bytes(h, texts[i] ? texts[i] : "-", texts[i] ? strlen(texts[i]) + 1 : 1);
    h = hash_bytes(h, &en->place, sizeof(en->place));
    h = hash_bytes(h, &en->priority, sizeof(en->priority));
    h = hash_bytes(h, &en->ranks, sizeof(en->ranks));
    return hash_bytes(h, &en->restarts, sizeof(en->restarts));
}

static int by_id(const void *a, const void *b)
{
    return strcmp(((const struct entry *)a)->id, ((const struct entry *)b)->id);
}

/* What is new in `all` (sorted) against what was sent; replaces it. */
static void compare(struct watcher *w, struct arena *a, struct entries *all, struct json *changed,
                    struct json *removed, size_t *ret_n)
{
    struct seen *now = xcalloc(all->n + 1, sizeof(*now));
    size_t k = 0;

    *ret_n = 0;
    for (size_t i = 0; i < all->n; i++) {
        struct entry *en = &all->v[i];

        for (; k < w->n_seen && strcmp(w->seen[k].id, en->id) < 0; k++, ++*ret_n)
            json_str(removed, w->seen[k].id);
        bool was = k < w->n_seen && strcmp(w->seen[k].id, en->id) == 0;
        if (!en->outcome)
            entry_detail(w->api, a, en);
        now[i] = (struct seen){.mark = mark_of(en)};
        if ((!was || w->seen[k].mark != now[i].mark) && w->began) {
            entry_detail(w->api, a, en);
            entry_json(changed, en);
            ++*ret_n;
        }
        now[i].id = was ? TAKE_PTR(w->seen[k].id) : xstrdup(en->id);
        k += was;
    }
    for (; k < w->n_seen; k++, ++*ret_n)
        json_str(removed, w->seen[k].id);
    for (size_t i = 0; i < w->n_seen; i++)
        free(w->seen[i].id);
    free(w->seen);
    w->seen = now;
    w->n_seen = all->n;
}

/* What the daemon's jobs do is committed; runs in the foreground are looked at less often. */
static bool is_worth_it(struct watcher *w, ns_t now)
{
    uint64_t commits = w->api->d->tally.commit.n;

    if (w->began && commits == w->commits && now - w->looked < LOOK_NS)
        return false;
    w->commits = commits;
    w->looked = now;
    return true;
}

static bool tick_list(struct watcher *w)
{
    auto_arena struct arena *a = arena_new();
    auto_strbuf struct strbuf out = STRBUF_INIT, gone = STRBUF_INIT;
    struct json j = JSON_COMPACT(&out), r = JSON_COMPACT(&gone);
    struct entries all;
    size_t n;

    entries_all(w->api, a, &all);
    qsort(all.v, all.n, sizeof(*all.v), by_id);
    json_object(&j);
    json_key(&j, "changed");
    json_array(&j);
    json_array(&r);
    compare(w, a, &all, &j, &r, &n);
    json_end(&j);
    json_end(&r);
    json_key(&j, "removed");
    json_raw(&j, gone.buf, gone.len);
    json_key(&j, "counts");
    counts_json(&j, &all);
    json_end(&j);
    if (n == 0 && w->began)
        return true;
    w->began = true;
    w->cursor++;
    return tell(w, "jobs", &out);
}

/* --- one job ---------------------------------------------------------------------------------- */

static bool tick_report(struct watcher *w, const struct entry *en, ns_t now)
{
    auto_strbuf struct strbuf text = STRBUF_INIT, line = STRBUF_INIT;
    uint64_t hash;

    if (now - w->sent < JOB_NS || !job_text(w->api, en, &text, NULL))
        return true;
    for (size_t i = 0; i < text.len; i++) /* a report in a file has lines; strings have none */
        if (text.buf[i] != '\n')
            strbuf_addch(&line, text.buf[i]);
    hash = hash_bytes(HASH_BEGIN, line.buf, line.len);
    if (hash == w->hash)
        return true;
    w->hash = hash;
    w->sent = now;
    return tell(w, "job", &line);
}

static bool tick_events(struct watcher *w, int fd)
{
    auto_strbuf struct strbuf text = STRBUF_INIT, out = STRBUF_INIT;
    struct stat st;

    if (fstatat(fd, JOURNAL_NAME, &st, AT_SYMLINK_NOFOLLOW) < 0 || st.st_size == w->journal ||
        journal_text(fd, &text, NULL) < 0)
        return true;
    w->journal = st.st_size;
    for (;;) { /* each is an event of the stream */
        auto_strbuf struct strbuf one = STRBUF_INIT;
        struct json j = JSON_COMPACT(&one);
        int64_t last = events_json(&j, text.buf, text.len, w->seq, 1);

        if (last == w->seq)
            return true;
        w->seq = last;
        strbuf_truncate(&out, 0);
        strbuf_add(&out, one.buf + 1, one.len - 2);
        if (!tell(w, "event", &out))
            return false;
    }
}

/* What is beyond the rate is read over and counted; the rest of it at the next tick. */
static int64_t skip_lines(struct logs_of *lo, const struct log_wish *wish, struct strbuf *place)
{
    int64_t n = 0;

    for (int i = 0; i < SKIPS; i++) {
        auto_arena struct arena *a = arena_new();
        struct log_wish next = *wish;
        struct log_place after;
        struct log_page page;

        if (!log_place_read(a, place->buf, &after))
            break;
        next.after = &after;
        next.most = SIZE_MAX;
        logs_read(lo, a, &next, &page);
        n += (int64_t)page.n;
        strbuf_truncate(place, 0);
        log_place_write(place, &page.last);
        if (!page.cut)
            break;
    }
    return n;
}

static bool tick_lines(struct watcher *w, const struct entry *en, int fd)
{
    auto_arena struct arena *a = arena_new();
    auto_strbuf struct strbuf out = STRBUF_INIT;
    struct json j = JSON_COMPACT(&out);
    struct logs_of *lo = logs_for(en->id, fd, NULL);
    struct log_wish wish = {.rank = -1, .most = LIMIT_STREAM_LINES / 4};
    struct log_place after;
    struct log_page page;

    if (!lo)
        return true;
    wish.ended = run_has_ended(en, fd);
    wish.now_ms = wish.ended ? 0 : clock_real() / NS_PER_MS;
    if (w->place.len == 0) { /* from now on */
        wish.most = 1;
        logs_read(lo, a, &wish, &page);
        log_place_write(&w->place, &page.last);
        return true;
    }
    if (!log_place_read(a, w->place.buf, &after))
        return true;
    wish.after = &after;
    logs_read(lo, a, &wish, &page);
    if (page.n == 0 && !page.cut)
        return true;
    strbuf_truncate(&w->place, 0);
    log_place_write(&w->place, &page.last);
    json_object(&j);
    json_key(&j, "lines");
    lines_json(&j, &page);
    json_kv_int(&j, "dropped", page.n == wish.most ? skip_lines(lo, &wish, &w->place) : 0);
    json_end(&j);
    return tell(w, "lines", &out);
}

/* Nothing more will come. */
static bool finish(struct watcher *w)
{
    auto_strbuf struct strbuf none = STRBUF_INIT;

    strbuf_addstr(&none, "{}");
    if (!tell(w, "end", &none))
        return false;
    http_stream_end(w->x);
    watcher_free(w);
    return false;
}

static bool tick_job(struct watcher *w, ns_t now)
{
    auto_arena struct arena *a = arena_new();
    struct entry en;

    if (!entries_find(w->api, a, w->job, &en))
        return finish(w);
    bool over = en.outcome || strcmp(en.state, "lost") == 0;
    const char *dir = entry_dir(&en, a);
    auto_close int fd = dir ? open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;

    if (over)
        w->sent = 0;
    if (!tick_report(w, &en, now) || (fd >= 0 && !tick_events(w, fd)) ||
        (fd >= 0 && w->logs && !tick_lines(w, &en, fd)))
        return false;
    if (!over)
        return true;
    return finish(w);
}

static bool tick(struct watcher *w, ns_t now)
{
    if (w->job ? !tick_job(w, now) : is_worth_it(w, now) && !tick_list(w))
        return false;
    return now - w->beat < BEAT_NS || tell(w, NULL, NULL);
}

static void on_tick(uv_timer_t *timer)
{
    struct api *api = timer->data;
    struct watcher *next;
    ns_t now = clock_mono();

    for (struct watcher *w = api->watchers; w; w = next) {
        next = w->next;
        (void)tick(w, now);
    }
}

/* --- beginning and end ------------------------------------------------------------------------ */

/* "SEQ/PLACE" */
static void take_cursor(struct watcher *w, const char *text)
{
    const char *slash = strchr(text, '/');

    w->seq = strtoll(text, NULL, 10);
    if (w->seq < 0)
        w->seq = 0;
    if (slash)
        strbuf_addstr(&w->place, slash + 1);
}

void serve_stream(struct call *c)
{
    auto_arena struct arena *a = arena_new();
    struct http_answer head = HTTP_ANSWER_INIT;
    char job[CALL_SEGMENT], after[512], logs[8];
    struct entry en;

    if (!call_text(c, "job", job, sizeof(job)) || !call_text(c, "after", after, sizeof(after)) ||
        !call_text(c, "logs", logs, sizeof(logs)))
        return;
    if (*job && !entries_find(c->api, a, job, &en)) {
        answer_error(c->answer, 404, NULL, "job \"%s\" not found", job);
        return;
    }
    if (c->api->n_watchers >= LIMIT_API_STREAMS) {
        answer_error(c->answer, 429, NULL, "there are already %d streams", LIMIT_API_STREAMS);
        return;
    }
    struct watcher *w = xcalloc(1, sizeof(*w));
    *w = (struct watcher){.api = c->api,
                          .next = c->api->watchers,
                          .x = c->x,
                          .job = *job ? xstrdup(job) : NULL,
                          .logs = strcmp(logs, "1") == 0,
                          .place = STRBUF_INIT};
    if (w->next)
        w->next->prev = w;
    c->api->watchers = w;
    if (c->api->n_watchers++ == 0)
        (void)uv_timer_start(&c->api->tick, on_tick, TICK_MS, TICK_MS);
    if (w->job)
        take_cursor(w, *after ? after : c->rq->last_event);
    head.type = "text/event-stream";
    strbuf_add(&head.headers, c->answer->headers.buf, c->answer->headers.len);
    http_defer(c->x, on_gone, w);
    http_stream_begin(c->x, &head);
    http_answer_release(&head);
    (void)tick(w, clock_mono());
}

void streams_end(struct api *api)
{
    while (api->watchers) {
        http_stream_end(api->watchers->x);
        watcher_free(api->watchers);
    }
}
