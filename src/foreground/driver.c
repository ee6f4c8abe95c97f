/* driver.c - the loop of a foreground run. */
#include "foreground/driver.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <uv.h>

#include "base/mem.h"
#include "base/num.h"
#include "base/procs.h"
#include "engine/turn.h"
#include "journal/journal.h"
#include "foreground/aborts.h"
#include "foreground/control.h"
#include "foreground/drain.h"
#include "inspect/hang.h"
#include "foreground/live.h"
#include "foreground/network_gate.h"
#include "foreground/news.h"
#include "foreground/usage_watch.h"

#define STATUS_MS 250   /* how often the progress line is drawn */
#define WAITING_MS 5000 /* until what is waited for is told */

static const int caught[] = {SIGINT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2, SIGQUIT};
#define N_CAUGHT (sizeof(caught) / sizeof(caught[0]))

struct driver {
    uv_loop_t loop;
    const struct plan *plan;
    const struct drive_options *opts;
    struct job *job;
    struct journal *journal;
    struct engine *engine;
    struct turn *turn;
    struct live *live;
    struct control *control; /* NULL if it could not be had */
    struct hang *hang;
    struct usage_watch *usage; /* NULL: the processes are elsewhere */
    struct network_gate *gate; /* NULL: without --preflight */
    struct engine_client client;
    uv_timer_t wake, status, waiting;
    uv_signal_t signals[N_CAUGHT], children;
    int logs_fd; /* the run directory's */
    struct aborts aborts;
    bool write_failed; /* and somebody was told */
    bool impeded;      /* the supervisor is stopped, and somebody was told */
    bool catching_up;  /* attach: the engine has not reported all that happened meanwhile */
    bool leaving;      /* the engine was asked to detach */
    bool leave_tried;  /* … and could not, or did */
    bool refused;      /* by the engine, before anything was started */
    struct err refusal;
    struct strvec unsaid;     /* notes that stderr did not take at once */
    struct strbuf waited_for; /* as it was told last */
};

static void turn(void *ctx);

/* --- events ----------------------------------------------------------------------------------- */

static void follow_rank(struct driver *d, const struct event *ev)
{
    char prefix[LIMIT_NAME + 32];

    (void)snprintf(prefix, sizeof(prefix), "%s/%u", d->plan->replicas[ev->replica].name, ev->rank);
    live_add(d->live, ev->log, prefix, !ev->forwarded);
}

static void follow_inits(struct driver *d, const struct replica *r, struct start start)
{
    char prefix[2 * LIMIT_NAME + 32], log[PLAN_LOG_NAME];

    for (size_t i = 0; i < r->role->n_init; i++) {
        if (!plan_runs_init(d->plan, r, i, start))
            continue;
        (void)snprintf(prefix, sizeof(prefix), "%s/init-%.*s", r->name, LIMIT_NAME,
                       r->role->init[i].name);
        live_add(d->live, plan_init_log(r, r->role->init[i].name, start, log), prefix, true);
    }
}

static void follow_process(struct driver *d, const struct process *p)
{
    char prefix[2 * LIMIT_NAME + 32], log[PLAN_LOG_NAME];
    const char *name = d->plan->replicas[p->replica].name;

    if (p->slot == 0)
        follow_inits(d, &d->plan->replicas[p->replica], job_start(d->job, p->id));
    if (!*plan_log_name(p, job_start(d->job, p->id), log))
        return;
    if (p->rank >= 0)
        (void)snprintf(prefix, sizeof(prefix), "%s/%d", name, p->rank);
    else if (p->task)
        (void)snprintf(prefix, sizeof(prefix), "%s/%.*s-%d", name, LIMIT_NAME, p->task->type,
                       p->task_index);
    else
        (void)snprintf(prefix, sizeof(prefix), "%s", name);
    live_add(d->live, log, prefix, true);
}

/* What has ended has written its last line. */
static void follow_no_more(struct driver *d, const struct event *ev)
{
    char log[PLAN_LOG_NAME];

    if (ev->type == EVENT_RANK_EXITED)
        live_over(d->live, d->job->launches[ev->launch - 1].ranks[ev->rank].log);
    else
        live_over(d->live, plan_log_name(&d->plan->processes[ev->process],
                                         job_start(d->job, ev->process), log));
}

/* A stderr that nobody reads must not keep the job waiting. */
static void say(struct driver *d, const char *text)
{
    if (d->live && !live_takes_errors(d->live)) {
        if (d->unsaid.n < LIMIT_NOTES_WAITING)
            strvec_push(&d->unsaid, text);
        return;
    }
    if (d->live)
        live_make_way(d->live);
    d->opts->note(text);
}

