/* pod_checks.c - what Kubernetes refuses when an operator makes the pod, long after the job was
 * taken.
 *
 * Names given twice, ports that collide, limits below requests of the containers that are not run
 * here. The container that runs has its cpu, memory and GPUs checked with its role (spec.c, pod.c).
 * Not here: volumes (pod_volumes.c). */
#include <string.h>

#include "base/limits.h"
#include "base/num.h"
#include "kube/pod.h"

struct checked {
    const struct binder *b;
    const struct pod_spec *spec;
    size_t n, n_init; /* containers that are looked at */
};

/* --- containers ----------------------------------------------------------------------------- */

/* Init containers, then the others. */
static const struct pod_container *container(const struct checked *k, size_t i)
{
    return i < k->n_init ? &k->spec->init.v[i] : &k->spec->containers.v[i - k->n_init];
}

static void check_names(const struct checked *k)
{
    for (size_t i = 0; i < k->n_init + k->n; i++) {
        const struct pod_container *c = container(k, i);

        for (size_t j = 0; c->name && j < i; j++) {
            const char *other = container(k, j)->name;

            if (!other || strcmp(other, c->name) != 0)
                continue;
            diag_at(k->b->ds, node_get(c->at, "name"), "E0144", "give each a unique name",
                    "duplicate container `%s` (first at line %u)", c->name,
                    container(k, j)->at->pos.line);
            break;
        }
    }
}

/* Both as quantities of any kind; false if either is none, which is told elsewhere or by the
 * cluster. */
static bool both(const struct node *limit, const struct node *request, int64_t *ret_limit,
                 int64_t *ret_request)
{
    return limit && limit->text && request->text && quantity_milli(limit->text, ret_limit) == 0 &&
           quantity_milli(request->text, ret_request) == 0;
}

static void check_limits(const struct checked *k, const struct pod_container *c, bool all)
{
    const struct node *requests = c->resources ? c->resources->requests : NULL;

    for (size_t i = 0; requests && requests->type == NODE_MAP && i < requests->n; i++) {
        const char *name = requests->pairs[i].key->text;
        const struct node *limit = node_get(c->resources->limits, name);
        const struct node *request = requests->pairs[i].value;
        int64_t most, least;

        if ((all || pod_is_other_resource(name)) && both(limit, request, &most, &least) &&
            most < least)
            diag_at(k->b->ds, limit, "E0205", NULL, "the %s limit %s is below the request %s", name,
                    limit->text, request->text);
    }
}

/* --- ports ---------------------------------------------------------------------------------- */

struct port {
    const struct node *at; /* the number */
    const char *name, *protocol, *ip;
    int64_t number, host; /* host: 0 if it is none of the node's */
    const struct pod_container *of;
};

/* An empty text is as none. */
static const char *text_or(const struct node *map, const char *key, const char *otherwise)
{
    const char *text = node_text(node_get(map, key), "");

    return *text ? text : otherwise;
}

/* A number of a port, 0 if the key is absent; -1 after an error. */
static int64_t port_number(const struct checked *k, const struct node *map, const char *key)
{
    const struct node *node = node_get(map, key);

    if (!node || node->type == NODE_NULL)
        return 0;
    if (node->type != NODE_INT) {
        bind_type_error(k->b, key, "an integer", NULL, node);
        return -1;
    }
    if (node->i < 1 || node->i > UINT16_MAX) {
        diag_at(k->b->ds, node, "E0203", NULL, "`%s` must be from 1 to 65535, not %s", key,
                node->text);
        return -1;
    }
    return node->i;
}

static bool read_port(const struct checked *k, const struct pod_container *c,
                      const struct node *map, bool on_host, struct port *ret)
{
    enum { NAME_MOST = 15 };

    if (map->type != NODE_MAP) {
        bind_type_error(k->b, "ports", "a list of mappings", "write - containerPort: NUMBER", map);
        return false;
    }
    if (node_absent(map, "containerPort")) {
        bind_missing(k->b, map, "a port", "containerPort", NULL);
        return false;
    }
    *ret = (struct port){
        .at = node_get(map, "containerPort"),
        .name = text_or(map, "name", NULL),
        .protocol = text_or(map, "protocol", "TCP"),
        .ip = text_or(map, "hostIP", ""),
        .number = port_number(k, map, "containerPort"),
        .host = port_number(k, map, "hostPort"),
        .of = c,
    };
    if (ret->number < 0 || ret->host < 0)
        return false;
    if (ret->name && strlen(ret->name) > NAME_MOST)
        diag_at(k->b->ds, node_get(map, "name"), "E0145", NULL,
                "the name of a port must have at most %d characters: \"%.80s\"", NAME_MOST,
                ret->name);
    if (on_host && ret->host && ret->host != ret->number)
        diag_at(k->b->ds, node_get(map, "hostPort"), "E0146", "remove it",
                "with `hostNetwork`, hostPort must equal containerPort, %lld",
                (long long)ret->number);
    else if (on_host)
        ret->host = ret->number;
    return true;
}

