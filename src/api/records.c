/* records.c - what a run directory holds of a job besides its journal and its logs: the plan, the
 * job file, what its ranks used, the hang report. A job may write there: whatever is found is read
 * with care. */
#include <fcntl.h>
#include <string.h>

#include "api/json_cut.h"
#include "api/parts.h"
#include "base/io.h"
#include "base/mem.h"
#include "doc/json_pick.h"
#include "doc/json_read.h"
#include "rundir/command_line.h"
#include "rundir/rundir.h"

#define USAGE_NAME "usage.jsonl"
#define NUMBER_MOST (INT64_C(1) << 53) /* in it; what is more was not measured */

/* --- the plan --------------------------------------------------------------------------------- */

/* The last one: of the job itself, or of its report. That may be large, and no string in it has a
 * newline: so it is searched for the key of an attempt instead of being read. */
static uint32_t attempt_of(const struct entry *en, int run_fd)
{
    static const char key[] = "\n      \"number\": ";
    auto_strbuf struct strbuf text = STRBUF_INIT;
    const struct active *act = en->served ? en->served->act : NULL;

    if (act && act->job)
        return act->job->attempt;
    if (io_read_regular(run_fd, "report.json", LIMIT_REPORT_BYTES, &text, NULL) < 0)
        return 1;
    uint32_t n = 0;
    for (const char *p = strstr(text.buf, key); p; p = strstr(p + 1, key))
        n++;
    return n ? n : 1;
}

void serve_plan(struct call *c)
{
    auto_arena struct arena *a = arena_new();
    auto_strbuf struct strbuf text = STRBUF_INIT;
    struct entry en;
    int64_t from, n;
    size_t total;
    struct err e;

    if (!call_entry(c, a, &en) || !call_number(c, "from", 0, LIMIT_PROCESSES, 0, &from) ||
        !call_number(c, "n", 1, LIMIT_PROCESSES, LIMIT_PROCESSES, &n))
        return;
    auto_close int fd = entry_open(c, &en);
    if (fd < 0)
        return;
    if (io_read_regular(fd, RUNDIR_PLAN, LIMIT_REPORT_BYTES, &text, &e) < 0) {
        answer_error(c->answer, 404, NULL, "the plan of job %s was not kept", en.id);
        return;
    }
    rundir_plan_attempt(&text, attempt_of(&en, fd));
    c->answer->type = "application/json";
    if (!json_cut(text.buf, text.len, "processes", 2, (size_t)from, (size_t)n, &c->answer->body,
                  &total)) {
        answer_error(c->answer, 503, NULL, "the plan of job %s cannot be read", en.id);
        return;
    }
    strbuf_addf(&c->answer->headers, "X-Total-Count: %zu\r\n", total);
}

/* --- the job file ----------------------------------------------------------------------------- */

/* The last word of the command line that looks like a file name and is not an option. */
static const char *file_name(const struct strvec *argv)
{
    const char *name = "job.yaml";

    for (size_t i = 1; i < argv->n; i++) {
        const char *slash = strrchr(argv->v[i], '/'), *base = slash ? slash + 1 : argv->v[i];
        const char *dot = strrchr(base, '.');

        if (*argv->v[i] != '-' && dot && dot > base && !strchr(base, '='))
            name = base;
    }
    return name;
}

static void read_words(const struct node *list, struct strvec *ret)
{
    for (size_t i = 0; list && list->type == NODE_SEQ && i < list->n; i++)
        strvec_push(ret, node_text(list->items[i], ""));
}

/* Of a job that waits it is in the request, else in the run directory. False after refusing. */
static bool job_submission(struct call *c, const struct entry *en, struct command_line *line,
                           struct strbuf *file)
{
    auto_arena struct arena *a = arena_new();
    const struct served *s = en->served;

    auto_strbuf struct strbuf request = STRBUF_INIT;

    if (s)
        served_request(s, &request);
    if (request.len > 0) {
        const struct node *job = node_get(json_node(a, request.buf, request.len), "job");
        const struct node *text = node_get(job, "file");

        read_words(node_get(job, "argv"), &line->argv);
        line->cwd = xstrdup(node_text(node_get(job, "cwd"), "/"));
        if (text && text->type == NODE_STRING)
            strbuf_add(file, text->text, text->len);
        return true;
    }
    auto_close int fd = entry_open(c, en);
    struct err e;
    if (fd < 0)
        return false;
    if (command_line_read(fd, line, &e) < 0) {
        answer_error(c->answer, 404, NULL, "how job %s was submitted is not known: %s", en->id,
                     e.text);
        return false;
    }
    (void)io_read_regular(fd, RUNDIR_JOB_FILE, LIMIT_FILE_BYTES, file, NULL);
    return true;
}

void file_for_call(struct call *c, const struct entry *en, void (*shape)(struct http_answer *a))
{
    auto_command struct command_line line = COMMAND_INIT;
    auto_strbuf struct strbuf file = STRBUF_INIT, request = STRBUF_INIT;
    struct json j = JSON_COMPACT(&request);

    if (!job_submission(c, en, &line, &file))
        return;
    if (file.len == 0) {
        answer_error(c->answer, 404, NULL, "job %s has no job file", en->id);
        return;
    }
    json_object(&j);
    json_kv_str(&j, "name", file_name(&line.argv));
    json_key(&j, "text");
    json_strn(&j, file.buf, file.len);
    json_end(&j);
    work_for_call(c, "file", request.buf, request.len, shape);
}

