/* frames.c - see frames.h.
 *
 * Only bytes: when something is sent, and to whom, is an engine's business. No clock and no I/O.
 * The layout of every frame is in shim/wire.h.
 */
#include "engine/frames.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

#include "base/limits.h"

/* --- requests --------------------------------------------------------------------------------- */

void frame_variables(struct strbuf *out, struct arena *a, const struct env_value *env, size_t n)
{
    const char **v = ARENA_ARRAY(a, const char *, n + 1);

    for (size_t i = 0; i < n; i++)
        v[i] = arena_printf(a, "%s=%s", env[i].name, env[i].value);
    wire_put_strs(out, v);
}

static void put_environment(struct strbuf *out, struct arena *a, const struct plan *plan,
                            uint32_t process, struct start start)
{
    const struct env_value *env;
    size_t n = plan_env(a, plan, process, start, false, &env);

    frame_variables(out, a, env, n);
}

/* Text that holds a secret is handed over apart from the words, which anyone can list. */
static uint32_t spawn_flags(const struct plan *plan, const struct process *p, struct start start)
{
    /* mpirun hands it on to its rank 0 */
    bool reads_stdin = !plan->spec->file && (p->rank == 0 || (int32_t)p->id == plan->launcher);

    return (reads_stdin ? SPAWN_STDIN : 0) | (process_hides_script(p, start) ? SPAWN_SCRIPT : 0) |
           (process_waiting_argv(p, start) ? SPAWN_STAY : 0) |
           (plan->facts->site.references && plan->replicas[p->replica].role->expand_argv
                ? SPAWN_EXPAND
                : 0) |
           ((int32_t)p->id == plan->launcher ? SPAWN_LAUNCHER : 0);
}

static const char *const *spawn_words(struct arena *a, const struct plan *plan,
                                      const struct process *p, struct start start)
{
    const char *const *words = plan_exec_argv(a, plan, p, start);
    size_t n = 0;

    if (!process_hides_script(p, start))
        return words;
    while (words[n])
        n++;
    const char **v = ARENA_ARRAY(a, const char *, n + 2);
    memcpy(v, words, n * sizeof(*v));
    v[n] = WIRE_SCRIPT_PATH;
    return v;
}

void frame_spawn(struct strbuf *out, const struct plan *plan, uint32_t process, struct start start,
                 const struct frame_place *at)
{
    auto_arena struct arena *a = arena_new();
    const struct process *p = &plan->processes[process];
    size_t frame = wire_frame_begin(out, WIRE_SPAWN);
    char log[PLAN_LOG_NAME];

    wire_put_u32(out, process);
    wire_put_u32(out, start.instance);
    wire_put_u32(out, at ? at->replica : p->replica);
    wire_put_u32(out, spawn_flags(plan, p, start));
    wire_put_str(out, at ? at->cwd : plan_workdir(a, plan, &plan->replicas[p->replica]));
    wire_put_str(out, plan_log_name(p, start, log));
    wire_put_strs(out, spawn_words(a, plan, p, start));
    if (at)
        wire_put_strs(out, at->env);
    else
        put_environment(out, a, plan, process, start);
    if (process_hides_script(p, start))
        wire_put_str(out, arena_printf(a, WIRE_SCRIPT_BEGIN "%s", p->shell_secret));
    wire_frame_end(out, frame);
}

void frame_open(struct strbuf *out, const struct plan *plan, uint32_t replica, uint32_t attempt,
                const struct frame_place *at)
{
    auto_arena struct arena *a = arena_new();
    const struct replica *r = &plan->replicas[replica];
    size_t frame = wire_frame_begin(out, WIRE_SPAWN);

    wire_put_u32(out, r->first_process);
    wire_put_u32(out, 1);
    wire_put_u32(out, at ? at->replica : replica);
    wire_put_u32(out, SPAWN_OPEN);
    wire_put_str(out, at ? at->cwd : plan_workdir(a, plan, r));
    wire_put_str(out, "");
    wire_put_strs(out, NULL);
    if (at)
        wire_put_strs(out, at->env);
    else
        put_environment(out, a, plan, r->first_process,
                        (struct start){.attempt = attempt, .instance = 1});
    wire_frame_end(out, frame);
}

