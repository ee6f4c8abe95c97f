/* diff_facts.c - a job as a list of facts; see diff.h. */
#include <stdarg.h>
#include <string.h>

#include "base/strbuf.h"
#include "spec/command.h"
#include "spec/diff.h"
#include "spec/mpi_options.h"

struct listing {
    struct arena *a;
    struct facts_list *out;
};

static void put(struct listing *l, const char *path, const char *value, bool hidden)
{
    struct facts_list *out = l->out;

    if (!value)
        return;
    if (out->n == out->cap) {
        struct fact *v = ARENA_ARRAY(l->a, struct fact, out->cap * 2 + 32);

        if (out->n)
            memcpy(v, out->v, out->n * sizeof(*v));
        out->v = v;
        out->cap = out->cap * 2 + 32;
    }
    out->v[out->n++] = (struct fact){path, value, hidden};
}

static void put_number(struct listing *l, const char *path, int64_t value, int64_t unsaid)
{
    if (value != unsaid)
        put(l, path, arena_printf(l->a, "%lld", (long long)value), false);
}

static void put_flag(struct listing *l, const char *path, bool value)
{
    if (value)
        put(l, path, "true", false);
}

/* Words so joined that no two lists give the same text. */
static void add_words(struct strbuf *sb, const char *const *words)
{
    for (size_t i = 0; words && words[i]; i++) {
        if (i)
            strbuf_addch(sb, ' ');
        strbuf_add_shell_word(sb, words[i]);
    }
}

static void put_words(struct listing *l, const char *path, const char *const *words)
{
    auto_strbuf struct strbuf sb = STRBUF_INIT;

    if (!words)
        return;
    add_words(&sb, words);
    put(l, path, arena_strndup(l->a, sb.buf, sb.len), true);
}

/* --- commands ------------------------------------------------------------------------------- */

static const struct role *host_role(const struct job_spec *spec)
{
    for (size_t i = 0; i < spec->n_roles; i++)
        if (spec->roles[i].kind == ROLE_HOST)
            return &spec->roles[i];
    return NULL;
}

static bool is_option(const char *word, const char *name)
{
    return strcmp(word + strspn(word, "-"), name) == 0;
}

/* So many ranks on each host, if the option says that; else 0. */
static int32_t per_host(const char *const *option, size_t n)
{
    const struct mpi_option *o = n == 2 ? mpi_option_of(option[0], NULL) : NULL;

    return o && o->meaning == MPI_MEANS_PER_NODE ? (int32_t)strtol(option[1], NULL, 10) : 0;
}

/* -x NAME of a variable that the host has itself. */
static bool is_hosts_own(const struct role *host, const char *const *option, size_t n)
{
    if (n != 2 || !host || !is_option(option[0], "x"))
        return false;
    for (size_t i = 0; i < host->n_env; i++) {
        size_t len = strlen(host->env[i].name);
        if (strncmp(option[1], host->env[i].name, len) == 0 &&
            (!option[1][len] || option[1][len] == '='))
            return true;
    }
    return false;
}

/* An mpirun line's meaning: ranks on each host, by an option or by the hostfile; parameters in
 * order, the other options, the program. */
static void add_mpirun(struct strbuf *sb, const char *const *argv, size_t n,
                       const struct role *host)
{
    int32_t slots = host && host->slots_kind == SLOTS_NUMBER ? host->slots : 0;

    for (size_t i = 1; i < n; i += mpirun_option(argv + i))
        if (per_host(argv + i, mpirun_option(argv + i)))
            slots = per_host(argv + i, mpirun_option(argv + i));
    strbuf_add_shell_word(sb, argv[0]);
    if (slots > 1)
        strbuf_addf(sb, " -N %d", slots);
    for (int pass = 0; pass < 2; pass++) {
        for (size_t i = 1, k; i < n; i += k) {
            bool parameter = is_option(argv[i], "mca");

            k = mpirun_option(argv + i);
            if (parameter != (pass == 0) || per_host(argv + i, k) ||
                is_hosts_own(host, argv + i, k))
                continue;
            strbuf_addstr(sb, parameter ? " -mca" : " ");
            if (!parameter)
                strbuf_add_shell_word(sb, argv[i]);
            for (size_t w = 1; w < k; w++) {
                strbuf_addch(sb, ' ');
                strbuf_add_shell_word(sb, argv[i + w]);
            }
        }
    }
    strbuf_addstr(sb, " -- ");
    add_words(sb, argv + n);
}

