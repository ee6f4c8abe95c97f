/* mpi_options.c - see mpi_options.h. */
#include "spec/mpi_options.h"

#include <string.h>

#include "base/cleanup.h"

#define ALL(name, n)                                                                               \
    {                                                                                              \
        name, n, MPI_MEANS_OTHER, MPI_OF_ALL                                                       \
    }
#define OPEN_MPI(name, n)                                                                          \
    {                                                                                              \
        name, n, MPI_MEANS_OTHER, MPI_OF_OPEN_MPI                                                  \
    }
#define HYDRA(name, n)                                                                             \
    {                                                                                              \
        name, n, MPI_MEANS_OTHER, MPI_OF_HYDRA                                                     \
    }
#define HOROVOD(name, n)                                                                           \
    {                                                                                              \
        name, n, MPI_MEANS_OTHER, MPI_OF_HOROVOD                                                   \
    }

static const struct mpi_option options[] = {
    {"np", 1, MPI_MEANS_TOTAL, MPI_OF_ALL},
    {"n", 1, MPI_MEANS_TOTAL, MPI_OF_ALL},
    {"c", 1, MPI_MEANS_TOTAL, MPI_OF_OPEN_MPI},
    {"num-proc", 1, MPI_MEANS_TOTAL, MPI_OF_HOROVOD},
    {"N", 1, MPI_MEANS_PER_NODE, MPI_OF_OPEN_MPI},
    {"npernode", 1, MPI_MEANS_PER_NODE, MPI_OF_OPEN_MPI},
    {"ppn", 1, MPI_MEANS_PER_NODE, MPI_OF_HYDRA},
    {"perhost", 1, MPI_MEANS_PER_NODE, MPI_OF_HYDRA},
    {"slots-per-host", 1, MPI_MEANS_PER_NODE, MPI_OF_HOROVOD},
    {"slots", 1, MPI_MEANS_PER_NODE, MPI_OF_HOROVOD},
    {"pernode", 0, MPI_MEANS_ONE_PER_NODE, MPI_OF_OPEN_MPI},
    {"map-by", 1, MPI_MEANS_MAP_BY, MPI_OF_ALL},
    {"x", 1, MPI_MEANS_EXPORT, MPI_OF_OPEN_MPI},
    {"mca", 2, MPI_MEANS_PARAMETER, MPI_OF_OPEN_MPI},
    {"gmca", 2, MPI_MEANS_PARAMETER, MPI_OF_OPEN_MPI},
    {"prtemca", 2, MPI_MEANS_PARAMETER, MPI_OF_OPEN_MPI},
    {"pmixmca", 2, MPI_MEANS_PARAMETER, MPI_OF_OPEN_MPI},
    {"enable-recovery", 0, MPI_MEANS_RECOVERY, MPI_OF_OPEN_MPI},
    {"max-restarts", 1, MPI_MEANS_RECOVERY, MPI_OF_OPEN_MPI},

    ALL("bind-to", 1),
    ALL("H", 1),
    ALL("host", 1),
    ALL("hostfile", 1),
    ALL("hosts", 1),
    ALL("machinefile", 1),
    ALL("path", 1),
    ALL("wd", 1),
    ALL("wdir", 1),

    OPEN_MPI("allow-run-as-root", 0),
    OPEN_MPI("am", 1),
    OPEN_MPI("app", 1),
    OPEN_MPI("bynode", 0),
    OPEN_MPI("byslot", 0),
    OPEN_MPI("cartofile", 1),
    OPEN_MPI("cf", 1),
    OPEN_MPI("cpu-list", 1),
    OPEN_MPI("cpu-set", 1),
    OPEN_MPI("cpus-per-proc", 1),
    OPEN_MPI("cpus-per-rank", 1),
    OPEN_MPI("debugger", 1),
    OPEN_MPI("default-hostfile", 1),
    OPEN_MPI("display", 1),
    OPEN_MPI("display-allocation", 0),
    OPEN_MPI("display-map", 0),
    OPEN_MPI("hnp", 1),
    OPEN_MPI("launch-agent", 1),
    OPEN_MPI("max-vm-size", 1),
    OPEN_MPI("nooversubscribe", 0),
    OPEN_MPI("noprefix", 0),
    OPEN_MPI("npersocket", 1),
    OPEN_MPI("ompi-server", 1),
    OPEN_MPI("output", 1),
    OPEN_MPI("output-filename", 1),
    OPEN_MPI("oversubscribe", 0),
    OPEN_MPI("personality", 1),
    OPEN_MPI("ppr", 1),
    OPEN_MPI("prefix", 1),
    OPEN_MPI("preload-files", 1),
    OPEN_MPI("rank-by", 1),
    OPEN_MPI("rankfile", 1),
    OPEN_MPI("report-bindings", 0),
    OPEN_MPI("report-events", 1),
    OPEN_MPI("report-pid", 1),
    OPEN_MPI("report-uri", 1),
    OPEN_MPI("rf", 1),
    OPEN_MPI("runtime-options", 1),
    OPEN_MPI("stdin", 1),
    OPEN_MPI("tag-output", 0),
    OPEN_MPI("timeout", 1),
    OPEN_MPI("timestamp-output", 0),
    OPEN_MPI("tune", 1),
    OPEN_MPI("xml-file", 1),
    OPEN_MPI("xterm", 1),

    HYDRA("bootstrap", 1),
    HYDRA("bootstrap-exec", 1),
    HYDRA("configfile", 1),
    HYDRA("demux", 1),
    HYDRA("env", 2),
    HYDRA("envlist", 1),
    HYDRA("errfile-pattern", 1),
    HYDRA("f", 1),
    HYDRA("genv", 2),
    HYDRA("genvlist", 1),
    HYDRA("gpus-per-proc", 1),
    HYDRA("grr", 1),
    HYDRA("iface", 1),
    HYDRA("launcher", 1),
    HYDRA("launcher-exec", 1),
    HYDRA("localhost", 1),
    HYDRA("membind", 1),
    HYDRA("nameserver", 1),
    HYDRA("order-nodes", 1),
    HYDRA("outfile-pattern", 1),
    HYDRA("prepend-pattern", 1),
    HYDRA("rmk", 1),
    HYDRA("rr-count", 1),
    HYDRA("topolib", 1),
    HYDRA("usize", 1),

    HOROVOD("autotune-log-file", 1),
    HOROVOD("binding-args", 1),
    HOROVOD("cache-capacity", 1),
    HOROVOD("config-file", 1),
    HOROVOD("cycle-time-ms", 1),
    HOROVOD("elastic-timeout", 1),
    HOROVOD("fusion-threshold-mb", 1),
    HOROVOD("gloo-timeout-seconds", 1),
    HOROVOD("host-discovery-script", 1),
    HOROVOD("i", 1),
    HOROVOD("log-level", 1),
    HOROVOD("max-np", 1),
    HOROVOD("max-num-proc", 1),
    HOROVOD("min-np", 1),
    HOROVOD("min-num-proc", 1),
    HOROVOD("mpi-args", 1),
    HOROVOD("network-interface", 1),
    HOROVOD("network-interfaces", 1),
    HOROVOD("num-nccl-streams", 1),
    HOROVOD("p", 1),
    HOROVOD("reset-limit", 1),
    HOROVOD("ssh-identity-file", 1),
    HOROVOD("ssh-port", 1),
    HOROVOD("start-timeout", 1),
    HOROVOD("thread-affinity", 1),
    HOROVOD("timeline-filename", 1),
};

