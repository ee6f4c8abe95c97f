/* v2_command.c - from a role's commands, deployment and plugins to the one text bash runs.
 *
 * OpenPAI joins preCommands, commands and postCommands of the deployment with line ends and runs
 * them as one script with errexit, nounset and pipefail: so they share variables and directory. A
 * role without plugins has exactly this text here.
 *
 * The commands of a `cmd` plugin are scripts of their own there, with errexit only: each is a
 * subshell here, before the user's text in order or, if that succeeded, after it in reverse order.
 * With commands to come after it the user's text is a subshell too, so that an `exit 0` in it does
 * not skip them. `failurePolicy: ignore` turns errexit off, as OpenPAI does: a command may fail, an
 * `exit 1` still counts.
 *
 * Not here: other plugins. ssh between replicas works without one; git, tensorboard and storage are
 * told as notes. */
#include <string.h>

#include "base/limits.h"
#include "base/strbuf.h"
#include "dialect/openpai/openpai.h"
#include "dialect/openpai/v2.h"

struct text {
    const struct pai2_command *c;
    struct template_scope scopes[5];
    struct strbuf shown, real;
    bool secret;
};

/* --- what is found in templates ------------------------------------------------------------- */

/* A plugin's commands are rendered once per role: the same finding is told once. */
static bool told(const struct diags *ds, const struct node *at, const char *code)
{
    for (size_t i = ds->n; i > 0; i--) {
        const struct diag *d = &ds->v[i - 1];

        if (d->pos.line == at->pos.line && d->pos.column == at->pos.column &&
            strcmp(d->code, code) == 0)
            return true;
    }
    return false;
}

static const char *unknown_hint(const struct text *t, const struct template_finding *f)
{
    struct arena *a = t->c->b.a;

    if (f->near)
        return arena_printf(a, "did you mean `%.80s`?", f->near);
    for (size_t i = 0; i < ARRAY_SIZE(t->scopes); i++) {
        size_t n = strlen(t->scopes[i].name);

        if (f->tag[0] == '$' && strncmp(f->tag + 1, t->scopes[i].name, n) == 0 &&
            !t->scopes[i].value)
            return arena_printf(a, "`%s` not found for role %s", t->scopes[i].name,
                                t->c->role_name);
    }
    return "known variables: $parameters, $secrets, $script, $output and $data";
}

static void tell(const struct text *t, const struct node *at, const struct template_finding *f)
{
    struct diags *ds = t->c->b.ds;

    switch (f->fault) {
    case TEMPLATE_UNKNOWN:
        diag_at(ds, at, "W0302", unknown_hint(t, f), "`<%% %s %%>` is not defined; not replaced",
                f->tag);
        break;
    case TEMPLATE_OPEN:
        diag_at(ds, at, "W0302", NULL, "`<%%` without `%%>` is not replaced: `<%%%s`", f->tag);
        break;
    case TEMPLATE_NOT_TEXT:
        diag_at(ds, at, "W0306", NULL, "`<%% %s %%>` is not a string; inserted as JSON", f->tag);
        break;
    case TEMPLATE_COMMENT:
        diag_at(ds, at, "N0326", NULL, "comment `<%% %s %%>` is removed", f->tag);
        break;
    case TEMPLATE_OTHER:
        diag_at(ds, at, "E0309", "only variables are supported, such as <% $parameters.name %>",
                "`<%% %s %%>` is not a variable", f->tag);
        break;
    case TEMPLATE_TOO_LONG:
        diag_at(ds, at, "E0005", NULL, "the rendered commands of the job exceed %d bytes",
                LIMIT_COMMANDS_BYTES);
        break;
    }
}

static const char *code_of(enum template_fault fault)
{
    static const char *const codes[] = {
        [TEMPLATE_UNKNOWN] = "W0302", [TEMPLATE_NOT_TEXT] = "W0306", [TEMPLATE_OTHER] = "E0309",
        [TEMPLATE_COMMENT] = "N0326", [TEMPLATE_OPEN] = "W0302",     [TEMPLATE_TOO_LONG] = "E0005",
    };

    return codes[fault];
}

/* --- adding --------------------------------------------------------------------------------- */

static void add(struct text *t, const char *shown, const char *real)
{
    strbuf_addstr(&t->shown, shown);
    strbuf_addstr(&t->real, real ? real : shown);
    t->secret = t->secret || real;
}

static const char *trimmed(struct arena *a, const char *text)
{
    static const char blanks[] = " \t\r\n\v\f";
    size_t n;

    if (!text)
        return NULL;
    text += strspn(text, blanks);
    n = strlen(text);
    while (n > 0 && strchr(blanks, text[n - 1]))
        n--;
    return arena_strndup(a, text, n);
}

enum { COMMAND_COST = 64 }; /* of an empty one, so that there cannot be any number of them */

/* One command, rendered. */
static void add_command(struct text *t, const struct node *node)
{
    const struct pai2_command *c = t->c;
    struct template_text out;
    size_t told_before = c->b.ds->n, used;

    template_render(c->b.a, node->text, t->scopes, ARRAY_SIZE(t->scopes), *c->budget, &out);
    for (size_t i = 0; i < out.n_findings; i++) {
        const char *code = code_of(out.findings[i].fault);
        struct diags earlier = *c->b.ds;

        earlier.n = told_before;
        if (!told(&earlier, node, code))
            tell(t, node, &out.findings[i]);
    }
    used = strlen(out.shown) + (out.real ? strlen(out.real) : 0) + COMMAND_COST;
    *c->budget -= used < *c->budget ? used : *c->budget;
    add(t, trimmed(c->b.a, out.shown), trimmed(c->b.a, out.real));
    add(t, "\n", NULL);
}

