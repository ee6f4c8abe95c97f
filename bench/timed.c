/* timed.c - wall time and memory of one command, measured close to it.
 *
 *     timed SECONDS COMMAND [ARG…]      prints microseconds and kB; exits as the command did
 *
 * The benchmarks compare programs that end after a millisecond: the time a script needs to start
 * one would drown them. The command's streams are /dev/null. After SECONDS it gets SIGTERM, then
 * SIGKILL.
 */
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

extern char **environ;

static long long now_us(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000000LL + t.tv_nsec / 1000;
}

static int end_within(pid_t pid, int seconds, struct rusage *ret_used)
{
    struct pollfd p = {.fd = (int)syscall(SYS_pidfd_open, pid, 0), .events = POLLIN};
    static const int signals[] = {SIGTERM, SIGKILL};

    for (size_t i = 0; i < 2 && poll(&p, 1, seconds * 1000) == 0; i++, seconds = 5)
        kill(pid, signals[i]);
    close(p.fd);
    int status = 0;
    wait4(pid, &status, 0, ret_used);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

int main(int argc, char **argv)
{
    int seconds = argc > 2 ? (int)strtol(argv[1], NULL, 10) : 0;
    posix_spawn_file_actions_t streams;
    pid_t pid;

    if (seconds < 1) {
        fprintf(stderr, "usage: timed SECONDS COMMAND [ARG...]\n");
        return 2;
    }
    posix_spawn_file_actions_init(&streams);
    for (int fd = 0; fd < 3; fd++)
        posix_spawn_file_actions_addopen(&streams, fd, "/dev/null", O_RDWR, 0);

    long long begin = now_us();
    int r = posix_spawnp(&pid, argv[2], &streams, NULL, argv + 2, environ);
    if (r != 0) {
        fprintf(stderr, "timed: %s: %s\n", argv[2], strerror(r));
        return 127;
    }
    struct rusage used;
    int code = end_within(pid, seconds, &used);
    printf("%lld %ld\n", now_us() - begin, used.ru_maxrss);
    return code;
}
