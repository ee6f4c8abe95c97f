/* edit.c - --set on a document: what is changed, what keeps its place, what is refused. */
#include "doc/edit.h"

#include <errno.h>
#include <string.h>

#include "base/strbuf.h"
#include "base/tap.h"
#include "doc/yaml.h"

static const char text[] = "name: a\n"
                           "spec:\n"
                           "  worker:\n"
                           "    replicas: 5\n"
                           "    args: [x, y, z]\n"
                           "  empty:\n"
                           "limits:\n"
                           "  nvidia.com/gpu: 2\n"
                           "env:\n"
                           "  - name: ONE\n"
                           "    value: first\n"
                           "  - name: TWO\n";

static struct arena *a;
static struct diags ds;

static const struct node *read_text(void)
{
    struct doc doc;

    diags_release(&ds);
    diags_init(&ds, a);
    yaml_read(a, "x.yaml", text, strlen(text), &ds, &doc);
    return doc.roots[0];
}

/* The tree in one line, for comparing. */
static void flow(struct strbuf *sb, const struct node *n)
{
    if (n->type == NODE_MAP) {
        strbuf_addch(sb, '{');
        for (size_t i = 0; i < n->n; i++) {
            strbuf_addf(sb, "%s%s: ", i ? ", " : "", n->pairs[i].key->text);
            flow(sb, n->pairs[i].value);
        }
        strbuf_addch(sb, '}');
    } else if (n->type == NODE_SEQ) {
        strbuf_addch(sb, '[');
        for (size_t i = 0; i < n->n; i++) {
            strbuf_addstr(sb, i ? ", " : "");
            flow(sb, n->items[i]);
        }
        strbuf_addch(sb, ']');
    } else {
        strbuf_addstr(sb, n->type == NODE_STRING ? "'" : "");
        strbuf_addstr(sb, n->text);
        strbuf_addstr(sb, n->type == NODE_STRING ? "'" : "");
    }
}

static const struct node *set(const char *what)
{
    const struct node *root = read_text();
    const struct edit *edit;
    struct err e;

    if (edit_parse(a, what, &edit, &e) < 0) {
        tap_diag("%s", e.text);
        return NULL;
    }
    return edit_apply(a, edit, root, &ds);
}

#define WORKER "worker: {replicas: 5, args: ['x', 'y', 'z']}"
#define SPEC "spec: {" WORKER ", empty: }"
#define LIMITS "limits: {nvidia.com/gpu: 2}"
#define ENV "env: [{name: 'ONE', value: 'first'}, {name: 'TWO'}]"

static void test_made(void)
{
    static const struct {
        const char *set, *want;
    } cases[] = {
        {".spec.worker.replicas=7", "{name: 'a', spec: {worker: {replicas: 7, args: ['x', 'y', "
                                    "'z']}, empty: }, " LIMITS ", " ENV "}"},
        {"spec.worker.replicas=\"7\"", "{name: 'a', spec: {worker: {replicas: '7', args: ['x', "
                                       "'y', 'z']}, empty: }, " LIMITS ", " ENV "}"},
        {"spec.worker.args[1]=b=c: d", "{name: 'a', spec: {worker: {replicas: 5, args: ['x', "
                                       "'b=c: d', 'z']}, empty: }, " LIMITS ", " ENV "}"},
        {"spec.worker.args=[p, 2]", "{name: 'a', spec: {worker: {replicas: 5, args: ['p', 2]}, "
                                    "empty: }, " LIMITS ", " ENV "}"},
        {"spec.worker.args[0]=null", "{name: 'a', spec: {worker: {replicas: 5, args: ['y', 'z']}, "
                                     "empty: }, " LIMITS ", " ENV "}"},
        {"spec.worker=null", "{name: 'a', spec: {empty: }, " LIMITS ", " ENV "}"},
        {"spec.empty.x.y=1",
         "{name: 'a', spec: {" WORKER ", empty: {x: {y: 1}}}, " LIMITS ", " ENV "}"},
        {"new.x={k: v}", "{name: 'a', " SPEC ", " LIMITS ", " ENV ", new: {x: {k: 'v'}}}"},
        {"name=", "{name: '', " SPEC ", " LIMITS ", " ENV "}"},
        {"limits[\"nvidia.com/gpu\"]=4",
         "{name: 'a', " SPEC ", limits: {nvidia.com/gpu: 4}, " ENV "}"},
        {"limits[nvidia.com/gpu]=4", "{name: 'a', " SPEC ", limits: {nvidia.com/gpu: 4}, " ENV "}"},
        {"limits.'nvidia.com/gpu'=4",
         "{name: 'a', " SPEC ", limits: {nvidia.com/gpu: 4}, " ENV "}"},
        {"env.TWO.value=second",
         "{name: 'a', " SPEC ", " LIMITS ", env: [{name: 'ONE', value: 'first'}, {name: 'TWO', "
         "value: 'second'}]}"},
        {"env[0].value='null'",
         "{name: 'a', " SPEC ", " LIMITS ", env: [{name: 'ONE', value: 'null'}, {name: 'TWO'}]}"},
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        auto_strbuf struct strbuf sb = STRBUF_INIT;
        const struct node *root = set(cases[i].set);

        if (root)
            flow(&sb, root);
        is_str(sb.buf, cases[i].want, "%s", cases[i].set);
    }
}

