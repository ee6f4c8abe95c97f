/* command.c - see command.h. */
#include "spec/command.h"

#include <string.h>

#include "base/shellwords.h"
#include "base/strbuf.h"
#include "base/strvec.h"
#include "spec/mpi_options.h"

static const char *const sh[] = {"/bin/sh", "-c", NULL};
static const char *const bash[] = {"bash", "-c", NULL};
static const char *const bash_strict[] = {"bash", "-o",       "errexit", "-o", "nounset",
                                          "-o",   "pipefail", "-c",      NULL};

const char *const *shell_argv(enum shell_kind kind)
{
    static const char *const *const shells[] = {
        [SHELL_SH] = sh, [SHELL_BASH] = bash, [SHELL_BASH_STRICT] = bash_strict};

    return shells[kind];
}

/* A kubelet makes one $ of $$ and replaces $(NAME). */
static void push_escaped(struct strvec *line, const char *text)
{
    auto_strbuf struct strbuf sb = STRBUF_INIT;

    for (const char *c = text; *c; c++) {
        if (c[0] == '$' && (c[1] == '$' || c[1] == '('))
            strbuf_addch(&sb, '$');
        strbuf_addch(&sb, *c);
        if (c[0] == '$' && c[1] == '$') {
            strbuf_addstr(&sb, "$$");
            c++;
        }
    }
    strvec_push(line, sb.buf);
}

static void push_all(struct strvec *line, const char *const *words)
{
    for (; words && *words; words++)
        push_escaped(line, *words);
}

static void push_mpirun(struct strvec *line, const struct mpi_spec *mpi)
{
    if (mpi->home)
        strvec_pushf(line, "%s/bin/mpirun", mpi->home);
    else
        strvec_push(line, "mpirun");
    for (size_t i = 0; i < mpi->n_mca; i++) {
        strvec_push(line, "-mca");
        push_escaped(line, mpi->mca[i].name);
        push_escaped(line, mpi->mca[i].value);
    }
    push_all(line, mpi->extra_args);
    push_all(line, mpi->program);
}

static const char *const *kept(struct arena *a, const struct strvec *line)
{
    const char **argv = ARENA_ARRAY(a, const char *, line->n + 1);

    for (size_t i = 0; i < line->n; i++)
        argv[i] = arena_strdup(a, line->v[i]);
    return argv;
}

const char *const *spec_command(struct arena *a, const struct job_spec *spec,
                                const struct role *role)
{
    auto_strvec struct strvec line = STRVEC_INIT;

    if (role->argv && role->expand_argv)
        return role->argv;
    if (role->argv) {
        push_all(&line, role->argv);
    } else if (role->shell) {
        push_all(&line, shell_argv(role->shell_kind));
        push_escaped(&line, role->shell);
    } else if (role->kind == ROLE_LAUNCHER && spec->mpi) {
        push_mpirun(&line, spec->mpi);
    } else {
        return NULL;
    }
    return kept(a, &line);
}

static bool is_shell(const char *word)
{
    static const char *const shells[] = {"sh", "bash"};
    const char *slash = strrchr(word, '/'), *name = slash ? slash + 1 : word;

    for (size_t i = 0; i < ARRAY_SIZE(shells); i++)
        if (strcmp(name, shells[i]) == 0)
            return true;
    return false;
}

/* What no shell would change: nothing to be replaced, redirected or run one after the other. */
static bool is_plain(const struct shell_word *words, size_t n, const char *text)
{
    if (n == 0 || strpbrk(text, "$`;&|<>(){}#\\"))
        return false;
    for (size_t i = 0; i < n; i++)
        if (!words[i].plain || words[i].assignment || words[i].command != words[0].command ||
            (!words[i].quoted && strpbrk(words[i].text, "*?[~")))
            return false;
    return true;
}

const char *const *shell_plain(struct arena *a, const char *const *argv)
{
    const struct shell_word *words;
    const char **plain;
    size_t n;

    if (!argv || !argv[0] || !is_shell(argv[0]) || !argv[1] || strcmp(argv[1], "-c") != 0 ||
        !argv[2] || argv[3])
        return argv;
    n = shell_words(a, argv[2], &words);
    if (!is_plain(words, n, argv[2]))
        return argv;
    plain = ARENA_ARRAY(a, const char *, n + 1);
    for (size_t i = 0; i < n; i++)
        plain[i] = words[i].text;
    return plain;
}

size_t mpirun_option(const char *const *args)
{
    return args[0] && args[0][0] == '-' && args[0][1] ? mpi_option_words(args) : 0;
}

size_t mpirun_split(struct arena *a, const char *const *argv, const char **ret_home)
{
    static const char *const names[] = {"mpirun", "mpiexec", "orterun"};
    const char *slash = strrchr(argv[0], '/'), *name = slash ? slash + 1 : argv[0];
    bool known = false;
    size_t n = 1, k;

    for (size_t i = 0; i < ARRAY_SIZE(names); i++)
        known = known || strcmp(names[i], name) == 0;
    if (!known)
        return 0;
    *ret_home = NULL;
    if (slash && slash - argv[0] > 4 && strncmp(slash - 4, "/bin", 4) == 0)
        *ret_home = arena_strndup(a, argv[0], (size_t)(slash - argv[0]) - 4);
    while ((k = mpirun_option(argv + n)) > 0)
        n += k;
    return argv[n] ? n : 0;
}
