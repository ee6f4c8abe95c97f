/* engines.c - the same scripts of decisions and faults for every engine: what engine.h promises,
 * asked of each.
 *
 *     engines ENGINE FILE SCRIPT   the job of FILE: role a with 2 replicas, role b with 1
 *
 *     calls    every call, twice; commands that run until they are ended
 *     job      a whole job with the core, which is cancelled
 *     order    calls at moments when they make no sense
 *     fails    commands that exit with 7 at once; then a whole job of them
 *     lost     the engine's supervisor dies; then that of a whole job
 *     refused  the engine cannot run the job
 *
 * A muster-shim stands beside this program. Nothing here knows which engine it is, but for what an
 * engine says that it cannot do. A supervisor on this machine is killed here; of another engine the
 * environment has to say that it is lost after a while.
 */
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <uv.h>

#include "base/mem.h"
#include "base/tap.h"
#include "dialect/dialect.h"
#include "engine/engine.h"
#include "engine/turn.h"
#include "rundir/rundir.h"

enum { MAX = 3, PATIENCE_MS = 60000 };

struct seen { /* of one process */
    int started, ended;
    struct observation last_start, last_end;
};

static struct {
    uv_loop_t loop;
    const struct plan *plan;
    struct engine *engine;
    struct seen procs[MAX];
    int opened[MAX], turns, released, execs, exec_status, lost, refused;
    char refusal[LIMIT_ERR_TEXT];
    const struct engine_class *class;
    uint32_t opened_in[MAX];
    bool late;
    struct turn *turn; /* the second part: observations go there */
    uv_timer_t wake;
} t;

/* --- the client ------------------------------------------------------------------------------- */

static void observed(void *ctx, const struct observation *o)
{
    (void)ctx;
    if (t.turn)
        turn_observe(t.turn, o);
    if (o->kind == OBS_OPENED && o->replica < MAX) {
        t.opened[o->replica]++;
        t.opened_in[o->replica] = o->attempt;
    }
    if (o->kind == OBS_STARTED && o->process < MAX) {
        t.procs[o->process].started++;
        t.procs[o->process].last_start = *o;
    }
    if ((o->kind == OBS_EXITED || o->kind == OBS_SPAWN_FAILED) && o->process < MAX) {
        t.procs[o->process].ended++;
        t.procs[o->process].last_end = *o;
    }
    t.lost += o->kind == OBS_LOST;
}

static void take_turn(void *ctx);

static void on_wake(uv_timer_t *timer)
{
    (void)timer;
    take_turn(NULL);
}

static void take_turn(void *ctx)
{
    (void)ctx;
    t.turns++;
    if (!t.turn)
        return;
    ns_t at = turn_run(t.turn, clock_run()), now = clock_run();
    if (at)
        (void)uv_timer_start(&t.wake, on_wake,
                             at > now ? (uint64_t)((at - now) / NS_PER_MS) + 1 : 0, 0);
}

static void note(void *ctx, const char *text)
{
    (void)ctx;
    tap_diag("%s", text);
}

static void on_released(void *ctx)
{
    (void)ctx;
    t.released++;
}

static void on_refused(void *ctx, const struct err *e)
{
    (void)ctx;
    t.refused++;
    (void)snprintf(t.refusal, sizeof(t.refusal), "%s", e->text);
}

static const struct engine_client client = {.observed = observed,
                                            .note = note,
                                            .turn = take_turn,
                                            .released = on_released,
                                            .refused = on_refused};

/* --- waiting ---------------------------------------------------------------------------------- */

static void on_late(uv_timer_t *timer)
{
    (void)timer;
    t.late = true;
}

static bool until(bool (*is_so)(void))
{
    uv_timer_t timer;

    t.late = false;
    if (t.engine->ops->commit)
        t.engine->ops->commit(t.engine);
    (void)uv_timer_init(&t.loop, &timer);
    (void)uv_timer_start(&timer, on_late, PATIENCE_MS, 0);
    while (!is_so() && !t.late)
        (void)uv_run(&t.loop, UV_RUN_ONCE);
    uv_close((uv_handle_t *)&timer, NULL);
    (void)uv_run(&t.loop, UV_RUN_NOWAIT);
    return is_so();
}

static int count(size_t offset)
{
    int n = 0;

    for (size_t i = 0; i < MAX; i++)
        n += *(const int *)((const char *)&t.procs[i] + offset);
    return n;
}
#define STARTED count(offsetof(struct seen, started))
#define ENDED count(offsetof(struct seen, ended))

