/* submit.c - `muster submit`: which place the job is handed to. */
#include <stddef.h>
#include <string.h>

#include "base/arena.h"
#include "cli/cli.h"
#include "cli/place.h"
#include "cli/settings.h"
#include "cli/submit.h"
#include "cli/tell.h"

static void release_options(struct submit_options *o)
{
    job_options_release(&o->job);
}

static int submit_on(const char *on, struct submit_options *o, const char *file)
{
    const struct engine_class *place = NULL;
    struct err e;

    if (strcmp(on, "local") == 0) {
        tell_error("submit --on local needs the daemon, which is not built in yet; use `muster run "
                   "%s`, or --on kubernetes",
                   file);
        return EXIT_FAILED;
    }
    if (place_engine(on, &place, &e) < 0) {
        tell_error("%s", e.text);
        return EXIT_FAILED;
    }
    if (!place->apply || !place->pack) {
        tell_error("submit --on %s is not supported; use `muster run --on %s %s`", on, on, file);
        return EXIT_FAILED;
    }
    return submit_to_cluster(place, o, file);
}

static int run(const struct verb *verb, int argc, char **argv)
{
    CLEANUP(release_options) struct submit_options o = {.job = JOB_OPTIONS_INIT};
    auto_arena struct arena *a = arena_new();
    struct settings settings = SETTINGS_INIT;
    struct operands ops;
    int code;

    if (opts_parse(verb, &o, argc, argv, &ops) < 0)
        return verb->usage_exit;
    if (ops.n != 1 || ops.rest)
        return usage_error(verb, "exactly one job file is required");
    code = job_options_check(verb, &o.job);
    if (code == 0 && settings_read(a, &settings) < 0)
        code = EXIT_FAILED;
    return code ? code : submit_on(o.on ? o.on : settings.on, &o, ops.v[0]);
}

#define AT(member) offsetof(struct submit_options, member)
#define JOB(member) offsetof(struct submit_options, job.member)
static const struct opt opts[] = {
    {"on", 0, OPT_CHOICE, AT(on), "PLACE", .choices = engine_names,
     .help = "where: kubernetes (default: as the configuration says)"},
    {"wait", 'w', OPT_FLAG, AT(wait),
     .help = "wait until the job has ended, and show its conditions on stderr"},
    {"namespace", 'n', OPT_STRING, JOB(namespace_), "NS",
     .help = "namespace of the job (default: the file's, then the kubeconfig's)"},
    {"context", 0, OPT_STRING, JOB(context), "NAME", .help = "use this context of the kubeconfig"},
    {"scale", 0, OPT_STRINGS, JOB(scale), "ROLE=N", .help = "set the number of replicas of a role"},
    {"nproc", 0, OPT_STRINGS, JOB(nproc), "ROLE=N",
     .help = "set the number of processes per replica of a role"},
    {"entrypoint", 0, OPT_STRINGS, JOB(entrypoint), "[ROLE=]CMD",
     .help = "set the command of a role that runs its image's entry point"},
    {"image", 0, OPT_STRINGS, JOB(put_images), "[NAME=]IMAGE",
     .help = "use IMAGE for a role (NAME), for all of them (*), or for those without one"},
    {"no-restart", 0, OPT_FLAG, JOB(no_restart),
     .help = "start everything once, without restarts and retries"},
    {"skip-init", 0, OPT_WORDS, JOB(skip_init), "NAME",
     .help = "skip this init container, or all of them"},
    {"code", 0, OPT_STRING, JOB(code), "DIR",
     .help = "send this directory to the pods and run in it (at most 1 MB)"},
    {"code-volume", 0, OPT_STRING, JOB(code_volume), "CLAIM[:SUBPATH]",
     .help = "mount this claim as the code directory"},
    {"claim", 0, OPT_STRINGS, JOB(claims), "NAME=CLAIM[:SUBPATH]",
     .help = "mount this claim as a volume, an input or an output"},
    OPT_END,
};

static const struct opt_part parts[] = {JOB_READ_PART(struct submit_options, job), OPT_PART_END};

const struct verb verb_submit = {
    .name = "submit",
    .synopsis = "--on kubernetes [OPTION…] FILE",
    .summary = "hand a job file to the operator of a cluster",
    .about =
        "Reads a job file of any dialect, converts it to Muster's own form and creates a MusterJob "
        "in the cluster, which `muster operator` runs. Prints the id of the job, which is the name "
        "of the object. ConfigMaps and Secrets of the file are applied before it.\n\nExit status: "
        "0 on success, 1 if the cluster refuses the job or, with --wait, the job fails, 2 if the "
        "file is not accepted.",
    .opts = opts,
    .parts = parts,
    .usage_exit = EXIT_USAGE,
    .run = run,
};
