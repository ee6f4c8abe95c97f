/* Which lines run the same program. */
#include "shim/program.h"

#include <stddef.h>

#include "base/tap.h"

#define LINE(...) ((const char *const[]){__VA_ARGS__, NULL})

static int64_t open_mpi(const char *const *argv)
{
    return program_of_mpirun(argv, false);
}

int main(void)
{
    int64_t train = program_key(LINE("./train", "--lr", "1"));

    ok(train > 0, "a number");
    ok(program_key(LINE("./train", "--resume")) == train, "arguments do not count");
    ok(program_key(LINE("./evaluate")) != train, "another program does");
    ok(program_key(LINE("python3", "-u", "a.py", "1")) == program_key(LINE("python3", "a.py")),
       "of an interpreter its script counts");
    ok(program_key(LINE("python3", "a.py")) != program_key(LINE("python3", "b.py")), "any other");
    ok(program_key(LINE("sh", "-c", "exit 1")) != program_key(LINE("sh", "-c", "true")),
       "or its text");
    ok(program_key(LINE("env", "A=1", "./train")) != program_key(LINE("env", "A=1", "./evaluate")),
       "what runs another counts as a whole");

    ok(open_mpi(LINE("mpirun", "-np", "4", "--mca", "btl", "self,tcp", "-x", "A", "./train")) ==
           train,
       "Open MPI's options");
    ok(open_mpi(LINE("mpirun", "--oversubscribe", "-H", "a,b", "./train", ":", "./other")) == train,
       "the first of several programs");
    ok(open_mpi(LINE("mpirun", "--version")) == 0, "no program");
    ok(program_of_mpirun(LINE("mpiexec", "-genv", "A", "1", "-n", "2", "./train"), true) == train,
       "Hydra's options");
    ok(program_of_mpirun(LINE("mpiexec", "-n", "2", "/run/bin/muster-rank", "./train"), true) ==
           train,
       "a line that has the wrapper already");
    return tap_done();
}
