/* away.c - see away.h. */
#include "journal/away.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/io.h"
#include "base/limits.h"
#include "doc/json.h"
#include "doc/json_read.h"

int away_write(int run_fd, const struct away *away, struct err *e)
{
    auto_strbuf struct strbuf sb = STRBUF_INIT;
    struct json j = JSON_PRETTY(&sb);
    char hex[2 * AWAY_KEY + 1];

    for (size_t i = 0; i < AWAY_KEY; i++)
        (void)snprintf(hex + 2 * i, 3, "%02x", away->key[i]);
    json_object(&j);
    json_kv_int(&j, "version", 1);
    json_kv_str(&j, "context", away->context);
    json_kv_str(&j, "namespace", away->namespace_);
    json_kv_int(&j, "created", away->created);
    json_kv_int(&j, "keep_seconds", away->keep_s);
    json_kv_str(&j, "key", hex);
    json_end(&j);
    strbuf_addch(&sb, '\n');
    return io_write_atomic(run_fd, AWAY_NAME, sb.buf, sb.len, e);
}

static bool read_key(const char *hex, unsigned char key[AWAY_KEY])
{
    if (strlen(hex) != (size_t)2 * AWAY_KEY || strspn(hex, "0123456789abcdef") != strlen(hex))
        return false;
    for (size_t i = 0; i < AWAY_KEY; i++) {
        char byte[3] = {hex[2 * i], hex[2 * i + 1]};

        key[i] = (unsigned char)strtoul(byte, NULL, 16);
    }
    return true;
}

int away_read(struct arena *a, int run_fd, struct away *ret, struct err *e)
{
    auto_strbuf struct strbuf text = STRBUF_INIT;
    struct away away = {0};
    int r = io_read_regular(run_fd, AWAY_NAME, LIMIT_COMMAND_BYTES, &text, e);

    if (r < 0)
        return r;
    const struct node *root = json_node(a, text.buf, text.len), *keep, *created;
    keep = node_get(root, "keep_seconds");
    created = node_get(root, "created");
    away.context = node_text(node_get(root, "context"), "");
    away.namespace_ = node_text(node_get(root, "namespace"), "");
    if (!keep || keep->type != NODE_INT || keep->i <= 0 || keep->i > LIMIT_KEEP_S || !created ||
        created->type != NODE_INT || !read_key(node_text(node_get(root, "key"), ""), away.key))
        return err_set(e, -EINVAL, AWAY_NAME " of the run is damaged");
    away.keep_s = keep->i;
    away.created = created->i;
    *ret = away;
    return 0;
}

void away_touch(int run_fd)
{
    (void)utimensat(run_fd, AWAY_NAME, NULL, AT_SYMLINK_NOFOLLOW);
}

void away_remove(int run_fd)
{
    (void)unlinkat(run_fd, AWAY_NAME, 0);
}

ns_t away_until(int run_fd)
{
    auto_arena struct arena *a = arena_new();
    struct away away = {0};
    struct stat st;

    if (fstatat(run_fd, AWAY_NAME, &st, AT_SYMLINK_NOFOLLOW) < 0 ||
        away_read(a, run_fd, &away, NULL) < 0)
        return 0;
    return st.st_mtim.tv_sec * NS_PER_S + st.st_mtim.tv_nsec + away.keep_s * NS_PER_S;
}
