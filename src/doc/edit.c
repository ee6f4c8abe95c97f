/* edit.c - see edit.h. An edit is checked against the tree first; the copy that follows cannot
 * fail.
 *
 * Not here: how an edit is written (edit_parse.c).
 */
#include "doc/edit.h"

#include <string.h>

#include "base/limits.h"
#include "base/nearest.h"
#include "doc/build.h"
#include "doc/edit_parts.h"

/* --- is there a way? ----------------------------------------------------------------------------
 */

static const char *nearest_key(const struct node *map, const char *key)
{
    const char *keys[64];
    size_t n = 0;

    for (; n < map->n && n < ARRAY_SIZE(keys); n++)
        keys[n] = map->pairs[n].key->text;
    return nearest_word(key, keys, n);
}

static const char *name_of(const struct node *item)
{
    const struct node *name = node_get(item, "name");

    return name && name->type == NODE_STRING ? name->text : NULL;
}

static const char *nearest_name(const struct node *list, const char *key)
{
    const char *names[64];
    size_t n = 0;

    for (; n < list->n && n < ARRAY_SIZE(names); n++)
        names[n] = name_of(list->items[n]);
    return nearest_word(key, names, n);
}

static const char *did_you_mean(struct arena *a, const char *near)
{
    return near ? arena_printf(a, "did you mean `%s`?", near) : NULL;
}

/* The item a step leads to in a list, or NULL. A name becomes the index it stands for. */
static const struct node *enter_list(const struct edit *edit, const struct node *list,
                                     struct step *step, struct diags *ds)
{
    for (size_t i = 0; step->key && i < list->n; i++) {
        const char *name = name_of(list->items[i]);

        if (name && strcmp(name, step->key) == 0) {
            *step = (struct step){NULL, i};
            break;
        }
    }
    if (!step->key && step->index < list->n)
        return list->items[step->index];
    if (step->key)
        diag_at(ds, list, "E0140", did_you_mean(ds->arena, nearest_name(list, step->key)),
                "--set %s: the list %s has no item named `%s`", edit->path,
                node_path(ds->arena, list), step->key);
    else
        diag_at(ds, list, "E0140", NULL, "--set %s: %s has %zu item%s; index [%zu] is out of range",
                edit->path, node_path(ds->arena, list), list->n, list->n == 1 ? "" : "s",
                step->index);
    return NULL;
}

/* Follows the path as far as it is there. Returns whether the edit can be made; names among the
 * steps become indexes. *ret_old is what the path leads to, or NULL. */
static bool check(const struct edit *edit, struct step *steps, const struct node *root,
                  struct diags *ds, const struct node **ret_old)
{
    const struct node *node = root;
    bool remove = edit->value->type == NODE_NULL;

    for (size_t i = 0; i < edit->n; i++) {
        const struct node *below = NULL;

        if (node->type == NODE_SEQ) {
            below = enter_list(edit, node, &steps[i], ds);
            if (!below)
                return false;
        } else if (!steps[i].key || (node->type != NODE_MAP && node->type != NODE_NULL)) {
            /* Its type only: the value may be a secret. */
            diag_at(ds, node, "E0141", NULL, "--set %s: %s is %s, not %s", edit->path,
                    node_path(ds->arena, node), node_type_words(node->type),
                    steps[i].key ? "a mapping" : "a list");
            return false;
        } else {
            below = node_get(node, steps[i].key);
        }
        if (below) {
            node = below;
            continue;
        }
        if (remove) {
            diag_at(ds, node, "E0142",
                    did_you_mean(ds->arena,
                                 node->type == NODE_MAP ? nearest_key(node, steps[i].key) : NULL),
                    "--set %s: cannot remove `%s`: not found in %s", edit->path, steps[i].key,
                    node_path(ds->arena, node));
            return false;
        }
        for (i++; i < edit->n; i++)
            if (!steps[i].key) {
                diag_at(ds, node, "E0140", "set the whole list: PATH=[…]",
                        "--set %s: [%zu] needs a list, and there is none", edit->path,
                        steps[i].index);
                return false;
            }
        return true;
    }
    *ret_old = node;
    return true;
}

