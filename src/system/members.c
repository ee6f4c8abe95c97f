/* members.c - users' daemons: started as their user, and started again while they have jobs.
 *
 * The child looks its user up (a directory service may take its time), becomes that user, and only
 * then touches anything that is the user's. What it executes is this program, which is root's.
 */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/io.h"
#include "base/mem.h"
#include "client/daemon.h"
#include "rundir/places.h"
#include "system/identity.h"
#include "system/parts.h"

#define FIRST_MS 2000 /* for one that has survived us to come back by itself */
#define MOST_MS 60000 /* between two tries */

/* --- users ------------------------------------------------------------------------------------ */

struct user *user_get(struct system *sys, uid_t uid)
{
    for (size_t i = 0; i < sys->n_users; i++)
        if (sys->users[i]->uid == uid)
            return sys->users[i];
    struct user *u = xcalloc(1, sizeof(*u));
    *u = (struct user){.sys = sys,
                       .uid = uid,
                       .name = xasprintf("uid %u", uid),
                       .state_home = xstrdup(""),
                       .said_fd = -1};
    inherited_from_us(&u->inherited);
    u->inherited.umask = 077;
    GROW(sys->users, sys->n_users, sys->cap_users);
    sys->users[sys->n_users++] = u;
    return u;
}

void user_free(struct user *u)
{
    for (size_t i = 0; i < u->n; i++)
        entry_free(u->jobs[i]);
    free(u->jobs);
    free(u->name);
    free(u->state_home);
    if (u->said_fd >= 0)
        (void)close(u->said_fd);
    free(u);
}

/* --- the child -------------------------------------------------------------------------------- */

/* DIR/users/UID, the user's own, for sockets of its daemon and jobs. Nobody but root writes to what
 * it is in, so nothing can be in its place. */
static int make_place(const struct system *sys, const struct identity *id, struct err *e)
{
    char name[16];
    struct stat st;

    (void)snprintf(name, sizeof(name), "%u", id->uid);
    if (mkdirat(sys->users_fd, name, 0700) < 0 && errno != EEXIST)
        return err_sys(e, -errno, "cannot create %s/users/%s", sys->run, name);
    auto_close int fd =
        openat(sys->users_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &st) < 0)
        return err_sys(e, -errno, "cannot open %s/users/%s", sys->run, name);
    if (st.st_uid == id->uid && id->uid != 0)
        return 0;
    if (st.st_uid != 0)
        return err_set(e, -EPERM, "%s/users/%s belongs to uid %u", sys->run, name, st.st_uid);
    if (fchown(fd, id->uid, id->gid) < 0 || fchmod(fd, 0700) < 0)
        return err_sys(e, -errno, "cannot hand %s/users/%s over", sys->run, name);
    return 0;
}

/* Root writes only where nobody else can put a link: each directory on the way is root's. Where
 * others can write, as in /tmp, the next one is there already, and cannot be replaced. A user may
 * choose any directory: what that user may not do there, the daemon may not either. */
static int check_root_state(const char *dir, struct err *e)
{
    auto_free char *path = xstrdup(dir);
    bool next_is_there = false;
    struct stat st;

    for (size_t n = strlen(path); n > 0; n--) {
        if (path[n] != '/' && path[n] != '\0')
            continue;
        path[n] = '\0';
        int r = lstat(path, &st) < 0 ? -errno : 0;
        if (r == -ENOENT)
            continue;
        if (r < 0 || !S_ISDIR(st.st_mode) || st.st_uid != 0 ||
            ((st.st_mode & (S_IWGRP | S_IWOTH)) && !(next_is_there && (st.st_mode & S_ISVTX))))
            return err_set(e, -EPERM,
                           "%s: root's jobs are kept only where root alone can write (HOME, "
                           "XDG_STATE_HOME)",
                           path);
        next_is_there = true;
    }
    return 0;
}

