/* wants_training.c - the objects of Kubeflow's PyTorchJob and TFJob: for each replica a pod and a
 * headless Service of the same name.
 */
#include <string.h>

#include "operator/wants_parts.h"

/* Of a worker that waits until the master's name resolves. */
#define INIT_IMAGE "alpine:3.10"
#define INIT_TRIES 100

static const struct framework_kind {
    enum platform_kind platform;
    const char *container, *port;
    int number;
    const char *restart; /* of a replica that does not say */
    bool in_all;         /* variables are for every container, not for that one alone */
    bool waits;          /* workers wait for the master */
} kinds[] = {
    {PLATFORM_PYTORCHJOB, "pytorch", "pytorchjob-port", 23456, "OnFailure", true, true},
    {PLATFORM_TFJOB, "tensorflow", "tfjob-port", 2222, "Never", false, false},
};

static const struct framework_kind *kind_of(const struct served *s)
{
    return &kinds[s->plan->spec->platform.environment == PLATFORM_TFJOB];
}

/* Names are known to others before the pods are there. */
static size_t list(struct arena *a, const struct served *s, const struct want **ret)
{
    const struct plan *plan = s->plan;
    struct want *v = ARENA_ARRAY(a, struct want, 2 * plan->n_replicas + 1);
    size_t n = 0;

    for (uint32_t i = 0; i < plan->n_replicas; i++)
        v[n++] = (struct want){WANT_SERVICE, plan->replicas[i].host, (int32_t)i};
    for (uint32_t i = 0; i < plan->n_replicas; i++)
        v[n++] = (struct want){WANT_POD, plan->replicas[i].host, (int32_t)i};
    *ret = v;
    return n;
}

static void put_labels(struct arena *a, const struct served *s, const struct replica *rp,
                       struct node *labels)
{
    want_put(a, labels, LABEL_OPERATOR, s->kind->operator_name);
    want_put(a, labels, LABEL_JOB, s->name);
    want_put(a, labels, LABEL_TYPE, rp->role->name);
    want_put(a, labels, LABEL_INDEX, arena_printf(a, "%d", rp->index));
}

/* A chief or master; without one the first worker. */
static bool is_master(const struct plan *plan, const struct replica *rp)
{
    const struct role *chief = spec_role(plan->spec, "chief");
    const struct role *master = spec_role(plan->spec, "master");

    if (chief || master)
        return rp->role == chief || rp->role == master;
    return rp->role == spec_role(plan->spec, "worker") && rp->index == 0;
}

/* --- ports ------------------------------------------------------------------------------------ */

static bool has_name(const struct node *item, const char *name)
{
    return strcmp(node_text(node_get(item, "name"), ""), name) == 0;
}

/* What upstream's defaults add to the job. */
static void add_default_port(struct arena *a, const struct framework_kind *kind,
                             struct node *template)
{
    struct node *container = want_container(a, template, kind->container);
    struct node *ports = make_list_below(a, container, "ports"), *port = make_map(a);

    for (size_t i = 0; i < ports->n; i++)
        if (has_name(ports->items[i], kind->port))
            return;
    want_put(a, port, "name", kind->port);
    make_put(a, port, "containerPort", make_int(a, kind->number));
    make_add(a, ports, port);
}

/* All ports of the container; of several without a name the last. */
static void add_service_ports(struct arena *a, struct node *spec, const struct node *ports)
{
    struct node *list_of = make_list_below(a, spec, "ports");

    for (size_t i = 0; i < ports->n; i++) {
        const char *name = node_text(node_get(ports->items[i], "name"), "");
        struct node *port = make_map(a);
        bool again = false;

        for (size_t k = i + 1; k < ports->n && !again; k++)
            again = has_name(ports->items[k], name);
        if (again)
            continue;
        if (*name)
            want_put(a, port, "name", name);
        make_put(a, port, "port", node_get(ports->items[i], "containerPort"));
        make_add(a, list_of, port);
    }
}

