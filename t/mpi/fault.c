/* fault.c - an MPI program in which one rank goes wrong while the others wait for it.
 *
 *     fault HOW [RANK [SECONDS]]     rank RANK (3) does HOW after SECONDS (0.3); others meet in
 *                                    barriers
 *
 * HOW: exitN (without MPI_Finalize), kill, segv, abortN (MPI_Abort), oom (takes memory until it is
 *      stopped), none (just ends), stay (never ends), deaf (never ends and ignores SIGTERM), miss
 *      (waits, and never comes again), two (RANK and the one before it exit with 7, at once), trap
 *      (exit7, and the others exit with 9 when they are told to end), group (SIGKILL for its whole
 *      process group), send (to a rank that does not exist: MPI's error handler ends the program)
 */
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void take_memory(void)
{
    for (;;) {
        char *p = malloc(1 << 20);
        if (p)
            memset(p, 1, 1 << 20);
    }
}

static void go_wrong(const char *how)
{
    if (strncmp(how, "exit", 4) == 0)
        _exit((int)strtol(how + 4, NULL, 10));
    if (strcmp(how, "two") == 0 || strcmp(how, "trap") == 0)
        _exit(7);
    if (strcmp(how, "group") == 0)
        (void)kill(0, SIGKILL);
    if (strcmp(how, "kill") == 0)
        (void)raise(SIGKILL);
    if (strcmp(how, "segv") == 0) {
        (void)signal(SIGSEGV, SIG_DFL); /* not Open MPI's handler: a real end by this signal */
        (void)raise(SIGSEGV);
    }
    if (strncmp(how, "abort", 5) == 0)
        MPI_Abort(MPI_COMM_WORLD, (int)strtol(how + 5, NULL, 10));
    if (strcmp(how, "send") == 0)
        MPI_Send(&(int){1}, 1, MPI_INT, 99, 0, MPI_COMM_WORLD);
    if (strcmp(how, "oom") == 0)
        take_memory();
    while (strcmp(how, "miss") == 0)
        (void)pause();
}

static void exit_9(int sig)
{
    (void)sig;
    _exit(9);
}

int main(int argc, char **argv)
{
    const char *how = argc > 1 ? argv[1] : "none";
    int who = argc > 2 ? (int)strtol(argv[2], NULL, 10) : 3;
    double after = argc > 3 ? strtod(argv[3], NULL) : 0.3;
    int rank;

    if (strcmp(how, "deaf") == 0)
        (void)signal(SIGTERM, SIG_IGN);
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (strcmp(how, "trap") == 0)
        (void)signal(SIGTERM, exit_9);
    printf("up %d\n", rank);
    (void)fflush(stdout);
    MPI_Barrier(MPI_COMM_WORLD);
    usleep((useconds_t)(after * 1e6));
    if (strcmp(how, "none") != 0) {
        if (rank == who) {
            printf("rank %d is about to go wrong: %s\n", rank, how);
            (void)fflush(stdout);
            go_wrong(how);
        }
        if (strcmp(how, "two") == 0 && rank == who - 1)
            _exit(7);
        for (;;) {
            MPI_Barrier(MPI_COMM_WORLD);
            usleep(20000);
        }
    }
    MPI_Finalize();
    return 0;
}
