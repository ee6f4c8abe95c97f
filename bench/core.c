/* core.c - what the job core costs: jobs of PROCESSES processes, all of them at once, from their
 * creation to their end.
 *
 *     core JOBS PROCESSES
 *
 * Prints "EVENTS DECISIONS NANOSECONDS BYTES STATE": how many events were folded, how many of them
 * the core decided on, how long that took, the heap that each running job holds, and the least it
 * could. */
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/arena.h"
#include "base/mem.h"
#include "base/num.h"
#include "job/job.h"

struct count {
    uint64_t events, decisions;
};

static void fold(struct job *job, struct events *es, struct count *c)
{
    for (size_t i = 0; i < es->n; i++)
        job_apply(job, &es->v[i]);
    c->events += es->n;
    es->n = 0;
}

static void decide(struct job *job, struct events *es, struct count *c, ns_t now)
{
    do {
        job_decide(job, now, es);
        c->decisions += es->n;
    } while (es->n > 0 && (fold(job, es, c), true));
}

static void tell(struct job *job, struct events *es, struct count *c, struct observation o)
{
    job_observe(job, &o, es);
    fold(job, es, c);
}

static const struct plan *make_plan(struct arena *a, uint32_t n)
{
    static const char *const argv[] = {"./train", NULL};
    static const struct facts facts = {
        .site.run_id = "id", .site.run_dir = "/r", .site.isolation = "names"};
    struct role *role = ARENA_NEW(a, struct role);
    struct job_spec *spec = ARENA_NEW(a, struct job_spec);
    struct replica *replicas = ARENA_ARRAY(a, struct replica, n);
    struct process *processes = ARENA_ARRAY(a, struct process, n);
    struct plan *plan = ARENA_NEW(a, struct plan);

    *role = (struct role){.name = "worker",
                          .replicas = (int32_t)n,
                          .slots = 1,
                          .argv = argv,
                          .res = RESOURCES_UNSET,
                          .grace_s = -1};
    *spec = (struct job_spec){.name = "j", .dialect = "muster-v1", .roles = role, .n_roles = 1};
    for (uint32_t i = 0; i < n; i++) {
        replicas[i] = (struct replica){.id = i,
                                       .name = "worker",
                                       .role = role,
                                       .index = (int32_t)i,
                                       .host = "worker",
                                       .first_process = i,
                                       .n_processes = 1};
        processes[i] = (struct process){.id = i, .replica = i, .rank = -1, .argv = argv};
    }
    *plan = (struct plan){.spec = spec,
                          .facts = &facts,
                          .replicas = replicas,
                          .n_replicas = n,
                          .processes = processes,
                          .n_processes = n,
                          .launcher = -1,
                          .world = -1};
    return plan;
}

static void begin(struct job *job, struct events *es, struct count *c)
{
    events_add(es, &(struct event){.type = EVENT_CREATED, .at = NS_PER_S});
    fold(job, es, c);
    decide(job, es, c, NS_PER_S);
    for (uint32_t p = 0; p < job->plan->n_processes; p++)
        tell(job, es, c,
             (struct observation){.kind = OBS_STARTED, .process = p, .at = 2 * NS_PER_S});
    decide(job, es, c, 2 * NS_PER_S);
}

static void finish(struct job *job, struct events *es, struct count *c)
{
    for (uint32_t p = 0; p < job->plan->n_processes; p++) {
        tell(job, es, c,
             (struct observation){.kind = OBS_EXITED,
                                  .process = p,
                                  .at = 3 * NS_PER_S,
                                  .end = {.at = 3 * NS_PER_S, .known = true, .max_rss = -1}});
        decide(job, es, c, 3 * NS_PER_S);
    }
}

int main(int argc, char **argv)
{
    static const struct job_rules rules = {.grace_ms = 10000, .start_timeout_ms = 600000};
    int64_t n_jobs, n_processes;

    if (argc != 3 || num_i64(argv[1], &n_jobs) < 0 || num_i64(argv[2], &n_processes) < 0)
        return 2;
    struct arena *a = arena_new();
    const struct plan *plan = make_plan(a, (uint32_t)n_processes);
    struct job **jobs = xcalloc((size_t)n_jobs, sizeof(struct job *));
    struct events es = {0};
    struct count c = {0};
    size_t heap = mallinfo2().uordblks;
    ns_t from = clock_mono();
    for (int64_t i = 0; i < n_jobs; i++) {
        jobs[i] = job_new(plan, &rules);
        begin(jobs[i], &es, &c);
    }
    heap = mallinfo2().uordblks - heap;
    for (int64_t i = 0; i < n_jobs; i++)
        finish(jobs[i], &es, &c);
    ns_t took = clock_mono() - from;
    int64_t ended = 0;
    for (int64_t i = 0; i < n_jobs; i++) {
        ended += jobs[i]->phase == JOB_ENDED && jobs[i]->outcome == OUTCOME_SUCCEEDED;
        job_free(jobs[i]);
    }
    printf("%llu %llu %lld %zu %zu\n", (unsigned long long)c.events,
           (unsigned long long)c.decisions, (long long)took, heap / (size_t)n_jobs,
           sizeof(struct job) + (size_t)n_processes * sizeof(struct proc));
    events_release(&es);
    free(jobs);
    arena_free(a);
    return ended == n_jobs ? 0 : 1;
}
