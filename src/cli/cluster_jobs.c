/* cluster_jobs.c - see cluster_jobs.h. */
#include "cli/cluster_jobs.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "cli/cluster_show.h"
#include "cli/diagnose.h"
#include "cli/place.h"
#include "cli/tell.h"

#define AT(member) offsetof(struct cluster_options, member)
const struct opt cluster_opts[] = {
    {"on", 0, OPT_CHOICE, AT(on), .choices = engine_names,
     .help = "kubernetes: the jobs that `muster operator` runs in a cluster"},
    {"namespace", 0, OPT_STRING, AT(namespace_), "NS", .help = "their namespace"},
    {"context", 0, OPT_STRING, AT(context), "NAME", .help = "use this context of the kubeconfig"},
    OPT_END,
};

int cluster_choose(const struct verb *verb, const struct cluster_options *o, const char *local,
                   struct cluster *ret)
{
    struct err e;

    *ret = (struct cluster){.o = o};
    if ((!o->on || strcmp(o->on, "local") == 0) && !o->context && !o->namespace_)
        return 0;
    if (!o->on || strcmp(o->on, "local") == 0)
        return usage_error(verb, "--%s needs --on kubernetes",
                           o->context ? "context" : "namespace");
    if (place_engine(o->on, &ret->place, &e) < 0) {
        tell_error("%s", e.text);
        return EXIT_FAILED;
    }
    if (!ret->place->jobs)
        return usage_error(verb, "--on %s: no operator runs jobs there", o->on);
    if (local)
        return usage_error(verb, "%s is not supported with --on %s", local, o->on);
    return 0;
}

static void noted(void *ctx, const char *text)
{
    (void)ctx;
    tell_note(text);
}

/* 0, or -errno after telling. */
static int ask(const struct cluster *c, const struct engine_jobs *how)
{
    struct engine_jobs whole = *how;
    struct err e;
    int r;

    whole.context = c->o->context;
    whole.namespace_ = c->o->namespace_;
    whole.noted = noted;
    r = c->place->jobs(&whole, &e);
    if (r < 0)
        tell_error("%s", e.text);
    return r;
}

/* A job is always named: whose is the newest one is not known in a cluster. */
static int check_named(const struct verb *verb, const struct cluster *c, const struct operands *ops)
{
    return ops->n ? 0 : usage_error(verb, "the name of a job is required with --on %s", c->o->on);
}

/* --- list ------------------------------------------------------------------------------------- */

struct listing {
    struct arena *a;
    struct runs *runs;
};

static void list_one(void *ctx, const struct node *object)
{
    struct listing *l = ctx;
    const struct node *meta = node_get(object, "metadata"), *status = node_get(object, "status");
    const struct node *code = node_get(status, "exitCode");
    const char *name = arena_strdup(l->a, node_text(node_get(meta, "name"), ""));
    const char *state = cluster_state(l->a, object);
    bool invalid = strcmp(state, "invalid") == 0;
    struct run_ref *grown;

    if (l->runs->n == l->runs->cap) {
        l->runs->cap = l->runs->cap ? 2 * l->runs->cap : 16;
        grown = ARENA_ARRAY(l->a, struct run_ref, l->runs->cap);
        if (l->runs->n)
            memcpy(grown, l->runs->v, l->runs->n * sizeof(*grown));
        l->runs->v = grown;
    }
    l->runs->v[l->runs->n++] = (struct run_ref){
        .id = name,
        .name = arena_strdup(l->a, node_text(node_find(object, "spec", "name", NULL), name)),
        .dialect = "",
        .dir = "",
        .state = state,
        .remark = "",
        .verdict = "",
        .fault = "",
        .alive = !cluster_has_ended(state),
        .exit_code = code && code->type == NODE_INT ? (int)code->i : -1,
        .started = clock_of_rfc3339(node_text(node_get(status, "startTime"), "")),
        .ended = clock_of_rfc3339(node_text(node_get(status, "completionTime"), "")),
        .submitted = clock_of_rfc3339(node_text(node_get(meta, "creationTimestamp"), "")),
        .waiting = invalid ? arena_strdup(l->a, node_text(node_get(status, "verdict"), ""))
                           : cluster_waits_for(l->a, object),
    };
}

