/* launch.c - one clone() that makes the namespaces and becomes the shim.
 *
 * The child shares our memory until it execs (CLONE_VM | CLONE_VFORK), so an error comes back in a
 * variable and nothing is copied. It must therefore only make system calls.
 */
#include "engine/local/launch.h"

#include <fcntl.h>
#include <linux/capability.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/creation.h"
#include "base/io.h"
#include "base/procs.h"
#include "base/strvec.h"
#include "shim/wire.h"

struct child {
    const struct shim_launch *what;
    char **env;
    int sock, in;
    sigset_t mask;
    char uid_map[48], gid_map[48];
    int flags; /* of clone() */
    bool user_namespace;
    const char *failed; /* what failed, set by the child */
    int code;           /* and its -errno */
};

#define PLAIN_FLAGS (CLONE_VM | CLONE_VFORK | CLONE_PIDFD | SIGCHLD)

static int flags_of(const char *level)
{
    if (strcmp(level, "none") == 0)
        return PLAIN_FLAGS;
    return PLAIN_FLAGS | CLONE_NEWPID | CLONE_NEWNS |
           (strcmp(level, "network") == 0 ? CLONE_NEWNET : 0) |
           (geteuid() != 0 ? CLONE_NEWUSER : 0);
}

static int put(const char *path, const char *text)
{
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    if (fd < 0)
        return -1;
    ssize_t n = write(fd, text, strlen(text));
    (void)close(fd);
    return n < 0 ? -1 : 0;
}

static int fail(struct child *c, const char *what)
{
    c->code = -errno;
    c->failed = what;
    return 1;
}

/* Whoever is not root in a user namespace loses its capabilities there by exec, unless they are
 * ambient. The shim needs four: for mounts and host names, for entering a mount namespace, for
 * seeing which namespace a process is in that hides itself, and for interfaces. It drops them from
 * the ambient set at once, so that no process of the job has any. */
static int keep_capabilities(bool overlay)
{
    /* The last two are for the work directory of an overlay, which nobody else may enter. */
    static const int all[] = {CAP_SYS_ADMIN, CAP_SYS_CHROOT,   CAP_SYS_PTRACE,
                              CAP_NET_ADMIN, CAP_DAC_OVERRIDE, CAP_FOWNER};
    size_t n = ARRAY_SIZE(all) - (overlay ? 0 : 2);
    struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3];

    if (syscall(SYS_capget, &header, data) < 0)
        return -1;
    for (size_t i = 0; i < n; i++)
        data[CAP_TO_INDEX(all[i])].inheritable |= CAP_TO_MASK(all[i]);
    if (syscall(SYS_capset, &header, data) < 0)
        return -1;
    for (size_t i = 0; i < n; i++)
        if (prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, all[i], 0, 0) < 0)
            return -1;
    return 0;
}

static int child_main(void *arg)
{
    struct child *c = arg;
    const char *const argv[] = {"muster-shim", c->what->role, c->what->level,
                                c->what->overlay ? "overlay" : NULL, NULL};

    if (c->user_namespace) {
        if (put("/proc/self/setgroups", "deny") < 0 || put("/proc/self/uid_map", c->uid_map) < 0 ||
            put("/proc/self/gid_map", c->gid_map) < 0)
            return fail(c, "cannot map the user into a user namespace");
        if (keep_capabilities(c->what->overlay) < 0)
            return fail(c, "cannot keep the capabilities of a user namespace");
    }
    /* The shim's end goes to its fixed place last: it may be where stdin is looked for. */
    int sock = fcntl(c->sock, F_DUPFD_CLOEXEC, WIRE_FD + 1);
    if (sock < 0 || dup2(c->in, STDIN_FILENO) < 0 || dup2(sock, WIRE_FD) < 0)
        return fail(c, "cannot pass descriptors to the shim");
    if (close_range(WIRE_FD + 1, ~0U, 0) < 0)
        return fail(c, "cannot close descriptors");
    for (int sig = 1; sig < NSIG; sig++)
        (void)signal(sig, SIG_DFL);
    (void)sigprocmask(SIG_SETMASK, &c->mask, NULL);
    /* A shim that is stopped would not see that muster is gone, and its job would live for ever. */
    (void)prctl(PR_SET_PDEATHSIG, SIGCONT);
    (void)umask(creation_mask());
    if (c->what->inherited && (errno = -inherited_apply(c->what->inherited)) != 0)
        return fail(c, "cannot set the resource limits of the submitter");
    (void)execve(c->what->shim, (void *)(uintptr_t)argv, c->env); /* it changes none of them */
    return fail(c, "cannot execute the shim");
}

bool launch_lacks_resource(int code)
{
    return code == -EMFILE || code == -ENFILE || code == -EAGAIN || code == -ENOMEM;
}

