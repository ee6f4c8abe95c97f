/* setup.c - what only a shim on this machine is asked for: to set up all replicas, and to run init
 * commands. No I/O but the machine's /etc/hosts.
 */
#include "engine/local/setup.h"

#include <fcntl.h>

#include "base/clock.h"
#include "base/io.h"
#include "base/limits.h"
#include "engine/frames.h"
#include "engine/local/hosts.h"
#include "engine/local/overlay.h"
#include "engine/local/volumes.h"

static void put_hosts(struct strbuf *out, const struct plan *plan)
{
    auto_strbuf struct strbuf hosts = STRBUF_INIT, machine = STRBUF_INIT;

    strbuf_addstr(&hosts, plan->hosts_file);
    if (io_read_file(AT_FDCWD, "/etc/hosts", LIMIT_FILE_BYTES, &machine, NULL) == 0 && machine.len)
        hosts_add_machine(&hosts, plan->hosts_file, machine.buf);
    wire_put_str(out, hosts.buf);
}

void frame_setup(struct strbuf *out, const struct plan *plan, bool waits, uint32_t attempt)
{
    const struct facts *f = plan->facts;
    auto_arena struct arena *a = arena_new();
    const struct table_range *tables = volumes_tables(a, plan);
    size_t at = wire_frame_begin(out, WIRE_SETUP);

    wire_put_u32(out, WIRE_VERSION);
    wire_put_u32(out, waits ? SETUP_WAITS : 0);
    wire_put_u32(out, attempt);
    wire_put_i64(out, clock_run_base());
    wire_put_str(out, f->site.run_id);
    wire_put_str(out, f->site.run_dir);
    wire_put_str(out, f->site.scratch_dir);
    put_hosts(out, plan);
    wire_put_u32(out, plan->n_replicas);
    for (uint32_t i = 0; i < plan->n_replicas; i++) {
        const struct replica *r = &plan->replicas[i];
        bool limits = f->machine.cgroup_limits;
        wire_put_str(out, r->name);
        wire_put_str(out, r->host);
        wire_put_str(out, r->address);
        wire_put_i64(out, limits ? r->role->res.cpu_limit_milli : -1);
        wire_put_i64(out, limits ? r->role->res.memory_limit : -1);
        wire_put_i64(out, r->role->res.shm);
        wire_put_u32(out, tables[i].first);
        wire_put_u32(out, tables[i].n);
    }
    overlay_put(out, plan);
    volumes_put(out, plan);
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
    wire_put_u32(out, (uint32_t)i + 1);
    wire_put_u32(out, replica);
    wire_put_u32(out, SPAWN_INIT);
    wire_put_str(out, plan_init_workdir(a, plan, r, i));
    wire_put_str(out, plan_init_log(r, r->role->init[i].name, start, log));
    wire_put_strs(out, plan_init_argv(a, plan, r, i, start, false));
    frame_variables(out, a, env, n);
    wire_put_u32(out, plan->facts->site.mounts ? (uint32_t)i + 1 : 0);
    wire_frame_end(out, at);
}
