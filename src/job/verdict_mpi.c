/* verdict_mpi.c - see verdict_mpi.h. */
#include "job/verdict_mpi.h"

#include <signal.h>
#include <string.h>

#include "base/signame.h"
#include "job/tries.h"
#include "job/verdict.h"

static const char *plural(uint32_t n)
{
    return n == 1 ? "" : "s";
}

static void add_no_ranks(int code, bool unwatched, struct strbuf *out)
{
    strbuf_addf(out, "mpirun exited with status %d", code);
    if (!unwatched)
        strbuf_addstr(out, " without starting a rank");
}

/* The same of a launch, which may have lost a daemon. */
static void add_without_ranks(const struct job *job, const struct launch *l, struct strbuf *out)
{
    if (l->blame.kind == BLAME_NONE)
        add_no_ranks(l->code, l->unwatched, out);
    else
        strbuf_addf(out, "%s lost its MPI daemon", job->plan->replicas[l->blame.replica].name);
}

bool verdict_no_ranks(const struct cause *c, struct strbuf *out)
{
    if (c->blame == BLAME_NOTHING)
        add_no_ranks(c->end.code, c->end.unobserved, out);
    return c->blame == BLAME_NOTHING;
}

/* Did mpirun hand its signal on to ranks, which ended by it? */
static bool is_passed_on(const struct launch *l)
{
    int sig = l->blame.kind == BLAME_SIGNAL ? l->blame.end.signal : 0;

    for (uint32_t i = 0; (sig == SIGUSR1 || sig == SIGUSR2) && i < l->size; i++)
        if (l->ranks[i].state == PROC_ENDED && l->ranks[i].end.signal == sig)
            return true;
    return false;
}

/* "mpirun was ended by SIGTERM and stopped 2 ranks" */
static void add_mpirun_blame(const struct launch *l, uint32_t stopped, struct strbuf *out)
{
    const struct blame *b = &l->blame;

    strbuf_addstr(out, "mpirun ");
    if (is_passed_on(l))
        strbuf_addf(out, "received %s and passed it on, which ended ", signal_name(b->end.signal));
    else if (b->kind == BLAME_SIGNAL)
        strbuf_addf(out, "was ended by %s and stopped ", signal_name(b->end.signal));
    else if (b->kind == BLAME_TIMEOUT)
        strbuf_addstr(out, "reached its own time limit and stopped ");
    else
        strbuf_addstr(out, "stopped ");
    strbuf_addf(out, "%u rank%s", stopped, plural(stopped));
}

static uint32_t unfinished(const struct launch *l)
{
    uint32_t n = 0;

    for (uint32_t i = 0; l->ranks && i < l->size; i++)
        n += !(l->ranks[i].state == PROC_ENDED && ending_ok(&l->ranks[i].end));
    return n;
}

static void add_try(const struct job *job, uint32_t k, struct strbuf *out)
{
    const struct launch *l = &job->launches[k];
    const struct rank *r = l->first_failed >= 0 ? &l->ranks[l->first_failed] : NULL;

    if (l->size == 0) {
        add_without_ranks(job, l, out);
    } else if (!r) {
        add_mpirun_blame(l, unfinished(l), out);
    } else {
        strbuf_addf(out, "rank %d on %s ", l->first_failed, job->plan->replicas[r->replica].name);
        if (r->end.oom)
            strbuf_addstr(out, "ran out of memory");
        else if (r->end.signal)
            strbuf_addf(out, "was killed by %s", signal_name(r->end.signal));
        else
            strbuf_addf(out, "exited with status %d", r->end.code);
    }
}

void verdict_earlier(const struct job *job, struct strbuf *out)
{
    int32_t first = -1;
    uint32_t n = 0;

    for (uint32_t k = job->launch_base; k < job->n_launches; k++)
        if (launch_failed_at(&job->launches[k]) && launch_tried_again(job, k)) {
            first = first < 0 ? (int32_t)k : first;
            n++;
        }
    if (n == 0)
        return;
    if (n == 1)
        strbuf_addstr(out, "; an earlier mpirun failed: ");
    else
        strbuf_addf(out, "; %u earlier mpiruns failed, first: ", n);
    add_try(job, (uint32_t)first, out);
}

