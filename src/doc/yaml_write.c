/* yaml_write.c - see yaml_write.h. A string is written plainly only if nobody could take it for
 * something else; otherwise as JSON writes it, which YAML reads the same. */
#include "doc/yaml_write.h"

#include <string.h>
#include <strings.h>

#include "doc/json.h"

static bool is_alnum(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

/* Words that some version of YAML takes for a bool or for nothing. */
static bool is_taken(const char *text)
{
    static const char *const words[] = {"true", "false", "null", "yes", "no",
                                        "on",   "off",   "y",    "n"};

    for (size_t i = 0; i < ARRAY_SIZE(words); i++)
        if (strcasecmp(words[i], text) == 0)
            return true;
    return false;
}

/* Begins with a letter or a slash: then it is no number, no date and no sign of YAML's own. */
static bool is_plain(const char *text, size_t len)
{
    if (len == 0 || strlen(text) != len || is_taken(text))
        return false;
    if (!is_alnum(text[0]) && text[0] != '/')
        return false;
    if (text[0] >= '0' && text[0] <= '9')
        return false;
    for (size_t i = 0; i < len; i++) {
        bool inner_colon = text[i] == ':' && i + 1 < len;

        if (!is_alnum(text[i]) && !strchr("-_./@+=", text[i]) && !inner_colon)
            return false;
    }
    return true;
}

static void add_string(struct strbuf *out, const char *text, size_t len)
{
    struct json j = JSON_COMPACT(out);

    if (is_plain(text, len))
        strbuf_add(out, text, len);
    else
        json_strn(&j, text, len);
}

static void add_scalar(struct strbuf *out, const struct node *node)
{
    switch (node->type) {
    case NODE_NULL:
        strbuf_addstr(out, "null");
        break;
    case NODE_BOOL:
        strbuf_addstr(out, node->i ? "true" : "false");
        break;
    case NODE_INT: /* as it was written: a file's mode 0444 is another number than 444 */
    case NODE_FLOAT:
        strbuf_addstr(out, node->text);
        break;
    case NODE_SEQ:
        strbuf_addstr(out, "[]");
        break;
    case NODE_MAP:
        strbuf_addstr(out, "{}");
        break;
    case NODE_STRING:
        add_string(out, node->text, node->len);
        break;
    }
}

static void indent(struct strbuf *out, int depth)
{
    for (int i = 0; i < depth; i++)
        strbuf_addstr(out, "  ");
}

static bool is_block(const struct node *node)
{
    return (node->type == NODE_SEQ || node->type == NODE_MAP) && node->n > 0;
}

static void add_block(struct strbuf *out, const struct node *node, int depth, bool inline_first);

/* Behind "key:" or "-". A list stands as deep as its key; everything else one level deeper. */
static void add_value(struct strbuf *out, const struct node *value, int depth)
{
    if (!is_block(value)) {
        strbuf_addch(out, ' ');
        add_scalar(out, value);
        strbuf_addch(out, '\n');
        return;
    }
    strbuf_addch(out, '\n');
    add_block(out, value, value->type == NODE_SEQ ? depth : depth + 1, false);
}

static void add_item(struct strbuf *out, const struct node *item, int depth)
{
    strbuf_addch(out, '-');
    if (is_block(item)) {
        strbuf_addch(out, ' ');
        add_block(out, item, depth + 1, true);
    } else {
        add_value(out, item, depth);
    }
}

/* inline_first: we stand behind "- " already, so the first line needs no indentation. */
static void add_block(struct strbuf *out, const struct node *node, int depth, bool inline_first)
{
    for (size_t i = 0; i < node->n; i++) {
        if (i || !inline_first)
            indent(out, depth);
        if (node->type == NODE_SEQ) {
            add_item(out, node->items[i], depth);
        } else {
            add_string(out, node->pairs[i].key->text, node->pairs[i].key->len);
            strbuf_addch(out, ':');
            add_value(out, node->pairs[i].value, depth);
        }
    }
}

void yaml_write(struct strbuf *out, const struct node *root)
{
    if (is_block(root)) {
        add_block(out, root, 0, false);
        return;
    }
    add_scalar(out, root);
    strbuf_addch(out, '\n');
}
