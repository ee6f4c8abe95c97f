/* usual.c - the story of a job to which nothing happens: every command ends in its time. */
#include <signal.h>

#include "engine/sim/sim.h"

enum { START_MS = 100, TERM_MS = 200, KILL_MS = 1 };

static struct sim_fate usual_fate(int64_t life_ms, int status)
{
    return (struct sim_fate){
        .start_ms = START_MS,
        .life_ms = life_ms,
        .term_ms = TERM_MS,
        .kill_ms = KILL_MS,
        .end = {
            .known = true, .code = status, .max_rss = -1, .memory_limit = -1, .memory_peak = -1}};
}

/* The launcher calls mpirun once, with as many ranks as the plan expects or its hosts have slots.
 */
static void tell_of_mpirun(struct arena *a, const struct plan *plan, int64_t life_ms, int status,
                           struct sim_story *story)
{
    struct sim_mpirun *m = ARENA_NEW(a, struct sim_mpirun);
    int64_t slots = 0;

    for (uint32_t i = 0; i < plan->n_replicas; i++)
        if (plan->replicas[i].role->kind == ROLE_HOST)
            slots += plan->replicas[i].role->slots;
    m->size = (uint32_t)(plan->world > 0 ? plan->world : slots > 0 ? slots : 1);
    struct sim_fate *ranks = ARENA_ARRAY(a, struct sim_fate, m->size);
    for (uint32_t r = 0; r < m->size; r++)
        ranks[r] = usual_fate(life_ms, status);
    m->ranks = ranks;
    m->recovers = plan->spec->mpi && plan->spec->mpi->recovery;
    story->mpiruns = m;
    story->n_mpiruns = 1;
}

static bool decides(const struct role *role)
{
    return role->min_succeeded > 0 || role->first_decides;
}

/* A role that cannot make the job succeed, while another can, serves that one: it does not end. */
static bool serves(const struct job_spec *spec, const struct role *role)
{
    for (size_t k = 0; k < spec->n_roles && !decides(role) && !role->ends_alone; k++)
        if (decides(&spec->roles[k]))
            return true;
    return false;
}

void sim_usual_story(struct arena *a, const struct plan *plan, int64_t duration_ms, int status,
                     struct sim_story *ret)
{
    struct sim_fate *fates = ARENA_ARRAY(a, struct sim_fate, plan->n_processes);

    *ret = (struct sim_story){.seed = 1,
                              .processes = fates,
                              .open_ms = ARENA_ARRAY(a, int64_t, plan->n_replicas),
                              .cancel_ms = {-1, -1},
                              .cancel_signal = SIGTERM,
                              .pause_ms = -1,
                              .resume_ms = -1,
                              .lost_ms = -1,
                              .hang_ms = -1,
                              .end_ms = INT64_C(10) * duration_ms + INT64_C(24) * 3600000};
    for (uint32_t i = 0; i < plan->n_processes; i++) {
        const struct role *role = plan->replicas[plan->processes[i].replica].role;
        const struct process *p = &plan->processes[i];
        bool stays =
            (!p->argv && !p->shell) || serves(plan->spec, role) || (p->task && p->task->serves);
        fates[i] = usual_fate(stays                         ? -1
                              : role->kind == ROLE_LAUNCHER ? START_MS
                                                            : duration_ms,
                              status);
    }
    if (plan->launcher >= 0)
        tell_of_mpirun(a, plan, duration_ms, status, ret);
}
