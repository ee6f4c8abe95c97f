/* run.c - `muster run`: a job in the foreground, from its file (or a command) to its verdict.
 *
 * Only wiring: read, plan, prepare the directories, drive, tell. Every refusal of ours is exit code
 * 125, so that it can never be mistaken for the job's own.
 */
#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/io.h"
#include "base/mem.h"
#include "base/num.h"
#include "cli/as_typed.h"
#include "cli/attach.h"
#include "cli/cli.h"
#include "cli/diagnose.h"
#include "cli/explain.h"
#include "cli/job_options.h"
#include "cli/place.h"
#include "cli/on_screen.h"
#include "cli/other_files.h"
#include "cli/preface.h"
#include "cli/refusal.h"
#include "cli/run_command.h"
#include "cli/settings.h"
#include "cli/tell.h"
#include "cli/stale_findings.h"
#include "dialect/dialect.h"
#include "engine/engine.h"
#include "job/report.h"
#include "rundir/azureml_dir.h"
#include "rundir/command_line.h"
#include "rundir/evidence.h"
#include "foreground/driver.h"
#include "rundir/lost_logs.h"
#include "rundir/outputs.h"
#include "rundir/reserve.h"

enum { LEAST_KEPT_S = 10 };

struct run_options {
    struct command_options command;
    int64_t grace_ms, start_timeout_ms, recovery_timeout_ms, hang_timeout_ms;
    const char *isolate, *report, *run_dir, *on;
    bool trust_launcher, hold, no_prefix, quiet;
    struct strvec preflight;
    struct strvec detach; /* "": for the usual time */
    struct job_options job;
};

static const char *const isolation_levels[] = {"auto", "names", "network", "none", NULL};

#define AT(field) offsetof(struct run_options, field)
static const struct opt run_opts[] = {
    {"processes", 'n', OPT_INT, AT(command.n), "N", "start N processes of CMD", NULL, 1},
    {"hosts", 0, OPT_INT, AT(command.hosts), "H", "spread them over H replicas (default 1)", NULL,
     1},
    {"name", 0, OPT_STRING, AT(command.name), "NAME", "name the run (default: from CMD)", NULL, 0},
    {"mpi", 0, OPT_FLAG, AT(command.mpi), NULL, "start CMD as one MPI world with mpirun", NULL, 0},
    {"no-mpi", 0, OPT_FLAG, AT(command.no_mpi), NULL,
     "start an MPI program as N separate processes", NULL, 0},
    /* torchrun, mpirun, srun */
    {"np", 0, OPT_INT, AT(command.n), "N", .min = 1},
    {"ntasks", 0, OPT_INT, AT(command.n), "N", .min = 1},
    {"nproc-per-node", 0, OPT_INT, AT(command.per_host), "N", .min = 1},
    {"nproc_per_node", 0, OPT_INT, AT(command.per_host), "N", .min = 1},
    {"nnodes", 0, OPT_INT, AT(command.hosts), "H", .min = 1},
    {"standalone", 0, OPT_FLAG, AT(command.ignored), .help = NULL},
    {"oversubscribe", 0, OPT_FLAG, AT(command.ignored), .help = NULL},
    {"allow-run-as-root", 0, OPT_FLAG, AT(command.ignored), .help = NULL},
    {"report", 0, OPT_STRING, AT(report), "FILE", "write the report as JSON; - is stdout", NULL, 0},
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
    {"preflight", 0, OPT_WORDS, AT(preflight), "only",
     "test the network between all replicas first (only: and start nothing)", NULL, 0},
    {"isolate", 0, OPT_CHOICE, AT(isolate), NULL, "set how replicas are isolated from each other",
     isolation_levels, 0},
    {"on", 0, OPT_CHOICE, AT(on), NULL,
     "choose where it runs (default: local, or `on` of the configuration)", engine_names, 0},
    {"detach", 0, OPT_WORDS, AT(detach), "D",
     "on a cluster: exit when all processes have started; keep the job for D (default 168h)", NULL,
     0},
    {"run-dir", 0, OPT_STRING, AT(run_dir), "DIR", "use DIR as the run directory", NULL, 0},
    {"no-prefix", 0, OPT_FLAG, AT(no_prefix), NULL, "show output without [replica/rank]", NULL, 0},
    {"quiet", 'q', OPT_FLAG, AT(quiet), NULL,
     "show only the job's output and, if it fails, the verdict", NULL, 0},
    OPT_END,
};
static const struct opt_part run_parts[] = {
    JOB_READ_PART(struct run_options, job),
    JOB_HERE_PART(struct run_options, job),
    OPT_PART_END,
};