static int launch_error(const struct child *c, int code, struct err *e)
{
    if (code == -EAGAIN)
        return err_set(e, code, "cannot start %s: %s", c->what->shim, err_start_reason(EAGAIN));
    if (launch_lacks_resource(code))
        return err_sys(e, code, "cannot start %s", c->what->shim);
    if (c->failed && !c->user_namespace)
        return err_sys(e, code, "%s (%s)", c->failed, c->what->shim);
    if (c->flags == PLAIN_FLAGS)
        return err_sys(e, code, "cannot start %s", c->what->shim);
    return err_sys(e, code,
                   "%s; isolation level `%s` needs %s: allow them "
                   "(sysctl user.max_user_namespaces, kernel.unprivileged_userns_clone=1, an "
                   "AppArmor profile with userns) or run as root",
                   c->failed ? c->failed : "namespaces are not allowed here", c->what->level,
                   c->user_namespace ? "unprivileged user namespaces" : "CAP_SYS_ADMIN");
}

static void shim_environment(const char *run_id, struct strvec *env)
{
    for (char **v = environ; *v; v++)
        if (strncmp(*v, "MUSTER_RUN_ID=", strlen("MUSTER_RUN_ID=")) != 0)
            strvec_push(env, *v);
    if (run_id)
        strvec_pushf(env, "MUSTER_RUN_ID=%s", run_id);
}

int shim_launch(const struct shim_launch *what, struct shim_process *ret, struct err *e)
{
    static char stack[64 * 1024] __attribute__((aligned(16)));
    int pair[2], pidfd = -1;
    auto_strvec struct strvec env = STRVEC_INIT;
    sigset_t all;

    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0)
        return err_sys(e, -errno, "cannot create a socket pair");
    auto_close int ours = pair[0], theirs = pair[1];
    auto_close int null = open("/dev/null", O_RDONLY | O_CLOEXEC);

    shim_environment(what->run_id, &env);
    struct child c = {
        .what = what,
        .env = env.v,
        .sock = theirs,
        .in = what->stdin_fd >= 0 ? what->stdin_fd : null,
        .flags = flags_of(what->level),
    };
    c.user_namespace = c.flags & CLONE_NEWUSER;
    (void)snprintf(c.uid_map, sizeof(c.uid_map), "%u %u 1", geteuid(), geteuid());
    (void)snprintf(c.gid_map, sizeof(c.gid_map), "%u %u 1", getegid(), getegid());

    (void)sigfillset(&all);
    (void)sigprocmask(SIG_BLOCK, &all, &c.mask);
    pid_t pid = clone(child_main, stack + sizeof(stack), c.flags, &c, &pidfd);
    int code = pid < 0 ? -errno : c.code;
    (void)sigprocmask(SIG_SETMASK, &c.mask, NULL);
    if (code < 0) {
        if (pid > 0) {
            (void)waitpid(pid, NULL, 0);
            (void)close(pidfd);
        }
        return launch_error(&c, code, e);
    }
    *ret = (struct shim_process){.pid = pid, .pidfd = pidfd, .sock = TAKE_FD(ours)};
    return 0;
}

#define SHIM_NOTE "shim.pid" /* "PID STARTTIME" */

int shim_note_pid(int scratch_fd, const struct shim_process *shim, struct err *e)
{
    char text[64];
    int n = snprintf(text, sizeof(text), "%d %llu\n", (int)shim->pid, proc_start_time(shim->pid));

    return io_write_atomic(scratch_fd, SHIM_NOTE, text, (size_t)n, e);
}

static bool noted_shim_lives(int scratch_fd)
{
    auto_strbuf struct strbuf text = STRBUF_INIT;
    char *end;

    if (io_read_regular(scratch_fd, SHIM_NOTE, 64, &text, NULL) < 0)
        return false;
    long pid = strtol(text.buf, &end, 10);
    unsigned long long since = strtoull(end, NULL, 10);
    char state = pid > 0 ? proc_state((pid_t)pid) : 0;
    return state && state != 'Z' && since != 0 && proc_start_time((pid_t)pid) == since;
}

/* By way of /proc, because sun_path is short. Who listens there is the shim, as seen from here. */
int shim_connect(int scratch_fd, struct shim_process *ret, struct err *e)
{
    auto_close int sock = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    struct sockaddr_un addr = {.sun_family = AF_UNIX};
    struct ucred peer = {.uid = (uid_t)-1};
    socklen_t len = sizeof(peer);

    (void)snprintf(addr.sun_path, sizeof(addr.sun_path), "/proc/self/fd/%d/" WIRE_MASTER_SOCKET,
                   scratch_fd);
    if (sock < 0 || connect(sock, (struct sockaddr *)&addr, sizeof(addr)) < 0) {
        int code = -errno;

        if ((code == -ENOENT || code == -ECONNREFUSED) && noted_shim_lives(scratch_fd))
            return err_set(e, -EAGAIN, "the job's supervisor does not listen yet");
        return err_sys(e, code, "the job's supervisor does not respond");
    }
    if (getsockopt(sock, SOL_SOCKET, SO_PEERCRED, &peer, &len) < 0 || peer.uid != geteuid())
        return err_set(e, -EPERM, "the job's supervisor is another user's");
    int pidfd = peer.pid > 0 ? pidfd_open(peer.pid, 0) : -1;
    if (pidfd < 0)
        return err_set(e, -ESRCH, "the job's supervisor is gone");
    *ret = (struct shim_process){.pid = peer.pid, .pidfd = pidfd, .sock = TAKE_FD(sock)};
    return 0;
}
