/* served.c - one job of the daemon: planned, started, and driven by the rounds of the loop.
 *
 * Not here: its end (finish.c), jobs of an earlier daemon (resume.c), when one may start (admit.c).
 */
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/io.h"
#include "base/mem.h"
#include "client/protocol.h"
#include "daemon/finish.h"
#include "daemon/kill_points.h"
#include "daemon/parts.h"
#include "daemon/served_parts.h"
#include "doc/json_read.h"
#include "inspect/hang.h"
#include "rundir/command_line.h"
#include "rundir/reserve.h"

/* --- what the engine reports ------------------------------------------------------------------ */

const char *served_phase(const struct served *s)
{
    if (s->row.state == STORED_ENDED)
        return "ended";
    if (s->act && s->act->job)
        return job_live_state_name(s->act->job);
    return s->row.paused ? "paused" : "waiting";
}

void served_mark(struct served *s)
{
    if (s->dirty)
        return;
    s->dirty = true;
    s->next_dirty = s->d->dirty;
    s->d->dirty = s;
}

void served_observed(void *ctx, const struct observation *o)
{
    struct active *act = ctx;

    turn_observe(act->turn, o);
    served_mark(act->served);
}

static void on_turn(void *ctx)
{
    struct active *act = ctx;

    act->heard = true;
    served_mark(act->served);
}

static void on_note(void *ctx, const char *text)
{
    const struct active *act = ctx;

    daemon_note(act->served->d, "%s: %s", act->served->row.id, text);
}

static void on_unlogged(void *ctx, const struct unlogged *u)
{
    struct active *act = ctx;

    if (!log_gaps_find(&act->gaps, u->log))
        daemon_note(act->served->d, "%s: cannot write log %s: %s", act->served->row.id, u->log,
                    err_reason(-u->error));
    log_gaps_add(&act->gaps, u);
    act->gaps.not_shown += (int64_t)u->n;
}

static void on_released(void *ctx)
{
    struct active *act = ctx;

    act->released = true;
    served_mark(act->served);
}

static void on_refused(void *ctx, const struct err *e)
{
    struct active *act = ctx;

    act->refusal = *e;
    on_released(ctx);
}

/* An event is in the database: what it tells about logs may be looked at. */
static void on_event(void *ctx, const struct event *ev)
{
    struct active *act = ctx;

    if (ev->type == EVENT_RANK_STARTED)
        aborts_follow(&act->aborts, act->job, ev, act->rd.logs_fd);
}

/* Output is not followed here; it is looked at when it matters, which is when a time is over. */
static void see_activity(struct active *act)
{
    struct stat st;

    if (act->job->phase != JOB_RUNNING || act->job->n_launches == 0)
        return;
    for (uint32_t i = 0; i < act->job->plan->n_processes; i++) {
        char log[PLAN_LOG_NAME];

        plan_log_name(&act->job->plan->processes[i], job_start(act->job, i), log);
        if (*log && fstatat(act->rd.logs_fd, log, &st, 0) == 0)
            job_activity(act->job, st.st_mtim.tv_sec * NS_PER_S + st.st_mtim.tv_nsec);
    }
    const struct launch *l = job_last_launch(act->job);
    for (uint32_t i = 0; l && i < l->size; i++)
        if (l->ranks[i].log && fstatat(act->rd.logs_fd, l->ranks[i].log, &st, 0) == 0)
            job_activity(act->job, st.st_mtim.tv_sec * NS_PER_S + st.st_mtim.tv_nsec);
}

static void on_wake(uv_timer_t *timer)
{
    struct active *act = timer->data;

    see_activity(act);
    served_mark(act->served);
}

static void set_wake(struct active *act, ns_t at, ns_t now)
{
    if (at == 0)
        (void)uv_timer_stop(act->wake);
    else
        (void)uv_timer_start(act->wake, on_wake,
                             at > now ? (uint64_t)((at - now) / NS_PER_MS) + 1 : 0, 0);
}

/* --- what other verbs ask for ----------------------------------------------------------------- */

/* Whoever asked is answered when this returns, so it is durable then. What follows from it is
 * decided in the next round. */
static void post(struct active *act, const struct observation *o)
{
    if (o->kind == OBS_RESUME && preempt_resume_asked(act->served))
        return;
    turn_observe(act->turn, o);
    if (o->kind == OBS_CANCEL) {
        act->served->stopping = true;
        act->served->d->queue_changed = true;
    }
    served_mark(act->served);
}

static void on_post(void *ctx, const struct observation *o)
{
    struct active *act = ctx;

    post(act, o);
    turn_commit(act->turn);
    kill_point(KILL_CANCEL_POSTED);
}

static void on_pass_signal(void *ctx, int sig)
{
    const struct active *act = ctx;

    act->engine->ops->signal(act->engine, sig);
}