/* One run and what is known of it, in the order in which it becomes known. */
struct run {
    struct run_options o;
    struct arena *a;
    struct job_file jf;          /* empty without a file */
    const struct job_spec *spec; /* adjusted */
    struct changes changes;
    const struct engine_class *engine;
    struct survey survey;
    const struct plan *plan; /* once its run directory is there */
    struct rundir rd;
    struct log_gaps gaps;
    int own_code; /* of writing the run directory's report; then */
    struct err own_err;
    int report_code; /* of writing --report; then */
    struct err report_err;
    struct command_line command; /* as it was typed */
    struct settings settings;
    int64_t keep_s;          /* of a job that is detached */
    const struct attach *at; /* the run is there, and goes on; NULL: it is a new one */
};

static void run_release(struct run *run)
{
    log_gaps_release(&run->gaps);
    survey_release(&run->survey);
    command_line_release(&run->command);
    rundir_release(&run->rd);
    job_file_release(&run->jf);
    arena_free(run->a);
    strvec_release(&run->o.detach);
    job_options_release(&run->o.job);
    strvec_release(&run->o.preflight);
}

/* The job goes on, whatever keeps us from it. */
static int refuse_attach(const struct run *run, const struct err *e)
{
    const struct away *away = &run->at->away;

    tell_error("cannot attach to %s: %s", run->at->run->id, e->text);
    print_try(arena_printf(run->a, "kubectl --context %s -n %s delete job %s # ends it",
                           away->context, away->namespace_,
                           arena_printf(run->a, "muster-%s", run->at->run->id)));
    return EXIT_MUSTER;
}

static int refuse(const char *what, const struct err *e)
{
    tell_error("%s%s%s", what ? what : "", what ? ": " : "", e->text);
    return EXIT_MUSTER;
}

/* --- what to run ------------------------------------------------------------------------------ */

static int spec_from_file(struct run *run, const char *path, struct job_spec **ret)
{
    struct job_file *jf = &run->jf;
    struct err e;

    const struct read_options opts = job_read_options(&run->o.job);

    int r = run->at ? job_file_read_copy(run->a, path, run->rd.fd, RUNDIR_JOB_FILE, &opts, jf, &e)
                    : job_file_read(run->a, path, &opts, jf, &e);
    if (r < 0)
        return refuse(NULL, &e);
    if (jf->verdict != VERDICT_ACCEPT && tell_other_file(jf))
        return EXIT_MUSTER;
    if (jf->verdict != VERDICT_ACCEPT) {
        print_diagnostics(jf);
        tell_error("%s: %s", path,
                   jf->verdict == VERDICT_NOTJOB ? "not a job file; known kinds: " KNOWN_KINDS
                   : jf->verdict == VERDICT_UNSUPPORTED ? "this kind of job is not supported"
                                                        : "the job file has errors");
        return EXIT_MUSTER;
    }
    if (jf->n_jobs != 1) {
        tell_error("%s: contains %zu jobs, but run takes one; put each into a separate file", path,
                   jf->n_jobs);
        return EXIT_MUSTER;
    }
    *ret = jf->jobs[0];
    return 0;
}

/* --- telling ---------------------------------------------------------------------------------- */

