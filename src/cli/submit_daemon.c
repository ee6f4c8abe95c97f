/* submit_daemon.c - see submit_daemon.h: the client's part of a submission. */
#include "cli/submit_daemon.h"

#include <limits.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "cli/as_typed.h"
#include "cli/diagnose.h"
#include "cli/matrix.h"
#include "cli/place.h"
#include "cli/submit_code.h"
#include "cli/tell.h"
#include "client/daemon.h"
#include "plan/env.h"

#define PRIORITY 50 /* unless somebody says another one */

/* --- what is sent ----------------------------------------------------------------------------- */

static void put_words(struct json *j, const char *key, char *const *v, int n)
{
    json_key(j, key);
    json_array(j);
    for (int i = 0; i < n; i++)
        json_str(j, v[i]);
    json_end(j);
}

/* No more than the job will get: it is kept until the job has ended. */
static void put_env(struct json *j, const struct submit_options *o)
{
    auto_arena struct arena *a = arena_new();
    const struct facts facts = {
        .caller = {.env = (const char *const *)environ,
                   .clean_env = o->command.n ? false : o->job.clean_env,
                   .inherit_all = o->command.n && !o->job.clean_env,
                   .inherit_env =
                       o->job.inherit_env.n ? (const char *const *)o->job.inherit_env.v : NULL}};
    const struct env_value *v;
    size_t n = env_passed_on(a, &facts, &v);

    json_key(j, "env");
    json_array(j);
    for (size_t i = 0; i < n; i++)
        json_str(j, arena_printf(a, "%s=%s", v[i].name, v[i].value));
    json_end(j);
}

static void put_limit(struct json *j, rlim_t limit)
{
    json_int(j, limit > INT64_MAX ? -1 : (int64_t)limit); /* RLIM_INFINITY */
}

static void put_inherited(struct json *j)
{
    struct inherited us;

    inherited_from_us(&us);
    json_key(j, "inherited");
    json_object(j);
    json_kv_int(j, "umask", us.umask);
    json_key(j, "limits");
    json_array(j);
    for (int i = 0; i < RLIM_NLIMITS; i++) {
        json_array(j);
        put_limit(j, us.limits[i].rlim_cur);
        put_limit(j, us.limits[i].rlim_max);
        json_end(j);
    }
    json_end(j);
    json_end(j);
}

static int64_t at_least_0(int64_t n)
{
    return n > 0 ? n : 0;
}

static int64_t first_set(int64_t a, int64_t b)
{
    return a >= 0 ? a : b;
}

static int64_t ports_of(const struct role *role)
{
    int64_t n = 0;

    for (size_t i = 0; i < role->n_ports; i++)
        n += role->ports[i].count;
    return n;
}

/* Of a role that requests no CPUs one is taken for each process, which the daemon reduces if the
 * machine has fewer: such a job may share CPUs among its own processes. */
static void put_role(struct json *j, const struct role *role, bool pretended)
{
    int64_t cpu = first_set(role->res.cpu_request_milli, role->res.cpu_limit_milli);
    bool implied = cpu < 0;
    int64_t processes = role->kind == ROLE_LAUNCHER && !role->hosts_ranks ? 0 : role->slots;

    json_object(j);
    json_kv_int(j, "replicas", role->replicas);
    json_kv_int(j, "cpu", implied ? processes * 1000 : cpu);
    json_kv_bool(j, "implied", implied);
    json_kv_int(j, "memory",
                at_least_0(first_set(role->res.memory_request, role->res.memory_limit)));
    json_kv_int(j, "gpu", pretended ? 0 : at_least_0(role->res.gpu));
    json_kv_int(j, "ports", ports_of(role));
    json_end(j);
}

static void put_job(struct json *j, const struct submit_options *o, const struct submitted *s,
                    const struct strvec *words, const char *cwd, const struct submit_code *code)
{
    json_object(j);
    put_words(j, "argv", words->v, (int)words->n);
    json_kv_str(j, "cwd", cwd);
    if (o->by_http)
        json_kv_bool(j, "http", true);
    json_kv_str(j, "snapshot", code->name);
    json_kv_str(j, "code_root", code->root);
    put_env(j, o);
    put_inherited(j);
    json_key(j, "file");
    if (s->jf.path)
        json_strn(j, s->jf.doc.source, s->jf.doc.source_len);
    else
        json_null(j);
    json_key(j, "needs");
    json_array(j);
    for (size_t k = 0; k < s->spec->n_roles; k++)
        put_role(j, &s->spec->roles[k], o->job.gpus >= 0);
    json_end(j);
    json_kv_int(j, "max_duration_ms", s->spec->deadline_s * 1000);
    json_end(j);
}

/* Azure's priorities are low, medium and high. */
static int64_t priority_of(const struct submit_options *o, const struct job_spec *spec)
{
    if (o->priority >= 0)
        return o->priority;
    if (spec->priority < 0)
        return PRIORITY;
    if (spec->platform.environment == PLATFORM_AZUREML && spec->priority <= 3)
        return (int64_t)spec->priority * 25;
    return spec->priority > 100 ? 100 : spec->priority;
}