static pid_t stopped_shim(void *ctx)
{
    (void)ctx;
    return 0;
}

static void open_control(struct active *act)
{
    struct daemon *d = act->served->d;
    struct err e;
    const struct control_host host = {.job = act->job,
                                      .engine = act->engine,
                                      .engine_name = engine_local.name,
                                      .scratch_fd = act->rd.scratch_fd,
                                      .post = on_post,
                                      .signal = on_pass_signal,
                                      .stopped = stopped_shim,
                                      .ctx = act};

    (void)unlinkat(act->rd.scratch_fd, CONTROL_SOCKET, 0); /* of a daemon that was killed */
    if (control_open(&d->loop, &host, &act->control, &e) < 0)
        daemon_note(d, "%s: %s", act->served->row.id, e.text);
}

static struct observation asked(enum obs_kind kind)
{
    return (struct observation){.kind = kind,
                                .at = clock_run(),
                                .signal = kind == OBS_CANCEL ? SIGTERM : 0,
                                .asked = kind == OBS_CANCEL};
}

void served_observe(struct served *s, enum obs_kind kind)
{
    const struct observation o = asked(kind);

    on_post(s->act, &o);
}

void served_post(struct served *s, enum obs_kind kind)
{
    const struct observation o = asked(kind);

    post(s->act, &o);
}

/* --- beginning -------------------------------------------------------------------------------- */

struct active *served_active(struct served *s)
{
    struct active *act = xcalloc(1, sizeof(*act));

    *act = (struct active){.served = s,
                           .a = arena_new(),
                           .planned = {.survey = SURVEY_INIT},
                           .rd = RUNDIR_INIT,
                           .client = {.observed = served_observed,
                                      .note = on_note,
                                      .turn = on_turn,
                                      .unlogged = on_unlogged,
                                      .released = on_released,
                                      .refused = on_refused,
                                      .ctx = act},
                           .wake = xcalloc(1, sizeof(*act->wake))};
    (void)uv_timer_init(&s->d->loop, act->wake);
    act->wake->data = act;
    s->act = act;
    s->d->n_active++;
    return act;
}

struct engine_open served_engine(struct active *act)
{
    return (struct engine_open){.loop = &act->served->d->loop,
                                .plan = act->job->plan,
                                .stdin_fd = -1,
                                .scratch_fd = act->rd.scratch_fd,
                                .logs_fd = act->rd.logs_fd,
                                .waits = true,
                                .resumes = true,
                                .inherited = act->inherited,
                                .job = act->job,
                                .client = &act->client};
}

static pid_t root_of(void *ctx)
{
    const struct active *act = ctx;

    return engine_local.here->root(act->engine);
}

static void watch_for_hang(struct active *act)
{
    const struct hang_options opts = {.timeout_ms = act->planned.hang_timeout_ms,
                                      .run_fd = act->rd.fd,
                                      .root = root_of,
                                      .hung = served_observed,
                                      .note = on_note,
                                      .ctx = act};

    if (opts.timeout_ms > 0 && act->is_local)
        act->hang = hang_new(&act->served->d->loop, act->job, &opts);
}

void served_turn(struct active *act)
{
    const struct turn_host host = {.event = on_event, .ctx = act};

    act->turn = turn_new(act->job, act->journal, act->engine, &host);
    open_control(act);
    watch_for_hang(act);
    act->usage = usage_watch_add(act->served->d->usage, act->served->row.id, act->rd.fd,
                                 act->job->created ? clock_run() - act->job->created : 0);
    served_mark(act->served);
}

int served_journal(struct active *act, struct err *e)
{
    struct journal *copy = NULL;
    int r = journal_open_jsonl(act->rd.fd, &copy, e);

    if (r == 0)
        act->journal = store_journal(act->served->d->store, act->served->row.number, copy);
    return r;
}

/* What a daemon has made that was killed before it had committed the start. */
static int make_dirs(struct rundir *rd, struct err *e)
{
    struct stat st;

    if (!rd->path || !rd->scratch)
        return err_set(e, -EINVAL, "the run has no directory");
    if (lstat(rd->path, &st) == 0)
        (void)io_remove_tree(AT_FDCWD, rd->path, NULL);
    if (lstat(rd->scratch, &st) == 0)
        (void)io_remove_tree(AT_FDCWD, rd->scratch, NULL);
    return rundir_make(rd, e);
}

