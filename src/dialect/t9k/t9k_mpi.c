/* t9k_mpi.c - lowers TensorStack's MPIJob (batch.tensorstack.dev) into the job model.
 *
 * The job has a launcher, which runs mpirun, and workers, which only wait for it. In form M1 both
 * are made from the worker's template; in M2 the launcher may have its own.
 *
 * Not here: composing the mpirun line (plan). */
#include "dialect/t9k/t9k_mpi.h"

#include <errno.h>
#include <string.h>

#include "base/limits.h"
#include "base/nearest.h"
#include "base/strbuf.h"
#include "dialect/dialect.h"
#include "dialect/mpirun.h"

enum { LAUNCHER, WORKER, N_ROLES };
static const char *const role_names[] = {[LAUNCHER] = "launcher", [WORKER] = "worker"};

struct lowering {
    struct binder b;
    const struct t9k_spec *in;
    const struct t9k_replica_spec *m2[N_ROLES]; /* M2's entries, or NULL */
    struct job_spec *out;
    struct role *roles;
    struct mpi_spec *mpi;
    const struct node *args_at; /* mpirun's options, or NULL */
};

/* --- form M0 -------------------------------------------------------------------------------- */

/* How the first form's counts are said today, as its authors translated their own files. */
static const char *m0_translation(struct arena *a, const struct node *per_worker,
                                  const struct node *recovery)
{
    auto_strbuf struct strbuf sb = STRBUF_INIT;
    const struct node *enable = node_get(recovery, "enable"), *limit = node_get(recovery, "limit");

    strbuf_addstr(&sb, "remove these keys and write: extraMPIArgs: [");
    if (per_worker)
        strbuf_addf(&sb, "\"-N\", \"%.20s\", ", per_worker->text);
    if (enable && enable->type == NODE_BOOL && enable->i)
        strbuf_addf(&sb, "\"--enable-recovery\", \"--max-restarts\", \"%.20s\", ",
                    limit ? limit->text : "0");
    strbuf_addstr(&sb, "\"--allow-run-as-root\"]");
    return arena_strndup(a, sb.buf, sb.len);
}

static bool is_m0(const struct binder *b, const struct node *root)
{
    static const char *const keys[] = {"processesPerWorker", "processRecovery"};
    const struct node *worker = node_find(root, "spec", "worker", NULL);
    bool found = false;

    for (size_t i = 0; i < ARRAY_SIZE(keys); i++) {
        const struct node *key = node_key(worker, keys[i]);

        if (!key)
            continue;
        diag_at(b->ds, key, "E0112",
                m0_translation(b->a, node_get(worker, keys[0]), node_get(worker, keys[1])),
                "`%s` belongs to the first version of the MPIJob (before June 2023), which is not "
                "supported",
                key->text);
        found = true;
    }
    return found;
}

/* --- names ---------------------------------------------------------------------------------- */

static void check_kind(const struct binder *b, const struct t9k_job *job)
{
    static const char *const versions[] = {T9K_API_VERSION}, *const kinds[] = {T9K_MPI_KIND};

    if (job->api_version)
        bind_word(b, node_get(job->at, "apiVersion"), "apiVersion", job->api_version, versions, 1);
    if (job->kind)
        bind_word(b, node_get(job->at, "kind"), "kind", job->kind, kinds, 1);
}

/* --- the mpirun line ------------------------------------------------------------------------ */

/* One datum that both forms can say: the M2 spelling, unless only M1's is there. */
static const struct node *either(struct lowering *l, const struct node *m1, const struct node *m2)
{
    if (m1 && m2) {
        bool m1_first = node_label(m1)->pos.line < node_label(m2)->pos.line;
        const struct node *first = m1_first ? m1 : m2, *again = m1_first ? m2 : m1;

        diag_at(l->b.ds, node_label(again), "E0106", "keep one of the two",
                "`%s` repeats `%s` (line %u)", again->parent_key, first->parent_key,
                node_label(first)->pos.line);
    }
    return m2 ? m2 : m1;
}

static void lower_mca(struct lowering *l, const struct node *map)
{
    struct env_entry *mca;
    size_t n = 0;

    if (!map)
        return;
    if (map->type != NODE_MAP) {
        bind_type_error(&l->b, "mca", "a mapping", NULL, map);
        return;
    }
    mca = ARENA_ARRAY(l->b.a, struct env_entry, map->n);
    for (size_t i = 0; i < map->n; i++) {
        const struct pair *p = &map->pairs[i];

        mca[n] = (struct env_entry){.name = p->key->text, .at = p->value};
        n += bind_string(&l->b, p->key->text, p->value, &mca[n].value);
    }
    l->mpi->mca = mca;
    l->mpi->n_mca = n;
}

