/* What needs an MPI launcher: programs that are linked with one, Python by its words; files that
 * lie about themselves. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/io.h"
#include "base/tap.h"
#include "engine/local/mpi_program.h"

static char dir[] = "/tmp/mpi_program.XXXXXX";
static const struct mpi_place here = {.dir = dir, .path = "/bin"};
static const struct mpi_place elsewhere = {.dir = dir, .path = "/nowhere::/bin"};

static void put(const char *name, const char *data, size_t n)
{
    char path[128];

    (void)snprintf(path, sizeof(path), "%s/%s", dir, name);
    auto_close int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0755);

    ok(fd >= 0 && io_write_all(fd, data, n) == 0, "write %s", name);
}

static void test_python(struct arena *a)
{
    static const struct {
        const char *argv[6], *why;
        enum mpi_need need;
    } rows[] = {
        {{"python3", "w.py"}, "imports mpi4py", MPI_NEED_LIKELY},
        {{"/usr/bin/python3.11", "-u", "-W", "ignore", "w.py"}, "imports mpi4py", MPI_NEED_LIKELY},
        {{"python", "-m", "mpi4py", "w.py"}, "needs MPI", MPI_NEED_CERTAIN},
        {{"python", "-m", "mpi4py.run", "w.py"}, "needs MPI", MPI_NEED_CERTAIN},
        {{"python", "-m", "mpi4pyx"}, NULL, MPI_NEED_NONE},
        {{"python", "-c", "import horovod.torch as hvd"}, "imports horovod", MPI_NEED_LIKELY},
        {{"python", "-c"}, NULL, MPI_NEED_NONE},
        {{"python", "gone.py"}, NULL, MPI_NEED_NONE},
        {{"python"}, NULL, MPI_NEED_NONE},
        {{"pythonic", "w.py"}, NULL, MPI_NEED_NONE},
        {{"python", "indented.py"}, "may import mpi4py", MPI_NEED_POSSIBLE},
        {{"python", "tried.py"}, NULL, MPI_NEED_NONE},
        {{"nice", "-n", "5", "python3", "w.py"}, "imports mpi4py", MPI_NEED_LIKELY},
        {{"env", "A=1", "timeout", "9", "python3", "w.py"}, "imports mpi4py", MPI_NEED_LIKELY},
        {{"sh", "-ec", "python3 w.py"}, "imports mpi4py", MPI_NEED_LIKELY},
        {{"sh", "-c", "python -m mpi4py w.py"}, "needs MPI", MPI_NEED_CERTAIN},
        {{"sh", "-c", "python -m mpi4py w.py; true"}, "needs MPI", MPI_NEED_LIKELY},
        {{"sh", "-c", "if true; then\n  A=1 python -m mpi4py w.py\nfi"},
         "needs MPI",
         MPI_NEED_LIKELY},
        {{"sh", "-c", "mpirun -np 2 python3 w.py"}, NULL, MPI_NEED_NONE},
        {{"sh", "-c", "cd . && python3 w.py"}, "imports mpi4py", MPI_NEED_LIKELY},
        {{"bash", "start.sh"}, "imports mpi4py", MPI_NEED_LIKELY},
        {{"./start.sh"}, "imports mpi4py", MPI_NEED_LIKELY},
        {{"./w.py"}, NULL, MPI_NEED_NONE},
        {{"./x.py"}, "imports horovod", MPI_NEED_LIKELY},
        {{"sh", "loop.sh"}, NULL, MPI_NEED_NONE},
    };

    put("w.py", "import os\nfrom  mpi4py import MPI\n", 32);
    put("indented.py", "if 0:\n    import mpi4py\n", 24);
    put("tried.py", "try:\n\n    import mpi4py\n", 24);
    put("start.sh", "#!/bin/bash -e\nexec python3 w.py\n", 34);
    put("x.py", "#!/usr/bin/env python3\nimport horovod\n", 38);
    put("loop.sh", "sh loop.sh\n", 11);
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct mpi_use use = mpi_program_use(a, rows[i].argv, &here);

        is_int(use.need, rows[i].need, "row %zu: needed", i);
        is_str(use.why, rows[i].why, "row %zu: why", i);
    }
}

/* Every prefix of a real program, and one with every byte of its headers turned over: no answer is
 * wrong, no access outside. */
static void test_lies(struct arena *a)
{
    static const char *const argv[] = {"./lie", NULL};
    auto_strbuf struct strbuf real = STRBUF_INIT;
    int found = 0;

    ok(io_read_file(AT_FDCWD, "/proc/self/exe", 64 << 20, &real, NULL) == 0, "a real program");
    for (size_t n = 0; n < 1024 && n < real.len; n += 7) {
        char path[128];

        (void)snprintf(path, sizeof(path), "%s/lie", dir);
        (void)unlink(path);
        auto_close int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0755);
        real.buf[n] = (char)~real.buf[n];
        (void)io_write_all(fd, real.buf, n % 2 ? real.len : n);
        real.buf[n] = (char)~real.buf[n];
        found += mpi_program_use(a, argv, &here).need != MPI_NEED_NONE;
    }
    is_int(found, 0, "what is not linked with an MPI never seems to be");
}

int main(void)
{
    static const char *const echo[] = {"echo", NULL}, *const gone[] = {"./gone", NULL};
    auto_arena struct arena *a = arena_new();

    ok(mkdtemp(dir) != NULL, "a directory");
    test_python(a);
    test_lies(a);
    is_int(mpi_program_use(a, echo, &elsewhere).need, MPI_NEED_NONE, "on PATH");
    is_int(mpi_program_use(a, gone, &here).need, MPI_NEED_NONE, "a program that is not there");
    (void)io_remove_tree(AT_FDCWD, dir, NULL);
    return tap_done();
}
