/* v2_plugins.c - the plugins of a job of protocol v2: which commands they add, what is wrong.
 *
 * OpenPAI's runtime knows five. `cmd` is run here (v2_command.c); ssh between replicas works
 * without one; git, tensorboard and storage are told as notes. `extras` is free form, so that what
 * makes no sense in it is a warning, but for commands: these would not be run as they are meant. */
#include <string.h>
#include <strings.h>

#include "base/limits.h"
#include "dialect/openpai/v2.h"

bool pai2_event_is(const struct node *callback, enum pai2_when when)
{
    static const char *const events[][2] = {[PAI2_BEFORE] = {"taskStarts", "containerStarts"},
                                            [PAI2_AFTER] = {"taskSucceeds", "containerEnds"}};
    const struct node *event = node_get(callback, "event");

    return event && event->type == NODE_STRING &&
           (!strcmp(event->text, events[when][0]) || !strcmp(event->text, events[when][1]));
}

/* --- of one role ---------------------------------------------------------------------------- */

static bool ignores(const char *policy)
{
    return policy && strcasecmp(policy, "ignore") == 0;
}

/* Does the plugin concern the role? Without a list it concerns all. */
static bool concerns(const struct node *plugin, const char *role)
{
    const struct node *list = node_get(plugin, "taskroles");

    if (!list || list->type != NODE_SEQ)
        return true;
    for (size_t i = 0; i < list->n; i++) {
        if (list->items[i]->type == NODE_STRING && strcmp(list->items[i]->text, role) == 0)
            return true;
    }
    return false;
}

size_t pai2_cmds(const struct pai2_command *c, struct pai2_cmd **ret)
{
    const struct node *plugins = node_get(c->job->extras, PAI2_PLUGINS);
    size_t n = 0, max = plugins && plugins->type == NODE_SEQ ? plugins->n : 0, n_extra;
    struct pai2_cmd *v;

    if (max > LIMIT_PREREQUISITES) /* told already */
        max = LIMIT_PREREQUISITES;
    n_extra = max;
    for (size_t i = 0; c->role->prerequisites && c->role->prerequisites[i]; i++)
        max++;
    v = ARENA_ARRAY(c->b.a, struct pai2_cmd, max);
    for (size_t i = 0; c->role->prerequisites && c->role->prerequisites[i]; i++) {
        const struct pai2_prerequisite *p = NULL;

        for (size_t k = 0; k < c->prerequisites->n; k++) {
            if (strcmp(c->prerequisites->v[k].name, c->role->prerequisites[i]) == 0)
                p = &c->prerequisites->v[k];
        }
        if (p && p->plugin && strcmp(p->plugin, PAI2_PLUGINS ".cmd") == 0)
            v[n++] = (struct pai2_cmd){p->at, ignores(p->failure_policy)};
    }
    for (size_t i = 0; i < n_extra; i++) {
        const struct node *entry = plugins->items[i];
        const char *name = node_text(node_get(entry, "plugin"), NULL);

        if (name && strcmp(name, "cmd") == 0 && concerns(entry, c->role_name))
            v[n++] = (struct pai2_cmd){node_get(entry, "parameters"),
                                       ignores(node_text(node_get(entry, "failurePolicy"), NULL))};
    }
    *ret = v;
    return n;
}

/* --- checking them once --------------------------------------------------------------------- */

static void check_callbacks(const struct binder *b, const struct node *list)
{
    const char *const *commands;

    if (list->type != NODE_SEQ) {
        bind_type_error(b, "callbacks", "a list", NULL, list);
        return;
    }
    for (size_t i = 0; i < list->n; i++) {
        const struct node *callback = list->items[i], *cmds = node_get(callback, "commands");

        if (callback->type != NODE_MAP)
            bind_type_error(b, "a callback", "a mapping", NULL, callback);
        else if (!pai2_event_is(callback, PAI2_BEFORE) && !pai2_event_is(callback, PAI2_AFTER))
            diag_at(b->ds, node_label(callback), "W0310",
                    "known events: taskStarts and taskSucceeds",
                    "this callback has an unknown event and is never run");
        if (cmds)
            bind_strings(b, "commands", cmds, &commands);
    }
}

