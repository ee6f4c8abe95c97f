/* child.c - see child.h.
 *
 * The text comes back in a memfd, so that only one descriptor has to be watched: the child's pidfd.
 */
#include "inspect/child.h"

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/pidfd.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/io.h"
#include "base/limits.h"
#include "base/mem.h"

enum { RUN_FD = 3, TEXT_FD = 4 }; /* of the child */

struct inspection {
    uv_poll_t poll;
    uv_timer_t limit; /* ours, because one that is stopped does not keep its own */
    int n_handles;
    pid_t pid; /* it leads a group, in which its debugger is too; ours until it is reaped */
    int pidfd, text_fd;
    void (*done)(void *ctx, const char *text, size_t n);
    void *ctx;
};

/* Nothing of ours may reach the loop through it: signals that libuv catches go through a pipe that
 * both have. The connection to the shim must not outlive us in it. */
static _Noreturn void be_child(pid_t parent, int run_fd, int text_fd,
                               void (*work)(void *arg, int run_fd, struct strbuf *out), void *arg)
{
    struct strbuf out = STRBUF_INIT;
    sigset_t none;

    for (int sig = 1; sig < NSIG; sig++)
        (void)signal(sig, SIG_DFL);
    (void)sigemptyset(&none);
    (void)sigprocmask(SIG_SETMASK, &none, NULL);
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    (void)setpgid(0, 0);
    int run = fcntl(run_fd, F_DUPFD_CLOEXEC, TEXT_FD + 1);
    int text = fcntl(text_fd, F_DUPFD_CLOEXEC, TEXT_FD + 1);
    if (getppid() != parent || run < 0 || text < 0 || dup3(run, RUN_FD, O_CLOEXEC) < 0 ||
        dup3(text, TEXT_FD, O_CLOEXEC) < 0 || close_range(TEXT_FD + 1, ~0U, 0) < 0)
        _exit(1);
    work(arg, RUN_FD, &out);
    _exit(io_write_all(TEXT_FD, out.buf, out.len) < 0);
}

static void on_closed(uv_handle_t *handle)
{
    struct inspection *in = handle->data;

    if (--in->n_handles == 0)
        free(in);
}

static void on_limit(uv_timer_t *timer)
{
    struct inspection *in = timer->data;

    (void)kill(-in->pid, SIGKILL);
}

static void let_go(struct inspection *in)
{
    uv_close((uv_handle_t *)&in->poll, on_closed);
    uv_close((uv_handle_t *)&in->limit, on_closed);
    (void)close(in->pidfd);
    (void)close(in->text_fd);
}

static void on_end(uv_poll_t *poll, int status, int events)
{
    struct inspection *in = poll->data;
    void (*done)(void *ctx, const char *text, size_t n) = in->done;
    void *ctx = in->ctx;
    auto_strbuf struct strbuf text = STRBUF_INIT;
    siginfo_t info = {0};

    (void)status;
    (void)events;
    if (waitid(P_PIDFD, (id_t)in->pidfd, &info, WEXITED | WNOHANG | WNOWAIT) == 0 &&
        info.si_pid == 0)
        return;
    (void)kill(-in->pid, SIGKILL); /* a debugger that it left behind */
    (void)waitid(P_PIDFD, (id_t)in->pidfd, &info, WEXITED | WNOHANG);
    bool good = info.si_code == CLD_EXITED && info.si_status == 0;
    if (good && lseek(in->text_fd, 0, SEEK_SET) == 0)
        (void)io_read_fd(in->text_fd, "inspection", LIMIT_INSPECTION_BYTES, &text, NULL);
    let_go(in);
    done(ctx, text.buf, text.len);
}

struct inspection *inspection_new(uv_loop_t *loop, int run_fd,
                                  void (*work)(void *arg, int run_fd, struct strbuf *out),
                                  void *arg, void (*done)(void *ctx, const char *text, size_t n),
                                  void *ctx)
{
    auto_close int text_fd = memfd_create("inspection", MFD_CLOEXEC);
    pid_t parent = getpid(), pid = text_fd < 0 ? -1 : fork();

    if (pid < 0)
        return NULL;
    if (pid == 0)
        be_child(parent, run_fd, text_fd, work, arg);
    (void)setpgid(pid, pid); /* whoever of us comes first */
    auto_close int pidfd = pidfd_open(pid, 0);
    if (pidfd < 0) {
        (void)kill(pid, SIGKILL); /* not reaped: still its pid */
        (void)waitpid(pid, NULL, 0);
        return NULL;
    }
    struct inspection *in = xcalloc(1, sizeof(*in));
    *in = (struct inspection){.pid = pid, .n_handles = 2, .done = done, .ctx = ctx};
    (void)uv_poll_init(loop, &in->poll, pidfd);
    (void)uv_timer_init(loop, &in->limit);
    in->poll.data = in->limit.data = in;
    (void)uv_timer_start(&in->limit, on_limit, LIMIT_INSPECTION_S * 1000, 0);
    in->pidfd = TAKE_FD(pidfd);
    in->text_fd = TAKE_FD(text_fd);
    (void)uv_poll_start(&in->poll, UV_READABLE, on_end);
    return in;
}

/* It only reads /proc, so its end is a matter of microseconds. */
void inspection_stop(struct inspection *in)
{
    if (!in)
        return;
    (void)kill(-in->pid, SIGKILL);
    (void)waitid(P_PIDFD, (id_t)in->pidfd, NULL, WEXITED);
    let_go(in);
}
