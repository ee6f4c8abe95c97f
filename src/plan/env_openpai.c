/* env_openpai.c - the variables of an OpenPAI task, of both of its generations.
 *
 * Whole families exist twice: names changed between releases and the old ones stayed. All are set,
 * with the same values. OpenPAI spells roles in two ways too: as the file does, and without what is
 * no lower-case letter or digit ("ps_server", "psserver"); here every name that carries a role is
 * set in both. A name that no shell could use (a role or label with '.' or '~') is left out, as it
 * never reached a task there either.
 *
 * Stand-ins, because there is nothing of the kind here: the user is the caller; PAI_DEFAULT_FS_URI
 * is empty, as it was where there was no HDFS; identifiers of Kubernetes and YARN objects are made
 * of the run's; attempts count from 0.
 */
#include <ctype.h>
#include <string.h>

#include "base/strbuf.h"
#include "plan/env.h"

struct pai {
    struct env_set *set;
    struct arena *arena;
    const struct plan *plan;
    const struct replica *rp;
    const char *user;
    bool v1;
};

/* --- names --------------------------------------------------------------------------------------
 */

static bool is_name(const char *name)
{
    if (isdigit((unsigned char)*name))
        return false;
    for (; *name; name++)
        if (!isalnum((unsigned char)*name) && *name != '_')
            return false;
    return true;
}

static const char *normalised(struct arena *a, const char *role)
{
    char *text = arena_strdup(a, role);
    size_t n = 0;

    for (; *role; role++)
        if (isalnum((unsigned char)*role))
            text[n++] = (char)tolower((unsigned char)*role);
    text[n] = '\0';
    return text;
}

static void put(struct pai *p, const char *name, const char *value)
{
    if (is_name(name))
        env_put(p->set, name, value, ORIGIN_DIALECT, NULL);
}

static void put_int(struct pai *p, const char *name, int64_t value)
{
    put(p, name, arena_printf(p->arena, "%lld", (long long)value));
}

/* BEFORE<role>AFTER in both spellings */
static void put_of_role(struct pai *p, const char *before, const struct role *role,
                        const char *after, const char *value)
{
    const char *other = normalised(p->arena, role->name);

    put(p, arena_printf(p->arena, "%s%s%s", before, role->name, after), value);
    if (*other && strcmp(other, role->name) != 0)
        put(p, arena_printf(p->arena, "%s%s%s", before, other, after), value);
}

/* --- values -------------------------------------------------------------------------------------
 */

static int64_t known(int64_t quantity, int64_t unit)
{
    return quantity > 0 ? quantity / unit : 0;
}

static int64_t cpus(const struct role *role)
{
    return known(role->res.cpu_limit_milli, 1000);
}

static int64_t memory_mb(const struct role *role)
{
    return known(role->res.memory_limit, 1 << 20);
}

/* The second generation says 0 where the file says nothing, whatever the default is. */
static int64_t shm_mb(const struct pai *p, const struct role *role)
{
    return p->v1 || role->res.shm_at ? known(role->res.shm, 1 << 20) : 0;
}

static const char *resources(struct pai *p, const struct role *role)
{
    return arena_printf(p->arena, "%lld,%lld,%lld,%lld", (long long)known(role->res.gpu, 1),
                        (long long)cpus(role), (long long)memory_mb(role),
                        (long long)shm_mb(p, role));
}

/* A rule that is off is empty in the first generation, -1 in the second. */
static const char *count_text(struct pai *p, int32_t count)
{
    if (count > 0)
        return arena_printf(p->arena, "%d", count);
    return p->v1 ? "" : "-1";
}

static const char *min_failed(struct pai *p, const struct role *role)
{
    return count_text(p, role->min_failed == 0 ? 1 : role->min_failed);
}

static const char *first_port(struct pai *p, const struct replica *rp, const char *label)
{
    const struct plan_port *port = plan_port(rp, label);

    return port ? arena_printf(p->arena, "%d", port->numbers[0]) : "";
}

