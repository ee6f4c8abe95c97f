/* drain.c - see drain.h. */
#include "foreground/drain.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/limits.h"

static const int ends[] = {SIGINT, SIGTERM, SIGHUP};
static const int passed_on[] = {SIGUSR1, SIGUSR2};

void drain_hold_signals(void)
{
    sigset_t set;

    (void)sigemptyset(&set);
    for (size_t i = 0; i < ARRAY_SIZE(ends); i++)
        (void)sigaddset(&set, ends[i]);
    for (size_t i = 0; i < ARRAY_SIZE(passed_on); i++)
        (void)sigaddset(&set, passed_on[i]);
    (void)sigprocmask(SIG_BLOCK, &set, NULL);
}

bool drain_hurried(void)
{
    sigset_t set;

    (void)sigpending(&set);
    for (size_t i = 0; i < ARRAY_SIZE(ends); i++)
        if (sigismember(&set, ends[i]))
            return true;
    return false;
}

void drain_close(int fd)
{
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);

    if (null < 0)
        return;
    (void)dup2(null, fd);
    (void)close(null);
}

/* Only calls that a handler may make. The write that was waiting, or the next one, finds /dev/null.
 */
static void on_late(int sig)
{
    int before = errno;

    (void)sig;
    for (int fd = STDOUT_FILENO; fd <= STDERR_FILENO; fd++) {
        struct pollfd pfd = {.fd = fd, .events = POLLOUT};

        if (poll(&pfd, 1, 0) == 0)
            drain_close(fd);
    }
    errno = before;
}

void drain_guard(void)
{
    /* A write that a signal meets begins again, and finds /dev/null if nobody reads; what opens a
     * report's pipe goes on waiting. Only the timer ends that. */
    const struct sigaction hurry = {.sa_handler = on_late, .sa_flags = SA_RESTART};
    const struct sigaction late = {.sa_handler = on_late};
    const struct itimerval often = {.it_interval = {.tv_sec = LIMIT_DRAIN_MS / 1000},
                                    .it_value = {.tv_sec = LIMIT_DRAIN_MS / 1000}};
    struct sigaction was;
    sigset_t set;

    (void)sigemptyset(&set);
    for (size_t i = 0; i < ARRAY_SIZE(ends); i++) {
        (void)sigaddset(&set, ends[i]);
        if (sigaction(ends[i], NULL, &was) == 0 && was.sa_handler != SIG_IGN)
            (void)sigaction(ends[i], &hurry, NULL);
    }
    (void)sigaction(SIGALRM, &late, NULL);
    (void)setitimer(ITIMER_REAL, &often, NULL);
    (void)sigprocmask(SIG_UNBLOCK, &set, NULL);
}
