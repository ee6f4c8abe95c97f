/* array.c - see array.h. */
#include "daemon/array.h"

#include <string.h>

#include "base/limits.h"

#define PLACE ",\"array\":"
#include "doc/json.h"

static size_t n_values(const struct node *axis)
{
    const struct node *values = node_get(axis, "values");

    return values && values->type == NODE_SEQ ? values->n : 0;
}

static size_t n_axes(const struct node *matrix)
{
    return matrix && matrix->type == NODE_SEQ ? matrix->n : 0;
}

int64_t array_total(const struct node *request)
{
    const struct node *matrix = node_get(request, "matrix"), *count = node_get(request, "count");
    int64_t total = count && count->type == NODE_INT ? count->i : 1;

    if (n_axes(matrix) > LIMIT_MATRIX)
        return 0;
    for (size_t i = 0; i < n_axes(matrix); i++) {
        if (total < 1 || total > LIMIT_SUBMIT_COUNT ||
            n_values(matrix->items[i]) > LIMIT_SUBMIT_COUNT)
            return 0;
        total *= (int64_t)n_values(matrix->items[i]);
    }
    return total < 1 || total > LIMIT_SUBMIT_COUNT ? 0 : total;
}

void array_vars(const struct node *request, int64_t index, struct strvec *ret)
{
    const struct node *matrix = node_get(request, "matrix");
    size_t place[LIMIT_MATRIX] = {0}, n = n_axes(matrix), rest = (size_t)index;

    for (size_t i = n; i-- > 0;) {
        size_t values = n_values(matrix->items[i]);

        if (i >= LIMIT_MATRIX || values == 0) /* array_total() has refused it */
            return;
        place[i] = rest % values;
        rest /= values;
    }
    for (size_t i = 0; i < n; i++) {
        const struct node *axis = matrix->items[i];

        strvec_pushf(ret, "%s=%s", node_text(node_get(axis, "name"), ""),
                     node_text(node_get(axis, "values")->items[place[i]], ""));
    }
}

void array_request(const char *request, const struct array_place *place, const struct strvec *vars,
                   struct strbuf *ret)
{
    struct json j = JSON_COMPACT(ret);

    strbuf_add(ret, request, strlen(request) - 1);
    strbuf_addstr(ret, PLACE);
    json_object(&j);
    json_kv_str(&j, "id", place->id);
    json_kv_str(&j, "name", place->name);
    json_kv_int(&j, "index", place->index);
    json_kv_int(&j, "count", place->count);
    json_key(&j, "vars");
    json_array(&j);
    for (size_t i = 0; i < vars->n; i++)
        json_str(&j, vars->v[i]);
    json_end(&j);
    json_end(&j);
    strbuf_addch(ret, '}');
}

/* In a string its quotes have backslashes. */
size_t array_common(const char *request)
{
    const char *found = NULL;

    for (const char *p = request; (p = strstr(p, PLACE)); p++)
        found = p;
    return found ? (size_t)(found - request) : strlen(request);
}

void array_label(const char *id, const struct strvec *vars, struct strbuf *ret)
{
    strbuf_addstr(ret, id);
    for (size_t i = 0; i < vars->n; i++)
        strbuf_addf(ret, " %s", vars->v[i]);
}
