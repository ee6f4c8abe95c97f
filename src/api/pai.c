/* pai.c - jobs as OpenPAI's REST server v2 answers for them, for its clients and scripts.
 *
 * A job is called USER~NAME there; the newest job of that name is meant, and the user is the
 * daemon's. What a job's state is in OpenPAI's words is written by job/status_openpai.c. Not here:
 * users, groups, virtual clusters, storages, tags.
 */
#include <fcntl.h>
#include <string.h>
#include <strings.h>

#include "api/parts.h"
#include "base/io.h"
#include "base/mem.h"
#include "base/num.h"
#include "doc/json_read.h"
#include "http/http_uri.h"
#include "job/status.h"
#include "journal/journal.h"

#define TAIL_BYTES (16 * 1024) /* of a log with tail-mode=true */

/* --- errors ----------------------------------------------------------------------------------- */

/* {"error":{"code","message"}} becomes OpenPAI's {"code","message"}. */
void pai_reshape(struct http_answer *a)
{
    static const struct {
        int status;
        const char *code;
    } codes[] = {{400, "InvalidParametersError"}, {401, "UnauthorizedUserError"},
                 {403, "ForbiddenUserError"},     {404, "NoJobError"},
                 {409, "ConflictJobError"},       {413, "InvalidParametersError"},
                 {422, "InvalidProtocolError"}};
    auto_arena struct arena *own = arena_new();
    const struct node *error = node_get(json_node(own, a->body.buf, a->body.len), "error");
    const char *code = "UnknownError";
    auto_free char *message = xstrdup(node_text(node_get(error, "message"), ""));
    const struct node *found = node_get(error, "diagnostics");

    if (a->status < 400 || !error)
        return;
    for (size_t i = 0; i < ARRAY_SIZE(codes); i++)
        if (codes[i].status == a->status)
            code = codes[i].code;
    auto_strbuf struct strbuf text = STRBUF_INIT;
    strbuf_addstr(&text, message);
    for (size_t i = 0; found && found->type == NODE_SEQ && i < found->n; i++)
        if (strcmp(node_text(node_get(found->items[i], "severity"), ""), "error") == 0)
            strbuf_addf(&text, "; %s: %s", node_text(node_get(found->items[i], "path"), ""),
                        node_text(node_get(found->items[i], "message"), ""));
    struct json j = answer_json(a, a->status == 422 ? 400 : a->status);
    json_kv_str(&j, "code", code);
    json_kv_str(&j, "message", text.buf);
    json_end(&j);
}

/* --- which job -------------------------------------------------------------------------------- */

static int by_age(const void *a, const void *b)
{
    const struct entry *x = a, *y = b;

    if (x->submitted != y->submitted)
        return x->submitted < y->submitted ? 1 : -1;
    return strcmp(y->id, x->id);
}

static bool find_job(struct call *c, struct arena *a, struct entry *ret)
{
    const char *word = c->seg[0], *tilde = strchr(word, '~');
    struct entries all;

    if (!tilde || strlen(c->api->user) != (size_t)(tilde - word) ||
        strncmp(word, c->api->user, (size_t)(tilde - word)) != 0) {
        answer_error(c->answer, 404, NULL, "Job %s is not found.", word);
        return false;
    }
    entries_all(c->api, a, &all);
    qsort(all.v, all.n, sizeof(*all.v), by_age);
    for (size_t i = 0; i < all.n; i++)
        if (all.v[i].name && strcmp(all.v[i].name, tilde + 1) == 0) {
            *ret = all.v[i];
            return true;
        }
    answer_error(c->answer, 404, NULL, "Job %s is not found.", word);
    return false;
}

static const char *state_of(const struct entry *en)
{
    static const char *const words[][2] = {
        {"waiting", "WAITING"},   {"succeeded", "SUCCEEDED"}, {"failed", "FAILED"},
        {"cancelled", "STOPPED"}, {"lost", "FAILED"},         {"paused", "WAITING"},
    };

    if (strcmp(en->phase, "stopping") == 0 || strcmp(en->phase, "killing") == 0)
        return "STOPPING";
    for (size_t i = 0; i < ARRAY_SIZE(words); i++)
        if (strcmp(words[i][0], en->state) == 0)
            return words[i][1];
    return "RUNNING";
}

/* --- the list --------------------------------------------------------------------------------- */

static void kv_ms(struct json *j, const char *key, ns_t at)
{
    json_key(j, key);
    if (at)
        json_int(j, at / NS_PER_MS);
    else
        json_null(j);
}

