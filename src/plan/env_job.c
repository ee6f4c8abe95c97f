/* env_job.c - the environment that the job file asks for, as a kubelet would make it.
 *
 * $(NAME) in a value stands for a variable defined before it; one that is not stays as written, and
 * $$ stands for $. Fields and resources are answered from the plan, secrets and config maps from
 * what was given to the run. Whole secrets and config maps come before the single variables, which
 * win.
 */
#include <ctype.h>
#include <string.h>

#include "base/num.h"
#include "base/strbuf.h"
#include "plan/env.h"
#include "plan/relocate.h"

/* Adds what "$(…" at s stands for; returns the number of bytes read. */
static size_t add_reference(struct strbuf *sb, const struct env_set *set, const char *s)
{
    const char *end = strchr(s, ')');

    if (!end) {
        strbuf_addstr(sb, "$(");
        return 2;
    }

    auto_free char *name = strndup(s + 2, (size_t)(end - s) - 2);
    const struct env_value *v = name ? env_get(set, name) : NULL;

    /* The caller's variables are none of the container's: a kubelet would not know them. */
    if (v && !v->reference && v->origin != ORIGIN_CALLER)
        strbuf_addstr(sb, v->value);
    else
        strbuf_add(sb, s, (size_t)(end - s) + 1);
    return (size_t)(end - s) + 1;
}

const char *env_expand(const struct env_set *set, const char *text)
{
    auto_strbuf struct strbuf sb = STRBUF_INIT;

    if (!strchr(text, '$'))
        return text;
    while (*text) {
        size_t n = strcspn(text, "$");

        strbuf_add(&sb, text, n);
        text += n;
        if (text[0] == '$' && text[1] == '(') {
            text += add_reference(&sb, set, text);
        } else if (text[0] == '$') {
            strbuf_addch(&sb, '$');
            text += text[1] == '$' ? 2 : 1;
        }
    }
    return arena_strndup(set->arena, sb.buf, sb.len);
}

/* --- references ---------------------------------------------------------------------------------
 */

/* metadata.labels['key'], metadata.annotations['key'] of the role's pod template */
static const char *template_metadata(struct arena *a, const struct role *role, const char *field)
{
    const char *open = strstr(field, "['");
    size_t len = strlen(field);

    if (!open || len < 2 || strcmp(field + len - 2, "']") != 0 || !role->template_at)
        return NULL;

    size_t dot = strlen("metadata.");
    const char *map = arena_strndup(a, field + dot, (size_t)(open - field) - dot);
    const char *key = arena_strndup(a, open + 2, (size_t)(field + len - 2 - (open + 2)));
    const struct node *n = node_find(role->template_at, "metadata", map, key, NULL);

    return n && n->text ? n->text : "";
}

static const char *field_value(struct arena *a, const struct plan *plan,
                               const struct replica *replica, const char *field)
{
    const char *name_space = plan->spec->namespace_;
    const struct node *account =
        node_find(replica->role->template_at, "spec", "serviceAccountName", NULL);
    const struct {
        const char *field, *value;
    } fields[] = {
        {"metadata.name", replica->host},
        {"metadata.namespace", name_space ? name_space : "default"},
        {"metadata.uid", arena_printf(a, "%s-%s", plan->facts->site.run_id, replica->name)},
        {"spec.nodeName", "localhost"},
        {"spec.serviceAccountName", account && account->text ? account->text : "default"},
        {"status.podIP", replica->address},
        {"status.podIPs", replica->address},
        {"status.hostIP", "127.0.0.1"},
        {"status.hostIPs", "127.0.0.1"},
    };

    for (size_t i = 0; i < ARRAY_SIZE(fields); i++)
        if (!strcmp(fields[i].field, field))
            return fields[i].value;
    if (!strncmp(field, "metadata.labels[", 16) || !strncmp(field, "metadata.annotations[", 21))
        return template_metadata(a, replica->role, field);
    return NULL;
}

/* Kubernetes takes a request that is not said to be the limit; without one it is nothing. */
static int64_t asked(int64_t limit)
{
    return limit == QUANTITY_UNSET ? 0 : limit;
}

