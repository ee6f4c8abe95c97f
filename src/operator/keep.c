/* keep.c - what an operator writes to a job's object: state that must survive it, the status that
 * people see, and events.
 *
 * Most of a job's state is its pods. What they cannot say (earlier attempts, restarts that were
 * counted, a pause, the first failure of a pod that is gone) is an annotation: the CRDs of other
 * operators prune fields that they do not know, but never annotations. It is written with the
 * version of the object that we have seen, before what was decided is carried out: an operator that
 * took over meanwhile is not overruled.
 */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "doc/json_read.h"
#include "doc/make.h"
#include "job/snapshot.h"
#include "job/status.h"
#include "operator/operator.h"
#include "operator/own.h"
#include "operator/own_status.h"

static const char *object_path(struct arena *a, const struct tended *t, const char *below)
{
    return arena_printf(a, "/apis/%s/namespaces/%s/%s/%s%s", t->served.api_version,
                        t->served.namespace_, t->kind->plural, t->served.name, below);
}

static void answered(struct tended *t)
{
    t->in_flight--;
    if (t->gone && t->in_flight == 0)
        tend_free(t);
}

/* --- state ------------------------------------------------------------------------------------ */

/* Is there something that pods do not tell? */
static bool needs_keeping(const struct job *job)
{
    if (job->n_past > 0 || job->phase == JOB_ENDED || job->pause_wanted || job->resumed ||
        job->debugging || job->stop != STOP_NONE || job->first_failed >= 0)
        return true;
    for (uint32_t i = 0; i < job->plan->n_processes; i++)
        if (job->procs[i].restarts > 0)
            return true;
    return false;
}

static void state_kept(void *ctx, const struct kube_answer *answer)
{
    struct tended *t = ctx;

    t->keeping = false;
    t->keep_failed = !kube_ok(answer);
    if (!t->gone && kube_ok(answer)) {
        const struct node *meta = node_get(answer->body, "metadata");

        /* if the watch was quicker, it has shown a later one already, or will show the last */
        if (strcmp(t->version, t->sent_version) == 0) {
            free(t->version);
            t->version = xstrdup(node_text(node_get(meta, "resourceVersion"), ""));
        }
        tend_soon(t); /* it carries out, or keeps what was decided meanwhile */
    } else if (!t->gone) {
        if (answer->status != 409 && answer->status != 404) /* the watch brings what is new */
            tell(t, "warning", "%s", answer->message);
        free(TAKE_PTR(t->kept));
        t->decided = true;
        tend_later(t);
    }
    answered(t);
}

static void send_state(struct tended *t, const char *text)
{
    auto_arena struct arena *a = arena_new();
    struct node *patch = make_map(a), *meta = make_below(a, patch, "metadata");
    struct node *notes = make_below(a, meta, "annotations");

    make_put(a, meta, "resourceVersion", make_text(a, t->version));
    make_put(a, notes, KEEP_STATE, make_text(a, text));
    make_put(a, notes, KEEP_VERSION, make_text(a, t->served.written_in));
    if (t->job->phase == JOB_ENDED)
        make_put(a, notes, KEEP_EXIT, make_text(a, arena_printf(a, "%d", t->job->exit_code)));
    if (t->own)
        own_keep(a, t, notes);
    free(t->sent_version);
    t->sent_version = xstrdup(t->version);
    t->keeping = true;
    t->in_flight++;
    (void)kube_send(t->op->api, &(struct kube_request){.method = "PATCH",
                                                       .path = object_path(a, t, ""),
                                                       .type = "application/merge-patch+json",
                                                       .body = patch,
                                                       .done = state_kept,
                                                       .ctx = t});
}

void keep_state(struct tended *t)
{
    auto_strbuf struct strbuf text = STRBUF_INIT;

    if (t->keeping)
        return; /* what is decided meanwhile is kept next */
    if (t->own || needs_keeping(t->job))
        job_save(t->job, &text);
    t->decided = false;
    if (text.len == 0 || (t->kept && strcmp(t->kept, text.buf) == 0)) {
        carry_out(t);
        return;
    }
    free(t->kept);
    t->kept = strbuf_detach(&text);
    send_state(t, t->kept);
}

/* --- status ----------------------------------------------------------------------------------- */

static void status_told(void *ctx, const struct kube_answer *answer)
{
    struct tended *t = ctx;

    t->telling = false;
    if (!t->gone && !kube_ok(answer)) {
        if (answer->status != 404)
            tell(t, "warning", "%s", answer->message);
        free(TAKE_PTR(t->told));
        tend_later(t);
    } else if (!t->gone) {
        tend_soon(t); /* it may have changed meanwhile */
    }
    answered(t);
}

