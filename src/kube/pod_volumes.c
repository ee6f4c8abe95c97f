/* pod_volumes.c - the volumes of a pod template, and where its containers mount them.
 *
 * What Kubernetes would refuse when it makes the pod is an error here: paths that lead out of their
 * volume, names and places given twice, mounts of what is not there. */
#include <string.h>

#include "base/limits.h"
#include "kube/mount_path.h"
#include "kube/pod.h"

static bool is_shm(const char *path)
{
    static const char shm[] = "/dev/shm";

    return strncmp(path, shm, strlen(shm)) == 0 &&
           path[strlen(shm) + strspn(path + strlen(shm), "/")] == '\0';
}

static const struct pod_volume *find_in(const struct pod_volume *v, size_t n, const char *name)
{
    for (size_t i = 0; i < n; i++) {
        if (v[i].name && strcmp(v[i].name, name) == 0)
            return &v[i];
    }
    return NULL;
}

static const struct pod_volume *find_volume(const struct pod_volumes *vs, const char *name)
{
    size_t n = vs->spec->volumes.n <= LIMIT_VOLUMES ? vs->spec->volumes.n : LIMIT_VOLUMES;
    const struct pod_volume *own = find_in(vs->spec->volumes.v, n, name);

    return own ? own : find_in(vs->given, vs->n_given, name);
}

static bool in_memory(const struct pod_volume *v)
{
    return v->empty_dir && v->empty_dir->medium && strcmp(v->empty_dir->medium, "Memory") == 0;
}

static bool is_shm_mount(const struct pod_mount *m, const struct pod_volume *v)
{
    return v && m->path && is_shm(m->path) && in_memory(v);
}

const struct pod_volume *pod_shm_volume(const struct pod_volumes *vs, const struct pod_container *c)
{
    for (size_t i = 0; i < c->mounts.n && i < LIMIT_VOLUMES; i++) {
        const struct pod_mount *m = &c->mounts.v[i];
        const struct pod_volume *v = m->name ? find_volume(vs, m->name) : NULL;

        if (is_shm_mount(m, v))
            return v;
    }
    return NULL;
}

/* --- volumes -------------------------------------------------------------------------------- */

/* The key that says what kind it is. One without such a key is an empty directory. */
static const char *kind_key(const struct pod_volume *v, size_t *ret_n)
{
    const char *kind = "emptyDir";

    *ret_n = 0;
    for (size_t i = 0; v->at && i < v->at->n; i++) {
        const char *key = v->at->pairs[i].key->text;

        if (strcmp(key, "name") != 0 && v->at->pairs[i].value->type != NODE_NULL) {
            kind = *ret_n ? kind : key;
            (*ret_n)++;
        }
    }
    return kind;
}

static enum volume_source source_of(const struct pod_volume *v)
{
    size_t n;

    if (v->of_operator)
        return VOLUME_OPERATOR;
    if (v->host_path)
        return VOLUME_HOST_PATH;
    if (v->config_map)
        return VOLUME_CONFIG_MAP;
    if (v->secret)
        return VOLUME_SECRET;
    if (v->claim)
        return VOLUME_CLAIM;
    if (v->empty_dir || strcmp(kind_key(v, &n), "emptyDir") == 0)
        return VOLUME_EMPTY_DIR;
    return VOLUME_OTHER;
}

/* A path inside a volume stays inside it. */
static bool leads_out(const char *path)
{
    if (path[0] == '/')
        return true;
    for (const char *at = path; (at = strstr(at, "..")); at += 2) {
        if ((at == path || at[-1] == '/') && (at[2] == '\0' || at[2] == '/'))
            return true;
    }
    return false;
}

static void check_inside(const struct binder *b, const struct node *map, const char *key,
                         const char *path)
{
    if (path && leads_out(path))
        diag_at(b->ds, node_get(map, key), "E0310", NULL,
                "`%s` must be a relative path without `..`, not %s", key, path);
}

/* YAML's 0400 is octal, as it is for Kubernetes; JSON has no such numbers, there it is 256. -1:
 * neither. */
