/* resume.c - `muster resume`: lets a job go on that was paused, debugged, or held after a failure.
 *
 * On a platform a person edits the job and its `enabled` says whether it goes on. With -f the file
 * is asked the same: it must be this job's, must no longer want what is being ended, and must not
 * say something else about the time after the pause than it did when the run began.
 */
#include <string.h>

#include "doc/json_read.h"
#include "cli/cluster_jobs.h"
#include "cli/diagnose.h"
#include "cli/job_options.h"
#include "cli/target.h"
#include "cli/tell.h"
#include "dialect/dialect.h"

struct options {
    const char *file;
    struct job_options job;
    struct cluster_options cluster;
};

/* --- the file against the run ----------------------------------------------------------------- */

static bool same_words(const struct node *was, const char *const *now)
{
    size_t n = 0;

    while (now && now[n])
        n++;
    if (!was || was->type != NODE_SEQ || was->n != n)
        return false;
    for (size_t i = 0; i < n; i++)
        if (was->items[i]->type != NODE_STRING || strcmp(was->items[i]->text, now[i]) != 0)
            return false;
    return true;
}

static const struct node *entry_of(const struct node *list, const char *role)
{
    for (size_t i = 0; list && list->type == NODE_SEQ && i < list->n; i++) {
        const struct node *type = node_get(list->items[i], "type");
        if (type && type->type == NODE_STRING && strcmp(type->text, role) == 0)
            return list->items[i];
    }
    return NULL;
}

/* What a file calls what is different after a pause. */
struct keys {
    const char *list, *skip_init;
};

static struct keys keys_of(const struct job_spec *spec)
{
    if (dialect_by_id(spec->dialect) == &muster_v1)
        return (struct keys){"pause.roles", "skipInit"};
    return (struct keys){"resumeSpecs", "skipInitContainer"};
}

static void refuse_change(struct job_file *jf, const struct job_spec *spec, const struct node *at,
                          const char *role, const char *what)
{
    diag_at(&jf->diags, at, "E0550", "start a new run to change it",
            "`%s` cannot be changed while the job exists: %s of `%s` differs", keys_of(spec).list,
            what, role);
}

/* Points to the key that differs, or to the entry if that is no longer there. */
static void compare_entry(struct job_file *jf, const struct job_spec *spec,
                          const struct debug_role *now, const struct node *was)
{
    const struct node *skip = node_get(was, "skipInitContainer");
    const struct {
        const char *key;
        bool same;
    } keys[] = {
        {keys_of(spec).skip_init, skip && (skip->i != 0) == now->skip_init},
        {"command", same_words(node_get(was, "command"), now->command)},
        {"args", same_words(node_get(was, "args"), now->args)},
    };

    if (!was) {
        refuse_change(jf, spec, now->at, now->role, "the entry");
        return;
    }
    for (size_t i = 0; i < ARRAY_SIZE(keys); i++) {
        const struct node *at = node_get(now->at, keys[i].key);
        if (!keys[i].same)
            refuse_change(jf, spec, at ? at : now->at, now->role, keys[i].key);
    }
}

static void compare_specs(struct job_file *jf, const struct job_spec *spec, const struct node *was)
{
    const struct node *at = spec->pause_at ? spec->pause_at : spec->name_at;

    for (size_t i = 0; i < spec->n_resume_roles; i++)
        compare_entry(jf, spec, &spec->resume_roles[i], entry_of(was, spec->resume_roles[i].role));
    for (size_t i = 0; was && was->type == NODE_SEQ && i < was->n; i++) {
        const struct node *type = node_get(was->items[i], "type");
        bool found = false;
        for (size_t k = 0; type && k < spec->n_resume_roles; k++)
            found |= strcmp(spec->resume_roles[k].role, type->text) == 0;
        if (type && !found)
            refuse_change(jf, spec, at, type->text, "the entry");
    }
}

static void compare_modes(struct job_file *jf, const struct job_spec *spec,
                          const struct run_ref *run)
{
    if (spec->pause && strcmp(run->state, "paused") == 0)
        diag_at(&jf->diags, spec->pause_at, "E0551", "set it to false to resume the job",
                "the file still pauses the job");
    if (spec->debug && strcmp(run->state, "debugging") == 0)
        diag_at(&jf->diags, spec->debug_at, "E0551", "set it to false to start the job",
                "the file still sets debug mode");
}

