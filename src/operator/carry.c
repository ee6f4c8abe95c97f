/* carry.c - what is wanted of a served job and does not exist is created; what is there and should
 * not be is deleted. Nothing is asked for twice at a time. What the API server refuses is asked for
 * again after a pause that grows: a quota may have room by then. An object of the wanted name that
 * belongs to somebody else stays as it is.
 */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "doc/make.h"
#include "operator/operator.h"
#include "operator/own.h"
#include "operator/owned.h"

struct asked { /* for an object */
    struct tended *t;
    const struct want *want;
    struct asked *prev, *next; /* of the same job */
};

static struct asked *ask_new(struct tended *t, const struct want *want)
{
    struct asked *asked = xcalloc(1, sizeof(*asked));

    *asked = (struct asked){.t = t, .want = want, .next = t->asked};
    if (t->asked)
        t->asked->prev = asked;
    t->asked = asked;
    return asked;
}

static void ask_free(struct asked *asked)
{
    if (asked->prev)
        asked->prev->next = asked->next;
    else
        asked->t->asked = asked->next;
    if (asked->next)
        asked->next->prev = asked->prev;
    free(asked);
}

void carry_release(struct tended *t)
{
    while (t->asked)
        ask_free(t->asked);
}

static void answered(struct asked *asked)
{
    struct tended *t = asked->t;

    t->in_flight--;
    ask_free(asked);
    if (t->gone && t->in_flight == 0)
        tend_free(t);
}

enum { PAUSE_S = 1, PAUSE_MOST_S = 60, SECRET_S = 20 };

const char *carry_path(struct arena *a, const struct tended *t, const struct want *w)
{
    return arena_printf(a, "%s/%s", want_collection(a, w->kind, t->served.namespace_), w->name);
}

/* It is asked for again after a while: once for all that were refused in the same round. */
static void pause_for(struct tended *t)
{
    if (clock_run() < t->carry_at)
        return;
    t->pause_s = t->pause_s == 0 ? PAUSE_S : t->pause_s * 2;
    if (t->pause_s > PAUSE_MOST_S)
        t->pause_s = PAUSE_MOST_S;
    t->carry_at = clock_run() + t->pause_s * NS_PER_S;
}

/* The part of a refusal that does not name the object: a quota refuses all pods of a job alike. */
static const char *refused_why(const char *message)
{
    static const char forbidden[] = "\" is forbidden: ";
    const char *found = strstr(message, forbidden);

    return found ? found + strlen(forbidden) : message;
}

/* Told once, however often it is refused for the same reason. */
static void not_created(struct tended *t, const struct want *w, const char *reason,
                        const char *message)
{
    struct observation o = {
        .kind = OBS_WAITING, .text = message, .free = -1, .end.fate = CAUSE_UNSCHEDULABLE};

    pause_for(t);
    if (w->replica >= 0)
        place_observe(t, (uint32_t)w->replica, &o);
    if (t->refusal && strcmp(refused_why(t->refusal), refused_why(message)) == 0)
        return;
    free(t->refusal);
    t->refusal = xstrdup(message);
    tell(t, "warning", "%s", message);
    keep_event(t, "Warning", reason, message);
}

/* The watch was quicker than the answer, and may know more by now. */
static bool is_shown(const struct hand *h, const struct node *pod)
{
    const char *uid = node_text(node_find(pod, "metadata", "uid", NULL), "");

    return h->uid && strcmp(h->uid, uid) == 0;
}

/* The API server has it, as `object`. */
static void is_there(struct tended *t, const struct want *w, const struct node *object)
{
    t->pause_s = 0;
    t->made[w - t->wants] = MADE_THERE;
    if (w->kind == WANT_POD && !is_shown(&t->hands[w->replica], object))
        place_pod(t, (uint32_t)w->replica, WATCH_THERE, object);
    if (w->kind == WANT_JOB) {
        const struct node *is = node_find(object, "spec", "suspend", NULL);
        const struct node *meta = node_get(object, "metadata");
        const char *waits =
            node_text(node_get(node_get(meta, "annotations"), WANT_DEBUG_ANNOTATION), "");

        t->suspended = is && is->type == NODE_BOOL && is->i;
        t->job_waits = strcmp(waits, "true") == 0;
        free(t->job_uid);
        t->job_uid = xstrdup(node_text(node_get(meta, "uid"), ""));
    }
}

