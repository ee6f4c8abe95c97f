/* validate.c - `muster validate`: what is wrong with job files, all of it, without running them. */
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "cli/cli.h"
#include "cli/diagnose.h"
#include "cli/job_options.h"
#include "cli/validate.h"
#include "dialect/dialect.h"
#include "doc/json.h"

struct options {
    const char *output;
    bool quiet;
    struct job_options job;
};

/* --- for people ----------------------------------------------------------------------------- */

static void print_errors(const struct job_file *jf)
{
    for (size_t i = 0; i < jf->diags.n; i++) {
        if (jf->diags.v[i].severity == SEV_ERROR)
            print_diagnostic(jf, i);
    }
}

static void print_role(const struct role *role)
{
    if (role->implied)
        return;
    printf(", %s %d", role->name, role->replicas);
    if (role->kind == ROLE_LAUNCHER)
        return;
    if (role->slots_kind == SLOTS_NUMBER)
        printf(" x %d slot%s", role->slots, role->slots == 1 ? "" : "s");
    else
        printf(" x %s slots", role->slots_kind == SLOTS_AUTO ? "auto" : "unset");
}

static void print_count(const char *separator, size_t n, const char *what)
{
    if (n)
        printf("%s%zu %s%s", separator, n, what, n == 1 ? "" : "s");
}

/* "x.yaml: accepted, t9k-mpi, launcher 1, worker 5 x 3 slots" */
static void print_verdict(const struct job_file *jf)
{
    static const char *const words[] = {
        [VERDICT_ACCEPT] = "accepted",
        [VERDICT_REJECT] = "rejected",
        [VERDICT_UNSUPPORTED] = "not supported",
        [VERDICT_NOTJOB] = "not a job file",
    };
    auto_strbuf struct strbuf path = STRBUF_INIT;

    strbuf_add_escaped(&path, jf->path, strlen(jf->path));
    printf("%s: %s", path.buf, words[jf->verdict]);
    if (jf->dialect)
        printf(", %s", jf->dialect);
    for (size_t i = 0; i < jf->n_jobs; i++) {
        if (i)
            printf("; %s, %s", jf->jobs[i]->name, jf->jobs[i]->dialect);
        for (size_t k = 0; k < jf->jobs[i]->n_roles; k++)
            print_role(&jf->jobs[i]->roles[k]);
    }
    if (jf->verdict == VERDICT_REJECT)
        print_count(", ", jf->diags.n_errors, "error");
    print_count(", ", jf->diags.n_warnings, "warning");
    putchar('\n');
}

/* --- for programs (CONTRACTS §2) ------------------------------------------------------------ */

static void json_diagnostic(struct json *j, const struct diag *d)
{
    json_object(j);
    json_kv_str(j, "severity", severity_name(d->severity));
    json_kv_str(j, "code", d->code);
    json_kv_int(j, "line", d->pos.line ? d->pos.line : 1);
    json_kv_int(j, "column", d->pos.column ? d->pos.column : 1);
    json_kv_str(j, "path", d->path);
    json_kv_str(j, "message", d->message);
    json_kv_str(j, "hint", d->hint);
    json_end(j);
}

void diagnostics_json(struct json *j, const struct diag *v, size_t n)
{
    json_key(j, "diagnostics");
    json_array(j);
    for (size_t i = 0; i < n; i++)
        json_diagnostic(j, &v[i]);
    json_end(j);
}

void validate_json(struct json *j, const char *path, const char *verdict, const char *dialect,
                   const struct diag *v, size_t n)
{
    json_object(j);
    json_kv_str(j, "file", path);
    json_kv_str(j, "verdict", verdict);
    json_kv_str(j, "dialect", dialect);
    diagnostics_json(j, v, n);
    json_end(j);
}

/* --- the verb ------------------------------------------------------------------------------- */

/* Returns whether the file is accepted. j is NULL for human output. */
static bool validate_file(const struct options *o, const char *path, struct json *j)
{
    auto_arena struct arena *a = arena_new();
    struct job_file jf;
    struct err e;
    bool accepted;

    const struct read_options opts = job_read_options(&o->job);

    if (job_file_read(a, path, &opts, &jf, &e) < 0) {
        struct diag d = {.severity = SEV_ERROR, .code = "E0006", .path = "", .message = e.text};

        (void)fflush(stdout);
        complain("validate", "%s", e.text);
        if (j)
            validate_json(j, path, verdict_name(VERDICT_REJECT), NULL, &d, 1);
        return false;
    }
    if (j) {
        validate_json(j, path, verdict_name(jf.verdict), jf.dialect, jf.diags.v, jf.diags.n);
    } else if (o->quiet) {
        print_errors(&jf);
    } else {
        /* lines and diagnostics in order, also where both go to one file */
        if (jf.diags.n || jf.verdict != VERDICT_ACCEPT)
            (void)fflush(stdout);
        print_diagnostics(&jf);
        print_verdict(&jf);
    }
    accepted = jf.verdict == VERDICT_ACCEPT;
    job_file_release(&jf);
    return accepted;
}

static void release_options(struct options *o)
{
    job_options_release(&o->job);
}

static int run_validate(const struct verb *verb, int argc, char **argv)
{
    CLEANUP(release_options) struct options o = {.output = "human", .job = JOB_OPTIONS_INIT};
    auto_strbuf struct strbuf out = STRBUF_INIT;
    struct json j = JSON_PRETTY(&out);
    struct operands files;
    bool json, fine = true;
    int r;

    if (opts_parse(verb, &o, argc, argv, &files) < 0)
        return verb->usage_exit;
    if (files.n == 0 || files.rest)
        return usage_error(verb, "a job file is required");
    r = job_options_check(verb, &o.job);
    if (r)
        return r;
    json = strcmp(o.output, "json") == 0;
    json_object(&j);
    json_key(&j, "files");
    json_array(&j);
    for (int i = 0; i < files.n; i++)
        fine = validate_file(&o, files.v[i], json ? &j : NULL) && fine;
    json_end(&j);
    json_end(&j);
    if (json)
        printf("%s\n", out.buf);
    r = finish_output();
    return r ? r : fine ? EXIT_FINE : EXIT_USAGE;
}

static const char *const outputs[] = {"human", "json", NULL};

static const struct opt opts[] = {
    {"output", 'o', OPT_CHOICE, offsetof(struct options, output), .choices = outputs,
     .help = "human (default) or json"},
    {"quiet", 'q', OPT_FLAG, offsetof(struct options, quiet), .help = "print errors only"},
    OPT_END,
};

static const struct opt_part parts[] = {JOB_READ_PART(struct options, job), OPT_PART_END};

const struct verb verb_validate = {
    .name = "validate",
    .synopsis = "[OPTION…] FILE…",
    .summary = "check job files and report all errors",
    .about =
        "Prints diagnostics to stderr as a compiler does, with position, source line and hint, and "
        "one\nline per file with its verdict to stdout. \"-\" is standard input.\n\nExit status: 0 "
        "if every file is accepted, 2 if one is not or cannot be read.",
    .opts = opts,
    .parts = parts,
    .usage_exit = EXIT_USAGE,
    .run = run_validate,
};
