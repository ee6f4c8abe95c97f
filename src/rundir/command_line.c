/* command_line.c - see command_line.h. */
#include "rundir/command_line.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/io.h"
#include "base/limits.h"
#include "base/mem.h"
#include "doc/json_read.h"
#include "doc/json.h"

void command_line_release(struct command_line *c)
{
    strvec_release(&c->argv);
    free(c->cwd);
    *c = (struct command_line)COMMAND_INIT;
}

void command_line_of(int argc, char *const *argv, struct command_line *ret)
{
    char cwd[PATH_MAX];

    for (int i = 0; i < argc; i++)
        strvec_push(&ret->argv, argv[i]);
    ret->cwd = xstrdup(getcwd(cwd, sizeof(cwd)) ? cwd : "");
}

int command_line_write(int run_fd, const struct command_line *c, struct err *e)
{
    auto_strbuf struct strbuf sb = STRBUF_INIT;
    struct json j = JSON_PRETTY(&sb);

    json_object(&j);
    json_kv_int(&j, "version", 1);
    json_key(&j, "argv");
    json_array(&j);
    for (size_t i = 0; i < c->argv.n; i++)
        json_str(&j, c->argv.v[i]);
    json_end(&j);
    json_kv_str(&j, "cwd", c->cwd);
    if (c->by_http)
        json_kv_bool(&j, "http", true);
    json_end(&j);
    strbuf_addch(&sb, '\n');
    return io_write_atomic(run_fd, COMMAND_NAME, sb.buf, sb.len, e);
}

/* A string that a process can be given: without a NUL inside. */
static bool is_text(const struct node *n)
{
    return n && n->type == NODE_STRING && strlen(n->text) == n->len;
}

int command_line_read(int run_fd, struct command_line *ret, struct err *e)
{
    auto_arena struct arena *a = arena_new();
    auto_strbuf struct strbuf text = STRBUF_INIT;
    int r = io_read_regular(run_fd, COMMAND_NAME, LIMIT_COMMAND_BYTES, &text, e);

    if (r < 0)
        return r;
    const struct node *root = json_node(a, text.buf, text.len), *argv = node_get(root, "argv"),
                      *cwd = node_get(root, "cwd");
    bool fine = is_text(cwd) && argv && argv->type == NODE_SEQ && argv->n > 0;
    for (size_t i = 0; fine && i < argv->n; i++)
        fine = is_text(argv->items[i]);
    if (!fine ||
        (strcmp(argv->items[0]->text, "run") != 0 && strcmp(argv->items[0]->text, "submit") != 0))
        return err_set(e, -EINVAL, COMMAND_NAME " of the run is damaged");
    for (size_t i = 0; i < argv->n; i++)
        strvec_push(&ret->argv, argv->items[i]->text);
    ret->cwd = xstrdup(cwd->text);
    ret->by_http = node_get(root, "http") != NULL;
    return 0;
}

const char *command_line_label(const struct command_line *c)
{
    return c->by_http ? "submitted over HTTP, as by" : "started as";
}

void command_line_text(const struct command_line *c, struct strbuf *out)
{
    strbuf_addstr(out, "muster");
    for (size_t i = 0; i < c->argv.n; i++) {
        strbuf_addch(out, ' ');
        strbuf_add_typed_word(out, c->argv.v[i]);
    }
}