/* Two ports of one pod, of which q stands later. */
static bool check_pair(const struct checked *k, const struct port *p, const struct port *q)
{
    struct diags *ds = k->b->ds;

    if (p->of == q->of && p->name && q->name && strcmp(p->name, q->name) == 0) {
        diag_at(ds, node_get(q->at->parent, "name"), "E0145", NULL,
                "duplicate port `%s` (first at line %u)", q->name, p->at->pos.line);
        return true;
    }
    if (strcmp(p->protocol, q->protocol) != 0)
        return false;
    if (p->host && p->host == q->host && strcmp(p->ip, q->ip) == 0) {
        diag_at(ds, q->at, "E0146", NULL, "duplicate host port %lld (first at line %u)",
                (long long)q->host, p->at->pos.line);
        return true;
    }
    if (p->number == q->number)
        diag_at(ds, q->at, "W0113", "containers of a pod share one network",
                "duplicate port %lld (first at line %u)", (long long)q->number, p->at->pos.line);
    return p->number == q->number;
}

static size_t at_most(size_t n, size_t most)
{
    return n < most ? n : most;
}

/* NULL: it has none. */
static const struct node *ports_of(const struct pod_container *c)
{
    const struct node *list = node_get(c->at, "ports");

    return list && list->type == NODE_SEQ ? list : NULL;
}

static size_t count_ports(const struct checked *k)
{
    size_t n = 0;

    for (size_t i = 0; i < k->n; i++) {
        const struct node *list = ports_of(&k->spec->containers.v[i]);

        n += list ? list->n : 0;
    }
    return at_most(n, LIMIT_CONTAINER_PORTS);
}

static void check_ports(const struct checked *k)
{
    const struct node *on_host = node_get(k->spec->at, "hostNetwork");
    size_t n = 0, most = count_ports(k);
    struct port *ports = ARENA_ARRAY(k->b->a, struct port, most);

    for (size_t i = 0; i < k->n; i++) {
        const struct pod_container *c = &k->spec->containers.v[i];
        const struct node *list = ports_of(c);

        for (size_t j = 0; list && j < list->n; j++) {
            if (n == most)
                return;
            if (!read_port(k, c, list->items[j],
                           on_host && on_host->type == NODE_BOOL && on_host->i, &ports[n]))
                continue;
            for (size_t p = 0; p < n; p++) {
                if (check_pair(k, &ports[p], &ports[n]))
                    break;
            }
            n++;
        }
    }
}

/* --- the pod -------------------------------------------------------------------------------- */

static void check_restart(const struct checked *k)
{
    static const char *const words[] = {"Always", "OnFailure", "Never"};
    const struct node *policy = node_get(k->spec->at, "restartPolicy");

    if (policy && policy->type == NODE_STRING && policy->len)
        bind_word(k->b, policy, "restartPolicy", policy->text, words, ARRAY_SIZE(words));
}

/* A placeholder that nobody has filled in. */
static void check_image(const struct checked *k, const struct pod_container *c)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                                  "._-/:@";

    if (c->image && *c->image && c->image[strspn(c->image, letters)])
        diag_at(k->b->ds, node_get(c->at, "image"), "W0206",
                strchr(c->image, '$') ? "Kubernetes does not expand variables here" : NULL,
                "\"%.80s\" is not a valid image name", c->image);
}

static void check_pull_policy(const struct checked *k, const struct pod_container *c)
{
    static const char *const words[] = {"Always", "IfNotPresent", "Never"};
    const struct node *policy = node_get(c->at, "imagePullPolicy");

    if (policy && policy->type == NODE_STRING && policy->len)
        bind_word(k->b, policy, "imagePullPolicy", policy->text, words, ARRAY_SIZE(words));
}

void pod_check(const struct binder *b, const struct pod_spec *spec,
               const struct pod_container *used)
{
    const struct checked k = {
        .b = b,
        .spec = spec,
        .n = at_most(spec->containers.n, LIMIT_CONTAINERS),
        .n_init = at_most(spec->init.n, LIMIT_INIT),
    };

    check_names(&k);
    for (size_t i = 0; i < k.n_init + k.n; i++) {
        check_limits(&k, container(&k, i), container(&k, i) != used);
        check_image(&k, container(&k, i));
        check_pull_policy(&k, container(&k, i));
    }
    check_ports(&k);
    check_restart(&k);
}
