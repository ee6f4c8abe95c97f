/* adjust_counts.c - --scale, --nproc and --fit: replicas, slots, and the numbers in commands that
 * have to follow them.
 *
 * How many processes a replica has is its slots, unless its command starts them itself
 * (torchrun --nproc_per_node): then it is that number, and that number is what changes.
 */
#include <string.h>

#include "base/limits.h"
#include "base/num.h"
#include "spec/adjust_parts.h"
#include "spec/launch_line.h"

/* A role's counts as the file has them, after --scale and --nproc, and after --fit. */
struct tally {
    struct count before, asked, after;
    bool in_command; /* the width is a number in the role's command */
};

struct counting {
    struct adjuster *x;
    struct tally *roles;
    size_t n;
    bool hosts;               /* ranks run in ROLE_HOST replicas */
    int64_t target;           /* of --fit; INT64_MAX without it */
    bool mpirun;              /* found in a command */
    struct seen_numbers seen; /* in the command at hand */
};

/* --- which numbers there are --------------------------------------------------------------------
 */

struct collecting {
    struct arena *a;
    bool options; /* the words are mpirun's options */
    enum launch_meaning meaning;
    bool mpi;
    int64_t value; /* the first number of that meaning; 0 = none */
};

static void collect(void *ctx, const struct shell_word *words, size_t n, const char **with)
{
    struct collecting *c = ctx;
    const struct launch_number *v;
    size_t found = launch_numbers(c->a, words, n, c->options, &v, NULL);

    (void)with;
    for (size_t i = 0; i < found && c->value == 0; i++)
        if (v[i].meaning == c->meaning && v[i].mpi == c->mpi && v[i].value > 0)
            c->value = v[i].value;
}

static int64_t number_in(struct arena *a, const struct role *role, enum launch_meaning meaning,
                         bool mpi)
{
    struct collecting c = {.a = a, .meaning = meaning, .mpi = mpi};
    struct role copy = *role;

    edit_command(a, &copy, &(struct word_edit){.edit = collect, .ctx = &c});
    return c.value;
}

/* Ranks in all, as the launcher's command or the composed line says; 0 if neither does. */
static int64_t ranks_said(const struct adjuster *x)
{
    struct collecting c = {.a = x->a, .options = true, .meaning = LAUNCH_TOTAL, .mpi = true};

    if (x->mpi)
        (void)edit_argv(x->a, x->mpi->extra_args, &(struct word_edit){.edit = collect, .ctx = &c});
    for (size_t i = 0; i < x->spec->n_roles && c.value == 0; i++)
        if (x->roles[i].kind == ROLE_LAUNCHER)
            c.value = number_in(x->a, &x->roles[i], LAUNCH_TOTAL, true);
    return c.value;
}

static int32_t host_replicas(const struct adjuster *x)
{
    int64_t n = 0;

    for (size_t i = 0; i < x->spec->n_roles; i++)
        n += x->roles[i].kind == ROLE_HOST ? x->roles[i].replicas : 0;
    return (int32_t)(n ? n : 1);
}

static void count_roles(struct counting *c)
{
    const struct adjuster *x = c->x;
    int64_t ranks = ranks_said(x), per_node;
    int32_t hosts = host_replicas(x);

    for (size_t i = 0; i < c->n; i++) {
        const struct role *role = &x->roles[i];
        struct tally *t = &c->roles[i];

        if (role->kind == ROLE_LAUNCHER)
            continue;
        c->hosts = c->hosts || role->kind == ROLE_HOST;
        t->before = (struct count){role->replicas, role->slots > 0 ? role->slots : 1};
        if (role->kind == ROLE_HOST && role->slots_kind != SLOTS_NUMBER && ranks > 0)
            t->before.width = (int32_t)((ranks + hosts - 1) / hosts);
        per_node = role->kind == ROLE_PLAIN ? number_in(x->a, role, LAUNCH_PER_NODE, false) : 0;
        if (per_node > 0 && per_node <= LIMIT_SLOTS) {
            t->before.width = (int32_t)per_node;
            t->in_command = true;
        }
        t->asked = t->after = t->before;
    }
}

/* --- options ------------------------------------------------------------------------------------
 */

/* ROLE=N, with N from 1 to max: the role's tally, or NULL with e set. */
static struct tally *read_number(struct counting *c, const char *option, const char *text,
                                 int32_t max, int32_t *ret_n, struct err *e)
{
    const char *equals = strchr(text, '=');
    const struct role *role = NULL;
    uint32_t n = 0;

    if (!equals || equals == text)
        (void)err_set(e, -EINVAL, "--%s must be ROLE=N, not \"%s\"", option, text);
    else
        role = role_wanted(c->x, option, arena_strndup(c->x->a, text, (size_t)(equals - text)), e);
    if (!role)
        return NULL;
    if (num_u32(equals + 1, &n) < 0 || n < 1 || n > (uint32_t)max) {
        (void)err_set(e, -EINVAL, "--%s %s: \"%s\" is not a number from 1 to %d", option, text,
                      equals + 1, max);
        return NULL;
    }
    if (role->kind == ROLE_LAUNCHER) {
        (void)err_set(e, -EINVAL, "--%s %s: a launcher is always a single process", option, text);
        return NULL;
    }
    *ret_n = (int32_t)n;
    return &c->roles[role - c->x->roles];
}

