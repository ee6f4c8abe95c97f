/* outputs.c - see outputs.h: walking a run directory. */
#include "rundir/outputs.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/limits.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "journal/away.h"
#include "journal/journal.h"
#include "journal/record.h"
#include "plan/plan.h"
#include "rundir/azureml_dir.h"
#include "rundir/command_line.h"
#include "rundir/marks.h"
#include "rundir/reserve.h"
#include "rundir/rundir.h"

/* --- the rule --------------------------------------------------------------------------------- */

/* Whatever Muster writes into a run directory has a row here. `how` is a name, or how it ends. */
static const struct {
    const char *dir; /* "": the run directory itself */
    mode_t type;
    enum { IS, ENDS, HOLDS } how;
    const char *name;
} own[] = {
    {"", S_IFREG, IS, JOURNAL_NAME},
    {"", S_IFREG, IS, AWAY_NAME},
    {"", S_IFREG, IS, RUNDIR_JOB_FILE},
    {"", S_IFREG, IS, RUNDIR_SERVED},
    {"", S_IFREG, IS, "launches"},
    {"", S_IFREG, IS, RECORD_NAME},
    {"", S_IFREG, IS, "exits"},
    {"", S_IFREG, IS, RUNDIR_PLAN},
    {"", S_IFREG, IS, "report.json"},
    {"", S_IFREG, IS, RESERVE_NAME},
    {"", S_IFREG, IS, COMMAND_NAME},
    {"", S_IFREG, IS, PLAN_PEERS},
    {"", S_IFREG, IS, PLAN_HOSTFILE},
    {"", S_IFREG, IS, PLAN_HOSTFILE_OPEN_MPI},
    {"", S_IFREG, IS, PLAN_HOSTFILE_HYDRA},
    {"", S_IFREG, IS, MARKS_NAME},
    {"", S_IFREG, IS, HANG_TEXT},
    {"", S_IFREG, IS, HANG_JSON},
    {"", S_IFLNK, IS, "scratch"},
    {PLAN_OPERATOR, S_IFREG, IS, PLAN_HOSTFILE},
    {PLAN_OPERATOR, S_IFREG, IS, PLAN_DISCOVER_HOSTS},
    {AZUREML_USER_LOGS, S_IFLNK, ENDS, ".txt"},
    {"logs", S_IFREG, IS, ".empty"}, /* all logs that nothing was written to are links to it */
    {"logs", S_IFREG, ENDS, ".log"},
    {"logs", S_IFREG, HOLDS, ".log."}, /* what is kept about a log, beside it */
};

static bool ends_with(const char *text, size_t len, const char *end)
{
    size_t n = strlen(end);

    return len >= n && memcmp(text + len - n, end, n) == 0;
}

/* A muster that was killed may leave "NAME.PID.tmp" (io_write_atomic). */
static size_t without_temp(const char *name)
{
    size_t len = strlen(name), n = len - (len > 4 ? 4 : 0);

    if (!ends_with(name, len, ".tmp"))
        return len;
    while (n > 0 && name[n - 1] >= '0' && name[n - 1] <= '9')
        n--;
    return n > 0 && name[n - 1] == '.' ? n - 1 : len;
}

bool outputs_is_own(const char *path, mode_t type)
{
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    size_t dir_len = slash ? (size_t)(slash - path) : 0, len = without_temp(name);

    if (strncmp(path, PLAN_OVERLAY "/", strlen(PLAN_OVERLAY "/")) == 0)
        return true; /* thrown away by its own word */
    for (size_t i = 0; i < ARRAY_SIZE(own); i++) {
        const char *want = own[i].name;
        if (type != own[i].type || strlen(own[i].dir) != dir_len ||
            strncmp(path, own[i].dir, dir_len) != 0)
            continue;
        if (own[i].how == IS     ? len == strlen(want) && memcmp(name, want, len) == 0
            : own[i].how == ENDS ? ends_with(name, len, want)
                                 : strstr(name, want) != NULL)
            return true;
    }
    return false;
}

/* --- walking ---------------------------------------------------------------------------------- */

/* Called for everything but directories; path is relative to the run directory. True ends the walk.
 */
typedef bool visit_fn(void *ctx, const char *path, const struct stat *st);

struct walk {
    visit_fn *visit;
    void *ctx;
    struct strbuf path;
    int depth;
};

static bool walk_dir(struct walk *w, int fd);

static bool walk_entry(struct walk *w, int fd, const char *name)
{
    size_t len = w->path.len;
    struct stat st = {0};
    bool found;

    strbuf_addf(&w->path, "%s%s", len ? "/" : "", name);
    if (fstatat(fd, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISDIR(st.st_mode) &&
        w->depth < LIMIT_TREE_DEPTH) {
        int below = openat(fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        w->depth++;
        found = below < 0 ? w->visit(w->ctx, w->path.buf, &st) : walk_dir(w, below);
        w->depth--;
    } else {
        found = w->visit(w->ctx, w->path.buf, &st);
    }
    strbuf_truncate(&w->path, len);
    return found;
}

/* Takes the descriptor. */
static bool walk_dir(struct walk *w, int fd)
{
    DIR *dir = fdopendir(fd);
    const struct dirent *d;
    bool found = false;

    if (!dir) {
        (void)close(fd);
        return false;
    }
    while (!found && (d = readdir(dir)))
        if (strcmp(d->d_name, ".") != 0 && strcmp(d->d_name, "..") != 0)
            found = walk_entry(w, fd, d->d_name);
    (void)closedir(dir);
    return found;
}

static bool walk(int run_fd, visit_fn *visit, void *ctx)
{
    struct walk w = {.visit = visit, .ctx = ctx, .path = STRBUF_INIT};
    int fd = openat(run_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    bool found = fd >= 0 && walk_dir(&w, fd);

    strbuf_release(&w.path);
    return found;
}

/* --- what is found ---------------------------------------------------------------------------- */

static bool is_output(void *ctx, const char *path, const struct stat *st)
{
    (void)ctx;
    return !outputs_is_own(path, st->st_mode & S_IFMT);
}

bool outputs_any(int run_fd)
{
    return walk(run_fd, is_output, NULL);
}

struct found {
    struct strvec *ret;
    const char *dir;
};

static bool add_top(void *ctx, const char *path, const struct stat *st)
{
    const struct found *f = ctx;
    auto_free char *top = xasprintf("%s/%.*s", f->dir, (int)strcspn(path, "/"), path);

    if (outputs_is_own(path, st->st_mode & S_IFMT))
        return false;
    for (size_t i = 0; i < f->ret->n; i++)
        if (strcmp(f->ret->v[i], top) == 0)
            return false;
    strvec_push(f->ret, top);
    return f->ret->n == LIMIT_OUTPUTS;
}

static int by_text(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

void outputs_find(int run_fd, const char *dir, struct strvec *ret)
{
    struct found f = {.ret = ret, .dir = dir};

    (void)walk(run_fd, add_top, &f);
    if (ret->n > 0)
        qsort(ret->v, ret->n, sizeof(*ret->v), by_text);
}

static bool add_size(void *ctx, const char *path, const struct stat *st)
{
    int64_t *sum = ctx;

    (void)path;
    *sum += (int64_t)st->st_blocks * 512;
    return false;
}

int64_t outputs_size(int run_fd)
{
    int64_t sum = 0;

    (void)walk(run_fd, add_size, &sum);
    return sum;
}