static const struct job_spec *find_job(const struct job_file *jf, const struct run_ref *run)
{
    for (size_t i = 0; i < jf->n_jobs; i++)
        if (strcmp(jf->jobs[i]->name, run->name) == 0 &&
            strcmp(jf->jobs[i]->dialect, run->dialect) == 0)
            return jf->jobs[i];
    return NULL;
}

/* 0, or the exit code after telling why not. */
static int check_file(struct arena *a, const struct options *o, const struct run_ref *run)
{
    CLEANUP(job_file_release) struct job_file jf = {0};
    auto_strbuf struct strbuf body = STRBUF_INIT;
    const struct read_options opts = job_read_options(&o->job);
    struct err e;

    if (job_file_read(a, o->file, &opts, &jf, &e) < 0) {
        tell_error("%s", e.text);
        return EXIT_USAGE;
    }
    const struct job_spec *spec = find_job(&jf, run);
    if (spec) {
        if (runs_ask(run, "resume-specs", &body, &e) < 0)
            return target_failed(run, &e);
        compare_specs(&jf, spec, json_node(a, body.buf, body.len));
        compare_modes(&jf, spec, run);
        diags_sort(&jf.diags);
    }
    if (spec && jf.diags.n_errors == 0)
        return 0;
    print_diagnostics(&jf);
    if (jf.verdict == VERDICT_ACCEPT && !spec)
        tell_error("%s: job %s of dialect %s not found", o->file, run->name, run->dialect);
    return EXIT_USAGE;
}

/* --- the verb --------------------------------------------------------------------------------- */

static void release(struct options *o)
{
    job_options_release(&o->job);
}

static int run_resume(const struct verb *verb, int argc, char **argv)
{
    auto_arena struct arena *a = arena_new();
    CLEANUP(release) struct options o = {.job = JOB_OPTIONS_INIT};
    struct operands ops;
    struct cluster cluster;
    struct run_ref run;
    int code = target_operands(verb, &o, argc, argv, 1, &ops);

    if (code == 0)
        code = cluster_choose(verb, &o.cluster, o.file ? "--file" : NULL, &cluster);
    if (code == 0 && cluster.place)
        return cluster_ask(verb, &cluster, JOBS_RESUME, &ops, "being resumed");
    if (code == 0)
        code = job_options_check(verb, &o.job);
    if (code == 0 && !o.file && ops.n && target_is_array(ops.v[0]))
        return target_ask_array(verb, ops.v[0], "resume", "being resumed");
    if (code == 0 && ops.n && !o.file &&
        target_others(a, ops.v[0], "resume", "being resumed", &code))
        return code;
    if (code == 0)
        code = target_living(verb, a, ops.n ? ops.v[0] : NULL, &run);
    if (code == 0 && o.file)
        code = check_file(a, &o, &run);
    if (code != 0)
        return code;
    code = target_request(a, &run, "resume");
    if (code != 0)
        return code;
    printf("%s: being resumed\n", run.id);
    return finish_output();
}

static const struct opt opts[] = {
    {"file", 'f', OPT_STRING, offsetof(struct options, file), "FILE",
     .help = "check FILE, the job file as it is now, before resuming"},
    OPT_END,
};
static const struct opt_part parts[] = {JOB_READ_PART(struct options, job),
                                        CLUSTER_PART(struct options, cluster), OPT_PART_END};

const struct verb verb_resume = {
    .name = "resume",
    .synopsis = "[-f FILE] [ID]",
    .summary = "continue a paused, debugged or held job",
    .about = "Restarts every process of a paused job as a new attempt that does not count against "
             "the retry limit, with the commands that the file sets for it (T9k's resumeSpecs). "
             "Starts the commands of a job in debug mode (run --debug). Retries or ends a failed "
             "job that is held (run --hold-on-failure).\n\nWith -f, reads FILE again: it must be "
             "the job's own file, must no longer pause or debug the job, and its resumeSpecs must "
             "be unchanged; other changes are ignored.\n\n" TARGET_ARRAY TARGET_ABOUT,
    .opts = opts,
    .parts = parts,
    .usage_exit = EXIT_USAGE,
    .run = run_resume,
};
