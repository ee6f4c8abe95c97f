/* sim.c - `muster sim`: what would happen to this job if …, as a time line; `--queue` is another
 * simulation (sim_queue.c).
 *
 * Plans the job as `explain` does and plays it in simulated time: the core and the journal are
 * those of `run`, the processes are a story made from the options. Nothing is started. The loop and
 * the rules it is held to are in engine/sim.
 */
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "base/nearest.h"
#include "base/num.h"
#include "base/signame.h"
#include "base/strbuf.h"
#include "cli/cli.h"
#include "cli/diagnose.h"
#include "cli/job_options.h"
#include "cli/sim_queue.h"
#include "dialect/dialect.h"
#include "engine/sim/sim.h"
#include "job/verdict.h"
#include "journal/journal.h"
#include "rundir/rundir.h"

struct sim_opts {
    int64_t seed; /* -1 = not given */
    int64_t duration_ms, output_ms;
    int64_t cancel_ms, pause_ms, resume_ms, hang_ms, lost_ms; /* -1 = never */
    int64_t grace_ms, start_timeout_ms, recovery_timeout_ms;
    bool trust_launcher, hold;
    const char *faults, *queue, *format;
    struct strvec fail;
    struct job_options job;
};

/* --- the story -------------------------------------------------------------------------------- */

static const struct {
    const char *name;
    struct sim_faults faults;
} fault_words[] = {
    {"drop", {.drop = 100, .resync_ms = 10000}},
    {"repeat", {.repeat = 100, .delay_ms = 2000}},
    {"delay", {.delay = 300, .delay_ms = 2000, .resync_ms = 10000}},
    {"crash", {.crash = 50, .down_ms = 5000, .resync_ms = 10000}},
};

static void faults_add(struct sim_faults *to, const struct sim_faults *f)
{
    to->drop += f->drop;
    to->repeat += f->repeat;
    to->delay += f->delay;
    to->crash += f->crash;
    to->delay_ms = f->delay_ms ? f->delay_ms : to->delay_ms;
    to->resync_ms = f->resync_ms ? f->resync_ms : to->resync_ms;
    to->down_ms = f->down_ms ? f->down_ms : to->down_ms;
}

/* "drop,crash" or "all". */
static int read_faults(const char *text, struct sim_faults *ret, struct err *e)
{
    struct sim_faults f = {0};

    for (const char *p = text; p; p = strchr(p, ',') ? strchr(p, ',') + 1 : NULL) {
        size_t n = strcspn(p, ",");
        bool all = n == 3 && !strncmp(p, "all", n), known = all;
        for (size_t i = 0; i < ARRAY_SIZE(fault_words); i++) {
            const char *name = fault_words[i].name;
            if (!all && (strlen(name) != n || strncmp(p, name, n) != 0))
                continue;
            faults_add(&f, &fault_words[i].faults);
            known = true;
        }
        if (!known)
            return err_set(e, -EINVAL,
                           "--faults %s: must be drop, repeat, delay, crash or all, not \"%.*s\"",
                           text, (int)n, p);
    }
    *ret = f;
    return 0;
}

static int read_how(const char *text, struct sim_blow *b)
{
    int64_t code;

    b->end = (struct ending){
        .known = true, .code = -1, .max_rss = -1, .memory_limit = -1, .memory_peak = -1};
    b->once = true;
    if (!strcmp(text, "kill") || !strcmp(text, "oom")) {
        b->end.signal = SIGKILL;
        b->end.oom = *text == 'o';
        b->once = b->end.oom;
        return 0;
    }
    if (!strncmp(text, "signal=", 7)) {
        b->end.signal = signal_number(text + 7);
        return b->end.signal < 0 ? -EINVAL : 0;
    }
    if (strncmp(text, "exit=", 5) != 0 || num_i64(text + 5, &code) < 0 || code < 0 || code > 255)
        return -EINVAL;
    b->end.code = (int)code;
    return 0;
}

static int no_replica(struct arena *a, const struct plan *plan, const char *text, const char *name,
                      struct err *e)
{
    const char **names = ARENA_ARRAY(a, const char *, plan->n_replicas + 1);

