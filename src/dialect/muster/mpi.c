/* mpi.c - the launcher and the hosts of an MPI job in Muster's own form.
 *
 * Short: roles with a command and no launcher. Muster makes one and composes the mpirun line; the
 * command is what each rank runs. Long: a launcher of its own, with a command that calls mpirun
 * itself, or with none and `mpi` to compose the line from. */
#include <errno.h>
#include <string.h>

#include "base/limits.h"
#include "dialect/mpirun.h"
#include "dialect/muster/muster_v1.h"
#include "kube/pod.h"

static struct role *find_kind(struct role *roles, size_t n, enum role_kind kind)
{
    for (size_t i = 0; i < n; i++) {
        if (roles[i].kind == kind)
            return &roles[i];
    }
    return NULL;
}

static bool has_command(const struct role *role)
{
    return role->argv || role->shell;
}

static const struct node *role_at(const struct mv1_job *in, const struct role *role)
{
    return node_key(node_get(in->at, "roles"), role->name);
}

/* A launcher that has to do without hosts is one itself. */
static bool takes_ranks(struct role *roles, size_t n, const struct role *launcher)
{
    return launcher->hosts_ranks || !find_kind(roles, n, ROLE_HOST);
}

/* There is one at most, and it is one replica. */
static void check_launcher(const struct binder *b, const struct mv1_job *in, struct role *roles,
                           size_t n)
{
    const struct role *first = find_kind(roles, n, ROLE_LAUNCHER);

    for (size_t i = 0; i < n; i++) {
        const struct role *role = &roles[i];

        if (role->kind != ROLE_LAUNCHER)
            continue;
        if (role != first)
            diag_at(b->ds, role_at(in, role), "E0604", NULL, "a second launcher (the first is %s)",
                    first->name);
        if (role->replicas != 1)
            diag_at(b->ds, role->replicas_at, "E0203", NULL,
                    "`replicas` of the launcher must be 1, not %d", role->replicas);
        if (!takes_ranks(roles, n, role) && (role->slots_kind != SLOTS_NUMBER || role->slots != 1))
            diag_at(b->ds, node_find(in->at, "roles", role->name, "slots", NULL), "E0604",
                    "the slots of the hosts set the number of ranks", "a launcher has one process");
    }
}

/* The launcher comes first, as if it had been written so. It has what the hosts have, but for what
 * they may use: it only waits for mpirun. */
static struct role *make_launcher(const struct binder *b, const struct mv1_job *in,
                                  struct role *roles, size_t *n)
{
    const char *name = mv1_kinds[ROLE_LAUNCHER];

    for (size_t i = 0; i < *n; i++) {
        if (strcmp(roles[i].name, name) == 0) {
            diag_at(b->ds, role_at(in, &roles[i]), "E0604", "rename it",
                    "this MPI job has no launcher; the name is reserved for the generated one");
            return NULL;
        }
    }
    memmove(&roles[1], &roles[0], *n * sizeof(*roles));
    (*n)++;
    roles[0] = spec_new_role(name, ROLE_LAUNCHER);
    pod_share_role(find_kind(roles, *n, ROLE_HOST), &roles[0]);
    return &roles[0];
}

/* What ranks run, said by the hosts; they themselves only wait. */
static const char *const *take_command(const struct binder *b, struct role *roles, size_t n)
{
    const struct role *first = NULL;
    const char *const *program = NULL;

    for (size_t i = 0; i < n; i++) {
        struct role *role = &roles[i];

        if (role->kind != ROLE_HOST || !has_command(role))
            continue;
        if (first)
            diag_at(b->ds, node_label(role->command_at), "E0604", NULL,
                    "one mpirun runs one program, but %s also has a `command`", first->name);
        else
            program = mv1_argv(b, role->command_at, role->shell_kind);
        first = role;
        role->argv = NULL;
        role->shell = NULL;
    }
    return program;
}

static void lower_mca(const struct binder *b, const struct node *map, struct mpi_spec *mpi)
{
    struct env_entry *mca;
    size_t n = 0;

    if (!map)
        return;
    if (map->type != NODE_MAP) {
        bind_type_error(b, "mca", "a mapping", NULL, map);
        return;
    }
    mca = ARENA_ARRAY(b->a, struct env_entry, map->n);
    for (size_t i = 0; i < map->n; i++) {
        const struct pair *p = &map->pairs[i];

        mca[n] = (struct env_entry){.name = p->key->text, .value = p->value->text, .at = p->value};
        if (p->value->type == NODE_INT || p->value->type == NODE_FLOAT ||
            p->value->type == NODE_BOOL)
            n++;
        else
            n += bind_string(b, p->key->text, p->value, &mca[n].value);
    }
    mpi->mca = mca;
    mpi->n_mca = n;
}

