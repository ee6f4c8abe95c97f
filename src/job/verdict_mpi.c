/* verdict_mpi.c - see verdict_mpi.h. */
#include "job/verdict_mpi.h"

#include <string.h>

#include "base/signame.h"

static const char *plural(uint32_t n)
{
    return n == 1 ? "" : "s";
}

void verdict_ranks(const struct job *job, const struct cause *c, struct strbuf *out)
{
    uint32_t left = job_ranks_left(job), stopped = job_ranks_unfinished(job);
    bool is_launcher = c->process >= 0 && c->process == job->plan->launcher;

    if (stopped > 0 && c->blame == BLAME_SIGNAL)
        strbuf_addf(out, "; mpirun was ended by %s and stopped %u rank%s",
                    signal_name(job_last_launch(job)->blame.end.signal), stopped, plural(stopped));
    else if (stopped > 0 && c->blame == BLAME_TIMEOUT)
        strbuf_addf(out, "; mpirun reached its own time limit and stopped %u rank%s", stopped,
                    plural(stopped));
    else if (left > 0)
        strbuf_addf(out, " while %u rank%s %s running", left, plural(left),
                    left == 1 ? "was" : "were");
    else if (is_launcher && *c->end.left)
        strbuf_addf(out, " while %s was running", c->end.left);
    else if (stopped > 0)
        strbuf_addf(out, "; mpirun stopped %u rank%s that had not ended", stopped, plural(stopped));
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
    const struct launch *l = job_last_launch(job);
    uint32_t bad = 0;

    for (uint32_t i = 0; l && job->rules.trust_launcher && i < l->size; i++)
        bad += job_rank_outcome(job, job->n_launches - 1, i) != OUTCOME_SUCCEEDED;
    if (!job->rules.trust_launcher || job->plan->launcher < 0)
        return false;
    const struct proc *launcher = &job->procs[job->plan->launcher];
    if (bad == 0 && !*launcher->end.left)
        return false;
    strbuf_addf(out, "%s exited with status 0 (--trust-launcher), although ",
                job->plan->replicas[job->plan->processes[job->plan->launcher].replica].name);
    if (bad > 0)
        strbuf_addf(out, "%u of %u ranks did not", bad, l->size);
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
