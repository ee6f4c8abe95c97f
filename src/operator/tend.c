/* tend.c - one job of the operator: its object becomes a plan, and it has its turns.
 *
 * An object that has ended by its own status is left alone. One that is not valid is told so, once
 * for each version of it. What was decided before this operator came is in an annotation (keep.c);
 * the rest is read from pods.
 */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "doc/json_read.h"
#include "doc/json_write.h"
#include "doc/make.h"
#include "job/snapshot.h"
#include "operator/agent.h"
#include "operator/expire.h"
#include "operator/operator.h"
#include "operator/own.h"
#include "operator/resize.h"
#include "operator/ssh_key.h"

/* A job waits in a cluster for as long as it takes: that ends with its deadline, or its user. */
enum { LATER_MS = 1000 };
#define PATIENCE_MS (INT64_C(10) * 365 * 24 * 3600 * 1000)

static const struct job_rules rules = {
    .grace_ms = 30000, .start_timeout_ms = PATIENCE_MS, .recovery_timeout_ms = PATIENCE_MS};

/* --- its turns -------------------------------------------------------------------------------- */

static void on_wake(uv_timer_t *timer)
{
    struct tended *t = timer->data;

    if (t->expires && clock_run() >= t->expires) {
        t->expires = 0;
        keep_delete(t);
    }
    tend_soon(t);
}

static ns_t earlier(ns_t a, ns_t b) /* 0: never */
{
    return a == 0 || (b && b < a) ? b : a;
}

void tend_wake(struct tended *t, ns_t at)
{
    ns_t now = clock_run();

    at = earlier(at, t->expires);

    if (at == 0)
        (void)uv_timer_stop(t->wake);
    else
        (void)uv_timer_start(t->wake, on_wake,
                             at > now ? (uint64_t)((at - now) / NS_PER_MS) + 1 : 0, 0);
}

void tend_soon(struct tended *t)
{
    if (t->queued || !t->turn)
        return;
    t->queued = true;
    t->next = NULL;
    *t->op->queue_end = t;
    t->op->queue_end = &t->next;
}

void tend_turn(struct tended *t)
{
    ns_t wake;

    if (!t->turn || t->gone)
        return;
    if (t->own) {
        own_turn(t);
        return;
    }
    if (change_waits(t))
        return;
    place_report(t);
    wake = turn_run(t->turn, clock_run());
    place_report(t); /* of what was just asked for, and was there already */
    if (tail_waits(t))
        return;
    if (t->decided || t->keeping)
        keep_state(t);
    else
        carry_out(t);
    wake = earlier(wake, waiting_tell(t));
    keep_status(t);
    if (t->carry_at > clock_run())
        wake = earlier(wake, t->carry_at);
    wake = earlier(wake, change_files(t));
    tend_wake(t, earlier(wake, launcher_look(t)));
}

void tend_later(struct tended *t)
{
    (void)uv_timer_start(t->wake, on_wake, LATER_MS, 0);
}

/* --- its object ------------------------------------------------------------------------------- */

static const char *annotation(const struct node *object, const char *name)
{
    return node_text(node_get(node_find(object, "metadata", "annotations", NULL), name), NULL);
}

static bool condition_holds(const struct node *object, const char *type)
{
    const struct node *list = node_find(object, "status", "conditions", NULL);

    for (size_t i = 0; list && list->type == NODE_SEQ && i < list->n; i++)
        if (strcmp(node_text(node_get(list->items[i], "type"), ""), type) == 0)
            return strcmp(node_text(node_get(list->items[i], "status"), ""), "True") == 0;
    return false;
}

static bool has_ended(const struct node *object)
{
    static const char *const keys[] = {"phase", "launcherStatus"}; /* T9k; MPIJob v1alpha1 */

    for (size_t i = 0; i < ARRAY_SIZE(keys); i++) {
        const char *word = node_text(node_find(object, "status", keys[i], NULL), "");

        if (strcmp(word, "Succeeded") == 0 || strcmp(word, "Failed") == 0)
            return true;
    }
    return condition_holds(object, "Succeeded") || condition_holds(object, "Failed");
}

bool tend_load_job(struct tended *t, const char *state, size_t len)
{
    static const struct turn_host host = {0};
    struct err e;

    if (state && job_load(t->served.plan, &rules, state, len, &t->job, &e) < 0) {
        tell(t, "error", "%s: %s; it begins anew", KEEP_STATE, e.text);
        state = NULL;
    }
    if (!state)
        t->job = job_new(t->served.plan, &rules);
    t->turn = turn_new(t->job, &journal_none, &t->engine, &host);
    return state != NULL;
}

