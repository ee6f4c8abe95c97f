/* frames.c - the plan's part of what is asked of the shim, and the shim's reports.
 *
 * Only bytes: when something is sent, and to whom, is local.c's business. No clock and no I/O but the
 * machine's /etc/hosts. The layout of every frame is in shim/wire.h.
 */
#include "engine/local/frames.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

#include "base/io.h"
#include "base/limits.h"
#include "engine/local/volumes.h"

/* --- requests --------------------------------------------------------------------------------- */

/* The job's own names come first and win; the machine's stay known. */
static void put_hosts(struct strbuf *out, const struct plan *plan)
{
    auto_strbuf struct strbuf hosts = STRBUF_INIT;

    strbuf_addstr(&hosts, plan->hosts_file);
    (void)io_read_file(AT_FDCWD, "/etc/hosts", LIMIT_FILE_BYTES, &hosts, NULL);
    wire_put_str(out, hosts.buf);
}

void frame_setup(struct strbuf *out, const struct plan *plan)
{
    const struct facts *f = plan->facts;
    auto_arena struct arena *a = arena_new();
    const struct table_range *tables = volumes_tables(a, plan);
    size_t at = wire_frame_begin(out, WIRE_SETUP);

    wire_put_u32(out, WIRE_VERSION);
    wire_put_str(out, f->run_id);
    wire_put_str(out, f->run_dir);
    wire_put_str(out, f->scratch_dir);
    put_hosts(out, plan);
    wire_put_u32(out, plan->n_replicas);
    for (uint32_t i = 0; i < plan->n_replicas; i++) {
        const struct replica *r = &plan->replicas[i];
        bool limits = f->cgroup_limits && r->role->kind != ROLE_LAUNCHER;
        wire_put_str(out, r->name);
        wire_put_str(out, r->host);
        wire_put_str(out, r->address);
        wire_put_i64(out, limits ? r->role->res.cpu_limit_milli : -1);
        wire_put_i64(out, limits ? r->role->res.memory_limit : -1);
        wire_put_i64(out, r->role->res.shm);
        wire_put_u32(out, tables[i].first);
        wire_put_u32(out, tables[i].n);
    }
    volumes_put(out, plan);
    wire_frame_end(out, at);
}

static void put_variables(struct strbuf *out, struct arena *a, const struct env_value *env,
                          size_t n)
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

    put_variables(out, a, env, n);
}

