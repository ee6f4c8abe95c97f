/* objects.c - see objects.h. */
#include "engine/kubernetes/objects.h"

#include <string.h>

#include "base/base64.h"
#include "base/num.h"
#include "base/strbuf.h"
#include "engine/kubernetes/claims.h"
#include "engine/kubernetes/given.h"
#include "kube/gang.h"
#include "kube/write.h"
#include "shim/wire.h"

enum { LONG_VALUE = 1024 }; /* TF_CONFIG of a large job does not go into every pod's object */

const char *kube_run_name(struct arena *a, const char *run_id)
{
    return kube_name(a, arena_printf(a, "muster-%s", run_id));
}

enum { OWNED_NAME_BYTES = 48, OWNED_UID_BYTES = 5 }; /* a pod's name is a DNS label */

const char *kube_owned_run(struct arena *a, const char *name, const char *uid)
{
    name = kube_name(a, arena_printf(a, "%.*s", OWNED_NAME_BYTES, name));
    return arena_printf(a, "%s-%.*s", name, OWNED_UID_BYTES, *uid ? uid : "00000");
}

const char *kube_pod_name(struct arena *a, const struct kube_run *run, const struct replica *rp,
                          uint32_t attempt, uint32_t generation)
{
    return arena_printf(a, "%s-%s-%d%s%s", run->name, kube_name(a, rp->role->name), rp->index,
                        attempt > 1 ? arena_printf(a, "-a%u", attempt) : "",
                        generation > 1 ? arena_printf(a, "-g%u", generation) : "");
}

uint32_t kube_pod_generation(const char *name, const char *first)
{
    size_t n = strlen(first);
    uint32_t generation;

    if (strncmp(name, first, n) != 0)
        return 0;
    if (!name[n])
        return 1;
    if (strncmp(name + n, "-g", 2) != 0 || num_u32(name + n + 2, &generation) < 0)
        return 0;
    return generation > 1 ? generation : 0;
}

const char *kube_container_name(const struct node *pod)
{
    const struct node *containers = node_find(pod, "spec", "containers", NULL);

    if (!containers || containers->type != NODE_SEQ || containers->n == 0)
        return ""; /* no API server sends such a pod */
    return node_text(node_get(containers->items[0], "name"), "");
}

const char *kube_selector(struct arena *a, const struct kube_run *run)
{
    return arena_printf(a, KUBE_LABELS "run=%s", run->plan->facts->site.run_id);
}

/* --- metadata --------------------------------------------------------------------------------- */

static void put(struct arena *a, struct node *map, const char *key, const char *text)
{
    make_put(a, map, key, make_text(a, text));
}

static const struct node *owner(struct arena *a, const struct kube_run *run)
{
    struct node *list = make_seq(a), *ref = make_map(a);

    put(a, ref, "apiVersion", run->owner ? run->owner->api_version : "batch/v1");
    put(a, ref, "kind", run->owner ? run->owner->kind : "Job");
    put(a, ref, "name", run->owner ? run->owner->name : run->name);
    put(a, ref, "uid", run->uid);
    make_put(a, ref, "controller", make_bool(a, run->owner != NULL));
    make_put(a, ref, "blockOwnerDeletion", make_bool(a, false));
    make_add(a, list, ref);
    return list;
}

/* A label's value: what may not be in one becomes '-'. */
static const char *label(struct arena *a, const char *text)
{
    char *made = arena_strndup(a, text, strnlen(text, LIMIT_NAME));
    size_t n = strlen(made);

    for (size_t i = 0; i < n; i++) {
        char c = made[i];
        bool ok = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');

        if (!ok && c != '-' && c != '_' && c != '.')
            made[i] = '-';
        if (!ok && (i == 0 || i == n - 1))
            made[i] = 'x';
    }
    return made;
}

struct node *kube_run_object(struct arena *a, const struct kube_run *run, const char *api,
                             const char *kind, const char *name)
{
    const struct job_spec *spec = run->plan->spec;
    struct node *root = make_map(a), *meta, *labels;

    put(a, root, "apiVersion", api);
    put(a, root, "kind", kind);
    meta = make_below(a, root, "metadata");
    put(a, meta, "name", name);
    labels = make_below(a, meta, "labels");
    put(a, labels, KUBE_LABELS "run", run->plan->facts->site.run_id);
    put(a, labels, KUBE_LABELS "job", label(a, spec->name));
    if (run->uid)
        make_put(a, meta, "ownerReferences", owner(a, run));
    return root;
}

