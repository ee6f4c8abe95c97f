/* decide.c - the jobs of all users as the queue sees them (queue/queue.h), and its decisions.
 *
 * Without configured queues each user has one, all alike: so users take turns by what they hold of
 * the machine. With them users share the queues, and it is the queues that take turns.
 */
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "doc/json.h"
#include "system/parts.h"

#define DEFAULT_QUEUE "default"

struct world {
    struct queue_world w;
    struct user **users; /* by index of w.jobs */
    struct job_entry **jobs;
    uint32_t named; /* the job that a sentence named last: many wait for the same one */
};

/* --- configuration ---------------------------------------------------------------------------- */

int decide_configure(struct system *sys, struct err *e)
{
    struct arena *a = arena_new();
    struct daemon_config config = DAEMON_CONFIG_INIT;
    int r = sys->opts->configure(a, &config);

    if (r < 0) {
        arena_free(a);
        return err_set(e, r, "the configuration has errors");
    }
    arena_free(sys->config_arena);
    sys->config_arena = a;
    sys->config = config;
    daemon_machine(&sys->config, sys->opts->cpus, sys->opts->memory, sys->opts->gpus,
                   &sys->machine);
    sys->changed = true;
    return 0;
}

/* --- describing ------------------------------------------------------------------------------- */

/* Of a job; n_queues: there is none of that name any more. */
static uint32_t queue_of(const struct system *sys, size_t user, const char *name)
{
    const struct daemon_config *c = &sys->config;

    if (c->n_queues == 0)
        return (uint32_t)user;
    for (uint32_t i = 0; i < c->n_queues; i++)
        if (strcmp(c->queues[i].name, name) == 0)
            return i;
    return !*name || strcmp(name, DEFAULT_QUEUE) == 0 ? 0 : c->n_queues;
}

static void describe_queues(const struct system *sys, struct arena *a, struct queue_world *w)
{
    const struct daemon_config *c = &sys->config;
    size_t n = c->n_queues ? c->n_queues : sys->n_users;

    w->queues = ARENA_ARRAY(a, struct queue, n + 1);
    w->n_queues = (uint32_t)n + (c->n_queues > 0);
    if (c->n_queues)
        memcpy(w->queues, c->queues, n * sizeof(*w->queues));
    for (size_t i = c->n_queues ? n : 0; i < w->n_queues; i++)
        w->queues[i] = (struct queue){
            .name = c->n_queues ? "removed" : sys->users[i]->name,
            .closed = c->n_queues > 0,
            .quota.v = {QUEUE_UNLIMITED, QUEUE_UNLIMITED, QUEUE_UNLIMITED, QUEUE_UNLIMITED},
            .weight = 1};
}

/* The queue adds up what jobs need, so none may need more than there is. */
static bool is_too_large(const struct system *sys, const struct job_entry *j)
{
    int64_t gpus = __builtin_popcountll(sys->machine.gpus);

    for (int r = 0; r < QUEUE_RESOURCES; r++) {
        int64_t sum = 0, most = r == QUEUE_GPU ? gpus : sys->machine.has.v[r];

        for (uint32_t i = 0; i < j->n_roles; i++)
            sum += j->roles[i].each.v[r] * j->roles[i].replicas;
        if (sum > most)
            return true;
    }
    return false;
}

static enum queue_state state_of(const struct user *u, const struct job_entry *j)
{
    if (j->granted)
        return j->stopping || j->state == QUEUE_STOPPING ? QUEUE_STOPPING : QUEUE_RUNNING;
    return j->state == QUEUE_WAITING && u->link && u->told && !is_too_large(u->sys, j)
               ? QUEUE_WAITING
               : QUEUE_PAUSED;
}

