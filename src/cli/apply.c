/* apply.c - `muster apply`: a job file of Kubeflow or T9k handed to the operator of a cluster.
 *
 * Everything that `muster validate` finds is told before anything is sent. What the cluster makes
 * of it is told by its conditions.
 */
#include <stddef.h>
#include <string.h>

#include "base/arena.h"
#include "cli/cli.h"
#include "cli/diagnose.h"
#include "cli/place.h"
#include "cli/tell.h"
#include "dialect/dialect.h"
#include "kube/own.h"

struct apply_opts {
    const char *file, *context, *namespace_;
    bool wait;
};

/* Lines are wanted as they come, also by a pipe. */
static void print_line(void *ctx, const char *text)
{
    auto_strbuf struct strbuf safe = STRBUF_INIT;

    (void)ctx;
    strbuf_add_escaped(&safe, text, strlen(text));
    printf("%s\n", safe.buf);
    (void)fflush(stdout);
}

static void print_note(void *ctx, const char *text)
{
    (void)ctx;
    tell_note(text);
}

/* Is every job of the file an object that an operator serves? Other dialects are files of other
 * systems; they are run by muster itself. */
static bool has_objects_only(const struct job_file *jf)
{
    static const char *const groups[] = {"kubeflow.org/", "batch.tensorstack.dev/", OWN_DOMAIN "/",
                                         "v1"};

    for (size_t i = 0; i < jf->doc.n_roots; i++) {
        const struct node *root = jf->doc.roots[i];
        const char *version = node_text(node_get(root, "apiVersion"), "");
        bool known = root->type == NODE_NULL;

        for (size_t k = 0; k < ARRAY_SIZE(groups); k++)
            known |= strncmp(version, groups[k], strlen(groups[k])) == 0;
        if (!known)
            return false;
    }
    return true;
}

static int send_objects(const struct engine_class *place, const struct job_file *jf,
                        const struct apply_opts *o, struct arena *a)
{
    const struct node **objects = ARENA_ARRAY(a, const struct node *, jf->doc.n_roots + 1);
    struct engine_apply how = {.objects = objects,
                               .context = o->context,
                               .namespace_ = o->namespace_,
                               .wait = o->wait,
                               .told = print_line,
                               .noted = print_note};
    struct err e;
    int r;

    for (size_t i = 0; i < jf->doc.n_roots; i++)
        if (jf->doc.roots[i]->type == NODE_MAP)
            objects[how.n++] = jf->doc.roots[i];
    r = place->apply(&how, &e);
    if (r < 0) {
        tell_error("%s", e.text);
        return EXIT_FAILED;
    }
    return r ? EXIT_FAILED : finish_output();
}

static int apply_file(const struct verb *verb, const struct engine_class *place,
                      const struct apply_opts *o)
{
    auto_arena struct arena *a = arena_new();
    struct job_file jf;
    struct err e;
    int r = verb->usage_exit;

    if (job_file_read(a, o->file, &(struct read_options){0}, &jf, &e) < 0) {
        tell_error("%s", e.text);
        return r;
    }
    print_diagnostics(&jf);
    if (jf.verdict == VERDICT_ACCEPT && has_objects_only(&jf))
        r = send_objects(place, &jf, o, a);
    else if (jf.verdict == VERDICT_ACCEPT)
        tell_error("%s is not an object of a cluster; use: muster submit --on kubernetes %s",
                   o->file, o->file);
    job_file_release(&jf);
    return r;
}

static int run(const struct verb *verb, int argc, char **argv)
{
    struct apply_opts o = {0};
    const struct engine_class *place = NULL;
    struct operands ops;
    struct err e;

    if (opts_parse(verb, &o, argc, argv, &ops) < 0)
        return verb->usage_exit;
    if (!o.file && ops.n == 1)
        o.file = ops.v[0];
    else if (!o.file || ops.n > 0)
        return usage_error(verb, "exactly one job file is required: -f FILE");
    if (ops.rest)
        return usage_error(verb, "-- is not allowed here");
    if (place_engine("kubernetes", &place, &e) < 0) {
        tell_error("%s", e.text);
        return EXIT_FAILED;
    }
    return apply_file(verb, place, &o);
}

#define AT(member) offsetof(struct apply_opts, member)
static const struct opt opts[] = {
    {"filename", 'f', OPT_STRING, AT(file), "FILE", .help = "the job file; - for standard input"},
    {"wait", 'w', OPT_FLAG, AT(wait),
     .help = "wait until the job has ended, and show its conditions"},
    {"namespace", 'n', OPT_STRING, AT(namespace_), "NS",
     .help = "namespace of a job that does not set one"},
    {"context", 0, OPT_STRING, AT(context), "NAME", .help = "use this context of the kubeconfig"},
    OPT_END,
};

const struct verb verb_apply = {
    .name = "apply",
    .synopsis = "-f FILE [--wait] [OPTION…]",
    .summary = "hand a job file of Kubeflow or T9k to the operator of a cluster",
    .about =
        "Checks the file as `muster validate` does and sends it to the cluster by server-side "
        "apply. An operator that serves its kind runs it, such as `muster operator`; "
        "`muster generate operator` prints what installs that.\n\nExit status: 0 on success, 1 "
        "if the cluster refuses the job or, with --wait, the job fails, 2 if the file is not "
        "accepted.",
    .opts = opts,
    .usage_exit = EXIT_USAGE,
    .run = run,
};
