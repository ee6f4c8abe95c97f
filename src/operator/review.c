/* review.c - see review.h.
 *
 * What cannot be judged is allowed: the operator tells the same by an event once the object is
 * there. Whoever only writes a status, a label or a finalizer is never in the way.
 */
#include "operator/review.h"

#include <string.h>

#include "doc/json.h"
#include "doc/json_read.h"
#include "doc/json_write.h"
#include "doc/make.h"
#include "operator/operator.h"

struct review {
    struct arena *a;
    const struct operator_options *options;
    const struct node *request, *object, *old; /* old: NULL unless it is an update */
    const struct served_kind *kind;
};

static const char *text_at(const struct node *map, const char *key)
{
    return node_text(node_get(map, key), "");
}

static const struct served_kind *kind_of(const struct node *request)
{
    const struct node *resource = node_get(request, "resource");

    for (unsigned i = 0; i < n_served_kinds; i++)
        if (strcmp(served_kinds[i].group, text_at(resource, "group")) == 0 &&
            strcmp(served_kinds[i].plural, text_at(resource, "resource")) == 0)
            return &served_kinds[i];
    return NULL;
}

/* --- what must not change --------------------------------------------------------------------- */

/* always: also from nothing to something, and back. */
static const struct {
    const char *group;
    const char *path[4];
    bool always;
} immutable[] = {
    {"batch.tensorstack.dev", {"runMode", "pause", "resumeSpecs"}, true},
    {"kubeflow.org", {"runPolicy", "schedulingPolicy", "queue"}, false},
};

static const struct node *value_at(const struct node *object, const char *const path[4])
{
    const struct node *node = node_get(object, "spec");

    for (size_t i = 0; node && i < 4 && path[i]; i++)
        node = node_get(node, path[i]);
    return node && node->type != NODE_NULL ? node : NULL;
}

static const char *changed_field(const struct review *r)
{
    for (size_t i = 0; r->old && i < ARRAY_SIZE(immutable); i++) {
        const char *const *path = immutable[i].path;
        const struct node *was = value_at(r->old, path), *is = value_at(r->object, path);

        if (strcmp(immutable[i].group, r->kind->group) != 0 || (!was && !is))
            continue;
        if (was && is ? !node_equal(was, is) : immutable[i].always)
            return arena_printf(r->a, "spec.%s.%s.%s is immutable", path[0], path[1], path[2]);
    }
    return NULL;
}

/* A MusterJob that has begun: its spec is fixed, but for whether it is paused. */
static const char *changed_own(const struct review *r)
{
    const char *phase = r->old ? text_at(node_get(r->old, "status"), "phase") : "";
    struct node *was, *is;

    if (r->kind->family != FAMILY_OWN || !*phase || strcmp(phase, "Invalid") == 0 ||
        !node_get(r->old, "spec") || !node_get(r->object, "spec"))
        return NULL;
    was = make_copy(r->a, node_get(r->old, "spec"));
    is = make_copy(r->a, node_get(r->object, "spec"));
    if (was->type != NODE_MAP || is->type != NODE_MAP)
        return NULL;
    make_drop(was, "pause");
    make_drop(is, "pause");
    return node_equal(was, is) ? NULL
                               : "spec is immutable once the job has begun, except spec.pause";
}

/* --- is it a valid job? ----------------------------------------------------------------------- */

/* An object that the API server will name. */
static const struct node *with_name(struct arena *a, const struct node *object)
{
    const struct node *meta = node_get(object, "metadata");
    const char *prefix = text_at(meta, "generateName");
    struct node *copy;

    if (*text_at(meta, "name") || !*prefix)
        return object;
    copy = make_copy(a, object);
    make_put(a, make_below(a, copy, "metadata"), "name",
             make_text(a, arena_printf(a, "%sxxxxx", prefix)));
    return copy;
}

/* Its errors as the version says; NULL: it has none, or is not ours. */
static const char *errors_as(const struct review *r, const char *version, const char **ret_warnings)
{
    auto_strbuf struct strbuf text = STRBUF_INIT;
    struct served served;
    struct err e;

    /* read again: an object that was changed has no places */
    json_write(&text, with_name(r->a, r->object));
    if (served_read(r->a, r->kind, r->options, json_node(r->a, text.buf, text.len), version,
                    &served, &e) < 0)
        return arena_strdup(r->a, e.text);
    *ret_warnings = served.warned;
    return served.foreign ? NULL : served.invalid;
}

