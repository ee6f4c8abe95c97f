/* mpi_np.c - how many ranks a launcher's own command asks mpirun for. */
#include <string.h>

#include "base/num.h"
#include "base/shellwords.h"
#include "base/strbuf.h"
#include "plan/mpi.h"

static const char *command_text(struct arena *a, const struct role *role)
{
    auto_strbuf struct strbuf sb = STRBUF_INIT;
    size_t n = 0;

    if (role->shell)
        return role->shell;
    while (role->argv && role->argv[n])
        n++;
    /* sh -c TEXT */
    if (n >= 3 && strcmp(role->argv[n - 2] + strlen(role->argv[n - 2]) - 1, "c") == 0 &&
        role->argv[n - 2][0] == '-')
        return role->argv[n - 1];
    for (size_t i = 0; i < n; i++) {
        strbuf_addstr(&sb, i ? " " : "");
        strbuf_add_shell_word(&sb, role->argv[i]);
    }
    return arena_strndup(a, sb.buf, sb.len);
}

static bool is_mpirun(const char *word)
{
    static const char *const programs[] = {"mpirun", "mpiexec", "mpiexec.hydra", "orterun",
                                           "horovodrun"};
    const char *base = strrchr(word, '/');

    for (size_t i = 0; i < ARRAY_SIZE(programs); i++)
        if (strcmp(base ? base + 1 : word, programs[i]) == 0)
            return true;
    return false;
}

static bool is_total(const char *word)
{
    static const char *const options[] = {"-np", "-n", "--np", "-c", "--num-proc"};

    for (size_t i = 0; i < ARRAY_SIZE(options); i++)
        if (strcmp(word, options[i]) == 0)
            return true;
    return false;
}

/* -np of the only call of mpirun; 0 if it is not told as a number, or there are several (`:`
 * included). */
static int64_t np_told(const struct shell_word *v, size_t n)
{
    int64_t np = 0, value;
    unsigned calls = 0;

    for (size_t i = 0; i < n; i++) {
        if (!v[i].begins || !v[i].plain || !is_mpirun(v[i].text))
            continue;
        calls++;
        for (size_t k = i + 1; k + 1 < n && v[k + 1].command == v[i].command; k++) {
            if (v[k].plain && strcmp(v[k].text, ":") == 0)
                return 0;
            if (np == 0 && v[k].plain && is_total(v[k].text) && v[k + 1].plain &&
                num_i64(v[k + 1].text, &value) == 0 && value > 0)
                np = value;
        }
    }
    return calls == 1 ? np : 0;
}

int64_t mpi_ranks_expected(struct arena *a, const struct job_spec *spec)
{
    int64_t world = mpi_layout_of(spec).world;
    const struct shell_word *v;

    for (size_t i = 0; !spec->mpi && i < spec->n_roles; i++) {
        const struct role *role = &spec->roles[i];

        if (role->kind != ROLE_LAUNCHER || (!role->shell && !role->argv))
            continue;

        size_t n = shell_words(a, command_text(a, role), &v);
        int64_t np = np_told(v, n);

        return np > 0 && np <= LIMIT_PROCESSES ? np : world;
    }
    return world;
}
