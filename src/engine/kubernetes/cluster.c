/* cluster.c - the objects of a run: created, kept alive while we live, deleted.
 *
 * The anchor comes first, because everything else has it as its owner. Its deadline is moved on as
 * long as this program lives; when nobody does so any more, the cluster deletes the run.
 */
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/io.h"
#include "base/limits.h"
#include "base/mem.h"
#include "doc/make.h"
#include "engine/kubernetes/given.h"
#include "engine/kubernetes/parts.h"
#include "kube/gang.h"

enum {
    HEARTBEAT_S = KUBE_ANCHOR_S / 3,
    CREATIONS = 64, /* of pods at a time */
    SHIM_BYTES = 1024 * 1024 - 1024,
    QUOTA_MS = 2000, /* between two tries */
    ASK_S = 5,
    REFUSE_S = 2,
    END_S = 20,
};

const char *kube_path(struct arena *a, const struct kubernetes *kb, const char *rest)
{
    return arena_printf(a, "/api/v1/namespaces/%s/%s", kb->plan->facts->site.namespace_, rest);
}

static const char *job_path(struct arena *a, const struct kubernetes *kb, bool one)
{
    return arena_printf(a, "/apis/batch/v1/namespaces/%s/jobs%s%s",
                        kb->plan->facts->site.namespace_, one ? "/" : "", one ? kb->run.name : "");
}

/* All other objects go with it. */
static void delete_anchor(struct kubernetes *kb, int patience_s,
                          void (*done)(void *ctx, const struct kube_answer *answer))
{
    auto_arena struct arena *a = arena_new();

    (void)kube_send(kb->api, &(struct kube_request){
                                 .method = "DELETE",
                                 .path = arena_printf(a, "%s?propagationPolicy=Background",
                                                      job_path(a, kb, true)),
                                 .patience_s = patience_s,
                                 .done = done,
                                 .ctx = kb,
                             });
}

static void nothing_left(void *ctx, const struct kube_answer *answer)
{
    struct kubernetes *kb = ctx;

    (void)answer; /* if it could not be deleted, its deadline ends it */
    kb->client->refused(kb->client->ctx, &kb->refusal);
}

void cluster_turn(struct kubernetes *kb)
{
    if (kb->attaching && !attach_is_done(kb))
        return;
    if (kb->attaching)
        attach_tell(kb);
    kb->client->turn(kb->client->ctx);
}

void cluster_refuse(struct kubernetes *kb, const char *why)
{
    if (kb->refused || kb->releasing)
        return;
    kb->refused = true;
    (void)err_set(&kb->refusal, -EACCES, "%s", why);
    if (kb->no_anchor || kb->owned)
        kb->client->refused(kb->client->ctx, &kb->refusal);
    else
        delete_anchor(kb, REFUSE_S, nothing_left);
}

void cluster_lacks_right(struct kubernetes *kb, const char *why)
{
    bool runs = false;

    for (uint32_t i = 0; i < kb->plan->n_replicas; i++)
        runs |= kb->pods[i].is_set_up;
    if (!runs)
        cluster_refuse(kb, why);
    else if (!kb->told_right && !kb->releasing)
        kb->client->note(kb->client->ctx, why);
    kb->told_right = true;
}

/* --- pods ------------------------------------------------------------------------------------- */

static void create_pod(struct pod *p);

static void create_again(uv_timer_t *timer)
{
    struct pod *p = timer->data;

    if (p->state == POD_CREATED)
        create_pod(p);
}

/* A pod of ours that is ending still counts until it is gone. */
static bool quota_may_pass(struct pod *p, const char *why)
{
    if (!strstr(why, "exceeded quota") || (p->attempt == 1 && p->generation == 1))
        return false;
    if (!p->quota_until)
        p->quota_until = clock_mono() + LIMIT_QUOTA_WAIT_S * NS_PER_S;
    return clock_mono() < p->quota_until;
}

/* As many as the client has requests under way: others would only hold memory while they wait. */
static void create_pods(struct kubernetes *kb)
{
    for (; kb->creating < CREATIONS && kb->create_from < kb->plan->n_replicas; kb->create_from++)
        if (kb->pods[kb->create_from].state == POD_WANTED)
            create_pod(&kb->pods[kb->create_from]);
}