void tend_create(struct tended *t)
{
    const struct node *made = node_find(t->served.object, "metadata", "creationTimestamp", NULL);

    turn_event(t->turn,
               &(struct event){.type = EVENT_CREATED,
                               .at = life_time(clock_of_rfc3339(node_text(made, "")), clock_run()),
                               .random = arc4random()});
}

void tend_load(struct tended *t, const char *state, size_t len)
{
    if (tend_load_job(t, state, len)) {
        place_resume(t);
        turn_catch_up(t->turn);
    } else {
        tend_create(t);
    }
}

/* The object, to be kept: without what is large and not ours, and with its places. */
static const struct node *keep_object(struct arena *a, const struct node *object)
{
    auto_arena struct arena *now = arena_new();
    auto_strbuf struct strbuf text = STRBUF_INIT;
    struct node *copy = make_copy(now, object);

    make_drop(copy, "status");
    make_drop(make_below(now, copy, "metadata"), "managedFields");
    json_write(&text, copy);
    return json_node(a, text.buf, text.len);
}

/* A program of ours for its pods, read once for all jobs. */
static int find_agent(struct tended *t, bool old, struct err *e)
{
    struct controller *op = t->op;
    const char **program = old ? &op->agent : &op->recorder;
    int r = *program ? 0 : agent_program(op->arena, old ? AGENT_SHIM : AGENT_RECORDER, program, e);

    t->agent = *program;
    t->agent_key = agent_key(t->arena);
    return r;
}

/* What its pods know each other by. If a Secret is there already, ours is not used. Jobs of v1 and
 * before do not run without the program; for others records are left out. */
static int make_keys(struct tended *t, struct err *e)
{
    enum platform_kind version = t->served.plan->spec->platform.environment;
    bool old = platform_is_mpijob(version) && version != PLATFORM_MPIJOB_V2BETA1;
    int r = 0;

    if (t->kind->family != FAMILY_MPI)
        return 0;
    if (old || t->served.records)
        r = find_agent(t, old, e);
    if (r < 0 && old)
        return r;
    if (r < 0) {
        tell(t, "warning", "its ranks are not recorded: %s", e->text);
        t->served.records = false;
    }
    return old ? 0 : ssh_key_make(t->arena, &t->private_key, &t->public_key, e);
}

/* What has ended is only deleted some day. */
static void name_it(struct tended *t, const struct node *object)
{
    const struct node *meta = node_get(object, "metadata");

    t->served.namespace_ = arena_strdup(t->arena, node_text(node_get(meta, "namespace"), ""));
    t->served.name = arena_strdup(t->arena, node_text(node_get(meta, "name"), ""));
    t->served.uid = arena_strdup(t->arena, node_text(node_get(meta, "uid"), ""));
    t->served.api_version = arena_strdup(t->arena, node_text(node_get(object, "apiVersion"), ""));
}

/* What the object says now of a job that is suspended or debugged. Debugging ends, and does not
 * begin, while a job runs. */
static void follow_modes(struct tended *t, const struct job_spec *spec)
{
    struct observation o = {.kind = OBS_RESUME, .at = clock_run()};
    const struct job *job = t->job;

    if (job->phase == JOB_ENDED)
        return;
    if (spec->pause != job->pause_wanted) {
        o.kind = spec->pause ? OBS_PAUSE : OBS_RESUME;
        turn_observe(t->turn, &o);
    } else if (job->debugging && !spec->debug && !job->debug_over && !job->pause_wanted) {
        turn_observe(t->turn, &o);
    }
}

static void first_look(struct tended *t, const struct node *object)
{
    const char *version = annotation(object, KEEP_VERSION), *state;
    struct err e;

    t->arena = arena_new();
    if (has_ended(object)) {
        name_it(t, object);
        return;
    }
    if (!version)
        version = written_in(t->arena, object);
    t->announced = announced_by(node_get(object, "status"));
    object = keep_object(t->arena, object);
    if (served_read(t->arena, t->kind, &t->op->options, object, version, &t->served, &e) < 0) {
        tell(t, "error", "%s", e.text);
        return;
    }
    if (t->served.invalid) {
        tell(t, "warning", "%s", t->served.invalid);
        keep_event(t, "Warning", "ValidationError", t->served.invalid);
        if (t->kind->family == FAMILY_OWN)
            own_tell_invalid(t);
    }
    if (!t->served.plan)
        return;
    if (make_keys(t, &e) < 0) {
        tell(t, "error", "%s", e.text);
        return;
    }
    state = annotation(object, KEEP_STATE);
    if (t->kind->family == FAMILY_OWN) {
        own_begin(t, state, state ? strlen(state) : 0);
        return;
    }
    place_begin(t);
    tend_load(t, state, state ? strlen(state) : 0);
    t->suspend = t->suspended = t->job->pause_wanted;
    if (state)
        follow_modes(t, t->served.plan->spec);
}

