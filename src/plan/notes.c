/* notes.c - what the job asks for and this machine does differently, each as one sentence.
 *
 * A warning says that the job may behave differently; a note that something was left aside. Options
 * that a found mpirun does not know are noted where the line is made (mpi.c); what is in the
 * commands themselves, in lints.c.
 */
#include "plan/notes.h"

#include <string.h>

#include "base/num.h"
#include "base/strbuf.h"
#include "plan/env.h"
#include "plan/lints.h"
#include "plan/mpi.h"

/* --- the job ------------------------------------------------------------------------------------
 */

static void note_mode(struct notes *ns, const struct plan *plan)
{
    const struct job_spec *spec = plan->spec;

    if (spec->debug)
        note_add(
            ns, SEV_WARNING,
            "debug mode: replicas start without their commands; `muster resume` starts the job");
    if (spec->pause)
        note_weigh(ns, NOTE_FAILS, SEV_WARNING, "the job starts paused; `muster resume` starts it");
}

static void note_isolation(struct notes *ns, const struct plan *plan)
{
    const struct facts *facts = plan->facts;

    if (facts->site.isolation_why)
        note_add(ns, SEV_WARNING, "using isolation level `%s`: %s", facts->site.isolation,
                 facts->site.isolation_why);
    if (isolation_is(facts, "network"))
        note_add(
            ns, SEV_NOTE,
            "isolation level `network`: the job has no route to other networks; downloads fail");
    if (isolation_is(facts, "network") && plan->n_replicas > LIMIT_NEIGHBOURS)
        note_weigh(
            ns, NOTE_SIZE, SEV_WARNING,
            "more than %d replicas at isolation level `network`: the kernel's neighbour table "
            "is too small for all-to-all traffic; as root: sysctl "
            "net.ipv4.neigh.default.gc_thresh3=%u",
            LIMIT_NEIGHBOURS, plan->n_replicas * plan->n_replicas);
    if (isolation_is(facts, "none"))
        note_add(ns, SEV_NOTE,
                 "isolation level `none`: every replica has this machine's host name, replica host "
                 "names resolve only for ssh, rsh and mpirun, and variables contain addresses; "
                 "leftover processes are killed as far as they can be found");
}

/* A waiting replica would have had the size it asks for. */
static void note_shm(struct notes *ns, const struct plan *plan, const struct role *role)
{
    char text[DURATION_TEXT];

    if (isolation_is(plan->facts, "none") && role->res.shm >= 0)
        note_role(ns, role, NOTE_SIZE, SEV_NOTE,
                  "/dev/shm of %s is not set up at isolation level `none`; using the machine's",
                  bytes_text(role->res.shm, text));
}

/* Options that only the other implementation knows will not work. */
static void note_implementation(struct notes *ns, const struct plan *plan)
{
    const char *asked = plan->spec->implementation;
    bool hydra = asked && strcmp(asked, "OpenMPI") != 0;

    if (asked && plan->facts->machine.mpirun && hydra != mpi_is_hydra(plan->facts->machine.mpi))
        note_add(ns, SEV_NOTE, "the file requires %s; using %s", asked,
                 mpi_impl_words(plan->facts->machine.mpi));
}

static void note_mpi(struct notes *ns, const struct plan *plan)
{
    const struct facts *facts = plan->facts;
    const struct mpi_spec *mpi = plan->spec->mpi;

    if (!plan->calls_mpi)
        return;
    if (facts->machine.mpirun)
        note_add(ns, SEV_NOTE, "%s is %s%s%s", facts->machine.mpirun,
                 mpi_impl_words(facts->machine.mpi), facts->machine.mpi_version ? ", version " : "",
                 facts->machine.mpi_version ? facts->machine.mpi_version : "");
    else
        note_weigh(ns, NOTE_FAILS, SEV_WARNING, "mpirun not found; install openmpi-bin or mpich");
    if (!mpi)
        return;
    if (mpi->home && !facts->machine.mpi_home_ok)
        note_add(ns, SEV_WARNING, "mpirun not found in %s/bin%s%s%s", mpi->home,
                 facts->machine.mpirun ? "; using " : " or in PATH",
                 facts->machine.mpirun ? facts->machine.mpirun : "",
                 facts->machine.mpirun ? " from PATH" : "");
    if (mpi->home && facts->machine.mpi_home_ok && !facts->machine.mpi_prefix_ok &&
        !mpi_is_hydra(facts->machine.mpi))
        note_add(ns, SEV_NOTE, "--prefix %s is ignored: its bin has no daemon for the workers",
                 mpi->home);
    if (mpi->sshd_path && !facts->machine.sshd_ok)
        note_add(ns, SEV_NOTE, "%s not found; not needed: mpirun starts ranks without sshd",
                 mpi->sshd_path);
    if (mpi->recovery && facts->machine.mpi != MPI_OPEN_MPI_5 && !mpi_is_hydra(facts->machine.mpi))
        note_add(
            ns, SEV_NOTE,
            "--enable-recovery makes mpirun hide a failed rank or wait forever; Muster watches "
            "every rank and ends the job");
}

