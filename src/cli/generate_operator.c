/* generate_operator.c - see generate_operator.h. */
#include "cli/generate_operator.h"

#include <stddef.h>
#include <string.h>

#include "base/strbuf.h"
#include "cli/deploy.h"
#include "cli/diagnose.h"
#include "doc/diag.h"
#include "doc/json_write.h"
#include "doc/make.h"
#include "doc/yaml.h"
#include "doc/yaml_write.h"
#include "kube/own.h"

#define NAMESPACE "muster-system" /* in deploy/base */

/* --- the files of deploy/base ----------------------------------------------------------------- */

static void add_objects(struct arena *a, struct node *list, const struct deploy_file *file)
{
    struct diags ds;
    struct doc doc;

    diags_init(&ds, a);
    if (yaml_read(a, file->name, file->text, strlen(file->text), &ds, &doc) == 0)
        for (size_t i = 0; i < doc.n_roots; i++)
            if (doc.roots[i]->type == NODE_MAP)
                make_add(a, list, make_copy(a, doc.roots[i]));
    diags_release(&ds);
}

static bool begins_with(const char *text, const char *word)
{
    return strncmp(text, word, strlen(word)) == 0;
}

/* only: files that begin with that; but_crds: all but the CRDs. */
static struct node *read_objects(struct arena *a, const char *only, bool but_crds)
{
    struct node *list = make_seq(a);

    for (const struct deploy_file *f = deploy_files; f->name; f++)
        if (only ? begins_with(f->name, only) : !but_crds || !begins_with(f->name, "crds"))
            add_objects(a, list, f);
    return list;
}

static bool is_kind(const struct node *object, const char *kind)
{
    return strcmp(node_text(node_get(object, "kind"), ""), kind) == 0;
}

/* The first object of that kind, to be changed. */
static struct node *find_kind(struct node *list, const char *kind)
{
    for (size_t i = 0; i < list->n; i++)
        if (is_kind(list->items[i], kind))
            return make_item(list, i);
    return NULL;
}

/* --- their values ----------------------------------------------------------------------------- */

/* Wherever the namespace of the operator is named. */
static void put_namespace(struct arena *a, struct node *node, const char *namespace_)
{
    for (size_t i = 0; i < node->n; i++) {
        if (node->type == NODE_SEQ) {
            struct node *item = make_item(node, i);

            if (item)
                put_namespace(a, item, namespace_);
            continue;
        }
        const char *key = node->pairs[i].key->text;
        const struct node *value = node->pairs[i].value;

        if (value->type == NODE_MAP)
            put_namespace(a, make_below(a, node, key), namespace_);
        else if (value->type == NODE_SEQ)
            put_namespace(a, make_list_below(a, node, key), namespace_);
        else if (strcmp(key, "namespace") == 0 && strcmp(node_text(value, ""), NAMESPACE) == 0)
            make_put(a, node, key, make_text(a, namespace_));
    }
}

static struct node *container_of(struct arena *a, struct node *list)
{
    struct node *spec = make_below(a, find_kind(list, "Deployment"), "spec");
    struct node *pod = make_below(a, make_below(a, spec, "template"), "spec");

    return make_item(make_list_below(a, pod, "containers"), 0);
}

static void add_args(struct arena *a, struct node *container, const char *const *args, size_t n)
{
    struct node *list = make_list_below(a, container, "args");

    for (size_t i = 0; i < n; i++)
        make_add(a, list, make_text(a, args[i]));
}

/* --- output ----------------------------------------------------------------------------------- */

static int print_objects(struct arena *a, const struct node *list, const char *output)
{
    auto_strbuf struct strbuf out = STRBUF_INIT;

    if (strcmp(output, "json") == 0) {
        struct node *all = make_map(a);

        make_put(a, all, "apiVersion", make_text(a, "v1"));
        make_put(a, all, "kind", make_text(a, "List"));
        make_put(a, all, "items", list);
        json_write(&out, all);
        strbuf_addch(&out, '\n');
    } else {
        for (size_t i = 0; i < list->n; i++) {
            strbuf_addstr(&out, i ? "---\n" : "");
            yaml_write(&out, list->items[i]);
        }
    }
    fputs(out.buf, stdout);
    return finish_output();
}

/* --- crds, operator --------------------------------------------------------------------------- */

struct install_opts {
    const char *image, *namespace_, *output;
    bool no_crds;
};

#define AT(member) offsetof(struct install_opts, member)
static const char *const outputs[] = {"yaml", "json", NULL};

static const struct opt crds_opts[] = {
    {"output", 'o', OPT_CHOICE, AT(output), .choices = outputs, .help = "the form of the document"},
    OPT_END,
};
static const struct opt operator_opts[] = {
    {"image", 0, OPT_STRING, AT(image), "IMAGE", .help = "image of the operator"},
    {"namespace", 0, OPT_STRING, AT(namespace_), "NS",
     .help = "namespace of the operator (default: muster-system)"},
    {"no-crds", 0, OPT_FLAG, AT(no_crds), .help = "leave out the CRDs"},
    {"output", 'o', OPT_CHOICE, AT(output), .choices = outputs, .help = "the form of the document"},
    OPT_END,
};

