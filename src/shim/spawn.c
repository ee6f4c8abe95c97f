/* spawn.c - one process, from the request to its exec.
 *
 * The child is made as vfork() makes it: it borrows the supervisor's memory and its descriptor
 * table while the supervisor stands still, so starting costs the same however large or busy the
 * supervisor is, and what goes wrong is simply written into memory that both see.
 *
 * Before exec the child leaves the shared table with a copy of 0, 1 and 2 alone: the supervisor
 * lays the child's three there beforehand. That way neither side ever walks over the descriptors of
 * all the other processes.
 *
 * The child calls nothing but system calls: no allocation, no stdio, no locks.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/creation.h"
#include "base/kernel.h"
#include "base/mem.h"
#include "base/shebang.h"
#include "shim/group.h"
#include "shim/shim.h"

#define DEFAULT_PATH "/usr/local/bin:/usr/bin:/bin"

enum stage { STAGE_JOIN, STAGE_GROUP, STAGE_CHDIR, STAGE_LIMITS, STAGE_EXEC };

struct child_args {
    const struct shim *s;
    const struct spawn *sp;
    const char *path;     /* PATH of the process */
    const char **sh_argv; /* instead of argv for a script without an interpreter line */
    enum stage stage;     /* how far it came */
    int error;            /* errno, set if it did not become its program */
};

/* --- in the child ----------------------------------------------------------------------------- */

/* execve() changes none of its strings; its prototype is older than const. */
static void exec(const char *file, const char *const *argv, const char *const *env)
{
    execve(file, (void *)(uintptr_t)argv, (void *)(uintptr_t)env);
}

/* As execvp() does it: a text file without "#!" is a shell script. */
static int exec_file(struct child_args *a, const char *file)
{
    exec(file, a->sp->argv, a->sp->env);
    if (errno == ENOEXEC) {
        a->sh_argv[1] = file;
        exec("/bin/sh", a->sh_argv, a->sp->env);
    }
    return shebang_error(file, errno);
}

/* It is there, and something else is not. */
static bool lacks_interpreter(int error)
{
    return error == EILSEQ || error == ELIBACC || error == ELIBBAD || error == ELIBEXEC;
}

static bool goes_on_searching(int error)
{
    return error == ENOENT || error == ENOTDIR || error == EACCES || error == ENAMETOOLONG ||
           lacks_interpreter(error);
}

static int exec_program(struct child_args *a)
{
    static char file[PATH_MAX];
    const char *name = a->sp->argv[0], *end;
    size_t name_len = strlen(name);
    int error, result = ENOENT;

    if (strchr(name, '/') || !*name)
        return exec_file(a, name);
    for (const char *dir = a->path;; dir = end + 1) {
        size_t n;

        end = strchrnul(dir, ':');
        n = (size_t)(end - dir);
        if (n + 1 + name_len < sizeof(file)) {
            memcpy(file, dir, n);
            file[n] = '/';
            memcpy(file + n + (n > 0), name, name_len + 1); /* an empty entry is the cwd */
            error = exec_file(a, file);
            if (!goes_on_searching(error))
                return error;
            if (error == EACCES || lacks_interpreter(error))
                result = error;
        }
        if (!*end)
            return result;
    }
}

/* A descriptor table of its own, with 0, 1 and 2, and the script if there is one. */
static int leave_table(int script_fd)
{
    if (script_fd == 0)
        return close_range(3, ~0U, CLOSE_RANGE_UNSHARE);
    if (close_range((unsigned)script_fd + 1, ~0U, CLOSE_RANGE_UNSHARE) < 0)
        return -1;
    if (dup2(script_fd, WIRE_SCRIPT_FD) < 0 || close_range(3, WIRE_SCRIPT_FD - 1, 0) < 0)
        return -1;
    return close_range(WIRE_SCRIPT_FD + 1, ~0U, 0);
}