static int want_opened, want_started, want_ended;
static bool enough(void)
{
    return t.opened[0] + t.opened[1] + t.opened[2] >= want_opened && STARTED >= want_started &&
           ENDED >= want_ended;
}
static bool is_released(void)
{
    return t.released > 0;
}
static bool is_lost(void)
{
    return t.lost > 0;
}
static bool is_refused(void)
{
    return t.refused > 0;
}
static bool has_executed(void)
{
    return t.execs > 0;
}

static bool come(int opened, int started, int ended)
{
    want_opened = opened;
    want_started = started;
    want_ended = ended;
    return until(enough);
}

/* --- the script ------------------------------------------------------------------------------- */

static void start_all(uint32_t attempt)
{
    for (uint32_t i = 0; i < MAX; i++)
        t.engine->ops->start(t.engine, i, (struct start){.attempt = attempt, .instance = 1});
}

static void check_starts(uint32_t attempt)
{
    for (uint32_t i = 0; i < MAX; i++) {
        const struct observation *o = &t.procs[i].last_start;
        ok(o->attempt == attempt && o->instance == 1 && o->at > 0,
           "process %u: attempt %u, instance 1", i, attempt);
    }
}

static void check_signal(uint32_t process, int sig)
{
    const struct ending *end = &t.procs[process].last_end.end;

    ok(end->known && end->signal == sig && end->code == -1, "process %u was ended by signal %d",
       process, sig);
}

static void first_attempt(void)
{
    const struct engine_ops *ops = t.engine->ops;

    for (int again = 0; again < 2; again++)
        for (uint32_t i = 0; i < MAX; i++)
            ops->open(t.engine, i, 1);
    ok(come(3, 0, 0), "replicas are opened");
    ok(t.opened[0] > 0 && t.opened[1] > 0 && t.opened[2] > 0 && t.opened_in[2] == 1, "each one");
    is_int(STARTED, 0, "and no command is started");
    start_all(1);
    start_all(1);
    ok(come(3, 3, 0), "processes are started");
    check_starts(1);
    start_all(1);
    ops->kill_role(t.engine, 1);
    ok(come(3, 3, 1), "a role is killed");
    is_int(t.procs[2].ended, 1, "the one that was meant");
    check_signal(2, SIGKILL);
    is_int(STARTED, 3, "what was started is not started again");
    ops->start(t.engine, 2, (struct start){.attempt = 1, .instance = 2});
    ok(come(3, 4, 1), "a process is started anew");
    is_int(t.procs[2].last_start.instance, 2, "as its second instance");
    ops->kill_role(t.engine, 1);
    ok(come(3, 4, 2), "and killed again");
    is_int(t.procs[2].last_end.instance, 2, "this one");
    ops->signal(t.engine, SIGTERM);
    ops->signal(t.engine, SIGTERM);
    ok(come(3, 4, 4), "SIGTERM ends the others");
    check_signal(0, SIGTERM);
    check_signal(1, SIGTERM);
}

static void on_executed(void *ctx, int status, const struct err *e)
{
    (void)ctx;
    t.execs++;
    t.exec_status = status;
    if (status < 0)
        tap_diag("%s", e->text);
}

/* A replica that is held is still a host. */
static void use_held(void)
{
    const struct exec_client cl = {.ended = on_executed};
    const int fds[3] = {0, 2, 2};
    struct engine_exec *x;
    struct err e;

    if (!t.engine->ops->exec) {
        tap_diag("SKIP: this engine runs no other commands");
        return;
    }
    is_int(t.engine->ops->exec(t.engine, 1, "exit 7", fds, &cl, &x, &e), 0, "a command");
    ok(until(has_executed) && WIFEXITED(t.exec_status), "runs in a replica that is held");
    is_int(WEXITSTATUS(t.exec_status), 7, "and gives its code");
}

static void second_attempt(void)
{
    const struct engine_ops *ops = t.engine->ops;

    ops->clear(t.engine);
    ops->clear(t.engine);
    start_all(2);
    ok(come(3, 7, 4), "processes are started in another attempt");
    check_starts(2);
    is_int(ENDED, 4, "and live");
    ops->signal(t.engine, SIGTERM);
    ok(come(3, 7, 7), "they end");
    ops->hold(t.engine);
    ops->hold(t.engine);
    use_held();
    ops->clear(t.engine);
    start_all(3);
    ok(come(3, 10, 7), "a third attempt");
    ops->kill(t.engine);
    ops->kill(t.engine);
    ok(come(3, 10, 10), "SIGKILL ends all");
    for (uint32_t i = 0; i < MAX; i++)
        check_signal(i, SIGKILL);
    is_int(t.engine->ops->log_open(t.engine, "none.log"), -ENOENT, "a log that is not there");
    ok(t.turns > 0, "turns are announced");
    is_int(t.released, 0, "it is not released yet");
    is_int(t.lost, 0, "nor lost");
    ops->release(t.engine);
    ok(until(is_released), "then it is");
}