static void put_command(struct listing *l, const struct job_spec *spec, const struct role *role)
{
    const char *const *argv = shell_plain(l->a, spec_command(l->a, spec, role));
    auto_strbuf struct strbuf sb = STRBUF_INIT;
    const char *home;
    size_t n;

    put_words(l, "args", role->argv || role->shell ? NULL : role->args);
    if (!argv || !argv[0])
        return;
    n = role->kind == ROLE_LAUNCHER ? mpirun_split(l->a, argv, &home) : 0;
    if (n)
        add_mpirun(&sb, argv, n, host_role(spec));
    else
        add_words(&sb, argv);
    put(l, "command", arena_strndup(l->a, sb.buf, sb.len), true);
}

/* --- environment, volumes ------------------------------------------------------------------- */

static const char *entry_words(struct arena *a, const struct env_entry *e)
{
    static const char *const sources[] = {[ENV_LITERAL] = "",
                                          [ENV_SECRET] = "secret",
                                          [ENV_CONFIG_MAP] = "configMap",
                                          [ENV_FIELD] = "field",
                                          [ENV_RESOURCE] = "resource"};

    if (e->source == ENV_LITERAL)
        return arena_printf(a, "=%s", e->value);
    return arena_printf(a, "%s %s/%s%s", sources[e->source], e->ref_name ? e->ref_name : "",
                        e->ref_key ? e->ref_key : "", e->optional ? " optional" : "");
}

static void put_env(struct listing *l, const char *prefix, const struct env_entry *v, size_t n)
{
    for (size_t i = 0; i < n; i++)
        put(l, arena_printf(l->a, "%s.%s", prefix, v[i].name), entry_words(l->a, &v[i]), true);
}

static void put_env_from(struct listing *l, const char *prefix, const struct env_entry *v, size_t n)
{
    for (size_t i = 0; i < n; i++)
        put(l, arena_printf(l->a, "%s.%s", prefix, v[i].ref_name ? v[i].ref_name : ""),
            arena_printf(l->a, "%s prefix \"%s\"", entry_words(l->a, &v[i]), v[i].name), false);
}

static const char *mount_words(struct arena *a, const struct mount *m)
{
    static const char *const sources[] = {
        [VOLUME_EMPTY_DIR] = "emptyDir",   [VOLUME_HOST_PATH] = "hostPath",
        [VOLUME_CONFIG_MAP] = "configMap", [VOLUME_SECRET] = "secret",
        [VOLUME_CLAIM] = "a volume claim", [VOLUME_OTHER] = "another volume"};
    auto_strbuf struct strbuf sb = STRBUF_INIT;

    strbuf_addf(&sb, "%s %s", sources[m->source], m->volume ? m->volume : "");
    if (m->from)
        strbuf_addf(&sb, " of %s", m->from);
    if (m->sub_path)
        strbuf_addf(&sb, " below %s%s", m->expand_sub_path ? "the expanded " : "", m->sub_path);
    strbuf_addstr(&sb, m->read_only ? " read-only" : "");
    strbuf_addstr(&sb, m->optional ? " optional" : "");
    strbuf_addstr(&sb, m->memory ? " in memory" : "");
    if (m->size)
        strbuf_addf(&sb, " of %lld bytes", (long long)m->size);
    if (m->mode)
        strbuf_addf(&sb, " with mode %o", (unsigned)m->mode);
    for (size_t i = 0; i < m->n_items; i++)
        strbuf_addf(&sb, " %s=%s", m->items[i].key, m->items[i].path);
    return arena_strndup(a, sb.buf, sb.len);
}

static void put_mounts(struct listing *l, const char *prefix, const struct mount *v, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (v[i].source != VOLUME_OPERATOR) /* that is the platform's */
            put(l, arena_printf(l->a, "%s.%s", prefix, v[i].path ? v[i].path : ""),
                mount_words(l->a, &v[i]), false);
}

static void put_init(struct listing *l, const struct role *role)
{
    for (size_t i = 0; i < role->n_init; i++) {
        const struct init_command *in = &role->init[i];
        const char *prefix = arena_printf(l->a, "init.%s", in->name ? in->name : "");

        put(l, prefix, "there", true);
        put(l, arena_printf(l->a, "%s.image", prefix), in->image, false);
        put(l, arena_printf(l->a, "%s.workdir", prefix), in->workdir, false);
        put_words(l, arena_printf(l->a, "%s.command", prefix), in->argv);
        put_words(l, arena_printf(l->a, "%s.args", prefix), in->args);
        put_env(l, arena_printf(l->a, "%s.env", prefix), in->env, in->n_env);
        put_env_from(l, arena_printf(l->a, "%s.env_from", prefix), in->env_from, in->n_env_from);
        put_mounts(l, arena_printf(l->a, "%s.mounts", prefix), in->mounts, in->n_mounts);
    }
}

/* --- roles ---------------------------------------------------------------------------------- */

