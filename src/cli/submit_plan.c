/* submit_plan.c - the options of `muster submit`, and the plan that the daemon makes of them.
 *
 * Only wiring, as in run.c. Not here: sending it (submit_daemon.c).
 */
#include <string.h>

#include "base/io.h"
#include "cli/cli.h"
#include "cli/diagnose.h"
#include "cli/explain.h"
#include "cli/matrix.h"
#include "cli/other_files.h"
#include "cli/submit_code.h"
#include "cli/submit_daemon.h"
#include "cli/tell.h"
#include "engine/engine.h"

static const char *const isolation_levels[] = {"auto", "names", "network", "none", NULL};

#define AT(field) offsetof(struct submit_options, field)
const struct opt submit_opts[] = {
    {"processes", 'n', OPT_INT, AT(command.n), "N", "start N processes of CMD", NULL, 1},
    {"hosts", 0, OPT_INT, AT(command.hosts), "H", "spread them over H replicas (default 1)", NULL,
     1},
    {"name", 0, OPT_STRING, AT(command.name), "NAME", "name the job (default: from CMD)", NULL, 0},
    {"mpi", 0, OPT_FLAG, AT(command.mpi), NULL, "start CMD as one MPI world with mpirun", NULL, 0},
    {"no-mpi", 0, OPT_FLAG, AT(command.no_mpi), NULL,
     "start an MPI program as N separate processes", NULL, 0},
    {"count", 0, OPT_INT, AT(count), "N", "submit the job N times", NULL, 1},
    {"matrix", 0, OPT_STRINGS, AT(matrix), "NAME=V1,V2",
     "submit a job for each value: variable NAME, {NAME} in CMD; repeat it to combine", NULL, 0},
    {"array-id", 0, OPT_FLAG, AT(array_id), NULL,
     "of several jobs print @ID, which means all of them, instead of their ids", NULL, 0},
    {"in-place", 0, OPT_FLAG, AT(in_place), NULL,
     "run in the directory of the job file itself, not in a copy", NULL, 0},
    {"snapshot", 0, OPT_FLAG, AT(snapshot), NULL,
     "run CMD in a copy of this directory, as it is now", NULL, 0},
    {"priority", 0, OPT_INT, AT(priority), "N",
     "set the priority in its queue, 0 to 100 (default: that of the file, else 50)", NULL, 0},
    {"queue", 0, OPT_STRING, AT(queue), "NAME", "choose the queue (default: that of the file)",
     NULL, 0},
    {"after", 0, OPT_STRINGS, AT(after), "ID[:any]",
     "start when job ID has succeeded (:any: has ended)", NULL, 0},
    {"max-duration", 0, OPT_DURATION, AT(max_duration_ms), "D",
     "end the job after it has run for D", NULL, 0},
    {"replace", 0, OPT_FLAG, AT(replace), NULL, "cancel a job with the same name first", NULL, 0},
    {"no-autostart", 0, OPT_FLAG, AT(no_autostart), NULL,
     "fail if the daemon is not running instead of starting it", NULL, 0},
    {"grace", 0, OPT_DURATION, AT(grace_ms), "D",
     "wait D between SIGTERM and SIGKILL, for every role (default 10s)", NULL, 0},
    {"start-timeout", 0, OPT_DURATION, AT(start_timeout_ms), "D",
     "fail if replicas are not ready within D (default 600s)", NULL, 0},
    {"recovery-timeout", 0, OPT_DURATION, AT(recovery_timeout_ms), "D",
     "end the job if nothing happens for D after a rank has failed (default 60s)", NULL, 0},
    {"hang-timeout", 0, OPT_DURATION, AT(hang_timeout_ms), "D",
     "end the job after this much time without output or I/O (default: never)", NULL, 0},
    {"trust-launcher", 0, OPT_FLAG, AT(trust_launcher), NULL,
     "accept exit status 0 of mpirun even if a rank failed", NULL, 0},
    {"hold-on-failure", 0, OPT_FLAG, AT(hold), NULL,
     "keep the replicas of a failed job until resume or cancel", NULL, 0},
    {"isolate", 0, OPT_CHOICE, AT(isolate), NULL, "set how replicas are isolated from each other",
     isolation_levels, 0},
    {"on", 0, OPT_CHOICE, AT(on), NULL, "choose where it runs (default: local)", engine_names, 0},
    {"wait", 'w', OPT_FLAG, AT(wait), NULL,
     "--on kubernetes: wait until the job has ended, and show its conditions", NULL, 0},
    {"quiet", 'q', OPT_FLAG, AT(quiet), NULL, "show no notes and warnings", NULL, 0},
    OPT_END,
};
const struct opt_part submit_parts[] = {
    JOB_READ_PART(struct submit_options, job),
    JOB_HERE_PART(struct submit_options, job),
    OPT_PART_END,
};

