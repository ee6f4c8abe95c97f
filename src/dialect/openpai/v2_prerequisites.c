/* v2_prerequisites.c - what a job of protocol v2 refers to: images, data, and secrets.
 *
 * Values of `secrets` and of `auth` appear in no message: these parts are checked by hand instead
 * of by a table, and what is wrong in them is told at their key. */
#include <string.h>

#include "base/limits.h"
#include "base/nearest.h"
#include "dialect/openpai/openpai.h"
#include "dialect/openpai/v2.h"

/* Is node a mapping? An error without its value otherwise, as that may be a secret. */
static bool is_map(const struct binder *b, const char *name, const struct node *node)
{
    if (node->type == NODE_MAP)
        return true;
    diag_at(b->ds, node_label(node), "E0107", NULL, "`%s` must be a mapping", name);
    return false;
}

/* --- prerequisites -------------------------------------------------------------------------- */

static void check_auth(const struct binder *b, const struct pai2_prerequisite *p)
{
    static const char *const keys[] = {"username", "password", "registryuri"};

    if (!p->auth || !is_map(b, "auth", p->auth))
        return;
    for (size_t i = 0; i < ARRAY_SIZE(keys); i++) {
        const struct node *value = node_get(p->auth, keys[i]);

        if (value && value->type != NODE_STRING)
            diag_at(b->ds, node_label(value), "E0107", NULL, "`%s` must be a string", keys[i]);
    }
    diag_at(b->ds, node_label(p->auth), "N0301", NULL,
            "`auth` has no effect locally: no image is pulled");
}

static void check_uri(const struct binder *b, const struct pai2_prerequisite *p)
{
    const char *const *list;
    const char *text;

    if (!p->uri)
        return;
    if (strcmp(p->type, "data") == 0)
        bind_strings(b, "uri", p->uri, &list);
    else
        bind_string(b, "uri", p->uri, &text);
}

const struct pai2_prerequisite *pai2_find(const struct pai2_prerequisites *all, const char *type,
                                          const char *name)
{
    for (size_t i = 0; i < all->n; i++) {
        const struct pai2_prerequisite *p = &all->v[i];

        if (strcmp(p->name, name) == 0 && (!type || strcmp(p->type, type) == 0))
            return p;
    }
    return NULL;
}

static void read_one(const struct binder *b, const struct node *node,
                     struct pai2_prerequisites *all)
{
    static const char *const types[] = {"dockerimage", "script", "output", "data"};
    const struct node *type = node_get(node, "type");
    bool image = type && type->type == NODE_STRING && strcmp(type->text, types[0]) == 0;
    const struct bind_table *table = image ? &pai2_image_table : &pai2_prerequisite_table;
    const struct pai2_prerequisite *p = bind_map(b, table, node), *first;

    if (!p)
        return;
    pai_reject_nulls(b, table, node, pai2_may_be_null);
    if (p->type)
        bind_word(b, type, "type", p->type, types, ARRAY_SIZE(types));
    if (!p->name || !p->type)
        return;
    pai_check_name(b, node_get(node, "name"), "a prerequisite's name", p->name, "_-", false);
    first = pai2_find(all, p->type, p->name);
    if (first)
        diag_at(b->ds, node_get(node, "name"), "E0305", NULL,
                "duplicate %s prerequisite %s (first at line %u)", p->type, p->name,
                first->at->pos.line);
    check_uri(b, p);
    check_auth(b, p);
    all->v[all->n++] = *p;
}

void pai2_read_prerequisites(const struct binder *b, const struct pai2_job *job,
                             struct pai2_prerequisites *ret)
{
    const struct node *list = job->prerequisites;
    size_t before = b->ds->n_errors;

    if (!list)
        return;
    if (list->type != NODE_SEQ)
        diag_at(b->ds, node_label(list), "E0107", NULL, "`prerequisites` must be a list");
    else if (list->n == 0)
        diag_at(b->ds, list, "E0104", NULL, "`prerequisites` must not be empty");
    else if (list->n > LIMIT_PREREQUISITES)
        diag_at(b->ds, list, "E0005", NULL, "more than %d prerequisites", LIMIT_PREREQUISITES);
    else
        ret->v = ARENA_ARRAY(b->a, struct pai2_prerequisite, list->n);
    for (size_t i = 0; ret->v && i < list->n; i++)
        read_one(b, list->items[i], ret);
    ret->wrong = b->ds->n_errors > before;
}

