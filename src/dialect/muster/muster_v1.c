/* muster_v1.c - lowers Muster's own job file: the job as a whole.
 *
 * Each process is a rank unless the file or the framework says otherwise, just as with `run -n`: a
 * file is what that command line becomes when it grows.
 *
 * Not here: a role (role.c), MPI (mpi.c). */
#include "dialect/muster/muster_v1.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "base/limits.h"
#include "base/nearest.h"
#include "dialect/mpirun.h"
#include "dialect/muster/own_kind.h"

#define NAME_MAX_CHARS 255

/* --- names ---------------------------------------------------------------------------------- */

static bool check_name(const struct binder *b, const struct node *at, const char *what,
                       const char *name, size_t max)
{
    static const char allowed[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                  "0123456789-._~";
    size_t n = strspn(name, allowed);

    bool dots = !name[strspn(name, ".")]; /* a path's own words, or nothing */

    if (!name[n] && !dots && n <= max)
        return true;
    if (name[n] || dots)
        diag_at(b->ds, at, "E0601", "use letters, digits and any of - . _ ~, not only dots",
                "%s must not be named \"%.80s\"", what, name);
    else
        diag_at(b->ds, at, "E0601", NULL, "the name of %s has %zu characters; the limit is %zu",
                what, n, max);
    return false;
}

/* A letter of a role's name as its hosts have it. */
static char host_letter(char c)
{
    char low = (char)tolower((unsigned char)c);

    return (low >= 'a' && low <= 'z') || (low >= '0' && low <= '9') || !low ? low : '-';
}

static bool same_host(const char *x, const char *y)
{
    while (*x && host_letter(*x) == '-')
        x++;
    while (*y && host_letter(*y) == '-')
        y++;
    if (!*x || !*y)
        return false;
    for (; *x && host_letter(*x) == host_letter(*y); x++, y++)
        ;
    return host_letter(*x) == host_letter(*y);
}

static void check_role_names(const struct binder *b, const struct mv1_job *in,
                             const struct job_spec *out)
{
    const struct node *roles = node_get(in->at, "roles");

    for (size_t i = 0; i < out->n_roles; i++) {
        const struct role *role = &out->roles[i];
        const struct node *at = node_key(roles, role->name);
        int index = snprintf(NULL, 0, "-%d", role->replicas > 0 ? role->replicas - 1 : 0);

        if (!at || !check_name(b, at, "a role", role->name, LIMIT_NAME - (size_t)index))
            continue;
        for (size_t k = 0; k < i && out->n_roles <= LIMIT_REPLICAS; k++) {
            if (!same_host(role->name, out->roles[k].name))
                continue;
            diag_at(b->ds, at, "E0602", "host names are lower case without dots",
                    "%s and %s would have the same host names", out->roles[k].name, role->name);
            break;
        }
    }
}

static void lower_name(const struct binder *b, const struct mv1_job *in, struct job_spec *out)
{
    out->name = in->name;
    out->generate = in->generate;
    out->name_at = node_get(in->at, in->name ? "name" : "generateName");
    if (!in->name && in->generate) { /* a cluster would append letters of its own */
        char *name = arena_strdup(b->a, in->generate);
        size_t n = strlen(name);

        while (n > 1 && name[n - 1] == '-')
            name[--n] = '\0';
        out->name = name;
    }
    if (out->name)
        check_name(b, out->name_at, "a job", out->name, NAME_MAX_CHARS);
    else if (node_absent(in->at, "name") && node_absent(in->at, "generateName"))
        bind_missing(b, in->at, "the job", "name", NULL);
}

/* --- ports that frameworks need ------------------------------------------------------------- */

static bool some_role_has(const struct role *roles, size_t n, const char *label)
{
    for (size_t i = 0; i < n; i++) {
        for (size_t k = 0; k < roles[i].n_ports; k++) {
            if (strcmp(roles[i].ports[k].label, label) == 0)
                return true;
        }
    }
    return false;
}

static void add_port(const struct binder *b, struct role *role, const char *label, int32_t usual,
                     bool first_only)
{
    struct port_request *ports = ARENA_ARRAY(b->a, struct port_request, role->n_ports + 1);

    if (role->n_ports)
        memcpy(ports, role->ports, role->n_ports * sizeof(*ports));
    ports[role->n_ports++] =
        (struct port_request){.label = label, .count = 1, .usual = usual, .first_only = first_only};
    role->ports = ports;
}

/* Where a PyTorchJob's processes meet: at its master, or where torchrun's rendezvous is. */
static void add_pytorchjob_ports(const struct binder *b, const struct mv1_job *in,
                                 const struct job_spec *out, struct role *roles)
{
    enum { USUAL = 23456 };

    for (size_t i = 0; i < out->n_roles; i++) {
        if (strcmp(roles[i].name, "master") == 0 &&
            !some_role_has(roles, out->n_roles, "MASTER_PORT"))
            add_port(b, &roles[i], "MASTER_PORT", USUAL, true);
        if (strcmp(roles[i].name, "worker") == 0 && in->elastic && !in->elastic->host &&
            !some_role_has(roles, out->n_roles, "RDZV_PORT"))
            add_port(b, &roles[i], "RDZV_PORT", in->elastic->port > 0 ? in->elastic->port : USUAL,
                     true);
    }
}

/* Unless the file itself says who has them. */
static void add_ports(const struct binder *b, const struct mv1_job *in, const struct job_spec *out,
                      struct role *roles)
{
    bool pytorchjob = out->platform.environment == PLATFORM_PYTORCHJOB;
    bool torch = out->ranks || (out->framework == FRAMEWORK_PYTORCH && !pytorchjob);
    size_t first = 0, n = out->n_roles;

    if (pytorchjob)
        add_pytorchjob_ports(b, in, out, roles);
    while (first < n && roles[first].replicas == 0)
        first++;
    if (torch && first < n && !some_role_has(roles, n, "MASTER_PORT"))
        add_port(b, &roles[first], "MASTER_PORT", 29500, true);
    if (out->framework == FRAMEWORK_TENSORFLOW && !some_role_has(roles, n, "TF_CONFIG")) {
        for (size_t i = 0; i < n; i++)
            add_port(b, &roles[i], "TF_CONFIG", 2222, false);
    }
}

/* --- roles ---------------------------------------------------------------------------------- */

static bool has_kind(const struct job_spec *out, enum role_kind kind)
{
    for (size_t i = 0; i < out->n_roles; i++) {
        if (out->roles[i].kind == kind)
            return true;
    }
    return false;
}

static void lower_ranks(const struct binder *b, const struct mv1_job *in, struct job_spec *out)
{
    bool plain = !has_kind(out, ROLE_LAUNCHER) && !has_kind(out, ROLE_HOST);

    out->ranks = plain && (out->framework == FRAMEWORK_NONE || out->framework == FRAMEWORK_PYTORCH);
    out->gang = !has_kind(out, ROLE_LAUNCHER);
    if (!node_absent(in->at, "gang"))
        out->gang = in->gang;
    if (node_absent(in->at, "ranks"))
        return;
    if (in->ranks && !plain)
        diag_at(b->ds, node_key(in->at, "ranks"), "E0604", NULL,
                "mpirun counts the ranks of an MPI job itself");
    out->ranks = in->ranks && plain;
}

/* Parameter servers serve for ever: somebody else has to end the job. */
static void check_servers(const struct binder *b, const struct mv1_job *in,
                          const struct job_spec *out)
{
    const struct role *servers = spec_role(out, "ps");

    for (size_t i = 0; i < out->n_roles; i++) {
        if (out->roles[i].min_succeeded > 0 || out->roles[i].first_decides)
            return;
    }
    if (!servers)
        servers = spec_role(out, "parameter_server");
    if (servers && out->framework == FRAMEWORK_TENSORFLOW)
        diag_at(b->ds, node_key(node_get(in->at, "roles"), servers->name), "W0601",
                "add `succeedsAfter: all` to the workers",
                "parameter servers do not end, so the job never ends");
}

static void lower_roles(const struct binder *b, const struct mv1_job *in, struct job_spec *out)
{
    struct role *roles = ARENA_ARRAY(b->a, struct role, in->roles.n + 1);
    int64_t replicas = 0;

    out->roles = roles;
    for (size_t i = 0; i < in->roles.n; i++) {
        mv1_lower_role(b, &in->roles.v[i], out->framework, &roles[i]);
        replicas += roles[i].replicas;
    }
    out->n_roles = in->roles.n;
    check_role_names(b, in, out);
    if (in->roles.n && replicas == 0)
        diag_at(b->ds, node_label(node_get(in->at, "roles")), "E0203", NULL,
                "no role has a replica; there is nothing to run");
    mv1_lower_mpi(b, in, out, roles, &out->n_roles);
    mv1_lower_environment(b, in, out, roles);
    lower_ranks(b, in, out);
    add_ports(b, in, out, roles);
    check_servers(b, in, out);
}

/* --- the rest ------------------------------------------------------------------------------- */

static void lower_retries(const struct binder *b, const struct node *at, struct job_spec *out)
{
    static const int32_t repeats[] = {-1, -2};
    const struct mv1_retries *in;

    if (!at)
        return;
    if (at->type == NODE_MAP) {
        in = bind_map(b, &mv1_retries_table, at);
        out->retry.by_class = in->by_class;
        at = in->max;
    }
    if (at)
        mv1_number(b, at, 0, INT32_MAX, mv1_repeats, repeats, &out->retry.max);
}

/* Roles that debug or pause speaks of: each has to be one. */
static void check_mode_roles(const struct binder *b, const struct job_spec *out,
                             const struct mv1_mode *mode)
{
    const char **names = ARENA_ARRAY(b->a, const char *, out->n_roles);

    for (size_t i = 0; i < out->n_roles; i++)
        names[i] = out->roles[i].name;
    for (size_t i = 0; i < mode->roles.n && out->n_roles; i++) {
        const struct node *key = node_label(mode->roles.v[i].at);
        const char *near = nearest_word(key->text, names, out->n_roles);

        if (!spec_role(out, key->text))
            diag_at(b->ds, key, "E0209",
                    near ? arena_printf(b->a, "did you mean `%s`?", near) : NULL,
                    "role `%s` not found", key->text);
    }
}

static bool lower_mode(const struct binder *b, const struct job_spec *out, const struct node *at,
                       const struct node **ret_at, const struct debug_role **ret_roles,
                       size_t *ret_n)
{
    const struct mv1_mode *mode;
    struct debug_role *roles;
    bool on = false;

    if (!at)
        return false;
    *ret_at = node_label(at);
    if (at->type != NODE_MAP)
        return bind_bool(b, at->parent_key, at, &on) && on;
    mode = bind_map(b, &mv1_mode_table, at);
    if (node_key(mode->at, "enabled"))
        *ret_at = node_key(mode->at, "enabled");
    check_mode_roles(b, out, mode);
    roles = ARENA_ARRAY(b->a, struct debug_role, mode->roles.n);
    for (size_t i = 0; i < mode->roles.n; i++) {
        const struct mv1_mode_role *r = &mode->roles.v[i];

        roles[i] = (struct debug_role){r->at->parent_key, r->skip_init, r->command, r->args, r->at};
    }
    *ret_roles = roles;
    *ret_n = mode->roles.n;
    return mode->enabled || node_absent(mode->at, "enabled");
}

static void lower_policies(const struct binder *b, const struct mv1_job *in, struct job_spec *out)
{
    int clean_up = mv1_word(in->clean_up, mv1_clean_ups);

    lower_retries(b, in->retries, out);
    if (in->deadline)
        mv1_duration(b, in->deadline, &out->deadline_s);
    if (in->ttl)
        out->has_ttl = mv1_duration(b, in->ttl, &out->ttl_s);
    out->has_restart_budget = in->restart_budget >= 0;
    out->restart_budget = out->has_restart_budget ? in->restart_budget : 0;
    out->clean_up = clean_up > 0 ? (enum clean_up)clean_up : CLEAN_UP_UNSAID;
    out->clean_up_workers = in->clean_up_workers;
    out->debug =
        lower_mode(b, out, in->debug, &out->debug_at, &out->debug_roles, &out->n_debug_roles);
    out->pause =
        lower_mode(b, out, in->pause, &out->pause_at, &out->resume_roles, &out->n_resume_roles);
}

static void lower_elastic(const struct binder *b, const struct mv1_job *in, struct job_spec *out)
{
    if (in->elastic) {
        const struct mv1_elastic *from = in->elastic;
        struct elastic_spec *elastic = ARENA_NEW(b->a, struct elastic_spec);

        *elastic = (struct elastic_spec){
            .min_replicas = from->min_replicas,
            .max_replicas = from->max_replicas,
            .max_restarts = from->max_restarts,
            .n_proc = from->processes,
            .port = from->port,
            .backend = from->backend,
            .host = from->host,
            .id = from->id,
            .conf = from->conf,
            .standalone = from->standalone,
            .at = from->at,
        };
        out->elastic = elastic;
    }
}

/* What is for a cluster is kept, and said to be. */
static void note_unused(const struct binder *b, const struct mv1_job *in)
{
    static const char *const keys[] = {"queue", "priority", "target", "targetType"};

    for (size_t i = 0; i < ARRAY_SIZE(keys); i++) {
        if (!node_absent(in->at, keys[i]))
            diag_at(b->ds, node_key(in->at, keys[i]), "N0301", NULL,
                    "`%s` has no effect in a local run", keys[i]);
    }
    for (size_t i = 0; i < in->roles.n; i++) {
        if (in->roles.v[i].template_)
            diag_at(b->ds, node_key(in->roles.v[i].at, "template"), "N0301", NULL,
                    "`template` is for Kubernetes and has no effect in a local run");
    }
}

/* What only one framework's processes are told, in a job that has none of these. */
static void check_unheard(const struct binder *b, const struct mv1_job *in,
                          const struct job_spec *out)
{
    const struct elastic_spec *e = out->elastic;
    bool torchrun = false;

    for (size_t i = 0; i < out->n_roles; i++)
        torchrun = torchrun || out->roles[i].own_slots;
    if (e && (out->framework != FRAMEWORK_PYTORCH || !torchrun))
        diag_at(b->ds, node_key(in->at, "elastic"), "W0603",
                "it is for `framework: pytorch` and a role with `ownSlots: true`, whose command is "
                "torchrun",
                "`elastic` has no effect: no command of this job uses a rendezvous");
    if (e && e->max_replicas >= 0 && e->min_replicas > e->max_replicas)
        diag_at(b->ds, node_get(e->at, "minReplicas"), "E0341", NULL,
                "`minReplicas` is %d, above `maxReplicas`, which is %d", e->min_replicas,
                e->max_replicas);
    if (in->sparse_cluster && out->framework != FRAMEWORK_TENSORFLOW)
        diag_at(b->ds, node_key(in->at, "sparseCluster"), "W0603", "it is for TensorFlow",
                "`sparseCluster` has no effect: this job has no TF_CONFIG");
}

static bool detect(const struct node *root)
{
    const struct node *version = node_get(root, "apiVersion");

    return (version && version->type == NODE_STRING && strcmp(version->text, MUSTER_V1) == 0) ||
           own_kind_is(root);
}

static enum verdict lower(struct arena *a, const struct read_options *opts, const struct doc *doc,
                          const struct node *root, struct diags *ds, struct job_spec **ret)
{
    const struct binder b = {.a = a, .ds = ds, .root = &mv1_job_table};
    size_t before = ds->n_errors;
    const struct mv1_job *in;
    struct job_spec *out;
    int framework;

    (void)opts;
    *ret = NULL;
    if (own_kind_is(root))
        root = own_kind_file(&b, root);
    in = root ? bind_map(&b, &mv1_job_table, root) : NULL;
    if (!in)
        return VERDICT_ACCEPT;
    framework = mv1_word(in->framework, mv1_frameworks);
    out = ARENA_NEW(a, struct job_spec);
    *out = (struct job_spec){
        .dialect = muster_v1.id,
        .framework = framework > 0 ? (enum framework)framework : FRAMEWORK_NONE,
        .file = doc->file,
        .namespace_ = in->namespace_,
        .queue = in->queue,
        .priority = in->priority,
        .experiment = in->experiment,
        .target = in->target,
        .target_type = in->target_type,
        .implementation = in->implementation,
        .sparse_cluster = in->sparse_cluster,
    };
    lower_name(&b, in, out);
    mv1_lower_platform(&b, in->platform, out);
    lower_roles(&b, in, out);
    lower_policies(&b, in, out);
    lower_elastic(&b, in, out);
    note_unused(&b, in);
    check_unheard(&b, in, out);
    if (out->framework == FRAMEWORK_MPI)
        mpirun_check(&b, out, in->mpi ? node_get(in->mpi->at, "args") : NULL,
                     "increase `slots` or the number of replicas");
    if (out->name)
        spec_validate(out, ds);
    if (ds->n_errors == before)
        *ret = out;
    return VERDICT_ACCEPT;
}

const struct dialect muster_v1 = {.id = "muster-v1",
                                  .title = "Muster's own job file",
                                  .root_table = &mv1_job_table,
                                  .detect = detect,
                                  .lower = lower};
