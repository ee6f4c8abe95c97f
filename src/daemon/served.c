/* served.c - one job of the daemon: planned, run, told, and taken over from a daemon before us.
 *
 * Not here: how it ends up in its run directory (finish.c), when it may start (admit.c).
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
#include "doc/json_read.h"
#include "journal/record.h"
#include "rundir/command_line.h"
#include "rundir/reserve.h"

#define ATTACH_TRIES 600 /* of a supervisor that is starting or ending, 5 ms each */

/* --- what the engine reports ------------------------------------------------------------------ */

void served_mark(struct served *s)
{
    if (s->dirty)
        return;
    s->dirty = true;
    s->next_dirty = s->d->dirty;
    s->d->dirty = s;
}

static void on_observed(void *ctx, const struct observation *o)
{
    struct active *act = ctx;

    turn_observe(act->turn, o);
    served_mark(act->served);
}

static void on_turn(void *ctx)
{
    const struct active *act = ctx;

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
static void on_post(void *ctx, const struct observation *o)
{
    struct active *act = ctx;

    turn_observe(act->turn, o);
    turn_commit(act->turn);
    kill_point(KILL_CANCEL_POSTED);
    if (o->kind == OBS_CANCEL)
        act->served->stopping = true;
    served_mark(act->served);
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

void served_observe(struct served *s, enum obs_kind kind)
{
    const struct observation o = {.kind = kind,
                                  .at = clock_run(),
                                  .signal = kind == OBS_CANCEL ? SIGTERM : 0,
                                  .asked = kind == OBS_CANCEL};

    on_post(s->act, &o);
}

/* --- beginning -------------------------------------------------------------------------------- */

static struct active *active_new(struct served *s)
{
    struct active *act = xcalloc(1, sizeof(*act));

    *act = (struct active){.served = s,
                           .a = arena_new(),
                           .planned = {.survey = SURVEY_INIT},
                           .rd = RUNDIR_INIT,
                           .client = {.observed = on_observed,
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

static struct engine_open how_to_open(struct active *act)
{
    return (struct engine_open){.loop = &act->served->d->loop,
                                .plan = act->job->plan,
                                .stdin_fd = -1,
                                .scratch_fd = act->rd.scratch_fd,
                                .logs_fd = act->rd.logs_fd,
                                .waits = true,
                                .resumes = true,
                                .job = act->job,
                                .client = &act->client};
}

static void make_turn(struct active *act)
{
    const struct turn_host host = {.event = on_event, .ctx = act};

    act->turn = turn_new(act->job, act->journal, act->engine, &host);
    open_control(act);
    served_mark(act->served);
}

static int open_journal(struct active *act, struct err *e)
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
    int r = make_dirs(&act->rd, e);

    if (r < 0)
        return r;
    for (int i = 0; i < sub->argc; i++)
        strvec_push(&line.argv, sub->argv[i]);
    line.cwd = xstrdup(sub->cwd);
    r = rundir_fill(&act->rd, act->planned.plan, e);
    if (r == 0)
        r = command_line_write(act->rd.fd, &line, e);
    if (r == 0)
        r = io_write_atomic(act->rd.fd, RUNDIR_SERVED, "", 0, e);
    if (r == 0)
        reserve_take(act->rd.fd, act->planned.plan);
    command_line_release(&line);
    return r;
}

/* Options are parsed from the words, which changes their order. */
static int read_submission(struct active *act, struct submission *typed, struct submission *ret,
                           struct err *e)
{
    const struct stored *row = &act->served->row;
    int r = submission_read(act->a, row->request, strlen(row->request), typed, e);

    if (r < 0)
        return r;
    *ret = *typed;
    ret->argv = ARENA_ARRAY(act->a, char *, (size_t)typed->argc + 1);
    memcpy(ret->argv, typed->argv, (size_t)typed->argc * sizeof(*typed->argv));
    if (*row->site)
        r = site_read(act->a, row->site, ret, e);
    return r == 0 ? rundir_name(row->id, NULL, &act->rd, e) : r;
}

/* The GPUs of each replica, as the queue has chosen them. */
static const char *const *visible_gpus(struct active *act)
{
    const struct served *s = act->served;
    const char **v = ARENA_ARRAY(act->a, const char *, s->n_replicas + 1);
    bool any = false;

    for (uint32_t i = 0; s->places && i < s->n_replicas; i++) {
        auto_strbuf struct strbuf ids = STRBUF_INIT;

        for (int bit = 0; bit < LIMIT_QUEUE_GPUS; bit++)
            if (s->places[i].gpus & UINT64_C(1) << bit)
                strbuf_addf(&ids, "%s%d", ids.len ? "," : "", bit);
        any |= ids.len > 0;
        v[i] = arena_strdup(act->a, ids.buf);
    }
    return any ? v : NULL;
}

static int begin(struct active *act, const struct engine_class *class, bool anyhow, struct err *e)
{
    struct served *s = act->served;
    struct submission typed, sub;
    auto_strbuf struct strbuf site = STRBUF_INIT;
    int r = read_submission(act, &typed, &sub, e);

    if (r < 0)
        return r;
    sub.gpus = visible_gpus(act);
    r = submission_plan(s->d->opts->plan, act->a, &sub, &act->rd, anyhow, &act->planned, e);
    kill_point(KILL_PLANNED);
    if (r == 0)
        r = fill_dirs(act, &typed, e);
    kill_point(KILL_DIRS_MADE);
    if (r == 0)
        r = open_journal(act, e);
    if (r < 0)
        return r;
    act->job = job_new(act->planned.plan, &act->planned.rules);
    const struct engine_open how = how_to_open(act);
    r = class->open(&how, &act->engine, e);
    if (r < 0)
        return r;
    make_turn(act);
    turn_event(act->turn,
               &(struct event){.type = EVENT_CREATED, .at = clock_run(), .random = arc4random()});
    site_write(&site, act->planned.plan, sub.gpus);
    free((char *)(uintptr_t)s->row.site);
    s->row.site = strbuf_detach(&site);
    s->row.state = STORED_STARTED;
    s->row.started = clock_real();
    store_update(s->d->store, &s->row);
    return 0;
}

void served_start(struct served *s)
{
    struct active *act = active_new(s);
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
    struct active *act = active_new(s);
    struct err e;

    s->stopping = true;
    if (begin(act, &engine_nothing, true, &e) == 0)
        served_observe(s, OBS_CANCEL);
    else
        finish_refused(act, &e);
}

void served_refuse(struct served *s, const struct err *why)
{
    struct active *act = active_new(s);
    struct err e;

    (void)rundir_name(s->row.id, NULL, &act->rd, &e);
    finish_refused(act, why);
}

/* --- after a restart -------------------------------------------------------------------------- */

/* The journal begins with the mark of what was planned; if the same submission gives another plan
 * now, events would be folded into the wrong job. */
static int check_plan(const struct plan *plan, const struct job_rules *rules,
                      const struct strbuf *events, struct strbuf *record, struct err *e)
{
    auto_arena struct arena *a = arena_new();
    const char *nl = memchr(events->buf, '\n', events->len);
    struct event first;
    char mark[RECORD_MARK];

    if (!nl)
        return err_set(e, -EINVAL, "its journal has no event");
    int r = journal_read_line(a, events->buf, (size_t)(nl - events->buf), &first, e);
    if (r < 0)
        return r;
    record_write(record, plan, rules);
    if (!first.text || strcmp(first.text, record_mark(record->buf, record->len, mark)) != 0)
        return err_set(e, -ESTALE, "it is planned differently now");
    return 0;
}

/* What other verbs read; a daemon that was killed may not have written all of it. */
static int restore_copy(struct active *act, const struct strbuf *events,
                        const struct strbuf *record, struct err *e)
{
    int r = io_write_atomic(act->rd.fd, JOURNAL_NAME, events->buf, events->len, e);

    return r < 0 || record->len == 0
               ? r
               : io_write_atomic(act->rd.fd, RECORD_NAME, record->buf, record->len, e);
}

/* Before the loop runs: a supervisor that is just starting listens in a moment, one that is ending
 * is gone in one. */
static int attach(struct active *act, struct err *e)
{
    static const struct timespec moment = {.tv_nsec = 5 * NS_PER_MS};
    const struct engine_open how = how_to_open(act);
    int r;

    for (int i = 0; (r = engine_local.attach(&how, &act->engine, e)) == -EAGAIN; i++)
        if (i == ATTACH_TRIES || nanosleep(&moment, NULL) < 0)
            break;
    return r;
}

/* Something of the job needs the supervisor that is gone. */
static bool is_lost(const struct job *job)
{
    return job->phase == JOB_HELD || job->n_running > 0 ||
           (job->n_up > 0 && job->phase != JOB_PAUSED && job->phase != JOB_ENDED);
}

static int take_over(struct active *act, const struct strbuf *events, struct err *e)
{
    struct served *s = act->served;
    struct submission typed, sub;
    auto_strbuf struct strbuf record = STRBUF_INIT;
    size_t len;
    int r = read_submission(act, &typed, &sub, e);

    if (r == 0)
        r = submission_plan(s->d->opts->plan, act->a, &sub, &act->rd, false, &act->planned, e);
    if (r == 0)
        r = check_plan(act->planned.plan, &act->planned.rules, events, &record, e);
    if (r == 0)
        r = rundir_adopt(&act->rd, e);
    if (r == 0)
        r = restore_copy(act, events, &record, e);
    if (r == 0)
        r = open_journal(act, e);
    if (r < 0)
        return r;
    act->job = job_new(act->planned.plan, &act->planned.rules);
    r = journal_replay(act->job, events->buf, events->len, &len, e);
    if (r < 0)
        return r;
    r = attach(act, e);
    if (r == 0) {
        kill_point(KILL_ADOPTED);
        make_turn(act);
    } else if (r == -ENOENT || r == -ECONNREFUSED || r == -ESRCH) {
        const struct engine_open how = how_to_open(act);
        bool lost = is_lost(act->job);

        r = (lost ? &engine_nothing : &engine_local)->open(&how, &act->engine, e);
        if (r < 0)
            return r;
        make_turn(act);
        if (lost)
            on_observed(act, &(struct observation){.kind = OBS_LOST, .at = clock_run()});
    } else {
        return r;
    }
    s->stopping = act->job->cancel_signal != 0;
    turn_catch_up(act->turn);
    return 0;
}

/* It cannot be continued as it was: its processes are ended, and what is known of it is told. */
static int give_up(struct active *act, const struct strbuf *events, struct err *e)
{
    const struct rundir none = RUNDIR_INIT;
    int r;

    job_free(act->job);
    journal_close(act->journal);
    act->job = NULL;
    act->journal = NULL;
    rundir_release(&act->rd);
    act->rd = none;
    r = rundir_name(act->served->row.id, NULL, &act->rd, e);
    if (r == 0)
        r = rundir_adopt(&act->rd, e);
    if (r < 0)
        return r;
    finish_kill_shim(act->rd.scratch_fd, act->served->row.id);
    r = restore_copy(act, events, &(struct strbuf)STRBUF_INIT, e);
    if (r == 0)
        r = journal_load(act->a, act->rd.fd, &act->job, e);
    if (r == 0)
        r = open_journal(act, e);
    if (r < 0)
        return r;
    act->planned.plan = act->job->plan;
    const struct engine_open how = how_to_open(act);
    (void)engine_nothing.open(&how, &act->engine, e);
    make_turn(act);
    on_observed(act, &(struct observation){.kind = OBS_LOST, .at = clock_run()});
    turn_catch_up(act->turn);
    return 0;
}

void served_resume(struct served *s)
{
    struct active *act = active_new(s);
    auto_strbuf struct strbuf events = STRBUF_INIT;
    struct err e;

    admit_restore(s);
    int r = store_events(s->d->store, s->row.number, &events, &e);

    if (r == 0 && (r = take_over(act, &events, &e)) < 0) {
        daemon_note(s->d, "%s cannot be continued: %s; its processes are ended", s->row.id, e.text);
        r = give_up(act, &events, &e);
    }
    if (r < 0) {
        daemon_note(s->d, "%s: %s", s->row.id, e.text);
        finish_refused(act, &e);
    }
}

/* --- rounds ----------------------------------------------------------------------------------- */

void served_decide(struct served *s, ns_t now)
{
    struct active *act = s->act;
    struct observation aborted;

    act->decided = false;
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
    act->decided = turn_decide(act->turn, now);
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
static void share_cpus(struct served *s, const bool *implied)
{
    int64_t left = s->d->machine.has.v[QUEUE_CPU], wanted = 0;

    for (uint32_t i = 0; i < s->n_roles; i++) {
        int64_t all = s->roles[i].each.v[QUEUE_CPU] * s->roles[i].replicas;

        if (implied[i])
            wanted += all;
        else
            left -= all;
    }
    for (uint32_t i = 0; i < s->n_roles && wanted > left; i++)
        if (implied[i])
            s->roles[i].each.v[QUEUE_CPU] =
                left > 0 ? s->roles[i].each.v[QUEUE_CPU] * left / wanted : 0;
}

void served_read_needs(struct served *s)
{
    auto_arena struct arena *a = arena_new();
    const struct node *root = json_node(a, s->row.request, strlen(s->row.request));
    const struct node *job = node_get(root, "job"), *after = node_get(root, "after");
    const struct node *needs = node_get(job, "needs");
    size_t n = needs && needs->type == NODE_SEQ ? needs->n : 0;
    size_t k = after && after->type == NODE_SEQ ? after->n : 0;

    auto_free bool *implied = xcalloc(n + 1, sizeof(*implied));

    s->roles = xcalloc(n + 1, sizeof(*s->roles));
    s->afters = xcalloc(k + 1, sizeof(*s->afters));
    for (size_t i = 0; i < n; i++) {
        const struct node *r = needs->items[i];

        s->roles[i] = (struct queue_role){.replicas = (uint32_t)int_of(r, "replicas"),
                                          .each.v = {[QUEUE_CPU] = int_of(r, "cpu"),
                                                     [QUEUE_MEMORY] = int_of(r, "memory"),
                                                     [QUEUE_GPU] = int_of(r, "gpu"),
                                                     [QUEUE_PORT] = int_of(r, "ports")}};
        s->n_replicas += s->roles[i].replicas;
        implied[i] = node_get(r, "implied") && node_get(r, "implied")->i;
    }
    s->n_roles = (uint32_t)n;
    share_cpus(s, implied);
    for (size_t i = 0; i < k; i++)
        s->afters[i] = (struct queue_after){.id = (uint64_t)int_of(after->items[i], "number"),
                                            .any = int_of(after->items[i], "any") != 0};
    s->n_afters = (uint32_t)k;
    s->max_duration = int_of(job, "max_duration_ms") * NS_PER_MS;
}

void served_free(struct served *s)
{
    if (!s)
        return;
    served_leave(s);
    free((char *)(uintptr_t)s->row.id);
    free((char *)(uintptr_t)s->row.name);
    free((char *)(uintptr_t)s->row.dialect);
    free((char *)(uintptr_t)s->row.queue);
    free((char *)(uintptr_t)s->row.request);
    free((char *)(uintptr_t)s->row.site);
    free((char *)(uintptr_t)s->row.outcome);
    free(s->roles);
    free(s->afters);
    free(s->places);
    free(s);
}
