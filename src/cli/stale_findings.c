/* stale_findings.c - see stale_findings.h. Notes of the plan are not here: a plan is made of the
 * adjusted job. */
#include "cli/stale_findings.h"

#include <string.h>

struct given {
    const struct job_options *o;
    const struct changes *changes;
    const struct engine_class *engine;
};

/* A pod keeps what its template says. */
static bool pod_has_it(const struct given *g, const struct diag *d)
{
    return g->engine->has_images && strstr(d->path, "emplate.");
}

static bool counts_changed(const struct given *g, const struct diag *d)
{
    (void)d;
    return g->o->scale.n || g->o->nproc.n || g->o->fit;
}

static bool workdir_given(const struct given *g, const struct diag *d)
{
    (void)d;
    return g->o->workdir != NULL;
}

static bool launcher_given(const struct given *g, const struct diag *d)
{
    (void)d;
    return g->o->entrypoint.n > 0;
}

/* "the input `data` is not on this machine", and then "the input data is /x (--map)" */
static bool input_mapped(const struct given *g, const struct diag *d)
{
    const char *name = strchr(d->message, '`');
    size_t n = name ? strcspn(name + 1, "`") : 0;

    for (size_t i = 0; name && i < g->changes->n; i++) {
        const char *text = g->changes->v[i].text;

        if (!strncmp(text, "the input ", 10) && !strncmp(text + 10, name + 1, n) &&
            !strncmp(text + 10 + n, " is ", 4))
            return true;
    }
    return false;
}

/* Does a list of NAME=… have what the message names first? */
static bool is_given(const struct strvec *list, const struct diag *d)
{
    const char *name = strchr(d->message, '`');
    size_t n = name ? strcspn(name + 1, "`") : 0;

    for (size_t i = 0; name && i < list->n; i++)
        if (!strncmp(list->v[i], name + 1, n) && list->v[i][n] == '=')
            return true;
    return false;
}

/* "volume `data` (nfs) is not mounted locally", and --volume data=PATH */
static bool volume_given(const struct given *g, const struct diag *d)
{
    return is_given(&g->o->volumes, d);
}

static bool claim_given(const struct given *g, const struct diag *d)
{
    return is_given(&g->o->claims, d);
}

static const struct {
    const char *code;
    bool (*untrue)(const struct given *g, const struct diag *d);
} rows[] = {
    {"W0112", counts_changed}, /* processes and GPUs of a replica */
    {"W0343", counts_changed}, /* nodes that torchrun waits for */
    {"W0345", counts_changed}, /* processes and GPUs of a replica */
    {"W0407", counts_changed}, /* processes that workers cannot share evenly */
    {"W0408", counts_changed}, /* mpirun starts more than the workers take */
    {"W0421", workdir_given},  /* code that is not on this machine */
    {"W0423", counts_changed}, /* more nodes than tasks */
    {"N0301", pod_has_it},     /* a key without effect on one machine */
    {"N0303", pod_has_it},     /* a container beside the first */
    {"N0305", pod_has_it},     /* a volume that only a cluster has */
    {"N0305", volume_given},   /* a volume that is not mounted */
    {"N0401", counts_changed}, /* where the number of workers comes from */
    {"N0402", counts_changed}, /* tasks and instances */
    {"N0403", launcher_given}, /* a launcher that does not call mpirun */
    {"N0421", input_mapped},   /* an input that is not on this machine */
    {"N0421", claim_given},    /* the same, on a claim of the cluster */
};

static bool is_untrue(const struct given *g, const struct diag *d)
{
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
        if (!strcmp(rows[i].code, d->code) && rows[i].untrue(g, d))
            return true;
    return false;
}

void drop_stale_findings(struct diags *ds, const struct job_options *o,
                         const struct changes *changes, const struct engine_class *engine)
{
    const struct given g = {o, changes, engine};
    size_t n = 0;

    for (size_t i = 0; i < ds->n; i++) {
        if (is_untrue(&g, &ds->v[i]))
            ds->n_warnings -= ds->v[i].severity == SEV_WARNING;
        else
            ds->v[n++] = ds->v[i];
    }
    ds->n = n;
}