static void lower_slots(struct lowering *l, const char *const *args, const struct node *list)
{
    size_t bad = 0;
    int32_t slots = mpirun_slots(args, &bad);

    if (!args)
        return;
    if (slots == -ENODATA)
        diag_at(l->b.ds, list->items[bad], "E0203", NULL, "`%s` requires a value", args[bad]);
    else if (slots < 0)
        diag_at(l->b.ds, list->items[bad], "E0203", NULL,
                "\"%.40s\" is not a number of processes from 1 to %d", args[bad], LIMIT_SLOTS);
    if (slots <= 0)
        return;
    l->roles[WORKER].slots_kind = SLOTS_NUMBER;
    l->roles[WORKER].slots = slots;
}

static void lower_program(struct lowering *l, const char *const *program, const struct node *at)
{
    const char *first = program ? program[0] : NULL;

    l->mpi->program = program;
    if (first && !program[1] && strchr(first, ' '))
        diag_at(l->b.ds, at->items[0], "W0202", "write one word per item of the list",
                "the whole string, including spaces, is used as the program name");
    if (first && !*first)
        diag_at(l->b.ds, at->items[0], "E0104", NULL, "the program's name must not be empty");
}

static void missing_program(struct lowering *l)
{
    const struct t9k_spec *in = l->in;

    if (in->config)
        bind_missing(&l->b, in->config->at, "spec.mpiConfig", "script", NULL);
    else if (in->worker)
        bind_missing(&l->b, in->worker->at, "spec.worker", "cmd", NULL);
    else if (in->replica_specs.n)
        bind_missing(&l->b, in->at, "spec", "mpiConfig",
                     "mpiConfig.script sets what each rank runs");
}

static void lower_mpi(struct lowering *l)
{
    static const char *const none[] = {NULL};
    const struct t9k_spec *in = l->in;
    const struct t9k_worker *worker = in->worker;
    const struct t9k_mpi_config *config = in->config;
    const struct node *m1 = worker ? worker->at : NULL, *m2 = config ? config->at : NULL;
    const struct node *args_at, *program_at;
    const char *const *args = NULL, *const *program = NULL;

    program_at = either(l, node_get(m1, "cmd"), node_get(m2, "script"));
    args_at = either(l, node_get(m1, "extraMPIArgs"), node_get(m2, "extraArgs"));
    if (program_at && worker)
        program = worker->cmd;
    if (program_at && config && program_at->parent == m2)
        program = config->script;
    if (args_at && worker)
        args = worker->extra_args;
    if (args_at && config && args_at->parent == m2)
        args = config->extra_args;
    l->mpi->home_at = either(l, node_get(in->at, "mpiHome"), node_get(m2, "home"));
    l->mpi->home = config && config->home ? config->home : in->mpi_home;
    lower_mca(l, either(l, in->mca, config ? config->mca : NULL));

    l->args_at = args_at;
    lower_slots(l, args, args_at);
    l->mpi->recovery = mpirun_recovers(args);
    l->mpi->extra_args = args ? args : none;
    if (!program_at || program_at->type == NODE_NULL)
        missing_program(l);
    else
        lower_program(l, program, program_at);
}

/* --- roles ---------------------------------------------------------------------------------- */

static void init_roles(struct lowering *l)
{
    l->roles = ARENA_ARRAY(l->b.a, struct role, N_ROLES);
    for (int i = 0; i < N_ROLES; i++)
        l->roles[i] = (struct role){
            .name = role_names[i],
            .kind = i == LAUNCHER ? ROLE_LAUNCHER : ROLE_HOST,
            .replicas = 1,
            .slots_kind = i == LAUNCHER ? SLOTS_NUMBER : SLOTS_UNSET,
            .slots = 1,
            .res = RESOURCES_UNSET,
            .grace_s = -1,
            .restart = RESTART_NEVER,
        };
    l->out->roles = l->roles;
    l->out->n_roles = N_ROLES;
}

static void note_replaced(struct lowering *l, const struct pod_container *c, const char *by)
{
    static const char *const keys[] = {"command", "args"};

    for (size_t i = 0; i < ARRAY_SIZE(keys); i++) {
        const struct node *key = node_key(c->at, keys[i]);

        if (key)
            diag_at(l->b.ds, key, "N0302", NULL, "`%s` is overridden by %s", keys[i], by);
    }
}

