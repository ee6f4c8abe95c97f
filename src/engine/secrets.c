/* secrets.c - see secrets.h: DIR/NAME/KEY, looked at before it is believed.
 *
 * Every path is opened beneath the directory the user named, so that no link leads out of it, and
 * what was opened is what is checked. A secret's value goes into the arena and nowhere else; no
 * message holds one.
 */
#include "engine/secrets.h"

#include <dirent.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/io.h"
#include "base/mem.h"

struct store { /* where values of one kind come from */
    enum env_source source;
    const char *word, *option; /* "secret", "--secrets" */
    const char *dir;           /* or NULL */
    int fd;                    /* of dir, or -1 */
};

struct collection {
    struct arena *arena;
    const struct job_spec *spec;
    struct store secrets, config_maps;
    struct secret_value *v; /* heap */
    size_t n, cap;
    struct strvec *missing; /* or NULL */
    bool for_volume;        /* what is looked up now becomes a file, not a variable */
    bool others_exist;      /* see struct secrets_from */
};

/* --- opening ------------------------------------------------------------------------------------
 */

/* A path that has no way out of the directory: no "..", no absolute link. */
static int open_beneath(int dirfd, const char *path, int flags)
{
    struct open_how how = {
        .flags = (uint64_t)(flags | O_CLOEXEC | O_NOCTTY | O_NONBLOCK),
        .resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS,
    };
    long fd = syscall(SYS_openat2, dirfd, path, &how, sizeof(how));

    return fd < 0 ? -errno : (int)fd;
}

/* Others must not be able to read a secret, nor to change what the job gets. */
static int check_private(const struct store *st, int fd, const char *path, struct err *e)
{
    struct stat s;

    if (fstat(fd, &s) < 0)
        return err_sys(e, -errno, "cannot access %s", path);
    if (st->source != ENV_SECRET)
        return 0;
    if (s.st_uid != geteuid() && s.st_uid != 0)
        return err_set(e, -EPERM, "%s is owned by uid %u; a secret must be owned by you or root",
                       path, s.st_uid);
    if (s.st_mode & 077)
        return err_set(e, -EPERM, "%s is accessible by other users (mode %03o); use chmod %s", path,
                       s.st_mode & 0777, S_ISDIR(s.st_mode) ? "700" : "600");
    return 0;
}