void submit_options_release(struct submit_options *o)
{
    strvec_release(&o->after);
    strvec_release(&o->matrix);
    job_options_release(&o->job);
}

void submitted_release(struct submitted *s)
{
    job_file_release(&s->jf);
}

static int refuse(const struct verb *verb, const char *text)
{
    tell_error("%s", text);
    return verb->usage_exit;
}

static int read_file(const struct verb *verb, struct arena *a, const struct submit_options *o,
                     const char *path, const char *kept, size_t kept_len, struct job_file *jf,
                     struct job_spec **ret)
{
    const struct read_options opts = job_read_options(&o->job);
    struct err e;
    int r = kept ? job_file_read_kept(a, path, kept, kept_len, &opts, jf, &e)
                 : job_file_read(a, path, &opts, jf, &e);

    if (r < 0)
        return refuse(verb, e.text);
    if (jf->verdict != VERDICT_ACCEPT && tell_other_file(jf))
        return verb->usage_exit;
    if (jf->verdict != VERDICT_ACCEPT) {
        print_diagnostics(jf);
        tell_error("%s: %s", path,
                   jf->verdict == VERDICT_NOTJOB ? "not a job file; known kinds: " KNOWN_KINDS
                   : jf->verdict == VERDICT_UNSUPPORTED ? "this kind of job is not supported"
                                                        : "the job file has errors");
        return verb->usage_exit;
    }
    if (jf->n_jobs != 1) {
        tell_error("%s: contains %zu jobs, but submit takes one; put each into a separate file",
                   path, jf->n_jobs);
        return verb->usage_exit;
    }
    *ret = jf->jobs[0];
    return 0;
}

/* --max-duration and that of the queue are more deadlines; the shortest one counts. */
static void limit_duration(struct arena *a, int64_t max_ms, struct submitted *s)
{
    int64_t most = (max_ms + 999) / 1000;

    if (most == 0 || (s->spec->deadline_s > 0 && s->spec->deadline_s < most))
        return;
    struct job_spec *copy = ARENA_NEW(a, struct job_spec);
    *copy = *s->spec;
    copy->deadline_s = most;
    s->spec = copy;
}

int submit_read(const struct verb *verb, struct arena *a, struct submit_options *o,
                const struct operands *ops, const char *kept, size_t kept_len,
                struct submitted *ret)
{
    const char *of_file = job_options_of_file(&o->job);
    struct job_spec *spec = NULL;
    struct err e;
    int code = command_check(verb, &o->command, ops);

    if (code == 0 && o->command.n && of_file)
        code = usage_error(verb, "--%s requires a job FILE and cannot be used with -n", of_file);
    if (code == 0)
        code = job_options_check(verb, &o->job);
    if (code == 0)
        code = o->command.n ? command_spec(verb, &o->command, ops, a, &spec)
                            : read_file(verb, a, o, ops->v[0], kept, kept_len, &ret->jf, &spec);
    if (code != 0)
        return code;
    if (job_adjust(a, &o->job, spec, &ret->spec, &ret->changes, &e) < 0)
        return refuse(verb, e.text);
    limit_duration(a, o->max_duration_ms, ret);
    return 0;
}

/* --- for the daemon --------------------------------------------------------------------------- */