/* Slots that only the options of mpirun say, as in `-N 2`. */
static void slots_of_args(const struct binder *b, const struct mv1_mpi *in, struct role *roles,
                          size_t n)
{
    const struct node *at;
    size_t bad = 0;
    int32_t slots;

    if (!in || !in->args)
        return;
    slots = mpirun_slots(in->args, &bad);
    at = slots < 0 ? node_get(in->at, "args")->items[bad] : NULL;
    if (slots == -ENODATA)
        diag_at(b->ds, at, "E0203", NULL, "`%s` requires a value", in->args[bad]);
    else if (slots < 0)
        diag_at(b->ds, at, "E0203", NULL, "\"%.40s\" is not a number of processes from 1 to %d",
                in->args[bad], LIMIT_SLOTS);
    for (size_t i = 0; slots > 0 && i < n; i++) {
        if (roles[i].kind != ROLE_HOST || roles[i].slots_kind != SLOTS_UNSET)
            continue;
        roles[i].slots_kind = SLOTS_NUMBER;
        roles[i].slots = slots;
    }
}

static void compose(const struct binder *b, const struct mv1_job *in, struct job_spec *out,
                    struct role *roles, size_t n)
{
    static const char *const none[] = {NULL};
    const struct mv1_mpi *from = in->mpi;
    const char *const *program = take_command(b, roles, n);
    struct mpi_spec *mpi = ARENA_NEW(b->a, struct mpi_spec);

    if (from && from->program) {
        if (program)
            diag_at(b->ds, node_key(from->at, "program"), "E0106", "keep one of the two",
                    "the hosts' `command` already sets what each rank runs");
        program = mv1_argv(b, from->program, SHELL_SH);
    } else if (!program) {
        const struct role *host = find_kind(roles, n, ROLE_HOST);

        if (!host || !host->command_at)
            diag_at(b->ds, node_label(node_get(in->at, "roles")), "E0103",
                    "set `command` of the hosts, or mpi.program",
                    "the program of the ranks is not set");
    }
    mpi->program = program;
    mpi->extra_args = from && from->args ? from->args : none;
    mpi->recovery = mpirun_recovers(from ? from->args : NULL);
    if (from) {
        mpi->home = from->home;
        mpi->home_at = node_get(from->at, "home");
        mpi->sshd_path = from->sshd;
        mpi->sshd_at = node_get(from->at, "sshd");
        if (from->sshd && from->sshd[0] != '/')
            diag_at(b->ds, mpi->sshd_at, "E0207", NULL,
                    "`sshd` must be an absolute path, not \"%s\"", from->sshd);
        lower_mca(b, from->mca, mpi);
    }
    slots_of_args(b, from, roles, n);
    out->mpi = mpi;
}

/* Outside an MPI job nothing of all this has a meaning. */
static void refuse(const struct binder *b, const struct mv1_job *in, const struct role *roles,
                   size_t n)
{
    if (in->mpi)
        diag_at(b->ds, node_key(in->at, "mpi"), "E0604", "set framework: mpi",
                "`mpi` is for MPI jobs");
    for (size_t i = 0; i < n; i++) {
        if (roles[i].kind != ROLE_PLAIN)
            diag_at(b->ds, node_find(in->at, "roles", roles[i].name, "kind", NULL), "E0604",
                    "set framework: mpi", "a %s is a part of an MPI job", mv1_kinds[roles[i].kind]);
    }
}

void mv1_lower_mpi(const struct binder *b, const struct mv1_job *in, struct job_spec *out,
                   struct role *roles, size_t *n)
{
    struct role *launcher = find_kind(roles, *n, ROLE_LAUNCHER), *host;

    if (out->framework != FRAMEWORK_MPI) {
        refuse(b, in, roles, *n);
        return;
    }
    check_launcher(b, in, roles, *n);
    if (!launcher && find_kind(roles, *n, ROLE_HOST)) {
        launcher = make_launcher(b, in, roles, n);
        if (launcher)
            compose(b, in, out, roles, *n);
        return;
    }
    if (launcher && has_command(launcher)) {
        host = find_kind(roles, *n, ROLE_HOST);
        if (in->mpi)
            diag_at(b->ds, node_key(in->at, "mpi"), "E0106", "remove the launcher's command",
                    "`mpi` has no effect: the launcher has its own `command`");
        if (host && host->command_at)
            diag_at(b->ds, node_label(host->command_at), "E0604",
                    "the launcher's command starts processes in the hosts",
                    "`command` of a host is never run");
        return;
    }
    host = find_kind(roles, *n, ROLE_HOST);
    if (launcher && (in->mpi || (host && has_command(host))))
        compose(b, in, out, roles, *n);
    else if (in->mpi)
        diag_at(b->ds, node_key(in->at, "mpi"), "E0604", NULL,
                "`mpi` requires a launcher, but every role is plain");
}