    for (uint32_t i = 0; i < plan->n_replicas; i++)
        names[i] = plan->replicas[i].name;
    const char *near = nearest_word(name, names, plan->n_replicas);
    if (near)
        return err_set(e, -EINVAL, "--fail %s: replica %s not found; did you mean %s?", text, name,
                       near);
    return err_set(e, -EINVAL, "--fail %s: replica %s not found; the first is %s", text, name,
                   plan->n_replicas ? plan->replicas[0].name : "none");
}

/* "worker-2@5m:exit=1" */
static int read_blow(struct arena *a, const struct plan *plan, const char *text,
                     struct sim_blow *ret, struct err *e)
{
    const char *at = strrchr(text, '@'), *colon = at ? strchr(at, ':') : NULL;
    struct sim_blow b = {.replica = UINT32_MAX};

    if (!colon)
        return err_set(e, -EINVAL,
                       "--fail %s: must be REPLICA@TIME:HOW, such as worker-2@5m:exit=1", text);
    const char *name = arena_strndup(a, text, (size_t)(at - text));
    for (uint32_t i = 0; i < plan->n_replicas; i++)
        if (!strcmp(plan->replicas[i].name, name))
            b.replica = i;
    if (b.replica == UINT32_MAX)
        return no_replica(a, plan, text, name, e);
    if (duration_ms(arena_strndup(a, at + 1, (size_t)(colon - at) - 1), &b.at_ms) < 0)
        return err_set(e, -EINVAL, "--fail %s: the time must be a duration such as 500ms, 2s or 5m",
                       text);
    if (read_how(colon + 1, &b) < 0)
        return err_set(e, -EINVAL, "--fail %s: HOW must be exit=0…255, signal=NAME, kill or oom",
                       text);
    *ret = b;
    return 0;
}

static int64_t seed_of(const struct sim_opts *o)
{
    return o->seed >= 0 ? o->seed : 1;
}

static int make_story(struct arena *a, const struct sim_opts *o, const struct plan *plan,
                      struct sim_story *ret, struct err *e)
{
    struct sim_blow *blows = ARENA_ARRAY(a, struct sim_blow, o->fail.n + 1);

    sim_usual_story(a, plan, o->duration_ms, 0, ret);
    ret->seed = (uint64_t)seed_of(o);
    ret->blows = blows;
    ret->n_blows = (uint32_t)o->fail.n;
    ret->cancel_ms[0] = o->cancel_ms;
    ret->pause_ms = o->pause_ms;
    ret->resume_ms = o->resume_ms;
    ret->lost_ms = o->lost_ms;
    ret->hang_ms = o->hang_ms;
    ret->output_ms = o->output_ms;
    for (size_t i = 0; i < o->fail.n; i++)
        if (read_blow(a, plan, o->fail.v[i], &blows[i], e) < 0)
            return -EINVAL;
    return o->faults ? read_faults(o->faults, &ret->faults, e) : 0;
}

/* --- the time line ---------------------------------------------------------------------------- */

struct line { /* events of one kind at one time make one line */
    ns_t began, at;
    enum event_type type;
    struct strbuf who, detail;
    uint32_t n;
};
enum { MAX_NAMES = 8 };

static void add_time(struct strbuf *out, ns_t at)
{
    long long ms = at / NS_PER_MS;

    strbuf_addf(out, "%02lld:%02lld:%02lld.%03lld", ms / 3600000, ms / 60000 % 60, ms / 1000 % 60,
                ms % 1000);
}

static void print_line(ns_t at, const char *word, const char *who, const char *detail)
{
    auto_strbuf struct strbuf sb = STRBUF_INIT;

    add_time(&sb, at);
    if (*who || *detail)
        strbuf_addf(&sb, "  %-12s %s%s%s", word, who, *who && *detail ? ": " : "", detail);
    else
        strbuf_addf(&sb, "  %s", word);
    puts(sb.buf);
}

static void flush_line(struct line *l)
{
    if (l->n > MAX_NAMES)
        strbuf_addf(&l->who, " and %u more", l->n - MAX_NAMES);
    if (l->n > 0)
        print_line(l->at - l->began, event_type_name(l->type), l->who.buf, l->detail.buf);
    l->n = 0;
    strbuf_truncate(&l->who, 0);
    strbuf_truncate(&l->detail, 0);
}

