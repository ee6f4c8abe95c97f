/* explain_json.c - a plan as `explain -o json` shows it; doc/schema/explain.json is its shape. */
#include "cli/explain.h"

#include "base/io.h"

static void write_slots(struct json *j, const struct role *role)
{
    json_key(j, "slots");
    if (role->slots_kind == SLOTS_NUMBER)
        json_int(j, role->slots);
    else
        json_str(j, role->slots_kind == SLOTS_AUTO ? "auto" : "unset");
}

static void write_argv(struct json *j, const char *const *argv)
{
    json_key(j, "argv");
    if (!argv) {
        json_null(j);
        return;
    }
    json_array(j);
    for (; *argv; argv++)
        json_str(j, *argv);
    json_end(j);
}

static void write_mounts(struct json *j, const struct mount_table *t)
{
    json_key(j, "mounts");
    json_array(j);
    for (size_t i = 0; t && i < t->n; i++) {
        const struct mount_place *p = &t->v[i];
        const struct mount *m = p->mount;

        json_object(j);
        json_kv_str(j, "path", m->path);
        json_kv_str(j, "volume", m->volume);
        json_kv_str(j, "source", volume_source_name(m->source));
        json_kv_str(j, "from", m->from);
        json_kv_str(j, "here", p->kind == PLACE_HERE ? p->here : NULL);
        json_kv_str(j, "sub_path", m->sub_path);
        json_kv_bool(j, "read_only", m->read_only || p->kind == PLACE_FILES);
        json_kv_bool(j, "available", p->kind != PLACE_NONE);
        json_end(j);
    }
    json_end(j);
}

/* As they are in the role's first replica. */
static void write_init(struct json *j, const struct plan *plan, const struct role *role,
                       const struct mount_table *tables)
{
    const struct replica *r = role->replicas ? plan_replica(plan, role, 0) : NULL;

    json_key(j, "init");
    json_array(j);
    for (size_t i = 0; r && i < role->n_init; i++) {
        auto_arena struct arena *a = arena_new();

        json_object(j);
        json_kv_str(j, "name", role->init[i].name);
        json_kv_bool(j, "runs", plan_runs_init(plan, r, i, PLAN_START(plan)));
        write_argv(j, plan_init_argv(a, plan, r, i, PLAN_START(plan), true));
        json_kv_str(j, "workdir", plan_init_workdir(a, plan, r, i));
        write_mounts(j, tables ? &tables[i + 1] : NULL);
        json_end(j);
    }
    json_end(j);
}

static void write_roles(struct json *j, const struct plan *plan)
{
    const struct job_spec *spec = plan->spec;

    json_key(j, "roles");
    json_array(j);
    for (size_t i = 0; i < spec->n_roles; i++) {
        const struct mount_table *tables =
            plan->facts->site.mounts ? plan->facts->site.mounts[i] : NULL;

        if (spec->roles[i].implied) /* what it runs is among the processes */
            continue;
        json_object(j);
        json_kv_str(j, "name", spec->roles[i].name);
        json_kv_int(j, "replicas", spec->roles[i].replicas);
        write_slots(j, &spec->roles[i]);
        if (spec->roles[i].n_mounts)
            write_mounts(j, tables);
        if (spec->roles[i].n_init)
            write_init(j, plan, &spec->roles[i], tables);
        json_end(j);
    }
    json_end(j);
}

static void write_env(struct json *j, const struct env_value *v, size_t n)
{
    json_key(j, "env");
    json_object(j);
    for (size_t i = 0; i < n; i++)
        json_kv_str(j, v[i].name, v[i].value);
    json_end(j);
    json_key(j, "env_origin");
    json_object(j);
    for (size_t i = 0; i < n; i++)
        json_kv_str(j, v[i].name, origin_name(v[i].origin));
    json_end(j);
}

static void write_rank(struct json *j, const struct process *p)
{
    if (p->rank < 0) {
        json_kv_null(j, "rank");
        json_kv_null(j, "local_rank");
    } else {
        json_kv_int(j, "rank", p->rank);
        json_kv_int(j, "local_rank", p->slot);
    }
}

