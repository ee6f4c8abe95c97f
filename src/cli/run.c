/* run.c - `muster run`: a job in the foreground, from its file (or a command) to its verdict.
 *
 * Only wiring: read, plan, prepare the directories, drive, tell. Every refusal of ours is exit code
 * 125, so that it can never be mistaken for the job's own.
 */
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/io.h"
#include "cli/cli.h"
#include "cli/diagnose.h"
#include "cli/explain.h"
#include "cli/job_options.h"
#include "cli/tell.h"
#include "dialect/dialect.h"
#include "engine/local/facts.h"
#include "engine/local/images.h"
#include "engine/local/isolate.h"
#include "engine/local/ports.h"
#include "engine/local/secrets.h"
#include "engine/local/volumes.h"
#include "job/hint.h"
#include "job/mask.h"
#include "job/report.h"
#include "run/azureml_dir.h"
#include "run/driver.h"
#include "run/tail.h"

struct run_options {
    int64_t n, hosts;
    int64_t grace_ms, start_timeout_ms, recovery_timeout_ms, hang_timeout_ms;
    const char *isolate, *report, *run_dir;
    bool trust_launcher, hold;
    struct job_options job;
};

static const char *const isolation_levels[] = {"auto", "names", "network", "none", NULL};

#define AT(field) offsetof(struct run_options, field)
static const struct opt run_opts[] = {
    {"processes", 'n', OPT_INT, AT(n), "N", "start N processes of CMD", NULL, 1},
    {"hosts", 0, OPT_INT, AT(hosts), "H", "spread them over H replicas (default 1)", NULL, 1},
    {"report", 0, OPT_STRING, AT(report), "FILE", "write the report as JSON; - is stdout", NULL, 0},
    {"grace", 0, OPT_DURATION, AT(grace_ms), "D", "time between SIGTERM and SIGKILL (default 10s)",
     NULL, 0},
    {"start-timeout", 0, OPT_DURATION, AT(start_timeout_ms), "D",
     "how long replicas may take to be ready (default 600s)", NULL, 0},
    {"recovery-timeout", 0, OPT_DURATION, AT(recovery_timeout_ms), "D",
     "after a rank has failed: how long silence may last (default 60s)", NULL, 0},
    {"hang-timeout", 0, OPT_DURATION, AT(hang_timeout_ms), "D",
     "end a job that has done nothing for so long (default: never)", NULL, 0},
    {"trust-launcher", 0, OPT_FLAG, AT(trust_launcher), NULL,
     "believe an mpirun that ends with 0 although a rank failed", NULL, 0},
    {"hold-on-failure", 0, OPT_FLAG, AT(hold), NULL,
     "keep the replicas of a failed job until resume or cancel", NULL, 0},
    {"isolate", 0, OPT_CHOICE, AT(isolate), NULL, "how replicas are kept apart", isolation_levels,
     0},
    {"run-dir", 0, OPT_STRING, AT(run_dir), "DIR", "use DIR as the run directory", NULL, 0},
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
    struct facts facts;
    struct rundir rd;
    struct leases held;
};

static void run_release(struct run *run)
{
    leases_release(&run->held);
    rundir_release(&run->rd);
    job_file_release(&run->jf);
    arena_free(run->a);
    job_options_release(&run->o.job);
}

static int refuse(const char *what, const struct err *e)
{
    tell_error("%s%s%s", what ? what : "", what ? ": " : "", e->text);
    return EXIT_MUSTER;
}

/* --- what to run ------------------------------------------------------------------------------ */

static int spec_from_operands(const struct verb *verb, const struct run_options *o,
                              const struct operands *ops, struct arena *a, struct job_spec **ret)
{
    char cwd[PATH_MAX];
    int64_t hosts = o->hosts ? o->hosts : 1;

    if (!ops->rest || ops->n_rest == 0)
        return usage_error(verb, "-n wants a command after --");
    if (ops->n > 0)
        return usage_error(verb, "either FILE or -n N -- CMD, not both (%s)", ops->v[0]);
    if (o->n > LIMIT_PROCESSES || hosts > LIMIT_REPLICAS || o->n / hosts > LIMIT_SLOTS)
        return usage_error(verb, "at most %d processes on at most %d hosts, %d on each",
                           LIMIT_PROCESSES, LIMIT_REPLICAS, LIMIT_SLOTS);
    if (o->n % hosts != 0)
        return usage_error(verb, "-n %lld cannot be spread evenly over --hosts %lld",
                           (long long)o->n, (long long)hosts);
    if (!getcwd(cwd, sizeof(cwd))) {
        tell_error("cannot find out the working directory: %s", strerror(errno));
        return EXIT_MUSTER;
    }
    *ret = spec_from_command(a, (int32_t)o->n, (int32_t)hosts, (const char *const *)ops->rest,
                             arena_strdup(a, cwd));
    return 0;
}

