/* wants_parts.c - see wants_parts.h. */
#include "operator/wants_parts.h"

#include <string.h>

#include "kube/gang.h"

void want_put(struct arena *a, struct node *map, const char *key, const char *text)
{
    make_put(a, map, key, make_text(a, text));
}

const struct node *want_owner(struct arena *a, const struct served *s)
{
    struct node *list = make_seq(a), *ref = make_map(a);

    want_put(a, ref, "apiVersion", s->api_version);
    want_put(a, ref, "kind", s->kind->kind);
    want_put(a, ref, "name", s->name);
    want_put(a, ref, "uid", s->uid);
    make_put(a, ref, "controller", make_bool(a, true));
    make_put(a, ref, "blockOwnerDeletion", make_bool(a, true));
    make_add(a, list, ref);
    return list;
}

struct node *want_root(struct arena *a, const struct served *s, const char *api, const char *kind,
                       const char *name)
{
    struct node *root = make_map(a), *meta;

    want_put(a, root, "apiVersion", api);
    want_put(a, root, "kind", kind);
    meta = make_below(a, root, "metadata");
    want_put(a, meta, "name", name);
    want_put(a, meta, "namespace", s->namespace_);
    make_put(a, meta, "ownerReferences", want_owner(a, s));
    return root;
}

struct node *want_service(struct arena *a, const struct served *s, const char *name,
                          const struct node *selector)
{
    struct node *root = want_root(a, s, "v1", "Service", name);
    struct node *spec = make_below(a, root, "spec");

    want_put(a, spec, "clusterIP", "None");
    make_put(a, spec, "selector", selector);
    return root;
}

/* --- templates -------------------------------------------------------------------------------- */

struct node *want_template(struct arena *a, const struct role *role)
{
    return role->template_at ? make_copy(a, role->template_at) : make_map(a);
}

static void move(struct arena *a, struct node *from, struct node *to, const char *key)
{
    if (!node_absent(from, key))
        make_put(a, to, key, node_get(from, key));
}

struct node *want_pod(struct arena *a, const struct served *s, const char *name,
                      struct node *template, const struct want_state *st)
{
    struct node *root = want_root(a, s, "v1", "Pod", name), *meta = make_below(a, root, "metadata");
    struct node *from = make_below(a, template, "metadata");

    want_put(a, make_below(a, from, "annotations"), WANT_START_ANNOTATION,
             arena_printf(a, "%u.%u", st->start.attempt, st->start.instance));
    move(a, from, meta, "labels");
    move(a, from, meta, "annotations");
    make_put(a, root, "spec", make_below(a, template, "spec"));
    return root;
}

struct node *want_container(struct arena *a, struct node *template, const char *name)
{
    struct node *list = make_list_below(a, make_below(a, template, "spec"), "containers");
    struct node *c;

    for (size_t i = 0; name && i < list->n; i++) {
        c = make_item(list, i);
        if (c && strcmp(node_text(node_get(c, "name"), ""), name) == 0)
            return c;
    }
    c = list->n ? make_item(list, 0) : NULL;
    return c ? c : make_map(a); /* the dialects accept none without a container */
}

void want_add_env(struct arena *a, struct node *container, const char *name, const char *value)
{
    struct node *item = make_map(a);

    want_put(a, item, "name", name);
    want_put(a, item, "value", value);
    make_add(a, make_list_below(a, container, "env"), item);
}

void want_add_operator_env(struct arena *a, const struct plan *plan, const struct replica *rp,
                           struct node *container)
{
    const struct env_value *v;
    size_t n = plan_operator_env(a, plan, rp->first_process, &v);

    for (size_t i = 0; i < n; i++)
        want_add_env(a, container, v[i].name, v[i].value);
}

void want_put_restart(struct arena *a, const struct role *role, const char *otherwise,
                      struct node *template)
{
    const struct node *replica = role->template_at ? role->template_at->parent : NULL;
    const char *policy = node_text(node_get(replica, "restartPolicy"), "");

    if (!*policy)
        policy = otherwise;
    want_put(a, make_below(a, template, "spec"), "restartPolicy",
             strcmp(policy, "ExitCode") == 0 ? "Never" : policy);
}

bool want_waits(const struct served *s, const struct role *role, struct start start)
{
    return start.debug && role->kind != ROLE_HOST && spec_debugs(s->plan->spec, role);
}

void want_put_waiting(struct arena *a, struct node *container)
{
    static const char *const sleep[] = {"sleep", "365d", NULL};

    make_put(a, container, "command", make_texts(a, sleep));
    make_drop(container, "args");
}

void want_mark_waiting(struct arena *a, struct node *root)
{
    want_put(a, make_below(a, make_below(a, root, "metadata"), "annotations"),
             WANT_DEBUG_ANNOTATION, "true");
}

void want_put_gang(struct arena *a, const struct served *s, bool override, const char *task,
                   struct node *template)
{
    const char *scheduler = s->options->gang_scheduler;

    if (scheduler && *scheduler)
        gang_join(a, scheduler, s->name, task, override, make_below(a, template, "metadata"),
                  make_below(a, template, "spec"));
}
