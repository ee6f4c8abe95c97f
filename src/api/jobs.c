/* jobs.c - the list of jobs, and one job. */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "api/parts.h"
#include "base/io.h"
#include "client/replay.h"
#include "client/served.h"
#include "http/http_uri.h"
#include "job/report.h"
#include "journal/journal.h"
#include "rundir/evidence.h"
#include "rundir/outputs.h"

/* --- the list --------------------------------------------------------------------------------- */

static const char *const states[] = {"waiting", "running",   "paused", "succeeded",
                                     "failed",  "cancelled", "lost"};

enum sort { SORT_SUBMITTED, SORT_STARTED, SORT_NAME };

struct wish {
    char state[128], queue[128], text[256], after[128];
    enum sort sort;
    bool descending;
    int64_t limit;
};

static bool read_wish(struct call *c, struct wish *w)
{
    static const char *const sorts[] = {"submitted", "started", "name"};
    char sort[16], order[8];
    bool known = false;

    if (!call_text(c, "state", w->state, sizeof(w->state)) ||
        !call_text(c, "queue", w->queue, sizeof(w->queue)) ||
        !call_text(c, "q", w->text, sizeof(w->text)) ||
        !call_text(c, "after", w->after, sizeof(w->after)) ||
        !call_text(c, "sort", sort, sizeof(sort)) || !call_text(c, "order", order, sizeof(order)) ||
        !call_number(c, "limit", 1, LIMIT_API_PAGE, 100, &w->limit))
        return false;
    if (!call_words(c, "state", w->state, states, ARRAY_SIZE(states)))
        return false;
    w->sort = SORT_SUBMITTED;
    for (size_t i = 0; i < ARRAY_SIZE(sorts); i++)
        if (!*sort || strcmp(sort, sorts[i]) == 0) {
            w->sort = (enum sort)(*sort ? i : 0);
            known = true;
        }
    w->descending = strcmp(order, "asc") != 0;
    if (!known || (*order && w->descending && strcmp(order, "desc") != 0)) {
        answer_error(c->answer, 400, NULL,
                     "`sort` must be submitted, started or name, and `order` asc or desc");
        return false;
    }
    return true;
}

static bool in_list(const char *list, const char *word)
{
    size_t n = strlen(word);

    for (const char *p = list; *p; p += strcspn(p, ",") + (p[strcspn(p, ",")] == ','))
        if (strcspn(p, ",") == n && memcmp(p, word, n) == 0)
            return true;
    return false;
}

static bool is_wanted(const struct wish *w, const struct entry *en)
{
    if (*w->state && !in_list(w->state, en->state))
        return false;
    if (*w->queue && (!en->queue || !in_list(w->queue, en->queue)))
        return false;
    return !*w->text || strcasestr(en->id, w->text) || (en->name && strcasestr(en->name, w->text));
}

static int compare_time(ns_t x, ns_t y)
{
    return x < y ? -1 : x > y;
}

static int by_wish(const void *a, const void *b, void *ctx)
{
    const struct entry *x = a, *y = b;
    const struct wish *w = ctx;
    int r = 0;

    if (w->sort == SORT_NAME)
        r = strcmp(x->name ? x->name : "", y->name ? y->name : "");
    else if (w->sort == SORT_STARTED)
        r = compare_time(x->started, y->started);
    if (r == 0)
        r = compare_time(x->submitted, y->submitted);
    if (r == 0)
        r = strcmp(x->id, y->id);
    return w->descending ? -r : r;
}

void counts_json(struct json *j, const struct entries *all)
{
    size_t n[ARRAY_SIZE(states)] = {0};

    for (size_t i = 0; i < all->n; i++)
        for (size_t k = 0; k < ARRAY_SIZE(states); k++)
            n[k] += strcmp(all->v[i].state, states[k]) == 0;
    json_object(j);
    for (size_t k = 0; k < ARRAY_SIZE(states); k++)
        json_kv_int(j, states[k], (int64_t)n[k]);
    json_end(j);
}

/* The cursor is the id of the last job of the page before. */
void serve_jobs(struct call *c)
{
    auto_arena struct arena *a = arena_new();
    struct wish w = {0};
    struct entries all;
    size_t n = 0, from = 0, last;

    if (!read_wish(c, &w))
        return;
    entries_all(c->api, a, &all);
    struct entry *chosen = ARENA_ARRAY(a, struct entry, all.n + 1);
    for (size_t i = 0; i < all.n; i++)
        if (is_wanted(&w, &all.v[i]))
            chosen[n++] = all.v[i];
    qsort_r(chosen, n, sizeof(*chosen), by_wish, &w);
    for (size_t i = 0; *w.after && i < n; i++)
        if (strcmp(chosen[i].id, w.after) == 0)
            from = i + 1;
    if (*w.after && from == 0) {
        answer_error(c->answer, 400, "begin again without `after`",
                     "`after` must be `next` of an earlier answer; \"%s\" is not in this list",
                     w.after);
        return;
    }
    last = n - from > (size_t)w.limit ? from + (size_t)w.limit : n;
    struct json j = answer_json(c->answer, 200);
    json_key(&j, "jobs");
    json_array(&j);
    for (size_t i = from; i < last; i++) {
        entry_detail(c->api, a, &chosen[i]);
        entry_json(&j, &chosen[i]);
    }
    json_end(&j);
    json_kv_int(&j, "total", (int64_t)n);
    json_key(&j, "counts");
    counts_json(&j, &all);
    json_kv_str(&j, "next", last < n ? chosen[last - 1].id : NULL);
    json_end(&j);
}

