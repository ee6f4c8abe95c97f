/* target.c - see target.h. */
#include "cli/target.h"

#include <unistd.h>

#include "cli/as_typed.h"
#include "cli/diagnose.h"
#include "cli/tell.h"
#include "client/system.h"

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
    *ret = all;
    ret->v = ARENA_ARRAY(a, struct run_ref, all.n + 1);
    for (size_t i = 0; i < all.n; i++)
        if (runs_in_array(&all, &all.v[i], word))
            ret->v[n++] = all.v[i];
    ret->n = n;
    if (n > 0)
        return 0;
    tell_error("array \"%s\" not found", word);
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

static int ask_one(const struct run_ref *run, const char *request, const char *done)
{
    auto_strbuf struct strbuf text = STRBUF_INIT;
    struct err e;

    if (runs_ask(run, request, NULL, &e) < 0)
        return target_failed(run, &e);
    add_as_typed(&text, done);
    printf("%s: %s\n", run->id, text.buf);
    return 0;
}

int target_ask_array(const struct verb *verb, const char *word, const char *request,
                     const char *done)
{
    auto_arena struct arena *a = arena_new();
    struct runs runs;
    int code = target_array(verb, a, word, &runs), result = 0;

    for (size_t i = runs.n; code == 0 && i-- > 0;) /* from the end: none starts meanwhile */
        if (runs.v[i].alive) {
            int r = ask_one(&runs.v[i], request, done);
            result = result ? result : r;
        }
    if (code == 0)
        code = result;
    int r = finish_output();
    return code ? code : r;
}

int target_ask(const struct verb *verb, int argc, char **argv, const char *request,
               const char *done)
{
    auto_arena struct arena *a = arena_new();
    struct operands ops;
    struct run_ref run;
    int code = target_operands(verb, NULL, argc, argv, 1, &ops);

    if (code == 0 && ops.n && target_is_array(ops.v[0]))
        return target_ask_array(verb, ops.v[0], request, done);
    if (code == 0 && ops.n && target_others(a, ops.v[0], request, done, &code))
        return code;
    if (code == 0)
        code = target_living(verb, a, ops.n ? ops.v[0] : NULL, &run);
    if (code != 0)
        return code;
    code = ask_one(&run, request, done);
    return code ? code : finish_output();
}
