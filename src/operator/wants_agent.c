/* wants_agent.c - a program of ours in the pods of an MPI job: what carries it, and what it is put
 * around.
 *
 * In v1 and before it is muster-shim, which mpirun reaches the workers by. In all versions it
 * records how ranks end (shim/records.h). A ConfigMap brings it: no image is pulled, and no
 * container of the user's needs anything but the right to read a file.
 */
#include <string.h>

#include "operator/wants_parts.h"

#define OLD_VOLUME "mpi-job-kubectl" /* upstream's: where kubexec.sh has its program */
#define PROGRAM "muster-shim"
#define RECORDER "muster-record" /* RECORDS_WRAPPER of shim/records.h */
#define MESSAGE_PATH "terminationMessagePath"

static bool is_old(const struct served *s)
{
    enum platform_kind version = s->plan->spec->platform.environment;

    return platform_is_mpijob(version) && version != PLATFORM_MPIJOB_V2BETA1;
}

static const char *path_of(const struct served *s)
{
    return is_old(s) ? WANT_AGENT_OLD_PATH : WANT_AGENT_PATH;
}

/* --- what carries it -------------------------------------------------------------------------- */

const char *want_agent_name(struct arena *a, const struct served *s)
{
    return arena_printf(a, "%s-agent", s->name);
}

const struct node *want_agent_map(struct arena *a, const struct served *s,
                                  const struct want_state *st)
{
    struct node *root = want_root(a, s, "v1", "ConfigMap", want_agent_name(a, s));

    mpi_put_app(a, s, root);
    want_put(a, make_below(a, root, "binaryData"), PROGRAM, st->agent);
    make_put(a, root, "immutable", make_bool(a, true));
    return root;
}

const struct node *want_agent_secret(struct arena *a, const struct served *s,
                                     const struct want_state *st)
{
    struct node *root = want_root(a, s, "v1", "Secret", want_agent_name(a, s));

    mpi_put_app(a, s, root);
    want_put(a, root, "type", "Opaque");
    want_put(a, make_below(a, root, "data"), "key", st->agent_key);
    make_put(a, root, "immutable", make_bool(a, true));
    return root;
}

static struct node *add_source(struct arena *a, const struct served *s, const char *kind,
                               struct node *sources)
{
    struct node *source = make_map(a), *of = make_below(a, source, kind);

    want_put(a, of, "name", want_agent_name(a, s));
    make_add(a, sources, source);
    return make_list_below(a, of, "items");
}

/* The program and the key in one directory. Containers may run as anybody. */
void want_add_agent(struct arena *a, const struct served *s, struct node *template,
                    struct node *container)
{
    const char *name = is_old(s) ? OLD_VOLUME : WANT_AGENT_VOLUME;
    struct node *volume = make_map(a), *sources, *items;

    want_put(a, volume, "name", name);
    sources = make_list_below(a, make_below(a, volume, "projected"), "sources");
    items = add_source(a, s, "configMap", sources);
    mpi_add_item(a, items, PROGRAM, PROGRAM, 0555);
    if (s->records)
        mpi_add_item(a, items, PROGRAM, RECORDER, 0555);
    mpi_add_item(a, add_source(a, s, "secret", sources), "key", "key", 0444);
    mpi_add_volume(a, name, path_of(s), volume, template, container);
}

/* --- what it is put around -------------------------------------------------------------------- */

void want_mark_recorded(struct arena *a, const struct served *s, struct node *template)
{
    if (s->records)
        want_put(a, make_below(a, make_below(a, template, "metadata"), "annotations"),
                 WANT_RECORDS_ANNOTATION, "true");
}

/* Ranks in other pods report to the address of this one. */
static void add_address(struct arena *a, struct node *container)
{
    struct node *item = make_map(a), *from = make_below(a, item, "valueFrom");

    want_put(a, item, "name", "MUSTER_ADDRESS");
    want_put(a, make_below(a, from, "fieldRef"), "fieldPath", "status.podIP");
    make_add(a, make_list_below(a, container, "env"), item);
}

void want_record_launcher(struct arena *a, const struct served *s, struct node *container)
{
    const char *mpi = s->plan->spec->implementation, *path = path_of(s);
    const char *message = node_text(node_get(container, MESSAGE_PATH), "");
    const struct node *own = node_get(container, "command");
    struct node *command = make_seq(a);

    make_add(a, command, make_text(a, arena_printf(a, "%s/" PROGRAM, path)));
    make_add(a, command, make_text(a, "launch"));
    make_add(a, command, make_text(a, path));
    if (mpi && strcmp(mpi, "OpenMPI") != 0)
        make_add(a, command, make_text(a, "--hydra"));
    if (*message) {
        make_add(a, command, make_text(a, "--message"));
        make_add(a, command, make_text(a, message));
    }
    make_add(a, command, make_text(a, "--"));
    for (size_t i = 0; i < own->n; i++)
        make_add(a, command, own->items[i]);
    make_put(a, container, "command", command);
    add_address(a, container);
}
