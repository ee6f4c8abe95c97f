/* adjust.c - options that change a job: what becomes of it, what is told, what is refused. */
#include "spec/adjust.h"

#include <errno.h>
#include <string.h>

#include "base/strbuf.h"
#include "base/tap.h"
#include "spec/adjust_parts.h"

static struct arena *a;

/* --- jobs ---------------------------------------------------------------------------------------
 */

static struct role role_of(const char *name, enum role_kind kind, int32_t replicas, int32_t slots,
                           const char *shell)
{
    return (struct role){.name = name,
                         .kind = kind,
                         .replicas = replicas,
                         .slots_kind = slots ? SLOTS_NUMBER : SLOTS_UNSET,
                         .slots = slots ? slots : 1,
                         .shell = shell,
                         .res = RESOURCES_UNSET};
}

static struct job_spec job_of(const struct role *roles, size_t n)
{
    return (struct job_spec){.name = "job", .file = "job.yaml", .roles = roles, .n_roles = n};
}

/* The roles of a job and its changes in one text. */
static const char *adjusted(const struct job_spec *spec, const struct adjustments *adj)
{
    auto_strbuf struct strbuf sb = STRBUF_INIT;
    const struct job_spec *made;
    struct changes changes;
    struct err e;

    if (spec_adjust(a, spec, adj, &made, &changes, &e) < 0)
        return arena_printf(a, "error: %s", e.text);
    for (size_t i = 0; i < made->n_roles; i++) {
        const struct role *r = &made->roles[i];

        strbuf_addf(&sb, "%s%s %dx%d", i ? ", " : "", r->name, r->replicas, r->slots);
        if (r->shell)
            strbuf_addf(&sb, " {%s}", r->shell);
        for (size_t k = 0; r->argv && r->argv[k]; k++)
            strbuf_addf(&sb, "%s%s", k ? "|" : " [", r->argv[k]);
        strbuf_addstr(&sb, r->argv ? "]" : "");
    }
    for (size_t i = 0; i < changes.n; i++)
        strbuf_addf(&sb, "\n%s: %s", severity_name(changes.v[i].severity), changes.v[i].text);
    return arena_strndup(a, sb.buf, sb.len);
}

static const struct adjustments *on_two_cpus(struct adjustments adj)
{
    struct adjustments *made = ARENA_NEW(a, struct adjustments);

    *made = adj;
    made->cpus = adj.cpus ? adj.cpus : 2;
    made->gpus = adj.gpus ? adj.gpus : -1;
    return made;
}

#define LIST(...) ((const char *const[]){__VA_ARGS__, NULL})
#define ADJ(...) on_two_cpus((struct adjustments){__VA_ARGS__})

/* --- arithmetic ---------------------------------------------------------------------------------
 */

static void test_fit_counts(void)
{
    static const struct {
        struct count from[3];
        int target;
        struct count want[3];
    } rows[] = {
        {{{5, 3}}, 2, {{2, 1}}},
        {{{5, 3}}, 4, {{2, 2}}},
        {{{5, 3}}, 6, {{3, 2}}},
        {{{5, 3}}, 8, {{4, 2}}},
        {{{5, 3}}, 12, {{5, 2}}},
        {{{5, 3}}, 15, {{5, 3}}},
        {{{1, 16}}, 4, {{1, 4}}},
        {{{1, 16}}, 1, {{1, 1}}},
        {{{4, 1}}, 2, {{2, 1}}},
        {{{4, 4}}, 8, {{4, 2}}},
        {{{2, 1}, {4, 1}}, 3, {{2, 1}, {2, 1}}},
        {{{2, 1}, {8, 1}}, 6, {{2, 1}, {4, 1}}},
        {{{1, 1}, {15, 1}}, 4, {{1, 1}, {3, 1}}},
        {{{0, 0}, {8, 8}}, 16, {{0, 0}, {4, 4}}},
        {{{8192, 4096}}, 2, {{2, 1}}},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        struct count got[3];

        fit_counts(rows[i].from, 3, rows[i].target, got);
        for (size_t k = 0; k < 3; k++)
            ok(got[k].replicas == rows[i].want[k].replicas && got[k].width == rows[i].want[k].width,
               "row %zu, role %zu: %d x %d", i, k, got[k].replicas, got[k].width);
    }
}

