/* notes.c - what the job asks for and this machine does differently, each as one sentence.
 *
 * A warning says that the job may behave differently; a note that something was left aside. Options
 * that a found mpirun does not know are noted where the line is made (mpi.c); what is in the commands
 * themselves, in lints.c.
 */
#include "plan/notes.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/num.h"
#include "base/strbuf.h"
#include "plan/env.h"
#include "plan/lints.h"
#include "plan/mpi.h"

void note_add(struct notes *ns, enum severity severity, const char *fmt, ...)
{
    auto_strbuf struct strbuf sb = STRBUF_INIT;
    va_list ap;

    va_start(ap, fmt);
    strbuf_vaddf(&sb, fmt, ap);
    va_end(ap);
    for (size_t i = 0; i < ns->n; i++)
        if (!strcmp(ns->v[i].message, sb.buf))
            return;
    if (ns->n == ns->cap) {
        struct plan_note *v = ARENA_ARRAY(ns->arena, struct plan_note, ns->cap * 2 + 16);

        if (ns->n)
            memcpy(v, ns->v, ns->n * sizeof(*v));
        ns->v = v;
        ns->cap = ns->cap * 2 + 16;
    }
    ns->v[ns->n++] = (struct plan_note){.severity = severity,
                                        .message = arena_strndup(ns->arena, sb.buf, sb.len)};
}

/* --- the job ------------------------------------------------------------------------------------ */

static void note_mode(struct notes *ns, const struct plan *plan)
{
    const struct job_spec *spec = plan->spec;

    if (spec->debug)
        note_add(
            ns, SEV_WARNING,
            "debug mode is enabled: the replicas come up without their commands, muster resume "
            "starts the job");
    if (spec->pause)
        note_add(ns, SEV_WARNING,
                 "pause mode is enabled: the job starts paused, muster resume starts it");
}

static void note_isolation(struct notes *ns, const struct plan *plan)
{
    const struct facts *facts = plan->facts;

    if (facts->isolation_why)
        note_add(ns, SEV_WARNING, "isolation level `%s` is used: %s", facts->isolation,
                 facts->isolation_why);
    if (isolation_is(facts, "network"))
        note_add(ns, SEV_NOTE,
                 "at isolation level `network` no route leads out of the job: downloads do not "
                 "work");
    if (isolation_is(facts, "network") && plan->n_replicas > LIMIT_NEIGHBOURS)
        note_add(ns, SEV_WARNING,
                 "more than %d replicas at isolation level `network`: if all of them talk to all, "
                 "the kernel's table of neighbours is too small; as root: sysctl "
                 "net.ipv4.neigh.default.gc_thresh3=%u",
                 LIMIT_NEIGHBOURS, plan->n_replicas * plan->n_replicas);
    if (isolation_is(facts, "none"))
        note_add(ns, SEV_NOTE,
                 "at isolation level `none` every replica has this machine's host name, host names "
                 "of replicas resolve only for ssh, rsh and mpirun, variables carry addresses; "
                 "processes that are left behind are ended as far as they can be found");
}

/* A waiting replica would have had the size it asks for. */
static void note_shm(struct notes *ns, const struct plan *plan, const struct role *role)
{
    char text[DURATION_TEXT];

    if (isolation_is(plan->facts, "none") && role->res.shm >= 0)
        note_add(ns, SEV_NOTE,
                 "the %s of /dev/shm that %s asks for are not set apart: at isolation level "
                 "`none` all use the machine's own",
                 bytes_text(role->res.shm, text), role->name);
}

/* Options that only the other implementation knows will not work. */
static void note_implementation(struct notes *ns, const struct plan *plan)
{
    const char *asked = plan->spec->implementation;
    bool hydra = asked && strcmp(asked, "OpenMPI") != 0;

    if (asked && plan->facts->mpirun && hydra != mpi_is_hydra(plan->facts->mpi))
        note_add(ns, SEV_NOTE, "the file asks for %s, and mpirun is %s here", asked,
                 mpi_impl_words(plan->facts->mpi));
}