/* What the verdict and the report are made of, beside the job. */
struct findings {
    struct evidence evidence;
    struct strbuf missing; /* of the run's records */
    struct strvec outputs;
};

static void findings_release(struct findings *f)
{
    evidence_release(&f->evidence);
    strbuf_release(&f->missing);
    strvec_release(&f->outputs);
}

/* A program of every role was missing, or that of the role that decides: the job never began. */
static bool never_began(const struct job *job)
{
    for (uint32_t i = 0; i < job->plan->n_processes; i++)
        if (job->procs[i].state != PROC_PENDING && job->procs[i].end.exec_errno == 0)
            return false;
    return plan_refused(job->plan) && job->cause.kind == CAUSE_EXEC;
}

static void add_lost_logs(const struct run *run, const struct job *job, struct strbuf *out)
{
    lost_logs(run->rd.logs_fd, job, run->gaps.v, run->gaps.n, out);
    if (out->len > 0)
        strbuf_addstr(out, " while it ran");
}

static void findings_gather(const struct run *run, const struct job *job, struct findings *f)
{
    *f = (struct findings){.outputs = STRVEC_INIT, .missing = STRBUF_INIT};
    rundir_missing(&run->rd, &f->missing);
    if (f->missing.len == 0 && run->engine->here)
        add_lost_logs(run, job, &f->missing);
    evidence_gather(&f->evidence, run->rd.logs_fd, job);
    outputs_find(run->rd.fd, run->rd.path, &f->outputs);
}

/* A file is written before anybody has to read our output; a pipe or stdout in its turn. */
static bool report_is_file(const char *path)
{
    struct stat st;

    return strcmp(path, "-") != 0 && (lstat(path, &st) < 0 || S_ISREG(st.st_mode));
}

static void report_text(const struct run *run, const struct job *job, const struct findings *f,
                        struct strbuf *sb)
{
    struct json j = JSON_PRETTY(sb);
    struct report_context ctx = {.engine = run->engine->name,
                                 .gaps = run->gaps.v,
                                 .n_gaps = run->gaps.n,
                                 .outputs = (const char *const *)f->outputs.v,
                                 .aside = f->missing.buf};

    evidence_report(&f->evidence, &ctx);
    report_write(job, &ctx, &j);
    strbuf_addch(sb, '\n');
}

/* The job has ended. Files first: whoever is to read our output may never do so. */
static void write_report(void *ctx, const struct job *job)
{
    struct run *run = ctx;
    CLEANUP(findings_release) struct findings f;
    auto_strbuf struct strbuf sb = STRBUF_INIT;

    findings_gather(run, job, &f);
    report_text(run, job, &f, &sb);
    reserve_release(run->rd.fd);
    run->own_code = io_write_atomic(run->rd.fd, "report.json", sb.buf, sb.len, &run->own_err);
    if (run->o.report && report_is_file(run->o.report))
        run->report_code = tell_write_file(run->o.report, sb.buf, sb.len, &run->report_err);
}

static int tell(struct run *run, const struct job *job)
{
    const struct rundir *rd = &run->rd;
    CLEANUP(findings_release) struct findings f;
    auto_strbuf struct strbuf sb = STRBUF_INIT;

    findings_gather(run, job, &f);
    const struct verdict_context ctx = {.run_dir = rd->path,
                                        .log = f.evidence.log,
                                        .tail = &f.evidence.tail,
                                        .other = f.evidence.other.buf,
                                        .gaps = &run->gaps,
                                        .missing = f.missing.buf,
                                        .seen = output_on_screen(rd->logs_fd)};
    if (never_began(job))
        tell_not_started(job);
    else
        tell_verdict(job, &ctx);
    tell_outputs(&f.outputs);
    if (!never_began(job))
        tell_discarded(job->plan);
    if (run->o.report && !report_is_file(run->o.report)) {
        report_text(run, job, &f, &sb);
        run->report_code = tell_write_file(run->o.report, sb.buf, sb.len, &run->report_err);
    }
    if (run->own_code < 0 && !(run->own_code == -ENOENT && f.missing.len > 0))
        tell_note(arena_printf(run->a, "%s (run directory %s)", run->own_err.text, rd->path));
    if (run->report_code < 0)
        return refuse("the report could not be written", &run->report_err);
    return job->exit_code;
}

