/* lowered.h - a text lowered by a dialect, and what came of it in words; for the tests of dialects.
 */
#ifndef DIALECT_TEST_LOWERED_H
#define DIALECT_TEST_LOWERED_H

#include <string.h>

#include "base/strbuf.h"
#include "base/tap.h"
#include "dialect/dialect.h"
#include "doc/yaml.h"

struct lowered {
    struct arena *a;
    struct diags ds;
    struct doc doc;
    enum verdict verdict;
    struct job_spec *spec;
};

static inline void lower_by(struct lowered *l, const struct dialect *dialect, const char *file,
                            const char *text, const struct read_options *opts)
{
    l->a = arena_new();
    diags_init(&l->ds, l->a);
    yaml_read(l->a, file, text, strlen(text), &l->ds, &l->doc);
    l->verdict = dialect->lower(l->a, opts, &l->doc, l->doc.roots[0], &l->ds, &l->spec);
    diags_sort(&l->ds);
}

static inline void done(struct lowered *l)
{
    diags_release(&l->ds);
    arena_free(l->a);
}

/* The codes of all findings with their places: "E0101@3:5 N0301@7:1". */
static inline const char *findings(struct lowered *l)
{
    auto_strbuf struct strbuf sb = STRBUF_INIT;

    for (size_t i = 0; i < l->ds.n; i++)
        strbuf_addf(&sb, "%s%s@%u:%u", i ? " " : "", l->ds.v[i].code, l->ds.v[i].pos.line,
                    l->ds.v[i].pos.column);
    return arena_strndup(l->a, sb.buf, sb.len);
}

/* The same with lines alone: "E0101@3 N0301@7". */
static inline const char *finding_lines(struct lowered *l)
{
    auto_strbuf struct strbuf sb = STRBUF_INIT;

    for (size_t i = 0; i < l->ds.n; i++)
        strbuf_addf(&sb, "%s%s@%u", i ? " " : "", l->ds.v[i].code, l->ds.v[i].pos.line);
    return arena_strndup(l->a, sb.buf, sb.len);
}

/* The ports of a role: "SynPort:1 http:2@8000". */
static inline const char *ports(struct lowered *l, const struct role *role)
{
    auto_strbuf struct strbuf sb = STRBUF_INIT;

    for (size_t i = 0; i < role->n_ports; i++) {
        const struct port_request *p = &role->ports[i];

        strbuf_addf(&sb, "%s%s:%d", i ? " " : "", p->label, p->count);
        if (p->begin_at)
            strbuf_addf(&sb, "@%d", p->begin_at);
    }
    return arena_strndup(l->a, sb.buf, sb.len);
}

#endif
