/* snapshot_load.c - see snapshot.h: loading. Every number that becomes an index is checked here. */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "doc/json_read.h"
#include "job/attempt.h"
#include "job/sight.h"
#include "job/snapshot_parts.h"

struct loader {
    struct job *job;     /* the one that lines are for */
    struct arena *a;     /* of one line */
    const char *bad;     /* the first thing that makes no sense; NULL: none */
    struct launch *last; /* the one that ranks are for, or NULL */
};

static void complain(struct loader *l, const char *what)
{
    if (what && !l->bad)
        l->bad = what;
}

static int64_t number(const struct node *map, const char *key)
{
    const struct node *n = node_get(map, key);

    return n && n->type == NODE_INT ? n->i : -1;
}

static void load_end(struct loader *l, const struct node *map, struct ending *ret)
{
    const struct node *end = node_get(map, "end");

    if (end)
        complain(l, ending_read(end, ret));
}

static void load_process(struct loader *l, const struct node *map, int64_t i)
{
    if (i < 0 || i >= l->job->plan->n_processes) {
        complain(l, "process");
        return;
    }
    complain(l, fields_read(NULL, map, &snapshot_proc, &l->job->procs[i]));
    load_end(l, map, &l->job->procs[i].end);
}

/* Into an empty place; a reason without a text is none. */
static void load_waiting(struct loader *l, const struct node *map, uint32_t at)
{
    struct job *job = l->job;

    if (!node_get(map, "what"))
        return;
    if (!job->waiting)
        job->waiting = xcalloc(job->plan->n_replicas + 1, sizeof(*job->waiting));
    free(job->waiting[at].what);
    complain(l, fields_read(NULL, map, &snapshot_waiting, &job->waiting[at]));
}

static void load_replica(struct loader *l, const struct node *map, int64_t i)
{
    int64_t gate = number(map, "gate");

    if (i < 0 || i >= l->job->plan->n_replicas || gate < GATE_CLOSED || gate > GATE_UP ||
        (gate != GATE_CLOSED && !l->job->gated)) {
        complain(l, "replica");
        return;
    }
    if (l->job->gated)
        l->job->gates[i] = (enum gate_state)gate;
    complain(l, fields_read(NULL, map, &snapshot_sight, &l->job->sight[i]));
    load_waiting(l, map, (uint32_t)i);
    sight_keep_why(l->job, (uint32_t)i, node_text(node_get(map, "why"), NULL));
}

static void load_launch(struct loader *l, const struct node *map, int64_t i)
{
    const struct node *blame = node_get(map, "blame");
    struct job *job = l->job;
    struct launch launch = {0};

    complain(l, fields_read(NULL, map, &snapshot_launch, &launch));
    if (blame) {
        complain(l, fields_read(NULL, blame, &snapshot_blame, &launch.blame));
        load_end(l, blame, &launch.blame.end);
    }
    if (i != job->n_launches || i >= LIMIT_LAUNCHES || launch.size > LIMIT_PROCESSES ||
        launch.first_failed < -1 || launch.first_failed >= (int32_t)launch.size ||
        (blame && ((launch.size > 0 && launch.blame.rank >= launch.size) ||
                   launch.blame.replica >= job->plan->n_replicas))) {
        complain(l, "launch");
        return;
    }
    launch.ranks = launch.size ? xcalloc(launch.size, sizeof(*launch.ranks)) : NULL;
    job->launches = xrealloc_array(job->launches, job->n_launches + 1, sizeof(*job->launches));
    l->last = &job->launches[job->n_launches++];
    *l->last = launch;
}

static void load_rank(struct loader *l, const struct node *map, int64_t i)
{
    if (!l->last || i < 0 || i >= l->last->size) {
        complain(l, "rank");
        return;
    }
    struct rank *r = &l->last->ranks[i];
    free(r->log);
    complain(l, fields_read(NULL, map, &snapshot_rank, r));
    load_end(l, map, &r->end);
    if (r->replica >= l->job->plan->n_replicas)
        complain(l, "replica");
}

static void load_role(struct loader *l, const struct node *map, int64_t k)
{
    (void)map;
    if (k < 0 || k >= (int64_t)l->job->plan->spec->n_roles)
        complain(l, "role_killed");
    else
        l->job->role_killed[k] = true;
}

/* --- one attempt ------------------------------------------------------------------------------ */

static void count(struct job *job)
{
    uint32_t n[PROC_ENDED + 1] = {0};

    for (uint32_t i = 0; i < job->plan->n_processes; i++)
        n[job->procs[i].state]++;
    job->n_pending = n[PROC_PENDING];
    job->n_backoff = n[PROC_BACKOFF];
    job->n_starting = n[PROC_STARTING];
    job->n_running = n[PROC_RUNNING];
    job->n_ended = n[PROC_ENDED];
    for (uint32_t i = 0; job->gated && i < job->plan->n_replicas; i++)
        job->n_up += job->gates[i] == GATE_UP;
    for (uint32_t k = 0; k < job->n_launches; k++)
        for (uint32_t r = 0; r < job->launches[k].size; r++) {
            job->launches[k].started += job->launches[k].ranks[r].state != PROC_PENDING;
            job->launches[k].ended += job->launches[k].ranks[r].state == PROC_ENDED;
        }
}