static void note_mpi(struct notes *ns, const struct plan *plan)
{
    const struct facts *facts = plan->facts;
    const struct mpi_spec *mpi = plan->spec->mpi;

    if (!plan->calls_mpi)
        return;
    if (facts->mpirun)
        note_add(ns, SEV_NOTE, "%s is %s%s%s", facts->mpirun, mpi_impl_words(facts->mpi),
                 facts->mpi_version ? ", version " : "",
                 facts->mpi_version ? facts->mpi_version : "");
    else
        note_add(ns, SEV_WARNING, "no mpirun was found: install openmpi-bin or mpich");
    if (!mpi)
        return;
    if (mpi->home && !facts->mpi_home_ok)
        note_add(ns, SEV_WARNING, "there is no mpirun in %s/bin here: %s", mpi->home,
                 facts->mpirun ? "the one on PATH is used" : "nor on PATH");
    if (mpi->home && facts->mpi_home_ok && !facts->mpi_prefix_ok && !mpi_is_hydra(facts->mpi))
        note_add(ns, SEV_NOTE, "--prefix %s is left out: its bin has no daemon for the workers",
                 mpi->home);
    if (mpi->sshd_path && !facts->sshd_ok)
        note_add(ns, SEV_WARNING,
                 "there is no %s here%s%s: none is needed, mpirun reaches the "
                 "workers without sshd",
                 mpi->sshd_path, facts->sshd_found ? ", only " : "",
                 facts->sshd_found ? facts->sshd_found : "");
    if (mpi->recovery && facts->mpi != MPI_OPEN_MPI_5 && !mpi_is_hydra(facts->mpi))
        note_add(ns, SEV_NOTE,
                 "--enable-recovery makes mpirun hide a failed rank or wait for ever: "
                 "Muster watches every rank itself and ends the run");
}

static void note_slots(struct notes *ns, const struct plan *plan)
{
    if (plan->spec->framework != FRAMEWORK_MPI)
        return;

    struct mpi_layout layout = mpi_layout_of(plan->spec);

    for (size_t i = 0; i < plan->spec->n_roles; i++) {
        const struct role *role = &plan->spec->roles[i];

        if (role->kind == ROLE_HOST && role->slots_kind != SLOTS_NUMBER && layout.np)
            note_add(ns, SEV_NOTE,
                     "nothing says how many ranks a %s takes: %lld each, so that "
                     "%lld fit on %lld",
                     role->name, (long long)layout.default_slots, (long long)layout.np,
                     (long long)layout.hosts);
    }
}