static void note_slots(struct notes *ns, const struct plan *plan)
{
    if (plan->spec->framework != FRAMEWORK_MPI)
        return;

    struct mpi_layout layout = mpi_layout_of(plan->spec);

    for (size_t i = 0; i < plan->spec->n_roles; i++) {
        const struct role *role = &plan->spec->roles[i];

        if (role->kind == ROLE_HOST && role->slots_kind != SLOTS_NUMBER && layout.np)
            note_role(ns, role, NOTE_REPLACED, SEV_NOTE,
                      "slots not set; defaults to %lld per replica (%lld ranks on %lld)",
                      (long long)layout.default_slots, (long long)layout.np,
                      (long long)layout.hosts);
    }
}

/* Where the file wants the job to run. Names only: no cluster is asked. */
static void note_target(struct notes *ns, const struct plan *plan)
{
    const struct job_spec *spec = plan->spec;

    if (spec->target_type)
        note_add(ns, SEV_NOTE, "compute.type %s is ignored; running on this machine",
                 spec->target_type);
    if (spec->target)
        note_add(ns, SEV_NOTE, "compute target %s is ignored; running on this machine",
                 spec->target);
}

static void note_gpus(struct notes *ns, const struct plan *plan)
{
    const struct facts *facts = plan->facts;
    const struct job_spec *spec = plan->spec;
    int64_t all = 0;

    for (size_t i = 0; i < spec->n_roles; i++)
        if (spec->roles[i].res.gpu > 0)
            all += spec->roles[i].res.gpu * spec->roles[i].replicas;
    if (all == 0)
        return;
    if (facts->machine.gpus_pretended && all > facts->machine.gpus)
        note_weigh(ns, NOTE_GPUS, SEV_WARNING, "the job requests %lld GPUs, --gpus provides %d",
                   (long long)all, facts->machine.gpus);
    else if (!facts->machine.gpus_pretended && all <= facts->machine.gpus)
        note_weigh(ns, NOTE_GPUS, SEV_NOTE,
                   "the job uses the first %lld GPUs of this machine; they are not reserved",
                   (long long)all);
}

/* What a cluster would do with a job that has ended. Here nothing of it runs on, and what it wrote
 * is kept for whoever looks for it, as long as that of any other run. */
static void note_afterwards(struct notes *ns, const struct plan *plan)
{
    const struct job_spec *spec = plan->spec;
    char text[DURATION_TEXT];

    if (spec->clean_up == CLEAN_UP_NONE)
        note_add(ns, SEV_NOTE,
                 "clean-up policy None is ignored: replicas still running when the job ends are "
                 "stopped");
    else if (spec->clean_up != CLEAN_UP_UNSAID)
        note_add(ns, SEV_NOTE, "clean-up policy %s does not remove logs",
                 spec->clean_up == CLEAN_UP_ALL ? "All" : "Running");
    if (spec->has_ttl)
        note_add(
            ns, SEV_NOTE,
            "time to live of %s after the end is ignored: the run directory is kept until there "
            "are %d newer ones",
            duration_text(spec->ttl_s * 1000, text), LIMIT_RUNS_KEPT);
}

/* `run -n` passes on everything but what makes a process a rank: a caller's MASTER_PORT may be
 * taken by another run, the one that Muster sets is reserved. */
static void note_replaced_env(struct notes *ns, const struct plan *plan)
{
    struct env_set set = {.arena = ns->arena};
    auto_strbuf struct strbuf names = STRBUF_INIT, force = STRBUF_INIT;
    uint32_t port = 0;

    if (!plan->facts->caller.inherit_all)
        return;
    env_make(&set, plan, &plan->processes[0], true);
    for (size_t i = 0; i < plan->n_passed_on; i++) {
        const struct env_value *given = &plan->passed_on[i], *made = env_get(&set, given->name);

        if (!made || made->origin != ORIGIN_FRAMEWORK)
            continue;
        strbuf_addf(&names, "%s%s", names.len ? ", " : "", given->name);
        if (strcmp(given->name, "MASTER_PORT") == 0)
            (void)num_u32(given->value, &port);
    }
    if (names.len == 0)
        return;
    if (port > 0)
        strbuf_addf(&force, "; to use port %u: -- env MASTER_PORT=%u CMD…", port, port);
    note_add(ns, SEV_WARNING,
             "ignoring %s from your environment: Muster sets %s for every process%s", names.buf,
             strchr(names.buf, ',') ? "them" : "it", force.buf);
}

/* --- its roles ----------------------------------------------------------------------------------
 */

