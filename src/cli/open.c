/* open.c - `muster open`: a link to the page of the daemon, which can be used once. */
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/diagnose.h"
#include "cli/place.h"
#include "cli/target.h"
#include "cli/tell.h"
#include "client/daemon.h"

struct options {
    bool no_browser;
};

/* Where somebody sits in front of a screen. */
static bool has_screen(void)
{
    const char *x = getenv("DISPLAY"), *wayland = getenv("WAYLAND_DISPLAY");

    return isatty(STDOUT_FILENO) && ((x && *x) || (wayland && *wayland));
}

/* The link is an argument of that program for as long as it runs; by then it has been used. */
static void open_browser(const char *url)
{
    static char program[] = "xdg-open";
    char *link = strdup(url), *const argv[] = {program, link, NULL};
    posix_spawn_file_actions_t actions;
    pid_t pid;

    (void)posix_spawn_file_actions_init(&actions);
    (void)posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
    (void)posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
    if (posix_spawnp(&pid, program, &actions, NULL, argv, environ) == 0)
        (void)waitpid(pid, NULL, WNOHANG);
    (void)posix_spawn_file_actions_destroy(&actions);
    free(link);
}

/* A daemon that is not running is started: the page also shows runs in the foreground. */
static int ask_link(struct arena *a, const char *job, struct answer *an, struct err *e)
{
    auto_strbuf struct strbuf request = STRBUF_INIT;
    struct json j = ask_begin(&request, "open");

    json_kv_str(&j, "job", job);
    json_end(&j);
    int r = daemon_ask(a, &request, LIMIT_ASK_MS, an, e);
    if (r != -ENOENT && r != -ECONNREFUSED)
        return r;
    auto_free char *program = place_find("serve");
    r = program ? daemon_start(program, e) : err_set(e, -ENOENT, "muster-serve not found");
    return r < 0 ? r : daemon_ask(a, &request, LIMIT_ASK_MS, an, e);
}

static int run_open(const struct verb *verb, int argc, char **argv)
{
    auto_arena struct arena *a = arena_new();
    struct answer an = {.body = STRBUF_INIT};
    struct options o = {0};
    struct run_ref run = {.id = ""};
    struct operands ops;
    struct err e;
    int code = target_operands(verb, &o, argc, argv, 1, &ops);

    if (code == 0 && ops.n)
        code = target_find(verb, a, ops.v[0], &run);
    if (code != 0)
        return code;
    int r = ask_link(a, run.id, &an, &e);
    strbuf_release(&an.body);
    if (r < 0) {
        tell_error("%s", e.text);
        return EXIT_FAILED;
    }
    printf("%s\n", answer_str(&an, "url"));
    if (!o.no_browser && has_screen())
        open_browser(answer_str(&an, "url"));
    return finish_output();
}

static const struct opt opts[] = {
    {"no-browser", 0, OPT_FLAG, offsetof(struct options, no_browser),
     .help = "print the link without opening a browser"},
    OPT_END,
};

const struct verb verb_open = {
    .name = "open",
    .synopsis = "[--no-browser] [ID]",
    .summary = "show jobs in a browser",
    .about =
        "Prints a link to the daemon's page, or to the page of job ID, and opens it in a "
        "browser if\nthere is a screen. The link can be used once, within 60 s; the session "
        "that it starts lasts\nfor 12 hours. Starts the daemon if it is not running.\n\n" TARGET_ID,
    .opts = opts,
    .usage_exit = EXIT_USAGE,
    .run = run_open,
};
