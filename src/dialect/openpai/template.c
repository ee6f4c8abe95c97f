/* template.c - see the header. The tags are mustache's with other marks; of mustache only
 * variables mean anything to OpenPAI, and these only if they begin with a dollar. */
#include "dialect/openpai/template.h"

#include <string.h>

#include "base/limits.h"
#include "base/nearest.h"
#include "base/strbuf.h"
#include "doc/json_write.h"

enum { TAG_SHOWN = 80 }; /* characters of a tag in a message */

struct render {
    struct arena *a;
    const struct template_scope *scopes;
    size_t n_scopes, limit;
    struct strbuf shown, real;
    bool secret, full;
    struct template_finding *findings;
    size_t n_findings;
};

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\v' || c == '\f';
}

/* --- values --------------------------------------------------------------------------------- */

static size_t json_size(const struct node *node, size_t limit)
{
    size_t size = 6 * node->len + 8; /* a byte is six characters at most: \u001f */

    if (node->type != NODE_SEQ && node->type != NODE_MAP)
        return size;
    size = 2;
    for (size_t i = 0; i < node->n && size <= limit; i++) {
        if (node->type == NODE_MAP)
            size += 6 * node->pairs[i].key->len + 8;
        size += json_size(node->type == NODE_MAP ? node->pairs[i].value : node->items[i], limit);
    }
    return size;
}

const char *node_json(struct arena *a, const struct node *node, size_t limit)
{
    auto_strbuf struct strbuf sb = STRBUF_INIT;

    if (json_size(node, limit) > limit)
        return NULL;
    json_write(&sb, node);
    return arena_strndup(a, sb.buf, sb.len);
}

static bool is_scalar(const struct node *node)
{
    return node->type != NODE_SEQ && node->type != NODE_MAP && node->type != NODE_NULL;
}

static const char *scalar_text(const struct node *node)
{
    if (node->type == NODE_BOOL)
        return node->i ? "true" : "false";
    return node->text;
}

/* --- paths ---------------------------------------------------------------------------------- */

/* The next step of a path: `.key` or `[3]`. An empty one means that the path makes no sense. */
static const char *take_step(struct arena *a, const char **path)
{
    const char *p = *path, *start, *end;

    if (*p == '.') {
        start = ++p;
        p += strcspn(p, ".[");
        end = p;
    } else {
        start = ++p; /* behind the bracket */
        while (is_blank(*start))
            start++;
        p += strcspn(p, "]");
        end = p;
        while (end > start && is_blank(end[-1]))
            end--;
        p += *p == ']';
    }
    *path = p;
    return arena_strndup(a, start, (size_t)(end - start));
}

static const struct node *child(const struct node *node, const char *step)
{
    size_t i = 0;

    if (node->type == NODE_MAP)
        return node_get(node, step);
    if (node->type != NODE_SEQ || !*step || strlen(step) > 6)
        return NULL;
    for (const char *p = step; *p; p++) {
        if (*p < '0' || *p > '9')
            return NULL;
        i = i * 10 + (size_t)(*p - '0');
    }
    return i < node->n ? node->items[i] : NULL;
}

/* The variable that may be meant where `step` was not found after `before`. */
static const char *near_key(const struct render *r, const struct node *map, const char *step,
                            const char *path, size_t before)
{
    const char **keys, *near;

    /* What is not told any more is not looked for: it takes long. */
    if (map->type != NODE_MAP || map->n == 0 || before > TAG_SHOWN || r->n_findings >= LIMIT_DIAGS)
        return NULL;
    keys = ARENA_ARRAY(r->a, const char *, map->n);
    for (size_t i = 0; i < map->n; i++)
        keys[i] = map->pairs[i].key->text;
    near = nearest_word(step, keys, map->n);
    return near ? arena_printf(r->a, "%.*s.%s", (int)before, path, near) : NULL;
}

static const char *near_scope(const struct render *r, const char *name, const char *rest)
{
    const char **names = ARENA_ARRAY(r->a, const char *, r->n_scopes), *near;

    for (size_t i = 0; i < r->n_scopes; i++)
        names[i] = r->scopes[i].name;
    near = nearest_word(name, names, r->n_scopes);
    return near ? arena_printf(r->a, "$%s%.80s", near, rest) : NULL;
}

static const struct node *look_up(const struct render *r, const char *path,
                                  const struct template_scope **ret_scope, const char **ret_near)
{
    size_t n = strcspn(path, ".[");
    const char *name = arena_strndup(r->a, path + 1, n > 0 ? n - 1 : 0), *rest = path + n;
    const struct node *node;

    *ret_scope = NULL;
    for (size_t i = 0; i < r->n_scopes && !*ret_scope; i++) {
        if (strcmp(r->scopes[i].name, name) == 0)
            *ret_scope = &r->scopes[i];
    }
    if (!*ret_scope) {
        *ret_near = near_scope(r, name, rest);
        return NULL;
    }
    node = (*ret_scope)->value;
    while (node && *rest) {
        size_t before = (size_t)(rest - path);
        const struct node *map = node;
        const char *step = take_step(r->a, &rest);

        node = child(map, step);
        if (!node)
            *ret_near = near_key(r, map, step, path, before);
    }
    return node;
}

