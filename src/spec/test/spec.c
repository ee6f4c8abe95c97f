/* spec.c - what holds for every job; the job of `run -n`. */
#include "spec/spec.h"

#include <string.h>

#include "base/limits.h"
#include "base/tap.h"

static struct node at(unsigned int line)
{
    return (struct node){.type = NODE_STRING, .text = "", .pos = {line, 1}};
}

/* The one finding about a job: its code, or "none". */
static const char *finding(struct arena *a, const struct job_spec *spec, unsigned int *ret_line,
                           const char **ret_hint)
{
    const char *code = "none";
    struct diags ds;

    diags_init(&ds, a);
    spec_validate(spec, &ds);
    *ret_line = 0;
    *ret_hint = NULL;
    if (ds.n) {
        code = ds.v[0].code;
        *ret_line = ds.v[0].pos.line;
        *ret_hint = ds.v[0].hint;
    }
    if (ds.n > 1)
        code = "several";
    diags_release(&ds);
    return code;
}

static void test_names(struct arena *a)
{
    static const char x52[] = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa";
    static const struct {
        const char *name, *code, *hint;
        int replicas;
    } rows[] = {
        {"mpi-example", "none", NULL, 5},
        {"a", "none", NULL, 1},
        {"0a", "none", NULL, 1},
        {"MPI_Example", "E0201", "write \"mpi-example\"", 1},
        {"a.b", "E0201", "write \"a-b\"", 1},
        {"-a", "E0201", "at both ends", 1},
        {"", "E0201", "at both ends", 1},
        {"${NAME}", "E0201", "template", 1},
        {x52, "none", NULL, 1000},
        {x52, "E0202", "1 character shorter", 1001},
    };
    struct node name_at = at(4);

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        struct role role = {.name = "worker",
                            .kind = ROLE_HOST,
                            .replicas = rows[i].replicas,
                            .slots = 1,
                            .res = RESOURCES_UNSET};
        struct job_spec spec = {.platform = platform_of(PLATFORM_T9K),
                                .name = rows[i].name,
                                .name_at = &name_at,
                                .roles = &role,
                                .n_roles = 1};
        unsigned int line;
        const char *hint;

        is_str(finding(a, &spec, &line, &hint), rows[i].code, "name \"%s\"", rows[i].name);
        if (rows[i].hint) {
            is_int(line, 4, "at the name");
            has(hint, rows[i].hint, "with a hint");
        }
    }
}

static void test_counts(struct arena *a)
{
    static const struct {
        int replicas, slots;
        const char *code;
    } rows[] = {
        {LIMIT_REPLICAS, 1, "none"},       {LIMIT_REPLICAS + 1, 1, "E0203"},
        {INT32_MAX, LIMIT_SLOTS, "E0203"}, {1, LIMIT_SLOTS, "none"},
        {1, LIMIT_SLOTS + 1, "E0203"},     {16, LIMIT_SLOTS, "none"},
        {17, LIMIT_SLOTS, "E0203"},
    };
    struct node replicas_at = at(7);

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        struct role role = {.name = "w",
                            .replicas = rows[i].replicas,
                            .replicas_at = &replicas_at,
                            .slots_kind = SLOTS_NUMBER,
                            .slots = rows[i].slots,
                            .res = RESOURCES_UNSET};
        struct job_spec spec = {.name = "j", .roles = &role, .n_roles = 1};
        unsigned int line;
        const char *hint;

        is_str(finding(a, &spec, &line, &hint), rows[i].code, "%d x %d", rows[i].replicas,
               rows[i].slots);
        if (strcmp(rows[i].code, "none") != 0)
            is_int(line, 7, "at the replicas");
    }
}

static void test_resources(struct arena *a)
{
    static const struct {
        int64_t cpu_limit, cpu_request, memory_limit, memory_request, shm;
        const char *code;
        unsigned int line;
    } rows[] = {
        {-1, -1, -1, -1, -1, "none", 0},   {100, 50, 4096, 2048, 4096, "none", 0},
        {-1, 50, -1, 2048, 99, "none", 0}, {100, 101, -1, -1, -1, "E0205", 1},
        {-1, -1, 10, 11, -1, "E0205", 2},  {-1, -1, 10, -1, 11, "E0206", 3},
        {0, 1, -1, -1, -1, "E0205", 1},
    };
    struct node cpu = at(1), memory = at(2), shm = at(3);

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        struct role role = {
            .name = "w",
            .replicas = 1,
            .slots = 1,
            .res = {.cpu_limit_milli = rows[i].cpu_limit,
                    .cpu_request_milli = rows[i].cpu_request,
                    .memory_limit = rows[i].memory_limit,
                    .memory_request = rows[i].memory_request,
                    .gpu = QUANTITY_UNSET,
                    .shm = rows[i].shm,
                    .cpu_limit_at = &cpu,
                    .memory_limit_at = &memory,
                    .shm_at = &shm},
        };
        struct job_spec spec = {.name = "j", .roles = &role, .n_roles = 1};
        unsigned int line;
        const char *hint;

        is_str(finding(a, &spec, &line, &hint), rows[i].code, "resources %zu", i);
        is_int(line, rows[i].line, "at the right one");
    }
}

