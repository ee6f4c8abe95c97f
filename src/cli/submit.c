/* submit.c - `muster submit`: which place the job is handed to. */
#include "cli/submit.h"

#include <string.h>

#include "base/arena.h"
#include "cli/cli.h"
#include "cli/place.h"
#include "cli/settings.h"
#include "cli/tell.h"

/* The queue is that of the daemon: an option that would have no effect in a cluster, or NULL. */
static const char *of_the_daemon(const struct submit_options *o)
{
    const struct {
        const char *name;
        bool given;
    } rows[] = {
        {"count", o->count != 1},
        {"priority", o->priority >= 0},
        {"queue", o->queue != NULL},
        {"after", o->after.n > 0},
        {"max-duration", o->max_duration_ms > 0},
        {"replace", o->replace},
        {"matrix", o->matrix.n > 0},
        {"array-id", o->array_id},
        {"in-place", o->in_place},
        {"snapshot", o->snapshot},
        {"no-autostart", o->no_autostart},
        {"hold-on-failure", o->hold},
        {"trust-launcher", o->trust_launcher},
        {"grace", o->grace_ms >= 0},
        {"hang-timeout", o->hang_timeout_ms > 0},
        {"isolate", strcmp(o->isolate, "auto") != 0},
        {"fit", o->job.fit},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
        if (rows[i].given)
            return rows[i].name;
    return NULL;
}

static int submit_on(const struct verb *verb, const char *on, struct submit_options *o,
                     const struct operands *ops)
{
    const struct engine_class *place = NULL;
    const char *daemons = of_the_daemon(o);
    struct err e;
    int code;

    if (place_engine(on, &place, &e) < 0) {
        tell_error("%s", e.text);
        return EXIT_FAILED;
    }
    if (!place->apply || !place->pack)
        return usage_error(verb, "--on %s is not supported", on);
    if (o->job.gang)
        return usage_error(verb, "--gang-scheduling is an option of `muster operator`, which "
                                 "creates the pods");
    if (daemons)
        return usage_error(verb, "--%s is not supported with --on %s", daemons, on);
    if (ops->n != 1 || ops->rest || o->command.n)
        return usage_error(verb, "--on %s takes exactly one job file", on);
    code = job_options_check(verb, &o->job);
    if (code)
        return code;
    job_put_images(&o->job);
    return submit_to_cluster(place, o, ops->v[0]);
}

static int run(const struct verb *verb, int argc, char **argv)
{
    CLEANUP(submit_options_release) struct submit_options o = SUBMIT_OPTIONS_INIT;
    auto_arena struct arena *a = arena_new();
    auto_strvec struct strvec words = STRVEC_INIT;
    struct settings settings = SETTINGS_INIT;
    struct operands ops;
    const char *on;

    for (int i = 0; i < argc; i++) /* parsing changes their order */
        strvec_push(&words, argv[i]);
    if (opts_parse(verb, &o, argc, argv, &ops) < 0)
        return verb->usage_exit;
    if (settings_read(a, &settings) < 0)
        return EXIT_FAILED;
    tell_quietly(o.quiet);
    on = o.on ? o.on : settings.on;
    if (strcmp(on, "local") != 0)
        return submit_on(verb, on, &o, &ops);
    if (o.wait)
        return usage_error(verb, "--wait needs --on kubernetes; use `muster wait ID` here");
    return submit_to_daemon(verb, &words, &o, &ops);
}

static bool command_begins(const void *options, const char *operand)
{
    return command_begins_with(&((const struct submit_options *)options)->command, operand);
}

const struct verb verb_submit = {
    .name = "submit",
    .synopsis = "FILE | -n N [--hosts H] [--] CMD…",
    .summary = "hand a job to the daemon, which queues and runs it, or to a cluster",
    .about =
        "Prints the id of the job on stdout and returns as soon as the job is stored. The "
        "daemon starts it when the CPUs, memory and GPUs that it requests are free; muster "
        "list says why a job waits. Starts the daemon if it is not running (muster serve).\n"
        "\n"
        "The job continues if the terminal is closed or the daemon is killed. muster wait, "
        "show, logs, cancel and the other verbs take its id.\n"
        "\n"
        "With --on kubernetes the file is converted to Muster's own form and created as a "
        "MusterJob, which `muster operator` runs; its id is the name of the object. ConfigMaps "
        "and Secrets of the file are applied before it.",
    .opts = submit_opts,
    .parts = submit_parts,
    .usage_exit = EXIT_USAGE,
    .run = run,
    .command_begins = command_begins,
};
