/* code.c - see code.h. */
#include "engine/code.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/io.h"
#include "base/limits.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "engine/ignore.h"

enum {
    SEEN_AT_MOST = 200000, /* entries that are counted when there are too many to send */
    LARGEST = 3,           /* entries that are named then */
};

struct share { /* of an entry at the top */
    const char *name;
    int64_t bytes;
    size_t files;
};

struct walk {
    struct code_list *list;
    struct ignore ignore;
    const char *from, *to; /* the top */
    int64_t bytes;         /* of all, also of those that are too much */
    size_t seen, before;
    struct share *shares; /* heap */
    size_t n_shares, cap_shares;
    const char *option; /* what the user can do if it cannot be done */
    struct err *e;
};

static bool is_too_much(const struct walk *w)
{
    return w->list->bytes + w->bytes > LIMIT_CODE_BYTES || w->before + w->seen > LIMIT_CODE_FILES;
}

/* --- one entry -------------------------------------------------------------------------------- */

/* Does a link in a directory so deep below the top lead out of it? */
static bool leads_out(const char *path, const char *target)
{
    int depth = 0;

    for (const char *c = path; *c; c++)
        depth += *c == '/';
    if (*target == '/')
        return true;
    while (*target) {
        size_t n = strcspn(target, "/");

        if (n == 2 && strncmp(target, "..", 2) == 0)
            depth--;
        else if (n > 0 && !(n == 1 && *target == '.'))
            depth++;
        if (depth < 0)
            return true;
        target += n + (target[n] == '/');
    }
    return false;
}

static int read_target(struct walk *w, int fd, const char *name, const char *path,
                       struct code_entry *entry)
{
    char target[PATH_MAX];
    ssize_t n = readlinkat(fd, name, target, sizeof(target) - 1);

    if (n < 0)
        return err_sys(w->e, -errno, "cannot read the link %s", entry->from);
    target[n] = '\0';
    entry->target = arena_strdup(w->list->a, target);
    entry->leads_out = leads_out(path, target);
    if (entry->leads_out && w->list->leads_out++ == 0)
        w->list->first_out = arena_strdup(w->list->a, path);
    return 0;
}

static void add(struct walk *w, const struct code_entry *entry)
{
    struct code_list *list = w->list;

    w->seen++;
    w->bytes += entry->size;
    if (w->n_shares > 0) {
        w->shares[w->n_shares - 1].bytes += entry->size;
        w->shares[w->n_shares - 1].files++;
    }
    if (is_too_much(w))
        return;
    GROW(list->v, list->n, list->cap);
    list->v[list->n++] = *entry;
}

/* A file system like /proc or /sys. */
static bool is_kernels(int fd)
{
    static const long types[] = {PROC_SUPER_MAGIC, SYSFS_MAGIC,   CGROUP_SUPER_MAGIC,
                                 DEBUGFS_MAGIC,    TRACEFS_MAGIC, CGROUP2_SUPER_MAGIC};
    struct statfs fs;

    for (size_t i = 0; fstatfs(fd, &fs) == 0 && i < ARRAY_SIZE(types); i++)
        if ((long)fs.f_type == types[i])
            return true;
    return false;
}

static const char *place_of(const struct walk *w)
{
    return w->list->place ? w->list->place : "sent to the pods";
}

/* --- directories ------------------------------------------------------------------------------ */

static int walk_dir(struct walk *w, int fd, const char *path, int depth);

