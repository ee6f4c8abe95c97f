/* raise_t9k.c - writes a job as TensorStack's MPIJob.
 *
 * T9k composes the mpirun line itself. A launcher's own command can be said only if it is such a
 * line: it is taken apart. A file in form M1 stays in it; everything else is written in M2, the
 * newer.
 */
#include <string.h>

#include "base/num.h"
#include "dialect/dialect.h"
#include "dialect/convert/raise.h"
#include "dialect/t9k/t9k_mpi.h"
#include "spec/command.h"
#include "spec/mpi_options.h"

/* The mpirun line in parts. */
struct line {
    const char *home;
    struct node *mca, *args, *program;
};

static const struct role *role_of_kind(const struct job_spec *spec, enum role_kind kind)
{
    for (size_t i = 0; i < spec->n_roles; i++)
        if (spec->roles[i].kind == kind)
            return &spec->roles[i];
    return NULL;
}

static bool is_option(const char *word, const char *name)
{
    return word[0] == '-' && strcmp(word + strspn(word, "-"), name) == 0;
}

/* The kubelet's doubled $ are single where no kubelet reads them. */
static const char *unescaped(struct arena *a, const char *text)
{
    char *made = arena_strdup(a, text);
    size_t n = 0;

    for (size_t i = 0; text[i]; i++) {
        made[n++] = text[i];
        if (text[i] == '$' && text[i + 1] == '$')
            i++;
    }
    made[n] = '\0';
    return made;
}

static bool names_variables(const char *const *argv)
{
    for (; *argv; argv++)
        for (const char *c = *argv; (c = strstr(c, "$(")); c += 2)
            if (c == *argv || c[-1] != '$')
                return true;
    return false;
}

/* A number per host, which T9k knows from nowhere else. */
static bool counts_hosts(const struct node *args)
{
    for (size_t i = 0; i < args->n; i++) {
        const struct mpi_option *o = mpi_option_of(args->items[i]->text, NULL);

        if (o && (o->meaning == MPI_MEANS_PER_NODE || o->meaning == MPI_MEANS_ONE_PER_NODE))
            return true;
        if (strncmp(args->items[i]->text, "ppr:", 4) == 0)
            return true;
    }
    return false;
}

static void add_slots(struct raising *r, const struct role *worker, struct line *line)
{
    if (!worker || worker->slots_kind != SLOTS_NUMBER || counts_hosts(line->args))
        return;
    make_add(r->a, line->args, make_text(r->a, "-N"));
    make_add(r->a, line->args, make_text(r->a, arena_printf(r->a, "%d", worker->slots)));
}

static void split_line(struct raising *r, const char *const *argv, size_t n, struct line *ret)
{
    for (size_t i = 1, k; i < n; i += k) {
        k = mpirun_option(argv + i);
        if (k == 3 && is_option(argv[i], "mca") && !node_get(ret->mca, argv[i + 1])) {
            make_put(r->a, ret->mca, argv[i + 1], make_text(r->a, unescaped(r->a, argv[i + 2])));
            continue;
        }
        for (size_t w = 0; w < k; w++)
            make_add(r->a, ret->args, make_text(r->a, unescaped(r->a, argv[i + w])));
    }
    for (; argv[n]; n++)
        make_add(r->a, ret->program, make_text(r->a, unescaped(r->a, argv[n])));
}

static void read_line(struct raising *r, const struct mpi_spec *mpi, struct line *ret)
{
    ret->home = mpi->home;
    for (size_t i = 0; i < mpi->n_mca; i++)
        make_put(r->a, ret->mca, mpi->mca[i].name, make_text(r->a, mpi->mca[i].value));
    ret->args = make_texts(r->a, mpi->extra_args);
    ret->program = make_texts(r->a, mpi->program);
}

/* False after a refusal. */
static bool find_line(struct raising *r, const struct role *launcher, const struct role *worker,
                      struct line *ret)
{
    const char *const *argv = shell_plain(r->a, spec_command(r->a, r->spec, launcher));
    size_t n = argv && argv[0] ? mpirun_split(r->a, argv, &ret->home) : 0;

    *ret = (struct line){ret->home, make_map(r->a), make_seq(r->a), make_seq(r->a)};
    if (r->spec->mpi) {
        read_line(r, r->spec->mpi, ret);
    } else if (!n) {
        return loss_refuse(r->losses, "E0703", "use --entrypoint launcher='mpirun …' to set one",
                           "a T9k MPIJob generates its mpirun command; the launcher's command is "
                           "not a plain mpirun call");
    } else {
        split_line(r, argv, n, ret);
        if (names_variables(argv))
            loss_add(r->losses, arena_printf(r->a, "roles.%s.command", launcher->name),
                     "T9k does not expand $(…)");
    }
    add_slots(r, worker, ret);
    return true;
}

