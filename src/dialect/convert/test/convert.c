/* convert.c - jobs raised into other dialects: what is written, what is told to be lost. */
#include "dialect/convert/convert.h"

#include <errno.h>
#include <string.h>

#include "base/tap.h"
#include "dialect/registry.h"
#include "doc/yaml.h"

struct converted {
    struct arena *a;
    struct diags ds;
    struct doc doc;
    struct job_spec *spec;
    struct strbuf text;
    struct losses ls;
    struct err e;
    int r;
};

static void read_job(struct converted *c, const char *text)
{
    const struct read_options opts = {0};

    *c = (struct converted){.a = arena_new(), .text = STRBUF_INIT};
    diags_init(&c->ds, c->a);
    yaml_read(c->a, "x.yaml", text, strlen(text), &c->ds, &c->doc);
    dialect_sight(c->a, c->doc.roots[0])
        .dialect->lower(c->a, &opts, &c->doc, c->doc.roots[0], &c->ds, &c->spec);
    if (c->spec)
        c->spec->root_at = c->doc.roots[0];
}

static void convert(struct converted *c, const char *to, const char *text)
{
    read_job(c, text);
    if (!ok(c->spec, "the source is accepted")) {
        tap_diag("%s", c->ds.n ? c->ds.v[0].message : "?");
        exit(tap_done());
    }
    c->r = job_convert(
        c->a,
        &(struct converting){
            .to = convert_target(to), .source = c->spec, .spec = c->spec, .findings = &c->ds},
        &c->text, &c->ls, &c->e);
    if (c->r < 0)
        tap_diag("%s", c->e.text);
}

static void done(struct converted *c)
{
    diags_release(&c->ds);
    strbuf_release(&c->text);
    arena_free(c->a);
}

/* Paths of the losses, sorted as they come. */
static const char *lost(struct converted *c)
{
    const char *text = "";

    for (size_t i = 0; i < c->ls.n; i++)
        text = arena_printf(c->a, "%s%s%s", text, i ? " " : "", c->ls.v[i].path);
    return text;
}

/* --- pod templates -------------------------------------------------------------------------- */

#define WORKER_POD                                                                                 \
    "metadata: {labels: {team: a}}, spec: {nodeSelector: {gpu: a100}, "                            \
    "terminationGracePeriodSeconds: 5, containers: [{name: side, image: s}, "                      \
    "{name: worker, image: i, env: [{name: A, value: \"1\"}, {name: T, valueFrom: "                \
    "{secretKeyRef: {name: s, key: k}}}], resources: {limits: {cpu: 1500m, memory: 4G, "           \
    "nvidia.com/gpu: 2}}, volumeMounts: [{name: d, mountPath: /d, mountPropagation: None}, "       \
    "{name: m, mountPath: /dev/shm}]}], volumes: [{name: d, hostPath: {path: /d, type: "           \
    "Directory}}, {name: m, emptyDir: {medium: Memory, sizeLimit: 1Gi}}]}"

#define T9K                                                                                        \
    "apiVersion: batch.tensorstack.dev/v1beta1\nkind: MPIJob\nmetadata: {name: j, labels: {l: "    \
    "v}}\nspec:\n  mpiConfig: {home: /opt/mpi, mca: {btl: tcp}, extraArgs: [-N, \"2\"], script: "  \
    "[prog, $(A)]}\n  replicaSpecs:\n  - {type: worker, replicas: 3, template: {" WORKER_POD       \
    "}}\n"

static void test_pods(void)
{
    struct converted c;

    convert(&c, "mpijob", T9K);
    is_int(c.r, 0, "T9k's MPIJob as Kubeflow's");
    is_str(lost(&c), "", "nothing is lost");
    has(c.text.buf, "  labels:\n    l: v\n", "the object's labels");
    has(c.text.buf, "          labels:\n            team: a\n", "the pod's labels");
    has(c.text.buf, "gpu: a100\n", "what Muster knows nothing about");
    has(c.text.buf, "- name: side\n", "sidecars");
    has(c.text.buf, "memory: \"4G\"\n", "quantities as they were written");
    has(c.text.buf, "mountPropagation: None\n", "the rest of a mount");
    has(c.text.buf,
        "            command:\n            - /opt/mpi/bin/mpirun\n            - \"-x\"\n"
        "            - A\n            - \"-x\"\n            - T\n            - \"-mca\"\n"
        "            - btl\n            - tcp\n            - \"-N\"\n            - \"2\"\n"
        "            - prog\n            - \"$$(A)\"\n",
        "the launcher's line, with variables handed on and what no kubelet may expand");
    has(c.text.buf, "backoffLimit: 0\n", "a launcher that is not started again");
    ok(!strstr(strstr(c.text.buf, "cpu:") + 1, "cpu:"),
       "a launcher does not have its workers' resources");
    done(&c);

    convert(&c, "muster", T9K);
    is_int(c.r, 0, "and as Muster's own");
    is_str(lost(&c), "", "nothing is lost there either");
    has(c.text.buf, "    template:\n", "the rest of the template is kept");
    has(c.text.buf, "          type: Directory\n", "with what the model does not hold");
    ok(!strstr(strstr(c.text.buf, "template:"), "memory"), "and without what it does");
    done(&c);
}

/* --- plain jobs ----------------------------------------------------------------------------- */

#define PAI(extra, roles)                                                                          \
    "protocolVersion: 2\nname: My_Job\ntype: job\nprerequisites:\n- {protocolVersion: 2, name: "   \
    "image, type: dockerimage, uri: python}\n" extra "taskRoles:\n" roles