static void describe(struct system *sys, struct arena *a, bool explain, struct world *ret)
{
    size_t n = 0;

    for (size_t i = 0; i < sys->n_users; i++)
        n += sys->users[i]->n;
    struct queue_job *jobs = ARENA_ARRAY(a, struct queue_job, n + 1);
    *ret = (struct world){.w = {.machines = &sys->machine,
                                .n_machines = 1,
                                .jobs = jobs,
                                .promised = sys->promised,
                                .preemption = sys->config.preemption,
                                .explain = explain},
                          .users = ARENA_ARRAY(a, struct user *, n + 1),
                          .jobs = ARENA_ARRAY(a, struct job_entry *, n + 1)};
    describe_queues(sys, a, &ret->w);
    for (size_t i = 0; i < sys->n_users; i++)
        for (size_t k = 0; k < sys->users[i]->n; k++) {
            struct job_entry *j = sys->users[i]->jobs[k];

            jobs[ret->w.n_jobs] = (struct queue_job){.id = j->order,
                                                     .order = j->order,
                                                     .queue = queue_of(sys, i, j->queue),
                                                     .priority = j->priority,
                                                     .state = state_of(sys->users[i], j),
                                                     .n_roles = j->n_roles,
                                                     .roles = j->roles,
                                                     .max_duration = j->max_duration,
                                                     .started = j->since,
                                                     .places = j->places};
            ret->users[ret->w.n_jobs] = sys->users[i];
            ret->jobs[ret->w.n_jobs++] = j;
        }
    queue_arrange(a, &ret->w);
}

/* --- deciding --------------------------------------------------------------------------------- */

static void start(struct user *u, struct job_entry *j, const struct queue_place *places)
{
    auto_strbuf struct strbuf line = STRBUF_INIT;

    free(j->places);
    j->places = xcalloc(j->n_replicas + 1, sizeof(*j->places));
    if (j->n_replicas)
        memcpy(j->places, places, j->n_replicas * sizeof(*j->places));
    j->granted = true;
    j->stopping = false;
    j->grant = ++u->sys->last_grant;
    j->since = clock_real();
    free(j->why);
    j->why = NULL;
    sys_store_job(u->sys->store, u->uid, j);
    strbuf_addf(&line, "{\"start\":%lld,\"grant\":%llu,\"gpus\":", (long long)j->number,
                (unsigned long long)j->grant);
    book_put_gpus(j, &line);
    strbuf_addch(&line, '}');
    peer_send(u->link, &line);
}

/* One whose daemon is not there is stopped when that comes: the queue asks again. */
static void stop(const struct world *w, const struct queue_stop *stop)
{
    static const char *const words[] = {[QUEUE_EXCEEDED] = "exceeded",
                                        [QUEUE_PREEMPT_TO_PAUSE] = "pause",
                                        [QUEUE_PREEMPT_TO_REQUEUE] = "requeue"};
    struct user *u = w->users[stop->job];
    struct job_entry *j = w->jobs[stop->job];
    auto_strbuf struct strbuf line = STRBUF_INIT, text = STRBUF_INIT;
    struct json out = JSON_COMPACT(&line);

    if (!u->link)
        return;
    if (stop->why != QUEUE_EXCEEDED)
        strbuf_addf(&text, "preempted by %s (%s, %s)", w->jobs[stop->other]->id,
                    w->jobs[stop->other]->name, w->users[stop->other]->name);
    if (stop->why == QUEUE_PREEMPT_TO_REQUEUE)
        j->order = ++u->sys->last_order;
    j->stopping = true;
    sys_store_job(u->sys->store, u->uid, j);
    json_object(&out);
    json_kv_int(&out, "stop", j->number);
    json_kv_str(&out, "why", words[stop->why]);
    json_kv_str(&out, "text", text.buf);
    json_end(&out);
    peer_send(u->link, &line);
}

static void on_time(uv_timer_t *timer)
{
    ((struct system *)timer->data)->changed = true;
}

static void on_why(uv_timer_t *timer)
{
    struct system *sys = timer->data;

    if (!sys->explained)
        decide_explain(sys);
}

