/* served.c - see served.h. */
#include "operator/served.h"

#include <string.h>

#include "base/strbuf.h"
#include "doc/make.h"
#include "operator/served_own.h"

#define JOB_BACKOFF_LIMIT 6     /* of a batch Job that does not say */
#define OPERATOR_DIR "/etc/mpi" /* hostfile and discover_hosts.sh, as upstream mounts them */

/* --- the job file that the object is made of -------------------------------------------------- */

/* A mapping with some of the other's keys. Its values keep their places: they stay parts of the
 * object. */
static struct node *some_of(struct arena *a, const struct node *map, const char *const *keys,
                            size_t n_keys)
{
    struct node *made = ARENA_NEW(a, struct node);
    struct pair *pairs = ARENA_ARRAY(a, struct pair, map->n + 1);

    *made = *map;
    made->n = 0;
    made->pairs = pairs;
    for (size_t i = 0; i < map->n; i++)
        for (size_t k = 0; k < n_keys; k++)
            if (strcmp(map->pairs[i].key->text, keys[k]) == 0)
                pairs[made->n++] = map->pairs[i];
    return made;
}

/* What its author wrote: in that version, without what the cluster has added. */
static const struct node *as_written(struct arena *a, const struct served *s)
{
    static const char *const top[] = {"apiVersion", "kind", "metadata", "spec"};
    static const char *const meta[] = {"name", "namespace", "labels", "annotations"};
    struct node *root = some_of(a, s->object, top, ARRAY_SIZE(top));
    const struct node *version = node_get(root, "apiVersion");
    struct node *written = ARENA_NEW(a, struct node);

    *written = *version;
    written->text = arena_printf(a, "%s/%s", s->kind->group, s->written_in);
    written->len = strlen(written->text);
    make_put(a, root, "apiVersion", written);
    make_put(a, root, "metadata",
             some_of(a, node_get(s->object, "metadata"), meta, ARRAY_SIZE(meta)));
    return root;
}

/* --- what is wrong with it -------------------------------------------------------------------- */

static const char *diags_text(struct arena *a, const struct diags *ds, enum severity severity)
{
    auto_strbuf struct strbuf sb = STRBUF_INIT;

    for (size_t i = 0; i < ds->n; i++) {
        const struct diag *d = &ds->v[i];

        if (d->severity != severity)
            continue;
        if (sb.len)
            strbuf_addch(&sb, '\n');
        if (*d->path && strcmp(d->path, ".") != 0)
            strbuf_addf(&sb, "%s: ", d->path + 1);
        strbuf_addstr(&sb, d->message);
        if (d->hint)
            strbuf_addf(&sb, " (%s)", d->hint);
    }
    return arena_strndup(a, sb.buf, sb.len);
}

/* Is the plan one that wants.h has objects for? */
static bool is_served(const struct job_spec *spec)
{
    switch (spec->platform.environment) {
    case PLATFORM_MPIJOB_V1ALPHA1:
    case PLATFORM_MPIJOB_V1ALPHA2:
    case PLATFORM_MPIJOB_V1:
    case PLATFORM_MPIJOB_V2BETA1:
    case PLATFORM_PYTORCHJOB:
    case PLATFORM_TFJOB:
    case PLATFORM_T9K:
        return true;
    default:
        return false;
    }
}

/* Only a job of Kubeflow's says who serves it. */
static bool is_foreign(const struct served *s)
{
    const char *ours = s->kind->family == FAMILY_MPI && strcmp(s->written_in, "v1") != 0
                           ? "kubeflow.org/mpi-operator"
                           : "kubeflow.org/training-operator";
    const struct node *by = node_find(s->object, "spec", "runPolicy", "managedBy", NULL);

    return strcmp(s->kind->group, "kubeflow.org") == 0 && by && by->type == NODE_STRING &&
           strcmp(by->text, ours) != 0;
}

/* --- the plan --------------------------------------------------------------------------------- */