/* --- anchor, shim, service -------------------------------------------------------------------- */

const struct node *kube_anchor(struct arena *a, const struct kube_run *run)
{
    struct node *root = kube_run_object(a, run, "batch/v1", "Job", run->name);
    struct node *spec = make_below(a, root, "spec"), *pod, *c = make_map(a);

    make_put(a, spec, "parallelism", make_int(a, 0));
    make_put(a, spec, "backoffLimit", make_int(a, 0));
    make_put(a, spec, "activeDeadlineSeconds", make_int(a, KUBE_ANCHOR_S));
    make_put(a, spec, "ttlSecondsAfterFinished", make_int(a, 0));
    pod = make_below(a, make_below(a, spec, "template"), "spec");
    put(a, pod, "restartPolicy", "Never");
    put(a, c, "name", "none");
    put(a, c, "image", "none"); /* no pod is made of it */
    make_add(a, make_list_below(a, pod, "containers"), c);
    return root;
}

const struct node *kube_shim_map(struct arena *a, const struct kube_run *run, const void *shim,
                                 size_t n)
{
    struct node *root = kube_run_object(a, run, "v1", "ConfigMap", run->name);
    char *text = arena_alloc(a, BASE64_TEXT(n));

    base64_encode(shim, n, text);
    put(a, make_below(a, root, "binaryData"), "muster-shim", text);
    if (run->plan->operator_hostfile) {
        struct node *data = make_below(a, root, "data");

        put(a, data, PLAN_HOSTFILE, run->plan->operator_hostfile);
        put(a, data, PLAN_DISCOVER_HOSTS, run->plan->discover_hosts);
    }
    make_put(a, root, "immutable", make_bool(a, true));
    return root;
}

const struct node *kube_service(struct arena *a, const struct kube_run *run)
{
    struct node *root = kube_run_object(a, run, "v1", "Service", run->name);
    struct node *spec = make_below(a, root, "spec"), *selector;

    put(a, spec, "clusterIP", "None");
    make_put(a, spec, "publishNotReadyAddresses", make_bool(a, true));
    selector = make_below(a, spec, "selector");
    put(a, selector, KUBE_LABELS "run", run->plan->facts->site.run_id);
    return root;
}

/* --- pods ------------------------------------------------------------------------------------- */

static struct node *named(struct arena *a, const char *name)
{
    struct node *map = make_map(a);

    put(a, map, "name", name);
    return map;
}

static void add_volumes(struct arena *a, const struct kube_run *run, struct node *pod,
                        struct node *container)
{
    struct node *volumes = make_list_below(a, pod, "volumes");
    struct node *mounts = make_list_below(a, container, "volumeMounts");
    struct node *bin = named(a, "muster-bin"), *dir = named(a, "muster-run"), *source, *mount;

    source = make_below(a, bin, "configMap");
    put(a, source, "name", run->name);
    make_put(a, source, "defaultMode", make_int(a, 0555));
    make_add(a, volumes, bin);
    (void)make_below(a, dir, "emptyDir");
    make_add(a, volumes, dir);
    mount = named(a, "muster-bin");
    put(a, mount, "mountPath", POD_SHIM_DIR);
    make_put(a, mount, "readOnly", make_bool(a, true));
    make_add(a, mounts, mount);
    mount = named(a, "muster-run");
    put(a, mount, "mountPath", POD_RUN_DIR);
    make_add(a, mounts, mount);
}

static void add_item(struct arena *a, struct node *items, const char *key, int mode)
{
    struct node *item = make_map(a);

    put(a, item, "key", key);
    put(a, item, "path", key);
    make_put(a, item, "mode", make_int(a, mode));
    make_add(a, items, item);
}

/* The directory that processes begin in comes with SPAWN: that of the code is not there yet when
 * the container starts, and a kubelet would make one that only this machine has. */
static void drop_other_workdir(struct arena *a, const struct kube_run *run,
                               const struct replica *rp, struct node *container)
{
    const char *dir = plan_workdir(a, run->plan, rp);

    if (!dir || strcmp(dir, node_text(node_get(container, "workingDir"), "")) != 0)
        make_drop(container, "workingDir");
}

