/* ranks.c - see ranks.h. */
#include "operator/ranks.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "base/limits.h"
#include "doc/json_read.h"
#include "shim/records.h"

const char *ranks_line(struct arena *a, const char *message)
{
    const char *line = message, *found = NULL;

    for (; line; line = strchr(line, '\n'), line = line ? line + 1 : NULL)
        if (strncmp(line, RECORDS_PREFIX, strlen(RECORDS_PREFIX)) == 0)
            found = line + strlen(RECORDS_PREFIX);
    return found ? arena_strndup(a, found, strcspn(found, "\n")) : NULL;
}

static int64_t number(const struct node *map, const char *key, int64_t least, int64_t most,
                      int64_t otherwise)
{
    const struct node *n = node_get(map, key);

    return n && n->type == NODE_INT && n->i >= least && n->i <= most ? n->i : otherwise;
}

/* That many milliseconds before the end. */
static ns_t time_of(const struct node *map, const char *key, ns_t end)
{
    return end - number(map, key, 0, end / NS_PER_MS, 0) * NS_PER_MS;
}

/* By its host's name; the launcher's, if no replica has that name. */
static uint32_t replica_of(const struct plan *plan, const char *host)
{
    for (uint32_t i = 0; i < plan->n_replicas; i++)
        if (strcmp(plan->replicas[i].host, host) == 0)
            return i;
    return plan->processes[plan->launcher].replica;
}

static struct ending ending_of(const struct plan *plan, uint32_t replica, const struct node *rank,
                               ns_t at)
{
    struct ending e = ENDING_UNKNOWN;
    const struct node *oom = node_get(rank, "oom");

    e.at = at;
    e.exec_errno = (int)-number(rank, "exec", 1, LIMIT_ERRNO, 0);
    if (e.exec_errno)
        (void)snprintf(e.exec_what, sizeof(e.exec_what), "exec");
    e.code = (int)number(rank, "code", 0, 255, -1);
    e.signal = (int)number(rank, "signal", 1, NSIG, 0);
    e.known = e.code >= 0 || e.signal;
    e.oom = oom && oom->type == NODE_BOOL && oom->i;
    if (e.oom)
        e.memory_limit = plan->replicas[replica].role->res.memory_limit;
    return e;
}

struct telling {
    const struct job *job;
    uint32_t launch;
    ns_t end;
    void (*observe)(void *ctx, const struct observation *o);
    void *ctx;
};

/* A rank that has failed; or, if nothing is said of it, one that has not. */
static void tell_rank(const struct telling *t, const struct node *launch, const struct node *rank)
{
    const struct plan *plan = t->job->plan;
    uint32_t size = (uint32_t)number(launch, "size", 1, LIMIT_PROCESSES, 0);
    struct observation o = {.kind = OBS_RANK_STARTED,
                            .at = time_of(launch, "began", t->end),
                            .launch = t->launch,
                            .rank = (uint32_t)number(rank, "rank", 0, size - 1, 0),
                            .size = size,
                            .forwarded = true,
                            .log = "",
                            .began = time_of(launch, "began", t->end),
                            .program = number(launch, "program", INT64_MIN, INT64_MAX, 0)};

    o.replica = replica_of(plan, node_text(node_get(rank, "host"), ""));
    t->observe(t->ctx, &o);
    o.kind = OBS_RANK_EXITED;
    o.at = time_of(rank ? rank : launch, rank ? "ago" : "over", t->end);
    o.end = ending_of(plan, o.replica, rank, o.at);
    if (!rank) {
        o.end.known = true;
        o.end.code = 0;
    }
    t->observe(t->ctx, &o);
}

static void tell_launch(const struct telling *t, const struct node *launch)
{
    const struct node *list = node_get(launch, "first");
    size_t n = list && list->type == NODE_SEQ ? list->n : 0;
    struct observation over = {.kind = OBS_MPIRUN_ENDED,
                               .launch = t->launch,
                               .at = time_of(launch, "over", t->end),
                               .end = ENDING_UNKNOWN};

    for (size_t i = 0; i < n && i < LIMIT_RECORD_FAILURES; i++)
        tell_rank(t, launch, list->items[i]);
    if (n == 0)
        tell_rank(t, launch, NULL);
    over.end.at = over.at;
    t->observe(t->ctx, &over);
}

void ranks_observe(const struct job *job, const char *line, ns_t end,
                   void (*observe)(void *ctx, const struct observation *o), void *ctx)
{
    auto_arena struct arena *a = arena_new();
    const struct node *list = node_get(json_node(a, line, strlen(line)), "launches");
    struct telling t = {job, job->n_launches, end, observe, ctx};

    if (job->plan->launcher < 0)
        return;
    for (size_t i = 0; list && list->type == NODE_SEQ && i < list->n; i++) {
        const struct node *launch = list->items[i];

        if (i >= LIMIT_RECORD_LAUNCHES || number(launch, "size", 1, LIMIT_PROCESSES, 0) == 0)
            break;
        t.launch++;
        tell_launch(&t, launch);
    }
}
