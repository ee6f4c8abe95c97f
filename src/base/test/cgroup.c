/* cgroup.c - finding one's own control groups in what /proc says. */
#include "base/cgroup.h"

#include <stddef.h>

#include "base/tap.h"

static const char hybrid_mounts[] =
    "22 27 0:21 / /proc rw - proc proc rw\n"
    "32 31 0:29 / /sys/fs/cgroup/cpu,cpuacct rw shared:9 - cgroup cgroup rw,cpu,cpuacct\n"
    "35 31 0:32 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n"
    "41 31 0:38 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n";

static void parse(const char *name, const char *cgroup, const char *mounts, const char *memory,
                  const char *cpu)
{
    struct cgroup_own own;

    cgroup_parse(cgroup, mounts, &own);
    is_str(own.dirs[CGROUP_MEMORY], memory, "%s: memory", name);
    is_str(own.dirs[CGROUP_CPU], cpu, "%s: cpu", name);
    cgroup_release(&own);
}

int main(void)
{
    const char *why = NULL;

    parse("hybrid", "9:name=systemd:/\n4:memory:/a/b\n1:cpu,cpuacct:/\n0::/u\n", hybrid_mounts,
          "/sys/fs/cgroup/memory/a/b", "/sys/fs/cgroup/cpu,cpuacct");
    parse("cpuset is not cpu", "3:cpuset:/x\n4:memory:/m\n", hybrid_mounts,
          "/sys/fs/cgroup/memory/m", NULL);
    parse("a mount of a part", "4:memory:/docker/c1/job\n",
          "35 31 0:32 /docker/c1 /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n",
          "/sys/fs/cgroup/memory/job", NULL);
    parse("a group outside of the mount", "4:memory:/docker/c10\n",
          "35 31 0:32 /docker/c1 /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n", NULL, NULL);
    parse("a group outside of the namespace", "4:memory:/../other\n", hybrid_mounts, NULL, NULL);
    parse("nothing", "", "", NULL, NULL);
    parse("nonsense", "x\n:::\n4:memory\n", "35 31 - cgroup\n\n - \n", NULL, NULL);
    ok(cgroup_usable(&why) || why, "usable, or a reason");
    return tap_done();
}