/* What the operator of an MPIJob mounts in its pods: hostfile and discover_hosts.sh. */
static void add_operator_files(struct arena *a, const struct kube_run *run, const struct role *role,
                               struct node *pod, struct node *container)
{
    struct node *volume = named(a, "muster-mpi"), *source, *items, *mount;

    for (size_t i = 0; run->plan->operator_hostfile && i < role->n_mounts; i++) {
        if (role->mounts[i].source != VOLUME_OPERATOR)
            continue;
        source = make_below(a, volume, "configMap");
        put(a, source, "name", run->name);
        items = make_list_below(a, source, "items");
        add_item(a, items, PLAN_HOSTFILE, 0444);
        if (run->plan->discover_hosts)
            add_item(a, items, PLAN_DISCOVER_HOSTS, 0555);
        make_add(a, make_list_below(a, pod, "volumes"), volume);
        mount = named(a, "muster-mpi");
        put(a, mount, "mountPath", role->mounts[i].path);
        make_add(a, make_list_below(a, container, "volumeMounts"), mount);
        return;
    }
}

/* `$` of a value that the kubelet must not expand. */
static const char *literal(struct arena *a, const char *text)
{
    auto_strbuf struct strbuf sb = STRBUF_INIT;

    if (!strchr(text, '$'))
        return text;
    for (; *text; text++) {
        strbuf_addch(&sb, *text);
        if (*text == '$')
            strbuf_addch(&sb, '$');
    }
    return arena_strndup(a, sb.buf, sb.len);
}

/* MUSTER_RUN_ID would make the supervisor take the way in (muster-shim connect) for a process of
 * the job, because what is run in a container has the container's variables. */
static bool in_pod(const struct env_value *v)
{
    return v->reference ||
           (strlen(v->value) <= LONG_VALUE && strcmp(v->name, "MUSTER_RUN_ID") != 0);
}

static const struct node *pod_env(struct arena *a, const struct plan *plan,
                                  const struct replica *rp, struct start start)
{
    const struct env_value *v;
    size_t n = plan_env(a, plan, rp->first_process, start, false, &v);
    struct env_entry *entries = ARENA_ARRAY(a, struct env_entry, n + 1);
    size_t k = 0;

    for (size_t i = 0; i < n; i++) {
        if (!in_pod(&v[i]))
            continue;
        if (v[i].reference)
            entries[k] = *v[i].reference;
        else
            entries[k] =
                (struct env_entry){.value = v[i].expands ? v[i].value : literal(a, v[i].value)};
        entries[k++].name = v[i].name;
    }
    return kube_env(a, entries, k);
}

/* It comes first in PATH: whether the image has an mpirun there is not known here. */
static const char *first_in_path(struct arena *a, const struct plan *plan)
{
    const struct mpi_spec *mpi = plan->spec->mpi;

    return mpi && mpi->home ? arena_printf(a, WIRE_PATH_FIRST "=%s/bin", mpi->home) : NULL;
}

const char *const *kube_process_env(struct arena *a, const struct plan *plan, uint32_t process,
                                    struct start start)
{
    const struct replica *rp = &plan->replicas[plan->processes[process].replica];
    const struct env_value *v, *first;
    size_t n = plan_env(a, plan, process, start, false, &v);
    size_t n_first = plan_env(a, plan, rp->first_process, FIRST_START, false, &first);
    const char **out = ARENA_ARRAY(a, const char *, n + 2);
    size_t k = 0;

    out[0] = first_in_path(a, plan);
    k += out[0] != NULL;
    for (size_t i = 0; i < n; i++) {
        bool same = false;

        if (v[i].reference)
            continue;
        for (size_t j = 0; j < n_first && !same; j++)
            same = strcmp(first[j].name, v[i].name) == 0 &&
                   strcmp(first[j].value, v[i].value) == 0 && in_pod(&first[j]);
        if (!same)
            out[k++] = arena_printf(a, "%s=%s", v[i].name, v[i].value);
    }
    return out;
}

static void put_default(struct arena *a, struct node *map, const char *key,
                        const struct node *value)
{
    if (node_absent(map, key))
        make_put(a, map, key, value);
}

