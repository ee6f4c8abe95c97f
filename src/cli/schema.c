/* schema.c - `muster schema`: what a dialect's job files may say, for editors and for the manual.
 */
#include <stdio.h>
#include <string.h>

#include "base/nearest.h"
#include "cli/cli.h"
#include "cli/diagnose.h"
#include "dialect/dialect.h"
#include "doc/json_read.h"
#include "doc/schema.h"
#include "doc/yaml_write.h"

struct options {
    bool list;
    const char *output;
};

static int list_dialects(void)
{
    for (size_t i = 0; dialects[i]; i++) {
        if (dialects[i]->root_table)
            printf("%-24s %s\n", dialects[i]->id, dialects[i]->title ? dialects[i]->title : "");
    }
    return finish_output();
}

static int unknown_dialect(const struct verb *verb, const char *id)
{
    const char *ids[32];
    size_t n = 0;

    for (; n < ARRAY_SIZE(ids) && dialects[n]; n++)
        ids[n] = dialects[n]->id;

    const char *near = nearest_word(id, ids, n);

    return usage_error(verb, "unknown dialect \"%s\"%s%s%s", id,
                       near ? ", did you mean " : "; use --list to list them", near ? near : "",
                       near ? "?" : "");
}

static void print_json(const struct dialect *d)
{
    auto_strbuf struct strbuf out = STRBUF_INIT, title = STRBUF_INIT;
    struct json j = JSON_PRETTY(&out);

    strbuf_addf(&title, "%s (%s)", d->title ? d->title : "a job file", d->id);
    schema_json(&j, d->root_table, title.buf);
    puts(out.buf);
}

/* The object says which version it is, so that its spec does not. */
static void print_kubernetes(const struct dialect *d)
{
    auto_arena struct arena *a = arena_new();
    auto_strbuf struct strbuf text = STRBUF_INIT, out = STRBUF_INIT;
    struct json j = JSON_COMPACT(&text);

    schema_kube(&j, d->root_table, "apiVersion");
    yaml_write(&out, json_node(a, text.buf, text.len));
    (void)fputs(out.buf, stdout);
}

/* A whole page. What is to be said beyond the keys is put before KEYS by tools/dialect-pages. */
static void print_mdoc(const struct dialect *d)
{
    auto_strbuf struct strbuf fields = STRBUF_INIT, name = STRBUF_INIT, upper = STRBUF_INIT;

    strbuf_addf(&name, "%s%s", strncmp(d->id, "muster-", 7) == 0 ? "" : "muster-", d->id);
    for (const char *c = name.buf; *c; c++)
        strbuf_addch(&upper, *c >= 'a' && *c <= 'z' ? (char)(*c - 'a' + 'A') : *c);
    schema_mdoc(&fields, d->root_table);
    printf(".Dd November 16, 2026\n"
           ".Dt %s 5\n"
           ".Os\n"
           ".Sh NAME\n"
           ".Nm %s\n"
           ".Nd %s\n"
           ".Sh DESCRIPTION\n"
           "What a job file of the dialect\n"
           ".Cm %s\n"
           "may say, and what becomes of it when\n"
           ".Xr muster 1\n"
           "runs it on one machine.\n"
           ".Sh KEYS\n"
           "Made from the tables that read the file.\n"
           "A key without a value counts as absent.\n"
           "%s"
           ".Sh SEE ALSO\n"
           ".Xr muster 1 ,\n"
           ".Xr muster-explain 1 ,\n"
           ".Xr muster-schema 1 ,\n"
           ".Xr muster-validate 1\n",
           upper.buf, name.buf, d->title ? d->title : "a job file", d->id, fields.buf);
}

static int run(const struct verb *verb, int argc, char **argv)
{
    struct options o = {.output = "json"};
    struct operands ops;
    const struct dialect *d;

    if (opts_parse(verb, &o, argc, argv, &ops) < 0)
        return verb->usage_exit;
    if (o.list && ops.n == 0 && !ops.rest)
        return list_dialects();
    if (o.list || ops.n != 1 || ops.rest)
        return usage_error(verb, "exactly one DIALECT is required; use --list to list them");
    d = dialect_by_id(ops.v[0]);
    if (!d)
        return unknown_dialect(verb, ops.v[0]);
    if (!d->root_table) {
        fprintf(stderr, "muster schema: %s has no schema\n", d->id);
        return EXIT_FAILED;
    }
    if (strcmp(o.output, "mdoc") == 0)
        print_mdoc(d);
    else if (strcmp(o.output, "kubernetes") == 0)
        print_kubernetes(d);
    else
        print_json(d);
    return finish_output();
}

static const char *const outputs[] = {"json", "mdoc", "kubernetes", NULL};

static const struct opt opts[] = {
    {"list", 0, OPT_FLAG, offsetof(struct options, list), .help = "the dialects"},
    {"output", 'o', OPT_CHOICE, offsetof(struct options, output), .choices = outputs,
     .help = "json: a JSON Schema (default), mdoc: the manual page, or kubernetes: a structural "
             "schema for a CRD, as YAML"},
    OPT_END,
};

const struct verb verb_schema = {
    .name = "schema",
    .synopsis = "[-o json|mdoc|kubernetes] DIALECT | --list",
    .summary = "print the JSON Schema of a dialect's job files",
    .about = "With the schema, an editor completes keys, shows their meaning and marks errors. The "
             "schema\nis generated from the tables that `muster validate` uses; rules between keys "
             "are checked by\n`validate` only.",
    .opts = opts,
    .usage_exit = EXIT_USAGE,
    .run = run,
};
