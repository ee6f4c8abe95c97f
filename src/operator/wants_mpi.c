/* wants_mpi.c - the objects of Kubeflow's MPIJob v2beta1, and what T9k's has in common with it:
 * one Service, hostfile, keys for ssh.
 */
#include <stdlib.h>
#include <string.h>

#include "base/base64.h"
#include "base/strbuf.h"
#include "operator/wants_parts.h"

#define CONFIG_VOLUME "mpi-job-config"
#define CONFIG_PATH "/etc/mpi"
#define KEYS_VOLUME "ssh-auth"
#define ROOT_KEYS "/root/.ssh"
#define PRIVATE_KEY "ssh-privatekey"
#define PUBLIC_KEY "ssh-publickey"

/* --- the list --------------------------------------------------------------------------------- */

size_t mpi_list(struct arena *a, const struct served *s, enum want_kind launcher,
                const struct want **ret)
{
    const struct plan *plan = s->plan;
    struct want *v = ARENA_ARRAY(a, struct want, 5 + plan->n_replicas);
    size_t n = 0;

    v[n++] = (struct want){WANT_SERVICE, s->name, -1};
    v[n++] = (struct want){WANT_CONFIG_MAP, arena_printf(a, "%s-config", s->name), -1};
    v[n++] = (struct want){WANT_SECRET, arena_printf(a, "%s-ssh", s->name), -1};
    if (s->records) {
        v[n++] = (struct want){WANT_CONFIG_MAP, want_agent_name(a, s), -1};
        v[n++] = (struct want){WANT_SECRET, want_agent_name(a, s), -1};
    }
    for (uint32_t i = 0; i < plan->n_replicas; i++)
        if (plan->replicas[i].role->kind != ROLE_LAUNCHER)
            v[n++] = (struct want){WANT_POD, plan->replicas[i].host, (int32_t)i};
    for (uint32_t i = 0; i < plan->n_replicas; i++)
        if (plan->replicas[i].role->kind == ROLE_LAUNCHER)
            v[n++] = (struct want){launcher, plan->replicas[i].host, (int32_t)i};
    *ret = v;
    return n;
}

static size_t list(struct arena *a, const struct served *s, const struct want **ret)
{
    return mpi_list(a, s, WANT_JOB, ret);
}

/* --- files ------------------------------------------------------------------------------------ */

void mpi_put_app(struct arena *a, const struct served *s, struct node *root)
{
    want_put(a, make_below(a, make_below(a, root, "metadata"), "labels"), "app", s->name);
}

bool mpi_is_agent(struct arena *a, const struct served *s, const struct want *w)
{
    return strcmp(w->name, want_agent_name(a, s)) == 0;
}

struct node *mpi_config_map(struct arena *a, const struct served *s, const char *hostfile)
{
    struct node *root = want_root(a, s, "v1", "ConfigMap", arena_printf(a, "%s-config", s->name));

    mpi_put_app(a, s, root);
    want_put(a, make_below(a, root, "data"), PLAN_HOSTFILE, hostfile);
    return root;
}

