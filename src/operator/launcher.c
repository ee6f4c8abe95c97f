/* launcher.c - the batch Job of a launcher, when its pods do not tell.
 *
 * Jobs are not watched: pods are, and nearly always their ends are all there is to know. But a Job
 * may end without another pod (it counts an eviction, we do not; its pod was removed before anybody
 * saw how it ended), and may be deleted itself. So when the launcher has no pod that runs or
 * waits, its Job is asked for, after a pause that grows.
 */
#include "doc/make.h"
#include "operator/expire.h"
#include "operator/operator.h"

enum { LOOK_S = 5, LOOK_MOST_S = 60 };

static void tell_complete(struct tended *t, uint32_t replica)
{
    struct observation o = {
        .kind = OBS_EXITED, .instance = t->hands[replica].want.instance, .end = ENDING_UNKNOWN};

    o.end.known = true;
    o.end.code = 0;
    o.end.at = clock_run();
    place_observe(t, replica, &o);
}

static void tell_failed(struct tended *t, uint32_t replica, const char *text)
{
    auto_arena struct arena *a = arena_new();
    struct observation o = {.kind = OBS_REFUSED,
                            .end.fate = CAUSE_UNSCHEDULABLE,
                            .text = arena_printf(a, "its Job has failed: %s", text)};

    place_observe(t, replica, &o);
}

static void looked(void *ctx, const struct kube_answer *answer)
{
    struct tended *t = ctx;
    const struct want *w = t->gone ? NULL : t->pods_of[t->launcher];
    const char *text = "";

    if (w && answer->status == 404) { /* somebody has deleted it: it is made again */
        t->made[w - t->wants] = MADE_NOT;
    } else if (w && kube_ok(answer)) {
        switch (job_end_of(answer->body, &text)) {
        case JOB_COMPLETE:
            tell_complete(t, t->launcher);
            break;
        case JOB_FAILED:
            tell_failed(t, t->launcher, text);
            break;
        case JOB_GOES_ON:
            break;
        }
    }
    t->in_flight--;
    if (!t->gone)
        tend_soon(t);
    else if (t->in_flight == 0)
        tend_free(t);
}

ns_t launcher_look(struct tended *t)
{
    auto_arena struct arena *a = arena_new();
    int32_t process = t->served.plan->launcher;
    ns_t now = clock_run();
    const struct hand *h;

    if (process < 0)
        return 0;
    t->launcher = t->served.plan->processes[process].replica;
    h = &t->hands[t->launcher];
    if (!place_by_job(t, t->launcher) || !h->wanted || h->let_go || t->suspend ||
        (h->exists && !h->life.over)) {
        t->look_s = 0;
        return 0;
    }
    if (t->look_s == 0) {
        t->look_s = LOOK_S;
        t->look_at = now + LOOK_S * NS_PER_S;
    } else if (now >= t->look_at) {
        t->look_s = t->look_s * 2 < LOOK_MOST_S ? t->look_s * 2 : LOOK_MOST_S;
        t->look_at = now + t->look_s * NS_PER_S;
        t->in_flight++;
        (void)kube_send(t->op->api,
                        &(struct kube_request){.method = "GET",
                                               .path = carry_path(a, t, t->pods_of[t->launcher]),
                                               .done = looked,
                                               .ctx = t});
    }
    return t->look_at;
}
