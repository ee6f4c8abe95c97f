/* place.c - the engine of a served job: decisions become objects, pods become observations.
 *
 * Nothing here remembers what it has told: pods are read again, and the core takes what is new. A
 * decision sets what is wanted; carry.c compares that with what exists and asks for the difference,
 * so that an operator that was killed in between goes on where it was.
 */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "operator/operator.h"
#include "operator/ranks.h"

static struct tended *of_engine(struct engine *en)
{
    return (struct tended *)((char *)en - offsetof(struct tended, engine));
}

static void set(char **p, const char *text)
{
    free(*p);
    *p = text ? xstrdup(text) : NULL;
}

static const struct replica *replica_of(const struct tended *t, uint32_t i)
{
    return &t->served.plan->replicas[i];
}

bool place_by_job(const struct tended *t, uint32_t replica)
{
    return t->pods_of[replica]->kind == WANT_JOB;
}

/* --- pods become observations ----------------------------------------------------------------- */

void place_observe(struct tended *t, uint32_t replica, struct observation *o)
{
    const struct hand *h = &t->hands[replica];

    if (!o->at)
        o->at = o->end.at ? o->end.at : clock_run();
    o->attempt = h->want.attempt;
    o->replica = replica;
    o->process = replica_of(t, replica)->first_process;
    turn_observe(t->turn, o);
}

static void observe_rank(void *ctx, const struct observation *o)
{
    struct tended *t = ctx;
    struct observation of_launcher = *o;

    of_launcher.attempt = t->job->attempt;
    turn_observe(t->turn, &of_launcher);
}

/* Before the end of the launcher, which they explain; and once: another time of theirs would be
 * another life. */
static void tell_ranks(struct tended *t, uint32_t replica, const char *line, ns_t end)
{
    uint32_t process = replica_of(t, replica)->first_process;
    bool ended = t->job->procs[process].state == PROC_ENDED ||
                 job_start(t->job, process).instance != t->hands[replica].want.instance ||
                 t->job->attempt != t->hands[replica].want.attempt;

    if (line && !ended && (int32_t)process == t->job->plan->launcher)
        ranks_observe(t->job, line, end, observe_rank, t);
}

static void tell_end(struct tended *t, uint32_t replica, const struct life_end *how)
{
    const struct hand *h = &t->hands[replica];
    struct observation o = {
        .kind = OBS_EXITED, .instance = h->want.instance, .end = life_ending(how, clock_run())};

    tell_ranks(t, replica, how == &h->life.end ? h->ranks : h->ranks_before, o.end.at);

    if (h->life.removed && how == &h->life.end) {
        o.end.fate = h->life.removed;
        o.text = h->text;
    }
    if (o.end.oom)
        o.end.memory_limit = replica_of(t, replica)->role->res.memory_limit;
    place_observe(t, replica, &o);
}

static void tell_waiting(struct tended *t, uint32_t replica, const char *text)
{
    struct observation o = {
        .kind = OBS_WAITING, .text = text, .free = -1, .end.fate = t->hands[replica].life.fate};

    place_observe(t, replica, &o);
}

static void tell_running(struct tended *t, uint32_t replica)
{
    const struct hand *h = &t->hands[replica];
    struct observation o = {.kind = h->life.out_of_sight ? OBS_UNKNOWN : OBS_STARTED,
                            .instance = h->want.instance,
                            .at = life_time(h->life.started, clock_run())};

    if (replica_of(t, replica)->role->kind == ROLE_HOST && !h->life.ready &&
        !h->life.out_of_sight) {
        tell_waiting(t, replica, "its pod runs, but is not ready");
        return;
    }
    tell_waiting(t, replica, NULL);
    place_observe(t, replica, &o);
}

/* Which start the present life of the pod is. A launcher's Job counts its own pods; some of them
 * may have been removed before we came. */
static uint32_t present_instance(const struct tended *t, uint32_t replica)
{
    const struct hand *h = &t->hands[replica];
    uint32_t n = (place_by_job(t, replica) ? h->lives_before + 1
                  : h->life.instance       ? h->life.instance
                                           : 1) +
                 h->life.restarts;

    return place_by_job(t, replica) && n < h->want.instance && h->life.stage != STAGE_ENDED
               ? h->want.instance
               : n;
}

/* It belongs to an attempt, or a start, that is over. */
bool place_is_stale(const struct tended *t, uint32_t replica)
{
    const struct hand *h = &t->hands[replica];

    if (!h->exists || place_by_job(t, replica))
        return false;
    if (h->life.attempt && h->life.attempt != h->want.attempt)
        return true;
    return h->life.over && present_instance(t, replica) < h->want.instance;
}

/* That it is gone is told once: the next start is another pod's. */
static void forget(struct tended *t, uint32_t replica)
{
    struct hand *h = &t->hands[replica];

    if (place_by_job(t, replica))
        h->lives_before += h->life.restarts + 1;
    set(&h->uid, NULL);
}

/* The end of a pod that was told before it was gone. The start that is asked for now is another
 * pod's, which is not there yet. */
