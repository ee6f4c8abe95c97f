/* wants.c - the objects of served jobs, compared with what upstream's operators make of them:
 * t/operator/NAME.yaml is the job, NAME.objects what is posted. MUSTER_GOLDEN=1 writes them.
 */
#include "operator/wants.h"

#include <stdlib.h>

#include "doc/yaml_write.h"
#include "operator/test/objects.h"

static const struct operator_options plain = {.cluster_domain = "", .gang_scheduler = ""};
static const struct operator_options volcano = {.cluster_domain = "", .gang_scheduler = "volcano"};
static const struct operator_options plugins = {.cluster_domain = "cluster.local",
                                                .gang_scheduler = "scheduler-plugins-scheduler"};

static const bool running[16] = {[2] = true, [1] = true};
static const struct want_state state = {.start = {.attempt = 1, .instance = 2},
                                        .running = running,
                                        .private_key = "private\n",
                                        .public_key = "public\n",
                                        .agent = "cHJvZ3JhbQ==",
                                        .agent_key = "a2V5",
                                        .recorded = true};

/* --- whole jobs ------------------------------------------------------------------------------- */

static void write_objects(struct arena *a, const struct served *s, const struct want_state *st,
                          struct strbuf *out)
{
    const struct want *v;
    size_t n = wants_list(a, s, &v);

    strbuf_addf(out, "# %s\n", wants_selector(a, s));
    for (size_t i = 0; i < n; i++) {
        strbuf_addf(out, "--- # %s/%s, replica %d\n", want_collection(a, v[i].kind, s->namespace_),
                    v[i].name, v[i].replica);
        yaml_write(out, want_object(a, s, &v[i], st));
    }
}

static void compare(const char *path, const struct strbuf *got, const char *name)
{
    auto_strbuf struct strbuf want = STRBUF_INIT;
    struct err e = {0};

    if (getenv("MUSTER_GOLDEN"))
        io_write_atomic(AT_FDCWD, path, got->buf, got->len, &e);
    io_read_file(AT_FDCWD, path, LIMIT_FILE_BYTES, &want, &e);
    is_str(got->buf, want.buf ? want.buf : e.text, "%s: its objects", name);
}

static void test_goldens(struct arena *a)
{
    static const struct {
        const char *name;
        const struct operator_options *options;
        bool suspended;
        const char *as; /* of the golden; NULL: its own */
    } jobs[] = {
        {"mpi-openmpi", &plain, false, NULL},
        {"mpi-intel", &plugins, false, NULL},
        {"mpi-mpich", &volcano, true, NULL},
        {"pytorch-master", &plain, false, NULL},
        {"pytorch-elastic", &plugins, false, NULL},
        {"tf-chief", &volcano, false, NULL},
        {"tf-single", &plain, false, NULL},
        {"pytorch-nproc", &plain, false, NULL},
        {"tf-dynamic", &plugins, false, NULL},
        {"tensorstack-seed", &plain, false, NULL},
        {"tensorstack-new", &plain, false, NULL},
        {"mpi-v1", &volcano, false, NULL},
        {"mpi-v1alpha2", &plain, true, NULL},
        {"mpi-v1alpha1", &plain, false, NULL},
        {"gang-mpi", &volcano, false, NULL},
        {"gang-mpi", &plugins, false, "gang-mpi-plugins"},
        {"gang-pytorch", &volcano, false, NULL},
        {"gang-pytorch", &plugins, false, "gang-pytorch-plugins"},
    };

    for (size_t i = 0; i < ARRAY_SIZE(jobs); i++) {
        auto_strbuf struct strbuf got = STRBUF_INIT;
        struct want_state st = state;
        struct served s;

        st.suspended = jobs[i].suspended;
        serve(a, jobs[i].options, object_in(a, arena_printf(a, "t/operator/%s.yaml", jobs[i].name)),
              &s);
        if (!ok(s.plan != NULL, "%s has a plan", jobs[i].name))
            continue;
        write_objects(a, &s, &st, &got);
        compare(arena_printf(a, "t/operator/%s.objects", jobs[i].as ? jobs[i].as : jobs[i].name),
                &got, jobs[i].name);
    }
}

/* --- parts ------------------------------------------------------------------------------------ */

static const struct want *find(const struct want *v, size_t n, const char *name)
{
    for (size_t i = 0; i < n; i++)
        if (strcmp(v[i].name, name) == 0)
            return &v[i];
    return NULL;
}

static const char *words_of(struct arena *a, const struct node *list)
{
    auto_strbuf struct strbuf sb = STRBUF_INIT;

    for (size_t i = 0; list && i < list->n; i++)
        strbuf_addf(&sb, "%s%s", i ? " " : "", list->items[i]->text);
    return arena_strndup(a, sb.buf ? sb.buf : "", sb.len);
}

