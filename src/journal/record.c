/* record.c - see record.h: the tables, and writing. */
#include "journal/record_parts.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static const struct field rules[] = {
    F(struct job_rules, grace_ms, FIELD_I64, 0),
    F(struct job_rules, grace_fixed, FIELD_BOOL, 0),
    F(struct job_rules, start_timeout_ms, FIELD_I64, 0),
    F(struct job_rules, recovery_timeout_ms, FIELD_I64, 0),
    F(struct job_rules, trust_launcher, FIELD_BOOL, 0),
    F(struct job_rules, hold, FIELD_BOOL, 0),
    F(struct job_rules, queued, FIELD_BOOL, 0),
    F(struct job_rules, preflight, FIELD_BOOL, 0),
    F(struct job_rules, preflight_only, FIELD_BOOL, 0),
};
const struct fields record_rules = FIELDS(rules);

static const struct field spec_fields[] = {
    F(struct job_spec, name, FIELD_TEXT, 0),
    F(struct job_spec, namespace_, FIELD_TEXT, 0),
    F(struct job_spec, dialect, FIELD_TEXT, 0),
    F(struct job_spec, form, FIELD_TEXT, 0),
    F(struct job_spec, file, FIELD_TEXT, 0),
    F(struct job_spec, experiment, FIELD_TEXT, 0),
    F(struct job_spec, target, FIELD_TEXT, 0),
    F(struct job_spec, container, FIELD_TEXT, 0),
    F_ENUM(struct job_spec, framework, FRAMEWORK_TENSORFLOW),
    F_ENUM(struct job_spec, platform.hosts, HOSTS_BY_JOB),
    F_ENUM(struct job_spec, platform.services, SERVICES_BY_JOB),
    F_ENUM(struct job_spec, platform.environment, PLATFORM_KINDS - 1),
    F_ENUM(struct job_spec, platform.status, PLATFORM_KINDS - 1),
    F(struct job_spec, gang, FIELD_BOOL, 0),
    F(struct job_spec, ranks, FIELD_BOOL, 0),
    F(struct job_spec, retry.by_class, FIELD_BOOL, 0),
    F(struct job_spec, retry.max, FIELD_INT, 0),
    F(struct job_spec, deadline_s, FIELD_I64, 0),
    F(struct job_spec, has_restart_budget, FIELD_BOOL, 0),
    F(struct job_spec, restart_budget, FIELD_INT, 0),
    F(struct job_spec, clean_up_workers, FIELD_BOOL, 0),
    F(struct job_spec, debug, FIELD_BOOL, 0),
    F(struct job_spec, pause, FIELD_BOOL, 0),
};
const struct fields record_spec = FIELDS(spec_fields);

static const struct field rest[] = {
    F(struct record_rest, engine, FIELD_TEXT, 0),
    F(struct record_rest, run_id, FIELD_TEXT, 0),
    F(struct record_rest, run_dir, FIELD_TEXT, 0),
    F(struct record_rest, isolation, FIELD_TEXT, 0),
    F(struct record_rest, program, FIELD_TEXT, 0),
    F(struct record_rest, program_errno, FIELD_INT, 0),
    F(struct record_rest, launcher, FIELD_INT, -1),
    F(struct record_rest, world, FIELD_INT, -1),
    F(struct record_rest, pai, FIELD_INT, 0),
};
const struct fields record_rest = FIELDS(rest);

static const struct field role_fields[] = {
    F(struct role, name, FIELD_TEXT, 0),
    F_ENUM(struct role, kind, ROLE_HOST),
    F(struct role, replicas, FIELD_INT, 1),
    F(struct role, slots, FIELD_INT, 1),
    F(struct role, hosts_ranks, FIELD_BOOL, 0),
    F(struct role, min_failed, FIELD_INT, 0),
    F(struct role, min_succeeded, FIELD_INT, 0),
    F(struct role, first_decides, FIELD_BOOL, 0),
    F(struct role, ends_alone, FIELD_BOOL, 0),
    F(struct role, grace_s, FIELD_INT, -1),
    F_ENUM(struct role, restart, RESTART_BY_CLASS),
    F(struct role, restart_limit, FIELD_INT, 0),
    F(struct role, implied, FIELD_BOOL, 0),
};
const struct fields record_role = FIELDS(role_fields);

static const struct field modes[] = {
    F(struct record_role, debug_skips_init, FIELD_BOOL, 0),
    F(struct record_role, resume_skips_init, FIELD_BOOL, 0),
};
const struct fields record_modes = FIELDS(modes);

static const struct field task_fields[] = {
    F(struct task, type, FIELD_TEXT, 0),
    F(struct task, count, FIELD_INT, 0),
    F(struct task, serves, FIELD_BOOL, 0),
};
const struct fields record_task = FIELDS(task_fields);

static const struct field replica_fields[] = {
    F(struct replica, role_index, FIELD_U32, 0), F(struct replica, index, FIELD_INT, 0),
    F(struct replica, name, FIELD_TEXT, 0),      F(struct replica, host, FIELD_TEXT, 0),
    F(struct replica, address, FIELD_TEXT, 0),   F(struct replica, named, FIELD_BOOL, 0),
};
const struct fields record_replica = FIELDS(replica_fields);

static const struct field process_fields[] = {
    F(struct process, slot, FIELD_INT, 0),
    F(struct process, rank, FIELD_INT, -1),
    F(struct process, log, FIELD_TEXT, 0),
    F(struct process, debug, FIELD_BOOL, 0),
    F(struct process, task_index, FIELD_INT, 0),
    F_ENUM(struct process, shell_kind, SHELL_BASH_STRICT),
};
const struct fields record_process = FIELDS(process_fields);

/* --- writing ---------------------------------------------------------------------------------- */