void verdict_ranks(const struct job *job, const struct cause *c, struct strbuf *out)
{
    uint32_t left = job_ranks_left(job), stopped = job_ranks_unfinished(job);
    bool is_launcher = c->process >= 0 && c->process == job->plan->launcher;

    if (stopped > 0 && (c->blame == BLAME_SIGNAL || c->blame == BLAME_TIMEOUT))
        return; /* verdict_mpirun() */
    if (left > 0)
        strbuf_addf(out, " while %u rank%s %s running", left, plural(left),
                    left == 1 ? "was" : "were");
    else if (is_launcher && *c->end.left)
        strbuf_addf(out, " while %s was running", c->end.left);
    else if (stopped > 0)
        strbuf_addf(out, "; mpirun stopped %u rank%s that had not ended", stopped, plural(stopped));
}

void verdict_mpirun(const struct job *job, const struct cause *c, struct strbuf *out)
{
    uint32_t stopped =
        c->blame == BLAME_SIGNAL || c->blame == BLAME_TIMEOUT ? job_ranks_unfinished(job) : 0;

    if (stopped == 0)
        return;
    add_mpirun_blame(job_judged(job), stopped, out);
    strbuf_addstr(out, "; ");
}

bool verdict_blame(const struct cause *c, struct strbuf *out)
{
    switch (c->blame) {
    case BLAME_ABORT:
        strbuf_addf(out, " called MPI_Abort with code %d", c->end.code);
        return true;
    case BLAME_ERROR:
        strbuf_addf(out, " was ended by an MPI error (exit status %d)", c->end.code & 0xff);
        return true;
    case BLAME_EARLY:
        strbuf_addstr(out, " exited with status 0 while other ranks were running, and mpirun "
                           "stopped them");
        return true;
    case BLAME_AGENT:
        strbuf_addstr(out, " lost its MPI daemon: the rsh agent of mpirun was killed");
        return true;
    case BLAME_DAEMON:
        strbuf_addstr(out, " lost its MPI daemon");
        if (c->end.signal)
            strbuf_addf(out, " (killed by %s)", signal_name(c->end.signal));
        else if (c->end.known)
            strbuf_addf(out, " (exit status %d)", c->end.code);
        return true;
    default:
        return false;
    }
}

bool verdict_trusted(const struct job *job, struct strbuf *out)
{
    int32_t judged = job_judged_launch(job);
    const struct launch *l = judged >= 0 ? &job->launches[judged] : NULL;
    uint32_t bad = 0;

    for (uint32_t i = 0; l && job->rules.trust_launcher && i < l->size; i++)
        bad += job_rank_outcome(job, (uint32_t)judged, i) != OUTCOME_SUCCEEDED;
    if (!job->rules.trust_launcher || job->plan->launcher < 0)
        return false;
    const struct proc *launcher = &job->procs[job->plan->launcher];
    const struct launch *none = bad == 0 ? launch_without_ranks(job) : NULL;
    if (bad == 0 && !none && !*launcher->end.left)
        return false;
    strbuf_addf(out, "%s exited with status 0 (--trust-launcher), although ",
                job->plan->replicas[job->plan->processes[job->plan->launcher].replica].name);
    if (bad > 0)
        strbuf_addf(out, "%u of %u ranks did not", bad, l->size);
    else if (none)
        add_without_ranks(job, none, out);
    else
        strbuf_addf(out, "%s was running", launcher->end.left);
    return true;
}

void verdict_unobserved(const struct job *job, struct strbuf *out)
{
    const struct launch *l = job_last_launch(job);

    if (job->plan->launcher < 0)
        return;
    if (!l)
        strbuf_addstr(out, "; MPI ranks were not observed");
    else if (job->procs[job->plan->launcher].end.unobserved)
        strbuf_addstr(out, "; ranks of another mpiexec were not observed");
}
