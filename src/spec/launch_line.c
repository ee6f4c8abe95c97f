/* launch_line.c - see launch_line.h. Options are compared without their dashes, and with '-' and
 * '_' as the same letter: Open MPI takes one dash or two, torchrun takes either of the two letters.
 *
 * An option that no table knows is taken for a flag: the scan then stops too early rather than
 * too late, and leaves a number alone instead of changing one of the program's.
 */
#include "spec/launch_line.h"

#include <string.h>

#include "base/limits.h"
#include "base/num.h"
#include "spec/mpi_options.h"

enum family { FAMILY_MPI, FAMILY_TORCH, FAMILY_ACCELERATE, FAMILY_DEEPSPEED };

static const struct {
    const char *name; /* last part of the program's path, or a module's name */
    enum family family;
} launchers[] = {
    {"torchrun", FAMILY_TORCH},
    {"torch.distributed.launch", FAMILY_TORCH},
    {"torch.distributed.run", FAMILY_TORCH},
    {"accelerate", FAMILY_ACCELERATE},
    {"deepspeed", FAMILY_DEEPSPEED},
};

/* Options that take values; those of mpirun are in mpi_options.c. */
static const struct known {
    const char *name;
    enum family family;
    size_t n_args;
    enum launch_meaning meaning;
} options[] = {
    {"nproc-per-node", FAMILY_TORCH, 1, LAUNCH_PER_NODE},
    {"nnodes", FAMILY_TORCH, 1, LAUNCH_NODES},
    {"node-rank", FAMILY_TORCH, 1, LAUNCH_OTHER},
    {"master-addr", FAMILY_TORCH, 1, LAUNCH_OTHER},
    {"master-port", FAMILY_TORCH, 1, LAUNCH_OTHER},
    {"rdzv-backend", FAMILY_TORCH, 1, LAUNCH_OTHER},
    {"rdzv-endpoint", FAMILY_TORCH, 1, LAUNCH_OTHER},
    {"rdzv-id", FAMILY_TORCH, 1, LAUNCH_OTHER},
    {"rdzv-conf", FAMILY_TORCH, 1, LAUNCH_OTHER},
    {"max-restarts", FAMILY_TORCH, 1, LAUNCH_OTHER},
    {"monitor-interval", FAMILY_TORCH, 1, LAUNCH_OTHER},
    {"start-method", FAMILY_TORCH, 1, LAUNCH_OTHER},
    {"role", FAMILY_TORCH, 1, LAUNCH_OTHER},
    {"log-dir", FAMILY_TORCH, 1, LAUNCH_OTHER},
    {"local-addr", FAMILY_TORCH, 1, LAUNCH_OTHER},
    {"redirects", FAMILY_TORCH, 1, LAUNCH_OTHER},
    {"tee", FAMILY_TORCH, 1, LAUNCH_OTHER},

    {"num-processes", FAMILY_ACCELERATE, 1, LAUNCH_TOTAL},
    {"num-machines", FAMILY_ACCELERATE, 1, LAUNCH_NODES},
    {"machine-rank", FAMILY_ACCELERATE, 1, LAUNCH_OTHER},
    {"main-process-ip", FAMILY_ACCELERATE, 1, LAUNCH_OTHER},
    {"main-process-port", FAMILY_ACCELERATE, 1, LAUNCH_OTHER},
    {"config-file", FAMILY_ACCELERATE, 1, LAUNCH_OTHER},
    {"mixed-precision", FAMILY_ACCELERATE, 1, LAUNCH_OTHER},

    {"num-gpus", FAMILY_DEEPSPEED, 1, LAUNCH_PER_NODE},
    {"num-nodes", FAMILY_DEEPSPEED, 1, LAUNCH_NODES},
    {"hostfile", FAMILY_DEEPSPEED, 1, LAUNCH_OTHER},
    {"include", FAMILY_DEEPSPEED, 1, LAUNCH_OTHER},
    {"exclude", FAMILY_DEEPSPEED, 1, LAUNCH_OTHER},
    {"master-addr", FAMILY_DEEPSPEED, 1, LAUNCH_OTHER},
    {"master-port", FAMILY_DEEPSPEED, 1, LAUNCH_OTHER},
    {"launcher", FAMILY_DEEPSPEED, 1, LAUNCH_OTHER},
    {"launcher-args", FAMILY_DEEPSPEED, 1, LAUNCH_OTHER},
};

static bool same_name(const char *name, const char *text, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (name[i] != (text[i] == '_' ? '-' : text[i]))
            return false;
    return name[n] == '\0';
}

struct found {
    size_t n_args;
    enum launch_meaning meaning;
    bool map_by;
};

