/* requests.c - what other verbs ask of the daemon (client/daemon.h).
 *
 * Jobs that run are asked on their own sockets for most of it; here are those that wait, the list,
 * and submissions.
 */
#include <string.h>

#include "base/mem.h"
#include "client/protocol.h"
#include "daemon/array.h"
#include "daemon/parts.h"
#include "doc/json.h"
#include "doc/json_read.h"
#include "doc/json_write.h"

/* --- answers ---------------------------------------------------------------------------------- */

static struct json begin_head(struct strbuf *head)
{
    struct json j = JSON_COMPACT(head);

    json_object(&j);
    json_kv_int(&j, "version", CONTROL_VERSION);
    json_kv_bool(&j, "ok", true);
    return j;
}

static void put_array(struct json *j, const struct stored *row)
{
    size_t n = strcspn(row->array, " ");

    if (!*row->array)
        return;
    json_key(j, "array");
    json_strn(j, row->array, n);
    json_kv_int(j, "array_index", row->array_index);
    json_kv_str(j, "matrix", row->array[n] ? row->array + n + 1 : NULL);
}

static void put_job(struct json *j, const struct served *s, const char *why)
{
    bool ended = s->row.state == STORED_ENDED;

    json_object(j);
    json_kv_str(j, "id", s->row.id);
    json_kv_str(j, "name", s->row.name);
    json_kv_str(j, "dialect", s->row.dialect);
    json_kv_str(j, "phase", served_phase(s));
    json_kv_str(j, "outcome", ended ? s->row.outcome : NULL);
    json_key(j, "exit_code");
    if (ended)
        json_int(j, s->row.exit_code);
    else
        json_null(j);
    json_kv_str(j, "queue", s->row.queue);
    json_kv_int(j, "priority", s->row.priority);
    json_kv_int(j, "submitted", s->row.submitted);
    json_kv_int(j, "started", s->row.started);
    json_kv_int(j, "ended", s->row.ended);
    json_kv_str(j, "waiting", why);
    put_array(j, &s->row);
    json_end(j);
}

struct reasons { /* by number of the job, in no order */
    struct {
        const struct served *s;
        char *why;
    } * v;
    size_t n, cap;
};

static void add_reason(void *ctx, struct served *s, const char *why)
{
    struct reasons *rs = ctx;

    GROW(rs->v, rs->n, rs->cap);
    rs->v[rs->n].s = s;
    rs->v[rs->n++].why = xstrdup(why);
}

static int by_number(const void *a, const void *b)
{
    const struct served *x = *(const struct served *const *)a,
                        *y = *(const struct served *const *)b;

    return x->row.number < y->row.number ? -1 : x->row.number > y->row.number;
}

static void gather_reasons(struct daemon *d, const struct served *only, struct reasons *rs)
{
    admit_explain(d, only, add_reason, rs);
    if (rs->n)
        qsort(rs->v, rs->n, sizeof(*rs->v), by_number);
}

static void reasons_release(struct reasons *rs)
{
    for (size_t i = 0; i < rs->n; i++)
        free(rs->v[i].why);
    free(rs->v);
}

void request_answer_job(struct peer *p, const struct served *s)
{
    auto_strbuf struct strbuf head = STRBUF_INIT;
    CLEANUP(reasons_release) struct reasons rs = {0};
    struct json j = begin_head(&head);
    const char *why = NULL;

    if (s->row.state != STORED_ENDED && (!s->act || s->row.standing == STANDING_RELEASED))
        gather_reasons(s->d, s, &rs);
    if (rs.n > 0)
        why = rs.v[0].why;
    json_key(&j, "job");
    put_job(&j, s, why);
    json_end(&j);
    peer_answer(p, &head, NULL);
}

void request_answer_ids(struct peer *p, const struct strvec *ids)
{
    auto_strbuf struct strbuf head = STRBUF_INIT, body = STRBUF_INIT;
    struct json j = begin_head(&head);

    json_end(&j);
    for (size_t i = 0; i < ids->n; i++)
        strbuf_addf(&body, "%s\n", ids->v[i]);
    peer_answer(p, &head, &body);
}

