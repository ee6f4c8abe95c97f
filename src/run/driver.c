/* driver.c - the loop of a foreground run. */
#include "run/driver.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <uv.h>

#include "base/mem.h"
#include "base/num.h"
#include "engine/local/local.h"
#include "journal/journal.h"
#include "run/control.h"
#include "run/hang.h"
#include "run/live.h"
#include "run/news.h"

#define STATUS_MS 250 /* how often the progress line is drawn */

static const int caught[] = {SIGINT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2};
#define N_CAUGHT (sizeof(caught) / sizeof(caught[0]))

struct driver {
    uv_loop_t loop;
    const struct plan *plan;
    const struct drive_options *opts;
    struct job *job;
    struct journal *journal;
    struct engine *engine;
    struct live *live;
    struct control *control; /* NULL if it could not be had */
    struct hang *hang;
    struct engine_client client;
    uv_timer_t wake, status;
    uv_signal_t signals[N_CAUGHT];
    bool journal_failed;
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
    char prefix[LIMIT_NAME + 32], log[PLAN_LOG_NAME];
    const char *name = d->plan->replicas[p->replica].name;

    if (p->slot == 0)
        follow_inits(d, &d->plan->replicas[p->replica], job_start(d->job, p->id));
    if (!*plan_log_name(p, job_start(d->job, p->id), log))
        return;
    if (p->rank >= 0)
        (void)snprintf(prefix, sizeof(prefix), "%s/%d", name, p->rank);
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

static void tell_news(struct driver *d, const struct event *ev)
{
    auto_strbuf struct strbuf text = STRBUF_INIT;

    news_of(d->job, ev, &text);
    if (text.len > 0)
        d->opts->note(text.buf);
}

/* A batch becomes state and journal text; nothing has happened in the world yet. */
static void fold(struct driver *d, const struct events *es)
{
    for (size_t i = 0; i < es->n; i++) {
        journal_add(d->journal, d->job, &es->v[i]);
        job_apply(d->job, &es->v[i]);
        tell_news(d, &es->v[i]);
        if (es->v[i].type == EVENT_RANK_STARTED)
            follow_rank(d, &es->v[i]);
        if (es->v[i].type == EVENT_START || es->v[i].type == EVENT_RESTART)
            follow_process(d, &d->plan->processes[es->v[i].process]);
        if (es->v[i].type == EVENT_EXITED || es->v[i].type == EVENT_RANK_EXITED)
            follow_no_more(d, &es->v[i]);
    }
}

/* A full disk must not end a training run: the job goes on, and it is said once. */
static void commit(struct driver *d)
{
    struct err e;

    if (journal_commit(d->journal, &e) < 0 && !d->journal_failed) {
        d->journal_failed = true;
        d->opts->note(e.text);
    }
}

static void carry_out(struct driver *d, const struct event *ev)
{
    const struct engine_ops *ops = d->engine->ops;

    switch (ev->type) {
    case EVENT_OPEN:
        ops->open(d->engine, ev->replica, d->job->attempt);
        break;
    case EVENT_START:
    case EVENT_RESTART:
        ops->start(d->engine, ev->process, job_start(d->job, ev->process));
        break;
    case EVENT_ATTEMPT:
    case EVENT_PAUSED:
        ops->clear(d->engine);
        break;
    case EVENT_STOP:
        ops->signal(d->engine, SIGTERM);
        break;
    case EVENT_HELD:
        ops->hold(d->engine);
        break;
    case EVENT_KILL:
        ops->kill(d->engine);
        break;
    case EVENT_ENDED:
        ops->release(d->engine);
        break;
    default:
        break;
    }
}

static void observed(void *ctx, const struct observation *o)
{
    struct driver *d = ctx;
    struct events es = {0};

    job_observe(d->job, o, &es);
    fold(d, &es);
    events_release(&es);
}

static void on_wake(uv_timer_t *timer)
{
    turn(timer->data);
}

static void set_wake(struct driver *d)
{
    ns_t at = job_wake(d->job), now = clock_real();

    if (at == 0)
        (void)uv_timer_stop(&d->wake);
    else
        (void)uv_timer_start(&d->wake, on_wake,
                             at > now ? (uint64_t)((at - now) / NS_PER_MS) + 1 : 0, 0);
}

static void turn(void *ctx)
{
    struct driver *d = ctx;

    commit(d);
    for (;;) {
        struct events es = {0};
        job_decide(d->job, clock_real(), &es);
        fold(d, &es);
        commit(d);
        for (size_t i = 0; i < es.n; i++)
            carry_out(d, &es.v[i]);
        bool idle = es.n == 0;
        events_release(&es);
        if (idle)
            break;
    }
    set_wake(d);
}

static void released(void *ctx)
{
    struct driver *d = ctx;

    uv_stop(&d->loop);
}

static void note(void *ctx, const char *text)
{
    struct driver *d = ctx;

    d->opts->note(text);
}

static void on_activity(void *ctx, ns_t at)
{
    struct driver *d = ctx;

    job_activity(d->job, at);
    if (job_wake(d->job))
        set_wake(d);
}

static void on_signal(uv_signal_t *handle, int sig)
{
    struct driver *d = handle->data;
    struct observation o = {.kind = OBS_CANCEL, .at = clock_real(), .signal = sig};

    if (sig == SIGUSR1 || sig == SIGUSR2) {
        d->engine->ops->signal(d->engine, sig);
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

/* A run that nobody can ask is still a run. */
static void open_control(struct driver *d, int scratch_fd)
{
    struct err e;
    const struct control_host host = {
        .job = d->job, .scratch_fd = scratch_fd, .post = posted, .signal = pass_signal, .ctx = d};

    if (control_open(&d->loop, &host, &d->control, &e) < 0)
        d->opts->note(e.text);
}

/* --- the line at the bottom ------------------------------------------------------------------- */

static void on_status(uv_timer_t *timer)
{
    struct driver *d = timer->data;
    const struct launch *l = job_last_launch(d->job);
    uint32_t running = d->job->n_running, ended = d->job->n_ended, total = d->plan->n_processes;
    const char *what = d->plan->processes[0].rank >= 0 ? "ranks" : "processes";
    char text[256], elapsed[DURATION_TEXT];

    if (l) {
        running = l->started - l->ended;
        ended = l->ended;
        total = l->size;
        what = "ranks";
    }
    (void)snprintf(text, sizeof(text), "%s: %s, %u of %u %s running, %u ended, %s",
                   d->plan->spec->name, job_state_name(d->job), running, total, what, ended,
                   duration_text((clock_real() - d->job->created) / NS_PER_MS, elapsed));
    live_status(d->live, text);
}

/* --- beginning and end ------------------------------------------------------------------------ */

static void begin(struct driver *d)
{
    struct events es = {0};

    for (size_t i = 0; i < N_CAUGHT; i++) {
        (void)uv_signal_init(&d->loop, &d->signals[i]);
        d->signals[i].data = d;
        (void)uv_signal_start(&d->signals[i], on_signal, caught[i]);
    }
    /* only now: whoever reads that the job waits may end it */
    events_add(&es,
               &(struct event){.type = EVENT_CREATED, .at = clock_real(), .random = arc4random()});
    fold(d, &es);
    events_release(&es);
    (void)uv_timer_init(&d->loop, &d->wake);
    (void)uv_timer_init(&d->loop, &d->status);
    d->wake.data = d->status.data = d;
    (void)uv_timer_start(&d->status, on_status, STATUS_MS, STATUS_MS);
}

static void watch_for_hang(struct driver *d, const struct rundir *rd)
{
    const struct hang_options opts = {.timeout_ms = d->opts->hang_timeout_ms,
                                      .run_fd = rd->fd,
                                      .engine = d->engine,
                                      .client = &d->client};

    if (opts.timeout_ms > 0)
        d->hang = hang_new(&d->loop, d->job, &opts);
}

static void close_handle(uv_handle_t *handle, void *arg)
{
    (void)arg;
    if (!uv_is_closing(handle))
        uv_close(handle, NULL);
}

/* The job is over: what is left is to tell it, and a signal that comes now must not prevent that, as its
 * default would when libuv lets go of it. */
static void hold_signals(void)
{
    sigset_t set;

    (void)sigemptyset(&set);
    for (size_t i = 0; i < N_CAUGHT; i++)
        (void)sigaddset(&set, caught[i]);
    (void)sigprocmask(SIG_BLOCK, &set, NULL);
}

/* Whoever owns handles closes them first; what is left then is ours. */
static void finish(struct driver *d)
{
    hold_signals();
    control_free(d->control);
    hang_free(d->hang);
    if (d->live) {
        live_finish(d->live);
        live_free(d->live);
    }
    if (d->engine)
        d->engine->ops->free(d->engine);
    uv_walk(&d->loop, close_handle, NULL);
    (void)uv_run(&d->loop, UV_RUN_DEFAULT);
    (void)uv_loop_close(&d->loop);
    journal_close(d->journal);
}

struct job *drive(const struct plan *plan, const struct rundir *rd,
                  const struct drive_options *opts, struct err *e)
{
    struct driver d = {.plan = plan, .opts = opts};
    auto_free char *logs = xasprintf("%s/logs", rd->path);
    int r = journal_open(rd->fd, &d.journal, e);

    if (r < 0)
        return NULL;
    (void)uv_loop_init(&d.loop);
    (void)signal(SIGPIPE, SIG_IGN);
    d.client = (struct engine_client){
        .observed = observed, .note = note, .turn = turn, .released = released, .ctx = &d};
    d.job = job_new(plan, &opts->rules);
    r = local_open(&d.loop, plan, opts->stdin_fd, &d.client, &d.engine, e);
    if (r == 0) {
        d.live = live_new(&d.loop, rd->logs_fd, logs, opts->colour, on_activity, &d);
        begin(&d);
        open_control(&d, rd->scratch_fd);
        watch_for_hang(&d, rd);
        turn(&d);
        (void)uv_run(&d.loop, UV_RUN_DEFAULT);
    }
    finish(&d);
    if (r < 0) {
        job_free(d.job);
        return NULL;
    }
    return d.job;
}
