/* template.c - the `<% … %>` tags: what is rendered, what stays and is told. */
#include "dialect/openpai/template.h"

#include <string.h>

#include "base/limits.h"
#include "base/strbuf.h"
#include "base/tap.h"
#include "doc/yaml.h"

static const char values[] = "parameters:\n"
                             "  epochs: 10\n"
                             "  lr: 1e-4\n"
                             "  ratio: 1.0\n"
                             "  on: true\n"
                             "  off: False\n"
                             "  nothing: null\n"
                             "  empty: ''\n"
                             "  list: [a, 2, true]\n"
                             "  deep: {a: {b: c}, l: [x, {k: v}]}\n"
                             "  tag: <% $parameters.epochs %>\n"
                             "secrets:\n"
                             "  token: a&b\"<c>'\n"
                             "  nested: {key: 's3cret'}\n"
                             "  list: [one, two]\n"
                             "data: {name: d, uri: [http://x/0, http://x/1]}\n";

static const struct {
    const char *text, *shown, *real, *findings, *name;
} rows[] = {
    {"plain text", "plain text", NULL, "", "no tag"},
    {"", "", NULL, "", "no text"},
    {"a <% $parameters.epochs %> b", "a 10 b", NULL, "", "a number"},
    {"<%$parameters.epochs%>", "10", NULL, "", "no blanks"},
    {"<%\n  $parameters.epochs\t\r\n%>", "10", NULL, "", "line ends in a tag"},
    {"<% $parameters.lr %> <% $parameters.ratio %>", "1e-4 1.0", NULL, "", "as it is written"},
    {"<% $parameters.on %><% $parameters.off %>", "truefalse", NULL, "", "bools"},
    {"[<% $parameters.empty %>]", "[]", NULL, "", "an empty text is a value"},
    {"<% $parameters.list %>", "a,2,true", NULL, "", "a list has commas"},
    {"<% $parameters.list[1] %> <% $parameters.list.0 %>", "2 a", NULL, "", "an index, both ways"},
    {"<% $data.uri[ 1 ] %>", "http://x/1", NULL, "", "blanks around an index"},
    {"<% $parameters.deep.a.b %>", "c", NULL, "", "nested"},
    {"<% $parameters.deep.l[1].k %>", "v", NULL, "", "behind an index"},
    {"<% $parameters.deep %>", "{\"a\":{\"b\":\"c\"},\"l\":[\"x\",{\"k\":\"v\"}]}", NULL,
     "not-text $parameters.deep", "a mapping is JSON"},
    {"<% $parameters.tag %>", "<% $parameters.epochs %>", NULL, "",
     "a value is not rendered again"},
    {"<% $parameters.epoch %>", "<% $parameters.epoch %>", NULL,
     "unknown $parameters.epoch ($parameters.epochs)", "a misspelt key stays"},
    {"<%  $parameters.x  %>", "<%  $parameters.x  %>", NULL, "unknown $parameters.x (-)",
     "byte for byte"},
    {"<% $parameter.epochs %>", "<% $parameter.epochs %>", NULL,
     "unknown $parameter.epochs ($parameters.epochs)", "a misspelt scope"},
    {"<% $parameters.deep.A.b %>", "<% $parameters.deep.A.b %>", NULL,
     "unknown $parameters.deep.A.b ($parameters.deep.a)", "the level that is wrong is told"},
    {"<% $parameters.nothing %>", "<% $parameters.nothing %>", NULL,
     "unknown $parameters.nothing (-)", "null is no value"},
    {"<% $data.uri[2] %>", "<% $data.uri[2] %>", NULL, "unknown $data.uri[2] (-)", "out of range"},
    {"<% $data.uri[-1] %>", "<% $data.uri[-1] %>", NULL, "unknown $data.uri[-1] (-)", "negative"},
    {"<% $data.uri[0 %>", "http://x/0", NULL, "", "a bracket that is not closed"},
    {"<% $parameters.epochs.x %>", "<% $parameters.epochs.x %>", NULL,
     "unknown $parameters.epochs.x (-)", "below a scalar"},
    {"<% $script.uri %>", "<% $script.uri %>", NULL, "unknown $script.uri (-)", "not given"},
    {"<% parameters.epochs %>", "<% parameters.epochs %>", NULL, "unknown parameters.epochs (-)",
     "no dollar"},
    {"<% %><%%>", "<% %><%%>", NULL, "unknown  (-) unknown  (-)", "nothing in it"},
    {"<% $ %>", "<% $ %>", NULL, "unknown $ (-)", "only a dollar"},
    {"printf '<%s>\\n'", "printf '<%s>\\n'", NULL, "open s>\\n'", "not a tag at all"},
    {"a <%! note %>b", "a b", NULL, "comment ! note", "a comment"},
    {"<%# $parameters.on %>x<%/ $parameters.on %>", "<%# $parameters.on %>x<%/ $parameters.on %>",
     NULL, "other # $parameters.on other / $parameters.on", "a section is not dropped"},
    {"<%& $parameters.epochs %>", "<%& $parameters.epochs %>", NULL, "other & $parameters.epochs",
     "no other tags"},
    {"<%= <% %> =%>", "<%= <% %> =%>", NULL, "other = <%", "marks do not change"},
    {"x <% $secrets.token %> y", "x *** y", "x a&b\"<c>' y", "", "a secret is not escaped"},
    {"<% $secrets.nested.key %><% $parameters.epochs %>", "***10", "s3cret10", "",
     "a nested secret"},
    {"<% $secrets.list %>", "***,***", "one,two", "", "a list of secrets"},
    {"<% $secrets.nested %>", "***", "{\"key\":\"s3cret\"}", "not-text $secrets.nested",
     "a mapping of secrets"},
    {"<% $secrets.tokem %>", "<% $secrets.tokem %>", NULL,
     "unknown $secrets.tokem ($secrets.token)", "a misspelt secret: no value is told"},
};

