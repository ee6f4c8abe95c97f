/* explain.c - `muster explain`: what would happen, before it does.
 *
 * Plans the job with the facts of this machine, as `run` would, and shows the plan: as a page for
 * people or as JSON. Nothing is started and nothing is written.
 */
#include <stdio.h>
#include <string.h>

#include "base/strbuf.h"
#include "cli/cli.h"
#include "cli/diagnose.h"
#include "cli/explain.h"
#include "cli/job_options.h"
#include "dialect/dialect.h"
#include "engine/local/facts.h"
#include "engine/local/images.h"
#include "engine/local/isolate.h"
#include "engine/local/ports.h"
#include "engine/local/secrets.h"
#include "engine/local/volumes.h"
#include "plan/plan.h"
#include "run/rundir.h"

struct explain_opts {
    const char *output;
    bool env;
    const char *isolate;
    struct job_options job;
};

struct explain {
    struct explain_opts opts;
    struct rundir where; /* would be */
    struct json *json;   /* NULL: a page on stdout */
};

/* told: what is shown beside the plan. */
static int explain_job(const struct explain *x, struct arena *a, const struct job_spec *spec,
                       const struct explained *told, struct err *e)
{
    struct facts *facts = ARENA_NEW(a, struct facts);
    const struct plan *plan;
    const struct job_options *o = &x->opts.job;
    auto_strvec struct strvec missing = STRVEC_INIT;
    int r = images_map(a, spec, (const char *const *)o->images.v, &facts->images, e);

    if (r < 0)
        return r;
    r = facts_collect(a, spec, x->where.run_id, x->where.path, x->where.scratch, facts, e);

    if (r < 0)
        return r;
    job_facts(o, facts);
    facts_ask_mpi_version(a, facts);
    r = secrets_collect(a, spec, o->secrets, o->configmaps, &facts->secrets, &facts->n_secrets,
                        &missing, e);
    if (r < 0)
        return r;
    /* Without a directory, that values are missing is among the plan's notes. */
    for (size_t i = 0; i < missing.n && (o->secrets || o->configmaps); i++)
        fprintf(stderr, "muster explain: warning: %s\n", missing.v[i]);
    r = isolation_choose(a, x->opts.isolate, facts, e);
    if (r < 0)
        return r;
    r = volumes_resolve(a, spec, (const char *const *)o->volumes_abs.v, o->secrets, o->configmaps,
                        true, facts, e);
    if (r < 0)
        return r;
    if (ports_lease(a, spec, facts->network != 0, &facts->ports, NULL, e) < 0)
        fprintf(stderr, "muster explain: warning: run would refuse: %s\n", e->text);
    r = plan_build(a, spec, facts, &plan, e);
    if (r < 0)
        return r;
    if (x->json)
        explain_json(x->json, a, plan, told);
    else
        explain_page(stdout, a, plan, told, x->opts.env);
    return 0;
}

/* EXIT_FINE, EXIT_FAILED or EXIT_USAGE (the file is no good). */
static int explain_file(const struct explain *x, const char *path)
{
    auto_arena struct arena *a = arena_new();
    struct job_file jf;
    struct err e;
    int exit_code = EXIT_FINE;

    const struct read_options opts = job_read_options(&x->opts.job);

    if (job_file_read(a, path, &opts, &jf, &e) < 0) {
        fprintf(stderr, "muster explain: %s\n", e.text);
        return EXIT_USAGE;
    }
    if (jf.verdict != VERDICT_ACCEPT) {
        print_diagnostics(&jf);
        exit_code = EXIT_USAGE;
    }
    for (size_t i = 0; i < jf.n_jobs && exit_code == EXIT_FINE; i++) {
        const struct job_spec *spec;
        struct changes changes;
        /* What was found while reading is about the file: it stands with its first job. */
        const struct explained told = {
            .path = path, .ds = i == 0 ? &jf.diags : NULL, .changes = &changes};

        if (job_adjust(a, &x->opts.job, jf.jobs[i], &spec, &changes, &e) < 0)
            exit_code = EXIT_USAGE;
        else if (explain_job(x, a, spec, &told, &e) < 0)
            exit_code = EXIT_FAILED;
        if (exit_code)
            fprintf(stderr, "muster explain: %s: %s\n", path, e.text);
    }
    job_file_release(&jf);
    return exit_code;
}

static int explain_files(const struct explain *x, const struct operands *ops)
{
    int exit_code = EXIT_FINE;

    for (int i = 0; i < ops->n; i++) {
        if (i && !x->json)
            putchar('\n');

        int r = explain_file(x, ops->v[i]);

        exit_code = r > exit_code ? r : exit_code;
    }
    return exit_code;
}

static int explain_files_json(const struct explain *x, const struct operands *ops)
{
    auto_strbuf struct strbuf sb = STRBUF_INIT;
    struct json j = JSON_PRETTY(&sb);
    struct explain into = *x;

    into.json = &j;
    json_object(&j);
    json_key(&j, "jobs");
    json_array(&j);

    int exit_code = explain_files(&into, ops);

    json_end(&j);
    json_end(&j);
    printf("%s\n", sb.buf);
    return exit_code;
}

static int run(const struct verb *verb, int argc, char **argv)
{
    struct explain x = {.opts = {.output = "human", .isolate = "auto", .job = JOB_OPTIONS_INIT},
                        .where = RUNDIR_INIT};
    struct operands ops;
    struct err e;

    int exit_code = opts_parse(verb, &x.opts, argc, argv, &ops) < 0 ? verb->usage_exit : 0;

    if (!exit_code && (ops.n == 0 || ops.rest))
        exit_code = usage_error(verb, "wants job files");
    if (!exit_code)
        exit_code = job_options_check(verb, &x.opts.job);
    if (!exit_code && rundir_name("RUN_ID", NULL, &x.where, &e) < 0) {
        fprintf(stderr, "muster explain: %s\n", e.text);
        exit_code = EXIT_FAILED;
    }
    if (!exit_code) {
        bool json = !strcmp(x.opts.output, "json");

        exit_code = json ? explain_files_json(&x, &ops) : explain_files(&x, &ops);

        int r = finish_output();

        exit_code = exit_code ? exit_code : r;
    }
    rundir_release(&x.where);
    job_options_release(&x.opts.job);
    return exit_code;
}

static const char *const outputs[] = {"human", "json", NULL};
static const char *const isolation_levels[] = {"auto", "names", "network", "none", NULL};

static const struct opt opts[] = {
    {"output", 'o', OPT_CHOICE, offsetof(struct explain_opts, output), .choices = outputs,
     .help = "a page for people, or JSON"},
    {"env", 0, OPT_FLAG, offsetof(struct explain_opts, env),
     .help = "every process's whole environment"},
    {"isolate", 0, OPT_CHOICE, offsetof(struct explain_opts, isolate), .choices = isolation_levels,
     .help = "how replicas would be kept apart"},
    OPT_END,
};

static const struct opt_part parts[] = {
    JOB_READ_PART(struct explain_opts, job),
    JOB_HERE_PART(struct explain_opts, job),
    OPT_PART_END,
};

const struct verb verb_explain = {
    .name = "explain",
    .synopsis = "[OPTION…] FILE…",
    .summary = "show what running a job file would do",
    .about =
        "Shows roles, hosts and addresses, the command of each process, the variables Muster\n"
        "adds with the reason of each, and what of the file is not used here and why. Nothing\n"
        "is started. RUN_ID stands for the identifier that a run would get.",
    .opts = opts,
    .parts = parts,
    .usage_exit = EXIT_USAGE,
    .run = run,
};
