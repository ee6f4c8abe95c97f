/* code.c - snapshots of jobs' code in the daemon's store: STATE/daemon/code/NAME. The client makes
 * them (cli/submit_code.c); they are copied for each job and removed with the last of an array.
 */
#include <dirent.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "base/io.h"
#include "base/mem.h"
#include "client/daemon.h"
#include "daemon/kill_points.h"
#include "daemon/parts.h"
#include "engine/snapshot.h"

#define WORKING_COPY "code"

static char *path_of(const char *name)
{
    auto_free char *store = daemon_code_dir();

    return store ? xasprintf("%s/%s", store, name) : NULL;
}

void code_find(struct arena *a, const struct rundir *rd, struct submission *sub)
{
    if (sub->snapshot)
        sub->code = arena_printf(a, "%s/" WORKING_COPY, rd->path);
}

int code_copy(struct served *s, const struct rundir *rd, struct submission *sub, struct err *e)
{
    if (!sub->snapshot)
        return 0;
    auto_free char *from = path_of(sub->snapshot);
    code_find(s->act->a, rd, sub);
    int r = from ? snapshot_copy(from, sub->code, e)
                 : err_set(e, -ENOENT, "the daemon has no directory for code");
    kill_point(KILL_CODE_COPIED);
    return r;
}

void code_prune(struct active *act)
{
    const struct served *s = act->served;
    auto_free char *was = s->snapshot ? path_of(s->snapshot) : NULL;

    if (!was || !act->rd.path)
        return;
    auto_free char *copy = xasprintf("%s/" WORKING_COPY, act->rd.path);
    snapshot_prune(was, copy);
    kill_point(KILL_CODE_PRUNED);
}

static bool is_used(const struct daemon *d, const char *name)
{
    for (size_t i = 0; i < d->n_open; i++)
        if (d->open[i]->row.state != STORED_ENDED && d->open[i]->snapshot &&
            strcmp(d->open[i]->snapshot, name) == 0)
            return true;
    return false;
}

void code_forget(struct served *s)
{
    auto_free char *path = s->snapshot && !is_used(s->d, s->snapshot) ? path_of(s->snapshot) : NULL;

    if (path)
        (void)io_remove_tree(AT_FDCWD, path, NULL);
    free(s->snapshot);
    s->snapshot = NULL;
}

/* A client may be about to submit one: only old ones go. */
static bool is_old(int dir, const char *name)
{
    struct stat st;

    return fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
           clock_real() - st.st_ctim.tv_sec * NS_PER_S > LIMIT_SNAPSHOT_UNUSED_S * NS_PER_S;
}

void code_sweep(struct daemon *d)
{
    auto_free char *store = daemon_code_dir();
    DIR *dir = store ? opendir(store) : NULL;
    const struct dirent *entry;

    while (dir && (entry = readdir(dir)))
        if (*entry->d_name != '.' && !is_used(d, entry->d_name) &&
            is_old(dirfd(dir), entry->d_name))
            (void)io_remove_tree(dirfd(dir), entry->d_name, NULL);
    if (dir)
        (void)closedir(dir);
}