/* A compute target is a queue if there is one of that name; without a tier, Azure says "null". */
static void put_queue(struct json *j, const struct submit_options *o, const struct job_spec *spec)
{
    const char *name = o->queue ? o->queue : spec->queue;

    json_kv_str(j, "queue", name && strcmp(name, "null") == 0 ? NULL : name);
    json_kv_str(j, "target", spec->target);
}

void submit_put_request(struct strbuf *out, const struct submit_options *o,
                        const struct submitted *s, const struct strvec *words, const char *cwd,
                        const struct submit_code *code)
{
    const struct job_spec *spec = s->spec;
    struct json j = ask_begin(out, "submit");

    json_kv_str(&j, "name", spec->name);
    json_kv_str(&j, "dialect", spec->dialect);
    put_queue(&j, o, spec);
    json_kv_int(&j, "priority", priority_of(o, spec));
    json_kv_int(&j, "count", o->count);
    matrix_put(&j, &o->matrix);
    json_kv_bool(&j, "unique", s->jf.path || o->command.name);
    json_kv_bool(&j, "replace", o->replace);
    put_words(&j, "after", o->after.v, (int)o->after.n);
    json_key(&j, "job");
    put_job(&j, o, s, words, cwd, code);
    json_end(&j);
}

/* --- the verb --------------------------------------------------------------------------------- */

int submit_check_options(const struct verb *verb, const struct submit_options *o)
{
    int64_t total;

    if (o->priority > 100)
        return usage_error(verb, "--priority must be a number from 0 to 100, not %lld",
                           (long long)o->priority);
    if (o->count > LIMIT_SUBMIT_COUNT)
        return usage_error(verb, "--count must be at most %d, not %lld", LIMIT_SUBMIT_COUNT,
                           (long long)o->count);
    if (o->in_place && o->snapshot)
        return usage_error(verb, "--in-place and --snapshot cannot be used together");
    return matrix_check(verb, &o->matrix, o->count, &total);
}

/* The daemon plans the job when it starts, and nobody reads its notes then. */
static void warn_crowd(struct arena *a, const struct job_spec *spec)
{
    uint64_t n = 0;

    for (size_t i = 0; i < spec->n_roles; i++)
        n += (uint64_t)spec->roles[i].replicas * (uint64_t)spec->roles[i].slots;
    const char *crowd = plan_crowd(a, n, (int)sysconf(_SC_NPROCESSORS_ONLN));
    if (crowd)
        tell_warning(crowd);
}

static int start_daemon(struct err *e)
{
    auto_free char *program = place_find("serve");

    return program ? daemon_start(program, e) : err_set(e, -ENOENT, "muster-serve not found");
}

/* *refused: nothing was submitted, and nothing will be. */
static int send_request(const struct submit_options *o, const struct strbuf *request, bool *refused)
{
    auto_arena struct arena *a = arena_new();
    struct answer an = {.body = STRBUF_INIT};
    struct err e;
    int r = request->len > LIMIT_SUBMIT_BYTES
                ? err_set(&e, -E2BIG,
                          "the submission has %zu bytes with its environment; the limit is %d",
                          request->len, LIMIT_SUBMIT_BYTES)
                : daemon_ask(a, request, LIMIT_SUBMIT_MS, &an, &e);

    if ((r == -ENOENT || r == -ECONNREFUSED) && !o->no_autostart) {
        r = start_daemon(&e);
        if (r == 0)
            r = daemon_ask(a, request, LIMIT_SUBMIT_MS, &an, &e);
    }
    if (r == 0 && o->array_id)
        printf("@%.*s\n", (int)strcspn(an.body.buf, "\n"), an.body.buf);
    else if (r == 0)
        (void)fwrite(an.body.buf, 1, an.body.len, stdout);
    strbuf_release(&an.body);
    *refused = r < 0 && r != -ETIMEDOUT && r != -ECONNRESET && r != -EPIPE;
    if (r == 0)
        return finish_output();
    tell_error("%s", e.text);
    return EXIT_FAILED;
}

int submit_to_daemon(const struct verb *verb, const struct strvec *words, struct submit_options *o,
                     const struct operands *ops)
{
    auto_arena struct arena *a = arena_new();
    auto_strbuf struct strbuf request = STRBUF_INIT;
    CLEANUP(submitted_release) struct submitted s = {0};
    CLEANUP(submit_code_release) struct submit_code code = {0};
    char cwd[PATH_MAX];
    struct err e;
    int sent = submit_check_options(verb, o);
    bool refused;

    if (sent == 0)
        sent = submit_read(verb, a, o, ops, NULL, 0, &s);
    if (sent != 0)
        return sent;
    if (job_runnable(&o->job, s.spec, &e) < 0 ||
        (!getcwd(cwd, sizeof(cwd)) &&
         err_sys(&e, -errno, "cannot determine the working directory"))) {
        tell_error("%s", e.text);
        return verb->usage_exit;
    }
    tell_changes(&s.changes);
    warn_crowd(a, s.spec);
    matrix_warn(&o->matrix, o->count, ops->rest, ops->rest ? ops->n_rest : 0);
    if (submit_code_take(o, &s, cwd, &code, &e) < 0) {
        tell_error("%s", e.text);
        return EXIT_FAILED;
    }
    submit_put_request(&request, o, &s, words, cwd, &code);
    sent = send_request(o, &request, &refused);
    if (refused)
        submit_code_drop(&code);
    return sent;
}
