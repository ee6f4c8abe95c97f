/* tell.c - what the core hears of the world: late, twice, out of order, or not at all.
 *
 * What is lost is told again when everything is (sim_tell_all), as an engine does that looks at
 * what is there after it has lost sight of it.
 */
#include "engine/sim/inside.h"

uint32_t sim_rank_replica(const struct sim *s, uint32_t rank)
{
    uint32_t n = 0, hosts = 0;

    for (uint32_t i = 0; i < s->plan->n_replicas; i++)
        hosts += s->plan->replicas[i].role->kind == ROLE_HOST;
    for (uint32_t i = 0; i < s->plan->n_replicas; i++) {
        const struct role *role = s->plan->replicas[i].role;
        if (role->kind == ROLE_HOST &&
            n++ == rank / (uint32_t)(role->slots > 0 ? role->slots : 1) % hosts)
            return i;
    }
    return 0;
}

/* Of a replica that is out of sight nothing is heard. */
static bool is_out_of_sight(const struct sim *s, const struct observation *o)
{
    switch (o->kind) {
    case OBS_STARTED:
    case OBS_SPAWN_FAILED:
    case OBS_EXITED:
        return s->out_of_sight[s->plan->processes[o->process].replica];
    case OBS_OPENED:
    case OBS_WAITING:
    case OBS_RANK_STARTED:
    case OBS_RANK_EXITED:
        return o->replica < s->plan->n_replicas && s->out_of_sight[o->replica];
    default:
        return false;
    }
}

static void deliver(struct sim *s, int64_t in_ms, const struct observation *o)
{
    if (is_out_of_sight(s, o))
        return;
    sim_push(s, in_ms, (struct item){.kind = ITEM_DELIVER, .o = *o});
}

void sim_tell(struct sim *s, const struct observation *o)
{
    const struct sim_faults *f = &s->story->faults;
    int64_t in_ms = 0;

    if (s->lost && o->kind != OBS_LOST)
        return;
    if (rng_chance(&s->rng, f->drop)) {
        s->result->dropped++;
        sim_fault(s, "a report is lost");
        return;
    }
    if (rng_chance(&s->rng, f->delay)) {
        in_ms = rng_between(&s->rng, 0, f->delay_ms);
        s->result->delayed++;
    }
    deliver(s, in_ms, o);
    if (rng_chance(&s->rng, f->repeat)) {
        deliver(s, in_ms + rng_between(&s->rng, 0, f->delay_ms), o);
        s->result->repeated++;
    }
}

static struct observation of_process(const struct sim *s, uint32_t id, bool ended)
{
    const struct thing *t = &s->procs[id];

    if (!ended)
        return (struct observation){.kind = OBS_STARTED,
                                    .at = t->started,
                                    .attempt = s->attempt,
                                    .instance = t->instances,
                                    .process = id};
    return (struct observation){.kind = t->never_was ? OBS_SPAWN_FAILED : OBS_EXITED,
                                .at = t->end.at,
                                .attempt = s->attempt,
                                .instance = t->instances,
                                .process = id,
                                .end = t->end};
}

static struct observation of_rank(const struct sim *s, uint32_t launch, uint32_t rank, bool ended)
{
    const struct thing *t = &s->mpiruns[launch].ranks[rank];

    return (struct observation){.kind = ended ? OBS_RANK_EXITED : OBS_RANK_STARTED,
                                .at = ended ? t->end.at : t->started,
                                .attempt = s->attempt,
                                .replica = sim_rank_replica(s, rank),
                                .launch = launch + 1,
                                .rank = rank,
                                .size = s->mpiruns[launch].as->size,
                                .program = s->mpiruns[launch].as->program,
                                .began = s->mpiruns[launch].began,
                                .forwarded = rank % 2 == 1,
                                .log = "rank.log",
                                .end = t->end};
}

void sim_tell_process(struct sim *s, uint32_t id, bool ended)
{
    struct observation o = of_process(s, id, ended);

    sim_tell(s, &o);
}

void sim_tell_rank(struct sim *s, uint32_t launch, uint32_t rank, bool ended)
{
    struct observation o = of_rank(s, launch, rank, ended);

    sim_tell(s, &o);
}

static struct observation of_mpirun(const struct sim *s, uint32_t launch)
{
    return (struct observation){.kind = OBS_MPIRUN_ENDED,
                                .at = s->mpiruns[launch].ended,
                                .attempt = s->attempt,
                                .launch = launch + 1};
}

void sim_tell_mpirun(struct sim *s, uint32_t launch)
{
    struct observation o = of_mpirun(s, launch);

    sim_tell(s, &o);
}

void sim_tell_all(struct sim *s)
{
    struct observation o = {.kind = OBS_LOST, .at = s->now};

    if (s->lost) {
        deliver(s, 0, &o);
        return;
    }
    for (uint32_t i = 0; i < s->plan->n_replicas; i++) {
        o = (struct observation){
            .kind = OBS_OPENED, .at = s->now, .attempt = s->attempt, .replica = i};
        if (s->replicas[i] == BEING_LIVE)
            deliver(s, 0, &o);
    }
    for (uint32_t i = 0; i < s->plan->n_processes; i++) {
        const struct thing *t = &s->procs[i];
        for (int ended = 0; ended < 2; ended++) {
            o = of_process(s, i, ended);
            if (ended ? t->being == BEING_DEAD : t->started != 0)
                deliver(s, 0, &o);
        }
    }
    for (uint32_t l = 0; l < s->n_mpiruns; l++)
        if (s->mpiruns[l].blame.launch)
            deliver(s, 0, &s->mpiruns[l].blame);
    for (uint32_t l = 0; l < s->n_mpiruns; l++)
        for (uint32_t r = 0; r < s->mpiruns[l].as->size; r++)
            for (int ended = 0; ended < 2; ended++) {
                const struct thing *t = &s->mpiruns[l].ranks[r];
                o = of_rank(s, l, r, ended);
                if (ended ? t->being == BEING_DEAD : t->started != 0)
                    deliver(s, 0, &o);
            }
    for (uint32_t l = 0; l < s->n_mpiruns; l++) {
        o = of_mpirun(s, l);
        if (o.at)
            deliver(s, 0, &o);
    }
}