static const struct facts *facts_of(struct arena *a, const struct served *s,
                                    const struct job_spec *spec)
{
    struct facts *facts = ARENA_NEW(a, struct facts);
    int *ports = ARENA_ARRAY(a, int, spec_n_ports(spec) + 1);
    const char *home = spec->mpi ? spec->mpi->home : NULL;

    spec_own_ports(spec, 0, ports);
    *facts = (struct facts){
        .site = {.engine = "operator",
                 .run_id = s->uid,
                 .run_dir = OPERATOR_DIR,
                 .scratch_dir = "/tmp",
                 .elsewhere = true,
                 .references = true,
                 .operated = true,
                 .cluster_domain = s->options->cluster_domain,
                 .context = "",
                 .namespace_ = s->namespace_,
                 .isolation = "pods",
                 .ports = ports,
                 .interface = "eth0"},
        .caller = {.dir = "/", .user = ""},
        /* T9k's line for mpirun is Open MPI's; the images have it where the file says */
        .machine = {.root = true,
                    .mpi = MPI_OPEN_MPI_4,
                    .mpirun = home ? arena_printf(a, "%s/bin/mpirun", home) : NULL,
                    .mpi_home_ok = home != NULL,
                    .mpi_prefix_ok = home != NULL,
                    .cpus = 1},
    };
    return facts;
}

/* Who restarts what: a launcher that is a batch Job as often as that does by default, the pods of a
 * StatefulSet always. backoffLimit is about the launcher alone. */
static void restart_as_there(struct arena *a, const struct served *s, struct job_spec *spec)
{
    enum platform_kind version = spec->platform.environment;
    struct role *roles = ARENA_ARRAY(a, struct role, spec->n_roles + 1);
    bool said =
        spec->has_restart_budget || !node_absent(node_get(s->object, "spec"), "backoffLimit");
    bool alpha = version == PLATFORM_MPIJOB_V1ALPHA1 || version == PLATFORM_MPIJOB_V1ALPHA2;

    for (size_t i = 0; i < spec->n_roles; i++) {
        roles[i] = spec->roles[i];
        if (roles[i].kind == ROLE_HOST) {
            roles[i].restart_limit = -1;
            if (alpha)
                roles[i].restart = RESTART_ALWAYS;
            else if (roles[i].restart == RESTART_NEVER) /* one that is lost is made again */
                roles[i].restart = RESTART_EXIT_CODE;
        } else if (alpha || version == PLATFORM_MPIJOB_V2BETA1) {
            if (!said)
                roles[i].restart_limit = JOB_BACKOFF_LIMIT;
        }
    }
    spec->roles = roles;
    spec->has_restart_budget = false;
    if (version == PLATFORM_MPIJOB_V1ALPHA1) { /* it has no field for it */
        spec->clean_up = CLEAN_UP_ALL;
        spec->clean_up_workers = true;
    }
}

/* A container without a command runs that of its image. The plan has to know that it runs one: a
 * replica without any only waits. */
static void run_images(struct arena *a, struct job_spec *spec)
{
    static const char *const of_image[] = {"entrypoint", NULL};
    struct role *roles = ARENA_ARRAY(a, struct role, spec->n_roles + 1);

    for (size_t i = 0; i < spec->n_roles; i++) {
        roles[i] = spec->roles[i];
        if (roles[i].kind != ROLE_HOST && !roles[i].argv && !roles[i].shell)
            roles[i].argv = of_image;
    }
    spec->roles = roles;
}

/* training-operator looks at the restart counts of pods that run: with one restart less than it is
 * told, the job ends with the same failure. */
static void count_restarts_as_there(struct job_spec *spec)
{
    bool in_place = false;

    for (size_t i = 0; i < spec->n_roles; i++)
        in_place |= spec->roles[i].restart == RESTART_ON_FAILURE ||
                    spec->roles[i].restart == RESTART_ALWAYS;
    if (spec->has_restart_budget && in_place && spec->restart_budget > 0)
        spec->restart_budget--;
}

/* Ranks of v1 and before run beside a program of ours, which is put before the command. */
static const char *without_command(struct arena *a, const struct served *s,
                                   const struct job_spec *spec)
{
    const char *main = node_text(node_find(s->object, "spec", "mainContainer", NULL), "");
    const struct role *worker = spec_role(spec, "worker");
    const struct node *list =
        worker ? node_find(worker->template_at, "spec", "containers", NULL) : NULL;

    for (size_t i = 1; *main && list && list->type == NODE_SEQ && i < list->n; i++)
        if (strcmp(node_text(node_get(list->items[i], "name"), ""), main) == 0 &&
            node_absent(list->items[i], "command"))
            return arena_printf(a, "container %s of Worker, the mainContainer, must have a command",
                                main);
    return NULL;
}