static int compare_age(const void *a, const void *b)
{
    const struct run_ref *x = a, *y = b;

    if (x->submitted != y->submitted)
        return x->submitted < y->submitted ? -1 : 1;
    return strcmp(x->id, y->id);
}

int cluster_list(const struct cluster *c, struct arena *a, struct runs *ret)
{
    struct listing l = {.a = a, .runs = ret};

    *ret = (struct runs){0};
    if (ask(c, &(struct engine_jobs){.ask = JOBS_LIST, .job = list_one, .ctx = &l}) < 0)
        return EXIT_FAILED;
    if (ret->n)
        qsort(ret->v, ret->n, sizeof(*ret->v), compare_age);
    return 0;
}

/* --- show, wait ------------------------------------------------------------------------------- */

int cluster_show(const struct verb *verb, const struct cluster *c, const struct operands *ops,
                 const char *output)
{
    int code = check_named(verb, c, ops);
    const struct engine_jobs how = {
        .ask = JOBS_GET,
        .name = code ? NULL : ops->v[0],
        .job = strcmp(output, "json") == 0   ? cluster_print_json
               : strcmp(output, "yaml") == 0 ? cluster_print_status
                                             : cluster_print,
    };

    if (code)
        return code;
    return ask(c, &how) < 0 ? EXIT_FAILED : finish_output();
}

static void keep_code(void *ctx, const struct node *object)
{
    const struct node *code = node_find(object, "status", "exitCode", NULL);
    int *ret = ctx;

    *ret = code && code->type == NODE_INT ? (int)code->i : EXIT_MUSTER;
}

/* As for jobs of this machine, the first code that is not 0. */
int cluster_wait(const struct verb *verb, const struct cluster *c, const struct operands *ops)
{
    int result = check_named(verb, c, ops);

    for (int i = 0; i < ops->n; i++) {
        int code = EXIT_MUSTER;

        if (ask(c, &(struct engine_jobs){
                       .ask = JOBS_FOLLOW, .name = ops->v[i], .job = keep_code, .ctx = &code}) < 0)
            code = EXIT_MUSTER;
        result = result ? result : code;
    }
    return result;
}

/* --- logs ------------------------------------------------------------------------------------- */

struct showing {
    const char *replica; /* only this one, or NULL */
    bool any, other;     /* a line was shown; there are lines of another replica */
};

static void print_line(void *ctx, const char *replica, const char *text, size_t n)
{
    struct showing *s = ctx;

    s->other |= s->replica && strcmp(s->replica, replica) != 0;
    if (s->replica && strcmp(s->replica, replica) != 0)
        return;
    s->any = true;
    if (!s->replica)
        printf("[%s] ", replica);
    (void)fwrite(text, 1, n, stdout);
    putchar('\n');
    (void)fflush(stdout);
}

int cluster_logs(const struct verb *verb, const struct cluster *c, const struct operands *ops,
                 bool follow)
{
    struct showing s = {.replica = ops->n > 1 ? ops->v[1] : NULL};
    int code = check_named(verb, c, ops);

    if (code)
        return code;
    if (ask(c, &(struct engine_jobs){.ask = JOBS_LOGS,
                                     .name = ops->v[0],
                                     .follow = follow,
                                     .line = print_line,
                                     .ctx = &s}) < 0)
        return EXIT_FAILED;
    if (!s.any && s.other)
        tell_note("there are lines of other replicas only");
    return finish_output();
}

/* --- pause and the like ----------------------------------------------------------------------- */

int cluster_ask(const struct verb *verb, const struct cluster *c, enum jobs_ask what,
                const struct operands *ops, const char *done)
{
    int code = check_named(verb, c, ops), r;

    if (code)
        return code;
    for (int i = 0; i < ops->n; i++)
        if (ask(c, &(struct engine_jobs){.ask = what, .name = ops->v[i]}) < 0)
            code = EXIT_FAILED;
        else
            printf("%s: %s\n", ops->v[i], done);
    r = finish_output();
    return code ? code : r;
}
