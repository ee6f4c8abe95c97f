/* daemon.c - see daemon.h. */
#include "client/daemon.h"

#include <fcntl.h>
#include <linux/close_range.h>
#include <signal.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/io.h"
#include "base/mem.h"
#include "base/num.h"
#include "client/protocol.h"
#include "client/system.h"
#include "doc/json_read.h"
#include "rundir/places.h"

char *daemon_code_dir(void)
{
    auto_free char *state = places_daemon_state();

    return state ? xasprintf("%s/code", state) : NULL;
}

char *daemon_socket_dir(void)
{
    auto_strvec struct strvec notes = STRVEC_INIT;
    auto_free char *scratch = places_scratch(&notes);

    return xasprintf("%s/daemon", scratch);
}

static bool is_absent(int r)
{
    return r == -ENOENT || r == -ECONNREFUSED;
}

/* One of the user's own is asked first; there is only one of both, as they share a database. */
int daemon_ask(struct arena *a, const struct strbuf *request, int limit_ms, struct answer *ret,
               struct err *e)
{
    auto_free char *dir = daemon_socket_dir(), *system = places_system_scratch();
    auto_close int fd = open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
    int r = fd < 0 ? -errno : ask(a, fd, request, false, limit_ms, ret, e);

    if (fd < 0)
        (void)err_sys(e, r, "cannot open %s", dir);
    if (is_absent(r) && system) {
        auto_free char *other = xasprintf("%s/daemon", system);
        auto_close int at = open(other, O_PATH | O_DIRECTORY | O_CLOEXEC);

        if (at >= 0)
            r = ask(a, at, request, false, limit_ms, ret, e);
        if (is_absent(r))
            return err_set(e, r, "your daemon is not running; `muster submit` starts it");
    }
    if (r == -ENOENT || r == -ECONNREFUSED)
        return err_set(e, r, "the daemon is not running; start it with `muster serve`");
    if (r == -ETIMEDOUT && ret->pid)
        return err_set(e, r, "the daemon (pid %d) %s", (int)ret->pid,
                       ret->stopped ? "is stopped" : "does not respond");
    return r;
}

int daemon_ask_job(struct arena *a, const char *request, const char *id, int limit_ms,
                   const struct node **ret_job, struct err *e)
{
    auto_strbuf struct strbuf text = STRBUF_INIT;
    struct json j = ask_begin(&text, request);
    struct answer an = {.body = STRBUF_INIT};

    json_kv_str(&j, "id", id);
    json_end(&j);
    int r = daemon_ask(a, &text, limit_ms, &an, e);
    strbuf_release(&an.body);
    if (r == 0 && ret_job)
        *ret_job = node_get(an.head, "job");
    return r;
}

int daemon_ask_array(struct arena *a, const char *request, const char *id, struct strvec *ids,
                     struct err *e)
{
    auto_strbuf struct strbuf text = STRBUF_INIT;
    struct json j = ask_begin(&text, request);
    struct answer an = {.body = STRBUF_INIT};

    json_kv_str(&j, "array", id);
    json_end(&j);
    int r = daemon_ask(a, &text, LIMIT_SUBMIT_MS, &an, e);
    for (const char *p = an.body.buf, *nl; r == 0 && (nl = strchr(p, '\n')); p = nl + 1)
        strvec_pushf(ids, "%.*s", (int)(nl - p), p);
    strbuf_release(&an.body);
    return r;
}

int daemon_jobs(struct arena *a, struct answer_lines *ret, struct err *e)
{
    auto_strbuf struct strbuf text = STRBUF_INIT;
    struct json j = ask_begin(&text, "list");
    struct answer an = {.body = STRBUF_INIT};

    json_end(&j);
    int r = daemon_ask(a, &text, LIMIT_ASK_MS, &an, e);
    *ret = (struct answer_lines){0};
    if (r == 0)
        answer_lines(a, &an, ret);
    strbuf_release(&an.body);
    return r;
}

/* --- jobs that cannot be listed --------------------------------------------------------------- */

/* -1: a daemon runs, or was killed. */
static int64_t left_waiting(int dir)
{
    auto_strbuf struct strbuf text = STRBUF_INIT;
    uint32_t n;

    if (io_read_regular(dir, DAEMON_WAITING, DURATION_TEXT, &text, NULL) < 0)
        return -1;
    strbuf_truncate(&text, strcspn(text.buf, "\n"));
    return num_u32(text.buf, &n) < 0 ? -1 : (int64_t)n;
}