/* Text that holds a secret is handed over apart from the words, which anyone can list. */
static uint32_t spawn_flags(const struct plan *plan, const struct process *p, struct start start)
{
    bool reads_stdin = plan->n_processes == 1 && !plan->spec->file;

    return (reads_stdin ? SPAWN_STDIN : 0) | (process_hides_script(p, start) ? SPAWN_SCRIPT : 0) |
           (process_beside(p, start) ? SPAWN_STAY : 0);
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

void frame_spawn(struct strbuf *out, const struct plan *plan, uint32_t process, struct start start)
{
    auto_arena struct arena *a = arena_new();
    const struct process *p = &plan->processes[process];
    size_t at = wire_frame_begin(out, WIRE_SPAWN);
    char log[PLAN_LOG_NAME];

    wire_put_u32(out, process);
    wire_put_u32(out, p->replica);
    wire_put_u32(out, spawn_flags(plan, p, start));
    wire_put_str(out, plan_workdir(a, plan, &plan->replicas[p->replica]));
    wire_put_str(out, plan_log_name(p, start, log));
    wire_put_strs(out, spawn_words(a, plan, p, start));
    put_environment(out, a, plan, process, start);
    if (process_hides_script(p, start))
        wire_put_str(out, arena_printf(a, WIRE_SCRIPT_BEGIN "%s", p->shell_secret));
    wire_frame_end(out, at);
}

void frame_init(struct strbuf *out, const struct plan *plan, uint32_t replica, size_t i,
                struct start start)
{
    auto_arena struct arena *a = arena_new();
    const struct replica *r = &plan->replicas[replica];
    const struct env_value *env;
    size_t n = plan_init_env(a, plan, r, i, start, false, &env);
    size_t at = wire_frame_begin(out, WIRE_SPAWN);
    char log[PLAN_LOG_NAME];

    wire_put_u32(out, plan->n_processes + replica);
    wire_put_u32(out, replica);
    wire_put_u32(out, SPAWN_INIT);
    wire_put_str(out, plan_init_workdir(a, plan, r, i));
    wire_put_str(out, plan_init_log(r, r->role->init[i].name, start, log));
    wire_put_strs(out, plan_init_argv(a, plan, r, i, start, false));
    put_variables(out, a, env, n);
    wire_put_u32(out, plan->facts->mounts ? (uint32_t)i + 1 : 0);
    wire_frame_end(out, at);
}

void frame_open(struct strbuf *out, const struct plan *plan, uint32_t replica, uint32_t attempt)
{
    auto_arena struct arena *a = arena_new();
    const struct replica *r = &plan->replicas[replica];
    size_t at = wire_frame_begin(out, WIRE_SPAWN);

    wire_put_u32(out, r->first_process);
    wire_put_u32(out, replica);
    wire_put_u32(out, SPAWN_OPEN);
    wire_put_str(out, plan_workdir(a, plan, r));
    wire_put_str(out, "");
    wire_put_strs(out, NULL);
    put_environment(out, a, plan, r->first_process,
                    (struct start){.attempt = attempt, .instance = 1});
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

void frame_kill(struct strbuf *out)
{
    size_t at = wire_frame_begin(out, WIRE_STOP);

    wire_put_u32(out, SCOPE_ALL);
    wire_put_u32(out, 0);
    wire_frame_end(out, at);
}

/* --- reports ---------------------------------------------------------------------------------- */

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
    end->oom = oom == OOM_ITSELF;
    end->oom_in = oom >= OOM_IN ? oom - OOM_IN + 1 : 0;
    end->memory_limit = wire_get_i64(r);
    end->memory_peak = wire_get_i64(r);
}

bool frame_observation(enum wire_type type, struct wire_reader *r, struct observation *o)
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
        (void)wire_get_u32(r); /* its pid, which means nothing outside */
        o->at = wire_get_i64(r);
        break;
    case WIRE_SPAWN_FAILED:
        o->kind = OBS_SPAWN_FAILED;
        o->process = wire_get_u32(r);
        o->end = (struct ending){.known = true, .code = -1, .max_rss = -1};
        o->end.exec_errno = (int)wire_get_u32(r);
        (void)snprintf(o->end.exec_what, sizeof(o->end.exec_what), "%s", wire_get_str(r));
        o->at = wire_get_i64(r);
        break;
    case WIRE_EXITED:
        o->kind = OBS_EXITED;
        o->process = wire_get_u32(r);
        status = wire_get_u32(r);
        o->at = wire_get_i64(r);
        o->end = read_ending(status, o->at);
        read_memory(r, &o->end);
        break;
    case WIRE_RANK_STARTED:
        o->kind = OBS_RANK_STARTED;
        o->replica = wire_get_u32(r);
        o->launch = wire_get_u32(r);
        o->rank = wire_get_u32(r);
        o->size = wire_get_u32(r);
        (void)wire_get_u32(r); /* pid */
        o->forwarded = wire_get_u32(r) != 0;
        o->at = wire_get_i64(r);
        o->log = wire_get_str(r);
        break;
    case WIRE_RANK_EXITED:
        o->kind = OBS_RANK_EXITED;
        o->replica = wire_get_u32(r);
        o->launch = wire_get_u32(r);
        o->rank = wire_get_u32(r);
        known = wire_get_u32(r);
        status = wire_get_u32(r);
        o->at = wire_get_i64(r);
        o->end = read_ending(status, o->at);
        o->end.known = known != 0;
        read_memory(r, &o->end);
        break;
    default:
        return false;
    }
    return wire_done(r);
}
