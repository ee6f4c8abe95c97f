/* stage.h - small worlds for the queue's unit tests, and decisions as text.
 *
 *     stage_machine(&s, 8, 64, 4);                 8 CPUs, 64 GiB, 4 GPUs
 *     uint32_t q = stage_queue(&s, "prod", 50);
 *     stage_job(&s, q, 0)->roles = stage_gpus(&s, 2);
 *     is_str(stage_text(&s), "start 1 on 0:0,1\n", "…");
 *
 * Jobs are numbered from 1 in the order in which they are made. The time is STAGE_NOW.
 */
#ifndef QUEUE_TEST_STAGE_H
#define QUEUE_TEST_STAGE_H

#include <string.h>

#include "base/limits.h"
#include "base/tap.h"
#include "queue/queue.h"

#define STAGE_NOW (1000 * NS_PER_S)
#define GIB (INT64_C(1) << 30)
#define MINUTE (60 * NS_PER_S)
#define HOUR (60 * MINUTE)

struct stage {
    struct arena *a;
    struct queue_world w;
    struct queue_machine machines[8];
    struct queue queues[8];
    struct queue_job jobs[64];
    struct queue_decisions d;
};

static inline void stage_init(struct stage *s)
{
    memset(s, 0, sizeof(*s));
    s->a = arena_new();
    s->w.machines = s->machines;
    s->w.queues = s->queues;
    s->w.jobs = s->jobs;
    s->w.explain = true;
}

static inline void stage_machine(struct stage *s, int cpus, int gib, int gpus)
{
    s->machines[s->w.n_machines++] =
        (struct queue_machine){.name = "m",
                               .has = {.v = {cpus * INT64_C(1000), gib * GIB, 0, 100}},
                               .gpus = (UINT64_C(1) << gpus) - 1};
}

static inline uint32_t stage_queue(struct stage *s, const char *name, int priority)
{
    s->queues[s->w.n_queues] = (struct queue){
        .name = name, .quota = {{-1, -1, -1, -1}}, .weight = 1, .priority = priority};
    return s->w.n_queues++;
}

static inline struct queue_job *stage_job(struct stage *s, uint32_t queue, int priority)
{
    struct queue_job *j = &s->jobs[s->w.n_jobs++];

    j->id = j->order = s->w.n_jobs;
    j->queue = queue;
    j->priority = priority;
    j->n_roles = 1;
    return j;
}

/* One replica on machine 0 with these GPUs, since that time ago. */
static inline void stage_running(struct queue_job *j, struct stage *s, uint64_t gpus, ns_t ago)
{
    struct queue_place *place = ARENA_NEW(s->a, struct queue_place);

    place->gpus = gpus;
    j->state = QUEUE_RUNNING;
    j->places = place;
    j->started = STAGE_NOW - ago;
}

static inline const struct queue_role *stage_role(struct stage *s, uint32_t n, int cpus, int gib,
                                                  int gpus)
{
    struct queue_role *role = ARENA_NEW(s->a, struct queue_role);

    *role = (struct queue_role){n, {{cpus * INT64_C(1000), gib * GIB, gpus, 0}}};
    return role;
}

/* One replica. */
static inline const struct queue_role *stage_gpus(struct stage *s, int gpus)
{
    return stage_role(s, 1, 0, 0, gpus);
}

static inline void stage_places(const struct queue_start *start, const struct queue_job *j,
                                struct strbuf *out)
{
    uint32_t n = 0;

    for (uint32_t r = 0; r < j->n_roles; r++)
        n += j->roles[r].replicas;
    for (uint32_t i = 0; i < n; i++) {
        strbuf_addf(out, " %u:", start->places[i].machine);
        for (uint64_t left = start->places[i].gpus; left; left &= left - 1)
            strbuf_addf(out, "%s%d", left == start->places[i].gpus ? "" : ",",
                        __builtin_ctzll(left));
    }
}

/* What is decided, one line each. */
static inline const char *stage_text(struct stage *s)
{
    auto_strbuf struct strbuf out = STRBUF_INIT;

    queue_arrange(s->a, &s->w);
    queue_decide(&s->w, STAGE_NOW, s->a, &s->d);
    for (uint32_t i = 0; i < s->d.n_stops; i++) {
        strbuf_addf(&out, "stop %u: ", s->d.stops[i].job + 1);
        queue_stop_sentence(&s->w, &s->d.stops[i], &out);
        strbuf_addch(&out, '\n');
    }
    for (uint32_t i = 0; i < s->d.n_starts; i++) {
        strbuf_addf(&out, "%s %u on", s->d.starts[i].backfilled ? "backfill" : "start",
                    s->d.starts[i].job + 1);
        stage_places(&s->d.starts[i], &s->jobs[s->d.starts[i].job], &out);
        strbuf_addch(&out, '\n');
    }
    for (uint32_t i = 0; i < s->d.n_waits; i++) {
        strbuf_addf(&out, "wait %u: ", s->d.waits[i].job + 1);
        queue_wait_sentence(&s->w, &s->d.waits[i], &out);
        strbuf_addch(&out, '\n');
    }
    return arena_strdup(s->a, out.buf);
}

/* The jobs that wait, in order: "3 1 2". */
static inline const char *stage_order(struct stage *s)
{
    auto_strbuf struct strbuf out = STRBUF_INIT;

    (void)stage_text(s);
    for (uint32_t i = 0; i < s->d.n_waits; i++)
        if (s->d.waits[i].ahead != UINT32_MAX)
            strbuf_addf(&out, "%s%u", out.len ? " " : "", s->d.waits[i].job + 1);
    return arena_strdup(s->a, out.buf);
}

static inline void stage_end(struct stage *s)
{
    arena_free(s->a);
}

#endif