static void test_ports(struct arena *a)
{
    struct node port_at = at(9);
    struct port_request port = {.label = "x", .count = 1024, .at = &port_at};
    struct role role = {
        .name = "worker", .slots = 1, .res = RESOURCES_UNSET, .ports = &port, .n_ports = 1};
    struct job_spec spec = {.name = "j", .roles = &role, .n_roles = 1};
    unsigned int line;
    const char *hint;

    role.replicas = LIMIT_PORTS / 1024;
    is_str(finding(a, &spec, &line, &hint), "none", "as many ports as there may be");
    role.replicas++;
    is_str(finding(a, &spec, &line, &hint), "E0203", "one replica's too many");
    is_int((int)line, 9, "told at the port");
    port.first_only = true;
    is_str(finding(a, &spec, &line, &hint), "none", "only one replica has them");
    is_int((int)spec_n_ports(&spec), 1024, "counted once");
}

/* Fixed numbers that one replica is promised under two labels. */
static void test_fixed_ports(struct arena *a)
{
    static const struct {
        int first, n_first, second, n_second;
        const char *code;
    } rows[] = {
        {80, 1, 81, 1, "none"},   {80, 2, 81, 1, "W0111"},   {81, 1, 80, 2, "W0111"},
        {80, 1, 80, 1, "W0111"},  {0, 100, 0, 100, "none"},  {0, 100, 50, 1, "none"},
        {80, 10, 90, 10, "none"}, {80, 10, 89, 10, "W0111"}, {80, 30, 85, 2, "W0111"},
    };
    struct node first = at(3), second = at(4);

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        const struct port_request ports[] = {
            {.label = "a", .count = rows[i].n_first, .begin_at = rows[i].first, .at = &first},
            {.label = "b", .count = rows[i].n_second, .begin_at = rows[i].second, .at = &second},
        };
        struct role role = {.name = "w",
                            .replicas = 1,
                            .slots = 1,
                            .res = RESOURCES_UNSET,
                            .ports = ports,
                            .n_ports = ARRAY_SIZE(ports)};
        struct job_spec spec = {.name = "j", .roles = &role, .n_roles = 1};
        unsigned int line;
        const char *hint;

        is_str(finding(a, &spec, &line, &hint), rows[i].code, "%d from %d, %d from %d",
               rows[i].n_first, rows[i].first, rows[i].n_second, rows[i].second);
        is_int(line, strcmp(rows[i].code, "none") == 0 ? 0 : 4, "at the second");
    }
}

static void test_gpus(struct arena *a)
{
    static const struct {
        int64_t gpus;
        int slots;
        enum slots_kind kind;
        bool own;
        const char *code;
    } rows[] = {
        {4, 4, SLOTS_NUMBER, false, "none"},  {4, 2, SLOTS_NUMBER, false, "none"},
        {4, 1, SLOTS_NUMBER, false, "none"},  {4, 8, SLOTS_NUMBER, false, "W0112"},
        {4, 3, SLOTS_NUMBER, false, "W0112"}, {4, 3, SLOTS_NUMBER, true, "W0112"},
        {4, 8, SLOTS_NUMBER, true, "none"},   {4, 1, SLOTS_AUTO, true, "none"},
        {0, 8, SLOTS_NUMBER, false, "none"},  {QUANTITY_UNSET, 8, SLOTS_NUMBER, false, "none"},
    };
    struct node gpu_at = at(6);

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        struct role role = {.name = "w",
                            .replicas = 1,
                            .slots_kind = rows[i].kind,
                            .slots = rows[i].slots,
                            .own_slots = rows[i].own,
                            .res = RESOURCES_UNSET};
        struct job_spec spec = {.name = "j", .roles = &role, .n_roles = 1};
        unsigned int line;
        const char *hint;

        role.res.gpu = rows[i].gpus;
        role.res.gpu_at = &gpu_at;
        is_str(finding(a, &spec, &line, &hint), rows[i].code, "%d processes, %lld GPUs",
               rows[i].slots, (long long)rows[i].gpus);
        is_int(line, strcmp(rows[i].code, "none") == 0 ? 0 : 6, "at the GPUs");
    }
}

/* Two roles that end the job after so many failures. */
static void test_completion(struct arena *a)
{
    static const struct {
        int first, second;
        enum role_kind kind;
        const char *code;
    } rows[] = {
        {0, 0, ROLE_PLAIN, "none"},    {-1, 1, ROLE_PLAIN, "none"}, {1, -1, ROLE_PLAIN, "none"},
        {-1, -1, ROLE_PLAIN, "W0114"}, {-1, 0, ROLE_HOST, "W0114"},
    };
    struct node failed_at = at(5);

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        struct role roles[] = {
            {.name = "a", .min_failed = rows[i].first, .min_failed_at = &failed_at},
            {.name = "b", .min_failed = rows[i].second, .kind = rows[i].kind},
        };
        struct job_spec spec = {.name = "j", .roles = roles, .n_roles = 2};
        unsigned int line;
        const char *hint;

        for (size_t k = 0; k < 2; k++) {
            roles[k].replicas = roles[k].slots = 1;
            roles[k].res = RESOURCES_UNSET;
        }
        is_str(finding(a, &spec, &line, &hint), rows[i].code, "failures %d and %d", rows[i].first,
               rows[i].second);
        is_int(line, strcmp(rows[i].code, "none") == 0 ? 0 : 5, "at the first");
    }
}