/* Without a name somewhere the fault has been told already. */
static bool all_named(const struct pod_spec *spec)
{
    const struct node *list = node_get(spec->at, "containers");

    for (size_t i = 0; i < spec->containers.n; i++) {
        if (!spec->containers.v[i].name)
            return false;
    }
    return spec->containers.n > 0 && spec->containers.n == list->n;
}

static const struct pod_container *worker_container(struct lowering *l,
                                                    const struct pod_template *t)
{
    const char *want = l->out->container;
    const struct pod_container *c = pod_find_container(t, want);
    const char *hint = NULL;

    if (!t->spec) {
        bind_missing(&l->b, t->at, "template", "spec", NULL);
        return NULL;
    }
    if (c || !all_named(t->spec))
        return c;
    if (t->spec->containers.n == 1)
        hint = arena_printf(l->b.a, "rename `%s` to `%s`", t->spec->containers.v[0].name, want);
    diag_at(l->b.ds, node_key(t->spec->at, "containers"), "E0212", hint, "container `%s` not found",
            want);
    return NULL;
}

/* The worker, and what the launcher takes of it: all but the resources. */
static void lower_worker(struct lowering *l, const struct pod_template *t)
{
    struct role *launcher = &l->roles[LAUNCHER], *worker = &l->roles[WORKER];
    const struct pod_container *c = t ? worker_container(l, t) : NULL;

    if (!c)
        return;
    note_replaced(l, c, "sshd");
    pod_fill_role(&l->b, t, c, worker);
    pod_note_unused(&l->b, t, c);
    pod_share_role(worker, launcher);
}

static void lower_restart(struct lowering *l, const struct node *at, struct role *role)
{
    static const char *const words[] = {"Never", "OnFailure", "Always"};
    const struct t9k_restart *restart;
    struct t9k_restart word = {0};

    if (!at)
        return;
    if (at->type == NODE_STRING) {
        word.policy = at->text;
        restart = &word;
    } else {
        restart = bind_map(&l->b, &t9k_restart_table, at);
        at = restart ? node_get(restart->at, "policy") : NULL;
    }
    if (!restart || !restart->policy)
        return;
    bind_word(&l->b, at, "restartPolicy", restart->policy, words, ARRAY_SIZE(words));
    for (size_t i = 0; i < ARRAY_SIZE(words); i++) {
        if (strcmp(restart->policy, words[i]) == 0)
            role->restart = (enum restart_policy)i;
    }
    role->restart_limit = restart->limit;
    if (role->restart != RESTART_NEVER && role->kind == ROLE_HOST)
        diag_at(l->b.ds, at, "N0301", NULL, "has no effect: a worker only waits for mpirun");
    else if (role->restart != RESTART_NEVER && role->restart_limit == 0)
        diag_at(l->b.ds, at, "N0301", "`limit` says how often", "has no effect: its `limit` is 0");
}

static int role_index(const char *type)
{
    int i = 0;

    while (i < N_ROLES && !(type && strcmp(type, role_names[i]) == 0))
        i++;
    return i;
}

static void lower_replica_specs(struct lowering *l)
{
    const struct node *list = node_get(l->in->at, "replicaSpecs");
    /* An entry that was not understood is told already, and may be meant to be the worker. */
    bool wrong_entry = l->in->replica_specs.n < list->n;

    for (size_t i = 0; i < l->in->replica_specs.n; i++) {
        const struct t9k_replica_spec *rs = &l->in->replica_specs.v[i];
        const struct node *type = node_get(rs->at, "type");
        int role = role_index(rs->type);

        if (rs->type)
            bind_word(&l->b, type, "type", rs->type, role_names, N_ROLES);
        if (role == N_ROLES) {
            wrong_entry = true;
            continue;
        }
        if (l->m2[role])
            diag_at(l->b.ds, type, "E0210", NULL, "duplicate entry for `%s` (first at line %u)",
                    rs->type, l->m2[role]->at->pos.line);
        else
            l->m2[role] = rs;
        l->roles[role].replicas = rs->replicas;
        l->roles[role].replicas_at = node_get(rs->at, "replicas");
        lower_restart(l, rs->restart, &l->roles[role]);
    }
    if (!l->m2[WORKER] && !wrong_entry)
        diag_at(l->b.ds, node_label(list), "E0103", NULL,
                "an entry with `type: worker` is required in replicaSpecs");
    if (l->m2[WORKER] && node_absent(l->m2[WORKER]->at, "template"))
        bind_missing(&l->b, l->m2[WORKER]->at, "a replicaSpecs entry", "template", NULL);
    if (l->roles[LAUNCHER].replicas > 1)
        diag_at(l->b.ds, l->roles[LAUNCHER].replicas_at, "E0203", NULL,
                "`replicas` of the launcher must be 1, not %d", l->roles[LAUNCHER].replicas);
}

