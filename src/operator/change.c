/* change.c - what follows when a running job is changed: the number of its replicas, and the files
 * that tell its launcher of them.
 *
 * A plan is never changed. With another number of replicas the job has another plan; its state
 * moves over (resize.h), and so does what is known of its pods. Nothing may be on its way
 * meanwhile.
 */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "doc/json_write.h"
#include "doc/make.h"
#include "job/snapshot.h"
#include "operator/operator.h"
#include "operator/resize.h"

/* --- replicas that are gone ------------------------------------------------------------------- */

static void delete_service(struct tended *t, const struct want *service)
{
    auto_arena struct arena *a = arena_new();

    if (service)
        carry_request(t, "DELETE", carry_path(a, t, service), NULL, NULL);
}

/* What the old plan had and the new one has not. */
static void remove_gone(struct tended *t, const struct plan *to)
{
    for (uint32_t i = 0; i < t->served.plan->n_replicas; i++) {
        if (resize_replica(t->served.plan, to, i) >= 0)
            continue;
        carry_delete_pod(t, i);
        delete_service(t, t->services_of[i]);
    }
}

/* --- the new plan ----------------------------------------------------------------------------- */

struct before { /* of the old plan */
    struct arena *arena;
    const struct plan *plan;
    struct hand *hands;
    bool *running;
    unsigned char *made;
    const struct want *wants;
    size_t n_wants;
};

static void free_hand(struct hand *h)
{
    free(h->name);
    free(h->uid);
    free(h->text);
    free(h->ranks);
    free(h->ranks_before);
    free(h->container);
}

static void move_hands(struct tended *t, struct before *was)
{
    for (uint32_t i = 0; i < was->plan->n_replicas; i++) {
        int32_t now = resize_replica(was->plan, t->served.plan, i);

        if (now < 0) {
            free_hand(&was->hands[i]);
            continue;
        }
        t->hands[now] = was->hands[i];
        t->hands[now].dirty = true;
        t->running[now] = was->running[i];
    }
    for (size_t i = 0; i < was->n_wants; i++)
        for (size_t k = 0; was->made[i] && k < t->n_wants; k++)
            if (t->wants[k].kind == was->wants[i].kind &&
                strcmp(t->wants[k].name, was->wants[i].name) == 0) {
                t->made[k] = was->made[i];
                break;
            }
}

static const char *kept_text(struct arena *a, const char *text)
{
    return text ? arena_strdup(a, text) : NULL;
}

static void take_plan(struct tended *t, struct before *was)
{
    *was = (struct before){t->arena, t->served.plan, t->hands,  t->running,
                           t->made,  t->wants,       t->n_wants};
    bool recorded = t->served.records; /* its pods are as they are */

    t->arena = TAKE_PTR(t->next_arena);
    t->served = t->next_served;
    t->served.records &= recorded;
    t->private_key = kept_text(t->arena, t->private_key);
    t->public_key = kept_text(t->arena, t->public_key);
    t->agent_key = kept_text(t->arena, t->agent_key);
    t->group.want = t->scaler.want = NULL;
    place_begin(t);
    move_hands(t, was);
}

static void resize(struct tended *t)
{
    auto_strbuf struct strbuf text = STRBUF_INIT, now = STRBUF_INIT;
    struct before was;

    if (!resize_is_same(t->served.plan, t->next_served.plan))
        tell(t, "info", "it has %u replicas now, not %u", t->next_served.plan->n_replicas,
             t->served.plan->n_replicas);
    place_report(t); /* what was heard so far is part of the state */
    (void)turn_run(t->turn, clock_run());
    remove_gone(t, t->next_served.plan);
    job_save(t->job, &text);
    resize_snapshot(t->served.plan, t->next_served.plan, text.buf, &now);
    turn_free(TAKE_PTR(t->turn));
    job_free(TAKE_PTR(t->job));
    take_plan(t, &was);
    tend_load(t, now.buf, now.len);
    free(was.hands);
    free(was.running);
    free(was.made);
    arena_free(was.arena);
    free(TAKE_PTR(t->kept));
    free(TAKE_PTR(t->told));
    t->decided = true;
}

void change_take(struct tended *t, struct arena *arena, const struct served *now)
{
    arena_free(t->next_arena);
    t->next_arena = arena;
    t->next_served = *now;
}

bool change_waits(struct tended *t)
{
    if (!t->next_arena)
        return false;
    if (t->in_flight > 0) {
        tend_later(t);
        return true;
    }
    resize(t);
    return false;
}

/* --- hostfile and discover_hosts.sh ----------------------------------------------------------- */

enum { FILES_S = 1 }; /* workers come many at a time: no more often than this */

static const struct want *files_of(const struct tended *t)
{
    for (size_t i = 0; i < t->n_wants; i++)
        if (t->wants[i].kind == WANT_CONFIG_MAP) /* the first of several */
            return &t->wants[i];
    return NULL;
}

static bool any_pod(const struct tended *t)
{
    for (uint32_t i = 0; i < t->served.plan->n_replicas; i++)
        if (t->hands[i].exists)
            return true;
    return false;
}

ns_t change_files(struct tended *t)
{
    auto_arena struct arena *a = arena_new();
    auto_strbuf struct strbuf text = STRBUF_INIT;
    const struct want *w = files_of(t);
    struct want_state st = {.running = t->running};
    struct node *patch = make_map(a), *data;
    ns_t now = clock_run();

    if (!w || !platform_is_mpijob(t->served.plan->spec->platform.environment) || !any_pod(t) ||
        (t->job->phase != JOB_RUNNING && t->job->phase != JOB_PENDING))
        return 0; /* a launcher finds its workers in them when it starts */
    data = make_copy(a, node_get(want_object(a, &t->served, w, &st), "data"));
    make_drop(data, "kubexec.sh"); /* never changes, and in pods of another operator is another */
    json_write(&text, data);
    if (t->files && strcmp(t->files, text.buf) == 0)
        return 0;
    if (now < t->files_at)
        return t->files_at;
    free(t->files);
    t->files = strbuf_detach(&text);
    t->files_at = now + FILES_S * NS_PER_S;
    make_put(a, patch, "data", data);
    carry_request(t, "PATCH", carry_path(a, t, w), "application/merge-patch+json", patch);
    return 0;
}
