/* hydra_line.c - see hydra_line.h. The options are those of MPICH 4.0 to 4.2 and of Intel MPI 2021.
 */
#include "shim/hydra_line.h"

#include <string.h>

#include "base/cleanup.h"

static const struct option {
    const char *name;
    int n_values;
} options[] = {
    {"n", 1},
    {"np", 1},
    {"ppn", 1},
    {"perhost", 1},
    {"grr", 1},
    {"rr", 0},
    {"f", 1},
    {"hostfile", 1},
    {"machinefile", 1},
    {"machine", 1},
    {"machines", 1},
    {"machinelist", 1},
    {"host", 1},
    {"hosts", 1},
    {"hostlist", 1},
    {"localhost", 1},
    {"nolocal", 0},
    {"skip-launch-node", 0},
    {"wdir", 1},
    {"wd", 1},
    {"dir", 1},
    {"umask", 1},
    {"genv", 2},
    {"env", 2},
    {"genvlist", 1},
    {"envlist", 1},
    {"genvexcl", 1},
    {"envexcl", 1},
    {"genvnone", 0},
    {"envnone", 0},
    {"genvall", 0},
    {"envall", 0},
    {"launcher", 1},
    {"launcher-exec", 1},
    {"bootstrap", 1},
    {"bootstrap-exec", 1},
    {"bootstrap-exec-args", 1},
    {"rmk", 1},
    {"enable-x", 0},
    {"disable-x", 0},
    {"bind-to", 1},
    {"binding", 1},
    {"map-by", 1},
    {"membind", 1},
    {"topolib", 1},
    {"order-nodes", 1},
    {"gpus-per-proc", 1},
    {"gpu-subdevs-per-proc", 1},
    {"demux", 1},
    {"iface", 1},
    {"nameserver", 1},
    {"pmi-port", 0},
    {"usize", 1},
    {"v", 0},
    {"verbose", 0},
    {"debug", 0},
    {"profile", 0},
    {"print-rank-map", 0},
    {"print-all-exitcodes", 0},
    {"l", 0},
    {"prepend-rank", 0},
    {"prepend-pattern", 1},
    {"ordered-output", 0},
    {"outfile", 1},
    {"errfile", 1},
    {"outfile-pattern", 1},
    {"errfile-pattern", 1},
    {"output-from", 1},
    {"s", 1},
    {"dac", 0},
    {"disable-auto-cleanup", 0},
    {"enable-auto-cleanup", 0},
    {"disable-hostname-propagation", 0},
    {"enable-hostname-propagation", 0},
    {"silent-abort", 0},
};

bool hydra_is_mpiexec(const char *path)
{
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;

    return strstr(name, "hydra") || strstr(name, "mpich");
}

/* -name, --name, -name=value: how many words it takes; 0 = unknown. */
size_t hydra_option_words(const char *word)
{
    size_t dashes = word[1] == '-' ? 2 : 1, n = strcspn(word + dashes, "=");

    for (size_t i = 0; i < ARRAY_SIZE(options); i++)
        if (strlen(options[i].name) == n && strncmp(options[i].name, word + dashes, n) == 0)
            return word[dashes + n] ? 1 : 1 + (size_t)options[i].n_values;
    return 0;
}

/* The options before a program; false if they cannot be told from it. */
static bool copy_options(const char *const **at, struct strvec *line)
{
    const char *const *w = *at;

    while (*w && (*w)[0] == '-') {
        size_t n = hydra_option_words(*w);

        if (n == 0)
            return false;
        for (size_t i = 0; i < n && *w; i++)
            strvec_push(line, *w++);
    }
    *at = w;
    return *w != NULL;
}

bool hydra_line(const char *const *argv, const char *wrapper, struct strvec *line)
{
    const char *const *w = argv;

    for (strvec_push(line, *w++); *w;) {
        if (!copy_options(&w, line))
            return false;
        if (strcmp(basename(*w), basename(wrapper)) != 0) /* Muster's own line has it */
            strvec_push(line, wrapper);
        while (*w && strcmp(*w, ":") != 0)
            strvec_push(line, *w++);
        if (!*w)
            return true;
        strvec_push(line, *w++);
    }
    return false;
}