/* For any counts: never above what was there, never above the target unless all is least. */
static void test_fit_property(void)
{
    uint32_t seed = 12345;
    int bad = 0;

    for (int round = 0; round < 20000; round++) {
        struct count from[4], got[4];
        bool least = true;
        int target;

        for (size_t k = 0; k < 4; k++) {
            seed = seed * 1664525 + 1013904223;
            from[k] = (struct count){(int32_t)(seed >> 20) % 20, (int32_t)(seed >> 10 & 15) + 1};
        }
        seed = seed * 1664525 + 1013904223;
        target = (int)(seed >> 24) + 1;
        fit_counts(from, 4, target, got);
        for (size_t k = 0; k < 4; k++) {
            bad += got[k].replicas > from[k].replicas || got[k].width > from[k].width;
            bad += from[k].replicas && (got[k].replicas < 1 || got[k].width < 1);
            bad += from[k].replicas > 1 && got[k].replicas < 2;
            least = least && got[k].replicas <= 2 && (got[k].width == 1 || !got[k].replicas);
        }
        bad += fit_total(got, 4) > target && !least;
    }
    is_int(bad, 0, "20000 random jobs");
}

/* --- MPI ----------------------------------------------------------------------------------------
 */

static void test_mpi(void)
{
    const struct role azure[] = {role_of("launcher", ROLE_LAUNCHER, 1, 1, "mpirun -np 16 -N 4 t"),
                                 role_of("worker", ROLE_HOST, 4, 4, NULL)};
    const struct job_spec spec = job_of(azure, 2);

    is_str(adjusted(&spec, ADJ(.fit = true)),
           "launcher 1x1 {mpirun -np 2 -N 1 t}, worker 2x1\n"
           "note: worker: 2 replicas instead of 4 (--fit)\n"
           "note: worker: 1 slot in each instead of 4 (--fit)\n"
           "note: the command of launcher: -np 2 instead of 16 (--fit)\n"
           "note: the command of launcher: -N 1 instead of 4 (--fit)",
           "--fit: replicas, slots and -np together");
    is_str(adjusted(&spec, ADJ(.fit = true, .cpus = 8)),
           "launcher 1x1 {mpirun -np 8 -N 2 t}, worker 4x2\n"
           "note: worker: 2 slots in each instead of 4 (--fit)\n"
           "note: the command of launcher: -np 8 instead of 16 (--fit)\n"
           "note: the command of launcher: -N 2 instead of 4 (--fit)",
           "as much as fits");
    is_str(adjusted(&spec, ADJ(.fit = true, .gpus = 16)),
           "launcher 1x1 {mpirun -np 16 -N 4 t}, worker 4x4\n"
           "note: --fit: the job fits this machine as it is",
           "--gpus counts instead of processors");
    is_str(adjusted(&spec, ADJ(.scale = LIST("worker=2"))),
           "launcher 1x1 {mpirun -np 8 -N 4 t}, worker 2x4\n"
           "note: worker: 2 replicas instead of 4 (--scale)\n"
           "note: the command of launcher: -np 8 instead of 16 (--scale)",
           "--scale takes -np along");
    is_str(adjusted(&spec, ADJ(.nproc = LIST("worker=1"))),
           "launcher 1x1 {mpirun -np 4 -N 1 t}, worker 4x1\n"
           "note: worker: 1 slot in each instead of 4 (--nproc)\n"
           "note: the command of launcher: -np 4 instead of 16 (--nproc)\n"
           "note: the command of launcher: -N 1 instead of 4 (--nproc)",
           "so does --nproc");
    is_str(adjusted(&spec, ADJ(.scale = LIST("worker=4"))),
           "launcher 1x1 {mpirun -np 16 -N 4 t}, worker 4x4", "the same number: nothing to tell");
    ok(azure[1].replicas == 4 && !strcmp(azure[0].shell, "mpirun -np 16 -N 4 t"),
       "the spec itself is as it was");
}