#define PAI_ROLE(name, n, command)                                                                 \
    "  " name ": {instances: " n ", dockerImage: image, resourcePerInstance: {cpu: 1, memoryMB: "  \
    "1024, gpu: 0}, commands: [\"" command "\"]}\n"

static void test_plain(void)
{
    struct converted c;

    convert(&c, "pytorchjob", PAI("", PAI_ROLE("train", "3", "echo $PAI_JOB_NAME $(date) $$")));
    is_int(c.r, 0, "one role of OpenPAI as a PyTorchJob");
    has(c.text.buf, "    Worker:\n      replicas: 3\n", "its tasks are workers");
    has(c.text.buf, "name: my-job\n", "its name is one of Kubernetes");
    has(c.text.buf, "$PAI_JOB_NAME $$(date) $$$$", "no kubelet changes its command");
    has(c.text.buf, "sizeLimit: \"512Mi\"", "it has OpenPAI's shared memory");
    is_str(
        lost(&c),
        "name framework retry.by_class openpai roles.train.name roles.train.variables.PAI_JOB_NAME",
        "what is lost");
    done(&c);

    convert(&c, "tfjob", PAI("", PAI_ROLE("a", "1", "x") PAI_ROLE("b", "1", "y")));
    is_int(c.r, -ENOTSUP, "roles that are no replica types are refused");
    is_str(c.ls.code, "E0702", "with its code");
    done(&c);

    convert(&c, "tfjob", PAI("", PAI_ROLE("ps", "1", "x") PAI_ROLE("worker", "2", "y")));
    is_int(c.r, 0, "those that are become them");
    has(c.text.buf, "    PS:\n      replicas: 1\n", "a parameter server");
    has(c.text.buf, "successPolicy: AllWorkers\n", "all workers have to succeed");
    done(&c);

    convert(&c, "pytorchjob", PAI("", PAI_ROLE("master", "2", "x") PAI_ROLE("worker", "2", "y")));
    is_int(c.r, -EINVAL, "what would be refused there is not written");
    has(c.e.text, "replicas", "and it is said why");
    is_int((long long)c.text.len, 0, "nothing is");
    done(&c);

    convert(&c, "mpijob", PAI("", PAI_ROLE("a", "1", "x")));
    is_str(c.ls.code, "E0701", "without a launcher there is no MPIJob");
    done(&c);

    convert(&c, "muster", PAI("extras: {hivedScheduler: {}, mine: 1}\n", PAI_ROLE("a", "1", "x")));
    is_str(lost(&c), ".extras.hivedScheduler", "keys that nobody else knows are told");
    done(&c);
}

/* --- launchers ------------------------------------------------------------------------------ */

#define MPIJOB(launcher)                                                                           \
    "apiVersion: kubeflow.org/v2beta1\nkind: MPIJob\nmetadata: {name: j}\nspec:\n  "               \
    "slotsPerWorker: 2\n  mpiReplicaSpecs:\n    Launcher: {template: {spec: {containers: [{name: " \
    "l, image: i, command: " launcher "}]}}}\n    Worker: {replicas: 2, template: {spec: "         \
    "{containers: [{name: w, image: i}]}}}\n"

static void test_launchers(void)
{
    struct converted c;

    convert(&c, "t9k", MPIJOB("[mpirun, -np, \"4\", --mca, btl, tcp, prog, -v]"));
    is_int(c.r, 0, "a launcher's mpirun line taken apart for T9k");
    has(c.text.buf,
        "    mca:\n      btl: tcp\n    extraArgs:\n    - \"-np\"\n    - \"4\"\n    - \"-N\"\n    - "
        "\"2\"\n    script:\n    - prog\n    - \"-v\"\n",
        "into its parts");
    is_str(lost(&c), "", "nothing is lost");
    done(&c);

    convert(&c, "t9k", MPIJOB("[sh, -c, \"mpirun -np 4 prog 'a b'\"]"));
    is_int(c.r, 0, "a shell's plain text is such a line too");
    has(c.text.buf, "    - \"a b\"\n", "without its quotes");
    is_str(lost(&c), "", "nothing is lost");
    done(&c);

    convert(&c, "t9k", MPIJOB("[sh, -c, \"mpirun -np 4 prog && date\"]"));
    is_str(c.ls.code, "E0703", "a script is not");
    done(&c);

    convert(&c, "pytorchjob", MPIJOB("[mpirun, prog]"));
    is_str(c.ls.code, "E0701", "MPI's ranks are not PyTorch's");
    done(&c);
}

/* --- the same dialect ----------------------------------------------------------------------- */

static void test_own(void)
{
    struct converted c;
    struct job_spec more;
    struct role roles[2];

    read_job(&c, T9K);
    more = *c.spec;
    memcpy(roles, more.roles, sizeof(roles));
    more.roles = roles;
    roles[1].replicas = 8;
    c.r = job_convert(
        c.a,
        &(struct converting){
            .to = convert_target("t9k-mpi"), .source = c.spec, .spec = &more, .findings = &c.ds},
        &c.text, &c.ls, &c.e);
    is_int(c.r, 0, "a change in a job's own dialect");
    has(c.text.buf, "    replicas: 8\n", "is made");
    has(c.text.buf, "cpu: \"1500m\"\n", "and nothing else");
    is_str(lost(&c), "", "nothing is lost");
    done(&c);
}

int main(void)
{
    ok(!convert_target("azureml"), "not everything can be written");
    is_str(convert_target("tfjob")->id, "kubeflow-tf", "a word of --to");
    test_pods();
    test_plain();
    test_launchers();
    test_own();
    return tap_done();
}
