/* elsewhere.c - an mpirun of this pod whose ranks are in other pods.
 *
 * The supervisors there see the ranks and cannot see mpirun; this one sees mpirun, whose rsh agents
 * name it by its origin, and reports its end and the signal that ended it. The engine puts both
 * together.
 */
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/kernel.h"
#include "base/mem.h"
#include "shim/daemon.h"
#include "shim/pod.h"
#include "shim/server.h"

struct elsewhere {
    struct watch watch; /* first; of its mpirun */
    struct elsewhere *next;
    struct launch_name name;
    struct loss loss;
    int mpirun_fd;
    pid_t pid, stand_in;
    char origin[];
};

static void mpirun_ended(struct shim *s, struct watch *w)
{
    struct elsewhere *l = (struct elsewhere *)w;
    struct strbuf *out = &s->link.out;
    size_t frame;

    close(TAKE_FD(l->mpirun_fd));
    server_catch_up(s); /* its stand-in may know why */
    frame = report_begin(s, WIRE_LAUNCH_OVER);
    launch_put(out, &l->name);
    wire_put_i64(out, clock_run());
    launch_put_end(out, NULL, 0);
    report_end(s, frame);
}

static struct elsewhere *find(const struct shim *s, const char *origin)
{
    struct elsewhere *l = s->pod->elsewhere;

    while (l && strcmp(l->origin, origin) != 0)
        l = l->next;
    return l;
}

const struct launch_name *elsewhere_name(const struct shim *s, pid_t stand_in)
{
    for (const struct elsewhere *l = s->pod ? s->pod->elsewhere : NULL; l; l = l->next)
        if (l->stand_in == stand_in)
            return &l->name;
    return NULL;
}

void elsewhere_add(struct shim *s, pid_t agent, const char *origin)
{
    pid_t pid = s->pod && *origin && !find(s, origin) ? mpirun_above(agent) : 0;
    auto_close int fd = pid ? pidfd_open(pid, 0) : -1;
    struct elsewhere *l;

    if (fd < 0)
        return;
    l = xcalloc(1, sizeof(*l) + strlen(origin) + 1);
    memcpy(l->origin, origin, strlen(origin));
    l->name = (struct launch_name){.origin = l->origin, .id = ""};
    l->watch.ready = mpirun_ended;
    l->pid = pid;
    l->stand_in = mpirun_stand_in(pid);
    l->mpirun_fd = -1;
    l->next = s->pod->elsewhere;
    s->pod->elsewhere = l;
    if (shim_watch(s, fd, &l->watch) == 0)
        l->mpirun_fd = TAKE_FD(fd);
}

/* It is ours to reap only if its stand-in, which would have told the signal, was killed. */
void elsewhere_reaped(struct shim *s, pid_t pid, int status)
{
    for (struct elsewhere *l = s->pod ? s->pod->elsewhere : NULL; l; l = l->next)
        if (l->pid == pid && WIFSIGNALED(status))
            launch_signalled(s, &l->loss, &l->name, WTERMSIG(status), clock_run());
}

/* The same before it is reaped, when its script's end is about to be reported. A stand-in that was
 * killed takes mpirun along, perhaps in a moment. */
void elsewhere_check(struct shim *s)
{
    for (struct elsewhere *l = s->pod ? s->pod->elsewhere : NULL; l; l = l->next) {
        siginfo_t si = {0};

        if (server_stand_in(s, l->stand_in) && pid_is_dead(l->stand_in))
            launch_signalled(s, &l->loss, &l->name, SIGKILL, clock_run());
        if (waitid(P_PID, (id_t)l->pid, &si, WEXITED | WNOHANG | WNOWAIT) == 0 &&
            si.si_pid == l->pid && (si.si_code == CLD_KILLED || si.si_code == CLD_DUMPED))
            launch_signalled(s, &l->loss, &l->name, si.si_status, clock_run());
    }
}

bool elsewhere_signalled(struct shim *s, pid_t stand_in, int sig, ns_t at)
{
    for (struct elsewhere *l = s->pod ? s->pod->elsewhere : NULL; l; l = l->next)
        if (l->stand_in == stand_in) {
            launch_signalled(s, &l->loss, &l->name, sig, at);
            return true;
        }
    return false;
}