static void serve_list(struct daemon *d, struct peer *p, const struct node *root)
{
    auto_strbuf struct strbuf head = STRBUF_INIT, body = STRBUF_INIT;
    CLEANUP(reasons_release) struct reasons rs = {0};
    struct json h = begin_head(&head);
    size_t at = 0;

    (void)root;
    gather_reasons(d, NULL, &rs);
    json_end(&h);
    for (size_t i = 0; i < d->n; i++) { /* both are in the order of submission */
        const struct served *s = d->jobs[i];

        while (at < rs.n && rs.v[at].s->row.number < s->row.number)
            at++;
        struct json line = JSON_COMPACT(&body);
        if (s->is_new)
            continue;
        put_job(&line, s, at < rs.n && rs.v[at].s == s ? rs.v[at].why : NULL);
        strbuf_addch(&body, '\n');
    }
    peer_answer(p, &head, &body);
}

/* --- one job ---------------------------------------------------------------------------------- */

/* NULL after refusing. */
static struct served *find(struct daemon *d, struct peer *p, const struct node *root)
{
    const char *id = node_text(node_get(root, "id"), "");
    struct served *s = daemon_find(d, id);

    if (s && !s->is_new)
        return s;
    peer_refuse(p, "job \"%s\" not found", id);
    return NULL;
}

static void serve_job(struct daemon *d, struct peer *p, const struct node *root)
{
    const struct served *s = find(d, p, root);

    if (s)
        request_answer_job(p, s);
}

static void serve_wait(struct daemon *d, struct peer *p, const struct node *root)
{
    struct served *s = find(d, p, root);

    if (s && s->row.state == STORED_ENDED && !store_has_changes(d->store))
        request_answer_job(p, s);
    else if (s)
        peer_defer(p, s, true);
}

/* NULL after refusing: it has ended, or is about to. */
static struct served *find_open(struct daemon *d, struct peer *p, const struct node *root)
{
    struct served *s = find(d, p, root);

    if (s && !served_is_open(s)) {
        peer_refuse(p, "%s has ended", s->row.id);
        return NULL;
    }
    return s;
}

static void serve_cancel(struct daemon *d, struct peer *p, const struct node *root)
{
    struct served *s = find_open(d, p, root);

    if (!s)
        return;
    if (s->act)
        served_observe(s, OBS_CANCEL);
    else
        served_cancel_waiting(s);
    request_answer_job(p, s);
}

static void serve_kill(struct daemon *d, struct peer *p, const struct node *root)
{
    struct served *s = find_open(d, p, root);

    if (s && s->act)
        served_observe(s, OBS_CANCEL);
    if (s)
        serve_cancel(d, p, root);
}

/* Of one that waits: it keeps its place, and is passed over. */
static void serve_pause(struct daemon *d, struct peer *p, const struct node *root)
{
    struct served *s = find_open(d, p, root);

    if (!s)
        return;
    if (s->act ? s->act->job->pause_wanted : s->row.paused) {
        peer_refuse(p, "%s is already paused", s->row.name);
        return;
    }
    if (s->act) {
        served_observe(s, OBS_PAUSE);
    } else {
        s->row.paused = true;
        store_update(d->store, &s->row);
        d->queue_changed = true;
    }
    request_answer_job(p, s);
}

static void serve_resume(struct daemon *d, struct peer *p, const struct node *root)
{
    struct served *s = find_open(d, p, root);

    if (!s)
        return;
    if (s->act ? !job_resumable(s->act->job) : !s->row.paused) {
        peer_refuse(p, "%s is not paused, held or debugged", s->row.name);
        return;
    }
    if (s->act) {
        served_observe(s, OBS_RESUME);
    } else {
        s->row.paused = false;
        store_update(d->store, &s->row);
        d->queue_changed = true;
    }
    request_answer_job(p, s);
}

static void serve_forget(struct daemon *d, struct peer *p, const struct node *root)
{
    auto_strbuf struct strbuf head = STRBUF_INIT;
    struct served *s = find(d, p, root);

    if (!s)
        return;
    if (s->row.state != STORED_ENDED || s->act) {
        peer_refuse(p, "%s has not ended", s->row.id);
        return;
    }
    store_remove(d->store, s->row.number);
    daemon_drop(d, s);
    struct json j = begin_head(&head);
    json_end(&j);
    peer_answer(p, &head, NULL);
}

/* --- submissions ------------------------------------------------------------------------------ */

static int64_t int_of(const struct node *map, const char *key, int64_t otherwise)
{
    const struct node *n = node_get(map, key);

    return n && n->type == NODE_INT ? n->i : otherwise;
}