static void tell_news(struct driver *d, const struct event *ev)
{
    auto_strbuf struct strbuf text = STRBUF_INIT;

    news_of(d->job, ev, &text);
    if (text.len == 0)
        return;
    if (d->live)
        live_catch_up(d->live);
    say(d, text.buf);
}

/* Most reasons last for a moment, and many replicas come to the same one after the other: they are
 * told together, and only if they last. */
static void on_waiting(uv_timer_t *timer)
{
    struct driver *d = timer->data;
    auto_strbuf struct strbuf text = STRBUF_INIT;

    if (d->job->phase != JOB_PENDING && d->job->phase != JOB_RUNNING)
        return;
    waiting_summary(d->job, &text);
    if (text.len == 0 || strcmp(text.buf, d->waited_for.buf) == 0)
        return;
    strbuf_truncate(&d->waited_for, 0);
    strbuf_addstr(&d->waited_for, text.buf);
    say(d, text.buf);
}

static void note_waiting(struct driver *d, const struct event *ev)
{
    if (ev->type == EVENT_WAITING && ev->text && !uv_is_active((uv_handle_t *)&d->waiting))
        (void)uv_timer_start(&d->waiting, on_waiting, WAITING_MS, 0);
}

/* An event is in the journal: the people in front of the screen may hear of it. */
static void heard(void *ctx, const struct event *ev)
{
    struct driver *d = ctx;

    tell_news(d, ev);
    note_waiting(d, ev);
    if (ev->type == EVENT_RANK_STARTED) {
        aborts_follow(&d->aborts, d->job, ev, d->logs_fd);
        follow_rank(d, ev);
    }
    if (ev->type == EVENT_START || ev->type == EVENT_RESTART)
        follow_process(d, &d->plan->processes[ev->process]);
    if (ev->type == EVENT_EXITED || ev->type == EVENT_RANK_EXITED)
        follow_no_more(d, ev);
}

/* A full disk must not end a training run: the job goes on, and it is said once, whichever file it
 * was. */
static void say_write_failed(struct driver *d, const char *text)
{
    if (!d->write_failed)
        say(d, text);
    d->write_failed = true;
}

static void commit_failed(void *ctx, const struct err *e)
{
    struct driver *d = ctx;
    auto_strbuf struct strbuf text = STRBUF_INIT;

    strbuf_addf(&text, "%s (run directory %s); the job continues", e->text, plan_records(d->plan));
    say_write_failed(d, text.buf);
}

static void unlogged(void *ctx, const struct unlogged *u)
{
    struct driver *d = ctx;
    auto_strbuf struct strbuf text = STRBUF_INIT;

    strbuf_addf(&text,
                "cannot write %s/logs/%s: %s; output is still shown, but logs are incomplete",
                plan_records(d->plan), u->log, err_reason(-u->error));
    say_write_failed(d, text.buf);
    log_gaps_add(d->opts->gaps, u);
    d->opts->gaps->not_shown += live_unlogged(d->live, u);
}

static void pass_on(void *ctx, const struct observation *o)
{
    struct driver *d = ctx;

    turn_observe(d->turn, o);
}

static void observed(void *ctx, const struct observation *o)
{
    struct driver *d = ctx;

    if (!d->gate || !network_gate_holds(d->gate, d->engine, o))
        pass_on(d, o);
}

/* A job that is being stopped needs no network. */
static void tried(void *ctx, const struct net_tried *t)
{
    struct driver *d = ctx;

    if (d->gate && d->job->stop == STOP_NONE)
        network_gate_tried(d->gate, t);
}

static void explained(void *ctx, const char *text)
{
    struct driver *d = ctx;

    if (d->gate && d->job->stop == STOP_NONE)
        network_gate_explained(d->gate, text);
}

static void show_table(void *ctx, const char *table)
{
    struct driver *d = ctx;

    if (d->live)
        live_make_way(d->live);
    d->opts->table(table);
}

static void on_wake(uv_timer_t *timer)
{
    turn(timer->data);
}

static void set_wake(struct driver *d, ns_t at)
{
    ns_t now = clock_run();

    if (at == 0)
        (void)uv_timer_stop(&d->wake);
    else
        (void)uv_timer_start(&d->wake, on_wake,
                             at > now ? (uint64_t)((at - now) / NS_PER_MS) + 1 : 0, 0);
}

