/* training.c - the defaults for first runs with a framework: who gets them, and who wins over them.
 */
#include "plan/test/seed.h"

static void test_threads(void)
{
    static const char *const others[] = {"PATH=/bin", "OMP_NUM_THREADS=5", NULL};
    struct seed s;

    seed_other(&s, PLATFORM_AZUREML_PREVIEW, FRAMEWORK_PYTORCH, "python train.py");
    s.facts.machine.cpus = 16;
    s.roles[0].replicas = 4;
    is_str(seed_env(&s, 0, "OMP_NUM_THREADS"), "4 (muster)", "cores are shared out");
    is_str(seed_env(&s, 0, "PYTHONUNBUFFERED"), "1 (muster)",
           "Python does not hold its lines back");
    is_str(seed_env(&s, 0, "GLOO_SOCKET_IFNAME"), "lo (muster)", "gloo's interface");
    is_str(seed_env(&s, 0, "NCCL_SOCKET_IFNAME"), "lo (muster)", "NCCL's");
    is_str(seed_env(&s, 0, "TORCH_DISABLE_SHARE_RDZV_TCP_STORE"), NULL, "no elastic job");
    s.roles[0].slots = 2;
    is_str(seed_env(&s, 0, "OMP_NUM_THREADS"), "2 (muster)", "among all processes of a host");
    s.roles[0].own_slots = true;
    is_str(seed_env(&s, 0, "OMP_NUM_THREADS"), "2 (muster)", "torchrun's too");
    s.facts.machine.cpus = 3;
    is_str(seed_env(&s, 0, "OMP_NUM_THREADS"), "1 (muster)", "one at least");
    s.facts.caller.env = others;
    is_str(seed_env(&s, 0, "OMP_NUM_THREADS"), "5 (caller)", "the caller's wins");
    s.roles[0].env = &(struct env_entry){.name = "OMP_NUM_THREADS", .value = "7"};
    s.roles[0].n_env = 1;
    is_str(seed_env(&s, 0, "OMP_NUM_THREADS"), "7 (job)", "and the job's over both");
    arena_free(s.arena);

    seed_other(&s, PLATFORM_AZUREML_PREVIEW, FRAMEWORK_TENSORFLOW, "python train.py");
    s.roles[0].replicas = 1;
    is_str(seed_env(&s, 0, "OMP_NUM_THREADS"), NULL, "one process may have them all");
    is_str(seed_env(&s, 0, "GLOO_SOCKET_IFNAME"), NULL, "TensorFlow does not ask for an interface");
    arena_free(s.arena);
}

static void test_mpi(void)
{
    struct seed s;

    seed_init(&s);
    is_str(seed_env(&s, 0, "OMP_NUM_THREADS"), "1 (muster)", "15 ranks on two cores: one thread");
    s.facts.machine.cpus = 64;
    is_str(seed_env(&s, 0, "OMP_NUM_THREADS"), NULL,
           "where there are enough, mpirun has bound them");
    arena_free(s.arena);
}

/* A rank has to find the image's Python before the one beside mpirun. */
static void test_image(void)
{
    static const struct image_place images[] = {{0}, {.prefix = "/venv", .mapped = true}};
    struct seed s;

    seed_init(&s);
    s.facts.site.images = images;
    has(seed_exec(&s, 0), "<--prefix></usr/local>", "an MPI that the file names stays first");
    s.facts.machine.mpi_prefix_ok = false;
    has(seed_exec(&s, 0), "<--noprefix>", "any other does not come before the image");
    s.facts.site.images = NULL;
    ok(!strstr(seed_exec(&s, 0), "prefix"), "without an image it may");
    arena_free(s.arena);
}

static void test_elastic(void)
{
    struct elastic_spec e = {
        .min_replicas = 1, .max_replicas = 4, .max_restarts = -1, .backend = "c10d"};
    struct seed s;

    seed_other(&s, PLATFORM_PYTORCHJOB, FRAMEWORK_PYTORCH, "torchrun train.py");
    s.spec.nproc = "auto";
    s.spec.elastic = &e;
    is_str(seed_env(&s, 0, "TORCH_DISABLE_SHARE_RDZV_TCP_STORE"), "1 (muster)",
           "a store for each round");
    arena_free(s.arena);
}

int main(void)
{
    test_threads();
    test_mpi();
    test_image();
    test_elastic();
    return tap_done();
}