static const struct {
    const char *word, *synopsis, *summary, *about;
    const struct opt *opts;
} documents[] = {
    {"crds", "[OPTION…]", "the CRDs of the kinds that `muster operator` serves",
     "Needed in clusters without the CRDs of Kubeflow or T9k.", crds_opts},
    {"operator", "[OPTION…] [-- ARG…]", "the objects that install `muster operator` in a cluster",
     "Namespace, CRDs, service account, rights, Deployment, Service and webhook; apply them with "
     "`kubectl "
     "apply --server-side -f -`. ARGs are options of `muster operator`.",
     operator_opts},
};

static int print_operator(struct arena *a, const struct verb *verb, const struct install_opts *o,
                          const struct operands *ops)
{
    struct node *list = read_objects(a, NULL, o->no_crds);
    struct node *container = container_of(a, list);

    if (!*o->namespace_ || (o->image && !*o->image))
        return usage_error(verb, "--%s must not be empty", *o->namespace_ ? "image" : "namespace");
    make_put(a, make_below(a, find_kind(list, "Namespace"), "metadata"), "name",
             make_text(a, o->namespace_));
    put_namespace(a, list, o->namespace_);
    if (o->image)
        make_put(a, container, "image", make_text(a, o->image));
    add_args(a, container, (const char *const *)ops->rest, (size_t)ops->n_rest);
    return print_objects(a, list, o->output);
}

bool generates_operator(const char *word)
{
    for (size_t i = 0; i < ARRAY_SIZE(documents); i++)
        if (strcmp(word, documents[i].word) == 0)
            return true;
    return false;
}

int generate_operator(const struct verb *verb, int argc, char **argv)
{
    auto_arena struct arena *a = arena_new();
    size_t which = strcmp(argv[0], documents[0].word) == 0 ? 0 : 1;
    const struct verb own = {.name = arena_printf(a, "%s %s", verb->name, argv[0]),
                             .synopsis = documents[which].synopsis,
                             .summary = documents[which].summary,
                             .about = documents[which].about,
                             .opts = documents[which].opts,
                             .usage_exit = verb->usage_exit};
    struct install_opts o = {.namespace_ = NAMESPACE, .output = "yaml"};
    struct operands ops;

    if (opts_parse(&own, &o, argc, argv, &ops) < 0)
        return own.usage_exit;
    if (ops.n > 0)
        return usage_error(&own, "unexpected argument \"%s\"", ops.v[0]);
    if (which == 0)
        return ops.rest ? usage_error(&own, "-- is not allowed here")
                        : print_objects(a, read_objects(a, "crds", false), o.output);
    return print_operator(a, &own, &o, &ops);
}

/* --- mpi-operator with an image of ours ------------------------------------------------------- */

bool is_our_image(const char *image)
{
    static const char ours[] = "muster-operator";
    const char *slash = strrchr(image, '/'), *name = slash ? slash + 1 : image;
    size_t n = strcspn(name, ":@");

    return n == sizeof(ours) - 1 && memcmp(name, ours, n) == 0;
}

static bool has_text(const struct node *list, const char *text)
{
    for (size_t i = 0; list && list->type == NODE_SEQ && i < list->n; i++)
        if (strncmp(node_text(list->items[i], ""), text, strlen(text)) == 0)
            return true;
    return false;
}

/* What MusterJobs alone need. */
static bool is_of_own(const struct node *rule)
{
    return has_text(node_get(rule, "apiGroups"), OWN_DOMAIN) ||
           has_text(node_get(rule, "resources"), "pods/exec");
}

/* Of the kinds it may touch MPIJobs only, and the lease in any namespace: its own is not known here
 * for sure. The prototype has no webhook. */
static const struct node *mpi_rules(struct arena *a)
{
    struct node *ours = read_objects(a, "rbac", false), *rules = make_seq(a);
    const struct node *all = node_get(find_kind(ours, "ClusterRole"), "rules");
    const struct node *own = node_get(find_kind(ours, "Role"), "rules");

    for (size_t i = 0; i < all->n; i++) {
        struct node *rule = make_copy(a, all->items[i]);
        struct node *resources = make_list_below(a, rule, "resources");

        for (size_t k = resources->n; has_text(resources, "mpijobs") && k-- > 0;)
            if (strncmp(node_text(resources->items[k], ""), "mpijobs", 7) != 0)
                make_remove(resources, k);
        if (!has_text(node_get(rule, "apiGroups"), "admissionregistration") && !is_of_own(rule))
            make_add(a, rules, rule);
    }
    for (size_t i = 0; i < own->n; i++)
        if (has_text(node_get(own->items[i], "resources"), "leases"))
            make_add(a, rules, own->items[i]);
    return rules;
}

const struct node *adapt_mpi_operator(struct arena *a, const struct node *list)
{
    static const char *const more[] = {"--enable-scheme=mpijob", "--leader-elect"};
    struct node *made = make_copy(a, list), *items = make_list_below(a, made, "items");
    struct node *objects = make_seq(a), *crds = read_objects(a, "crds", false);

    make_put(a, find_kind(items, "ClusterRole"), "rules", mpi_rules(a));
    add_args(a, container_of(a, items), more, ARRAY_SIZE(more));
    for (size_t i = 0; i < items->n; i++) {
        const struct node *of = node_find(items->items[i], "metadata", "name", NULL);
        const struct node *object = items->items[i];

        for (size_t k = 0; is_kind(object, "CustomResourceDefinition") && k < crds->n; k++)
            if (node_equal(node_find(crds->items[k], "metadata", "name", NULL), of)) {
                object = crds->items[k];
                break;
            }
        make_add(a, objects, object);
    }
    make_put(a, made, "items", objects);
    return made;
}