void frame_attach(struct strbuf *out)
{
    size_t at = wire_frame_begin(out, WIRE_ATTACH);

    wire_put_u32(out, WIRE_VERSION);
    wire_frame_end(out, at);
}

void frame_signal(struct strbuf *out, const struct plan *plan, int sig)
{
    bool through_mpirun = (sig == SIGUSR1 || sig == SIGUSR2) && plan->launcher >= 0;
    size_t at = wire_frame_begin(out, WIRE_SIGNAL);

    wire_put_u32(out, through_mpirun ? SCOPE_PROCESS : SCOPE_ALL);
    wire_put_u32(out, through_mpirun ? (uint32_t)plan->launcher : 0);
    wire_put_u32(out, (uint32_t)sig);
    wire_frame_end(out, at);
}

static void put_stop(struct strbuf *out, uint32_t scope, uint32_t id)
{
    size_t at = wire_frame_begin(out, WIRE_STOP);

    wire_put_u32(out, scope);
    wire_put_u32(out, id);
    wire_frame_end(out, at);
}

void frame_kill(struct strbuf *out)
{
    put_stop(out, SCOPE_ALL, 0);
}

void frame_kill_replica(struct strbuf *out, uint32_t replica)
{
    put_stop(out, SCOPE_REPLICA, replica);
}

void frame_try(struct strbuf *out, uint32_t replica, const char *address, const struct net_try *t)
{
    size_t frame = wire_frame_begin(out, WIRE_TRY);

    wire_put_u32(out, t->id);
    wire_put_u32(out, replica);
    wire_put_str(out, address);
    wire_put_u32(out, t->port);
    wire_put_bytes(out, t->token, WIRE_TOKEN);
    wire_frame_end(out, frame);
}

void frame_try_end(struct strbuf *out)
{
    wire_frame_end(out, wire_frame_begin(out, WIRE_TRY_END));
}

/* --- reports ---------------------------------------------------------------------------------- */

bool frame_tried(struct wire_reader *r, struct net_tried *ret)
{
    *ret = (struct net_tried){.id = wire_get_u32(r), .error = (int32_t)wire_get_u32(r)};
    ret->port = wire_get_u32(r);
    ret->latency = wire_get_i64(r);
    ret->bytes = wire_get_i64(r);
    ret->took = wire_get_i64(r);
    return wire_done(r) && ret->port <= UINT16_MAX && ret->error <= 0 && ret->latency >= 0 &&
           ret->bytes >= 0 && ret->took >= 0;
}

static struct ending read_ending(uint32_t status, ns_t at)
{
    return (struct ending){
        .at = at,
        .known = true,
        .code = WIFEXITED(status) ? (int)WEXITSTATUS(status) : -1,
        .signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0,
        .max_rss = -1,
        .memory_limit = -1,
        .memory_peak = -1,
    };
}

static void read_memory(struct wire_reader *r, struct ending *end)
{
    end->max_rss = wire_get_i64(r);
    uint32_t oom = wire_get_u32(r);
    end->oom_nearby = oom == OOM_NEARBY;
    end->oom = oom == OOM_ITSELF || end->oom_nearby;
    end->oom_in = oom >= OOM_IN && !end->oom_nearby ? oom - OOM_IN + 1 : 0;
    end->memory_limit = wire_get_i64(r);
    end->memory_peak = wire_get_i64(r);
    (void)snprintf(end->memory_of, sizeof(end->memory_of), "%s", wire_get_str(r));
    end->shm_size = wire_get_i64(r);
    end->shm_free = wire_get_i64(r);
}

static enum blame_kind read_blame(uint32_t why)
{
    static const enum blame_kind kinds[] = {[LAUNCH_DAEMON] = BLAME_DAEMON,
                                            [LAUNCH_AGENT] = BLAME_AGENT,
                                            [LAUNCH_SIGNAL] = BLAME_SIGNAL};

    return why < ARRAY_SIZE(kinds) ? kinds[why] : BLAME_NONE;
}

static uint32_t read_launch(struct wire_reader *r, struct frame_launch *ret)
{
    struct frame_launch l = {.number = wire_get_u32(r)};

    l.origin = wire_get_str(r);
    l.id = wire_get_str(r);
    if (ret)
        *ret = l;
    return l.number;
}

