/* serve_work.c - see serve_work.h. */
#include "cli/serve_work.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/io.h"
#include "base/mem.h"
#include "cli/cli.h"
#include "cli/diagnose.h"
#include "cli/explain.h"
#include "cli/stale_findings.h"
#include "cli/submit_code.h"
#include "cli/submit_daemon.h"
#include "cli/tell.h"
#include "cli/validate.h"
#include "client/daemon.h"
#include "dialect/secret_lines.h"
#include "doc/json_read.h"
#include "engine/engine.h"
#include "rundir/rundir.h"

struct order { /* what a request says */
    const char *name, *text, *cwd, *dialect, *queue;
    size_t len;
    struct strvec options, argv; /* heap */
    struct strvec words;         /* retry: the whole command line as it was */
    int64_t priority, count;     /* -1, 1: not given */
    bool replace;
};

/* --- answers ---------------------------------------------------------------------------------- */

static int answer(int status, const struct strbuf *body)
{
    printf("{\"status\":%d,\"body\":%s}\n", status, body->buf);
    return finish_output();
}

static const char *code_of(int status)
{
    return status == 409   ? "conflict"
           : status == 413 ? "too-large"
           : status == 422 ? "invalid-job"
           : status == 503 ? "unavailable"
                           : "bad-request";
}

/* jf: with its diagnostics; NULL: without. */
static int refuse_with(int status, const struct job_file *jf, const char *text)
{
    auto_strbuf struct strbuf body = STRBUF_INIT;
    struct json j = JSON_COMPACT(&body);

    json_object(&j);
    json_key(&j, "error");
    json_object(&j);
    json_kv_str(&j, "code", code_of(status));
    json_kv_str(&j, "message", text);
    json_kv_null(&j, "hint");
    if (jf)
        diagnostics_json(&j, jf->diags.v, jf->diags.n);
    json_end(&j);
    json_end(&j);
    return answer(status, &body);
}