static void note_place(struct notes *ns, const struct plan *plan, const struct role *role)
{
    size_t i = (size_t)(role - plan->spec->roles);

    if (plan->spec->file && role->workdir && !plan->facts->machine.workdir_ok[i])
        note_add(ns, SEV_WARNING, "working directory %s does not exist; running in %s",
                 role->workdir, plan->workdirs[i]);
    note_image(ns, plan, role);
}

/* A container without a command runs its image's own, which is not here. */
static void note_entry_point(struct notes *ns, const struct plan *plan, const struct role *role)
{
    bool composed = role->kind == ROLE_LAUNCHER && plan->spec->mpi;

    if (role->argv || role->shell || role->kind == ROLE_HOST || composed)
        return;
    note_weigh(ns, NOTE_FAILS, SEV_WARNING,
               "%s has no command: the entry point of %s is not available locally; use "
               "--entrypoint %s='CMD'",
               role->name, role->image ? role->image : "its image", role->name);
}

static void note_limits(struct notes *ns, const struct plan *plan, const struct role *role)
{
    const struct resources *r = &role->res;
    const struct facts *facts = plan->facts;
    char have[DURATION_TEXT], want[DURATION_TEXT];

    if (r->cpu_limit_milli == QUANTITY_UNSET && r->memory_limit == QUANTITY_UNSET)
        return;
    if (!facts->machine.cgroup_limits)
        note_weigh(ns, NOTE_SIZE, SEV_NOTE, "CPU and memory limits are not enforced: %s",
                   facts->machine.cgroup_why ? facts->machine.cgroup_why
                                             : "no usable control group");
    else if (r->cpu_limit_milli >= 0 && r->cpu_limit_milli < 1000)
        note_role(ns, role, NOTE_SIZE, SEV_WARNING,
                  "the CPU limit %lldm is %lld %% of one core; expect heavy throttling",
                  (long long)r->cpu_limit_milli, (long long)(r->cpu_limit_milli + 9) / 10);
    if (r->cpu_limit_milli > facts->machine.cpus * INT64_C(1000))
        note_role(ns, role, NOTE_SIZE, SEV_WARNING,
                  "the CPU limit is %g cores, this machine has %d",
                  (double)r->cpu_limit_milli / 1000, facts->machine.cpus);
    if (facts->machine.memory && r->memory_limit > facts->machine.memory)
        note_role(ns, role, NOTE_SIZE, SEV_WARNING, "the memory limit is %s, this machine has %s",
                  bytes_text(r->memory_limit, want), bytes_text(facts->machine.memory, have));
}

static void note_requests(struct notes *ns, const struct plan *plan, const struct role *role)
{
    const struct resources *r = &role->res;
    const struct facts *facts = plan->facts;
    int64_t cpu = r->cpu_request_milli * role->replicas;
    char have[DURATION_TEXT], want[DURATION_TEXT];

    if (r->cpu_request_milli != QUANTITY_UNSET || r->memory_request != QUANTITY_UNSET)
        note_weigh(ns, NOTE_SIZE, SEV_NOTE, "resource requests are not reserved");
    if (cpu > facts->machine.cpus * INT64_C(1000))
        note_weigh(ns, NOTE_SIZE, SEV_WARNING, "%d × %s request %g cores, this machine has %d",
                   role->replicas, role->name, (double)cpu / 1000, facts->machine.cpus);
    if (facts->machine.memory && r->memory_request > facts->machine.memory / role->replicas)
        note_weigh(ns, NOTE_SIZE, SEV_WARNING,
                   "%d × %s request %s of memory each, this machine has %s", role->replicas,
                   role->name, bytes_text(r->memory_request, want),
                   bytes_text(facts->machine.memory, have));
}

static void note_devices(struct notes *ns, const struct plan *plan, const struct role *role)
{
    const struct facts *facts = plan->facts;
    int64_t gpu = role->res.gpu;
    const char *given =
        role->replicas ? plan_gpus(ns->arena, plan, plan_replica(plan, role, 0)) : NULL;

    if (given && !*given && facts->machine.gpus_pretended)
        note_role(ns, role, NOTE_GPUS, SEV_NOTE,
                  "requests %lld GPU%s per replica; those of --gpus are counted but not visible",
                  (long long)gpu, gpu == 1 ? "" : "s");
    else if (given && !*given)
        note_role(ns, role, NOTE_GPUS, SEV_WARNING,
                  "requests %lld GPU%s per replica, this machine has %d; running without GPUs",
                  (long long)gpu, gpu == 1 ? "" : "s", facts->machine.gpus);
}

static bool is_lookup(const struct env_entry *e)
{
    return e->source == ENV_SECRET || e->source == ENV_CONFIG_MAP;
}

