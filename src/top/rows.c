/* rows.c - the replicas and ranks of a job as rows; see data.h. */
#include <string.h>

#include "base/signame.h"
#include "inspect/usage.h"
#include "top/data.h"

struct making {
    struct arena *a;
    const struct job *job;
    const struct usage_row *used; /* of the run, in the order of replica and rank */
    size_t n_used;
    struct top_row *v;
    size_t n;
};

void top_use_add(struct top_use *to, const struct top_use *more)
{
    if (!more->known)
        return;
    to->known = true;
    to->cpu += more->cpu;
    to->memory += more->memory;
    to->read += more->read;
    to->written += more->written;
}

/* The first row of usage that does not come before this rank of this replica. */
static size_t first_used(const struct making *m, const char *replica, int32_t rank)
{
    size_t low = 0, high = m->n_used;

    while (low < high) {
        size_t mid = low + (high - low) / 2;
        int c = strverscmp(m->used[mid].replica, replica);

        if (c < 0 || (c == 0 && m->used[mid].rank < rank))
            low = mid + 1;
        else
            high = mid;
    }
    return low;
}

/* Of a rank; with any_rank of the whole replica. */
static struct top_use use_of(const struct making *m, const char *replica, int32_t rank,
                             bool any_rank)
{
    struct top_use sum = {0};

    for (size_t i = first_used(m, replica, any_rank ? -1 : rank);
         i < m->n_used && strcmp(m->used[i].replica, replica) == 0 &&
         (any_rank || m->used[i].rank == rank);
         i++)
        top_use_add(&sum, &(struct top_use){.known = true,
                                            .cpu = m->used[i].cpu_percent,
                                            .memory = m->used[i].memory,
                                            .read = m->used[i].read_rate,
                                            .written = m->used[i].write_rate});
    return sum;
}

static const char *state_word(enum proc_state state, enum outcome outcome)
{
    static const char *const words[] = {[PROC_PENDING] = "pending",
                                        [PROC_BACKOFF] = "restarting",
                                        [PROC_STARTING] = "starting",
                                        [PROC_RUNNING] = "running"};

    return state == PROC_ENDED ? outcome_name(outcome) : words[state];
}

static struct top_row *add(struct making *m, const char *replica, int32_t rank,
                           enum proc_state state, enum outcome outcome, const struct ending *end)
{
    struct top_row *row = &m->v[m->n++];

    *row = (struct top_row){.replica = replica,
                            .rank = rank,
                            .below = rank >= 0,
                            .state = state_word(state, outcome),
                            .end = end && state == PROC_ENDED ? ending_words(m->a, end) : "",
                            .failed = state == PROC_ENDED && outcome == OUTCOME_FAILED,
                            .log = ""};
    return row;
}

static const char *log_of(const struct making *m, uint32_t process)
{
    char name[PLAN_LOG_NAME];

    return arena_strdup(
        m->a, plan_log_name(&m->job->plan->processes[process], job_start(m->job, process), name));
}

static void add_processes(struct making *m, const struct replica *r)
{
    for (uint32_t i = r->first_process; i < r->first_process + r->n_processes; i++) {
        const struct process *p = &m->job->plan->processes[i];

        if (p->rank < 0)
            continue;
        struct top_row *row = add(m, r->name, p->rank, m->job->procs[i].state,
                                  job_proc_outcome(m->job, i), &m->job->procs[i].end);
        row->restarts = m->job->procs[i].restarts;
        row->log = log_of(m, i);
        row->use = use_of(m, r->name, p->rank, false);
    }
}

/* Those of mpirun, which are not processes of the plan. */
static void add_ranks(struct making *m, const struct replica *r)
{
    int32_t judged = job_judged_launch(m->job);
    const struct launch *l = job_judged(m->job);

    for (uint32_t i = 0; l && i < l->size; i++) {
        const struct rank *rank = &l->ranks[i];

        if (rank->state == PROC_PENDING || rank->replica != r->id)
            continue;
        struct top_row *row = add(m, r->name, (int32_t)i, rank->state,
                                  job_rank_outcome(m->job, (uint32_t)judged, i), &rank->end);
        row->log = rank->log ? arena_strdup(m->a, rank->log) : "";
        row->use = use_of(m, r->name, (int32_t)i, false);
    }
}

static void add_replica(struct making *m, const struct replica *r)
{
    struct replica_view view = job_replica(m->job, r->id);
    size_t mine = m->n;
    struct top_row *row = add(m, r->name, -1, view.state, view.outcome, NULL);

    if (view.state == PROC_ENDED && view.signal)
        row->end = signal_name(view.signal);
    else if (view.state == PROC_ENDED && view.exit_code >= 0)
        row->end = arena_printf(m->a, "exit %d", (int)view.exit_code);
    if (view.unseen)
        row->state = "unseen";
    row->restarts = view.restarts;
    row->use = use_of(m, r->name, -1, true);
    if (r->n_processes)
        row->log = log_of(m, r->first_process);
    add_processes(m, r);
    add_ranks(m, r);
    if (m->n - mine == 2) { /* its only rank needs no row of its own */
        const struct top_row only = m->v[mine + 1];

        row->rank = only.rank;
        row->log = *only.log ? only.log : row->log;
        row->end = *only.end ? only.end : row->end;
        m->n--;
    }
}

/* Replicas, processes and ranks at most. */
static size_t most_rows(const struct job *job)
{
    const struct launch *l = job_judged(job);

    return (size_t)job->plan->n_replicas + job->plan->n_processes + (l ? l->size : 0);
}

size_t top_rows(struct arena *a, const struct job *job, const struct usage *u, struct top_row **ret)
{
    struct making m = {.a = a, .job = job, .v = ARENA_ARRAY(a, struct top_row, most_rows(job) + 1)};

    if (u)
        m.n_used = usage_rows_of(u, job->plan->facts->site.run_id, &m.used);
    for (uint32_t i = 0; i < job->plan->n_replicas; i++)
        add_replica(&m, &job->plan->replicas[i]);
    *ret = m.v;
    return m.n;
}