/* M2: what the launcher's own container says wins over what came from the worker's. */
static void lower_launcher(struct lowering *l, const struct pod_template *t)
{
    const struct pod_container *c = t ? pod_find_container(t, role_names[LAUNCHER]) : NULL;

    if (!c) {
        if (t)
            pod_note_unused(&l->b, t, NULL);
        return;
    }
    note_replaced(l, c, "mpirun");
    pod_fill_role(&l->b, t, c, &l->roles[LAUNCHER]);
    pod_note_unused(&l->b, t, c);
}

static void lower_roles(struct lowering *l)
{
    const struct t9k_worker *m1 = l->in->worker;
    bool m2 = !node_absent(l->in->at, "replicaSpecs");

    l->out->form = m2 ? "M2" : "M1";
    l->out->container = m2 ? "worker" : "mpi-worker";
    if (m1 && m2)
        either(l, m1->at, node_get(l->in->at, "replicaSpecs"));
    if (l->in->replica_specs.v) {
        lower_replica_specs(l);
        lower_worker(l, l->m2[WORKER] ? l->m2[WORKER]->template_ : NULL);
        lower_launcher(l, l->m2[LAUNCHER] ? l->m2[LAUNCHER]->template_ : NULL);
    } else if (m1) {
        l->roles[WORKER].replicas = m1->replicas;
        l->roles[WORKER].replicas_at = node_get(m1->at, "replicas");
        lower_worker(l, m1->template_);
    } else if (node_absent(l->in->at, "worker") && !m2) {
        bind_missing(&l->b, l->in->at, "spec", "worker", "or `replicaSpecs`, the newer form");
    }
}

/* --- the rest of the spec ------------------------------------------------------------------- */

static void lower_ssh(struct lowering *l, const struct t9k_ssh *ssh)
{
    if (!ssh)
        return;
    l->mpi->sshd_path = ssh->sshd_path;
    l->mpi->sshd_at = node_get(ssh->at, "sshdPath");
    if (ssh->sshd_path && ssh->sshd_path[0] != '/')
        diag_at(l->b.ds, l->mpi->sshd_at, "E0207", "sshd is usually /usr/sbin/sshd",
                "`sshdPath` must be an absolute path, not \"%s\"", ssh->sshd_path);
    if (ssh->auth_mount_path)
        diag_at(l->b.ds, node_key(ssh->at, "sshAuthMountPath"), "N0301", NULL,
                "`sshAuthMountPath` has no effect in a local run: no ssh keys are used");
}

/* true or false; the first documentation had three words instead. */
static void lower_clean_up(struct lowering *l, const struct node *at)
{
    static const char *const words[] = {"none", "unfinished", "all"};
    bool old = false;

    if (!at)
        return;
    for (size_t i = 0; i < ARRAY_SIZE(words) && at->type == NODE_STRING; i++) {
        if (strcmp(at->text, words[i]) == 0) {
            old = true;
            l->out->clean_up_workers = i > 0;
        }
    }
    if (old)
        diag_at(l->b.ds, at, "W0203", l->out->clean_up_workers ? "write true" : "write false",
                "`cleanUpWorkers` should be true or false; \"%s\" is the old form", at->text);
    else
        bind_bool(&l->b, "cleanUpWorkers", at, &l->out->clean_up_workers);
}

/* Kubernetes would give args to the image's entry point; T9k's controller has commands of its own.
 */
static void check_mode_role(struct lowering *l, const struct t9k_mode *mode, size_t i)
{
    const struct t9k_mode_role *r = &mode->roles.v[i];

    if (r->args && r->args[0] && !(r->command && r->command[0]))
        diag_at(l->b.ds, node_key(r->at, "args"), "W0552", "set `command` as well",
                "`args` has no effect without `command`");
    for (size_t k = 0; r->type && k < i; k++)
        if (mode->roles.v[k].type && strcmp(mode->roles.v[k].type, r->type) == 0)
            diag_at(l->b.ds, node_get(r->at, "type"), "E0210", NULL,
                    "duplicate entry for `%s` (first at line %u)", r->type,
                    mode->roles.v[k].at->pos.line);
}