/* --- detaching -------------------------------------------------------------------------------- */

static void leave(struct driver *d)
{
    if (d->leaving || d->job->phase == JOB_ENDED)
        return;
    d->leaving = d->leave_tried = true;
    d->engine->ops->detach(d->engine, d->opts->keep_s);
}

static void detached(void *ctx, const struct err *e)
{
    struct driver *d = ctx;
    auto_strbuf struct strbuf text = STRBUF_INIT;

    if (!e) {
        uv_stop(&d->loop);
        return;
    }
    d->leaving = false;
    strbuf_addf(&text, "cannot detach: %s; the job continues in the foreground", e->text);
    say(d, text.buf);
}

static bool all_started(const struct job *job)
{
    return job->phase == JOB_RUNNING && job->n_running > 0 &&
           job->n_pending + job->n_backoff + job->n_starting == 0;
}

/* --- turns ------------------------------------------------------------------------------------ */

/* A rank that called MPI_Abort is known by its launcher's log, which is followed once the rank's
 * start has been committed. */
static void turn(void *ctx)
{
    struct driver *d = ctx;
    struct observation aborted;

    if (d->catching_up)
        return;
    turn_commit(d->turn);
    if (aborts_find(&d->aborts, d->job, d->logs_fd, &aborted))
        observed(d, &aborted);
    set_wake(d, turn_run(d->turn, clock_run()));
    if (d->opts->detach && !d->leave_tried && all_started(d->job))
        leave(d);
}

/* Of an engine that attaches the first one says that all is known. */
static void engine_turn(void *ctx)
{
    struct driver *d = ctx;

    if (d->catching_up) {
        d->catching_up = false;
        turn_catch_up(d->turn);
        for (int i = 0; i < d->opts->cancel; i++)
            observed(d,
                     &(struct observation){
                         .kind = OBS_CANCEL, .at = clock_run(), .signal = SIGTERM, .asked = true});
    }
    turn(d);
}

static void released(void *ctx)
{
    struct driver *d = ctx;

    uv_stop(&d->loop);
}

/* As if it had not been opened at all. */
static void refused(void *ctx, const struct err *e)
{
    struct driver *d = ctx;

    d->refusal = *e;
    d->refused = true;
    uv_stop(&d->loop);
}

static void note(void *ctx, const char *text)
{
    say(ctx, text);
}

static void on_activity(void *ctx, ns_t at)
{
    struct driver *d = ctx;

    job_activity(d->job, at);
    if (job_wake(d->job))
        set_wake(d, job_wake(d->job));
}

static int open_log(void *ctx, const char *name)
{
    const struct driver *d = ctx;

    return d->engine->ops->log_open(d->engine, name);
}

static void on_signal(uv_signal_t *handle, int sig)
{
    struct driver *d = handle->data;
    struct observation o = {.kind = OBS_CANCEL, .at = clock_run(), .signal = sig};

    if (d->catching_up) {
        (void)err_set(&d->refusal, -EINTR, "interrupted; the job is as it was");
        d->refused = true;
        uv_stop(&d->loop);
        return;
    }
    if (sig == SIGQUIT) {
        leave(d);
        return;
    }
    if (sig == SIGUSR1 || sig == SIGUSR2) {
        d->engine->ops->signal(d->engine, sig);
        return;
    }
    if (d->job->phase ==
        JOB_ENDED) { /* nothing is left to decide, but the engine may still be at it */
        d->engine->ops->kill(d->engine);
        return;
    }
    observed(d, &o);
    turn(d);
}

/* --- what other verbs ask for ----------------------------------------------------------------- */

static void posted(void *ctx, const struct observation *o)
{
    observed(ctx, o);
    turn(ctx);
}

static void pass_signal(void *ctx, int sig)
{
    struct driver *d = ctx;

    d->engine->ops->signal(d->engine, sig);
}

static pid_t engine_root(void *ctx)
{
    const struct driver *d = ctx;

    return d->opts->engine->here->root(d->engine);
}

static pid_t stopped(void *ctx)
{
    const struct driver *d = ctx;
    pid_t shim = d->opts->engine->here && d->engine ? engine_root(ctx) : 0;

    return shim && proc_state(shim) == 'T' ? shim : 0;
}

/* The kernel says so when a child is stopped or goes on: a run in which neither happens pays
 * nothing for it. */
