/* needs.c - what a command is found to need, and what nothing is said of. */
#include "plan/needs.h"

#include <errno.h>

#include "plan/test/seed.h"

/* "program x; script! y; module z": "!" where the command may go on without it. */
static const char *needs_of(struct seed *s)
{
    static const char *const kinds[] = {"program", "script", "module"};
    auto_strbuf struct strbuf out = STRBUF_INIT;
    const struct need *v;
    size_t n = plan_needs(s->arena, seed_plan(s), &v);

    for (size_t i = 0; i < n; i++)
        strbuf_addf(&out, "%s%s%s %s", out.len ? "; " : "", kinds[v[i].kind],
                    v[i].decides ? "" : "!", v[i].name);
    return arena_strndup(s->arena, out.buf, out.len);
}

static void test_text(void)
{
    static const struct {
        const char *text, *needs;
    } rows[] = {
        {"a b c", "program a"},
        {"python3 train.py --x", "program python3; script train.py"},
        {"python -u -m torch.distributed.launch --nproc_per_node 2 train.py",
         "program python; module torch.distributed.launch; script train.py"},
        {"python -c 'x'", "program python"},
        {"bash -x run.sh", "program bash; script run.sh"},
        {"exec nohup ./x", "program nohup; program ./x"},
        {"env A=1 ./x", "program env; program ./x"},
        {"timeout 5m ./x", "program timeout; program ./x"},
        {"torchrun --nnodes 2 t.py", "program torchrun; script t.py"},
        {"mpirun -np 4 --allow-run-as-root ./x", "program mpirun; program ./x"},
        {"mpirun -np 4 -x A=1 python3 t.py", "program mpirun; program python3; script t.py"},
        {"mpirun -np 4 -x LD_LIBRARY_PATH -x PATH -mca btl ^openib python t.py",
         "program mpirun; program python; script t.py"},
        {"mpirun -hosts a,b -n 2 -env A=1 -genv B 2 ./x", "program mpirun; program ./x"},
        {"LD_LIBRARY_PATH=/x ./x", ""},
        {"echo a && sleep 1 && ./x && ./y", "program sleep; program ./x"},
        {"export A=1; ./x", "program ./x"},
        {"A=1 ./x", "program ./x"},
        {"sh -c './x y'", "program sh; program ./x"},
        /* OpenPAI's texts are one after the other, without errexit */
        {"./x; ./y", "program! ./x"},
        {"./x || true", "program! ./x"},
        {"./x | tee log", "program! ./x"},
        {"./x &", "program! ./x"},
        {"set -e; ./x; ./y", "program ./x"},
        /* nothing is certain */
        {"$X a", ""},
        {"cd d && ./x", ""},
        {"if a; then b; fi", ""},
        {"f() { a; }; f", ""},
        {"PATH=/x:$PATH; a", ""},
        {"(a)", ""},
        {"git clone u && python u/t.py", "program git"},
        {"mpirun -np 2 --no-such-option ./x", "program mpirun"},
        {"mpirun -wdir /x ./x", "program mpirun"},
        {"env -i ./x", "program env"},
        {"python $SCRIPT", "program python"},
        {"./*.sh", ""},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        struct seed s;

        seed_openpai(&s, 1, rows[i].text);
        is_str(needs_of(&s), rows[i].needs, "%s", rows[i].text);
        arena_free(s.arena);
    }
}

static void test_argv(void)
{
    static const char *const argv[] = {"/opt/x", "$HOME", NULL};
    static const char *const secret[] = {"python3", "***", NULL};
    static const char *const init[] = {"./fetch", NULL};
    static const char *const wait[] = {"sh", "-c", "sleep 5", NULL};
    static const struct init_command inits[] = {{.name = "fetch", .argv = init}};
    static const struct init_command waits[] = {{.name = "wait", .argv = wait}};
    struct seed s;

    seed_openpai(&s, 2, "x");
    s.roles[0].shell = NULL;
    s.roles[0].argv = argv;
    is_str(needs_of(&s), "program /opt/x", "an argv");
    s.roles[0].argv = secret;
    is_str(needs_of(&s), "program python3", "a secret is not looked for");
    s.roles[0].init = inits;
    s.roles[0].n_init = 1;
    is_str(needs_of(&s), "program ./fetch; program! python3",
           "an init command may make all that follows");
    s.roles[0].init = waits;
    is_str(needs_of(&s), "program sh; program sleep; program python3", "one that waits does not");
    arena_free(s.arena);
}

/* A job whose program is known to be missing. */
static void test_told(void)
{
    const struct missing missing[] = {
        {.role = 0,
         .init = -1,
         .name = "/opt/x/run",
         .dir = "/work",
         .code = -ENOENT,
         .decides = true},
        {.role = 0, .init = -1, .name = "t.py", .by = "python3", .dir = "/work", .code = -ENOENT},
        {.role = 0, .init = -1, .name = "./s", .dir = "/work", .code = -EACCES},
        {.role = 0, .init = -1, .name = "./d", .dir = "/work", .code = -EISDIR},
    };
    struct seed s;

    seed_openpai(&s, 2, "x");
    s.roles[0].image = "img";
    s.facts.machine.missing = missing;
    s.facts.machine.n_missing = ARRAY_SIZE(missing);
    const char *notes = seed_notes(&s);
    has(notes,
        "warning: worker: /opt/x/run not found (image img is not used); use --map /opt/x=DIR if "
        "the "
        "files are in DIR on this machine\n",
        "a path of the image");
    has(notes,
        "warning: worker: t.py not found in /work (image img is not used); use --workdir DIR if it "
        "is in DIR\n",
        "a script");
    has(notes, "warning: worker: ./s is not executable; use chmod +x ./s\n", "not executable");
    has(notes, "./d is a directory, not a program; name the program in it: ./d/PROGRAM\n",
        "a directory");
    const struct plan *plan = seed_plan(&s);
    ok(plan_refused(plan) && plan_missing(plan, &plan->processes[0]) == &missing[0],
       "the first decides");
    s.facts.machine.n_missing = 0;
    ok(!plan_refused(plan), "nothing is missing, nothing is refused");
    arena_free(s.arena);
}

int main(void)
{
    test_text();
    test_argv();
    test_told();
    return tap_done();
}
