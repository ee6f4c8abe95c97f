/* force.c - see force.h. */
#include "engine/local/force.h"

#include <poll.h>
#include <signal.h>
#include <sys/pidfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cgroup.h"
#include "base/cleanup.h"
#include "base/limits.h"
#include "base/procs.h"

bool shim_is_stopped(const struct shim_process *sp)
{
    return sp->pid > 0 && proc_state(sp->pid) == 'T';
}

void shim_force_end(const struct shim_process *sp, char *const *cgroups)
{
    procs_kill_below(sp->pid);
    for (; cgroups && *cgroups; cgroups++)
        cgroup_kill(*cgroups);
    (void)pidfd_send_signal(sp->pidfd, SIGKILL, NULL, 0);
}

bool shim_wait_end(const struct shim_process *sp)
{
    ns_t deadline = clock_mono() + LIMIT_KILL_WAIT_MS * NS_PER_MS;
    struct pollfd pfd = {.fd = sp->pidfd, .events = POLLIN};
    siginfo_t info = {0};

    for (;;) {
        ns_t left = deadline - clock_mono();

        if (waitid(P_PID, (id_t)sp->pid, &info, WEXITED | WNOHANG) < 0 && errno != EINTR)
            return true; /* no child of ours any more */
        if (info.si_pid == sp->pid)
            return true;
        if (left <= 0)
            return false;
        (void)poll(&pfd, 1, (int)(left / NS_PER_MS) + 1);
    }
}
