/* generate.c - `muster generate`: the ksonnet prototypes of Kubeflow's MPI jobs, without ksonnet.
 *
 * A prototype's parameters become options of their own, so that help, errors and the nearest word
 * come from the same parser as everywhere else.
 */
#include <stdio.h>
#include <string.h>

#include "base/arena.h"
#include "base/nearest.h"
#include "cli/cli.h"
#include "cli/diagnose.h"
#include "dialect/kubeflow/ksonnet.h"
#include "doc/diag.h"
#include "doc/yaml.h"
#include "doc/yaml_write.h"

struct generate_opts {
    struct ksonnet_values values;
    const char *output;
};

static const char *const outputs[] = {"yaml", "json", NULL};

/* --- one prototype -------------------------------------------------------------------------- */

#define N_OPTS (KSONNET_PARAMS_MAX + 3)

static void make_options(struct arena *a, const struct ksonnet_prototype *p, struct opt *opts)
{
    size_t n = 0;

    for (; n < KSONNET_PARAMS_MAX && p->params[n].name; n++) {
        const struct ksonnet_param *param = &p->params[n];

        opts[n] = (struct opt){
            .name = param->name,
            .kind = OPT_STRING,
            .offset = offsetof(struct generate_opts, values.v) + n * sizeof(char *),
            .arg = param->number ? "N" : "TEXT",
            .help = arena_printf(a, "%s (default: %s)", param->help,
                                 param->preset ? param->preset : "NAME"),
        };
    }
    opts[n++] = (struct opt){"namespace", 0,
                             OPT_STRING,  offsetof(struct generate_opts, values.namespace_),
                             "NS",        .help = "namespace of the objects (default: kubeflow)"};
    opts[n] = (struct opt){"output",           'o',
                           OPT_CHOICE,         offsetof(struct generate_opts, output),
                           .choices = outputs, .help = "the form of the document"};
}

/* JSON is YAML too: the one document, read back, is what the YAML is written from. */
static void print_yaml(struct arena *a, const struct strbuf *json)
{
    auto_strbuf struct strbuf yaml = STRBUF_INIT;
    struct diags ds;
    struct doc doc;

    diags_init(&ds, a);
    if (yaml_read(a, "", json->buf, json->len, &ds, &doc) == 0)
        yaml_write(&yaml, doc.roots[0]);
    diags_release(&ds);
    fputs(yaml.buf, stdout);
}

static int generate(struct arena *a, const struct verb *verb, const struct ksonnet_prototype *p,
                    int argc, char **argv)
{
    struct generate_opts o = {.values.namespace_ = "kubeflow", .output = "yaml"};
    auto_strbuf struct strbuf sb = STRBUF_INIT;
    struct json j = JSON_PRETTY(&sb);
    struct operands ops;
    struct err e;

    if (opts_parse(verb, &o, argc, argv, &ops) < 0)
        return verb->usage_exit;
    if (ops.n > 1 || ops.rest)
        return usage_error(verb, "exactly one NAME is required");
    if (ops.n == 0 && !o.values.v[0])
        return usage_error(verb, "a NAME is required");
    for (size_t i = 0; i < KSONNET_PARAMS_MAX && p->params[i].name; i++)
        if (!o.values.v[i])
            o.values.v[i] = p->params[i].preset ? p->params[i].preset : ops.v[0];
    if (ksonnet_check(p, &o.values, &e) < 0)
        return usage_error(verb, "%s", e.text);
    p->write(&j, &o.values);
    if (strcmp(o.output, "json") == 0)
        printf("%s\n", sb.buf);
    else
        print_yaml(a, &sb);
    return finish_output();
}

static int generate_prototype(const struct verb *verb, const struct ksonnet_prototype *p, int argc,
                              char **argv)
{
    auto_arena struct arena *a = arena_new();
    struct opt opts[N_OPTS] = {0};
    const struct verb own = {
        .name = arena_printf(a, "%s %s", verb->name, p->name),
        .synopsis = "[OPTION…] NAME",
        .summary = p->summary,
        .opts = opts,
        .usage_exit = verb->usage_exit,
    };

    make_options(a, p, opts);
    return generate(a, &own, p, argc, argv);
}

/* --- the verb ------------------------------------------------------------------------------- */

static void list_prototypes(void)
{
    for (size_t i = 0; ksonnet_prototypes[i]; i++)
        printf("%-16s %s\n", ksonnet_prototypes[i]->name, ksonnet_prototypes[i]->summary);
}

static int unknown_prototype(const struct verb *verb, const char *name)
{
    const char *names[8];
    size_t n = 0;

    for (; ksonnet_prototypes[n]; n++)
        names[n] = ksonnet_prototypes[n]->name;

    const char *near = nearest_word(name, names, n);

    return usage_error(verb, "prototype \"%s\" not found%s%s%s", name,
                       near ? ", did you mean " : "", near ? near : "", near ? "?" : "");
}

static int run(const struct verb *verb, int argc, char **argv)
{
    struct {
        bool list;
    } o = {0};
    struct operands ops;

    if (argc > 1 && argv[1][0] != '-') {
        const struct ksonnet_prototype *p = ksonnet_find(argv[1]);

        return p ? generate_prototype(verb, p, argc - 1, argv + 1)
                 : unknown_prototype(verb, argv[1]);
    }
    if (opts_parse(verb, &o, argc, argv, &ops) < 0)
        return verb->usage_exit;
    if (!o.list || ops.n || ops.rest)
        return usage_error(verb, "a PROTOTYPE is required; use --list to list them");
    list_prototypes();
    return finish_output();
}

static const struct opt verb_opts[] = {
    {"list", 0, OPT_FLAG, 0, .help = "the prototypes"},
    OPT_END,
};

const struct verb verb_generate = {
    .name = "generate",
    .synopsis = "PROTOTYPE [OPTION…] NAME | --list",
    .summary = "write a job file, or the operator's objects, from a ksonnet prototype",
    .about = "Writes what `ks generate PROTOTYPE NAME` and `ks show` would print: an MPIJob "
             "v1alpha1 of\nKubeflow, or the objects of its operator. Full names such "
             "as\nio.ksonnet.pkg.mpi-job-simple are accepted. `muster generate PROTOTYPE --help` "
             "lists\nthe parameters of a prototype with their defaults.",
    .opts = verb_opts,
    .usage_exit = EXIT_USAGE,
    .run = run,
};
