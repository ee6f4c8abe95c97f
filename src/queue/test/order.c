/* order.c - the order of T9k's scheduler as worked tables: queue priority, share, priority, age. */
#include "queue/test/stage.h"

/* A machine of 16 GPUs, all of them held by a job of a queue that is not looked at. */
static void full_machine(struct stage *s)
{
    stage_init(s);
    stage_machine(s, 64, 256, 16);
    uint32_t q = stage_queue(s, "holder", 0);
    struct queue_job *j = stage_job(s, q, 0);
    j->roles = stage_role(s, 1, 64, 256, 16);
    stage_running(j, s, 0xffff, MINUTE);
}

/* Job 1 holds the machine; jobs 2 and on wait. Queues A to D as below:
 *
 *   queue  priority   jobs: number (priority)
 *   A      20         2 (0)   3 (50)
 *   B      60         4 (0)   5 (0)
 *   C      20         6 (100)
 *   D      0          7 (100)
 *
 * B first, by its priority, in order of submission. A and C have the same priority and hold
 * nothing: then the jobs' priorities count, 6 before 3. Each of them holds 1/16 then, so job 2 is
 * last of the two queues. D is last, whatever the priority of its job.
 */
static void by_priorities(void)
{
    struct stage s;

    full_machine(&s);
    uint32_t a = stage_queue(&s, "A", 20), b = stage_queue(&s, "B", 60);
    uint32_t c = stage_queue(&s, "C", 20), d = stage_queue(&s, "D", 0);
    stage_job(&s, a, 0)->roles = stage_gpus(&s, 1);
    stage_job(&s, a, 50)->roles = stage_gpus(&s, 1);
    stage_job(&s, b, 0)->roles = stage_gpus(&s, 1);
    stage_job(&s, b, 0)->roles = stage_gpus(&s, 1);
    stage_job(&s, c, 100)->roles = stage_gpus(&s, 1);
    stage_job(&s, d, 100)->roles = stage_gpus(&s, 1);
    is_str(stage_order(&s), "4 5 6 3 2 7", "queue priority, priority, submission");
    is_int(s.d.waits[0].ahead, 0, "nobody is ahead of the first");
    is_int(s.d.waits[5].ahead, 5, "five are ahead of the last");
    stage_end(&s);
}

/* Queues of one priority with what they hold of 16 GPUs and 64 CPUs, and their quota:
 *
 *   queue  holds                quota    dominant share
 *   A      4 GPUs               -        4/16 = 0.25
 *   B      1 GPU, 32 CPUs       -        32/64 = 0.5 (CPUs)
 *   C      2 GPUs               4 GPUs   2/4 = 0.5
 *   D      1 GPU                -        1/16
 *
 * and each has a job of one GPU, B's with the highest priority: D, A, then B before C by priority.
 */
static void by_share(void)
{
    static const int held[4] = {4, 1, 2, 1};
    struct stage s;

    stage_init(&s);
    stage_machine(&s, 64, 256, 16);
    uint64_t gpus = 0;
    for (int i = 0; i < 4; i++) {
        uint32_t q = stage_queue(&s, (const char *[]){"A", "B", "C", "D"}[i], 10);
        struct queue_job *j = stage_job(&s, q, 0);
        j->roles = i == 1 ? stage_role(&s, 1, 32, 0, 1) : stage_gpus(&s, held[i]);
        stage_running(j, &s, ((UINT64_C(1) << held[i]) - 1) << gpus, MINUTE);
        gpus += (uint64_t)held[i];
    }
    s.queues[2].quota.v[QUEUE_GPU] = 4;
    uint32_t q = stage_queue(&s, "rest", 0); /* holds the other 8 */
    stage_job(&s, q, 0)->roles = stage_gpus(&s, 8);
    stage_running(&s.jobs[4], &s, 0xff00, MINUTE);
    for (uint32_t i = 0; i < 4; i++)
        stage_job(&s, i, i == 1 ? 90 : 0)->roles = stage_gpus(&s, 1); /* 6 … 9 */
    is_str(stage_order(&s), "9 6 7 8", "dominant share, of the quota if there is one");

    s.queues[1].weight = 4;
    is_str(stage_order(&s), "9 7 6 8", "with a weight of 4, B's share is 0.125");
    s.queues[1].weight = 1;
    s.queues[2].priority = 11;
    is_str(stage_order(&s), "8 9 6 7", "a queue's priority comes before its share");
    stage_end(&s);
}

/* Two queues that hold nothing, each with four jobs of one GPU; B has twice the weight. They take
 * turns: what is ordered counts for the share. Share of A: 0 1/16 2/16 …, of B: 0 1/32 2/32 …
 *   2 (tie, older) · B0 B1/32 -> 6 7 · tie at 1/16: 3 · B 2/32=1/16 before A 2/16: 8 9 · 4 5 */
static void in_turns(void)
{
    struct stage s;

    full_machine(&s);
    uint32_t a = stage_queue(&s, "A", 20), b = stage_queue(&s, "B", 20);
    for (int i = 0; i < 8; i++)
        stage_job(&s, i < 4 ? a : b, 0)->roles = stage_gpus(&s, 1);
    is_str(stage_order(&s), "2 6 3 7 4 8 5 9", "queues of equal weight take turns");
    s.queues[2].weight = 2;
    is_str(stage_order(&s), "2 6 7 3 8 9 4 5", "twice the weight, twice the turns");
    stage_end(&s);
}

/* The queue of the promised job comes first whatever its share, but not before a higher priority,
 * and not if a job of a higher priority came to its queue. */
static void promised(void)
{
    struct stage s;

    full_machine(&s);
    uint32_t a = stage_queue(&s, "A", 20), b = stage_queue(&s, "B", 20);
    stage_job(&s, a, 0)->roles = stage_gpus(&s, 8);
    stage_job(&s, b, 0)->roles = stage_gpus(&s, 1);
    stage_job(&s, b, 0)->roles = stage_gpus(&s, 1);
    s.queues[2].weight = 100;
    is_str(stage_order(&s), "2 3 4", "the older one first");
    is_int(s.d.promised, 2, "it is promised to start next");
    s.w.promised = 4;
    is_str(stage_order(&s), "2 3 4",
           "a promise for one that is not the first of its queue is void");
    s.w.promised = 3;
    is_str(stage_order(&s), "3 2 4", "a promised job keeps its place");
    s.queues[1].priority = 21;
    is_str(stage_order(&s), "2 3 4", "but not before a queue of higher priority");
    s.queues[1].priority = 20;
    stage_job(&s, b, 1)->roles = stage_gpus(&s, 1);
    is_str(stage_order(&s), "5 2 3 4", "nor before one of higher priority in its queue");
    stage_end(&s);
}

int main(void)
{
    by_priorities();
    by_share();
    in_turns();
    promised();
    return tap_done();
}
