/* convert.c - `muster convert`: a job file written anew for another system, with the losses told.
 */
#include <stdio.h>
#include <string.h>

#include "base/arena.h"
#include "cli/cli.h"
#include "cli/diagnose.h"
#include "cli/job_options.h"
#include "cli/tell.h"
#include "dialect/config_objects.h"
#include "dialect/convert/convert.h"
#include "doc/yaml_write.h"

struct options {
    const char *to, *out;
    bool strict;
    struct job_options job;
};

struct convert {
    const struct options *o;
    const struct target *to;
    const struct job_file *jf;
    struct strbuf text; /* all documents */
    size_t n_losses;
};

static void tell_loss(struct convert *x, const char *path, const char *text)
{
    auto_strbuf struct strbuf safe = STRBUF_INIT;

    strbuf_add_escaped(&safe, path, strlen(path));
    strbuf_addstr(&safe, ": ");
    strbuf_add_escaped(&safe, text, strlen(text));
    fprintf(stderr, "lost: %s\n", safe.buf);
    x->n_losses++;
}

static void begin_document(struct convert *x)
{
    if (x->text.len)
        strbuf_addstr(&x->text, "---\n");
}

/* Why there is no document for the job, at the job. */
static void tell_refusal(const struct convert *x, const struct job_spec *spec,
                         const struct losses *ls, const struct err *e)
{
    const struct diag d = {
        .severity = SEV_ERROR,
        .code = ls->code ? ls->code : "E0704",
        .pos = spec->name_at ? spec->name_at->pos : spec->root_at->pos,
        .path = "",
        .message = e->text,
        .hint = ls->hint,
    };

    diag_print(stderr, x->jf->path, &x->jf->doc, &d, want_colour(stderr));
}

static int convert_job(struct convert *x, struct arena *a, const struct job_spec *source)
{
    struct converting c = {.to = x->to, .source = source, .findings = &x->jf->diags};
    struct changes changes;
    struct losses ls = {.a = a};
    struct err e;

    if (job_adjust(a, &x->o->job, source, &c.spec, &changes, &e) < 0) {
        complain("convert", "%s: %s", x->jf->path, e.text);
        return EXIT_USAGE;
    }
    tell_changes(&changes);
    begin_document(x);
    if (job_convert(a, &c, &x->text, &ls, &e) < 0) {
        tell_refusal(x, source, &ls, &e);
        return EXIT_FAILED;
    }
    for (size_t i = 0; i < ls.n; i++)
        tell_loss(x, ls.v[i].path, ls.v[i].text);
    return EXIT_FINE;
}

/* A document beside the jobs, a Service say, is of use where objects of Kubernetes are; a ConfigMap
 * everywhere, since its values come from the job's own file. */
static void keep_document(struct convert *x, struct arena *a, const struct node *root)
{
    const struct node *kind = node_get(root, "kind");

    if (config_objects_is_secret(root)) {
        tell_loss(x, "documents.Secret",
                  "its values are not converted; keep it in a separate file");
        return;
    }

    bool values = kind && kind->type == NODE_STRING && strcmp(kind->text, "ConfigMap") == 0;

    if (node_get(root, "apiVersion") && (values || x->to->platform != PLATFORM_MUSTER)) {
        begin_document(x);
        yaml_write(&x->text, root);
    } else {
        tell_loss(x, arena_printf(a, "documents.%s", kind ? kind->text : "unknown"),
                  "the document is not a job");
    }
}

static int convert_documents(struct convert *x, struct arena *a)
{
    int r = EXIT_FINE;

    for (size_t i = 0; i < x->jf->doc.n_roots && r == EXIT_FINE; i++) {
        const struct node *root = x->jf->doc.roots[i];
        const struct job_spec *job = NULL;

        for (size_t k = 0; k < x->jf->n_jobs; k++)
            if (x->jf->jobs[k]->root_at == root)
                job = x->jf->jobs[k];
        if (job)
            r = convert_job(x, a, job);
        else if (root->type != NODE_NULL)
            keep_document(x, a, root);
    }
    return r;
}

static bool may_have_comments(const struct doc *doc)
{
    return strchr(doc->source, '#') || strstr(doc->source, "//") || strstr(doc->source, "/*");
}