static int spec_from_file(struct run *run, const char *path, struct job_spec **ret)
{
    struct job_file *jf = &run->jf;
    struct err e;

    const struct read_options opts = job_read_options(&run->o.job);

    if (job_file_read(run->a, path, &opts, jf, &e) < 0)
        return refuse(NULL, &e);
    print_diagnostics(jf);
    if (jf->verdict != VERDICT_ACCEPT) {
        tell_error("%s: %s", path,
                   jf->verdict == VERDICT_NOTJOB        ? "this is no job file"
                   : jf->verdict == VERDICT_UNSUPPORTED ? "this kind of job is not supported"
                                                        : "the job file has errors");
        return EXIT_MUSTER;
    }
    if (jf->n_jobs != 1) {
        tell_error("%s: holds %zu jobs, run takes one: give each a file of its own", path,
                   jf->n_jobs);
        return EXIT_MUSTER;
    }
    *ret = jf->jobs[0];
    return 0;
}

/* --- telling ---------------------------------------------------------------------------------- */

static const char *cause_log(const struct job *job, char name[PLAN_LOG_NAME])
{
    const struct cause *c = &job->cause;

    if (c->launch >= 0)
        return job->launches[c->launch].ranks[c->rank].log;
    if (c->process < 0)
        return NULL;
    if (*c->end.init)
        return plan_init_log(&job->plan->replicas[c->replica], c->end.init,
                             job_start(job, (uint32_t)c->process), name);
    return plan_log_name(&job->plan->processes[c->process], job_start(job, (uint32_t)c->process),
                         name);
}

/* Where a rank of mpirun has said what it thinks of it: rank 0's log, or that of whoever called mpirun. */
static const char *success_log(const struct job *job, char name[PLAN_LOG_NAME])
{
    const struct launch *l = job_last_launch(job);
    int32_t launcher = job->plan->launcher;

    if (l && l->size > 0 && l->ranks[0].log)
        return l->ranks[0].log;
    return launcher >= 0 ? plan_log_name(&job->plan->processes[launcher],
                                         job_start(job, (uint32_t)launcher), name)
                         : NULL;
}

/* "rank 1 on worker-0 says: RuntimeError: words", if that log ends with an exception of its own. */
static bool says_why(const struct rundir *rd, const struct job *job, const char *log, int64_t rank,
                     uint32_t replica, struct strbuf *out)
{
    auto_strvec struct strvec tail = STRVEC_INIT;

    mask_lines(job->plan, &tail, log_tail(rd->logs_fd, log, &tail));
    const char *line = hint_exception((const char *const *)tail.v);
    if (!line)
        return false;
    if (rank >= 0)
        strbuf_addf(out, "rank %lld on ", (long long)rank);
    strbuf_addf(out, "%s says: %s", job->plan->replicas[replica].name, line);
    return true;
}

/* Who of the others did it, where the first that ended only says that it has lost them. */
static void find_other(const struct rundir *rd, const struct job *job, const struct strvec *tail,
                       struct strbuf *out)
{
    const struct launch *l = job_last_launch(job);
    char name[PLAN_LOG_NAME];

    if (job->cause.replica < 0 || !hint_lost_others((const char *const *)tail->v))
        return;
    for (uint32_t i = 0; l && i < l->size && i < LIMIT_OTHER_LOGS; i++)
        if (l->ranks[i].log && says_why(rd, job, l->ranks[i].log, i, l->ranks[i].replica, out))
            return;
    for (uint32_t i = 0; !l && i < job->plan->n_processes && i < LIMIT_OTHER_LOGS; i++) {
        const struct process *p = &job->plan->processes[i];

        if (says_why(rd, job, plan_log_name(p, job_start(job, i), name), p->rank, p->replica, out))
            return;
    }
}

