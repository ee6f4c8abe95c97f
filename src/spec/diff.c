/* diff.c - compares two jobs' facts; see diff.h. What the facts are: diff_facts.c. */
#include "spec/diff.h"

#include <string.h>

struct comparing {
    struct arena *a;
    const struct job_spec *x, *y;
    const struct role_pair *pairs;
    size_t n_pairs;
    struct spec_differences *out;
};

static void add(struct comparing *c, const char *path, const char *text)
{
    struct spec_differences *out = c->out;

    for (size_t i = 0; i < out->n; i++)
        if (strcmp(out->v[i].path, path) == 0)
            return; /* a role that became two differs from both */
    if (out->n == out->cap) {
        struct spec_difference *v = ARENA_ARRAY(c->a, struct spec_difference, out->cap * 2 + 16);

        if (out->n)
            memcpy(v, out->v, out->n * sizeof(*v));
        out->v = v;
        out->cap = out->cap * 2 + 16;
    }
    out->v[out->n++] = (struct spec_difference){path, text};
}

static const struct fact *find(const struct facts_list *list, const char *path)
{
    for (size_t i = 0; i < list->n; i++)
        if (strcmp(list->v[i].path, path) == 0)
            return &list->v[i];
    return NULL;
}

static const char *words(struct arena *a, const struct fact *was, const struct fact *is)
{
    bool hidden = (was && was->hidden) || (is && is->hidden);

    if (was && is)
        return hidden ? "differs" : arena_printf(a, "%.80s becomes %.80s", was->value, is->value);
    if (was)
        return hidden ? "is omitted" : arena_printf(a, "%.80s is omitted", was->value);
    return hidden ? "is added" : arena_printf(a, "%.80s is added", is->value);
}

static void compare(struct comparing *c, const char *prefix, const struct facts_list *was,
                    const struct facts_list *is)
{
    for (size_t i = 0; i < was->n; i++) {
        const struct fact *x = &was->v[i], *y = find(is, x->path);

        if (!y || strcmp(x->value, y->value) != 0)
            add(c, arena_printf(c->a, "%s%s", prefix, x->path), words(c->a, x, y));
    }
    for (size_t i = 0; i < is->n; i++)
        if (!find(was, is->v[i].path))
            add(c, arena_printf(c->a, "%s%s", prefix, is->v[i].path), words(c->a, NULL, &is->v[i]));
}

static bool corresponds(const struct comparing *c, const struct role *x, const struct role *y)
{
    if (c->n_pairs == 0)
        return strcmp(x->name, y->name) == 0;
    for (size_t i = 0; i < c->n_pairs; i++)
        if (!strcmp(c->pairs[i].from, x->name) && !strcmp(c->pairs[i].to, y->name))
            return true;
    return false;
}

/* Every role of a job is compared with what became of it. */
static void compare_role(struct comparing *c, const struct role *x)
{
    const char *prefix = arena_printf(c->a, "roles.%s.", x->name);
    struct facts_list was = {0};
    int64_t replicas = 0;
    bool found = false;

    spec_role_facts(c->a, c->x, x, &was);
    for (size_t i = 0; i < c->y->n_roles; i++) {
        const struct role *y = &c->y->roles[i];
        struct facts_list is = {0};

        if (!corresponds(c, x, y))
            continue;
        found = true;
        replicas += y->replicas;
        spec_role_facts(c->a, c->y, y, &is);
        compare(c, prefix, &was, &is);
    }
    if (!found)
        add(c, arena_printf(c->a, "roles.%s", x->name), "the role is omitted");
    else if (replicas != x->replicas)
        add(c, arena_printf(c->a, "%sreplicas", prefix),
            arena_printf(c->a, "%d becomes %lld", x->replicas, (long long)replicas));
}

void spec_diff(struct arena *a, const struct job_spec *x, const struct job_spec *y,
               const struct role_pair *roles, size_t n, struct spec_differences *ret)
{
    struct comparing c = {a, x, y, roles, n, ret};
    struct facts_list was = {0}, is = {0};

    *ret = (struct spec_differences){0};
    spec_job_facts(a, x, &was);
    spec_job_facts(a, y, &is);
    compare(&c, "", &was, &is);
    for (size_t i = 0; i < x->n_roles; i++)
        compare_role(&c, &x->roles[i]);
    for (size_t k = 0; k < y->n_roles; k++) {
        bool found = false;

        for (size_t i = 0; i < x->n_roles; i++)
            found = found || corresponds(&c, &x->roles[i], &y->roles[k]);
        if (!found)
            add(&c, arena_printf(a, "roles.%s", y->roles[k].name), "the role is added");
    }
}