static bool mpi_option(const char *word, struct found *ret)
{
    static const enum launch_meaning meanings[] = {
        [MPI_MEANS_TOTAL] = LAUNCH_TOTAL,
        [MPI_MEANS_PER_NODE] = LAUNCH_PER_NODE,
        [MPI_MEANS_MAP_BY] = LAUNCH_PER_NODE,
        [MPI_MEANS_RECOVERY] = LAUNCH_OTHER,
    };
    const struct mpi_option *o = mpi_option_of(word, NULL);

    if (o)
        *ret = (struct found){o->n_args, meanings[o->meaning], o->meaning == MPI_MEANS_MAP_BY};
    return o;
}

/* Is the word an option that takes values? */
static bool option_of(enum family family, const char *word, struct found *ret)
{
    size_t dashes = strspn(word, "-"), n = strcspn(word, "=");

    if (family == FAMILY_MPI)
        return mpi_option(word, ret);
    if (dashes == 0 || dashes > 2 || n <= dashes)
        return false;
    for (size_t i = 0; i < ARRAY_SIZE(options); i++)
        if (options[i].family == family && same_name(options[i].name, word + dashes, n - dashes)) {
            *ret = (struct found){options[i].n_args, options[i].meaning, false};
            return true;
        }
    return false;
}

static bool launcher_of(const char *word, enum family *ret)
{
    const char *slash = strrchr(word, '/'), *name = slash ? slash + 1 : word;

    *ret = FAMILY_MPI;
    if (mpi_is_launcher(name))
        return true;
    for (size_t i = 0; i < ARRAY_SIZE(launchers); i++)
        if (!strcmp(name, launchers[i].name)) {
            *ret = launchers[i].family;
            return true;
        }
    return false;
}

/* --- scanning -----------------------------------------------------------------------------------
 */

struct scan {
    struct arena *a;
    const struct shell_word *words;
    size_t n;
    struct launch_number *found; /* room for one per word */
    size_t n_found;
};

static void add(struct scan *s, const struct found *o, enum family family, size_t option_word,
                size_t len, size_t word, size_t skip)
{
    const char *value = s->words[word].text + skip, *from = value, *post = "";
    struct launch_number *f = &s->found[s->n_found];

    *f = (struct launch_number){
        .meaning = o->meaning, .mpi = family == FAMILY_MPI, .word = word, .text = value};
    if (o->map_by) {
        from = mpi_ppr_count(value, &post);
        if (!from)
            return; /* a mapping without a number */
    }
    f->option = arena_strndup(s->a, s->words[option_word].text, len);
    f->pre = arena_strndup(s->a, s->words[word].text, (size_t)(from - s->words[word].text));
    f->post = post;

    const char *digits = arena_strndup(s->a, from, *post ? (size_t)(post - from) : strlen(from));
    uint32_t number;

    if (!s->words[word].plain || num_u32(digits, &number) < 0 || number == 0)
        f->value = -1;
    else
        f->value = number;
    s->n_found++;
}

/* Options from word i on; returns the first word that is none. */
static size_t scan_options(struct scan *s, size_t i, enum family family)
{
    uint32_t command = i ? s->words[i - 1].command : 0;

    while (i < s->n && s->words[i].command == command) {
        const char *word = s->words[i].text;
        size_t len = strcspn(word, "=");
        struct found o = {0};

        if (word[0] != '-')
            break;
        if (!option_of(family, word, &o)) {
            i++;
            continue;
        }
        if (word[len] == '=') {
            if (o.meaning != LAUNCH_OTHER)
                add(s, &o, family, i, len, i, len + 1);
        } else {
            if (o.meaning != LAUNCH_OTHER && i + 1 < s->n && s->words[i + 1].command == command)
                add(s, &o, family, i, len, i + 1, 0);
            i += o.n_args;
        }
        i++;
    }
    return i;
}

size_t launch_numbers(struct arena *a, const struct shell_word *words, size_t n, bool mpirun,
                      const struct launch_number **ret, bool *ret_mpirun)
{
    struct scan s = {
        .a = a, .words = words, .n = n, .found = ARENA_ARRAY(a, struct launch_number, n + 1)};
    size_t i = mpirun ? scan_options(&s, 0, FAMILY_MPI) : 0;
    bool called = mpirun;

    while (i < n) {
        enum family family;
        bool accelerate;

        if (!launcher_of(words[i].text, &family)) {
            i++;
            continue;
        }
        called = called || family == FAMILY_MPI;
        accelerate =
            family == FAMILY_ACCELERATE && i + 1 < n && !strcmp(words[i + 1].text, "launch");
        i = scan_options(&s, i + 1 + accelerate, family);
    }
    *ret = s.found;
    if (ret_mpirun)
        *ret_mpirun = called;
    return s.n_found;
}

const char *launch_renumber(struct arena *a, const struct launch_number *number, int64_t value)
{
    return arena_printf(a, "%s%lld%s", number->pre, (long long)value, number->post);
}
