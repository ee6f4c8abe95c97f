/* program.c - see program.h. */
#include "shim/program.h"

#include <string.h>

#include "base/cleanup.h"
#include "shim/hydra_line.h"

#define FNV_BASIS 0xcbf29ce484222325U
#define FNV_PRIME 0x100000001b3U

enum words { ITSELF, ITS_SCRIPT, ALL };

/* What runs something else. Where its options cannot be told from that, the whole line counts. */
static const struct runner {
    const char *begins;
    enum words words;
} runners[] = {
    {"python", ITS_SCRIPT}, {"pypy", ITS_SCRIPT},    {"bash", ITS_SCRIPT}, {"dash", ITS_SCRIPT},
    {"zsh", ITS_SCRIPT},    {"ksh", ITS_SCRIPT},     {"perl", ITS_SCRIPT}, {"ruby", ITS_SCRIPT},
    {"julia", ITS_SCRIPT},  {"Rscript", ITS_SCRIPT}, {"node", ITS_SCRIPT}, {"env", ALL},
    {"nice", ALL},          {"ionice", ALL},         {"chrt", ALL},        {"timeout", ALL},
    {"numactl", ALL},       {"taskset", ALL},        {"stdbuf", ALL},      {"time", ALL},
    {"setarch", ALL},       {"java", ALL},           {"valgrind", ALL},    {"gdb", ALL},
};

/* mpirun of Open MPI 4.1 and 5.0: options that take a value. The others take none. */
static const char *const one_value[] = {
    "n",
    "np",
    "c",
    "N",
    "H",
    "host",
    "hostfile",
    "machinefile",
    "default-hostfile",
    "x",
    "wdir",
    "wd",
    "path",
    "map-by",
    "rank-by",
    "bind-to",
    "npernode",
    "npersocket",
    "cpus-per-proc",
    "cpus-per-rank",
    "cpu-set",
    "cpu-list",
    "slot-list",
    "rf",
    "rankfile",
    "tune",
    "am",
    "prefix",
    "timeout",
    "max-restarts",
    "stdin",
    "output",
    "output-filename",
    "xterm",
    "report-uri",
    "report-pid",
    "preload-files",
    "personality",
    "dvm-uri",
    "launch-agent",
    "ppr",
    "s",
    "with-ft",
    "runtime-options",
    "display",
    "pmixmca-file",
    "app",
    "set-sid",
};
static const char *const two_values[] = {"mca", "gmca", "omca", "pmca", "prtemca", "pmixmca"};

static bool is_one_of(const char *word, const char *const *names, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (strcmp(word, names[i]) == 0)
            return true;
    return false;
}

static enum words words_of(const char *program)
{
    const char *name = basename(program);

    for (size_t i = 0; i < ARRAY_SIZE(runners); i++)
        if (strncmp(name, runners[i].begins, strlen(runners[i].begins)) == 0)
            return runners[i].words;
    return strcmp(name, "sh") == 0 ? ITS_SCRIPT : ITSELF;
}

static void add(uint64_t *key, const char *word)
{
    size_t n = strlen(word) + 1; /* its end counts, too */

    for (size_t i = 0; i < n; i++)
        *key = (*key ^ (unsigned char)word[i]) * FNV_PRIME;
}

/* The words between two programs of one line belong to neither. */
static bool is_end(const char *word)
{
    return !word || strcmp(word, ":") == 0;
}

int64_t program_key(const char *const *argv)
{
    enum words words = words_of(argv[0]);
    uint64_t key = FNV_BASIS;

    add(&key, argv[0]);
    for (const char *const *w = argv + 1; words != ITSELF && !is_end(*w); w++) {
        if (words == ITS_SCRIPT && (*w)[0] == '-')
            continue;
        add(&key, *w);
        if (words == ITS_SCRIPT)
            break;
    }
    key &= INT64_MAX;
    return key ? (int64_t)key : 1;
}

static size_t open_mpi_words(const char *word)
{
    const char *name = word + (word[1] == '-' ? 2 : 1);

    return is_one_of(name, one_value, ARRAY_SIZE(one_value))     ? 2
           : is_one_of(name, two_values, ARRAY_SIZE(two_values)) ? 3
                                                                 : 1;
}

int64_t program_of_mpirun(const char *const *argv, bool hydra)
{
    const char *const *w = argv + 1;

    while (*w && (*w)[0] == '-') {
        size_t n = hydra ? hydra_option_words(*w) : open_mpi_words(*w);

        for (n = n ? n : 1; n > 0 && *w; n--)
            w++;
    }
    /* Muster's own line has its wrapper before the program */
    if (*w && strcmp(basename(*w), "muster-rank") == 0)
        w++;
    return *w ? program_key(w) : 0;
}
