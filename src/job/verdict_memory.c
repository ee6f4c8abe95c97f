/* verdict_memory.c - what is known of memory when a process ended. Never more than that: in a group
 * that it shares with others, the kernel's counters do not say who was killed. */
#include <string.h>

#include "base/cleanup.h"
#include "base/mem.h"
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
        if (e->code >= 0) /* a shell's word for a command of its, or its own number */
            strbuf_addf(out, " exited with status %d (128 + SIGKILL)", e->code);
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

static void add_killed(const struct ending *e, struct strbuf *out)
{
    strbuf_addstr(out, " killed: out of memory");
    if (is_group(e) && *e->memory_of)
        strbuf_addf(out, ", control group %s", e->memory_of);
    else if (*e->memory_of)
        strbuf_addstr(out, " (the machine's, not the job's limit)");
    add_numbers(e, ", ", out);
}

void verdict_killed_inside(const struct job *job, const struct cause *c, struct strbuf *out)
{
    int32_t in = (int32_t)c->end.oom_in - 1;
    struct ending e = c->end;

    e.memory_peak = -1; /* that of another moment */
    strbuf_addf(out, " (a process in %s was",
                in == c->replica && c->rank < 0 ? "it" : job->plan->replicas[in].name);
    add_killed(&e, out);
    strbuf_addch(out, ')');
}

/* --- killed, and nobody failed because of it --------------------------------------------------
 */

struct victims {
    const struct job *job;
    const struct ending *first;
    uint32_t n;
    bool *seen; /* plan->n_replicas */
};

/* Does the cause tell of it? */
static bool is_told(const struct job *job, uint32_t replica)
{
    const struct cause *c = &job->cause;

    return c->kind != CAUSE_NONE &&
           (c->end.oom_in == replica + 1 || (c->end.oom && c->replica == (int32_t)replica));
}

static void add_victim(struct victims *v, const struct ending *e)
{
    uint32_t replica = e->oom_in - 1; /* 0 becomes no replica's number */

    if (replica >= v->job->plan->n_replicas || v->seen[replica] || is_told(v->job, replica))
        return;
    v->seen[replica] = true;
    v->first = v->n++ ? v->first : e;
}

static void find_victims(struct victims *v)
{
    const struct job *job = v->job;

    for (uint32_t i = 0; i < job->plan->n_processes; i++)
        if (job->procs[i].state == PROC_ENDED)
            add_victim(v, &job->procs[i].end);
    for (uint32_t k = 0; k < job->n_launches; k++)
        for (uint32_t r = 0; r < job->launches[k].size; r++)
            if (job->launches[k].ranks[r].state == PROC_ENDED)
                add_victim(v, &job->launches[k].ranks[r].end);
}

void verdict_killed(const struct job *job, struct strbuf *out)
{
    auto_free bool *seen = xcalloc(job->plan->n_replicas, sizeof(*seen));
    struct victims v = {.job = job, .seen = seen};

    find_victims(&v);
    if (v.n == 0)
        return;
    struct ending e = *v.first;
    const char *name = job->plan->replicas[e.oom_in - 1].name;
    e.memory_peak = -1;
    if (v.n == 1)
        strbuf_addf(out, "; a process in %s was", name);
    else
        strbuf_addf(out, "; processes in %s and %u more replica%s were", name, v.n - 1,
                    v.n == 2 ? "" : "s");
    add_killed(&e, out);
}
