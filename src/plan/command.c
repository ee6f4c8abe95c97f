/* command.c - what is executed for a process: an argv as it is or as a kubelet expands it, or the
 * shell that the dialect's own system runs its text with.
 */
#include <string.h>

#include "base/strbuf.h"
#include "plan/command.h"
#include "plan/env.h"
#include "plan/mode.h"
#include "plan/relocate.h"

/* The words before "-c", by shell_kind. */
static const char *const sh[] = {"/bin/sh", NULL};
static const char *const bash[] = {"bash", NULL};
static const char *const bash_strict[] = {"bash",    "-o", "errexit",  "-o",
                                          "nounset", "-o", "pipefail", NULL};
static const char *const *const shells[] = {
    [SHELL_SH] = sh, [SHELL_BASH] = bash, [SHELL_BASH_STRICT] = bash_strict};

static size_t count(const char *const *words)
{
    size_t n = 0;

    while (words[n])
        n++;
    return n;
}

static bool needs_expansion(const char *const *argv)
{
    for (; *argv; argv++)
        if (strstr(*argv, "$(") || strstr(*argv, "$$"))
            return true;
    return false;
}

const char *const *command_expand(struct arena *a, const struct plan *plan,
                                  const struct process *process, struct start start, bool masked)
{
    const struct role *role = plan->replicas[process->replica].role;

    if (!role->argv || !role->expand_argv || !needs_expansion(role->argv) ||
        plan->facts->site.references)
        return process->argv;

    size_t n = count(role->argv);
    const char **argv = ARENA_ARRAY(a, const char *, n + 1);
    struct env_set set = {.arena = a, .start = start};

    env_make(&set, plan, process, masked);
    for (size_t i = 0; i < n; i++)
        argv[i] = env_expand(&set, role->argv[i]);
    return relocate_argv(a, plan, &plan->replicas[process->replica], -1, argv);
}

/* A mode's command and args, with $(NAME) expanded. */
static const char *const *expand_all(struct arena *a, const struct plan *plan,
                                     const struct process *process, struct start start,
                                     const char *const *words)
{
    size_t n = count(words);
    const char **argv = ARENA_ARRAY(a, const char *, n + 1);
    struct env_set set = {.arena = a, .start = start};

    if (plan->facts->site.references)
        return words;
    env_make(&set, plan, process, false);
    for (size_t i = 0; i < n; i++)
        argv[i] = env_expand(&set, words[i]);
    return argv;
}

const char *const *plan_exec_argv(struct arena *a, const struct plan *plan,
                                  const struct process *process, struct start start)
{
    const char *const *other = process_mode_argv(process, start);

    if (other)
        return expand_all(a, plan, process, start, other);
    if (process_waits(process, start))
        return NULL;
    if (!process->shell)
        return command_expand(a, plan, process, start, false);

    const char *const *words = shells[process->shell_kind];
    size_t n = count(words);
    const char **argv = ARENA_ARRAY(a, const char *, n + 3);

    memcpy(argv, words, n * sizeof(*argv));
    if (!process->shell_secret) {
        argv[n] = "-c";
        argv[n + 1] = process->shell;
    }
    return argv;
}

/* The text of {"bash", "-c", TEXT}, or NULL. */
static const char *shell_text(const char *const *argv)
{
    const char *base = strrchr(argv[0], '/');
    size_t n;

    base = base ? base + 1 : argv[0];
    n = strlen(base);
    if (n < 2 || strcmp(base + n - 2, "sh") != 0)
        return NULL;
    for (size_t i = 1; argv[i] && argv[i][0] == '-'; i++) {
        size_t len = strlen(argv[i]);

        if (argv[i][1] != '-' && argv[i][len - 1] == 'c')
            return argv[i + 1];
    }
    return NULL;
}

static const char *joined(struct arena *a, const char *const *argv)
{
    auto_strbuf struct strbuf sb = STRBUF_INIT;

    for (; *argv; argv++) {
        if (sb.len)
            strbuf_addch(&sb, ' ');
        strbuf_add_shell_word(&sb, *argv);
    }
    return arena_strndup(a, sb.buf, sb.len);
}

const char *command_shown(struct arena *a, const char *shell, const char *const *argv,
                          bool *ret_by_shell)
{
    const char *text = shell ? shell : argv && argv[0] ? shell_text(argv) : NULL;

    *ret_by_shell = text;
    return text || !argv || !argv[0] ? text : joined(a, argv);
}