/* A StatefulSet's pods carry a label that is longer than their names. */
static void test_set_names(struct arena *a)
{
    static const char x45[] = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa";
    static const struct {
        enum platform_kind platform;
        const char *prefix, *code;
    } rows[] = {
        {PLATFORM_MPIJOB_V1ALPHA1, "", "none"}, {PLATFORM_MPIJOB_V1ALPHA1, "b", "W0110"},
        {PLATFORM_MPIJOB_V1ALPHA2, "", "none"}, {PLATFORM_MPIJOB_V1ALPHA2, "b", "W0110"},
        {PLATFORM_MPIJOB_V1, "b", "none"},      {PLATFORM_MPIJOB_V2BETA1, "b", "none"},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        struct role role = {
            .name = "worker", .kind = ROLE_HOST, .replicas = 1, .slots = 1, .res = RESOURCES_UNSET};
        struct job_spec spec = {.name = arena_printf(a, "%s%s", rows[i].prefix, x45),
                                .platform = platform_of(rows[i].platform),
                                .roles = &role,
                                .n_roles = 1};
        unsigned int line;
        const char *hint;

        is_str(finding(a, &spec, &line, &hint), rows[i].code, "%s, %zu characters",
               platform_words[rows[i].platform], strlen(spec.name));
        if (strcmp(rows[i].code, "none") != 0)
            has(hint, "1 character shorter", "with what to do");
    }
}

static void test_command_names(struct arena *a)
{
    static const struct {
        const char *argv[6], *name;
    } rows[] = {
        {{"python3", "train.py"}, "train"},
        {{"python3", "mein training.py"}, "mein-training"},
        {{"nice", "-n", "5", "python3", "train.py"}, "train"},
        {{"torchrun", "--nproc_per_node", "2", "train.py", "x.py"}, "train"},
        {{"python3", "-m", "torch.distributed.run", "a/train.py"}, "train"},
        {{"python3", "-m", "pkg.train", "data.py"}, "pkg-train"},
        {{"timeout", "5m", "./pi"}, "pi"},
        {{"env", "-i"}, "env"},
        {{"/usr/bin/python3.11", "-u", "src/Train_All.py", "--lr", "3"}, "train-all"},
        {{"python", "-m", "pkg.train"}, "pkg-train"},
        {{"python3", "-c", "print(1)"}, "python3"},
        {{"bash", "./run.sh"}, "run"},
        {{"sh", "-c", "echo"}, "sh"},
        {{"./a.out", "x"}, "a"},
        {{"./my_prog"}, "my-prog"},
        {{"..."}, "run"},
        {{"env", "A=1", "x"}, "x"},
        {{"model.ckpt-1000"}, "model-ckpt-1000"},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        const struct command_job job = {.n = 1, .hosts = 1, .argv = rows[i].argv, .dir = "/"};

        is_str(spec_from_command(a, &job)->name, rows[i].name, "a name from the command");
    }
}

static void test_mpi_command(struct arena *a)
{
    static const char *const argv[] = {"./a.out", NULL};
    const struct command_job job = {
        .n = 4, .hosts = 2, .argv = argv, .dir = "/", .name = "x", .mpi = true};
    const struct job_spec *spec = spec_from_command(a, &job);

    is_str(spec->name, "x", "a name that was given");
    ok(spec->framework == FRAMEWORK_MPI && spec->mpi->program == argv, "mpirun starts the ranks");
    ok(spec->n_roles == 2 && spec->roles[0].kind == ROLE_LAUNCHER, "from a launcher");
    ok(spec->roles[1].kind == ROLE_HOST && spec->roles[1].slots == 2, "on hosts");
}

int main(void)
{
    static const char *const argv[] = {"/bin/true", NULL};
    auto_arena struct arena *a = arena_new();
    const struct command_job job = {.n = 12, .hosts = 3, .argv = argv, .dir = "/tmp"};
    const struct job_spec *spec = spec_from_command(a, &job);
    const struct role *role = spec_role(spec, "worker");
    unsigned int line;
    const char *hint;

    test_names(a);
    test_ports(a);
    test_counts(a);
    test_resources(a);
    test_fixed_ports(a);
    test_gpus(a);
    test_completion(a);
    test_set_names(a);
    test_command_names(a);
    test_mpi_command(a);
    ok(role && spec->n_roles == 1, "a command is a job with one role");
    is_int(role->replicas, 3, "its hosts");
    is_int(role->slots, 4, "and the processes of each");
    ok(role->argv == argv && !role->shell, "its argv is the caller's");
    is_str(finding(a, spec, &line, &hint), "none", "and it is valid");
    ok(!spec_role(spec, "launcher"), "a role that is not there");
    is_str(framework_name(FRAMEWORK_MPI), "mpi", "frameworks have names");
    return tap_done();
}