static const char *role_list(struct pai *p)
{
    auto_strbuf struct strbuf sb = STRBUF_INIT;

    for (size_t i = 0; i < p->plan->spec->n_roles; i++)
        strbuf_addf(&sb, "%s%s", i ? "," : "", p->plan->spec->roles[i].name);
    return arena_strndup(p->arena, sb.buf, sb.len);
}

static const char *instances(struct pai *p)
{
    auto_strbuf struct strbuf sb = STRBUF_INIT;

    for (uint32_t i = 0; i < p->plan->n_replicas; i++)
        strbuf_addf(&sb, "%s%s:%d", i ? "," : "", p->plan->replicas[i].role->name,
                    p->plan->replicas[i].index);
    return arena_strndup(p->arena, sb.buf, sb.len);
}

/* --- what all generations have ------------------------------------------------------------------
 */

static void add_job(struct pai *p)
{
    const struct job_spec *spec = p->plan->spec;
    const char *roles = role_list(p);
    int64_t n_roles = (int64_t)spec->n_roles, n_tasks = p->plan->n_replicas;

    put(p, "PAI_USER_NAME", p->user);
    put(p, "PAI_USERNAME", p->user);
    put(p, "PAI_DEFAULT_FS_URI", "");
    put_int(p, "PAI_TASK_ROLE_COUNT", n_roles);
    put_int(p, "PAI_TASK_ROLES_NUM", n_roles);
    put_int(p, "PAI_JOB_TASK_ROLE_COUNT", n_roles);
    put(p, "PAI_TASK_ROLE_LIST", roles);
    put(p, "PAI_JOB_TASK_ROLE_LIST", roles);
    put_int(p, "PAI_TASKS_NUM", n_tasks);
    put_int(p, "PAI_JOB_TASK_COUNT", n_tasks);
    for (size_t i = 0; i < spec->n_roles; i++) {
        const struct role *role = &spec->roles[i];

        put_of_role(p, "PAI_TASK_ROLE_TASK_COUNT_", role, "",
                    arena_printf(p->arena, "%d", role->replicas));
        put_of_role(p, "PAI_RESOURCE_", role, "", resources(p, role));
        put_of_role(p, "PAI_MIN_FAILED_TASK_COUNT_", role, "", min_failed(p, role));
        put_of_role(p, "PAI_MIN_SUCCEEDED_TASK_COUNT_", role, "",
                    count_text(p, role->min_succeeded));
    }
}

static void add_peer(struct pai *p, const struct replica *rp)
{
    const char *index = arena_printf(p->arena, "_%d", rp->index);

    put_of_role(p, "PAI_HOST_IP_", rp->role, index, rp->address);
    for (size_t i = 0; i < rp->n_ports; i++) {
        const struct plan_port *port = &rp->ports[i];
        const char *numbers = plan_port_text(p->arena, port);

        put_of_role(p, "PAI_PORT_LIST_", rp->role,
                    arena_printf(p->arena, "%s_%s", index, port->label), numbers);
        put_of_role(p, "PAI_", rp->role, arena_printf(p->arena, "%s_%s_PORT", index, port->label),
                    numbers);
    }
}

static void add_peers(struct pai *p)
{
    const struct plan *plan = p->plan;

    for (uint32_t i = 0; i < plan->n_replicas; i++)
        add_peer(p, &plan->replicas[i]);
    for (size_t i = 0; i < plan->spec->n_roles; i++) {
        const struct role *role = &plan->spec->roles[i];
        const struct replica *first = plan_replica(plan, role, 0);
        auto_strbuf struct strbuf hosts = STRBUF_INIT;

        for (int32_t k = 0; k < role->replicas; k++)
            strbuf_addf(&hosts, "%s%s:%s", k ? "," : "", first[k].address,
                        first_port(p, &first[k], "http"));
        put_of_role(p, "PAI_TASK_ROLE_", role, "_HOST_LIST",
                    arena_strndup(p->arena, hosts.buf, hosts.len));
    }
}