static void on_child(uv_signal_t *handle, int sig)
{
    struct driver *d = handle->data;
    auto_strbuf struct strbuf text = STRBUF_INIT;
    pid_t shim = engine_root(d);
    char state = proc_state(shim);
    bool impeded = state == 'T';

    (void)sig;
    if (impeded == d->impeded || d->job->phase == JOB_ENDED || !state || state == 'Z')
        return;
    d->impeded = impeded;
    strbuf_addf(&text, "the supervisor (muster-shim, pid %d) ", (int)shim);
    if (impeded)
        strbuf_addf(&text,
                    "is stopped: output and endings are not seen; continue it with `kill "
                    "-CONT %d`",
                    (int)shim);
    else
        strbuf_addstr(&text, "runs again");
    say(d, text.buf);
}

static void watch_supervisor(struct driver *d)
{
    (void)uv_signal_init(&d->loop, &d->children);
    d->children.data = d;
    if (d->opts->engine->here)
        (void)uv_signal_start(&d->children, on_child, SIGCHLD);
}

/* A run that nobody can ask is still a run. */
static void open_control(struct driver *d, int scratch_fd)
{
    struct err e;
    const struct control_host host = {.job = d->job,
                                      .engine = d->engine,
                                      .engine_name = d->opts->engine->name,
                                      .scratch_fd = scratch_fd,
                                      .post = posted,
                                      .signal = pass_signal,
                                      .stopped = stopped,
                                      .ctx = d};

    if (control_open(&d->loop, &host, &d->control, &e) < 0)
        d->opts->note(e.text);
}

/* --- the line at the bottom ------------------------------------------------------------------- */

/* "; SIGKILL in 8 s, or Ctrl-C again" */
static void add_stopping(const struct job *job, char *text, size_t size)
{
    ns_t left = job->stop_at + job_longest_grace_ms(job) * NS_PER_MS - clock_run();

    if (job->phase == JOB_STOPPING)
        (void)snprintf(text, size, "; SIGKILL in %lld s%s",
                       (long long)(left > 0 ? (left + NS_PER_S - 1) / NS_PER_S : 0),
                       job->cancel_signal == SIGINT ? ", or Ctrl-C again" : "");
}

/* "2 pods pending, 3 running; 2 of 5 workers pending: …". False: all of it runs, or ends. */
static bool add_starting(const struct driver *d, struct strbuf *out)
{
    if (!d->engine->ops->status || d->job->stop != STOP_NONE ||
        d->job->n_pending + d->job->n_starting == 0)
        return false;
    d->engine->ops->status(d->engine, out);
    if (job_first_waiting(d->job))
        strbuf_addstr(out, "; ");
    waiting_summary(d->job, out);
    return out->len > 0;
}

static void on_status(uv_timer_t *timer)
{
    struct driver *d = timer->data;
    const struct launch *l = job_last_launch(d->job);
    uint32_t running = d->job->n_running, ended = d->job->n_ended, total = d->plan->n_processes;
    const char *what = d->plan->processes[0].rank >= 0 ? "ranks" : "processes";
    char text[512], elapsed[DURATION_TEXT], next[64] = "";
    auto_strbuf struct strbuf starting = STRBUF_INIT;

    add_stopping(d->job, next, sizeof(next));
    if (l) {
        running = l->started - l->ended;
        ended = l->ended;
        total = l->size;
        what = "ranks";
    }
    duration_text((clock_run() - d->job->created) / NS_PER_MS, elapsed);
    if (add_starting(d, &starting))
        (void)snprintf(text, sizeof(text), "%s: %s, %s, %s", d->plan->spec->name,
                       job_state_name(d->job), elapsed, starting.buf);
    else
        (void)snprintf(text, sizeof(text), "%s: %s, %u of %u %s running, %u ended, %s%s",
                       d->plan->spec->name, job_state_name(d->job), running, total, what, ended,
                       elapsed, next);
    live_status(d->live, text);
}

/* --- beginning and end ------------------------------------------------------------------------ */

/* What the caller ignores stays ignored: nohup, and the background jobs of a script. */
static bool is_ignored(int sig)
{
    struct sigaction sa;

    return sigaction(sig, NULL, &sa) == 0 && sa.sa_handler == SIG_IGN;
}

static void mask_signals(int how)
{
    sigset_t ends;

    sigemptyset(&ends);
    sigaddset(&ends, SIGINT);
    sigaddset(&ends, SIGTERM);
    sigaddset(&ends, SIGHUP);
    (void)sigprocmask(how, &ends, NULL);
}

void drive_hold_signals(void)
{
    mask_signals(SIG_BLOCK);
}

