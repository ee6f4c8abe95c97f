/* source_losses.c - what of a source file does not reach the job model, and is not carried either.
 *
 * Keys that the source's tables know but do not put into the model, keys they do not know, and what
 * a lowering has said to be without effect: it may have one elsewhere. And variables that a command
 * takes from its platform, which another platform does not give. What a cluster has written into an
 * object (status, uid) is not the job's, and not told.
 */
#include <string.h>
#include <strings.h>

#include "base/strbuf.h"
#include "dialect/convert/convert.h"
#include "kube/metadata.h"
#include "kube/pod.h"

struct source_losses {
    struct arena *a;
    const struct converting *c;
    struct losses *ls;
};

/* --- keys ----------------------------------------------------------------------------------- */

/* What a raised document takes over as it is. */
static bool is_carried(const struct source_losses *x, const char *path)
{
    static const char *const always[] = {".metadata.labels", ".metadata.annotations", ".labels",
                                         ".annotations", ".$schema"};
    bool kubeflow = strncmp(x->c->to->id, "kubeflow", 8) == 0;
    bool mpi = strstr(x->c->to->id, "-mpi") != NULL;

    for (size_t i = 0; i < ARRAY_SIZE(always); i++)
        if (strncmp(path, always[i], strlen(always[i])) == 0)
            return true;
    if (mpi && (strcmp(path, ".spec.sshAuthMountPath") == 0 ||
                strcmp(path, ".spec.ssh.sshAuthMountPath") == 0))
        return true;
    return strstr(path, ".template.") ||
           (kubeflow && (strncmp(path, ".spec.runPolicy.schedulingPolicy", 32) == 0 ||
                         strcmp(path, ".spec.runPolicy.managedBy") == 0));
}

/* Of a job in a List, from the job on. */
static const char *in_job(const struct source_losses *x, const char *path)
{
    const char *base = x->c->source->root_at ? node_path(x->a, x->c->source->root_at) : "";
    size_t n = strlen(base);

    return strncmp(path, base, n) == 0 && path[n] == '.' ? path + n : path;
}

static void add(struct source_losses *x, const char *path, const char *text)
{
    path = in_job(x, path);
    if (!is_carried(x, path))
        loss_add(x->ls, path, "%s", text);
}

static const struct bind_field *field_of(const struct bind_table *table, const char *key)
{
    for (size_t i = 0; i < table->n; i++) {
        const char *name = table->fields[i].key;

        if (table->closed ? strcasecmp(name, key) == 0 : strcmp(name, key) == 0)
            return &table->fields[i];
    }
    return NULL;
}

static void walk(struct source_losses *x, const struct bind_table *table, const struct node *map);

static void walk_field(struct source_losses *x, const struct bind_field *f,
                       const struct node *value)
{
    const char *path = node_path(x->a, value);

    switch (f->kind) {
    case BIND_KNOWN:
        add(x, path, "has no equivalent");
        break;
    case BIND_NOTED:
        if (!f->why || strcmp(f->why, KUBE_SET_BY_CLUSTER) != 0)
            add(x, path, "has no equivalent");
        break;
    case BIND_STRUCT:
        if (f->table != &pod_template_table)
            walk(x, f->table, value);
        break;
    case BIND_STRUCTS:
        for (size_t i = 0; value->type == NODE_SEQ && i < value->n; i++)
            walk(x, f->table, value->items[i]);
        for (size_t i = 0; value->type == NODE_MAP && i < value->n; i++)
            walk(x, f->table, value->pairs[i].value);
        break;
    default:
        break;
    }
}

static void walk(struct source_losses *x, const struct bind_table *table, const struct node *map)
{
    for (size_t i = 0; map->type == NODE_MAP && i < map->n; i++) {
        const struct pair *p = &map->pairs[i];
        const struct bind_field *f = field_of(table, p->key->text);

        if (f)
            walk_field(x, f, p->value);
        else
            add(x, node_path(x->a, p->value), "is not known");
    }
}

/* Notes of lowerings that say that something has no effect, rather than what something means. What
 * the model holds all the same is left to the comparison. */
static void find_notes(struct source_losses *x)
{
    static const char *const codes[] = {"N0301", "N0302", "N0320", "N0321"};
    static const char *const held[] = {".spec.scheduler", ".status", ".metadata."};

    for (size_t i = 0; i < x->c->findings->n; i++) {
        const struct diag *d = &x->c->findings->v[i];
        bool found = false;

        for (size_t k = 0; k < ARRAY_SIZE(codes); k++)
            found = found || strcmp(codes[k], d->code) == 0;
        for (size_t k = 0; k < ARRAY_SIZE(held); k++)
            found = found && strncmp(in_job(x, d->path), held[k], strlen(held[k])) != 0;
        if (found)
            add(x, d->path, "has no equivalent");
    }
}

