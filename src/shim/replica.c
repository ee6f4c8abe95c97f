/* replica.c - a replica as a host of its own: its namespaces, and the end of all that is inside.
 *
 * A replica is a mount and a UTS namespace with a /dev/shm of its own. It needs no process to exist:
 * the supervisor makes it by stepping in and out, and holds its descriptors. Processes inside are
 * known by the UTS namespace they are in, whoever their parent is and whatever session they are in.
 *
 * Not here: limits (group.c).
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/pidfd.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/io.h"
#include "base/mem.h"
#include "base/num.h"
#include "shim/shim.h"

/* --- making ----------------------------------------------------------------------------------- */

static int furnish(const struct replica *r, struct err *e)
{
    char options[64] = "mode=1777";

    if (sethostname(r->host, strlen(r->host)) < 0)
        return err_sys(e, -errno, "cannot set the host name %s", r->host);
    if (r->shm >= 0)
        snprintf(options, sizeof(options), "mode=1777,size=%lld", (long long)r->shm);
    if (mount("tmpfs", "/dev/shm", "tmpfs", MS_NOSUID | MS_NODEV, options) < 0)
        return err_sys(e, -errno, "cannot mount /dev/shm of %s", r->name);
    return 0;
}

static int hold(struct replica *r, struct err *e)
{
    auto_close int mnt_fd = open("/proc/self/ns/mnt", O_RDONLY | O_CLOEXEC);
    auto_close int uts_fd = open("/proc/self/ns/uts", O_RDONLY | O_CLOEXEC);
    struct stat st;

    if (mnt_fd < 0 || uts_fd < 0 || fstat(uts_fd, &st) < 0)
        return err_sys(e, -errno, "cannot hold the namespaces of %s", r->name);
    r->uts_ino = st.st_ino;
    r->mnt_fd = TAKE_FD(mnt_fd);
    r->uts_fd = TAKE_FD(uts_fd);
    r->is_open = true;
    return 0;
}

int replica_open(struct shim *s, struct replica *r, struct err *e)
{
    int result;

    if (r->is_open)
        return 0;
    if (unshare(CLONE_NEWNS | CLONE_NEWUTS) < 0)
        return err_sys(e, -errno, "cannot make the namespaces of %s", r->name);
    result = furnish(r, e);
    if (result == 0)
        result = hold(r, e);
    if (setns(s->mnt_fd, CLONE_NEWNS) < 0 || setns(s->uts_fd, CLONE_NEWUTS) < 0)
        _exit(1); /* a supervisor inside a replica can serve nobody; its end ends the job */
    return result;
}

/* --- who is inside ---------------------------------------------------------------------------- */

ino_t uts_inode(pid_t pid)
{
    char path[64];
    struct stat st;

    snprintf(path, sizeof(path), "/proc/%d/ns/uts", (int)pid);
    return stat(path, &st) < 0 ? 0 : st.st_ino; /* a zombie has none */
}

struct replica *replica_of_pid(const struct shim *s, pid_t pid)
{
    ino_t ino = uts_inode(pid);

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

static bool is_condemned(const struct shim *s, ino_t uts_ino)
{
    for (const struct replica *r = s->condemned; r; r = r->next_condemned) {
        if (r->uts_ino == uts_ino)
            return true;
    }
    return false;
}

struct killed {
    pid_t *v;
    size_t n, cap;
};

static bool was_killed(const struct killed *k, pid_t pid)
{
    for (size_t i = 0; i < k->n; i++) {
        if (k->v[i] == pid)
            return true;
    }
    return false;
}

/* The descriptor first, then the look: what is killed is what was looked at. */
static void kill_if_condemned(const struct shim *s, pid_t pid, struct killed *k)
{
    auto_close int fd = pidfd_open(pid, 0);

    if (fd < 0 || !is_condemned(s, uts_inode(pid)))
        return;
    (void)pidfd_send_signal(fd, SIGKILL, NULL, 0);
    GROW(k->v, k->n, k->cap);
    k->v[k->n++] = pid;
}

/* One look at every process; false if it found nobody new. */
static bool kill_pass(const struct shim *s, struct killed *k)
{
    size_t before = k->n;
    struct dirent *ent;
    DIR *proc = opendir("/proc");

    if (!proc)
        return false;
    while ((ent = readdir(proc))) {
        uint32_t pid;

        if (num_u32(ent->d_name, &pid) == 0 && pid != 1 && !was_killed(k, (pid_t)pid))
            kill_if_condemned(s, (pid_t)pid, k);
    }
    closedir(proc);
    return k->n > before;
}

/* A process with SIGKILL pending cannot fork any more, so only those not yet killed can have made
 * new ones: when a pass finds nobody new, all are dead or dying. */
void replicas_purge(struct shim *s)
{
    struct killed k = {0};

    if (s->condemned) {
        while (kill_pass(s, &k))
            ;
    }
    free(k.v);
    pardon_all(s);
}

/* Is there a child that is no main process? What loses its parent becomes ours, so a process that was
 * left behind is one of these, or below one. */
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
