/* words.c - decisions of the queue in sentences. */
#include "queue/queue.h"

#include "base/num.h"

const char *const queue_resource_names[QUEUE_RESOURCES] = {
    [QUEUE_CPU] = "cpus", [QUEUE_MEMORY] = "memory", [QUEUE_GPU] = "gpus", [QUEUE_PORT] = "ports"};

/* "1.5", "0.25", "4": thousandths. */
static void add_milli(struct strbuf *out, int64_t milli)
{
    int width = 3;
    long long rest = milli % 1000;

    strbuf_addf(out, "%lld", (long long)(milli / 1000));
    for (; rest && rest % 10 == 0; rest /= 10)
        width--;
    if (rest)
        strbuf_addf(out, ".%0*lld", width, rest);
}

/* "4 GPUs"; bare: "4", but always "2 GiB". */
static void add_amount(struct strbuf *out, enum queue_resource r, int64_t x, bool bare)
{
    static const char *const units[] = {
        [QUEUE_CPU] = "CPU", [QUEUE_GPU] = "GPU", [QUEUE_PORT] = "port"};
    char text[DURATION_TEXT];

    if (x < 0) /* more is in use than there is: a machine has shrunk */
        x = 0;
    if (r == QUEUE_MEMORY)
        strbuf_addf(out, "%s%s", bytes_text(x, text), bare ? "" : " of memory");
    else if (r == QUEUE_CPU)
        add_milli(out, x);
    else
        strbuf_addf(out, "%lld", (long long)x);
    if (r != QUEUE_MEMORY && !bare)
        strbuf_addf(out, " %s%s", units[r], x == (r == QUEUE_CPU ? 1000 : 1) ? "" : "s");
}

static void add_quota(const struct queue_world *w, const struct queue_wait *x, struct strbuf *out)
{
    const struct queue *q = &w->queues[w->jobs[x->job].queue];
    int64_t quota = q->quota.v[x->resource];

    strbuf_addf(out, "queue \"%s\": ", q->name);
    if (x->have >= quota) {
        strbuf_addstr(out, "quota of ");
        add_amount(out, x->resource, quota, false);
        strbuf_addstr(out, " reached, ");
    } else {
        strbuf_addstr(out, "needs ");
        add_amount(out, x->resource, x->need, false);
        strbuf_addstr(out, ", quota ");
        add_amount(out, x->resource, quota, true);
        strbuf_addstr(out, ", ");
    }
    add_amount(out, x->resource, x->have, true);
    strbuf_addstr(out, " in use");
}

static void add_needs(struct strbuf *out, const struct queue_wait *x, const char *between)
{
    strbuf_addstr(out, "needs ");
    add_amount(out, x->resource, x->need, false);
    strbuf_addstr(out, between);
    add_amount(out, x->resource, x->have, true);
}

static uint32_t n_replicas(const struct queue_job *j)
{
    uint32_t n = 0;

    for (uint32_t r = 0; r < j->n_roles; r++)
        n += j->roles[r].replicas;
    return n;
}

/* It can never start. */
static void add_never(const struct queue_world *w, const struct queue_wait *x, struct strbuf *out)
{
    const struct queue_job *j = &w->jobs[x->job];

    switch (x->why) {
    case QUEUE_WHY_AFTER_FAILED:
        strbuf_addf(out, "job %llu did not succeed", (unsigned long long)x->other);
        break;
    case QUEUE_WHY_NEVER:
        add_needs(out, x, w->n_machines == 1 ? ", this machine has " : ", all machines have ");
        break;
    case QUEUE_WHY_NEVER_ON:
        add_needs(out, x, " on one machine, the largest has ");
        break;
    case QUEUE_WHY_NEVER_FITS:
        if (n_replicas(j) == 1)
            strbuf_addstr(out, "does not fit on any machine");
        else
            strbuf_addf(out, "its %u replicas do not fit on the machines", n_replicas(j));
        break;
    case QUEUE_WHY_NEVER_QUOTA:
        strbuf_addf(out, "queue \"%s\": ", w->queues[j->queue].name);
        add_needs(out, x, ", quota ");
        break;
    default:
        return;
    }
    strbuf_addstr(out, ": it can never start");
}

static void add_why(const struct queue_world *w, const struct queue_wait *x, struct strbuf *out)
{
    const struct queue_job *j = &w->jobs[x->job];
    const struct queue *q = &w->queues[j->queue];
    unsigned long long other = x->other;

    switch (x->why) {
    case QUEUE_WHY_SHORT:
        add_needs(out, x, ", ");
        strbuf_addstr(out, " free");
        break;
    case QUEUE_WHY_SHORT_ON:
        add_needs(out, x, " on one machine, at most ");
        strbuf_addstr(out, " free");
        break;
    case QUEUE_WHY_SPREAD:
        if (n_replicas(j) == 1)
            strbuf_addstr(out, "the free resources are not on one machine");
        else
            strbuf_addf(out, "the free resources are too fragmented for its %u replicas",
                        n_replicas(j));
        break;
    case QUEUE_WHY_QUOTA:
        add_quota(w, x, out);
        break;
    case QUEUE_WHY_DELAYS:
        if (j->max_duration > 0 || q->max_duration > 0)
            strbuf_addf(out, "fits now, but would delay job %llu", other);
        else
            strbuf_addf(out, "fits now, but has no maximum duration and would delay job %llu",
                        other);
        break;
    case QUEUE_WHY_ORDER:
        break;
    case QUEUE_WHY_PREEMPTS:
        strbuf_addf(out, "waits for %lld running job%s to stop", (long long)x->need,
                    x->need == 1 ? "" : "s");
        break;
    case QUEUE_WHY_AFTER:
        strbuf_addf(out, "waits for job %llu to succeed", other);
        break;
    case QUEUE_WHY_AFTER_ANY:
        strbuf_addf(out, "waits for job %llu to end", other);
        break;
    case QUEUE_WHY_CLOSED:
        strbuf_addf(out, "queue \"%s\" is closed", q->name);
        break;
    case QUEUE_WHY_PAUSED:
        strbuf_addstr(out, "paused");
        break;
    default:
        add_never(w, x, out);
        break;
    }
}

void queue_wait_sentence(const struct queue_world *w, const struct queue_wait *wait,
                         struct strbuf *out)
{
    size_t begin = out->len;

    add_why(w, wait, out);
    if (wait->ahead != UINT32_MAX && wait->ahead > 0)
        strbuf_addf(out, "%sahead: %u job%s", out->len > begin ? "; " : "", wait->ahead,
                    wait->ahead == 1 ? "" : "s");
    else if (out->len == begin)
        strbuf_addstr(out, "next to start");
}

void queue_stop_sentence(const struct queue_world *w, const struct queue_stop *stop,
                         struct strbuf *out)
{
    const struct queue_job *j = &w->jobs[stop->job];
    ns_t of_queue = w->queues[j->queue].max_duration, own = j->max_duration;
    char text[DURATION_TEXT];

    if (stop->why == QUEUE_EXCEEDED) {
        bool by_queue = own <= 0 || (of_queue > 0 && of_queue < own);
        strbuf_addf(out, "exceeded %s maximum duration of %s", by_queue ? "its queue's" : "its",
                    duration_text((by_queue ? of_queue : own) / NS_PER_MS, text));
        return;
    }
    const struct queue_job *other = &w->jobs[stop->other];
    strbuf_addf(out, "%s to make room for job %llu of queue \"%s\"",
                stop->why == QUEUE_PREEMPT_TO_PAUSE ? "paused" : "requeued",
                (unsigned long long)other->id, w->queues[other->queue].name);
}