static void put_resources(struct listing *l, const struct resources *res)
{
    put_number(l, "resources.cpu_limit", res->cpu_limit_milli, QUANTITY_UNSET);
    put_number(l, "resources.cpu_request", res->cpu_request_milli, QUANTITY_UNSET);
    put_number(l, "resources.memory_limit", res->memory_limit, QUANTITY_UNSET);
    put_number(l, "resources.memory_request", res->memory_request, QUANTITY_UNSET);
    put_number(l, "resources.gpu", res->gpu > 0 ? res->gpu : QUANTITY_UNSET, QUANTITY_UNSET);
    put_number(l, "resources.shm", res->shm, QUANTITY_UNSET);
}

/* Ports that a framework needs are the platform's to choose, and OpenPAI gives two to everybody. */
static bool is_platforms(const struct job_spec *spec, const struct port_request *p)
{
    if (spec->pai && (strcmp(p->label, "ssh") == 0 || strcmp(p->label, "http") == 0))
        return p->count == 1 && !p->begin_at;
    return strcmp(p->label, "MASTER_PORT") == 0 || strcmp(p->label, "TF_CONFIG") == 0 ||
           strcmp(p->label, "RDZV_PORT") == 0;
}

static void put_ports(struct listing *l, const struct job_spec *spec, const struct role *role)
{
    for (size_t i = 0; i < role->n_ports; i++) {
        const struct port_request *p = &role->ports[i];

        if (!is_platforms(spec, p))
            put(l, arena_printf(l->a, "ports.%s", p->label),
                arena_printf(l->a, "%d from %d%s", p->count, p->begin_at ? p->begin_at : p->usual,
                             p->first_only ? ", of the first" : ""),
                false);
    }
}

/* How often: by its own limit, else by the job's. */
static int32_t restart_limit(const struct job_spec *spec, const struct role *role)
{
    if (role->restart == RESTART_NEVER)
        return 0;
    if (role->restart == RESTART_BY_CLASS || role->restart_limit != -1)
        return role->restart_limit;
    return spec->has_restart_budget ? spec->restart_budget : INT32_MAX;
}

static void put_endings(struct listing *l, const struct job_spec *spec, const struct role *role)
{
    static const char *const policies[] = {[RESTART_NEVER] = "never",
                                           [RESTART_ON_FAILURE] = "on failure",
                                           [RESTART_ALWAYS] = "always",
                                           [RESTART_EXIT_CODE] = "by exit code",
                                           [RESTART_BY_CLASS] = "by class of failure"};
    bool restarts = role->restart == RESTART_BY_CLASS || restart_limit(spec, role) != 0;
    int32_t failed = role->min_failed ? role->min_failed : 1, succeeded = role->min_succeeded;

    /* A number that is never reached is none. */
    put_number(l, "min_failed", failed > role->replicas ? -1 : failed, 1);
    put_number(l, "min_succeeded", succeeded > 0 && succeeded <= role->replicas ? succeeded : 0, 0);
    put_flag(l, "first_decides", role->first_decides);
    put(l, "restart", restarts ? policies[role->restart] : NULL, false);
    put_number(l, "restart_limit", restart_limit(spec, role), 0);
}

void spec_role_facts(struct arena *a, const struct job_spec *spec, const struct role *role,
                     struct facts_list *ret)
{
    static const char *const kinds[] = {
        [ROLE_PLAIN] = NULL, [ROLE_LAUNCHER] = "launcher", [ROLE_HOST] = "host"};
    struct listing l = {a, ret};

    put(&l, "name", role->name, false);
    put(&l, "kind", kinds[role->kind], false);
    if (role->kind != ROLE_LAUNCHER && role->slots_kind == SLOTS_NUMBER)
        put_number(&l, "slots", role->slots, 1);
    else if (role->kind != ROLE_LAUNCHER && role->slots_kind == SLOTS_AUTO)
        put(&l, "slots", "auto", false);
    put_flag(&l, "own_slots",
             role->own_slots && (role->slots_kind != SLOTS_NUMBER || role->slots > 1));
    put_flag(&l, "hosts_ranks", role->hosts_ranks);
    put_flag(&l, "ends_alone", role->ends_alone);
    put_command(&l, spec, role);
    put(&l, "workdir", role->workdir, false);
    put(&l, "image", role->image, false);
    put_env(&l, "env", role->env, role->n_env);
    put_env_from(&l, "env_from", role->env_from, role->n_env_from);
    put_resources(&l, &role->res);
    put_ports(&l, spec, role);
    put_endings(&l, spec, role);
    put_number(&l, "grace", role->grace_s, -1);
    put_init(&l, role);
    put_mounts(&l, "mounts", role->mounts, role->n_mounts);
}

/* --- the job -------------------------------------------------------------------------------- */