const struct mpi_option *mpi_option_of(const char *word, const char **ret_value)
{
    size_t dashes = strspn(word, "-"), n = strcspn(word, "=");

    if (ret_value)
        *ret_value = word[n] ? word + n + 1 : NULL;
    if (dashes == 0 || dashes > 2 || n <= dashes)
        return NULL;
    for (size_t i = 0; i < ARRAY_SIZE(options); i++)
        if (strlen(options[i].name) == n - dashes &&
            memcmp(options[i].name, word + dashes, n - dashes) == 0)
            return &options[i];
    return NULL;
}

size_t mpi_option_values(const char *word, const char *next)
{
    const char *value;
    const struct mpi_option *o = mpi_option_of(word, &value);

    if (!o || value)
        return 0;
    if (next && strchr(next, '=') && (!strcmp(o->name, "env") || !strcmp(o->name, "genv")))
        return 1;
    return o->n_args;
}

size_t mpi_option_words(const char *const *args)
{
    size_t n = 1 + mpi_option_values(args[0], args[1]), k = 1;

    while (k < n && args[k])
        k++;
    return k;
}

bool mpi_is_launcher(const char *program)
{
    static const char *const any[] = {"mpirun", "mpiexec"}; /* mpirun.openmpi, mpiexec.hydra */
    static const char *const others[] = {"orterun", "prterun", "horovodrun"};
    const char *slash = strrchr(program, '/'), *name = slash ? slash + 1 : program;

    for (size_t i = 0; i < ARRAY_SIZE(any); i++) {
        size_t n = strlen(any[i]);

        if (strncmp(name, any[i], n) == 0 && (name[n] == '\0' || name[n] == '.'))
            return true;
    }
    for (size_t i = 0; i < ARRAY_SIZE(others); i++)
        if (strcmp(name, others[i]) == 0)
            return true;
    return false;
}

const char *mpi_ppr_count(const char *map_by, const char **ret_end)
{
    const char *end = strncmp(map_by, "ppr:", 4) == 0 ? strchr(map_by + 4, ':') : NULL;

    if (!end || strncmp(end, ":node", 5) != 0 || (end[5] && end[5] != ':'))
        return NULL;
    *ret_end = end;
    return map_by + 4;
}