static int read_options(struct counting *c, struct err *e)
{
    const struct adjustments *adj = c->x->adj;
    int32_t n = 0;

    for (size_t i = 0; adj->scale && adj->scale[i]; i++) {
        struct tally *t = read_number(c, "scale", adj->scale[i], LIMIT_REPLICAS, &n, e);

        if (!t)
            return -EINVAL;
        t->asked.replicas = n;
    }
    for (size_t i = 0; adj->nproc && adj->nproc[i]; i++) {
        struct tally *t = read_number(c, "nproc", adj->nproc[i], LIMIT_SLOTS, &n, e);

        if (!t)
            return -EINVAL;
        t->asked.width = n;
    }
    for (size_t i = 0; i < c->n; i++)
        c->roles[i].after = c->roles[i].asked;
    return 0;
}

static void fit(struct counting *c)
{
    const struct adjustments *adj = c->x->adj;
    struct count *from = ARENA_ARRAY(c->x->a, struct count, c->n);
    struct count *to = ARENA_ARRAY(c->x->a, struct count, c->n);
    const char *unit = adj->gpus >= 0 ? "GPU" : "CPU";
    int have = adj->gpus >= 0 ? adj->gpus : adj->cpus;

    c->target = have > 2 || adj->gpus > 0 ? have : 2;
    for (size_t i = 0; i < c->n; i++)
        from[i] = c->roles[i].asked;
    if (fit_total(from, c->n) <= c->target)
        return;
    fit_counts(from, c->n, c->target, to);
    for (size_t i = 0; i < c->n; i++)
        c->roles[i].after = to[i];
    if (fit_total(to, c->n) > c->target)
        change_add(c->x, SEV_NOTE,
                   "--fit: %lld processes remain on %d %s%s; a role with several replicas keeps at "
                   "least two",
                   (long long)fit_total(to, c->n), have, unit, have == 1 ? "" : "s");
}

/* --- commands -----------------------------------------------------------------------------------
 */

struct renumbering {
    struct counting *c;
    const struct role *role; /* whose command it is; NULL: the composed mpirun line */
    bool quiet;              /* the same text was told of already */
};

static const char *why(const struct counting *c)
{
    const struct adjustments *adj = c->x->adj;

    return adj->fit ? "--fit" : adj->scale && adj->scale[0] ? "--scale" : "--nproc";
}

/* Counts over the replicas that a number speaks of: of mpirun, those that ranks run in. */
static void sums(const struct counting *c, bool mpi, struct count *ret_nodes, int64_t *ret_before,
                 int64_t *ret_after)
{
    *ret_nodes = (struct count){0};
    *ret_before = *ret_after = 0;
    for (size_t i = 0; i < c->n; i++) {
        const struct tally *t = &c->roles[i];

        if (mpi && c->hosts && c->x->roles[i].kind != ROLE_HOST)
            continue;
        ret_nodes->replicas += t->before.replicas; /* before, and as `width` after */
        ret_nodes->width += t->after.replicas;
        *ret_before += (int64_t)t->before.replicas * t->before.width;
        *ret_after += (int64_t)t->after.replicas * t->after.width;
    }
}

static int64_t in_proportion(int64_t value, int64_t before, int64_t after)
{
    int64_t made = before > 0 ? value * after / before : value;

    return made < 1 ? 1 : made;
}

/* The role whose widths a number per node speaks of. */
static const struct tally *width_of(const struct counting *c, const struct role *role, bool mpi)
{
    for (size_t i = 0; i < c->n; i++)
        if (mpi && c->hosts ? c->x->roles[i].kind == ROLE_HOST : &c->x->roles[i] == role)
            return &c->roles[i];
    return NULL;
}

/* What a number becomes; itself if nothing changes, -1 if that cannot be said. */
static int64_t renumbered(const struct counting *c, const struct role *role,
                          const struct launch_number *f)
{
    const struct tally *t = width_of(c, role, f->mpi);
    int64_t before, after, made, most;
    struct count nodes;

    sums(c, f->mpi, &nodes, &before, &after);
    switch (f->meaning) {
    case LAUNCH_TOTAL:
        made = in_proportion(f->value, before, after);
        /* There may be more ranks than slots; they have to fit as well. */
        most = after > c->target ? after : c->target;
        return f->mpi && made > most ? most : made;
    case LAUNCH_PER_NODE:
        return t ? in_proportion(f->value, t->before.width, t->after.width) : f->value;
    case LAUNCH_NODES:
        if (t && f->value == t->before.replicas)
            return t->after.replicas;
        return f->value == nodes.replicas ? nodes.width : -1;
    case LAUNCH_OTHER:
        break;
    }
    return f->value;
}

