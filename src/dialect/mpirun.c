/* mpirun.c - see mpirun.h. */
#include "dialect/mpirun.h"

#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/limits.h"
#include "base/num.h"
#include "dialect/shell_call.h"
#include "spec/mpi_options.h"

static bool read_count(const char *text, uint32_t max, int32_t *ret)
{
    uint32_t n = 0;

    if (num_u32(text, &n) < 0 || n < 1 || n > max)
        return false;
    *ret = (int32_t)n;
    return true;
}

/* Processes per node by that option and its value; 0 if it says nothing about it. */
static int32_t per_node(const struct mpi_option *o, const char *value)
{
    const char *number = value, *end = value + strlen(value);
    char count[16] = "";
    int32_t n = 0;

    if (o->meaning == MPI_MEANS_MAP_BY && !(number = mpi_ppr_count(value, &end)))
        return 0;
    if ((size_t)(end - number) < sizeof(count)) /* else it is too large for any */
        memcpy(count, number, (size_t)(end - number));
    return read_count(count, LIMIT_SLOTS, &n) ? n : -EINVAL;
}

int32_t mpirun_slots(const char *const *args, size_t *ret_bad)
{
    int32_t slots = 0;

    for (size_t i = 0; args && args[i]; i++) {
        const char *value;
        const struct mpi_option *o = mpi_option_of(args[i], &value);
        int32_t n;

        if (!o)
            continue;
        if (o->meaning == MPI_MEANS_ONE_PER_NODE)
            slots = 1;
        if (o->meaning != MPI_MEANS_PER_NODE && o->meaning != MPI_MEANS_MAP_BY)
            continue;
        *ret_bad = i;
        if (!value) {
            value = args[i + 1];
            if (!value)
                return -ENODATA;
            *ret_bad = ++i;
        }
        n = per_node(o, value);
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

static void take_option(const struct mpi_option *o, const char *value, struct mpirun_call *c)
{
    int32_t n = 0;

    if (o->meaning == MPI_MEANS_ONE_PER_NODE)
        c->per_node = 1;
    if (!value)
        return;
    if (o->meaning == MPI_MEANS_TOTAL && read_count(value, INT32_MAX, &n))
        c->np = n;
    if (o->meaning == MPI_MEANS_PER_NODE || o->meaning == MPI_MEANS_MAP_BY) {
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
        const struct mpi_option *o = mpi_option_of(call->words[i].text, &value);
        size_t n = mpi_option_values(call->words[i].text,
                                     i + 1 < call->n ? call->words[i + 1].text : NULL);

        if (n == 1 && i + 1 < call->n && call->words[i + 1].plain)
            value = call->words[i + 1].text;
        if (o && call->words[i].plain)
            take_option(o, value, ret);
        i += 1 + n;
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

        if (mpi_is_launcher(call.program)) {
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
