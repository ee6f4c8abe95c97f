/* launch_line.c - which numbers are found in a command, and that the program's own are not. */
#include "spec/launch_line.h"

#include "base/strbuf.h"
#include "base/tap.h"

static const char *found(struct arena *a, const char *text, bool options)
{
    static const char *const meanings[] = {"?", "total", "per-node", "nodes"};
    const struct shell_word *words;
    const struct launch_number *v;
    size_t n = shell_words(a, text, &words);
    auto_strbuf struct strbuf sb = STRBUF_INIT;
    bool mpirun;

    n = launch_numbers(a, words, n, options, &v, &mpirun);
    if (mpirun)
        strbuf_addstr(&sb, "mpirun");
    for (size_t i = 0; i < n; i++)
        strbuf_addf(&sb, "%s%s %s %lld", sb.len ? "; " : "", v[i].option, meanings[v[i].meaning],
                    (long long)v[i].value);
    return arena_strndup(a, sb.buf, sb.len);
}

static const struct {
    const char *text, *want;
} rows[] = {
    {"python train.py", ""},
    {"mpirun -np 16 python train.py", "mpirun; -np total 16"},
    {"mpirun --np=16 python train.py -n 3", "mpirun; --np total 16"},
    {"mpirun python train.py -np 3", "mpirun"},
    {"/usr/bin/mpiexec -n 4 -ppn 2 ./a", "mpirun; -n total 4; -ppn per-node 2"},
    {"mpirun --allow-run-as-root -bind-to none -map-by slot -x NCCL_DEBUG=INFO -mca pml ob1 -np 8 "
     "p",
     "mpirun; -np total 8"},
    {"mpirun --map-by ppr:4:node:PE=2 -np 8 p", "mpirun; --map-by per-node 4; -np total 8"},
    {"mpirun --map-by ppr:4:socket p", "mpirun"},
    {"mpirun -np $N p", "mpirun; -np total -1"},
    {"mpirun -np 0 p", "mpirun; -np total -1"},
    {"mpirun -np", "mpirun"},
    {"cd /x && time mpirun -np 2 a; echo -np 3", "mpirun; -np total 2"},
    {"horovodrun -np 4 -H a:2,b:2 --verbose -p 12 python t.py", "mpirun; -np total 4"},
    {"python -m torch.distributed.launch --nproc_per_node=4 --nnodes 2 --node_rank $R t.py "
     "--nnodes 9",
     "--nproc_per_node per-node 4; --nnodes nodes 2"},
    {"torchrun --nproc-per-node gpu --nnodes 1:4 t.py",
     "--nproc-per-node per-node -1; --nnodes nodes -1"},
    {"torchrun --standalone --nproc_per_node 2 t.py", "--nproc_per_node per-node 2"},
    {"accelerate launch --num_processes 8 --num_machines 2 t.py",
     "--num_processes total 8; --num_machines nodes 2"},
    {"deepspeed --num_gpus=4 t.py --num_gpus 3", "--num_gpus per-node 4"},
    {"mpirun -np 2 torchrun --nproc_per_node=4 t.py",
     "mpirun; -np total 2; --nproc_per_node per-node 4"},
    {"torchrun\nmpirun", "mpirun"},
    {"", ""},
};

int main(void)
{
    auto_arena struct arena *a = arena_new();
    const struct launch_number *v;
    const struct shell_word *words;
    size_t n;

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
        is_str(found(a, rows[i].text, false), rows[i].want, "%s", rows[i].text);
    is_str(found(a, "-N 3 --enable-recovery --max-restarts 100 -np 6", true),
           "mpirun; -N per-node 3; -np total 6", "options without their program");

    n = shell_words(a, "mpirun --map-by ppr:4:node:PE=2 --np=8 p", &words);
    is_int(launch_numbers(a, words, n, false, &v, NULL), 2, "numbers inside words");
    is_str(launch_renumber(a, &v[0], 2), "ppr:2:node:PE=2", "between other parts");
    is_str(launch_renumber(a, &v[1], 4), "--np=4", "behind an equals sign");
    return tap_done();
}
