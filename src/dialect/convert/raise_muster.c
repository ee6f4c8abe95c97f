/* raise_muster.c - writes a job in Muster's own form: the job as a whole. Its roles:
 * raise_muster_role.c.
 *
 * Only what differs from the form's own defaults is written, so that a short job stays short.
 */
#include <string.h>

#include "dialect/muster/muster_v1.h"
#include "dialect/convert/raise_muster.h"

static struct node *seconds(struct arena *a, int64_t s)
{
    return make_text(a, arena_printf(a, "%llds", (long long)s));
}

static void put_text(struct raising *r, struct node *map, const char *key, const char *text)
{
    make_put(r->a, map, key, make_text(r->a, text));
}

static void put_number(struct raising *r, struct node *map, const char *key, int64_t n)
{
    if (n >= 0)
        make_put(r->a, map, key, make_int(r->a, n));
}

static void put_flag(struct raising *r, struct node *map, const char *key, bool flag)
{
    if (flag)
        make_put(r->a, map, key, make_bool(r->a, true));
}

/* --- the head ------------------------------------------------------------------------------- */

/* Labels and annotations of the object that it was. */
static void put_labels(struct raising *r, struct node *root)
{
    static const char *const keys[] = {"labels", "annotations"};
    const struct node *meta = node_get(r->spec->root_at, "metadata");

    for (size_t i = 0; meta && i < ARRAY_SIZE(keys); i++) {
        const struct node *map = node_get(meta, keys[i]);

        if (map && map->type == NODE_MAP)
            make_put(r->a, root, keys[i], make_copy(r->a, map));
    }
}

static void put_head(struct raising *r, struct node *root)
{
    const struct job_spec *job = r->spec;
    bool launcher = false;

    for (size_t i = 0; i < job->n_roles; i++)
        launcher = launcher || job->roles[i].kind == ROLE_LAUNCHER;
    put_text(r, root, "apiVersion", MUSTER_V1);
    put_text(r, root, "name", kube_name_is_generated(job) ? NULL : job->name);
    put_text(r, root, "generateName", job->generate);
    put_text(r, root, "namespace", job->namespace_);
    put_labels(r, root);
    if (job->framework != FRAMEWORK_NONE)
        put_text(r, root, "framework", framework_name(job->framework));
    if (!job->ranks && !launcher &&
        (job->framework == FRAMEWORK_NONE || job->framework == FRAMEWORK_PYTORCH))
        make_put(r->a, root, "ranks", make_bool(r->a, false));
    if (job->implementation && strcmp(job->implementation, "OpenMPI") != 0)
        put_text(r, root, "implementation", job->implementation);
    put_flag(r, root, "sparseCluster", job->sparse_cluster);
    if (job->gang == launcher)
        make_put(r->a, root, "gang", make_bool(r->a, job->gang));
}

/* --- the platform --------------------------------------------------------------------------- */

static void put_word(struct raising *r, struct node *map, const char *key, const char *const *words,
                     int word, int usual)
{
    if (word != usual)
        put_text(r, map, key, words[word]);
}

static void put_platform(struct raising *r, struct node *root)
{
    const struct platform *p = &r->spec->platform;
    const struct platform like = platform_of(p->environment);
    int kind = platform_kind_of(p);
    struct node *map = make_map(r->a);

    if (kind == PLATFORM_MUSTER)
        return;
    if (kind > 0) {
        put_text(r, root, "platform", platform_words[kind]);
        return;
    }
    put_word(r, map, "like", platform_words, (int)p->environment, PLATFORM_MUSTER);
    put_word(r, map, "hosts", host_naming_words, (int)p->hosts, (int)like.hosts);
    put_word(r, map, "services", service_naming_words, (int)p->services, (int)like.services);
    put_word(r, map, "status", platform_words, (int)p->status, (int)like.status);
    make_put(r->a, root, "platform", map);
}

/* --- the mpirun line ------------------------------------------------------------------------ */

static void put_mpi(struct raising *r, struct node *root)
{
    const struct mpi_spec *mpi = r->spec->mpi;
    struct node *map = make_map(r->a), *mca = make_map(r->a);

    if (!mpi)
        return;
    make_put(r->a, map, "program", make_texts(r->a, mpi->program));
    if (mpi->extra_args[0])
        make_put(r->a, map, "args", make_texts(r->a, mpi->extra_args));
    for (size_t i = 0; i < mpi->n_mca; i++)
        put_text(r, mca, mpi->mca[i].name, mpi->mca[i].value);
    if (mca->n)
        make_put(r->a, map, "mca", mca);
    put_text(r, map, "home", mpi->home);
    put_text(r, map, "sshd", mpi->sshd_path);
    make_put(r->a, root, "mpi", map);
}