/* Replaces the whole status, unless the object is another one of the same name by now. */
static const struct node *status_patch(struct arena *a, struct tended *t, const char *text)
{
    struct node *status = make_copy(a, json_node(a, text, strlen(text)));
    struct node *patch = make_seq(a), *test = make_map(a), *put = make_map(a);
    unsigned before = t->announced;

    make_put(a, test, "op", make_text(a, "test"));
    make_put(a, test, "path", make_text(a, "/metadata/uid"));
    make_put(a, test, "value", make_text(a, t->served.uid));
    make_put(a, put, "op", make_text(a, "add"));
    make_put(a, put, "path", make_text(a, "/status"));
    announce(a, t, status);
    announce_count(t, before);
    make_put(a, put, "value", status);
    make_add(a, patch, test);
    make_add(a, patch, put);
    return patch;
}

void keep_status(struct tended *t)
{
    auto_arena struct arena *a = arena_new();
    auto_strbuf struct strbuf text = STRBUF_INIT;
    struct json j = JSON_COMPACT(&text);

    /* whoever waits for the end finds the exit code then */
    if (t->telling || (t->keeping && t->job->phase == JOB_ENDED && !t->keep_failed))
        return;
    if (t->own)
        own_status(t->job, t->generation, own_refusal(t), &j);
    else
        status_write(t->job, &j);
    if (t->told && strcmp(t->told, text.buf) == 0 && !t->waits_new)
        return;
    t->waits_new = false;
    free(t->told);
    t->told = strbuf_detach(&text);
    t->telling = true;
    t->in_flight++;
    (void)kube_send(t->op->api, &(struct kube_request){.method = "PATCH",
                                                       .path = object_path(a, t, "/status"),
                                                       .type = "application/json-patch+json",
                                                       .body = status_patch(a, t, t->told),
                                                       .done = status_told,
                                                       .ctx = t});
}

void keep_delete(struct tended *t)
{
    auto_arena struct arena *a = arena_new();
    struct node *options = make_map(a);

    tell(t, "info", "its time to live is over; it is deleted");
    make_put(a, make_below(a, options, "preconditions"), "uid", make_text(a, t->served.uid));
    make_put(a, options, "propagationPolicy", make_text(a, "Background"));
    carry_request(t, "DELETE", object_path(a, t, ""), NULL, options);
}

/* --- events ----------------------------------------------------------------------------------- */

enum { EVENT_TEXT = 1024 }; /* the API server takes no more */

static void event_sent(void *ctx, const struct kube_answer *answer)
{
    struct tended *t = ctx;

    if (!t->gone && !kube_ok(answer))
        tell(t, "warning", "%s", answer->message);
    answered(t);
}

void keep_event(struct tended *t, const char *type, const char *reason, const char *text)
{
    auto_arena struct arena *a = arena_new();
    struct node *event = make_map(a), *meta = make_below(a, event, "metadata");
    struct node *of = make_below(a, event, "involvedObject");
    struct node *source = make_below(a, event, "source");
    char now[CLOCK_TEXT];
    size_t n = strlen(text);

    (void)clock_rfc3339(clock_real(), now);
    memcpy(strchr(now, '.'), "Z", 2); /* whole seconds */
    make_put(a, meta, "generateName", make_text(a, arena_printf(a, "%s.", t->served.name)));
    make_put(a, meta, "namespace", make_text(a, t->served.namespace_));
    make_put(a, of, "apiVersion", make_text(a, t->served.api_version));
    make_put(a, of, "kind", make_text(a, t->kind->kind));
    make_put(a, of, "name", make_text(a, t->served.name));
    make_put(a, of, "namespace", make_text(a, t->served.namespace_));
    make_put(a, of, "uid", make_text(a, t->served.uid));
    make_put(a, source, "component", make_text(a, t->kind->source));
    make_put(a, event, "type", make_text(a, type));
    make_put(a, event, "reason", make_text(a, reason));
    make_put(
        a, event, "message",
        make_text(a, n > EVENT_TEXT ? arena_printf(a, "%.*s...", EVENT_TEXT - 3, text) : text));
    make_put(a, event, "firstTimestamp", make_text(a, now));
    make_put(a, event, "lastTimestamp", make_text(a, now));
    make_put(a, event, "count", make_int(a, 1));
    t->in_flight++;
    (void)kube_send(t->op->api,
                    &(struct kube_request){.method = "POST",
                                           .path = arena_printf(a, "/api/v1/namespaces/%s/events",
                                                                t->served.namespace_),
                                           .body = event,
                                           .done = event_sent,
                                           .ctx = t});
}
