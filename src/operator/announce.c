/* announce.c - what people are told when a job comes into another state: an event for each
 * condition that begins to hold, and the first failure in the words of `muster run`.
 *
 * Other operators say that a job has failed. Who failed first and how is known here, so it is in
 * the message of the condition, where `kubectl describe` and dashboards show it.
 */
#include <string.h>

#include "doc/make.h"
#include "job/verdict.h"
#include "operator/operator.h"

static const char *const types[] = {"Created",   "Initialized", "Running",   "Restarting",
                                    "Suspended", "Paused",      "Succeeded", "Completed",
                                    "Failed",    "Accepted"};

static const char *text_at(const struct node *map, const char *key)
{
    return node_text(node_get(map, key), "");
}

/* Bits of types[]; 0: it is not one of these, or does not hold. */
static unsigned bit_of(const struct node *condition)
{
    for (size_t i = 0; i < ARRAY_SIZE(types); i++)
        if (strcmp(text_at(condition, "type"), types[i]) == 0)
            return strcmp(text_at(condition, "status"), "True") == 0 ? 1u << i : 0;
    return 0;
}

/* The status of MPIJob v1alpha1 has one word, and no condition. */
static unsigned bit_of_word(const struct node *status)
{
    const char *word = text_at(status, "launcherStatus");

    for (size_t i = 0; *word && i < ARRAY_SIZE(types); i++)
        if (strcmp(strcmp(word, "Active") == 0 ? "Running" : word, types[i]) == 0)
            return 1u << i;
    return 0;
}

unsigned announced_by(const struct node *status)
{
    const struct node *list = node_get(status, "conditions");
    unsigned bits = bit_of_word(status);

    for (size_t i = 0; list && list->type == NODE_SEQ && i < list->n; i++)
        bits |= bit_of(list->items[i]);
    return bits;
}

static bool ends_with(const char *text, char c)
{
    return *text && text[strlen(text) - 1] == c;
}

/* A message that goes on with the first failure. */
static const char *with_cause(struct arena *a, const struct tended *t, const char *message)
{
    auto_strbuf struct strbuf cause = STRBUF_INIT;
    const struct job *job = t->job;

    if (job->cause.kind == CAUSE_NONE)
        return message;
    if (t->own) /* the message is the verdict */
        return arena_printf(a, "%s%s%s", message, *tail_text(a, t) ? "." : "", tail_text(a, t));
    verdict_cause(job, &job->cause, &cause);
    return arena_printf(a, "%s%s First failure: %s.%s", message, ends_with(message, '.') ? "" : ".",
                        cause.buf, tail_text(a, t));
}

/* Why the container of a pod ended, as its status has it. */
static const char *pod_reason(const struct cause *c)
{
    return c->kind == CAUSE_OOM ? "OOMKilled" : c->kind == CAUSE_EVICTED ? "Evicted" : "Error";
}

static const char *launcher_policy(const struct plan *plan)
{
    const struct replica *rp = &plan->replicas[plan->processes[plan->launcher].replica];

    return text_at(rp->role->template_at->parent, "restartPolicy");
}

/* The failure of an MPIJob v2beta1 is told as that of its launcher's Job. If the pods of that are
 * kept, upstream adds why the last one has failed; and a worker's failure is not the Job's. */
static void put_reason(struct arena *a, const struct tended *t, struct node *c)
{
    const struct cause *cause = &t->job->cause;
    const struct plan *plan = t->served.plan;
    const struct replica *rp = cause->replica < 0 ? NULL : &plan->replicas[cause->replica];

    if (strcmp(text_at(c, "reason"), "BackoffLimitExceeded") != 0 || !rp || plan->launcher < 0)
        return;
    if (rp->role->kind != ROLE_LAUNCHER && cause->rank < 0) {
        make_put(a, c, "reason", make_text(a, "MPIJobFailed"));
        make_put(a, c, "message",
                 make_text(a, arena_printf(a, "MPIJob %s/%s has failed", t->served.namespace_,
                                           t->served.name)));
    } else if (strcmp(launcher_policy(plan), "Never") == 0) {
        make_put(a, c, "reason",
                 make_text(a, arena_printf(a, "BackoffLimitExceeded/%s", pod_reason(cause))));
    }
}