static bool is_true(const struct node *map, const char *key)
{
    const struct node *n = node_get(map, key);

    return n && n->type == NODE_BOOL && n->i;
}

/* A live job of the same name would get the same host names and, in many files, the same
 * directories. */
static bool check_name(struct daemon *d, struct peer *p, const char *name, bool replace)
{
    for (size_t i = 0; i < d->n_open; i++) {
        struct served *s = d->open[i];

        if (s->row.state == STORED_ENDED || strcmp(s->row.name, name) != 0)
            continue;
        if (!replace) {
            peer_refuse(p,
                        "job name \"%s\" is in use by %s (%s); use --replace to cancel that job, "
                        "or --name",
                        name, s->row.id, served_phase(s));
            return false;
        }
        if (s->act && s->act->turn && !s->stopping)
            served_observe(s, OBS_CANCEL);
        else if (!s->act)
            served_cancel_waiting(s);
    }
    return true;
}

/* The request as it is kept: jobs that are waited for have numbers. False after refusing. */
static bool keep_request(struct daemon *d, struct peer *p, const struct node *root,
                         struct strbuf *ret)
{
    const struct node *job = node_get(root, "job"), *after = node_get(root, "after");
    struct json j = JSON_COMPACT(ret);

    strbuf_addstr(ret, "{\"job\":");
    json_write(ret, job);
    strbuf_addstr(ret, ",\"after\":");
    json_array(&j);
    for (size_t i = 0; after && after->type == NODE_SEQ && i < after->n; i++) {
        const char *word = node_text(after->items[i], "");
        size_t n = strcspn(word, ":");
        auto_free char *id = xstrndup(word, n);
        const struct served *s = daemon_find(d, id);

        if (!s || s->is_new) {
            peer_refuse(p, "--after: job \"%s\" not found", id);
            return false;
        }
        json_object(&j);
        json_kv_int(&j, "number", s->row.number);
        json_kv_int(&j, "any", strcmp(word + n, ":any") == 0);
        json_end(&j);
    }
    json_end(&j);
    strbuf_addch(ret, '}');
    return true;
}

static char *new_id(const struct daemon *d)
{
    char *id = rundir_new_id();

    while (daemon_find(d, id)) { /* all that are in the database are here */
        free(id);
        id = rundir_new_id();
    }
    return id;
}

struct addition { /* what the jobs of one submission have in common */
    const struct node *root;
    const char *queue, *request;
    int64_t total;
    char *array; /* heap; NULL until the first one has its id */
};

static char *name_of(const struct addition *x, int64_t index)
{
    const char *name = node_text(node_get(x->root, "name"), "");

    return x->total > 1 ? xasprintf("%s-%lld", name, (long long)index) : xstrdup(name);
}

static struct served *add_one(struct daemon *d, struct addition *x, int64_t index)
{
    auto_free char *id = new_id(d), *name = name_of(x, index);
    auto_strvec struct strvec vars = STRVEC_INIT;
    auto_strbuf struct strbuf request = STRBUF_INIT, label = STRBUF_INIT;

    array_vars(x->root, index, &vars);
    if ((x->total > 1 || vars.n > 0) && !x->array)
        x->array = xstrdup(id);
    if (x->array) {
        array_request(
            x->request,
            &(struct array_place){.id = x->array, .name = name, .index = index, .count = x->total},
            &vars, &request);
        array_label(x->array, &vars, &label);
    }
    const struct stored row = {.id = id,
                               .number = ++d->last_number,
                               .name = name,
                               .dialect = node_text(node_get(x->root, "dialect"), ""),
                               .queue = x->queue,
                               .priority = (int)int_of(x->root, "priority", 50),
                               .request = x->array ? request.buf : x->request,
                               .site = "",
                               .submitted = clock_real(),
                               .outcome = "",
                               .exit_code = -1,
                               .array = label.buf,
                               .array_index = index};

    return daemon_add(d, &row);
}

/* That of the job, else its target if there is a queue of that name, else the default. */
static const char *queue_of(const struct daemon *d, const struct node *root, struct strbuf *why)
{
    const char *name = node_text(node_get(root, "queue"), NULL);
    const char *target = node_text(node_get(root, "target"), NULL);
    const char *found =
        !name && target && d->config.n_queues ? config_queue(d, target, NULL) : NULL;

    return found ? found : config_queue(d, name, why);
}

