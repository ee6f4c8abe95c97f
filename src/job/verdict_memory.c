/* verdict_memory.c - what is known of memory when a process ended. Never more than that: in a group
 * that it shares with others, the kernel's counters do not say who was killed. */
#include <string.h>

#include "base/signame.h"
#include "job/verdict.h"

static void add_numbers(const struct ending *e, const char *before, struct strbuf *out)
{
    if (e->memory_limit > 0)
        strbuf_addf(out, "%slimit %lld MiB", before, (long long)(e->memory_limit >> 20));
    if (e->memory_limit > 0 && e->memory_peak > 0)
        strbuf_addf(out, ", peak %lld MiB", (long long)(e->memory_peak >> 20));
}

static bool is_group(const struct ending *e)
{
    return strcmp(e->memory_of, MEMORY_OF_MACHINE) != 0 &&
           strcmp(e->memory_of, MEMORY_OF_UNKNOWN) != 0;
}

void verdict_killer_nearby(const struct ending *e, struct strbuf *out)
{
    if (!*e->memory_of)
        return;
    strbuf_addstr(out, "; the kernel's out-of-memory killer was active at that time");
    if (is_group(e)) {
        strbuf_addf(out, " (control group %s", e->memory_of);
        add_numbers(e, ", ", out);
        strbuf_addch(out, ')');
    } else if (strcmp(e->memory_of, MEMORY_OF_MACHINE) == 0) {
        strbuf_addstr(out, " (the machine's memory)");
    }
}

void verdict_oom(const struct ending *e, struct strbuf *out)
{
    if (e->oom_nearby) {
        if (e->code >= 0)
            strbuf_addf(out, " exited with status %d (killed by SIGKILL)", e->code);
        else
            strbuf_addstr(out, " was killed by SIGKILL");
        verdict_killer_nearby(e, out);
        return;
    }
    strbuf_addstr(out, " ran out of memory");
    if (!*e->memory_of) {
        add_numbers(e, ": ", out);
    } else if (is_group(e)) {
        strbuf_addf(out, ": control group %s", e->memory_of);
        add_numbers(e, ", ", out);
    } else {
        strbuf_addstr(out, ": the machine's memory was used up, not the job's limit");
    }
}