/* What a login would set; what jobs get comes with each of them. */
static void set_environment(const struct user *u, const struct identity *id)
{
    auto_free char *runtime = xasprintf("%s/users/%u", u->sys->run, id->uid);
    auto_free char *lang = getenv("LANG") ? xstrdup(getenv("LANG")) : NULL;
    auto_free char *zone = getenv("TZ") ? xstrdup(getenv("TZ")) : NULL;

    (void)clearenv();
    (void)setenv("HOME", id->home, 1);
    (void)setenv("USER", id->name, 1);
    (void)setenv("LOGNAME", id->name, 1);
    (void)setenv("SHELL", id->shell, 1);
    (void)setenv("PATH", "/usr/local/bin:/usr/bin:/bin", 1);
    (void)setenv("XDG_RUNTIME_DIR", runtime, 1);
    (void)setenv("MUSTER_SYSTEM", u->sys->run, 1);
    if (*u->state_home)
        (void)setenv("XDG_STATE_HOME", u->state_home, 1);
    if (lang)
        (void)setenv("LANG", lang, 1);
    if (zone)
        (void)setenv("TZ", zone, 1);
}

/* The number is a job's own business; a service may have protected its main process. */
static void reset_oom_score(void)
{
    auto_close int fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);

    if (fd >= 0)
        (void)io_write_all(fd, "0", 1);
}

static int become_user(const struct user *u, int told, struct err *e)
{
    struct identity id;
    int r = identity_find(u->uid, &id, e);

    if (r < 0)
        return r;
    (void)io_write_all(told, id.name, strlen(id.name) + 1);
    reset_oom_score();
    r = make_place(u->sys, &id, e);
    if (r == 0 && u->uid == 0)
        r = check_root_state(u->state_home, e);
    if (r == 0 && (r = inherited_apply(&u->inherited)) < 0)
        r = err_sys(e, r, "cannot set resource limits");
    if (r == 0)
        r = identity_become(&id, e);
    if (r == 0)
        set_environment(u, &id);
    identity_release(&id);
    return r;
}

static void add_number(struct strvec *words, const char *option, int64_t n)
{
    strvec_push(words, option);
    strvec_pushf(words, "%lld", (long long)n);
}

/* From here on as the user. */
static int execute(const struct user *u, struct err *e)
{
    auto_strvec struct strvec words = STRVEC_INIT;
    auto_free char *state = places_daemon_state();
    auto_free char *log = state ? xasprintf("%s/log", state) : NULL;
    const struct queue_machine *m = &u->sys->machine;

    if (!state)
        return err_set(e, -ENOENT, "the user has no home directory");
    int r = io_mkdir_p(state, 0700, e);
    if (r < 0)
        return r;
    strvec_push(&words, "muster");
    strvec_push(&words, "serve");
    strvec_push(&words, "--member");
    add_number(&words, "--cpus", (m->has.v[QUEUE_CPU] + 999) / 1000);
    add_number(&words, "--gpus", __builtin_popcountll(m->gpus));
    strvec_push(&words, "--memory");
    strvec_pushf(&words, "%lld", (long long)m->has.v[QUEUE_MEMORY]);
    daemon_become(u->sys->program, words.v, log);
    return err_sys(e, -errno, "cannot execute %s as uid %u", u->sys->program, u->uid);
}

static _Noreturn void child(const struct user *u, int told)
{
    struct err e;
    sigset_t none;

    for (int sig = 1; sig < NSIG; sig++)
        (void)signal(sig, SIG_DFL);
    (void)sigemptyset(&none);
    (void)sigprocmask(SIG_SETMASK, &none, NULL);
    if (become_user(u, told, &e) == 0)
        (void)execute(u, &e);
    (void)io_write_all(told, e.text, strlen(e.text));
    _exit(127);
}

/* --- starting --------------------------------------------------------------------------------- */