/* Quotas and admission say no here: nothing will ever come of this pod. */
static void pod_created(void *ctx, const struct kube_answer *answer)
{
    struct pod *p = ctx;
    struct kubernetes *kb = p->kb;
    const char *why = answer->no_right
                          ? answer->message
                          : node_text(node_get(answer->body, "message"), answer->message);

    kb->creating--;
    if (kb->releasing)
        return;
    create_pods(kb);
    if (kube_ok(answer) || strcmp(answer->reason, "AlreadyExists") == 0 || p->state != POD_CREATED)
        return;
    if (quota_may_pass(p, why)) {
        (void)uv_timer_start(p->timer, create_again, QUOTA_MS, 0);
        return;
    }
    pod_refuse(p, CAUSE_UNSCHEDULABLE, why);
    cluster_turn(kb);
}

static void create_pod(struct pod *p)
{
    static const char *const nothing[] = {NULL}; /* the watch shows the pod */
    auto_arena struct arena *a = arena_new();
    struct kubernetes *kb = p->kb;

    free(p->name);
    p->name = xstrdup(kube_pod_name(a, &kb->run, pod_replica(p), p->attempt, p->generation));
    p->state = POD_CREATED;
    kb->creating++;
    (void)kube_send(kb->api,
                    &(struct kube_request){
                        .method = "POST",
                        .path = kube_path(a, kb, "pods"),
                        .body = kube_pod(a, &kb->run, pod_replica(p), p->attempt, p->generation),
                        .pick = nothing,
                        .done = pod_created,
                        .ctx = p,
                    });
}

void cluster_want_pod(struct pod *p, uint32_t attempt)
{
    if (p->state != POD_NONE && p->state != POD_ENDED && p->attempt == attempt)
        return;
    p->generation = p->attempt == attempt ? p->generation + 1 : 1;
    p->attempt = attempt;
    p->is_set_up = p->container_ended = p->ours = p->unseen = p->pulls = p->asked = p->has_code =
        false;
    p->adopted = p->reopen = p->spoke = p->told = false;
    p->removed = CAUSE_NONE;
    p->stage = STAGE_PENDING;
    p->pull_failed = p->quota_until = p->lost_at = p->ended_at = 0;
    p->invalid = 0;
    p->state = POD_WANTED;
    if (p->replica < p->kb->create_from)
        p->kb->create_from = p->replica;
    if (p->kb->missing == 0)
        create_pods(p->kb);
}

void cluster_delete_pod(struct pod *p)
{
    auto_arena struct arena *a = arena_new();
    struct kubernetes *kb = p->kb;

    if (p->state == POD_NONE || p->state == POD_WANTED || !p->name)
        return;
    p->ours = true;
    (void)kube_send(
        kb->api,
        &(struct kube_request){
            .method = "DELETE",
            .path = kube_path(a, kb, arena_printf(a, "pods/%s?gracePeriodSeconds=1", p->name)),
        });
}

void cluster_ask_pod(struct pod *p, void (*done)(void *ctx, const struct kube_answer *answer))
{
    auto_arena struct arena *a = arena_new();
    struct kubernetes *kb = p->kb;
    const char *rest = arena_printf(a, "pods?fieldSelector=metadata.name%%3D%s", p->name);

    (void)kube_send(kb->api, &(struct kube_request){.method = "GET",
                                                    .path = kube_path(a, kb, rest),
                                                    .patience_s = ASK_S,
                                                    .done = done,
                                                    .ctx = p});
}

/* --- what they need --------------------------------------------------------------------------- */

static void part_created(void *ctx, const struct kube_answer *answer)
{
    struct kubernetes *kb = ctx;

    if (!kube_ok(answer) && strcmp(answer->reason, "AlreadyExists") != 0) {
        cluster_refuse(kb, answer->message);
        return;
    }
    if (--kb->missing > 0 || kb->releasing)
        return;
    create_pods(kb);
}

/* The shim that travels: beside the program; never through PATH. */
static int read_shim(struct strbuf *out, struct err *e)
{
    char self[PATH_MAX];
    ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);

    if (n <= 0)
        return err_sys(e, -errno, "cannot find this program");
    self[n] = '\0';
    *strrchr(self, '/') = '\0';
    auto_free char *file = xasprintf("%s/muster-shim-pod", self);
    return io_read_file(AT_FDCWD, file, SHIM_BYTES, out, e);
}

static const char *group_path(struct arena *a, const struct kubernetes *kb)
{
    const struct site *site = &kb->plan->facts->site;

    return arena_printf(a, "/apis/%s/namespaces/%s/podgroups", gang_api(site->gang),
                        site->namespace_);
}

static void create(struct kubernetes *kb, const char *path, const struct node *object)
{
    (void)kube_send(
        kb->api,
        &(struct kube_request){
            .method = "POST", .path = path, .body = object, .done = part_created, .ctx = kb});
}

