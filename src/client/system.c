/* system.c - see system.h. */
#include "client/system.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/mem.h"
#include "client/daemon.h"
#include "client/protocol.h"
#include "doc/json_read.h"
#include "rundir/places.h"

/* Root's directory, and root's socket in it; -ENOENT: somebody else's, or nobody's. */
static int open_dir(void)
{
    auto_free char *dir = places_system();
    struct stat st;

    if (!dir)
        return -ENOENT;
    auto_close int fd = open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &st) < 0 || st.st_uid != 0 || (st.st_mode & 022))
        return -ENOENT;
    if (fstatat(fd, CONTROL_SOCKET, &st, AT_SYMLINK_NOFOLLOW) < 0 || !S_ISSOCK(st.st_mode) ||
        st.st_uid != 0)
        return -ENOENT;
    return TAKE_FD(fd);
}

bool system_is_there(void)
{
    auto_close int fd = open_dir();

    return fd >= 0;
}

int system_ask(struct arena *a, const struct strbuf *request, struct answer *ret, struct err *e)
{
    auto_close int fd = open_dir();

    if (fd < 0)
        return err_set(e, -ENOENT, "this machine has no system daemon (muster serve --system)");
    int r = ask(a, fd, request, false, LIMIT_USER_START_MS + LIMIT_ASK_MS, ret, e);
    if (r == -ENOENT || r == -ECONNREFUSED)
        return err_set(e, r,
                       "the system daemon is not running; ask an administrator to start it "
                       "(systemctl start muster), or start a daemon of your own with `muster "
                       "serve`");
    return r;
}

int system_start_daemon(struct err *e)
{
    auto_arena struct arena *a = arena_new();
    auto_strbuf struct strbuf request = STRBUF_INIT, why = STRBUF_INIT;
    auto_free char *state = places_daemon_state();
    struct json j = ask_begin(&request, "start");
    struct answer an = {.body = STRBUF_INIT};
    time_t began = time(NULL);

    if (state) { /* without /muster/daemon: the daemon keeps its jobs where this process looks */
        *strrchr(state, '/') = '\0';
        *strrchr(state, '/') = '\0';
        json_kv_str(&j, "state_home", state);
    }
    json_end(&j);
    int r = system_ask(a, &request, &an, e);
    strbuf_release(&an.body);
    if (r == -EPERM && e) { /* refused: its own log says more */
        daemon_last_words(began, &why);
        if (why.len > 0)
            return err_wrap(e, r, "%s", why.buf);
    }
    return r;
}

/* id NULL: all. */
static int list(struct arena *a, const char *id, struct answer_lines *ret, struct err *e)
{
    auto_strbuf struct strbuf request = STRBUF_INIT;
    struct json j = ask_begin(&request, "list");
    struct answer an = {.body = STRBUF_INIT};

    if (id)
        json_kv_str(&j, "id", id);
    json_end(&j);
    int r = system_ask(a, &request, &an, e);
    *ret = (struct answer_lines){0};
    if (r == 0)
        answer_lines(a, &an, ret);
    strbuf_release(&an.body);
    return r;
}

int system_jobs(struct arena *a, struct answer_lines *ret, struct err *e)
{
    return list(a, NULL, ret, e);
}

const struct node *system_job(struct arena *a, const char *id)
{
    struct answer_lines jobs;

    return system_is_there() && list(a, id, &jobs, NULL) == 0 && jobs.n > 0 ? jobs.v[0] : NULL;
}

int system_ask_job(struct arena *a, const char *request, const char *id, struct err *e)
{
    auto_strbuf struct strbuf text = STRBUF_INIT;
    struct json j = ask_begin(&text, request);
    struct answer an = {.body = STRBUF_INIT};

    json_kv_str(&j, "id", id);
    json_end(&j);
    int r = system_ask(a, &text, &an, e);
    strbuf_release(&an.body);
    return r;
}
