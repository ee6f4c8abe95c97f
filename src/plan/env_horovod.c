/* env_horovod.c - what horovodrun and Horovod's own transport need where all hosts are one machine.
 *
 * Rows as in env_mpi.c: defaults, each with its reason. horovodrun finds ssh on PATH and its hosts
 * in /etc/hosts, so little is left. Its cache of reachable hosts has no variable: a lint speaks of
 * it (lints.c).
 */
#include "plan/env.h"

static const struct env_default defaults[] = {
    {.name = "HOROVOD_GLOO_IFACE",
     .where = INTERFACE,
     .why = "otherwise Horovod uses every network interface"},
    {.name = "HOROVOD_START_TIMEOUT",
     .value = "300",
     .why = "30 s is short for many hosts on few cores"},
};

void env_horovod(struct env_set *set, const struct plan *plan, const struct process *process)
{
    (void)process;
    for (size_t i = 0; i < ARRAY_SIZE(defaults); i++)
        env_put_default(set, plan, &defaults[i]);
}
