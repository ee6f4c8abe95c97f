/* main.c - muster-shim's roles, by the name it is called by or by its first argument.
 *
 *     muster-shim supervise      stays with a job's processes (started by muster alone)
 *     muster-shim probe          tries whether a level of isolation can be had here (likewise)
 *     ssh, rsh                   the rsh agent: runs a command inside a replica
 *     muster-rank                wraps one MPI rank
 *     mpirun…, mpiexec…          stands in for the real one, which it starts
 *     muster-shim pod            the same as supervise, as the first process of a container
 *     muster-shim connect        the way from outside to the one above, by its own streams
 *     muster-shim peer           the way from another pod of the run, by a connection
 *     muster-shim exec           a command in this pod for somebody outside, by its own streams
 *     muster-shim host           around a worker of the operator: runs commands of its launcher
 *     muster-shim kubexec        the rsh agent of such a launcher
 *     muster-shim launch         around the command of a launcher of the operator
 *     muster-record              wraps one MPI rank of that, and reports to it
 *
 * With SHIM_RECORDS it has the last two alone, and is a fifth of the size: each job of the operator
 * has a copy.
 */
#include <stdio.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/io.h"
#include "shim/roles.h"

static const struct role {
    const char *name; /* of the program, or its first argument */
    int (*main)(int argc, char **argv);
} roles[] = {
#ifndef SHIM_RECORDS
    {"supervise", supervise_main}, {"probe", probe_main},
    {"agent", agent_main},         {"ssh", agent_main},
    {"rsh", agent_main},           {"muster-rank", rank_main},
    {"rank", rank_main},           {"pod", pod_main},
    {"connect", connect_main},     {"peer", peer_main},
    {"exec", exec_main},           {"try", try_main},
    {"host", host_main},           {"kubexec", kubexec_main},
#endif
    {"launch", launch_main},       {"muster-record", record_main},
    {"mpirun", mpirun_main},
};

static const struct role *find_role(const char *name)
{
    if (strncmp(name, "mpirun", 6) == 0 || strncmp(name, "mpiexec", 7) == 0 ||
        strcmp(name, "orterun") == 0)
        name = "mpirun";
    for (size_t i = 0; i < ARRAY_SIZE(roles); i++) {
        if (strcmp(roles[i].name, name) == 0)
            return &roles[i];
    }
    return NULL;
}

#ifdef __SANITIZE_ADDRESS__
/* LeakSanitizer traces the process from a thread of its own. In the first process of a pid
 * namespace that hangs now and then, for ever and with a core to itself. */
int __lsan_is_turned_off(void);
int __lsan_is_turned_off(void)
{
    return getpid() == 1;
}
#endif

int main(int argc, char **argv)
{
    static const char usage[] = "muster-shim: this program is run by muster, not by hand\n";
    const struct role *role;

    if (getauxval(AT_SECURE) || argc < 1 || !io_fill_streams())
        return 2;
    role = find_role(basename(argv[0]));
    if (!role && argc > 1) {
        role = find_role(argv[1]);
        argc--;
        argv++;
    }
    if (!role) {
        (void)io_write_all(STDERR_FILENO, usage, sizeof(usage) - 1);
        return 2;
    }
    return role->main(argc, argv);
}
