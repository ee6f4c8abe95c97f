/* mounts.c - see mounts.h. */
#include "shim/mounts.h"

#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/io.h"
#include "base/kernel.h"
#include "base/mem.h"

void mounts_release(struct mounts *ms)
{
    for (size_t i = 0; i < ms->n; i++) {
        free(ms->v[i].path);
        if (ms->v[i].tree >= 0)
            close(ms->v[i].tree);
    }
    free(ms->v);
}

static bool is_pseudo(const char *type)
{
    static const char *const types[] = {
        "proc",     "sysfs",   "devtmpfs", "devpts",   "mqueue",      "cgroup",     "cgroup2",
        "debugfs",  "tracefs", "bpf",      "configfs", "binfmt_misc", "securityfs", "pstore",
        "efivarfs", "fusectl", "autofs",   "nsfs",     "hugetlbfs",   "rpc_pipefs", "selinuxfs",
    };

    for (size_t i = 0; i < ARRAY_SIZE(types); i++)
        if (strcmp(types[i], type) == 0)
            return true;
    return false;
}

bool mount_is_below(const char *path, const char *dir)
{
    size_t n = strcmp(dir, "/") == 0 ? 0 : strlen(dir);

    return strncmp(path, dir, n) == 0 && path[n] == '/' && path[n + 1];
}

/* \040 and its like. */
static void unescape(char *text)
{
    char *to = text;

    for (const char *p = text; *p; to++) {
        if (p[0] == '\\' && p[1] >= '0' && p[1] <= '3' && p[2] && p[3]) {
            *to = (char)((p[1] - '0') * 64 + (p[2] - '0') * 8 + (p[3] - '0'));
            p += 4;
        } else {
            *to = *p++;
        }
    }
    *to = '\0';
}

/* Another mount may lie over it, or over a directory above it. */
static bool is_visible(const char *path, uint64_t id)
{
    struct statx st;

    return statx(AT_FDCWD, path, AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT, STATX_MNT_ID, &st) == 0 &&
           st.stx_mnt_id == id;
}

/* Of the same mount point only the last is left. What is below a pseudo file system comes with it.
 */
static void add_mount(struct mounts *ms, char *path, uint64_t id, const char *type)
{
    for (size_t i = 0; i < ms->n; i++)
        if (ms->v[i].pseudo && mount_is_below(path, ms->v[i].path))
            return;
    unescape(path);
    if (strcmp(path, "/") == 0 || !is_visible(path, id))
        return;
    GROW(ms->v, ms->n, ms->cap);
    ms->v[ms->n++] = (struct seen){xstrdup(path), is_pseudo(type), -1};
}

/* "ID PARENT MAJOR:MINOR ROOT PATH OPTIONS [TAG…] - TYPE SOURCE SUPER" */
static void read_line(struct mounts *ms, char *line)
{
    char *save = NULL, *path = NULL, *word = strtok_r(line, " ", &save);
    uint64_t id = word ? strtoull(word, NULL, 10) : 0;

    for (int field = 1; word && strcmp(word, "-") != 0; field++) {
        word = strtok_r(NULL, " ", &save);
        if (field == 4)
            path = word;
    }
    word = word ? strtok_r(NULL, " ", &save) : NULL;
    if (path && word)
        add_mount(ms, path, id, word);
}

int mounts_read(struct mounts *ms, struct err *e)
{
    auto_strbuf struct strbuf text = STRBUF_INIT;
    char *save = NULL;
    int r = io_read_file(AT_FDCWD, "/proc/self/mountinfo", LIMIT_FRAME_BYTES, &text, e);

    if (r < 0)
        return r;
    for (char *line = strtok_r(text.buf, "\n", &save); line; line = strtok_r(NULL, "\n", &save))
        read_line(ms, line);
    return 0;
}