static bool check_names(struct daemon *d, struct peer *p, const struct addition *x, bool replace)
{
    for (int64_t i = 0; i < x->total; i++) {
        auto_free char *name = name_of(x, i);

        if (strlen(name) > LIMIT_NAME) {
            peer_refuse(p, "job name \"%s\" has more than %d characters", name, LIMIT_NAME);
            return false;
        }
        if (!check_name(d, p, name, replace))
            return false;
    }
    return true;
}

static void serve_submit(struct daemon *d, struct peer *p, const struct node *root)
{
    const struct node *job = node_get(root, "job");
    int64_t count = array_total(root), priority = int_of(root, "priority", 50);
    const char *name = node_text(node_get(root, "name"), "");
    struct addition add = {.root = root, .total = count};
    auto_strbuf struct strbuf request = STRBUF_INIT, why = STRBUF_INIT;

    if (d->leaving) {
        peer_refuse(p, "the daemon is ending");
        return;
    }
    if (!job || job->type != NODE_MAP || !*name || count < 1 || priority < 0 || priority > 100) {
        peer_refuse(p, "invalid submission");
        return;
    }
    if (d->n + (size_t)count > LIMIT_JOBS_WAITING) {
        peer_refuse(p, "the daemon has %zu jobs; the limit is %d (delete some that have ended)",
                    d->n, LIMIT_JOBS_WAITING);
        return;
    }
    add.queue = queue_of(d, root, &why);
    if (!add.queue) {
        peer_refuse(p, "%s", why.buf);
        return;
    }
    if (!keep_request(d, p, root, &request))
        return;
    if (is_true(root, "unique") && !check_names(d, p, &add, is_true(root, "replace")))
        return;
    add.request = request.buf;
    for (int64_t i = 0; i < count; i++) {
        struct served *s = add_one(d, &add, i);

        if (i == 0 && admit_never(s, &why)) {
            free(add.array);
            daemon_drop(d, s);
            peer_refuse(p, "%s", why.buf);
            return;
        }
        struct stored row = s->row;

        row.shared = s->common->request;
        row.request = s->own;
        s->is_new = true;
        store_add(d->store, &row);
        peer_defer(p, s, false);
    }
    free(add.array);
}

/* The address of the page, for one who may use this socket. */
static void serve_open(struct daemon *d, struct peer *p, const struct node *root)
{
    auto_strbuf struct strbuf head = STRBUF_INIT, url = STRBUF_INIT;
    struct err e;

    if (!d->front) {
        peer_refuse(p, "this daemon has no page");
        return;
    }
    if (d->opts->front->link(d->front, node_text(node_get(root, "job"), ""), &url, &e) < 0) {
        peer_refuse(p, "%s", e.text);
        return;
    }
    struct json j = begin_head(&head);
    json_kv_str(&j, "url", url.buf);
    json_end(&j);
    peer_answer(p, &head, NULL);
}

/* --- all of them ------------------------------------------------------------------------------ */

static const struct {
    const char *name;
    void (*serve)(struct daemon *d, struct peer *p, const struct node *root);
} requests[] = {
    {"submit", serve_submit}, {"list", serve_list},     {"job", serve_job},
    {"wait", serve_wait},     {"cancel", serve_cancel}, {"kill", serve_kill},
    {"pause", serve_pause},   {"resume", serve_resume}, {"forget", serve_forget},
    {"open", serve_open},
};

void request_serve(struct daemon *d, struct peer *p, const char *text, size_t len)
{
    auto_arena struct arena *a = arena_new();
    const struct node *root = json_node(a, text, len);
    const char *what = node_text(node_get(root, "request"), "");

    if (int_of(root, "version", 0) != CONTROL_VERSION) {
        peer_refuse(p, "the daemon uses control protocol version %d, not %lld; use the same muster",
                    CONTROL_VERSION, (long long)int_of(root, "version", 0));
        return;
    }
    d->urgent = true; /* what it changes does not wait */
    if (node_get(root, "array")) {
        request_array(d, p, what, node_text(node_get(root, "array"), ""));
        return;
    }
    for (size_t i = 0; i < ARRAY_SIZE(requests); i++)
        if (strcmp(requests[i].name, what) == 0) {
            requests[i].serve(d, p, root);
            return;
        }
    peer_refuse(p, "unknown request \"%s\"", what);
}
