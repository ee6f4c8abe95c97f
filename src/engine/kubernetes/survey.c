/* survey.c - see survey.h. Nothing is asked of the cluster here: a plan can be made without it. */
#include "engine/kubernetes/survey.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "engine/kubernetes/claims.h"
#include "engine/kubernetes/given.h"
#include "engine/secrets.h"
#include "spec/adjust.h"

enum { FIRST_PORT = 30000 }; /* of those that the platform has no number for */

int kubernetes_access(struct arena *a, const char *context, const char *namespace_,
                      struct kube_access *ret, struct err *e)
{
    return access_load(a,
                       &(struct access_request){
                           .context = context,
                           .namespace_ = namespace_,
                           .kubeconfig = getenv("KUBECONFIG"),
                           .home = getenv("HOME"),
                           .service_host = getenv("KUBERNETES_SERVICE_HOST"),
                           .service_port = getenv("KUBERNETES_SERVICE_PORT"),
                       },
                       ret, e);
}

int kubernetes_need_images(const struct job_spec *spec, struct err *e)
{
    for (size_t i = 0; i < spec->n_roles; i++)
        if (!spec->roles[i].image || spec_lacks_image(&spec->roles[i]))
            return err_set(e, -EINVAL,
                           "role %s has no container image, which a pod requires; use --image "
                           "'*=IMAGE'",
                           spec->roles[i].name);
    return 0;
}

/* What the file says its images have; a hostfile in the other format is beside it. */
static enum mpi_impl implementation(const struct job_spec *spec)
{
    static const struct {
        const char *name;
        enum mpi_impl impl;
    } names[] = {{"MPICH", MPI_HYDRA}, {"Intel", MPI_INTEL}};

    for (size_t i = 0; spec->implementation && i < ARRAY_SIZE(names); i++)
        if (strcmp(spec->implementation, names[i].name) == 0)
            return names[i].impl;
    return MPI_OPEN_MPI_4;
}

/* --- code and inputs -------------------------------------------------------------------------- */

static const char *here(struct arena *a, const struct job_spec *spec, const char *path)
{
    return *path == '/' ? path : arena_printf(a, "%s/%s", spec->dir ? spec->dir : ".", path);
}

/* What the job itself says: Azure ML uploads its code. */
static const char *own_code(struct arena *a, const struct job_spec *spec)
{
    if (!platform_sends_workdir(spec->platform.environment))
        return NULL;
    for (size_t i = 0; i < spec->n_roles; i++)
        if (spec->roles[i].workdir)
            return here(a, spec, spec->roles[i].workdir);
    return NULL;
}

/* Inputs with a path of this machine are sent. A file keeps its name: programs look at it. */
static void find_inputs(struct arena *a, const struct survey_request *rq, struct site *site)
{
    const struct job_spec *spec = rq->spec;
    const char **inputs = ARENA_ARRAY(a, const char *, spec->n_values + 1);
    const char **from = ARENA_ARRAY(a, const char *, spec->n_values + 1);
    const char **claims = ARENA_ARRAY(a, const char *, spec->n_values + 1);

    for (size_t i = 0; i < spec->n_values; i++) {
        const struct job_value *v = &spec->values[i];
        const char *path = v->here ? v->here : v->remote ? NULL : v->text, *name;
        struct stat st;

        if (v->kind != VALUE_LITERAL && (claims[i] = survey_claim(rq->claims, v->name))) {
            inputs[i] = claim_value(a, v);
            continue;
        }
        if (v->kind != VALUE_INPUT || v->direct || !path || !spec_names_value(spec, v))
            continue;
        path = here(a, spec, path);
        name = strrchr(path, '/') + 1;
        inputs[i] = arena_printf(a, POD_RUN_DIR "/" POD_INPUTS "/%s", v->name);
        if (stat(path, &st) == 0 && !S_ISDIR(st.st_mode))
            inputs[i] = arena_printf(a, "%s/%s", inputs[i], name);
        from[i] = path;
    }
    if (spec->n_values) {
        site->inputs = inputs;
        site->inputs_from = from;
        site->inputs_claims = claims;
    }
}

/* A path of this machine is nowhere in a cluster: better no job than one without its data. */
static int check_volumes(const struct survey_request *rq, struct err *e)
{
    if (!rq->volumes || !rq->volumes[0])
        return 0;
    return err_set(e, -EINVAL,
                   "--volume %s: pods cannot mount a directory of this machine; name a "
                   "persistentVolumeClaim in the job file, or use --claim NAME=CLAIM",
                   rq->volumes[0]);
}

static bool has_volume(const struct job_spec *spec, const char *name, size_t n)
{
    for (size_t k = 0; k < spec->n_roles; k++)
        for (size_t i = 0; i < spec->roles[k].n_mounts; i++) {
            const char *volume = spec->roles[k].mounts[i].volume;

            if (volume && strncmp(volume, name, n) == 0 && !volume[n])
                return true;
        }
    return false;
}