static bool was_told(const struct tended *t, uint32_t replica)
{
    const struct hand *h = &t->hands[replica];

    return !place_by_job(t, replica) && h->life.over &&
           present_instance(t, replica) < h->want.instance;
}

static void report(struct tended *t, uint32_t replica)
{
    const struct hand *h = &t->hands[replica];
    uint32_t present;

    if (!h->wanted || h->let_go || place_is_stale(t, replica))
        return;
    if (!h->exists) { /* somebody has removed it, or it was never there */
        if (h->uid && !h->deleting) {
            struct observation o = {.kind = OBS_GONE,
                                    .text = h->text,
                                    .end.fate = h->life.removed ? h->life.removed : CAUSE_GONE};
            if (!was_told(t, replica))
                place_observe(t, replica, &o);
            forget(t, replica);
        }
        return;
    }
    present = present_instance(t, replica);
    if (present > h->want.instance)
        tell_end(t, replica, &h->life.before);
    else if (present < h->want.instance)
        return; /* it is started again in its pod soon */
    else if (h->life.stage == STAGE_ENDED)
        tell_end(t, replica, &h->life.end);
    else if (h->life.stage == STAGE_RUNS)
        tell_running(t, replica);
    else
        tell_waiting(t, replica, h->text ? h->text : "its container is being created");
}

void place_report(struct tended *t)
{
    for (uint32_t i = 0; i < t->served.plan->n_replicas; i++) {
        if (!t->hands[i].dirty)
            continue;
        t->hands[i].dirty = false;
        report(t, i);
    }
}

static void take_in(struct hand *h, const struct node *pod, const char *main)
{
    auto_arena struct arena *a = arena_new();

    h->life = pod_life(a, pod, main);
    set(&h->text, h->life.text);
    set(&h->ranks, h->life.ranks);
    set(&h->ranks_before, h->life.ranks_before);
    h->life.text = h->life.ranks = h->life.ranks_before = NULL;
}

static const char *owner_uid(const struct node *meta)
{
    const struct node *list = node_get(meta, "ownerReferences");
    const struct node *first = list && list->type == NODE_SEQ && list->n ? list->items[0] : NULL;

    return node_text(node_get(first, "uid"), "");
}

void place_pod(struct tended *t, uint32_t replica, enum watch_change change, const struct node *pod)
{
    const struct node *meta = node_get(pod, "metadata");
    const char *uid = node_text(node_get(meta, "uid"), "");
    ns_t made = clock_of_rfc3339(node_text(node_get(meta, "creationTimestamp"), ""));
    struct hand *h = &t->hands[replica];
    bool same = h->uid && strcmp(h->uid, uid) == 0;

    if (t->old_job_uid && strcmp(owner_uid(meta), t->old_job_uid) == 0)
        return; /* of a Job that was deleted */
    if (!same && (change == WATCH_GONE || (h->uid && h->exists && made < h->made)))
        return; /* of a pod that does not count any more */
    if (!same && place_by_job(t, replica) &&
        (t->suspend || !node_absent(meta, "deletionTimestamp")))
        return; /* the Job has ended it */
    if (!same) {
        if (h->uid && place_by_job(t, replica))
            h->lives_before += h->life.restarts + 1;
        set(&h->uid, uid);
        set(&h->name, node_text(node_get(meta, "name"), ""));
        set(&h->container, main_container(pod, t->served.plan->spec->container));
        h->made = made;
        h->deleting = false;
    }
    take_in(h, pod, t->served.plan->spec->container);
    h->exists = change == WATCH_THERE;
    h->dirty = true;
    t->running[replica] = h->exists && h->life.stage == STAGE_RUNS;
    tend_soon(t);
}

/* --- operations ------------------------------------------------------------------------------- */

/* The launcher, although the core starts it only when its workers are up. */
static void begin_early(struct tended *t, uint32_t attempt)
{
    const struct plan *plan = t->served.plan;
    struct hand *h = plan->launcher < 0 ? NULL : &t->hands[plan->processes[plan->launcher].replica];

    if (!h || h->wanted || h->early)
        return;
    h->early = true;
    h->let_go = h->remove = false;
    h->want = (struct start){.attempt = attempt, .instance = 1};
    t->suspend = false;
}

static void start(struct engine *en, uint32_t process, struct start start)
{
    struct tended *t = of_engine(en);
    uint32_t replica = t->served.plan->processes[process].replica;
    struct hand *h = &t->hands[replica];

    h->wanted = h->dirty = true;
    h->let_go = h->remove = false;
    h->want = start;
    if (place_by_job(t, replica))
        t->suspend = false;
    if (replica_of(t, replica)->role->kind == ROLE_HOST && gang_needs_launcher(t))
        begin_early(t, start.attempt);
    t->decided = true;
}

static void open_replica(struct engine *en, uint32_t replica, uint32_t attempt)
{
    struct tended *t = of_engine(en);

    start(en, replica_of(t, replica)->first_process,
          (struct start){.attempt = attempt, .instance = 1});
}

