/* linger.c - ranks that stay together for a while: something to be killed.
 *
 *     linger SECONDS      prints "up" per rank, then meets in a barrier every 20 ms
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    double end = MPI_Wtime() + (argc > 1 ? strtod(argv[1], NULL) : 1);
    int go_on = 1;

    puts("up");
    fflush(stdout);
    while (go_on) {
        usleep(20000);
        go_on = MPI_Wtime() < end;
        MPI_Bcast(&go_on, 1, MPI_INT, 0, MPI_COMM_WORLD); /* one clock decides */
        MPI_Barrier(MPI_COMM_WORLD);
    }
    MPI_Finalize();
    return 0;
}
