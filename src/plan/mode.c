/* mode.c - which start of a process runs what: its own command, a mode's, or nothing.
 *
 * A job that is debugged has its replicas and no training: their processes wait. A file may name a
 * command to run in them meanwhile, and another one for the time after a pause; an MPI worker has
 * no command of its own, so what it is given there runs beside its waiting.
 */
#include "plan/mode.h"

#include <string.h>

/* What containers are given to keep them up. Here a replica needs nothing for that. */
static bool only_waits(const char *const *words)
{
    static const char *const nothings[][3] = {
        {"sleep", "inf"}, {"sleep", "infinity"}, {"tail", "-f", "/dev/null"}};
    const char *slash = strrchr(words[0], '/');
    const char *name = slash ? slash + 1 : words[0];

    if (strcmp(name, "sshd") == 0)
        return true;
    for (size_t i = 0; i < ARRAY_SIZE(nothings); i++) {
        size_t n = 1;

        if (strcmp(name, nothings[i][0]) != 0)
            continue;
        while (n < 3 && nothings[i][n] && words[n] && strcmp(words[n], nothings[i][n]) == 0)
            n++;
        if (!words[n] && (n == 3 || !nothings[i][n]))
            return true;
    }
    return false;
}

static const struct debug_role *find(const struct debug_role *entries, size_t n,
                                     const struct role *role)
{
    const struct debug_role *found = NULL;

    for (size_t i = 0; i < n; i++)
        if (entries[i].role && strcmp(entries[i].role, role->name) == 0)
            found = &entries[i];
    return found;
}

/* Command and args in one list; NULL without a command. */
static const char *const *words_of(struct arena *a, const struct debug_role *entry)
{
    size_t n = 0, k = 0;

    if (!entry || !entry->command || !entry->command[0])
        return NULL;
    while (entry->command[n])
        n++;
    while (entry->args && entry->args[k])
        k++;
    const char **words = ARENA_ARRAY(a, const char *, n + k + 1);
    memcpy(words, entry->command, n * sizeof(*words));
    if (k > 0)
        memcpy(words + n, entry->args, k * sizeof(*words));
    return words;
}

void mode_of_process(struct arena *a, const struct job_spec *spec, const struct role *role,
                     struct process *process)
{
    const char *const *words = words_of(a, find(spec->debug_roles, spec->n_debug_roles, role));

    process->debug = spec_debugs(spec, role);
    if (words && process->slot == 0 && !only_waits(words))
        process->debug_argv = words;
    words = words_of(a, find(spec->resume_roles, spec->n_resume_roles, role));
    if (words && !(role->kind == ROLE_HOST && only_waits(words)))
        process->resume_argv = words;
}

static bool is_debugged(const struct process *process, struct start start)
{
    return start.debug && process->debug;
}

bool process_waits(const struct process *process, struct start start)
{
    return is_debugged(process, start) || (!process->argv && !process->shell);
}

const char *const *process_mode_argv(const struct process *process, struct start start)
{
    if (is_debugged(process, start))
        return process->debug_argv;
    return start.resumed ? process->resume_argv : NULL;
}

const char *const *process_waiting_argv(const struct process *process, struct start start)
{
    return process_waits(process, start) ? process_mode_argv(process, start) : NULL;
}

bool process_hides_script(const struct process *process, struct start start)
{
    return process->shell_secret && !process_waits(process, start) &&
           !process_mode_argv(process, start);
}
