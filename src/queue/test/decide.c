/* decide.c - decisions in small worlds: gangs, places, backfill, quotas, preemption, durations. */
#include "queue/test/stage.h"

static uint32_t one_queue(struct stage *s, int gpus)
{
    stage_init(s);
    stage_machine(s, 64, 256, gpus);
    return stage_queue(s, "default", 0);
}

static struct queue_job *wants(struct stage *s, uint32_t q, int gpus, ns_t most)
{
    struct queue_job *j = stage_job(s, q, 0);

    j->roles = stage_gpus(s, gpus);
    j->max_duration = most;
    return j;
}

static void holds(struct stage *s, uint32_t q, uint64_t gpus, ns_t most, ns_t ago)
{
    stage_running(wants(s, q, __builtin_popcountll(gpus), most), s, gpus, ago);
}

static void places(void)
{
    struct stage s;
    uint32_t q = one_queue(&s, 4);

    holds(&s, q, 2, 0, MINUTE);
    wants(&s, q, 2, 0);
    wants(&s, q, 1, 0);
    is_str(stage_text(&s), "start 2 on 0:0,2\nstart 3 on 0:3\n", "exact GPUs, those that are free");
    s.machines[0].gpus = 0xb;
    is_str(stage_text(&s), "start 2 on 0:0,3\nwait 3: needs 1 GPU, 0 free\n",
           "a GPU that is not usable is not used");
    stage_end(&s);

    stage_init(&s);
    q = stage_queue(&s, "default", 0);
    stage_machine(&s, 8, 64, 4);
    stage_machine(&s, 8, 64, 2);
    stage_machine(&s, 8, 64, 0);
    stage_job(&s, q, 0)->roles = stage_role(&s, 1, 1, 0, 0);
    stage_job(&s, q, 0)->roles = stage_role(&s, 1, 0, 0, 1);
    stage_job(&s, q, 0)->roles = stage_role(&s, 3, 0, 0, 1);
    stage_job(&s, q, 0)->roles = stage_role(&s, 2, 0, 0, 1);
    is_str(stage_text(&s),
           "start 1 on 2:\nstart 2 on 1:0\nstart 3 on 0:0 0:1 0:2\nstart 4 on 0:3 1:1\n",
           "no GPUs: away from them; gangs on few machines; the fullest that fits");
    stage_end(&s);
}

static void gangs(void)
{
    struct queue_role two[2] = {{1, {{1000, 0, 0, 3}}}, {2, {{0, 0, 3, 0}}}};
    struct stage s;
    uint32_t q = one_queue(&s, 8);
    struct queue_job *j = stage_job(&s, q, 0);

    j->roles = two;
    j->n_roles = 2;
    is_str(stage_text(&s), "start 1 on 0: 0:0,1,2 0:3,4,5\n", "several roles, in their order");
    two[1].replicas = 3;
    is_str(stage_text(&s), "wait 1: needs 9 GPUs, this machine has 8: it can never start\n",
           "all of a gang or nothing");
    two[1].replicas = 2;
    two[0].each.v[QUEUE_PORT] = 101;
    is_str(stage_text(&s), "wait 1: needs 101 ports, this machine has 100: it can never start\n",
           "ports are counted");
    stage_end(&s);

    /* Each needs the whole machine: one after the other. */
    q = one_queue(&s, 8);
    wants(&s, q, 8, 0);
    wants(&s, q, 8, 0);
    is_str(stage_text(&s), "start 1 on 0:0,1,2,3,4,5,6,7\nwait 2: needs 8 GPUs, 0 free\n",
           "two jobs that need the whole machine");
    stage_end(&s);
}