void serve_file(struct call *c)
{
    auto_arena struct arena *a = arena_new();
    struct entry en;

    if (call_entry(c, a, &en))
        file_for_call(c, &en, NULL);
}

/* The same submission once more. */
void serve_retry(struct call *c)
{
    auto_arena struct arena *a = arena_new();
    auto_command struct command_line line = COMMAND_INIT;
    auto_strbuf struct strbuf file = STRBUF_INIT, request = STRBUF_INIT;
    struct json j = JSON_COMPACT(&request);
    struct entry en;

    if (!call_entry(c, a, &en))
        return;
    if (!en.served) {
        answer_error(c->answer, 409, "use `muster rerun`", "%s is a run in the foreground", en.id);
        return;
    }
    if (!en.outcome) {
        answer_error(c->answer, 409, NULL, "job %s has not ended", en.id);
        return;
    }
    if (!job_submission(c, &en, &line, &file))
        return;
    json_object(&j);
    json_key(&j, "words");
    json_array(&j);
    for (size_t i = 0; i < line.argv.n; i++)
        json_str(&j, line.argv.v[i]);
    json_end(&j);
    json_kv_str(&j, "cwd", line.cwd);
    json_key(&j, "text");
    if (file.len)
        json_strn(&j, file.buf, file.len);
    else
        json_null(&j);
    json_end(&j);
    work_for_call(c, "retry", request.buf, request.len, NULL);
}

/* --- usage ------------------------------------------------------------------------------------ */

struct series { /* of a rank */
    const char *replica;
    int64_t rank;  /* -1: what else runs in the replica */
    int64_t *v[4]; /* per look; -1: it was not there */
    int64_t cpu_before, ms_before;
};

struct picture {
    struct arena *a;
    int64_t *ms;
    size_t n, most;
    struct series *v;
    size_t n_series, cap;
};

enum { CPU, MEMORY, READ, WRITTEN, VALUES };

static struct series *series_of(struct picture *p, const char *replica, int64_t rank, size_t guess)
{
    if (guess < p->n_series && p->v[guess].rank == rank &&
        strcmp(p->v[guess].replica, replica) == 0)
        return &p->v[guess];
    for (size_t i = 0; i < p->n_series; i++)
        if (p->v[i].rank == rank && strcmp(p->v[i].replica, replica) == 0)
            return &p->v[i];
    if (p->n_series >= LIMIT_PROCESSES)
        return NULL;
    GROW(p->v, p->n_series, p->cap);
    struct series *s = &p->v[p->n_series++];
    *s = (struct series){.replica = arena_strdup(p->a, replica), .rank = rank, .ms_before = -1};
    for (size_t i = 0; i < VALUES; i++) {
        s->v[i] = ARENA_ARRAY(p->a, int64_t, p->most + 1);
        memset(s->v[i], 0xff, p->most * sizeof(*s->v[i]));
    }
    return s;
}

static int64_t number(const struct node *row, size_t i)
{
    const struct node *n = row->items[i];

    return n->type == NODE_INT && n->i >= 0 && n->i < NUMBER_MOST ? n->i : -1;
}

/* CPU time becomes percent of a core since the look before. */
static void add_look(struct picture *p, const struct node *line)
{
    const struct node *ms = node_get(line, "ms"), *of = node_get(line, "of");

    if (!ms || ms->type != NODE_INT || ms->i < 0 || ms->i >= NUMBER_MOST || !of ||
        of->type != NODE_SEQ || p->n >= p->most)
        return;
    for (size_t i = 0; i < of->n; i++) {
        const struct node *row = of->items[i];

        if (row->type != NODE_SEQ || row->n != 2 + VALUES || row->items[0]->type != NODE_STRING)
            continue;
        struct series *s = series_of(p, row->items[0]->text, number(row, 1), i);
        if (!s)
            continue;
        int64_t cpu = number(row, 2), since = ms->i - (s->ms_before >= 0 ? s->ms_before : 0);
        s->v[CPU][p->n] =
            since > 0 && cpu >= s->cpu_before ? (cpu - s->cpu_before) * 100 / since : -1;
        for (size_t k = MEMORY; k < VALUES; k++)
            s->v[k][p->n] = number(row, 2 + k);
        s->cpu_before = cpu;
        s->ms_before = ms->i;
    }
    p->ms[p->n++] = ms->i;
}

static void put_values(struct json *j, const char *key, const int64_t *v, size_t n)
{
    json_key(j, key);
    json_array(j);
    for (size_t i = 0; i < n; i++)
        if (v[i] >= 0)
            json_int(j, v[i]);
        else
            json_null(j);
    json_end(j);
}

