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
#include "cli/place.h"
#include "cli/settings.h"
#include "cli/stale_findings.h"
#include "dialect/dialect.h"
#include "engine/engine.h"
#include "plan/plan.h"
#include "rundir/rundir.h"

struct explain_opts {
    const char *output;
    bool env;
    const char *isolate, *on;
    struct job_options job;
};

struct explain {
    struct explain_opts opts;
    const struct engine_class *engine;
    struct rundir where; /* would be */
    struct json *json;   /* NULL: a page on stdout */
};

/* told: what is shown beside the plan. */
static int explain_job(const struct explain *x, struct arena *a, const struct job_spec *spec,
                       const struct explained *told, struct err *e)
{
    CLEANUP(survey_release) struct survey s = SURVEY_INIT;
    struct survey_request rq = job_survey(&x->opts.job, spec, SURVEY_SHOW);
    const struct plan *plan = NULL;

    rq.isolate = x->opts.isolate;
    rq.run_id = x->where.run_id;
    rq.run_dir = x->where.path;
    rq.scratch_dir = x->where.scratch;
    int r = x->engine->survey(a, &rq, &s, e);
    for (size_t i = 0; i < s.warnings.n; i++)
        complain("explain", "warning: %s", s.warnings.v[i]);
    if (r == 0)
        r = x->engine->plan(a, spec, &s, &plan, e);
    if (r < 0)
        return r;
    if (x->json) {
        explain_json(x->json, a, plan, told);
    } else if (!strcmp(x->opts.output, "yaml")) {
        auto_strbuf struct strbuf text = STRBUF_INIT;

        x->engine->manifests(a, plan, &text);
        fputs(text.buf, stdout);
    } else {
        explain_page(stdout, a, plan, told, x->opts.env);
    }
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
        complain("explain", "%s", e.text);
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
        else
            drop_stale_findings(&jf.diags, &x->opts.job, &changes, x->engine);
        if (!exit_code && explain_job(x, a, spec, &told, &e) < 0)
            exit_code = EXIT_FAILED;
        if (exit_code)
            complain("explain", "%s: %s", path, e.text);
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
                        .engine = &engine_local,
                        .where = RUNDIR_INIT};
    auto_arena struct arena *a = arena_new();
    struct settings settings;
    struct operands ops;
    struct err e;

    int exit_code = opts_parse(verb, &x.opts, argc, argv, &ops) < 0 ? verb->usage_exit : 0;

    if (!exit_code && (ops.n == 0 || ops.rest))
        exit_code = usage_error(verb, "at least one FILE is required");
    if (!exit_code)
        exit_code = job_options_check(verb, &x.opts.job);
    if (!exit_code && settings_read(a, &settings) < 0)
        exit_code = EXIT_FAILED;
    if (!exit_code && place_engine(x.opts.on ? x.opts.on : settings.on, &x.engine, &e) < 0) {
        complain("explain", "%s", e.text);
        exit_code = EXIT_FAILED;
    }
    if (!exit_code && !strcmp(x.opts.output, "yaml") && !x.engine->manifests)
        exit_code = usage_error(verb, "-o yaml requires --on kubernetes");
    if (!exit_code && x.engine->has_images)
        job_put_images(&x.opts.job);
    if (!exit_code && rundir_name("RUN_ID", NULL, &x.where, &e) < 0) {
        complain("explain", "%s", e.text);
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

static const char *const outputs[] = {"human", "json", "yaml", NULL};
static const char *const isolation_levels[] = {"auto", "names", "network", "none", NULL};

static const struct opt opts[] = {
    {"output", 'o', OPT_CHOICE, offsetof(struct explain_opts, output), .choices = outputs,
     .help = "print a page for people, JSON, or with --on kubernetes the objects"},
    {"env", 0, OPT_FLAG, offsetof(struct explain_opts, env),
     .help = "show every process with its whole environment"},
    {"on", 0, OPT_CHOICE, offsetof(struct explain_opts, on), .choices = engine_names,
     .help = "choose where it would run (default: local, or `on` of the configuration)"},
    {"isolate", 0, OPT_CHOICE, offsetof(struct explain_opts, isolate), .choices = isolation_levels,
     .help = "set how replicas would be isolated from each other"},
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
    .about = "Shows which parts of the file have no effect on this machine and why, then roles, "
             "hosts and\n"
             "addresses, and the command of each process; with --env, its environment with the\n"
             "origin of each variable. Nothing is started. RUN_ID is a placeholder for the\n"
             "identifier of the run.",
    .opts = opts,
    .parts = parts,
    .usage_exit = EXIT_USAGE,
    .run = run,
};
