/* code_map.c - see code_map.h. */
#include "engine/kubernetes/code_map.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/base64.h"
#include "base/io.h"
#include "base/limits.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "doc/json_read.h"
#include "doc/json_write.h"
#include "doc/make.h"

#define LIST "list"

/* --- made ------------------------------------------------------------------------------------- */

static int put_content(struct arena *a, const struct code_entry *v, struct node *map,
                       const char *key, struct err *e)
{
    auto_strbuf struct strbuf text = STRBUF_INIT;
    char *encoded;
    int r = io_read_file(AT_FDCWD, v->from, CODE_MAP_BYTES, &text, e);

    if (r < 0)
        return r;
    encoded = arena_alloc(a, BASE64_TEXT(text.len));
    base64_encode(text.buf, text.len, encoded);
    make_put(a, map, key, make_text(a, encoded));
    return 0;
}

int code_map_make(struct arena *a, const struct code_list *list, const char *name,
                  const char *option, const struct node **ret, struct err *e)
{
    struct node *root = make_map(a), *files = make_seq(a), *content;
    auto_strbuf struct strbuf text = STRBUF_INIT;

    if (list->bytes > CODE_MAP_BYTES)
        return err_set(e, -E2BIG, "the code is %lld kB, and a ConfigMap holds %d kB; %s",
                       (long long)list->bytes / 1000, CODE_MAP_BYTES / 1000, option);
    make_put(a, root, "apiVersion", make_text(a, "v1"));
    make_put(a, root, "kind", make_text(a, "ConfigMap"));
    make_put(a, make_below(a, root, "metadata"), "name", make_text(a, name));
    content = make_below(a, root, "binaryData");
    for (size_t i = 0; i < list->n; i++) {
        const struct code_entry *v = &list->v[i];
        struct node *entry = make_map(a);
        const char *key = arena_printf(a, "%zu", i);

        make_put(a, entry, "to", make_text(a, v->to));
        make_put(a, entry, "mode", make_int(a, v->mode));
        make_put(a, entry, "target", make_text(a, v->target));
        if (S_ISREG(v->mode)) {
            int r = put_content(a, v, content, key, e);

            if (r < 0)
                return r;
            make_put(a, entry, "key", make_text(a, key));
        }
        make_add(a, files, entry);
    }
    json_write(&text, files);
    make_put(a, make_below(a, root, "data"), LIST,
             make_text(a, arena_strndup(a, text.buf, text.len)));
    *ret = root;
    return 0;
}

/* --- read ------------------------------------------------------------------------------------- */

/* Relative, and no word of it is ".." or empty. */
static bool stays_below(const char *path)
{
    while (*path) {
        size_t n = strcspn(path, "/");

        if (n == 0 || (n <= 2 && strncmp(path, "..", n) == 0))
            return false;
        path += n + (path[n] == '/');
    }
    return true;
}

static int read_content(struct code_list *list, const char *text, struct code_entry *v)
{
    char *data = arena_alloc(list->a, BASE64_ROOM(strlen(text)));
    size_t n = 0;

    if (base64_decode(text, strlen(text), data, &n) < 0)
        return -EINVAL;
    v->data = data;
    v->size = (int64_t)n;
    list->bytes += v->size;
    return 0;
}

static int read_entry(const struct node *map, const struct node *from, struct code_list *list)
{
    const char *to = node_text(node_get(from, "to"), ""), *key;
    const struct node *mode = node_get(from, "mode");
    struct code_entry v = {.to = arena_strdup(list->a, to),
                           .mode = mode && mode->type == NODE_INT ? (mode_t)mode->i : 0};

    if (!*to || !stays_below(to))
        return -EINVAL;
    if (S_ISREG(v.mode)) {
        key = node_text(node_get(from, "key"), "");
        if (read_content(list, node_text(node_find(map, "binaryData", key, NULL), ""), &v) < 0)
            return -EINVAL;
    } else if (S_ISLNK(v.mode)) {
        v.target = arena_strdup(list->a, node_text(node_get(from, "target"), ""));
    } else if (!S_ISDIR(v.mode)) {
        return -EINVAL;
    }
    GROW(list->v, list->n, list->cap);
    list->v[list->n++] = v;
    return 0;
}

int code_map_read(const struct node *config_map, struct code_list *ret, struct err *e)
{
    const char *text = node_text(node_find(config_map, "data", LIST, NULL), "");
    auto_arena struct arena *a = arena_new();
    const struct node *files = json_node(a, text, strlen(text));
    struct code_list list = {.a = arena_new()};
    int r = files && files->type == NODE_SEQ && files->n <= LIMIT_CODE_FILES ? 0 : -EINVAL;

    for (size_t i = 0; r == 0 && i < files->n; i++)
        r = read_entry(config_map, files->items[i], &list);
    if (r < 0) {
        code_release(&list);
        return err_set(e, r, "ConfigMap %s is not one that `muster submit` has made",
                       node_text(node_find(config_map, "metadata", "name", NULL), ""));
    }
    *ret = list;
    return 0;
}
