/* conditions.c - setting a condition: what stays, what goes, what keeps its time.
 *
 * The rules are those of both operators: a condition that says the same for the same reason is left
 * alone; one that says the same for another reason keeps the time of its last change; Running and
 * Restarting replace each other; an end makes Running false without a new time.
 */
#include <string.h>

#include "job/conditions.h"

const struct condition *conditions_get(const struct conditions *cs, enum condition_type type)
{
    for (size_t i = 0; i < cs->n; i++)
        if (cs->v[i].type == type)
            return &cs->v[i];
    return NULL;
}

static bool replaces(enum condition_type new, enum condition_type old)
{
    return new == old || (new == CONDITION_RUNNING &&old == CONDITION_RESTARTING) ||
           (new == CONDITION_RESTARTING &&old == CONDITION_RUNNING);
}

void conditions_set(struct conditions *cs, enum condition_type type, bool status,
                    const char *reason, const char *message, ns_t at)
{
    struct condition c = {type, status, reason, message, at, at};
    const struct condition *was = conditions_get(cs, type),
                           *failed = conditions_get(cs, CONDITION_FAILED);
    bool end = type == CONDITION_SUCCEEDED || type == CONDITION_FAILED;
    size_t n = 0;

    if (cs->failed_is_last && failed && failed->status)
        return;
    if (was && was->status == status && strcmp(was->reason, reason) == 0)
        return;
    if (was && was->status == status)
        c.changed = was->changed;
    for (size_t i = 0; i < cs->n; i++) {
        struct condition old = cs->v[i];
        if (replaces(type, old.type))
            continue;
        if (end && (old.type == CONDITION_RUNNING || old.type == CONDITION_FAILED))
            old.status = false;
        cs->v[n++] = old;
    }
    cs->v[n++] = c;
    cs->n = n;
}

void kube_kv_time(struct json *j, const char *key, ns_t at)
{
    char text[CLOCK_TEXT];

    (void)clock_rfc3339(at, text);
    memcpy(strchr(text, '.'), "Z", sizeof("Z"));
    json_kv_str(j, key, text);
}

void conditions_write(const struct conditions *cs, struct json *j)
{
    static const char *const types[CONDITION_TYPES] = {
        [CONDITION_CREATED] = "Created",       [CONDITION_RUNNING] = "Running",
        [CONDITION_RESTARTING] = "Restarting", [CONDITION_SUSPENDED] = "Suspended",
        [CONDITION_SUCCEEDED] = "Succeeded",   [CONDITION_FAILED] = "Failed",
    };

    json_array(j);
    for (size_t i = 0; i < cs->n; i++) {
        const struct condition *c = &cs->v[i];
        json_object(j);
        json_kv_str(j, "type", types[c->type]);
        json_kv_str(j, "status", c->status ? "True" : "False");
        json_kv_str(j, "reason", c->reason);
        json_kv_str(j, "message", c->message);
        kube_kv_time(j, "lastUpdateTime", c->updated);
        kube_kv_time(j, "lastTransitionTime", c->changed);
        json_end(j);
    }
    json_end(j);
}
