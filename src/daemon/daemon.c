/* daemon.c - see daemon.h and, for the order of a round, parts.h. */
#include "daemon/daemon.h"

#include <fcntl.h>
#include <malloc.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/io.h"
#include "base/mem.h"
#include "client/daemon.h"
#include "daemon/kill_points.h"
#include "daemon/parts.h"
#include "rundir/places.h"

#define TRIM_AFTER 64 /* jobs that were submitted or have ended, while none runs */
#define TRIM_BUSY 4096
#define ROUNDS 64 /* before the loop looks at its descriptors again */

void daemon_note(struct daemon *d, const char *fmt, ...)
{
    auto_strbuf struct strbuf text = STRBUF_INIT;
    va_list ap;

    va_start(ap, fmt);
    strbuf_vaddf(&text, fmt, ap);
    va_end(ap);
    d->opts->note(text.buf);
}

/* --- rounds ----------------------------------------------------------------------------------- */

static void on_retry(uv_timer_t *timer)
{
    (void)timer; /* the loop comes to its next round */
}

/* The jobs go on meanwhile; what they report is kept. */
static void commit_failed(struct daemon *d, const struct err *e)
{
    if (!d->stuck)
        daemon_note(d, "%s; trying again every second, and starting nothing meanwhile", e->text);
    d->stuck = true;
    server_committed(d->server, e);
    (void)uv_timer_start(&d->retry, on_retry, LIMIT_STORE_RETRY_MS, 0);
}

static void on_queue_time(uv_timer_t *timer)
{
    ((struct daemon *)timer->data)->queue_changed = true;
}

static void ask_queue(struct daemon *d, bool all)
{
    admit(d, all);
    ns_t left = d->queue_wake ? d->queue_wake - clock_real() : 0;
    if (d->queue_wake)
        (void)uv_timer_start(&d->queue_timer, on_queue_time,
                             left > 0 ? (uint64_t)(left / NS_PER_MS) + 1 : 0, 0);
    else
        (void)uv_timer_stop(&d->queue_timer);
}

static struct served *take_dirty(struct daemon *d)
{
    struct served *list = d->dirty;

    d->dirty = NULL;
    return list;
}

/* Those that became dirty meanwhile are first in the list, and are decided in the next round. */
static void put_back(struct daemon *d, struct served *list)
{
    while (list) {
        struct served *s = list;

        list = s->next_dirty;
        s->next_dirty = d->dirty;
        d->dirty = s;
    }
}

/* Appends those that are dirty to the list. */
static void decide_all(struct daemon *d, struct served **list)
{
    ns_t now = clock_run();

    while (*list)
        list = &(*list)->next_dirty;
    for (*list = take_dirty(d); *list; list = &(*list)->next_dirty) {
        if ((*list)->act)
            served_decide(*list, now);
        d->urgent |= served_is_due(*list);
    }
}

static int commit(struct daemon *d, struct err *e)
{
    bool any = store_has_changes(d->store);
    ns_t begun = clock_mono();
    int r = store_commit(d->store, e);

    if (any && r == 0)
        tally_commit(&d->tally, clock_mono() - begun);
    return r;
}

static void on_commit_time(uv_timer_t *timer)
{
    ((struct daemon *)timer->data)->urgent = true;
}

static void commit_later(struct daemon *d)
{
    if (!uv_is_active((uv_handle_t *)&d->commit_timer))
        (void)uv_timer_start(&d->commit_timer, on_commit_time, LIMIT_COMMIT_WAIT_MS, 0);
}