/* Which pods the file wants to be removed after the end. */
static bool is_cleaned_up(const struct tended *t, uint32_t replica)
{
    const struct job_spec *spec = t->served.plan->spec;
    enum proc_state state = t->job->procs[replica_of(t, replica)->first_process].state;

    /* A launcher that has ended is kept, because its log is wanted; another one would go on. */
    if (platform_is_mpijob(spec->platform.environment) &&
        replica_of(t, replica)->role->kind == ROLE_LAUNCHER)
        return !place_by_job(t, replica) && state != PROC_ENDED;
    if (spec->clean_up_workers)
        return replica_of(t, replica)->role->kind == ROLE_HOST;
    return spec->clean_up == CLEAN_UP_ALL ||
           (spec->clean_up == CLEAN_UP_RUNNING && state != PROC_ENDED);
}

/* The job is over, and the Job of its launcher does not know. A deadline it knows itself. */
static bool goes_on(const struct tended *t, uint32_t replica)
{
    return t->job->stop != STOP_DEADLINE && t->hands[replica].wanted &&
           t->job->procs[replica_of(t, replica)->first_process].state != PROC_ENDED;
}

static void let_go(struct tended *t, uint32_t replica)
{
    struct observation o = {.kind = OBS_GONE};

    t->hands[replica].let_go = true;
    place_observe(t, replica, &o);
}

static void stop(struct engine *en, int sig)
{
    struct tended *t = of_engine(en);
    bool pauses = t->job->stop == STOP_PAUSE || t->job->stop == STOP_DEBUG;

    (void)sig;
    for (uint32_t i = 0; i < t->served.plan->n_replicas; i++) {
        struct hand *h = &t->hands[i];

        h->early = false;
        if (place_by_job(t, i) && (pauses || goes_on(t, i)))
            t->suspend = true;
        else
            h->remove |= pauses || is_cleaned_up(t, i);
        if (h->wanted)
            let_go(t, i);
    }
    t->decided = true;
}

static void stop_all(struct engine *en)
{
    stop(en, 0);
}

static void stop_role(struct engine *en, uint32_t role)
{
    (void)role; /* the kubelet ends what does not end by itself */
    (void)en;
}

/* Nothing of this attempt is left behind. */
static void clear(struct engine *en)
{
    struct tended *t = of_engine(en);

    for (uint32_t i = 0; i < t->served.plan->n_replicas; i++) {
        struct hand *h = &t->hands[i];

        h->wanted = h->early = false;
        if (place_by_job(t, i)) {
            h->exists = false;
            h->lives_before = 0;
            set(&h->uid, NULL);
        } else {
            h->remove = true;
        }
    }
    t->decided = true;
}

static void release(struct engine *en)
{
    stop(en, 0); /* and how it ended is kept */
}

static void nothing(struct engine *en)
{
    (void)en;
}

static const struct engine_ops ops = {
    .open = open_replica,
    .start = start,
    .signal = stop,
    .kill = stop_all,
    .kill_role = stop_role,
    .hold = nothing,
    .clear = clear,
    .release = release,
    .free = nothing,
};

void place_begin(struct tended *t)
{
    const struct plan *plan = t->served.plan;

    t->engine.ops = &ops;
    t->hands = xcalloc(plan->n_replicas + 1, sizeof(*t->hands));
    t->running = xcalloc(plan->n_replicas + 1, sizeof(*t->running));
    t->n_wants = wants_list(t->arena, &t->served, &t->wants);
    t->made = xcalloc(t->n_wants + 1, sizeof(*t->made));
    t->pods_of = ARENA_ARRAY(t->arena, const struct want *, plan->n_replicas + 1);
    t->services_of = ARENA_ARRAY(t->arena, const struct want *, plan->n_replicas + 1);
    for (size_t i = 0; i < t->n_wants; i++) {
        const struct want *w = &t->wants[i];

        if (w->kind == WANT_VOLCANO_GROUP || w->kind == WANT_PLUGINS_GROUP)
            t->group.want = w;
        else if (w->kind == WANT_SCALER)
            t->scaler.want = w;
        else if (w->kind == WANT_POD || w->kind == WANT_JOB)
            t->pods_of[w->replica] = w;
        else if (w->replica >= 0)
            t->services_of[w->replica] = w;
    }
}

void place_resume(struct tended *t)
{
    for (uint32_t i = 0; i < t->served.plan->n_processes; i++) {
        struct hand *h = &t->hands[t->served.plan->processes[i].replica];

        if (t->job->procs[i].state != PROC_RUNNING)
            continue;
        h->wanted = h->dirty = true;
        h->want = job_start(t->job, i);
    }
}

void place_release(struct tended *t)
{
    for (uint32_t i = 0; t->hands && i < t->served.plan->n_replicas; i++) {
        free(t->hands[i].name);
        free(t->hands[i].uid);
        free(t->hands[i].text);
        free(t->hands[i].ranks);
        free(t->hands[i].ranks_before);
        free(t->hands[i].container);
    }
    free(t->hands);
    free(t->running);
    free(t->made);
    free(t->group.spec);
    free(t->scaler.spec);
    free(t->files);
}