static int walk_entry(struct walk *w, int fd, const char *name, const char *path, int depth)
{
    struct arena *a = w->list->a;
    struct code_entry entry = {.from = arena_printf(a, "%s/%s", w->from, path),
                               .to = arena_printf(a, "%s/%s", w->to, path)};
    struct stat st;

    if (fstatat(fd, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
        return errno == ENOENT ? 0 : err_sys(w->e, -errno, "cannot access %s", entry.from);
    bool is_git = strcmp(name, ".git") == 0;
    bool skipped = w->list->skip && strcmp(entry.from, w->list->skip) == 0;
    if (is_git || skipped || ignore_has(&w->ignore, path, S_ISDIR(st.st_mode))) {
        w->list->left_out += !is_git;
        entry.is_left_out = true;
        if (w->list->names_left_out)
            add(w, &entry);
        return 0;
    }
    entry.mode = st.st_mode;
    if (S_ISLNK(st.st_mode)) {
        int r = read_target(w, fd, name, path, &entry);

        if (r == 0)
            add(w, &entry);
        return r;
    }
    if (S_ISREG(st.st_mode)) {
        if (faccessat(fd, name, R_OK, AT_EACCESS) < 0)
            return err_sys(w->e, -errno, "cannot read %s", entry.from);
        entry.size = st.st_size;
        add(w, &entry);
        return 0;
    }
    if (!S_ISDIR(st.st_mode))
        return 0;
    add(w, &entry);
    auto_close int below = openat(fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (below < 0)
        return err_sys(w->e, -errno, "cannot open %s", entry.from);
    return walk_dir(w, below, path, depth + 1);
}

static int is_entry(const struct dirent *d)
{
    return strcmp(d->d_name, ".") != 0 && strcmp(d->d_name, "..") != 0;
}

static int walk_dir(struct walk *w, int fd, const char *path, int depth)
{
    struct dirent **names = NULL;
    int n, r = 0;

    if (is_kernels(fd))
        return err_set(w->e, -EINVAL, "%s%s%s cannot be %s: it is a file system of the kernel; %s",
                       w->from, *path ? "/" : "", path, place_of(w), w->option);
    if (depth > LIMIT_TREE_DEPTH)
        return err_set(w->e, -ELOOP, "%s/%s: more than %d directories within each other", w->from,
                       path, LIMIT_TREE_DEPTH);
    n = scandirat(fd, ".", &names, is_entry, alphasort);
    if (n < 0)
        return err_sys(w->e, -errno, "cannot list %s/%s", w->from, path);
    for (int i = 0; i < n; i++) {
        const char *name = names[i]->d_name;

        if (r == 0 && w->seen < SEEN_AT_MOST) {
            if (depth == 0) {
                GROW(w->shares, w->n_shares, w->cap_shares);
                w->shares[w->n_shares++] = (struct share){.name = arena_strdup(w->list->a, name)};
            }
            r = walk_entry(w, fd, name,
                           *path ? arena_printf(w->list->a, "%s/%s", path, name) : name, depth);
        }
        free(names[i]);
    }
    free(names);
    return r;
}

/* --- too much --------------------------------------------------------------------------------- */

static int by_size(const void *a, const void *b)
{
    const struct share *x = a, *y = b;

    if (x->bytes != y->bytes)
        return x->bytes < y->bytes ? 1 : -1;
    return (x->files < y->files) - (x->files > y->files);
}

static int by_files(const void *a, const void *b)
{
    const struct share *x = a, *y = b;

    return (x->files < y->files) - (x->files > y->files);
}

static int refuse(const struct walk *w)
{
    auto_strbuf struct strbuf names = STRBUF_INIT;
    bool many = w->list->bytes + w->bytes <= LIMIT_CODE_BYTES;

    if (w->n_shares)
        qsort(w->shares, w->n_shares, sizeof(*w->shares), many ? by_files : by_size);
    for (size_t i = 0; i < w->n_shares && i < LARGEST; i++) {
        const struct share *s = &w->shares[i];

        strbuf_addstr(&names, i ? ", " : "");
        strbuf_add_escaped(&names, s->name, strlen(s->name));
        if (many)
            strbuf_addf(&names, " (%zu files)", s->files);
        else
            strbuf_addf(&names, " (%lld MiB)", (long long)((s->bytes + (1 << 20) - 1) >> 20));
    }
    return err_set(w->e, -E2BIG,
                   "%s has %s%lld MiB in %zu files; at most %d MiB in %d files can be %s%s%s; list "
                   "what the job does not need in .amlignore, or %s",
                   w->from, w->seen >= SEEN_AT_MOST ? "more than " : "",
                   (long long)((w->bytes + (1 << 20) - 1) >> 20), w->seen, LIMIT_CODE_BYTES >> 20,
                   LIMIT_CODE_FILES, place_of(w), names.len ? "; largest: " : "", names.buf,
                   w->option);
}

/* --- all of it -------------------------------------------------------------------------------- */

static int read_ignore(struct walk *w, int fd)
{
    static const char *const files[] = {".amlignore", ".gitignore"};

    for (size_t i = 0; i < ARRAY_SIZE(files); i++) {
        auto_strbuf struct strbuf text = STRBUF_INIT;
        int r = io_read_file(fd, files[i], LIMIT_FILE_BYTES, &text, w->e);

        if (r == -ENOENT)
            continue;
        if (r < 0)
            return r;
        w->list->left_out_by = files[i];
        ignore_parse(w->list->a, arena_strndup(w->list->a, text.buf, text.len), &w->ignore);
        return 0;
    }
    return 0;
}

static int add_dir(struct walk *w)
{
    auto_close int fd = open(w->from, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    struct code_entry top = {.from = w->from, .to = w->to, .mode = S_IFDIR | 0755};
    int r = fd < 0 ? err_sys(w->e, -errno, "cannot open %s", w->from) : read_ignore(w, fd);

    if (r == 0) {
        add(w, &top);
        r = walk_dir(w, fd, "", 0);
    }
    return r;
}

int code_add(struct code_list *list, const char *from, const char *to, const char *option,
             struct err *e)
{
    struct stat st;
    int r = 0;

    if (!list->a)
        list->a = arena_new();
    struct walk w = {.list = list,
                     .from = arena_strdup(list->a, from),
                     .to = arena_strdup(list->a, to),
                     .option = option,
                     .e = e};
    if (strcmp(from, "/") == 0)
        return err_set(e, -EINVAL, "/ cannot be %s: it has all files of this machine; %s",
                       place_of(&w), option);
    if (stat(from, &st) < 0)
        return err_sys(e, -errno, "cannot access %s", from);
    if (S_ISDIR(st.st_mode))
        r = add_dir(&w);
    else
        add(&w, &(struct code_entry){
                    .from = w.from, .to = w.to, .mode = st.st_mode, .size = st.st_size});
    if (r == 0 && is_too_much(&w))
        r = refuse(&w);
    list->bytes += w.bytes;
    free(w.shares);
    return r;
}

void code_release(struct code_list *list)
{
    free(list->v);
    arena_free(list->a);
    *list = (struct code_list){0};
}
