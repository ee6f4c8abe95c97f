/* words.c - every sentence of the queue, from the world that gives it. */
#include "queue/test/stage.h"

/* The sentence about job n. */
static const char *said(struct stage *s, uint32_t n)
{
    auto_strbuf struct strbuf out = STRBUF_INIT;

    (void)stage_text(s);
    for (uint32_t i = 0; i < s->d.n_waits; i++)
        if (s->d.waits[i].job == n - 1)
            queue_wait_sentence(&s->w, &s->d.waits[i], &out);
    return arena_strdup(s->a, out.buf);
}

/* One machine of 8 CPUs, 64 GiB and 4 GPUs, and a job that needs this. */
static struct queue_job *begin(struct stage *s, int cpus, int gib, int gpus)
{
    stage_init(s);
    stage_machine(s, 8, 64, 4);
    stage_queue(s, "prod", 0);
    struct queue_job *j = stage_job(s, 0, 0);
    j->roles = stage_role(s, 1, cpus, gib, gpus);
    return j;
}

static void never(void)
{
    struct stage s;

    begin(&s, 0, 96, 0);
    is_str(said(&s, 1), "needs 96 GiB of memory, this machine has 64 GiB: it can never start",
           "too much memory");
    is_int(s.d.waits[0].ahead, UINT32_MAX, "it has no place in the order");
    stage_machine(&s, 8, 64, 4);
    is_str(said(&s, 1),
           "needs 96 GiB of memory on one machine, the largest has 64 GiB: it can never start",
           "one replica, two machines");
    s.jobs[0].roles = stage_role(&s, 9, 2, 0, 0);
    is_str(said(&s, 1), "needs 18 CPUs, all machines have 16: it can never start", "a gang");
    s.jobs[0].roles = stage_role(&s, 3, 5, 0, 0);
    is_str(said(&s, 1), "its 3 replicas do not fit on the machines: it can never start",
           "a gang that cannot be spread");
    is_int(s.d.waits[0].ahead, UINT32_MAX, "it has no place in the order, too");
    s.machines[0].gpus = 0;
    s.machines[1].has.v[QUEUE_CPU] = 4000;
    s.jobs[0].roles = stage_role(&s, 1, 5, 0, 1);
    is_str(said(&s, 1), "does not fit on any machine: it can never start", "CPUs here, GPUs there");
    s.queues[0].quota.v[QUEUE_GPU] = 2;
    s.jobs[0].roles = stage_gpus(&s, 3);
    is_str(said(&s, 1), "queue \"prod\": needs 3 GPUs, quota 2: it can never start", "a quota");
    stage_end(&s);
}

static void not_yet(void)
{
    struct queue_after after = {.id = 17};
    struct stage s;
    struct queue_job *j = begin(&s, 1, 0, 0);

    j->afters = &after;
    j->n_afters = 1;
    is_str(said(&s, 1), "waits for job 17 to succeed", "--after");
    after.any = true;
    is_str(said(&s, 1), "waits for job 17 to end", "whatever becomes of it");
    after.state = QUEUE_AFTER_FAILED;
    is_str(stage_text(&s), "start 1 on 0:\n", "it has ended");
    after.any = false;
    is_str(said(&s, 1), "job 17 did not succeed: it can never start", "it failed");
    after.state = QUEUE_AFTER_SUCCEEDED;
    is_str(stage_text(&s), "start 1 on 0:\n", "it succeeded");
    struct queue_after both[2] = {{.id = 18}, {.id = 19, .state = QUEUE_AFTER_FAILED}};
    j->afters = both;
    j->n_afters = 2;
    is_str(said(&s, 1), "job 19 did not succeed: it can never start", "of two the one that failed");
    both[1].state = QUEUE_AFTER_SUCCEEDED;
    is_str(said(&s, 1), "waits for job 18 to succeed", "of two the one that is open");
    j->n_afters = 0;
    s.queues[0].closed = true;
    is_str(said(&s, 1), "queue \"prod\" is closed", "a closed queue");
    s.queues[0].closed = false;
    j->state = QUEUE_PAUSED;
    is_str(said(&s, 1), "paused", "paused by somebody");
    stage_end(&s);
}

