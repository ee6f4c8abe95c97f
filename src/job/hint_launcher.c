/* hint_launcher.c - torchrun and horovodrun start ranks themselves and end with a code of their
 * own; which rank was the first they write down. See hint.h.
 *
 *     Root Cause (first observed failure):            The first process to do so was:
 *     [0]:                                            Process name: 2
 *       rank      : 3 (local_rank: 1)                 Exit code: 7
 *       exitcode  : -9 (pid: 8)
 *
 * torchrun's is the first of those on its own host, so the words say whose word it is.
 */
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/signame.h"
#include "job/hint.h"

static const struct launcher {
    const char *name, *begins, *rank, *code;
} launchers[] = {
    {"torchrun", "Root Cause (first observed failure)", "rank", "exitcode"},
    {"horovodrun", "The first process to do so was", "Process name", "Exit code"},
};

/* The number of a line "  KEY   : NUMBER …". */
static bool number_of(const char *line, const char *key, long *ret)
{
    char *end;

    line += strspn(line, " ");
    if (strncmp(line, key, strlen(key)) != 0)
        return false;
    line += strlen(key);
    line += strspn(line, " ");
    if (*line != ':')
        return false;
    long n = strtol(line + 1, &end, 10);
    if (end == line + 1)
        return false;
    *ret = n;
    return true;
}

static bool find(const struct launcher *l, const char *const *tail, long *rank, long *code)
{
    bool begun = false, has_rank = false, has_code = false;

    for (; *tail; tail++) {
        if (strstr(*tail, l->begins)) {
            begun = true;
            has_rank = has_code = false;
        } else if (begun) {
            has_rank = has_rank || number_of(*tail, l->rank, rank);
            has_code = has_code || number_of(*tail, l->code, code);
        }
    }
    return has_rank && has_code && *rank >= 0;
}

bool hint_launcher(const char *const *tail, struct strbuf *out)
{
    long rank, code;

    for (size_t i = 0; tail && i < ARRAY_SIZE(launchers); i++) {
        if (!find(&launchers[i], tail, &rank, &code))
            continue;
        long signal = code < 0 ? -code : code - 128;
        strbuf_addf(out, "%s reports that rank %ld failed first, ", launchers[i].name, rank);
        if (signal > 0 && signal <= SIGSYS)
            strbuf_addf(out, "ended by %s", signal_name((int)signal));
        else
            strbuf_addf(out, "with exit code %ld", code);
        return true;
    }
    return false;
}