static void create_given(struct kubernetes *kb, struct arena *a)
{
    const struct given_object *v;
    size_t n = given_objects(a, &kb->run, GIVEN_WHOLE, &v);

    for (size_t i = 0; i < n; i++)
        create(kb, kube_path(a, kb, v[i].collection), v[i].object);
}

/* --- kept alive ------------------------------------------------------------------------------- */

/* From now on the run is kept for so long. */
static void move_deadline(struct kubernetes *kb, int64_t keep_s,
                          void (*done)(void *ctx, const struct kube_answer *answer))
{
    auto_arena struct arena *a = arena_new();
    struct node *patch = make_map(a);
    int64_t lived = (clock_mono() - kb->anchored) / NS_PER_S;

    make_put(a, make_below(a, patch, "spec"), "activeDeadlineSeconds", make_int(a, lived + keep_s));
    (void)kube_send(kb->api, &(struct kube_request){.method = "PATCH",
                                                    .path = job_path(a, kb, true),
                                                    .body = patch,
                                                    .type = "application/merge-patch+json",
                                                    .patience_s = HEARTBEAT_S,
                                                    .done = done,
                                                    .ctx = kb});
}

/* A run that was detached keeps its time when somebody attaches and is killed. */
static int64_t kept(const struct kubernetes *kb)
{
    return kb->away.keep_s > KUBE_ANCHOR_S ? kb->away.keep_s : KUBE_ANCHOR_S;
}

static void left(void *ctx, const struct kube_answer *answer)
{
    struct kubernetes *kb = ctx;
    struct away away = kb->away;
    struct err e;

    if (kb->releasing)
        return;
    away.keep_s = kb->leave_s;
    kb->leave_s = 0;
    if (!kube_ok(answer)) {
        (void)err_set(&e, -EIO, "%s", answer->message);
        kb->client->detached(kb->client->ctx, &e);
    } else if (away_write(kb->run_fd, &away, &e) < 0) {
        kb->client->detached(kb->client->ctx, &e);
    } else {
        (void)uv_timer_stop(kb->heartbeat);
        kb->client->detached(kb->client->ctx, NULL);
    }
}

/* Two requests may overtake each other: the longer time is sent when the shorter has arrived. */
static void beaten(void *ctx, const struct kube_answer *answer)
{
    struct kubernetes *kb = ctx;

    kb->beats = false;
    if (kube_ok(answer))
        away_touch(kb->run_fd);
    if (answer->no_right) {
        auto_free char *text = xasprintf("the cluster will remove this run within %lld s: %s",
                                         (long long)kept(kb), answer->message);
        cluster_lacks_right(kb, text);
    }
    if (kb->leave_s && !kb->releasing)
        move_deadline(kb, kb->leave_s, left);
}

static void beat(uv_timer_t *timer)
{
    struct kubernetes *kb = timer->data;

    if (kb->beats || kb->leave_s)
        return;
    kb->beats = true;
    move_deadline(kb, kept(kb), beaten);
}

void cluster_detach(struct kubernetes *kb, int64_t keep_s)
{
    if (kb->leave_s || kb->releasing)
        return;
    kb->leave_s = keep_s;
    if (!kb->beats)
        move_deadline(kb, keep_s, left);
}

/* --- the beginning ---------------------------------------------------------------------------- */

/* True: it is there, and what pods need is being made; what is there already stays. */
static bool take_anchor(struct kubernetes *kb, const struct kube_answer *answer)
{
    auto_arena struct arena *a = arena_new();
    const char *uid = node_text(node_find(answer->body, "metadata", "uid", NULL), "");

    if (!kube_ok(answer) || !*uid) {
        kb->no_anchor = answer->status != 0;
        cluster_refuse(kb, !kube_ok(answer) ? answer->message
                                            : arena_printf(a, "%s is not a Kubernetes API server",
                                                           kb->access.server));
        return false;
    }
    kb->run.uid = arena_strdup(kb->arena, uid);
    (void)uv_timer_start(kb->heartbeat, beat, HEARTBEAT_S * 1000, HEARTBEAT_S * 1000);
    return cluster_make_parts(kb);
}