/* --- the text ------------------------------------------------------------------------------- */

static void find(struct render *r, enum template_fault fault, const char *tag, size_t n,
                 const char *near)
{
    if (r->n_findings >= LIMIT_DIAGS)
        return;
    if (!r->findings)
        r->findings = ARENA_ARRAY(r->a, struct template_finding, LIMIT_DIAGS);
    if (n > TAG_SHOWN)
        n = TAG_SHOWN;
    r->findings[r->n_findings++] =
        (struct template_finding){.fault = fault, .tag = arena_strndup(r->a, tag, n), .near = near};
}

/* Adds what is the same in both texts, or a secret: then `real` is what is meant. */
static void add(struct render *r, const char *shown, size_t n, const char *real)
{
    size_t m = real ? strlen(real) : n;

    if (r->full)
        return;
    if (n > r->limit - r->shown.len || m > r->limit - r->real.len) {
        find(r, TEMPLATE_TOO_LONG, "", 0, NULL);
        r->full = true;
        return;
    }
    strbuf_add(&r->shown, shown, n);
    strbuf_add(&r->real, real ? real : shown, m);
}

static void add_value(struct render *r, const struct template_scope *scope, const char *text)
{
    if (scope->secret) {
        add(r, "***", 3, text);
        r->secret = r->secret || !r->full;
    } else {
        add(r, text, strlen(text), NULL);
    }
}

/* A list of plain values is written with commas between them, as OpenPAI does it. */
static bool add_list(struct render *r, const struct template_scope *scope, const struct node *list)
{
    for (size_t i = 0; i < list->n; i++) {
        if (!is_scalar(list->items[i]))
            return false;
    }
    for (size_t i = 0; i < list->n && !r->full; i++) {
        if (i)
            add(r, ",", 1, NULL);
        add_value(r, scope, scalar_text(list->items[i]));
    }
    return true;
}

static void add_node(struct render *r, const struct template_scope *scope, const struct node *node,
                     const char *tag, size_t n)
{
    const char *json;

    if (is_scalar(node)) {
        add_value(r, scope, scalar_text(node));
        return;
    }
    if (node->type == NODE_SEQ && add_list(r, scope, node))
        return;
    find(r, TEMPLATE_NOT_TEXT, tag, n, NULL);
    json = node_json(r->a, node, r->limit);
    if (json) {
        add_value(r, scope, json);
    } else {
        find(r, TEMPLATE_TOO_LONG, "", 0, NULL);
        r->full = true;
    }
}

/* One tag: whole points at `<%`, inner at what is between the marks, without blanks around it. */
static void add_tag(struct render *r, const char *whole, size_t whole_n, const char *inner,
                    size_t n)
{
    const struct template_scope *scope = NULL;
    const struct node *node = NULL;
    const char *near = NULL;

    if (n && *inner == '!') {
        find(r, TEMPLATE_COMMENT, inner, n, NULL);
        return;
    }
    if (n && strchr("#^/>{&=", *inner)) {
        find(r, TEMPLATE_OTHER, inner, n, NULL);
        add(r, whole, whole_n, NULL);
        return;
    }
    if (n && *inner == '$')
        node = look_up(r, arena_strndup(r->a, inner, n), &scope, &near);
    if (node && node->type != NODE_NULL && strlen(node->text ? node->text : "") == node->len) {
        add_node(r, scope, node, inner, n);
        return;
    }
    find(r, TEMPLATE_UNKNOWN, inner, n, near);
    add(r, whole, whole_n, NULL);
}

void template_render(struct arena *a, const char *text, const struct template_scope *scopes,
                     size_t n_scopes, size_t limit, struct template_text *ret)
{
    struct render r = {.a = a,
                       .scopes = scopes,
                       .n_scopes = n_scopes,
                       .limit = limit,
                       .shown = STRBUF_INIT,
                       .real = STRBUF_INIT};
    const char *open;

    while (!r.full && (open = strstr(text, "<%"))) {
        const char *inner = open + 2, *close = strstr(inner, "%>"), *end = close;

        add(&r, text, (size_t)(open - text), NULL);
        if (!close) {
            find(&r, TEMPLATE_OPEN, inner, strcspn(inner, "\n"), NULL);
            text = open;
            break;
        }
        while (inner < end && is_blank(*inner))
            inner++;
        while (end > inner && is_blank(end[-1]))
            end--;
        add_tag(&r, open, (size_t)(close + 2 - open), inner, (size_t)(end - inner));
        text = close + 2;
    }
    add(&r, text, strlen(text), NULL);
    *ret = (struct template_text){
        .shown = arena_strndup(a, r.shown.buf, r.shown.len),
        .real = r.secret ? arena_strndup(a, r.real.buf, r.real.len) : NULL,
        .findings = r.findings,
        .n_findings = r.n_findings,
    };
    strbuf_release(&r.shown);
    strbuf_release(&r.real);
}
