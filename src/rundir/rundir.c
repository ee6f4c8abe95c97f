/* rundir.c - making, filling and cleaning the directories of a run. */
#include "rundir/rundir.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/io.h"
#include "base/mem.h"
#include "journal/journal.h"
#include "rundir/azureml_dir.h"
#include "rundir/places.h"

enum { LOCK_TRIES = 40, LOCK_MS = 50 };

char *rundir_new_id(void)
{
    char when[32], tail[5];
    time_t now = (time_t)(clock_real() / NS_PER_S);
    struct tm tm;

    (void)gmtime_r(&now, &tm);
    (void)strftime(when, sizeof(when), "%Y%m%d-%H%M%S", &tm);
    places_random(tail, sizeof(tail) - 1);
    return xasprintf("%s-%s", when, tail);
}

int rundir_name(const char *run_id, const char *override, struct rundir *ret, struct err *e)
{
    auto_free char *runtime = places_scratch(&ret->notes), *runs = NULL;
    char cwd[PATH_MAX];

    if (override && *override != '/' && !getcwd(cwd, sizeof(cwd)))
        return err_sys(e, -errno, "cannot determine the working directory");
    if (!override)
        runs = places_runs(runtime, &ret->notes);
    ret->run_id = xstrdup(run_id);
    ret->path = !override          ? xasprintf("%s/%s", runs, run_id)
                : *override == '/' ? xstrdup(override)
                                   : xasprintf("%s/%s", cwd, override);
    for (size_t n = strlen(ret->path); n > 1 && ret->path[n - 1] == '/'; n--)
        ret->path[n - 1] = '\0'; /* else its parent would be itself */
    ret->scratch = xasprintf("%s/%s", runtime, run_id);
    return 0;
}

static char *parent_of(const char *path)
{
    size_t n = (size_t)(strrchr(path, '/') - path);

    return xstrndup(path, n ? n : 1); /* that of /x is / */
}

/* Sockets are made there, so nobody else may be able to put something there first. */
static int make_scratch_home(const struct rundir *rd, struct err *e)
{
    auto_free char *home = parent_of(rd->scratch);
    int r = io_mkdir_p(home, 0700, e);

    if (r == 0 && !places_is_private(home))
        r = err_set(e, -EPERM, "%s must be a directory of uid %u with mode 0700", home, geteuid());
    return r;
}