/* --- variables ------------------------------------------------------------------------------ */

/* What a platform's processes find in their environment; a '*' at the end stands for anything. */
#define AZUREML                                                                                    \
    "AZUREML_*", "AZURE_ML_*", "AZ_*", "MASTER_ADDR", "MASTER_PORT", "RANK", "LOCAL_RANK",         \
        "NODE_RANK", "WORLD_SIZE", "TF_CONFIG", "OMPI_*"
#define MPIJOB "OMPI_*", "K_MPI_JOB_ROLE", "I_MPI_*", "HYDRA_*"
static const char *const given[PLATFORM_KINDS][12] = {
    [PLATFORM_MUSTER] = {"MASTER_ADDR", "MASTER_PORT", "RANK", "LOCAL_RANK", "NODE_RANK",
                         "WORLD_SIZE", "TF_CONFIG", "MUSTER_*", "OMPI_*"},
    [PLATFORM_T9K] = {"OMPI_*"},
    [PLATFORM_OPENPAI] = {"PAI_*", "FC_*"},
    [PLATFORM_AZUREML] = {AZUREML},
    [PLATFORM_AZUREML_PREVIEW] = {AZUREML},
    [PLATFORM_MPIJOB_V1ALPHA1] = {MPIJOB},
    [PLATFORM_MPIJOB_V1ALPHA2] = {MPIJOB},
    [PLATFORM_MPIJOB_V1] = {MPIJOB},
    [PLATFORM_MPIJOB_V2BETA1] = {MPIJOB},
    [PLATFORM_PYTORCHJOB] = {"MASTER_ADDR", "MASTER_PORT", "RANK", "WORLD_SIZE", "PET_*"},
    [PLATFORM_TFJOB] = {"TF_CONFIG"},
};

static bool matches(const char *pattern, const char *name)
{
    size_t n = strcspn(pattern, "*");

    return pattern[n] ? strncmp(pattern, name, n) == 0 : strcmp(pattern, name) == 0;
}

static bool gives(enum platform_kind kind, const char *name)
{
    for (size_t i = 0; i < ARRAY_SIZE(given[kind]) && given[kind][i]; i++)
        if (matches(given[kind][i], name))
            return true;
    return false;
}

/* Is it still given there? A job of Muster's own form keeps its platform, but not the inputs and
 * outputs of Azure ML's. */
static bool keeps(const struct converting *c, const char *name)
{
    if (c->to->platform != PLATFORM_MUSTER)
        return gives(c->to->platform, name);
    return !matches("AZUREML_PARAMETER_*", name) && !matches("AZURE_ML_*", name);
}

static bool sets(const struct role *role, const char *name)
{
    for (size_t i = 0; i < role->n_env; i++)
        if (strcmp(role->env[i].name, name) == 0)
            return true;
    return false;
}

static void find_in_text(struct source_losses *x, const struct role *role, const char *text)
{
    const struct converting *c = x->c;
    bool torchrun = c->to->torchrun && role->slots > 1 && !role->own_slots;
    static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_0123456789";

    for (const char *at = text; (at = strchr(at, '$')); at++) {
        const char *name = at + 1 + (at[1] == '{' || at[1] == '(');
        size_t n = strspn(name, letters);

        name = arena_strndup(x->a, name, n);
        if (torchrun && strcmp(name, "LOCAL_RANK") == 0)
            continue;
        if (n && gives(c->source->platform.environment, name) && !keeps(c, name) &&
            !sets(role, name))
            loss_add(x->ls, arena_printf(x->a, "roles.%s.variables.%s", role->name, name),
                     "the command uses it, but a %s does not set it", c->to->id);
    }
}

static void find_variables(struct source_losses *x)
{
    const struct job_spec *spec = x->c->spec;

    for (size_t i = 0; i < spec->n_roles; i++) {
        const struct role *role = &spec->roles[i];

        if (role->shell)
            find_in_text(x, role, role->shell);
        for (const char *const *word = role->argv; word && *word; word++)
            find_in_text(x, role, *word);
    }
}

void source_losses_find(struct arena *a, const struct converting *c, struct losses *ls)
{
    const struct dialect *from = dialect_by_id(c->source->dialect);
    struct source_losses x = {a, c, ls};

    if (from && from->root_table && c->source->root_at)
        walk(&x, from->root_table, c->source->root_at);
    find_notes(&x);
    find_variables(&x);
}
