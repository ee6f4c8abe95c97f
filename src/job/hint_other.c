/* hint_other.c - a rank that lost its peers says so, and often ends before the one that began it:
 * Horovod's ranks tell each other of an exception before the process that raised it has ended. See
 * hint.h. */
#include <ctype.h>
#include <string.h>

#include "base/mem.h"
#include "job/hint.h"

static const char *const lost[] = {
    "Horovod has been shut down",
    "Connection closed by peer", /* gloo */
    "Connection reset by peer",
    "Gloo connectFullMesh failed",
    "Broken pipe",
    "recvVector failed",
    "monitoredBarrier", /* torch */
    "ncclRemoteError",
    "remote process exited", /* NCCL, of its source */
};

bool hint_lost_others(const char *const *tail)
{
    for (; tail && *tail; tail++)
        for (size_t i = 0; i < ARRAY_SIZE(lost); i++)
            if (strstr(*tail, lost[i]))
                return true;
    return false;
}

/* "ConnectionResetError", "lost connection to peer 3", "Socket closed": a thing, and what became of
 * it. */
static const char *const things[] = {"connection", "peer", "socket", "remote", "pipe",
                                     "endpoint",   "rank", "worker", "store",  "neighbor"};
static const char *const losses[] = {
    "closed",     "reset",      "lost",          "aborted",   "refuse",
    "broken",     "disconnect", "not connected", "shut down", "shutdown",
    "terminated", "gone",       "exited",        "timed out", "timeout",
};
static const char *const sayings[] = {
    "EOFError",           "unexpected EOF",    "IncompleteReadError", "got 0 bytes",
    "collective timeout", "watchdog",          "operation timeout",   "Timed out waiting",
    "ncclSystemError",    "ncclInternalError", "UNAVAILABLE",         "No route to host",
    "failed to recv",     "DistNetworkError",
};

static bool has_one(const char *line, const char *const *words, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (strcasestr(line, words[i]))
            return true;
    return false;
}

static bool is_loss(const char *line)
{
    return has_one(line, lost, ARRAY_SIZE(lost)) || has_one(line, sayings, ARRAY_SIZE(sayings)) ||
           (has_one(line, things, ARRAY_SIZE(things)) && has_one(line, losses, ARRAY_SIZE(losses)));
}

/* Of a service outside the job, or of an address where nobody has listened: no peer that left. */
static bool is_foreign(const char *line)
{
    static const char *const words[] = {"refused", "wandb", "http", "://", "mlflow", "s3."};

    return has_one(line, words, ARRAY_SIZE(words));
}

bool hint_is_of_framework(const char *line)
{
    static const char *const words[] = {
        "gloo",
        "nccl",
        "c10d",
        "DistNetworkError",
        "DistBackendError",
        "TCPStore",
        "store->",
        "MPI_",
        "Connection closed by peer",
        "collective",
        "recvVector",
        "ProcessGroup",
        "/job:",
        "monitoredBarrier",
        "coordination service",
        "Horovod",
        "remote process exited",
    };

    return has_one(line, words, ARRAY_SIZE(words));
}

const char *hint_lost_peer(const char *const *tail)
{
    const char *found = NULL;

    for (; tail && *tail; tail++)
        if (is_loss(*tail) && !is_foreign(*tail))
            found = *tail;
    return found;
}

static bool ends_with(const char *text, size_t n, const char *end)
{
    size_t k = strlen(end);

    return n >= k && strncmp(text + n - k, end, k) == 0;
}

/* "RuntimeError: words", "torch.cuda.OutOfMemoryError": a name with dots, that says what it is. */
static bool is_exception(const char *line)
{
    size_t n = 0;

    while (isalnum((unsigned char)line[n]) || line[n] == '_' || line[n] == '.')
        n++;
    return (line[n] == ':' || line[n] == '\0') &&
           (ends_with(line, n, "Error") || ends_with(line, n, "Exception"));
}

const char *hint_exception(const char *const *tail)
{
    const char *found = NULL;

    if (hint_lost_others(tail))
        return NULL;
    for (; tail && *tail; tail++)
        if (is_exception(*tail))
            found = is_loss(*tail) ? NULL : *tail;
    return found;
}