/* What a resource is where the job sets no limit: the whole machine, as on a node. */
static const char *resource_value(struct arena *a, const struct plan *plan,
                                  const struct replica *replica, const struct env_entry *entry)
{
    const struct resources *r = &replica->role->res;
    const struct facts *facts = plan->facts;
    int64_t cpus = (int64_t)facts->machine.cpus * 1000;
    const struct {
        const char *field;
        int64_t value, unset;
        bool milli;
    } fields[] = {
        {"limits.cpu", r->cpu_limit_milli, cpus, true},
        {"requests.cpu", r->cpu_request_milli, asked(r->cpu_limit_milli), true},
        {"limits.memory", r->memory_limit, facts->machine.memory, false},
        {"requests.memory", r->memory_request, asked(r->memory_limit), false},
    };
    int64_t divisor = 0;

    if (quantity_milli(entry->ref_name ? entry->ref_name : "1", &divisor) < 0 || divisor <= 0)
        divisor = 1000;
    for (size_t i = 0; i < ARRAY_SIZE(fields); i++) {
        if (strcmp(fields[i].field, entry->ref_key) != 0)
            continue;

        int64_t value = fields[i].value == QUANTITY_UNSET ? fields[i].unset : fields[i].value;
        /* cpu is kept in thousandths, as the divisor is; memory is not */
        int64_t unit = fields[i].milli ? divisor : (divisor + 999) / 1000;

        int64_t units = value / unit + (value % unit != 0);

        return arena_printf(a, "%lld", (long long)units);
    }
    return NULL;
}

const char *env_reference(struct arena *a, const struct plan *plan, const struct replica *replica,
                          const struct env_entry *entry)
{
    if (entry->source == ENV_FIELD)
        return field_value(a, plan, replica, entry->ref_key);
    return resource_value(a, plan, replica, entry);
}

/* --- entries ------------------------------------------------------------------------------------
 */

const char *env_given(const struct facts *facts, const struct env_entry *entry)
{
    for (size_t i = 0; i < facts->given.n_secrets; i++) {
        const struct secret_value *v = &facts->given.secrets[i];

        if (v->source == entry->source && !strcmp(v->name, entry->ref_name) &&
            !strcmp(v->key, entry->ref_key))
            return v->value;
    }
    return NULL;
}

static const char *entry_value(struct env_set *set, const struct plan *plan,
                               const struct replica *replica, const struct env_entry *entry,
                               bool masked)
{
    const char *value = NULL;

    switch (entry->source) {
    case ENV_LITERAL:
        return env_expand(set, entry->value);
    case ENV_FIELD:
    case ENV_RESOURCE:
        value = env_reference(set->arena, plan, replica, entry);
        return value ? value : "";
    case ENV_SECRET:
        value = env_given(plan->facts, entry);
        return masked && (value || !entry->optional) ? "***" : value;
    case ENV_CONFIG_MAP:
        return env_given(plan->facts, entry);
    }
    return NULL;
}

/* What tells a process where it is, nobody changes. */
static bool is_ours(const struct env_set *set, const char *name)
{
    return !strncmp(name, "MUSTER_", 7) && env_get(set, name);
}

static void put_of_job(struct env_set *set, const char *name, const char *value)
{
    if (value && !is_ours(set, name))
        env_put(set, name, value, ORIGIN_JOB, NULL);
}

/* A kubelet leaves out keys that cannot be names of variables. */
static bool is_name(const char *name)
{
    if (!*name || isdigit((unsigned char)*name))
        return false;
    for (; *name; name++)
        if (!isalnum((unsigned char)*name) && !strchr("_-.", *name))
            return false;
    return true;
}

static void put_whole(struct env_set *set, const struct facts *facts, const struct env_entry *from,
                      bool masked)
{
    for (size_t i = 0; i < facts->given.n_secrets; i++) {
        const struct secret_value *v = &facts->given.secrets[i];
        const char *name;

        if (v->source != from->source || strcmp(v->name, from->ref_name) != 0)
            continue;
        name = arena_printf(set->arena, "%s%s", from->name ? from->name : "", v->key);
        if (is_name(name) && !v->binary)
            put_of_job(set, name, masked && v->source == ENV_SECRET ? "***" : v->value);
    }
}

void env_job(struct env_set *set, const struct plan *plan, const struct replica *replica,
             const struct env_entries *entries, bool masked)
{
    if (plan->facts->site.references) {
        for (size_t i = 0; i < entries->n; i++)
            if (!is_ours(set, entries->v[i].name))
                env_put_unresolved(set, &entries->v[i]);
        return;
    }
    for (size_t i = 0; i < entries->n_from; i++)
        put_whole(set, plan->facts, &entries->from[i], masked);
    for (size_t i = 0; i < entries->n; i++) {
        const char *value = entry_value(set, plan, replica, &entries->v[i], masked);

        put_of_job(set, entries->v[i].name,
                   relocate_path(set->arena, plan, replica, entries->init, value));
    }
}
