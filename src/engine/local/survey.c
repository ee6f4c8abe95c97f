/* survey.c - see survey.h. The order matters: values go into volumes, isolation decides on ports.
 */
#include "engine/local/survey.h"

#include <string.h>

#include "engine/engine.h"
#include "engine/local/facts.h"
#include "engine/local/images.h"
#include "engine/local/isolate.h"
#include "engine/local/local.h"
#include "engine/local/needs.h"
#include "engine/local/ports.h"
#include "engine/secrets.h"
#include "engine/local/volumes.h"

static void take_options(const struct survey_request *rq, struct facts *facts)
{
    facts->caller.clean_env = rq->clean_env;
    facts->caller.inherit_all = rq->inherit_all;
    facts->site.overlay = rq->overlay;
    facts->site.private_workdir = rq->private_workdir;
    facts->site.keep_overlay = rq->keep_overlay;
    facts->site.maps = rq->maps;
    facts->given.secrets_dir = rq->secrets != NULL;
    facts->given.configmaps_dir = rq->configmaps != NULL;
    facts->caller.skip_init = rq->skip_init;
    facts->caller.inherit_env = rq->inherit_env;
    facts->site.visible_gpus = rq->visible_gpus;
    if (rq->cpus > 0)
        facts->machine.cpus = rq->cpus;
    if (rq->memory > 0)
        facts->machine.memory = rq->memory;
    if (rq->gpus >= 0) {
        facts->machine.gpus = rq->gpus;
        facts->machine.gpus_pretended = true;
    }
}

/* SURVEY_ANYHOW goes on without what failed. */
static int refused(const struct survey_request *rq, struct survey *s, enum cause_kind cause, int r)
{
    if (r == 0 || rq->use == SURVEY_ANYHOW)
        return 0;
    s->cause = cause;
    return r;
}

static int find_machine(struct arena *a, const struct survey_request *rq, struct survey *s,
                        struct err *e)
{
    struct facts *f = &s->facts;
    if ((rq->code || rq->code_volume) && rq->use != SURVEY_ANYHOW)
        return err_set(e, -EINVAL, "--code%s requires --on kubernetes%s", rq->code ? "" : "-volume",
                       rq->code ? "; here, --workdir DIR runs the job in a directory" : "");
    if (rq->claims && rq->use != SURVEY_ANYHOW)
        return err_set(e, -EINVAL,
                       "--claim requires --on kubernetes; here, --volume NAME=PATH and --map "
                       "PATH=HERE use directories");
    if (rq->gang && rq->use != SURVEY_ANYHOW)
        return err_set(e, -EINVAL, "--gang-scheduling requires --on kubernetes");
    int r = images_map(a, rq->spec, rq->images, &f->site.images, e);

    if (r < 0)
        f->site.images = NULL;
    if (refused(rq, s, r == -EINVAL ? CAUSE_NONE : CAUSE_IMAGE, r) < 0)
        return r;
    r = facts_collect(a, rq->spec, rq->run_id, rq->run_dir, rq->scratch_dir, f, e);
    if (r < 0)
        *f = (struct facts){.site.run_id = rq->run_id,
                            .site.run_dir = rq->run_dir,
                            .site.scratch_dir = rq->scratch_dir};
    if (r == 0 && rq->require_gpus && rq->use == SURVEY_RUN)
        r = facts_require_gpus(rq->spec, f, e);
    if (refused(rq, s, CAUSE_UNSCHEDULABLE, r) < 0)
        return r;
    f->site.engine = "local";
    take_options(rq, f);
    if (rq->use == SURVEY_SHOW)
        facts_ask_mpi_version(a, f);
    return 0;
}

/* Without a directory, that values are missing is among the plan's notes. */
static int find_values(struct arena *a, const struct survey_request *rq, struct survey *s,
                       struct err *e)
{
    auto_strvec struct strvec missing = STRVEC_INIT;
    const struct secrets_from from = {.secrets = rq->secrets, .config_maps = rq->configmaps};
    int r = secrets_collect(a, rq->spec, &from, &s->facts.given.secrets, &s->facts.given.n_secrets,
                            rq->use == SURVEY_RUN ? NULL : &missing, e);

    for (size_t i = 0; i < missing.n && (rq->secrets || rq->configmaps); i++)
        strvec_push(&s->warnings, missing.v[i]);
    return refused(rq, s, CAUSE_SECRET, r);
}

static int find_isolation(struct arena *a, const char *level, const struct survey_request *rq,
                          struct survey *s, struct err *e)
{
    int r = isolation_choose(a, level, &s->facts, e);

    if (r < 0)
        s->facts.site.isolation = strcmp(level, "auto") == 0 ? "names" : level;
    return refused(rq, s, CAUSE_UNSCHEDULABLE, r);
}

static int find_volumes(struct arena *a, const struct survey_request *rq, struct survey *s,
                        struct err *e)
{
    int r = volumes_resolve(a, rq->spec, rq->volumes, rq->secrets, rq->configmaps,
                            rq->use != SURVEY_RUN, &s->facts, e);

    return refused(rq, s,
                   r == -EINVAL   ? CAUSE_NONE
                   : r == -ENOKEY ? CAUSE_SECRET /* or a config map */
                                  : CAUSE_UNSCHEDULABLE,
                   r);
}

static int find_ports(struct arena *a, const struct survey_request *rq, struct survey *s,
                      struct err *e)
{
    struct leases held = {0};
    int r = 0;

    if (rq->ports)
        ports_hold(rq->spec, s->facts.site.network != 0, rq->ports, &held);
    else
        r = ports_lease(a, rq->spec, s->facts.site.network != 0, &s->facts.site.ports,
                        rq->use == SURVEY_RUN ? &held : NULL, e);
    if (rq->ports)
        s->facts.site.ports = rq->ports;

    s->held = held.fds;
    s->n_held = held.n;
    if (r < 0 && rq->use == SURVEY_SHOW) {
        strvec_pushf(&s->warnings, "run would refuse: %s", e->text);
        return 0;
    }
    return refused(rq, s, CAUSE_PORT, r);
}

int local_survey(struct arena *a, const struct survey_request *rq, struct survey *s, struct err *e)
{
    int r = find_machine(a, rq, s, e);

    if (r == 0)
        r = find_values(a, rq, s, e);
    if (r == 0)
        r = find_isolation(a, rq->isolate, rq, s, e);
    if (r == 0)
        r = find_volumes(a, rq, s, e);
    return r == 0 ? find_ports(a, rq, s, e) : r;
}

int local_survey_unisolated(struct arena *a, const struct survey_request *rq, struct survey *s,
                            struct err *e)
{
    int r = find_machine(a, rq, s, e);

    if (r == 0)
        r = find_values(a, rq, s, e);
    if (r == 0)
        r = find_isolation(a, "none", rq, s, e);
    return r == 0 ? find_ports(a, rq, s, e) : r;
}

int local_plan(struct arena *a, const struct job_spec *spec, struct survey *s,
               const struct plan **ret, struct err *e)
{
    return plan_checked(a, spec, &s->facts, ret, e);
}

const struct engine_class engine_local = {
    .name = "local",
    .survey = local_survey,
    .plan = local_plan,
    .open = local_open,
    .attach = local_attach,
    .here = &local_here,
};
