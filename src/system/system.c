/* system.c - see system.h and, for what is said and stored, parts.h. */
#include "system/system.h"

#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/io.h"
#include "base/mem.h"
#include "daemon/store.h"
#include "rundir/places.h"
#include "system/parts.h"

#define STATE_DIR "/var/lib/muster"

void system_note(struct system *sys, const char *fmt, ...)
{
    auto_strbuf struct strbuf text = STRBUF_INIT;
    va_list ap;

    va_start(ap, fmt);
    strbuf_vaddf(&text, fmt, ap);
    va_end(ap);
    sys->opts->note(text.buf);
}

/* --- the loop --------------------------------------------------------------------------------- */

/* Decides, stores, then sends: a grant that a daemon has heard of is known to our successor. */
static void on_prepare(uv_prepare_t *handle)
{
    struct system *sys = handle->data;
    struct err e;

    if (sys->changed && !sys->leaving)
        decide(sys);
    if (!sys_store_commit(sys->store, &e))
        system_note(sys, "%s; what jobs hold is not known after a restart", e.text);
    peers_flush(sys);
}

static void on_end_signal(uv_signal_t *handle, int sig)
{
    static const char text[] = "{\"end\":true}";
    struct system *sys = handle->data;
    auto_strbuf struct strbuf line = STRBUF_INIT;

    (void)sig;
    sys->leaving = true;
    strbuf_addstr(&line, text);
    for (size_t i = 0; i < sys->n_users; i++)
        if (sys->users[i]->link)
            peer_send(sys->users[i]->link, &line);
    peers_flush(sys);
    uv_stop(&sys->loop);
}

static void on_child(uv_signal_t *handle, int sig)
{
    (void)sig;
    members_reap(handle->data);
}

static void on_hangup(uv_signal_t *handle, int sig)
{
    struct system *sys = handle->data;
    struct err e;

    (void)sig;
    if (decide_configure(sys, &e) < 0)
        system_note(sys, "%s; it stays as it was", e.text);
    else
        system_note(sys,
                    "configuration reloaded: %u queue%s; users' daemons read it when they "
                    "start",
                    sys->config.n_queues, sys->config.n_queues == 1 ? "" : "s");
}

static void make_handles(struct system *sys)
{
    static const struct {
        int sig;
        uv_signal_cb cb;
    } caught[] = {{SIGTERM, on_end_signal},
                  {SIGINT, on_end_signal},
                  {SIGCHLD, on_child},
                  {SIGHUP, on_hangup}};

    (void)signal(SIGPIPE, SIG_IGN);
    (void)uv_prepare_init(&sys->loop, &sys->prepare);
    (void)uv_timer_init(&sys->loop, &sys->queue_timer);
    (void)uv_timer_init(&sys->loop, &sys->why_timer);
    (void)uv_timer_init(&sys->loop, &sys->member_timer);
    sys->prepare.data = sys->queue_timer.data = sys->why_timer.data = sys->member_timer.data = sys;
    (void)uv_prepare_start(&sys->prepare, on_prepare);
    for (size_t i = 0; i < ARRAY_SIZE(caught); i++) {
        (void)uv_signal_init(&sys->loop, &sys->signals[i]);
        sys->signals[i].data = sys;
        (void)uv_signal_start(&sys->signals[i], caught[i].cb, caught[i].sig);
    }
}

/* --- beginning and end ------------------------------------------------------------------------ */

/* A directory of root's that nobody else writes to. */
static int open_dir(const char *path, mode_t mode, struct err *e)
{
    struct stat st;
    int r = io_mkdir_p(path, mode, e);

    if (r < 0)
        return r;
    auto_close int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &st) < 0)
        return err_sys(e, -errno, "cannot open %s", path);
    if (st.st_uid != 0 || (st.st_mode & 022))
        return err_set(e, -EPERM, "%s must belong to root, and only root may write to it", path);
    if (fchmod(fd, mode) < 0)
        return err_sys(e, -errno, "cannot set the mode of %s", path);
    return TAKE_FD(fd);
}

static int open_run(struct system *sys, struct err *e)
{
    auto_free char *users = xasprintf("%s/users", sys->run);

    sys->run_fd = open_dir(sys->run, 0755, e);
    if (sys->run_fd < 0)
        return sys->run_fd;
    sys->users_fd = open_dir(users, 0755, e);
    return sys->users_fd < 0 ? sys->users_fd : 0;
}

static void close_handle(uv_handle_t *handle, void *arg)
{
    (void)arg;
    if (!uv_is_closing(handle))
        uv_close(handle, NULL);
}

static void end(struct system *sys)
{
    struct err e;

    if (!sys_store_commit(sys->store, &e))
        system_note(sys, "%s", e.text);
    sys->leaving = true;
    peers_close(sys);
    uv_walk(&sys->loop, close_handle, NULL);
    (void)uv_run(&sys->loop, UV_RUN_DEFAULT);
    (void)uv_loop_close(&sys->loop);
    for (size_t i = 0; i < sys->n_users; i++)
        user_free(sys->users[i]);
    free(sys->users);
    arena_free(sys->config_arena);
    sys_store_close(sys->store);
}

/* Their daemons may have survived us: those come back by themselves. */
static void want_members(struct system *sys)
{
    for (size_t i = 0; i < sys->n_users; i++)
        if (sys->users[i]->n > 0)
            member_want(sys->users[i]);
}

static int serve(struct system *sys, const char *state, struct err *e)
{
    auto_free char *path = xasprintf("%s/system.db", state);
    int r = sys_store_open(path, &sys->store, e);

    if (r < 0)
        return r;
    r = uv_loop_init(&sys->loop);
    if (r < 0) {
        sys_store_close(sys->store);
        return err_sys(e, r, "cannot create an event loop");
    }
    make_handles(sys);
    r = decide_configure(sys, e);
    if (r == 0)
        r = sys_store_load(sys, e);
    if (r == 0)
        r = peers_open(sys, e);
    if (r == 0) {
        want_members(sys);
        (void)uv_run(&sys->loop, UV_RUN_DEFAULT);
    }
    end(sys);
    return r;
}

int system_serve(const struct system_options *opts, struct err *e)
{
    const char *given = getenv("STATE_DIRECTORY"), *state = given && *given ? given : STATE_DIR;
    char self[PATH_MAX];
    ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);
    auto_free char *run = places_system();

    if (geteuid() != 0)
        return err_set(e, -EPERM,
                       "--system runs the jobs of all users and must be started as root; `muster "
                       "serve` without it runs your own");
    if (n <= 0 || *state != '/' || !run)
        return err_set(e, -EINVAL, "%s",
                       n <= 0          ? "cannot determine the path of this program"
                       : *state != '/' ? "STATE_DIRECTORY must be an absolute path"
                                       : "--system cannot be used with MUSTER_HOME");
    self[n] = '\0';
    auto_close int dir = open_dir(state, 0700, e);
    auto_close int lock = dir < 0 ? -1 : daemon_lock(state, e);
    if (dir < 0 || lock < 0)
        return dir < 0 ? dir : lock;
    struct system sys = {.opts = opts, .program = self, .run = run, .run_fd = -1, .users_fd = -1};
    int r = open_run(&sys, e);
    if (r == 0)
        r = serve(&sys, state, e);
    if (sys.users_fd >= 0)
        (void)close(sys.users_fd);
    if (sys.run_fd >= 0)
        (void)close(sys.run_fd);
    return r;
}