/* What has the name of an object that was to be created. */
static void looked(void *ctx, const struct kube_answer *answer)
{
    auto_arena struct arena *a = arena_new();
    struct asked *asked = ctx;
    struct tended *t = asked->t;
    const struct want *w = asked->want;

    if (w->kind == WANT_POD)
        t->hands[w->replica].creating = false;
    if (t->gone) {
        answered(asked);
        return;
    }
    t->made[w - t->wants] = MADE_NOT;
    if (!kube_ok(answer)) {
        if (answer->status != 404)
            not_created(t, w, "FailedCreate", answer->message);
    } else {
        switch (owned_by(answer->body, &t->served)) {
        case OWNED_OURS:
            t->found = true;
            is_there(t, w, answer->body);
            break;
        case OWNED_LEAVING:
            pause_for(t);
            break;
        case OWNED_OTHERS:
            not_created(t, w, "ErrResourceExists", owned_text(a, answer->body, &t->served));
            break;
        }
    }
    answered(asked);
    tend_soon(t);
}

/* Whose a Secret is cannot be asked: no operator should be able to read those of others. It is ours
 * if the job's other objects were there, too; else it may be leaving, and is waited for. One that
 * stays has the wrong keys, or ours from before a crash: its pods tell. */
static void secret_exists(struct tended *t, const struct want *w)
{
    ns_t now = clock_run();

    if (t->secret_since == 0)
        t->secret_since = now;
    if (t->found || now - t->secret_since > SECRET_S * NS_PER_S)
        t->made[w - t->wants] = MADE_THERE;
    else
        pause_for(t);
}

static void created(void *ctx, const struct kube_answer *answer)
{
    struct asked *asked = ctx;
    struct tended *t = asked->t;
    const struct want *w = asked->want;

    bool exists = strcmp(answer->reason, "AlreadyExists") == 0;

    if (!t->gone && exists && w->kind != WANT_SECRET) {
        auto_arena struct arena *a = arena_new();

        (void)kube_send(t->op->api, &(struct kube_request){.method = "GET",
                                                           .path = carry_path(a, t, w),
                                                           .done = looked,
                                                           .ctx = asked});
        return;
    }
    if (w->kind == WANT_POD)
        t->hands[w->replica].creating = false;
    if (t->gone) {
        answered(asked);
        return;
    }
    t->made[w - t->wants] = MADE_NOT;
    if (kube_ok(answer))
        is_there(t, w, answer->body);
    else if (exists)
        secret_exists(t, w);
    else
        not_created(t, w, "FailedCreate", answer->message);
    answered(asked);
    tend_soon(t);
}

/* Ranks are wrapped by a program of their pod: all workers must have it. */
static bool workers_can_record(const struct tended *t)
{
    for (uint32_t i = 0; i < t->served.plan->n_replicas; i++)
        if (t->hands[i].exists && !t->hands[i].life.recorded &&
            t->served.plan->replicas[i].role->kind != ROLE_LAUNCHER)
            return false;
    return true;
}

