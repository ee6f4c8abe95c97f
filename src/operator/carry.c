/* carry.c - what is wanted of a served job and does not exist is created; what is there and should
 * not be is deleted. Every request is sent once, and answered whenever that is.
 */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "doc/make.h"
#include "operator/operator.h"

struct asked { /* for an object */
    struct tended *t;
    const struct want *want;
};

static void answered(struct asked *asked)
{
    struct tended *t = asked->t;

    t->in_flight--;
    free(asked);
    if (t->gone && t->in_flight == 0)
        tend_free(t);
}

/* Refused for good, or only now: both are told, and tried again with the next turn. */
static void not_created(struct tended *t, const struct want *w, const struct kube_answer *answer)
{
    struct observation o = {
        .kind = OBS_WAITING, .text = answer->message, .free = -1, .end.fate = CAUSE_UNSCHEDULABLE};

    tell(t, "warning", "%s", answer->message);
    if (w->replica >= 0)
        place_observe(t, (uint32_t)w->replica, &o);
    keep_event(t, "Warning", "FailedCreate", answer->message);
}

static void created(void *ctx, const struct kube_answer *answer)
{
    struct asked *asked = ctx;
    struct tended *t = asked->t;
    const struct want *w = asked->want;
    bool there = kube_ok(answer) || strcmp(answer->reason, "AlreadyExists") == 0;

    if (w->kind == WANT_POD)
        t->hands[w->replica].creating = false;
    if (t->gone) {
        answered(asked);
        return;
    }
    if (!there)
        not_created(t, w, answer);
    else if (w->kind == WANT_POD && kube_ok(answer))
        place_pod(t, (uint32_t)w->replica, WATCH_THERE, answer->body);
    t->made[w - t->wants] = there;
    answered(asked);
    tend_soon(t);
}

static void create(struct tended *t, const struct want *w)
{
    auto_arena struct arena *a = arena_new();
    struct want_state st = {.running = t->running,
                            .private_key = t->private_key,
                            .public_key = t->public_key,
                            .start = FIRST_START};
    struct asked *asked = xcalloc(1, sizeof(*asked));

    if (w->replica >= 0)
        st.start = t->hands[w->replica].want;
    if (w->kind == WANT_POD)
        t->hands[w->replica].creating = true;
    *asked = (struct asked){t, w};
    t->in_flight++;
    t->made[w - t->wants] = true; /* asked for; not twice */
    (void)kube_send(t->op->api, &(struct kube_request){
                                    .method = "POST",
                                    .path = want_collection(a, w->kind, t->served.namespace_),
                                    .body = want_object(a, &t->served, w, &st),
                                    .done = created,
                                    .ctx = asked,
                                });
}

/* A restarted replica keeps its Service. */
static void create_replica(struct tended *t, uint32_t replica)
{
    const struct want *service = t->services_of[replica];

    if (service && !t->made[service - t->wants])
        create(t, service);
    create(t, t->pods_of[replica]);
}

/* Or suspended: nothing follows from the answer. */
static void deleted(void *ctx, const struct kube_answer *answer)
{
    struct asked *asked = ctx;
    struct tended *t = asked->t;

    if (!kube_ok(answer) && answer->status != 404 && answer->status != 409)
        tell(t, "warning", "%s", answer->message);
    answered(asked);
}

/* The pod that we know, and no later one of the same name. */
void carry_delete_pod(struct tended *t, uint32_t replica)
{
    auto_arena struct arena *a = arena_new();
    struct hand *h = &t->hands[replica];
    struct node *options = make_map(a), *only = make_map(a);
    struct asked *asked;

    if (!h->exists || h->deleting || h->life.deleting)
        return;
    h->deleting = true;
    make_put(a, only, "uid", make_text(a, h->uid));
    make_put(a, options, "preconditions", only);
    asked = xcalloc(1, sizeof(*asked));
    *asked = (struct asked){t, NULL};
    t->in_flight++;
    (void)kube_send(
        t->op->api,
        &(struct kube_request){
            .method = "DELETE",
            .path = arena_printf(a, "%s/%s", want_collection(a, WANT_POD, t->served.namespace_),
                                 h->name),
            .body = options,
            .done = deleted,
            .ctx = asked,
        });
}

/* The Job controller ends its pods, or makes a new one. */
void carry_suspend(struct tended *t, const struct want *job, bool suspended)
{
    auto_arena struct arena *a = arena_new();
    struct node *patch = make_map(a);
    struct asked *asked = xcalloc(1, sizeof(*asked));

    t->suspended = suspended;
    make_put(a, make_below(a, patch, "spec"), "suspend", make_bool(a, suspended));
    *asked = (struct asked){t, NULL};
    t->in_flight++;
    (void)kube_send(
        t->op->api,
        &(struct kube_request){
            .method = "PATCH",
            .path = arena_printf(a, "%s/%s", want_collection(a, WANT_JOB, t->served.namespace_),
                                 job->name),
            .type = "application/merge-patch+json",
            .body = patch,
            .done = deleted,
            .ctx = asked,
        });
}

static bool shared_is_there(struct tended *t)
{
    bool there = true;

    for (size_t i = 0; i < t->n_wants; i++) {
        if (t->wants[i].replica >= 0)
            continue;
        if (!t->made[i])
            create(t, &t->wants[i]);
        there &= t->made[i];
    }
    return there && t->in_flight == 0;
}

void carry_out(struct tended *t)
{
    bool any = false;

    for (uint32_t i = 0; i < t->served.plan->n_replicas; i++)
        any |= t->hands[i].wanted && !t->hands[i].exists && !t->hands[i].let_go;
    if (any && !t->has_shared && !(t->has_shared = shared_is_there(t)))
        return;
    for (uint32_t i = 0; i < t->served.plan->n_replicas; i++) {
        struct hand *h = &t->hands[i];
        const struct want *w = t->pods_of[i];

        if (!h->wanted || h->let_go)
            continue;
        if (place_is_stale(t, i))
            carry_delete_pod(t, i);
        else if (place_by_job(t, i) && t->suspended)
            carry_suspend(t, w, false);
        else if (place_by_job(t, i) ? !t->made[w - t->wants] : !h->exists && !h->creating)
            create_replica(t, i);
    }
}
