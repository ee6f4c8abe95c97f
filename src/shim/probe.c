/* probe.c - can a level of isolation be had here? Found out by doing all of it once: a kernel may
 * allow a namespace and a security module forbid the first mount in it.
 */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/io.h"
#include "shim/roles.h"
#include "shim/shim.h"

int probe_main(int argc, char **argv)
{
    static char name[] = "probe", address[] = "10.77.0.1";
    struct shim s = {.scratch_fd = -1, .n_replicas = 1};
    struct replica r = {.name = name, .host = name, .address = address, .shm = -1};
    struct err e = {0};

    (void)argc;
    if (!level_of(argv[1], &s.level) || getpid() != 1)
        return 2;
    s.replicas = &r;
    /* The machine's own /etc/hosts over itself is as good as any. */
    if (setup_namespaces(&s, "/etc", &e) < 0 || replica_open(&s, &r, &e) < 0) {
        (void)io_write_all(WIRE_FD, e.text, strlen(e.text));
        return 1;
    }
    return 0;
}