static void add_ending(struct strbuf *out, const struct ending *end)
{
    if (end->oom)
        strbuf_addstr(out, "out of memory");
    else if (end->signal)
        strbuf_addf(out, "ended by %s", signal_name(end->signal));
    else
        strbuf_addf(out, "exit code %d", end->code);
}

static void describe(const struct job *job, const struct event *ev, struct strbuf *who,
                     struct strbuf *detail)
{
    const struct plan *plan = job->plan;
    struct cause first;

    switch (ev->type) {
    case EVENT_OPEN:
    case EVENT_OPENED:
        strbuf_addstr(who, plan->replicas[ev->replica].name);
        break;
    case EVENT_START:
    case EVENT_STARTED:
    case EVENT_START_FAILED:
    case EVENT_RESTART:
    case EVENT_EXITED:
        strbuf_addstr(who, plan->replicas[plan->processes[ev->process].replica].name);
        if (plan->replicas[plan->processes[ev->process].replica].n_processes > 1)
            strbuf_addf(who, ".%d", plan->processes[ev->process].slot);
        break;
    case EVENT_RANK_STARTED:
    case EVENT_RANK_EXITED:
        strbuf_addf(who, "%s/%u", plan->replicas[ev->replica].name, ev->rank);
        break;
    case EVENT_CANCEL:
        strbuf_addstr(detail, signal_name(ev->signal));
        break;
    case EVENT_STOP:
    case EVENT_KILL:
        strbuf_addf(detail, "%s (%s)", ev->type == EVENT_STOP ? "SIGTERM to all" : "SIGKILL to all",
                    journal_stops[ev->stop]);
        break;
    case EVENT_KILL_ROLE:
        strbuf_addf(detail, "SIGKILL to %s", plan->spec->roles[ev->role].name);
        break;
    case EVENT_ATTEMPT:
        strbuf_addf(detail, "number %u", ev->attempt);
        break;
    case EVENT_HELD:
        first = job_cause(job);
        verdict_cause(job, &first, detail);
        break;
    case EVENT_ENDED:
        strbuf_addstr(detail, outcome_name(job->outcome));
        break;
    default:
        break;
    }
    if (ev->type == EVENT_EXITED || ev->type == EVENT_RANK_EXITED)
        add_ending(detail, &ev->end);
}

static void on_event(void *ctx, const struct job *job, const struct event *ev, ns_t now)
{
    struct line *l = ctx;
    auto_strbuf struct strbuf who = STRBUF_INIT;
    auto_strbuf struct strbuf detail = STRBUF_INIT;

    describe(job, ev, &who, &detail);
    if (ev->at < now) {
        strbuf_addstr(&detail, detail.len ? ", reported late: at " : "reported late: at ");
        add_time(&detail, ev->at - l->began);
    }
    if (l->n > 0 && (l->at != now || l->type != ev->type || strcmp(l->detail.buf, detail.buf) != 0))
        flush_line(l);
    if (l->n++ == 0) {
        l->at = now;
        l->type = ev->type;
        strbuf_addstr(&l->detail, detail.buf);
    }
    if (l->n <= MAX_NAMES)
        strbuf_addf(&l->who, "%s%s", l->n > 1 ? ", " : "", who.buf);
}

static void on_fault(void *ctx, ns_t at, const char *text)
{
    struct line *l = ctx;

    flush_line(l);
    print_line(at - l->began, "~", text, "");
}

