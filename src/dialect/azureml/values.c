/* values.c - inputs and outputs of Azure ML's command job, and what its command makes of them.
 *
 *   ${{inputs.NAME}}, ${{outputs.NAME}}   a literal, or a path that only the plan knows
 *   $[[ … ${{inputs.NAME}} … ]]           left out altogether if there is no such input
 *
 * Not here: what is put in their place (plan/values.c). */
#include "dialect/azureml/azureml.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

#include "base/limits.h"
#include "base/nearest.h"
#include "base/strbuf.h"
#include "dialect/rewrite.h"

bool az_is_remote(const char *path)
{
    static const char *const schemes[] = {"azureml:", "runs:/", "git+", "wasb:", "wasbs:"};
    size_t n = strspn(path, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789+.-");

    for (size_t i = 0; i < ARRAY_SIZE(schemes); i++) {
        if (strncasecmp(path, schemes[i], strlen(schemes[i])) == 0)
            return true;
    }
    return n > 1 && strncmp(path + n, "://", 3) == 0 && strncmp(path, "file:", 5) != 0;
}

/* --- inputs and outputs --------------------------------------------------------------------- */

/* A directory is called after an output, a variable after either. */
static bool is_name(const char *text)
{
    size_t n = strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.");

    return n > 0 && text[n] == '\0' && text[0] != '.' && n <= 255;
}

/* The words that are allowed are in lower case; the file's may be in any. */
static void check_word(struct az *l, const struct az_data *in, const char *key, const char *word,
                       const char *const *words, size_t n)
{
    char *low = word ? arena_strdup(l->b.a, word) : NULL;

    if (!low)
        return;
    for (char *c = low; *c; c++)
        *c = (char)tolower((unsigned char)*c);
    bind_word(&l->b, node_get(in->at, key), key, low, words, n);
}

static const char *without_scheme(const char *path)
{
    if (strncmp(path, "file://", 7) == 0)
        return path + 7;
    return strncmp(path, "file:", 5) == 0 ? path + 5 : path;
}

static bool is_scalar(const struct node *node)
{
    return node->type != NODE_NULL && node->type != NODE_SEQ && node->type != NODE_MAP;
}

static void set_literal(struct az *l, const char *what, const struct node *node,
                        struct job_value *v)
{
    if (!is_scalar(node))
        bind_type_error(&l->b, what, "a string, a number, true or false", NULL, node);
    else if (strlen(node->text) != node->len)
        diag_at(l->b.ds, node, "E0215", NULL, "`%s` contains a NUL character", what);
    else
        v->text = node->text;
}

static void lower_input(struct az *l, const struct node *node, struct job_value *v)
{
    static const char *const types[] = {"uri_file",     "uri_folder",   "mltable",
                                        "mlflow_model", "custom_model", "triton_model"};
    static const char *const modes[] = {"ro_mount", "download", "direct", "eval_mount",
                                        "eval_download"};
    const struct az_data *in;

    if (node->type != NODE_MAP) {
        set_literal(l, v->name, node, v);
        return;
    }
    in = bind_map(&l->b, &az_input_table, node);
    if (in->value) {
        set_literal(l, "value", in->value, v);
        return;
    }
    v->kind = VALUE_INPUT;
    check_word(l, in, "type", in->type, types, ARRAY_SIZE(types));
    check_word(l, in, "mode", in->mode, modes, ARRAY_SIZE(modes));
    if (!in->path) {
        if (node_absent(node, "path"))
            bind_missing(&l->b, node, arena_printf(l->b.a, "the input %s", v->name), "path", NULL);
        return;
    }
    v->direct = in->mode && strcasecmp(in->mode, "direct") == 0;
    v->remote = az_is_remote(in->path);
    v->text = without_scheme(in->path);
    v->at = node_get(node, "path");
    if (v->remote && !v->direct)
        diag_at(l->b.ds, v->at, "N0421", "use --map ADDRESS=PATH",
                "input `%s` is not available locally", v->name);
}

static void lower_output(struct az *l, const struct node *node, struct job_value *v)
{
    static const char *const types[] = {"uri_file",     "uri_folder",   "mltable",
                                        "mlflow_model", "custom_model", "triton_model"};
    static const char *const modes[] = {"rw_mount", "upload", "mount", "direct"};
    const struct az_data *in;

    v->kind = VALUE_OUTPUT;
    if (node->type == NODE_NULL)
        return;
    if (node->type != NODE_MAP) {
        bind_type_error(&l->b, v->name, "a mapping", NULL, node);
        return;
    }
    in = bind_map(&l->b, &az_output_table, node);
    check_word(l, in, "type", in->type, types, ARRAY_SIZE(types));
    check_word(l, in, "mode", in->mode, modes, ARRAY_SIZE(modes));
    v->file = in->type && strcasecmp(in->type, "uri_file") == 0;
    v->text = in->path;
    v->remote = in->path != NULL;
    if (in->path)
        diag_at(l->b.ds, node_key(node, "path"), "N0420", NULL,
                "output `%s` is stored in the run directory, not at this path", v->name);
}

static size_t lower_all(struct az *l, const struct node *map, bool outputs, struct job_value *ret)
{
    const char *key = outputs ? "outputs" : "inputs";
    size_t n = 0;

    if (!map)
        return 0;
    if (map->type != NODE_MAP) {
        bind_type_error(&l->b, key, "a mapping", NULL, map);
        return 0;
    }
    for (size_t i = 0; i < map->n; i++) {
        const struct node *name = map->pairs[i].key, *value = map->pairs[i].value;
        struct job_value *v = &ret[n];

        *v = (struct job_value){.name = name->text, .at = value};
        if (!is_name(name->text)) {
            diag_at(l->b.ds, name, "E0420", "use letters, digits, '_', '-' and '.'",
                    "\"%.80s\" is not a valid name of an input or output", name->text);
            continue;
        }
        if (outputs)
            lower_output(l, value, v);
        else if (value->type == NODE_NULL)
            diag_at(l->b.ds, name, "E0103", NULL, "input `%s` has no value", name->text);
        else
            lower_input(l, value, v);
        n++;
    }
    return n;
}

void az_lower_values(struct az *l)
{
    const struct node *in = l->job->inputs, *out = l->job->outputs;
    size_t room =
        (in && in->type == NODE_MAP ? in->n : 0) + (out && out->type == NODE_MAP ? out->n : 0);
    struct job_value *values = ARENA_ARRAY(l->b.a, struct job_value, room + 1);

    l->out->n_values = lower_all(l, in, false, values);
    l->out->n_values += lower_all(l, out, true, values + l->out->n_values);
    l->out->values = values;
}

/* --- the command ---------------------------------------------------------------------------- */

struct scan {
    struct az *l;
    const struct node *at;
    const char *text; /* all of it, for places */
    int64_t bytes;    /* that the values may become */
    struct strbuf *out;
};

/* What a path may take in the end, and what any reference counts for: their number is bounded too.
 */
enum { PATH_BYTES = 4096, LEAST_BYTES = 1024 };

static struct pos place(const struct scan *s, const char *at)
{
    return rewrite_place(s->l->doc, s->at, (size_t)(at - s->text));
}

static const struct job_value *value_named(const struct job_spec *spec, bool output,
                                           const char *name)
{
    for (size_t i = 0; i < spec->n_values; i++) {
        if ((spec->values[i].kind == VALUE_OUTPUT) == output &&
            strcmp(spec->values[i].name, name) == 0)
            return &spec->values[i];
    }
    return NULL;
}

static const char *near_hint(struct scan *s, bool output, const char *name)
{
    const struct job_spec *spec = s->l->out;
    const char **names = ARENA_ARRAY(s->l->b.a, const char *, spec->n_values + 1), *near;
    size_t n = 0;

    for (size_t i = 0; i < spec->n_values; i++) {
        if ((spec->values[i].kind == VALUE_OUTPUT) == output)
            names[n++] = spec->values[i].name;
    }
    near = nearest_word(name, names, n);
    return near ? arena_printf(s->l->b.a, "did you mean `%s`?", near) : NULL;
}

/* "${{ inputs.x }}" at p: its length, 0 if it does not end. *ret_name is what follows the dot, or
 * NULL if it names neither an input nor an output. */
static size_t reference(struct scan *s, const char *p, const char **ret_name, bool *ret_output)
{
    const char *end = strstr(p, "}}"), *from = p + 3, *to = end;

    *ret_name = NULL;
    *ret_output = false;
    if (!end)
        return 0;
    while (from < to && isspace((unsigned char)*from))
        from++;
    while (to > from && isspace((unsigned char)to[-1]))
        to--;
    *ret_output = strncmp(from, "outputs.", 8) == 0;
    if (*ret_output || strncmp(from, "inputs.", 7) == 0) {
        from = strchr(from, '.') + 1;
        *ret_name = from < to ? arena_strndup(s->l->b.a, from, (size_t)(to - from)) : NULL;
    }
    return (size_t)(end + 2 - p);
}

static size_t take_reference(struct scan *s, const char *p)
{
    const char *name;
    bool output;
    size_t n = reference(s, p, &name, &output);
    const struct job_value *v = name ? value_named(s->l->out, output, name) : NULL;
    const char *what = output ? "outputs" : "inputs", *path = node_path(s->l->b.a, s->at);

    if (n == 0)
        diag_pos(s->l->b.ds, place(s, p), path, "E0422", NULL, "`${{` is not closed by `}}`");
    else if (!name)
        diag_pos(s->l->b.ds, place(s, p), path, "E0422",
                 "use ${{inputs.NAME}} or ${{outputs.NAME}}", "unknown expression `%.*s`",
                 n < 80 ? (int)n : 80, p);
    else if (!v)
        diag_pos(s->l->b.ds, place(s, p), path, "E0421", near_hint(s, output, name),
                 "the command uses `%s.%.80s`, which the job does not define", what, name);
    s->bytes += LEAST_BYTES;
    if (!v)
        return n ? n : strlen(p);
    s->bytes += v->kind == VALUE_LITERAL && v->text ? (int64_t)strlen(v->text) : PATH_BYTES;
    strbuf_addf(s->out, "${{%s.%s}}", what, name);
    return n;
}

/* Does the part name only inputs that there are? */
static bool all_given(struct scan *s, const char *part)
{
    const char *name;
    bool output;

    for (const char *p = part; (p = strstr(p, "${{")); p += 3) {
        if (reference(s, p, &name, &output) && name && !output &&
            !value_named(s->l->out, false, name))
            return false;
    }
    return true;
}

static void take_text(struct scan *s, const char *from, const char *to)
{
    while (from < to && s->bytes <= LIMIT_COMMANDS_BYTES) {
        const char *p = memmem(from, (size_t)(to - from), "${{", 3);

        strbuf_add(s->out, from, (size_t)((p ? p : to) - from));
        from = p ? p + take_reference(s, p) : to;
    }
}

static const char *take_optional(struct scan *s, const char *p)
{
    const char *end = strstr(p, "]]");

    if (!end) {
        diag_pos(s->l->b.ds, place(s, p), node_path(s->l->b.a, s->at), "E0422", NULL,
                 "`$[[` is not closed by `]]`");
        return p + strlen(p);
    }
    if (all_given(s, arena_strndup(s->l->b.a, p + 3, (size_t)(end - p) - 3)))
        take_text(s, p + 3, end);
    return end + 2;
}

/* {inputs.x} was the form of 2021; ${inputs.x} has never been one. */
static void warn_braces(struct scan *s, const char *p, size_t prefix, bool output)
{
    const char *end = strchr(p, '}'), *name = p + prefix;
    bool dollar = p > s->text && p[-1] == '$';
    int n = end ? (int)(end + 1 - p) : 0;

    if (!end || n > 80 || (p > s->text && p[-1] == '{') ||
        !value_named(s->l->out, output, arena_strndup(s->l->b.a, name, (size_t)(end - name))))
        return;
    diag_pos(s->l->b.ds, place(s, p - dollar), node_path(s->l->b.a, s->at), "W0420",
             arena_printf(s->l->b.a, "write ${%.*s}", n, p),
             dollar ? "`$%.*s` is passed to the shell, which has no such variable"
                    : "`%.*s` is plain text; single braces are the syntax of 2021",
             n, p);
}

static void warn_old_braces(struct scan *s)
{
    static const char *const kinds[] = {"{inputs.", "{outputs."};

    for (size_t k = 0; k < ARRAY_SIZE(kinds); k++)
        for (const char *p = s->text; (p = strstr(p, kinds[k])); p += strlen(kinds[k]))
            warn_braces(s, p, strlen(kinds[k]), k == 1);
}

const char *az_command(struct az *l, const struct node *at, const char *text)
{
    auto_strbuf struct strbuf sb = STRBUF_INIT;
    struct scan s = {.l = l, .at = at, .text = text, .out = &sb};
    const char *p = text;

    while (*p && s.bytes <= LIMIT_COMMANDS_BYTES) {
        const char *optional = strstr(p, "$[["), *to = optional ? optional : p + strlen(p);

        take_text(&s, p, to);
        p = optional ? take_optional(&s, optional) : to;
    }
    warn_old_braces(&s);
    if (s.bytes > LIMIT_COMMANDS_BYTES)
        diag_at(l->b.ds, at, "E0005", NULL,
                "the command's inputs and outputs may have %lld bytes; the limit is %d",
                (long long)s.bytes, LIMIT_COMMANDS_BYTES);
    return arena_strndup(l->b.a, sb.buf, sb.len);
}
