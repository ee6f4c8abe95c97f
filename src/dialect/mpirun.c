/* mpirun.c - see mpirun.h.
 *
 * Where mpirun's own options end can only be told by knowing which of them take values: the table has
 * all those of Open MPI, Hydra and horovodrun; any other option counts as a flag. */
#include "dialect/mpirun.h"

#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/limits.h"
#include "base/num.h"
#include "dialect/shell_call.h"

enum meaning { MEANS_OTHER, MEANS_TOTAL, MEANS_PER_NODE, MEANS_MAP_BY, MEANS_ONE_PER_NODE };

static const struct option {
    const char *name; /* without its dashes: Open MPI takes its long options with one or two */
    size_t n_args;
    enum meaning meaning;
} options[] = {
    {"np", 1, MEANS_TOTAL},
    {"n", 1, MEANS_TOTAL},
    {"c", 1, MEANS_TOTAL},
    {"num-proc", 1, MEANS_TOTAL},
    {"N", 1, MEANS_PER_NODE},
    {"npernode", 1, MEANS_PER_NODE},
    {"ppn", 1, MEANS_PER_NODE},
    {"perhost", 1, MEANS_PER_NODE},
    {"slots-per-host", 1, MEANS_PER_NODE},
    {"slots", 1, MEANS_PER_NODE},
    {"pernode", 0, MEANS_ONE_PER_NODE},
    {"map-by", 1, MEANS_MAP_BY},
};

/* Options that say nothing here but take the next word, or the next two. */
static const char *const one_value[] = {
    /* Open MPI */
    "am",
    "app",
    "bind-to",
    "cf",
    "cartofile",
    "cpu-list",
    "cpu-set",
    "cpus-per-proc",
    "cpus-per-rank",
    "debugger",
    "default-hostfile",
    "H",
    "host",
    "hnp",
    "hostfile",
    "launch-agent",
    "machinefile",
    "max-restarts",
    "max-vm-size",
    "npersocket",
    "ompi-server",
    "output-filename",
    "output",
    "path",
    "personality",
    "ppr",
    "prefix",
    "preload-files",
    "rank-by",
    "report-events",
    "report-pid",
    "report-uri",
    "rf",
    "rankfile",
    "runtime-options",
    "stdin",
    "timeout",
    "tune",
    "wd",
    "wdir",
    "x",
    "xml-file",
    "xterm",
    "display",
    /* Hydra and Intel */
    "genvlist",
    "envlist",
    "f",
    "hosts",
    "configfile",
    "launcher",
    "launcher-exec",
    "rmk",
    "topolib",
    "membind",
    "demux",
    "iface",
    "prepend-pattern",
    "outfile-pattern",
    "errfile-pattern",
    "nameserver",
    "order-nodes",
    "localhost",
    "usize",
    "gpus-per-proc",
    "bootstrap",
    "bootstrap-exec",
    "rr-count",
    "grr",
    /* horovodrun */
    "p",
    "ssh-port",
    "i",
    "ssh-identity-file",
    "network-interface",
    "network-interfaces",
    "start-timeout",
    "config-file",
    "fusion-threshold-mb",
    "cycle-time-ms",
    "cache-capacity",
    "timeline-filename",
    "autotune-log-file",
    "min-np",
    "min-num-proc",
    "max-np",
    "max-num-proc",
    "host-discovery-script",
    "reset-limit",
    "elastic-timeout",
    "mpi-args",
    "log-level",
    "num-nccl-streams",
    "thread-affinity",
    "gloo-timeout-seconds",
    "binding-args",
};
static const char *const two_values[] = {"mca", "gmca", "prtemca", "pmixmca", "genv", "env"};

static bool among(const char *name, size_t len, const char *const *names, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (strlen(names[i]) == len && strncmp(names[i], name, len) == 0)
            return true;
    }
    return false;
}

/* The option that arg is. *ret_value is what stands behind its `=`, or NULL. */
static struct option option_of(const char *arg, const char **ret_value)
{
    const char *name = arg + (arg[0] == '-') + (arg[0] == '-' && arg[1] == '-');
    const char *equals = strchr(name, '=');
    size_t len = equals ? (size_t)(equals - name) : strlen(name);
    struct option o = {.name = NULL};

    *ret_value = equals ? equals + 1 : NULL;
    if (arg[0] != '-')
        return o;
    for (size_t i = 0; i < ARRAY_SIZE(options); i++) {
        if (strlen(options[i].name) == len && strncmp(options[i].name, name, len) == 0)
            o = options[i];
    }
    if (among(name, len, one_value, ARRAY_SIZE(one_value)))
        o.n_args = 1;
    if (among(name, len, two_values, ARRAY_SIZE(two_values)))
        o.n_args = 2;
    if (equals)
        o.n_args = 0;
    return o;
}

/* "ppr:3:node" and "ppr:3:node:PE=2" have a count; other mappings say nothing about it. */
static bool ppr_count(const char *map_by, char *out, size_t size)
{
    const char *count = map_by + 4, *colon;

    if (strncmp(map_by, "ppr:", 4) != 0 || !(colon = strchr(count, ':')))
        return false;
    if (strncmp(colon, ":node", 5) != 0 || (colon[5] && colon[5] != ':'))
        return false;
    if ((size_t)(colon - count) >= size)
        count = colon; /* no number has so many digits */
    memcpy(out, count, (size_t)(colon - count));
    out[colon - count] = '\0';
    return true;
}