static void test_elastic(void)
{
    const struct role workers[] = {role_of("worker", ROLE_PLAIN, 4, 1, "torchrun t")};
    struct elastic_spec elastic = {.min_replicas = 3, .max_replicas = 4};
    struct job_spec spec = job_of(workers, 1);

    spec.elastic = &elastic;
    is_str(adjusted(&spec, ADJ(.scale = LIST("worker=2"))),
           "worker 2x1 {torchrun t}\nnote: worker: 2 replicas instead of 4 (--scale)\n"
           "note: elasticPolicy: 2 to 4 nodes instead of 3 to 4",
           "torchrun does not wait for nodes that are left out");
    is_str(adjusted(&spec, ADJ(.scale = LIST("worker=6"))),
           "worker 6x1 {torchrun t}\nnote: worker: 6 replicas instead of 4 (--scale)\n"
           "note: elasticPolicy: 3 to 6 nodes instead of 3 to 4",
           "nor turns away those that are added");
    is_str(adjusted(&spec, ADJ(.scale = LIST("worker=3"))),
           "worker 3x1 {torchrun t}\nnote: worker: 3 replicas instead of 4 (--scale)",
           "within its bounds nothing changes");
}

static void test_unseen(void)
{
    static const struct {
        const char *command, *want;
    } rows[] = {
        {"mpirun -np $N t", "warning: the command of launcher: -np is $N; not changed"},
        {"mpirun t", "warning: the command of launcher has no -np"},
        {"./run.sh", "warning: no mpirun found in the command of launcher"},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        const struct role roles[] = {role_of("launcher", ROLE_LAUNCHER, 1, 1, rows[i].command),
                                     role_of("worker", ROLE_HOST, 4, 4, NULL)};
        const struct job_spec spec = job_of(roles, 2);

        has(adjusted(&spec, ADJ(.fit = true)), rows[i].want, "%s", rows[i].command);
    }

    const struct role roles[] = {role_of("launcher", ROLE_LAUNCHER, 1, 1, "mpirun -np 8 t"),
                                 role_of("worker", ROLE_HOST, 4, 0, NULL)};
    const struct job_spec spec = job_of(roles, 2);

    is_str(adjusted(&spec, ADJ(.fit = true)),
           "launcher 1x1 {mpirun -np 2 t}, worker 2x1\n"
           "note: worker: 2 replicas instead of 4 (--fit)\n"
           "note: the command of launcher: -np 2 instead of 8 (--fit)",
           "slots that nobody stated follow -np");
}

static void test_composed(void)
{
    const struct mpi_spec mpi = {.extra_args = LIST("-N", "3", "--max-restarts", "100"),
                                 .program = LIST("./walk", "3")};
    const struct role roles[] = {role_of("launcher", ROLE_LAUNCHER, 1, 1, NULL),
                                 role_of("worker", ROLE_HOST, 5, 3, NULL)};
    struct job_spec spec = job_of(roles, 2);
    const struct job_spec *made;
    struct changes changes;
    struct err e;

    spec.mpi = &mpi;
    is_int(spec_adjust(a, &spec, ADJ(.fit = true, .cpus = 4), &made, &changes, &e), 0,
           "a composed line");
    is_str(made->mpi->extra_args[1], "2", "its -N follows");
    is_str(made->mpi->extra_args[3], "100", "nothing else does");
    is_str(made->mpi->program[1], "3", "nor what the program is given");
    is_str(mpi.extra_args[1], "3", "the spec itself is as it was");
    is_int((long long)changes.n, 3, "three sentences");
}

/* --- others -------------------------------------------------------------------------------------
 */

