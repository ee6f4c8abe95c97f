/* plan.c - from a spec to replicas, hosts, addresses and processes.
 *
 * Not here: names of hosts (hosts.c), the mpirun line and the hostfile (mpi.c), environments
 * (env*.c), notes (notes.c).
 */
#include "plan/plan.h"

#include <arpa/inet.h>
#include <string.h>

#include "base/limits.h"
#include "base/strbuf.h"
#include "doc/json.h"
#include "plan/command.h"
#include "plan/env.h"
#include "plan/hosts.h"
#include "plan/mode.h"
#include "plan/mpi.h"
#include "plan/notes.h"
#include "plan/relocate.h"
#include "plan/tasks.h"
#include "plan/values.h"

#define LOOPBACK_ADDRESSES 0x7f010000u /* 127.1.0.0; replicas count from .1 on */

const char *mpi_impl_words(enum mpi_impl impl)
{
    static const char *const words[] = {
        [MPI_NOT_FOUND] = "no MPI",      [MPI_OPEN_MPI_4] = "Open MPI 4",
        [MPI_OPEN_MPI_5] = "Open MPI 5", [MPI_HYDRA] = "MPICH (Hydra)",
        [MPI_INTEL] = "Intel MPI",       [MPI_UNKNOWN] = "an unknown MPI",
    };
    return words[impl];
}

const char *origin_name(enum origin o)
{
    static const char *const names[] = {
        [ORIGIN_JOB] = "job",       [ORIGIN_DIALECT] = "dialect", [ORIGIN_FRAMEWORK] = "framework",
        [ORIGIN_MUSTER] = "muster", [ORIGIN_CALLER] = "caller",
    };
    return names[o];
}

bool isolation_is(const struct facts *facts, const char *level)
{
    return facts->site.isolation && strcmp(facts->site.isolation, level) == 0;
}

/* --- replicas and processes ------------------------------------------------------------------- */

struct builder {
    struct arena *arena;
    const struct job_spec *spec;
    const struct facts *facts;
    struct plan *plan;
    struct replica *replicas;
    struct process *processes;
    struct notes notes;
    const char **shells; /* per role: its shell text with its values */
    const int *port;     /* the next of site.ports, in spec order */
};

const struct plan_port *plan_port(const struct replica *replica, const char *label)
{
    for (size_t i = 0; i < replica->n_ports; i++)
        if (!strcmp(replica->ports[i].label, label))
            return &replica->ports[i];
    return NULL;
}

const char *plan_port_text(struct arena *a, const struct plan_port *port)
{
    auto_strbuf struct strbuf sb = STRBUF_INIT;

    for (int i = 0; i < port->n; i++)
        strbuf_addf(&sb, "%s%d", i ? "," : "", port->numbers[i]);
    return arena_strndup(a, sb.buf, sb.len);
}

const struct replica *plan_replica(const struct plan *plan, const struct role *role, int32_t index)
{
    for (uint32_t i = 0; i < plan->n_replicas; i++)
        if (plan->replicas[i].role == role)
            return &plan->replicas[i + (uint32_t)index];
    return NULL;
}

const char *plan_reachable(const struct replica *replica)
{
    return replica->named ? replica->host : replica->address;
}

/* Hands out site.ports. Not while replicas are added: those of launchers come
 * first, ports do not. */
static void assign_ports(struct builder *b)
{
    for (size_t k = 0; k < b->spec->n_roles; k++) {
        const struct role *role = &b->spec->roles[k];

        for (uint32_t i = 0; role->n_ports && i < b->plan->n_replicas; i++) {
            struct replica *rp = &b->replicas[i];
            struct plan_port *ports;

            if (rp->role != role)
                continue;
            ports = ARENA_ARRAY(b->arena, struct plan_port, role->n_ports);
            rp->ports = ports;
            for (size_t n = 0; n < role->n_ports; n++) {
                const struct port_request *want = &role->ports[n];

                if (!port_applies(want, rp->index))
                    continue;
                ports[rp->n_ports++] =
                    (struct plan_port){.label = want->label, .numbers = b->port, .n = want->count};
                b->port += want->count;
            }
        }
    }
}

