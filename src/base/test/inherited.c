/* inherited.c - what is read of a process is what it has, and nothing is raised by applying it. */
#include "base/inherited.h"

#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/creation.h"
#include "base/tap.h"

static bool same(const struct inherited *a, const struct inherited *b)
{
    for (int i = 0; i < RLIM_NLIMITS; i++)
        if (a->limits[i].rlim_cur != b->limits[i].rlim_cur ||
            a->limits[i].rlim_max != b->limits[i].rlim_max)
            return false;
    return true;
}

int main(void)
{
    struct inherited us, read = {.umask = 07}, more;
    struct rlimit files = {50, 60};
    struct err e;

    (void)umask(027);
    creation_begin();
    (void)setrlimit(RLIMIT_NOFILE, &files);
    inherited_from_us(&us);
    ok(us.umask == 027, "the umask is that before creation_begin()");
    ok(inherited_limits(getpid(), geteuid(), &read, &e) == 0, "limits of a process are read");
    ok(same(&us, &read), "as it has them");
    ok(read.umask == 07, "the umask stays");
    ok(inherited_limits(getpid(), geteuid() + 1, &read, &e) == -EPERM,
       "those of another user's process are not");
    ok(inherited_limits(0, geteuid(), &read, &e) == -EPERM, "nor those of none");

    more = us;
    more.limits[RLIMIT_NOFILE] = (struct rlimit){RLIM_INFINITY, RLIM_INFINITY};
    more.limits[RLIMIT_CORE] = (struct rlimit){0, 0};
    ok(inherited_apply(&more) == 0, "limits are applied");
    inherited_from_us(&read);
    ok(read.limits[RLIMIT_NOFILE].rlim_max == 60, "none is raised");
    ok(read.limits[RLIMIT_CORE].rlim_max == 0, "others are lowered");
    return tap_done();
}