/* A rank that its wrapper could not execute; its status says the same less clearly. */
static void read_exec_error(struct wire_reader *r, struct ending *end)
{
    int error = (int)wire_get_u32(r);
    const char *program = wire_get_str(r);

    if (error >= 0 || error < -LIMIT_ERRNO || !end->known)
        return;
    end->exec_errno = error;
    end->code = -1;
    (void)snprintf(end->exec_what, sizeof(end->exec_what), "exec");
    (void)snprintf(end->program, sizeof(end->program), "%s", program ? program : "");
}

bool frame_observation(enum wire_type type, struct wire_reader *r, struct observation *o,
                       struct frame_launch *ret_launch)
{
    uint32_t status, known;

    switch (type) {
    case WIRE_OPENED:
        o->kind = OBS_OPENED;
        o->replica = wire_get_u32(r);
        o->at = wire_get_i64(r);
        break;
    case WIRE_STARTED:
        o->kind = OBS_STARTED;
        o->process = wire_get_u32(r);
        o->instance = wire_get_u32(r);
        (void)wire_get_u32(r); /* its pid, which means nothing outside */
        o->at = wire_get_i64(r);
        break;
    case WIRE_SPAWN_FAILED:
        o->kind = OBS_SPAWN_FAILED;
        o->process = wire_get_u32(r);
        o->instance = wire_get_u32(r);
        o->end = (struct ending){.known = true, .code = -1, .max_rss = -1};
        o->end.exec_errno = (int)wire_get_u32(r);
        (void)snprintf(o->end.exec_what, sizeof(o->end.exec_what), "%s", wire_get_str(r));
        o->at = wire_get_i64(r);
        break;
    case WIRE_EXITED:
        o->kind = OBS_EXITED;
        o->process = wire_get_u32(r);
        o->instance = wire_get_u32(r);
        status = wire_get_u32(r);
        o->at = wire_get_i64(r);
        o->end = read_ending(status, o->at);
        read_memory(r, &o->end);
        (void)snprintf(o->end.left, sizeof(o->end.left), "%s", wire_get_str(r));
        o->end.unobserved = wire_get_u32(r) != 0;
        o->end.by_itself = wire_get_u32(r) != 0;
        break;
    case WIRE_RANK_STARTED:
        o->kind = OBS_RANK_STARTED;
        o->replica = wire_get_u32(r);
        o->launch = read_launch(r, ret_launch);
        o->rank = wire_get_u32(r);
        o->size = wire_get_u32(r);
        (void)wire_get_u32(r); /* pid */
        o->forwarded = wire_get_u32(r) != 0;
        o->at = wire_get_i64(r);
        o->log = wire_get_str(r);
        o->began = wire_get_i64(r);
        o->program = wire_get_i64(r);
        break;
    case WIRE_RANK_EXITED:
        o->kind = OBS_RANK_EXITED;
        o->replica = wire_get_u32(r);
        o->launch = read_launch(r, ret_launch);
        o->rank = wire_get_u32(r);
        known = wire_get_u32(r);
        status = wire_get_u32(r);
        o->at = wire_get_i64(r);
        o->end = read_ending(status, o->at);
        o->end.known = known != 0;
        read_memory(r, &o->end);
        o->end.told = wire_get_i64(r);
        read_exec_error(r, &o->end);
        break;
    case WIRE_LAUNCH_BLAMED:
        o->kind = OBS_BLAMED;
        o->launch = read_launch(r, ret_launch);
        o->blame = read_blame(wire_get_u32(r));
        o->replica = wire_get_u32(r);
        known = wire_get_u32(r);
        status = wire_get_u32(r);
        o->at = wire_get_i64(r);
        o->end = read_ending(status, o->at);
        o->end.known = known != 0;
        break;
    case WIRE_LAUNCH_OVER:
        o->kind = OBS_MPIRUN_ENDED;
        o->launch = read_launch(r, ret_launch);
        o->at = wire_get_i64(r);
        known = wire_get_u32(r);
        status = wire_get_u32(r);
        o->end = read_ending(status, o->at);
        o->end.known = known != 0;
        o->began = wire_get_i64(r);
        o->program = wire_get_i64(r);
        o->end.unobserved = wire_get_u32(r) != 0;
        break;
    default:
        return false;
    }
    return wire_done(r);
}