static void put_elastic(struct listing *l, const struct elastic_spec *e)
{
    if (!e)
        return;
    put(l, "elastic", "there", true);
    put_number(l, "elastic.min_replicas", e->min_replicas, -1);
    put_number(l, "elastic.max_replicas", e->max_replicas, -1);
    put_number(l, "elastic.max_restarts", e->max_restarts, -1);
    put_number(l, "elastic.n_proc", e->n_proc, -1);
    put_number(l, "elastic.port", e->port, -1);
    put(l, "elastic.backend", e->backend, false);
    put(l, "elastic.host", e->host, false);
    put(l, "elastic.id", e->id, false);
    put_words(l, "elastic.conf", e->conf);
    put_flag(l, "elastic.standalone", e->standalone);
}

static void put_modes(struct listing *l, const char *what, const struct debug_role *v, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        auto_strbuf struct strbuf sb = STRBUF_INIT;

        strbuf_addstr(&sb, v[i].skip_init ? "without init: " : ": ");
        add_words(&sb, v[i].command);
        strbuf_addstr(&sb, " ; ");
        add_words(&sb, v[i].args);
        put(l, arena_printf(l->a, "%s.%s", what, v[i].role ? v[i].role : ""),
            arena_strndup(l->a, sb.buf, sb.len), true);
    }
}

/* A budget that several replicas share is more than a limit of each. */
static bool shares_budget(const struct job_spec *spec)
{
    int64_t n = 0;

    for (size_t i = 0; i < spec->n_roles; i++)
        n += spec->roles[i].restart != RESTART_NEVER ? spec->roles[i].replicas : 0;
    return spec->has_restart_budget && n > 1;
}

/* Hosts of ranks are kept unless somebody says otherwise, and run until then; other replicas are
 * stopped with their job. */
static const char *clean_up(const struct job_spec *spec)
{
    static const char *const hosts[] = {[CLEAN_UP_RUNNING] = "hosts", [CLEAN_UP_ALL] = "hosts"};
    static const char *const others[] = {
        [CLEAN_UP_NONE] = "nothing", [CLEAN_UP_ALL] = "everything"};
    enum clean_up said = spec->clean_up_workers ? CLEAN_UP_ALL : spec->clean_up;

    return spec->framework == FRAMEWORK_MPI ? hosts[said] : others[said];
}

void spec_job_facts(struct arena *a, const struct job_spec *spec, struct facts_list *ret)
{
    struct listing l = {a, ret};

    put(&l, "name", spec->name, false);
    put(&l, "generate", spec->generate, false);
    put(&l, "namespace", spec->namespace_, false);
    put(&l, "framework", framework_name(spec->framework), false);
    put(&l, "mpi.sshd", spec->mpi ? spec->mpi->sshd_path : NULL, false);
    put(&l, "experiment", spec->experiment, false);
    put(&l, "target", spec->target, false);
    put(&l, "target_type", spec->target_type, false);
    put_flag(&l, "gang", spec->gang);
    put_flag(&l, "sparse_cluster", spec->sparse_cluster);
    if (spec->framework == FRAMEWORK_NONE) /* the others count by themselves */
        put_flag(&l, "ranks", spec->ranks);
    if (spec->nproc && !strchr("0123456789a", spec->nproc[0]))
        put(&l, "nproc", spec->nproc, false); /* "cpu", "gpu": numbers and "auto" are slots */
    if (spec->implementation && strcmp(spec->implementation, "OpenMPI") != 0)
        put(&l, "implementation", spec->implementation, false);
    put_number(&l, "retry.max", spec->retry.max, 0);
    put_flag(&l, "retry.by_class", spec->retry.by_class);
    put_number(&l, "deadline", spec->deadline_s, 0);
    put_number(&l, "restart_budget", shares_budget(spec) ? spec->restart_budget : -1, -1);
    put_number(&l, "ttl", spec->has_ttl ? spec->ttl_s : -1, -1);
    put(&l, "clean_up", clean_up(spec), false);
    put_elastic(&l, spec->elastic);
    put_flag(&l, "debug", spec->debug);
    put_flag(&l, "pause", spec->pause);
    put_modes(&l, "debug", spec->debug_roles, spec->n_debug_roles);
    put_modes(&l, "resume", spec->resume_roles, spec->n_resume_roles);
    put(&l, "queue", spec->queue, false);
    put_number(&l, "priority", spec->priority, -1);
    if (spec->pai) {
        put(&l, "openpai", arena_printf(a, "version %d", spec->pai->version), false);
        put(&l, "openpai.data_dir", spec->pai->data_dir, false);
        put(&l, "openpai.output_dir", spec->pai->output_dir, false);
        put(&l, "openpai.code_dir", spec->pai->code_dir, false);
    }
}