/* Keys that status_openpai() does not have. */
static void put_rest(struct json *j, const struct api *api, const struct entry *en)
{
    json_kv_str(j, "debugId", en->id);
    json_kv_str(j, "username", api->user);
    json_key(j, "tags");
    json_array(j);
    json_end(j);
    kv_ms(j, "submissionTime", en->submitted);
    json_kv_str(j, "virtualCluster", en->queue ? en->queue : "default");
    json_kv_int(j, "totalGpuNumber", 0);
    json_kv_null(j, "jobPriority");
}

static void put_summary(struct json *j, struct api *api, const struct entry *en)
{
    json_object(j);
    json_kv_str(j, "name", en->name);
    put_rest(j, api, en);
    json_kv_str(j, "state", state_of(en));
    json_kv_str(j, "executionType",
                en->outcome && strcmp(en->outcome, "cancelled") == 0 ? "STOP" : "START");
    json_kv_int(j, "retries", en->restarts);
    json_key(j, "retryDetails");
    json_object(j);
    json_kv_int(j, "user", en->restarts);
    json_kv_int(j, "platform", 0);
    json_kv_int(j, "resource", 0);
    json_end(j);
    json_kv_null(j, "retryDelayTime");
    kv_ms(j, "createdTime", en->submitted);
    kv_ms(j, "launchedTime", en->started);
    kv_ms(j, "completedTime", en->ended);
    json_key(j, "appExitCode");
    if (en->exit_code >= 0)
        json_int(j, en->exit_code);
    else
        json_null(j);
    json_kv_int(j, "totalTaskNumber", en->ranks.total);
    json_end(j);
}

struct pai_wish {
    char user[64], vc[128], state[128], keyword[256], order[64], total[8];
    int64_t offset, limit;
};

static bool read_wish(struct call *c, struct pai_wish *w)
{
    return call_text(c, "username", w->user, sizeof(w->user)) &&
           call_text(c, "vc", w->vc, sizeof(w->vc)) &&
           call_text(c, "state", w->state, sizeof(w->state)) &&
           call_text(c, "keyword", w->keyword, sizeof(w->keyword)) &&
           call_text(c, "order", w->order, sizeof(w->order)) &&
           call_text(c, "withTotalCount", w->total, sizeof(w->total)) &&
           call_number(c, "offset", 0, UINT32_MAX, 0, &w->offset) &&
           call_number(c, "limit", 0, 50000, 5000, &w->limit);
}

/* A list "A,B", or nothing: all. */
static bool names(const char *list, const char *word)
{
    size_t n = strlen(word);

    for (const char *p = list; *p; p += strcspn(p, ",") + (p[strcspn(p, ",")] == ','))
        if (strcspn(p, ",") == n && strncasecmp(p, word, n) == 0)
            return true;
    return !*list;
}

static bool is_wanted(const struct api *api, const struct pai_wish *w, const struct entry *en)
{
    return en->name && names(w->user, api->user) &&
           names(w->vc, en->queue ? en->queue : "default") && names(w->state, state_of(en)) &&
           (!*w->keyword || strcasestr(en->name, w->keyword));
}

static int by_order(const void *a, const void *b, void *ctx)
{
    const struct entry *x = a, *y = b;
    const struct pai_wish *w = ctx;
    size_t n = strcspn(w->order, ",");
    int r = -by_age(x, y);

    if (strncmp(w->order, "jobName", n) == 0 && n > 0)
        r = strcmp(x->name, y->name);
    else if (strncmp(w->order, "completionTime", n) == 0 && n > 0)
        r = x->ended < y->ended ? -1 : x->ended > y->ended;
    return w->order[n] && strcasecmp(w->order + n + 1, "ASC") == 0 ? r : -r;
}

void serve_pai_jobs(struct call *c)
{
    auto_arena struct arena *a = arena_new();
    struct pai_wish w = {0};
    struct entries all;
    size_t n = 0;

    if (!read_wish(c, &w))
        return;
    entries_all(c->api, a, &all);
    for (size_t i = 0; i < all.n; i++)
        if (is_wanted(c->api, &w, &all.v[i]))
            all.v[n++] = all.v[i];
    qsort_r(all.v, n, sizeof(*all.v), by_order, &w);
    struct json j = answer_json(c->answer, 200);
    bool total = strcmp(w.total, "true") == 0;
    strbuf_truncate(&c->answer->body, 0);
    j = (struct json)JSON_COMPACT(&c->answer->body);
    if (total) {
        json_object(&j);
        json_kv_int(&j, "totalCount", (int64_t)n);
        json_key(&j, "data");
    }
    json_array(&j);
    for (size_t i = (size_t)w.offset; i < n && i - (size_t)w.offset < (size_t)w.limit; i++) {
        if (i - (size_t)w.offset < LIMIT_API_PAGE)
            entry_detail(c->api, a, &all.v[i]);
        put_summary(&j, c->api, &all.v[i]);
    }
    json_end(&j);
    if (total)
        json_end(&j);
}

