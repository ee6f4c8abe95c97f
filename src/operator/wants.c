/* wants.c - see wants.h. The objects are made by wants_mpi.c, wants_mpi_old.c, wants_t9k.c
 * and wants_training.c. */
#include "operator/wants.h"

#include <string.h>

#include "kube/gang.h"
#include "operator/wants_parts.h"

#define RBAC "/apis/rbac.authorization.k8s.io/v1"

const char *want_collection(struct arena *a, enum want_kind kind, const char *namespace_)
{
    static const struct {
        const char *api, *plural;
    } collections[WANT_KINDS] = {
        [WANT_SERVICE] = {"/api/v1", "services"},
        [WANT_CONFIG_MAP] = {"/api/v1", "configmaps"},
        [WANT_SECRET] = {"/api/v1", "secrets"},
        [WANT_POD] = {"/api/v1", "pods"},
        [WANT_JOB] = {"/apis/batch/v1", "jobs"},
        [WANT_SERVICE_ACCOUNT] = {"/api/v1", "serviceaccounts"},
        [WANT_VOLCANO_GROUP] = {"/apis/" GANG_VOLCANO_API, "podgroups"},
        [WANT_PLUGINS_GROUP] = {"/apis/" GANG_PLUGINS_API, "podgroups"},
        [WANT_SCALER] = {"/apis/autoscaling/v2", "horizontalpodautoscalers"},
        [WANT_ROLE] = {RBAC, "roles"},
        [WANT_ROLE_BINDING] = {RBAC, "rolebindings"},
    };

    return arena_printf(a, "%s/namespaces/%s/%s", collections[kind].api, namespace_,
                        collections[kind].plural);
}

static const struct wants_way *way_of(const struct served *s)
{
    if (s->kind->family == FAMILY_TRAINING)
        return &wants_training;
    switch (s->plan->spec->platform.environment) {
    case PLATFORM_T9K:
        return &wants_t9k;
    case PLATFORM_MPIJOB_V2BETA1:
        return &wants_mpi;
    default:
        return &wants_mpi_old;
    }
}

size_t wants_list(struct arena *a, const struct served *s, const struct want **ret)
{
    bool group = want_has_group(s), scaler = want_has_scaler(s);
    size_t n = way_of(s)->list(a, s, ret), k = 0;
    struct want *with;

    if (!group && !scaler)
        return n;
    with = ARENA_ARRAY(a, struct want, n + 2);
    if (group)
        with[k++] = (struct want){want_group_kind(s), s->name, -1};
    if (scaler)
        with[k++] = (struct want){WANT_SCALER, s->name, -1};
    memcpy(with + k, *ret, n * sizeof(*with));
    *ret = with;
    return n + k;
}

const struct node *want_object(struct arena *a, const struct served *s, const struct want *w,
                               const struct want_state *st)
{
    if (w->kind == WANT_VOLCANO_GROUP || w->kind == WANT_PLUGINS_GROUP)
        return want_group(a, s, w);
    if (w->kind == WANT_SCALER)
        return want_scaler(a, s, w);
    return way_of(s)->object(a, s, w, st);
}

const char *wants_selector(struct arena *a, const struct served *s)
{
    return way_of(s)->selector(a, s);
}