/* An arena of its own: some environments grow with the number of replicas. */
static void write_process(struct json *j, const struct plan *plan, const struct process *p,
                          bool with_env)
{
    auto_arena struct arena *a = arena_new();
    const struct replica *rp = &plan->replicas[p->replica];
    const struct env_value *env = NULL;
    struct start start = PLAN_START(plan);
    size_t n_env = with_env ? plan_env(a, plan, p->id, start, true, &env) : 0;

    json_object(j);
    json_kv_str(j, "replica", rp->name);
    json_kv_str(j, "role", rp->role->name);
    json_kv_int(j, "index", rp->index);
    write_rank(j, p);
    json_kv_str(j, "host", rp->host);
    json_kv_str(j, "address", rp->address);
    plan_ports_json(j, rp);
    bool waits = process_waits(p, start);
    write_argv(j, waits ? NULL : p->argv);
    json_kv_str(j, "shell", waits ? NULL : p->shell);
    json_kv_str(j, "workdir", plan_workdir(a, plan, rp));
    write_env(j, env, n_env);
    json_end(j);
}

static void write_note(struct json *j, enum severity severity, const char *message)
{
    json_object(j);
    json_kv_str(j, "severity", severity_name(severity));
    json_kv_str(j, "message", message);
    json_end(j);
}

static void write_notes(struct json *j, struct arena *a, const struct plan *plan,
                        const struct explained *x, uint32_t left_out)
{
    const struct diags *ds = x->ds;

    json_key(j, "notes");
    json_array(j);
    for (size_t i = 0; ds && i < ds->n; i++)
        write_note(j, ds->v[i].severity,
                   arena_printf(a, "%s:%u:%u: %s", x->path, ds->v[i].pos.line, ds->v[i].pos.column,
                                ds->v[i].message));
    for (size_t i = 0; i < x->changes->n; i++)
        write_note(j, x->changes->v[i].severity, x->changes->v[i].text);
    for (size_t i = 0; i < plan->n_notes; i++)
        write_note(j, plan->notes[i].severity, plan->notes[i].message);
    if (left_out > 0)
        write_note(j, SEV_NOTE,
                   arena_printf(a,
                                "the environments of the last %u processes are left out; see "
                                "`muster explain -o json`",
                                left_out));
    json_end(j);
}

void explain_json(struct json *j, struct arena *a, const struct plan *plan,
                  const struct explained *x)
{
    json_object(j);
    json_kv_str(j, "name", plan->spec->name);
    json_kv_str(j, "dialect", plan->spec->dialect);
    json_kv_str(j, "framework", framework_name(plan->spec->framework));
    json_kv_str(j, "isolation", plan->facts->site.isolation);
    write_roles(j, plan);
    json_key(j, "processes");
    json_array(j);
    uint32_t left_out = 0;
    for (uint32_t i = 0; i < plan->n_processes; i++) {
        bool with_env = x->env_limit == 0 || j->out->len < x->env_limit;

        write_process(j, plan, &plan->processes[i], with_env);
        left_out += !with_env;
    }
    json_end(j);
    write_notes(j, a, plan, x, left_out);
    json_end(j);
}

int explain_record(int run_fd, const struct plan *plan, const struct job_file *jf,
                   const struct changes *changes, struct err *e)
{
    auto_strbuf struct strbuf sb = STRBUF_INIT;
    auto_arena struct arena *a = arena_new(); /* environments are made for this only */
    struct json j = JSON_PRETTY(&sb);
    const struct explained told = {.path = jf->path,
                                   .ds = jf->path ? &jf->diags : NULL,
                                   .changes = changes,
                                   .env_limit = LIMIT_PLAN_BYTES};

    json_object(&j);
    json_key(&j, "jobs");
    json_array(&j);
    explain_json(&j, a, plan, &told);
    json_end(&j);
    json_end(&j);
    strbuf_addch(&sb, '\n');
    return io_write_atomic(run_fd, RUNDIR_PLAN, sb.buf, sb.len, e);
}