/* Without a pid namespace that would end with the supervisor, the process itself is told to. */
static int join(const struct shim *s, const struct spawn *sp)
{
    const struct replica *r = sp->replica;

    if (s->level == LEVEL_NONE) {
        if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0)
            return -1;
        errno = ESRCH;
        return getppid() == s->pid ? 0 : -1;
    }
    if (setns(sp->mnt_fd ? sp->mnt_fd : r->mnt_fd, CLONE_NEWNS) < 0 ||
        setns(r->uts_fd, CLONE_NEWUTS) < 0)
        return -1;
    return s->level == LEVEL_NETWORK ? setns(r->net_fd, CLONE_NEWNET) : 0;
}

static int become(struct child_args *a)
{
    const struct replica *r = a->sp->replica;
    sigset_t none;

    a->stage = STAGE_JOIN;
    if (join(a->s, a->sp) < 0)
        return errno;
    a->stage = STAGE_GROUP;
    if (group_join(r->group) < 0)
        return errno;
    a->stage = STAGE_CHDIR;
    if (chdir(a->sp->cwd) < 0)
        return errno;
    a->stage = STAGE_LIMITS;
    if (leave_table(a->sp->script_fd) < 0 || setrlimit(RLIMIT_NOFILE, &a->s->files) < 0 ||
        setsid() < 0)
        return errno;
    (void)umask(creation_mask());
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    a->stage = STAGE_EXEC;
    return exec_program(a);
}

static int child_main(void *arg)
{
    struct child_args *a = arg;

    a->error = become(a);
    return 127;
}

/* --- in the supervisor ------------------------------------------------------------------------ */

static int describe(const struct child_args *a, struct err *e)
{
    switch (a->stage) {
    case STAGE_JOIN:
        return err_set(e, -a->error, "join %s", a->sp->replica->name);
    case STAGE_GROUP:
        return err_set(e, -a->error, "join the control group of %s", a->sp->replica->name);
    case STAGE_CHDIR:
        return err_set(e, -a->error, "chdir %s", a->sp->cwd);
    case STAGE_LIMITS:
        return err_set(e, -a->error, "restore limits");
    case STAGE_EXEC:
        break;
    }
    return err_set(e, -a->error, "exec");
}

static const char *path_of(const char *const *env)
{
    for (; *env; env++) {
        if (strncmp(*env, "PATH=", 5) == 0)
            return *env + 5;
    }
    return DEFAULT_PATH;
}

static const char **shell_argv(const char *const *argv)
{
    size_t n = 0;
    const char **v;

    while (argv[n])
        n++;
    v = xcalloc(n + 2, sizeof(*v)); /* sh, file, argv[1]…, NULL */
    v[0] = "sh";
    for (size_t i = 1; i < n; i++)
        v[i + 1] = argv[i];
    return v;
}

static void lay_out(const int fds[3])
{
    for (int i = 0; i < 3; i++)
        (void)dup2(fds[i], i);
}

int spawn_process(const struct shim *s, const struct spawn *sp, pid_t *ret_pid, int *ret_pidfd,
                  struct err *e)
{
    static char stack[64 * 1024] __attribute__((aligned(16)));
    auto_free const char **sh_argv = shell_argv(sp->argv);
    struct child_args a = {.s = s, .sp = sp, .path = path_of(sp->env), .sh_argv = sh_argv};
    int nulls[3] = {s->null_fd, s->null_fd, s->null_fd};
    auto_close int pidfd = -1;
    pid_t pid;

    lay_out(sp->fds);
    pid = clone(child_main, stack + sizeof(stack),
                CLONE_VM | CLONE_VFORK | CLONE_FILES | CLONE_PIDFD | SIGCHLD, &a, &pidfd);
    if (pid < 0)
        a.error = errno;
    lay_out(nulls); /* a pipe that we held open would never end */
    if (pid < 0)
        return err_set(e, -a.error, "fork");
    if (a.error) {
        (void)waitpid(pid, NULL, 0);
        return describe(&a, e);
    }
    *ret_pid = pid;
    if (ret_pidfd)
        *ret_pidfd = TAKE_FD(pidfd);
    return 0;
}
