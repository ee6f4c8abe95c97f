/* cgroup.c - see cgroup.h. */
#include "base/cgroup.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/io.h"
#include "base/mem.h"
#include "base/num.h"
#include "base/procs.h"

static const char *const names[] = {[CGROUP_MEMORY] = "memory", [CGROUP_CPU] = "cpu"};

const char *cgroup_controller_name(enum cgroup_controller c)
{
    return names[c];
}

/* --- finding ---------------------------------------------------------------------------------- */

/* Is word one of those in the list, which are separated by sep? */
static bool in_list(const char *list, char sep, const char *word)
{
    size_t n = strlen(word);

    for (const char *p = list; p; p = strchr(p, sep), p = p ? p + 1 : NULL) {
        if (strncmp(p, word, n) == 0 && (p[n] == sep || p[n] == '\0' || p[n] == '\n'))
            return true;
    }
    return false;
}

/* The path of our group in the hierarchy of a controller ("" = version 2): "4:cpu,cpuacct:/x". */
static char *group_path(const char *text, const char *controller)
{
    for (const char *line = text; *line;) {
        const char *end = strchrnul(line, '\n');
        const char *list = memchr(line, ':', (size_t)(end - line));
        const char *path = list ? memchr(list + 1, ':', (size_t)(end - list - 1)) : NULL;

        if (path) {
            auto_free char *controllers = xstrndup(list + 1, (size_t)(path - list - 1));

            if (*controller ? in_list(controllers, ',', controller) : !*controllers)
                return xstrndup(path + 1, (size_t)(end - path - 1));
        }
        line = *end ? end + 1 : end;
    }
    return NULL;
}

struct mount {
    char *root, *point, *type, *options; /* into the line */
};

/* "31 23 0:28 ROOT POINT rw,relatime shared:9 - TYPE source OPTIONS" */
static bool split_mount(char *line, struct mount *m)
{
    char *tail = strstr(line, " - "), *save = NULL, *fields[5];

    if (!tail)
        return false;
    *tail = '\0';
    for (int i = 0; i < 5; i++) {
        fields[i] = strtok_r(i ? NULL : line, " ", &save);
        if (!fields[i])
            return false;
    }
    m->root = fields[3];
    m->point = fields[4];
    m->type = strtok_r(tail + 3, " ", &save);
    (void)strtok_r(NULL, " ", &save);
    m->options = strtok_r(NULL, " ", &save);
    return m->type && m->options;
}

/* Where the group is as a directory, if this mount shows it: a mount may show only part of the
 * tree, and a group outside of it (or of the group namespace: "/..") cannot be reached. */
static char *directory(const struct mount *m, const char *path)
{
    size_t n = strcmp(m->root, "/") == 0 ? 0 : strlen(m->root);

    if (strncmp(path, m->root, n) != 0 || (path[n] != '/' && path[n] != '\0') ||
        strstr(path, "/..") || strchr(m->point, '\\'))
        return NULL;
    return xasprintf("%s%s", m->point, strcmp(path + n, "/") == 0 ? "" : path + n);
}

static char *find_directory(const char *mountinfo, const char *path, const char *controller)
{
    for (const char *line = mountinfo; path && *line;) {
        const char *end = strchrnul(line, '\n');
        auto_free char *copy = xstrndup(line, (size_t)(end - line));
        struct mount m;

        if (split_mount(copy, &m) && strcmp(m.type, *controller ? "cgroup" : "cgroup2") == 0 &&
            (!*controller || in_list(m.options, ',', controller))) {
            char *dir = directory(&m, path);

            if (dir)
                return dir;
        }
        line = *end ? end + 1 : end;
    }
    return NULL;
}

static bool offers(const char *dir, const char *controller)
{
    auto_strbuf struct strbuf list = STRBUF_INIT;
    auto_free char *path = xasprintf("%s/cgroup.controllers", dir);

    return io_read_file(AT_FDCWD, path, 4096, &list, NULL) == 0 &&
           in_list(list.buf, ' ', controller);
}

static void find_unified(const char *cgroup, const char *mountinfo, struct cgroup_own *own)
{
    static const char leaf[] = "/" CGROUP_LEAF;
    auto_free char *path = group_path(cgroup, "");
    auto_free char *dir = find_directory(mountinfo, path, "");
    size_t n = dir ? strlen(dir) : 0;

    if (!dir)
        return;
    if (n >= sizeof(leaf) && strcmp(dir + n - (sizeof(leaf) - 1), leaf) == 0)
        dir[n - (sizeof(leaf) - 1)] = '\0';
    own->unified = true;
    for (int c = 0; c < CGROUP_CONTROLLERS; c++) {
        if (offers(dir, names[c]))
            own->dirs[c] = xstrdup(dir);
    }
}

void cgroup_parse(const char *cgroup, const char *mountinfo, struct cgroup_own *ret)
{
    *ret = (struct cgroup_own){0};
    for (int c = 0; c < CGROUP_CONTROLLERS; c++) {
        auto_free char *path = group_path(cgroup, names[c]);

        ret->dirs[c] = find_directory(mountinfo, path, names[c]);
    }
    if (!ret->dirs[CGROUP_MEMORY] && !ret->dirs[CGROUP_CPU])
        find_unified(cgroup, mountinfo, ret);
}