static int64_t processes_in(const struct role *role, int32_t index)
{
    return role->kind == ROLE_PLAIN && !role->own_slots ? tasks_in_replica(role, index) : 1;
}

static int64_t processes_of(const struct role *role)
{
    int64_t n = 0;

    if (!role->n_tasks)
        return role->replicas * processes_in(role, 0);
    for (int32_t i = 0; i < role->replicas; i++)
        n += processes_in(role, i);
    return n;
}

static int check_counts(const struct job_spec *spec, const struct facts *facts,
                        uint32_t *ret_replicas, uint32_t *ret_processes, struct err *e)
{
    int64_t replicas = 0, processes = 0, ranks = 0;

    for (size_t i = 0; i < spec->n_roles; i++) {
        const struct role *role = &spec->roles[i];

        replicas += role->replicas;
        processes += processes_of(role);
    }
    if (replicas > LIMIT_REPLICAS)
        return err_set(e, -EINVAL, "%lld replicas are more than the limit of %d",
                       (long long)replicas, LIMIT_REPLICAS);
    if (facts->site.network && replicas > LIMIT_NETWORK_REPLICAS)
        return err_set(e, -EINVAL,
                       "%lld replicas are more than the limit of %d at isolation level `network`",
                       (long long)replicas, LIMIT_NETWORK_REPLICAS);
    if (spec->framework == FRAMEWORK_MPI)
        ranks = mpi_layout_of(spec).world;
    if (processes > LIMIT_PROCESSES || ranks > LIMIT_PROCESSES)
        return err_set(e, -EINVAL, "%lld processes are more than the limit of %d",
                       (long long)(ranks > processes ? ranks : processes), LIMIT_PROCESSES);
    *ret_replicas = (uint32_t)replicas;
    *ret_processes = (uint32_t)processes;
    return 0;
}

/* Is every process a rank? Those of `run -n` are, unless mpirun counts them. */
static bool is_ranked(const struct job_spec *spec)
{
    return spec->ranks || (!spec->file && !spec->mpi);
}

static void add_process(struct builder *b, const struct replica *rp, int32_t slot)
{
    const struct role *role = rp->role;
    struct process *p = &b->processes[b->plan->n_processes];
    bool is_rank = is_ranked(b->spec);
    struct task_place task = task_in_slot(role, rp->index, slot);
    bool idle = role->n_tasks && !task.task;

    *p = (struct process){
        .id = b->plan->n_processes,
        .replica = rp->id,
        .slot = slot,
        .rank = is_rank ? (int32_t)b->plan->n_processes : -1,
        .task = task.task,
        .task_index = task.index,
        .argv = idle ? NULL : relocate_argv(b->arena, b->plan, rp, -1, role->argv),
        .shell = idle ? NULL : relocate_shell(b->arena, b->plan, rp, b->shells[rp->role_index]),
        .shell_secret = relocate_shell(b->arena, b->plan, rp, role->shell_secret),
        .shell_kind = role->shell_kind,
    };
    b->plan->n_processes++;
    mode_of_process(b->arena, b->spec, role, p);
    if ((role->kind == ROLE_HOST || idle) && !p->debug_argv && !p->resume_argv)
        p->log = "";
    else if (is_rank)
        p->log = arena_printf(b->arena, "%s.rank-%d.log", rp->name, p->rank);
    else if (task.task)
        p->log = arena_printf(b->arena, "%s.task-%s-%d.log", rp->name, task.task->type, task.index);
    else if (rp->n_processes > 1)
        p->log = arena_printf(b->arena, "%s.process-%d.log", rp->name, slot);
    else
        p->log = arena_printf(b->arena, "%s.log", rp->name);
    if (role->kind == ROLE_LAUNCHER) {
        b->plan->launcher = (int32_t)p->id;
        if (!p->argv && !p->shell && b->spec->mpi)
            p->argv = mpi_command(b->arena, b->spec, b->facts, &b->notes);
    }
}

