/* elsewhere.c - an mpirun of this pod whose ranks are in other pods.
 *
 * The supervisors there see the ranks and cannot see mpirun; this one sees mpirun, whose rsh agents
 * name it by its origin, and reports its end and the signal that ended it. The engine puts both
 * together.
 */
#include <stdlib.h>
#include <string.h>
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
    pid_t stand_in;
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
    report_end(s, frame);
}

static struct elsewhere *find(const struct shim *s, const char *origin)
{
    struct elsewhere *l = s->pod->elsewhere;

    while (l && strcmp(l->origin, origin) != 0)
        l = l->next;
    return l;
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
    l->stand_in = mpirun_stand_in(pid);
    l->mpirun_fd = -1;
    l->next = s->pod->elsewhere;
    s->pod->elsewhere = l;
    if (shim_watch(s, fd, &l->watch) == 0)
        l->mpirun_fd = TAKE_FD(fd);
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