/* --- running ---------------------------------------------------------------------------------- */

/* Written while the processes are being started, because nobody waits for it. */
static void write_plan(void *ctx)
{
    const struct run *run = ctx;
    struct err e;

    if (explain_record(run->rd.fd, run->plan, &run->jf, &run->changes, &e) < 0)
        tell_note(e.text);
}

/* A job in the background must not take what is typed for the shell. Its processes are in a session
 * of their own, where nothing else would keep them from it. */
static bool is_background_terminal(int fd)
{
    return isatty(fd) && tcgetpgrp(fd) != getpgrp();
}

static int refuse_job(const struct run *run, enum cause_kind kind, const char *what,
                      const struct err *e)
{
    const struct refusal r = {.spec = run->spec,
                              .file = run->jf.path,
                              .options = &run->o.job,
                              .engine = run->engine,
                              .isolate = run->o.isolate,
                              .run_id = run->rd.run_id ? run->rd.run_id : "",
                              .report = run->o.report};

    return refusal_tell(&r, kind, what, e);
}

/* -EINVAL: an option that names nothing of this job. Bad usage gets no report. */
static int refuse_unless_usage(const struct run *run, enum cause_kind kind, const struct err *e)
{
    return e->code == -EINVAL ? refuse(NULL, e) : refuse_job(run, kind, NULL, e);
}

/* A job that never began leaves nothing but its report. */
static int refuse_start(struct run *run, const struct plan *plan, const char *what,
                        const struct err *e)
{
    struct err where = *e;

    if (!strchr(e->text, '/')) /* a file of the run directory: which disk is full? */
        (void)err_set(&where, e->code, "%s (run directory %s)", e->text, run->rd.path);
    if (run->rd.fd >= 0)
        azureml_dir_finish(plan);
    rundir_discard(&run->rd);
    return refuse_job(run, CAUSE_UNSCHEDULABLE, what, &where);
}

static bool is_preflight_only(const struct run_options *o)
{
    return o->preflight.n > 0 && *o->preflight.v[o->preflight.n - 1];
}

/* The job file may be another one when somebody attaches. */
static int keep_job_file(const struct run *run, struct err *e)
{
    const struct doc *doc = &run->jf.doc;

    if (!run->engine->detaches || !run->jf.path)
        return 0;
    return io_write_atomic(run->rd.fd, RUNDIR_JOB_FILE, doc->source, doc->source_len, e);
}

/* Everything that has to be there before the job runs. */
static int make_rundir(struct run *run, const struct plan *plan, struct err *e)
{
    struct rundir *rd = &run->rd;
    int r = rundir_make(rd, e);

    if (r == 0)
        r = rundir_fill(rd, plan, e);
    if (r == 0)
        r = command_line_write(rd->fd, &run->command, e);
    if (r == 0)
        r = keep_job_file(run, e);
    return r;
}

static void tell_preparations(struct run *run, const struct plan *plan)
{
    for (size_t i = 0; i < run->rd.notes.n; i++)
        tell_note(run->rd.notes.v[i]);
    drop_stale_findings(&run->jf.diags, &run->o.job, &run->changes, run->engine);
    if (plan_refused(plan))
        tell_missing(run->a, plan);
    else
        tell_preface(&run->jf, &run->changes, plan);
}

/* It goes on in the cluster. The id is the last line of stdout, for scripts. */
static int tell_detached(struct run *run)
{
    const char *id = run->rd.run_id;
    char until[64] = "";
    time_t at = (time_t)(clock_real() / NS_PER_S + run->keep_s);
    struct tm tm;

    if (localtime_r(&at, &tm))
        (void)strftime(until, sizeof(until), "%Y-%m-%d %H:%M", &tm);
    tell_detached_note(id, until);
    rundir_leave(&run->rd);
    printf("%s\n", id);
    return finish_output();
}

