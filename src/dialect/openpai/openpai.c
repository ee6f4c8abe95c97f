/* openpai.c - what the two OpenPAI dialects share; see the header. */
#include "dialect/openpai/openpai.h"

#include <stdio.h>
#include <string.h>

#include "base/limits.h"
#include "base/num.h"
#include "dialect/rewrite.h"

/* --- names ---------------------------------------------------------------------------------- */

static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

bool pai_check_name(const struct binder *b, const struct node *at, const char *what,
                    const char *name, const char *extra, bool identifier)
{
    size_t n = 0;

    while (name[n] && (is_letter(name[n]) || is_digit(name[n]) || strchr(extra, name[n])))
        n++;
    if (name[n] || !name[strspn(name, ".")]) { /* only dots are a path's own words */
        diag_at(b->ds, at, "E0301", arena_printf(b->a, "use letters, digits and any of %s", extra),
                "%s must not be \"%.80s\"", what, name);
        return false;
    }
    if (n > PAI_NAME_MAX) {
        diag_at(b->ds, at, "E0301", NULL, "%s has %zu characters; the limit is %d", what, n,
                PAI_NAME_MAX);
        return false;
    }
    if (identifier && is_digit(name[0])) {
        diag_at(b->ds, at, "E0301", NULL, "%s must not begin with a digit: \"%.80s\"", what, name);
        return false;
    }
    return true;
}

/* The role as OpenPAI's environment spells it: lower case, letters and digits only. */
static bool same_normalised(const char *x, const char *y)
{
    for (;; x++, y++) {
        while (*x && !is_letter(*x) && !is_digit(*x))
            x++;
        while (*y && !is_letter(*y) && !is_digit(*y))
            y++;
        if ((*x | (is_letter(*x) ? 0x20 : 0)) != (*y | (is_letter(*y) ? 0x20 : 0)))
            return false;
        if (!*x)
            return true;
    }
}

void pai_check_roles(const struct binder *b, const struct role *roles, size_t n,
                     const struct node *const *at)
{
    for (size_t i = 0; i < n; i++) {
        int digits = snprintf(NULL, 0, "-%d", roles[i].replicas - 1);
        size_t len = strlen(roles[i].name) + (size_t)digits;

        if (len > LIMIT_NAME)
            diag_at(b->ds, at[i], "E0202", NULL,
                    "host names of role %.40s… have %zu characters; the limit is %d", roles[i].name,
                    len, LIMIT_NAME);
        /* More roles than replicas are refused anyway, and comparing them would take long. */
        for (size_t k = 0; k < i && n <= LIMIT_REPLICAS; k++) {
            if (!same_normalised(roles[i].name, roles[k].name))
                continue;
            diag_at(b->ds, at[i], "E0302",
                    "variable names keep only lower-case letters and digits of a role's name",
                    "variables of task role %s conflict with those of %s (line %u)", roles[i].name,
                    roles[k].name, at[k]->pos.line);
            break;
        }
    }
}

/* --- numbers -------------------------------------------------------------------------------- */

static bool whole_number(const struct pai_int *want, const struct node *node, int64_t *ret)
{
    if (node->type == NODE_INT) {
        *ret = node->i;
        return true;
    }
    if (node->type == NODE_FLOAT && node->f >= -1e9 && node->f <= 1e9 &&
        node->f == (double)(int64_t)node->f) {
        *ret = (int64_t)node->f;
        return true;
    }
    return want->quotes && node->type == NODE_STRING && num_i64(node->text, ret) == 0;
}

int32_t pai_int(const struct binder *b, const struct pai_int *want, const struct node *node)
{
    int64_t i;

    if (!node || node->type == NODE_NULL)
        return want->def;
    if (!whole_number(want, node, &i)) {
        bind_type_error(b, want->key, "an integer", NULL, node);
        return want->def;
    }
    if (node->type == NODE_STRING)
        diag_at(b->ds, node, "W0305", "remove the quotes", "`%s` should be a number, not a string",
                want->key);
    if (i >= want->min && i <= want->max)
        return (int32_t)i;
    if (i < want->min)
        diag_at(b->ds, node, "E0203", NULL, "`%s` must be at least %d, not %lld", want->key,
                want->min, (long long)i);
    else
        diag_at(b->ds, node, "E0203", NULL, "`%s` must be at most %d, not %lld", want->key,
                want->max, (long long)i);
    return want->def;
}

