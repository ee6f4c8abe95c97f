/* target.c - see target.h. */
#include "cli/target.h"

#include <string.h>
#include <unistd.h>

#include "cli/as_typed.h"
#include "cli/diagnose.h"
#include "cli/tell.h"
#include "client/daemon.h"
#include "client/system.h"
#include "job/job.h"

/* A job of another user, and told so. */
static bool is_of_another(struct arena *a, const char *id)
{
    const struct node *job = system_job(a, id), *uid = node_get(job, "uid");

    if (!uid || uid->type != NODE_INT || (uid_t)uid->i == geteuid())
        return false;
    const char *user = node_text(node_get(job, "user"), "");
    if (geteuid() != 0)
        tell_error("%s is a job of %s; only %s and root may do that", id, user, user);
    else
        tell_error("%s is a job of %s; become that user first, as with `runuser -u %s -- muster …`",
                   id, user, user);
    return true;
}

bool target_others(struct arena *a, const char *id, const char *request, const char *done,
                   int *ret_code)
{
    const struct node *job = geteuid() == 0 ? system_job(a, id) : NULL;
    const struct node *uid = node_get(job, "uid");
    struct err e;

    if (!uid || uid->type != NODE_INT || uid->i == 0)
        return false;
    if (system_ask_job(a, request, id, &e) < 0) {
        tell_error("%s", e.text);
        *ret_code = EXIT_FAILED;
        return true;
    }
    printf("%s of %s: %s\n", id, node_text(node_get(job, "user"), ""), done);
    *ret_code = finish_output();
    return true;
}

int target_pick(const struct verb *verb, struct arena *a, const char *word, enum runs_want want,
                struct run_ref *ret)
{
    struct err e;

    if (runs_find(a, word, want, ret, &e) == 0)
        return 0;
    if (word && is_of_another(a, word))
        return EXIT_FAILED;
    tell_error("%s", e.text);
    print_try("muster list");
    return verb->usage_exit;
}

int target_array(const struct verb *verb, struct arena *a, const char *word, struct runs *ret)
{
    struct runs all;
    size_t n = 0;

    runs_list(a, &all);
    const char *array = runs_array(&all, word);
    *ret = all;
    ret->v = ARENA_ARRAY(a, struct run_ref, all.n + 1);
    for (size_t i = 0; i < all.n; i++)
        if (runs_in_array(&all.v[i], array))
            ret->v[n++] = all.v[i];
    ret->n = n;
    if (n > 0)
        return 0;
    tell_error("array \"%s\" not found%s%s", word, all.unlisted ? "; " : "",
               all.unlisted ? all.unlisted : "");
    print_try("muster list");
    return verb->usage_exit;
}

int target_find(const struct verb *verb, struct arena *a, const char *word, struct run_ref *ret)
{
    return target_pick(verb, a, word, RUNS_NEWEST, ret);
}

int target_living(const struct verb *verb, struct arena *a, const char *word, struct run_ref *ret)
{
    int code = target_pick(verb, a, word, RUNS_LIVING, ret);

    return code ? code : target_is_living(ret);
}

int target_is_living(const struct run_ref *run)
{
    struct err e;

    if (run->alive && runs_is_stuck(run, &e))
        return target_failed(run, &e);
    if (run->alive)
        return 0;
    if (run->served && run->exit_code < 0 && *run->fault) {
        tell_error("%s continues, but %s", run->id, run->fault);
        return EXIT_FAILED;
    }
    if (run->kept_until)
        tell_error("%s is detached; use muster attach %s", run->id, run->id);
    else if (run->exit_code >= 0)
        tell_error("%s has ended: %s, exit code %d", run->id, run->state, run->exit_code);
    else if (*run->fault)
        tell_error("%s has ended, but %s", run->id, run->fault);
    else
        tell_error("%s has ended: the muster process was killed", run->id);
    return EXIT_FAILED;
}

int target_failed(const struct run_ref *run, const struct err *e)
{
    tell_error("%s: %s", run->id, e->text);
    return EXIT_FAILED;
}

int target_operands(const struct verb *verb, void *options, int argc, char **argv, int max,
                    struct operands *ret)
{
    if (opts_parse(verb, options, argc, argv, ret) < 0)
        return verb->usage_exit;
    if (ret->rest)
        return usage_error(verb, "takes no command");
    if (ret->n > max)
        return usage_error(verb, "unexpected argument \"%s\"", ret->v[max]);
    return 0;
}

int target_request(struct arena *a, struct run_ref *run, const char *request)
{
    struct err e;
    int r = runs_request(a, run, request, &e);

    if (r == -ESRCH && strcmp(run->state, outcome_name(OUTCOME_CANCELLED)) == 0 &&
        (strcmp(request, "cancel") == 0 || strcmp(request, "kill") == 0))
        return 0;
    return r == 0 ? 0 : r == -ESRCH ? target_is_living(run) : target_failed(run, &e);
}

static int ask_one(struct arena *a, struct run_ref *run, const char *request, const char *done)
{
    auto_strbuf struct strbuf text = STRBUF_INIT;
    int code = target_request(a, run, request);

    if (code != 0)
        return code;
    add_as_typed(&text, done);
    printf("%s: %s\n", run->id, text.buf);
    return 0;
}

int target_ask_array(const struct verb *verb, const char *word, const char *request,
                     const char *done)
{
    auto_arena struct arena *a = arena_new();
    auto_strvec struct strvec ids = STRVEC_INIT;
    auto_strbuf struct strbuf text = STRBUF_INIT;
    struct err e;
    int r = daemon_ask_array(a, request, word + 1, &ids, &e);

    if (r < 0) {
        tell_error("%s", e.text);
        return r == -EPERM ? verb->usage_exit : EXIT_FAILED;
    }
    add_as_typed(&text, done);
    if (ids.n > LIMIT_ARRAY_LINES)
        printf("%s: %zu jobs: %s\n", word, ids.n, text.buf);
    for (size_t i = 0; ids.n <= LIMIT_ARRAY_LINES && i < ids.n; i++)
        printf("%s: %s\n", ids.v[i], text.buf);
    return finish_output();
}

int target_ask(const struct verb *verb, const struct operands *ops, const char *request,
               const char *done)
{
    auto_arena struct arena *a = arena_new();
    const char *word = ops->n ? ops->v[0] : NULL;
    struct run_ref run;
    int code;

    if (target_is_array(word))
        return target_ask_array(verb, word, request, done);
    if (word && target_others(a, word, request, done, &code))
        return code;
    code = target_living(verb, a, word, &run);
    if (code != 0)
        return code;
    code = ask_one(a, &run, request, done);
    return code ? code : finish_output();
}
