/* Words of other tools, and commands that work where they are read. */
#include <string.h>

#include "base/tap.h"
#include "cli/as_typed.h"
#include "cli/cli.h"
#include "cli/slurm_script.h"

static void typed(const char *text, const char *want)
{
    auto_strbuf struct strbuf out = STRBUF_INIT;

    add_as_typed(&out, text);
    is_str(out.buf, want, "%s", text);
}

static void habits(void)
{
    const char *line = "";

    is_str(habit_verb("ps", &line)->name, "list", "ps is list");
    ok(!line, "and is accepted");
    is_str(habit_verb("train", &line)->name, "run", "train is run");
    is_str(line, "muster run FILE", "with the line to type");
    ok(!habit_verb("frobnicate", &line), "a word of no tool");
    for (size_t i = 0; verbs[i]; i++)
        ok(!habit_verb(verbs[i]->name, &line), "%s is no habit", verbs[i]->name);

    has(habit_option(&verb_run, "--hostfile"), "--hosts", "an option of mpirun");
    has(habit_option(&verb_run, "-x"), "environment", "a short one");
    ok(!habit_option(&verb_run, "--host-file"), "part of the table is no option");
    ok(!habit_option(&verb_list, "--hostfile"), "of run only");
}

static void slurm(void)
{
    static const struct {
        const char *text, *line;
    } rows[] = {
        {"#!/bin/bash\n#SBATCH --nodes=2\n#SBATCH --ntasks-per-node=4\nsrun python3 train.py\n",
         "muster run -n 8 --hosts 2 -- python3 train.py"},
        {"#!/bin/bash\n#SBATCH -n 4\nmpirun ./a.out\n", "muster run -n 4 -- ./a.out"},
    };
    struct slurm_script none = SLURM_SCRIPT_INIT;

    ok(!slurm_script_read("#!/bin/bash\necho hello\n", &none), "any script");
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        CLEANUP(slurm_script_release) struct slurm_script s = SLURM_SCRIPT_INIT;
        auto_strbuf struct strbuf line = STRBUF_INIT;

        ok(slurm_script_read(rows[i].text, &s), "a script of Slurm's");
        slurm_script_line(&s, "batch.sh", &line);
        is_str(line.buf, rows[i].line, "what to type");
    }
}

int main(void)
{
    set_typed("muster");
    typed("see `muster explain FILE`", "see `muster explain FILE`");
    set_typed("build/muster");
    typed("see `muster explain FILE`", "see `build/muster explain FILE`");
    typed("muster run: muster --help", "build/muster run: build/muster --help");
    typed("the muster process, muster-shim, a muster of men",
          "the muster process, muster-shim, a muster of men");
    set_typed("/my tools/muster");
    typed("try muster list", "try '/my tools/muster' list");
    habits();
    slurm();
    return tap_done();
}