static int finish_run(struct run *run, struct job *job)
{
    struct rundir *rd = &run->rd;

    if (job->phase != JOB_ENDED) {
        job_free(job);
        return tell_detached(run);
    }
    int code = tell(run, job);
    bool began = !never_began(job);
    job_free(job);
    azureml_dir_finish(run->plan);
    (void)unlinkat(rd->fd, RUNDIR_JOB_FILE, 0);
    if (began)
        rundir_finish(rd, &run->settings.retention);
    else
        rundir_discard(rd);
    return code;
}

static int run_in(struct run *run)
{
    const struct run_options *o = &run->o;
    struct err e;
    const struct plan *plan;
    struct drive_options drive_opts = {
        .engine = run->engine,
        .rules = {.grace_ms = o->grace_ms >= 0 ? o->grace_ms : DEFAULT_GRACE_MS,
                  .grace_fixed = o->grace_ms >= 0,
                  .start_timeout_ms = o->start_timeout_ms,
                  .recovery_timeout_ms = o->recovery_timeout_ms,
                  .trust_launcher = o->trust_launcher,
                  .hold = o->hold,
                  .preflight = o->preflight.n > 0,
                  .preflight_only = is_preflight_only(o)},
        .hang_timeout_ms = o->hang_timeout_ms,
        .stdin_fd = o->command.n > 0 && !is_background_terminal(STDIN_FILENO) ? STDIN_FILENO : -1,
        .colour = {want_colour(stdout), want_colour(stderr)},
        .no_prefix = o->no_prefix,
        .no_status = o->quiet,
        .attach = run->at,
        .cancel = run->at ? run->at->cancel : 0,
        .detach = o->detach.n > 0 && !run->at,
        .keep_s = run->engine->detaches ? run->keep_s : 0,
        .gaps = &run->gaps,
        .note = tell_note,
        .table = tell_table,
        .begun = run->at ? NULL : write_plan,
        .ended = write_report,
        .ctx = run,
    };

    if (run->engine->plan(run->a, run->spec, &run->survey, &plan, &e) < 0)
        return run->at ? refuse_attach(run, &e)
                       : refuse_job(run, CAUSE_UNSCHEDULABLE, "the job cannot be planned", &e);
    if (!run->at)
        tell_preparations(run, plan);
    drive_hold_signals();
    if (!run->at && make_rundir(run, plan, &e) < 0)
        return refuse_start(run, plan, NULL, &e);
    run->plan = plan;
    if (!run->at)
        reserve_take(run->rd.fd, plan);
    struct job *job = drive(plan, &run->rd, &drive_opts, &e);
    if (!job && run->at)
        rundir_leave(&run->rd);
    if (!job)
        return run->at ? refuse_attach(run, &e)
                       : refuse_start(run, plan, "the job could not be started", &e);
    return finish_run(run, job);
}

