/* fsck.c - `muster fsck`: does the database agree with the run directories?
 *
 * Only without a daemon: it holds the daemon's lock meanwhile. Rows that describe nothing any more
 * and snapshots of no job are removed if asked; everything else is told with what to do.
 */
#include <dirent.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/io.h"
#include "base/mem.h"
#include "client/daemon.h"
#include "daemon/daemon.h"
#include "daemon/store.h"
#include "doc/json_read.h"
#include "rundir/places.h"
#include "rundir/rundir.h"

struct known {           /* what the database has of a job */
    char *id, *snapshot; /* heap; snapshot: of one that has not ended */
    int64_t number;
    enum stored_state state;
    bool retired; /* it has ended, and has no run directory by right */
    int exit_code;
};

struct check {
    const struct fsck_options *opts;
    struct store *store;
    char *runs; /* heap: where run directories are */
    struct known *v;
    size_t n, cap;
    struct fsck_result found;
};

static void tell(struct check *c, bool mended, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
static void tell(struct check *c, bool mended, const char *fmt, ...)
{
    auto_strbuf struct strbuf text = STRBUF_INIT;
    va_list ap;

    va_start(ap, fmt);
    strbuf_vaddf(&text, fmt, ap);
    va_end(ap);
    c->found.problems++;
    c->found.mended += mended;
    c->opts->tell(text.buf, mended);
}

static void keep(void *ctx, const struct stored *row)
{
    auto_arena struct arena *a = arena_new();
    struct check *c = ctx;
    const struct node *root =
        row->state == STORED_ENDED ? NULL : json_node(a, row->request, strlen(row->request));
    const char *snapshot = node_text(node_find(root, "job", "snapshot", NULL), NULL);

    GROW(c->v, c->n, c->cap);
    c->v[c->n++] = (struct known){.id = xstrdup(row->id),
                                  .snapshot = snapshot ? xstrdup(snapshot) : NULL,
                                  .number = row->number,
                                  .state = row->state,
                                  .retired = row->state == STORED_ENDED && !*row->site,
                                  .exit_code = row->exit_code};
}

static bool has_file(const struct check *c, const char *id, const char *name)
{
    auto_free char *path = xasprintf("%s/%s/%s", c->runs, id, name);

    return access(path, F_OK) == 0;
}

/* -1: there is no report that can be read. */
static int reported_code(const struct check *c, const char *id)
{
    auto_arena struct arena *a = arena_new();
    auto_strbuf struct strbuf text = STRBUF_INIT;
    auto_free char *path = xasprintf("%s/%s/report.json", c->runs, id);

    if (io_read_file(AT_FDCWD, path, LIMIT_REPORT_BYTES, &text, NULL) < 0)
        return -1;
    const struct node *code = node_get(json_node(a, text.buf, text.len), "exit_code");
    return code && code->type == NODE_INT ? (int)code->i : -1;
}

static void check_job(struct check *c, const struct known *job)
{
    bool there = has_file(c, job->id, ".");
    int code;

    if (job->state == STORED_WAITING)
        return;
    if (job->state == STORED_STARTED) {
        if (!there)
            tell(c, false,
                 "%s has started, but its run directory is missing; the next daemon "
                 "reports it as lost",
                 job->id);
        return;
    }
    if (!there && job->retired)
        return;
    if (!there) {
        if (c->opts->repair)
            store_remove(c->store, job->number);
        tell(c, c->opts->repair, "%s has ended and its run directory is gone, but it is listed",
             job->id);
        return;
    }
    code = reported_code(c, job->id);
    if (code < 0)
        tell(c, false, "%s has ended, but its report cannot be read: muster delete %s", job->id,
             job->id);
    else if (code != job->exit_code)
        tell(c, false, "%s: exit code %d in the database, %d in its report", job->id,
             job->exit_code, code);
}

static const struct known *find(const struct check *c, const char *id)
{
    for (size_t i = 0; i < c->n; i++)
        if (strcmp(c->v[i].id, id) == 0)
            return &c->v[i];
    return NULL;
}

/* Of a daemon whose database is gone, for example. One with a report is an ended run like any. */
static void check_directory(struct check *c, const char *id)
{
    c->found.directories++;
    if (!has_file(c, id, RUNDIR_SERVED) || find(c, id) || has_file(c, id, "report.json"))
        return;
    tell(c, false,
         "%s/%s is of a job that is not in the database and has no report; remove it "
         "when nothing of it runs",
         c->runs, id);
}

static void check_snapshot(struct check *c, const char *store, const char *name)
{
    auto_free char *path = xasprintf("%s/%s", store, name);

    c->found.snapshots++;
    for (size_t i = 0; i < c->n; i++)
        if (c->v[i].snapshot && strcmp(c->v[i].snapshot, name) == 0)
            return;
    bool removed = c->opts->repair && io_remove_tree(AT_FDCWD, path, NULL) == 0;
    tell(c, removed, "%s is a snapshot of no job", path);
}

static void each_name(struct check *c, const char *dir, bool snapshots)
{
    DIR *list = dir ? opendir(dir) : NULL;
    const struct dirent *d;

    while (list && (d = readdir(list)))
        if (*d->d_name != '.' && snapshots)
            check_snapshot(c, dir, d->d_name);
        else if (*d->d_name != '.')
            check_directory(c, d->d_name);
    if (list)
        (void)closedir(list);
}

static void check_snapshots(struct check *c)
{
    auto_free char *store = daemon_code_dir();

    for (size_t i = 0; i < c->n; i++) {
        auto_free char *path =
            c->v[i].snapshot && store ? xasprintf("%s/%s", store, c->v[i].snapshot) : NULL;

        if (path && c->v[i].state == STORED_WAITING && access(path, F_OK) < 0)
            tell(c, false, "%s waits, but its snapshot is missing: muster cancel %s", c->v[i].id,
                 c->v[i].id);
    }
    each_name(c, store, true);
}

static int check_all(struct check *c, struct err *e)
{
    int r = store_each(c->store, keep, c, e);

    c->found.jobs = c->n;
    for (size_t i = 0; i < c->n && r == 0; i++)
        check_job(c, &c->v[i]);
    if (r == 0) {
        each_name(c, c->runs, false);
        check_snapshots(c);
        r = store_commit(c->store, e);
    }
    for (size_t i = 0; i < c->n; i++) {
        free(c->v[i].id);
        free(c->v[i].snapshot);
    }
    free(c->v);
    return r;
}

int daemon_fsck(const struct fsck_options *opts, struct fsck_result *ret, struct err *e)
{
    auto_free char *state = places_daemon_state(), *scratch = places_scratch(NULL);
    auto_free char *path = state ? xasprintf("%s/" DAEMON_DATABASE, state) : NULL;
    struct check c = {.opts = opts, .runs = places_runs(scratch, NULL)};

    *ret = (struct fsck_result){.no_database = true};
    if (!path || access(path, F_OK) < 0) {
        free(c.runs);
        return 0;
    }
    auto_close int lock = daemon_lock(state, e);
    int r = lock < 0 ? lock : store_open(path, &c.store, e);
    if (r >= 0)
        r = check_all(&c, e);
    store_close(c.store);
    free(c.runs);
    *ret = c.found;
    return r;
}