static void put_names(struct arena *a, const struct kube_run *run, const struct replica *rp,
                      struct node *pod)
{
    const struct site *site = &run->plan->facts->site;
    struct node *dns = make_below(a, pod, "dnsConfig");
    struct node *searches = make_list_below(a, dns, "searches");

    put(a, pod, "hostname", rp->host);
    put(a, pod, "subdomain", run->name);
    /* bare host names resolve, as they do on one machine */
    make_insert(
        a, searches, 0,
        make_text(a, arena_printf(a, "%s.%s.svc.cluster.local", run->name, site->namespace_)));
}

static const struct pod_wish pod_wish = {.command = POD_NO_COMMAND, .image = true, .first = true};

const struct node *kube_pod(struct arena *a, const struct kube_run *run, const struct replica *rp,
                            uint32_t attempt, uint32_t generation)
{
    static const char *const command[] = {POD_SHIM, "pod", POD_RUN_DIR, NULL};
    const struct kube_writing w = {.a = a, .spec = run->plan->spec};
    struct node *template = kube_template(&w, rp->role, &pod_wish);
    struct node *root =
        kube_run_object(a, run, "v1", "Pod", kube_pod_name(a, run, rp, attempt, generation));
    struct node *meta = make_below(a, root, "metadata"), *labels, *pod, *c;
    const struct node *own = node_find(template, "metadata", "labels", NULL);
    const struct node *notes = node_find(template, "metadata", "annotations", NULL);

    labels = make_below(a, meta, "labels");
    for (size_t i = 0; own && own->type == NODE_MAP && i < own->n; i++)
        put_default(a, labels, own->pairs[i].key->text, own->pairs[i].value);
    if (notes)
        make_put(a, meta, "annotations", notes);
    put(a, labels, KUBE_LABELS "role", label(a, rp->role->name));
    put(a, labels, KUBE_LABELS "index", arena_printf(a, "%d", rp->index));
    put(a, labels, KUBE_LABELS "attempt", arena_printf(a, "%u", attempt));
    pod = make_below(a, template, "spec");
    c = make_item(make_list_below(a, pod, "containers"), 0);
    make_put(a, c, "command", make_texts(a, command));
    make_drop(c, "args");
    make_drop(c, "env");
    make_put(a, c, "env",
             pod_env(a, run->plan, rp, (struct start){.attempt = attempt, .instance = 1}));
    given_rename(a, run, pod);
    add_volumes(a, run, pod, c);
    add_operator_files(a, run, rp->role, pod, c);
    claims_add(a, run->plan, pod, c);
    drop_other_workdir(a, run, rp, c);
    put_names(a, run, rp, pod);
    put(a, pod, "restartPolicy", "Never");
    put_default(a, pod, "enableServiceLinks", make_bool(a, false));
    if (run->plan->facts->site.gang)
        gang_join(a, run->plan->facts->site.gang, run->name, rp->role->name, false, meta, pod);
    if (node_absent(pod, "serviceAccountName"))
        put_default(a, pod, "automountServiceAccountToken", make_bool(a, false));
    make_put(a, root, "spec", pod);
    return root;
}

const struct node *kube_pod_group(struct arena *a, const struct kube_run *run)
{
    const struct plan *plan = run->plan;
    const struct kube_writing w = {.a = a, .spec = plan->spec};
    const char *scheduler = plan->facts->site.gang;
    struct gang_sum *sum = gang_sum_new(a);
    struct node *root, *spec, *needs;

    if (!scheduler)
        return NULL;
    for (size_t i = 0; i < plan->spec->n_roles; i++) {
        const struct role *role = &plan->spec->roles[i];
        const struct node *template = kube_template(&w, role, &pod_wish);

        gang_sum_add(sum, node_find(template, "spec", "containers", NULL), role->replicas, true);
    }
    root = kube_run_object(a, run, gang_api(scheduler), "PodGroup", run->name);
    spec = make_below(a, root, "spec");
    make_put(a, spec, "minMember", make_int(a, plan->n_replicas));
    if (gang_is_volcano(scheduler) && plan->spec->queue)
        put(a, spec, "queue", plan->spec->queue);
    needs = gang_sum_map(sum);
    if (needs->n)
        make_put(a, spec, "minResources", needs);
    return root;
}