/* "the secret NAME, key KEY, is not here: --secrets DIR" */
static void note_missing(struct notes *ns, const struct facts *facts, const struct env_entry *e)
{
    bool secret = e->source == ENV_SECRET;
    const char *kind = secret ? "secret" : "config map";
    const char *option = secret ? "--secrets" : "--configmaps";

    if (secret ? facts->given.secrets_dir : facts->given.configmaps_dir)
        note_weigh(ns, NOTE_FAILS, SEV_WARNING,
                   "%s refers to the %s %s%s%s, which is not in the %s directory",
                   e->ref_key ? e->name : "envFrom", kind, e->ref_name, e->ref_key ? ", key " : "",
                   e->ref_key ? e->ref_key : "", option);
    else if (e->ref_key)
        note_weigh(
            ns, NOTE_FAILS, SEV_WARNING,
            "%s refers to the %s %s, key %s, which is not available locally; use %s DIR with "
            "the file DIR/%s/%s",
            e->name, kind, e->ref_name, e->ref_key, option, e->ref_name, e->ref_key);
    else
        note_weigh(
            ns, NOTE_FAILS, SEV_WARNING,
            "envFrom refers to the %s %s, which is not available locally; use %s DIR with the "
            "directory DIR/%s",
            kind, e->ref_name, option, e->ref_name);
}

static bool whole_given(const struct facts *facts, const struct env_entry *e)
{
    for (size_t i = 0; i < facts->given.n_secrets; i++)
        if (facts->given.secrets[i].source == e->source &&
            !strcmp(facts->given.secrets[i].name, e->ref_name))
            return true;
    return false;
}

/* Kubeflow's operators would never give up. */
static void note_restarts(struct notes *ns, const struct plan *plan, const struct role *role)
{
    bool by_policy = role->restart == RESTART_ON_FAILURE || role->restart == RESTART_ALWAYS ||
                     role->restart == RESTART_EXIT_CODE;

    if (by_policy && role->restart_limit < 0 && !plan->spec->has_restart_budget &&
        role->kind != ROLE_HOST)
        note_role(ns, role, NOTE_REPLACED, SEV_NOTE,
                  "the file sets no restart limit; defaults to %d restarts per replica",
                  LIMIT_RESTARTS);
}

static void note_entries(struct notes *ns, const struct plan *plan,
                         const struct env_entries *entries)
{
    for (size_t i = 0; i < entries->n; i++) {
        const struct env_entry *e = &entries->v[i];

        if (is_lookup(e) && !e->optional && !env_given(plan->facts, e))
            note_missing(ns, plan->facts, e);
        else if (!is_lookup(e) && e->source != ENV_LITERAL &&
                 !env_reference(ns->arena, plan, plan->replicas, e))
            note_add(ns, SEV_WARNING,
                     "%s refers to %s, which is not available locally; set to the empty string",
                     e->name, e->ref_key);
    }
    for (size_t i = 0; i < entries->n_from; i++)
        if (!entries->from[i].optional && !whole_given(plan->facts, &entries->from[i]))
            note_missing(ns, plan->facts, &entries->from[i]);
}

static void note_env(struct notes *ns, const struct plan *plan, const struct role *role)
{
    note_entries(
        ns, plan,
        &(struct env_entries){role->env_from, role->env, role->n_env_from, role->n_env, -1});
    for (size_t i = 0; i < role->n_init; i++) {
        const struct init_command *in = &role->init[i];

        note_entries(
            ns, plan,
            &(struct env_entries){in->env_from, in->env, in->n_env_from, in->n_env, (int)i});
    }
}

void notes_collect(struct notes *ns, const struct plan *plan)
{
    static void (*const of_job[])(struct notes *, const struct plan *) = {note_mode, note_mpi,
                                                                          note_isolation};
    static void (*const of_role[])(struct notes *, const struct plan *, const struct role *) = {
        note_entry_point, note_env,      note_volumes, note_devices, note_place,
        note_limits,      note_requests, note_shm,     note_restarts};
    static void (*const at_last[])(struct notes *, const struct plan *) = {
        note_replaced_env, note_gpus,   note_implementation,
        note_slots,        note_target, note_afterwards};

    if (plan->facts->site.elsewhere) { /* the others speak of this machine */
        note_mode(ns, plan);
        lint_environments(ns, plan);
        return;
    }
    for (size_t i = 0; i < ARRAY_SIZE(of_job); i++)
        of_job[i](ns, plan);
    for (size_t k = 0; k < ARRAY_SIZE(of_role); k++)
        for (size_t i = 0; i < plan->spec->n_roles; i++)
            of_role[k](ns, plan, &plan->spec->roles[i]);
    note_programs(ns, plan);
    lints_collect(ns, plan);
    note_machine(ns, plan);
    for (size_t i = 0; i < ARRAY_SIZE(at_last); i++)
        at_last[i](ns, plan);
}