static void create(struct tended *t, const struct want *w)
{
    auto_arena struct arena *a = arena_new();
    struct want_state st = {.running = t->running,
                            .private_key = t->private_key,
                            .public_key = t->public_key,
                            .agent = t->agent,
                            .agent_key = t->agent_key,
                            .recorded = workers_can_record(t),
                            .start = FIRST_START};
    struct asked *asked = ask_new(t, w);

    if (w->replica >= 0)
        st.start = t->hands[w->replica].want;
    if (w->kind == WANT_JOB && t->job->phase == JOB_PAUSED)
        st.suspended = t->suspend = t->suspended = true;
    if (w->kind == WANT_POD)
        t->hands[w->replica].creating = true;
    t->in_flight++;
    t->made[w - t->wants] = MADE_ASKED; /* not twice */
    (void)kube_send(t->op->api, &(struct kube_request){
                                    .method = "POST",
                                    .path = want_collection(a, w->kind, t->served.namespace_),
                                    .body = want_object(a, &t->served, w, &st),
                                    .pick = pod_facts_pick,
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

void carry_request(struct tended *t, const char *method, const char *path, const char *type,
                   const struct node *body)
{
    struct asked *asked = ask_new(t, NULL);

    t->in_flight++;
    (void)kube_send(t->op->api, &(struct kube_request){.method = method,
                                                       .path = path,
                                                       .type = type,
                                                       .body = body,
                                                       .done = deleted,
                                                       .ctx = asked});
}

/* The pod that we know, and no later one of the same name. */
void carry_delete_pod(struct tended *t, uint32_t replica)
{
    auto_arena struct arena *a = arena_new();
    struct hand *h = &t->hands[replica];
    struct node *options = make_map(a), *only = make_map(a);

    if (!h->exists || h->deleting || h->life.deleting)
        return;
    h->deleting = true;
    make_put(a, only, "uid", make_text(a, h->uid));
    make_put(a, options, "preconditions", only);
    carry_request(
        t, "DELETE",
        arena_printf(a, "%s/%s", want_collection(a, WANT_POD, t->served.namespace_), h->name), NULL,
        options);
}

static const char patch_type[] = "application/merge-patch+json";

/* Where and how its pod is scheduled may have been changed meanwhile, by a queue. */
static void put_scheduling(struct tended *t, struct arena *a, const struct want *job,
                           struct node *spec)
{
    static const char *const parts[] = {"nodeSelector", "tolerations", "schedulingGates"};
    static const char *const notes[] = {"labels", "annotations"};
    const struct want_state st = {.start = FIRST_START};
    const struct node *template =
        node_find(want_object(a, &t->served, job, &st), "spec", "template", NULL);
    struct node *to = make_below(a, spec, "template");

    for (size_t i = 0; i < ARRAY_SIZE(notes); i++)
        make_put(a, make_below(a, to, "metadata"), notes[i],
                 node_find(template, "metadata", notes[i], NULL));
    for (size_t i = 0; i < ARRAY_SIZE(parts); i++)
        make_put(a, make_below(a, to, "spec"), parts[i],
                 node_find(template, "spec", parts[i], NULL));
}

static void resume(void *ctx, const struct kube_answer *answer)
{
    auto_arena struct arena *a = arena_new();
    struct asked *asked = ctx;
    struct tended *t = asked->t;

    if (!t->gone && answer->status != 404) {
        struct node *patch = make_map(a), *spec = make_below(a, patch, "spec");

        make_put(a, spec, "suspend", make_bool(a, false));
        put_scheduling(t, a, asked->want, spec);
        carry_request(t, "PATCH", carry_path(a, t, asked->want), patch_type, patch);
    }
    answered(asked);
}

/* The Job controller ends its pods, or makes a new one. A Job that has started once takes no other
 * scheduling, unless its time of start is cleared. */
static void suspend(struct tended *t, const struct want *job)
{
    static const struct node cleared = {.type = NODE_NULL};
    auto_arena struct arena *a = arena_new();
    struct node *patch = make_map(a);
    struct asked *asked;

    t->suspended = t->suspend;
    if (t->suspend) {
        make_put(a, make_below(a, patch, "spec"), "suspend", make_bool(a, true));
        carry_request(t, "PATCH", carry_path(a, t, job), patch_type, patch);
        return;
    }
    make_put(a, make_below(a, patch, "status"), "startTime", &cleared);
    asked = ask_new(t, job);
    t->in_flight++;
    (void)kube_send(t->op->api, &(struct kube_request){
                                    .method = "PATCH",
                                    .path = arena_printf(a, "%s/status", carry_path(a, t, job)),
                                    .type = patch_type,
                                    .body = patch,
                                    .done = resume,
                                    .ctx = asked,
                                });
}

/* --- the launcher's Job of a job that is not debugged any more -------------------------------- */

static void job_deleted(void *ctx, const struct kube_answer *answer)
{
    struct asked *asked = ctx;
    struct tended *t = asked->t;

    if (!t->gone) {
        bool over = kube_ok(answer) || answer->status == 404;

        t->made[asked->want - t->wants] = over ? MADE_NOT : MADE_THERE;
        if (over)
            t->suspend = t->suspended = false;
        else
            not_created(t, asked->want, "FailedDelete", answer->message);
        tend_soon(t);
    }
    answered(asked);
}

/* The command of a Job cannot be changed. */
static void delete_job(struct tended *t, const struct want *job)
{
    auto_arena struct arena *a = arena_new();
    struct node *options = make_map(a);

    make_put(a, options, "propagationPolicy", make_text(a, "Background"));
    t->made[job - t->wants] = MADE_ASKED;
    free(t->old_job_uid);
    t->old_job_uid = TAKE_PTR(t->job_uid); /* its pods do not count any more */
    t->in_flight++;
    (void)kube_send(t->op->api, &(struct kube_request){.method = "DELETE",
                                                       .path = carry_path(a, t, job),
                                                       .body = options,
                                                       .done = job_deleted,
                                                       .ctx = ask_new(t, job)});
}

static bool waits_in_vain(const struct tended *t, const struct want *w)
{
    const struct hand *h = &t->hands[w->replica];

    return h->wanted && !h->let_go && t->made[w - t->wants] == MADE_THERE && t->job_waits &&
           !h->want.debug;
}

/* A companion that is not to be there now. */
static bool is_over(const struct tended *t, const struct want *w)
{
    return (w == t->group.want && t->group.over) || (w == t->scaler.want && t->scaler.over);
}

static bool shared_is_there(struct tended *t)
{
    bool there = true;

    for (size_t i = 0; i < t->n_wants; i++) {
        if (t->wants[i].replica >= 0 || is_over(t, &t->wants[i]))
            continue;
        if (!t->made[i])
            create(t, &t->wants[i]);
        there &= t->made[i] == MADE_THERE;
    }
    return there;
}

/* mpi-operator makes all but the workers of a job that is suspended from the beginning: queues look
 * at its launcher. */
static void create_suspended(struct tended *t)
{
    int32_t process = t->served.plan->launcher;
    uint32_t replica = process < 0 ? 0 : t->served.plan->processes[process].replica;
    const struct want *w = t->pods_of[replica];

    if (process >= 0 && place_by_job(t, replica) && !t->made[w - t->wants] && shared_is_there(t))
        create(t, w);
}

static void carry_out_replica(struct tended *t, uint32_t replica)
{
    const struct hand *h = &t->hands[replica];
    const struct want *w = t->pods_of[replica];
    bool by_job = place_by_job(t, replica);
    bool wanted = (h->wanted || h->early) && !h->let_go;

    if (by_job && waits_in_vain(t, w))
        delete_job(t, w);
    else if (by_job && t->suspend != t->suspended)
        suspend(t, w);
    else if (h->remove || (wanted && place_is_stale(t, replica)))
        carry_delete_pod(t, replica);
    else if (!wanted)
        return;
    else if (by_job ? !t->made[w - t->wants] : !h->exists && !h->creating)
        create_replica(t, replica);
}

void carry_out(struct tended *t)
{
    if (t->own) {
        own_carry_out(t);
        return;
    }
    bool any = false;

    if (clock_run() < t->carry_at)
        return;
    companions_follow(t);
    for (uint32_t i = 0; i < t->served.plan->n_replicas; i++)
        any |= t->hands[i].wanted && !t->hands[i].exists && !t->hands[i].let_go;
    if (t->job->phase == JOB_PAUSED) {
        create_suspended(t);
        any = false;
    }
    if (any && !t->has_shared && !(t->has_shared = shared_is_there(t)))
        return;
    for (uint32_t i = 0; i < t->served.plan->n_replicas; i++)
        carry_out_replica(t, i);
}