static bool is_suspended(const struct served *s, const struct job_spec *spec)
{
    const struct node *notes = node_find(s->object, "metadata", "annotations", NULL);
    bool has_field = spec->platform.environment != PLATFORM_MPIJOB_V1ALPHA1 &&
                     spec->platform.environment != PLATFORM_MPIJOB_V1ALPHA2;

    return !has_field && strcmp(node_text(node_get(notes, SERVED_SUSPEND), ""), "true") == 0;
}

/* Their names as a list, or NULL for all of them; sets s->invalid if one is not a role. */
static const char *const *debugged_roles(struct arena *a, struct served *s,
                                         const struct job_spec *spec, const char *said)
{
    const char **names = ARENA_ARRAY(a, const char *, spec->n_roles + 2);
    size_t n = 0;

    while (*said && n <= spec->n_roles) {
        size_t len = strcspn(said, ",");

        names[n] = arena_strndup(a, said, len);
        if (!spec_role(spec, names[n]))
            s->invalid =
                arena_printf(a, "annotation " SERVED_DEBUG ": role %s not found", names[n]);
        n++;
        said += len + (said[len] == ',');
    }
    return names;
}

static void debug_as_noted(struct arena *a, struct served *s, struct job_spec *spec)
{
    const struct node *notes = node_find(s->object, "metadata", "annotations", NULL);
    const char *said = node_text(node_get(notes, SERVED_DEBUG), "");

    if (!*said || strcmp(said, "false") == 0 || spec->platform.environment == PLATFORM_T9K)
        return;
    spec->debug = true;
    if (strcmp(said, "true") != 0)
        spec->debug_only = debugged_roles(a, s, spec, said);
}

static void plan_job(struct arena *a, struct served *s, struct job_spec *spec)
{
    struct err e = {0};

    if (s->kind->family == FAMILY_OWN) {
        served_own_plan(a, s, spec);
        return;
    }
    debug_as_noted(a, s, spec);
    if (s->invalid)
        return;

    if (is_suspended(s, spec))
        spec->pause = true;

    if (spec->platform.environment != PLATFORM_T9K)
        run_images(a, spec);
    spec->gang = false; /* a pod runs its command as soon as it can */
    if (platform_is_mpijob(spec->platform.environment))
        restart_as_there(a, s, spec);
    else if (s->kind->family == FAMILY_TRAINING)
        count_restarts_as_there(spec);
    if (platform_is_mpijob(spec->platform.environment) &&
        (s->invalid = without_command(a, s, spec)))
        return;
    if (!is_served(spec))
        s->invalid = arena_printf(a, "%s/%s %s is not served yet", s->kind->group, s->written_in,
                                  s->kind->kind);
    else if (plan_build(a, spec, facts_of(a, s, spec), &s->plan, &e) < 0)
        s->invalid = arena_strdup(a, e.text);
    else
        s->records = served_can_record(s, spec);
}

int served_read(struct arena *a, const struct served_kind *kind,
                const struct operator_options *options, const struct node *object,
                const char *recorded_version, struct served *ret, struct err *e)
{
    const struct node *meta = node_get(object, "metadata");
    struct served s = {.kind = kind,
                       .options = options,
                       .namespace_ = node_text(node_get(meta, "namespace"), "default"),
                       .name = node_text(node_get(meta, "name"), ""),
                       .uid = node_text(node_get(meta, "uid"), ""),
                       .api_version = node_text(node_get(object, "apiVersion"), ""),
                       .object = object};
    struct job_file file;
    struct job_text text = {0};
    int r;

    if (!meta || meta->type != NODE_MAP || !*s.name || !*s.api_version)
        return err_set(e, -EINVAL, "an object without metadata.name or apiVersion");
    s.written_in = recorded_version && *recorded_version ? arena_strdup(a, recorded_version)
                                                         : written_in(a, object);
    s.foreign = is_foreign(&s);
    if (!s.foreign) {
        text.name = arena_printf(a, "%s/%s", kind->plural, s.name);
        text.tree = as_written(a, &s);
        r = job_text_read(a, &text, &(struct read_options){.gpus_per_node = options->gpus_per_node},
                          &file, e);
        if (r < 0)
            return r;
        if (file.n_jobs == 1)
            plan_job(a, &s, file.jobs[0]);
        else
            s.invalid = diags_text(a, &file.diags, SEV_ERROR);
        s.warned = diags_text(a, &file.diags, SEV_WARNING);
        job_file_release(&file);
    }
    *ret = s;
    return 0;
}
