/* same.c - two states of one job, compared field by field: replay has to give what was there. */
#include <string.h>

#include "engine/sim/sim.h"

#define DIFFERS(field)                                                                             \
    if (a->field != b->field)                                                                      \
    return #field

static const char *ending_differs(const struct ending *a, const struct ending *b)
{
    DIFFERS(at);
    DIFFERS(known);
    DIFFERS(code);
    DIFFERS(signal);
    DIFFERS(exec_errno);
    DIFFERS(fate);
    DIFFERS(oom);
    DIFFERS(oom_in);
    DIFFERS(max_rss);
    DIFFERS(memory_limit);
    DIFFERS(memory_peak);
    DIFFERS(oom_nearby);
    DIFFERS(shm_size);
    DIFFERS(shm_free);
    DIFFERS(unobserved);
    DIFFERS(by_itself);
    if (strcmp(a->left, b->left) != 0)
        return "left";
    if (strcmp(a->memory_of, b->memory_of) != 0)
        return "memory_of";
    if (strcmp(a->program, b->program) != 0)
        return "program";
    if (strcmp(a->init, b->init) != 0)
        return "init";
    return strcmp(a->exec_what, b->exec_what) != 0 ? "exec_what" : NULL;
}

static const char *proc_differs(const struct proc *a, const struct proc *b)
{
    DIFFERS(state);
    DIFFERS(started);
    DIFFERS(stop_asked);
    DIFFERS(restarts);
    DIFFERS(restarts_counted);
    DIFFERS(restarts_free);
    DIFFERS(restart_at);
    return ending_differs(&a->end, &b->end);
}

static const char *rank_differs(const struct rank *a, const struct rank *b)
{
    DIFFERS(state);
    DIFFERS(replica);
    DIFFERS(incarnations);
    DIFFERS(forwarded);
    DIFFERS(started);
    DIFFERS(stop_asked);
    if (!a->log != !b->log || (a->log && strcmp(a->log, b->log) != 0))
        return "log";
    return ending_differs(&a->end, &b->end);
}

static const char *launch_differs(const struct launch *a, const struct launch *b)
{
    const char *field = NULL;

    DIFFERS(size);
    DIFFERS(started);
    DIFFERS(ended);
    DIFFERS(first_failed);
    DIFFERS(last_end);
    DIFFERS(over);
    DIFFERS(began);
    DIFFERS(program);
    DIFFERS(code);
    DIFFERS(unwatched);
    DIFFERS(blame.kind);
    DIFFERS(blame.at);
    DIFFERS(blame.rank);
    DIFFERS(blame.replica);
    for (uint32_t i = 0; i < a->size && !field; i++)
        field = rank_differs(&a->ranks[i], &b->ranks[i]);
    return field;
}

static const char *cause_differs(const struct cause *a, const struct cause *b)
{
    DIFFERS(kind);
    DIFFERS(replica);
    DIFFERS(rank);
    DIFFERS(process);
    DIFFERS(launch);
    DIFFERS(blame);
    DIFFERS(exit_code);
    return ending_differs(&a->end, &b->end);
}

static const char *sight_differs(const struct sight *a, const struct sight *b)
{
    DIFFERS(lost);
    DIFFERS(since);
    return NULL;
}

static const char *waiting_differs(const struct wait_reason *a, const struct wait_reason *b)
{
    if (!a || !b)
        return a || b ? "waiting" : NULL;
    DIFFERS(needs);
    DIFFERS(free);
    DIFFERS(ahead);
    DIFFERS(fate);
    DIFFERS(since);
    return strcmp(a->what, b->what) != 0 ? "what" : NULL;
}

static bool texts_differ(const char *a, const char *b)
{
    return !a != !b || (a && strcmp(a, b) != 0);
}

static const char *scalars_differ(const struct job *a, const struct job *b)
{
    DIFFERS(phase);
    DIFFERS(created);
    DIFFERS(running_at);
    DIFFERS(stop_at);
    DIFFERS(kill_at);
    DIFFERS(ended);
    DIFFERS(n_pending);
    DIFFERS(n_starting);
    DIFFERS(n_running);
    DIFFERS(n_ended);
    DIFFERS(gated);
    DIFFERS(n_up);
    DIFFERS(admitted);
    DIFFERS(counted);
    DIFFERS(n_launches);
    DIFFERS(first_failed);
    DIFFERS(stop);
    DIFFERS(stop_replica);
    DIFFERS(stop_fate);
    DIFFERS(cancel_signal);
    DIFFERS(cancel_asked);
    DIFFERS(cancel_again);
    DIFFERS(lost);
    if (!a->hung != !b->hung || (a->hung && strcmp(a->hung, b->hung) != 0))
        return "hung";
    DIFFERS(outcome);
    DIFFERS(exit_code);
    DIFFERS(attempt);
    DIFFERS(begun);
    DIFFERS(resumed);
    DIFFERS(begin_at);
    DIFFERS(n_backoff);
    DIFFERS(restarts_counted);
    DIFFERS(launch_base);
    DIFFERS(pause_wanted);
    DIFFERS(paused_at);
    DIFFERS(debugging);
    DIFFERS(debug_over);
    DIFFERS(held_at);
    DIFFERS(hold_over);
    DIFFERS(deadline_from);
    DIFFERS(random);
    DIFFERS(n_past);
    DIFFERS(retries);
    DIFFERS(retries_counted);
    DIFFERS(retries_free);
    DIFFERS(free_replica);
    return a->activity < b->activity ? "activity" : NULL;
}

const char *sim_difference(const struct job *live, const struct job *replayed)
{
    const char *field = scalars_differ(live, replayed);

    for (uint32_t i = 0; i < live->plan->n_processes && !field; i++)
        field = proc_differs(&live->procs[i], &replayed->procs[i]);
    for (uint32_t i = 0; live->gated && i < live->plan->n_replicas && !field; i++)
        field = live->gates[i] != replayed->gates[i] ? "gates" : NULL;
    for (size_t i = 0; i < live->plan->spec->n_roles && !field; i++)
        field = live->role_killed[i] != replayed->role_killed[i] ? "role_killed" : NULL;
    for (uint32_t i = 0; i < live->plan->n_replicas && !field; i++)
        field = sight_differs(&live->sight[i], &replayed->sight[i]);
    for (uint32_t i = 0; i < live->plan->n_replicas && !field; i++)
        field = texts_differ(job_why(live, i), job_why(replayed, i)) ? "why" : NULL;
    for (uint32_t i = 0; i <= live->plan->n_replicas && !field; i++) {
        uint32_t replica = i < live->plan->n_replicas ? i : WAITING_JOB;
        field = waiting_differs(job_waiting(live, replica), job_waiting(replayed, replica));
    }
    for (uint32_t i = 0; i < live->n_launches && !field; i++)
        field = launch_differs(&live->launches[i], &replayed->launches[i]);
    for (uint32_t i = 0; i < live->n_past && !field; i++)
        field = cause_differs(&live->past[i].cause, &replayed->past[i].cause);
    return field ? field : cause_differs(&live->cause, &replayed->cause);
}