static const struct node *service(struct arena *a, const struct served *s, const struct replica *rp)
{
    const struct framework_kind *kind = kind_of(s);
    struct node *template = want_template(a, rp->role), *labels = make_map(a), *root;

    put_labels(a, s, rp, labels);
    root = want_service(a, s, rp->host, labels);
    make_put(a, make_below(a, root, "metadata"), "labels", labels);
    add_default_port(a, kind, template);
    add_service_ports(a, make_below(a, root, "spec"),
                      node_get(want_container(a, template, kind->container), "ports"));
    return root;
}

/* --- pods ------------------------------------------------------------------------------------- */

static void put_amounts(struct arena *a, struct node *resources, const char *which, const char *cpu,
                        const char *memory)
{
    struct node *map = make_below(a, resources, which);

    want_put(a, map, "cpu", cpu);
    want_put(a, map, "memory", memory);
}

static void add_init(struct arena *a, const struct served *s, const struct replica *rp,
                     struct node *template)
{
    const struct role *master = spec_role(s->plan->spec, "master");
    const char *image = s->options->init_image, *argv[] = {"sh", "-c", NULL, NULL};
    int tries = s->options->init_tries > 0 ? s->options->init_tries : INIT_TRIES;
    struct node *init = make_map(a), *resources;

    if (!master || rp->role != spec_role(s->plan->spec, "worker"))
        return;
    argv[2] = arena_printf(a,
                           "err=1;for i in $(seq %d); do if nslookup %s-master-0; then err=0 && "
                           "break; fi;echo waiting for master; sleep 2; done; exit $err",
                           tries, s->name);
    want_put(a, init, "name", "init-pytorch");
    want_put(a, init, "image", image && *image ? image : INIT_IMAGE);
    want_put(a, init, "imagePullPolicy", "IfNotPresent");
    resources = make_below(a, init, "resources");
    put_amounts(a, resources, "limits", "100m", "20Mi");
    put_amounts(a, resources, "requests", "50m", "10Mi");
    make_put(a, init, "command", make_texts(a, argv));
    make_add(a, make_list_below(a, make_below(a, template, "spec"), "initContainers"), init);
}

static void add_variables(struct arena *a, const struct served *s, const struct replica *rp,
                          const struct framework_kind *kind, struct node *template)
{
    struct node *list_of = make_list_below(a, make_below(a, template, "spec"), "containers");

    for (size_t i = 0; i < list_of->n; i++) {
        struct node *container = make_item(list_of, i);

        if (kind->in_all || has_name(container, kind->container))
            want_add_operator_env(a, s->plan, rp, container);
    }
}

static const struct node *pod(struct arena *a, const struct served *s, const struct replica *rp,
                              const struct want_state *st)
{
    const struct framework_kind *kind = kind_of(s);
    struct node *template = want_template(a, rp->role), *root;
    struct node *meta = make_below(a, template, "metadata"),
                *labels = make_below(a, meta, "labels");
    const struct node *finalizers = node_get(meta, "finalizers");

    put_labels(a, s, rp, labels);
    if (is_master(s->plan, rp))
        want_put(a, labels, LABEL_ROLE, "master");
    add_default_port(a, kind, template);
    add_variables(a, s, rp, kind, template);
    if (kind->waits)
        add_init(a, s, rp, template);
    want_put_restart(a, rp->role, kind->restart, template);
    if (want_waits(s, rp->role, st->start))
        want_put_waiting(a, want_container(a, template, kind->container));
    want_put_gang(a, s, false, rp->role->name, template);
    root = want_pod(a, s, rp->host, template, st);
    make_put(a, make_below(a, root, "metadata"), "finalizers", finalizers);
    return root;
}

static const struct node *object(struct arena *a, const struct served *s, const struct want *w,
                                 const struct want_state *st)
{
    const struct replica *rp = &s->plan->replicas[w->replica];

    return w->kind == WANT_SERVICE ? service(a, s, rp) : pod(a, s, rp, st);
}

static const char *selector(struct arena *a, const struct served *s)
{
    return arena_printf(a, LABEL_OPERATOR "=%s," LABEL_JOB "=%s", s->kind->operator_name, s->name);
}

const struct wants_way wants_training = {list, object, selector};