static void check_cmd(const struct binder *b, const struct node *params)
{
    static const char *const keys[] = {"preCommands", "postCommands"};
    const struct node *callbacks = node_get(params, "callbacks");
    const char *const *commands;

    for (size_t i = 0; i < ARRAY_SIZE(keys); i++) {
        const struct node *list = node_get(params, keys[i]);

        if (list)
            bind_strings(b, keys[i], list, &commands);
        if (list && callbacks)
            diag_at(b->ds, node_label(list), "E0106", "keep one of the two",
                    "`%s` beside `callbacks`", keys[i]);
    }
    if (callbacks)
        check_callbacks(b, callbacks);
}

static void note_plugin(const struct binder *b, const struct node *at, const char *name)
{
    static const struct {
        const char *name, *why;
    } known[] = {
        {"ssh", "is not needed: `ssh ROLE-INDEX` reaches every task"},
        {"git", "is not run locally; clone the repository yourself"},
        {"tensorboard", "is not run locally"},
        {"teamwise_storage", "is not run locally; nothing is mounted"},
    };

    for (size_t i = 0; i < ARRAY_SIZE(known); i++) {
        if (strcmp(known[i].name, name) == 0) {
            diag_at(b->ds, at, "N0321", NULL, "the plugin `%s` %s", name, known[i].why);
            return;
        }
    }
    diag_at(b->ds, at, "W0310", "known plugins: ssh, cmd, git, tensorboard and teamwise_storage",
            "unknown plugin `%.80s`; not run", name);
}

static void check_plugin(const struct binder *b, const struct pai2_job *job,
                         const struct node *entry)
{
    const struct node *list = node_get(entry, "taskroles");
    const char *name = node_text(node_get(entry, "plugin"), NULL);

    if (!name) {
        diag_at(b->ds, entry, "W0310", NULL, "plugin without a name; not run");
        return;
    }
    if (strcmp(name, "cmd") == 0)
        check_cmd(b, node_get(entry, "parameters"));
    else
        note_plugin(b, node_get(entry, "plugin"), name);
    for (size_t i = 0; list && list->type == NODE_SEQ && i < list->n; i++) {
        const struct node *role = list->items[i];

        if (role->type == NODE_STRING && !node_get(job->roles, role->text))
            diag_at(b->ds, role, "W0309", NULL, "task role `%.80s` not found", role->text);
    }
}

void pai2_check_plugins(const struct binder *b, const struct pai2_job *job)
{
    const struct node *plugins = node_get(job->extras, PAI2_PLUGINS);
    const struct node *prerequisites = job->prerequisites;

    if (plugins && plugins->type != NODE_SEQ)
        bind_type_error(b, PAI2_PLUGINS, "a list", NULL, plugins);
    else if (plugins && plugins->n > LIMIT_PREREQUISITES)
        diag_at(b->ds, plugins, "E0005", NULL, "more than %d plugins", LIMIT_PREREQUISITES);
    for (size_t i = 0; plugins && plugins->type == NODE_SEQ && i < plugins->n; i++)
        check_plugin(b, job, plugins->items[i]);
    for (size_t i = 0; prerequisites && prerequisites->type == NODE_SEQ && i < prerequisites->n;
         i++) {
        const struct node *p = prerequisites->items[i];
        const char *name = node_text(node_get(p, "plugin"), NULL);

        if (!name)
            continue;
        if (strncmp(name, PAI2_PLUGINS ".", strlen(PAI2_PLUGINS ".")) == 0)
            name += strlen(PAI2_PLUGINS ".");
        if (strcmp(name, "cmd") == 0)
            check_cmd(b, p);
        else
            note_plugin(b, node_get(p, "plugin"), name);
    }
}