static void all_calls(void)
{
    first_attempt();
    second_attempt();
}

/* --- faults ----------------------------------------------------------------------------------- */

/* What was asked for has been answered, if it is ever. */
static void let_it_run(void)
{
    for (int i = 0; i < 20; i++)
        (void)uv_run(&t.loop, UV_RUN_NOWAIT);
}

static void all_but_start(void)
{
    const struct engine_ops *ops = t.engine->ops;

    ops->signal(t.engine, SIGTERM);
    ops->kill(t.engine);
    ops->kill_role(t.engine, 0);
    ops->hold(t.engine);
    ops->clear(t.engine);
    if (ops->commit)
        ops->commit(t.engine);
}

static void odd_order(void)
{
    const struct engine_ops *ops = t.engine->ops;

    all_but_start();
    let_it_run();
    is_int(STARTED + ENDED + t.lost + t.released, 0, "nothing is asked of nothing");
    start_all(1);
    ok(come(0, 3, 0), "then it is begun");
    ops->release(t.engine);
    ops->release(t.engine);
    ok(until(is_released), "released while all run");
    ops->release(t.engine);
    start_all(2);
    all_but_start();
    let_it_run();
    if (t.class->here)
        is_int(t.class->here->root(t.engine), 0, "nobody supervises it any more");
    is_int(STARTED, 3, "nothing is started afterwards");
    is_int(t.released, 1, "and the release is told once");
}

static void all_fail(void)
{
    const struct engine_ops *ops = t.engine->ops;

    start_all(1);
    ok(come(0, 3, 3), "processes end by themselves");
    for (uint32_t i = 0; i < MAX; i++) {
        const struct ending *end = &t.procs[i].last_end.end;
        ok(end->known && end->code == 7 && !end->signal, "process %u with status 7", i);
    }
    start_all(1);
    ops->signal(t.engine, SIGTERM);
    ops->start(t.engine, 1, (struct start){.attempt = 1, .instance = 2});
    ok(come(0, 4, 4), "one of them is restarted");
    is_int(t.procs[1].last_end.instance, 2, "and fails again");
    is_int(STARTED, 4, "the others are not");
    is_int(ENDED, 4, "and nobody ends twice");
    ops->release(t.engine);
    ok(until(is_released), "released");
}

static bool lose_it(void)
{
    if (t.class->here)
        (void)kill(t.class->here->root(t.engine), SIGKILL);
    return until(is_lost);
}

static void supervisor_lost(void)
{
    start_all(1);
    ok(come(0, 3, 0), "all run");
    ok(lose_it(), "the loss of the engine is reported");
    int ended = ENDED;
    all_but_start();
    start_all(2);
    let_it_run();
    is_int(STARTED, 3, "nothing is started without it");
    is_int(ENDED, ended, "nobody ends without it");
    is_int(t.lost, 1, "it is lost once");
    t.engine->ops->release(t.engine);
    ok(until(is_released), "released");
}

static void not_begun(void)
{
    start_all(1);
    ok(until(is_refused), "the engine refuses the job");
    tap_diag("%s", t.refusal);
    ok(*t.refusal, "with a reason");
    all_but_start();
    let_it_run();
    is_int(STARTED + ENDED + t.lost, 0, "and reports nothing else");
    is_int(t.refused, 1, "once");
}

/* --- with the core ---------------------------------------------------------------------------- */

static bool all_run(void)
{
    return STARTED >= MAX;
}

static const struct job_rules rules = {
    .grace_ms = 60000, .start_timeout_ms = 600000, .recovery_timeout_ms = 60000};

static struct job *begin_job(void)
{
    struct job *job = job_new(t.plan, &rules);

    (void)uv_timer_init(&t.loop, &t.wake);
    t.turn = turn_new(job, &journal_none, t.engine, &(struct turn_host){0});
    turn_event(t.turn, &(struct event){.type = EVENT_CREATED, .at = clock_run()});
    take_turn(NULL);
    return job;
}