const struct pai2_prerequisite *pai2_refer(const struct binder *b,
                                           const struct pai2_prerequisites *all,
                                           const struct node *at, const char *type,
                                           const char *name)
{
    const struct pai2_prerequisite *p = pai2_find(all, type, name);
    const char **names, *near;

    if (p || all->wrong)
        return p;
    names = ARENA_ARRAY(b->a, const char *, all->n + 1);
    for (size_t i = 0; i < all->n; i++) {
        if (!type || strcmp(all->v[i].type, type) == 0)
            names[i] = all->v[i].name;
    }
    near = nearest_word(name, names, all->n);
    diag_at(b->ds, at, "E0304",
            near     ? arena_printf(b->a, "did you mean `%s`?", near)
            : all->n ? NULL
                     : "the job has no `prerequisites`",
            "%s%sprerequisite \"%.80s\" not found", type ? type : "", type ? " " : "", name);
    return NULL;
}

/* --- secrets -------------------------------------------------------------------------------- */

static void collect_texts(const struct node *node, const char **texts, size_t *n)
{
    if (node->type == NODE_MAP || node->type == NODE_SEQ) {
        for (size_t i = 0; i < node->n; i++)
            collect_texts(node->type == NODE_MAP ? node->pairs[i].value : node->items[i], texts, n);
    } else if (node->type != NODE_NULL && node->text && *node->text) {
        texts[(*n)++] = node->text;
    }
}

static size_t count_texts(const struct node *node)
{
    size_t n = 1;

    if (!node || (node->type != NODE_MAP && node->type != NODE_SEQ))
        return n;
    for (size_t i = 0; i < node->n; i++)
        n += count_texts(node->type == NODE_MAP ? node->pairs[i].value : node->items[i]);
    return n;
}

/* A password may also stand in a prerequisite itself, where a tag should be. */
static const struct node *plain_password(const struct pai2_prerequisite *p)
{
    const struct node *password = p->auth ? node_get(p->auth, "password") : NULL;

    return password && password->type == NODE_STRING && !strstr(password->text, "<%") ? password
                                                                                      : NULL;
}

/* The line before what follows the node in the file; its own if that is on the same line. */
static uint32_t last_line(const struct node *node)
{
    uint32_t first = node_label(node)->pos.line;

    for (const struct node *up; (up = node->parent); node = up) {
        const struct node *next = NULL;

        for (size_t i = 0; up->type == NODE_MAP && i + 1 < up->n && !next; i++)
            next = up->pairs[i].value == node ? up->pairs[i + 1].key : NULL;
        if (up->type == NODE_SEQ && node->index + 1 < up->n)
            next = up->items[node->index + 1];
        if (next && next->pos.line)
            return next->pos.line > first ? next->pos.line - 1 : first;
    }
    return UINT32_MAX;
}

void pai2_hide_secrets(const struct binder *b, const struct pai2_job *job,
                       const struct pai2_prerequisites *all)
{
    const struct node *secrets = node_get(job->at, "secrets");

    if (secrets)
        diags_hide_lines(b->ds, node_label(secrets)->pos.line, last_line(secrets));
    for (size_t i = 0; i < all->n; i++) {
        const struct node *auth = all->v[i].auth;

        if (auth && (auth->type != NODE_MAP || plain_password(&all->v[i])))
            diags_hide_lines(b->ds, node_label(auth)->pos.line, last_line(auth));
    }
}

const char *const *pai2_secret_texts(const struct binder *b, const struct pai2_job *job,
                                     const struct pai2_prerequisites *all)
{
    const struct node *secrets = job->secrets;
    const char **texts;
    size_t n = 0;

    if (secrets && !is_map(b, "secrets", secrets))
        secrets = NULL;
    texts = ARENA_ARRAY(b->a, const char *, count_texts(secrets) + all->n + 1);
    if (secrets)
        collect_texts(secrets, texts, &n);
    for (size_t i = 0; i < all->n; i++) {
        const struct node *password = plain_password(&all->v[i]);

        if (password && password->len)
            texts[n++] = password->text;
    }
    return n ? texts : NULL;
}
