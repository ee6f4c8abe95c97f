/* own_kind.c - a job file into a MusterJob and out of it again, with keys sorted as an API server
 * does it. */
#include "dialect/muster/own_kind.h"

#include <string.h>

#include "base/strbuf.h"
#include "base/tap.h"
#include "dialect/dialect.h"
#include "doc/json_write.h"
#include "doc/yaml.h"
#include "doc/yaml_write.h"
#include "kube/own.h"

static const char file[] = "apiVersion: muster/v1\n"
                           "name: ordered\n"
                           "namespace: ns\n"
                           "roles:\n"
                           "  worker:\n"
                           "    replicas: 2\n"
                           "    command: train\n"
                           "    env: {B: one, A: two}\n"
                           "  ps: {command: serve, env: {A: 1, B: 2}}\n";

static const struct node *read_yaml(struct arena *a, const char *text)
{
    struct diags ds;
    struct doc doc;

    diags_init(&ds, a);
    (void)yaml_read(a, "file", text, strlen(text), &ds, &doc);
    diags_release(&ds);
    return doc.n_roots ? doc.roots[0] : NULL;
}

static int by_key(const void *a, const void *b)
{
    const struct pair *x = a, *y = b;

    return strcmp(x->key->text, y->key->text);
}

/* As the API server would give it back. */
static struct node *sorted(struct arena *a, const struct node *node)
{
    struct node *made = make_copy(a, node);
    struct pair *pairs = ARENA_ARRAY(a, struct pair, node->n + 1);
    const struct node **items = ARENA_ARRAY(a, const struct node *, node->n + 1);

    for (size_t i = 0; node->type == NODE_MAP && i < node->n; i++)
        pairs[i] = (struct pair){node->pairs[i].key, sorted(a, node->pairs[i].value)};
    for (size_t i = 0; node->type == NODE_SEQ && i < node->n; i++)
        items[i] = sorted(a, node->items[i]);
    if (node->type == NODE_MAP) {
        qsort(pairs, node->n, sizeof(*pairs), by_key);
        made->pairs = pairs;
    } else if (node->type == NODE_SEQ) {
        made->items = items;
    }
    return made;
}

static const struct job_spec *read_object(struct arena *a, const struct node *object,
                                          struct job_file *jf)
{
    auto_strbuf struct strbuf text = STRBUF_INIT;
    struct job_text in = {.name = "object"};
    struct err e;

    yaml_write(&text, object);
    in.text = arena_strndup(a, text.buf, text.len);
    in.len = text.len;
    if (job_text_read(a, &in, &(struct read_options){0}, jf, &e) < 0)
        return NULL;
    return jf->n_jobs == 1 ? jf->jobs[0] : NULL;
}

static void test_round_trip(void)
{
    auto_arena struct arena *a = arena_new();
    struct node *object = own_kind_object(a, read_yaml(a, file), "ordered-x7k2p", NULL);
    const struct node *notes = node_find(object, "metadata", "annotations", NULL);
    const struct job_spec *spec;
    struct job_file jf;

    ok(own_kind_is(object), "the object is a MusterJob");
    is_str(node_text(node_get(notes, OWN_ORDER), ""),
           "{\"roles\":[\"worker\",\"ps\"],\"roles.worker.env\":[\"B\",\"A\"]}",
           "what a cluster would sort is noted");
    ok(!node_find(object, "spec", "apiVersion", NULL) &&
           !node_find(object, "spec", "namespace", NULL),
       "the object says version and namespace");
    spec = read_object(a, sorted(a, object), &jf);
    ok(spec != NULL, "it is read as a job file");
    if (!spec)
        return;
    is_str(spec->name, "ordered", "with the name of the file");
    is_str(spec->roles[0].name, "worker", "roles are in its order");
    is_str(spec->roles[0].env[0].name, "B", "variables, too");
    job_file_release(&jf);
    make_drop(make_below(a, object, "metadata"), "annotations");
    spec = read_object(a, sorted(a, object), &jf);
    is_str(spec ? spec->roles[0].name : "", "ps", "without the note they are sorted");
    job_file_release(&jf);
}

static const char *first_error(struct arena *a, const char *text)
{
    struct job_file jf;
    const char *said = "";
    struct err e;

    if (job_text_read(a, &(struct job_text){.name = "t", .text = text, .len = strlen(text)},
                      &(struct read_options){0}, &jf, &e) < 0)
        return e.text[0] ? arena_strdup(a, e.text) : "";
    for (size_t i = 0; i < jf.diags.n && !*said; i++)
        if (jf.diags.v[i].severity == SEV_ERROR)
            said = arena_printf(a, "%s %s", jf.diags.v[i].path, jf.diags.v[i].message);
    job_file_release(&jf);
    return said;
}

static void test_errors(void)
{
    auto_arena struct arena *a = arena_new();

#define HEAD "apiVersion: " OWN_API_VERSION "\nkind: " OWN_KIND "\nmetadata: {name: x}\n"
    is_str(first_error(a, HEAD "spec: {roles: {w: {replicas: two, command: x}}}\n"),
           ".spec.roles.w.replicas `replicas` must be an integer, not the string \"two\"",
           "an error has its place in the object");
    is_str(first_error(a, HEAD "spec: 5\n"), ".spec `spec` must be a mapping, not the number 5",
           "a spec that is no mapping");
    is_str(first_error(a, HEAD), ". `spec` is required in the MusterJob",
           "an object without a spec");
    is_str(first_error(a, "apiVersion: " OWN_API_VERSION "\nkind: " OWN_KIND
                          "\nmetadata: {name: x, annotations: {" OWN_ORDER ": '[1]'}}\n"
                          "spec: {roles: {w: {command: x}}}\n"),
           ".metadata.annotations[\"" OWN_ORDER "\"] `" OWN_ORDER
           "` must be a JSON object of lists, not the string \"[1]\"",
           "an order that is none");
}

int main(void)
{
    test_round_trip();
    test_errors();
    return tap_done();
}
