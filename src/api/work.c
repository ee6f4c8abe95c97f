/* work.c - processes of this program that do for us what may take long or end badly: reading job
 * files that somebody sent, deleting run directories.
 *
 * A job file is text from outside. Its readers are fuzzed, but planning also looks at the machine,
 * starts compilers of MPI and reads the files that it names; in a process of its own that blocks no
 * other job, and has a limit of time. It costs some milliseconds.
 *
 * The daemon waits for all of its children (daemon.c), so here the end of the output counts.
 */
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "api/parts.h"
#include "base/io.h"
#include "base/mem.h"

struct pipe_end {
    struct work *work;
    uv_poll_t poll;
    int fd; /* -1: closed */
};

enum { IN, OUT, ERR, ENDS };

struct work {
    struct api *api;
    struct work *prev, *next;
    struct pipe_end ends[ENDS];
    uv_timer_t timer;
    unsigned handles;
    int pidfd;
    struct strbuf in, out, err;
    worked_fn *done; /* NULL: it was called */
    void *ctx;
};

static void on_closed(uv_handle_t *handle)
{
    struct work *w = handle->data;

    if (--w->handles > 0)
        return;
    strbuf_release(&w->in);
    strbuf_release(&w->out);
    strbuf_release(&w->err);
    free(w);
}

static void close_end(struct pipe_end *end)
{
    if (end->fd < 0)
        return;
    end->poll.data = end->work;
    uv_close((uv_handle_t *)&end->poll, on_closed);
    (void)close(end->fd);
    end->fd = -1;
}

static void finish(struct work *w, bool well)
{
    worked_fn *done = w->done;

    if (!done)
        return;
    w->done = NULL;
    if (w->prev)
        w->prev->next = w->next;
    else
        w->api->works = w->next;
    if (w->next)
        w->next->prev = w->prev;
    w->api->n_works--;
    if (!well && w->pidfd >= 0)
        (void)syscall(SYS_pidfd_send_signal, w->pidfd, SIGKILL, NULL, 0);
    if (w->pidfd >= 0)
        (void)close(w->pidfd);
    for (size_t i = 0; i < ENDS; i++)
        close_end(&w->ends[i]);
    uv_close((uv_handle_t *)&w->timer, on_closed);
    done(w->ctx, well, &w->out, &w->err);
}

static void on_time(uv_timer_t *timer)
{
    finish(timer->data, false);
}

static void on_pipe(uv_poll_t *poll, int status, int events)
{
    struct pipe_end *end = poll->data;
    struct work *w = end->work;
    struct strbuf *to = end == &w->ends[OUT] ? &w->out : &w->err;
    char buf[64 * 1024];
    ssize_t n;

    (void)status;
    (void)events;
    if (end == &w->ends[IN]) {
        n = w->in.len ? write(end->fd, w->in.buf, w->in.len) : 0;
        if (n > 0)
            strbuf_consume(&w->in, (size_t)n);
        if (w->in.len == 0 || (n < 0 && errno != EAGAIN && errno != EINTR))
            close_end(end);
        return;
    }
    n = read(end->fd, buf, sizeof(buf));
    if (n > 0)
        strbuf_add(to, buf, (size_t)n);
    if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR))
        close_end(end);
    if (to->len > LIMIT_API_WORK_BYTES)
        finish(w, false);
    else if (w->ends[OUT].fd < 0 && w->ends[ERR].fd < 0)
        finish(w, true);
}

static pid_t spawn(char *const *argv, const int theirs[ENDS])
{
    static const int fds[ENDS] = {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO};
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attr;
    sigset_t all, none;
    pid_t pid = -1;

    (void)sigemptyset(&none);
    (void)sigemptyset(&all);
    (void)sigaddset(&all, SIGPIPE);
    (void)posix_spawn_file_actions_init(&actions);
    (void)posix_spawnattr_init(&attr);
    for (size_t i = 0; i < ENDS; i++)
        (void)posix_spawn_file_actions_adddup2(&actions, theirs[i], fds[i]);
    (void)posix_spawnattr_setsigdefault(&attr, &all);
    (void)posix_spawnattr_setsigmask(&attr, &none);
    (void)posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK);
    if (posix_spawn(&pid, "/proc/self/exe", &actions, &attr, argv, environ) != 0)
        pid = -1;
    (void)posix_spawn_file_actions_destroy(&actions);
    (void)posix_spawnattr_destroy(&attr);
    return pid;
}

/* ours[IN] writes, the others read. */
static bool make_pipes(int ours[ENDS], int theirs[ENDS])
{
    for (size_t i = 0; i < ENDS; i++) {
        int p[2];

        if (pipe2(p, O_CLOEXEC) < 0) {
            while (i-- > 0) {
                (void)close(ours[i]);
                (void)close(theirs[i]);
            }
            return false;
        }
        ours[i] = p[i == IN];
        theirs[i] = p[i != IN];
        (void)io_set_nonblock(ours[i]);
    }
    return true;
}

static struct work *begin(struct api *api, const struct strbuf *in, const int ours[ENDS], pid_t pid)
{
    struct work *w = xcalloc(1, sizeof(*w));

    *w = (struct work){.api = api,
                       .next = api->works,
                       .handles = ENDS + 1,
                       .pidfd = (int)syscall(SYS_pidfd_open, pid, 0),
                       .in = STRBUF_INIT,
                       .out = STRBUF_INIT,
                       .err = STRBUF_INIT};
    if (w->next)
        w->next->prev = w;
    api->works = w;
    api->n_works++;
    strbuf_add(&w->in, in->buf, in->len);
    for (size_t i = 0; i < ENDS; i++) {
        w->ends[i] = (struct pipe_end){.work = w, .fd = ours[i]};
        (void)uv_poll_init(&api->d->loop, &w->ends[i].poll, ours[i]);
        w->ends[i].poll.data = &w->ends[i];
        (void)uv_poll_start(&w->ends[i].poll, i == IN ? UV_WRITABLE : UV_READABLE, on_pipe);
    }
    (void)uv_timer_init(&api->d->loop, &w->timer);
    w->timer.data = w;
    (void)uv_timer_start(&w->timer, on_time, LIMIT_API_WORK_MS, 0);
    return w;
}

struct work *work_start(struct api *api, char *const *argv, const struct strbuf *in,
                        worked_fn *done, void *ctx)
{
    int ours[ENDS], theirs[ENDS];

    if (api->n_works >= LIMIT_API_WORKERS || !make_pipes(ours, theirs))
        return NULL;
    pid_t pid = spawn(argv, theirs);
    for (size_t i = 0; i < ENDS; i++) {
        (void)close(theirs[i]);
        if (pid < 0)
            (void)close(ours[i]);
    }
    if (pid < 0)
        return NULL;
    struct work *w = begin(api, in, ours, pid);
    w->done = done;
    w->ctx = ctx;
    return w;
}

static void nobody(void *ctx, bool well, const struct strbuf *out, const struct strbuf *complaints)
{
    (void)ctx;
    (void)well;
    (void)out;
    (void)complaints;
}

void work_end_all(struct api *api)
{
    while (api->works) {
        api->works->done = nobody;
        finish(api->works, false);
    }
}