static int make_scratch(struct rundir *rd, struct err *e)
{
    if (mkdir(rd->scratch, 0700) < 0)
        return err_sys(e, -errno, "cannot make %s", rd->scratch);
    rd->scratch_fd = open(rd->scratch, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (rd->scratch_fd < 0 || flock(rd->scratch_fd, LOCK_EX | LOCK_NB) < 0)
        return err_sys(e, -errno, "cannot lock %s", rd->scratch);
    if (symlinkat(rd->path, rd->scratch_fd, RUNDIR_LINK) < 0)
        return err_sys(e, -errno, "cannot make %s/" RUNDIR_LINK, rd->scratch);
    return 0;
}

int rundir_make(struct rundir *rd, struct err *e)
{
    auto_free char *home = parent_of(rd->path);
    int r = make_scratch_home(rd, e); /* first: the run directory may be below it */

    if (r == 0)
        r = io_mkdir_p(home, 0700, e);
    if (r < 0)
        return r;
    if (mkdir(rd->path, 0700) < 0)
        return err_sys(e, -errno, "cannot create the run directory %s", rd->path);
    rd->fd = open(rd->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    /* `muster list` may be looking whether the run lives: it holds the lock for a moment only. */
    if (rd->fd < 0 || flock(rd->fd, LOCK_EX) < 0 || mkdirat(rd->fd, "logs", 0700) < 0)
        return err_sys(e, -errno, "cannot prepare the run directory %s", rd->path);
    rd->logs_fd = openat(rd->fd, "logs", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (rd->logs_fd < 0)
        return err_sys(e, -errno, "cannot open %s/logs", rd->path);
    r = make_scratch(rd, e);
    if (r == 0 && symlinkat(rd->scratch, rd->fd, "scratch") < 0)
        r = err_sys(e, -errno, "cannot link %s/scratch", rd->path);
    return r;
}

/* `muster list` may be looking whether the run lives: it holds the lock for a moment only. */
static int lock_soon(int fd)
{
    for (int tries = 0; flock(fd, LOCK_EX | LOCK_NB) < 0; tries++) {
        if (errno != EWOULDBLOCK && errno != EINTR)
            return -errno;
        if (tries == LOCK_TRIES)
            return -EBUSY;
        (void)usleep(LOCK_MS * 1000);
    }
    return 0;
}

static int open_again(struct rundir *rd, struct err *e)
{
    int r = make_scratch_home(rd, e);

    if (r < 0)
        return r;
    rd->fd = open(rd->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    r = rd->fd < 0 ? -errno : lock_soon(rd->fd);
    if (r < 0)
        return err_sys(e, r, "cannot lock the run directory %s", rd->path);
    rd->logs_fd = openat(rd->fd, "logs", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    return rd->logs_fd < 0 ? err_sys(e, -errno, "cannot open %s/logs", rd->path) : 0;
}

static ssize_t read_link(const char *dir, const char *name, char *out, size_t size)
{
    auto_close int fd = open(dir, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    ssize_t n = fd < 0 ? -1 : readlinkat(fd, name, out, size - 1);

    out[n > 0 ? n : 0] = '\0';
    return n;
}

void rundir_find_scratch(struct rundir *rd)
{
    char scratch[PATH_MAX], run[PATH_MAX];

    if (read_link(rd->path, "scratch", scratch, sizeof(scratch)) <= 0 || *scratch != '/' ||
        !places_is_private(scratch) || read_link(scratch, RUNDIR_LINK, run, sizeof(run)) <= 0 ||
        strcmp(run, rd->path) != 0)
        return;
    free(rd->scratch);
    rd->scratch = xstrdup(scratch);
}

int rundir_adopt(struct rundir *rd, struct err *e)
{
    int r = open_again(rd, e);

    if (r < 0)
        return r;
    rd->scratch_fd = open(rd->scratch, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (rd->scratch_fd < 0)
        return make_scratch(rd, e);
    r = lock_soon(rd->scratch_fd);
    return r < 0 ? err_sys(e, r, "cannot lock %s", rd->scratch) : 0;
}

int rundir_open(struct rundir *rd, struct err *e)
{
    int r = open_again(rd, e);

    if (r < 0)
        return r;
    (void)io_remove_tree(AT_FDCWD, rd->scratch, NULL); /* of a muster that was killed */
    r = make_scratch(rd, e);
    if (r < 0)
        return r;
    (void)unlinkat(rd->fd, "scratch", 0);
    return symlinkat(rd->scratch, rd->fd, "scratch") < 0
               ? err_sys(e, -errno, "cannot link %s/scratch", rd->path)
               : 0;
}

void rundir_leave(struct rundir *rd)
{
    (void)io_remove_tree(AT_FDCWD, rd->scratch, NULL);
}

static int write_operator_files(const struct rundir *rd, const struct plan *plan, struct err *e)
{
    auto_close int fd = -1;
    int r;

    if (mkdirat(rd->fd, PLAN_OPERATOR, 0700) < 0 ||
        (fd = openat(rd->fd, PLAN_OPERATOR, O_RDONLY | O_DIRECTORY | O_CLOEXEC)) < 0)
        return err_sys(e, -errno, "cannot make %s/" PLAN_OPERATOR, rd->path);
    r = io_write_atomic(fd, PLAN_HOSTFILE, plan->operator_hostfile, strlen(plan->operator_hostfile),
                        e);
    if (r < 0 || !plan->discover_hosts)
        return r;
    r = io_write_atomic(fd, PLAN_DISCOVER_HOSTS, plan->discover_hosts, strlen(plan->discover_hosts),
                        e);
    if (r == 0 && fchmodat(fd, PLAN_DISCOVER_HOSTS, 0700, 0) < 0)
        r = err_sys(e, -errno, "cannot make %s/" PLAN_OPERATOR "/" PLAN_DISCOVER_HOSTS " a program",
                    rd->path);
    return r;
}

/* Is there a program of this name that the job may call? */
static bool in_path(const struct plan *plan, const char *name)
{
    const char *home = plan->spec->mpi ? plan->spec->mpi->home : NULL, *path = getenv("PATH"), *end;
    auto_free char *at_home = home ? xasprintf("%s/bin/%s", home, name) : NULL;
    bool found = at_home && access(at_home, X_OK) == 0;

    for (const char *dir = path ? path : ""; !found && *dir; dir = *end ? end + 1 : end) {
        end = strchrnul(dir, ':');
        auto_free char *file = xasprintf("%.*s/%s", (int)(end - dir), dir, name);
        found = access(file, X_OK) == 0;
    }
    return found;
}

/* mpirun's stand-ins, only where there is something to stand in for: a script may look for them. */
static int link_mpirun(const struct plan *plan, int fd, const char *bin, struct err *e)
{
    static const char *const names[] = {"mpirun",         "mpiexec",         "orterun",
                                        "mpirun.openmpi", "mpiexec.openmpi", "mpirun.mpich",
                                        "mpiexec.mpich",  "mpiexec.hydra"};

    for (size_t i = 0; plan->calls_mpi && i < ARRAY_SIZE(names); i++)
        if (in_path(plan, names[i]) && symlinkat(plan->facts->site.shim, fd, names[i]) < 0)
            return err_sys(e, -errno, "cannot make %s/%s", bin, names[i]);
    return 0;
}

int rundir_fill(const struct rundir *rd, const struct plan *plan, struct err *e)
{
    static const char *const links[] = {"ssh", "rsh", PLAN_RANK_WRAPPER};
    auto_free char *bin = xasprintf("%s/" PLAN_BIN, rd->scratch);
    auto_close int fd = mkdir(bin, 0700) < 0 ? -1 : open(bin, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int r =
        fd < 0 ? err_sys(e, -errno, "cannot make %s", bin)
               : io_write_atomic(rd->fd, PLAN_PEERS, plan->peers_json, strlen(plan->peers_json), e);

    for (size_t i = 0; i < ARRAY_SIZE(links) && r == 0; i++)
        if (symlinkat(plan->facts->site.shim, fd, links[i]) < 0)
            r = err_sys(e, -errno, "cannot make %s/%s", bin, links[i]);
    if (r == 0)
        r = link_mpirun(plan, fd, bin, e);
    if (r == 0 && plan->facts->machine.python_link &&
        symlinkat(plan->facts->machine.python3, fd, "python") < 0)
        r = err_sys(e, -errno, "cannot create %s/python", bin);
    if (r == 0 && plan->hostfile)
        r = io_write_atomic(rd->fd, PLAN_HOSTFILE, plan->hostfile, strlen(plan->hostfile), e);
    if (r == 0 && plan->other_hostfile)
        r = io_write_atomic(rd->fd, plan->other_hostfile_name, plan->other_hostfile,
                            strlen(plan->other_hostfile), e);
    if (r == 0 && plan->operator_hostfile)
        r = write_operator_files(rd, plan, e);
    return r < 0 ? r : azureml_dir_fill(rd->fd, plan, e);
}

/* Oldest first is alphabetical: ids begin with the time. */
static int is_run(const struct dirent *d)
{
    return d->d_name[0] >= '0' && d->d_name[0] <= '9';
}

/* What was made a moment ago may not be locked yet. */
static bool is_new(int fd)
{
    struct stat st;

    return fstat(fd, &st) < 0 || clock_real() / NS_PER_S - st.st_mtime < 60;
}

static void remove_dead(int runs_fd, const char *name)
{
    auto_close int fd = openat(runs_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

    if (fd >= 0 && !is_new(fd) && flock(fd, LOCK_EX | LOCK_NB) == 0)
        (void)io_remove_tree(runs_fd, name, NULL);
}

/* The layer of --overlay of a run whose muster and shim were both killed. */
static void remove_dead_layer(int runs_fd, const char *name)
{
    auto_free char *layer = xasprintf("%s/" PLAN_OVERLAY, name);
    auto_close int fd =
        faccessat(runs_fd, layer, F_OK, AT_SYMLINK_NOFOLLOW) < 0
            ? -1
            : openat(runs_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

    if (fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) == 0)
        (void)io_remove_tree(fd, PLAN_OVERLAY, NULL);
}

/* Goes through what lies beside this directory: runs, or scratch directories. */
static void each_sibling(const char *path, void (*clean)(int fd, const char *name))
{
    auto_free char *parent = parent_of(path);
    auto_close int fd = open(parent, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    struct dirent **list = NULL;
    int n = fd < 0 ? 0 : scandirat(fd, ".", &list, is_run, alphasort);

    for (int i = 0; i < n; i++) {
        clean(fd, list[i]->d_name);
        free(list[i]);
    }
    free(list);
}

/* Is what is open still there under its name? */
static bool is_there(int dir_fd, const char *name, int fd)
{
    struct stat opened, named;

    return fstat(fd, &opened) == 0 && fstatat(dir_fd, name, &named, 0) == 0 &&
           opened.st_dev == named.st_dev && opened.st_ino == named.st_ino;
}

void rundir_plan_attempt(struct strbuf *text, uint32_t attempt)
{
    static const char first[] = "\"MUSTER_ATTEMPT\": \"1\"";
    auto_strbuf struct strbuf out = STRBUF_INIT;
    const char *from = text->buf, *at;

    if (attempt < 2)
        return;
    while ((at = strstr(from, first))) {
        strbuf_add(&out, from, (size_t)(at - from));
        strbuf_addf(&out, "\"MUSTER_ATTEMPT\": \"%u\"", attempt);
        from = at + strlen(first);
    }
    strbuf_addstr(&out, from);
    strbuf_truncate(text, 0);
    strbuf_add(text, out.buf, out.len);
}

void rundir_missing(const struct rundir *rd, struct strbuf *out)
{
    const char *what = !is_there(AT_FDCWD, rd->path, rd->fd)    ? "run directory was"
                       : !is_there(rd->fd, "logs", rd->logs_fd) ? "logs were"
                       : faccessat(rd->fd, JOURNAL_NAME, F_OK, AT_SYMLINK_NOFOLLOW) < 0
                           ? "journal was"
                           : NULL;

    if (what)
        strbuf_addf(out, "its %s removed while it ran", what);
}

void rundir_finish(struct rundir *rd, const struct retention *retention)
{
    const char *name = strrchr(rd->path, '/') + 1;

    (void)io_remove_tree(AT_FDCWD, rd->scratch, NULL);
    (void)io_remove_tree(rd->fd, PLAN_OVERLAY, NULL); /* a shim that was killed has left it */
    /* a directory of the user's choice has no siblings of ours */
    if (strcmp(name, rd->run_id) == 0) {
        auto_free char *home = parent_of(rd->path);
        retention_apply(retention, home);
        each_sibling(rd->path, remove_dead_layer);
    }
    each_sibling(rd->scratch, remove_dead);
}

/* What is open was made by us: mkdir() refuses what is there already. */
void rundir_discard(struct rundir *rd)
{
    if (rd->scratch_fd >= 0)
        (void)io_remove_tree(AT_FDCWD, rd->scratch, NULL);
    if (rd->fd >= 0)
        (void)io_remove_tree(AT_FDCWD, rd->path, NULL);
}

void rundir_release(struct rundir *rd)
{
    free(rd->run_id);
    free(rd->path);
    free(rd->scratch);
    strvec_release(&rd->notes);
    if (rd->fd >= 0)
        (void)close(rd->fd);
    if (rd->logs_fd >= 0)
        (void)close(rd->logs_fd);
    if (rd->scratch_fd >= 0)
        (void)close(rd->scratch_fd);
    *rd = (struct rundir)RUNDIR_INIT;
}