/* Of 8 GPUs, 4 are held for one more hour; job 2 needs 8, so it starts in an hour. */
static void backfill(void)
{
    struct stage s;
    uint32_t q = one_queue(&s, 8);

    holds(&s, q, 0xf, 2 * HOUR, HOUR);
    wants(&s, q, 8, HOUR);
    struct queue_job *j = wants(&s, q, 2, HOUR);
    is_str(stage_text(&s), "backfill 3 on 0:4,5\nwait 2: needs 8 GPUs, 4 free\n",
           "ends when the reservation begins");
    is_int(s.d.waits[0].latest - STAGE_NOW, HOUR, "which is in an hour");
    is_int(s.d.wake - STAGE_NOW, HOUR, "as is the next thing to do");
    j->max_duration = HOUR + 1;
    is_str(stage_text(&s),
           "wait 2: needs 8 GPUs, 4 free\n"
           "wait 3: fits now, but would delay job 2; ahead: 1 job\n",
           "a nanosecond too long");
    is_int(s.d.waits[1].latest - STAGE_NOW, 2 * HOUR, "it starts after that one");
    j->max_duration = 0;
    is_str(stage_text(&s),
           "wait 2: needs 8 GPUs, 4 free\nwait 3: fits now, but has no maximum duration and would "
           "delay job 2; ahead: 1 job\n",
           "for ever");
    is_int(s.d.waits[1].latest - STAGE_NOW, 2 * HOUR, "after job 2 it may run for ever");

    s.jobs[1].roles = stage_gpus(&s, 6);
    is_str(stage_text(&s), "backfill 3 on 0:4,5\nwait 2: needs 6 GPUs, 4 free\n",
           "beside the reservation it may");
    s.w.no_backfill = true;
    is_str(stage_text(&s), "wait 2: needs 6 GPUs, 4 free\nwait 3: ahead: 1 job\n",
           "nobody passes without backfill");
    s.w.no_backfill = false;

    /* Job 1 has no bound: job 2 has a reservation without a time. */
    s.jobs[0].max_duration = 0;
    s.jobs[1].roles = stage_gpus(&s, 8);
    is_str(stage_text(&s),
           "wait 2: needs 8 GPUs, 4 free\nwait 3: fits now, but has no maximum duration and would "
           "delay job 2; ahead: 1 job\n",
           "no bound, no passing");
    is_int(s.d.waits[0].latest, 0, "nobody knows when it starts");
    j->max_duration = 1000 * HOUR;
    is_str(stage_text(&s), "backfill 3 on 0:4,5\nwait 2: needs 8 GPUs, 4 free\n",
           "with a bound it passes one that nobody knows the time of");
    stage_end(&s);
}

/* The third job must not delay the reservation of the second. */
static void conservative(void)
{
    struct stage s;
    uint32_t q = one_queue(&s, 8);

    holds(&s, q, 0x3f, 2 * HOUR, HOUR); /* 6 GPUs for an hour */
    wants(&s, q, 8, HOUR);              /* then all of them */
    wants(&s, q, 4, HOUR);              /* in two hours */
    struct queue_job *j = wants(&s, q, 2, 2 * HOUR);
    is_str(stage_text(&s),
           "wait 2: needs 8 GPUs, 2 free\nwait 3: needs 4 GPUs, 2 free; ahead: 1 job\n"
           "wait 4: fits now, but would delay job 2; ahead: 2 jobs\n",
           "the head is not delayed");
    is_int(s.d.waits[1].latest - STAGE_NOW, 2 * HOUR, "the second after the first");
    is_int(s.d.waits[2].latest - STAGE_NOW, 2 * HOUR, "and one beside it");
    s.jobs[1].roles = stage_gpus(&s, 5);
    s.jobs[2].roles = stage_gpus(&s, 7);
    s.jobs[2].max_duration = 0;
    j->max_duration = 30 * HOUR;
    is_str(stage_text(&s),
           "wait 2: needs 5 GPUs, 2 free\nwait 3: needs 7 GPUs, 2 free; ahead: 1 job\n"
           "wait 4: fits now, but would delay job 3; ahead: 2 jobs\n",
           "nor is the second one");
    stage_end(&s);
}

static void quotas(void)
{
    struct stage s;
    uint32_t q = one_queue(&s, 16), other;

    s.queues[q].name = "prod";
    s.queues[q].quota.v[QUEUE_GPU] = 8;
    holds(&s, q, 0xff, HOUR, 0);
    wants(&s, q, 1, HOUR);
    other = stage_queue(&s, "other", 0);
    wants(&s, other, 4, 0);
    is_str(stage_text(&s),
           "start 3 on 0:8,9,10,11\nwait 2: queue \"prod\": quota of 8 GPUs reached, 8 in use\n",
           "a quota that is reached does not keep other queues from starting");
    is_int(s.d.waits[0].latest - STAGE_NOW, HOUR, "it starts when the quota allows it");
    is_int(s.d.promised, 0, "but the machine is not promised to it");

    /* Smaller jobs do not keep a larger one from its quota for ever. */
    s.jobs[0].roles = stage_gpus(&s, 4);
    stage_running(&s.jobs[0], &s, 0xf, 0);
    s.jobs[1].roles = stage_gpus(&s, 6);
    struct queue_job *j = wants(&s, q, 2, HOUR);
    is_str(stage_text(&s),
           "start 3 on 0:4,5,6,7\nbackfill 4 on 0:8,9\n"
           "wait 2: queue \"prod\": needs 6 GPUs, quota 8, 4 in use\n",
           "one that ends in time passes");
    j->max_duration = 2 * HOUR;
    s.jobs[1].roles = stage_gpus(&s, 7);
    is_str(stage_text(&s),
           "start 3 on 0:4,5,6,7\nwait 2: queue \"prod\": needs 7 GPUs, quota 8, 4 in use\n"
           "wait 4: fits now, but would delay job 2; ahead: 1 job\n",
           "one that does not is kept back");
    stage_end(&s);
}

