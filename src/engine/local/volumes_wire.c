/* volumes_wire.c - the tables of mounts and the files of volumes, as the shim reads them.
 *
 * A secret's file is readable by its owner alone. Values go from memory into the frame and into
 * memory again.
 */
#include <string.h>

#include "engine/local/volumes.h"
#include "shim/wire.h"

bool volumes_same_files(const struct mount *a, const struct mount *b)
{
    if (a->source != b->source || strcmp(a->from, b->from) != 0 || a->n_items != b->n_items ||
        a->mode != b->mode)
        return false;
    for (size_t i = 0; i < a->n_items; i++)
        if (strcmp(a->items[i].key, b->items[i].key) != 0 ||
            strcmp(a->items[i].path, b->items[i].path) != 0)
            return false;
    return true;
}

static bool expands(const struct role *role)
{
    for (size_t i = 0; i < role->n_mounts; i++)
        if (role->mounts[i].expand_sub_path)
            return true;
    for (size_t k = 0; k < role->n_init; k++)
        for (size_t i = 0; i < role->init[k].n_mounts; i++)
            if (role->init[k].mounts[i].expand_sub_path)
                return true;
    return false;
}

/* Replicas stand together by roles; one whose tables are its predecessor's says so. */
static bool shares(const struct plan *plan, uint32_t i)
{
    const struct replica *r = &plan->replicas[i];

    return i > 0 && r[-1].role == r->role && !expands(r->role);
}

const struct table_range *volumes_tables(struct arena *a, const struct plan *plan)
{
    struct table_range *v = ARENA_ARRAY(a, struct table_range, plan->n_replicas);
    uint32_t next = 0;

    for (uint32_t i = 0; plan->facts->site.mounts && i < plan->n_replicas; i++) {
        uint32_t n = (uint32_t)plan->replicas[i].role->n_init + 1;

        v[i] = shares(plan, i) ? v[i - 1] : (struct table_range){next, n};
        next = v[i].first + n;
    }
    return v;
}

static uint32_t n_tables(const struct plan *plan)
{
    uint32_t n = 0;

    for (uint32_t i = 0; plan->facts->site.mounts && i < plan->n_replicas; i++)
        n += shares(plan, i) ? 0 : (uint32_t)plan->replicas[i].role->n_init + 1;
    return n;
}

struct putter {
    struct strbuf *out;
    struct arena *a;
    const struct plan *plan;
    const struct mount **sets; /* what files are made of, in the order of their numbers */
    uint32_t n_sets;
};

static uint32_t set_number(struct putter *pt, const struct mount *m)
{
    for (uint32_t i = 0; i < pt->n_sets; i++)
        if (volumes_same_files(pt->sets[i], m))
            return i;
    pt->sets[pt->n_sets++] = m;
    return pt->n_sets - 1;
}

static void put_mount(struct putter *pt, const struct replica *r, int init,
                      const struct mount_place *p)
{
    static const uint32_t kinds[] = {
        [PLACE_FRESH] = MOUNT_FRESH,
        [PLACE_SHARED] = MOUNT_SHARED,
        [PLACE_HERE] = MOUNT_HOST,
        [PLACE_FILES] = MOUNT_FILES,
    };
    const struct mount *m = p->mount;
    bool files = p->kind == PLACE_FILES;
    uint32_t flags = (m->read_only || files ? MOUNT_READ_ONLY : 0) |
                     (m->memory ? MOUNT_MEMORY : 0) | (p->makes_sub ? MOUNT_MAKE_SUB : 0) |
                     (p->inside ? MOUNT_MAKE : 0);

    wire_put_u32(pt->out, kinds[p->kind]);
    wire_put_u32(pt->out, flags);
    wire_put_str(pt->out, m->volume);
    wire_put_str(pt->out, p->here ? p->here : "");
    wire_put_str(pt->out, plan_sub_path(pt->a, pt->plan, r, init, m));
    wire_put_i64(pt->out, files ? (int64_t)set_number(pt, m) : m->size > 0 ? m->size : -1);
    wire_put_str(pt->out, p->path);
    wire_put_str(pt->out, p->parent ? p->parent : "");
}

static void put_table(struct putter *pt, const struct replica *r, int init,
                      const struct mount_table *t)
{
    uint32_t n = 0;

    for (size_t i = 0; i < t->n; i++)
        n += t->v[i].kind != PLACE_NONE;
    wire_put_u32(pt->out, n);
    for (size_t i = 0; i < t->n; i++)
        if (t->v[i].kind != PLACE_NONE)
            put_mount(pt, r, init, &t->v[i]);
}

/* The value's place in the volume, or NULL if the volume leaves it out. */
static const char *path_in(const struct mount *m, const char *key)
{
    for (size_t i = 0; i < m->n_items; i++)
        if (strcmp(m->items[i].key, key) == 0)
            return m->items[i].path;
    return m->n_items ? NULL : key;
}

static void put_set(struct putter *pt, const struct mount *m)
{
    const struct facts *f = pt->plan->facts;
    bool secret = m->source == VOLUME_SECRET;
    enum env_source source = secret ? ENV_SECRET : ENV_CONFIG_MAP;
    size_t at = pt->out->len;
    uint32_t n = 0;

    wire_put_u32(pt->out, 0);
    for (size_t i = 0; i < f->given.n_secrets; i++) {
        const struct secret_value *v = &f->given.secrets[i];
        const char *path =
            v->source == source && strcmp(v->name, m->from) == 0 ? path_in(m, v->key) : NULL;

        if (!path)
            continue;
        wire_put_str(pt->out, path);
        wire_put_u32(pt->out, m->mode ? (uint32_t)m->mode : secret ? 0400 : 0444);
        wire_put_bytes(pt->out, v->value, v->len);
        n++;
    }
    memcpy(pt->out->buf + at, &n, sizeof(n));
}

/* What a process needs that is not the job's own: the directories of the run, the program that
 * stands for ssh, and the directory it begins in. */
static void put_kept(struct strbuf *out, const struct plan *plan)
{
    const struct facts *f = plan->facts;
    const char *kept[] = {f->site.scratch_dir, f->site.run_dir, f->site.shim, plan->spec->dir,
                          NULL};

    wire_put_strs(out, f->site.mounts ? kept : NULL);
}

void volumes_put(struct strbuf *out, const struct plan *plan)
{
    auto_arena struct arena *a = arena_new();
    struct putter pt = {.out = out, .a = a, .plan = plan};

    pt.sets = ARENA_ARRAY(a, const struct mount *, LIMIT_MOUNTS);
    put_kept(out, plan);
    wire_put_u32(out, n_tables(plan));
    for (uint32_t i = 0; plan->facts->site.mounts && i < plan->n_replicas; i++) {
        const struct replica *r = &plan->replicas[i];
        const struct mount_table *tables = plan->facts->site.mounts[r->role_index];

        for (size_t k = 0; !shares(plan, i) && k <= r->role->n_init; k++)
            put_table(&pt, r, (int)k - 1, &tables[k]);
    }
    wire_put_u32(out, pt.n_sets);
    for (uint32_t i = 0; i < pt.n_sets; i++)
        put_set(&pt, pt.sets[i]);
}
