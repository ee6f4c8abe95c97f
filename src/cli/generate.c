/* generate.c - `muster generate`: the ksonnet prototypes of Kubeflow's MPI jobs, without ksonnet.
 * Muster's own operator: generate_operator.c.
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
#include "cli/generate_operator.h"
#include "dialect/kubeflow/ksonnet.h"
#include "doc/json_read.h"
#include "doc/json_write.h"
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

/* The one document, read back, is what the YAML is written from. */
static void print_document(struct arena *a, const struct strbuf *json, bool ours, const char *form)
{
    auto_strbuf struct strbuf text = STRBUF_INIT;
    const struct node *root = json_node(a, json->buf, json->len);

    if (ours)
        root = adapt_mpi_operator(a, root);
    if (strcmp(form, "yaml") == 0)
        yaml_write(&text, root);
    else if (ours)
        json_write(&text, root);
    else
        strbuf_addstr(&text, json->buf);
    printf("%s%s", text.buf, strcmp(form, "yaml") == 0 ? "" : "\n");
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
    print_document(a, &sb, p->is_operator && is_our_image(o.values.v[1]), o.output);
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
    const char *names[8] = {"operator", "crds"};
    size_t n = 2;

    for (size_t i = 0; ksonnet_prototypes[i]; i++)
        names[n++] = ksonnet_prototypes[i]->name;

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

        if (generates_operator(argv[1]))
            return generate_operator(verb, argc - 1, argv + 1);

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
    .synopsis = "PROTOTYPE [OPTION…] NAME | --list | operator [OPTION…] | crds [OPTION…]",
    .summary = "write a job file from a ksonnet prototype, or the objects of an operator",
    .about = "Writes what `ks generate PROTOTYPE NAME` and `ks show` would print: an MPIJob "
             "v1alpha1 of\nKubeflow, or the objects of its operator. Full names such "
             "as\nio.ksonnet.pkg.mpi-job-simple are accepted. `muster generate PROTOTYPE --help` "
             "lists\nthe parameters of a prototype with their defaults.\n\n`muster generate "
             "operator` writes the objects that install Muster's own operator, `muster generate "
             "crds` only the CRDs of the kinds that it serves.",
    .opts = verb_opts,
    .usage_exit = EXIT_USAGE,
    .run = run,
};