static bool lower_mode(struct lowering *l, const struct t9k_mode *mode, const struct node **ret_at,
                       const struct debug_role **ret_roles, size_t *ret_n)
{
    struct debug_role *roles;

    if (!mode)
        return false;
    roles = ARENA_ARRAY(l->b.a, struct debug_role, mode->roles.n);
    for (size_t i = 0; i < mode->roles.n; i++) {
        const struct t9k_mode_role *r = &mode->roles.v[i];

        if (r->type)
            bind_word(&l->b, node_get(r->at, "type"), "type", r->type, role_names, N_ROLES);
        check_mode_role(l, mode, i);
        roles[i] = (struct debug_role){r->type, r->skip_init, r->command, r->args, r->at};
    }
    *ret_roles = roles;
    *ret_n = mode->roles.n;
    *ret_at = node_key(mode->at, mode->enable ? "enable" : "enabled");
    return mode->enabled || mode->enable;
}

static void lower_run_mode(struct lowering *l, const struct t9k_run_mode *mode)
{
    struct job_spec *out = l->out;

    if (!mode)
        return;
    out->debug = lower_mode(l, mode->debug, &out->debug_at, &out->debug_roles, &out->n_debug_roles);
    out->pause =
        lower_mode(l, mode->pause, &out->pause_at, &out->resume_roles, &out->n_resume_roles);
}

static void lower_scheduler(struct lowering *l, const struct t9k_scheduler *scheduler)
{
    if (!scheduler)
        return;
    diag_at(l->b.ds, node_label(scheduler->at), "N0301", NULL,
            "`scheduler` has no effect in a local run");
    if (!scheduler->t9k)
        return;
    l->out->queue = scheduler->t9k->queue;
    l->out->priority = scheduler->t9k->priority;
}

static void lower_spec(struct lowering *l)
{
    l->mpi = ARENA_NEW(l->b.a, struct mpi_spec);
    l->out->mpi = l->mpi;
    init_roles(l);
    lower_roles(l);
    lower_mpi(l);
    lower_ssh(l, l->in->ssh);
    if (l->in->run_policy)
        lower_clean_up(l, l->in->run_policy->clean_up);
    lower_run_mode(l, l->in->run_mode);
    lower_scheduler(l, l->in->scheduler);
}

static bool detect(const struct node *root)
{
    const struct node *api = node_get(root, "apiVersion"), *kind = node_get(root, "kind");
    static const char *const kinds[] = {T9K_MPI_KIND};

    if (!api || api->type != NODE_STRING || strncmp(api->text, T9K_GROUP, strlen(T9K_GROUP)) != 0)
        return false;
    /* A missing or misspelt kind is best told as the error it is. */
    return !kind || kind->type != NODE_STRING || nearest_word(kind->text, kinds, 1);
}

static enum verdict lower(struct arena *a, const struct read_options *opts, const struct doc *doc,
                          const struct node *root, struct diags *ds, struct job_spec **ret)
{
    struct lowering l = {.b = {.a = a, .ds = ds, .root = &t9k_job_table}};
    size_t before = ds->n_errors;
    const struct t9k_job *job;

    (void)opts;
    *ret = NULL;
    if (is_m0(&l.b, root))
        return VERDICT_UNSUPPORTED;
    job = bind_map(&l.b, &t9k_job_table, root);
    if (!job)
        return VERDICT_ACCEPT;
    l.out = ARENA_NEW(a, struct job_spec);
    *l.out = (struct job_spec){.dialect = t9k_mpi.id,
                               .platform = platform_of(PLATFORM_T9K),
                               .framework = FRAMEWORK_MPI,
                               .file = doc->file,
                               .priority = -1};
    check_kind(&l.b, job);
    if (job->metadata)
        kube_lower_metadata(&l.b, job->metadata, l.out);
    l.in = job->spec;
    if (l.in)
        lower_spec(&l);
    if (l.args_at && l.out->mpi)
        mpirun_check(&l.b, l.out, l.args_at, "increase -N or the number of workers");
    if (l.out->name)
        spec_validate(l.out, ds);
    if (ds->n_errors == before)
        *ret = l.out;
    return VERDICT_ACCEPT;
}

const struct dialect t9k_mpi = {.id = "t9k-mpi",
                                .title = "TensorStack T9k's MPIJob",
                                .root_table = &t9k_job_table,
                                .detect = detect,
                                .lower = lower};
