/* own.c - see own.h. */
#include "operator/own.h"

#include <stdlib.h>
#include <string.h>

#include "base/limits.h"
#include "base/mem.h"
#include "doc/json.h"
#include "doc/json_read.h"
#include "doc/make.h"
#include "engine/kubernetes/code_map.h"
#include "engine/kubernetes/owned.h"
#include "operator/own_status.h"
#include "operator/wants_parts.h"

enum { AGAIN_S = 15 }; /* after the API server has refused what pods need */

/* A call of the engine that waits until its decision is kept. */
enum call_kind {
    CALL_OPEN,
    CALL_START,
    CALL_SIGNAL,
    CALL_KILL,
    CALL_KILL_ROLE,
    CALL_HOLD,
    CALL_CLEAR,
    CALL_RELEASE
};
struct call {
    enum call_kind kind;
    uint32_t id; /* replica, process, role or signal */
    struct start start;
};

struct own {
    struct tended *t;
    struct engine *engine; /* NULL: not open */
    struct engine_client client;
    char *launches; /* heap: as they were kept; or NULL */
    bool old;       /* the job was here before this operator */
    bool reported;  /* the engine has reported what happened meanwhile */
    bool ready;     /* … and the job has heard it: it has turns */
    bool refused, released;
    char *why; /* heap: why it was refused; NULL: it was not */
    bool over; /* released, and freed: no other engine is opened */
    ns_t again_at;
    enum { CODE_NOT, CODE_ASKED, CODE_HERE } code_state;
    struct code_list code; /* HERE: what pods are sent */
    struct call *calls;
    size_t n_calls, cap_calls;
};

/* --- decisions, until they are kept ----------------------------------------------------------- */

static struct tended *of_engine(struct engine *en)
{
    return (struct tended *)((char *)en - offsetof(struct tended, engine));
}

static void put_off(struct engine *en, struct call call)
{
    struct tended *t = of_engine(en);
    struct own *o = t->own;

    GROW(o->calls, o->n_calls, o->cap_calls);
    o->calls[o->n_calls++] = call;
    t->decided = true;
}

static void open_replica(struct engine *en, uint32_t replica, uint32_t attempt)
{
    put_off(en, (struct call){CALL_OPEN, replica, {.attempt = attempt}});
}

static void start(struct engine *en, uint32_t process, struct start start)
{
    put_off(en, (struct call){CALL_START, process, start});
}

static void send_signal(struct engine *en, int sig)
{
    put_off(en, (struct call){.kind = CALL_SIGNAL, .id = (uint32_t)sig});
}

static void kill_all(struct engine *en)
{
    put_off(en, (struct call){.kind = CALL_KILL});
}

static void kill_role(struct engine *en, uint32_t role)
{
    put_off(en, (struct call){.kind = CALL_KILL_ROLE, .id = role});
}

static void hold(struct engine *en)
{
    put_off(en, (struct call){.kind = CALL_HOLD});
}

static void clear(struct engine *en)
{
    put_off(en, (struct call){.kind = CALL_CLEAR});
}

static void release(struct engine *en)
{
    put_off(en, (struct call){.kind = CALL_RELEASE});
}

static void nothing(struct engine *en)
{
    (void)en;
}

static const struct engine_ops ops = {
    .open = open_replica,
    .start = start,
    .signal = send_signal,
    .kill = kill_all,
    .kill_role = kill_role,
    .hold = hold,
    .clear = clear,
    .release = release,
    .free = nothing,
};

static void carry(struct engine *en, const struct call *c)
{
    switch (c->kind) {
    case CALL_OPEN:
        en->ops->open(en, c->id, c->start.attempt);
        break;
    case CALL_START:
        en->ops->start(en, c->id, c->start);
        break;
    case CALL_SIGNAL:
        en->ops->signal(en, (int)c->id);
        break;
    case CALL_KILL:
        en->ops->kill(en);
        break;
    case CALL_KILL_ROLE:
        en->ops->kill_role(en, c->id);
        break;
    case CALL_HOLD:
        en->ops->hold(en);
        break;
    case CALL_CLEAR:
        en->ops->clear(en);
        break;
    case CALL_RELEASE:
        en->ops->release(en);
        break;
    }
}

/* The engine may report at once what comes of a call: more may be decided meanwhile. */
void own_carry_out(struct tended *t)
{
    struct own *o = t->own;
    struct call *calls = o->calls;
    size_t n = o->n_calls;

    if (!o->engine || !o->ready)
        return;
    o->calls = NULL;
    o->n_calls = o->cap_calls = 0;
    for (size_t i = 0; i < n; i++)
        carry(o->engine, &calls[i]);
    free(calls);
}