/* --- one job ---------------------------------------------------------------------------------- */

static void report_of(const struct job *job, const char *dir, bool recorded, bool killed,
                      struct strbuf *out)
{
    auto_strvec struct strvec outputs = STRVEC_INIT;
    auto_close int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    auto_close int logs_fd = fd < 0 ? -1 : openat(fd, "logs", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    CLEANUP(evidence_release) struct evidence ev;
    struct json j = JSON_COMPACT(out);

    if (fd >= 0)
        outputs_find(fd, dir, &outputs);
    evidence_gather(&ev, logs_fd, job);
    struct report_context ctx = {.engine = job->plan->facts->site.engine,
                                 .outputs = (const char *const *)outputs.v,
                                 .recorded = recorded,
                                 .killed = killed};
    evidence_report(&ev, &ctx);
    report_write(job, &ctx, &j);
}

/* Reopens the object: what the daemon knows besides. */
static void add_rest(const struct entry *en, const struct job *job, struct strbuf *out)
{
    auto_strbuf struct strbuf more = STRBUF_INIT;
    struct json j = JSON_COMPACT(&more);

    while (out->len > 0 && strchr(" \n}", out->buf[out->len - 1])) {
        bool end = out->buf[out->len - 1] == '}';

        strbuf_truncate(out, out->len - 1);
        if (end)
            break;
    }
    json_object(&j);
    json_kv_str(&j, "id", en->id);
    json_kv_str(&j, "source", en->served ? "daemon" : "run");
    json_kv_str(&j, "queue", en->queue);
    json_key(&j, "priority");
    if (en->queue)
        json_int(&j, en->priority);
    else
        json_null(&j);
    json_key(&j, "place");
    if (en->place > 0)
        json_int(&j, en->place);
    else
        json_null(&j);
    kv_time(&j, "submitted", en->submitted);
    kv_time(&j, "started", en->started);
    kv_time(&j, "ended", en->ended);
    if (!(job && job_first_waiting(job)) && !(en->waiting && *en->waiting))
        json_kv_null(&j, "waiting");
    json_key(&j, "live");
    if (job && job->phase != JOB_ENDED)
        live_json(&j, job);
    else
        json_null(&j);
    json_end(&j);
    strbuf_addch(out, ',');
    strbuf_add(out, more.buf + 1, more.len - 1);
}

/* It has no run directory: what the daemon has. */
static void bare_report(const struct entry *en, struct strbuf *out)
{
    const struct run_ref run = {.id = en->id,
                                .name = en->name,
                                .dialect = en->dialect,
                                .dir = "",
                                .state = en->outcome ? en->outcome : en->phase,
                                .waiting = en->outcome   ? NULL
                                           : en->waiting ? en->waiting
                                                         : "",
                                .exit_code = en->exit_code};

    served_report(&run, out);
    add_rest(en, NULL, out);
}

/* From its journal, of a run in the foreground or one that left no report. */
static bool from_journal(const struct entry *en, const char *dir, int fd, struct strbuf *out,
                         struct err *e)
{
    auto_arena struct arena *a = arena_new();
    struct job *job = NULL;

    if (journal_load(a, fd, &job, e) < 0)
        return false;
    report_of(job, dir, true, strcmp(en->state, "lost") == 0, out);
    add_rest(en, strcmp(en->state, "lost") == 0 ? NULL : job, out);
    job_free(job);
    return true;
}

bool job_text(struct api *api, const struct entry *en, struct strbuf *out, struct err *e)
{
    auto_arena struct arena *a = arena_new();
    const struct active *act = en->served ? en->served->act : NULL;
    const char *dir = act ? act->rd.path : entry_dir(en, a);
    auto_close int fd = dir ? open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;

    (void)api;
    if (act && act->job) {
        report_of(act->job, dir ? dir : "", act->watched, false, out);
        add_rest(en, act->job, out);
        return true;
    }
    if (fd < 0) {
        bare_report(en, out);
        return true;
    }
    if (en->outcome && io_read_regular(fd, "report.json", LIMIT_REPORT_BYTES, out, NULL) == 0 &&
        out->len > 2 && out->buf[0] == '{') {
        add_rest(en, NULL, out);
        return true;
    }
    strbuf_truncate(out, 0);
    return from_journal(en, dir, fd, out, e);
}

void serve_job(struct call *c)
{
    auto_arena struct arena *a = arena_new();
    struct entry en;
    struct err e;

    if (!call_entry(c, a, &en))
        return;
    c->answer->type = "application/json";
    if (!job_text(c->api, &en, &c->answer->body, &e))
        answer_error(c->answer, 503, NULL, "the record of job %s cannot be read: %s", en.id,
                     e.text);
}