/* The pipe has the user's name, a NUL, and what went wrong before exec. */
int member_start(struct user *u, struct err *e)
{
    int ends[2];

    u->start_at = 0;
    if (u->link || u->pid)
        return 0;
    if (pipe2(ends, O_CLOEXEC | O_NONBLOCK) < 0)
        return err_sys(e, -errno, "cannot create a pipe");
    pid_t pid = fork();
    if (pid == 0)
        child(u, ends[1]);
    (void)close(ends[1]);
    if (pid < 0) {
        (void)close(ends[0]);
        return err_sys(e, -errno, "cannot create a process");
    }
    u->pid = pid;
    u->said_fd = ends[0];
    return 0;
}

static void on_member_time(uv_timer_t *timer)
{
    struct system *sys = timer->data;
    ns_t now = clock_mono(), next = 0;

    for (size_t i = 0; i < sys->n_users; i++) {
        struct user *u = sys->users[i];
        struct err e;

        if (u->start_at && u->start_at <= now && member_start(u, &e) < 0) {
            system_note(sys, "%s: %s", u->name, e.text);
            u->failures++;
            u->start_at = now + MOST_MS * NS_PER_MS;
        }
        if (u->start_at && (next == 0 || u->start_at < next))
            next = u->start_at;
    }
    if (next)
        (void)uv_timer_start(timer, on_member_time,
                             next > now ? (uint64_t)((next - now) / NS_PER_MS) + 1 : 1, 0);
}

void member_want(struct user *u)
{
    int64_t ms = FIRST_MS;

    if (u->link || u->pid || u->start_at || u->sys->leaving)
        return;
    for (unsigned i = 0; i < u->failures && ms < MOST_MS; i++)
        ms *= 2;
    u->start_at = clock_mono() + (ms < MOST_MS ? ms : MOST_MS) * NS_PER_MS;
    (void)uv_timer_start(&u->sys->member_timer, on_member_time, 1, 0);
}

static void add_end(int status, struct strbuf *out)
{
    if (WIFEXITED(status))
        strbuf_addf(out, "exited with status %d", WEXITSTATUS(status));
    else
        strbuf_addf(out, "was killed by signal %d", WTERMSIG(status));
}

/* Appends why it could not begin. */
static void hear(struct user *u, struct strbuf *why)
{
    char said[LIMIT_ERR_TEXT + 256];
    ssize_t n = u->said_fd >= 0 ? read(u->said_fd, said, sizeof(said) - 1) : 0;

    if (u->said_fd >= 0)
        (void)close(u->said_fd);
    u->said_fd = -1;
    if (n <= 0)
        return;
    said[n] = '\0';
    const char *end = memchr(said, '\0', (size_t)n);
    if (end) {
        free(u->name);
        u->name = xstrdup(said);
        sys_store_user(u->sys->store, u);
    }
    strbuf_addstr(why, end ? end + 1 : said);
}

static void ended(struct user *u, int status)
{
    auto_strbuf struct strbuf text = STRBUF_INIT;

    hear(u, &text);
    u->pid = 0;
    if (text.len == 0) {
        strbuf_addf(&text, "the daemon of %s ", u->name);
        add_end(status, &text);
    }
    if (u->link || u->sys->leaving)
        return;
    system_note(u->sys, "%s: %s", u->name, text.buf);
    u->failures++;
    peers_started(u, text.buf);
    if (u->n > 0)
        member_want(u);
}

void members_reap(struct system *sys)
{
    for (size_t i = 0; i < sys->n_users; i++) {
        struct user *u = sys->users[i];
        int status;

        if (u->pid && waitpid(u->pid, &status, WNOHANG) == u->pid)
            ended(u, status);
    }
}

/* --- links ------------------------------------------------------------------------------------ */

void member_linked(struct user *u, struct peer *link)
{
    auto_strbuf struct strbuf nothing = STRBUF_INIT;

    if (u->pid)
        hear(u, &nothing);
    u->link = link;
    u->failures = 0;
    u->start_at = 0;
    book_link_made(u);
}

void member_lost(struct user *u)
{
    u->link = NULL;
    u->told = false;
    u->sys->changed = true;
    if (u->n > 0)
        member_want(u);
}