bool cluster_make_parts(struct kubernetes *kb)
{
    auto_arena struct arena *a = arena_new();
    auto_strbuf struct strbuf shim = STRBUF_INIT;
    struct err e;

    if (read_shim(&shim, &e) < 0) {
        cluster_refuse(kb, e.text);
        return false;
    }
    if (kb->releasing)
        return false;
    create(kb, kube_path(a, kb, "configmaps"), kube_shim_map(a, &kb->run, shim.buf, shim.len));
    create(kb, kube_path(a, kb, "services"), kube_service(a, &kb->run));
    if (kb->plan->facts->site.gang)
        create(kb, group_path(a, kb), kube_pod_group(a, &kb->run));
    create_given(kb, a);
    return true;
}

static void anchor_created(void *ctx, const struct kube_answer *answer)
{
    struct kubernetes *kb = ctx;

    kb->anchored = clock_mono();
    kb->away.created = clock_real();
    if (kube_ok(answer))
        (void)away_write(kb->run_fd, &kb->away, NULL);
    if (!take_anchor(kb, answer))
        return;
    if (kb->attaching)
        attach_find_pods(kb);
    else
        pods_watch(kb);
}

static void anchor_found(void *ctx, const struct kube_answer *answer)
{
    struct kubernetes *kb = ctx;

    if (answer->status == 404) {
        attach_gone(kb);
        return;
    }
    if (take_anchor(kb, answer)) {
        away_touch(kb->run_fd);
        attach_find_pods(kb);
    }
}

static void create_anchor(struct kubernetes *kb,
                          void (*done)(void *ctx, const struct kube_answer *answer))
{
    auto_arena struct arena *a = arena_new();

    (void)kube_send(kb->api, &(struct kube_request){.method = "POST",
                                                    .path = job_path(a, kb, false),
                                                    .body = kube_anchor(a, &kb->run),
                                                    .patience_s = 15,
                                                    .done = done,
                                                    .ctx = kb});
}

/* It was killed while it created the anchor. */
static void anchor_made(void *ctx, const struct kube_answer *answer)
{
    struct kubernetes *kb = ctx;

    if (strcmp(answer->reason, "AlreadyExists") != 0) {
        anchor_created(kb, answer);
        return;
    }
    kb->anchored = clock_mono() - KUBE_ANCHOR_S * NS_PER_S; /* at most: or it would be gone */
    kb->away.created = clock_real() - KUBE_ANCHOR_S * NS_PER_S;
    (void)away_write(kb->run_fd, &kb->away, NULL);
    move_deadline(kb, kept(kb), anchor_found);
}

int cluster_open(struct kubernetes *kb, struct err *e)
{
    auto_arena struct arena *a = arena_new();
    const struct given_object *given;

    kb->missing = 2 + (kb->plan->facts->site.gang != NULL) +
                  (unsigned)given_objects(a, &kb->run, GIVEN_NAMES, &given);
    return kube_client_new(kb->loop, &kb->access, &kb->api, e);
}

int cluster_begin(struct kubernetes *kb, struct err *e)
{
    int r = cluster_open(kb, e);

    if (r == 0)
        create_anchor(kb, anchor_created);
    return r;
}

/* The first heartbeat: its answer is the anchor. */
int cluster_attach(struct kubernetes *kb, struct err *e)
{
    int r = cluster_open(kb, e);

    if (r < 0)
        return r;
    kb->anchored = clock_mono() - (clock_real() - kb->away.created);
    if (kb->away.created)
        move_deadline(kb, kept(kb), anchor_found);
    else
        create_anchor(kb, anchor_made);
    return 0;
}

/* --- the end ---------------------------------------------------------------------------------- */

static void anchor_deleted(void *ctx, const struct kube_answer *answer)
{
    struct kubernetes *kb = ctx;

    if (kube_ok(answer) || answer->status == 404)
        away_remove(kb->run_fd);
    else
        kb->client->note(kb->client->ctx, answer->message);
    kb->released = true;
    kb->client->released(kb->client->ctx);
}

static void pods_deleted(void *ctx, const struct kube_answer *answer)
{
    (void)answer; /* the anchor takes them along, only later */
    delete_anchor(ctx, END_S, anchor_deleted);
}

void cluster_end(struct kubernetes *kb)
{
    auto_arena struct arena *a = arena_new();

    if (kb->releasing)
        return;
    kb->releasing = true;
    (void)uv_timer_stop(kb->heartbeat);
    (void)kube_send(
        kb->api, &(struct kube_request){
                     .method = "DELETE",
                     .path = kube_path(a, kb,
                                       arena_printf(a, "pods?gracePeriodSeconds=1&labelSelector=%s",
                                                    kube_query(a, kube_selector(a, &kb->run)))),
                     .patience_s = 10,
                     .done = pods_deleted,
                     .ctx = kb,
                 });
}