/* In the version that it is written in now; an update by another version, as `kubectl edit` sends
 * it, may still be valid in the one that it was created in. */
static const char *errors_of(const struct review *r, const char **ret_warnings)
{
    const char *now = text_at(node_get(r->request, "requestKind"), "version"), *before, *errors;
    const char *warnings = NULL;

    if (!*now)
        now = text_at(node_get(r->request, "kind"), "version");
    errors = errors_as(r, now, ret_warnings);
    if (!errors || !r->old)
        return errors;
    before =
        node_text(node_get(node_find(r->old, "metadata", "annotations", NULL), KEEP_VERSION), NULL);
    if (!before)
        before = written_in(r->a, r->old);
    if (strcmp(before, now) == 0 || errors_as(r, before, &warnings))
        return errors;
    *ret_warnings = warnings;
    return NULL;
}

/* Why it is refused; NULL: it is allowed. */
static const char *judge(struct review *r, const char *only, const char **ret_warnings)
{
    const char *field;

    r->kind = kind_of(r->request);
    r->object = node_get(r->request, "object");
    r->old = node_get(r->request, "oldObject");
    if (r->old && r->old->type != NODE_MAP)
        r->old = NULL;
    if (!r->kind || !r->object || r->object->type != NODE_MAP ||
        *text_at(r->request, "subResource") ||
        (only && strcmp(only, text_at(r->request, "namespace")) != 0))
        return NULL;
    if (!node_absent(node_get(r->object, "metadata"), "deletionTimestamp"))
        return NULL;
    if (r->old && node_get(r->old, "spec") && node_get(r->object, "spec") &&
        node_equal(node_get(r->old, "spec"), node_get(r->object, "spec")))
        return NULL;
    field = changed_field(r);
    if (!field)
        field = changed_own(r);
    return field ? field : errors_of(r, ret_warnings);
}

/* --- the answer ------------------------------------------------------------------------------- */

/* The API server cuts all of them at 4096 characters, and kubectl shows a line each. */
static void add_warnings(struct json *j, const char *text)
{
    enum { LINES = 16 };

    json_key(j, "warnings");
    json_array(j);
    for (int i = 0; i < LINES && *text; i++) {
        size_t n = strcspn(text, "\n");

        json_strn(j, text, n);
        text += n + (text[n] == '\n');
    }
    json_end(j);
}

static void write_answer(struct strbuf *out, const char *api_version, const char *uid,
                         const char *why, const char *warnings)
{
    struct json j = JSON_COMPACT(out);

    json_object(&j);
    json_kv_str(&j, "apiVersion", api_version);
    json_kv_str(&j, "kind", "AdmissionReview");
    json_key(&j, "response");
    json_object(&j);
    json_kv_str(&j, "uid", uid);
    json_kv_bool(&j, "allowed", why == NULL);
    if (why) {
        json_key(&j, "status");
        json_object(&j);
        json_kv_int(&j, "code", 422);
        json_kv_str(&j, "reason", "Invalid");
        json_kv_str(&j, "message", why);
        json_end(&j);
    }
    if (warnings && *warnings)
        add_warnings(&j, warnings);
    json_end(&j);
    json_end(&j);
}

int review_answer(const struct operator_options *options, const char *only, const char *body,
                  size_t n, struct strbuf *out, struct err *e)
{
    auto_arena struct arena *a = arena_new();
    struct review r = {.a = a, .options = options};
    const char *why, *warnings = NULL;
    struct diags ds;
    struct doc doc;
    bool broken;

    diags_init(&ds, a);
    json_read(a, "review", body, n, false, &ds, &doc);
    broken = doc.broken || ds.n_errors > 0 || doc.n_roots != 1;
    diags_release(&ds);
    r.request = broken ? NULL : node_get(doc.roots[0], "request");
    if (!r.request || r.request->type != NODE_MAP || !*text_at(r.request, "uid"))
        return err_set(e, -EINVAL, "the body is not an AdmissionReview with a request");
    why = judge(&r, only, &warnings);
    write_answer(out, text_at(doc.roots[0], "apiVersion"), text_at(r.request, "uid"), why,
                 warnings);
    return 0;
}
