/* spec.c - what holds for every job, whatever dialect it was written in. */
#include "spec/spec.h"

#include <stdio.h>
#include <string.h>

#include "base/limits.h"
#include "base/num.h"

const char *framework_name(enum framework f)
{
    static const char *const names[] = {
        [FRAMEWORK_NONE] = "none",
        [FRAMEWORK_MPI] = "mpi",
        [FRAMEWORK_PYTORCH] = "pytorch",
        [FRAMEWORK_TENSORFLOW] = "tensorflow",
    };

    return names[f];
}

bool spec_debugs(const struct job_spec *spec, const struct role *role)
{
    bool found = spec->debug && !spec->debug_only;

    for (const char *const *name = spec->debug_only; spec->debug && name && *name; name++)
        found |= strcmp(*name, role->name) == 0;
    return found;
}

struct role spec_new_role(const char *name, enum role_kind kind)
{
    return (struct role){.name = name,
                         .kind = kind,
                         .replicas = 1,
                         .slots_kind = SLOTS_NUMBER,
                         .slots = 1,
                         .res = RESOURCES_UNSET,
                         .grace_s = -1,
                         .restart = RESTART_NEVER};
}

const struct role *spec_role(const struct job_spec *spec, const char *name)
{
    for (size_t i = 0; i < spec->n_roles; i++) {
        if (strcmp(spec->roles[i].name, name) == 0)
            return &spec->roles[i];
    }
    return NULL;
}

/* Adds an error at a node, or without a place if Muster made the value itself. */
#define REPORT(ds, at, code, hint, ...)                                                            \
    ((at) ? diag_at((ds), (at), (code), (hint), __VA_ARGS__)                                       \
          : diag_pos((ds), (struct pos){0}, "", (code), (hint), __VA_ARGS__))

/* --- names ---------------------------------------------------------------------------------- */

static bool label_char(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
}

bool spec_is_dns_label(const char *name)
{
    size_t n = strlen(name);

    if (n == 0 || !label_char(name[0]) || !label_char(name[n - 1]))
        return false;
    for (size_t i = 0; i < n; i++) {
        if (!label_char(name[i]) && name[i] != '-')
            return false;
    }
    return true;
}

/* The nearest name that would do, or what else may be wrong with it. */
static const char *name_hint(struct arena *a, const char *name)
{
    char *fixed = arena_strdup(a, name);

    if (strpbrk(name, "$<") || strstr(name, "{{"))
        return "this looks like a template; replace its placeholders first";
    for (char *p = fixed; *p; p++) {
        if (*p >= 'A' && *p <= 'Z')
            *p = (char)(*p - 'A' + 'a');
        else if (!label_char(*p))
            *p = '-';
    }
    if (spec_is_dns_label(fixed))
        return arena_printf(a, "write \"%s\"", fixed);
    return "use lower-case letters, digits and '-', with a letter or digit at both ends";
}

static const char *shorter(struct arena *a, size_t n)
{
    return arena_printf(a, "make the name %zu character%s shorter", n, n == 1 ? "" : "s");
}

/* The workers of the first MPIJobs are a StatefulSet. Kubernetes labels each of its pods with the
 * set's name and eleven characters more, and refuses a label that is too long, pod by pod. */
static void check_set_name(const struct job_spec *spec, struct diags *ds)
{
    enum { HASH = 11 };
    enum platform_kind kind = spec->platform.environment;
    size_t n = strlen(spec->name) + strlen("-worker") + HASH;

    if (n > LIMIT_NAME && spec_role(spec, "worker") &&
        (kind == PLATFORM_MPIJOB_V1ALPHA1 || kind == PLATFORM_MPIJOB_V1ALPHA2))
        REPORT(ds, spec->name_at, "W0110", shorter(ds->arena, n - LIMIT_NAME),
               "StatefulSet \"%s-worker\" cannot create pods: its name has more than %d characters",
               spec->name, LIMIT_NAME - HASH);
}

static void check_names(const struct job_spec *spec, struct diags *ds)
{
    size_t longest = 0;
    const char *pod = "";

    if (!spec_is_dns_label(spec->name)) {
        REPORT(ds, spec->name_at, "E0201", name_hint(ds->arena, spec->name),
               "the name must be a DNS label, not \"%s\"", spec->name);
        return;
    }
    for (size_t i = 0; i < spec->n_roles; i++) {
        const struct role *role = &spec->roles[i];
        const char *host = role->kind == ROLE_LAUNCHER
                               ? arena_printf(ds->arena, "%s-%s", spec->name, role->name)
                               : arena_printf(ds->arena, "%s-%s-%d", spec->name, role->name,
                                              role->replicas > 0 ? role->replicas - 1 : 0);

        if (strlen(host) > longest) {
            longest = strlen(host);
            pod = host;
        }
    }
    if (longest > LIMIT_NAME)
        REPORT(ds, spec->name_at, "E0202", shorter(ds->arena, longest - LIMIT_NAME),
               "host name \"%s\" has %zu characters; the limit is %d", pod, longest, LIMIT_NAME);
    else
        check_set_name(spec, ds);
}

/* --- counts --------------------------------------------------------------------------------- */