/* Everything up to the plan; 0, or the exit code after telling why not. */
static int prepare(struct run *run, const struct job_spec *spec)
{
    const struct job_options *o = &run->o.job;
    auto_free char *id = rundir_new_id();
    struct rundir *rd = &run->rd;
    struct err e;

    if (run->engine->has_images)
        job_put_images(&run->o.job);
    if (job_adjust(run->a, o, spec, &run->spec, &run->changes, &e) < 0)
        return refuse(NULL, &e); /* usage */
    if (run->o.report && tell_check_file(run->o.report, &e) < 0)
        return refuse("the report cannot be written", &e);
    if (!run->at && rundir_name(id, run->o.run_dir, rd, &e) < 0)
        return refuse_job(run, CAUSE_UNSCHEDULABLE, NULL, &e);
    int r = job_runnable(o, run->spec, &e);
    if (r < 0)
        return refuse_unless_usage(run, r == -ENOEXEC ? CAUSE_EXEC : CAUSE_UNSCHEDULABLE, &e);
    struct survey_request rq = job_survey(o, run->spec, SURVEY_RUN);
    rq.isolate = run->o.isolate;
    rq.run_id = rd->run_id;
    rq.run_dir = rd->path;
    rq.scratch_dir = rd->scratch;
    if (run->at) { /* what is the current context by now does not matter */
        rq.context = run->at->away.context;
        rq.namespace_ = run->at->away.namespace_;
    }
    if (run->o.command
            .n) { /* no file says which variables it needs: all, as torchrun and mpirun do */
        rq.inherit_all = !o->clean_env;
        rq.clean_env = false;
    }
    if (run->engine->survey(run->a, &rq, &run->survey, &e) < 0)
        return run->survey.cause == CAUSE_NONE ? refuse(NULL, &e)
                                               : refuse_job(run, run->survey.cause, NULL, &e);
    if (run->o.command.n && command_fits_mpi(run->spec, &run->survey.facts, &e) < 0)
        return refuse_job(run, CAUSE_EXEC, NULL, &e);
    return 0;
}

static int check_usage(const struct verb *verb, struct run_options *o, const struct operands *ops)
{
    const char *of_file = job_options_of_file(&o->job);
    int code = command_check(verb, &o->command, ops);

    if (code)
        return code;
    if (o->command.n && of_file)
        return usage_error(verb, "--%s requires a job FILE and cannot be used with -n", of_file);
    for (size_t i = 0; i < o->preflight.n; i++)
        if (*o->preflight.v[i] && strcmp(o->preflight.v[i], "only") != 0)
            return usage_error(verb, "--preflight must have no value or \"only\", not \"%s\"",
                               o->preflight.v[i]);
    return job_options_check(verb, &o->job);
}

/* The directory of the run before is there, and holds its records. */
static void leave_run_dir(struct run_options *o)
{
    auto_strbuf struct strbuf note = STRBUF_INIT;
    struct stat st;

    if (!o->run_dir || lstat(o->run_dir, &st) < 0)
        return;
    strbuf_addf(&note, "%s (--run-dir) already exists; using the default run directory",
                o->run_dir);
    tell_note(note.buf);
    o->run_dir = NULL;
}

static int check_detach(struct run *run)
{
    const struct strvec *v = &run->o.detach;
    int64_t ms = LIMIT_DETACHED_S * INT64_C(1000);

    if (v->n > 0 && *v->v[v->n - 1] &&
        (duration_option_ms(v->v[v->n - 1], &ms) < 0 || ms < LEAST_KEPT_S * INT64_C(1000) ||
         ms > LIMIT_KEEP_S * INT64_C(1000)))
        return usage_error(&verb_run,
                           "--detach must be a duration from %ds to %dh such as 12h, not \"%s\"",
                           LEAST_KEPT_S, LIMIT_KEEP_S / 3600, v->v[v->n - 1]);
    run->keep_s = ms / 1000;
    if (v->n == 0 || run->engine->detaches)
        return 0;
    tell_error("--detach is not available with --on %s: the job ends with its muster process",
               run->engine->name);
    print_try("nohup muster run … &");
    return EXIT_MUSTER;
}

/* Before the job file is read: it is in there. */
static int open_attached(struct run *run)
{
    const struct run_ref *ref = run->at->run;
    struct err e;

    run->engine = run->at->engine;
    run->o.quiet |= run->at->quiet;
    if (run->at->report)
        run->o.report = run->at->report;
    if (rundir_name(ref->id, ref->dir, &run->rd, &e) == 0 && rundir_open(&run->rd, &e) == 0)
        return 0;
    return refuse_attach(run, &e);
}