/* Before the engine is started: a signal that comes meanwhile is heard when the loop runs. */
static void catch_signals(struct driver *d)
{
    for (size_t i = 0; i < N_CAUGHT; i++) {
        (void)uv_signal_init(&d->loop, &d->signals[i]);
        d->signals[i].data = d;
        if (!is_ignored(caught[i]) && (caught[i] != SIGQUIT || d->opts->keep_s > 0))
            (void)uv_signal_start(&d->signals[i], on_signal, caught[i]);
    }
    mask_signals(SIG_UNBLOCK);
}

static void begin(struct driver *d)
{
    const struct turn_host host = {.event = heard, .commit_failed = commit_failed, .ctx = d};

    d->turn = turn_new(d->job, d->journal, d->engine, &host);
    /* only now: whoever reads that the job waits may end it */
    if (!d->opts->attach)
        turn_event(d->turn, &(struct event){
                                .type = EVENT_CREATED, .at = clock_run(), .random = arc4random()});
    (void)uv_timer_init(&d->loop, &d->wake);
    (void)uv_timer_init(&d->loop, &d->status);
    (void)uv_timer_init(&d->loop, &d->waiting);
    d->wake.data = d->status.data = d->waiting.data = d;
    (void)uv_timer_start(&d->status, on_status, STATUS_MS, STATUS_MS);
}

/* What is running is shown from here on. */
static void follow_present(struct driver *d)
{
    const struct job *job = d->job;

    for (uint32_t i = 0; i < d->plan->n_processes; i++)
        if (job->procs[i].state == PROC_STARTING || job->procs[i].state == PROC_RUNNING)
            follow_process(d, &d->plan->processes[i]);
    for (uint32_t k = 0; k < job->n_launches; k++)
        for (uint32_t i = 0; i < job->launches[k].size; i++) {
            const struct rank *rank = &job->launches[k].ranks[i];

            if (rank->state == PROC_RUNNING && rank->log)
                follow_rank(d, &(struct event){.replica = rank->replica,
                                               .rank = i,
                                               .log = rank->log,
                                               .forwarded = rank->forwarded});
        }
    d->aborts = (struct aborts){.attempt = job->attempt, .launch = job->n_launches};
    live_resume(d->live);
}

static void watch_for_hang(struct driver *d, const struct rundir *rd)
{
    const struct hang_options opts = {.timeout_ms = d->opts->hang_timeout_ms,
                                      .run_fd = rd->fd,
                                      .root = engine_root,
                                      .hung = posted,
                                      .note = note,
                                      .ctx = d};

    if (opts.timeout_ms > 0 && d->opts->engine->here)
        d->hang = hang_new(&d->loop, d->job, &opts);
}

static void close_handle(uv_handle_t *handle, void *arg)
{
    (void)arg;
    if (!uv_is_closing(handle))
        uv_close(handle, NULL);
}

/* The last output and what was not said yet, as far as somebody reads it. */
static void show_the_rest(struct driver *d)
{
    const char *logs = d->opts->gaps->n == 0 ? "; the logs are complete" : "";
    auto_strbuf struct strbuf text = STRBUF_INIT;
    bool stdout_left, stderr_left;
    int error;

    live_finish(d->live, drain_hurried);
    stdout_left = live_gave_up(d->live, false);
    stderr_left = live_gave_up(d->live, true);
    error = live_error(d->live, false);
    live_free(d->live);
    d->live = NULL;
    if (stdout_left)
        drain_close(STDOUT_FILENO);
    if (stderr_left)
        drain_close(STDERR_FILENO);
    for (size_t i = 0; !stderr_left && i < d->unsaid.n; i++)
        d->opts->note(d->unsaid.v[i]);
    if (stdout_left)
        strbuf_addf(&text, "output was not shown completely because nothing read stdout%s", logs);
    else if (error)
        strbuf_addf(&text, "output was not shown completely because stdout cannot be written: %s%s",
                    err_reason(error), logs);
    if (!stderr_left && text.len > 0)
        d->opts->note(text.buf);
}

static void add_cut(void *ctx, const char *log, int64_t bytes)
{
    struct driver *d = ctx;

    log_gaps_add(d->opts->gaps,
                 &(struct unlogged){.log = log, .error = -LOG_TRUNCATED, .missing = bytes});
}