static int open_store(struct store *st, struct err *e)
{
    if (!st->dir || st->fd >= 0)
        return 0;
    st->fd = open(st->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (st->fd < 0)
        return err_sys(e, -errno, "cannot open %s %s", st->option, st->dir);
    return check_private(st, st->fd, st->dir, e);
}

/* Names of Kubernetes: no slash, nothing that begins as a way up. */
static bool is_plain_name(const char *name)
{
    size_t n = strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._");

    return n > 0 && !name[n] && strncmp(name, "..", 2) != 0 && strcmp(name, ".") != 0;
}

static int missing_error(const struct store *st, const struct env_entry *entry, const char *key,
                         struct err *e)
{
    const char *wanted_by = entry->name && *entry->name && entry->ref_key ? entry->name : NULL;

    return err_set(e, -ENOENT, "%s%sthe %s %s%s%s is not %s; use %s DIR to read it from DIR/%s%s%s",
                   wanted_by ? wanted_by : "", wanted_by ? ": " : "", st->word, entry->ref_name,
                   key ? ", key " : "", key ? key : "", st->dir ? "there" : "given", st->option,
                   entry->ref_name, key ? "/" : "", key ? key : "");
}

/* The directory of one Secret or ConfigMap. */
static int open_object(struct store *st, const struct env_entry *entry, const char *key, int *ret,
                       struct err *e)
{
    int r = open_store(st, e);

    if (r < 0)
        return r;
    if (st->fd < 0 || !is_plain_name(entry->ref_name))
        return missing_error(st, entry, key, e);
    auto_close int fd = open_beneath(st->fd, entry->ref_name, O_RDONLY | O_DIRECTORY);
    if (fd == -ENOENT)
        return missing_error(st, entry, key, e);
    if (fd < 0)
        return err_sys(e, fd, "cannot open %s/%s", st->dir, entry->ref_name);
    auto_free char *path = xasprintf("%s/%s", st->dir, entry->ref_name);
    r = check_private(st, fd, path, e);
    if (r == 0)
        *ret = TAKE_FD(fd);
    return r;
}

/* --- values -------------------------------------------------------------------------------------
 */

static bool is_known(const struct collection *c, enum env_source source, const char *name,
                     const char *key)
{
    for (size_t i = 0; i < c->n; i++)
        if (c->v[i].source == source && strcmp(c->v[i].name, name) == 0 &&
            strcmp(c->v[i].key, key) == 0)
            return true;
    return false;
}

static bool is_known_object(const struct collection *c, enum env_source source, const char *name)
{
    for (size_t i = 0; i < c->n; i++)
        if (c->v[i].source == source && strcmp(c->v[i].name, name) == 0)
            return true;
    return false;
}

static const char *keep_value(struct arena *a, const struct strbuf *sb)
{
    char *copy = arena_alloc(a, sb->len + 1);

    if (sb->len)
        memcpy(copy, sb->buf, sb->len);
    copy[sb->len] = '\0';
    return copy;
}

static int read_value(struct collection *c, const struct store *st, int object_fd,
                      const struct env_entry *entry, const char *key, struct err *e)
{
    auto_free char *path = xasprintf("%s/%s/%s", st->dir, entry->ref_name, key);
    auto_strbuf struct strbuf sb = STRBUF_INIT;
    struct stat s;
    auto_close int fd = is_plain_name(key) ? open_beneath(object_fd, key, O_RDONLY) : -ENOENT;

    if (fd == -ENOENT)
        return missing_error(st, entry, key, e);
    if (fd == -EXDEV)
        return err_set(e, fd, "%s is a symbolic link to outside of its directory", path);
    if (fd < 0)
        return err_sys(e, fd, "cannot open %s", path);
    if (fstat(fd, &s) < 0 || !S_ISREG(s.st_mode))
        return err_set(e, -EINVAL, "%s is not a regular file", path);
    int r = check_private(st, fd, path, e);
    if (r == 0)
        r = io_read_fd(fd, path, c->for_volume ? LIMIT_VOLUME_FILE_BYTES : LIMIT_SECRET_BYTES, &sb,
                       e);
    if (r == 0 && !c->for_volume && memchr(sb.buf, '\0', sb.len))
        r = err_set(e, -EINVAL, "%s contains a NUL byte, which an environment variable cannot hold",
                    path);
    if (r < 0)
        return r;
    GROW(c->v, c->n, c->cap);
    c->v[c->n++] = (struct secret_value){
        .source = st->source,
        .name = entry->ref_name,
        .key = arena_strdup(c->arena, key),
        .value = keep_value(c->arena, &sb),
        .len = sb.len,
        .binary = memchr(sb.buf, '\0', sb.len),
    };
    explicit_bzero(sb.buf, sb.len);
    return 0;
}

/* --- values that the job's own file has ---------------------------------------------------------
 */

static void add_from_file(struct collection *c, const struct config_value *v)
{
    enum env_source source = v->secret ? ENV_SECRET : ENV_CONFIG_MAP;

    if (is_known(c, source, v->map, v->key))
        return;
    GROW(c->v, c->n, c->cap);
    c->v[c->n++] = (struct secret_value){
        .source = source,
        .name = v->map,
        .key = v->key,
        .value = v->text,
        .len = v->len,
        .binary = memchr(v->text, '\0', v->len),
    };
}

/* Of a directory that was named and has the object nothing is taken from the file. key NULL: all.
 */
static bool find_in_file(struct collection *c, const struct env_entry *entry, const char *key)
{
    bool any = false;

    for (size_t i = 0; i < c->spec->n_config; i++) {
        const struct config_value *v = &c->spec->config[i];
        if (v->secret != (entry->source == ENV_SECRET) || !is_plain_name(v->key) ||
            strcmp(v->map, entry->ref_name) != 0 || (key && strcmp(v->key, key) != 0) ||
            (!c->for_volume && memchr(v->text, '\0', v->len)))
            continue;
        add_from_file(c, v);
        any = true;
    }
    return any;
}

/* --- one reference ------------------------------------------------------------------------------
 */

static struct store *store_of(struct collection *c, const struct env_entry *entry)
{
    return entry->source == ENV_SECRET       ? &c->secrets
           : entry->source == ENV_CONFIG_MAP ? &c->config_maps
                                             : NULL;
}

static int collect_one(struct collection *c, const struct env_entry *entry, struct err *e)
{
    struct store *st = store_of(c, entry);
    auto_close int fd = -1;

    if (!st || is_known(c, st->source, entry->ref_name, entry->ref_key))
        return 0;
    int r = open_object(st, entry, entry->ref_key, &fd, e);
    if (r == -ENOENT && find_in_file(c, entry, entry->ref_key))
        return 0;
    if (r == 0)
        r = read_value(c, st, fd, entry, entry->ref_key, e);
    return r == -ENOENT && entry->optional ? 0 : r;
}

/* Without a kubelet's own "..data" and the like. Which of them are names of variables is the plan's
 * business: a prefix may make one. */
static int is_key(const struct dirent *d)
{
    return is_plain_name(d->d_name);
}

static int collect_whole(struct collection *c, const struct env_entry *entry, struct err *e)
{
    struct store *st = store_of(c, entry);
    struct dirent **list = NULL;
    auto_close int fd = -1;

    if (!st)
        return 0;
    int r = open_object(st, entry, NULL, &fd, e);
    if (r == -ENOENT && find_in_file(c, entry, NULL))
        return 0;
    if (r < 0)
        return r == -ENOENT && entry->optional ? 0 : r;
    int n = scandirat(fd, ".", &list, is_key, alphasort);
    if (n < 0)
        return err_sys(e, -errno, "cannot list %s/%s", st->dir, entry->ref_name);
    if (n > LIMIT_SECRET_KEYS)
        r = err_set(e, -E2BIG, "the %s %s has %d keys; the limit is %d", st->word, entry->ref_name,
                    n, LIMIT_SECRET_KEYS);
    for (int i = 0; i < n; i++) {
        if (r == 0 && !is_known(c, st->source, entry->ref_name, list[i]->d_name))
            r = read_value(c, st, fd, entry, list[i]->d_name, e);
        free(list[i]);
    }
    free(list);
    return r;
}

/* --- the whole job ------------------------------------------------------------------------------
 */

/* A reference to an object that may exist where the job runs. One that is given is complete: it
 * takes the place of the one there. */
static int collect_object(struct collection *c, const struct env_entry *entry, struct err *e)
{
    struct store *st = store_of(c, entry);
    struct env_entry whole = *entry;
    int r = 0;

    if (!st || !entry->ref_name)
        return 0;
    whole.optional = true;
    c->for_volume = true;
    if (!is_known_object(c, st->source, entry->ref_name))
        r = collect_whole(c, &whole, e);
    c->for_volume = false;
    if (r == 0 && entry->ref_key && !entry->optional &&
        is_known_object(c, st->source, entry->ref_name) &&
        !is_known(c, st->source, entry->ref_name, entry->ref_key))
        r = err_set(e, -ENOENT, "%s: the %s %s has no key %s", entry->name, st->word,
                    entry->ref_name, entry->ref_key);
    return r;
}

/* What else the file has: other containers of a pod may refer to it. */
static void collect_file(struct collection *c)
{
    size_t before = c->n;

    for (size_t i = 0; i < c->spec->n_config; i++) {
        const struct config_value *v = &c->spec->config[i];
        enum env_source source = v->secret ? ENV_SECRET : ENV_CONFIG_MAP;
        bool known = false;

        for (size_t k = 0; k < before && !known; k++)
            known = c->v[k].source == source && strcmp(c->v[k].name, v->map) == 0;
        if (!known && is_plain_name(v->key))
            add_from_file(c, v);
    }
}

/* Puts the place in the file in front; a lookup that must not stop says it and goes on. */
static int or_missing(struct collection *c, const struct env_entry *entry, int r, struct err *e)
{
    if (r == 0)
        return 0;
    if (entry->at && c->spec->file)
        err_wrap(e, r, "%s:%u", c->spec->file, entry->at->pos.line);
    if (!c->missing)
        return r;
    for (size_t i = 0; i < c->missing->n; i++)
        if (strcmp(c->missing->v[i], e->text) == 0)
            return 0;
    strvec_push(c->missing, e->text);
    return 0;
}

static int collect_env(struct collection *c, const struct env_entry *from, size_t n_from,
                       const struct env_entry *env, size_t n_env, struct err *e)
{
    int r = 0;

    for (size_t i = 0; i < n_from && r == 0; i++)
        r = or_missing(
            c, &from[i],
            c->others_exist ? collect_object(c, &from[i], e) : collect_whole(c, &from[i], e), e);
    for (size_t i = 0; i < n_env && r == 0; i++)
        r = or_missing(c, &env[i],
                       c->others_exist ? collect_object(c, &env[i], e) : collect_one(c, &env[i], e),
                       e);
    return r;
}

/* A volume is its whole secret or config map, whichever of the keys it takes. What is missing is
 * told with the volume's own words (volumes.c). */
static int collect_mounts(struct collection *c, const struct mount *mounts, size_t n, struct err *e)
{
    int r = 0;

    c->for_volume = true;
    for (size_t i = 0; i < n && r == 0; i++) {
        const struct mount *m = &mounts[i];
        struct env_entry entry = {
            .source = m->source == VOLUME_SECRET ? ENV_SECRET : ENV_CONFIG_MAP,
            .ref_name = m->from,
            .at = m->at,
            .optional = true,
        };

        if ((m->source == VOLUME_SECRET || m->source == VOLUME_CONFIG_MAP) && m->from)
            r = or_missing(
                c, &entry,
                c->others_exist ? collect_object(c, &entry, e) : collect_whole(c, &entry, e), e);
    }
    c->for_volume = false;
    return r;
}

/* Variables first: they are what may not have a NUL. */
static int collect_role(struct collection *c, const struct role *role, struct err *e)
{
    int r = collect_env(c, role->env_from, role->n_env_from, role->env, role->n_env, e);

    for (size_t i = 0; i < role->n_init && r == 0; i++) {
        const struct init_command *init = &role->init[i];

        r = collect_env(c, init->env_from, init->n_env_from, init->env, init->n_env, e);
    }
    return r;
}

static int collect_volumes(struct collection *c, const struct role *role, struct err *e)
{
    int r = collect_mounts(c, role->mounts, role->n_mounts, e);

    for (size_t i = 0; i < role->n_init && r == 0; i++)
        r = collect_mounts(c, role->init[i].mounts, role->init[i].n_mounts, e);
    return r;
}

int secrets_collect(struct arena *a, const struct job_spec *spec, const struct secrets_from *from,
                    const struct secret_value **ret, size_t *ret_n, struct strvec *missing,
                    struct err *e)
{
    struct err ours;
    struct collection c = {
        .arena = a,
        .spec = spec,
        .secrets = {ENV_SECRET, "secret", "--secrets", from->secrets, -1},
        .config_maps = {ENV_CONFIG_MAP, "config map", "--configmaps", from->config_maps, -1},
        .missing = missing,
        .others_exist = from->others_exist,
    };
    int r = 0;

    for (size_t k = 0; k < spec->n_roles && r == 0; k++)
        r = collect_role(&c, &spec->roles[k], e ? e : &ours);
    for (size_t k = 0; k < spec->n_roles && r == 0; k++)
        r = collect_volumes(&c, &spec->roles[k], e ? e : &ours);
    for (size_t i = 0; i < from->n_objects && r == 0; i++)
        r = or_missing(&c, &from->objects[i], collect_object(&c, &from->objects[i], e ? e : &ours),
                       e ? e : &ours);
    if (r == 0 && c.others_exist)
        collect_file(&c);
    if (r == 0) {
        struct secret_value *v = ARENA_ARRAY(a, struct secret_value, c.n + 1);
        if (c.n > 0)
            memcpy(v, c.v, c.n * sizeof(*v));
        *ret = v;
        *ret_n = c.n;
    }
    free(c.v);
    if (c.secrets.fd >= 0)
        (void)close(c.secrets.fd);
    if (c.config_maps.fd >= 0)
        (void)close(c.config_maps.fd);
    return r;
}