static void test_tree(void)
{
    const struct node *before = read_text(), *root = set("spec.worker.replicas=[1, {a: 2}]"), *n;

    n = node_find(root, "spec", "worker", "replicas", NULL);
    ok(n->parent == node_find(root, "spec", "worker", NULL), "a new value knows its parent");
    is_int(n->pos.line, 4, "it stands where the old one did");
    is_int(n->pos.column, 15, "in its column");
    is_str(n->set, "spec.worker.replicas", "and is marked");
    n = node_get(n->items[1], "a");
    is_str(node_path(a, n), ".spec.worker.replicas[1].a", "the path of what is in it");
    is_str(n->set, "spec.worker.replicas", "which is marked too");
    n = node_find(root, "spec", "worker", "args", NULL);
    ok(n->parent->parent->parent == root, "what is beside it belongs to the new tree");
    ok(!n->set, "and is not marked");
    ok(node_equal(before, read_text()), "the old tree is as it was");

    diag_at(&ds, node_find(root, "spec", "worker", "replicas", NULL), "E0107", NULL, "is wrong");
    is_str(ds.v[0].message, "is wrong (set by --set spec.worker.replicas)", "a diagnostic says so");

    root = set("spec.worker.more.x=1");
    n = node_find(root, "spec", "worker", "more", NULL);
    is_int(n->pos.line, 3, "a new key stands where its mapping's key does");
    is_str(node_key(n->parent, "more")->set, "spec.worker.more.x", "its key is marked");
}

static void test_refused(void)
{
    static const struct {
        const char *set, *code, *message, *hint;
        unsigned int line;
    } cases[] = {
        {"name.x=1", "E0141", ".name is a string, not a mapping", NULL, 1},
        {"spec[0]=1", "E0141", ".spec is a mapping, not a list", NULL, 3},
        {"spec.worker.args[3]=1", "E0140",
         ".spec.worker.args has 3 items; index [3] is out of range", NULL, 5},
        {"spec.worker.args.k=1", "E0140", "has no item named `k`", NULL, 5},
        {"env.OEN.value=1", "E0140", "no item named `OEN`", "did you mean `ONE`?", 10},
        {"spec.worker.replica=null", "E0142", "cannot remove `replica`: not found in .spec.worker",
         "did you mean `replicas`?", 4},
        {"spec.new[0]=1", "E0140", "[0] needs a list", "set the whole list", 3},
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        ok(!set(cases[i].set), "%s", cases[i].set);
        is_int((long long)ds.n, 1, "is one error");
        is_str(ds.v[0].code, cases[i].code, "its code");
        has(ds.v[0].message, cases[i].message, "what is in the way");
        is_int(ds.v[0].pos.line, cases[i].line, "where");
        if (cases[i].hint)
            has(ds.v[0].hint ? ds.v[0].hint : "", cases[i].hint, "and a hint");
    }
}

static void test_no_edit(void)
{
    static const struct {
        const char *set, *message;
    } cases[] = {
        {"spec.worker", "must be PATH=VALUE"},
        {"=5", "must begin with a key"},
        {"[0]=5", "must begin with a key"},
        {"a..b=5", "missing key at character 3"},
        {"a.=5", "missing key at character 3"},
        {"a[=5", "a bracket is not closed"},
        {"a[]=5", "missing index"},
        {"a[\"b=5", "a quote is not closed"},
        {"a[\"b\"c=5", "a bracket is not closed"},
        {"a[0]b=5", "missing dot at character 5"},
        {"a=[1, 2", "the value:"},
        {"a=\"b\" c", "--set a: the value"},
        {"a=\"b\": c", "must be a single value"},
        {"a=[1]\n---\n[2]", "must be a single value"},
        {"a={k: 1, k: 2}", "duplicate key"},
        {"a=\xff", "the value:"},
        {"a=\x01", "the value:"},
    };
    auto_strbuf struct strbuf deep = STRBUF_INIT;
    const struct edit *edit;
    struct err e;

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        is_int(edit_parse(a, cases[i].set, &edit, &e), -EINVAL, "%s", cases[i].set);
        has(e.text, cases[i].message, "says why");
    }
    is_int(edit_parse(a, "a[=s3cret", &edit, &e), -EINVAL, "an error in the path");
    ok(!strstr(e.text, "s3cret"), "does not repeat the value");

    for (int i = 0; i < 65; i++)
        strbuf_addstr(&deep, i ? ".a" : "a");
    strbuf_addstr(&deep, "=1");
    is_int(edit_parse(a, deep.buf, &edit, &e), -EINVAL, "too long a path");
    has(e.text, "more than 64 components", "names its limit");

    deep.buf[3 * 2 - 1] = '\0';
    strbuf_truncate(&deep, 5);
    strbuf_addch(&deep, '=');
    for (int i = 0; i < 127; i++)
        strbuf_addch(&deep, '[');
    for (int i = 0; i < 127; i++)
        strbuf_addch(&deep, ']');
    ok(!set(deep.buf), "too deep a document");
    has(ds.n ? ds.v[0].message : "", "more than 128 levels of nesting", "names its limit");
}

int main(void)
{
    a = arena_new();
    diags_init(&ds, a);
    test_made();
    test_tree();
    test_refused();
    test_no_edit();
    diags_release(&ds);
    arena_free(a);
    return tap_done();
}