/* Where the file wants the job to run. Names only: no cluster is asked. */
static void note_target(struct notes *ns, const struct plan *plan)
{
    const struct job_spec *spec = plan->spec;

    if (spec->target_type)
        note_add(ns, SEV_NOTE, "compute.type %s chooses no engine: the job runs on this machine",
                 spec->target_type);
    if (spec->target)
        note_add(ns, SEV_NOTE, "compute target %s is not used: the job runs on this machine",
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
    if (facts->gpus_pretended && all > facts->gpus)
        note_add(ns, SEV_WARNING, "the job asks for %lld GPUs, %d are pretended", (long long)all,
                 facts->gpus);
    else if (!facts->gpus_pretended && all <= facts->gpus)
        note_add(
            ns, SEV_NOTE,
            "the job's %lld GPUs are the first of this machine: no other job is kept from them",
            (long long)all);
}

/* What a cluster would do with a job that has ended. Here nothing of it runs on, and what it wrote is kept
 * for whoever looks for it, as long as that of any other run. */
static void note_afterwards(struct notes *ns, const struct plan *plan)
{
    const struct job_spec *spec = plan->spec;
    char text[DURATION_TEXT];

    if (spec->clean_up == CLEAN_UP_NONE)
        note_add(
            ns, SEV_NOTE,
            "clean-up policy None: replicas that still run when the job is over are stopped all "
            "the same");
    else if (spec->clean_up != CLEAN_UP_UNSAID)
        note_add(ns, SEV_NOTE, "clean-up policy %s: logs are kept whatever it says",
                 spec->clean_up == CLEAN_UP_ALL ? "All" : "Running");
    if (spec->has_ttl)
        note_add(
            ns, SEV_NOTE,
            "a cluster would delete the job %s after its end: here its run directory stays until "
            "%d newer ones are there",
            duration_text(spec->ttl_s * 1000, text), LIMIT_RUNS_KEPT);
}

/* --- its roles ---------------------------------------------------------------------------------- */

static void note_place(struct notes *ns, const struct plan *plan, const struct role *role)
{
    size_t i = (size_t)(role - plan->spec->roles);

    if (plan->spec->file && role->workdir && !plan->facts->workdir_ok[i])
        note_add(ns, SEV_WARNING, "there is no directory %s here: the job runs in %s",
                 role->workdir, plan->workdirs[i]);
    note_image(ns, plan, role);
}

/* A container without a command runs its image's own, which is not here. */
static void note_entry_point(struct notes *ns, const struct plan *plan, const struct role *role)
{
    bool composed = role->kind == ROLE_LAUNCHER && plan->spec->mpi;

    if (role->argv || role->shell || role->kind == ROLE_HOST || composed)
        return;
    note_add(ns, SEV_WARNING,
             "%s has no command: it would run the entry point of %s, which is not here; give one "
             "with --entrypoint %s='CMD'",
             role->name, role->image ? role->image : "its image", role->name);
}

static void note_limits(struct notes *ns, const struct plan *plan, const struct role *role)
{
    const struct resources *r = &role->res;
    const struct facts *facts = plan->facts;
    char have[DURATION_TEXT], want[DURATION_TEXT];

    if (r->cpu_limit_milli == QUANTITY_UNSET && r->memory_limit == QUANTITY_UNSET)
        return;
    if (!facts->cgroup_limits)
        note_add(ns, SEV_NOTE, "limits of cpu and memory are not enforced: %s",
                 facts->cgroup_why ? facts->cgroup_why : "no usable control group");
    else if (r->cpu_limit_milli >= 0 && r->cpu_limit_milli < 1000)
        note_add(ns, SEV_WARNING,
                 "the cpu limit %lldm gives each %s %lld %% of one core: expect it to "
                 "be throttled most of the time",
                 (long long)r->cpu_limit_milli, role->name,
                 (long long)(r->cpu_limit_milli + 9) / 10);
    if (r->cpu_limit_milli > facts->cpus * INT64_C(1000))
        note_add(ns, SEV_WARNING, "the cpu limit of %s is %g cores, this machine has %d",
                 role->name, (double)r->cpu_limit_milli / 1000, facts->cpus);
    if (facts->memory && r->memory_limit > facts->memory)
        note_add(ns, SEV_WARNING, "the memory limit of %s is %s, this machine has %s", role->name,
                 bytes_text(r->memory_limit, want), bytes_text(facts->memory, have));
}

static void note_requests(struct notes *ns, const struct plan *plan, const struct role *role)
{
    const struct resources *r = &role->res;
    const struct facts *facts = plan->facts;
    int64_t cpu = r->cpu_request_milli * role->replicas;
    char have[DURATION_TEXT], want[DURATION_TEXT];

    if (r->cpu_request_milli != QUANTITY_UNSET || r->memory_request != QUANTITY_UNSET)
        note_add(ns, SEV_NOTE, "requests only count when a job is admitted: nothing is set aside");
    if (cpu > facts->cpus * INT64_C(1000))
        note_add(ns, SEV_WARNING, "%d × %s request %g cores, this machine has %d", role->replicas,
                 role->name, (double)cpu / 1000, facts->cpus);
    if (facts->memory && r->memory_request > facts->memory / role->replicas)
        note_add(ns, SEV_WARNING, "%d × %s request %s of memory each, this machine has %s",
                 role->replicas, role->name, bytes_text(r->memory_request, want),
                 bytes_text(facts->memory, have));
}

static void note_devices(struct notes *ns, const struct plan *plan, const struct role *role)
{
    const struct facts *facts = plan->facts;
    int64_t gpu = role->res.gpu;
    const char *given =
        role->replicas ? plan_gpus(ns->arena, plan, plan_replica(plan, role, 0)) : NULL;

    if (given && !*given && facts->gpus_pretended)
        note_add(ns, SEV_NOTE,
                 "each %s asks for %lld GPU%s: pretended ones are counted, none is made visible",
                 role->name, (long long)gpu, gpu == 1 ? "" : "s");
    else if (given && !*given)
        note_add(
            ns, SEV_WARNING,
            "each %s asks for %lld GPU%s: none is made visible, CUDA_VISIBLE_DEVICES is empty; "
            "this machine has %d",
            role->name, (long long)gpu, gpu == 1 ? "" : "s", facts->gpus);
}

static bool is_lookup(const struct env_entry *e)
{
    return e->source == ENV_SECRET || e->source == ENV_CONFIG_MAP;
}

/* "the secret NAME, key KEY, is not here: --secrets DIR" */
static void note_missing(struct notes *ns, const struct env_entry *e)
{
    bool secret = e->source == ENV_SECRET;
    const char *kind = secret ? "secret" : "config map";
    const char *option = secret ? "--secrets" : "--configmaps";

    if (e->ref_key)
        note_add(ns, SEV_WARNING,
                 "%s comes from the %s %s, key %s, which was not given: give %s DIR with the file "
                 "DIR/%s/%s",
                 e->name, kind, e->ref_name, e->ref_key, option, e->ref_name, e->ref_key);
    else
        note_add(ns, SEV_WARNING,
                 "variables come from the %s %s, which was not given: give %s DIR with the "
                 "directory DIR/%s",
                 kind, e->ref_name, option, e->ref_name);
}

static bool whole_given(const struct facts *facts, const struct env_entry *e)
{
    for (size_t i = 0; i < facts->n_secrets; i++)
        if (facts->secrets[i].source == e->source && !strcmp(facts->secrets[i].name, e->ref_name))
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
        note_add(
            ns, SEV_NOTE,
            "the file names no limit for the restarts of %s: each is restarted at most %d times",
            role->name, LIMIT_RESTARTS);
}

static void note_entries(struct notes *ns, const struct plan *plan,
                         const struct env_entries *entries)
{
    for (size_t i = 0; i < entries->n; i++) {
        const struct env_entry *e = &entries->v[i];

        if (is_lookup(e) && !e->optional && !env_given(plan->facts, e))
            note_missing(ns, e);
        else if (!is_lookup(e) && e->source != ENV_LITERAL &&
                 !env_reference(ns->arena, plan, plan->replicas, e))
            note_add(ns, SEV_WARNING, "%s comes from %s, which is not known here: it is empty",
                     e->name, e->ref_key);
    }
    for (size_t i = 0; i < entries->n_from; i++)
        if (!entries->from[i].optional && !whole_given(plan->facts, &entries->from[i]))
            note_missing(ns, &entries->from[i]);
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
    static void (*const of_job[])(struct notes *, const struct plan *) = {
        note_mode,           note_isolation, note_target, note_mpi,
        note_implementation, note_slots,     note_gpus,   note_afterwards};
    static void (*const of_role[])(struct notes *, const struct plan *, const struct role *) = {
        note_place, note_entry_point, note_limits, note_requests, note_devices,
        note_shm,   note_restarts,    note_env,    note_volumes};

    for (size_t i = 0; i < ARRAY_SIZE(of_job); i++)
        of_job[i](ns, plan);
    for (size_t k = 0; k < ARRAY_SIZE(of_role); k++)
        for (size_t i = 0; i < plan->spec->n_roles; i++)
            of_role[k](ns, plan, &plan->spec->roles[i]);
    lints_collect(ns, plan);
    note_machine(ns, plan);
}