/* A list of commands whose types the caller has checked. */
static void add_commands(struct text *t, const struct node *list)
{
    for (size_t i = 0; list && list->type == NODE_SEQ && i < list->n; i++) {
        if (*t->c->budget < COMMAND_COST) {
            tell(t, list->items[i], &(struct template_finding){.fault = TEMPLATE_TOO_LONG});
            return;
        }
        if (list->items[i]->type == NODE_STRING)
            add_command(t, list->items[i]);
    }
}

/* --- plugins -------------------------------------------------------------------------------- */

static bool has_commands(const struct pai2_cmd *cmd, enum pai2_when when)
{
    const struct node *callbacks = node_get(cmd->params, "callbacks");
    const struct node *list =
        node_get(cmd->params, when == PAI2_BEFORE ? "preCommands" : "postCommands");

    if (!callbacks || callbacks->type != NODE_SEQ)
        return list && list->type == NODE_SEQ && list->n > 0;
    for (size_t i = 0; i < callbacks->n; i++) {
        if (pai2_event_is(callbacks->items[i], when))
            return true;
    }
    return false;
}

/* The plugin's commands as a script of its own. */
static void add_script(struct text *t, const struct pai2_cmd *cmd, enum pai2_when when)
{
    const struct node *callbacks = node_get(cmd->params, "callbacks");

    if (!has_commands(cmd, when))
        return;
    add(t, "(\nset +o nounset +o pipefail\n", NULL);
    if (cmd->ignore)
        add(t, "set +o errexit\n", NULL);
    if (!callbacks || callbacks->type != NODE_SEQ)
        add_commands(t,
                     node_get(cmd->params, when == PAI2_BEFORE ? "preCommands" : "postCommands"));
    for (size_t i = 0; callbacks && callbacks->type == NODE_SEQ && i < callbacks->n; i++) {
        if (pai2_event_is(callbacks->items[i], when))
            add_commands(t, node_get(callbacks->items[i], "commands"));
    }
    if (cmd->ignore)
        add(t, "set -o errexit\n", NULL);
    add(t, ")\n", NULL);
}

/* --- composing ------------------------------------------------------------------------------ */

static const struct node *own_prerequisite(const struct pai2_command *c, const char *type,
                                           const char *name)
{
    const struct pai2_prerequisite *p = name ? pai2_find(c->prerequisites, type, name) : NULL;

    return p ? p->at : NULL;
}

static void set_scopes(struct text *t)
{
    const struct pai2_command *c = t->c;

    t->scopes[0] = (struct template_scope){"parameters", c->job->parameters, false};
    t->scopes[1] = (struct template_scope){"secrets", c->job->secrets, true};
    t->scopes[2] =
        (struct template_scope){"script", own_prerequisite(c, "script", c->role->script), false};
    t->scopes[3] =
        (struct template_scope){"output", own_prerequisite(c, "output", c->role->output), false};
    t->scopes[4] =
        (struct template_scope){"data", own_prerequisite(c, "data", c->role->data), false};
}

static void add_user(struct text *t)
{
    const struct pai2_command *c = t->c;
    struct text user = *t;
    const char *shown, *real;

    user.shown = user.real = (struct strbuf)STRBUF_INIT;
    user.secret = false;
    if (c->deployment)
        add_commands(&user, node_get(c->deployment->at, "preCommands"));
    add_commands(&user, node_get(c->role->at, "commands"));
    if (c->deployment)
        add_commands(&user, node_get(c->deployment->at, "postCommands"));
    shown = trimmed(c->b.a, user.shown.buf);
    real = user.secret ? trimmed(c->b.a, user.real.buf) : NULL;
    pai_start_sleep(&c->b, c->opts, node_get(c->role->at, "commands"), &shown, &real);
    add(t, shown, real);
    strbuf_release(&user.shown);
    strbuf_release(&user.real);
}

void pai2_compose(const struct pai2_command *c, struct role *out)
{
    struct text t = {.c = c, .shown = STRBUF_INIT, .real = STRBUF_INIT};
    struct pai2_cmd *cmds;
    size_t n;
    bool after = false;

    if (*c->budget < COMMAND_COST) {
        tell(&t, out->command_at, &(struct template_finding){.fault = TEMPLATE_TOO_LONG});
        return;
    }
    set_scopes(&t);
    n = pai2_cmds(c, &cmds);
    for (size_t i = 0; i < n; i++) {
        add_script(&t, &cmds[i], PAI2_BEFORE);
        after = after || has_commands(&cmds[i], PAI2_AFTER);
    }
    if (after)
        add(&t, "(\n", NULL);
    add_user(&t);
    if (after)
        add(&t, "\n)\n", NULL);
    for (size_t i = n; i > 0; i--)
        add_script(&t, &cmds[i - 1], PAI2_AFTER);
    out->shell = trimmed(c->b.a, t.shown.buf);
    if (t.secret)
        out->shell_secret = trimmed(c->b.a, t.real.buf);
    strbuf_release(&t.shown);
    strbuf_release(&t.real);
}
