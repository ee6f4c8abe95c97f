/* notes_missing.c - programs, scripts and modules that are not on this machine, and what to do
 * about it.
 *
 * One sentence for each, for all roles that need it.
 */
#include <errno.h>
#include <string.h>

#include "base/strbuf.h"
#include "plan/notes.h"

const struct missing *plan_missing(const struct plan *plan, const struct process *process)
{
    const struct facts *f = plan->facts;

    for (size_t i = 0; i < f->machine.n_missing; i++)
        if (f->machine.missing[i].decides &&
            f->machine.missing[i].role == plan->replicas[process->replica].role_index)
            return &f->machine.missing[i];
    return NULL;
}

bool plan_refused(const struct plan *plan)
{
    for (size_t i = 0; i < plan->facts->machine.n_missing; i++)
        if (plan->facts->machine.missing[i].decides)
            return true;
    return false;
}

static bool is_same(const struct missing *a, const struct missing *b)
{
    return strcmp(a->name, b->name) == 0 && strcmp(a->dir, b->dir) == 0 && a->code == b->code &&
           a->decides == b->decides;
}

static bool told_before(const struct facts *f, size_t at)
{
    for (size_t i = 0; i < at; i++)
        if (is_same(&f->machine.missing[i], &f->machine.missing[at]))
            return true;
    return false;
}

/* "launcher, worker" */
static void add_roles(const struct plan *plan, size_t at, struct strbuf *out)
{
    const struct facts *f = plan->facts;

    for (size_t i = at; i < f->machine.n_missing; i++) {
        const struct missing *m = &f->machine.missing[i];
        const struct role *role = &plan->spec->roles[m->role];

        if (!is_same(m, &f->machine.missing[at]))
            continue;
        strbuf_addf(out, "%s%s", i > at ? ", " : "", role->name);
        if (m->init >= 0)
            strbuf_addf(out, " (init container %s)", role->init[m->init].name);
    }
}

static void add_fact(const struct missing *m, struct strbuf *out)
{
    if (m->code == -EILSEQ)
        strbuf_addf(out,
                    "%s cannot be executed: its first line ends in a carriage return (CRLF line "
                    "endings)",
                    m->name);
    else if (m->interpreter)
        strbuf_addf(out, "%s cannot be executed: %s %s was not found", m->name,
                    m->code == -ELIBBAD ? "its interpreter is a script, whose own interpreter"
                                        : "its interpreter",
                    m->interpreter);
    else if (m->module)
        strbuf_addf(out, "Python module %.*s not found (%s)", (int)strcspn(m->module, "."),
                    m->module, m->name);
    else if (m->code == -EACCES)
        strbuf_addf(out, "%s is not executable", m->name);
    else if (m->code == -EISDIR)
        strbuf_addf(out, "%s is a directory, not a program", m->name);
    else if (*m->name == '/')
        strbuf_addf(out, "%s not found", m->name);
    else if (m->by || strchr(m->name, '/'))
        strbuf_addf(out, "%s not found in %s", m->name, m->dir);
    else
        strbuf_addf(out, "%s not found on PATH", m->name);
}

/* A directory that --map could stand for, or NULL. */
static const char *lost_dir(struct arena *a, const struct plan *plan, const struct missing *m)
{
    const struct role *role = &plan->spec->roles[m->role];
    const char *slash = strrchr(m->name, '/');

    if (*m->name == '/' && slash > m->name)
        return arena_strndup(a, m->name, (size_t)(slash - m->name));
    if (*m->name != '/' && m->init < 0 && role->workdir && *role->workdir == '/' &&
        !plan->facts->machine.workdir_ok[m->role])
        return role->workdir;
    return NULL;
}