/* Behind Services a replica has none before it runs: others know it by name. */
static const char *address_of(struct builder *b, uint32_t id, const char *host)
{
    const struct site *site = &b->facts->site;
    uint32_t network = site->network ? site->network : LOOPBACK_ADDRESSES;
    struct in_addr address = {.s_addr = htonl(network + 1 + id)};
    char text[INET_ADDRSTRLEN];

    if (site->service)
        return host_service(b->arena, b->spec, site, host);
    return arena_strdup(b->arena, inet_ntop(AF_INET, &address, text, sizeof(text)));
}

/* A bare host name resolves in a cluster only if it is a Service's. */
static bool has_host_names(const struct builder *b)
{
    if (b->facts->site.service)
        return b->spec->platform.services == SERVICES_BY_REPLICA;
    return !isolation_is(b->facts, "none");
}

static int add_replica(struct builder *b, uint32_t role_index, int32_t index, struct err *e)
{
    const struct role *role = &b->spec->roles[role_index];
    uint32_t id = b->plan->n_replicas++;
    struct replica *rp = &b->replicas[id];
    const char *host = host_name(b->arena, b->spec, role, index);

    *rp = (struct replica){
        .id = id,
        .name = arena_printf(b->arena, "%s-%d", role->name, index),
        .role = role,
        .role_index = role_index,
        .index = index,
        .host = host,
        .address = address_of(b, id, host),
        .named = has_host_names(b),
        .first_process = b->plan->n_processes,
        .n_processes = (uint32_t)processes_in(role, index),
    };
    if (strlen(rp->host) > LIMIT_NAME)
        return err_set(e, -EINVAL, "the host name %s of %s is longer than %d characters", rp->host,
                       rp->name, LIMIT_NAME);
    for (uint32_t slot = 0; slot < rp->n_processes; slot++)
        add_process(b, rp, (int32_t)slot);
    return 0;
}

static int add_roles(struct builder *b, bool launchers, struct err *e)
{
    for (uint32_t i = 0; i < b->spec->n_roles; i++) {
        const struct role *role = &b->spec->roles[i];

        if ((role->kind == ROLE_LAUNCHER) != launchers)
            continue;
        for (int32_t index = 0; index < role->replicas; index++) {
            int r = add_replica(b, i, index, e);

            if (r < 0)
                return r;
        }
    }
    return 0;
}

/* --- what is written for the job -------------------------------------------------------------- */

/* Azure ML's is a directory of this machine, which is sent. A command's is the caller's, which
 * nobody else has. Others name one of the container, or one beside the job file. */
static const char *workdir_elsewhere(struct arena *a, const struct job_spec *spec,
                                     const struct site *site, const char *asked)
{
    if (!spec->file || (site->code && platform_sends_workdir(spec->platform.environment)))
        return site->code;
    if (asked && asked[0] == '/')
        return asked;
    if (!site->code || !asked || !strcmp(asked, ".") || !strcmp(asked, "./"))
        return site->code;
    return arena_printf(a, "%s/%s", site->code, asked + 2 * !strncmp(asked, "./", 2));
}

static const char *const *workdirs_of(struct arena *a, const struct job_spec *spec,
                                      const struct facts *facts)
{
    const char **dirs = ARENA_ARRAY(a, const char *, spec->n_roles);

    for (size_t i = 0; i < spec->n_roles; i++) {
        const char *asked = spec->roles[i].workdir;

        if (facts->site.elsewhere)
            dirs[i] = workdir_elsewhere(a, spec, &facts->site, asked);
        else if (!spec->file)
            dirs[i] = asked ? asked : facts->caller.dir;
        else if (!asked || !facts->machine.workdir_ok[i])
            dirs[i] = spec->dir;
        else if (asked[0] == '/')
            dirs[i] = asked;
        else
            dirs[i] = arena_printf(a, "%s/%s", spec->dir, asked + 2 * !strncmp(asked, "./", 2));
    }
    return dirs;
}

void plan_ports_json(struct json *j, const struct replica *replica)
{
    json_key(j, "ports");
    json_object(j);
    for (size_t i = 0; i < replica->n_ports; i++) {
        const struct plan_port *port = &replica->ports[i];

        json_key(j, port->label);
        if (port->n == 1) {
            json_int(j, port->numbers[0]);
            continue;
        }
        json_array(j);
        for (int n = 0; n < port->n; n++)
            json_int(j, port->numbers[n]);
        json_end(j);
    }
    json_end(j);
}

