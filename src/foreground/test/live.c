/* Output that no log takes is shown, also if it comes before its log is known. */
#include "foreground/live.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/io.h"
#include "base/tap.h"

static char dir[] = "/tmp/muster-live.XXXXXX";

static int no_log(void *ctx, const char *name)
{
    (void)ctx;
    (void)name;
    return -ENOENT;
}

static void seen(void *ctx, ns_t at)
{
    (void)ctx;
    (void)at;
}

static bool never(void)
{
    return false;
}

static int64_t not_shown;

static void piece(struct live *lv, const char *log, const char *text)
{
    const struct unlogged u = {.log = log,
                               .error = -ENOSPC,
                               .missing = (int64_t)strlen(text),
                               .data = text,
                               .n = strlen(text)};

    not_shown += live_unlogged(lv, &u);
}

static void play(uv_loop_t *loop, const struct rundir *rd)
{
    const struct live_options opts = {.open_log = no_log, .on_activity = seen, .no_status = true};
    struct live *lv = live_new(loop, rd, &opts);

    piece(lv, "early", "one\nt");
    piece(lv, "hidden", "not shown\n");
    piece(lv, "early", "wo\n");
    live_add(lv, "hidden", "h-0", false);
    live_add(lv, "early", "w-0", true);
    piece(lv, "early", "three\n");
    piece(lv, "never", "not shown\n");
    live_finish(lv, never);
    live_free(lv);
    (void)uv_run(loop, UV_RUN_DEFAULT);
}

int main(void)
{
    auto_strbuf struct strbuf shown = STRBUF_INIT;
    struct rundir rd = RUNDIR_INIT;
    uv_loop_t loop;
    char text[64];

    if (!mkdtemp(dir) || uv_loop_init(&loop) != 0)
        tap_skip_all("no directory or no loop");
    rd.path = dir;
    rd.fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int out = openat(rd.fd, "out", O_RDWR | O_CREAT | O_CLOEXEC, 0600), kept = dup(STDOUT_FILENO);

    (void)dup2(out, STDOUT_FILENO);
    play(&loop, &rd);
    (void)dup2(kept, STDOUT_FILENO);
    (void)uv_loop_close(&loop);
    ssize_t n = pread(out, text, sizeof(text) - 1, 0);
    strbuf_add(&shown, text, n > 0 ? (size_t)n : 0);
    is_int(not_shown, 0, "nothing is counted as not shown");
    is_str(shown.buf, "[w-0] one\n[w-0] two\n[w-0] three\n", "shown once, in order");
    (void)close(kept);
    (void)close(out);
    (void)close(rd.fd);
    rd.fd = -1;
    rd.path = NULL;
    (void)io_remove_tree(AT_FDCWD, dir, NULL);
    return tap_done();
}