static void preemption(void)
{
    struct stage s;
    uint32_t low = one_queue(&s, 8), high = stage_queue(&s, "prod", 10);

    s.queues[low].preemptible = true;
    holds(&s, low, 0x03, 0, 3 * MINUTE);
    holds(&s, low, 0x0c, 0, 1 * MINUTE);
    holds(&s, low, 0x70, 0, 2 * MINUTE);
    struct queue_job *j = wants(&s, high, 4, 0);
    is_str(stage_text(&s), "wait 4: needs 4 GPUs, 1 free\n", "off by default");
    s.w.preemption = QUEUE_PREEMPT_PAUSE;
    is_str(stage_text(&s),
           "stop 3: paused to make room for job 4 of queue \"prod\"\n"
           "wait 4: waits for 1 running job to stop\n",
           "2 and 3 would be freed as the youngest; 2 turns out not to be needed");
    j->roles = stage_gpus(&s, 5);
    s.w.preemption = QUEUE_PREEMPT_REQUEUE;
    is_str(stage_text(&s),
           "stop 2: requeued to make room for job 4 of queue \"prod\"\n"
           "stop 3: requeued to make room for job 4 of queue \"prod\"\n"
           "wait 4: waits for 2 running jobs to stop\n",
           "the youngest, as many as needed");
    s.jobs[1].state = s.jobs[2].state = QUEUE_STOPPING;
    is_str(stage_text(&s), "wait 4: waits for 2 running jobs to stop\n",
           "while they stop nobody else is stopped");
    s.jobs[1].state = s.jobs[2].state = QUEUE_RUNNING;
    s.queues[low].priority = 10;
    has(stage_text(&s), "wait 4: needs 5 GPUs, 1 free\n", "not of a queue of the same priority");
    s.queues[low].priority = 0;
    s.queues[low].preemptible = false;
    has(stage_text(&s), "wait 4: needs 5 GPUs, 1 free\n", "nor of one that is not preemptible");
    s.queues[low].preemptible = true;
    s.machines[0].gpus = 0x1ff;
    s.jobs[0].queue = high;
    j->roles = stage_gpus(&s, 8);
    has(stage_text(&s), "wait 4: needs 8 GPUs, 2 free\n", "nor if that is not enough");
    is_int(s.d.n_stops, 0, "then nobody is stopped");
    stage_end(&s);
}

static void durations(void)
{
    struct stage s;
    uint32_t q = one_queue(&s, 8);

    holds(&s, q, 1, 2 * HOUR, 2 * HOUR);
    holds(&s, q, 2, 2 * HOUR, 2 * HOUR - 1);
    is_str(stage_text(&s), "stop 1: exceeded its maximum duration of 2 h 0 min\n", "at its end");
    is_int(s.d.wake - STAGE_NOW, 1, "the next one");
    s.jobs[1].ran = 1;
    is_int((stage_text(&s), s.d.n_stops), 2, "what it ran before counts");
    s.jobs[0].state = QUEUE_STOPPING;
    is_int((stage_text(&s), s.d.n_stops), 1, "one that stops already is not told again");
    s.queues[q].max_duration = HOUR;
    s.jobs[1].ran = 0;
    is_str(stage_text(&s), "stop 2: exceeded its queue's maximum duration of 1 h 0 min\n",
           "that of the queue");
    stage_end(&s);
}

int main(void)
{
    places();
    gangs();
    backfill();
    conservative();
    quotas();
    preemption();
    durations();
    return tap_done();
}
