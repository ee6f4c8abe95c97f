/* entries.c - all jobs as lists show them: those of the daemon, and runs in the foreground. */
#include <fcntl.h>
#include <string.h>

#include "api/parts.h"
#include "base/io.h"
#include "base/mem.h"
#include "doc/json_read.h"
#include "job/verdict.h"
#include "rundir/places.h"

/* --- words ------------------------------------------------------------------------------------ */

/* A job's phase has more words than people filter by. */
static const char *state_of(const struct entry *en)
{
    if (en->outcome)
        return en->outcome;
    if (strcmp(en->phase, "lost") == 0 || strcmp(en->phase, "waiting") == 0 ||
        strcmp(en->phase, "paused") == 0)
        return en->phase;
    return "running";
}

/* --- jobs of the daemon ----------------------------------------------------------------------- */

static void of_served(struct served *s, struct entry *ret)
{
    bool ended = s->row.state == STORED_ENDED;

    *ret = (struct entry){.id = s->row.id,
                          .name = s->row.name,
                          .dialect = s->row.dialect,
                          .phase = served_phase(s),
                          .outcome = ended ? s->row.outcome : NULL,
                          .queue = s->row.queue,
                          .exit_code = ended ? s->row.exit_code : -1,
                          .priority = s->row.priority,
                          .submitted = s->row.submitted,
                          .started = s->row.started,
                          .ended = s->row.ended,
                          .served = s};
    ret->state = state_of(ret);
}

/* --- why they wait ---------------------------------------------------------------------------- */

struct explaining {
    struct arena *a;
    struct entries *all;
    int place;
};

static void add_reason(void *ctx, struct served *s, const char *why)
{
    struct explaining *ex = ctx;
    size_t low = 0, high = ex->all->n;
    int64_t number = s->row.number;

    ex->place++;
    while (low < high) { /* they are in the order of submission */
        size_t mid = low + (high - low) / 2;
        struct entry *en = &ex->all->v[mid];

        if (en->served->row.number == number) {
            en->waiting = arena_strdup(ex->a, why);
            if (strcmp(en->phase, "waiting") == 0)
                en->place = ex->place;
            return;
        }
        if (en->served->row.number < number)
            low = mid + 1;
        else
            high = mid;
    }
}

/* It has not started, or has made room for another job. */
static bool is_in_line(const struct served *s)
{
    if (s->row.state == STORED_WAITING)
        return !s->act;
    return s->row.state == STORED_STARTED && s->row.standing == STANDING_RELEASED;
}

/* --- all of them ------------------------------------------------------------------------------ */

void entries_all(struct api *api, struct arena *a, struct entries *ret)
{
    struct daemon *d = api->d;
    size_t more = found_count(api);
    bool waits = false;

    *ret = (struct entries){.v = ARENA_ARRAY(a, struct entry, d->n + more + 1)};
    for (size_t i = 0; i < d->n; i++) {
        if (d->jobs[i]->is_new)
            continue;
        of_served(d->jobs[i], &ret->v[ret->n]);
        waits |= is_in_line(d->jobs[i]);
        ret->n++;
    }
    if (waits)
        admit_explain(d, NULL, add_reason, &(struct explaining){.a = a, .all = ret});
    for (size_t i = 0; i < more; i++) {
        struct entry *en = &ret->v[ret->n];

        found_entry(api, a, i, en);
        en->state = state_of(en);
        ret->n++;
    }
}

bool entries_find(struct api *api, struct arena *a, const char *id, struct entry *ret)
{
    struct served *s = daemon_find(api->d, id);
    size_t more = s ? 0 : found_count(api);

    if (s && s->is_new)
        return false;
    if (s && is_in_line(s)) { /* with the reason */
        struct entries one = {.v = ret, .n = 1};

        of_served(s, ret);
        admit_explain(api->d, s, add_reason, &(struct explaining){.a = a, .all = &one});
        return true;
    }
    if (s) {
        of_served(s, ret);
        return true;
    }
    for (size_t i = 0; i < more; i++) {
        found_entry(api, a, i, ret);
        if (strcmp(ret->id, id) == 0) {
            found_look(api, i);
            found_entry(api, a, i, ret);
            ret->state = state_of(ret);
            return true;
        }
    }
    return false;
}

bool call_entry(struct call *c, struct arena *a, struct entry *ret)
{
    if (entries_find(c->api, a, c->seg[0], ret))
        return true;
    answer_error(c->answer, 404, NULL, "job \"%s\" not found", c->seg[0]);
    return false;
}

/* --- jobs that have ended --------------------------------------------------------------------- */

/* What their reports say, read once: a table of slots, of which a new one takes that of another. */
struct past {
    char *id, *verdict;
    struct counts ranks;
    uint32_t restarts;
};

static struct past *past_of(struct api *api, const char *id)
{
    uint32_t h = 2166136261;

    for (const char *p = id; *p; p++)
        h = (h ^ (unsigned char)*p) * 16777619;
    if (!api->past)
        api->past = xcalloc(LIMIT_API_PAST, sizeof(*api->past));
    return &api->past[h % LIMIT_API_PAST];
}

static void past_release(struct past *p)
{
    free(p->id);
    free(p->verdict);
}

void entries_forget(struct api *api)
{
    for (size_t i = 0; api->past && i < LIMIT_API_PAST; i++)
        past_release(&api->past[i]);
    free(api->past);
}

/* --- details ---------------------------------------------------------------------------------- */

