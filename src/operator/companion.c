/* companion.c - the PodGroup of a job and its autoscaler: they follow changes of the job's policy
 * and are deleted when no pod of the job is to be scheduled any more. carry.c creates them, before
 * the pods.
 */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "doc/json_write.h"
#include "doc/make.h"
#include "operator/operator.h"
#include "operator/owned.h"

/* mpi-operator leaves the group of an ended job with its pods if these are kept. */
static bool is_over(const struct tended *t, const struct companion *c)
{
    const struct job *job = t->job;

    if (job->phase == JOB_PAUSED)
        return true;
    return job->phase == JOB_ENDED && (c == &t->scaler || t->kind->family == FAMILY_TRAINING ||
                                       job->plan->spec->clean_up == CLEAN_UP_RUNNING ||
                                       job->plan->spec->clean_up == CLEAN_UP_ALL);
}

struct looking {
    struct tended *t;
    const struct want *want;
};

/* Ours, by its uid; one of another's stays. */
static void looked(void *ctx, const struct kube_answer *answer)
{
    auto_arena struct arena *a = arena_new();
    struct looking *l = ctx;
    struct tended *t = l->t;

    if (!t->gone && kube_ok(answer) && owned_by(answer->body, &t->served) == OWNED_OURS) {
        struct node *options = make_map(a);

        make_put(a, make_below(a, options, "preconditions"), "uid",
                 node_find(answer->body, "metadata", "uid", NULL));
        carry_request(t, "DELETE", carry_path(a, t, l->want), NULL, options);
    }
    free(l);
    t->in_flight--;
    if (t->gone && t->in_flight == 0)
        tend_free(t);
}

static void look(struct tended *t, const struct want *w)
{
    auto_arena struct arena *a = arena_new();
    struct looking *l = xcalloc(1, sizeof(*l));

    *l = (struct looking){t, w};
    t->in_flight++;
    (void)kube_send(t->op->api,
                    &(struct kube_request){
                        .method = "GET", .path = carry_path(a, t, w), .done = looked, .ctx = l});
}

static void follow(struct tended *t, struct companion *c)
{
    auto_arena struct arena *a = arena_new();
    auto_strbuf struct strbuf text = STRBUF_INIT;
    unsigned char *made = &t->made[c->want - t->wants];
    const struct want_state st = {.start = FIRST_START};
    struct node *patch = make_map(a);

    if (is_over(t, c)) {
        if (!c->over)
            look(t, c->want);
        c->over = true;
        *made = MADE_NOT;
        t->has_shared = false;
        free(TAKE_PTR(c->spec));
        return;
    }
    c->over = false;
    make_put(a, patch, "spec", node_get(want_object(a, &t->served, c->want, &st), "spec"));
    json_write(&text, patch);
    if (*made && c->spec && strcmp(c->spec, text.buf) != 0)
        carry_request(t, "PATCH", carry_path(a, t, c->want), "application/merge-patch+json", patch);
    free(c->spec);
    c->spec = strbuf_detach(&text);
}

void companions_follow(struct tended *t)
{
    if (t->group.want)
        follow(t, &t->group);
    if (t->scaler.want)
        follow(t, &t->scaler);
}

bool gang_needs_launcher(const struct tended *t)
{
    const char *policy =
        node_text(node_find(t->served.object, "spec", "launcherCreationPolicy", NULL), "");

    return t->group.want && strcmp(policy, "WaitForWorkersReady") != 0;
}