static void add_remedy(struct arena *a, const struct plan *plan, const struct missing *m,
                       struct strbuf *out)
{
    const struct role *role = &plan->spec->roles[m->role];
    const char *image = m->init >= 0 ? role->init[m->init].image : role->image;
    const char *dir = m->module ? NULL : lost_dir(a, plan, m);
    bool file = !m->module && (m->by || strchr(m->name, '/'));

    if (m->code == -EILSEQ)
        strbuf_addf(out, "; convert it: sed -i 's/\\r$//' %s", m->name);
    else if (m->interpreter)
        strbuf_addstr(out, "; install the interpreter or change the line");
    else if (m->code == -EACCES)
        strbuf_addf(out, "; use chmod +x %s", m->name);
    else if (m->code == -EISDIR)
        strbuf_addf(out, "; name the program in it: %s/PROGRAM", m->name);
    else if (m->in_dir)
        strbuf_addf(out, "; %s/%s exists: use ./%s", m->dir, m->name, m->name);
    else if (!plan->spec->file)
        return;
    else if (dir)
        strbuf_addf(out, "; use --map %s=DIR if the files are in DIR on this machine", dir);
    else if (file)
        strbuf_addstr(out, "; use --workdir DIR if it is in DIR");
    else if (image && m->init < 0)
        strbuf_addf(out,
                    "; install it, or use --image %s=ENV with a Python environment that has it",
                    image);
    else
        strbuf_addstr(out, "; install it or change the command");
}

static const char *image_of(const struct plan *plan, const struct missing *m)
{
    const struct role *role = &plan->spec->roles[m->role];
    const struct image_place *images = plan->facts->site.images;

    if (m->init >= 0)
        return role->init[m->init].image;
    return images && images[m->role].prefix ? NULL : role->image;
}

const char *missing_text(struct arena *a, const struct plan *plan, const struct missing *m)
{
    auto_strbuf struct strbuf text = STRBUF_INIT;
    const char *image = image_of(plan, m);

    add_fact(m, &text);
    if (image && m->code == -ENOENT && !m->interpreter)
        strbuf_addf(&text, " (image %s is not used)", image);
    add_remedy(a, plan, m, &text);
    return arena_strndup(a, text.buf, text.len);
}

size_t plan_missing_texts(struct arena *a, const struct plan *plan, const char ***ret)
{
    const struct facts *f = plan->facts;
    const char **texts = ARENA_ARRAY(a, const char *, f->machine.n_missing + 1);
    size_t n = 0;

    for (size_t i = 0; i < f->machine.n_missing; i++) {
        auto_strbuf struct strbuf roles = STRBUF_INIT;

        if (told_before(f, i))
            continue;
        add_roles(plan, i, &roles);
        texts[n++] = plan->spec->file ? arena_printf(a, "%s: %s", roles.buf,
                                                     missing_text(a, plan, &f->machine.missing[i]))
                                      : missing_text(a, plan, &f->machine.missing[i]);
    }
    *ret = texts;
    return n;
}

static void note_alone(struct notes *ns, const struct plan *plan, uint32_t role)
{
    const char *why = plan->facts->machine.alone ? plan->facts->machine.alone[role] : NULL;
    int kind = platform_kind_of(&plan->spec->platform);

    if (why)
        note_role(ns, &plan->spec->roles[role], NOTE_FAILS, SEV_WARNING,
                  "%s, but nothing starts one MPI world: each process has a world of size 1%s", why,
                  kind == PLATFORM_MUSTER    ? "; use `framework: mpi`"
                  : kind == PLATFORM_AZUREML ? "; use `distribution: {type: mpi}`"
                                             : "");
}

void note_programs(struct notes *ns, const struct plan *plan)
{
    const char **texts;
    size_t n = plan_missing_texts(ns->arena, plan, &texts);

    for (size_t i = 0; i < n; i++)
        note_weigh(ns, NOTE_FAILS, SEV_WARNING, "%s", texts[i]);
    for (uint32_t i = 0; i < plan->spec->n_roles; i++)
        note_alone(ns, plan, i);
}