static void put_picture(struct json *j, const struct picture *p)
{
    static const char *const names[VALUES] = {"cpu", "memory", "read", "written"};

    put_values(j, "ms", p->ms, p->n);
    json_key(j, "ranks");
    json_array(j);
    for (size_t i = 0; i < p->n_series; i++) {
        json_object(j);
        json_kv_str(j, "replica", p->v[i].replica);
        json_key(j, "rank");
        if (p->v[i].rank >= 0)
            json_int(j, p->v[i].rank);
        else
            json_null(j);
        for (size_t k = 0; k < VALUES; k++)
            put_values(j, names[k], p->v[i].v[k], p->n);
        json_end(j);
    }
    json_end(j);
}

void serve_usage(struct call *c)
{
    auto_arena struct arena *a = arena_new();
    auto_strbuf struct strbuf text = STRBUF_INIT;
    struct picture p = {.a = a};
    struct entry en;
    const char *nl;

    if (!call_entry(c, a, &en))
        return;
    auto_close int fd = entry_open(c, &en);
    if (fd < 0)
        return;
    (void)io_read_regular(fd, USAGE_NAME, LIMIT_API_USAGE_BYTES, &text, NULL);
    for (size_t i = 0; i < text.len; i++)
        p.most += text.buf[i] == '\n';
    p.ms = ARENA_ARRAY(a, int64_t, p.most + 1);
    for (const char *line = text.buf; (nl = strchr(line, '\n')); line = nl + 1) {
        auto_arena struct arena *own = arena_new();

        add_look(&p, json_node(own, line, (size_t)(nl - line)));
    }
    struct json j = answer_json(c->answer, 200);
    put_picture(&j, &p);
    json_end(&j);
    free(p.v);
}

/* --- a hang ----------------------------------------------------------------------------------- */

/* "… waits for rank 3 on worker-1: …" */
static void put_waits_for(struct json *j, const char *waits)
{
    static const char before[] = " waits for ";
    const char *p = strstr(waits, before), *end;

    json_key(j, "for");
    json_array(j);
    end = p ? strstr(p, ": ") : NULL;
    for (p = p ? strstr(p, "rank ") : NULL; p && (!end || p < end); p = strstr(p, "rank ")) {
        p += strlen("rank ");
        if (*p >= '0' && *p <= '9')
            json_int(j, strtoll(p, NULL, 10));
    }
    json_end(j);
}

static void put_place(struct json *j, const struct node *process)
{
    const struct node *place = node_get(process, "place"), *line = node_get(place, "line");
    const char *file = node_text(node_get(place, "file"), NULL);
    auto_strbuf struct strbuf text = STRBUF_INIT;

    if (file)
        strbuf_addf(&text, "%s:%lld in %s", file,
                    (long long)(line && line->type == NODE_INT ? line->i : 0),
                    node_text(node_get(place, "function"), "?"));
    else
        strbuf_addstr(&text, node_text(node_get(process, "waits_in"), ""));
    kv_text(j, "place", text.buf);
}

static void put_waits(struct json *j, const struct node *processes)
{
    json_array(j);
    for (size_t i = 0; processes && processes->type == NODE_SEQ && i < processes->n; i++) {
        const struct node *p = processes->items[i], *rank = node_get(p, "rank");
        const char *waits = node_text(node_get(p, "waits"), "");

        json_object(j);
        json_key(j, "rank");
        if (rank && rank->type == NODE_INT)
            json_int(j, rank->i);
        else
            json_null(j);
        kv_text(j, "replica", node_text(node_get(p, "replica"), ""));
        kv_text(j, "command", node_text(node_get(p, "command"), ""));
        put_place(j, p);
        kv_text(j, "waits", waits);
        put_waits_for(j, waits);
        json_end(j);
    }
    json_end(j);
}

void serve_hang(struct call *c)
{
    static const char *const paths[] = {"verdict",
                                        "at",
                                        "kind",
                                        "processes.replica",
                                        "processes.rank",
                                        "processes.command",
                                        "processes.waits",
                                        "processes.waits_in",
                                        "processes.place",
                                        NULL};
    auto_arena struct arena *a = arena_new();
    auto_strbuf struct strbuf json = STRBUF_INIT, text = STRBUF_INIT, part = STRBUF_INIT;
    struct entry en;

    if (!call_entry(c, a, &en))
        return;
    auto_close int fd = entry_open(c, &en);
    if (fd < 0)
        return;
    if (io_read_regular(fd, HANG_JSON, LIMIT_REPORT_BYTES, &json, NULL) < 0 ||
        !json_pick(json.buf, json.len, paths, &part)) {
        answer_error(c->answer, 404, NULL, "job %s has no hang report", en.id);
        return;
    }
    (void)io_read_regular(fd, HANG_TEXT, LIMIT_REPORT_BYTES, &text, NULL);
    const struct node *root = json_node(a, part.buf, part.len);
    struct json j = answer_json(c->answer, 200);
    json_key(&j, "text");
    json_strn(&j, text.buf, text.len);
    kv_text(&j, "verdict", node_text(node_get(root, "verdict"), ""));
    kv_text(&j, "at", node_text(node_get(root, "at"), ""));
    json_key(&j, "waits");
    put_waits(&j, node_get(root, "processes"));
    json_end(&j);
}