/* Everything that has to be there before the job runs. */
static int fill_dirs(struct active *act, const struct submission *sub, struct err *e)
{
    struct command_line line = COMMAND_INIT;
    int r;

    for (int i = 0; i < sub->argc; i++)
        strvec_push(&line.argv, sub->argv[i]);
    line.cwd = xstrdup(sub->cwd);
    line.by_http = sub->by_http;
    r = rundir_fill(&act->rd, act->planned.plan, e);
    if (r == 0)
        r = command_line_write(act->rd.fd, &line, e);
    if (r == 0)
        r = io_write_atomic(act->rd.fd, RUNDIR_SERVED, "", 0, e);
    if (r == 0 && act->served->d->opts->record)
        act->served->d->opts->record(&act->planned, sub, act->rd.fd);
    if (r == 0)
        reserve_take(act->rd.fd, act->planned.plan);
    command_line_release(&line);
    return r;
}

/* Options are parsed from the words, which changes their order. */
int served_submission(struct active *act, struct submission *typed, struct submission *ret,
                      struct err *e)
{
    const struct stored *row = &act->served->row;
    auto_strbuf struct strbuf request = STRBUF_INIT;

    served_request(act->served, &request);
    int r = submission_read(act->a, request.buf, request.len, typed, e);

    if (r < 0)
        return r;
    act->inherited = typed->inherited;
    *ret = *typed;
    ret->argv = ARENA_ARRAY(act->a, char *, (size_t)typed->argc + 1);
    memcpy(ret->argv, typed->argv, (size_t)typed->argc * sizeof(*typed->argv));
    if (*row->site)
        r = site_read(act->a, row->site, ret, e);
    return r == 0 ? rundir_name(row->id, NULL, &act->rd, e) : r;
}

const char *const *served_gpus(struct active *act)
{
    const struct served *s = act->served;
    const char **v = ARENA_ARRAY(act->a, const char *, s->common->n_replicas + 1);
    bool any = false;

    for (uint32_t i = 0; s->places && i < s->common->n_replicas; i++) {
        auto_strbuf struct strbuf ids = STRBUF_INIT;

        for (int bit = 0; bit < LIMIT_QUEUE_GPUS; bit++)
            if (s->places[i].gpus & UINT64_C(1) << bit)
                strbuf_addf(&ids, "%s%d", ids.len ? "," : "", bit);
        any |= ids.len > 0;
        v[i] = arena_strdup(act->a, ids.buf);
    }
    return any ? v : NULL;
}

static int64_t max_of_queue(const struct served *s)
{
    const struct daemon_config *c = &s->d->config;

    for (uint32_t i = 0; i < c->n_queues; i++)
        if (strcmp(c->queues[i].name, s->row.queue) == 0)
            return c->queues[i].max_duration / NS_PER_MS;
    return 0;
}

static int begin(struct active *act, const struct engine_class *class, bool anyhow, struct err *e)
{
    struct served *s = act->served;
    struct submission typed, sub;
    auto_strbuf struct strbuf site = STRBUF_INIT;
    int r = served_submission(act, &typed, &sub, e);

    if (r < 0)
        return r;
    sub.gpus = served_gpus(act);
    sub.max_duration_ms = act->max_duration_ms = max_of_queue(s);
    r = make_dirs(&act->rd, e);
    if (r == 0)
        r = code_copy(s, &act->rd, &sub, e);
    if (r == 0)
        r = submission_plan(s->d->opts->plan, act->a, &sub, &act->rd, anyhow, &act->planned, e);
    kill_point(KILL_PLANNED);
    if (r == 0)
        r = fill_dirs(act, &typed, e);
    kill_point(KILL_DIRS_MADE);
    if (r == 0)
        r = served_journal(act, e);
    if (r < 0)
        return r;
    act->job = job_new(act->planned.plan, &act->planned.rules);
    const struct engine_open how = served_engine(act);
    r = class->open(&how, &act->engine, e);
    if (r < 0)
        return r;
    act->is_local = class == &engine_local;
    served_turn(act);
    turn_event(act->turn,
               &(struct event){.type = EVENT_CREATED, .at = clock_run(), .random = arc4random()});
    site_write(&site, act->planned.plan, sub.gpus, &sub);
    free((char *)(uintptr_t)s->row.site);
    s->row.site = strbuf_detach(&site);
    s->row.state = STORED_STARTED;
    s->row.started = clock_real();
    tally_start(&s->d->tally, s->row.started - s->row.submitted);
    store_update(s->d->store, &s->row);
    return 0;
}

void served_start(struct served *s)
{
    struct active *act = served_active(s);
    struct err e;

    if (begin(act, &engine_local, false, &e) == 0) {
        if (!act->job->rules.hold)
            turn_missing(act->turn, clock_run());
        return;
    }
    finish_refused(act, &e);
}

void served_cancel_waiting(struct served *s)
{
    struct active *act = served_active(s);
    struct err e;

    s->stopping = true;
    if (begin(act, &engine_nothing, true, &e) == 0)
        served_observe(s, OBS_CANCEL);
    else
        finish_refused(act, &e);
}

void served_end_waiting(struct served *s)
{
    finish_row(s, outcome_name(OUTCOME_CANCELLED), 128 + SIGTERM);
    s->d->queue_changed = true;
}