static int write_out(const struct convert *x)
{
    struct err e;

    if (x->o->strict && x->n_losses) {
        fprintf(
            stderr,
            "muster convert: %s: the conversion is not lossless; nothing was written (--strict)\n",
            x->jf->path);
        return EXIT_FAILED;
    }
    if (may_have_comments(&x->jf->doc))
        fputs("note: comments of the file are not preserved\n", stderr);
    if (tell_write_file(x->o->out ? x->o->out : "-", x->text.buf, x->text.len, &e) == 0)
        return EXIT_FINE;
    complain("convert", "%s", e.text);
    return EXIT_FAILED;
}

static int convert_file(const struct options *o, const struct target *to, const char *path)
{
    auto_arena struct arena *a = arena_new();
    struct convert x = {.o = o, .to = to, .text = STRBUF_INIT};
    const struct read_options opts = job_read_options(&o->job);
    struct job_file jf;
    struct err e;
    int r = EXIT_USAGE;

    if (job_file_read(a, path, &opts, &jf, &e) < 0) {
        complain("convert", "%s", e.text);
        return EXIT_USAGE;
    }
    x.jf = &jf;
    if (jf.verdict != VERDICT_ACCEPT)
        print_diagnostics(&jf);
    else
        r = convert_documents(&x, a);
    if (r == EXIT_FINE)
        r = write_out(&x);
    strbuf_release(&x.text);
    job_file_release(&jf);
    return r;
}

static void release_options(struct options *o)
{
    job_options_release(&o->job);
}

static int run_convert(const struct verb *verb, int argc, char **argv)
{
    CLEANUP(release_options) struct options o = {.job = JOB_OPTIONS_INIT};
    const struct target *to;
    struct operands files;
    int r;

    if (opts_parse(verb, &o, argc, argv, &files) < 0)
        return verb->usage_exit;
    if (files.n != 1 || files.rest)
        return usage_error(verb, "exactly one job file is required");
    if (!o.to)
        return usage_error(verb, "--to is required: mpijob, pytorchjob, tfjob, t9k or muster");
    to = convert_target(o.to);
    if (!to)
        return usage_error(
            verb, "--to must be mpijob, pytorchjob, tfjob, t9k or muster, not \"%s\"", o.to);
    r = job_options_check(verb, &o.job);
    return r ? r : convert_file(&o, to, files.v[0]);
}

#define JOB(member) offsetof(struct options, job.member)

static const struct opt opts[] = {
    {"to", 0, OPT_STRING, offsetof(struct options, to), "KIND",
     .help = "target: mpijob, pytorchjob, tfjob, t9k or muster"},
    {"out", 'O', OPT_STRING, offsetof(struct options, out), "FILE",
     .help = "write to FILE instead of stdout"},
    {"strict", 0, OPT_FLAG, offsetof(struct options, strict),
     .help = "write nothing and fail if anything would be lost"},
    {"scale", 0, OPT_STRINGS, JOB(scale), "ROLE=N", .help = "set the number of replicas of a role"},
    {"nproc", 0, OPT_STRINGS, JOB(nproc), "ROLE=N",
     .help = "set the number of processes per replica of a role"},
    {"fit", 0, OPT_FLAG, JOB(fit), .help = "shrink the job until it fits this machine"},
    {"entrypoint", 0, OPT_STRINGS, JOB(entrypoint), "[ROLE=]CMD",
     .help = "set the command of a role"},
    {"image", 0, OPT_STRINGS, JOB(put_images), "[ROLE=]NAME",
     .help = "set the image of a role, or of all roles without one"},
    {"workdir", 0, OPT_STRING, JOB(workdir), "DIR",
     .help = "set the working directory of all roles"},
    {"map", 0, OPT_STRINGS, JOB(map), "PATH=DIR", .help = "replace PATH wherever the job uses it"},
    OPT_END,
};

static const struct opt_part parts[] = {JOB_READ_PART(struct options, job), OPT_PART_END};

const struct verb verb_convert = {
    .name = "convert",
    .synopsis = "[OPTION…] --to KIND FILE",
    .summary = "convert a job file for another platform",
    .about = "Writes the job as YAML to stdout. What the target cannot express is reported on "
             "stderr,\none line each: \"lost: PATH: what\". Comments of the file are not "
             "preserved.\n\nExit status: 0 written, 1 if the target cannot express the job or "
             "--strict refuses it, 2 for a\nbad file.",
    .opts = opts,
    .parts = parts,
    .usage_exit = EXIT_USAGE,
    .run = run_convert,
};