/* --- what is told -------------------------------------------------------------------------------
 */

/* May the value at the path be shown? Variables and whatever sounds like it may hold a secret. */
static bool is_public(const struct edit *edit)
{
    static const char *const words[] = {"env", "secret", "token", "password", "key", "auth"};

    for (size_t i = 0; i < edit->n; i++)
        for (size_t k = 0; edit->steps[i].key && k < ARRAY_SIZE(words); k++)
            if (strcasestr(edit->steps[i].key, words[k]))
                return false;
    return true;
}

static const char *shown(struct arena *a, const struct node *value)
{
    enum { LONGEST = 48 };

    if (value->type == NODE_SEQ || value->type == NODE_MAP || value->len > LONGEST)
        return node_type_words(value->type);
    return arena_printf(a, value->type == NODE_STRING ? "\"%s\"" : "%s", value->text);
}

/* "set spec.worker.replicas = 2 (was 5)" */
static void tell(const struct edit *edit, const struct node *old, const struct node *root,
                 struct diags *ds)
{
    bool remove = edit->value->type == NODE_NULL, may = is_public(edit);
    const char *now = remove ? "" : may ? shown(ds->arena, edit->value) : "";
    const char *was = old && may && old->type != NODE_NULL ? shown(ds->arena, old) : NULL;

    diag_pos(ds, old ? old->pos : root->pos, edit->path, diag_set, NULL, "%s %s%s%s%s%s%s",
             remove ? "removed" : "set", edit->path, *now ? " = " : "", now, was ? " (was " : "",
             was ? was : "", was ? ")" : "");
}

/* --- the copy -----------------------------------------------------------------------------------
 */

struct copying {
    struct arena *a;
    const struct edit *edit;
    const struct step *steps;
    size_t n_nodes;
    int deepest;
};

static struct node *copy_head(struct copying *c, const struct node *from, const struct place *at)
{
    struct node *node = ARENA_NEW(c->a, struct node);
    int depth = at->depth + (from->type == NODE_SEQ || from->type == NODE_MAP);

    *node = *from;
    node->parent = at->parent;
    node->parent_key = at->key;
    node->index = at->index;
    c->n_nodes++;
    if (depth > c->deepest)
        c->deepest = depth;
    return node;
}

/* With `mark`, all of the copy stands at pos and is known to come from the command line. */
static const struct node *copy(struct copying *c, const struct node *from, const struct place *at,
                               const struct pos *mark)
{
    struct node *node = copy_head(c, from, at);

    if (mark) {
        node->pos = *mark;
        node->set = c->edit->path;
    }
    if (from->type == NODE_SEQ) {
        const struct node **items = ARENA_ARRAY(c->a, const struct node *, from->n);

        for (size_t i = 0; i < from->n; i++)
            items[i] = copy(c, from->items[i], &(struct place){node, NULL, i, at->depth + 1}, mark);
        node->items = items;
    } else if (from->type == NODE_MAP) {
        struct pair *pairs = ARENA_ARRAY(c->a, struct pair, from->n);

        for (size_t i = 0; i < from->n; i++) {
            const struct place below = {node, from->pairs[i].key->text, 0, at->depth + 1};

            pairs[i].key = copy(c, from->pairs[i].key, &below, mark);
            pairs[i].value = copy(c, from->pairs[i].value, &below, mark);
        }
        node->pairs = pairs;
    }
    return node;
}

static const struct node *remake(struct copying *c, const struct node *from, const struct place *at,
                                 size_t step, struct pos pos);

/* A pair that was not there: it stands where the mapping's own key does. */
static struct pair new_pair(struct copying *c, const struct place *below, size_t step,
                            struct pos pos)
{
    const struct node key = {
        .type = NODE_STRING, .pos = pos, .text = below->key, .len = strlen(below->key)};