static int write_report(const char *path, int run_fd, const struct job *job,
                        const struct strvec *tail, const char *other, struct err *e)
{
    auto_strbuf struct strbuf sb = STRBUF_INIT;
    struct json j = JSON_PRETTY(&sb);
    struct report_context ctx = {
        .engine = "local", .log_tail = (const char *const *)tail->v, .other = other};

    report_write(job, &ctx, &j);
    strbuf_addch(&sb, '\n');
    (void)io_write_atomic(run_fd, "report.json", sb.buf, sb.len, NULL);
    return path ? tell_write_file(path, sb.buf, sb.len, e) : 0;
}

static int tell(const struct run_options *o, const struct rundir *rd, const struct job *job)
{
    struct err e;
    auto_strvec struct strvec tail = STRVEC_INIT;
    auto_strbuf struct strbuf other = STRBUF_INIT;
    char name[PLAN_LOG_NAME];
    const char *log = cause_log(job, name);

    if (log && *log)
        mask_lines(job->plan, &tail, log_tail(rd->logs_fd, log, &tail));
    else if (job->outcome == OUTCOME_SUCCEEDED && success_log(job, name))
        log_head(rd->logs_fd, success_log(job, name), &tail);
    find_other(rd, job, &tail, &other);
    tell_verdict(job, rd->path, log, &tail, other.buf);
    if (write_report(o->report, rd->fd, job, &tail, other.buf, &e) < 0)
        return refuse("the report could not be written", &e);
    return job->exit_code;
}

/* --- running ---------------------------------------------------------------------------------- */

static int64_t grace_of(const struct job_spec *spec, int64_t option)
{
    for (size_t k = 0; k < spec->n_roles; k++)
        if (spec->roles[k].grace_s >= 0)
            return spec->roles[k].grace_s * INT64_C(1000);
    return option;
}

/* What is run, as `explain -o json` would have shown it, kept with the run. */
static int write_plan(const struct run *run, const struct plan *plan, struct err *e)
{
    auto_strbuf struct strbuf sb = STRBUF_INIT;
    auto_arena struct arena *a = arena_new(); /* environments are made for this only */
    struct json j = JSON_PRETTY(&sb);
    const struct explained told = {
        .path = run->jf.path, .ds = run->jf.path ? &run->jf.diags : NULL, .changes = &run->changes};

    json_object(&j);
    json_key(&j, "jobs");
    json_array(&j);
    explain_json(&j, a, plan, &told);
    json_end(&j);
    json_end(&j);
    strbuf_addch(&sb, '\n');
    return io_write_atomic(run->rd.fd, "plan.json", sb.buf, sb.len, e);
}

static int run_in(struct run *run)
{
    const struct run_options *o = &run->o;
    const struct job_spec *spec = run->spec;
    struct rundir *rd = &run->rd;
    struct err e;
    const struct plan *plan;
    struct drive_options drive_opts = {
        .rules = {.grace_ms = grace_of(spec, o->grace_ms),
                  .start_timeout_ms = o->start_timeout_ms,
                  .recovery_timeout_ms = o->recovery_timeout_ms,
                  .trust_launcher = o->trust_launcher,
                  .hold = o->hold},
        .hang_timeout_ms = o->hang_timeout_ms,
        .stdin_fd = o->n == 1 ? STDIN_FILENO : -1,
        .colour = want_colour(stdout),
        .note = tell_note,
    };

    if (plan_build(run->a, spec, &run->facts, &plan, &e) < 0)
        return refuse("the job cannot be planned", &e);
    tell_changes(&run->changes);
    tell_plan_notes(plan);
    if (rundir_make(rd, &e) < 0 || rundir_fill(rd, plan, &e) < 0 || write_plan(run, plan, &e) < 0)
        return refuse(NULL, &e);
    struct job *job = drive(plan, rd, &drive_opts, &e);
    int code = job ? tell(o, rd, job) : refuse("the job could not be started", &e);
    job_free(job);
    azureml_dir_finish(plan);
    rundir_finish(rd);
    return code;
}

