/* overlay.c - see overlay.h.
 *
 * What a job is meant to change has to be real: its working directories, outputs and volumes, and
 * what
 * --map names. So has what Muster itself needs in a replica: the directories of the run and its
 * shim. Working directories of --private-workdir are as thrown away as the rest.
 */
#include "engine/local/overlay.h"

#include <stdlib.h>
#include <string.h>

#include "shim/wire.h"

struct paths {
    struct arena *a;
    const char **v;
    size_t n, cap;
};

static void add(struct paths *ps, const char *path)
{
    if (!path || *path != '/' || !path[strspn(path, "/")])
        return;
    for (size_t i = 0; i < ps->n; i++)
        if (strcmp(ps->v[i], path) == 0)
            return;
    if (ps->n == ps->cap) {
        const char **v = ARENA_ARRAY(ps->a, const char *, ps->cap * 2 + 16);

        if (ps->n)
            memcpy(v, ps->v, ps->n * sizeof(*v));
        ps->v = v;
        ps->cap = ps->cap * 2 + 16;
    }
    ps->v[ps->n++] = path;
}

static void add_values(struct paths *ps, const struct job_spec *spec)
{
    for (size_t i = 0; i < spec->n_values; i++) {
        const struct job_value *v = &spec->values[i];

        if (v->kind == VALUE_INPUT && v->here)
            add(ps, v->here);
        else if (v->kind == VALUE_INPUT && !v->remote)
            add(ps, *v->text == '/' ? v->text : arena_printf(ps->a, "%s/%s", spec->dir, v->text));
    }
}

static void add_volumes(struct paths *ps, const struct plan *plan)
{
    const struct mount_table *const *mounts = plan->facts->site.mounts;

    for (size_t k = 0; mounts && k < plan->spec->n_roles; k++)
        for (size_t t = 0; t <= plan->spec->roles[k].n_init; t++)
            for (size_t i = 0; i < mounts[k][t].n; i++)
                if (mounts[k][t].v[i].kind == PLACE_HERE)
                    add(ps, mounts[k][t].v[i].here);
}

static void add_workdirs(struct paths *ps, const struct plan *plan)
{
    const struct facts *f = plan->facts;

    add(ps, plan->spec->dir);
    for (uint32_t i = 0; i < plan->n_replicas; i++)
        if (plan->replicas[i].index == 0)
            add(ps, plan_workdir(ps->a, plan, &plan->replicas[i]));
    for (size_t k = 0; f->site.init_dirs && k < plan->spec->n_roles; k++)
        for (size_t i = 0; i < plan->spec->roles[k].n_init; i++)
            add(ps, f->site.init_dirs[k][i]);
}

static void add_directories(struct paths *ps, const struct plan *plan)
{
    const struct facts *f = plan->facts;
    const char *const own[] = {f->site.scratch_dir, f->site.run_dir, f->site.shim};

    for (size_t i = 0; i < ARRAY_SIZE(own); i++)
        add(ps, own[i]);
    if (!f->site.private_workdir)
        add_workdirs(ps, plan);
    for (size_t i = 0; f->site.maps && f->site.maps[i]; i++)
        add(ps, strrchr(f->site.maps[i], '=') + 1);
}

static int by_text(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

size_t overlay_real(struct arena *a, const struct plan *plan, const char *const **ret)
{
    struct paths ps = {.a = a};

    add_directories(&ps, plan);
    add_values(&ps, plan->spec);
    add_volumes(&ps, plan);
    qsort(ps.v, ps.n, sizeof(*ps.v), by_text);

    const char **v = ARENA_ARRAY(a, const char *, ps.n + 1);

    memcpy(v, ps.v, ps.n * sizeof(*v));
    *ret = v;
    return ps.n;
}

void overlay_put(struct strbuf *out, const struct plan *plan)
{
    auto_arena struct arena *a = arena_new();
    const struct facts *f = plan->facts;
    const char *const *real = NULL;

    wire_put_u32(out,
                 (f->site.overlay ? OVERLAY_ON : 0) | (f->site.keep_overlay ? OVERLAY_KEEP : 0));
    wire_put_str(out, !f->site.overlay ? ""
                      : f->site.keep_overlay
                          ? f->site.keep_overlay
                          : arena_printf(a, "%s/" PLAN_OVERLAY, f->site.run_dir));
    if (f->site.overlay)
        (void)overlay_real(a, plan, &real);
    wire_put_strs(out, real);
}
