/* write.c - pods and objects from the model: quantities, names, templates that are new or were
 * there. */
#include "kube/write.h"

#include <string.h>

#include "base/strbuf.h"
#include "base/tap.h"
#include "doc/yaml.h"
#include "doc/yaml_write.h"
#include "kube/pod.h"

static void test_words(struct arena *a)
{
    static const struct {
        const char *name, *want;
    } names[] = {{"train", "train"},
                 {"My_Job.1", "my-job-1"},
                 {"9lives", "job-9lives"},
                 {"ends-", "ends"},
                 {"a123456789b123456789c123456789d123456789e123456789f123456789",
                  "a123456789b123456789c123456789d123456789e123456789f"}};
    struct job_spec spec = {.name = "pi", .generate = "pi-"};

    is_str(kube_cpu(a, 2000), "2", "whole cores");
    is_str(kube_cpu(a, 1500), "1500m", "parts of them");
    is_str(kube_bytes(a, INT64_C(4) << 30), "4Gi", "bytes in the largest unit");
    is_str(kube_bytes(a, 1000), "1000", "that divides them");
    for (size_t i = 0; i < ARRAY_SIZE(names); i++)
        is_str(kube_name(a, names[i].name), names[i].want, "a name: %s", names[i].name);
    ok(kube_name_is_generated(&spec), "a name that is only a beginning");
    spec.name = "pi-x";
    ok(!kube_name_is_generated(&spec), "and one that is more");
}

static const char *yaml_of(struct arena *a, const struct node *node)
{
    auto_strbuf struct strbuf sb = STRBUF_INIT;

    yaml_write(&sb, node);
    return arena_strndup(a, sb.buf, sb.len);
}

static void test_env(struct arena *a)
{
    static const struct env_entry v[] = {
        {.name = "L", .value = "x"},
        {.name = "S", .source = ENV_SECRET, .ref_name = "s", .ref_key = "k", .optional = true},
        {.name = "C", .source = ENV_CONFIG_MAP, .ref_name = "c", .ref_key = "k"},
        {.name = "F", .source = ENV_FIELD, .ref_key = "status.podIP"},
        {.name = "R", .source = ENV_RESOURCE, .ref_key = "limits.cpu", .ref_name = "1m"},
    };
    const struct node *list = kube_env(a, v, ARRAY_SIZE(v));

    is_str(node_find(list->items[0], "value", NULL)->text, "x", "a literal");
    is_str(node_find(list->items[1], "valueFrom", "secretKeyRef", "key", NULL)->text, "k",
           "a secret's key");
    ok(node_find(list->items[1], "valueFrom", "secretKeyRef", "optional", NULL)->i == 1,
       "that may be missing");
    is_str(node_find(list->items[2], "valueFrom", "configMapKeyRef", "name", NULL)->text, "c",
           "a config map's");
    is_str(node_find(list->items[3], "valueFrom", "fieldRef", "fieldPath", NULL)->text,
           "status.podIP", "a field");
    is_str(node_find(list->items[4], "valueFrom", "resourceFieldRef", "divisor", NULL)->text, "1m",
           "a resource");
    ok(!kube_env(a, v, 0), "no variables are no list");
}

struct told {
    struct arena *a;
    const char *paths;
};

static void lost(void *ctx, const char *path, const char *text)
{
    struct told *t = ctx;

    (void)text;
    t->paths = arena_printf(t->a, "%s%s%s", t->paths, *t->paths ? " " : "", path);
}

static void test_new_template(struct arena *a)
{
    static const char *const argv[] = {"python", "a.py", NULL};
    static const struct mount mounts[] = {{.source = VOLUME_CLAIM,
                                           .volume = "data",
                                           .from = "big",
                                           .path = "/data",
                                           .read_only = true}};
    struct role role = spec_new_role("worker", ROLE_PLAIN);
    struct job_spec spec = {.name = "j", .namespace_ = "n", .roles = &role, .n_roles = 1};
    struct told told = {a, ""};
    const struct kube_writing w = {.a = a, .spec = &spec, .lost = lost, .ctx = &told};
    const struct pod_wish wish = {.container = "main", .image = true};
    const struct node *t;

    role.argv = argv;
    role.res.cpu_limit_milli = 500;
    role.res.gpu = 2;
    role.res.shm = 1 << 20;
    role.mounts = mounts;
    role.n_mounts = 1;
    role.grace_s = 5;
    t = kube_template(&w, &role, &wish);
    is_str(
        yaml_of(a, t),
        "spec:\n  containers:\n  - name: main\n    image: put-an-image-here\n    command:\n"
        "    - python\n    - a.py\n    resources:\n      limits:\n        cpu: \"500m\"\n"
        "        nvidia.com/gpu: 2\n    volumeMounts:\n    - name: data\n      mountPath: /data\n"
        "      readOnly: true\n    - name: dshm\n      mountPath: /dev/shm\n  volumes:\n"
        "  - name: data\n    persistentVolumeClaim:\n      claimName: big\n  - name: dshm\n"
        "    emptyDir:\n      medium: Memory\n      sizeLimit: \"1Mi\"\n"
        "  terminationGracePeriodSeconds: 5\n",
        "a new template has all that the role says");
    is_str(told.paths, "roles.worker.image", "what is missing is told");
    is_str(yaml_of(a, kube_object(&w, "v1", "Pod")),
           "apiVersion: v1\nkind: Pod\nmetadata:\n  name: j\n  namespace: \"n\"\n",
           "an object's head");
    (void)kube_template(&(struct kube_writing){.a = a, .spec = &spec}, &role, &wish);
    ok(true, "nobody has to listen");
}

/* Only what the role says otherwise is written into its own template. */
static void test_residual(struct arena *a)
{
    static const char text[] =
        "metadata: {creationTimestamp: null}\nspec:\n  nodeSelector: {disk: ssd}\n  wrongKey: 1\n"
        "  containers: [{name: c, image: i, command: [x], resources: {limits: {memory: "
        "4096Mi}}}]\n";
    struct job_spec spec = {.name = "j"};
    struct role role = spec_new_role("worker", ROLE_PLAIN);
    struct told told = {a, ""};
    const struct kube_writing w = {.a = a, .spec = &spec, .lost = lost, .ctx = &told};
    const struct node *t;
    struct diags ds;
    struct doc doc;

    diags_init(&ds, a);
    yaml_read(a, "x", text, strlen(text), &ds, &doc);

    const struct binder b = {.a = a, .ds = &ds};
    const struct pod_template *read = bind_map(&b, &pod_template_table, doc.roots[0]);
    static const char *const argv[] = {"x", NULL};

    pod_fill_role(&b, read, &read->spec->containers.v[0], &role);
    role.argv = argv;
    role.template_at = doc.roots[0];
    role.image = "other";
    t = kube_template(&w, &role, &(struct pod_wish){0});
    is_str(yaml_of(a, t),
           "spec:\n  nodeSelector:\n    disk: ssd\n  containers:\n  - name: c\n    image: other\n"
           "    command:\n    - x\n    resources:\n      limits:\n        memory: \"4096Mi\"\n",
           "the template with its new image, 4096Mi as it was written");
    is_str(told.paths, ".spec.wrongKey", "a key that Kubernetes does not have is told");
    is_str(node_find(doc.roots[0], "spec", "wrongKey", NULL)->text, "1", "the source is unchanged");
    diags_release(&ds);
}

int main(void)
{
    struct arena *a = arena_new();

    test_words(a);
    test_env(a);
    test_new_template(a);
    test_residual(a);
    arena_free(a);
    return tap_done();
}
