/* setup.c - what the supervisor does once: the process it is, and the place its processes see.
 *
 * The mount namespace it was started in becomes the job's: nothing leaves it (private), /proc shows
 * the job's own pid namespace, and /etc/hosts names the replicas. At level `none` it has no
 * namespace of its own and the place is the machine as it is.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/creation.h"
#include "base/io.h"
#include "base/kernel.h"
#include "base/mem.h"
#include "shim/overlay.h"
#include "shim/shim.h"

#define MOUNT_HINT "mounts inside a namespace may be forbidden here (AppArmor, a container)"

/* Every process inherits the dispositions and limits set here: nothing has to be done per process
 * but what differs from the supervisor's own. */
/* The two that libc keeps for threads are refused by its own sigaction(), but a caller may have
 * them ignored (GNU make does), and a process's threads would miss them. */
static void reset_libc_signals(void)
{
    struct {
        void *handler;
        unsigned long flags;
        void *restorer;
        unsigned long mask[2];
    } dfl = {0};

    for (int sig = 32; sig <= 33; sig++)
        (void)syscall(SYS_rt_sigaction, sig, &dfl, NULL, 8);
}

static void reset_signals(struct shim *s)
{
    struct sigaction dfl = {.sa_handler = SIG_DFL};
    sigset_t all, chld;

    for (int sig = 1; sig < NSIG; sig++)
        (void)sigaction(sig, &dfl, NULL); /* KILL and STOP refuse */
    reset_libc_signals();
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, NULL);
    sigemptyset(&chld);
    sigaddset(&chld, SIGCHLD);
    if (s->pod)
        sigaddset(&chld, SIGTERM); /* somebody deletes the pod */
    s->signal_fd = signalfd(-1, &chld, SFD_CLOEXEC | SFD_NONBLOCK);
}

/* Descriptors 0 to 2 are where spawn() puts what the next process gets; else they are /dev/null. */
static void arrange_fds(struct shim *s)
{
    s->null_fd = open("/dev/null", O_RDWR | O_CLOEXEC);
    s->stdin_fd = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, WIRE_FD + 1);
    (void)close_range(WIRE_FD, ~0U, CLOSE_RANGE_CLOEXEC);
    for (int fd = 0; fd < WIRE_FD; fd++)
        (void)dup2(s->null_fd, fd);
}

static void raise_limits(struct shim *s)
{
    struct rlimit most;

    if (getrlimit(RLIMIT_NOFILE, &s->files) < 0)
        return;
    most = (struct rlimit){.rlim_cur = s->files.rlim_max, .rlim_max = s->files.rlim_max};
    (void)setrlimit(RLIMIT_NOFILE, &most);
}

/* The kernel's table of descriptors grows by doubling. While a child shares it, on its way to exec,
 * growing waits some ten milliseconds for the whole machine; now it does not. */
static void grow_descriptor_table(const struct shim *s)
{
    int fd = fcntl(s->null_fd, F_DUPFD_CLOEXEC, LIMIT_DESCRIPTORS_AHEAD);

    if (fd >= 0)
        close(fd);
}

void setup_process(struct shim *s)
{
    reset_signals(s);
    arrange_fds(s);
    raise_limits(s);
    grow_descriptor_table(s);
    creation_begin();
    (void)setsid(); /* a terminal's signals are muster's business */
    s->pid = getpid();
    if (s->level == LEVEL_NONE)
        (void)prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
    else
        /* An ordinary user's supervisor has its capabilities (of the job's user namespace) as
         * ambient ones, because nothing else survives exec. It keeps them; its processes get none.
         */
        (void)prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
}

static int write_hosts(struct shim *s, const char *hosts, struct err *e)
{
    /* Readable by all: whoever the job becomes inside, the directory above is what protects it. */
    auto_close int fd =
        openat(s->scratch_fd, "hosts", O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0644);
    int r = fd < 0 ? -errno : io_write_all(fd, hosts, strlen(hosts));

    if (r == 0 && fchmod(fd, 0644) < 0)
        r = -errno;
    return r < 0 ? err_sys(e, r, "cannot write %s/hosts", s->scratch_dir) : 0;
}

/* Makes a directory of this mount namespace its root. */
static int pivot_to(const char *dir)
{
    if (mount(dir, dir, NULL, MS_BIND | MS_REC, NULL) < 0 || chdir(dir) < 0 ||
        syscall(SYS_pivot_root, ".", ".") < 0)
        return -1;
    return umount2(".", MNT_DETACH); /* the old root, which lies over the new one */
}

/* Processes enter a replica by its mount namespace and find themselves at that namespace's root. In
 * a chroot this is another directory than ours, so ours is made the root: what we are started in is
 * what the job sees. Also makes all mounts private, which has to be asked at the true root. */
