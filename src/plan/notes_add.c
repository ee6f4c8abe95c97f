/* notes_add.c - the list of notes: no sentence twice, one for all roles that share it, by weight.
 */
#include <stdarg.h>
#include <string.h>

#include "base/strbuf.h"
#include "plan/notes.h"

static void append(struct notes *ns, const struct plan_note *note)
{
    if (ns->n == ns->cap) {
        struct plan_note *v = ARENA_ARRAY(ns->arena, struct plan_note, ns->cap * 2 + 16);

        if (ns->n)
            memcpy(v, ns->v, ns->n * sizeof(*v));
        ns->v = v;
        ns->cap = ns->cap * 2 + 16;
    }
    ns->v[ns->n++] = *note;
}

static void add(struct notes *ns, enum note_weight weight, enum severity severity, const char *fmt,
                va_list ap)
{
    auto_strbuf struct strbuf sb = STRBUF_INIT;

    strbuf_vaddf(&sb, fmt, ap);
    for (size_t i = 0; i < ns->n; i++)
        if (!strcmp(ns->v[i].message, sb.buf))
            return;
    append(ns, &(struct plan_note){.severity = severity,
                                   .weight = weight,
                                   .message = arena_strndup(ns->arena, sb.buf, sb.len)});
}

void note_add(struct notes *ns, enum severity severity, const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    add(ns, NOTE_REPLACED, severity, fmt, ap);
    va_end(ap);
}

void note_weigh(struct notes *ns, enum note_weight weight, enum severity severity, const char *fmt,
                ...)
{
    va_list ap;

    va_start(ap, fmt);
    add(ns, weight, severity, fmt, ap);
    va_end(ap);
}

/* Is the role among "ps, worker"? */
static bool names_role(const struct plan_note *note, const char *name)
{
    size_t n = strlen(name);

    for (const char *at = note->message, *end = at + note->roles; at < end;) {
        size_t len = strcspn(at, ",:");

        if (len == n && !strncmp(at, name, n))
            return true;
        at += len + 2;
    }
    return false;
}

void note_role(struct notes *ns, const struct role *role, enum note_weight weight,
               enum severity severity, const char *fmt, ...)
{
    auto_strbuf struct strbuf sb = STRBUF_INIT;
    va_list ap;

    va_start(ap, fmt);
    strbuf_vaddf(&sb, fmt, ap);
    va_end(ap);
    for (size_t i = 0; i < ns->n; i++) {
        struct plan_note *note = &ns->v[i];

        if (!note->roles || strcmp(note->message + note->roles + 2, sb.buf) != 0)
            continue;
        if (!names_role(note, role->name)) {
            note->message = arena_printf(ns->arena, "%.*s, %s: %s", (int)note->roles, note->message,
                                         role->name, sb.buf);
            note->roles += strlen(role->name) + 2;
        }
        return;
    }
    append(ns, &(struct plan_note){
                   .severity = severity,
                   .weight = weight,
                   .message = arena_printf(ns->arena, "%s: %s", role->name, sb.buf),
                   .roles = strlen(role->name),
               });
}

/* Stable, and there are few of them. */
void notes_sort(struct notes *ns)
{
    for (size_t i = 1; i < ns->n; i++) {
        struct plan_note note = ns->v[i];
        size_t k = i;

        for (; k > 0 && ns->v[k - 1].weight > note.weight; k--)
            ns->v[k] = ns->v[k - 1];
        ns->v[k] = note;
    }
}
