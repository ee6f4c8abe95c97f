/* mpirun.c - what mpirun's options say about the job, as a list and in shell text. */
#include "dialect/mpirun.h"

#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/tap.h"

static const struct {
    const char *text, *program;
    int32_t np, per_node;
} calls[] = {
    {"mpirun -np 16 python train.py", "mpirun", 16, 0},
    {"mpirun -n 4 a", "mpirun", 4, 0},
    {"mpiexec --np 4 a", "mpiexec", 4, 0},
    {"mpiexec.hydra -n 4 -ppn 2 a", "mpiexec.hydra", 4, 2},
    {"orterun -c 3 a", "orterun", 3, 0},
    {"horovodrun -np 8 -H a:4,b:4 -p 22 python x.py -n 3", "horovodrun", 8, 0},
    {"horovodrun --num-proc 8 --slots-per-host 4 x", "horovodrun", 8, 4},
    {"mpirun --np=6 --map-by=ppr:3:node a", "mpirun", 6, 3},
    {"mpirun -np 6 --map-by ppr:3:node:PE=2 a", "mpirun", 6, 3},
    {"mpirun -N 2 a", "mpirun", 0, 2},
    {"mpirun -npernode 2 a", "mpirun", 0, 2},
    {"mpirun -pernode a", "mpirun", 0, 1},
    /* what surrounds it */
    {"/opt/ompi/bin/mpirun -np 2 a", "mpirun", 2, 0},
    {"exec mpirun -np 2 a", "mpirun", 2, 0},
    {"exec -a name mpirun -np 2 a", "mpirun", 2, 0},
    {"A=1 B=\"2 3\" mpirun -np 2 a", "mpirun", 2, 0},
    {"env -u X A=1 nohup nice -n 5 mpirun -np 2 a &", "mpirun", 2, 0},
    {"time timeout -k 5 1h mpirun -np 2 a", "mpirun", 2, 0},
    {"cd x && pip install y; mpirun -np 2 a | tee log", "mpirun", 2, 0},
    {"if true; then mpirun -np 2 a; fi", "mpirun", 2, 0},
    {"bash -lc 'mpirun -np 2 a'", "mpirun", 2, 0},
    {"sh -e -c \"mpirun -np 2 a\"", "mpirun", 2, 0},
    {"mpirun \\\n  -np 2 \\\n  a", "mpirun", 2, 0},
    /* where its options end */
    {"mpirun -mca pml ob1 -mca btl ^openib -x PATH -np 2 a -np 9", "mpirun", 2, 0},
    {"mpirun --bind-to none --hostfile f -np 2 a", "mpirun", 2, 0},
    {"mpirun -genv A 1 -f hosts -n 2 a", "mpirun", 2, 0},
    {"mpirun a -np 9", "mpirun", 0, 0},
    {"mpirun -np 2 a : -np 3 b", "mpirun", 5, 0},
    {"mpirun -np 2 a : b", "mpirun", 0, 0},
    /* several: all of them have to fit */
    {"mpirun -np 2 a; mpirun -np 4 -N 2 b; mpirun -np 3 c", "mpirun", 4, 2},
    /* what only the shell could tell */
    {"mpirun -np ${N:-4} a", "mpirun", 0, 0},
    {"mpirun -np $N -N \"$M\" a", "mpirun", 0, 0},
    {"mpirun -np=$N a", "mpirun", 0, 0},
    {"mpirun -np \"4\" a", "mpirun", 4, 0},
    {"mpirun -np four a", "mpirun", 0, 0},
    {"mpirun -np 0 a", "mpirun", 0, 0},
    {"mpirun -np 99999999999 a", "mpirun", 0, 0},
    {"mpirun -np 2147483647 a : -np 2147483647 b", "mpirun", 0, 0},
    {"mpirun -np", "mpirun", 0, 0},
    {"mpirun", "mpirun", 0, 0},
    /* no call of it */
    {"", NULL, 0, 0},
    {"A=1", NULL, 0, 0},
    {"echo mpirun -np 4", NULL, 0, 0},
    {"which mpirun", NULL, 0, 0},
    {"# mpirun -np 4", NULL, 0, 0},
    {"$MPIRUN -np 4 a", NULL, 0, 0},
    {"exec", NULL, 0, 0},
    {"env -u", NULL, 0, 0},
    {"timeout 5", NULL, 0, 0},
    {"sh -c", NULL, 0, 0},
    {"sh -c \"mpirun -np $N\"", NULL, 0, 0},
    {"mpirunner -np 4", NULL, 0, 0},
    {"python -m mpirun -np 4", NULL, 0, 0},
};

static void test_shell(void)
{
    auto_arena struct arena *a = arena_new();

    for (size_t i = 0; i < ARRAY_SIZE(calls); i++) {
        struct mpirun_call got;
        bool found = mpirun_in_shell(a, calls[i].text, &got);

        is_str(got.program, calls[i].program, "%s", calls[i].text);
        ok(found == (calls[i].program != NULL), "it is told whether it is there");
        is_int(got.np, calls[i].np, "np");
        is_int(got.per_node, calls[i].per_node, "per node");
    }
}

/* Shells within shells must not exhaust the stack: what is deep inside is not looked at. */
static void test_depth(void)
{
    auto_arena struct arena *a = arena_new();
    struct mpirun_call got;

    ok(mpirun_in_shell(a, "sh -c \"sh -c 'mpirun -n 2 a'\"", &got) && got.np == 2, "two shells");
    ok(mpirun_in_shell(a, "sh -c \"sh -c \\\"sh -c mpirun\\\"\"", &got), "three");
    ok(!mpirun_in_shell(a, "sh -c \"sh -c \\\"sh -c \\\\\\\"sh -c mpirun\\\\\\\"\\\"\"", &got),
       "four");
}

