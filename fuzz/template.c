/* template.c - fuzzes the `<% … %>` tags of OpenPAI's commands.
 *
 * Whatever the text is: no crash, no leak, nothing longer than the limit, no secret in what is
 * shown, and a text without tags comes out as it went in. */
#include <string.h>

#include "base/limits.h"
#include "common.h"
#include "dialect/openpai/template.h"
#include "doc/yaml.h"

#define SECRET "s3cret-Value"

static const char values[] = "parameters: {a: 1, b: {c: [x, y, {d: e}]}, n: null, e: ''}\n"
                             "secrets: {k: " SECRET ", l: [" SECRET ", {m: " SECRET "}]}\n"
                             "data: {name: d, uri: [u, v]}\n";

static void check_text(const char *text, size_t limit, const struct template_text *t)
{
    bool secret = strstr(text, SECRET); /* then it is none */

    MUST(t->shown && strlen(t->shown) <= limit && (!t->real || strlen(t->real) <= limit));
    MUST(secret || !strstr(t->shown, SECRET));
    MUST(!t->real || strstr(t->shown, "***"));
    MUST(t->n_findings <= LIMIT_DIAGS);
    for (size_t i = 0; i < t->n_findings; i++) {
        const struct template_finding *f = &t->findings[i];

        MUST(f->tag && (secret || !f->near || !strstr(f->near, SECRET)));
    }
    if (!strstr(text, "<%") && strlen(text) <= limit)
        MUST(strcmp(text, t->shown) == 0 && t->n_findings == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const names[] = {"parameters", "secrets", "data", "script"};
    auto_arena struct arena *a = arena_new();
    const char *text = arena_strndup(a, (const char *)data, size);
    size_t limit = size > 0 && data[0] % 4 == 0 ? 64 : LIMIT_COMMANDS_BYTES;
    struct template_scope scopes[ARRAY_SIZE(names)];
    struct template_text t;
    struct diags ds;
    struct doc doc;

    diags_init(&ds, a);
    yaml_read(a, "x", values, strlen(values), &ds, &doc);
    for (size_t i = 0; i < ARRAY_SIZE(names); i++)
        scopes[i] = (struct template_scope){names[i], node_get(doc.roots[0], names[i]), i == 1};
    template_render(a, text, scopes, ARRAY_SIZE(scopes), limit, &t);
    check_text(text, limit, &t);
    diags_release(&ds);
    return 0;
}
