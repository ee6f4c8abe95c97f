/* raise_torchrun.c - a job whose platform starts several processes in a replica, for one that
 * starts one.
 *
 * That one becomes torchrun, which starts the others; how many, and where they meet, it finds in
 * the variables that a PyTorchJob's replicas are given. `python FILE` becomes `torchrun FILE`, any
 * other command `torchrun --no-python …`. An image's own entry point cannot be handed to it.
 */
#include <string.h>

#include "base/strvec.h"
#include "dialect/convert/convert.h"
#include "spec/command.h"

static bool starts_several(const struct job_spec *spec)
{
    for (size_t i = 0; i < spec->n_roles; i++) {
        const struct role *role = &spec->roles[i];

        if (role->own_slots || (!role->argv && !role->shell))
            return false;
    }
    for (size_t i = 0; i < spec->n_roles; i++)
        if (spec->roles[i].slots > 1)
            return true;
    return false;
}

/* How many words of a Python's command line torchrun says by itself; 0: it would not start the
 * same. */
static size_t python_words(const char *const *words)
{
    size_t n = 1;

    if (strcmp(words[0], "python") != 0 && strcmp(words[0], "python3") != 0)
        return 0;
    if (words[n] && strcmp(words[n], "-u") == 0)
        n++;
    if (!words[n] || (words[n][0] == '-' && strcmp(words[n], "-m") != 0))
        return 0;
    return n;
}

static const char *const *torchrun_line(struct arena *a, const struct job_spec *spec,
                                        const struct role *role)
{
    const char *const text[] = {"sh", "-c", role->shell, NULL};
    const char *const *words = role->argv ? role->argv : shell_plain(a, text);
    const char *const *shell = words == text ? shell_argv(role->shell_kind) : NULL;
    size_t skip = shell ? 0 : python_words(words);
    auto_strvec struct strvec line = STRVEC_INIT;
    const char **made;

    strvec_push(&line, "torchrun");
    if (role->slots != spec->roles[0].slots) /* the job has one number for all */
        strvec_pushf(&line, "--nproc-per-node=%d", role->slots);
    if (!skip)
        strvec_push(&line, "--no-python");
    for (; shell && *shell; shell++)
        strvec_push(&line, *shell);
    for (words = shell ? text + 2 : words + skip; *words; words++)
        strvec_push(&line, *words);
    made = ARENA_ARRAY(a, const char *, line.n + 1);
    for (size_t i = 0; i < line.n; i++)
        made[i] = arena_strdup(a, line.v[i]);
    return made;
}

const struct job_spec *raise_with_torchrun(struct arena *a, const struct job_spec *spec)
{
    struct job_spec *made = ARENA_NEW(a, struct job_spec);
    struct role *roles = ARENA_ARRAY(a, struct role, spec->n_roles);

    if (!starts_several(spec))
        return spec;
    *made = *spec;
    for (size_t i = 0; i < spec->n_roles; i++) {
        roles[i] = spec->roles[i];
        roles[i].argv = torchrun_line(a, spec, &spec->roles[i]);
        roles[i].shell = NULL;
        roles[i].own_slots = true;
    }
    made->roles = roles;
    return made;
}