/* --- one job ---------------------------------------------------------------------------------- */

/* A job that waits has no tasks yet. */
static void put_bare(struct json *j, struct api *api, const struct entry *en)
{
    put_summary(j, api, en);
    strbuf_truncate(j->out, j->out->len - 1);
    strbuf_addf(j->out, ",\"jobStatus\":{\"state\":\"%s\",\"attemptId\":0},\"taskRoles\":{}}",
                state_of(en));
}

static void put_detail(struct strbuf *out, struct api *api, const struct entry *en,
                       const struct job *job)
{
    auto_strbuf struct strbuf rest = STRBUF_INIT;
    struct json j = JSON_COMPACT(out), more = JSON_COMPACT(&rest);

    status_openpai(job, &j);
    json_object(&more);
    put_rest(&more, api, en);
    json_end(&more);
    strbuf_truncate(out, out->len - 1);
    strbuf_addch(out, ',');
    strbuf_add(out, rest.buf + 1, rest.len - 1);
}

/* attempt: from 0; -1: the last one. */
static void answer_detail(struct call *c, int64_t attempt)
{
    auto_arena struct arena *a = arena_new();
    struct job *loaded = NULL;
    const struct job *job = NULL;
    struct entry en;

    if (!find_job(c, a, &en))
        return;
    const char *dir = entry_dir(&en, a);
    auto_close int fd = dir ? open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
    if (en.served && en.served->act && en.served->act->job)
        job = en.served->act->job;
    else if (fd >= 0 && journal_load(a, fd, &loaded, NULL) == 0)
        job = loaded;
    c->answer->type = "application/json";
    struct json j = JSON_COMPACT(&c->answer->body);
    if (job && attempt >= 0 && attempt < job->n_past)
        put_detail(&c->answer->body, c->api, &en, &job->past[attempt]);
    else if (attempt >= 0 && attempt != (job ? job->n_past : 0))
        answer_error(c->answer, 404, NULL, "Attempt %lld of job %s is not found.",
                     (long long)attempt, c->seg[0]);
    else if (job)
        put_detail(&c->answer->body, c->api, &en, job);
    else
        put_bare(&j, c->api, &en);
    if (loaded)
        job_free(loaded);
}

void serve_pai_job(struct call *c)
{
    answer_detail(c, -1);
}

void serve_pai_attempt(struct call *c)
{
    char *end;
    long n = strtol(c->seg[1], &end, 10);

    if (*end || n < 0 || n > LIMIT_ATTEMPTS)
        answer_error(c->answer, 404, NULL, "Attempt %s of job %s is not found.", c->seg[1],
                     c->seg[0]);
    else
        answer_detail(c, n);
}

/* --- submission, configuration, execution type ------------------------------------------------ */

/* status: that of the same request below /api/v1 if it was accepted. */
static void shape_accepted(struct http_answer *a, int status, const char *message)
{
    if (a->status != status) {
        pai_reshape(a);
        return;
    }
    struct json j = answer_json(a, 202);
    json_kv_int(&j, "status", 202);
    json_kv_str(&j, "message", message);
    json_end(&j);
}

static void shape_submission(struct http_answer *a)
{
    shape_accepted(a, 201, "The job was submitted.");
}

/* The body is the YAML itself. */
void serve_pai_submit(struct call *c)
{
    auto_strbuf struct strbuf request = STRBUF_INIT;
    struct json j = JSON_COMPACT(&request);

    if (c->rq->body_len == 0) {
        answer_error(c->answer, 400, NULL, "The body must be a job in YAML.");
        return;
    }
    json_object(&j);
    json_kv_str(&j, "name", "job.yaml");
    json_key(&j, "text");
    json_strn(&j, c->rq->body, c->rq->body_len);
    json_end(&j);
    work_for_call(c, "submit", request.buf, request.len, shape_submission);
}