static int run_with(const struct verb *verb, int argc, char **argv, bool again,
                    const struct attach *at)
{
    CLEANUP(run_release)
    struct run run = {.o = {.grace_ms = -1,
                            .start_timeout_ms = 600000,
                            .recovery_timeout_ms = 60000,
                            .isolate = "auto",
                            .preflight = STRVEC_INIT,
                            .detach = STRVEC_INIT,
                            .job = JOB_OPTIONS_INIT},
                      .a = arena_new(),
                      .engine = &engine_local,
                      .survey = SURVEY_INIT,
                      .rd = RUNDIR_INIT,
                      .command = COMMAND_INIT,
                      .at = at};
    struct operands ops;
    struct job_spec *spec = NULL;

    command_line_of(argc, argv, &run.command); /* parsing changes the order of the words */
    if (opts_parse(verb, &run.o, argc, argv, &ops) < 0)
        return verb->usage_exit;
    tell_quietly(run.o.quiet || (at && at->quiet));
    if (again)
        leave_run_dir(&run.o);
    struct err e;
    int code = check_usage(verb, &run.o, &ops);
    if (code == 0 && io_need_descriptors(LIMIT_DESCRIPTORS_LEAST, &e) < 0)
        code = refuse(NULL, &e);
    if (code == 0 && settings_read(run.a, &run.settings) < 0)
        code = EXIT_MUSTER;
    if (code == 0 && at)
        code = open_attached(&run);
    else if (code == 0 && place_engine(run.o.on ? run.o.on : run.settings.on, &run.engine, &e) < 0)
        code = refuse(NULL, &e);
    if (code == 0 && run.o.preflight.n > 0 && run.engine == &engine_sim)
        code = usage_error(verb, "--preflight: --on sim has no network");
    if (code == 0)
        code = check_detach(&run);
    if (code == 0)
        code = run.o.command.n ? command_spec(verb, &run.o.command, &ops, run.a, &spec)
                               : spec_from_file(&run, ops.v[0], &spec);
    if (code == 0 && spec)
        code = prepare(&run, spec);
    return code == 0 && spec ? run_in(&run) : code;
}

static int run_main(const struct verb *verb, int argc, char **argv)
{
    return run_with(verb, argc, argv, false, NULL);
}

int run_again(int argc, char **argv)
{
    return run_with(&verb_run, argc, argv, true, NULL);
}

int run_attached(const struct attach *at)
{
    const struct strvec *words = &at->command.argv;
    auto_free char **argv = xcalloc(words->n + 1, sizeof(*argv)); /* its order is changed */

    memcpy(argv, words->v, words->n * sizeof(*argv));
    return run_with(&verb_run, (int)words->n, argv, false, at);
}

static bool command_begins(const void *options, const char *operand)
{
    return command_begins_with(&((const struct run_options *)options)->command, operand);
}

const struct verb verb_run = {
    .name = "run",
    .synopsis = "FILE | -n N [--hosts H] [--] CMD…",
    .summary = "run a job in the foreground",
    .about =
        "Runs the job of FILE, unchanged, on this machine: every replica is a host of its own "
        "name, "
        "mpirun reaches it without sshd. Shows the output of every process live, ends with a "
        "verdict, and exits with the job's own code (125: Muster itself refused or failed).\n"
        "\n"
        "With -n, runs N copies of CMD with RANK, LOCAL_RANK, WORLD_SIZE, NODE_RANK, MASTER_ADDR "
        "and MASTER_PORT set. The first to fail stops the others. Rank 0 reads muster's stdin.\n"
        "\n"
        "Ctrl-C stops the job with SIGTERM, after the grace period with SIGKILL; a second Ctrl-C "
        "at once. SIGUSR1 and SIGUSR2 are passed on to every process. On a cluster Ctrl-\\ "
        "(SIGQUIT) "
        "detaches.",
    .opts = run_opts,
    .parts = run_parts,
    .usage_exit = EXIT_MUSTER,
    .run = run_main,
    .command_begins = command_begins,
};