static void test_torch(void)
{
    struct role roles[] = {role_of(
        "worker", ROLE_PLAIN, 4, 1,
        "python -m torch.distributed.launch --nproc_per_node=4 --nnodes 4 t.py --nnodes 4")};
    const struct job_spec spec = job_of(roles, 1);

    roles[0].res.gpu = 4;
    is_str(adjusted(&spec, ADJ(.fit = true, .cpus = 4)),
           "worker 2x1 {python -m torch.distributed.launch --nproc_per_node=2 --nnodes 2 t.py "
           "--nnodes 4}\n"
           "note: worker: 2 replicas instead of 4 (--fit)\n"
           "note: worker: 2 GPUs instead of 4\n"
           "note: the command of worker: --nproc_per_node 2 instead of 4 (--fit)\n"
           "note: the command of worker: --nnodes 2 instead of 4 (--fit)",
           "torch: what the command starts is what shrinks");
    has(adjusted(&spec, ADJ(.nproc = LIST("worker=1"))), "--nproc_per_node=1 --nnodes 4",
        "--nproc changes the number in the command");

    const struct role plain[] = {role_of("worker", ROLE_PLAIN, 4, 1, "python t.py")};
    const struct job_spec other = job_of(plain, 1);

    is_str(adjusted(&other, ADJ(.nproc = LIST("worker=2"))),
           "worker 4x2 {python t.py}\nnote: worker: 2 processes in each instead of 1 (--nproc)",
           "0.25: --nproc overrides one process per replica");
}

static void test_tensorflow(void)
{
    struct role roles[] = {role_of("parameter_server", ROLE_PLAIN, 2, 1, "t"),
                           role_of("worker", ROLE_PLAIN, 8, 1, "t")};
    const struct job_spec spec = job_of(roles, 2);

    roles[1].min_succeeded = 8;
    is_str(adjusted(&spec, ADJ(.fit = true, .cpus = 6)),
           "parameter_server 2x1 {t}, worker 4x1 {t}\n"
           "note: worker: 4 replicas instead of 8 (--fit)\n"
           "note: worker: a minimum of succeeded replicas of 4 instead of 8",
           "roles shrink together, completion counts with them");
    has(adjusted(&spec, ADJ(.fit = true)), "--fit: 4 processes remain on 2 CPUs",
        "what cannot be smaller is told");
}

static void test_openpai(void)
{
    const struct role roles[] = {
        role_of("master", ROLE_PLAIN, 1, 1, "mpirun -np 16 t"),
        role_of("worker", ROLE_PLAIN, 3, 1, "sleep infinity"),
    };
    const struct job_spec spec = job_of(roles, 2);

    has(adjusted(&spec, ADJ(.fit = true, .cpus = 4)), "master 1x1 {mpirun -np 4 t}, worker 3x1",
        "an mpirun without workers of its own");
}

static void test_argv(void)
{
    struct role roles[] = {role_of("launcher", ROLE_LAUNCHER, 1, 1, NULL),
                           role_of("worker", ROLE_HOST, 4, 4, NULL)};
    const struct job_spec spec = job_of(roles, 2);

    roles[0].argv = LIST("mpirun", "-np", "16", "t", "-np", "16");
    has(adjusted(&spec, ADJ(.fit = true)), "[mpirun|-np|2|t|-np|16]", "an argument list");
    roles[0].argv = LIST("/bin/bash", "-ec", "mpirun -np 16 'a b'");
    has(adjusted(&spec, ADJ(.fit = true)), "[/bin/bash|-ec|mpirun -np 2 'a b']", "a shell in one");
}

static void test_secret(void)
{
    struct role roles[] = {role_of("launcher", ROLE_LAUNCHER, 1, 1, "K=*** mpirun -np 16 t"),
                           role_of("worker", ROLE_HOST, 4, 4, NULL)};
    struct job_spec spec = job_of(roles, 2);
    const struct job_spec *made;
    struct changes changes;
    struct err e;

    roles[0].shell_secret = "K=s3cret mpirun -np 16 t";
    is_int(spec_adjust(a, &spec, ADJ(.fit = true), &made, &changes, &e), 0, "a text with a secret");
    is_str(made->roles[0].shell_secret, "K=s3cret mpirun -np 2 t", "what runs is changed too");
    is_int((long long)changes.n, 3, "and told once");
    for (size_t i = 0; i < changes.n; i++)
        ok(!strstr(changes.v[i].text, "s3cret"), "without it");
}