static bool read_count(const char *text, uint32_t max, int32_t *ret)
{
    uint32_t n = 0;

    if (num_u32(text, &n) < 0 || n < 1 || n > max)
        return false;
    *ret = (int32_t)n;
    return true;
}

/* Processes per node by that option and its value; 0 if it says nothing about it. */
static int32_t per_node(const struct option *o, const char *value)
{
    int32_t n = 0;
    char count[16];

    if (o->meaning == MEANS_MAP_BY) {
        if (!ppr_count(value, count, sizeof(count)))
            return 0;
        value = count;
    }
    return read_count(value, LIMIT_SLOTS, &n) ? n : -EINVAL;
}

int32_t mpirun_slots(const char *const *args, size_t *ret_bad)
{
    int32_t slots = 0;

    for (size_t i = 0; args && args[i]; i++) {
        const char *value;
        struct option o = option_of(args[i], &value);
        int32_t n;

        if (o.meaning == MEANS_ONE_PER_NODE)
            slots = 1;
        if (o.meaning != MEANS_PER_NODE && o.meaning != MEANS_MAP_BY)
            continue;
        *ret_bad = i;
        if (!value) {
            value = args[i + 1];
            if (!value)
                return -ENODATA;
            *ret_bad = ++i;
        }
        n = per_node(&o, value);
        if (n < 0)
            return n;
        if (n > 0)
            slots = n;
    }
    return slots;
}

bool mpirun_recovers(const char *const *args)
{
    for (; args && *args; args++) {
        if (strcmp(*args, "-enable-recovery") == 0 || strcmp(*args, "--enable-recovery") == 0)
            return true;
    }
    return false;
}

/* --- in shell text -------------------------------------------------------------------------- */

static bool is_mpirun(const char *program)
{
    static const char *const names[] = {"mpirun", "mpiexec"}; /* mpirun.openmpi, mpiexec.hydra */
    static const char *const others[] = {"orterun", "prterun", "horovodrun"};

    for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
        size_t n = strlen(names[i]);

        if (strncmp(program, names[i], n) == 0 && (program[n] == '\0' || program[n] == '.'))
            return true;
    }
    return among(program, strlen(program), others, ARRAY_SIZE(others));
}

static void take_option(const struct option *o, const char *value, struct mpirun_call *c)
{
    int32_t n = 0;

    if (o->meaning == MEANS_ONE_PER_NODE)
        c->per_node = 1;
    if (!value)
        return;
    if (o->meaning == MEANS_TOTAL && read_count(value, INT32_MAX, &n))
        c->np = n;
    if (o->meaning == MEANS_PER_NODE || o->meaning == MEANS_MAP_BY) {
        n = per_node(o, value);
        if (n > 0)
            c->per_node = n;
    }
}

/* The options from words[i] up to the program; gives the index of the latter. */
static size_t take_options(const struct shell_call *call, size_t i, struct mpirun_call *ret)
{
    while (i < call->n && call->words[i].text[0] == '-') {
        const char *value;
        struct option o = option_of(call->words[i].text, &value);

        if (o.n_args == 1 && i + 1 < call->n && call->words[i + 1].plain)
            value = call->words[i + 1].text;
        if (call->words[i].plain)
            take_option(&o, value, ret);
        i += 1 + o.n_args;
    }
    return i;
}

static void read_call(const struct shell_call *call, struct mpirun_call *ret)
{
    size_t i = 1;
    int64_t total = 0;
    bool known = true;

    while (i < call->n) { /* the parts of `mpirun -n 1 a : -n 3 b` */
        struct mpirun_call part = {0};

        i = take_options(call, i, &part);
        total += part.np;
        known = known && part.np > 0;
        if (part.per_node > ret->per_node)
            ret->per_node = part.per_node;
        while (i < call->n && !(call->words[i].plain && strcmp(call->words[i].text, ":") == 0))
            i++;
        i++;
    }
    if (known && total > ret->np && total <= INT32_MAX)
        ret->np = (int32_t)total;
}

static bool read_text(struct arena *a, const char *text, int depth, struct mpirun_call *ret)
{
    enum { DEPTH = 3 }; /* sh -c within sh -c */
    const struct shell_word *words;
    size_t n = shell_words(a, text, &words), at = 0;
    struct shell_call call;
    bool found = false;

    while (shell_call_next(words, n, &at, &call)) {
        const char *script = depth < DEPTH ? shell_call_script(&call) : NULL;

        if (is_mpirun(call.program)) {
            if (!ret->program)
                ret->program = call.program;
            read_call(&call, ret);
            found = true;
        } else if (script) {
            found = read_text(a, script, depth + 1, ret) || found;
        }
    }
    return found;
}

bool mpirun_in_shell(struct arena *a, const char *text, struct mpirun_call *ret)
{
    *ret = (struct mpirun_call){0};
    return read_text(a, text, 0, ret);
}