static int make_root_private(struct err *e)
{
    auto_close int ours = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
    auto_close int mnt = open("/proc/self/ns/mnt", O_RDONLY | O_CLOEXEC);
    struct stat before, after;
    char link[64], dir[PATH_MAX];

    if (ours < 0 || mnt < 0 || fstat(ours, &before) < 0 || setns(mnt, CLONE_NEWNS) < 0 ||
        mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 || stat("/", &after) < 0)
        return err_set(e, -errno, "cannot make the job's mounts private: %m; " MOUNT_HINT);
    if (before.st_dev == after.st_dev && before.st_ino == after.st_ino)
        return 0;
    snprintf(link, sizeof(link), "/proc/self/fd/%d", ours);
    ssize_t n = readlink(link, dir, sizeof(dir) - 1);
    dir[n > 0 ? n : 0] = '\0';
    if (n < 0 || pivot_to(dir) < 0)
        return err_set(e, -errno, "cannot make the chroot %s the job's root: %m; " MOUNT_HINT, dir);
    return 0;
}

static int make_mounts(const char *dir, struct err *e)
{
    auto_free char *hosts = xasprintf("%s/hosts", dir);
    int r = make_root_private(e);

    if (r < 0)
        return r;
    if (mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, NULL) < 0)
        return err_set(e, -errno, "cannot mount a fresh /proc: %m; " MOUNT_HINT);
    if (mount(hosts, "/etc/hosts", NULL, MS_BIND, NULL) < 0)
        return err_set(e, -errno,
                       "cannot put the job's host names over /etc/hosts: %m; " MOUNT_HINT);
    return 0;
}

/* replica_open() steps into new namespaces and back into these. One can only step back into a UTS
 * namespace of one's own user namespace, hence a new one. */
static int open_namespaces(struct shim *s, struct err *e)
{
    if (unshare(CLONE_NEWUTS) < 0)
        return err_sys(e, -errno, "cannot create a UTS namespace");
    s->mnt_fd = open("/proc/self/ns/mnt", O_RDONLY | O_CLOEXEC);
    s->uts_fd = open("/proc/self/ns/uts", O_RDONLY | O_CLOEXEC);
    if (s->mnt_fd < 0 || s->uts_fd < 0)
        return err_sys(e, -errno, "cannot open the supervisor's own namespaces");
    return 0;
}

static int open_directories(struct shim *s, const char *run_dir, struct err *e)
{
    auto_close int run_fd = open(run_dir, O_PATH | O_DIRECTORY | O_CLOEXEC);

    if (run_fd < 0)
        return err_sys(e, -errno, "cannot open the run directory %s", run_dir);
    if (mkdirat(run_fd, "logs", 0700) < 0 && errno != EEXIST)
        return err_sys(e, -errno, "cannot create %s/logs", run_dir);
    s->logs_fd = openat(run_fd, "logs", O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (s->logs_fd < 0)
        return err_sys(e, -errno, "cannot open %s/logs", run_dir);
    s->exits_fd = io_open_regular(run_fd, "exits", O_WRONLY | O_APPEND | O_CREAT, 0600);
    if (s->exits_fd == -EEXIST && unlinkat(run_fd, "exits", 0) == 0) /* an attempt before did it */
        s->exits_fd = io_open_regular(run_fd, "exits", O_WRONLY | O_APPEND | O_CREAT, 0600);
    if (s->exits_fd < 0)
        return err_sys(e, s->exits_fd, "cannot open %s/exits", run_dir);
    if (!s->pod)
        s->scratch_fd = open(s->scratch_dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (s->scratch_fd < 0)
        return err_sys(e, -errno, "cannot open the scratch directory %s", s->scratch_dir);
    return 0;
}

int setup_namespaces(struct shim *s, const char *dir, struct err *e)
{
    int r = make_mounts(dir, e);

    if (r == 0)
        r = open_namespaces(s, e);
    if (r == 0 && s->level == LEVEL_NETWORK)
        r = network_open(s, e);
    return r;
}

int setup_run(struct shim *s, const char *run_dir, const char *hosts, struct err *e)
{
    int r = open_directories(s, run_dir, e);

    if (r == 0 && s->level != LEVEL_NONE)
        r = write_hosts(s, hosts, e);
    if (r == 0 && s->level != LEVEL_NONE)
        r = setup_namespaces(s, s->scratch_dir, e);
    if (r == 0 && s->level != LEVEL_NONE)
        r = overlay_prepare(s, e);
    if (r == 0 && chdir("/") < 0)
        r = err_sys(e, -errno, "cannot change to /");
    return r;
}
