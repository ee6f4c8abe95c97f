/* replica.c - a replica as a host of its own: its namespaces, and the end of all that is inside.
 *
 * A replica is a mount and a UTS namespace with a /dev/shm of its own, at level `network` also a
 * network namespace. It needs no process to exist: the supervisor makes it by stepping in and out,
 * and holds its descriptors. Processes inside are known by the UTS namespace they are in, whoever
 * their parent is and whatever session they are in. At level `none` a replica is only a directory
 * for its temporary files, and family.c knows who belongs to it.
 *
 * Not here: limits (group.c).
 */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/io.h"
#include "base/kernel.h"
#include "base/mem.h"
#include "base/procs.h"
#include "shim/overlay.h"
#include "shim/shim.h"
#include "shim/volumes.h"

/* --- making ----------------------------------------------------------------------------------- */

static int furnish(struct shim *s, const struct replica *r, struct err *e)
{
    char options[64] = "mode=1777";
    int result = s->overlay.wanted ? overlay_mount(s, r, e) : 0;

    if (result < 0)
        return result;
    if (sethostname(r->host, strlen(r->host)) < 0)
        return err_sys(e, -errno, "cannot set the host name %s", r->host);
    if (r->shm >= 0)
        snprintf(options, sizeof(options), "mode=1777,size=%lld", (long long)r->shm);
    if (mount("tmpfs", "/dev/shm", "tmpfs", MS_NOSUID | MS_NODEV, options) < 0)
        return err_sys(e, -errno, "cannot mount /dev/shm of %s", r->name);
    if (r->n_tables == 0)
        return 0;
    result = volumes_make(s, r, e);
    return result < 0 ? result : volumes_mount(s, r, 0, e);
}

static int hold(struct replica *r, struct err *e)
{
    auto_close int mnt_fd = open("/proc/self/ns/mnt", O_RDONLY | O_CLOEXEC);
    auto_close int uts_fd = open("/proc/self/ns/uts", O_RDONLY | O_CLOEXEC);
    struct stat st;

    if (mnt_fd < 0 || uts_fd < 0 || fstat(uts_fd, &st) < 0)
        return err_sys(e, -errno, "cannot keep the namespaces of %s", r->name);
    r->uts_ino = st.st_ino;
    r->mnt_fd = TAKE_FD(mnt_fd);
    r->uts_fd = TAKE_FD(uts_fd);
    r->is_open = true;
    return 0;
}

static void step_back(const struct shim *s)
{
    if (setns(s->mnt_fd, CLONE_NEWNS) < 0 || setns(s->uts_fd, CLONE_NEWUTS) < 0 ||
        (s->level == LEVEL_NETWORK && setns(s->net_fd, CLONE_NEWNET) < 0))
        _exit(1); /* a supervisor inside a replica can serve nobody; its end ends the job */
}

/* Level `none`: programs that share a host name must not share a place for their temporary files.
 */
static int open_directory(struct shim *s, struct replica *r, struct err *e)
{
    int result;

    if (mkdirat(s->scratch_fd, r->name, 0700) < 0 && errno != EEXIST)
        return err_sys(e, -errno, "cannot make %s/%s", s->scratch_dir, r->name);
    result = volumes_make(s, r, e);
    r->is_open = result == 0;
    return result;
}

int replica_open(struct shim *s, struct replica *r, struct err *e)
{
    bool network = s->level == LEVEL_NETWORK;
    int result;

    if (r->is_open)
        return 0;
    if (s->level == LEVEL_NONE)
        return open_directory(s, r, e);
    if (unshare(CLONE_NEWNS | CLONE_NEWUTS) < 0)
        return err_sys(e, -errno, "cannot create the namespaces of %s", r->name);
    if (network && setns(r->net_fd, CLONE_NEWNET) < 0)
        result = err_sys(e, -errno, "cannot join the network of %s", r->name);
    else
        result = furnish(s, r, e);
    if (result == 0 && network)
        network_show(s);
    if (result == 0)
        result = hold(r, e);
    step_back(s);
    return result;
}

int replica_view(struct shim *s, const struct replica *r, uint32_t table, struct err *e)
{
    int result, fd = -1;

    if (setns(r->mnt_fd, CLONE_NEWNS) < 0)
        return err_sys(e, -errno, "cannot join %s", r->name);
    result = unshare(CLONE_NEWNS) < 0
                 ? err_sys(e, -errno, "cannot create a mount namespace in %s", r->name)
                 : volumes_mount(s, r, table, e);
    if (result == 0 && (fd = open("/proc/self/ns/mnt", O_RDONLY | O_CLOEXEC)) < 0)
        result = err_sys(e, -errno, "cannot keep a mount namespace of %s", r->name);
    if (setns(s->mnt_fd, CLONE_NEWNS) < 0)
        _exit(1); /* as step_back() */
    return result < 0 ? result : fd;
}

