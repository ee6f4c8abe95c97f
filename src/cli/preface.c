/* preface.c - see preface.h. Findings are counted, not hidden: `explain` shows all of them in full.
 */
#include "cli/preface.h"

#include <string.h>

#include "base/limits.h"
#include "base/strbuf.h"
#include "cli/tell.h"

struct preface {
    size_t room;            /* lines left */
    size_t warnings, notes; /* that were not shown */
    bool any;               /* shown */
};

static void put_warning(struct preface *p, const char *text, bool always)
{
    if (p->room == 0 && !always) {
        p->warnings++;
        return;
    }
    p->room -= p->room > 0;
    p->any = true;
    tell_warning(text);
}

static bool same_kind(const struct diag *a, const struct diag *b)
{
    return a->severity == b->severity && strcmp(a->code, b->code) == 0;
}

/* Is it the first of its code? */
static bool is_first(const struct diags *ds, size_t i)
{
    for (size_t k = 0; k < i; k++)
        if (same_kind(&ds->v[k], &ds->v[i]))
            return false;
    return true;
}

static size_t count_like(const struct diags *ds, size_t i)
{
    size_t n = 0;

    for (size_t k = i + 1; k < ds->n; k++)
        n += same_kind(&ds->v[k], &ds->v[i]);
    return n;
}

/* "job.yaml:8:19: the bare word NODE_RANK is replaced by "$NODE_RANK" (and 2 more)" */
static void tell_finding(struct preface *p, const struct job_file *jf, size_t i)
{
    auto_strbuf struct strbuf text = STRBUF_INIT;
    const struct diag *d = &jf->diags.v[i];
    size_t more = count_like(&jf->diags, i);

    if (!is_first(&jf->diags, i))
        return;
    strbuf_addf(&text, "%s:%u:%u: %s", jf->path, d->pos.line, d->pos.column, d->message);
    if (more > 0)
        strbuf_addf(&text, " (and %zu more)", more);
    put_warning(p, text.buf, false);
}

static void tell_findings(struct preface *p, const struct job_file *jf)
{
    for (size_t i = 0; i < jf->diags.n; i++) {
        const struct diag *d = &jf->diags.v[i];

        if (d->severity == SEV_WARNING)
            tell_finding(p, jf, i);
        else if (strcmp(d->code, diag_set) != 0)
            p->notes++;
    }
}

static void tell_notes(struct preface *p, const struct plan *plan, enum note_weight from,
                       enum note_weight to)
{
    for (size_t i = 0; i < plan->n_notes; i++) {
        const struct plan_note *note = &plan->notes[i];

        if (note->weight < from || note->weight > to)
            continue;
        if (note->severity == SEV_WARNING)
            put_warning(p, note->message, note->weight == NOTE_MACHINE);
        else
            p->notes++;
    }
}

static void tell_rest(const struct preface *p, const char *file)
{
    auto_strbuf struct strbuf text = STRBUF_INIT;

    if (p->warnings + p->notes == 0)
        return;
    if (p->warnings > 0)
        strbuf_addf(&text, "%zu more warning%s", p->warnings, p->warnings == 1 ? "" : "s");
    if (p->notes > 0)
        strbuf_addf(&text, "%s%zu %snote%s", text.len ? " and " : "", p->notes,
                    p->any && !text.len ? "more " : "", p->notes == 1 ? "" : "s");
    strbuf_addstr(&text, ": see `muster explain ");
    strbuf_add_shell_word(&text, file);
    strbuf_addch(&text, '`');
    tell_note(text.buf);
}

void tell_preface(const struct job_file *jf, const struct changes *changes, const struct plan *plan)
{
    struct preface p = {.room = jf->path ? LIMIT_PREFACE : plan->n_notes};

    for (size_t i = 0; i < jf->diags.n; i++)
        if (strcmp(jf->diags.v[i].code, diag_set) == 0)
            tell_note(jf->diags.v[i].message);
    tell_changes(changes);
    /* What was found in the file is about values that are replaced. */
    tell_notes(&p, plan, NOTE_MACHINE, NOTE_REPLACED);
    tell_findings(&p, jf);
    tell_notes(&p, plan, NOTE_GPUS, NOTE_SIZE);
    if (jf->path)
        tell_rest(&p, jf->path);
}