    return (struct pair){copy(c, &key, below, &pos), remake(c, NULL, below, step + 1, pos)};
}

static void remake_map(struct copying *c, struct node *node, const struct node *from, int depth,
                       size_t step)
{
    const char *key = c->steps[step].key;
    bool remove = step + 1 == c->edit->n && c->edit->value->type == NODE_NULL, found = false;
    struct pair *pairs = ARENA_ARRAY(c->a, struct pair, from->n + 1);
    size_t n = 0;

    for (size_t i = 0; i < from->n; i++) {
        const struct pair *p = &from->pairs[i];
        const struct place below = {node, p->key->text, 0, depth + 1};
        bool here = strcmp(p->key->text, key) == 0;

        found = found || here;
        if (here && remove)
            continue;
        pairs[n].key =
            copy(c, p->key, &below, here && step + 1 == c->edit->n ? &p->key->pos : NULL);
        pairs[n++].value = here ? remake(c, p->value, &below, step + 1, p->value->pos)
                                : copy(c, p->value, &below, NULL);
    }
    if (!found) {
        const struct node *label = node->parent ? node_label(node) : node;

        pairs[n++] = new_pair(c, &(struct place){node, key, 0, depth + 1}, step, label->pos);
    }
    node->pairs = pairs;
    node->n = n;
}

static void remake_list(struct copying *c, struct node *node, const struct node *from, int depth,
                        size_t step)
{
    bool remove = step + 1 == c->edit->n && c->edit->value->type == NODE_NULL;
    const struct node **items = ARENA_ARRAY(c->a, const struct node *, from->n);
    size_t n = 0;

    for (size_t i = 0; i < from->n; i++) {
        const struct place below = {node, NULL, n, depth + 1};
        bool here = i == c->steps[step].index;

        if (here && remove)
            continue;
        items[n++] = here ? remake(c, from->items[i], &below, step + 1, from->items[i]->pos)
                          : copy(c, from->items[i], &below, NULL);
    }
    node->items = items;
    node->n = n;
}

/* The copy of `from` (NULL: there was nothing) with the rest of the path applied to it. */
static const struct node *remake(struct copying *c, const struct node *from, const struct place *at,
                                 size_t step, struct pos pos)
{
    static const struct node nothing = {.type = NODE_MAP, .text = ""};
    struct node *node;

    if (step == c->edit->n)
        return copy(c, c->edit->value, at, &pos);
    if (!from || from->type == NODE_NULL) {
        node = copy_head(c, &nothing, at);
        node->pos = pos;
        node->set = c->edit->path;
        from = &nothing;
    } else {
        node = copy_head(c, from, at);
    }
    if (from->type == NODE_SEQ)
        remake_list(c, node, from, at->depth, step);
    else
        remake_map(c, node, from, at->depth, step);
    return node;
}

const struct node *edit_apply(struct arena *a, const struct edit *edit, const struct node *root,
                              struct diags *ds)
{
    struct step steps[LIMIT_SET_STEPS];
    struct copying c = {.a = a, .edit = edit, .steps = steps};
    const struct node *made, *old = NULL;

    memcpy(steps, edit->steps, edit->n * sizeof(*steps));
    if (!check(edit, steps, root, ds, &old))
        return NULL;
    made = remake(&c, root, &(struct place){NULL, NULL, 0, 0}, 0, root->pos);
    if (c.n_nodes > LIMIT_NODES || c.deepest > LIMIT_DEPTH) {
        diag_at(ds, root, "E0005", NULL, "--set %s: this makes more than %d %s", edit->path,
                c.deepest > LIMIT_DEPTH ? LIMIT_DEPTH : LIMIT_NODES,
                c.deepest > LIMIT_DEPTH ? "levels of nesting" : "nodes in the document");
        return NULL;
    }
    tell(edit, old, root, ds);
    return made;
}