/* What may be changed of a running job: whether it is suspended, how many replicas it has, and how
 * they are scheduled. */
static void look_again(struct tended *t, const struct node *object)
{
    struct arena *a = arena_new();
    struct served now;
    struct err e;

    if (served_read(a, t->kind, &t->op->options, keep_object(a, object), t->served.written_in, &now,
                    &e) < 0 ||
        !now.plan || t->job->phase == JOB_ENDED) {
        arena_free(a);
        return;
    }
    follow_modes(t, now.plan->spec);
    if (t->own) {
        own_changed(t, &now);
        arena_free(a);
        return;
    }
    /* a queue may change templates while a job is suspended */
    if (t->next_arena || t->group.want || t->scaler.want || t->job->phase == JOB_PAUSED ||
        !resize_is_same(now.plan, t->served.plan))
        change_take(t, a, &now);
    else
        arena_free(a);
}

static unsigned notes_of(const struct node *object)
{
    const char *suspend = annotation(object, SERVED_SUSPEND);
    const char *debug = annotation(object, SERVED_DEBUG);
    bool debugs = debug && *debug && strcmp(debug, "false") != 0;

    return (suspend && strcmp(suspend, "true") == 0 ? 1u : 0) | (debugs ? 2u : 0);
}

void tend_object(struct tended *t, const struct node *object)
{
    const struct node *meta = node_get(object, "metadata"), *number = node_get(meta, "generation");
    int64_t generation = number && number->type == NODE_INT ? number->i : 0;
    unsigned noted = notes_of(object);

    bool changed = generation != t->generation, noted_now = noted != t->noted;

    free(t->version);
    t->version = xstrdup(node_text(node_get(meta, "resourceVersion"), ""));
    if (!node_absent(meta, "deletionTimestamp"))
        return; /* all that it owns goes with it */
    t->generation = generation;
    t->noted = noted;
    if (t->turn) {
        if (changed || noted_now)
            look_again(t, object);
    } else if (changed || !t->arena) {
        arena_free(t->arena);
        t->served = (struct served){0};
        first_look(t, object);
    }
    t->expires = has_ended(object) ? expire_at(object) : 0;
    if (t->expires && !t->turn)
        tend_wake(t, 0);
    tend_soon(t);
}

/* --- coming and going ------------------------------------------------------------------------- */

struct tended *tend_new(struct controller *op, const struct served_kind *kind, const char *key)
{
    struct tended *t = xcalloc(1, sizeof(*t));

    t->op = op;
    t->kind = kind;
    t->key = xstrdup(key);
    t->wake = xcalloc(1, sizeof(*t->wake));
    (void)uv_timer_init(op->loop, t->wake);
    t->wake->data = t;
    return t;
}

static void free_handle(uv_handle_t *handle)
{
    free(handle);
}

static void leave_queue(struct tended *t)
{
    struct tended **p = &t->op->queue;

    while (*p && *p != t)
        p = &(*p)->next;
    if (*p)
        *p = t->next;
    t->op->queue_end = &t->op->queue;
    while (*t->op->queue_end)
        t->op->queue_end = &(*t->op->queue_end)->next;
}

void tend_free(struct tended *t)
{
    if (!t->gone) {
        t->gone = true;
        own_release(t); /* nothing of the engine's comes any more */
        (void)uv_timer_stop(t->wake);
        uv_close((uv_handle_t *)TAKE_PTR(t->wake), free_handle);
        if (t->queued)
            leave_queue(t);
    }
    if (t->in_flight > 0)
        return; /* the last answer comes back here */
    carry_release(t);
    turn_free(t->turn);
    job_free(t->job);
    if (t->hands)
        place_release(t);
    free(t->key);
    free(t->version);
    free(t->sent_version);
    free(t->kept);
    free(t->told);
    free(t->waits_for);
    free(t->refusal);
    free(t->job_uid);
    free(t->old_job_uid);
    arena_free(t->arena);
    arena_free(t->next_arena);
    free(t->tail);
    free(t->tail_of);
    free(t);
}
