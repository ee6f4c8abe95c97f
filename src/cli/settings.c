/* settings.c - see settings.h. */
#include "cli/settings.h"

#include <string.h>
#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdlib.h>

#include "base/io.h"
#include "base/limits.h"
#include "base/num.h"
#include "cli/cli.h"
#include "cli/queue_keys.h"
#include "cli/tell.h"
#include "doc/bind.h"
#include "doc/yaml.h"
#include "engine/engine.h"
#include "rundir/places.h"

#define SYSTEM_FILE "/etc/muster/config.yaml"

struct retention_keys {
    const struct node *at;
    int32_t keep;
    const struct node *max_age, *max_size;
};

#define AT(field) offsetof(struct retention_keys, field)
static const struct bind_field retention_fields[] = {
    {.key = "keep", .kind = BIND_INT, .offset = AT(keep), .max = INT32_MAX, .def = LIMIT_RUNS_KEPT},
    {.key = "max-age", .kind = BIND_NODE, .offset = AT(max_age), .takes = TAKES_STRING},
    {.key = "max-size", .kind = BIND_NODE, .offset = AT(max_size), .takes = TAKES_QUANTITY},
};
static const struct bind_table retention_table =
    BIND_TABLE("retention", struct retention_keys, retention_fields);

struct machine_keys {
    const struct node *at;
    const struct node *cpus, *memory;
    int32_t gpus;
};

#undef AT
#define AT(field) offsetof(struct machine_keys, field)
static const struct bind_field machine_fields[] = {
    {.key = "cpus", .kind = BIND_NODE, .offset = AT(cpus), .takes = TAKES_QUANTITY},
    {.key = "memory", .kind = BIND_NODE, .offset = AT(memory), .takes = TAKES_QUANTITY},
    {.key = "gpus", .kind = BIND_INT, .offset = AT(gpus), .max = LIMIT_QUEUE_GPUS, .def = -1},
};
static const struct bind_table machine_table =
    BIND_TABLE("machine", struct machine_keys, machine_fields);

struct file_keys {
    const struct node *at;
    const struct retention_keys *retention;
    const char *on, *preemption;
    BIND_LIST(struct queue_keys) queues;
    const struct machine_keys *machine;
};

static const struct bind_field file_fields[] = {
    {.key = "retention",
     .kind = BIND_STRUCT,
     .offset = offsetof(struct file_keys, retention),
     .table = &retention_table},
    {.key = "on",
     .kind = BIND_STRING,
     .offset = offsetof(struct file_keys, on),
     .words = engine_names},
    {.key = "queues",
     .kind = BIND_STRUCTS,
     .offset = offsetof(struct file_keys, queues),
     .table = &queue_table_config},
    {.key = "preemption",
     .kind = BIND_STRING,
     .offset = offsetof(struct file_keys, preemption),
     .words = queue_preemption_words},
    {.key = "machine",
     .kind = BIND_STRUCT,
     .offset = offsetof(struct file_keys, machine),
     .table = &machine_table},
};
static const struct bind_table file_table =
    BIND_TABLE("the configuration", struct file_keys, file_fields);

static void read_retention(const struct binder *b, const struct retention_keys *in,
                           struct retention *out)
{
    const struct node *age = in->max_age, *size = in->max_size;

    out->keep = in->keep;
    if (age && (age->type != NODE_STRING || retention_age(age->text, &out->max_age_ms) < 0))
        diag_at(b->ds, age, "E0605", NULL,
                "`max-age` must be a duration such as 30d or 12h, not %s", node_words(b->a, age));
    if (size && ((size->type != NODE_STRING && size->type != NODE_INT) ||
                 quantity_units(size->text, &out->max_size) < 0))
        diag_at(b->ds, size, "E0107", NULL,
                "`max-size` must be a number of bytes such as 10Gi, not %s",
                node_words(b->a, size));
}

static int64_t positive(const struct binder *b, const struct node *node, bool milli)
{
    int64_t x = queue_keys_quantity(b, node, milli, 0);

    if (node && node->type != NODE_NULL && x <= 0)
        diag_at(b->ds, node, "E0203", NULL, "`%s` must be greater than 0", node->parent_key);
    return x;
}