/* --- policies ------------------------------------------------------------------------------- */

static struct node *retries(struct raising *r)
{
    static const char *const words[] = {"forever", "always"};
    const struct retry_policy *retry = &r->spec->retry;
    struct node *max =
        retry->max >= 0 ? make_int(r->a, retry->max) : make_text(r->a, words[retry->max == -2]);
    struct node *map = make_map(r->a);

    if (!retry->by_class)
        return retry->max ? max : NULL;
    if (retry->max)
        make_put(r->a, map, "max", max);
    put_flag(r, map, "byClass", true);
    return map;
}

static struct node *mode(struct raising *r, bool on, const struct debug_role *v, size_t n)
{
    struct node *map = make_map(r->a), *roles;

    if (n == 0)
        return on ? make_bool(r->a, true) : NULL;
    make_put(r->a, map, "enabled", make_bool(r->a, on));
    roles = make_below(r->a, map, "roles");
    for (size_t i = 0; i < n; i++) {
        struct node *role = make_map(r->a);

        put_flag(r, role, "skipInit", v[i].skip_init);
        make_put(r->a, role, "command", make_texts(r->a, v[i].command));
        make_put(r->a, role, "args", make_texts(r->a, v[i].args));
        make_put(r->a, roles, v[i].role ? v[i].role : "", role);
    }
    return map;
}

static void put_policies(struct raising *r, struct node *root)
{
    const struct job_spec *job = r->spec;

    make_put(r->a, root, "retries", retries(r));
    if (job->has_restart_budget)
        put_number(r, root, "restartBudget", job->restart_budget);
    if (job->deadline_s)
        make_put(r->a, root, "deadline", seconds(r->a, job->deadline_s));
    if (job->has_ttl)
        make_put(r->a, root, "ttl", seconds(r->a, job->ttl_s));
    if (job->clean_up != CLEAN_UP_UNSAID)
        put_text(r, root, "cleanUp", mv1_clean_ups[job->clean_up]);
    put_flag(r, root, "cleanUpWorkers", job->clean_up_workers);
    make_put(r->a, root, "debug", mode(r, job->debug, job->debug_roles, job->n_debug_roles));
    make_put(r->a, root, "pause", mode(r, job->pause, job->resume_roles, job->n_resume_roles));
    put_text(r, root, "queue", job->queue);
    put_number(r, root, "priority", job->priority);
    put_text(r, root, "experiment", job->experiment);
    put_text(r, root, "target", job->target);
    put_text(r, root, "targetType", job->target_type);
}

static void put_elastic(struct raising *r, struct node *root)
{
    const struct elastic_spec *e = r->spec->elastic;
    struct node *map = make_map(r->a);

    if (!e)
        return;
    put_number(r, map, "minReplicas", e->min_replicas);
    put_number(r, map, "maxReplicas", e->max_replicas);
    put_number(r, map, "maxRestarts", e->max_restarts);
    put_number(r, map, "processes", e->n_proc);
    put_text(r, map, "backend", e->backend);
    put_text(r, map, "host", e->host);
    put_number(r, map, "port", e->port);
    put_text(r, map, "id", e->id);
    make_put(r->a, map, "conf", make_texts(r->a, e->conf));
    put_flag(r, map, "standalone", e->standalone);
    make_put(r->a, root, "elastic", map);
}

static void put_openpai(struct raising *r, struct node *root)
{
    const struct pai_spec *pai = r->spec->pai;
    struct node *map = make_map(r->a);

    if (!pai)
        return;
    put_number(r, map, "version", pai->version);
    put_text(r, map, "dataDir", pai->data_dir);
    put_text(r, map, "outputDir", pai->output_dir);
    put_text(r, map, "codeDir", pai->code_dir);
    make_put(r->a, root, "openpai", map);
}

const struct node *raise_muster(struct arena *a, const struct job_spec *job, struct losses *losses)
{
    struct raising r = {a, job, losses};
    struct node *root = make_map(a), *roles;

    put_head(&r, root);
    put_platform(&r, root);
    put_mpi(&r, root);
    roles = make_below(a, root, "roles");
    for (size_t i = 0; i < job->n_roles; i++)
        if (!muster_makes_role(&r, &job->roles[i]))
            make_put(a, roles, job->roles[i].name, raise_muster_role(&r, &job->roles[i]));
    put_policies(&r, root);
    put_elastic(&r, root);
    put_openpai(&r, root);
    return root;
}
