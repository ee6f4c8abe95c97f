/* lints_more.c - what was written for another cluster, and how many ranks a launcher asks for. */
#include "plan/mpi.h"
#include "plan/test/seed.h"

static void told(struct seed *s, const char *part, bool wanted, const char *name)
{
    const char *notes = seed_notes(s);

    if (!ok(!strstr(notes, part) == !wanted, "%s", name))
        tap_diag("%s", notes);
}

static void test_addresses(void)
{
    static const struct {
        const char *command;
        bool told;
    } rows[] = {
        {"torchrun --master_addr=10.1.2.3 a.py", true},
        {"torchrun --master-addr 192.168.7.1 a.py", true},
        {"torchrun --rdzv_endpoint=10.1.2.3:29500 a.py", true},
        {"python a.py --init-method tcp://172.16.0.9:23456", true},
        {"MASTER_ADDR=10.1.2.3 python a.py", true},
        {"torchrun --master_addr=127.0.0.1 a.py", false},
        {"torchrun --master_addr=$MASTER_ADDR a.py", false},
        {"torchrun --master_addr=node0 a.py", false},
        {"python a.py --version 10.1.2.3", false},
        {"python a.py tcp://0.0.0.0:1", false},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        struct seed s;

        seed_other(&s, PLATFORM_AZUREML_PREVIEW, FRAMEWORK_PYTORCH, rows[i].command);
        told(&s, "warning: worker hard-codes address", rows[i].told, rows[i].command);
        arena_free(s.arena);
    }
}

static void test_values(void)
{
    static const struct {
        const char *value, *part; /* what is told, or NULL */
    } rows[] = {
        {"$PATH:/opt", "worker: $PATH in the value of X is not expanded"},
        {"a ${HOME}/b", "worker: ${HOME} in the value of X"},
        {"$((1 + 1))", "worker: $((1 + 1)) in the value of X"},
        {"$(NAME)", NULL},
        {"$$HOME", NULL},
        {"costs 5$", NULL},
        {"$1", NULL},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        const struct env_entry env = {.name = "X", .value = rows[i].value};
        struct seed s;

        seed_other(&s, PLATFORM_TFJOB, FRAMEWORK_NONE, "true");
        s.roles[0].env = &env;
        s.roles[0].n_env = 1;
        told(&s, rows[i].part ? rows[i].part : "not expanded", rows[i].part, rows[i].value);
        s.spec.platform = platform_of(PLATFORM_AZUREML);
        told(&s, "not expanded", false, "only where a kubelet reads it");
        arena_free(s.arena);
    }
}

static void test_launchers(void)
{
    struct seed s;

    seed_other(&s, PLATFORM_AZUREML, FRAMEWORK_PYTORCH, "python -m torch.distributed.launch a.py");
    told(&s, "process_count_per_instance", false, "one launcher on each node");
    s.roles[0].slots = 4;
    told(&s, "process_count_per_instance starts 4 times torch.distributed.launch", true,
         "four of them");
    s.roles[0].shell = "python a.py";
    told(&s, "process_count_per_instance", false, "no launcher");
    arena_free(s.arena);
}

static void test_np(void)
{
    static const struct {
        const char *command;
        int64_t ranks; /* of 2 x 4 slots */
    } rows[] = {
        {"mpirun -np 6 -N 3 a", 6},      {"/usr/bin/mpirun --np 2 a", 2},
        {"cd x && mpiexec -n 3 a", 3},   {"mpirun a", 8},
        {"mpirun -np $N a", 8},          {"mpirun -np 2 a; mpirun -np 4 b", 8},
        {"mpirun -np 2 a : -np 3 b", 8}, {"mpirun -np 5 a -n 1", 5},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        struct seed s;

        seed_init(&s);
        s.spec.mpi = NULL;
        s.roles[0].shell = rows[i].command;
        s.roles[0].argv = NULL;
        s.roles[1].replicas = 2;
        s.roles[1].slots = 4;
        s.roles[1].slots_kind = SLOTS_NUMBER;
        is_int(mpi_ranks_expected(s.arena, &s.spec), rows[i].ranks, "%s", rows[i].command);
        arena_free(s.arena);
    }
}

int main(void)
{
    test_addresses();
    test_values();
    test_launchers();
    test_np();
    return tap_done();
}