void decide(struct system *sys)
{
    auto_arena struct arena *a = arena_new();
    struct world w;
    struct queue_decisions dec;
    ns_t now = clock_real();

    sys->changed = sys->explained = false;
    describe(sys, a, false, &w);
    queue_decide(&w.w, now, a, &dec);
    sys->promised = dec.promised;
    for (uint32_t i = 0; i < dec.n_starts; i++)
        start(w.users[dec.starts[i].job], w.jobs[dec.starts[i].job], dec.starts[i].places);
    for (uint32_t i = 0; i < dec.n_stops; i++)
        stop(&w, &dec.stops[i]);
    if (dec.wake)
        (void)uv_timer_start(&sys->queue_timer, on_time,
                             dec.wake > now ? (uint64_t)((dec.wake - now) / NS_PER_MS) + 1 : 1, 0);
    else
        (void)uv_timer_stop(&sys->queue_timer);
    if (!uv_is_active((uv_handle_t *)&sys->why_timer))
        (void)uv_timer_start(&sys->why_timer, on_why, LIMIT_USER_WHY_MS, 0);
}

/* --- explaining ------------------------------------------------------------------------------- */

/* The queue calls jobs by their order, people by their ids. */
static void name_other(struct world *w, uint64_t order, struct strbuf *text)
{
    char word[32];
    const char *at;

    (void)snprintf(word, sizeof(word), "job %llu", (unsigned long long)order);
    if (!order || !(at = strstr(text->buf, word)))
        return;
    for (uint32_t i = 0; i < w->w.n_jobs && w->jobs[w->named]->order != order; i++)
        w->named = (w->named + 1) % w->w.n_jobs;
    if (w->jobs[w->named]->order != order)
        return;
    auto_strbuf struct strbuf out = STRBUF_INIT;
    strbuf_add(&out, text->buf, (size_t)(at - text->buf));
    strbuf_addf(&out, "job %s (%s)%s", w->jobs[w->named]->id, w->users[w->named]->name,
                at + strlen(word));
    strbuf_truncate(text, 0);
    strbuf_add(text, out.buf, out.len);
}

static void tell_why(struct user *u, struct job_entry *j, const char *why)
{
    auto_strbuf struct strbuf line = STRBUF_INIT;
    struct json out = JSON_COMPACT(&line);

    if (j->why && strcmp(j->why, why) == 0)
        return;
    free(j->why);
    j->why = xstrdup(why);
    if (!u->link)
        return;
    json_object(&out);
    json_kv_int(&out, "why", j->number);
    json_kv_str(&out, "text", why);
    json_end(&out);
    peer_send(u->link, &line);
}

static const char *why_aside(const struct user *u, const struct job_entry *j)
{
    if (!u->link || !u->told)
        return "the daemon of its user is not connected";
    return is_too_large(u->sys, j) ? "needs more than this machine has" : NULL;
}

void decide_explain(struct system *sys)
{
    auto_arena struct arena *a = arena_new();
    struct world w;
    struct queue_decisions dec;

    sys->explained = true;
    describe(sys, a, true, &w);
    queue_decide(&w.w, clock_real(), a, &dec);
    for (uint32_t i = 0; i < dec.n_waits; i++) {
        auto_strbuf struct strbuf text = STRBUF_INIT;
        const struct queue_wait *wait = &dec.waits[i];
        struct job_entry *j = w.jobs[wait->job];
        struct user *u = w.users[wait->job];
        const char *aside = why_aside(u, j);

        j->ahead = wait->ahead;
        if (j->granted || j->state != QUEUE_WAITING)
            continue;
        if (aside)
            strbuf_addstr(&text, aside);
        else if (sys->config.n_queues && w.w.jobs[wait->job].queue == sys->config.n_queues)
            strbuf_addf(&text, "queue \"%s\" is not in the configuration", j->queue);
        else {
            queue_wait_sentence(&w.w, wait, &text);
            name_other(&w, wait->other, &text);
        }
        tell_why(u, j, text.buf);
    }
}