static bool changed(const struct counting *c)
{
    for (size_t i = 0; i < c->n; i++)
        if (memcmp(&c->roles[i].before, &c->roles[i].after, sizeof(struct count)) != 0)
            return true;
    return false;
}

static void renumber(void *ctx, const struct shell_word *words, size_t n, const char **with)
{
    struct renumbering *r = ctx;
    struct counting *c = r->c;
    struct adjuster *x = c->x;
    const char *where =
        r->role ? arena_printf(x->a, "the command of %s", r->role->name) : "the mpirun line";
    const struct launch_number *v;
    bool mpirun;
    size_t found = launch_numbers(x->a, words, n, !r->role, &v, &mpirun);

    c->mpirun = c->mpirun || mpirun;
    for (size_t i = 0; i < found; i++, c->seen.n++) {
        if (c->seen.n < ARRAY_SIZE(c->seen.v))
            c->seen.v[c->seen.n] = v[i].value;

        int64_t made = v[i].value > 0 ? renumbered(c, r->role, &v[i]) : -1;

        if (made == v[i].value && made > 0)
            continue;
        if (made > 0)
            with[v[i].word] = launch_renumber(x->a, &v[i], made);
        if (r->quiet)
            continue;
        if (made > 0)
            change_add(x, SEV_NOTE, "%s: %s %lld instead of %lld (%s)", where, v[i].option,
                       (long long)made, (long long)v[i].value, why(c));
        else if (changed(c))
            change_add(x, SEV_WARNING, "%s: %s is %s; not changed", where, v[i].option, v[i].text);
    }
}

static void renumber_role(struct counting *c, struct role *role)
{
    struct renumbering r = {.c = c, .role = role};
    const struct word_edit edit = {.edit = renumber, .ctx = &r};
    const struct role before = *role;
    bool unseen;

    c->mpirun = false;
    c->seen.n = 0;
    edit_command(c->x->a, role, &edit);
    unseen = c->x->adj->fit && adjust_unseen(c->x, &before, c->target, &c->seen) > 0;
    if (!unseen && role->kind == ROLE_LAUNCHER && (role->argv || role->shell) && c->seen.n == 0 &&
        changed(c))
        change_add(
            c->x, SEV_WARNING,
            c->mpirun
                ? "the command of %s has no -np; mpirun uses the slots of the hostfile"
                : "no mpirun found in the command of %s; a process count in it is not changed",
            role->name);
    r.quiet = true;
    role->shell_secret = edit_shell(c->x->a, role->shell_secret, &edit);
}

/* --- roles --------------------------------------------------------------------------------------
 */

static void follow_rules(struct adjuster *x, struct role *role, const struct tally *t)
{
    int32_t *rules[] = {&role->min_succeeded, &role->min_failed};
    static const char *const names[] = {"minimum of succeeded", "minimum of failed"};

    for (size_t i = 0; i < ARRAY_SIZE(rules); i++) {
        int32_t old = *rules[i];

        bool all = i == 0 && old == t->before.replicas; /* "all of them" stays that */

        if (old <= 0 || old == t->after.replicas || (!all && old < t->after.replicas))
            continue;
        *rules[i] = t->after.replicas;
        change_add(x, SEV_NOTE, "%s: a %s replicas of %d instead of %d", role->name, names[i],
                   *rules[i], old);
    }
}

/* Tasks share replicas: on fewer of these there are more in each, unless they are to be fewer. */
static void apply_tasks(struct counting *c, struct role *role, const struct tally *t)
{
    struct adjuster *x = c->x;
    struct task *tasks = ARENA_ARRAY(x->a, struct task, role->n_tasks);
    struct port_request *ports = ARENA_ARRAY(x->a, struct port_request, role->n_ports);
    int64_t before = (int64_t)t->before.replicas * t->before.width, total = 0;
    int64_t after = (int64_t)t->after.replicas * t->after.width;

    for (size_t i = 0; i < role->n_tasks; i++) {
        tasks[i] = role->tasks[i];
        if (t->after.width != t->before.width || t->after.replicas != t->asked.replicas)
            tasks[i].count = (int32_t)in_proportion(tasks[i].count, before, after);
        if (tasks[i].count != role->tasks[i].count)
            change_add(x, SEV_NOTE, "%s: %d %s task%s instead of %d (%s)", role->name,
                       tasks[i].count, tasks[i].type, tasks[i].count == 1 ? "" : "s",
                       role->tasks[i].count, x->adj->fit ? "--fit" : "--nproc");
        total += tasks[i].count;
    }
    role->tasks = tasks;
    role->slots = (int32_t)((total + role->replicas - 1) / role->replicas);
    for (size_t i = 0; i < role->n_ports; i++) {
        ports[i] = role->ports[i];
        ports[i].count = role->slots;
    }
    role->ports = ports;
}

