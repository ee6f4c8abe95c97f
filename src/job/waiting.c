/* waiting.c - what replicas wait for, in words: those of a role that wait for the same are counted,
 * because hundreds of them do. */
#include <string.h>

#include "base/strbuf.h"
#include "job/job.h"

static bool same_reason(const struct wait_reason *a, const struct wait_reason *b)
{
    return strcmp(a->what, b->what) == 0 && a->needs == b->needs && a->free == b->free;
}

/* How many of its role wait for the same; 0 if one before it does, which is where they are told. */
static uint32_t count_alike(const struct job *job, uint32_t replica)
{
    const struct wait_reason *w = job_waiting(job, replica), *other;
    uint32_t n = 0;

    for (uint32_t i = 0; w && i < job->plan->n_replicas; i++) {
        other = job_waiting(job, i);
        if (!other || job->plan->replicas[i].role != job->plan->replicas[replica].role ||
            !same_reason(w, other))
            continue;
        if (i < replica)
            return 0;
        n++;
    }
    return n;
}

void waiting_summary(const struct job *job, struct strbuf *out)
{
    const struct wait_reason *of_job = job_waiting(job, WAITING_JOB);
    const char *separator = "";

    if (of_job) {
        waiting_text(of_job, out);
        separator = "; ";
    }
    for (uint32_t i = 0; job->waiting && i < job->plan->n_replicas; i++) {
        const struct replica *r = &job->plan->replicas[i];
        uint32_t n = count_alike(job, i);

        if (n == 0)
            continue;
        strbuf_addstr(out, separator);
        if (r->role->replicas > 1)
            strbuf_addf(out, "%u of %d %ss", n, r->role->replicas, r->role->name);
        else
            strbuf_addstr(out, r->name);
        strbuf_addstr(out, " pending: ");
        waiting_text(job_waiting(job, i), out);
        separator = "; ";
    }
}

void waiting_text(const struct wait_reason *w, struct strbuf *out)
{
    if (w->needs > 0)
        strbuf_addf(out, "needs %lld ", (long long)w->needs);
    strbuf_add_escaped(out, w->what, strlen(w->what));
    if (w->needs > 0 && w->free >= 0)
        strbuf_addf(out, ", %lld free", (long long)w->free);
    if (w->ahead > 0)
        strbuf_addf(out, "; ahead: %u job%s", w->ahead, w->ahead == 1 ? "" : "s");
}