/* Whoever owns handles closes them first; what is left then is ours. */
static void finish(struct driver *d)
{
    /* What is left is to tell it, and a signal that comes now must not prevent that, as its default
     * would when libuv lets go of it. */
    drain_hold_signals();
    control_free(d->control);
    hang_free(d->hang);
    usage_watch_free(d->usage);
    if (d->live && d->opts->engine->here && d->job->phase == JOB_ENDED)
        live_cut(d->live, add_cut, d);
    if (d->job->phase == JOB_ENDED && d->opts->ended)
        d->opts->ended(d->opts->ctx, d->job);
    if (d->live)
        show_the_rest(d);
    strvec_release(&d->unsaid);
    strbuf_release(&d->waited_for);
    turn_free(d->turn);
    network_gate_free(d->gate);
    if (d->engine)
        d->engine->ops->free(d->engine);
    uv_walk(&d->loop, close_handle, NULL);
    (void)uv_run(&d->loop, UV_RUN_DEFAULT);
    (void)uv_loop_close(&d->loop);
    drain_guard();
    journal_close(d->journal);
}

/* From the first turn on the loop runs until the end. */
static void go(struct driver *d, const struct rundir *rd)
{
    const struct drive_options *opts = d->opts;
    const struct live_options view = {.colour = {opts->colour[0], opts->colour[1]},
                                      .by_rank = d->plan->n_replicas == 1,
                                      .no_prefix = opts->no_prefix,
                                      .no_status = opts->no_status,
                                      .on_activity = on_activity,
                                      .open_log = open_log,
                                      .ctx = d};

    d->live = live_new(&d->loop, rd, &view);
    begin(d);
    open_control(d, rd->scratch_fd);
    watch_supervisor(d);
    watch_for_hang(d, rd);
    if (opts->engine->here) {
        d->usage = usage_watch_new(&d->loop, rd->run_id);
        (void)usage_watch_add(d->usage, rd->run_id, rd->fd,
                              d->job->created ? clock_run() - d->job->created : 0);
    }
    if (opts->attach)
        follow_present(d);
    else if (!opts->rules.hold) /* who asked for the replicas of a failed job gets replicas */
        turn_missing(d->turn, clock_run());
    turn(d);
    if (opts->begun)
        opts->begun(opts->ctx);
    (void)uv_run(&d->loop, UV_RUN_DEFAULT);
}

static int open_journal(struct driver *d, const struct rundir *rd, struct err *e)
{
    int r = d->opts->attach ? journal_resume(rd->fd, d->job, e) : 0;

    return r < 0 ? r : journal_open_jsonl(rd->fd, &d->journal, e);
}

static int open_engine(struct driver *d, const struct rundir *rd, struct err *e)
{
    const struct engine_open how = {.loop = &d->loop,
                                    .plan = d->plan,
                                    .stdin_fd = d->opts->stdin_fd,
                                    .scratch_fd = rd->scratch_fd,
                                    .logs_fd = rd->logs_fd,
                                    .job = d->job,
                                    .client = &d->client};
    const struct engine_class *engine = d->opts->engine;

    return d->opts->attach ? engine->attach(&how, &d->engine, e)
                           : engine->open(&how, &d->engine, e);
}

struct job *drive(const struct plan *plan, const struct rundir *rd,
                  const struct drive_options *opts, struct err *e)
{
    struct driver d = {.plan = plan,
                       .opts = opts,
                       .logs_fd = rd->logs_fd,
                       .catching_up = opts->attach,
                       .unsaid = STRVEC_INIT,
                       .waited_for = STRBUF_INIT};

    d.job = job_new(plan, &opts->rules);
    int r = open_journal(&d, rd, e);
    if (r == 0 && (r = uv_loop_init(&d.loop)) < 0)
        (void)err_sys(e, r, "cannot create an event loop");
    if (r < 0) {
        journal_close(d.journal);
        job_free(d.job);
        return NULL;
    }
    (void)signal(SIGPIPE, SIG_IGN);
    d.client = (struct engine_client){.observed = observed,
                                      .note = note,
                                      .unlogged = unlogged,
                                      .turn = engine_turn,
                                      .released = released,
                                      .detached = detached,
                                      .refused = refused,
                                      .tried = tried,
                                      .explained = explained,
                                      .ctx = &d};
    if (opts->rules.preflight && !opts->attach)
        d.gate = network_gate_new(
            plan, &(struct network_gate_host){.observe = pass_on, .show = show_table, .ctx = &d});
    catch_signals(&d);
    r = open_engine(&d, rd, e);
    if (r == 0)
        go(&d, rd);
    finish(&d);
    if (d.refused) {
        *e = d.refusal;
        r = e->code;
    }
    if (r < 0) {
        job_free(d.job);
        return NULL;
    }
    return d.job;
}