int cgroup_find(struct cgroup_own *ret, struct err *e)
{
    auto_strbuf struct strbuf cgroup = STRBUF_INIT, mountinfo = STRBUF_INIT;
    int r = io_read_file(AT_FDCWD, "/proc/self/cgroup", LIMIT_FILE_BYTES, &cgroup, e);

    if (r == 0)
        r = io_read_file(AT_FDCWD, "/proc/self/mountinfo", LIMIT_FILE_BYTES, &mountinfo, e);
    if (r == 0)
        cgroup_parse(cgroup.buf, mountinfo.buf, ret);
    return r;
}

void cgroup_release(struct cgroup_own *own)
{
    for (int c = 0; c < CGROUP_CONTROLLERS; c++)
        free(own->dirs[c]);
    *own = (struct cgroup_own){0};
}

/* --- using ------------------------------------------------------------------------------------ */

static bool may_write(const char *dir, const char *file)
{
    auto_free char *path = xasprintf("%s/%s", dir, file);

    return access(path, W_OK) == 0;
}

static bool may_limit(const struct cgroup_own *own, enum cgroup_controller c, struct err *e)
{
    const char *dir = own->dirs[c];

    if (!dir)
        err_set(e, -ENOENT, "no %s control group is available", names[c]);
    else if (access(dir, W_OK) < 0)
        err_sys(e, -errno, "cannot create control groups below %s", dir);
    else if (own->unified &&
             (!may_write(dir, "cgroup.procs") || !may_write(dir, "cgroup.subtree_control")))
        err_set(e, -EPERM, "control group %s is not delegated to this user", dir);
    else
        return true;
    return false;
}

bool cgroup_usable(const char **ret_why)
{
    static char why[LIMIT_ERR_TEXT + sizeof(CGROUP_HINT) + 2];
    struct cgroup_own own;
    struct err e = {0};
    bool usable = cgroup_find(&own, &e) == 0;

    if (usable) {
        usable = may_limit(&own, CGROUP_MEMORY, &e) && may_limit(&own, CGROUP_CPU, &e);
        cgroup_release(&own);
    }
    if (!usable) {
        snprintf(why, sizeof(why), "%s; " CGROUP_HINT, e.text);
        *ret_why = why;
    }
    return usable;
}

int cgroup_write(const char *dir, const char *file, const char *text, struct err *e)
{
    auto_free char *path = xasprintf("%s/%s", dir, file);
    auto_close int fd = open(path, O_WRONLY | O_CLOEXEC);
    int r = fd < 0 ? -errno : io_write_all(fd, text, strlen(text));

    return r < 0 ? err_sys(e, r, "cannot write %s to %s", text, path) : 0;
}

static bool is_member(pid_t pid, void *ctx)
{
    auto_strbuf struct strbuf text = STRBUF_INIT;
    const char *line;

    if (io_read_file(AT_FDCWD, ctx, LIMIT_FRAME_BYTES, &text, NULL) < 0)
        return false;
    for (line = text.buf; *line; line += strcspn(line, "\n"), line += *line == '\n')
        if (strtol(line, NULL, 10) == pid)
            return true;
    return false;
}

void cgroup_kill(const char *dir)
{
    auto_free char *procs = xasprintf("%s/cgroup.procs", dir);

    if (cgroup_write(dir, "cgroup.kill", "1", NULL) < 0)
        procs_hunt(is_member, procs, 0);
}

int64_t cgroup_number(const char *dir, const char *file, const char *word)
{
    auto_strbuf struct strbuf text = STRBUF_INIT;
    auto_free char *path = xasprintf("%s/%s", dir, file);
    const char *p;
    int64_t v;

    if (io_read_file(AT_FDCWD, path, LIMIT_COUNTERS_BYTES, &text, NULL) < 0)
        return -1;
    p = *word ? strstr(text.buf, word) : text.buf;
    if (!p)
        return -1;
    p += strlen(word);
    text.buf[(size_t)(p - text.buf) + strcspn(p, "\n")] = '\0';
    return num_i64(p, &v) < 0 ? -1 : v;
}

int cgroup_enter_leaf(struct err *e)
{
    struct cgroup_own own = {0};
    int r = cgroup_find(&own, e);

    if (r == 0 && own.unified && own.dirs[CGROUP_MEMORY] && own.dirs[CGROUP_CPU]) {
        auto_free char *leaf = xasprintf("%s/" CGROUP_LEAF, own.dirs[CGROUP_MEMORY]);

        if (mkdir(leaf, 0755) < 0 && errno != EEXIST)
            r = err_sys(e, -errno, "cannot create control group %s", leaf);
        if (r == 0)
            r = cgroup_write(leaf, "cgroup.procs", "0", e);
        if (r == 0)
            r = cgroup_write(own.dirs[CGROUP_MEMORY], "cgroup.subtree_control", CGROUP_HAND_ON, e);
    }
    cgroup_release(&own);
    return r;
}