static int refuse(int status, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
static int refuse(int status, const char *fmt, ...)
{
    auto_strbuf struct strbuf text = STRBUF_INIT;
    va_list ap;

    va_start(ap, fmt);
    strbuf_vaddf(&text, fmt, ap);
    va_end(ap);
    return refuse_with(status, NULL, text.buf);
}

/* --- requests --------------------------------------------------------------------------------- */

/* Options of `submit` that say what becomes of a job, and name no file: of a job file, of a command
 * ("argv", before its "--"). */
static const struct {
    const char *name;
    bool value, of_file, of_command;
} allowed[] = {
    {"--fit", false, true, true},        {"--set", true, true, false},
    {"--scale", true, true, true},       {"--nproc", true, true, true},
    {"--map", true, true, true},         {"--image", true, true, true},
    {"--gpus", true, true, true},        {"--workdir", true, true, true},
    {"--entrypoint", true, true, false}, {"-n", true, false, true},
    {"--processes", true, false, true},  {"--hosts", true, false, true},
    {"--name", true, false, true},       {"--mpi", false, false, true},
    {"--no-mpi", false, false, true},
};

/* How many words an option is, with its value; 0: it is not allowed. */
static size_t words_of_option(const char *word, bool command)
{
    size_t n = strcspn(word, "=");

    for (size_t i = 0; i < ARRAY_SIZE(allowed); i++) {
        if (strlen(allowed[i].name) != n || strncmp(word, allowed[i].name, n) != 0 ||
            !(command ? allowed[i].of_command : allowed[i].of_file))
            continue;
        return allowed[i].value && !word[n] ? 2 : !allowed[i].value && word[n] ? 0 : 1;
    }
    return 0;
}

static bool read_words(const struct node *map, const char *key, struct strvec *ret)
{
    const struct node *list = node_get(map, key);

    if (node_absent(map, key))
        return true;
    if (list->type != NODE_SEQ || list->n > 4096)
        return false;
    for (size_t i = 0; i < list->n; i++) {
        const struct node *word = list->items[i];

        if (word->type != NODE_STRING || strlen(word->text) < word->len)
            return false;
        strvec_push(ret, word->text);
    }
    return true;
}

static bool read_string(const struct node *map, const char *key, const char **ret)
{
    const struct node *n = node_get(map, key);

    if (node_absent(map, key))
        return true;
    *ret = n->text;
    return n->type == NODE_STRING && strlen(n->text) == n->len;
}

static bool read_int(const struct node *map, const char *key, int64_t *ret)
{
    const struct node *n = node_get(map, key);

    if (node_absent(map, key))
        return true;
    *ret = n->i;
    return n->type == NODE_INT;
}

static bool is_file_name(const char *name)
{
    return *name && *name != '-' && *name != '.' && strlen(name) <= 255 && !strchr(name, '/');
}

/* -1, or the exit code after refusing. */
static int check_words(const struct strvec *words, const char *key, bool command)
{
    for (size_t i = 0; i < words->n;) {
        if (command && strcmp(words->v[i], "--") == 0)
            return i + 1 < words->n ? -1 : refuse(400, "`argv` must have a command after \"--\"");
        size_t n = words_of_option(words->v[i], command);

        if (n == 0)
            return refuse(400, "option \"%s\" is not allowed in `%s`", words->v[i], key);
        if (n > words->n - i)
            return refuse(400, "option \"%s\" requires a value", words->v[i]);
        i += n;
    }
    if (command && words->n > 0)
        return refuse(400, "`argv` must have \"--\" and a command: [\"-n\", \"4\", \"--\", …]");
    return -1;
}

/* -1, or the exit code after refusing. */
static int read_order(const char *what, const struct node *root, struct order *o)
{
    const struct node *text = node_get(root, "text"), *replace = node_get(root, "replace");

    *o = (struct order){.name = "job.yaml",
                        .priority = -1,
                        .count = 1,
                        .options = STRVEC_INIT,
                        .argv = STRVEC_INIT,
                        .words = STRVEC_INIT};
    if (!read_string(root, "name", &o->name) || !is_file_name(o->name))
        return refuse(400, "`name` must be the name of a file without a directory");
    if (!node_absent(root, "text") && text->type != NODE_STRING)
        return refuse(400, "`text` must be a string, not %s", node_type_words(text->type));
    if (!read_string(root, "cwd", &o->cwd) || (o->cwd && *o->cwd != '/'))
        return refuse(400, "`cwd` must be an absolute path");
    if (!read_string(root, "dialect", &o->dialect) || !read_string(root, "queue", &o->queue) ||
        (o->queue && *o->queue == '-'))
        return refuse(400, "`dialect` and `queue` must be strings");
    if (!read_words(root, "options", &o->options) || !read_words(root, "argv", &o->argv) ||
        (strcmp(what, "retry") == 0 && !read_words(root, "words", &o->words)))
        return refuse(400, "`options` and `argv` must be lists of strings");
    if (!read_int(root, "priority", &o->priority) || o->priority < -1 || o->priority > 100 ||
        !read_int(root, "count", &o->count) || o->count < 1 || o->count > LIMIT_SUBMIT_COUNT)
        return refuse(400, "`priority` must be a number from 0 to 100, and `count` from 1 to %d",
                      LIMIT_SUBMIT_COUNT);
    if (!node_absent(root, "replace") && replace->type != NODE_BOOL)
        return refuse(400, "`replace` must be true or false");
    o->replace = !node_absent(root, "replace") && replace->i;
    if (!node_absent(root, "text")) {
        o->text = text->text;
        o->len = text->len;
    }
    if (o->len > LIMIT_FILE_BYTES)
        return refuse(413, "the job file has %zu bytes; the limit is %d", o->len, LIMIT_FILE_BYTES);
    int code = check_words(&o->options, "options", false);
    return code >= 0 ? code : check_words(&o->argv, "argv", true);
}

static void order_release(struct order *o)
{
    strvec_release(&o->options);
    strvec_release(&o->argv);
    strvec_release(&o->words);
}

/* --- validate and explain --------------------------------------------------------------------- */

static int read_text(struct arena *a, const struct order *o, const struct read_options *opts,
                     struct job_file *ret)
{
    struct err e;

    if (job_file_read_kept(a, o->name, o->text, o->len, opts, ret, &e) < 0)
        return refuse(400, "%s", e.text);
    return -1;
}

static int work_validate(const struct order *o)
{
    auto_arena struct arena *a = arena_new();
    auto_strbuf struct strbuf body = STRBUF_INIT;
    struct json j = JSON_COMPACT(&body);
    CLEANUP(job_options_release) struct job_options jo = JOB_OPTIONS_INIT;
    struct job_file jf;

    jo.dialect = o->dialect;
    if (job_options_check(&verb_validate, &jo) != 0)
        return refuse(400, "unknown dialect \"%s\"", o->dialect ? o->dialect : "");
    const struct read_options opts = job_read_options(&jo);
    int code = read_text(a, o, &opts, &jf);
    if (code >= 0)
        return code;
    validate_json(&j, o->name, verdict_name(jf.verdict), jf.dialect, jf.diags.v, jf.diags.n);
    job_file_release(&jf);
    return answer(200, &body);
}

/* The words as `submit` reads them. */
static void submit_words(const struct order *o, struct strvec *words)
{
    strvec_push(words, "submit");
    if (o->dialect)
        strvec_pushf(words, "--dialect=%s", o->dialect);
    if (o->queue)
        strvec_pushf(words, "--queue=%s", o->queue);
    if (o->priority >= 0)
        strvec_pushf(words, "--priority=%lld", (long long)o->priority);
    if (o->count > 1)
        strvec_pushf(words, "--count=%lld", (long long)o->count);
    if (o->replace)
        strvec_push(words, "--replace");
    for (size_t i = 0; i < o->options.n; i++)
        strvec_push(words, o->options.v[i]);
    if (o->text) { /* there is no directory of the file whose code could be copied */
        strvec_push(words, "--in-place");
        strvec_push(words, o->name);
    }
    for (size_t i = 0; i < o->argv.n; i++)
        strvec_push(words, o->argv.v[i]);
}

struct reading { /* a job as the words of an order describe it */
    struct strvec words, kept;
    struct submit_options so;
    struct operands ops;
    struct job_file jf;
};

static void reading_release(struct reading *r)
{
    submit_options_release(&r->so);
    job_file_release(&r->jf);
    strvec_release(&r->words);
    strvec_release(&r->kept);
}

static int parse(const struct order *o, struct reading *r)
{
    *r = (struct reading){.words = STRVEC_INIT, .kept = STRVEC_INIT, .so = SUBMIT_OPTIONS_INIT};
    if (o->words.n == 0)
        submit_words(o, &r->words);
    for (size_t i = 0; i < o->words.n; i++)
        strvec_push(&r->words, o->words.v[i]);
    for (size_t i = 0; i < r->words.n; i++)
        strvec_push(&r->kept, r->words.v[i]);
    if (opts_parse(&verb_submit, &r->so, (int)r->words.n, r->words.v, &r->ops) < 0)
        return EXIT_USAGE;
    return submit_check_options(&verb_submit, &r->so);
}

static int explain_job(struct json *j, struct arena *a, const struct reading *r,
                       const struct job_spec *spec, const struct explained *told, struct err *e)
{
    CLEANUP(survey_release) struct survey s = SURVEY_INIT;
    CLEANUP(rundir_release) struct rundir where = RUNDIR_INIT;
    struct survey_request rq = job_survey(&r->so.job, spec, SURVEY_SHOW);
    const struct plan *plan = NULL;
    int code = rundir_name("RUN_ID", NULL, &where, e);

    rq.isolate = r->so.isolate;
    rq.run_id = where.run_id;
    rq.run_dir = where.path;
    rq.scratch_dir = where.scratch;
    if (code == 0)
        code = engine_local.survey(a, &rq, &s, e);
    if (code == 0)
        code = engine_local.plan(a, spec, &s, &plan, e);
    if (code == 0)
        explain_json(j, a, plan, told);
    return code;
}

static void put_changes(struct strbuf *out, const struct changes *changes)
{
    struct json j = JSON_COMPACT(out);

    json_array(&j);
    for (size_t i = 0; i < changes->n; i++)
        json_str(&j, changes->v[i].text);
    json_end(&j);
}

static int explain_all(struct arena *a, const struct order *o, struct reading *r)
{
    auto_strbuf struct strbuf body = STRBUF_INIT, said = STRBUF_INIT;
    struct json j = JSON_COMPACT(&body);
    struct err e = {0};
    int code = 0;

    json_object(&j);
    json_key(&j, "jobs");
    json_array(&j);
    for (size_t i = 0; i < r->jf.n_jobs && code == 0; i++) {
        const struct job_spec *spec;
        struct changes changes;
        const struct explained told = {
            .path = o->name, .ds = i == 0 ? &r->jf.diags : NULL, .changes = &changes};

        code = job_adjust(a, &r->so.job, r->jf.jobs[i], &spec, &changes, &e);
        if (code == 0)
            drop_stale_findings(&r->jf.diags, &r->so.job, &changes, &engine_local);
        if (code == 0)
            code = explain_job(&j, a, r, spec, &told, &e);
        if (code == 0 && i == 0)
            put_changes(&said, &changes);
    }
    json_end(&j);
    json_end(&j);
    if (code < 0)
        return refuse_with(422, &r->jf, e.text);
    strbuf_truncate(&body, body.len - 1);
    strbuf_addf(&body, ",\"changes\":%s}", said.buf);
    return answer(200, &body);
}

static int refuse_file(const struct job_file *jf)
{
    return refuse_with(422, jf,
                       jf->verdict == VERDICT_NOTJOB        ? "not a job file"
                       : jf->verdict == VERDICT_UNSUPPORTED ? "this kind of job is not supported"
                                                            : "the job file has errors");
}

/* What was said on stderr, without its head. */
static char *complaint(const char *text)
{
    static const char *const heads[] = {"muster submit: ", "muster: error: ", "muster: "};

    for (size_t i = 0; i < ARRAY_SIZE(heads); i++)
        if (strncmp(text, heads[i], strlen(heads[i])) == 0) {
            text += strlen(heads[i]);
            break;
        }
    return xstrndup(text, strcspn(text, "\n"));
}

/* stderr while something runs that complains to people. */
static int catch_complaints(int *ret_old)
{
    int fd = memfd_create("complaints", MFD_CLOEXEC);

    *ret_old = dup(STDERR_FILENO);
    if (fd >= 0)
        (void)dup2(fd, STDERR_FILENO);
    return fd;
}

static char *caught(int fd, int old)
{
    auto_strbuf struct strbuf text = STRBUF_INIT;

    (void)fflush(stderr);
    (void)dup2(old, STDERR_FILENO);
    (void)close(old);
    if (fd >= 0 && lseek(fd, 0, SEEK_SET) == 0)
        (void)io_read_fd(fd, "complaints", 1 << 20, &text, NULL);
    if (fd >= 0)
        (void)close(fd);
    return complaint(text.buf);
}

static int work_explain(const struct order *o)
{
    auto_arena struct arena *a = arena_new();
    CLEANUP(reading_release) struct reading r;
    int old, fd = catch_complaints(&old);
    int code = parse(o, &r);

    if (code == 0)
        code = job_options_check(&verb_submit, &r.so.job);
    auto_free char *said = caught(fd, old);
    if (code != 0)
        return refuse(400, "%s", said);
    const struct read_options opts = job_read_options(&r.so.job);
    code = read_text(a, o, &opts, &r.jf);
    if (code >= 0)
        return code;
    return r.jf.verdict == VERDICT_ACCEPT ? explain_all(a, o, &r) : refuse_file(&r.jf);
}

/* A job file as somebody may see it, with what is found in it. */
static int work_file(const struct order *o)
{
    auto_arena struct arena *a = arena_new();
    auto_strbuf struct strbuf body = STRBUF_INIT, text = STRBUF_INIT;
    struct json j = JSON_COMPACT(&body);
    CLEANUP(job_options_release) struct job_options jo = JOB_OPTIONS_INIT;
    const struct read_options opts = job_read_options(&jo);
    struct job_file jf;
    int code = read_text(a, o, &opts, &jf);

    if (code >= 0)
        return code;
    mask_secret_lines(o->text, o->len, json_looks_like(o->name, o->text, o->len), &text);
    json_object(&j);
    json_kv_str(&j, "file", o->name);
    json_key(&j, "text");
    json_strn(&j, text.buf, text.len);
    json_key(&j, "validate");
    validate_json(&j, o->name, verdict_name(jf.verdict), jf.dialect, jf.diags.v, jf.diags.n);
    json_end(&j);
    job_file_release(&jf);
    return answer(200, &body);
}

/* --- submit ----------------------------------------------------------------------------------- */

static int send_order(const struct strbuf *request, const struct changes *changes,
                      const struct submit_code *copied)
{
    auto_arena struct arena *a = arena_new();
    auto_strbuf struct strbuf body = STRBUF_INIT;
    struct json j = JSON_COMPACT(&body);
    struct answer an = {.body = STRBUF_INIT};
    struct err e;
    int r = daemon_ask(a, request, LIMIT_SUBMIT_MS, &an, &e);

    if (r < 0) {
        submit_code_drop(copied);
        strbuf_release(&an.body);
        return refuse(r == -EPERM ? strstr(e.text, "is in use") ? 409 : 422 : 503, "%s", e.text);
    }
    json_object(&j);
    json_key(&j, "ids");
    json_array(&j);
    for (const char *p = an.body.buf; *p; p += strcspn(p, "\n") + (p[strcspn(p, "\n")] == '\n'))
        json_strn(&j, p, strcspn(p, "\n"));
    json_end(&j);
    json_key(&j, "notes");
    json_array(&j);
    for (size_t i = 0; i < changes->n; i++)
        json_str(&j, changes->v[i].text);
    json_end(&j);
    json_end(&j);
    strbuf_release(&an.body);
    return answer(201, &body);
}

/* The diagnostics of a file that submit_read() has refused. */
static int refuse_submission(struct arena *a, const struct order *o, const struct reading *r,
                             const char *said)
{
    const struct read_options opts = job_read_options(&r->so.job);
    struct job_file jf;
    struct err e;

    if (!o->text || job_file_read_kept(a, o->name, o->text, o->len, &opts, &jf, &e) < 0)
        return refuse(422, "%s", said);
    int code = jf.verdict == VERDICT_ACCEPT ? refuse_with(422, &jf, said) : refuse_file(&jf);
    job_file_release(&jf);
    return code;
}

static int work_submit(const struct order *o)
{
    auto_arena struct arena *a = arena_new();
    auto_strbuf struct strbuf request = STRBUF_INIT;
    CLEANUP(reading_release) struct reading r;
    CLEANUP(submitted_release) struct submitted s = {0};
    CLEANUP(submit_code_release) struct submit_code copied = {0};
    struct err e;
    char cwd[4096];
    int old, fd = catch_complaints(&old);
    int code = parse(o, &r), read = -1;

    if (code == 0)
        code = read = submit_read(&verb_submit, a, &r.so, &r.ops, o->text, o->len, &s);
    auto_free char *said = caught(fd, old);
    if (code != 0)
        return read > 0 ? refuse_submission(a, o, &r, said) : refuse(400, "%s", said);
    if (job_runnable(&r.so.job, s.spec, &e) < 0)
        return refuse_with(422, s.jf.path ? &s.jf : NULL, e.text);
    if (!getcwd(cwd, sizeof(cwd)))
        return refuse(400, "cannot determine the working directory");
    if (submit_code_take(&r.so, &s, cwd, &copied, &e) < 0)
        return refuse(422, "%s", e.text);
    r.so.by_http = true;
    submit_put_request(&request, &r.so, &s, &r.kept, cwd, &copied);
    if (request.len > LIMIT_SUBMIT_BYTES)
        return refuse(413, "the submission has %zu bytes with its environment; the limit is %d",
                      request.len, LIMIT_SUBMIT_BYTES);
    return send_order(&request, &s.changes, &copied);
}

/* --- all of it -------------------------------------------------------------------------------- */

static int work(const char *what, const struct order *o)
{
    bool again = strcmp(what, "retry") == 0, submits = again || strcmp(what, "submit") == 0;
    const char *cwd = o->cwd ? o->cwd : getenv("HOME");

    if (submits && !again && (o->text != NULL) == (o->argv.n > 0))
        return refuse(400, "either `text` or `argv` is required");
    if (!submits && !o->text)
        return refuse(400, "`text` is required");
    if (chdir(cwd ? cwd : "/") < 0 && (submits || o->cwd || chdir("/") < 0))
        return refuse(400, "cwd %s: %s", cwd ? cwd : "/", strerror(errno));
    if (submits)
        return work_submit(o);
    return strcmp(what, "explain") == 0 ? work_explain(o)
           : strcmp(what, "file") == 0  ? work_file(o)
                                        : work_validate(o);
}

int serve_work(void)
{
    const struct rlimit cpu = {LIMIT_API_WORK_CPU_S, LIMIT_API_WORK_CPU_S}, none = {0, 0};
    auto_arena struct arena *a = arena_new();
    auto_strbuf struct strbuf text = STRBUF_INIT;
    CLEANUP(order_release) struct order o = {.options = STRVEC_INIT, .argv = STRVEC_INIT};
    struct err e;

    (void)setrlimit(RLIMIT_CPU, &cpu);
    (void)setrlimit(RLIMIT_CORE, &none);
    tell_quietly(true);
    if (io_read_fd(STDIN_FILENO, "request", 2 * LIMIT_API_BODY_BYTES, &text, &e) < 0)
        return refuse(400, "%s", e.text);
    const struct node *root = json_node(a, text.buf, text.len);
    const char *what = node_text(node_get(root, "what"), "");
    int code = read_order(what, node_get(root, "request"), &o);

    return code >= 0 ? code : work(what, &o);
}
