/* probe.c - can a level of isolation be had here? Found out by doing all of it once: a kernel may
 * allow a namespace and a security module forbid the first mount in it.
 */
#include <errno.h>
#include <string.h>
#include <sys/mount.h>
#include <unistd.h>

#include "base/io.h"
#include "shim/overlay.h"
#include "shim/roles.h"
#include "shim/shim.h"

#define PLACE "/tmp" /* any directory that there is: it is hidden by a tmpfs */

/* Nothing of it reaches a disk: the layer of the trial is in memory. */
static int try_overlay(struct shim *s, struct err *e)
{
    if (s->overlay.wanted && mount("tmpfs", PLACE, "tmpfs", 0, "mode=0700") < 0)
        return err_sys(e, -errno, "cannot mount a tmpfs on " PLACE);
    return overlay_prepare(s, e);
}

int probe_main(int argc, char **argv)
{
    static char name[] = "probe", address[] = "10.77.0.1", place[] = PLACE "/layer";
    struct shim s = {.scratch_fd = -1, .n_replicas = 1};
    struct replica r = {.name = name, .host = name, .address = address, .shm = -1};
    struct err e = {0};
    bool ok;

    if (!level_of(argv[1], &s.level) || getpid() != 1)
        return 2;
    s.replicas = &r;
    s.overlay =
        (struct overlay){.wanted = argc > 2 && strcmp(argv[2], "overlay") == 0, .base = place};
    /* The machine's own /etc/hosts over itself is as good as any. */
    ok = setup_namespaces(&s, "/etc", &e) == 0 && try_overlay(&s, &e) == 0 &&
         replica_open(&s, &r, &e) == 0;
    if (!ok)
        (void)io_write_all(WIRE_FD, e.text, strlen(e.text));
    strbuf_release(&s.link.out); /* notes, which are for a run */
    if (!ok && (e.code == -EMFILE || e.code == -ENFILE || e.code == -ENOMEM || e.code == -EAGAIN))
        return WIRE_PROBE_LACKS;
    return !ok;
}