static void end_job(struct job *job, enum outcome outcome, enum cause_kind kind, int code)
{
    ok(until(is_released), "the core ends it");
    is_int(job->phase, JOB_ENDED, "the job has ended");
    is_int(job->outcome, outcome, "its outcome");
    is_int(job->cause.kind, kind, "its cause");
    is_int(job->exit_code, code, "its exit code");
    turn_free(t.turn);
    t.turn = NULL;
    uv_close((uv_handle_t *)&t.wake, NULL);
    job_free(job);
}

/* The core starts it, somebody cancels it, and what the engine reports is enough to end it. */
static void cancelled_job(void)
{
    struct job *job = begin_job();

    ok(until(all_run), "the core starts all");
    turn_observe(t.turn,
                 &(struct observation){.kind = OBS_CANCEL, .at = clock_run(), .signal = SIGTERM});
    take_turn(NULL);
    ok(until(is_released), "and ends what is cancelled");
    for (uint32_t i = 0; i < MAX; i++)
        is_int(job->procs[i].end.signal, SIGTERM, "process %u ended by SIGTERM", i);
    end_job(job, OUTCOME_CANCELLED, CAUSE_CANCELLED, 128 + SIGTERM);
}

static void failed_job(void)
{
    end_job(begin_job(), OUTCOME_FAILED, CAUSE_EXIT, 7);
}

static void lost_job(void)
{
    struct job *job = begin_job();

    ok(until(all_run), "the core starts all");
    ok(lose_it(), "the engine is lost");
    end_job(job, OUTCOME_FAILED, CAUSE_LOST, 125);
}

/* ---------------------------------------------------------------------------------------------- */

static void with_engine(const struct engine_class *class, struct arena *a,
                        const struct job_spec *spec, void (*script)(void))
{
    CLEANUP(survey_release) struct survey s = SURVEY_INIT;
    auto_free char *id = rundir_new_id();
    struct rundir rd = RUNDIR_INIT;
    struct err e = {0};

    if (rundir_name(id, NULL, &rd, &e) < 0)
        tap_diag("%s", e.text);
    const struct survey_request rq = {.use = SURVEY_RUN,
                                      .spec = spec,
                                      .run_id = rd.run_id,
                                      .run_dir = rd.path,
                                      .scratch_dir = rd.scratch,
                                      .isolate = "auto",
                                      .gpus = -1};
    t = (typeof(t)){.class = class};
    int r = class->survey(a, &rq, &s, &e);
    if (r == 0)
        r = class->plan(a, spec, &s, &t.plan, &e);
    if (r == 0)
        r = rundir_make(&rd, &e);
    if (r == 0)
        r = rundir_fill(&rd, t.plan, &e);
    (void)uv_loop_init(&t.loop);
    const struct engine_open how = {.loop = &t.loop,
                                    .plan = t.plan,
                                    .stdin_fd = -1,
                                    .scratch_fd = rd.scratch_fd,
                                    .logs_fd = rd.logs_fd,
                                    .client = &client};
    if (r == 0)
        r = class->open(&how, &t.engine, &e);
    if (ok(r == 0, "the engine opens: %s", e.text)) {
        script();
        t.engine->ops->free(t.engine);
    }
    (void)uv_run(&t.loop, UV_RUN_DEFAULT);
    is_int(uv_loop_close(&t.loop), 0, "it leaves nothing in the loop");
    rundir_release(&rd);
}

static const struct {
    const char *name;
    void (*calls)(void), (*job)(void); /* each with an engine of its own; or NULL */
} scripts[] = {
    {"calls", all_calls, NULL},          {"job", NULL, cancelled_job},
    {"order", odd_order, NULL},          {"fails", all_fail, failed_job},
    {"lost", supervisor_lost, lost_job}, {"refused", not_begun, NULL},
};

int main(int argc, char **argv)
{
    auto_arena struct arena *a = arena_new();
    const struct read_options opts = {0};
    const struct engine_class *class;
    struct job_file jf;
    struct err e;
    int ran = 0;

    if (argc != 4 || engine_by_name(argv[1], &class, &e) < 0 ||
        job_file_read(a, argv[2], &opts, &jf, &e) < 0 || jf.n_jobs != 1)
        return 2;
    (void)signal(SIGPIPE, SIG_IGN);
    for (size_t i = 0; i < ARRAY_SIZE(scripts); i++) {
        if (strcmp(scripts[i].name, argv[3]) != 0)
            continue;
        ran++;
        if (scripts[i].calls)
            with_engine(class, a, jf.jobs[0], scripts[i].calls);
        if (scripts[i].job)
            with_engine(class, a, jf.jobs[0], scripts[i].job);
    }
    job_file_release(&jf);
    return ran ? tap_done() : 2;
}
