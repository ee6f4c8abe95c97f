/* gang.c - the PodGroup of a job: it follows changes of the job's policy, and is deleted when no pod
 * of the job is to be scheduled any more. carry.c creates it, before the pods.
 */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "doc/json_write.h"
#include "doc/make.h"
#include "operator/operator.h"
#include "operator/owned.h"

/* mpi-operator leaves the group of an ended job with its pods if these are kept. */
static bool is_over(const struct tended *t)
{
    const struct job *job = t->job;

    if (job->phase == JOB_PAUSED)
        return true;
    return job->phase == JOB_ENDED &&
           (t->kind->family == FAMILY_TRAINING || job->plan->spec->clean_up == CLEAN_UP_RUNNING ||
            job->plan->spec->clean_up == CLEAN_UP_ALL);
}

/* Ours, by its uid; one of another's stays. */
static void looked(void *ctx, const struct kube_answer *answer)
{
    auto_arena struct arena *a = arena_new();
    struct tended *t = ctx;

    if (!t->gone && kube_ok(answer) && owned_by(answer->body, &t->served) == OWNED_OURS) {
        struct node *options = make_map(a);

        make_put(a, make_below(a, options, "preconditions"), "uid",
                 node_find(answer->body, "metadata", "uid", NULL));
        carry_request(t, "DELETE", carry_path(a, t, t->group), NULL, options);
    }
    t->in_flight--;
    if (t->gone && t->in_flight == 0)
        tend_free(t);
}

static void look(struct tended *t)
{
    auto_arena struct arena *a = arena_new();

    t->in_flight++;
    (void)kube_send(t->op->api, &(struct kube_request){.method = "GET",
                                                       .path = carry_path(a, t, t->group),
                                                       .done = looked,
                                                       .ctx = t});
}

static void change(struct tended *t, struct arena *a, const struct node *spec)
{
    struct node *patch = make_map(a);

    make_put(a, patch, "spec", spec);
    carry_request(t, "PATCH", carry_path(a, t, t->group), "application/merge-patch+json", patch);
}

void gang_follow(struct tended *t)
{
    auto_arena struct arena *a = arena_new();
    auto_strbuf struct strbuf text = STRBUF_INIT;
    unsigned char *made = &t->made[t->group - t->wants];
    const struct node *spec;

    if (is_over(t)) {
        if (!t->group_over)
            look(t);
        t->group_over = true;
        *made = MADE_NOT;
        t->has_shared = false;
        free(TAKE_PTR(t->group_spec));
        return;
    }
    t->group_over = false;
    spec = want_group_spec(a, &t->served);
    json_write(&text, spec);
    if (*made && t->group_spec && strcmp(t->group_spec, text.buf) != 0)
        change(t, a, spec);
    free(t->group_spec);
    t->group_spec = strbuf_detach(&text);
}

bool gang_needs_launcher(const struct tended *t)
{
    const char *policy =
        node_text(node_find(t->served.object, "spec", "launcherCreationPolicy", NULL), "");

    return t->group && strcmp(policy, "WaitForWorkersReady") != 0;
}