bool job_cause_fits(const struct job *job, const struct cause *c)
{
    bool somebody = c->kind == CAUSE_EXIT || c->kind == CAUSE_SIGNAL || c->kind == CAUSE_OOM ||
                    c->kind == CAUSE_EXEC || c->kind == CAUSE_NOT_READY || c->kind == CAUSE_GONE ||
                    c->kind == CAUSE_EVICTED;

    if (c->replica < (somebody ? 0 : -1) || c->replica >= (int32_t)job->plan->n_replicas ||
        c->process < -1 || c->process >= (int32_t)job->plan->n_processes || c->rank < -1 ||
        c->launch < -1 || c->launch >= (int32_t)job->n_launches)
        return false;
    return c->launch < 0 || (c->rank >= 0 && (uint32_t)c->rank < job->launches[c->launch].size);
}

/* All lines of an attempt are there. */
static void finish(struct loader *l)
{
    struct job *job = l->job;

    count(job);
    if (job->first_failed < -1 || job->first_failed >= (int32_t)job->plan->n_processes ||
        job->stop_replica < -1 || job->stop_replica >= (int32_t)job->plan->n_replicas ||
        (job->stop == STOP_NOT_READY && job->stop_replica < 0) ||
        job->launch_base > job->n_launches ||
        (job->phase == JOB_ENDED && !job_cause_fits(job, &job->cause)))
        complain(l, "attempt");
}

/* The first line of an attempt: what the job was then. */
static void load_job(struct loader *l, const struct node *map)
{
    struct job *job = l->job;
    const struct node *cause = node_get(map, "cause"), *waiting = node_get(map, "waiting");

    l->last = NULL;
    attempt_release(job);
    attempt_reset(job, 0);
    complain(l, fields_read(NULL, map, &snapshot_job, job));
    if (cause)
        complain(l, cause_read(cause, &job->cause));
    else if (job->phase == JOB_ENDED)
        complain(l, "cause");
    if (waiting)
        load_waiting(l, waiting, job->plan->n_replicas);
}

/* --- all of it -------------------------------------------------------------------------------- */

static void load_line(struct loader *l, const struct node *map)
{
    static const struct {
        const char *key;
        void (*load)(struct loader *l, const struct node *map, int64_t i);
    } kinds[] = {{"process", load_process},
                 {"replica", load_replica},
                 {"launch", load_launch},
                 {"rank", load_rank},
                 {"role_killed", load_role}};

    for (size_t k = 0; k < ARRAY_SIZE(kinds); k++)
        if (map->pairs[0].key->text && strcmp(map->pairs[0].key->text, kinds[k].key) == 0) {
            kinds[k].load(l, map, number(map, kinds[k].key));
            return;
        }
    complain(l, "line");
}

/* What was loaded so far was not the last attempt: it goes to the past. */
static void keep(struct job *job)
{
    struct job was = *job;

    was.past = NULL;
    was.n_past = 0;
    job->past = xrealloc_array(job->past, job->n_past + 1, sizeof(*job->past));
    job->past[job->n_past++] = was;
    attempt_reset(job, 0);
}

static void load_text(struct loader *l, const char *text, size_t len)
{
    bool begun = false;

    for (const char *nl, *end = text + len; text < end && !l->bad; text = nl + 1) {
        nl = memchr(text, '\n', (size_t)(end - text));
        l->a = arena_new();
        const struct node *map = nl ? json_node(l->a, text, (size_t)(nl - text)) : NULL;
        bool whole = map && map->type == NODE_MAP && map->n > 0;
        if (!whole) {
            complain(l, "line");
        } else if (node_get(map, "snapshot")) {
            if (begun) {
                finish(l);
                if (l->job->n_past < LIMIT_ATTEMPTS)
                    keep(l->job);
                else
                    complain(l, "past");
            }
            if (number(map, "snapshot") != SNAPSHOT_VERSION)
                complain(l, "version");
            begun = true;
            load_job(l, map);
        } else if (begun) {
            load_line(l, map);
        } else {
            complain(l, "version");
        }
        arena_free(l->a);
        if (!nl)
            break;
    }
    if (!begun)
        complain(l, "version");
    if (!l->bad)
        finish(l);
}

int job_load(const struct plan *plan, const struct job_rules *rules, const char *text, size_t len,
             struct job **ret, struct err *e)
{
    struct loader l = {.job = job_new(plan, rules)};

    load_text(&l, text, len);
    if (l.bad) {
        job_free(l.job);
        return err_set(e, -EINVAL, "a snapshot of another job or version: \"%s\" makes no sense",
                       l.bad);
    }
    *ret = l.job;
    return 0;
}