static const char *peers_text(struct arena *a, const struct plan *plan)
{
    auto_strbuf struct strbuf sb = STRBUF_INIT;
    struct json j = JSON_COMPACT(&sb);

    json_array(&j);
    for (uint32_t i = 0; i < plan->n_replicas; i++) {
        const struct replica *rp = &plan->replicas[i];

        json_object(&j);
        json_kv_str(&j, "replica", rp->name);
        json_kv_str(&j, "role", rp->role->name);
        json_kv_int(&j, "index", rp->index);
        json_kv_str(&j, "host", rp->host);
        json_kv_str(&j, "address", rp->address);
        plan_ports_json(&j, rp);
        json_end(&j);
    }
    json_end(&j);
    return arena_strndup(a, sb.buf, sb.len);
}

static void plan_mpi(struct builder *b)
{
    struct plan *plan = b->plan;
    bool hydra = mpi_is_hydra(b->facts->machine.mpi);

    if (b->spec->framework == FRAMEWORK_MPI)
        plan->world = (int32_t)mpi_ranks_expected(b->arena, b->spec);
    plan->calls_mpi = true;
    plan->hostfile = mpi_hostfile(b->arena, plan, hydra);
    plan->other_hostfile = mpi_hostfile(b->arena, plan, !hydra);
    plan->other_hostfile_name = mpi_hostfile_name(b->facts, !hydra);
    mpi_operator_files(b->arena, plan);
    /* Hydra has no fork agent: there the wrapper is part of the line that Muster composes. */
    plan->rank_wrapper = !hydra || b->spec->mpi || b->facts->site.elsewhere;
}

/* What a process's argv says depends on its environment, which needs the rest of the plan. */
static void expand_commands(struct builder *b)
{
    for (uint32_t i = 0; i < b->plan->n_processes; i++)
        b->processes[i].argv =
            command_expand(b->arena, b->plan, &b->processes[i], FIRST_START, true);
}

int plan_build(struct arena *a, const struct job_spec *spec, const struct facts *facts,
               const struct plan **ret, struct err *e)
{
    struct plan *plan = ARENA_NEW(a, struct plan);
    struct builder b = {.arena = a,
                        .spec = spec,
                        .facts = facts,
                        .plan = plan,
                        .notes = {.arena = a},
                        .port = facts->site.ports};
    uint32_t n_replicas = 0, n_processes = 0;
    int r = check_counts(spec, facts, &n_replicas, &n_processes, e);

    if (r < 0)
        return r;
    b.replicas = ARENA_ARRAY(a, struct replica, n_replicas);
    b.processes = ARENA_ARRAY(a, struct process, n_processes);
    b.shells = ARENA_ARRAY(a, const char *, spec->n_roles);
    for (size_t i = 0; i < spec->n_roles; i++)
        b.shells[i] = values_fill(a, spec, facts, spec->roles[i].shell);
    *plan = (struct plan){
        .spec = spec,
        .facts = facts,
        .replicas = b.replicas,
        .processes = b.processes,
        .launcher = -1,
        .world = is_ranked(spec) ? (int32_t)n_processes : -1,
        .workdirs = workdirs_of(a, spec, facts),
    };
    plan->n_passed_on = env_passed_on(a, facts, &plan->passed_on);
    r = add_roles(&b, true, e);
    if (r >= 0)
        r = add_roles(&b, false, e);
    if (r < 0)
        return r;
    assign_ports(&b);
    if (spec_calls_mpi(spec))
        plan_mpi(&b);
    expand_commands(&b);
    if (!facts->site.service && !facts->site.operated)
        plan->hosts_file = hosts_text(a, plan);
    plan->peers_json = peers_text(a, plan);
    notes_collect(&b.notes, plan);
    notes_sort(&b.notes);
    plan->notes = b.notes.v;
    plan->n_notes = b.notes.n;
    *ret = plan;
    return 0;
}
