/* rundir.c - making, filling and cleaning the directories of a run. */
#include "run/rundir.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <pwd.h>
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
#include "run/azureml_dir.h"

char *rundir_new_id(void)
{
    static const char letters[] = "abcdefghjkmnpqrstuvwxyz23456789";
    char when[32], tail[5];
    time_t now = (time_t)(clock_real() / NS_PER_S);
    struct tm tm;

    (void)gmtime_r(&now, &tm);
    (void)strftime(when, sizeof(when), "%Y%m%d-%H%M%S", &tm);
    for (size_t i = 0; i < sizeof(tail) - 1; i++)
        tail[i] = letters[arc4random_uniform(sizeof(letters) - 1)];
    tail[sizeof(tail) - 1] = '\0';
    return xasprintf("%s-%s", when, tail);
}

static char *state_home(void)
{
    const char *xdg = getenv("XDG_STATE_HOME"), *home = getenv("HOME");

    if (xdg && *xdg == '/')
        return xstrdup(xdg);
    if (home && *home == '/')
        return xasprintf("%s/.local/state", home);
    const struct passwd *pw = getpwuid(geteuid());
    return xasprintf("%s/.local/state", pw ? pw->pw_dir : "/tmp");
}

char *rundir_scratch_home(void)
{
    const char *xdg = getenv("XDG_RUNTIME_DIR");

    if (xdg && *xdg == '/')
        return xasprintf("%s/muster", xdg);
    return xasprintf("/tmp/muster-%u", geteuid());
}

char *rundir_runs_home(void)
{
    auto_free char *state = state_home();

    return xasprintf("%s/muster/runs", state);
}

int rundir_name(const char *run_id, const char *override, struct rundir *ret, struct err *e)
{
    auto_free char *runs = rundir_runs_home(), *runtime = rundir_scratch_home();
    char cwd[PATH_MAX];

    if (override && *override != '/' && !getcwd(cwd, sizeof(cwd)))
        return err_sys(e, -errno, "cannot find out the working directory");
    ret->run_id = xstrdup(run_id);
    ret->path = !override          ? xasprintf("%s/%s", runs, run_id)
                : *override == '/' ? xstrdup(override)
                                   : xasprintf("%s/%s", cwd, override);
    ret->scratch = xasprintf("%s/%s", runtime, run_id);
    return 0;
}

/* Sockets are made below the parent, so nobody else may be able to put something there first. */
static int check_private_parent(const char *path, struct err *e)
{
    struct stat st;
    auto_close int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

    if (fd < 0)
        return err_sys(e, -errno, "cannot use %s", path);
    if (fstat(fd, &st) < 0)
        return err_sys(e, -errno, "cannot use %s", path);
    if (st.st_uid != geteuid() || (st.st_mode & 077) != 0)
        return err_set(e, -EPERM, "%s must be a directory of uid %u with mode 0700", path,
                       geteuid());
    return 0;
}

static int make_scratch(struct rundir *rd, struct err *e)
{
    auto_free char *parent =
        xstrndup(rd->scratch, (size_t)(strrchr(rd->scratch, '/') - rd->scratch));
    int r = io_mkdir_p(parent, 0700, e);

    if (r == 0)
        r = check_private_parent(parent, e);
    if (r < 0)
        return r;
    if (mkdir(rd->scratch, 0700) < 0)
        return err_sys(e, -errno, "cannot make %s", rd->scratch);
    rd->scratch_fd = open(rd->scratch, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (rd->scratch_fd < 0 || flock(rd->scratch_fd, LOCK_EX | LOCK_NB) < 0)
        return err_sys(e, -errno, "cannot lock %s", rd->scratch);
    return 0;
}

int rundir_make(struct rundir *rd, struct err *e)
{
    auto_free char *parent = xstrndup(rd->path, (size_t)(strrchr(rd->path, '/') - rd->path));
    int r = io_mkdir_p(parent, 0700, e);

    if (r < 0)
        return r;
    if (mkdir(rd->path, 0700) < 0)
        return err_sys(e, -errno, "cannot make the run directory %s", rd->path);
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

int rundir_fill(const struct rundir *rd, const struct plan *plan, struct err *e)
{
    static const char *const links[] = {"ssh", "rsh", PLAN_RANK_WRAPPER};
    auto_free char *bin = xasprintf("%s/" PLAN_BIN, rd->scratch);
    auto_close int fd = mkdir(bin, 0700) < 0 ? -1 : open(bin, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int r =
        fd < 0 ? err_sys(e, -errno, "cannot make %s", bin)
               : io_write_atomic(rd->fd, PLAN_PEERS, plan->peers_json, strlen(plan->peers_json), e);

    for (size_t i = 0; i < ARRAY_SIZE(links) && r == 0; i++)
        if (symlinkat(plan->facts->shim, fd, links[i]) < 0)
            r = err_sys(e, -errno, "cannot make %s/%s", bin, links[i]);
    if (r == 0 && plan->facts->python_link && symlinkat(plan->facts->python3, fd, "python") < 0)
        r = err_sys(e, -errno, "cannot make %s/python", bin);
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

static void remove_dead_run(int runs_fd, const char *name, bool even_new)
{
    auto_close int fd = openat(runs_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

    if (fd >= 0 && (even_new || !is_new(fd)) && flock(fd, LOCK_EX | LOCK_NB) == 0)
        (void)io_remove_tree(runs_fd, name, NULL);
}

/* Removes all but the newest `keep` of the runs' directories beside this one, if they are dead. */
static void prune(const char *path, int keep)
{
    auto_free char *parent = xstrndup(path, (size_t)(strrchr(path, '/') - path));
    auto_close int fd = open(parent, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    struct dirent **list = NULL;
    int n = fd < 0 ? 0 : scandirat(fd, ".", &list, is_run, alphasort);

    for (int i = 0; i < n; i++) {
        if (i < n - keep)
            remove_dead_run(fd, list[i]->d_name, keep > 0);
        free(list[i]);
    }
    free(list);
}

void rundir_finish(struct rundir *rd)
{
    (void)io_remove_tree(AT_FDCWD, rd->scratch, NULL);
    const char *name = strrchr(rd->path, '/') + 1;
    /* a directory of the user's choice has no siblings of ours */
    if (strcmp(name, rd->run_id) == 0)
        prune(rd->path, LIMIT_RUNS_KEPT);
    prune(rd->scratch, 0);
}

void rundir_release(struct rundir *rd)
{
    free(rd->run_id);
    free(rd->path);
    free(rd->scratch);
    if (rd->fd >= 0)
        (void)close(rd->fd);
    if (rd->logs_fd >= 0)
        (void)close(rd->logs_fd);
    if (rd->scratch_fd >= 0)
        (void)close(rd->scratch_fd);
    *rd = (struct rundir)RUNDIR_INIT;
}