/* False: the commit has failed, or may wait. */
static bool round_once(struct daemon *d)
{
    struct err e;

    struct served *list = NULL;

    if (d->queue_changed && !d->leaving)
        ask_queue(d, true);
    decide_all(d, &list);
    if (d->made_room && !d->leaving) {
        ask_queue(d, false);
        decide_all(d, &list);
    }
    d->made_room = false;
    ns_t now = clock_run();
    if (list && !d->urgent) {
        put_back(d, list);
        commit_later(d);
        return false;
    }
    if (d->n > 0 && d->jobs[d->n - 1]->is_new)
        kill_point(KILL_BEFORE_SUBMIT_COMMIT);
    if (list)
        kill_point(KILL_BEFORE_COMMIT);
    if (commit(d, &e) < 0) {
        put_back(d, list);
        commit_failed(d, &e);
        return false;
    }
    if (d->stuck)
        daemon_note(d, "the database can be written again");
    d->stuck = false;
    if (d->n > 0 && d->jobs[d->n - 1]->is_new)
        kill_point(KILL_BEFORE_REPLY);
    if (list)
        kill_point(KILL_AFTER_COMMIT);
    bool any = list;
    d->urgent = false;
    (void)uv_timer_stop(&d->commit_timer);
    server_committed(d->server, NULL);
    while (list) {
        struct served *s = list;

        list = s->next_dirty;
        s->dirty = false;
        if (s->act)
            served_act(s, now);
        else if (s->row.state == STORED_ENDED) {
            code_forget(s);
            served_forget_needs(s);
        }
    }
    if (any)
        kill_point(KILL_ACTED);
    return true;
}

static void check_end(struct daemon *d)
{
    if (d->leaving && (!d->opts->stop_jobs || d->n_active == 0))
        uv_stop(&d->loop);
}

/* A submission of ten thousand jobs needs tens of megabytes until it is stored, and jobs that have
 * run leave holes. */
static void give_back_memory(struct daemon *d)
{
    if (d->n_changed < (d->n_active > 0 ? TRIM_BUSY : TRIM_AFTER))
        return;
    d->n_changed = 0;
    (void)malloc_trim(0);
}

static void on_prepare(uv_prepare_t *handle)
{
    struct daemon *d = handle->data;

    for (int i = 0; i < ROUNDS && (d->dirty || d->queue_changed || store_has_changes(d->store));
         i++) {
        if (d->queue_changed && d->leaving && !d->dirty && !store_has_changes(d->store))
            break;
        if (!round_once(d))
            return;
    }
    if (d->dirty)
        (void)uv_timer_start(&d->retry, on_retry, 0, 0);
    give_back_memory(d);
    check_end(d);
}

/* --- signals ---------------------------------------------------------------------------------- */

void daemon_leave(struct daemon *d)
{
    d->leaving = true;
    for (size_t i = 0; d->opts->stop_jobs && i < d->n; i++)
        if (d->jobs[i]->act && !d->jobs[i]->act->told)
            served_observe(d->jobs[i], OBS_CANCEL);
}

static void on_end_signal(uv_signal_t *handle, int sig)
{
    struct daemon *d = handle->data;

    (void)sig;
    if (d->leaving) { /* a second one does not wait for the jobs */
        uv_stop(&d->loop);
        return;
    }
    daemon_leave(d);
}

/* Shims are children of ours, and nobody else waits for most of them. */
static void on_child(uv_signal_t *handle, int sig)
{
    (void)handle;
    (void)sig;
    for (;;) {
        siginfo_t info = {0};

        if (waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) < 0 || info.si_pid == 0)
            return;
        /* One that looks at a job that hangs (inspect/child.c) is waited for there, in a moment. */
        if (getpgid(info.si_pid) == info.si_pid && getsid(info.si_pid) == getsid(0))
            return;
        (void)waitpid(info.si_pid, NULL, WNOHANG);
    }
}

static void on_hangup(uv_signal_t *handle, int sig)
{
    (void)sig;
    config_reload(handle->data);
}

static void catch_signals(struct daemon *d)
{
    static const struct {
        int sig;
        uv_signal_cb cb;
    } caught[] = {{SIGTERM, on_end_signal},
                  {SIGINT, on_end_signal},
                  {SIGCHLD, on_child},
                  {SIGHUP, on_hangup}};

    (void)signal(SIGPIPE, SIG_IGN);
    for (size_t i = 0; i < ARRAY_SIZE(caught); i++) {
        (void)uv_signal_init(&d->loop, &d->signals[i]);
        d->signals[i].data = d;
        (void)uv_signal_start(&d->signals[i], caught[i].cb, caught[i].sig);
    }
}

/* --- beginning and end ------------------------------------------------------------------------ */

static void load_one(void *ctx, const struct stored *row)
{
    struct daemon *d = ctx;

    (void)daemon_add(d, row);
    if (row->number > d->last_number)
        d->last_number = row->number;
    if (row->turn > d->last_turn)
        d->last_turn = row->turn;
}