bool served_is_open(const struct served *s)
{
    return s->row.state != STORED_ENDED && !(s->act && (s->act->told || !s->act->turn));
}

void served_refuse(struct served *s, const struct err *why)
{
    struct active *act = served_active(s);
    struct err e;

    (void)rundir_name(s->row.id, NULL, &act->rd, &e);
    finish_refused(act, why);
}

/* --- rounds ----------------------------------------------------------------------------------- */

void served_decide(struct served *s, ns_t now)
{
    struct active *act = s->act;
    struct observation aborted;

    if (act->told)
        return;
    if (act->released) {
        finish_tell(act);
        return;
    }
    if (act->job->plan->launcher >= 0) {
        turn_commit(act->turn); /* what mpirun has said is looked for after its ranks were heard */
        if (aborts_find(&act->aborts, act->job, act->rd.logs_fd, &aborted))
            turn_observe(act->turn, &aborted);
    }
    (void)turn_decide(act->turn, now);
    if (resume_is_stuck(act)) {
        served_observed(act, &(struct observation){.kind = OBS_LOST, .at = now});
        (void)turn_decide(act->turn, now);
    }
    preempt_check(s);
}

bool served_is_due(const struct served *s)
{
    return !s->act || s->act->told || turn_is_due(s->act->turn);
}

void served_act(struct served *s, ns_t now)
{
    struct active *act = s->act;

    if (act->told) {
        finish_leave(act);
        return;
    }
    (void)journal_commit(act->journal, NULL); /* of its copy: the store is committed already */
    ns_t next = turn_act(act->turn, now);
    if (next == now)
        served_mark(s);
    else
        set_wake(act, next, now);
}

void served_leave(struct served *s)
{
    if (s->act)
        finish_release(s->act);
}

/* --- its place in the daemon ------------------------------------------------------------------ */

static int64_t int_of(const struct node *map, const char *key)
{
    const struct node *n = node_get(map, key);

    return n && n->type == NODE_INT && n->i >= 0 ? n->i : 0;
}

/* A role that requests no CPUs gets its share of what is left by the others, so that a job that
 * requests nothing can always start. */
static void share_cpus(const struct daemon *d, struct common *c, const bool *implied)
{
    int64_t left = d->machine.has.v[QUEUE_CPU], wanted = 0;

    for (uint32_t i = 0; i < c->n_roles; i++) {
        int64_t all = c->roles[i].each.v[QUEUE_CPU] * c->roles[i].replicas;

        if (implied[i])
            wanted += all;
        else
            left -= all;
    }
    for (uint32_t i = 0; i < c->n_roles && wanted > left; i++)
        if (implied[i])
            c->roles[i].each.v[QUEUE_CPU] =
                left > 0 ? c->roles[i].each.v[QUEUE_CPU] * left / wanted : 0;
}

void served_read_needs(const struct daemon *d, const char *request, struct common *ret)
{
    auto_arena struct arena *a = arena_new();
    const struct node *root = json_node(a, request, strlen(request));
    const struct node *job = node_get(root, "job"), *after = node_get(root, "after");
    const struct node *needs = node_get(job, "needs"), *snapshot = node_get(job, "snapshot");
    size_t n = needs && needs->type == NODE_SEQ ? needs->n : 0;
    size_t k = after && after->type == NODE_SEQ ? after->n : 0;

    auto_free bool *implied = xcalloc(n + 1, sizeof(*implied));

    ret->roles = xcalloc(n + 1, sizeof(*ret->roles));
    ret->afters = xcalloc(k + 1, sizeof(*ret->afters));
    for (size_t i = 0; i < n; i++) {
        const struct node *r = needs->items[i];

        ret->roles[i] = (struct queue_role){.replicas = (uint32_t)int_of(r, "replicas"),
                                            .each.v = {[QUEUE_CPU] = int_of(r, "cpu"),
                                                       [QUEUE_MEMORY] = int_of(r, "memory"),
                                                       [QUEUE_GPU] = int_of(r, "gpu"),
                                                       [QUEUE_PORT] = int_of(r, "ports")}};
        ret->n_replicas += ret->roles[i].replicas;
        implied[i] = node_get(r, "implied") && node_get(r, "implied")->i;
    }
    ret->n_roles = (uint32_t)n;
    share_cpus(d, ret, implied);
    for (size_t i = 0; i < k; i++)
        ret->afters[i] = (struct queue_after){.id = (uint64_t)int_of(after->items[i], "number"),
                                              .any = int_of(after->items[i], "any") != 0};
    ret->n_afters = (uint32_t)k;
    ret->snapshot = snapshot && snapshot->type == NODE_STRING ? xstrdup(snapshot->text) : NULL;
    ret->max_duration = int_of(job, "max_duration_ms") * NS_PER_MS;
}
