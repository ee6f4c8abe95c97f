/* inherited.c - see inherited.h. */
#include "base/inherited.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/creation.h"
#include "base/io.h"

void inherited_from_us(struct inherited *ret)
{
    ret->umask = creation_mask();
    for (int i = 0; i < RLIM_NLIMITS; i++)
        if (getrlimit(i, &ret->limits[i]) < 0)
            ret->limits[i] = (struct rlimit){RLIM_INFINITY, RLIM_INFINITY};
}

/* "Max open files            1024                 524288               files": from columns on. */
#define SOFT_COLUMN 26
#define HARD_COLUMN 47

static bool read_limit(const char *line, size_t column, rlim_t *ret)
{
    char *end;

    if (strcspn(line, "\n") <= column)
        return false;
    line += column;
    if (strncmp(line, "unlimited ", strlen("unlimited ")) == 0) {
        *ret = RLIM_INFINITY;
        return true;
    }
    *ret = strtoull(line, &end, 10);
    return end != line && *end == ' ';
}

/* By way of /proc, because prlimit() needs a capability that root in a container may not have. The
 * lines are in the order of the numbers. */
static bool read_limits(int dir, struct inherited *ret)
{
    auto_strbuf struct strbuf text = STRBUF_INIT;

    if (io_read_file(dir, "limits", 16 * 1024, &text, NULL) < 0)
        return false;
    const char *line = strchr(text.buf, '\n'); /* that of the heads */
    for (int i = 0; line && i < RLIM_NLIMITS; i++, line = strchr(line + 1, '\n'))
        if (!read_limit(line + 1, SOFT_COLUMN, &ret->limits[i].rlim_cur) ||
            !read_limit(line + 1, HARD_COLUMN, &ret->limits[i].rlim_max))
            return false;
    return line;
}

/* The directory is that of one process, also if its number is given to another one meanwhile. */
int inherited_limits(pid_t pid, uid_t uid, struct inherited *ret, struct err *e)
{
    struct inherited out = *ret;
    char path[32];
    struct stat st;

    (void)snprintf(path, sizeof(path), "/proc/%d", (int)pid);
    auto_close int dir = pid > 0 ? open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
    if (dir < 0 || fstat(dir, &st) < 0 || st.st_uid != uid || !read_limits(dir, &out))
        return err_set(e, -EPERM, "cannot read the resource limits of process %d of uid %u",
                       (int)pid, uid);
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