static bool listed(const char *const *words, const char *word)
{
    while (*words && strcmp(*words, word) != 0)
        words++;
    return *words != NULL;
}

void pai_reject_nulls(const struct binder *b, const struct bind_table *table,
                      const struct node *node, const char *const *except)
{
    if (!node || node->type != NODE_MAP)
        return;
    for (size_t i = 0; i < table->n; i++) {
        const struct bind_field *f = &table->fields[i];
        const struct node *value = node_get(node, f->key);

        if (!value)
            continue;
        if (value->type == NODE_NULL && !f->required && !listed(except, f->key))
            bind_missing(b, node, table->what, f->key, "give it a value or remove the key");
        if (f->kind == BIND_STRUCT)
            pai_reject_nulls(b, f->table, value, except);
        for (size_t k = 0; f->kind == BIND_STRUCTS && value->type == NODE_SEQ && k < value->n; k++)
            pai_reject_nulls(b, f->table, value->items[k], except);
    }
}

/* --- roles ---------------------------------------------------------------------------------- */

struct job_spec *pai_new_job(struct arena *a, const struct dialect *dialect, const struct doc *doc)
{
    struct job_spec *out = ARENA_NEW(a, struct job_spec);

    *out = (struct job_spec){.dialect = dialect->id,
                             .platform = platform_of(PLATFORM_OPENPAI),
                             .framework = FRAMEWORK_NONE,
                             .file = doc->file,
                             .gang = true,
                             .priority = -1};
    return out;
}

struct job_spec *pai_finish(struct job_spec *job, struct diags *ds, size_t n_before)
{
    if (ds->n_errors == n_before)
        spec_validate(job, ds);
    return ds->n_errors == n_before ? job : NULL;
}

struct role pai_role(const char *name, enum shell_kind shell)
{
    struct role role = spec_new_role(name, ROLE_PLAIN);

    role.shell_kind = shell;
    return role;
}

static void fit_shm(struct resources *res)
{
    if (res->memory_limit >= 0 && res->shm > res->memory_limit)
        res->shm = res->memory_limit;
}

void pai_resources(struct role *role, int32_t cpu, int32_t memory_mb, int32_t gpu, int32_t shm_mb,
                   const struct node *shm_said)
{
    struct resources *res = &role->res;

    if (cpu > 0)
        res->cpu_limit_milli = (int64_t)cpu * 1000;
    if (memory_mb > 0)
        res->memory_limit = PAI_MB(memory_mb);
    res->gpu = gpu;
    res->shm = PAI_MB(shm_mb);
    res->shm_at = shm_said;
    if (!shm_said)
        fit_shm(res);
}

void pai_default_shm(struct role *role, int version)
{
    role->res.shm = PAI_MB(version == 1 ? PAI1_SHM_MB : PAI2_SHM_MB);
    fit_shm(&role->res);
}

void pai_set_ports(struct arena *a, struct role *role, const struct port_request *v, size_t n)
{
    static const char *const always[] = {"ssh", "http"};
    struct port_request *ports = ARENA_ARRAY(a, struct port_request, n + ARRAY_SIZE(always));
    size_t m = 0;

    for (size_t i = 0; i < n; i++) {
        if (v[i].count > 0)
            ports[m++] = v[i];
    }
    for (size_t k = 0; k < ARRAY_SIZE(always); k++) {
        bool there = false;

        for (size_t i = 0; i < m; i++)
            there = there || strcmp(ports[i].label, always[k]) == 0;
        if (!there)
            ports[m++] = (struct port_request){.label = always[k], .count = 1};
    }
    role->ports = ports;
    role->n_ports = m;
}

/* --- commands ------------------------------------------------------------------------------- */

void pai_start_sleep(const struct binder *b, const struct read_options *opts, const struct node *at,
                     const char **text, const char **secret)
{
    const struct rewrite rw = {.a = b->a, .ds = b->ds, .opts = opts, .at = at};
    const char *rest = rewrite_start_sleep(&rw, *text);

    if (*secret) /* no secret stands before it */
        *secret += rest - *text;
    *text = rest;
}

void pai_warn_rdma(const struct binder *b, const struct node *at, const char *key)
{
    diag_at(b->ds, at, "W0304", NULL, "`%s`: RDMA is not available; using TCP", key);
}
