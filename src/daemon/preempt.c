/* preempt.c - a started job that makes room for another one, and goes on when there is room again.
 *
 * Making room is a pause: its processes are stopped and the job is kept. Requeueing is the same,
 * and the job goes to the end of the line. A job that a person has paused releases what it has in
 * the same way. It may get other GPUs than before: then it is planned again, like a job of an
 * earlier daemon, because its plan names them.
 *
 * Not here: who has to make room (queue/preempt.c).
 */
#include <string.h>

#include "base/mem.h"
#include "daemon/kill_points.h"
#include "daemon/parts.h"
#include "daemon/served_parts.h"

static bool can_pause(const struct active *act)
{
    const struct job *job = act->job;

    return job && act->turn && job->phase != JOB_ENDED && job->phase != JOB_HELD &&
           !job->pause_wanted && !job->cancel_signal;
}

void preempt_stop(struct served *s, const char *why, bool requeue)
{
    struct active *act = s->act;

    if (!act || s->row.standing != STANDING_HOLDS || !can_pause(act))
        return;
    served_observed(act, &(struct observation){.kind = OBS_PAUSE, .at = clock_run(), .text = why});
    daemon_note(s->d, "%s: %s", s->row.id, why);
    s->row.standing = STANDING_YIELDS;
    if (requeue) {
        s->d->last_turn = s->d->last_turn > s->d->last_number ? s->d->last_turn : s->d->last_number;
        s->row.turn = ++s->d->last_turn;
    }
    store_update(s->d->store, &s->row);
    kill_point(KILL_PREEMPTED);
}

void preempt_check(struct served *s)
{
    const struct job *job = s->act->job;

    if (s->row.standing == STANDING_RELEASED || s->act->told || job->phase != JOB_PAUSED ||
        !job->pause_wanted)
        return;
    if (s->row.standing == STANDING_HOLDS)
        s->row.paused = true; /* by a person */
    s->row.standing = STANDING_RELEASED;
    store_update(s->d->store, &s->row);
    kill_point(KILL_RELEASED);
    s->d->queue_changed = true;
}

/* With the GPUs that the queue has chosen now. */
static bool replan(struct served *s, const char *const *gpus)
{
    auto_strbuf struct strbuf site = STRBUF_INIT;
    struct submission sub = {.max_duration_ms = s->act->max_duration_ms};
    struct err e;

    site_write(&site, s->act->planned.plan, gpus, &sub);
    if (strcmp(site.buf, s->row.site) == 0)
        return true;
    free((char *)(uintptr_t)s->row.site);
    s->row.site = strbuf_detach(&site);
    store_update(s->d->store, &s->row);
    if (store_commit(s->d->store, &e) < 0) {
        daemon_note(s->d, "%s", e.text);
        return false;
    }
    kill_point(KILL_MOVED);
    served_leave(s);
    served_resume(s);
    return s->act && s->act->turn;
}

void preempt_resume(struct served *s)
{
    const char *const *gpus = s->act->watched ? NULL : served_gpus(s->act);

    if (gpus && !replan(s, gpus))
        return;
    s->row.standing = STANDING_HOLDS;
    s->row.paused = false;
    s->since = clock_real();
    store_update(s->d->store, &s->row);
    served_observed(s->act, &(struct observation){.kind = OBS_RESUME, .at = clock_run()});
}

bool preempt_resume_asked(struct served *s)
{
    if (s->row.standing == STANDING_HOLDS)
        return false;
    if (s->row.standing == STANDING_RELEASED && s->row.paused) {
        s->row.paused = false;
        store_update(s->d->store, &s->row);
        s->d->queue_changed = true;
    }
    return true;
}