/* Everything up to the plan; 0, or the exit code after telling why not. */
static int prepare(struct run *run, const struct job_spec *spec)
{
    const struct job_options *o = &run->o.job;
    auto_free char *id = rundir_new_id();
    struct rundir *rd = &run->rd;
    struct facts *facts = &run->facts;
    struct err e;

    if (job_adjust(run->a, o, spec, &run->spec, &run->changes, &e) < 0 ||
        rundir_name(id, run->o.run_dir, rd, &e) < 0 ||
        images_map(run->a, run->spec, (const char *const *)o->images.v, &facts->images, &e) < 0 ||
        facts_collect(run->a, run->spec, rd->run_id, rd->path, rd->scratch, facts, &e) < 0)
        return refuse(NULL, &e);
    if ((o->require_gpus && facts_require_gpus(run->spec, facts, &e) < 0) ||
        job_runnable(o, run->spec, &e) < 0)
        return refuse(NULL, &e);
    job_facts(o, facts);
    if (secrets_collect(run->a, run->spec, o->secrets, o->configmaps, &facts->secrets,
                        &facts->n_secrets, NULL, &e) < 0)
        return refuse(NULL, &e);
    if (isolation_choose(run->a, run->o.isolate, facts, &e) < 0 ||
        volumes_resolve(run->a, run->spec, (const char *const *)o->volumes_abs.v, o->secrets,
                        o->configmaps, false, facts, &e) < 0 ||
        ports_lease(run->a, run->spec, facts->network != 0, &facts->ports, &run->held, &e) < 0)
        return refuse(NULL, &e);
    return 0;
}

static int check_usage(const struct verb *verb, struct run_options *o, const struct operands *ops)
{
    const char *of_file = job_options_of_file(&o->job);

    if (o->n == 0 && (ops->n != 1 || ops->rest))
        return usage_error(verb,
                           ops->n == 0 ? "wants a job FILE, or -n N -- CMD" : "wants one FILE");
    if (o->n == 0 && o->hosts)
        return usage_error(verb, "--hosts goes with -n");
    if (o->n && of_file)
        return usage_error(verb, "--%s goes with a job FILE, not with -n", of_file);
    return job_options_check(verb, &o->job);
}

static int run_main(const struct verb *verb, int argc, char **argv)
{
    CLEANUP(run_release)
    struct run run = {.o = {.grace_ms = 10000,
                            .start_timeout_ms = 600000,
                            .recovery_timeout_ms = 60000,
                            .isolate = "auto",
                            .job = JOB_OPTIONS_INIT},
                      .a = arena_new(),
                      .rd = RUNDIR_INIT};
    struct operands ops;
    struct job_spec *spec = NULL;

    if (opts_parse(verb, &run.o, argc, argv, &ops) < 0)
        return verb->usage_exit;
    int code = check_usage(verb, &run.o, &ops);
    if (code == 0)
        code = run.o.n ? spec_from_operands(verb, &run.o, &ops, run.a, &spec)
                       : spec_from_file(&run, ops.v[0], &spec);
    if (code == 0 && spec)
        code = prepare(&run, spec);
    return code == 0 && spec ? run_in(&run) : code;
}

const struct verb verb_run = {
    .name = "run",
    .synopsis = "FILE | -n N [--hosts H] -- CMD…",
    .summary = "run a job here, in the foreground",
    .about =
        "Runs the job of FILE, unchanged, on this machine: every replica is a host of its own "
        "name, "
        "mpirun reaches it without sshd. Shows the output of every process live, ends with a "
        "verdict, and exits with the job's own code (125: Muster itself refused or failed).\n"
        "\n"
        "With -n, runs N copies of CMD with RANK, LOCAL_RANK, WORLD_SIZE, NODE_RANK, MASTER_ADDR "
        "and MASTER_PORT set. The first to fail stops the others.\n"
        "\n"
        "Ctrl-C stops the job with SIGTERM, after the grace period with SIGKILL; a second Ctrl-C "
        "at once. SIGUSR1 and SIGUSR2 are passed on to every process.",
    .opts = run_opts,
    .parts = run_parts,
    .usage_exit = EXIT_MUSTER,
    .run = run_main,
};
