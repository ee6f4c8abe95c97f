/* inherited.c - see inherited.h. */
#include "base/inherited.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/stat.h>

#include "base/creation.h"

void inherited_from_us(struct inherited *ret)
{
    ret->umask = creation_mask();
    for (int i = 0; i < RLIM_NLIMITS; i++)
        if (getrlimit(i, &ret->limits[i]) < 0)
            ret->limits[i] = (struct rlimit){RLIM_INFINITY, RLIM_INFINITY};
}

static bool belongs_to(pid_t pid, uid_t uid)
{
    char path[32];
    struct stat st;

    (void)snprintf(path, sizeof(path), "/proc/%d", (int)pid);
    return stat(path, &st) == 0 && st.st_uid == uid;
}

/* The number may be another process's by now. Then that one is the same user's, with limits that
 * this user has somewhere. */
int inherited_limits(pid_t pid, uid_t uid, struct inherited *ret, struct err *e)
{
    struct inherited out = {.umask = ret->umask};

    if (pid <= 0 || !belongs_to(pid, uid))
        return err_set(e, -EPERM, "cannot read the resource limits of process %d as uid %u",
                       (int)pid, uid);
    for (int i = 0; i < RLIM_NLIMITS; i++)
        if (prlimit(pid, i, NULL, &out.limits[i]) < 0)
            return err_sys(e, -errno, "cannot read the resource limits of process %d", (int)pid);
    if (!belongs_to(pid, uid))
        return err_set(e, -EPERM, "process %d has ended", (int)pid);
    *ret = out;
    return 0;
}

static rlim_t smaller(rlim_t a, rlim_t b)
{
    return a < b ? a : b; /* RLIM_INFINITY is the largest */
}

int inherited_apply(const struct inherited *inherited)
{
    for (int i = 0; i < RLIM_NLIMITS; i++) {
        struct rlimit now, v = inherited->limits[i];

        if (getrlimit(i, &now) < 0)
            continue; /* one that this kernel does not have */
        v.rlim_max = smaller(v.rlim_max, now.rlim_max);
        v.rlim_cur = smaller(v.rlim_cur, v.rlim_max);
        if (setrlimit(i, &v) < 0)
            return -errno;
    }
    (void)umask(inherited->umask);
    return 0;
}