static int survey_and_plan(struct arena *a, const struct submit_options *o,
                           const struct submission *sub, const struct job_spec *spec,
                           const struct rundir *rd, bool anyhow, struct planned *ret, struct err *e)
{
    struct survey_request rq = job_survey(&o->job, spec, anyhow ? SURVEY_ANYHOW : SURVEY_RUN);

    rq.isolate = sub->isolation ? sub->isolation : o->isolate;
    rq.run_id = arena_strdup(a, rd->run_id);
    rq.run_dir = arena_strdup(a, rd->path);
    rq.scratch_dir = arena_strdup(a, rd->scratch);
    rq.visible_gpus = sub->gpus;
    if (sub->isolation && sub->n_ports == spec_n_ports(spec))
        rq.ports = sub->ports;
    if (o->command.n) {
        rq.inherit_all = !o->job.clean_env;
        rq.clean_env = false;
    }
    if (engine_local.survey(a, &rq, &ret->survey, e) < 0) {
        ret->cause = ret->survey.cause;
        return e->code;
    }
    /* a plan refers to the facts for as long as it lives, and *ret may be moved */
    struct survey *kept = ARENA_NEW(a, struct survey);
    *kept = ret->survey;
    if (anyhow)
        return plan_build(a, spec, &kept->facts, &ret->plan, e);
    if (o->command.n && command_fits_mpi(spec, &kept->facts, e) < 0) {
        ret->cause = CAUSE_EXEC;
        return e->code;
    }
    return engine_local.plan(a, spec, kept, &ret->plan, e);
}

struct kept { /* a plan refers to the options and to the job file */
    struct submit_options o;
    struct submitted s;
};

static void release_kept(void *ctx)
{
    struct kept *k = ctx;

    submit_options_release(&k->o);
    submitted_release(&k->s);
}

int submit_plan(struct arena *a, struct submission *sub, const struct rundir *rd, bool anyhow,
                struct planned *ret, struct err *e)
{
    struct kept *kept = ARENA_NEW(a, struct kept);
    struct submit_options *o = &kept->o;
    struct submitted *s = &kept->s;
    struct operands ops;
    int r = 0;

    *o = (struct submit_options)SUBMIT_OPTIONS_INIT;
    ret->kept = kept;
    ret->release = release_kept;
    tell_quietly(true);
    r = opts_parse(&verb_submit, o, sub->argc, sub->argv, &ops);
    if (r == 0)
        matrix_apply_words(a, sub, &ops);
    if (r < 0 || submit_read(&verb_submit, a, o, &ops, sub->file, sub->file_len, s) != 0)
        return err_set(e, -EINVAL, "the job cannot be read any more");
    matrix_apply(a, sub, s);
    submit_code_move(a, sub, s);
    limit_duration(a, sub->max_duration_ms, s);
    if (!anyhow)
        r = job_runnable(&o->job, s->spec, e);
    if (r < 0)
        ret->cause = r == -ENOEXEC ? CAUSE_EXEC : CAUSE_UNSCHEDULABLE;
    if (r == 0)
        r = survey_and_plan(a, o, sub, s->spec, rd, anyhow, ret, e);
    ret->hang_timeout_ms = o->hang_timeout_ms;
    ret->rules = (struct job_rules){.grace_ms = o->grace_ms >= 0 ? o->grace_ms : DEFAULT_GRACE_MS,
                                    .grace_fixed = o->grace_ms >= 0,
                                    .start_timeout_ms = o->start_timeout_ms,
                                    .recovery_timeout_ms = o->recovery_timeout_ms,
                                    .trust_launcher = o->trust_launcher,
                                    .hold = o->hold};
    return r;
}

void submit_record(const struct planned *p, const struct submission *sub, int run_fd)
{
    const struct kept *k = p->kept;

    (void)explain_record(run_fd, p->plan, &k->s.jf, &k->s.changes, NULL);
    if (sub->file)
        (void)io_write_atomic(run_fd, RUNDIR_JOB_FILE, sub->file, sub->file_len, NULL);
}