static void add_task(struct pai *p)
{
    const struct replica *rp = p->rp;
    const char *http = first_port(p, rp, "http"), *gpus = plan_gpus(p->arena, p->plan, rp);
    auto_strbuf struct strbuf ports = STRBUF_INIT;

    put(p, "PAI_CURRENT_TASK_ROLE_NAME", rp->role->name);
    put_int(p, "PAI_CURRENT_TASK_ROLE_CURRENT_TASK_INDEX", rp->index);
    put_int(p, "PAI_TASK_INDEX", rp->index);
    put(p, "PAI_CURRENT_CONTAINER_IP", rp->address);
    put(p, "PAI_CONTAINER_HOST_IP", rp->address);
    put(p, "PAI_CURRENT_CONTAINER_PORT", http);
    put(p, "PAI_CONTAINER_HOST_PORT", http);
    put(p, "PAI_CONTAINER_SSH_PORT", first_port(p, rp, "ssh"));
    for (size_t i = 0; i < rp->n_ports; i++) {
        const char *numbers = plan_port_text(p->arena, &rp->ports[i]);

        put(p, arena_printf(p->arena, "PAI_CONTAINER_HOST_%s_PORT_LIST", rp->ports[i].label),
            numbers);
        strbuf_addf(&ports, "%s:%s;", rp->ports[i].label, numbers);
    }
    put(p, "PAI_CONTAINER_HOST_PORT_LIST", arena_strndup(p->arena, ports.buf, ports.len));
    p->set->local = true; /* elsewhere the platform deals out its devices itself */
    put(p, "NVIDIA_VISIBLE_DEVICES", gpus && *gpus ? gpus : "none");
    p->set->local = false;
}

/* --- the first generation -----------------------------------------------------------------------
 */

static void add_v1(struct pai *p)
{
    const struct job_spec *spec = p->plan->spec;
    const struct role *role = p->rp->role;
    const char *run_id = p->plan->facts->site.run_id;
    const struct pai_spec *dirs = spec->pai;

    put(p, "PAI_JOB_NAME", spec->name);
    put(p, "FRAMEWORK_NAME", arena_printf(p->arena, "%s~%s", p->user, spec->name));
    put(p, "APP_ID", arena_printf(p->arena, "application_%s", run_id));
    put(p, "PAI_CONTAINER_ID", arena_printf(p->arena, "container_%s_%u", run_id, p->rp->id));
    put(p, "HADOOP_USER_NAME", p->user);
    put(p, "PAI_RESOURCE", resources(p, role));
    put(p, "PAI_DATA_DIR", dirs->data_dir ? dirs->data_dir : "");
    put(p, "PAI_OUTPUT_DIR", dirs->output_dir ? dirs->output_dir : "");
    put(p, "PAI_CODE_DIR", dirs->code_dir ? dirs->code_dir : "");
    put_int(p, "PAI_TASK_ROLE_INDEX", p->rp->index);
    put(p, "PAI_TASK_ROLE_NAME", role->name);
    put_int(p, "PAI_TASK_ROLE_NUM", role->replicas);
    put_int(p, "PAI_CURRENT_TASK_ROLE_TASK_COUNT", role->replicas);
    put_int(p, "PAI_TASK_CPU_NUM", cpus(role));
    put_int(p, "PAI_CURRENT_TASK_ROLE_CPU_COUNT", cpus(role));
    put_int(p, "PAI_TASK_MEM_MB", memory_mb(role));
    put_int(p, "PAI_CURRENT_TASK_ROLE_MEM_MB", memory_mb(role));
    put_int(p, "PAI_TASK_GPU_NUM", known(role->res.gpu, 1));
    put_int(p, "PAI_CURRENT_TASK_ROLE_GPU_COUNT", known(role->res.gpu, 1));
    put_int(p, "PAI_CURRENT_TASK_ROLE_SHM_MB", shm_mb(p, role));
    put(p, "PAI_CURRENT_TASK_ROLE_MIN_FAILED_TASK_COUNT", min_failed(p, role));
    put(p, "PAI_CURRENT_TASK_ROLE_MIN_SUCCEEDED_TASK_COUNT", count_text(p, role->min_succeeded));
    /* of v0.5, where it was on or off for the whole job */
    put_int(p, "PAI_KILL_ALL_ON_COMPLETED_TASK_NUM", role->min_succeeded > 0);
}