/* The kind's own word is that it has succeeded, because its launcher has; the truth is told beside
 * it. */
static const char *with_ranks(struct arena *a, const struct tended *t, const char *message)
{
    auto_strbuf struct strbuf cause = STRBUF_INIT;

    verdict_cause(t->job, &t->job->cause, &cause);
    return arena_printf(a, "%s%s However, %s.%s", message, ends_with(message, '.') ? "" : ".",
                        cause.buf, tail_text(a, t));
}

/* Has the job failed, whatever its kind calls it? */
static bool failed_in_truth(const struct tended *t)
{
    return t->job->phase == JOB_ENDED && t->job->cause.kind != CAUSE_NONE;
}

static bool is_success(const char *type)
{
    return strcmp(type, "Succeeded") == 0;
}

/* In the words of later versions: its own operator said nothing. */
static void announce_word(struct arena *a, struct tended *t, const struct node *status)
{
    unsigned bit = bit_of_word(status);
    const char *word = text_at(status, "launcherStatus"), *text;
    bool failed = strcmp(word, "Failed") == 0, hidden = is_success(word) && failed_in_truth(t);

    if (!bit || (t->announced & bit))
        return;
    text = arena_printf(a, "MPIJob %s/%s %s", t->served.namespace_, t->served.name,
                        failed             ? "has failed."
                        : is_success(word) ? "successfully completed."
                                           : "is running.");
    keep_event(t, failed || hidden ? "Warning" : "Normal",
               arena_printf(a, "MPIJob%s", strcmp(word, "Active") == 0 ? "Running" : word),
               failed   ? with_cause(a, t, text)
               : hidden ? with_ranks(a, t, text)
                        : text);
}

/* The state that the job is in goes on with what keeps it there. */
static void put_waiting(struct arena *a, const struct tended *t, struct node *list)
{
    static const char *const states[] = {"Created", "Running", "Restarting"};
    struct node *last = NULL;

    for (size_t i = 0; t->waits_for && i < list->n; i++) {
        struct node *c = make_item(list, i);

        for (size_t k = 0; c && bit_of(c) && k < ARRAY_SIZE(states); k++)
            if (strcmp(text_at(c, "type"), states[k]) == 0)
                last = c;
    }
    if (last)
        make_put(a, last, "message",
                 make_text(a, arena_printf(a, "%s%s Waiting: %s.", text_at(last, "message"),
                                           ends_with(text_at(last, "message"), '.') ? "" : ".",
                                           t->waits_for)));
}

void announce(struct arena *a, struct tended *t, struct node *status)
{
    struct node *list;

    if (node_absent(status, "conditions")) {
        announce_word(a, t, status);
        t->announced = announced_by(status);
        return;
    }
    list = make_list_below(a, status, "conditions");
    for (size_t i = 0; i < list->n; i++) {
        struct node *c = make_item(list, i);
        unsigned bit = c ? bit_of(c) : 0;
        bool failed = bit && strcmp(text_at(c, "type"), "Failed") == 0;

        if (failed)
            put_reason(a, t, c);
        bool hidden = bit && is_success(text_at(c, "type")) && failed_in_truth(t);

        if (failed)
            make_put(a, c, "message", make_text(a, with_cause(a, t, text_at(c, "message"))));
        if (hidden)
            make_put(a, c, "message", make_text(a, with_ranks(a, t, text_at(c, "message"))));
        if (bit && !(t->announced & bit))
            keep_event(t, failed || hidden ? "Warning" : "Normal", text_at(c, "reason"),
                       text_at(c, "message"));
    }
    put_waiting(a, t, list);
    t->announced = announced_by(status);
}

void announce_count(struct tended *t, unsigned before)
{
    unsigned failed = 0;

    for (size_t i = 0; i < ARRAY_SIZE(types); i++)
        failed |= strcmp(types[i], "Failed") == 0 ? t->announced & 1u << i : 0;
    for (size_t i = 0; i < ARRAY_SIZE(types); i++)
        if (t->announced & ~before & 1u << i)
            metrics_condition(&t->op->metrics, t->kind, t->served.namespace_, t->served.written_in,
                              types[i], failed != 0);
}