/* --- the document --------------------------------------------------------------------------- */

static struct node *restart(struct raising *r, const struct role *role)
{
    static const char *const words[] = {[RESTART_NEVER] = NULL,
                                        [RESTART_ON_FAILURE] = "OnFailure",
                                        [RESTART_ALWAYS] = "Always",
                                        [RESTART_EXIT_CODE] = "OnFailure",
                                        [RESTART_BY_CLASS] = "OnFailure"};
    struct node *map = make_map(r->a);
    int32_t limit = role->restart_limit >= 0      ? role->restart_limit
                    : r->spec->has_restart_budget ? r->spec->restart_budget
                                                  : 0;

    if (!words[role->restart] || limit <= 0) /* without a limit T9k starts nothing again */
        return NULL;
    make_put(r->a, map, "policy", make_text(r->a, words[role->restart]));
    make_put(r->a, map, "limit", make_int(r->a, limit));
    return map;
}

/* Has the launcher what a worker's template would give it anyway? */
static bool shares_template(struct raising *r, const struct role *launcher,
                            const struct role *worker)
{
    static const char *const paths[] = {"image", "workdir", "env",    "env_from",
                                        "grace", "init",    "mounts", "resources"};
    const struct kube_writing kube = raise_kube(r);
    struct role shared = *worker;

    shared.res = (struct resources)RESOURCES_UNSET;
    if (launcher->template_at != worker->template_at)
        return false;
    for (size_t i = 0; i < ARRAY_SIZE(paths); i++)
        if (!kube_same(&kube, launcher, &shared, paths[i]))
            return false;
    return true;
}

/* Where the source has its entry for a role, in its own list; -1 if it has none. */
static int place_of(const struct job_spec *job, const char *type)
{
    const struct node *list = node_find(job->root_at, "spec", "replicaSpecs", NULL);

    for (size_t i = 0; list && list->type == NODE_SEQ && i < list->n; i++) {
        const struct node *have = node_get(list->items[i], "type");

        if (have && strcmp(have->text, type) == 0)
            return (int)i;
    }
    return -1;
}

/* A launcher that is a host of ranks only launches here. Workers take its ranks, so that mpirun's
 * numbers stay right. */
static int32_t workers_wanted(struct raising *r, const struct role *worker)
{
    const struct role *launcher = role_of_kind(r->spec, ROLE_LAUNCHER);
    int32_t more;

    if (!launcher->hosts_ranks)
        return worker->replicas;
    more = (launcher->slots + worker->slots - 1) / worker->slots;
    loss_add(r->losses, arena_printf(r->a, "roles.%s.hosts_ranks", launcher->name),
             "a T9k launcher runs no ranks; its ranks move to %d more worker%s", more,
             more == 1 ? "" : "s");
    return worker->replicas + more;
}

static struct node *replica_spec(struct raising *r, const struct role *role, bool own_template)
{
    const char *type = role->kind == ROLE_HOST ? "worker" : "launcher";
    const struct pod_wish wish = {
        .container = type, .image = true, .command = r->spec->mpi ? POD_AS_IT_IS : POD_NO_COMMAND};
    struct node *item = make_map(r->a);

    make_put(r->a, item, "type", make_text(r->a, type));
    make_put(r->a, item, "replicas",
             make_int(r->a, role->kind == ROLE_HOST ? workers_wanted(r, role) : role->replicas));
    make_put(r->a, item, "restartPolicy", restart(r, role));
    if (own_template)
        make_put(r->a, item, "template", raise_template(r, role, &wish));
    return item;
}

/* A launcher that has nothing of its own needs no entry; one that the source has stays where it is,
 * so that both documents can be laid side by side. */
static const struct node *replica_specs(struct raising *r, const struct role *launcher,
                                        const struct role *worker)
{
    int place = place_of(r->spec, "launcher");
    bool own = !shares_template(r, launcher, worker);
    struct node *list = make_seq(r->a), *item = replica_spec(r, launcher, own);
    bool there = place >= 0 || own || node_get(item, "restartPolicy");

    if (there && place <= place_of(r->spec, "worker"))
        make_add(r->a, list, item);
    make_add(r->a, list, replica_spec(r, worker, true));
    if (there && place > place_of(r->spec, "worker"))
        make_add(r->a, list, item);
    return list;
}

