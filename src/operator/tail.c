/* tail.c - the last lines of the pod that failed first, for the condition of a failed job.
 *
 * Pods are removed, and with them their logs; who looks for the reason later has the object alone.
 * So the lines are asked for when the job has failed, before anything is removed and before the
 * status says so. A log that does not come keeps nobody waiting for long.
 */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "operator/operator.h"
#include "operator/own.h"

enum { LINES = 8, BYTES = 600, PATIENCE_S = 10 };

static void take_line(void *ctx, const char *line, size_t n)
{
    struct tended *t = ctx;

    if (t->gone || !t->tail || t->tail_n + n + 2 > BYTES)
        return;
    t->tail[t->tail_n++] = '\n';
    for (size_t i = 0; i < n; i++) /* a status takes no control characters */
        t->tail[t->tail_n++] = (unsigned char)line[i] < ' ' ? ' ' : line[i];
    t->tail[t->tail_n] = '\0';
}

static void ended(void *ctx, const struct kube_answer *answer)
{
    struct tended *t = ctx;

    t->in_flight--;
    if (t->gone) {
        if (t->in_flight == 0)
            tend_free(t);
        return;
    }
    if (!kube_ok(answer) && answer->status != 404 && answer->status != 400)
        tell(t, "warning", "%s", answer->message);
    t->tail_state = TAIL_KNOWN;
    tend_soon(t);
}

/* What a rank writes goes through mpirun: it is in the log of the launcher. */
static const struct hand *tail_hand(const struct tended *t)
{
    const struct cause *c = &t->job->cause;
    const struct plan *plan = t->served.plan;

    if (c->rank >= 0 && c->launch >= 0 && plan->launcher >= 0)
        return &t->hands[plan->processes[plan->launcher].replica];
    return c->replica < 0 ? NULL : &t->hands[c->replica];
}

/* The pod of the first failure, if its container has run. */
static const struct hand *failed_hand(const struct tended *t)
{
    const struct cause *c = &t->job->cause;
    const struct hand *h = tail_hand(t);
    bool ran = c->kind == CAUSE_EXIT || c->kind == CAUSE_SIGNAL || c->kind == CAUSE_OOM ||
               c->kind == CAUSE_EXEC;

    return t->job->phase == JOB_ENDED && ran && h && h->exists && h->name ? h : NULL;
}

static const char *failed_pod(const struct tended *t, const char **ret_container)
{
    const struct hand *h;

    if (t->own)
        return own_failed_pod(t, ret_container);
    h = failed_hand(t);
    *ret_container = h ? h->container : NULL;
    return h ? h->name : NULL;
}

bool tail_waits(struct tended *t)
{
    auto_arena struct arena *a = arena_new();
    const char *pod, *container;

    if (t->tail_state == TAIL_ASKED)
        return true;
    pod = t->tail_state == TAIL_NOT ? failed_pod(t, &container) : NULL;
    if (!pod)
        return false;
    t->tail_of = xstrdup(pod);
    t->tail_state = TAIL_ASKED;
    t->tail = xcalloc(1, BYTES);
    t->tail_n = 0;
    t->in_flight++;
    (void)kube_send(t->op->api,
                    &(struct kube_request){
                        .method = "GET",
                        .path = arena_printf(a, "%s/%s/log?tailLines=%d&container=%s",
                                             want_collection(a, WANT_POD, t->served.namespace_),
                                             pod, LINES, container),
                        .patience_s = PATIENCE_S,
                        .line = take_line,
                        .done = ended,
                        .ctx = t});
    return true;
}

const char *tail_text(struct arena *a, const struct tended *t)
{
    if (t->tail_state != TAIL_KNOWN || t->tail_n == 0)
        return "";
    return arena_printf(a, " Last lines of %s:%s", t->tail_of, t->tail);
}