/* An option that names nothing is a slip of the hand. */
static int check_claims(const struct survey_request *rq, struct err *e)
{
    const struct job_spec *spec = rq->spec;

    for (size_t i = 0; rq->claims && rq->claims[i]; i++) {
        size_t n = strcspn(rq->claims[i], "=");
        bool found = has_volume(spec, rq->claims[i], n);

        for (size_t k = 0; k < spec->n_values && !found; k++)
            found = spec->values[k].kind != VALUE_LITERAL &&
                    strncmp(spec->values[k].name, rq->claims[i], n) == 0 &&
                    !spec->values[k].name[n];
        if (!found)
            return err_set(e, -EINVAL,
                           "--claim %s: the job has no volume, input or output of this name",
                           rq->claims[i]);
    }
    return 0;
}

static void find_code(struct arena *a, const struct survey_request *rq, struct site *site)
{
    site->code_volume = rq->code_volume;
    if (!rq->code_volume)
        site->code_from = rq->code ? rq->code : own_code(a, rq->spec);
    if (site->code_volume || site->code_from)
        site->code = POD_CODE_DIR;
    site->claims = rq->claims;
    site->gang = rq->gang;
    find_inputs(a, rq, site);
}

int kubernetes_find_data(struct arena *a, const struct survey_request *rq, struct site *site,
                         struct err *e)
{
    int r = check_claims(rq, e);

    if (r == 0)
        find_code(a, rq, site);
    return r;
}

/* --- config maps and secrets ------------------------------------------------------------------ */

/* What is not given is in the cluster. */
static int find_values(struct arena *a, const struct survey_request *rq, struct survey *s,
                       struct err *e)
{
    auto_strvec struct strvec missing = STRVEC_INIT;
    struct secrets_from from = {
        .secrets = rq->secrets, .config_maps = rq->configmaps, .others_exist = true};
    struct given_values *given = &s->facts.given;
    int r;

    from.n_objects = given_references(a, rq->spec, &from.objects);
    r = secrets_collect(a, rq->spec, &from, &given->secrets, &given->n_secrets,
                        rq->use == SURVEY_RUN ? NULL : &missing, e);

    given->secrets_dir = rq->secrets != NULL;
    given->configmaps_dir = rq->configmaps != NULL;
    for (size_t i = 0; i < missing.n && rq->use == SURVEY_SHOW; i++)
        strvec_push(&s->warnings, missing.v[i]);
    s->cause = r < 0 ? CAUSE_SECRET : CAUSE_NONE;
    return rq->use == SURVEY_ANYHOW ? 0 : r;
}

struct facts kubernetes_facts(struct arena *a, const struct job_spec *spec, const char *run_id,
                              const char *name, const char *namespace_)
{
    int *ports = ARENA_ARRAY(a, int, spec_n_ports(spec) + 1);

    spec_own_ports(spec, FIRST_PORT, ports);
    return (struct facts){
        .site = {.engine = "kubernetes",
                 .run_id = run_id,
                 .run_dir = POD_RUN_DIR,
                 .scratch_dir = POD_SCRATCH_DIR,
                 .elsewhere = true,
                 .references = true,
                 .service = name,
                 .context = "",
                 .namespace_ = namespace_,
                 .shim = POD_SHIM,
                 .isolation = "pods",
                 .ports = ports,
                 .interface = "eth0"},
        .caller = {.dir = spec->dir ? spec->dir : "/", .user = ""},
        .machine = {.root = true, .mpi = implementation(spec), .cpus = 1},
    };
}

int kubernetes_survey(struct arena *a, const struct survey_request *rq, struct survey *s,
                      struct err *e)
{
    const struct job_spec *spec = rq->spec;
    struct kube_access acc = {.namespace_ = "default", .context = ""};
    int r = kubernetes_access(a, rq->context, rq->namespace_, &acc, e);

    s->cause = CAUSE_UNSCHEDULABLE;
    if (r < 0 && rq->use == SURVEY_RUN)
        return r;
    r = check_volumes(rq, e);
    if (r == 0)
        r = check_claims(rq, e);
    if (r < 0 && rq->use != SURVEY_ANYHOW) {
        s->cause = CAUSE_NONE;
        return r;
    }
    r = kubernetes_need_images(spec, e);
    if (r < 0 && rq->use == SURVEY_RUN) {
        s->cause = CAUSE_IMAGE;
        return r;
    }
    s->facts = kubernetes_facts(a, spec, rq->run_id, kube_run_name(a, rq->run_id), acc.namespace_);
    s->facts.site.records = rq->run_dir;
    s->facts.site.context = acc.context;
    find_code(a, rq, &s->facts.site);
    return find_values(a, rq, s, e);
}

int kubernetes_plan(struct arena *a, const struct job_spec *spec, struct survey *s,
                    const struct plan **ret, struct err *e)
{
    return plan_build(a, spec, &s->facts, ret, e);
}
