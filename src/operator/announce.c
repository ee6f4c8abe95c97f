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

static const char *const types[] = {"Created",    "Initialized", "Running",
                                    "Restarting", "Suspended",   "Paused",
                                    "Succeeded",  "Completed",   "Failed"};

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

unsigned announced_by(const struct node *status)
{
    const struct node *list = node_get(status, "conditions");
    unsigned bits = 0;

    for (size_t i = 0; list && list->type == NODE_SEQ && i < list->n; i++)
        bits |= bit_of(list->items[i]);
    return bits;
}

static void add_cause(struct arena *a, const struct job *job, struct node *condition)
{
    auto_strbuf struct strbuf cause = STRBUF_INIT;

    if (job->cause.kind == CAUSE_NONE)
        return;
    verdict_cause(job, &job->cause, &cause);
    make_put(a, condition, "message",
             make_text(a, arena_printf(a, "%s First failure: %s.", text_at(condition, "message"),
                                       cause.buf)));
}

static bool has_failed(const struct node *conditions)
{
    for (size_t i = 0; i < conditions->n; i++)
        if (strcmp(text_at(conditions->items[i], "type"), "Failed") == 0 &&
            bit_of(conditions->items[i]))
            return true;
    return false;
}

void announce(struct arena *a, struct tended *t, struct node *status)
{
    struct node *list = make_list_below(a, status, "conditions");

    for (size_t i = 0; i < list->n; i++) {
        struct node *c = make_item(list, i);
        unsigned bit = c ? bit_of(c) : 0;
        bool failed = bit && strcmp(text_at(c, "type"), "Failed") == 0;

        if (failed)
            add_cause(a, t->job, c);
        if (bit && !(t->announced & bit)) {
            metrics_condition(&t->op->metrics, t->kind, t->served.namespace_, t->served.written_in,
                              text_at(c, "type"), has_failed(list));
            keep_event(t, failed ? "Warning" : "Normal", text_at(c, "reason"),
                       text_at(c, "message"));
        }
    }
    t->announced = announced_by(status);
}