static void shape_config(struct http_answer *a)
{
    auto_arena struct arena *own = arena_new();
    const struct node *text = node_get(json_node(own, a->body.buf, a->body.len), "text");

    if (a->status != 200 || !text || text->type != NODE_STRING) {
        pai_reshape(a);
        return;
    }
    strbuf_truncate(&a->body, 0);
    strbuf_add(&a->body, text->text, text->len);
    a->type = "text/yaml; charset=utf-8";
}

void serve_pai_config(struct call *c)
{
    auto_arena struct arena *a = arena_new();
    struct entry en;

    if (find_job(c, a, &en))
        file_for_call(c, &en, shape_config);
}

static void shape_execution(struct http_answer *a)
{
    shape_accepted(a, 202, "The execution type was changed.");
}

void serve_pai_execution(struct call *c)
{
    auto_arena struct arena *a = arena_new();
    const struct node *body = call_body(c, a);
    const char *value = node_text(node_get(body, "value"), "");
    struct entry en;

    if (!body || !find_job(c, a, &en))
        return;
    if (strcmp(value, "START") != 0 && strcmp(value, "STOP") != 0)
        answer_error(c->answer, 400, NULL, "value must be START or STOP, not \"%s\"", value);
    else if (en.outcome)
        answer_error(c->answer, 409, NULL, "Job %s has completed.", c->seg[0]);
    else
        act_on(c, &en, strcmp(value, "STOP") == 0 ? "cancel" : "resume", 202, shape_execution);
}

/* --- logs ------------------------------------------------------------------------------------- */

/* The log of a task's attempt: "ROLE-INDEX[.rank-…][.attempt-N][.restart-N].log". */
static bool log_of(const struct call *c, struct strbuf *ret)
{
    uint32_t attempt, restart;

    if (num_u32(c->seg[1], &attempt) < 0 || num_u32(c->seg[4], &restart) < 0 ||
        attempt > LIMIT_ATTEMPTS)
        return false;
    strbuf_addf(ret, "%s-%s", c->seg[2], c->seg[3]);
    if (attempt > 0)
        strbuf_addf(ret, ".attempt-%u", attempt + 1);
    if (restart > 0)
        strbuf_addf(ret, ".restart-%u", restart);
    strbuf_addstr(ret, ".log");
    return !strchr(ret->buf, '/');
}

static int open_log(struct call *c, struct arena *a, struct entry *en, struct strbuf *name)
{
    if (!find_job(c, a, en))
        return -1;
    const char *dir = entry_dir(en, a);
    auto_close int fd = dir ? open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
    auto_close int logs = fd < 0 ? -1 : openat(fd, "logs", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int log = logs >= 0 && log_of(c, name) ? io_open_regular(logs, name->buf, O_RDONLY, 0) : -1;

    if (log < 0)
        answer_error(c->answer, 404, NULL, "The log of this task is not found.");
    return log;
}

void serve_pai_logs(struct call *c)
{
    auto_arena struct arena *a = arena_new();
    auto_strbuf struct strbuf name = STRBUF_INIT, uri = STRBUF_INIT;
    char tail[8];
    struct entry en;

    if (!call_text(c, "tail-mode", tail, sizeof(tail)))
        return;
    auto_close int fd = open_log(c, a, &en, &name);
    if (fd < 0)
        return;
    strbuf_addf(&uri, "%s/all%s", c->rq->path, strcmp(tail, "true") == 0 ? "?tail-mode=true" : "");
    struct json j = answer_json(c->answer, 200);
    json_key(&j, "locations");
    json_array(&j);
    json_object(&j);
    json_kv_str(&j, "name", "all");
    json_kv_str(&j, "uri", uri.buf);
    json_end(&j);
    json_end(&j);
    json_end(&j);
}

void serve_pai_log(struct call *c)
{
    auto_arena struct arena *a = arena_new();
    auto_strbuf struct strbuf name = STRBUF_INIT;
    char tail[8];
    struct entry en;

    if (!call_text(c, "tail-mode", tail, sizeof(tail)))
        return;
    auto_close int fd = open_log(c, a, &en, &name);
    if (fd < 0)
        return;
    size_t most = strcmp(tail, "true") == 0 ? TAIL_BYTES : LIMIT_PAI_LOG_BYTES;
    off_t size = lseek(fd, 0, SEEK_END), from = size > (off_t)most ? size - (off_t)most : 0;
    auto_free char *buf = xmalloc(most);
    ssize_t n = pread(fd, buf, most, from);
    c->answer->type = "text/plain; charset=utf-8";
    if (n > 0)
        strbuf_add(&c->answer->body, buf, (size_t)n);
}
