/* values.c - references of commands to the job's values. The dialect has brought them into one form
 * and checked that what they name is there; anything else stays as it is. */
#include <string.h>

#include "base/strbuf.h"
#include "spec/spec.h"

/* The value that is named at p, "inputs.x}}…", and the length of that; NULL if there is none. */
static const struct job_value *value_at(const struct job_spec *spec, const char *p, size_t *ret_n)
{
    for (size_t i = 0; i < spec->n_values; i++) {
        const struct job_value *v = &spec->values[i];
        const char *kind = v->kind == VALUE_OUTPUT ? "outputs." : "inputs.";
        size_t k = strlen(kind), n = strlen(v->name);

        if (!strncmp(p, kind, k) && !strncmp(p + k, v->name, n) && !strncmp(p + k + n, "}}", 2)) {
            *ret_n = k + n + 2;
            return v;
        }
    }
    return NULL;
}

const char *spec_fill_values(struct arena *a, const struct job_spec *spec, const char *text,
                             const char *(*of)(void *ctx, const struct job_value *v), void *ctx)
{
    auto_strbuf struct strbuf sb = STRBUF_INIT;
    const char *p;

    if (!text || !spec->n_values)
        return text;
    while ((p = strstr(text, "${{"))) {
        size_t n = 0;
        const struct job_value *v = value_at(spec, p + 3, &n);

        strbuf_add(&sb, text, (size_t)(p - text));
        strbuf_addstr(&sb, v ? of(ctx, v) : "${{");
        text = p + 3 + n;
    }
    strbuf_addstr(&sb, text);
    return arena_strndup(a, sb.buf, sb.len);
}