/* --- what the engine says --------------------------------------------------------------------- */

static void observed(void *ctx, const struct observation *o)
{
    struct own *own = ctx;

    turn_observe(own->t->turn, o);
}

static void note(void *ctx, const char *text)
{
    const struct own *o = ctx;

    tell(o->t, "warning", "%s", text);
}

static void on_turn(void *ctx)
{
    struct own *o = ctx;

    o->reported = true;
    tend_soon(o->t);
}

static void on_released(void *ctx)
{
    struct own *o = ctx;

    o->released = true;
    tend_soon(o->t);
}

static void on_refused(void *ctx, const struct err *e)
{
    struct own *o = ctx;

    o->refused = true;
    tell(o->t, "warning", "%s", e->text);
    keep_event(o->t, "Warning", "Refused", e->text);
    free(o->why);
    o->why = xstrdup(e->text);
    tend_soon(o->t);
}

/* --- the engine ------------------------------------------------------------------------------- */

static void open_engine(struct own *o)
{
    struct tended *t = o->t;
    struct kube_owned owned = {
        .owner = {t->served.api_version, t->kind->kind, t->served.name, t->served.uid},
        .access = &t->op->access,
        .launches = o->launches,
        .code = o->code};
    const struct engine_open how = {
        .loop = t->op->loop, .plan = t->served.plan, .job = t->job, .client = &o->client};
    struct err e;

    o->code = (struct code_list){0};
    o->code_state = CODE_NOT;
    own_key_of(t->op, t->served.uid, owned.key);
    if (kubernetes_open_owned(&how, &owned, &o->engine, &e) < 0)
        on_refused(o, &e);
}

/* --- code ------------------------------------------------------------------------------------- */

static const char *code_name(const struct tended *t)
{
    const struct node *notes = node_find(t->served.object, "metadata", "annotations", NULL);

    return node_text(node_get(notes, OWN_CODE), NULL);
}

/* It was there before the job, and is to go with it. */
static void take_over(struct tended *t, const char *path)
{
    auto_arena struct arena *a = arena_new();
    struct node *patch = make_map(a);

    make_put(a, make_below(a, patch, "metadata"), "ownerReferences", want_owner(a, &t->served));
    carry_request(t, "PATCH", path, "application/merge-patch+json", patch);
}

static const char *code_path(struct arena *a, const struct tended *t)
{
    return arena_printf(a, "%s/%s", want_collection(a, WANT_CONFIG_MAP, t->served.namespace_),
                        code_name(t));
}

static void code_answered(void *ctx, const struct kube_answer *answer)
{
    auto_arena struct arena *a = arena_new();
    struct tended *t = ctx;
    struct own *o = t->own;
    struct err e = {0};

    t->in_flight--;
    if (t->gone) {
        if (t->in_flight == 0)
            tend_free(t);
        return;
    }
    o->code_state = CODE_NOT;
    if (!kube_ok(answer))
        (void)err_set(&e, -ENOENT, "its code: %s", answer->message);
    else if (code_map_read(answer->body, &o->code, &e) == 0)
        o->code_state = CODE_HERE;
    if (o->code_state != CODE_HERE) {
        on_refused(o, &e);
        return;
    }
    if (node_absent(node_get(answer->body, "metadata"), "ownerReferences"))
        take_over(t, code_path(a, t));
    tend_soon(t);
}

/* True: it is here, or there is none. */
static bool has_code(struct own *o)
{
    auto_arena struct arena *a = arena_new();
    struct tended *t = o->t;

    if (!code_name(t) || o->code_state == CODE_HERE)
        return true;
    if (o->code_state == CODE_ASKED)
        return false;
    o->code_state = CODE_ASKED;
    t->in_flight++;
    (void)kube_send(t->op->api,
                    &(struct kube_request){
                        .method = "GET", .path = code_path(a, t), .done = code_answered, .ctx = t});
    return false;
}

/* --- the engine, continued -------------------------------------------------------------------- */

static void close_engine(struct own *o)
{
    if (o->engine)
        o->engine->ops->free(o->engine);
    o->engine = NULL;
    o->reported = o->ready = o->released = o->refused = false;
}

/* True: the job may have its turn. */
static bool is_ready(struct own *o)
{
    struct tended *t = o->t;

    if (o->released) {
        close_engine(o);
        o->over = true;
    }
    if (o->refused) { /* what was decided is said again to the next one */
        close_engine(o);
        o->n_calls = 0;
        o->again_at = clock_run() + AGAIN_S * NS_PER_S;
    }
    if (o->over)
        return true;
    if (!o->engine && t->op->key_known && clock_run() >= o->again_at && has_code(o))
        open_engine(o);
    if (!o->reported || o->refused)
        return false;
    free(TAKE_PTR(o->why));
    if (!o->ready && o->old)
        turn_catch_up(t->turn);
    o->ready = o->old = true;
    return true;
}