static int32_t mode_of(const struct node *n)
{
    const char *text = n->type == NODE_SEQ || n->type == NODE_MAP || !n->text ? "" : n->text;
    int32_t mode = 0, base = 10;

    if (*text == '0') {
        base = 8;
        text += text[1] == 'o' ? 2 : 1;
        if (!*text)
            return 0;
    }
    for (; *text; text++) {
        if (*text < '0' || *text >= '0' + base || mode > 0777)
            return -1;
        mode = mode * base + (*text - '0');
    }
    return n->text && *n->text && mode <= 0777 ? mode : -1;
}

static void check_mode(const struct binder *b, const struct node *mode)
{
    if (mode && mode->type != NODE_NULL && mode_of(mode) < 0)
        diag_at(b->ds, mode, "E0570", "write it as 0444, or as 292 in JSON",
                "`defaultMode` must be a file mode from 0 to 0777");
}

static bool check_items(const struct binder *b, const struct pod_files *files)
{
    if (files->items.n > LIMIT_VOLUMES) {
        diag_at(b->ds, node_key(files->at, "items"), "E0005", NULL,
                "more than %d items in one volume", LIMIT_VOLUMES);
        return false;
    }
    for (size_t i = 0; i < files->items.n; i++)
        check_inside(b, files->items.v[i].at, "path", files->items.v[i].path);
    check_mode(b, files->mode);
    return true;
}

static void check_host_path(const struct binder *b, const struct pod_host_path *h)
{
    static const char *const types[] = {
        "",       "DirectoryOrCreate", "Directory",   "FileOrCreate", "File",
        "Socket", "CharDevice",        "BlockDevice",
    };

    if (h->path && h->path[0] != '/')
        diag_at(b->ds, node_get(h->at, "path"), "E0207", NULL,
                "`path` of a hostPath must be absolute, not %s", h->path);
    if (h->type)
        bind_word(b, node_get(h->at, "type"), "type", h->type, types, ARRAY_SIZE(types));
}

void pod_check_volumes(const struct binder *b, const struct pod_spec *spec)
{
    if (spec->volumes.n > LIMIT_VOLUMES) {
        diag_at(b->ds, node_key(spec->at, "volumes"), "E0005", NULL,
                "more than %d volumes in one pod", LIMIT_VOLUMES);
        return;
    }
    for (size_t i = 0; i < spec->volumes.n; i++) {
        const struct pod_volume *v = &spec->volumes.v[i];
        const struct pod_volume *other = v->name ? find_in(spec->volumes.v, i, v->name) : NULL;
        size_t kinds;

        if (other)
            diag_at(b->ds, node_get(v->at, "name"), "E0311", "rename one of them",
                    "duplicate volume `%s` (first at line %u)", v->name, other->at->pos.line);
        if (v->name && !spec_is_dns_label(v->name))
            diag_at(b->ds, node_get(v->at, "name"), "E0148",
                    "use lower-case letters, digits and `-`, at most 63",
                    "volume name `%.80s` is not a DNS label", v->name);
        kind_key(v, &kinds);
        if (kinds > 1)
            diag_at(b->ds, v->at, "E0106", NULL, "a volume must have exactly one type");
        if (v->host_path)
            check_host_path(b, v->host_path);
        if (v->config_map)
            check_items(b, v->config_map);
        if (v->secret)
            check_items(b, v->secret);
    }
}

void pod_note_volumes(const struct binder *b, const struct pod_spec *spec)
{
    for (size_t i = 0; i < spec->volumes.n; i++) {
        const struct pod_volume *v = &spec->volumes.v[i];
        size_t n;

        if (v->name && source_of(v) == VOLUME_OTHER)
            diag_at(b->ds, v->at, "N0305", "make its content available at the same path",
                    "volume `%s` (%s) is not mounted locally", v->name, kind_key(v, &n));
    }
}

/* --- mounts --------------------------------------------------------------------------------- */

static void take_files(struct arena *a, const struct pod_files *files, struct mount *m)
{
    size_t n = files->items.n <= LIMIT_VOLUMES ? files->items.n : 0;
    struct volume_item *items = ARENA_ARRAY(a, struct volume_item, n);

    for (size_t i = 0; i < n; i++)
        items[i] = (struct volume_item){files->items.v[i].key, files->items.v[i].path};
    m->from = files->name;
    m->mode = files->mode && mode_of(files->mode) > 0 ? mode_of(files->mode) : 0;
    m->optional = files->optional;
    m->items = items;
    m->n_items = n;
}

