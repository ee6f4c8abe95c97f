/* pipe_copy.c - the limit of keeping what many processes write: their pipes, copied into files.
 *
 *     pipe_copy N DIRECTORY COMMAND [ARG…]
 *
 * Each process gets RANK and a pipe as stdout and stderr; one epoll loop copies each pipe into
 * DIRECTORY/RANK. Nothing is shown, watched or recorded. Exits 1 if any process failed.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/wait.h>
#include <unistd.h>

static char chunk[64 * 1024];

static int start(long rank, char **argv)
{
    int ends[2];

    if (pipe2(ends, O_CLOEXEC) < 0)
        return -1;
    if (fork() == 0) {
        char number[32];

        (void)snprintf(number, sizeof(number), "%ld", rank);
        (void)setenv("RANK", number, 1);
        (void)dup2(ends[1], STDOUT_FILENO);
        (void)dup2(ends[1], STDERR_FILENO);
        (void)execvp(argv[0], argv);
        _exit(127);
    }
    (void)close(ends[1]);
    return ends[0];
}

static void copy(const int *pipes, const int *files, int set, long open_pipes)
{
    struct epoll_event ready[64];

    while (open_pipes > 0) {
        int n = epoll_wait(set, ready, 64, -1);

        for (int i = 0; i < n; i++) {
            unsigned at = ready[i].data.u32;
            ssize_t got = read(pipes[at], chunk, sizeof(chunk));

            if (got > 0 && write(files[at], chunk, (size_t)got) == got)
                continue;
            (void)close(pipes[at]);
            open_pipes--;
        }
    }
}

int main(int argc, char **argv)
{
    long n = argc > 3 ? strtol(argv[1], NULL, 10) : 0;
    int pipes[1024], files[1024], failed = 0, set = epoll_create1(EPOLL_CLOEXEC);

    if (n < 1 || n > 1024 || chdir(argv[2]) < 0) {
        fprintf(stderr, "usage: pipe_copy N DIRECTORY COMMAND [ARG...]\n");
        return 2;
    }
    for (long i = 0; i < n; i++) {
        struct epoll_event ev = {.events = EPOLLIN, .data.u32 = (unsigned)i};
        char name[32];

        (void)snprintf(name, sizeof(name), "%ld", i);
        pipes[i] = start(i, argv + 3);
        files[i] = open(name, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
        if (pipes[i] < 0 || files[i] < 0 || epoll_ctl(set, EPOLL_CTL_ADD, pipes[i], &ev) < 0)
            return 1;
    }
    copy(pipes, files, set, n);
    for (int status; wait(&status) > 0;)
        failed |= status != 0;
    return failed;
}