/* --- commands and paths -------------------------------------------------------------------------
 */

static void test_entrypoint(void)
{
    struct role roles[] = {role_of("launcher", ROLE_LAUNCHER, 1, 1, NULL),
                           role_of("worker", ROLE_HOST, 2, 1, NULL),
                           role_of("ps", ROLE_PLAIN, 1, 1, "serve")};
    struct job_spec spec = job_of(roles, 3);
    const struct mpi_spec mpi = {.extra_args = LIST(NULL), .program = LIST("x")};

    ok(spec_lacks_command(&spec, &spec.roles[0]), "2.4: a role without a command");
    is_str(adjusted(&spec, ADJ(.entrypoint = LIST("launcher=mpirun x=1"))),
           "launcher 1x1 {mpirun x=1}, worker 2x1, ps 1x1 {serve}\n"
           "note: launcher: command set by --entrypoint",
           "2.4: --entrypoint ROLE=CMD");
    has(adjusted(&spec, ADJ(.entrypoint = LIST("A=1 mpirun x"))), "launcher 1x1 {A=1 mpirun x}",
        "CMD for every role that lacks one");
    has(adjusted(&spec, ADJ(.entrypoint = LIST("ps=serve --new"))),
        "ps 1x1 {serve --new}\nnote: ps: command overridden", "another one");
    is_str(adjusted(&spec, ADJ(.entrypoint = LIST("worker=x"))),
           "error: --entrypoint: a worker runs no command; it only hosts ranks of the launcher",
           "never an MPI worker's");
    is_str(adjusted(&spec, ADJ(.entrypoint = LIST("luancher=x"))),
           "error: --entrypoint: role \"luancher\" not found; did you mean \"launcher\"?",
           "a slip in the role");
    is_str(adjusted(&spec, ADJ(.entrypoint = LIST("ps="))),
           "error: --entrypoint: the command of ps is empty", "nothing");
    is_str(adjusted(&spec, ADJ(.entrypoint = LIST(""))),
           "error: --entrypoint: the command is empty", "nothing at all");
    spec.mpi = &mpi;
    ok(!spec_lacks_command(&spec, &spec.roles[0]), "a composed line is a command");
    has(adjusted(&spec, ADJ(.entrypoint = LIST("launcher=x"))), "is generated from the file",
        "which is not replaced");
    is_str(adjusted(&spec, ADJ(.entrypoint = LIST("x"))),
           "error: --entrypoint: every role has a command; use ROLE=CMD to override one",
           "not needed");
}

static void test_image(void)
{
    struct role roles[] = {role_of("master", ROLE_PLAIN, 1, 1, "x"),
                           role_of("worker", ROLE_PLAIN, 1, 1, "x")};
    const struct job_spec spec = job_of(roles, 2);

    roles[0].image = "azureml:torch:1";
    has(adjusted(&spec, ADJ(.image = LIST("r/t:2"))),
        "\nnote: master: image r/t:2 instead of azureml:torch:1 (--image)"
        "\nnote: worker: image r/t:2 (--image)",
        "--image for roles without one");
    roles[0].image = roles[1].image = "i";
    has(adjusted(&spec, ADJ(.image = LIST("worker=j"))),
        "\nnote: worker: image j instead of i (--image)", "for one role");
    has(adjusted(&spec, ADJ(.image = LIST("j"))), "error: --image: every role has an image",
        "not needed");
    has(adjusted(&spec, ADJ(.image = LIST("wroker=j"))), "did you mean \"worker\"",
        "a slip in the role");
    has(adjusted(&spec, ADJ(.image = LIST("worker="))),
        "error: --image: \"\" is not a valid image name", "nothing");
}