static void put_m1(struct raising *r, struct node *spec, const struct role *worker,
                   const struct line *line)
{
    struct node *map = make_below(r->a, spec, "worker");
    const struct pod_wish wish = {.container = "mpi-worker", .command = POD_AS_IT_IS};

    make_put(r->a, map, "replicas", make_int(r->a, worker->replicas));
    make_put(r->a, map, "extraMPIArgs", line->args);
    make_put(r->a, map, "cmd", line->program);
    make_put(r->a, map, "template", raise_template(r, worker, &wish));
    if (line->mca->n)
        make_put(r->a, spec, "mca", line->mca);
    make_put(r->a, spec, "mpiHome", make_text(r->a, line->home));
}

static void put_m2(struct raising *r, struct node *spec, const struct role *launcher,
                   const struct role *worker, const struct line *line)
{
    struct node *config = make_below(r->a, spec, "mpiConfig");

    make_put(r->a, spec, "replicaSpecs", replica_specs(r, launcher, worker));
    make_put(r->a, config, "home", make_text(r->a, line->home));
    if (line->mca->n)
        make_put(r->a, config, "mca", line->mca);
    if (line->args->n)
        make_put(r->a, config, "extraArgs", line->args);
    make_put(r->a, config, "script", line->program);
}

static struct node *mode(struct raising *r, bool enabled, const char *key,
                         const struct debug_role *v, size_t n)
{
    struct node *map = make_map(r->a), *list = make_seq(r->a);

    if (!enabled && !n)
        return NULL;
    make_put(r->a, map, "enabled", make_bool(r->a, enabled));
    for (size_t i = 0; i < n; i++) {
        struct node *item = make_map(r->a);

        make_put(r->a, item, "type", make_text(r->a, v[i].role));
        if (v[i].skip_init)
            make_put(r->a, item, "skipInitContainer", make_bool(r->a, true));
        make_put(r->a, item, "command", make_texts(r->a, v[i].command));
        make_put(r->a, item, "args", make_texts(r->a, v[i].args));
        make_add(r->a, list, item);
    }
    if (n)
        make_put(r->a, map, key, list);
    return map;
}

static void put_policies(struct raising *r, struct node *spec)
{
    const struct job_spec *in = r->spec;
    const struct node *mount = raise_ssh_mount(r);
    struct node *modes = make_map(r->a);

    if (in->clean_up_workers || in->clean_up == CLEAN_UP_ALL || in->clean_up == CLEAN_UP_RUNNING)
        make_put(r->a, make_below(r->a, spec, "runPolicy"), "cleanUpWorkers",
                 make_bool(r->a, true));
    if (in->mpi && in->mpi->sshd_path)
        make_put(r->a, make_below(r->a, spec, "ssh"), "sshdPath",
                 make_text(r->a, in->mpi->sshd_path));
    if (mount)
        make_put(r->a, make_below(r->a, spec, "ssh"), "sshAuthMountPath", mount);
    make_put(r->a, modes, "debug",
             mode(r, in->debug, "replicaSpecs", in->debug_roles, in->n_debug_roles));
    make_put(r->a, modes, "pause",
             mode(r, in->pause, "resumeSpecs", in->resume_roles, in->n_resume_roles));
    if (modes->n)
        make_put(r->a, spec, "runMode", modes);
    if (in->queue || in->priority >= 0) {
        struct node *t9k = make_below(r->a, make_below(r->a, spec, "scheduler"), "t9kScheduler");

        make_put(r->a, t9k, "queue", make_text(r->a, in->queue));
        if (in->priority >= 0)
            make_put(r->a, t9k, "priority", make_int(r->a, in->priority));
    }
}

const struct node *raise_t9k(struct arena *a, const struct job_spec *job, struct losses *losses)
{
    struct raising r = {a, job, losses};
    const struct role *launcher = role_of_kind(job, ROLE_LAUNCHER);
    const struct role *worker = role_of_kind(job, ROLE_HOST);
    struct line line = {0};
    struct node *root, *spec;

    if (!launcher || !worker || job->n_roles != 2)
        return loss_refuse(losses, "E0701", NULL,
                           "an MPIJob needs a launcher and workers that wait for its mpirun; %s",
                           launcher ? "this job has no such workers" : "this job has no launcher");
    if (!find_line(&r, launcher, worker, &line))
        return NULL;
    loss_pair(losses, launcher->name, "launcher");
    loss_pair(losses, worker->name, "worker");
    root = raise_object(&r, T9K_API_VERSION, T9K_MPI_KIND);
    spec = make_below(a, root, "spec");
    if (job->form && strcmp(job->form, "M1") == 0 && strcmp(job->dialect, t9k_mpi.id) == 0)
        put_m1(&r, spec, worker, &line);
    else
        put_m2(&r, spec, launcher, worker, &line);
    put_policies(&r, spec);
    return root;
}
