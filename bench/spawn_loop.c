/* spawn_loop.c - the limit a launcher is measured against: start N processes, wait for all.
 *
 *     spawn_loop N COMMAND [ARG…]
 *
 * posix_spawn() in a loop, no pipes, no names, nothing recorded. Exits 1 if any process failed.
 */
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

extern char **environ;

int main(int argc, char **argv)
{
    long n = argc > 2 ? strtol(argv[1], NULL, 10) : 0;
    int failed = 0;

    if (n < 1) {
        fprintf(stderr, "usage: spawn_loop N COMMAND [ARG...]\n");
        return 2;
    }
    for (long i = 0; i < n; i++) {
        pid_t pid;
        int r = posix_spawn(&pid, argv[2], NULL, NULL, argv + 2, environ);
        if (r != 0) {
            fprintf(stderr, "spawn_loop: %s: %s\n", argv[2], strerror(r));
            return 1;
        }
    }
    for (int status; wait(&status) > 0;)
        failed |= status != 0;
    return failed;
}