static void test_map(void)
{
    const struct env_entry env[] = {{.name = "DATA", .value = "/mnt/data"},
                                    {.name = "OTHER", .value = "/mnt/database"}};
    struct role roles[] = {
        role_of("worker", ROLE_PLAIN, 1, 1,
                "cd /mnt/data/a && t --in=/mnt/data '/mnt/database' $X/mnt/data")};
    const struct job_spec spec = job_of(roles, 1);
    const struct job_spec *made;
    struct changes changes;
    struct err e;

    roles[0].workdir = "/mnt/data/code";
    roles[0].env = env;
    roles[0].n_env = 2;
    is_int(spec_adjust(a, &spec, ADJ(.map = LIST("/mnt/data/=/h/my d", "/mnt/data/a=/x")), &made,
                       &changes, &e),
           0, "--map");
    is_str(made->roles[0].shell, "cd /x && t '--in=/h/my d' '/mnt/database' $X/mnt/data",
           "words of a command, the longest path first");
    is_str(made->roles[0].workdir, "/h/my d/code", "the working directory");
    is_str(made->roles[0].env[0].value, "/h/my d", "a variable");
    is_str(made->roles[0].env[1].value, "/mnt/database", "not one that only begins like it");
    is_int((long long)changes.n, 3, "each is told");
    has(changes.v[1].text, "the command of worker: 2 paths replaced", "with its number");
    has(adjusted(&spec, ADJ(.map = LIST("/nowhere=/x"))), "warning: --map: the path does not occur",
        "a path that is not there");
    has(adjusted(&spec, ADJ(.map = LIST("/=/x"))), "error: --map /=/x: / cannot be mapped",
        "the root");
    has(adjusted(&spec, ADJ(.map = LIST("a=/x"))), "with absolute paths", "a relative path");
}

/* Azure ML: inputs that are elsewhere, tasks on nodes, the command of a job that mpirun runs. */
static void test_azureml(void)
{
    static const struct job_value values[] = {
        {.name = "far", .text = "azureml://d/p=q", .kind = VALUE_INPUT, .remote = true},
        {.name = "lit", .text = "/mnt/x", .kind = VALUE_LITERAL},
    };
    static const struct task tasks[] = {{"worker", 6, false}, {"ps", 2, true}};
    static const struct port_request port = {.label = "TF_CONFIG", .count = 4};
    static const char *const program[] = {"bash", "-c", "t ${{inputs.far}}", NULL};
    static const char *const none[] = {NULL};
    static const struct mpi_spec mpi = {.extra_args = none, .program = program};
    struct role roles[] = {role_of("node", ROLE_PLAIN, 2, 4, "t ${{inputs.far}}"),
                           role_of("launcher", ROLE_LAUNCHER, 1, 1, NULL)};
    struct job_spec spec = job_of(roles, 1);
    const struct job_spec *made = NULL;
    struct changes changes;
    struct err e;

    spec.values = values;
    spec.n_values = 2;
    is_int(
        spec_adjust(a, &spec, ADJ(.map = LIST("azureml://d=/h", "/mnt=/m")), &made, &changes, &e),
        0, "--map of an address");
    is_str(made->values[0].here, "/h/p=q", "what is below it");
    ok(!made->values[1].here, "a literal is no path");
    has(adjusted(&spec, ADJ(.map = LIST("azureml://d/p=q=/h"))), "the input far is /h",
        "an address with a '='");
    ok(spec_names_value(&spec, &values[0]) && !spec_names_value(&spec, &values[1]),
       "what a command names");

    roles[0].tasks = tasks;
    roles[0].n_tasks = 2;
    roles[0].ports = &port;
    roles[0].n_ports = 1;
    is_int(spec_adjust(a, &spec, ADJ(.scale = LIST("node=3")), &made, &changes, &e), 0, "--scale");
    is_int(made->roles[0].tasks[0].count, 6, "the tasks stay");
    is_int(made->roles[0].slots, 3, "and are spread anew");
    is_int(made->roles[0].ports[0].count, 3, "with a port for each");
    is_int(spec_adjust(a, &spec, ADJ(.fit = true, .cpus = 4, .gpus = -1), &made, &changes, &e), 0,
           "--fit");
    is_int(made->roles[0].tasks[0].count + made->roles[0].tasks[1].count, 4, "fewer tasks");
    has(adjusted(&spec, ADJ(.nproc = LIST("node=2"))),
        "node: 3 worker tasks instead of 6 (--nproc)", "--nproc");

    roles[0] = role_of("node", ROLE_HOST, 2, 4, NULL);
    roles[1].implied = true;
    spec.n_roles = 2;
    spec.mpi = &mpi;
    ok(spec_names_value(&spec, &values[0]), "what the ranks' command names");
    is_int(spec_adjust(a, &spec, ADJ(.entrypoint = LIST("node=hostname")), &made, &changes, &e), 0,
           "--entrypoint of what mpirun runs");
    is_str(made->mpi->program[2], "hostname", "replaces it");
}

