/* json_write.c - see json_write.h. */
#include "doc/json_write.h"

#include "doc/json.h"

static void put(struct json *j, const struct node *node)
{
    switch (node->type) {
    case NODE_NULL:
        json_null(j);
        break;
    case NODE_BOOL:
        json_bool(j, node->i != 0);
        break;
    case NODE_INT:
        json_int(j, node->i);
        break;
    case NODE_FLOAT:
        json_double(j, node->f);
        break;
    case NODE_STRING:
        json_strn(j, node->text, node->len);
        break;
    case NODE_SEQ:
        json_array(j);
        for (size_t i = 0; i < node->n; i++)
            put(j, node->items[i]);
        json_end(j);
        break;
    case NODE_MAP:
        json_object(j);
        for (size_t i = 0; i < node->n; i++) {
            json_key(j, node->pairs[i].key->text);
            put(j, node->pairs[i].value);
        }
        json_end(j);
        break;
    }
}

void json_write(struct strbuf *out, const struct node *node)
{
    struct json j = JSON_COMPACT(out);

    put(&j, node);
}