/* That it has ended is told when its pods have, too: an operator leaves a job alone whose status
 * says that it has ended. */
static bool may_tell(const struct own *o)
{
    return o->t->job->phase != JOB_ENDED || o->over;
}

void own_turn(struct tended *t)
{
    struct own *o = t->own;
    ns_t wake = 0;

    if (is_ready(o)) {
        wake = turn_run(t->turn, clock_run());
        if (tail_waits(t))
            return;
        if (t->decided || t->keeping)
            keep_state(t);
        else
            own_carry_out(t);
    } else if (!o->engine || o->refused) {
        wake = o->again_at > clock_run() ? o->again_at : clock_run() + NS_PER_S;
        if (o->refused)
            tend_soon(t);
    }
    if (may_tell(o))
        keep_status(t);
    tend_wake(t, wake);
}

void own_begin(struct tended *t, const char *state, size_t len)
{
    const struct node *notes = node_find(t->served.object, "metadata", "annotations", NULL);
    const char *launches = node_text(node_get(notes, OWN_LAUNCHES), NULL);
    struct own *o = xcalloc(1, sizeof(*o));

    *o = (struct own){.t = t,
                      .launches = launches ? xstrdup(launches) : NULL,
                      .client = {.observed = observed,
                                 .note = note,
                                 .turn = on_turn,
                                 .released = on_released,
                                 .refused = on_refused,
                                 .ctx = o}};
    t->own = o;
    t->engine.ops = &ops;
    o->old = tend_load_job(t, state, len);
    if (!o->old)
        tend_create(t);
    own_key_begin(t->op);
}

void own_release(struct tended *t)
{
    struct own *o = t->own;

    if (!o)
        return;
    close_engine(o);
    code_release(&o->code);
    free(o->calls);
    free(o->launches);
    free(o->why);
    free(o);
    t->own = NULL;
}

const char *own_refusal(const struct tended *t)
{
    return t->own->why;
}

/* --- for the object --------------------------------------------------------------------------- */

void own_keep(struct arena *a, const struct tended *t, struct node *annotations)
{
    auto_strbuf struct strbuf text = STRBUF_INIT;

    if (!t->own->engine)
        return;
    kubernetes_owned_launches(t->own->engine, &text);
    if (text.len > 0)
        make_put(a, annotations, OWN_LAUNCHES, make_text(a, arena_strndup(a, text.buf, text.len)));
}

/* What a rank wrote is in the log of its mpirun, which is the launcher's. */
const char *own_failed_pod(const struct tended *t, const char **ret_container)
{
    const struct cause *c = &t->job->cause;
    const struct plan *plan = t->served.plan;
    bool ran = c->kind == CAUSE_EXIT || c->kind == CAUSE_SIGNAL || c->kind == CAUSE_OOM;
    int32_t replica = c->replica;

    if (t->job->phase != JOB_ENDED || !ran || replica < 0 || !t->own->engine)
        return NULL;
    if (c->launch >= 0 && plan->launcher >= 0)
        replica = (int32_t)plan->processes[plan->launcher].replica;
    return kubernetes_owned_pod(t->own->engine, (uint32_t)replica, t->job->attempt, ret_container);
}

void own_changed(struct tended *t, const struct served *now)
{
    auto_arena struct arena *a = arena_new();
    struct node *was = make_copy(a, node_get(t->served.object, "spec"));
    struct node *is = make_copy(a, node_get(now->object, "spec"));

    make_drop(was, "pause");
    make_drop(is, "pause");
    if (node_equal(was, is))
        return;
    keep_event(t, "Warning", "SpecChanged",
               "the job has begun; of its spec only pause can be changed. Delete the job and "
               "create it again to run it with another spec.");
}

void own_tell_invalid(struct tended *t)
{
    auto_arena struct arena *a = arena_new();
    auto_strbuf struct strbuf text = STRBUF_INIT;
    struct json j = JSON_COMPACT(&text);
    struct node *patch = make_map(a);

    own_status_invalid(t->served.invalid, t->generation, clock_real(), &j);
    make_put(a, patch, "status", json_node(a, text.buf, text.len));
    carry_request(t, "PATCH",
                  arena_printf(a, "/apis/%s/namespaces/%s/%s/%s/status", t->served.api_version,
                               t->served.namespace_, t->kind->plural, t->served.name),
                  "application/merge-patch+json", patch);
}
