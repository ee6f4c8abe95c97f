/* serve.c - `muster serve`: the daemon, which is a program of its own because it needs SQLite. */
#include <stdio.h>
#include <string.h>

#include "api/api.h"
#include "base/clock.h"
#include "base/mem.h"
#include "base/num.h"
#include "cli/diagnose.h"
#include "cli/place.h"
#include "cli/serve_work.h"
#include "cli/settings.h"
#include "cli/submit_daemon.h"
#include "cli/tell.h"
#include "daemon/daemon.h"
#include "system/system.h"

struct options {
    bool system, stop_jobs, list_kill_points;
    int64_t cpus, gpus;
    const char *memory;
    struct api_options api;
};

/* With the same words, as muster-serve. */
static int become_daemon(const struct verb *verb, int argc, char **argv)
{
    static char muster[] = "muster";
    auto_free char **words = xcalloc((size_t)argc + 2, sizeof(*words));
    struct err e;

    words[0] = muster;
    memcpy(words + 1, argv, (size_t)argc * sizeof(*words));
    (void)place_become(verb->name, words, &e);
    tell_error("%s", e.text);
    return EXIT_FAILED;
}

/* Notes of the command line are off: planning would repeat those of submit. */
static void note(const char *text)
{
    auto_strbuf struct strbuf safe = STRBUF_INIT;
    char at[CLOCK_TEXT];

    strbuf_add_escaped(&safe, text, strlen(text));
    (void)fprintf(stderr, "%s %s\n", clock_rfc3339(clock_real(), at), safe.buf);
}

/* In the open only with a certificate and for those who have a token. */
static int check_listen(const struct verb *verb, const struct api_options *o)
{
    if (o->listen && (!o->cert || !o->key || !o->tokens))
        return usage_error(verb, "--listen requires --tls-cert, --tls-key and --token-file");
    if (!o->listen && (o->cert || o->key || o->tokens))
        return usage_error(verb, "--tls-cert, --tls-key and --token-file require --listen");
    return 0;
}

static int configure(struct arena *a, struct daemon_config *ret)
{
    struct settings s;
    int r = settings_read(a, &s);

    if (r == 0) {
        *ret = s.daemon;
        ret->retention = s.retention;
    }
    return r;
}

static int configure_system(struct arena *a, struct daemon_config *ret)
{
    struct settings s;
    int r = settings_read_system(a, &s);

    if (r == 0)
        *ret = s.daemon;
    return r;
}

static int serve_system(const struct verb *verb, const struct options *o, int64_t memory)
{
    const struct system_options how = {.cpus = o->cpus,
                                       .memory = memory,
                                       .gpus = o->gpus,
                                       .configure = configure_system,
                                       .note = note};
    struct err e;

    if (o->api.listen)
        return usage_error(verb, "--listen cannot be used with --system: each user's own daemon "
                                 "serves that user's jobs (muster open)");
    if (o->stop_jobs)
        return usage_error(verb, "--stop-jobs cannot be used with --system");
    if (system_serve(&how, &e) == 0)
        return EXIT_FINE;
    tell_error("%s", e.text);
    return EXIT_FAILED;
}

/* The system daemon starts users' daemons with `--member` as the first word. */
static bool take_member(int *argc, char **argv)
{
    if (*argc < 2 || strcmp(argv[1], "--member") != 0)
        return false;
    memmove(argv + 1, argv + 2, (size_t)(*argc - 1) * sizeof(*argv));
    --*argc;
    return true;
}

static int run_serve(const struct verb *verb, int argc, char **argv)
{
    struct options o = {.gpus = -1};
    auto_strvec struct strvec words = STRVEC_INIT;
    struct operands ops;
    struct daemon_options how = {
        .plan = submit_plan, .record = submit_record, .configure = configure, .note = note};
    struct err e;

    if (argc == 2 && strcmp(argv[1], "--work") == 0) /* the daemon itself, api/work.c */
        return serve_work();
    for (int i = 0; i < argc; i++)
        strvec_push(&words, argv[i]);
    how.member = take_member(&argc, argv);
    if (opts_parse(verb, &o, argc, argv, &ops) < 0)
        return verb->usage_exit;
    if (ops.n > 0 || ops.rest)
        return usage_error(verb, "unexpected argument \"%s\"", ops.n ? ops.v[0] : "--");
    if (o.memory && quantity_units(o.memory, &how.memory) < 0)
        return usage_error(verb, "--memory must be a number of bytes such as 64Gi, not \"%s\"",
                           o.memory);
    if (!daemon_serve)
        return become_daemon(verb, argc, words.v);
    for (const char *const *p = daemon_kill_points(); o.list_kill_points && *p; p++)
        puts(*p);
    if (o.list_kill_points)
        return finish_output();
    int code = check_listen(verb, &o.api);
    if (code != 0)
        return code;
    if (o.system)
        return serve_system(verb, &o, how.memory);
    if (how.member)
        how.configure = configure_system;
    o.api.version = muster_version;
    o.api.commit = muster_commit;
    how.front = api_front(&o.api);
    how.stop_jobs = o.stop_jobs;
    how.cpus = o.cpus;
    how.gpus = o.gpus;
    if (daemon_serve(&how, &e) == 0)
        return EXIT_FINE;
    tell_error("%s", e.text);
    return EXIT_FAILED;
}

static const struct opt opts[] = {
    {"system", 0, OPT_FLAG, offsetof(struct options, system),
     .help = "as root: one queue for all users; each job runs as its submitter"},
    {"cpus", 0, OPT_INT, offsetof(struct options, cpus), "N", .min = 1,
     .help = "let jobs use N CPUs together (default: all of this machine)"},
    {"memory", 0, OPT_STRING, offsetof(struct options, memory), "BYTES",
     .help = "let jobs use this much memory together, such as 64Gi (default: all)"},
    {"gpus", 0, OPT_INT, offsetof(struct options, gpus), "N",
     .help = "let jobs use GPUs 0 to N-1 (default: all)"},
    {"stop-jobs", 0, OPT_FLAG, offsetof(struct options, stop_jobs),
     .help = "cancel running jobs on SIGTERM (default: they continue)"},
    {"listen", 0, OPT_STRING, offsetof(struct options, api.listen), "ADDR:PORT",
     .help = "serve HTTPS on this address, for those who have a token"},
    {"tls-cert", 0, OPT_STRING, offsetof(struct options, api.cert), "FILE",
     .help = "--listen: the certificate, PEM, followed by those that vouch for it"},
    {"tls-key", 0, OPT_STRING, offsetof(struct options, api.key), "FILE",
     .help = "--listen: its private key, PEM"},
    {"token-file", 0, OPT_STRING, offsetof(struct options, api.tokens), "FILE",
     .help = "--listen: accept the tokens in this file of mode 0600, one per line"},
    {"list-kill-points", 0, OPT_FLAG, offsetof(struct options, list_kill_points),
     .help = "list the places at which MUSTER_KILL_POINT=NAME kills the daemon, for tests"},
    OPT_END,
};

const struct verb verb_serve = {
    .name = "serve",
    .synopsis = "[OPTION…]",
    .summary = "run the daemon: a queue of jobs that survive it",
    .about = "Runs the jobs of muster submit, one daemon for each user, until SIGTERM or SIGINT; "
             "exits with 0 then. Running jobs continue without it, also if it is killed, and the "
             "next daemon takes them over with their true exit codes. MUSTER_HOME=DIR keeps jobs, "
             "sockets and configuration below DIR.",
    .opts = opts,
    .usage_exit = EXIT_USAGE,
    .run = run_serve,
};