static int play(const struct sim_opts *o, const struct plan *plan, const struct sim_story *story)
{
    struct job_rules rules = {.grace_ms = o->grace_ms >= 0 ? o->grace_ms : DEFAULT_GRACE_MS,
                              .grace_fixed = o->grace_ms >= 0,
                              .start_timeout_ms = o->start_timeout_ms,
                              .recovery_timeout_ms = o->recovery_timeout_ms,
                              .trust_launcher = o->trust_launcher,
                              .hold = o->hold};
    struct line line = {.began = SIM_BEGIN_NS, .who = STRBUF_INIT, .detail = STRBUF_INIT};
    const struct sim_watch watch = {.event = on_event, .fault = on_fault, .ctx = &line};
    auto_strbuf struct strbuf sentence = STRBUF_INIT;
    auto_strbuf struct strbuf stopped = STRBUF_INIT;
    struct sim_result r;

    sim_play(plan, &rules, story, &watch, &r);
    flush_line(&line);
    strbuf_release(&line.who);
    strbuf_release(&line.detail);
    if (*r.broken) {
        fprintf(stderr, "muster sim: an invariant of the job core is violated %s (seed %lld)\n",
                r.broken, (long long)seed_of(o));
    } else {
        verdict_sentence(r.job, &sentence);
        verdict_stopped(r.job, &stopped);
        printf("\n%s: %s\n", plan->spec->name, sentence.buf);
        if (stopped.len > 0)
            printf("stopped because of it: %s\n", stopped.buf);
        printf("run would exit with %d\n", r.job->exit_code);
    }
    job_free(r.job);
    return *r.broken ? EXIT_FAILED : EXIT_FINE;
}

/* --- the job ---------------------------------------------------------------------------------- */

static int make_plan(struct arena *a, const struct job_options *o, const struct job_spec *read,
                     struct survey *s, const struct plan **ret, struct err *e)
{
    struct rundir where = RUNDIR_INIT;
    const struct job_spec *spec;
    struct changes changes;
    int r = job_adjust(a, o, read, &spec, &changes, e);

    if (r == 0)
        r = rundir_name("RUN_ID", NULL, &where, e);
    if (r < 0)
        return r;
    struct survey_request rq = job_survey(o, spec, SURVEY_SHOW);
    rq.run_id = arena_strdup(a, where.run_id);
    rq.run_dir = arena_strdup(a, where.path);
    rq.scratch_dir = arena_strdup(a, where.scratch);
    rundir_release(&where);
    r = engine_sim.survey(a, &rq, s, e);
    return r < 0 ? r : engine_sim.plan(a, spec, s, ret, e);
}

static int sim_file(const struct verb *verb, const struct sim_opts *o, const char *path)
{
    auto_arena struct arena *a = arena_new();
    const struct read_options opts = job_read_options(&o->job);
    CLEANUP(survey_release) struct survey survey = SURVEY_INIT;
    const struct plan *plan;
    struct sim_story story;
    struct job_file jf;
    struct err e;
    int exit_code = EXIT_USAGE;

    if (job_file_read(a, path, &opts, &jf, &e) < 0) {
        fprintf(stderr, "muster sim: %s\n", e.text);
        return EXIT_USAGE;
    }
    if (jf.verdict != VERDICT_ACCEPT)
        print_diagnostics(&jf);
    else if (jf.n_jobs != 1)
        fprintf(stderr, "muster sim: %s: contains %zu jobs, but sim takes one\n", path, jf.n_jobs);
    else if (make_plan(a, &o->job, jf.jobs[0], &survey, &plan, &e) < 0)
        fprintf(stderr, "muster sim: %s: %s\n", path, e.text);
    else if (make_story(a, o, plan, &story, &e) < 0)
        exit_code = usage_error(verb, "%s", e.text);
    else
        exit_code = play(o, plan, &story);
    job_file_release(&jf);
    return exit_code;
}

static int play_queue(const struct verb *verb, const struct sim_opts *o, const struct operands *ops)
{
    if (ops->n > 0 || ops->rest)
        return usage_error(verb, "--queue simulates a queue: no job file can be given");
    if (o->fail.n > 0 || o->faults || o->cancel_ms >= 0 || o->pause_ms >= 0 || o->resume_ms >= 0 ||
        o->hang_ms >= 0 || o->lost_ms >= 0)
        return usage_error(verb, "--queue cannot be combined with what happens to a single job");
    return sim_queue(o->queue, o->seed, o->format && !strcmp(o->format, "json"));
}

