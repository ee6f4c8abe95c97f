/*
 * pause.c - the process that keeps a pod's namespaces: it waits, buries orphans, and ends when told to.
 */
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

static void end(int signo)
{
    (void)signo;
    _exit(0);
}

static void bury(int signo)
{
    (void)signo;
    while (waitpid(-1, NULL, WNOHANG) > 0)
        ;
}

int main(void)
{
    struct sigaction action = {.sa_handler = end};

    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
    action.sa_handler = bury;
    action.sa_flags = SA_NOCLDSTOP;
    sigaction(SIGCHLD, &action, NULL);
    for (;;)
        pause();
}
