/* convert.c - fuzzes what is made of an accepted job for other systems.
 *
 * Whatever the job: each target gives a document that is accepted there, with losses that have a
 * path and a text, or a refusal with a code. In its own dialect an untouched job is the same
 * document, nothing is lost, and one replica more changes something. */
#include <errno.h>
#include <string.h>

#include "common.h"
#include "dialect/convert/convert.h"
#include "dialect/registry.h"
#include "doc/json_read.h"
#include "doc/yaml.h"

static const char *const words[] = {"mpijob", "pytorchjob", "tfjob", "t9k", "muster"};

static void check_same(struct arena *a, const struct job_spec *spec, const struct strbuf *text)
{
    struct diags ds;
    struct doc doc;

    diags_init(&ds, a);
    yaml_read(a, "x", text->buf, text->len, &ds, &doc);
    MUST(!doc.broken && doc.n_roots == 1 && node_equal(doc.roots[0], spec->root_at));
    diags_release(&ds);
}

static void convert(struct arena *a, const struct target *to, const struct job_spec *source,
                    const struct job_spec *spec, const struct diags *ds)
{
    const struct converting c = {.to = to, .source = source, .spec = spec, .findings = ds};
    auto_strbuf struct strbuf text = STRBUF_INIT;
    bool own = strcmp(to->id, source->dialect) == 0;
    struct losses ls;
    struct err e;
    int r = job_convert(a, &c, &text, &ls, &e);

    if (r < 0) {
        MUST(e.text[0] && text.len == 0 && (r == -EINVAL || ls.code));
        MUST(!own || spec != source);
        return;
    }
    for (size_t i = 0; i < ls.n; i++)
        MUST(ls.v[i].path[0] && ls.v[i].text[0]);
    if (own && spec == source) {
        MUST(ls.n == 0);
        check_same(a, source, &text);
    }
}

static void convert_all(struct arena *a, struct job_spec *spec, const struct diags *ds)
{
    struct role *roles = ARENA_ARRAY(a, struct role, spec->n_roles);
    struct job_spec more = *spec;

    memcpy(roles, spec->roles, spec->n_roles * sizeof(*roles));
    more.roles = roles;
    roles[spec->n_roles - 1].replicas++;
    for (size_t i = 0; i < ARRAY_SIZE(words); i++) {
        convert(a, convert_target(words[i]), spec, spec, ds);
        convert(a, convert_target(words[i]), spec, &more, ds);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    auto_arena struct arena *a = arena_new();
    const char *text = (const char *)data;
    const struct read_options opts = {0};
    struct diags ds;
    struct doc doc;

    diags_init(&ds, a);
    if (json_looks_like("x", text, size))
        json_read(a, "x", text, size, true, &ds, &doc);
    else
        yaml_read(a, "x", text, size, &ds, &doc);
    for (size_t i = 0; i < doc.n_roots && !doc.broken; i++) {
        struct sighting s = dialect_sight(a, doc.roots[i]);
        struct job_spec *spec = NULL;

        if (s.dialect)
            (void)s.dialect->lower(a, &opts, &doc, doc.roots[i], &ds, &spec);
        if (!spec || ds.n_errors)
            break;
        spec->root_at = doc.roots[i];
        convert_all(a, spec, &ds);
    }
    diags_release(&ds);
    return 0;
}