static int sim_main(const struct verb *verb, int argc, char **argv)
{
    struct sim_opts o = {.seed = -1,
                         .duration_ms = 600000,
                         .cancel_ms = -1,
                         .pause_ms = -1,
                         .resume_ms = -1,
                         .hang_ms = -1,
                         .lost_ms = -1,
                         .grace_ms = -1,
                         .start_timeout_ms = 600000,
                         .recovery_timeout_ms = 60000,
                         .fail = STRVEC_INIT,
                         .job = JOB_OPTIONS_INIT};
    struct operands ops;
    int exit_code = opts_parse(verb, &o, argc, argv, &ops) < 0 ? verb->usage_exit : 0;

    if (!exit_code && !o.queue && (ops.n != 1 || ops.rest))
        exit_code = usage_error(verb, "exactly one job file is required");
    if (!exit_code && !o.queue && o.format)
        exit_code = usage_error(verb, "-o requires --queue");
    if (!exit_code)
        exit_code = job_options_check(verb, &o.job);
    if (!exit_code) {
        exit_code = o.queue ? play_queue(verb, &o, &ops) : sim_file(verb, &o, ops.v[0]);
        int r = finish_output();
        exit_code = exit_code ? exit_code : r;
    }
    strvec_release(&o.fail);
    job_options_release(&o.job);
    return exit_code;
}

#define AT(field) offsetof(struct sim_opts, field)
static const char *const formats[] = {"human", "json", NULL};
static const struct opt opts[] = {
    {"fail", 0, OPT_STRINGS, AT(fail), "R@T:HOW",
     .help = "fail replica R at time T: exit=N, signal=NAME, kill or oom"},
    {"cancel", 0, OPT_DURATION, AT(cancel_ms), "T", .help = "cancel the job at time T"},
    {"pause", 0, OPT_DURATION, AT(pause_ms), "T", .help = "pause the job at time T"},
    {"resume", 0, OPT_DURATION, AT(resume_ms), "T", .help = "resume the job at time T"},
    {"hang", 0, OPT_DURATION, AT(hang_ms), "T", .help = "report a hang at time T"},
    {"lost", 0, OPT_DURATION, AT(lost_ms), "T", .help = "kill the supervisor at time T"},
    {"duration", 0, OPT_DURATION, AT(duration_ms), "D",
     .help = "set how long every process runs (default 10m)"},
    {"output", 0, OPT_DURATION, AT(output_ms), "D",
     .help = "write output at this interval (default: never)"},
    {"faults", 0, OPT_STRING, AT(faults), "LIST",
     .help = "inject faults: drop, repeat, delay, crash, all"},
    {"seed", 0, OPT_INT, AT(seed), "N", .help = "set the random seed (default 1)", .min = 0},
    {"queue", 0, OPT_STRING, AT(queue), "FILE",
     .help = "simulate a queue instead: its machines and jobs are in FILE"},
    {"format", 'o', OPT_CHOICE, AT(format), .choices = formats,
     .help = "set the output format of --queue"},
    {"grace", 0, OPT_DURATION, AT(grace_ms), "D", .help = "as in run"},
    {"start-timeout", 0, OPT_DURATION, AT(start_timeout_ms), "D", .help = "as in run"},
    {"recovery-timeout", 0, OPT_DURATION, AT(recovery_timeout_ms), "D", .help = "as in run"},
    {"trust-launcher", 0, OPT_FLAG, AT(trust_launcher), .help = "as in run"},
    {"hold-on-failure", 0, OPT_FLAG, AT(hold), .help = "as in run"},
    OPT_END,
};

static const struct opt_part parts[] = {
    JOB_READ_PART(struct sim_opts, job),
    JOB_HERE_PART(struct sim_opts, job),
    OPT_PART_END,
};

const struct verb verb_sim = {
    .name = "sim",
    .synopsis = "[OPTION…] FILE",
    .summary = "simulate a job and its failures",
    .about = "Simulates the job of FILE without starting anything and prints a time line: when "
             "replicas start, which fails first, what is stopped because of it, and how and with "
             "which exit code the job ends. Every process runs for --duration and exits with "
             "status 0, unless --fail is given: --fail worker-2@5m:exit=1.\n\n"
             "With --queue, simulates the jobs of a queue and prints how long they wait and how "
             "well the machines are used.",
    .opts = opts,
    .parts = parts,
    .usage_exit = EXIT_USAGE,
    .run = sim_main,
};