static void check_counts(const struct job_spec *spec, struct diags *ds)
{
    int64_t replicas = 0, processes = 0;

    for (size_t i = 0; i < spec->n_roles; i++) {
        const struct role *role = &spec->roles[i];
        bool had_room = replicas <= LIMIT_REPLICAS && processes <= LIMIT_PROCESSES;

        if (role->slots_kind == SLOTS_NUMBER && role->slots > LIMIT_SLOTS)
            REPORT(ds, role->replicas_at, "E0203", NULL,
                   "%s has %d processes per replica; the limit is %d", role->name, role->slots,
                   LIMIT_SLOTS);
        replicas += role->replicas;
        processes += (int64_t)role->replicas * role->slots;
        if (!had_room)
            continue;
        if (replicas > LIMIT_REPLICAS)
            REPORT(ds, role->replicas_at, "E0203", NULL,
                   "the job has %lld replicas; the limit is %d", (long long)replicas,
                   LIMIT_REPLICAS);
        else if (processes > LIMIT_PROCESSES)
            REPORT(ds, role->replicas_at, "E0203", NULL,
                   "the job has %lld processes; the limit is %d", (long long)processes,
                   LIMIT_PROCESSES);
    }
}

static void check_ports(const struct job_spec *spec, struct diags *ds)
{
    int64_t n = 0;

    for (size_t i = 0; i < spec->n_roles; i++) {
        const struct role *role = &spec->roles[i];

        for (size_t k = 0; k < role->n_ports && n <= LIMIT_PORTS; k++) {
            n += (int64_t)role->ports[k].count * (role->ports[k].first_only ? 1 : role->replicas);
            if (n > LIMIT_PORTS) /* a platform's own ports have no place in the file */
                REPORT(ds, role->ports[k].at ? role->ports[k].at : role->replicas_at, "E0203", NULL,
                       "the job has %lld ports; the limit is %d", (long long)n, LIMIT_PORTS);
        }
    }
}

static bool overlap(const struct port_request *p, const struct port_request *q)
{
    return p->begin_at && q->begin_at && p->begin_at < q->begin_at + q->count &&
           q->begin_at < p->begin_at + p->count;
}

/* Fixed ports that one replica is promised twice. Different roles may be on different machines. */
static void check_fixed_ports(const struct role *role, struct diags *ds)
{
    size_t n = role->n_ports < LIMIT_CONTAINER_PORTS ? role->n_ports : LIMIT_CONTAINER_PORTS;

    for (size_t i = 0; i < n; i++) {
        const struct port_request *p = &role->ports[i];

        for (size_t k = 0; k < i; k++) {
            if (!overlap(p, &role->ports[k]))
                continue;
            REPORT(ds, p->at, "W0111", "use different port numbers, or let Muster choose free ones",
                   "ports of `%s` and `%s` overlap from %d", role->ports[k].label, p->label,
                   p->begin_at > role->ports[k].begin_at ? p->begin_at : role->ports[k].begin_at);
            break;
        }
    }
}

/* --- resources ------------------------------------------------------------------------------ */

/* Each process of a replica wants a GPU, or as many as the others; torchrun's are its dialect's
 * business as far as they are too many. */
static void check_gpus(const struct role *role, struct diags *ds)
{
    const struct node *at = role->res.gpu_at ? role->res.gpu_at : role->replicas_at;
    long long gpus = role->res.gpu, slots = role->slots;
    const char *s = gpus == 1 ? "" : "s";

    if (role->slots_kind != SLOTS_NUMBER || gpus <= 0 || slots <= 1)
        return;
    if (slots > gpus && !role->own_slots)
        REPORT(ds, at, "W0112", "request as many GPUs as there are processes",
               "%lld processes in a %s share %lld GPU%s", slots, role->name, gpus, s);
    else if (slots < gpus && gpus % slots)
        REPORT(ds, at, "W0112", NULL, "%lld processes in a %s cannot share %lld GPU%s evenly",
               slots, role->name, gpus, s);
}

static void check_resources(const struct resources *res, struct diags *ds)
{
    char big[DURATION_TEXT], small[DURATION_TEXT];

    if (res->cpu_limit_milli >= 0 && res->cpu_request_milli > res->cpu_limit_milli)
        REPORT(ds, res->cpu_limit_at, "E0205", NULL,
               "the cpu limit %lldm is below the request %lldm", (long long)res->cpu_limit_milli,
               (long long)res->cpu_request_milli);
    if (res->memory_limit >= 0 && res->memory_request > res->memory_limit)
        REPORT(ds, res->memory_limit_at, "E0205", NULL,
               "the memory limit %s is below the request %s", bytes_text(res->memory_limit, small),
               bytes_text(res->memory_request, big));
    if (res->memory_limit >= 0 && res->shm > res->memory_limit)
        REPORT(ds, res->shm_at, "E0206", NULL, "shared memory of %s exceeds the memory limit of %s",
               bytes_text(res->shm, big), bytes_text(res->memory_limit, small));
}

/* Where no role counts its failures, the job ends when all commands have, and has succeeded. */
static void check_completion(const struct job_spec *spec, struct diags *ds)
{
    const struct node *at = NULL;

    for (size_t i = 0; i < spec->n_roles; i++) {
        const struct role *role = &spec->roles[i];

        if (role->kind != ROLE_HOST && role->min_failed != -1)
            return;
        at = at ? at : role->min_failed_at;
    }
    if (at)
        REPORT(ds, at, "W0114", "set a minimum of failed replicas for at least one role",
               "this job cannot fail: it succeeds even if every task fails");
}

void spec_validate(const struct job_spec *spec, struct diags *ds)
{
    if (spec->platform.hosts == HOSTS_BY_JOB) /* others check names of their own kind themselves */
        check_names(spec, ds);
    check_counts(spec, ds);
    check_ports(spec, ds);
    check_completion(spec, ds);
    for (size_t i = 0; i < spec->n_roles; i++) {
        check_fixed_ports(&spec->roles[i], ds);
        check_resources(&spec->roles[i].res, ds);
        check_gpus(&spec->roles[i], ds);
    }
}