const char *daemon_unlisted(struct arena *a, int r, const struct err *e)
{
    static const char start[] = "start it with `muster serve`";
    auto_free char *state = places_daemon_state();
    auto_close int dir = state ? open(state, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
    int64_t n;

    if (r != -ENOENT && r != -ECONNREFUSED)
        return arena_printf(a, "%s, so jobs that wait in its queue are not known", e->text);
    if (dir < 0 || faccessat(dir, DAEMON_DATABASE, F_OK, AT_SYMLINK_NOFOLLOW) < 0)
        return NULL;
    n = left_waiting(dir);
    if (n == 0)
        return NULL;
    if (n < 0)
        return arena_printf(a, "the daemon is not running, and jobs may wait in its store; %s",
                            start);
    return arena_printf(a, "the daemon is not running, and %lld %s in its store; %s", (long long)n,
                        n == 1 ? "job waits" : "jobs wait", start);
}

/* --- starting --------------------------------------------------------------------------------- */

void daemon_become(const char *program, char *const *argv, const char *log)
{
    auto_close int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    auto_close int out = open(log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);

    (void)setsid();
    if (chdir("/") < 0 || null < 0 || dup2(null, STDIN_FILENO) < 0 ||
        dup2(null, STDOUT_FILENO) < 0 || dup2(out < 0 ? null : out, STDERR_FILENO) < 0)
        return;
    (void)close_range(3, ~0U, CLOSE_RANGE_CLOEXEC);
    (void)execv(program, argv);
}

static bool answers(void)
{
    auto_arena struct arena *a = arena_new();
    struct answer_lines jobs;

    return daemon_jobs(a, &jobs, NULL) == 0;
}

/* The end of its log: why it did not start. */
static void add_last_line(const char *log, struct strbuf *out)
{
    auto_strbuf struct strbuf text = STRBUF_INIT;

    if (io_read_file(AT_FDCWD, log, LIMIT_FILE_BYTES, &text, NULL) < 0 || text.len == 0)
        return;
    while (text.len > 0 && text.buf[text.len - 1] == '\n')
        strbuf_truncate(&text, text.len - 1);
    const char *nl = strrchr(text.buf, '\n');
    strbuf_addf(out, ": %s", nl ? nl + 1 : text.buf);
}

void daemon_last_words(time_t since, struct strbuf *out)
{
    struct stat st;

    auto_free char *state = places_daemon_state();
    auto_free char *log = state ? xasprintf("%s/log", state) : NULL;

    if (log && lstat(log, &st) == 0 && st.st_mtime >= since)
        add_last_line(log, out);
    if (out->len > 0)
        strbuf_consume(out, 2); /* ": " */
}

int daemon_start(const char *program, struct err *e)
{
    static const struct timespec moment = {.tv_nsec = 10 * NS_PER_MS};
    auto_free char *state = places_daemon_state();
    auto_free char *log = state ? xasprintf("%s/log", state) : NULL;
    auto_strbuf struct strbuf why = STRBUF_INIT;
    int status = 0;

    if (system_is_there())
        return system_start_daemon(e);
    if (!state)
        return err_set(e, -ENOENT, "set HOME or MUSTER_HOME to choose where the daemon keeps jobs");
    int r = io_mkdir_p(state, 0700, e);
    pid_t pid = r == 0 ? fork() : -1;
    if (pid == 0) {
        char verb[] = "serve", name[] = "muster";
        char *argv[] = {name, verb, NULL};

        daemon_become(program, argv, log);
        _exit(127);
    }
    if (pid < 0)
        return r < 0 ? r : err_sys(e, -errno, "cannot start the daemon");
    for (ns_t end = clock_mono() + LIMIT_DAEMON_START_MS * NS_PER_MS; clock_mono() < end;) {
        if (answers())
            return 0;
        /* one that ends because another one was faster is fine */
        if (waitpid(pid, &status, WNOHANG) == pid && !answers())
            break;
        (void)nanosleep(&moment, NULL);
    }
    if (answers())
        return 0;
    add_last_line(log, &why);
    return err_set(e, -EIO, "the daemon did not start%s", why.buf);
}