static void add_words(struct json *j, const char *key, const char *const *words)
{
    json_key(j, key);
    if (!words) {
        json_null(j);
        return;
    }
    json_array(j);
    for (; *words; words++)
        json_str(j, *words);
    json_end(j);
}

static bool same_words(const char *const *a, const char *const *b)
{
    if (a == b || !a || !b)
        return a == b;
    for (; *a && *b; a++, b++)
        if (strcmp(*a, *b) != 0)
            return false;
    return *a == *b;
}

static bool skips_init(const struct debug_role *v, size_t n, const char *role)
{
    for (size_t i = 0; i < n; i++)
        if (v[i].role && strcmp(v[i].role, role) == 0)
            return v[i].skip_init;
    return false;
}

static void add_role(struct json *j, const struct job_spec *spec, const struct role *role)
{
    const struct record_role mode = {
        .debug_skips_init = skips_init(spec->debug_roles, spec->n_debug_roles, role->name),
        .resume_skips_init = skips_init(spec->resume_roles, spec->n_resume_roles, role->name)};

    json_object(j);
    fields_write(j, &record_role, role);
    fields_write(j, &record_modes, &mode);
    json_key(j, "init");
    json_array(j);
    for (size_t i = 0; i < role->n_init; i++) {
        json_object(j);
        json_kv_str(j, "name", role->init[i].name);
        if (role->init[i].argv && role->init[i].argv[0])
            json_kv_str(j, "program", role->init[i].argv[0]);
        json_end(j);
    }
    json_end(j);
    json_key(j, "tasks");
    json_array(j);
    for (size_t i = 0; i < role->n_tasks; i++) {
        json_object(j);
        fields_write(j, &record_task, &role->tasks[i]);
        json_end(j);
    }
    json_end(j);
    json_end(j);
}

static void add_header(struct json *j, const struct plan *plan, const struct job_rules *given)
{
    const struct facts *facts = plan->facts;
    const struct record_rest r = {.engine = facts->site.engine,
                                  .run_id = facts->site.run_id,
                                  .run_dir = plan_records(plan),
                                  .isolation = facts->site.isolation,
                                  .program = facts->machine.program,
                                  .program_errno = facts->machine.program_errno,
                                  .launcher = plan->launcher,
                                  .world = plan->world,
                                  .pai = plan->spec->pai ? plan->spec->pai->version : 0};

    json_object(j);
    json_kv_int(j, "version", RECORD_VERSION);
    json_kv_int(j, "replicas", plan->n_replicas);
    json_kv_int(j, "processes", plan->n_processes);
    fields_write(j, &record_spec, plan->spec);
    fields_write(j, &record_rest, &r);
    add_words(j, "skip_init", facts->caller.skip_init);
    json_key(j, "rules");
    json_object(j);
    fields_write(j, &record_rules, given);
    json_end(j);
    json_key(j, "roles");
    json_array(j);
    for (size_t k = 0; k < plan->spec->n_roles; k++)
        add_role(j, plan->spec, &plan->spec->roles[k]);
    json_end(j);
    json_end(j);
}

/* The processes of a role mostly have the same command: it is written where it changes. */
static void add_command(struct json *j, const struct process *p, const struct process *before)
{
    static const struct process none = {0};
    const struct process *b = before ? before : &none;

    if (!same_words(p->argv, b->argv))
        add_words(j, "argv", p->argv);
    if (!same_words(p->debug_argv, b->debug_argv))
        add_words(j, "debug_argv", p->debug_argv);
    if (!same_words(p->resume_argv, b->resume_argv))
        add_words(j, "resume_argv", p->resume_argv);
    if (p->shell != b->shell && (!p->shell || !b->shell || strcmp(p->shell, b->shell) != 0))
        json_kv_str(j, "shell", p->shell);
}

static void add_ports(struct json *j, const struct replica *r)
{
    json_key(j, "ports");
    json_object(j);
    for (size_t i = 0; i < r->n_ports; i++) {
        json_key(j, r->ports[i].label);
        json_array(j);
        for (int k = 0; k < r->ports[i].n; k++)
            json_int(j, r->ports[i].numbers[k]);
        json_end(j);
    }
    json_end(j);
}

static void add_replica(struct json *j, const struct plan *plan, const struct replica *r)
{
    json_object(j);
    fields_write(j, &record_replica, r);
    if (r->n_ports)
        add_ports(j, r);
    json_key(j, "processes");
    json_array(j);
    for (uint32_t i = r->first_process; i < r->first_process + r->n_processes; i++) {
        const struct process *p = &plan->processes[i];

        json_object(j);
        fields_write(j, &record_process, p);
        if (p->task)
            json_kv_int(j, "task", p->task - r->role->tasks);
        add_command(j, p, i > 0 ? p - 1 : NULL);
        json_end(j);
    }
    json_end(j);
    json_end(j);
}

void record_write(struct strbuf *out, const struct plan *plan, const struct job_rules *given)
{
    struct json header = JSON_COMPACT(out);

    add_header(&header, plan, given);
    strbuf_addch(out, '\n');
    for (uint32_t i = 0; i < plan->n_replicas; i++) {
        struct json line = JSON_COMPACT(out);

        add_replica(&line, plan, &plan->replicas[i]);
        strbuf_addch(out, '\n');
    }
}

/* FNV-1a, 64 bits: it tells records apart, and protects from nobody. */
const char *record_mark(const char *text, size_t len, char out[RECORD_MARK])
{
    uint64_t h = UINT64_C(0xcbf29ce484222325);

    for (size_t i = 0; i < len; i++)
        h = (h ^ (unsigned char)text[i]) * UINT64_C(0x100000001b3);
    (void)snprintf(out, RECORD_MARK, "%016" PRIx64, h);
    return out;
}
