/* child.c - an inspection: its text, its end by force, what it inherits, and a loop that goes on.
 */
#include "inspect/child.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/num.h"
#include "base/tap.h"

static struct strbuf got = STRBUF_INIT;
static int n_done, n_ticks;

static void done(void *ctx, const char *text, size_t n)
{
    (void)ctx;
    strbuf_truncate(&got, 0);
    strbuf_add(&got, text, n);
    n_done++;
}

static void list_fds(void *arg, int run_fd, struct strbuf *out)
{
    DIR *d = opendir("/proc/self/fd");
    struct dirent *ent;
    int64_t fd;

    strbuf_addf(out, "%s:", (const char *)arg);
    while (d && (ent = readdir(d)))
        if (num_i64(ent->d_name, &fd) == 0 && fd > 2 && fd != dirfd(d))
            strbuf_addf(out, " %s", ent->d_name);
    strbuf_addstr(out, faccessat(run_fd, "self", F_OK, 0) == 0 ? " dir" : " no dir");
}

static void die(void *arg, int run_fd, struct strbuf *out)
{
    (void)arg;
    (void)run_fd;
    strbuf_addstr(out, "half");
    (void)raise(SIGKILL);
}

static void wait_for_ever(void *arg, int run_fd, struct strbuf *out)
{
    (void)arg;
    (void)run_fd;
    (void)out;
    for (;;)
        (void)pause();
}

static void on_tick(uv_timer_t *timer)
{
    if (++n_ticks == 3)
        uv_stop(timer->loop);
}

int main(void)
{
    uv_loop_t loop;
    uv_timer_t timer;
    char word[] = "mine";
    int run_fd = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    ok(run_fd >= 0, "set up");
    (void)uv_loop_init(&loop);
    ok(inspection_new(&loop, run_fd, list_fds, word, done, NULL), "a child");
    memcpy(word, "else", sizeof(word));
    (void)uv_run(&loop, UV_RUN_DEFAULT);
    is_int(n_done, 1, "is heard once");
    is_str(got.buf, "mine: 3 4 dir", "our memory of then, and two descriptors");

    ok(inspection_new(&loop, run_fd, die, NULL, done, NULL), "one that is killed");
    (void)uv_run(&loop, UV_RUN_DEFAULT);
    is_int(n_done, 2, "is heard, too");
    is_int(got.len, 0, "with nothing to say");

    struct inspection *in = inspection_new(&loop, run_fd, wait_for_ever, NULL, done, NULL);
    ok(in, "one that takes for ever");
    (void)uv_timer_init(&loop, &timer);
    (void)uv_timer_start(&timer, on_tick, 1, 1);
    (void)uv_run(&loop, UV_RUN_DEFAULT);
    is_int(n_ticks, 3, "does not keep the loop");
    inspection_stop(in);
    uv_close((uv_handle_t *)&timer, NULL);
    (void)uv_run(&loop, UV_RUN_DEFAULT);
    is_int(n_done, 2, "and is not heard when it is stopped");
    is_int(uv_loop_close(&loop), 0, "nothing is left in the loop");
    inspection_stop(NULL);
    strbuf_release(&got);
    return tap_done();
}
