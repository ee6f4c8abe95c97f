/* mpirun.c - see mpirun.h. Open MPI takes its long options with one dash or two. */
#include "dialect/mpirun.h"

#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/limits.h"
#include "base/num.h"

static bool is_option(const char *arg, const char *const *names, size_t n)
{
    if (*arg++ != '-')
        return false;
    arg += *arg == '-';
    for (size_t i = 0; i < n; i++) {
        if (strcmp(arg, names[i]) == 0)
            return true;
    }
    return false;
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

int32_t mpirun_slots(const char *const *args, size_t *ret_bad)
{
    static const char *const per_node[] = {"N", "npernode", "ppn", "perhost"};
    static const char *const map_by[] = {"map-by"};
    int32_t slots = 0;

    for (size_t i = 0; args && args[i]; i++) {
        bool by = is_option(args[i], map_by, ARRAY_SIZE(map_by));
        char count[16];
        const char *text = count;
        uint32_t n = 0;

        if (!by && !is_option(args[i], per_node, ARRAY_SIZE(per_node)))
            continue;
        *ret_bad = i;
        if (!args[i + 1])
            return -ENODATA;
        i++;
        if (!by)
            text = args[i];
        else if (!ppr_count(args[i], count, sizeof(count)))
            continue;
        *ret_bad = i;
        if (num_u32(text, &n) < 0 || n < 1 || n > LIMIT_SLOTS)
            return -EINVAL;
        slots = (int32_t)n;
    }
    return slots;
}

bool mpirun_recovers(const char *const *args)
{
    static const char *const names[] = {"enable-recovery"};

    for (; args && *args; args++) {
        if (is_option(*args, names, ARRAY_SIZE(names)))
            return true;
    }
    return false;
}
