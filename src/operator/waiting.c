/* waiting.c - what a job waits for: an event, and the message of the condition that holds.
 *
 * Most reasons last for a moment, and many pods come to the same one after the other. So a reason
 * is told when there has been one for a while, for all pods together, and again if it has changed.
 */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "operator/operator.h"

#define FIRST_S 5
#define AGAIN_S 30

static bool may_wait(const struct job *job)
{
    return (job->phase == JOB_PENDING || job->phase == JOB_RUNNING) && job_first_waiting(job);
}

static void set(struct tended *t, const char *text)
{
    free(t->waits_for);
    t->waits_for = text ? xstrdup(text) : NULL;
    t->waits_new = true;
}

ns_t waiting_tell(struct tended *t)
{
    auto_strbuf struct strbuf text = STRBUF_INIT;
    ns_t now = clock_run();

    if (!may_wait(t->job)) {
        if (t->waits_for)
            set(t, NULL);
        t->waits_at = 0;
        return 0;
    }
    if (t->waits_at == 0)
        t->waits_at = now + FIRST_S * NS_PER_S;
    if (now < t->waits_at)
        return t->waits_at;
    t->waits_at = now + AGAIN_S * NS_PER_S;
    waiting_summary(t->job, &text);
    if (text.len > 0 && (!t->waits_for || strcmp(t->waits_for, text.buf) != 0)) {
        set(t, text.buf);
        keep_event(t, "Warning", "Waiting", text.buf);
    }
    return t->waits_at;
}
