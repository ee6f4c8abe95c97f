/* values.c - see values.h. */
#include "plan/values.h"

#include <string.h>

const char *value_here(struct arena *a, const struct job_spec *spec, const struct facts *facts,
                       const struct job_value *v)
{
    const char *text = v->text ? v->text : "";
    const char *sent = facts->site.inputs ? facts->site.inputs[v - spec->values] : NULL;

    if (sent)
        return sent;
    if (v->here)
        return v->here;
    if (v->kind == VALUE_OUTPUT)
        return arena_printf(a, "%s/" PLAN_OUTPUTS "/%s", facts->site.run_dir, v->name);
    if (v->kind == VALUE_LITERAL || v->remote || text[0] == '/')
        return text;
    return arena_printf(a, "%s/%s", spec->dir, text + 2 * !strncmp(text, "./", 2));
}

struct here {
    struct arena *a;
    const struct job_spec *spec;
    const struct facts *facts;
};

static const char *value_of(void *ctx, const struct job_value *v)
{
    const struct here *h = ctx;

    return value_here(h->a, h->spec, h->facts, v);
}

const char *values_fill(struct arena *a, const struct job_spec *spec, const struct facts *facts,
                        const char *text)
{
    struct here h = {a, spec, facts};

    return spec_fill_values(a, spec, text, value_of, &h);
}
