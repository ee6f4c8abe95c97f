/* first_fails.c - one of many processes fails; the others stay until they are stopped.
 *
 *     first_fails FIFO GO
 *
 * Each opens FIFO for writing, writes "+", and keeps it open: its reader sees the end when the last
 * of them is gone. Rank 0 waits until there is a file GO, writes the time (real, in nanoseconds)
 * into FIFO, and ends with 7. t/mpi has the same as an MPI program: mpiexec.hydra waits for others.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>
#ifdef WITH_MPI
#include <mpi.h>
#endif

static const char *rank_of(void)
{
    static const char *const names[] = {"OMPI_COMM_WORLD_RANK", "PMI_RANK", "RANK"};

    for (size_t i = 0; i < 3; i++)
        if (getenv(names[i]))
            return getenv(names[i]);
    return "0";
}

int main(int argc, char **argv)
{
    static const struct timespec moment = {.tv_nsec = 1000000};
    struct timespec t;
    char text[64];

    if (argc < 3)
        return 2;
#ifdef WITH_MPI
    MPI_Init(&argc, &argv);
#endif
    int fd = open(argv[1], O_WRONLY | O_CLOEXEC);
    if (fd < 0 || write(fd, "+", 1) != 1)
        return 1;
    while (strtol(rank_of(), NULL, 10) != 0 || access(argv[2], F_OK) != 0)
        (void)nanosleep(&moment, NULL);
    (void)clock_gettime(CLOCK_REALTIME, &t);
    int n = snprintf(text, sizeof(text), "%lld%09ld", (long long)t.tv_sec, t.tv_nsec);
    if (write(fd, text, (size_t)n) != n)
        return 1;
    _exit(7);
}
