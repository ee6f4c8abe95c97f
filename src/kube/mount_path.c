/* mount_path.c - see mount_path.h. */
#include "kube/mount_path.h"

#include <stdbool.h>
#include <string.h>

#include "base/mem.h"

/* The next component of the path, without slashes and "."; false at its end. */
static bool next_part(const char **path, const char **ret, size_t *ret_n)
{
    do {
        *path += strspn(*path, "/");
        *ret = *path;
        *ret_n = strcspn(*path, "/");
        *path += *ret_n;
    } while (*ret_n == 1 && **ret == '.');
    return *ret_n > 0;
}

static bool is_part(const char *part, size_t n, const char *word)
{
    return n == strlen(word) && strncmp(part, word, n) == 0;
}

static const char *refused(const char *path)
{
    static const char *const places[] = {"proc", "sys", "dev"};
    const char *rest = path, *first, *part;
    size_t n_first, n, count = 1;

    if (!next_part(&rest, &first, &n_first))
        return "the root of a replica";
    bool up = is_part(first, n_first, "..");
    for (; next_part(&rest, &part, &n); count++)
        up = up || is_part(part, n, "..");
    if (up)
        return "a path that leads through `..`";
    for (size_t i = 0; i < ARRAY_SIZE(places); i++)
        if (is_part(first, n_first, places[i]) && (i == 0 || count == 1))
            return i == 0 ? "the kernel's /proc" : i == 1 ? "the kernel's /sys" : "all of /dev";
    return NULL;
}

void check_mount_path(const struct binder *b, const struct node *at, const char *path)
{
    const char *what = refused(path);

    if (what)
        diag_at(b->ds, at, "E0312", "mount it at a separate directory, such as /data",
                "a volume cannot be mounted at %s: it is %s", *path ? path : "\"\"",
                *path ? what : "an empty path");
}