static bool made_if_missing(const struct pod_host_path *h)
{
    return h->type && (!strcmp(h->type, "DirectoryOrCreate") || !strcmp(h->type, "FileOrCreate"));
}

static struct mount mount_of(const struct binder *b, const struct pod_mount *in,
                             const struct pod_volume *v)
{
    struct arena *a = b->a;
    struct mount m = {
        .source = source_of(v),
        .volume = v->name,
        .path = in->path[0] == '/' ? in->path : arena_printf(a, "/%s", in->path),
        .sub_path = in->sub_path_expr ? in->sub_path_expr : in->sub_path,
        .expand_sub_path = in->sub_path_expr,
        .read_only = in->read_only,
        .at = in->at,
    };

    switch (m.source) {
    case VOLUME_EMPTY_DIR:
        m.memory = in_memory(v);
        if (m.memory && v->empty_dir->size_limit && v->empty_dir->size_limit->type != NODE_NULL)
            pod_quantity(b, "sizeLimit", v->empty_dir->size_limit, false, &m.size);
        break;
    case VOLUME_HOST_PATH:
        m.from = v->host_path->path;
        m.optional = made_if_missing(v->host_path);
        break;
    case VOLUME_CONFIG_MAP:
        take_files(a, v->config_map, &m);
        break;
    case VOLUME_SECRET:
        take_files(a, v->secret, &m);
        break;
    case VOLUME_CLAIM:
        m.from = v->claim->name;
        m.read_only = m.read_only || v->claim->read_only;
        break;
    case VOLUME_OPERATOR:
        m.read_only = true;
        break;
    case VOLUME_OTHER:
        break;
    }
    return m;
}

static const struct pod_volume *check_mount(const struct binder *b, const struct pod_volumes *vs,
                                            const struct pod_container *c, size_t i)
{
    const struct pod_mount *m = &c->mounts.v[i];
    const struct pod_volume *v = m->name ? find_volume(vs, m->name) : NULL;

    if (m->name && !v)
        diag_at(b->ds, node_get(m->at, "name"), "E0213", "add it to template.spec.volumes",
                "volume `%s` not found", m->name);
    check_inside(b, m->at, "subPath", m->sub_path);
    check_inside(b, m->at, "subPathExpr", m->sub_path_expr);
    if (m->sub_path && m->sub_path_expr)
        diag_at(b->ds, node_key(m->at, "subPathExpr"), "E0106", "keep one of them",
                "`subPath` is already set");
    if (m->path)
        check_mount_path(b, node_get(m->at, "mountPath"), m->path);
    for (size_t k = 0; m->path && k < i; k++) {
        const struct pod_mount *other = &c->mounts.v[k];

        if (other->path && strcmp(other->path, m->path) == 0) {
            diag_at(b->ds, node_get(m->at, "mountPath"), "E0311", NULL,
                    "duplicate mount path %s (first at line %u)", m->path, other->at->pos.line);
            break;
        }
    }
    return v;
}

size_t pod_mounts(const struct binder *b, const struct pod_volumes *vs,
                  const struct pod_container *c, const struct mount **ret)
{
    struct mount *mounts;
    size_t n = 0;

    *ret = NULL;
    if (c->mounts.n > LIMIT_VOLUMES) {
        diag_at(b->ds, node_key(c->at, "volumeMounts"), "E0005", NULL,
                "more than %d mounts in one container", LIMIT_VOLUMES);
        return 0;
    }
    mounts = ARENA_ARRAY(b->a, struct mount, c->mounts.n);
    for (size_t i = 0; i < c->mounts.n; i++) {
        const struct pod_volume *v = check_mount(b, vs, c, i);

        if (v && c->mounts.v[i].path && !is_shm_mount(&c->mounts.v[i], v))
            mounts[n++] = mount_of(b, &c->mounts.v[i], v);
    }
    *ret = mounts;
    return n;
}