static void too_little(void)
{
    struct stage s;

    begin(&s, 5, 40, 2);
    stage_running(&s.jobs[0], &s, 3, MINUTE);
    for (int i = 0; i < 4; i++)
        stage_job(&s, 0, 0)->roles = stage_gpus(&s, 4); /* 2 … 5 */
    is_str(said(&s, 2), "needs 4 GPUs, 2 free", "GPUs; it is the first");
    is_str(said(&s, 3), "needs 4 GPUs, 2 free; ahead: 1 job", "one ahead");
    is_str(said(&s, 5), "needs 4 GPUs, 2 free; ahead: 3 jobs", "three ahead");
    s.jobs[1].roles = stage_role(&s, 2, 2, 0, 0);
    is_str(said(&s, 2), "needs 4 CPUs, 3 free", "CPUs");
    struct queue_role half = {1, {{3500, 0, 0, 0}}};
    s.jobs[1].roles = &half;
    is_str(said(&s, 2), "needs 3.5 CPUs, 3 free", "half CPUs");
    half.each.v[QUEUE_CPU] = 3050;
    is_str(said(&s, 2), "needs 3.05 CPUs, 3 free", "parts of CPUs");
    s.jobs[1].roles = stage_role(&s, 1, 0, 25, 0);
    is_str(said(&s, 2), "needs 25 GiB of memory, 24 GiB free", "memory");
    s.machines[0].has.v[QUEUE_PORT] = 1;
    s.jobs[0].roles = &(struct queue_role){1, {{0, 0, 2, 1}}};
    s.jobs[1].roles = &(struct queue_role){1, {{0, 0, 0, 1}}};
    is_str(said(&s, 2), "needs 1 port, 0 free", "ports");

    /* Two machines: enough is free, but not in the right places. */
    s.jobs[0].roles = stage_role(&s, 1, 5, 0, 2);
    stage_machine(&s, 4, 64, 1);
    s.jobs[1].roles = stage_gpus(&s, 3);
    is_str(said(&s, 2), "needs 3 GPUs on one machine, at most 2 free", "on one machine");
    s.jobs[1].roles = stage_role(&s, 2, 3, 0, 1);
    is_str(said(&s, 2), "", "it fits");
    s.jobs[1].roles = stage_role(&s, 3, 2, 0, 1);
    is_str(said(&s, 2), "the free resources are too fragmented for its 3 replicas", "a gang");
    s.jobs[1].roles = stage_role(&s, 1, 4, 0, 2);
    is_str(said(&s, 2), "the free resources are not on one machine", "CPUs here, GPUs there");
    stage_end(&s);
}

static void quotas(void)
{
    struct stage s;

    begin(&s, 1, 0, 2);
    stage_running(&s.jobs[0], &s, 3, MINUTE);
    stage_job(&s, 0, 0)->roles = stage_gpus(&s, 2);
    stage_job(&s, 0, 0)->roles = stage_role(&s, 1, 1, 20, 0);
    s.queues[0].quota.v[QUEUE_GPU] = 2;
    s.jobs[0].roles = stage_role(&s, 1, 1, 50, 2);
    s.queues[0].quota.v[QUEUE_MEMORY] = 60 * GIB;
    is_str(said(&s, 2), "queue \"prod\": quota of 2 GPUs reached, 2 in use", "reached");
    is_str(said(&s, 3),
           "queue \"prod\": needs 20 GiB of memory, quota 60 GiB, 50 GiB in use; ahead: 1 job",
           "not quite");
    stage_end(&s);
}

/* Beyond LIMIT_QUEUE_LOOK nobody looks whether a job fits. */
static void many(void)
{
    enum { N = LIMIT_QUEUE_LOOK + LIMIT_QUEUE_RESERVATIONS + 2 };
    auto_arena struct arena *a = arena_new();
    struct queue_job *jobs = ARENA_ARRAY(a, struct queue_job, N);
    struct stage s;
    struct queue_decisions d;
    auto_strbuf struct strbuf out = STRBUF_INIT;

    begin(&s, 4, 0, 0);
    jobs[0] = s.jobs[0];
    stage_running(&jobs[0], &s, 0, MINUTE);
    for (uint64_t i = 1; i < N; i++) {
        jobs[i] = s.jobs[0];
        jobs[i].id = jobs[i].order = i + 1;
        jobs[i].roles = stage_role(&s, 1, i == N - 1 ? 1 : 8, 0, 0);
        jobs[i].max_duration = MINUTE;
    }
    s.w.jobs = jobs;
    s.w.n_jobs = N;
    queue_arrange(a, &s.w);
    queue_decide(&s.w, STAGE_NOW, a, &d);
    is_int(d.n_starts, 0, "the last one fits, but is not looked at");
    queue_wait_sentence(&s.w, &d.waits[N - 2], &out);
    is_str(out.buf, "ahead: 1032 jobs", "which is what it waits for");
    s.w.n_jobs = N - 2;
    jobs[N - 3].roles = jobs[N - 1].roles;
    queue_arrange(a, &s.w);
    queue_decide(&s.w, STAGE_NOW, a, &d);
    is_int(d.n_starts, 1, "two less are ahead: it starts");
    stage_end(&s);
}

int main(void)
{
    never();
    not_yet();
    too_little();
    quotas();
    many();
    return tap_done();
}
