/* schema_parts.c - the tables of a dialect, each with the path where it is met first and a name. */
#include <string.h>

#include "base/limits.h"
#include "doc/schema.h"

struct walk {
    struct arena *a;
    struct schema_part *v;
    size_t n;
};

static bool is_known(const struct walk *w, const struct bind_table *t)
{
    for (size_t i = 0; i < w->n; i++) {
        if (w->v[i].table == t)
            return true;
    }
    return false;
}

static bool name_taken(const struct walk *w, const char *name)
{
    for (size_t i = 0; i < w->n; i++) {
        if (strcmp(w->v[i].name, name) == 0)
            return true;
    }
    return false;
}

/* "a role's spec" becomes "role-s-spec"; what is taken already gets a number. */
static const char *name_of(const struct walk *w, const char *what)
{
    static const char *const articles[] = {"a ", "an ", "the "};
    const char *name;
    char *text, *end;

    for (size_t i = 0; i < ARRAY_SIZE(articles); i++) {
        if (strncmp(what, articles[i], strlen(articles[i])) == 0)
            what += strlen(articles[i]);
    }
    text = end = arena_strdup(w->a, what);
    for (; *what; what++) {
        bool letter = (*what >= 'a' && *what <= 'z') || (*what >= 'A' && *what <= 'Z') ||
                      (*what >= '0' && *what <= '9');

        if (letter || (end > text && end[-1] != '-'))
            *end++ = letter ? *what : '-';
    }
    *end = '\0';
    name = text;
    for (int i = 2; name_taken(w, name); i++)
        name = arena_printf(w->a, "%s-%d", text, i);
    return name;
}

static const char *path_of(struct arena *a, const char *path, const struct bind_field *f)
{
    bool list = f->kind == BIND_STRUCTS || (f->kind == BIND_NODE && (f->takes & TAKES_LIST));

    return arena_printf(a, "%s%s%s%s", path, *path ? "." : "", f->key,
                        f->by_name ? ".NAME"
                        : list     ? "[]"
                                   : "");
}

/* A mapping's own parts follow it at once, as in a file. */
static void visit(struct walk *w, const struct bind_table *t, const char *path, int depth)
{
    if (w->n == SCHEMA_PARTS_MAX || depth > LIMIT_DEPTH || is_known(w, t))
        return;
    w->v[w->n] = (struct schema_part){t, path, name_of(w, t->what)};
    w->n++;
    for (size_t i = 0; i < t->n; i++) {
        if (t->fields[i].table)
            visit(w, t->fields[i].table, path_of(w->a, path, &t->fields[i]), depth + 1);
    }
}

size_t schema_parts(struct arena *a, const struct bind_table *root,
                    struct schema_part ret[SCHEMA_PARTS_MAX])
{
    struct walk w = {.a = a, .v = ret};

    visit(&w, root, "", 0);
    return w.n;
}

unsigned schema_takes(const struct bind_field *f)
{
    static const unsigned takes[] = {
        [BIND_STRING] = TAKES_STRING,
        [BIND_INT] = TAKES_INT,
        [BIND_BOOL] = TAKES_BOOL,
        [BIND_STRINGS] = TAKES_STRINGS,
        [BIND_STRUCT] = TAKES_MAP,
        [BIND_STRUCTS] = TAKES_LIST,
        [BIND_NODE] = 0,
        [BIND_KNOWN] = 0,
        [BIND_NOTED] = 0,
    };

    return f->kind == BIND_NODE ? f->takes : f->by_name ? TAKES_MAP : takes[f->kind];
}