static bool any_started(const struct daemon *d)
{
    for (size_t i = 0; i < d->n; i++)
        if (d->jobs[i]->row.state == STORED_STARTED)
            return true;
    return false;
}

/* Times of running jobs count from a base (clock_run()) that a daemon takes from the real clock,
 * which may have been set since. So the next one takes the base of its predecessor while jobs
 * run, unless the machine was started again. */
static void keep_clock(const struct daemon *d, int dir)
{
    auto_strbuf struct strbuf boot = STRBUF_INIT, kept = STRBUF_INIT;
    long long base = 0;
    char *end;

    (void)io_read_file(AT_FDCWD, "/proc/sys/kernel/random/boot_id", 64, &boot, NULL);
    strbuf_truncate(&boot, strcspn(boot.buf, "\n"));
    if (boot.len > 0 && any_started(d) && io_read_regular(dir, "clock", 128, &kept, NULL) == 0 &&
        strncmp(kept.buf, boot.buf, boot.len) == 0 && kept.buf[boot.len] == ' ') {
        base = strtoll(kept.buf + boot.len, &end, 10);
        if (*end == '\n' && base > 0)
            clock_run_set_base(base);
    }
    strbuf_truncate(&kept, 0);
    strbuf_addf(&kept, "%s %lld\n", boot.buf, (long long)clock_run_base());
    (void)io_write_atomic(dir, "clock", kept.buf, kept.len, NULL);
    kill_point(KILL_CLOCK_KEPT);
}

static int load(struct daemon *d, int dir, struct err *e)
{
    int r = store_each(d->store, load_one, d, e);

    if (r < 0)
        return r;
    (void)unlinkat(dir, DAEMON_WAITING, 0);
    keep_clock(d, dir);
    if (store_last_number(d->store) > d->last_number)
        d->last_number = store_last_number(d->store);
    for (size_t i = 0; i < d->n; i++)
        if (d->jobs[i]->row.state == STORED_STARTED)
            served_resume(d->jobs[i]);
    code_sweep(d);
    retire_later(d);
    d->queue_changed = true;
    return 0;
}

/* Each job needs some descriptors; the caller's soft limit is for programs that use select(). */
static void raise_descriptors(void)
{
    struct rlimit limit;

    if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
        limit.rlim_cur = limit.rlim_max;
        (void)setrlimit(RLIMIT_NOFILE, &limit);
    }
}

int daemon_lock(const char *dir, struct err *e)
{
    auto_free char *path = xasprintf("%s/lock", dir);
    int r = io_mkdir_p(dir, 0700, e);

    if (r < 0)
        return r;
    auto_close int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0)
        return err_sys(e, -errno, "cannot open %s", path);
    if (flock(fd, LOCK_EX | LOCK_NB) < 0)
        return errno == EWOULDBLOCK ? err_set(e, -EBUSY, "a daemon is already running for %s", dir)
                                    : err_sys(e, -errno, "cannot lock %s", path);
    return TAKE_FD(fd);
}