static const char *words(struct arena *a, const struct template_text *t)
{
    static const char *const names[] = {
        [TEMPLATE_UNKNOWN] = "unknown", [TEMPLATE_NOT_TEXT] = "not-text",
        [TEMPLATE_OTHER] = "other",     [TEMPLATE_COMMENT] = "comment",
        [TEMPLATE_OPEN] = "open",       [TEMPLATE_TOO_LONG] = "too-long",
    };
    auto_strbuf struct strbuf sb = STRBUF_INIT;

    for (size_t i = 0; i < t->n_findings; i++) {
        const struct template_finding *f = &t->findings[i];

        strbuf_addf(&sb, "%s%s %s", i ? " " : "", names[f->fault], f->tag);
        if (f->fault == TEMPLATE_UNKNOWN)
            strbuf_addf(&sb, " (%s)", f->near ? f->near : "-");
    }
    return arena_strndup(a, sb.buf, sb.len);
}

static void test_limits(struct arena *a, const struct template_scope *scopes, size_t n)
{
    auto_strbuf struct strbuf many = STRBUF_INIT;
    struct template_text t;

    template_render(a, "0123456789", scopes, n, 10, &t);
    is_str(words(a, &t), "", "as long as the limit");
    template_render(a, "0123456789x", scopes, n, 10, &t);
    is_str(words(a, &t), "too-long ", "one longer");
    template_render(a, "<% $secrets.nested.key %>", scopes, n, 5, &t);
    is_str(words(a, &t), "too-long ", "the secret counts, not its stars");
    template_render(a, "<% $parameters.deep %>", scopes, n, 22, &t);
    has(words(a, &t), "too-long", "so does JSON");
    for (int i = 0; i < LIMIT_DIAGS + 50; i++)
        strbuf_addstr(&many, "<% x %>");
    template_render(a, many.buf, scopes, n, LIMIT_COMMANDS_BYTES, &t);
    is_int(t.n_findings, LIMIT_DIAGS, "findings are counted up to a limit");
    is_str(t.shown, many.buf, "and change nothing");
}

int main(void)
{
    auto_arena struct arena *a = arena_new();
    struct template_scope scopes[4];
    struct diags ds;
    struct doc doc;

    diags_init(&ds, a);
    yaml_read(a, "x", values, strlen(values), &ds, &doc);
    scopes[0] = (struct template_scope){"parameters", node_get(doc.roots[0], "parameters"), false};
    scopes[1] = (struct template_scope){"secrets", node_get(doc.roots[0], "secrets"), true};
    scopes[2] = (struct template_scope){"data", node_get(doc.roots[0], "data"), false};
    scopes[3] = (struct template_scope){"script", NULL, false};
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        struct template_text t;

        template_render(a, rows[i].text, scopes, ARRAY_SIZE(scopes), LIMIT_COMMANDS_BYTES, &t);
        is_str(t.shown, rows[i].shown, "%s", rows[i].name);
        is_str(t.real, rows[i].real, "%s: what runs", rows[i].name);
        is_str(words(a, &t), rows[i].findings, "%s: what is told", rows[i].name);
    }
    test_limits(a, scopes, ARRAY_SIZE(scopes));
    diags_release(&ds);
    return tap_done();
}