static int by_name(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* In v1 with their slots, and as that operator writes it: no line ends the file. */
const char *mpi_discover_text(struct arena *a, const struct plan *plan, const bool *running)
{
    const char **hosts = ARENA_ARRAY(a, const char *, plan->n_replicas + 1);
    auto_strbuf struct strbuf sb = STRBUF_INIT;
    bool v1 = plan->spec->platform.environment == PLATFORM_MPIJOB_V1;
    size_t n = 0, first = 0;

    for (uint32_t i = 0; i < plan->n_replicas; i++) {
        const struct replica *rp = &plan->replicas[i];
        bool launcher = rp->role->kind == ROLE_LAUNCHER;

        if (launcher ? !rp->role->hosts_ranks : !running || !running[i])
            continue;
        first += launcher;
        hosts[n++] =
            v1 ? arena_printf(a, "%s:%d", rp->host, rp->role->slots) : plan_service(a, plan, rp);
    }
    if (n > first)
        qsort(hosts + first, n - first, sizeof(*hosts), by_name);
    strbuf_addstr(&sb, v1 ? "#!/bin/sh" : "#!/bin/sh\n");
    for (size_t i = 0; i < n; i++) {
        strbuf_addf(&sb, v1 ? "\necho %s" : "echo %s\n", hosts[i]);
        if (v1 && i < first)
            strbuf_addch(&sb, '\n');
    }
    return arena_strndup(a, sb.buf, sb.len);
}

static void put_encoded(struct arena *a, struct node *map, const char *key, const char *text)
{
    size_t n = text ? strlen(text) : 0;
    char *encoded = arena_alloc(a, BASE64_TEXT(n));

    base64_encode(text, n, encoded);
    want_put(a, map, key, encoded);
}

const struct node *mpi_secret(struct arena *a, const struct served *s, const struct want *w,
                              const struct want_state *st)
{
    struct node *root = want_root(a, s, "v1", "Secret", w->name);
    struct node *data;

    if (mpi_is_agent(a, s, w))
        return want_agent_secret(a, s, st);

    mpi_put_app(a, s, root);
    want_put(a, root, "type", "kubernetes.io/ssh-auth");
    data = make_below(a, root, "data");
    put_encoded(a, data, PRIVATE_KEY, st->private_key);
    put_encoded(a, data, PUBLIC_KEY, st->public_key);
    return root;
}

/* --- volumes ---------------------------------------------------------------------------------- */

void mpi_add_item(struct arena *a, struct node *items, const char *key, const char *path, int mode)
{
    struct node *item = make_map(a);

    want_put(a, item, "key", key);
    want_put(a, item, "path", path);
    if (mode)
        make_put(a, item, "mode", make_int(a, mode));
    make_add(a, items, item);
}

void mpi_add_volume(struct arena *a, const char *name, const char *path, struct node *volume,
                    struct node *template, struct node *container)
{
    struct node *pod = make_below(a, template, "spec"), *mount = make_map(a);

    make_add(a, make_list_below(a, pod, "volumes"), volume);
    want_put(a, mount, "name", name);
    want_put(a, mount, "mountPath", path);
    make_add(a, make_list_below(a, container, "volumeMounts"), mount);
}

void mpi_add_keys(struct arena *a, const struct served *s, const char *path, struct node *template,
                  struct node *container)
{
    struct node *volume = make_map(a), *source, *items;

    want_put(a, volume, "name", KEYS_VOLUME);
    source = make_below(a, volume, "secret");
    want_put(a, source, "secretName", arena_printf(a, "%s-ssh", s->name));
    /* elsewhere they are not root's, who could not read them then */
    if (strcmp(path, ROOT_KEYS) == 0)
        make_put(a, source, "defaultMode", make_int(a, 0600));
    items = make_list_below(a, source, "items");
    mpi_add_item(a, items, PRIVATE_KEY, "id_rsa", 0);
    mpi_add_item(a, items, PUBLIC_KEY, "id_rsa.pub", 0);
    mpi_add_item(a, items, PUBLIC_KEY, "authorized_keys", 0);
    mpi_add_volume(a, KEYS_VOLUME, path, volume, template, container);
}

void mpi_add_config(struct arena *a, const struct served *s, struct mpi_files files,
                    struct node *template, struct node *container)
{
    struct node *volume = make_map(a), *source, *items;

    want_put(a, volume, "name", CONFIG_VOLUME);
    source = make_below(a, volume, "configMap");
    want_put(a, source, "name", arena_printf(a, "%s-config", s->name));
    items = make_list_below(a, source, "items");
    if (files.kubexec)
        mpi_add_item(a, items, MPI_KUBEXEC, MPI_KUBEXEC, 0555);
    if (files.hostfile)
        mpi_add_item(a, items, PLAN_HOSTFILE, PLAN_HOSTFILE, 0444);
    if (files.discover_hosts)
        mpi_add_item(a, items, PLAN_DISCOVER_HOSTS, PLAN_DISCOVER_HOSTS, 0555);
    mpi_add_volume(a, CONFIG_VOLUME, CONFIG_PATH, volume, template, container);
}

/* --- pods ------------------------------------------------------------------------------------- */

void mpi_put_host(struct arena *a, const struct served *s, const struct replica *rp,
                  struct node *template)
{
    struct node *pod = make_below(a, template, "spec");
    const struct node *host_network = node_get(pod, "hostNetwork");

    want_put(a, pod, "hostname", rp->host);
    want_put(a, pod, "subdomain", s->name);
    if (host_network && host_network->type == NODE_BOOL && host_network->i)
        want_put(a, pod, "dnsPolicy", "ClusterFirstWithHostNet");
}

/* Upstream's, whatever the cluster's domain is. */
void mpi_put_search(struct arena *a, const struct served *s, struct node *template)
{
    struct node *dns = make_below(a, make_below(a, template, "spec"), "dnsConfig");

    make_add(a, make_list_below(a, dns, "searches"),
             make_text(a, arena_printf(a, "%s.%s.svc.cluster.local", s->name, s->namespace_)));
}

static const struct node *labels_of_job(struct arena *a, const struct served *s,
                                        struct node *labels)
{
    want_put(a, labels, LABEL_OPERATOR, s->kind->operator_name);
    want_put(a, labels, LABEL_JOB, s->name);
    return labels;
}

static bool launcher_is_worker(const struct plan *plan)
{
    return plan->launcher >= 0 &&
           plan->replicas[plan->processes[plan->launcher].replica].role->hosts_ranks;
}

/* A launcher that is a worker, too, has index 0: queues tell members of a group by it. */
static void put_labels(struct arena *a, const struct served *s, const struct replica *rp,
                       struct node *template)
{
    struct node *labels = make_below(a, make_below(a, template, "metadata"), "labels");
    bool both = launcher_is_worker(s->plan), launcher = rp->role->kind == ROLE_LAUNCHER;

    (void)labels_of_job(a, s, labels);
    want_put(a, labels, LABEL_ROLE, rp->role->name);
    if (both || !launcher)
        want_put(a, labels, LABEL_INDEX, arena_printf(a, "%d", rp->index + (both && !launcher)));
}

static bool is_empty(const struct node *map, const char *key)
{
    const struct node *value = node_get(map, key);

    return !value || value->type != NODE_SEQ || value->n == 0;
}

/* The template with what both of them get. */
static struct node *template_of(struct arena *a, const struct served *s, const struct replica *rp,
                                const char *restart)
{
    struct node *template = want_template(a, rp->role);

    put_labels(a, s, rp, template);
    want_put_gang(a, s, true, NULL, template);
    mpi_put_host(a, s, rp, template);
    want_put_restart(a, rp->role, restart, template);
    want_add_operator_env(a, s->plan, rp, want_container(a, template, NULL));
    return template;
}

static const char *keys_path(const struct served *s)
{
    const char *path = node_text(node_find(s->object, "spec", "sshAuthMountPath", NULL), ROOT_KEYS);

    return *path ? path : ROOT_KEYS;
}

static const struct node *worker_pod(struct arena *a, const struct served *s,
                                     const struct replica *rp, const struct want_state *st)
{
    static const char *const sshd[] = {"/usr/sbin/sshd", "-De", NULL};
    struct node *template = template_of(a, s, rp, "Never");
    struct node *container = want_container(a, template, NULL);

    mpi_put_search(a, s, template);
    if (is_empty(container, "command") && is_empty(container, "args"))
        make_put(a, container, "command", make_texts(a, sshd));
    mpi_add_keys(a, s, keys_path(s), template, container);
    if (s->records) {
        want_add_agent(a, s, template, container);
        want_mark_recorded(a, s, template);
    }
    return want_pod(a, s, rp->host, template, st);
}

/* --- the launcher ----------------------------------------------------------------------------- */

static void put_template(struct arena *a, const struct served *s, const struct replica *rp,
                         const struct want_state *st, struct node *spec)
{
    struct node *template = template_of(a, s, rp, "OnFailure");
    struct node *container = want_container(a, template, NULL);

    /* The operator does not know Open MPI 5 yet; the rest of its variables are the plan's. */
    if (strcmp(s->plan->spec->implementation, "OpenMPI") == 0)
        want_add_env(a, container, "PRTE_MCA_plm_ssh_args", "-o ConnectionAttempts=10");
    mpi_add_keys(a, s, keys_path(s), template, container);
    mpi_add_config(a, s, (struct mpi_files){.hostfile = true, .discover_hosts = true}, template,
                   container);
    if (want_waits(s, rp->role, st->start)) {
        want_put_waiting(a, container);
    } else if (s->records && st->recorded) {
        want_add_agent(a, s, template, container);
        want_record_launcher(a, s, container);
    }
    mpi_put_job_template(a, s, template, spec);
}

void mpi_put_job_template(struct arena *a, const struct served *s, struct node *template,
                          struct node *spec)
{
    struct node *meta = make_map(a), *made;
    const struct node *old = node_get(template, "metadata");

    make_put(a, meta, "labels", node_get(old, "labels"));
    make_put(a, meta, "annotations", node_get(old, "annotations"));
    make_put(a, meta, "ownerReferences", want_owner(a, s));
    made = make_below(a, spec, "template");
    make_put(a, made, "metadata", meta);
    make_put(a, made, "spec", node_get(template, "spec"));
}

static const struct node *launcher_job(struct arena *a, const struct served *s,
                                       const struct replica *rp, const struct want_state *st)
{
    static const char *const limits[] = {"ttlSecondsAfterFinished", "activeDeadlineSeconds",
                                         "backoffLimit"};
    const struct node *policy = node_find(s->object, "spec", "runPolicy", NULL);
    struct node *root = want_root(a, s, "batch/v1", "Job", rp->host);
    struct node *spec = make_below(a, root, "spec");

    mpi_put_app(a, s, root);
    for (size_t i = 0; i < ARRAY_SIZE(limits); i++)
        if (!node_absent(policy, limits[i]))
            make_put(a, spec, limits[i], node_get(policy, limits[i]));
    put_template(a, s, rp, st, spec);
    if (want_waits(s, rp->role, st->start))
        want_mark_waiting(a, root);
    want_put(a, spec, "podReplacementPolicy", "Failed");
    if (st->suspended)
        make_put(a, spec, "suspend", make_bool(a, true));
    return root;
}

/* --- all of them ------------------------------------------------------------------------------ */

static const struct node *service(struct arena *a, const struct served *s)
{
    struct node *root = want_service(a, s, s->name, labels_of_job(a, s, make_map(a)));

    mpi_put_app(a, s, root);
    /* The launcher waits for itself otherwise. */
    if (launcher_is_worker(s->plan))
        make_put(a, make_below(a, root, "spec"), "publishNotReadyAddresses", make_bool(a, true));
    return root;
}

static const struct node *config_map(struct arena *a, const struct served *s,
                                     const struct want_state *st)
{
    struct node *root = mpi_config_map(a, s, s->plan->operator_hostfile);

    want_put(a, make_below(a, root, "data"), PLAN_DISCOVER_HOSTS,
             mpi_discover_text(a, s->plan, st->running));
    return root;
}

static const struct node *object(struct arena *a, const struct served *s, const struct want *w,
                                 const struct want_state *st)
{
    const struct replica *rp = &s->plan->replicas[w->replica < 0 ? 0 : w->replica];

    switch (w->kind) {
    case WANT_SERVICE:
        return service(a, s);
    case WANT_CONFIG_MAP:
        return mpi_is_agent(a, s, w) ? want_agent_map(a, s, st) : config_map(a, s, st);
    case WANT_SECRET:
        return mpi_secret(a, s, w, st);
    case WANT_POD:
        return worker_pod(a, s, rp, st);
    default:
        return launcher_job(a, s, rp, st);
    }
}

static const char *selector(struct arena *a, const struct served *s)
{
    return arena_printf(a, LABEL_OPERATOR "=%s," LABEL_JOB "=%s", s->kind->operator_name, s->name);
}

const struct wants_way wants_mpi = {list, object, selector};
