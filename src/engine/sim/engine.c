/* engine.c - the simulation as the engine of a run: `--on sim`.
 *
 * The same world as in sim_play(), but its clock is the real one and its observations go to a
 * client. Nothing is started: every process runs for a second (MUSTER_SIM_DURATION) and ends with
 * status 0 (MUSTER_SIM_STATUS), or by the signal that the job core sends. The only fault is the
 * loss of the whole engine (MUSTER_SIM_LOST): the others, and the rules, are for sim_play().
 */
#include <stdlib.h>
#include <uv.h>

#include "base/mem.h"
#include "base/num.h"
#include "engine/engine.h"
#include "engine/local/survey.h"
#include "engine/sim/inside.h"

#define DURATION "MUSTER_SIM_DURATION" /* how long a process runs: "500ms", "2s" */
#define STATUS "MUSTER_SIM_STATUS"     /* its exit status */
#define LOST "MUSTER_SIM_LOST"         /* when the engine is lost; unset: never */
enum { DURATION_MS = 1000 };

struct wishes {
    int64_t duration_ms, lost_ms;
    int status;
};

struct live {
    struct sim sim; /* first: ops get its engine */
    struct engine_ops ops;
    const struct engine_client *client;
    struct sim_story story;
    struct sim_result result;
    struct arena *arena; /* of the story */
    uv_timer_t *timer;   /* runs until the next thing happens */
    uv_prepare_t *prepare;
    bool told; /* that it is released */
};

/* --- the loop --------------------------------------------------------------------------------- */

static void happen(struct live *lv)
{
    struct sim *s = &lv->sim;
    struct item item;
    bool any = false;

    s->now = clock_run();
    while (!s->released && s->n_queue > 0 && s->queue[0].at <= s->now && sim_pop(s, &item)) {
        if (item.kind != ITEM_DELIVER) {
            world_happens(s, &item);
            continue;
        }
        lv->client->observed(lv->client->ctx, &item.o);
        any = true;
    }
    if (any)
        lv->client->turn(lv->client->ctx);
    if (s->released && !lv->told) {
        lv->told = true;
        lv->client->released(lv->client->ctx);
    }
}

static void on_timer(uv_timer_t *timer)
{
    happen(timer->data);
}

/* Before the loop waits: what was asked for meanwhile may be the next to happen. */
static void on_prepare(uv_prepare_t *prepare)
{
    struct live *lv = prepare->data;
    const struct sim *s = &lv->sim;
    ns_t now = clock_run();

    if (s->released && !lv->told)
        (void)uv_timer_start(lv->timer, on_timer, 0, 0);
    else if (s->n_queue == 0 || s->released)
        (void)uv_timer_stop(lv->timer);
    else
        (void)uv_timer_start(
            lv->timer, on_timer,
            s->queue[0].at > now ? (uint64_t)((s->queue[0].at - now) / NS_PER_MS) + 1 : 0, 0);
}

/* --- what differs from a simulation that is played ---------------------------------------------
 */

static void live_commit(struct engine *en)
{
    (void)en;
}

static int live_log_open(struct engine *en, const char *name)
{
    (void)en;
    (void)name;
    return -ENOENT;
}

static void on_closed(uv_handle_t *handle)
{
    free(handle);
}

static void live_free(struct engine *en)
{
    struct live *lv = (struct live *)en;

    if (!lv)
        return;
    uv_close((uv_handle_t *)lv->timer, on_closed);
    uv_close((uv_handle_t *)lv->prepare, on_closed);
    world_release(&lv->sim);
    free(lv->sim.queue);
    arena_free(lv->arena);
    free(lv);
}

static int read_duration(const char *name, int64_t *ret, struct err *e)
{
    const char *text = getenv(name);

    if (text && duration_ms(text, ret) < 0)
        return err_set(e, -EINVAL, "%s must be a duration such as 500ms or 2s, not \"%s\"", name,
                       text);
    return 0;
}

static int read_wishes(struct wishes *ret, struct err *e)
{
    const char *text = getenv(STATUS);
    uint32_t status = 0;

    *ret = (struct wishes){.duration_ms = DURATION_MS, .lost_ms = -1};
    if (text && (num_u32(text, &status) < 0 || status > 255))
        return err_set(e, -EINVAL, STATUS " must be a number from 0 to 255, not \"%s\"", text);
    ret->status = (int)status;
    int r = read_duration(DURATION, &ret->duration_ms, e);
    return r < 0 ? r : read_duration(LOST, &ret->lost_ms, e);
}

static void tell_simulated(const struct live *lv, const struct wishes *w)
{
    auto_strbuf struct strbuf note = STRBUF_INIT;
    char words[DURATION_TEXT];

    strbuf_addf(&note,
                "simulated: no process is started; each one runs for %s and ends with status %d",
                duration_text(w->duration_ms, words), w->status);
    lv->client->note(lv->client->ctx, note.buf);
}

static int live_open(const struct engine_open *how, struct engine **ret, struct err *e)
{
    struct wishes w;
    int r = read_wishes(&w, e);

    if (r < 0)
        return r;
    struct live *lv = xcalloc(1, sizeof(*lv));
    lv->client = how->client;
    lv->arena = arena_new();
    sim_usual_story(lv->arena, how->plan, w.duration_ms, w.status, &lv->story);
    lv->story.lost_ms = w.lost_ms;
    lv->sim = (struct sim){.live = true,
                           .plan = how->plan,
                           .story = &lv->story,
                           .result = &lv->result,
                           .rng = {lv->story.seed},
                           .now = clock_run(),
                           .began = clock_run()};
    world_init(&lv->sim);
    lv->ops = world_ops;
    lv->ops.commit = live_commit;
    lv->ops.free = live_free;
    lv->ops.log_open = live_log_open;
    lv->sim.engine.ops = &lv->ops;
    lv->timer = xcalloc(1, sizeof(*lv->timer));
    lv->prepare = xcalloc(1, sizeof(*lv->prepare));
    (void)uv_timer_init(how->loop, lv->timer);
    (void)uv_prepare_init(how->loop, lv->prepare);
    lv->timer->data = lv->prepare->data = lv;
    (void)uv_prepare_start(lv->prepare, on_prepare);
    tell_simulated(lv, &w);
    *ret = &lv->sim.engine;
    return 0;
}

/* --- the class -------------------------------------------------------------------------------- */

/* A simulated job is planned for this machine, without what only real processes need. Nothing is
 * reserved, and a missing value is no reason not to play it. */
static int survey(struct arena *a, const struct survey_request *rq, struct survey *s, struct err *e)
{
    struct survey_request look = *rq;

    look.use = rq->use == SURVEY_RUN ? SURVEY_SHOW : rq->use;
    int r = local_survey_unisolated(a, &look, s, e);
    s->facts.site.engine = "sim";
    return r;
}

/* Programs need not be there: nothing is executed. */
static int plan(struct arena *a, const struct job_spec *spec, struct survey *s,
                const struct plan **ret, struct err *e)
{
    return plan_build(a, spec, &s->facts, ret, e);
}

const struct engine_class engine_sim = {
    .name = "sim",
    .survey = survey,
    .plan = plan,
    .open = live_open,
};
