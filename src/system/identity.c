/* identity.c - see identity.h. */
#include "system/identity.h"

#include <errno.h>
#include <grp.h>
#include <linux/capability.h>
#include <linux/keyctl.h>
#include <linux/securebits.h>
#include <pwd.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/mem.h"

#define MOST_GROUPS 65536 /* NGROUPS_MAX */

/* --- looking up ------------------------------------------------------------------------------- */

static int find_groups(struct identity *id, struct err *e)
{
    int n = 64;

    for (;;) {
        int room = n;

        free(id->groups);
        id->groups = xcalloc((size_t)n, sizeof(*id->groups));
        if (getgrouplist(id->name, id->gid, id->groups, &n) >= 0) {
            id->n_groups = n;
            return 0;
        }
        if (n <= room)
            n = room * 2;
        if (n > MOST_GROUPS)
            return err_set(e, -E2BIG, "user %s has more than %d groups", id->name, MOST_GROUPS);
    }
}

int identity_find(uid_t uid, struct identity *ret, struct err *e)
{
    struct identity id = {.uid = uid};

    errno = 0;
    const struct passwd *pw = getpwuid(uid);
    if (!pw)
        return errno && errno != ENOENT && errno != ESRCH
                   ? err_sys(e, -errno, "cannot look up uid %u", uid)
                   : err_set(e, -ENOENT, "uid %u is not in the user database", uid);
    id.gid = pw->pw_gid;
    id.name = xstrdup(pw->pw_name);
    id.home = xstrdup(pw->pw_dir);
    id.shell = xstrdup(*pw->pw_shell ? pw->pw_shell : "/bin/sh");
    int r = find_groups(&id, e);
    if (r < 0) {
        identity_release(&id);
        return r;
    }
    *ret = id;
    return 0;
}

void identity_release(struct identity *id)
{
    free(id->groups);
    free(id->name);
    free(id->home);
    free(id->shell);
    *id = (struct identity){0};
}

/* --- becoming --------------------------------------------------------------------------------- */

static int by_gid(const void *a, const void *b)
{
    gid_t x = *(const gid_t *)a, y = *(const gid_t *)b;

    return x < y ? -1 : x > y;
}

/* The kernel has exactly these; both lists are in any order. */
static bool has_groups(const struct identity *id)
{
    int n = getgroups(0, NULL);

    if (n != id->n_groups)
        return false;
    auto_free gid_t *now = xcalloc((size_t)n + 1, sizeof(*now));
    auto_free gid_t *want = xcalloc((size_t)n + 1, sizeof(*want));
    if (getgroups(n, now) != n)
        return false;
    memcpy(want, id->groups, (size_t)n * sizeof(*want));
    qsort(now, (size_t)n, sizeof(*now), by_gid);
    qsort(want, (size_t)n, sizeof(*want), by_gid);
    return memcmp(now, want, (size_t)n * sizeof(*now)) == 0;
}

static bool has_capabilities(void)
{
    struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3];

    if (syscall(SYS_capget, &header, data) < 0)
        return true;
    for (size_t i = 0; i < _LINUX_CAPABILITY_U32S_3; i++)
        if (data[i].effective || data[i].permitted)
            return true;
    return false;
}

/* Nothing of before may be left, and there is no way back. */
static int verify(const struct identity *id, struct err *e)
{
    uid_t r, s, u;
    gid_t rg, sg, g;

    if (getresuid(&r, &u, &s) < 0 || r != id->uid || u != id->uid || s != id->uid)
        return err_set(e, -EPERM, "the process has not become uid %u", id->uid);
    if (getresgid(&rg, &g, &sg) < 0 || rg != id->gid || g != id->gid || sg != id->gid)
        return err_set(e, -EPERM, "the process has not become gid %u", id->gid);
    if (!has_groups(id))
        return err_set(e, -EPERM, "the process has not the groups of %s", id->name);
    if (id->uid == 0)
        return 0;
    if (has_capabilities())
        return err_set(e, -EPERM, "the process has kept capabilities");
    if (setuid(0) == 0 || seteuid(0) == 0)
        return err_set(e, -EPERM, "the process can become root again");
    return 0;
}

int identity_become(const struct identity *id, struct err *e)
{
    /* With these the change of uid would not take capabilities away. */
    if (prctl(PR_GET_SECUREBITS, 0, 0, 0, 0) & (SECBIT_NO_SETUID_FIXUP | SECBIT_KEEP_CAPS))
        return err_set(e, -EPERM, "securebits of this process keep capabilities");
    (void)prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
    if (setgroups((size_t)id->n_groups, id->groups) < 0)
        return err_sys(e, -errno, "cannot set the groups of %s", id->name);
    if (setresgid(id->gid, id->gid, id->gid) < 0)
        return err_sys(e, -errno, "cannot become gid %u", id->gid);
    if (setresuid(id->uid, id->uid, id->uid) < 0)
        return err_sys(e, -errno, "cannot become uid %u", id->uid);
    /* Else the keys of our session would be the user's, too. Without keyrings it fails. */
    (void)syscall(SYS_keyctl, KEYCTL_JOIN_SESSION_KEYRING, NULL);
    return verify(id, e);
}