static void apply(struct counting *c, size_t i)
{
    struct adjuster *x = c->x;
    struct role *role = &x->roles[i];
    const struct tally *t = &c->roles[i];

    if (t->after.replicas != t->before.replicas) {
        change_add(x, SEV_NOTE, "%s: %d replica%s instead of %d (%s)", role->name,
                   t->after.replicas, t->after.replicas == 1 ? "" : "s", t->before.replicas,
                   t->after.replicas == t->asked.replicas ? "--scale" : "--fit");
        role->replicas = t->after.replicas;
        follow_rules(x, role, t);
    }
    if (role->n_tasks) {
        apply_tasks(c, role, t);
        return;
    }
    if (t->after.width == t->before.width)
        return;
    if (role->res.gpu > 1 && role->res.gpu == t->before.width) {
        change_add(x, SEV_NOTE, "%s: %d GPU%s instead of %lld", role->name, t->after.width,
                   t->after.width == 1 ? "" : "s", (long long)role->res.gpu);
        role->res.gpu = t->after.width;
    }
    if (t->in_command)
        return;
    /* Slots that nobody has stated follow from -np, which --fit changes; --nproc states them. */
    if (role->kind == ROLE_HOST && role->slots_kind != SLOTS_NUMBER &&
        t->asked.width == t->before.width)
        return;
    change_add(x, SEV_NOTE, "%s: %d %s%s in each instead of %d (%s)", role->name, t->after.width,
               role->kind == ROLE_HOST ? "slot" : "process",
               t->after.width == 1       ? ""
               : role->kind == ROLE_HOST ? "s"
                                         : "es",
               t->before.width, t->after.width == t->asked.width ? "--nproc" : "--fit");
    role->slots = t->after.width;
    role->slots_kind = SLOTS_NUMBER;
}

static int32_t nodes_of(const struct job_spec *spec)
{
    int32_t n = 0;

    for (size_t i = 0; i < spec->n_roles; i++)
        n += spec->roles[i].replicas;
    return n;
}

/* torchrun would wait for nodes that are not there any more, or turn new ones away. */
static void follow_elastic(struct adjuster *x)
{
    const struct elastic_spec *old = x->spec->elastic;
    int32_t nodes = nodes_of(x->spec);
    struct elastic_spec *e;

    if (!old || nodes == nodes_of(x->before) ||
        (old->min_replicas <= nodes && nodes <= old->max_replicas))
        return;
    e = ARENA_NEW(x->a, struct elastic_spec);
    *e = *old;
    if (e->min_replicas > nodes)
        e->min_replicas = nodes;
    if (e->max_replicas < nodes)
        e->max_replicas = nodes;
    x->spec->elastic = e;
    change_add(x, SEV_NOTE, "elasticPolicy: %d to %d nodes instead of %d to %d", e->min_replicas,
               e->max_replicas, old->min_replicas, old->max_replicas);
}

int adjust_counts(struct adjuster *x, struct err *e)
{
    struct counting c = {.x = x,
                         .n = x->spec->n_roles,
                         .roles = ARENA_ARRAY(x->a, struct tally, x->spec->n_roles),
                         .target = INT64_MAX};
    const struct adjustments *adj = x->adj;
    size_t before = x->changes.n;
    int r;

    if (!adj->fit && !(adj->scale && adj->scale[0]) && !(adj->nproc && adj->nproc[0]))
        return 0;
    count_roles(&c);
    r = read_options(&c, e);
    if (r < 0)
        return r;
    if (adj->fit)
        fit(&c);
    for (size_t i = 0; i < c.n; i++) {
        apply(&c, i);
        if (x->roles[i].slots > LIMIT_SLOTS)
            return err_set(e, -EINVAL, "%s would have %d tasks in each replica (%d at most)",
                           x->roles[i].name, x->roles[i].slots, LIMIT_SLOTS);
    }
    follow_elastic(x);
    for (size_t i = 0; i < c.n; i++)
        renumber_role(&c, &x->roles[i]);
    if (x->mpi) {
        struct renumbering line = {.c = &c};

        x->mpi->extra_args = edit_argv(x->a, x->mpi->extra_args,
                                       &(struct word_edit){.edit = renumber, .ctx = &line});
    }
    if (adj->fit && x->changes.n == before)
        change_add(x, SEV_NOTE, "--fit: the job fits this machine as it is");
    return 0;
}
