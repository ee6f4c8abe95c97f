/* explain_notes.c - the first part of explain's page: what is different here, the important things
 * first.
 *
 * What options changed, then warnings, then notes; those of the plan before those of the file,
 * whose notes are mostly about keys without effect. Findings that are equal but for their place are
 * one line. */
#include <string.h>

#include "base/strbuf.h"
#include "cli/as_typed.h"
#include "cli/explain.h"

static void put_line(FILE *out, const char *before, const char *text)
{
    auto_strbuf struct strbuf typed = STRBUF_INIT, sb = STRBUF_INIT;

    add_as_typed(&typed, text);
    strbuf_add_escaped(&sb, typed.buf, typed.len);
    fprintf(out, "%s%s\n", before, sb.buf);
}

static void show_note(FILE *out, enum severity severity, const char *text)
{
    put_line(out, severity == SEV_WARNING ? "  warning: " : "  note: ", text);
}

static bool is_equal(const struct diag *a, const struct diag *b)
{
    return strcmp(a->code, b->code) == 0 && strcmp(a->message, b->message) == 0;
}

/* "note: job.yaml:20:5: `imagePullPolicy` has no effect in a local run (also at lines 31, 44)" */
static void show_finding(FILE *out, const struct explained *x, size_t i)
{
    auto_strbuf struct strbuf text = STRBUF_INIT;
    const struct diag *d = &x->ds->v[i];
    size_t also = 0;

    for (size_t k = 0; k < i; k++)
        if (is_equal(&x->ds->v[k], d))
            return;
    strbuf_addf(&text, "%s:%u:%u: %s", x->path, d->pos.line, d->pos.column, d->message);
    for (size_t k = i + 1; k < x->ds->n; k++)
        if (is_equal(&x->ds->v[k], d))
            strbuf_addf(&text, "%s%u", also++ ? ", " : " (also at line ", x->ds->v[k].pos.line);
    if (also)
        strbuf_addch(&text, ')');
    show_note(out, d->severity, text.buf);
    if (d->hint)
        put_line(out, "    hint: ", d->hint);
}

static void show_severity(FILE *out, const struct plan *plan, const struct explained *x,
                          enum severity severity)
{
    for (size_t i = 0; i < plan->n_notes; i++)
        if (plan->notes[i].severity == severity)
            show_note(out, severity, plan->notes[i].message);
    for (size_t i = 0; x->ds && i < x->ds->n; i++)
        if (x->ds->v[i].severity == severity && strcmp(x->ds->v[i].code, diag_set) != 0)
            show_finding(out, x, i);
}

void explain_notes(FILE *out, const struct plan *plan, const struct explained *x)
{
    if (!plan->n_notes && !x->changes->n && (!x->ds || !x->ds->n))
        return;
    fputs("\nNotes\n", out);
    for (size_t i = 0; x->ds && i < x->ds->n; i++)
        if (strcmp(x->ds->v[i].code, diag_set) == 0)
            show_note(out, SEV_NOTE, x->ds->v[i].message);
    for (size_t i = 0; i < x->changes->n; i++)
        show_note(out, x->changes->v[i].severity, x->changes->v[i].text);
    show_severity(out, plan, x, SEV_WARNING);
    show_severity(out, plan, x, SEV_NOTE);
}
