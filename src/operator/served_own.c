/* served_own.c - see served_own.h. */
#include "operator/served_own.h"

#include <string.h>

#include "base/limits.h"
#include "engine/kubernetes/objects.h"
#include "engine/kubernetes/survey.h"
#include "kube/write.h"
#include "spec/adjust.h"

static const char *note_of(const struct served *s, const char *key)
{
    const struct node *notes = node_find(s->object, "metadata", "annotations", NULL);

    return node_text(node_get(notes, key), NULL);
}

/* A line each. */
static const char *const *lines_of(struct arena *a, const char *text)
{
    const char **v;
    size_t n = 0, max = 1;

    if (!text)
        return NULL;
    for (const char *c = text; *c; c++)
        max += *c == '\n';
    v = ARENA_ARRAY(a, const char *, max + 1);
    while (*text) {
        size_t len = strcspn(text, "\n");

        if (len > 0)
            v[n++] = arena_strndup(a, text, len);
        text += len + (text[len] == '\n');
    }
    return v;
}

static const char *without_command(struct arena *a, const struct job_spec *spec)
{
    for (size_t i = 0; i < spec->n_roles; i++)
        if (spec_lacks_command(spec, &spec->roles[i]))
            return arena_printf(a,
                                "role %s has no command; the entry point of its image is not known "
                                "to the operator",
                                spec->roles[i].name);
    return NULL;
}

/* What `muster run` would send from the directory of the job file is not here. */
static const char *not_here(struct arena *a, const struct job_spec *spec, const struct site *site,
                            bool has_code)
{
    if (site->code_from && !site->code_volume && !has_code)
        return arena_printf(a,
                            "the code directory %s is on the machine of the job file; use `muster "
                            "submit`, which brings it along, or name a volume claim in the "
                            "annotation " OWN_CODE_VOLUME,
                            site->code_from);
    for (size_t i = 0; site->inputs_from && i < spec->n_values; i++)
        if (site->inputs_from[i])
            return arena_printf(a,
                                "input %s is on the machine of the job file; put it on a volume "
                                "claim and name that in the annotation " OWN_CLAIMS
                                " (muster submit --claim %s=CLAIM)",
                                spec->values[i].name, spec->values[i].name);
    return NULL;
}

/* With those that mpirun starts. */
static int64_t n_processes(const struct plan *plan)
{
    int64_t n = plan->n_processes;

    for (size_t i = 0; i < plan->spec->n_roles; i++) {
        const struct role *role = &plan->spec->roles[i];

        if (role->kind == ROLE_HOST && role->slots_kind == SLOTS_NUMBER)
            n += (int64_t)role->replicas * role->slots;
    }
    return n;
}

/* T9k has a scheduler of its own. */
static const char *gang_of(const struct served *s, const struct job_spec *spec)
{
    const char *scheduler = s->options->gang_scheduler;

    return scheduler && *scheduler && spec->platform.environment != PLATFORM_T9K ? scheduler : NULL;
}

void served_own_plan(struct arena *a, struct served *s, struct job_spec *spec)
{
    const char *id = kube_owned_run(a, s->name, s->uid);
    struct facts *facts = ARENA_NEW(a, struct facts);
    const struct survey_request rq = {.use = SURVEY_RUN,
                                      .spec = spec,
                                      .claims = lines_of(a, note_of(s, OWN_CLAIMS)),
                                      .code_volume = note_of(s, OWN_CODE_VOLUME)};
    bool has_code = note_of(s, OWN_CODE) != NULL;
    struct err e = {0};

    *facts = kubernetes_facts(a, spec, id, id, s->namespace_);
    s->invalid = without_command(a, spec);
    if (!s->invalid && (kubernetes_need_images(spec, &e) < 0 ||
                        kubernetes_find_data(a, &rq, &facts->site, &e) < 0))
        s->invalid = arena_strdup(a, e.text);
    if (!s->invalid)
        s->invalid = not_here(a, spec, &facts->site, has_code);
    if (has_code)
        facts->site.code = POD_CODE_DIR;
    facts->site.code_from = NULL;
    facts->site.gang = gang_of(s, spec);
    if (!s->invalid && plan_build(a, spec, facts, &s->plan, &e) < 0)
        s->invalid = arena_strdup(a, e.text);
    if (s->plan && n_processes(s->plan) > LIMIT_OWN_PROCESSES) {
        s->invalid = arena_printf(a, "the job has %lld processes; the limit of a MusterJob is %d",
                                  (long long)n_processes(s->plan), LIMIT_OWN_PROCESSES);
        s->plan = NULL;
    }
}