/* --- the second generation ----------------------------------------------------------------------
 */

/* What FrameworkController gives every container. A framework's name is an md5 there, which says
 * nothing to anybody; here it is the job's name in letters that a pod may have. */
static void add_controller(struct pai *p)
{
    struct arena *a = p->arena;
    const char *framework = normalised(a, p->plan->spec->name);
    const char *role = normalised(a, p->rp->role->name);
    const char *uid = p->plan->facts->site.run_id;
    const char *pod_uid = arena_printf(a, "%s-%s-%d", uid, role, p->rp->index);
    int attempt = (int)p->set->start.attempt - 1, retry = (int)p->set->start.instance - 1;

    put(p, "FC_FRAMEWORK_NAMESPACE", "default");
    put(p, "FC_FRAMEWORK_NAME", framework);
    put(p, "FC_FRAMEWORK_UID", uid);
    put_int(p, "FC_FRAMEWORK_ATTEMPT_ID", attempt);
    put(p, "FC_FRAMEWORK_ATTEMPT_INSTANCE_UID", arena_printf(a, "%d_%s", attempt, uid));
    put(p, "FC_CONFIGMAP_NAME", arena_printf(a, "%s-attempt", framework));
    put(p, "FC_CONFIGMAP_UID", uid);
    put(p, "FC_TASKROLE_NAME", role);
    put(p, "FC_TASKROLE_UID", arena_printf(a, "%s-%s", uid, role));
    put_int(p, "FC_TASK_INDEX", p->rp->index);
    put(p, "FC_TASK_UID", pod_uid);
    put_int(p, "FC_TASK_ATTEMPT_ID", retry);
    put(p, "FC_TASK_ATTEMPT_INSTANCE_UID", arena_printf(a, "%d_%s", retry, pod_uid));
    put(p, "FC_POD_NAME", arena_printf(a, "%s-%s-%d", framework, role, p->rp->index));
    put(p, "FC_POD_UID", pod_uid);
}

static void add_v2(struct pai *p)
{
    const struct job_spec *spec = p->plan->spec;
    const char *framework = arena_printf(p->arena, "%s~%s", p->user, spec->name);

    put(p, "PAI_FRAMEWORK_NAME", framework);
    put(p, "PAI_JOB_NAME", framework);
    put(p, "PAI_VIRTUAL_CLUSTER", spec->queue ? spec->queue : "default");
    put(p, "PAI_TASK_ROLE_INSTANCES", instances(p));
    p->set->local = true;
    put(p, "PAI_WORK_DIR", p->plan->workdirs[p->rp->role_index]);
    put(p, "HIVED_VISIBLE_DEVICES", env_get(p->set, "NVIDIA_VISIBLE_DEVICES")->value);
    p->set->local = false;
    add_controller(p);
}

void env_openpai(struct env_set *set, const struct plan *plan, const struct process *process)
{
    const char *callers = caller_getenv(set->arena, plan->facts, "USER");
    struct pai p = {
        .set = set,
        .arena = set->arena,
        .plan = plan,
        .rp = &plan->replicas[process->replica],
        .user = plan->facts->caller.user ? plan->facts->caller.user
                : callers                ? callers
                                         : "user",
        .v1 = plan->spec->pai->version == 1,
    };

    add_job(&p);
    add_peers(&p);
    add_task(&p);
    if (p.v1)
        add_v1(&p);
    else
        add_v2(&p);
}