/* T9k's modes: what runs instead of mpirun and sshd. */
static void test_modes(struct arena *a)
{
    static const struct {
        const char *pod, *command;
        bool debug, resumed, init;
    } rows[] = {
        {"new-launcher", "sleep inf", true, false, false},
        {"new-worker-0", "sleep inf", true, false, false},
        {"new-launcher", "mpirun2", false, true, false},
        {"new-worker-0", "/usr/sbin/sshd -De", false, true, true},
        {"new-worker-0", "/usr/sbin/sshd -De", false, false, true},
    };
    const struct want *v;
    struct served s;
    size_t n;

    serve(a, &plain, object_in(a, "t/operator/tensorstack-new.yaml"), &s);
    n = wants_list(a, &s, &v);
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        struct want_state st = {.start = {1, 1, rows[i].resumed, rows[i].debug}};
        const struct node *pod = want_object(a, &s, find(v, n, rows[i].pod), &st);

        is_str(
            words_of(a, node_get(node_find(pod, "spec", "containers", NULL)->items[0], "command")),
            rows[i].command, "%s in its mode %zu", rows[i].pod, i);
        ok(!!node_find(pod, "spec", "initContainers", NULL) == rows[i].init, "its init containers");
    }
}

/* Workers of another operator have nothing that ranks could be wrapped with. */
static void test_not_recorded(struct arena *a)
{
    static const char *const names[] = {"mpi-openmpi", "mpi-v1", "tensorstack-new"};

    for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
        struct want_state st = state;
        const struct node *launcher, *with;
        const struct want *v;
        struct served s;
        size_t n;

        serve(a, &plain, object_in(a, arena_printf(a, "t/operator/%s.yaml", names[i])), &s);
        n = wants_list(a, &s, &v);
        with = want_object(a, &s, &v[n - 1], &st);
        st.recorded = false;
        launcher = want_object(a, &s, &v[n - 1], &st);
        with = v[n - 1].kind == WANT_JOB ? node_find(with, "spec", "template", NULL) : with;
        launcher =
            v[n - 1].kind == WANT_JOB ? node_find(launcher, "spec", "template", NULL) : launcher;
        ok(strstr(words_of(a, node_get(node_find(with, "spec", "containers", NULL)->items[0],
                                       "command")),
                  "muster-shim launch"),
           "%s: the launcher runs below the recorder", names[i]);
        ok(!strstr(words_of(a, node_get(node_find(launcher, "spec", "containers", NULL)->items[0],
                                        "command")),
                   "muster-shim"),
           "%s: not if a worker has it not", names[i]);
    }
}

/* Nothing of the job itself may change: it is shared by all that is made of it. */
static void test_unchanged(struct arena *a)
{
    auto_strbuf struct strbuf before = STRBUF_INIT, after = STRBUF_INIT, out = STRBUF_INIT;
    const struct node *object = object_in(a, "t/operator/pytorch-master.yaml");
    struct served s;

    yaml_write(&before, object);
    serve(a, &plain, object, &s);
    write_objects(a, &s, &state, &out);
    write_objects(a, &s, &state, &out);
    yaml_write(&after, object);
    is_str(after.buf, before.buf, "the object is as it was");
}

static void test_many(struct arena *a)
{
    auto_arena struct arena *names = arena_new();
    const struct want *v;
    struct served s;
    size_t n;

    serve(a, &plain,
          object_of(a, "apiVersion: kubeflow.org/v2beta1\nkind: MPIJob\n"
                       "metadata: {name: pi, namespace: n, uid: u}\nspec:\n  mpiReplicaSpecs:\n"
                       "    Launcher: {template: {spec: {containers: [{name: l, image: i}]}}}\n"
                       "    Worker: {replicas: 1000, template: {spec: {containers: [{name: w, "
                       "image: i}]}}}\n"),
          &s);
    n = wants_list(names, &s, &v);
    is_int(n, 1004, "1,000 workers: names");
    is_str(v[0].name, "pi", "the Service first");
    is_str(v[1002].name, "pi-worker-999", "the last worker");
    is_int(v[1002].replica, 1000, "is replica 1000 of the plan");
    ok(v[1003].kind == WANT_JOB && v[1003].replica == 0, "the launcher last");
}

int main(void)
{
    auto_arena struct arena *a = arena_new();

    test_goldens(a);
    test_modes(a);
    test_not_recorded(a);
    test_unchanged(a);
    test_many(a);
    return tap_done();
}