const char *entry_dir(const struct entry *en, struct arena *a)
{
    auto_strvec struct strvec notes = STRVEC_INIT, homes = STRVEC_INIT;

    if (en->dir)
        return en->dir;
    if (en->served && en->served->act && en->served->act->rd.path)
        return en->served->act->rd.path;
    if (en->served && en->served->row.state == STORED_WAITING)
        return NULL;
    places_all_runs(&homes);
    for (size_t i = 0; i < homes.n; i++) {
        const char *dir = arena_printf(a, "%s/%s", homes.v[i], en->id);

        if (access(dir, F_OK) == 0)
            return dir;
    }
    return NULL;
}

static void count_rank(struct counts *n, const struct node *rank)
{
    const char *outcome = node_text(node_get(rank, "outcome"), "");

    n->total++;
    n->succeeded += strcmp(outcome, "succeeded") == 0;
    n->failed += strcmp(outcome, "failed") == 0;
}

static void from_report(struct arena *a, const char *dir, struct entry *en)
{
    auto_strbuf struct strbuf text = STRBUF_INIT;
    auto_arena struct arena *own = arena_new();
    auto_close int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    if (fd < 0 || io_read_regular(fd, "report.json", LIMIT_REPORT_BYTES, &text, NULL) < 0)
        return;
    const struct node *root = json_node(own, text.buf, text.len);
    const struct node *attempts = node_get(root, "attempts");
    en->verdict = arena_strdup(a, node_text(node_get(root, "verdict"), ""));
    if (!attempts || attempts->type != NODE_SEQ || attempts->n == 0)
        return;
    const struct node *last = attempts->items[attempts->n - 1];
    const struct node *ranks = node_get(last, "ranks"), *replicas = node_get(last, "replicas");
    en->restarts = (uint32_t)attempts->n - 1;
    for (size_t i = 0; ranks && ranks->type == NODE_SEQ && i < ranks->n; i++)
        count_rank(&en->ranks, ranks->items[i]);
    for (size_t i = 0; replicas && replicas->type == NODE_SEQ && i < replicas->n; i++) {
        const struct node *n = node_get(replicas->items[i], "restarts");

        en->restarts += n && n->type == NODE_INT ? (uint32_t)n->i : 0;
        if (ranks && ranks->n == 0)
            count_rank(&en->ranks, replicas->items[i]);
    }
}

static void from_past(struct api *api, struct arena *a, struct entry *en)
{
    struct past *p = past_of(api, en->id);
    const char *dir;

    if (!p->id || strcmp(p->id, en->id) != 0) {
        dir = entry_dir(en, a);
        if (dir)
            from_report(a, dir, en);
        past_release(p);
        *p = (struct past){.id = xstrdup(en->id),
                           .verdict = en->verdict ? xstrdup(en->verdict) : NULL,
                           .ranks = en->ranks,
                           .restarts = en->restarts};
    }
    en->verdict = p->verdict ? arena_strdup(a, p->verdict) : NULL;
    en->ranks = p->ranks;
    en->restarts = p->restarts;
}

void entry_detail(struct api *api, struct arena *a, struct entry *en)
{
    const struct active *act = en->served ? en->served->act : NULL;

    if (act && act->job) {
        auto_strbuf struct strbuf text = STRBUF_INIT;

        en->ranks = live_counts(act->job, &en->restarts);
        if (act->job->phase == JOB_ENDED)
            verdict_sentence(act->job, &text);
        else if (act->job->phase == JOB_HELD)
            verdict_held(act->job, &text);
        en->verdict = text.len ? arena_strdup(a, text.buf) : NULL;
    } else if (en->outcome) {
        from_past(api, a, en);
    }
}

void entry_json(struct json *j, const struct entry *en)
{
    json_object(j);
    json_kv_str(j, "id", en->id);
    kv_text(j, "name", en->name);
    kv_text(j, "dialect", en->dialect);
    json_kv_str(j, "phase", en->phase);
    json_kv_str(j, "outcome", en->outcome);
    json_key(j, "exit_code");
    if (en->exit_code >= 0)
        json_int(j, en->exit_code);
    else
        json_null(j);
    json_kv_str(j, "queue", en->queue);
    json_key(j, "priority");
    if (en->queue)
        json_int(j, en->priority);
    else
        json_null(j);
    kv_time(j, "submitted", en->submitted);
    kv_time(j, "started", en->started);
    kv_time(j, "ended", en->ended);
    kv_text(j, "waiting", en->waiting);
    json_key(j, "place");
    if (en->place > 0)
        json_int(j, en->place);
    else
        json_null(j);
    json_kv_str(j, "source", en->served ? "daemon" : "run");
    json_key(j, "ranks");
    json_object(j);
    json_kv_int(j, "total", en->ranks.total);
    json_kv_int(j, "running", en->ranks.running);
    json_kv_int(j, "succeeded", en->ranks.succeeded);
    json_kv_int(j, "failed", en->ranks.failed);
    json_end(j);
    kv_text(j, "verdict", en->verdict);
    json_kv_int(j, "restarts", en->restarts);
    json_end(j);
}

int entry_open(struct call *c, const struct entry *en)
{
    auto_arena struct arena *a = arena_new();
    const char *dir = entry_dir(en, a);
    int fd = dir ? open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;

    if (fd < 0)
        answer_error(c->answer, 404, NULL,
                     en->outcome ? "the run directory of job %s was removed"
                                 : "job %s has not started yet",
                     en->id);
    return fd;
}