static int open_socket_dir(struct err *e)
{
    auto_free char *dir = daemon_socket_dir(), *home = xstrdup(dir);

    *strrchr(home, '/') = '\0';
    int r = io_mkdir_p(home, 0700, e);
    if (r == 0)
        r = io_mkdir_p(dir, 0700, e);
    if (r < 0)
        return r;
    if (!places_is_private(home) || !places_is_private(dir))
        return err_set(e, -EPERM, "%s must be a directory of uid %u with mode 0700", dir,
                       geteuid());
    int fd = open(dir, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    return fd < 0 ? err_sys(e, -errno, "cannot open %s", dir) : fd;
}

/* Read by verbs while no daemon runs (client/daemon.h). */
static void leave_word(const struct daemon *d, int dir)
{
    auto_strbuf struct strbuf text = STRBUF_INIT;
    size_t n = 0;

    for (size_t i = 0; i < d->n; i++)
        n += d->jobs[i]->row.state == STORED_WAITING;
    strbuf_addf(&text, "%zu\n", n);
    (void)io_write_atomic(dir, DAEMON_WAITING, text.buf, text.len, NULL);
}

static void close_handle(uv_handle_t *handle, void *arg)
{
    (void)arg;
    if (!uv_is_closing(handle))
        uv_close(handle, NULL);
}

static void end(struct daemon *d)
{
    struct err e;

    if (store_commit(d->store, &e) < 0)
        daemon_note(d, "%s", e.text);
    server_free(d->server);
    member_close(d);
    if (d->opts->front)
        d->opts->front->close(d->front);
    for (size_t i = 0; i < d->n; i++)
        served_free(d->jobs[i]);
    free(d->jobs);
    free(d->open);
    free(d->buckets);
    arena_free(d->config_arena);
    usage_watch_free(d->usage);
    uv_walk(&d->loop, close_handle, NULL);
    (void)uv_run(&d->loop, UV_RUN_DEFAULT);
    (void)uv_loop_close(&d->loop);
    member_free(d);
    store_close(d->store);
}

static void make_handles(struct daemon *d)
{
    (void)uv_prepare_init(&d->loop, &d->prepare);
    (void)uv_timer_init(&d->loop, &d->retry);
    (void)uv_timer_init(&d->loop, &d->queue_timer);
    (void)uv_timer_init(&d->loop, &d->commit_timer);
    (void)uv_timer_init(&d->loop, &d->retire_timer);
    d->retire_timer.data = d;
    d->prepare.data = d->retry.data = d->queue_timer.data = d->commit_timer.data = d;
    (void)uv_prepare_start(&d->prepare, on_prepare);
    d->usage = usage_watch_new(&d->loop, NULL);
    catch_signals(d);
}

/* Whoever can write the database, or replace a run directory, decides what runs as us. In a
 * directory that others can write to, somebody may have made them first. */
static int check_own(const char *state, int home, struct err *e)
{
    static const char *const names[] = {".", "../runs", DAEMON_DATABASE, DAEMON_DATABASE "-wal",
                                        DAEMON_DATABASE "-shm"};

    for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
        struct stat st;

        if (fstatat(home, names[i], &st, AT_SYMLINK_NOFOLLOW) < 0) {
            if (errno == ENOENT)
                continue;
            return err_sys(e, -errno, "cannot look at %s/%s", state, names[i]);
        }
        if (st.st_uid != geteuid() || S_ISLNK(st.st_mode) || (st.st_mode & (S_IWGRP | S_IWOTH)))
            return err_set(e, -EPERM,
                           "%s/%s must belong to uid %u, and nobody else may write to it "
                           "(XDG_STATE_HOME, MUSTER_HOME)",
                           state, names[i], geteuid());
    }
    return 0;
}

int daemon_serve(const struct daemon_options *opts, struct err *e)
{
    struct daemon d = {.opts = opts};
    auto_free char *state = places_daemon_state();

    if (!state)
        return err_set(e, -ENOENT, "set HOME or MUSTER_HOME to choose where the daemon keeps jobs");
    auto_free char *path = xasprintf("%s/" DAEMON_DATABASE, state);
    auto_close int lock = daemon_lock(state, e), dir = lock < 0 ? -1 : open_socket_dir(e);

    if (lock < 0 || dir < 0)
        return lock < 0 ? lock : dir;
    auto_close int home = open(state, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int r = home < 0 ? err_sys(e, -errno, "cannot open %s", state) : check_own(state, home, e);
    if (r < 0)
        return r;
    raise_descriptors();
    tally_begin(&d.tally);
    r = store_open(path, &d.store, e);
    if (r < 0)
        return r;
    r = uv_loop_init(&d.loop);
    if (r < 0) {
        store_close(d.store);
        return err_sys(e, r, "cannot create an event loop");
    }
    make_handles(&d);
    r = config_read(&d, e);
    if (r == 0)
        r = load(&d, home, e);
    if (r == 0)
        r = server_open(&d, dir, &d.server, e);
    if (r == 0 && opts->front)
        r = opts->front->open(&d, opts->front->options, dir, &d.front, e);
    if (r == 0 && opts->member)
        member_open(&d);
    if (r == 0)
        (void)uv_run(&d.loop, UV_RUN_DEFAULT);
    if (r == 0)
        leave_word(&d, home);
    end(&d);
    return r;
}
