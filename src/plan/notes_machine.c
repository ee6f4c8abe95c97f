/* notes_machine.c - what stands for something that this machine does not have. */
#include <string.h>

#include "plan/notes.h"

/* Is `python` a word of the text? python3 is another, /opt/bin/python is not looked up. */
static bool names_python(const char *text)
{
    static const char before[] = " \t\n;&|(){}`\"'=", after[] = " \t\n;&|(){}`\"'<>";
    static const char name[] = "python";
    const char *end;

    for (const char *p = text; (p = strstr(p, name)); p = end) {
        end = p + sizeof(name) - 1;
        if ((p == text || strchr(before, p[-1])) && strchr(after, *end)) /* or the end: a NUL */
            return true;
    }
    return false;
}

static bool argv_names_python(const char *const *argv)
{
    for (; argv && *argv; argv++)
        if (names_python(*argv))
            return true;
    return false;
}

bool plan_calls_python(const struct job_spec *spec)
{
    for (size_t k = 0; k < spec->n_roles; k++)
        if ((spec->roles[k].shell && names_python(spec->roles[k].shell)) ||
            argv_names_python(spec->roles[k].argv))
            return true;
    return spec->mpi && argv_names_python(spec->mpi->program);
}

const char *plan_crowd(struct arena *a, uint64_t processes, int cpus)
{
    if (cpus <= 0 || processes <= (uint64_t)cpus * LIMIT_PROCESSES_PER_CPU)
        return NULL;
    return arena_printf(a,
                        "%llu processes on %d CPU%s: the start is slow, and limits of processes "
                        "and open files may be reached (see `muster doctor`)",
                        (unsigned long long)processes, cpus, cpus == 1 ? "" : "s");
}

void note_machine(struct notes *ns, const struct plan *plan)
{
    const struct facts *facts = plan->facts;
    auto_arena struct arena *a = arena_new();
    const char *crowd = plan_crowd(a, plan->n_processes, facts->machine.cpus);

    if (crowd)
        note_add(ns, SEV_WARNING, "%s", crowd);

    if (facts->machine.python_link && plan_calls_python(plan->spec))
        note_add(ns, SEV_NOTE, "python not found; using %s", facts->machine.python3);
    if (facts->machine.rdma_lacks)
        note_add(ns, SEV_WARNING, "paiAzRDMA: %s; using TCP", facts->machine.rdma_lacks);
}

void note_image(struct notes *ns, const struct plan *plan, const struct role *role)
{
    const struct image_place *images = plan->facts->site.images;
    struct image_place place = images ? images[role - plan->spec->roles] : (struct image_place){0};

    if (role->image && place.prefix)
        note_add(ns, SEV_NOTE, "using %s in place of image %s", place.prefix, role->image);
    else if (role->image && !place.mapped)
        note_add(ns, SEV_NOTE,
                 "image %s is not used; running with what is installed on this machine",
                 role->image);
}