int replica_shm(const struct shim *s, const struct replica *r, struct statvfs *ret)
{
    if (!r->is_open)
        return -ENOENT;
    if (s->level == LEVEL_NONE)
        return statvfs("/dev/shm", ret) < 0 ? -errno : 0;
    if (setns(r->mnt_fd, CLONE_NEWNS) < 0)
        return -errno;
    int result = statvfs("/dev/shm", ret) < 0 ? -errno : 0;
    if (setns(s->mnt_fd, CLONE_NEWNS) < 0)
        _exit(1); /* as step_back() */
    return result;
}

/* --- who is inside ---------------------------------------------------------------------------- */

/* The inode of a process's UTS namespace, 0 if it has none (any more). */
static ino_t uts_inode(pid_t pid)
{
    char path[64];
    struct stat st;

    snprintf(path, sizeof(path), "/proc/%d/ns/uts", (int)pid);
    return stat(path, &st) < 0 ? 0 : st.st_ino; /* a zombie has none */
}

struct replica *replica_of_pid(const struct shim *s, pid_t pid)
{
    struct replica *r;
    ino_t ino;

    if (s->level == LEVEL_NONE)
        return family_find(s, pid, &r) ? r : NULL;
    ino = uts_inode(pid);
    for (uint32_t i = 0; i < s->n_replicas; i++) {
        if (s->replicas[i].is_open && s->replicas[i].uts_ino == ino)
            return &s->replicas[i];
    }
    return NULL;
}

/* --- killing ---------------------------------------------------------------------------------- */

void replica_condemn(struct shim *s, struct replica *r)
{
    if (r->condemned || !r->is_open)
        return;
    r->condemned = true;
    r->next_condemned = s->condemned;
    s->condemned = r;
}

static void pardon_all(struct shim *s)
{
    for (struct replica *r = s->condemned; r; r = r->next_condemned)
        r->condemned = false;
    s->condemned = NULL;
}

static bool is_condemned(pid_t pid, void *ctx)
{
    const struct shim *s = ctx;
    struct replica *of = NULL;
    ino_t ino;

    if (s->level == LEVEL_NONE)
        return family_find(s, pid, &of) && of && of->condemned;
    ino = uts_inode(pid);
    for (const struct replica *r = s->condemned; r; r = r->next_condemned) {
        if (r->uts_ino == ino)
            return true;
    }
    return false;
}

static bool is_of_job(pid_t pid, void *ctx)
{
    struct replica *of;

    return family_find(ctx, pid, &of);
}

void replicas_purge(struct shim *s)
{
    if (s->condemned)
        procs_hunt(is_condemned, s, s->pid);
    pardon_all(s);
}

/* In a pid namespace kill(-1) meets every process but ourselves at one instant. Without one it
 * would meet all of the user's processes. */
void replicas_kill_all(struct shim *s)
{
    if (s->level == LEVEL_NONE)
        procs_hunt(is_of_job, s, s->pid);
    else
        (void)kill(-1, SIGKILL);
}

static void continue_one(pid_t pid, void *ctx)
{
    struct shim *s = ctx;

    if (pid != s->pid && proc_state(pid) == 'T' && is_of_job(pid, s))
        (void)kill(pid, SIGCONT);
}

/* Daemons of mpirun and our own wrappers too: whoever waits for them would wait for the SIGKILL. */
void replicas_continue_all(struct shim *s)
{
    if (s->level == LEVEL_NONE)
        procs_each(continue_one, s);
    else
        (void)kill(-1, SIGCONT);
}

/* Is there a child that is no main process? What loses its parent becomes ours, so a process that
 * was left behind is one of these, or below one. */
static bool have_others(const struct shim *s)
{
    auto_strbuf struct strbuf text = STRBUF_INIT;
    char *p, *end;

    if (io_read_file(AT_FDCWD, "/proc/thread-self/children", LIMIT_FRAME_BYTES, &text, NULL) < 0)
        return true; /* a kernel without this file: look at everything */
    for (p = text.buf;; p = end) {
        long pid = strtol(p, &end, 10);
        const struct child *c;

        if (end == p)
            return false;
        c = child_find(s, (pid_t)pid);
        if (!c || !c->is_main)
            return true;
    }
}

void replicas_purge_leftovers(struct shim *s)
{
    if (s->condemned && have_others(s))
        replicas_purge(s);
    else
        pardon_all(s);
}