static void test_refused(void)
{
    static const struct {
        const char *scale, *message;
    } rows[] = {
        {"worker", "error: --scale must be ROLE=N, not \"worker\""},
        {"=3", "error: --scale must be ROLE=N, not \"=3\""},
        {"wroker=3", "error: --scale: role \"wroker\" not found; did you mean \"worker\"?"},
        {"zzz=3", "error: --scale: role \"zzz\" not found; roles: launcher, worker"},
        {"worker=0", "error: --scale worker=0: \"0\" is not a number from 1 to 8192"},
        {"worker=-1", "\"-1\" is not a number"},
        {"worker=many", "\"many\" is not a number"},
        {"worker=99999", "is not a number from 1 to 8192"},
        {"launcher=2", "a launcher is always a single process"},
    };
    const struct role roles[] = {role_of("launcher", ROLE_LAUNCHER, 1, 1, "mpirun t"),
                                 role_of("worker", ROLE_HOST, 4, 4, NULL)};
    const struct job_spec spec = job_of(roles, 2);

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
        has(adjusted(&spec, ADJ(.scale = LIST(rows[i].scale))), rows[i].message, "--scale %s",
            rows[i].scale);
    has(adjusted(&spec, ADJ(.nproc = LIST("worker=9999"))), "from 1 to 4096", "--nproc too");
}

static void test_debug(void)
{
    const struct role roles[] = {role_of("launcher", ROLE_LAUNCHER, 1, 1, "mpirun t"),
                                 role_of("worker", ROLE_HOST, 4, 4, NULL)};
    const struct job_spec spec = job_of(roles, 2);
    const struct job_spec *made;
    struct changes changes;
    struct err e;

    is_int(spec_adjust(a, &spec, ADJ(.debug = LIST("worker")), &made, &changes, &e), 0,
           "--debug=ROLE");
    ok(spec_debugs(made, &made->roles[1]) && !spec_debugs(made, &made->roles[0]), "that role");
    is_int(spec_adjust(a, &spec, ADJ(.debug = LIST("worker", "")), &made, &changes, &e), 0,
           "--debug");
    ok(spec_debugs(made, &made->roles[1]) && spec_debugs(made, &made->roles[0]), "every role");
    ok(!spec_debugs(&spec, &spec.roles[0]), "without it, none");
    has(adjusted(&spec, ADJ(.debug = LIST("wroker"))), "did you mean \"worker\"", "4.23: a slip");
}

int main(void)
{
    a = arena_new();
    test_fit_counts();
    test_fit_property();
    test_mpi();
    test_elastic();
    test_unseen();
    test_composed();
    test_torch();
    test_tensorflow();
    test_openpai();
    test_argv();
    test_secret();
    test_entrypoint();
    test_image();
    test_map();
    test_azureml();
    test_refused();
    test_debug();
    arena_free(a);
    return tap_done();
}
