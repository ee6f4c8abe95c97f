/* platform.c - what of Azure ML's command job concerns the platform: compute, queue, identity,
 * services, tags. Checked as the platform does; little of it means something here. */
#include "dialect/azureml/azureml.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

const char *az_lower_case(struct arena *a, const char *text)
{
    char *low = arena_strdup(a, text);

    for (char *c = low; *c; c++)
        *c = (char)tolower((unsigned char)*c);
    return low;
}

static void lower_compute(struct az *l)
{
    const char *text = NULL;

    if (l->job->compute && bind_string(&l->b, "compute", l->job->compute, &text))
        l->out->target = strncmp(text, "azureml:", 8) == 0 ? text + 8 : text;
}

static void lower_queue(struct az *l)
{
    static const char *const tiers[] = {"spot", "basic", "standard", "premium", "null"};
    static const char *const priorities[] = {"low", "medium", "high"};
    const struct az_queue *in = l->job->queue;

    if (!in)
        return;
    if (in->job_tier) {
        l->out->queue = az_lower_case(l->b.a, in->job_tier);
        bind_word(&l->b, node_get(in->at, "job_tier"), "job_tier", l->out->queue, tiers,
                  ARRAY_SIZE(tiers));
    }
    for (int32_t i = 0; in->priority && i < (int32_t)ARRAY_SIZE(priorities); i++) {
        if (strcasecmp(priorities[i], in->priority) == 0)
            l->out->priority = i + 1;
    }
    if (in->priority && l->out->priority < 0)
        bind_word(&l->b, node_get(in->at, "priority"), "priority",
                  az_lower_case(l->b.a, in->priority), priorities, ARRAY_SIZE(priorities));
}

static void check_identity(struct az *l)
{
    static const char *const types[] = {"aml_token", "managed", "managed_identity",
                                        "user_identity"};
    const struct az_identity *in = l->job->identity;
    bool known = false;

    if (!in || !in->type)
        return;
    for (size_t i = 0; i < ARRAY_SIZE(types); i++) { /* AMLToken is aml_token */
        const char *a = in->type, *b = types[i];

        for (; *a; a++, b++) {
            b += *b == '_' && *a != '_';
            if (tolower((unsigned char)*a) != *b)
                break;
        }
        known = known || (!*a && !*b);
    }
    if (!known)
        bind_word(&l->b, node_get(in->at, "type"), "type", in->type, types, ARRAY_SIZE(types));
    diag_at(l->b.ds, node_label(in->at), "N0301", NULL,
            "`identity` has no effect in a local run; the job runs as the current user");
}

/* Texts by name, or nothing. */
static void check_texts(struct az *l, const char *key, const struct node *map)
{
    const char *text;

    if (!map)
        return;
    if (map->type != NODE_MAP)
        bind_type_error(&l->b, key, "a mapping", NULL, map);
    for (size_t i = 0; map->type == NODE_MAP && i < map->n; i++) {
        const struct pair *p = &map->pairs[i];

        if (p->value->type != NODE_NULL)
            (void)bind_string(&l->b, arena_printf(l->b.a, "%s.%.80s", key, p->key->text), p->value,
                              &text);
    }
}

static void check_services(struct az *l)
{
    const struct node *map = l->job->services;

    if (!map)
        return;
    if (map->type != NODE_MAP) {
        bind_type_error(&l->b, "services", "a mapping", NULL, map);
        return;
    }
    for (size_t i = 0; i < map->n; i++) {
        if (node_key(map->pairs[i].value, "job_service_type"))
            diag_at(l->b.ds, node_key(map->pairs[i].value, "job_service_type"), "E0101",
                    "write `type`", "unknown key `job_service_type` in a service");
        else
            (void)bind_map(&l->b, &az_service_table, map->pairs[i].value);
    }
    diag_at(l->b.ds, node_label(map), "N0301", NULL,
            "`services` has no effect in a local run; the job's ports can be reached directly");
}

static void check_type(struct az *l)
{
    static const char *const types[] = {"command"};

    if (l->job->type)
        bind_word(&l->b, node_get(l->job->at, "type"), "type", az_lower_case(l->b.a, l->job->type),
                  types, ARRAY_SIZE(types));
}

void az_lower_platform(struct az *l)
{
    check_type(l);
    lower_compute(l);
    lower_queue(l);
    check_identity(l);
    check_services(l);
    check_texts(l, "tags", l->job->tags);
    check_texts(l, "properties", l->job->properties);
    if (l->job->limits)
        l->out->deadline_s = az_count(l, "timeout", l->job->limits->timeout, 0, 0);
}