static void read_daemon(const struct binder *b, const struct file_keys *in,
                        struct daemon_config *out)
{
    if (in->queues.n > LIMIT_QUEUES) {
        diag_at(b->ds, node_key(in->at, "queues"), "E0203", NULL, "%zu queues; the limit is %d",
                in->queues.n, LIMIT_QUEUES);
        return;
    }
    out->queues = queue_keys_read(b, in->queues.v, in->queues.n, &out->n_queues);
    for (int i = 0; in->preemption && queue_preemption_words[i]; i++)
        if (strcmp(queue_preemption_words[i], in->preemption) == 0)
            out->preemption = (enum queue_preemption)i;
    if (in->machine) {
        out->cpus_milli = positive(b, in->machine->cpus, true);
        out->memory = positive(b, in->machine->memory, false);
        out->gpus = in->machine->gpus;
    }
}

int settings_of_text(struct arena *a, const char *path, const char *text, size_t len,
                     struct settings *ret)
{
    struct settings out = SETTINGS_INIT;
    struct diags ds;
    struct doc doc;

    diags_init(&ds, a);
    const struct binder b = {.a = a, .ds = &ds, .root = &file_table};
    (void)yaml_read(a, path, text, len, &ds, &doc);
    const struct node *root = ds.n_errors || doc.n_roots == 0 ? NULL : doc.roots[0];
    if (root && root->type != NODE_NULL) {
        const struct file_keys *keys = bind_map(&b, &file_table, root);
        if (keys && keys->retention)
            read_retention(&b, keys->retention, &out.retention);
        if (keys)
            read_daemon(&b, keys, &out.daemon);
        for (size_t i = 0; keys && keys->on && engine_names[i]; i++)
            if (strcmp(engine_names[i], keys->on) == 0)
                out.on = engine_names[i]; /* the document's own text goes with it */
    }
    if (doc.n_roots > 1)
        diag_at(&ds, doc.roots[1], "E0106", NULL, "the configuration must be one document");
    diags_sort(&ds);
    for (size_t i = 0; i < ds.n; i++)
        diag_print(stderr, path, &doc, &ds.v[i], want_colour(stderr));
    int r = ds.n_errors ? -EINVAL : 0;
    diags_release(&ds);
    if (r == 0)
        *ret = out;
    return r;
}

/* The user's own file, or NULL if nothing says where it is. */
static const char *user_file(struct arena *a)
{
    const char *xdg = getenv("XDG_CONFIG_HOME"), *home = getenv("HOME");

    if (places_home())
        return arena_printf(a, "%s/config.yaml", places_home());
    if (xdg && *xdg == '/')
        return arena_printf(a, "%s/muster/config.yaml", xdg);
    return home && *home == '/' ? arena_printf(a, "%s/.config/muster/config.yaml", home) : NULL;
}

/* The first that there is. */
static int read_first(struct arena *a, const char *const *files, size_t n, struct settings *ret)
{
    for (size_t i = 0; i < n; i++) {
        auto_strbuf struct strbuf text = STRBUF_INIT;
        struct err e;
        int r = files[i] ? io_read_file(AT_FDCWD, files[i], LIMIT_FILE_BYTES, &text, &e) : -ENOENT;

        if (r == 0)
            return settings_of_text(a, files[i], text.buf, text.len, ret);
        if (r != -ENOENT && r != -ENOTDIR && r != -EACCES) {
            tell_error("%s", e.text);
            return r;
        }
    }
    *ret = (struct settings)SETTINGS_INIT;
    return 0;
}

int settings_read(struct arena *a, struct settings *ret)
{
    const char *const files[] = {user_file(a), SYSTEM_FILE};

    return read_first(a, files, ARRAY_SIZE(files), ret);
}

int settings_read_system(struct arena *a, struct settings *ret)
{
    const char *const files[] = {SYSTEM_FILE};

    return read_first(a, files, ARRAY_SIZE(files), ret);
}