/* The finding about a launcher's line, or one that is composed, and its hosts. */
static const char *finding(struct arena *a, const char *line, const struct mpi_spec *composed,
                           int slots, int hosts)
{
    const struct node at = {.type = NODE_STRING, .text = "", .pos = {3, 1}};
    const struct role roles[] = {
        {.name = "launcher",
         .kind = ROLE_LAUNCHER,
         .replicas = 1,
         .shell = line,
         .command_at = &at},
        {.name = "worker",
         .kind = ROLE_HOST,
         .replicas = hosts,
         .slots_kind = SLOTS_NUMBER,
         .slots = slots},
    };
    const struct job_spec spec = {.roles = roles, .n_roles = 2, .mpi = composed};
    const char *code = "none";
    struct diags ds;

    diags_init(&ds, a);
    mpirun_check(&(struct binder){.a = a, .ds = &ds}, &spec, NULL, "hint");
    if (ds.n)
        code = ds.v[0].pos.line == 3 ? ds.v[0].code : "elsewhere";
    diags_release(&ds);
    return code;
}

static void test_check(void)
{
    static const struct {
        const char *line;
        int slots, hosts;
        const char *code;
    } rows[] = {
        {"mpirun -np 8 x", 4, 2, "none"},
        {"mpirun -np 9 x", 4, 2, "W0408"},
        {"mpirun --oversubscribe -np 9 x", 4, 2, "none"},
        {"mpirun -np 4 x", 4, 2, "none"},
        {"mpirun -np 6 x", 4, 2, "W0407"},
        {"mpirun -np 2 x", 4, 2, "W0407"},
        {"mpirun -np 1 x", 4, 2, "none"},
        {"mpirun -np 3 x", 4, 1, "none"},
        {"mpirun --map-by node -np 6 x", 4, 2, "none"},
        {"mpirun -npernode 3 -np 6 x", 4, 2, "none"},
        {"mpirun -npernode 2 -np 5 x", 4, 3, "W0407"},
        {"mpirun -np $N x", 4, 2, "none"},
        {"bash -c 'cd /x && exec mpirun -np 6 x'", 4, 2, "W0407"},
        {"horovodrun -np 6 python x", 4, 2, "W0407"},
        {"python x", 4, 2, "none"},
    };
    static const char *const extra[] = {"-np", "6", NULL}, *const program[] = {"x", NULL};
    const struct mpi_spec composed = {.extra_args = extra, .program = program};
    auto_arena struct arena *a = arena_new();

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
        is_str(finding(a, rows[i].line, NULL, rows[i].slots, rows[i].hosts), rows[i].code,
               "%s on %d x %d", rows[i].line, rows[i].hosts, rows[i].slots);
    is_str(finding(a, NULL, &composed, 3, 2), "none", "a composed line");
    is_str(finding(a, NULL, &composed, 2, 2), "W0408", "too many");
    is_str(finding(a, NULL, &composed, 4, 2), "W0407", "uneven");
    is_str(finding(a, NULL, NULL, 4, 2), "none", "no line at all");
}

int main(void)
{
    static const struct {
        const char *args[6];
        int32_t want;
        size_t bad;
    } rows[] = {
        {{"-N", "3", NULL}, 3, 0},
        {{"-npernode", "4", NULL}, 4, 0},
        {{"--npernode", "4", NULL}, 4, 0},
        {{"-ppn", "2", NULL}, 2, 0},
        {{"--map-by", "ppr:3:node", NULL}, 3, 0},
        {{"-map-by", "ppr:3:node:PE=2", NULL}, 3, 0},
        {{"-N", "3", "-N", "5", NULL}, 5, 0},
        {{"--map-by", "slot", NULL}, 0, 0},
        {{"--map-by", "ppr:3:socket", NULL}, 0, 0},
        {{"--map-by", "ppr:3", NULL}, 0, 0},
        {{"-bind-to", "none", NULL}, 0, 0},
        {{"--npernode=4", NULL}, 4, 0},
        {{"--map-by=ppr:3:node", "x", NULL}, 3, 0},
        {{"-pernode", NULL}, 1, 0},
        {{"x", "-N=0", NULL}, -EINVAL, 1},
        {{"-N=", NULL}, -EINVAL, 0},
        {{"-np", "3", NULL}, 0, 0},
        {{NULL}, 0, 0},
        {{"--oversubscribe", "-N", NULL}, -ENODATA, 1},
        {{"--map-by", NULL}, -ENODATA, 0},
        {{"-N", "three", NULL}, -EINVAL, 1},
        {{"-N", "0", NULL}, -EINVAL, 1},
        {{"-N", "4097", NULL}, -EINVAL, 1},
        {{"x", "--map-by", "ppr:x:node", NULL}, -EINVAL, 2},
        {{"--map-by", "ppr:11111111111111111111111:node", NULL}, -EINVAL, 1},
        {{"", "-", "--", "-N", "2", NULL}, 2, 0},
    };
    static const char *const one[] = {"-enable-recovery", NULL},
                             *const two[] = {"x", "--enable-recovery", NULL},
                             *const none[] = {"--max-restarts", "100", NULL};
    size_t bad = 99;

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        bad = 99;
        is_int(mpirun_slots(rows[i].args, &bad), rows[i].want, "row %zu", i);
        if (rows[i].want < 0)
            is_int(bad, rows[i].bad, "the argument at fault");
    }
    is_int(mpirun_slots(NULL, &bad), 0, "no arguments at all");
    ok(mpirun_recovers(one) && mpirun_recovers(two), "recovery is seen with one dash and two");
    ok(!mpirun_recovers(none) && !mpirun_recovers(NULL), "and not where it is not");
    test_shell();
    test_depth();
    test_check();
    return tap_done();
}
