/* hint_other.c - a rank that lost its peers says so, and often ends before the one that began it: Horovod's
 * ranks tell each other of an exception before the process that raised it has ended. See hint.h. */
#include <ctype.h>
#include <string.h>

#include "base/mem.h"
#include "job/hint.h"

static const char *const lost[] = {
    "Horovod has been shut down", "Connection closed by peer", /* gloo */
    "Connection reset by peer",   "Gloo connectFullMesh failed", "Broken pipe",
};

bool hint_lost_others(const char *const *tail)
{
    for (; tail && *tail; tail++)
        for (size_t i = 0; i < ARRAY_SIZE(lost); i++)
            if (strstr(*tail, lost[i]))
                return true;
    return false;
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
            found = *tail;
    return found;
}
