/* routes.c - the table of routes and doc/openapi.json have the same paths. */
#include <string.h>
#include <strings.h>

#include "api/assets.h"
#include "api/parts.h"
#include "base/tap.h"
#include "doc/json_read.h"

/* "/jobs/{id}/x" is "/jobs/ * /x" in the table. */
static void form_of(const char *path, char *out)
{
    while (*path)
        if (*path == '{') {
            *out++ = '*';
            path += strcspn(path, "}") + 1;
        } else {
            *out++ = *path++;
        }
    *out = '\0';
}

static const struct node *document(struct arena *a)
{
    for (const struct asset *as = assets; as->name; as++)
        if (strcmp(as->name, "openapi.json") == 0)
            return json_node(a, (const char *)as->bytes, as->n);
    return NULL;
}

static bool has_route(const char *method, const char *form)
{
    for (size_t i = 0; i < n_routes; i++)
        if (strcasecmp(routes[i].method, method) == 0 && strcmp(routes[i].form, form) == 0)
            return true;
    return false;
}

static bool has_path(const struct node *paths, const struct route *r)
{
    char form[256];

    for (size_t i = 0; i < paths->n; i++) {
        const struct node *ops = paths->pairs[i].value;

        form_of(paths->pairs[i].key->text, form);
        for (size_t k = 0; strcmp(form, r->form) == 0 && k < ops->n; k++)
            if (strcasecmp(ops->pairs[k].key->text, r->method) == 0)
                return true;
    }
    return false;
}

static void compare(void)
{
    auto_arena struct arena *a = arena_new();
    const struct node *paths = node_get(document(a), "paths");
    char form[256];

    ok(paths && paths->n > 20, "the document has paths");
    for (size_t i = 0; paths && i < paths->n; i++) {
        const struct node *ops = paths->pairs[i].value;

        form_of(paths->pairs[i].key->text, form);
        for (size_t k = 0; k < ops->n; k++)
            ok(has_route(ops->pairs[k].key->text, form), "%s %s is in the table",
               ops->pairs[k].key->text, form);
    }
    for (size_t i = 0; paths && i < n_routes; i++)
        ok(has_path(paths, &routes[i]), "%s %s is in the document", routes[i].method,
           routes[i].form);
}

static void finding(void)
{
    struct call c = {0};
    auto_strbuf struct strbuf allow = STRBUF_INIT;
    const struct route *r = route_find("GET", "/api/v1/jobs/a%2fb/logs", &c, &allow);

    ok(r && r->serve == serve_logs, "a path finds its route");
    is_str(c.seg[0], "a/b", "the segment for * is decoded");
    ok(route_find("HEAD", "/api/v1/jobs", &c, &allow) != NULL, "HEAD uses the route of GET");
    ok(!route_find("PUT", "/api/v1/jobs", &c, &allow), "a method that the path does not have");
    is_str(allow.buf, "GET, HEAD, POST", "the methods that it has are returned");
    strbuf_truncate(&allow, 0);
    ok(!route_find("GET", "/api/v1/jobs/../logs", &c, &allow), ".. is not an id");
    ok(!route_find("GET", "/api/v1/jobs//logs", &c, &allow), "an empty segment is not an id");
    ok(!route_find("GET", "/api/v1/jobs/%00/logs", &c, &allow),
       "a segment with a NUL is not an id");
    ok(!route_find("GET", "/api/v1/jobs/", &c, &allow) && allow.len == 0,
       "an empty last segment is not an id");
}

int main(void)
{
    compare();
    finding();
    return tap_done();
}
