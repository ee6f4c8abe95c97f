/* queue_file.c - reads machines, queues and jobs of a simulated day, or makes jobs by chance. */
#include "cli/queue_file.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "base/io.h"
#include "base/limits.h"
#include "base/nearest.h"
#include "cli/queue_keys.h"
#include "doc/bind.h"
#include "doc/yaml.h"

/* --- as decoded ------------------------------------------------------------------------------- */

struct in_request { /* of a replica; the beginning of what has one */
    const struct node *cpus, *memory;
    int32_t gpus, ports, replicas;
};

struct in_machine {
    const struct node *at;
    const char *name;
    struct in_request has;
    int32_t count;
};

struct in_job { /* also a kind of generated jobs */
    const struct node *at;
    const char *name, *queue, *spread;
    int32_t priority, weight;
    const struct node *arrives, *duration, *max_duration;
    bool fails;
    const char *const *after;
    struct in_request each;
};

struct in_generate {
    const struct node *at;
    int32_t count, seed;
    const struct node *over;
    BIND_LIST(struct in_job) kinds;
};

struct in_day {
    const struct node *at;
    BIND_LIST(struct in_machine) machines;
    BIND_LIST(struct queue_keys) queues;
    BIND_LIST(struct in_job) jobs;
    const struct in_generate *generate;
    const char *preemption;
    bool backfill;
    const struct node *interval, *stop_time;
};

/* --- the tables ------------------------------------------------------------------------------- */

static const char *const spreads[] = {"fixed", "uniform", "exponential", NULL};

/* The keys of a struct in_request at this offset. */
#define REQUEST(base)                                                                              \
    {.key = "cpus",                                                                                \
     .kind = BIND_NODE,                                                                            \
     .offset = (base) + offsetof(struct in_request, cpus),                                         \
     .takes = TAKES_QUANTITY},                                                                     \
        {.key = "memory",                                                                          \
         .kind = BIND_NODE,                                                                        \
         .offset = (base) + offsetof(struct in_request, memory),                                   \
         .takes = TAKES_QUANTITY},                                                                 \
        {.key = "gpus",                                                                            \
         .kind = BIND_INT,                                                                         \
         .offset = (base) + offsetof(struct in_request, gpus),                                     \
         .max = LIMIT_QUEUE_GPUS},                                                                 \
    {                                                                                              \
        .key = "ports", .kind = BIND_INT, .offset = (base) + offsetof(struct in_request, ports),   \
        .max = LIMIT_PORTS                                                                         \
    }

#define AT(field) offsetof(struct in_machine, field)
static const struct bind_field machine_fields[] = {
    {.key = "name", .kind = BIND_STRING, .offset = AT(name)},
    {.key = "count",
     .kind = BIND_INT,
     .offset = AT(count),
     .min = 1,
     .max = LIMIT_DAY_MACHINES,
     .def = 1},
    REQUEST(AT(has)),
};
static const struct bind_table machine_table =
    BIND_TABLE("a machine", struct in_machine, machine_fields);

#undef AT
#define AT(field) offsetof(struct in_job, field)
#define COMMON_FIELDS                                                                              \
    {.key = "queue", .kind = BIND_STRING, .offset = AT(queue)},                                    \
        {.key = "priority", .kind = BIND_INT, .offset = AT(priority), .max = 100},                 \
        {.key = "duration", .kind = BIND_NODE, .offset = AT(duration), .required = true},          \
        {.key = "maxDuration", .kind = BIND_NODE, .offset = AT(max_duration)},                     \
        {.key = "replicas",                                                                        \
         .kind = BIND_INT,                                                                         \
         .offset = AT(each.replicas),                                                              \
         .min = 1,                                                                                 \
         .max = LIMIT_REPLICAS,                                                                    \
         .def = 1},                                                                                \
        REQUEST(AT(each))
static const struct bind_field job_fields[] = {
    {.key = "name", .kind = BIND_STRING, .offset = AT(name)},
    {.key = "at", .kind = BIND_NODE, .offset = AT(arrives)},
    {.key = "after", .kind = BIND_STRINGS, .offset = AT(after)},
    {.key = "fails", .kind = BIND_BOOL, .offset = AT(fails)},
    COMMON_FIELDS,
};
static const struct bind_table job_table = BIND_TABLE("a job", struct in_job, job_fields);
static const struct bind_field kind_fields[] = {
    {.key = "weight", .kind = BIND_INT, .offset = AT(weight), .min = 1, .max = 1000000, .def = 1},
    {.key = "spread", .kind = BIND_STRING, .offset = AT(spread), .words = spreads},
    COMMON_FIELDS,
};
static const struct bind_table kind_table = BIND_TABLE("a kind of job", struct in_job, kind_fields);

#undef AT
#define AT(field) offsetof(struct in_generate, field)
static const struct bind_field generate_fields[] = {
    {.key = "count",
     .kind = BIND_INT,
     .required = true,
     .offset = AT(count),
     .min = 1,
     .max = LIMIT_DAY_JOBS},
    {.key = "over", .kind = BIND_NODE, .required = true, .offset = AT(over)},
    {.key = "seed", .kind = BIND_INT, .offset = AT(seed), .max = INT32_MAX, .def = 1},
    {.key = "kinds",
     .kind = BIND_STRUCTS,
     .required = true,
     .non_empty = true,
     .offset = AT(kinds),
     .table = &kind_table},
};
static const struct bind_table generate_table =
    BIND_TABLE("generate", struct in_generate, generate_fields);

#undef AT
#define AT(field) offsetof(struct in_day, field)
static const struct bind_field day_fields[] = {
    {.key = "machines",
     .kind = BIND_STRUCTS,
     .required = true,
     .non_empty = true,
     .offset = AT(machines),
     .table = &machine_table},
    {.key = "queues", .kind = BIND_STRUCTS, .offset = AT(queues), .table = &queue_table_day},
    {.key = "jobs", .kind = BIND_STRUCTS, .offset = AT(jobs), .table = &job_table},
    {.key = "generate", .kind = BIND_STRUCT, .offset = AT(generate), .table = &generate_table},
    {.key = "preemption",
     .kind = BIND_STRING,
     .offset = AT(preemption),
     .words = queue_preemption_words},
    {.key = "backfill", .kind = BIND_BOOL, .offset = AT(backfill)},
    {.key = "interval", .kind = BIND_NODE, .offset = AT(interval)},
    {.key = "stopTime", .kind = BIND_NODE, .offset = AT(stop_time)},
};
static const struct bind_table day_table = BIND_TABLE("the file", struct in_day, day_fields);

/* --- values ----------------------------------------------------------------------------------- */

static struct queue_amount read_request(const struct binder *b, const struct in_request *in)
{
    return (struct queue_amount){{queue_keys_quantity(b, in->cpus, true, 0),
                                  queue_keys_quantity(b, in->memory, false, 0), in->gpus,
                                  in->ports}};
}

static int word(const char *const *words, const char *w, int otherwise)
{
    for (int i = 0; w && words[i]; i++)
        if (!strcmp(words[i], w))
            return i;
    return otherwise;
}

/* --- machines and queues ---------------------------------------------------------------------- */

static void read_machines(const struct binder *b, const struct in_day *in, struct day *day)
{
    uint64_t n = 0;

    for (size_t i = 0; i < in->machines.n; i++)
        n += (uint64_t)in->machines.v[i].count;
    if (n > LIMIT_DAY_MACHINES) {
        diag_at(b->ds, node_label(node_get(in->at, "machines")), "E0203", NULL,
                "%llu machines; the limit is %d", (unsigned long long)n, LIMIT_DAY_MACHINES);
        return;
    }
    struct queue_machine *v = ARENA_ARRAY(b->a, struct queue_machine, n + 1);
    for (size_t i = 0; i < in->machines.n; i++) {
        const struct in_machine *x = &in->machines.v[i];
        struct queue_machine m = {.name = x->name ? x->name : "machine",
                                  .has = read_request(b, &x->has)};
        if (x->has.gpus > 0)
            m.gpus = UINT64_MAX >> (64 - x->has.gpus);
        for (int32_t k = 0; k < x->count; k++)
            v[day->n_machines++] = m;
    }
    day->machines = v;
}

static void read_queues(const struct binder *b, const struct in_day *in, struct day *day)
{
    day->queues = queue_keys_read(b, in->queues.v, in->queues.n, &day->n_queues);
    if (day->n_queues == 0) {
        struct queue *v = ARENA_NEW(b->a, struct queue);
        *v = (struct queue){
            .name = "default", .quota = {{-1, -1, -1, -1}}, .weight = 1, .preemptible = true};
        day->queues = v;
        day->n_queues = 1;
    }
}

/* --- jobs ------------------------------------------------------------------------------------- */

/* Without a name: the first queue. */
static uint32_t find_queue(const struct binder *b, const struct day *day, const struct in_job *x)
{
    const char **names = ARENA_ARRAY(b->a, const char *, day->n_queues + 1);

    for (uint32_t q = 0; q < day->n_queues; q++) {
        names[q] = day->queues[q].name;
        if (!x->queue || !strcmp(x->queue, names[q]))
            return q;
    }
    const char *near = nearest_word(x->queue, names, day->n_queues);
    diag_at(b->ds, node_get(x->at, "queue"), "E0209",
            near ? arena_printf(b->a, "did you mean %s?", near) : NULL, "queue \"%s\" not found",
            x->queue);
    return 0;
}

static struct day_job read_job(const struct binder *b, const struct day *day,
                               const struct in_job *x)
{
    struct queue_role *role = ARENA_NEW(b->a, struct queue_role);

    *role = (struct queue_role){.replicas = (uint32_t)x->each.replicas,
                                .each = read_request(b, &x->each)};
    return (struct day_job){.at = queue_keys_duration(b, x->arrives, 0, 0),
                            .lasts = queue_keys_duration(b, x->duration, 1, 1),
                            .fails = x->fails,
                            .queue = find_queue(b, day, x),
                            .priority = x->priority,
                            .roles = role,
                            .n_roles = 1,
                            .max_duration = queue_keys_duration(b, x->max_duration, 1, 0)};
}

/* The place in the file of the job with this name, before job i. */
static uint32_t find_job(const struct binder *b, const struct in_day *in, size_t i,
                         const char *name)
{
    for (size_t k = i; k-- > 0;)
        if (in->jobs.v[k].name && !strcmp(in->jobs.v[k].name, name))
            return (uint32_t)k;
    diag_at(b->ds, node_get(in->jobs.v[i].at, "after"), "E0209", NULL,
            "job \"%s\" not found among the jobs before this one", name);
    return 0;
}

struct arrival { /* to be sorted */
    struct day_job job;
    const char *name;
    uint32_t number; /* in the file */
};

static int compare(const void *a, const void *b)
{
    const struct arrival *x = a, *y = b;

    if (x->job.at != y->job.at)
        return x->job.at < y->job.at ? -1 : 1;
    return x->number < y->number ? -1 : 1;
}

static void generate(const struct binder *b, const struct in_generate *g, const struct day *day,
                     int64_t seed, struct arrival *v, uint32_t first)
{
    struct rng r = {(uint64_t)(seed >= 0 ? seed : g->seed)};
    struct day_job *kinds = ARENA_ARRAY(b->a, struct day_job, g->kinds.n + 1);
    ns_t gap = queue_keys_duration(b, g->over, 1, 1) / g->count, at = 0;
    uint64_t weights = 0;

    for (size_t i = 0; i < g->kinds.n; i++) {
        kinds[i] = read_job(b, day, &g->kinds.v[i]);
        weights += (uint64_t)g->kinds.v[i].weight;
    }
    for (uint32_t n = 0; weights > 0 && n < (uint32_t)g->count; n++) {
        uint64_t pick = rng_next(&r) % weights;
        size_t i = 0;
        for (; pick >= (uint64_t)g->kinds.v[i].weight; i++)
            pick -= (uint64_t)g->kinds.v[i].weight;
        at += day_random(&r, DAY_EXPONENTIAL, gap);
        v[n].job = kinds[i];
        v[n].job.at = at;
        v[n].job.lasts =
            day_random(&r, (enum day_spread)word(spreads, g->kinds.v[i].spread, DAY_EXPONENTIAL),
                       kinds[i].lasts);
        v[n].number = first + n;
    }
}

static void read_jobs(const struct binder *b, const struct in_day *in, int64_t seed,
                      struct queue_file *ret)
{
    uint32_t listed = (uint32_t)in->jobs.n;
    uint32_t n = listed + (in->generate ? (uint32_t)in->generate->count : 0);
    struct arrival *v = ARENA_ARRAY(b->a, struct arrival, n + 1);
    struct day_job *jobs = ARENA_ARRAY(b->a, struct day_job, n + 1);
    const char **names = ARENA_ARRAY(b->a, const char *, n + 1);
    uint32_t *now_at = ARENA_ARRAY(b->a, uint32_t, n + 1);

    for (uint32_t i = 0; i < listed; i++)
        v[i] = (struct arrival){read_job(b, &ret->day, &in->jobs.v[i]), in->jobs.v[i].name, i};
    if (in->generate && in->generate->count > 0)
        generate(b, in->generate, &ret->day, seed, v + listed, listed);
    qsort(v, n, sizeof(*v), compare);
    for (uint32_t i = 0; i < n; i++) {
        jobs[i] = v[i].job;
        names[i] = v[i].name;
        now_at[v[i].number] = i;
    }
    for (uint32_t i = 0; i < listed; i++) {
        uint32_t n_after = 0;
        while (in->jobs.v[i].after && in->jobs.v[i].after[n_after])
            n_after++;
        uint32_t *afters = ARENA_ARRAY(b->a, uint32_t, n_after + 1);
        for (uint32_t k = 0; k < n_after; k++)
            afters[k] = now_at[find_job(b, in, i, in->jobs.v[i].after[k])];
        jobs[now_at[i]].afters = afters;
        jobs[now_at[i]].n_afters = n_after;
    }
    ret->day.jobs = jobs;
    ret->day.n_jobs = n;
    ret->names = names;
}

/* --- the file --------------------------------------------------------------------------------- */

static void read_day(const struct binder *b, const struct node *root, int64_t seed,
                     struct queue_file *ret)
{
    const struct in_day *in = bind_map(b, &day_table, root);

    if (!in)
        return;
    if (in->jobs.n == 0 && !in->generate && !node_get(in->at, "generate"))
        bind_missing(b, in->at, "the file", "jobs", "or `generate`, to make them by chance");
    read_machines(b, in, &ret->day);
    read_queues(b, in, &ret->day);
    if (b->ds->n_errors == 0)
        read_jobs(b, in, seed, ret);
    ret->day.preemption = (enum queue_preemption)word(queue_preemption_words, in->preemption, 0);
    ret->day.no_backfill = !node_absent(in->at, "backfill") && !in->backfill;
    ret->day.interval = queue_keys_duration(b, in->interval, 0, 0);
    ret->day.stopping = queue_keys_duration(b, in->stop_time, 0, 0);
}

int queue_file_read(struct arena *a, const char *path, int64_t seed, struct queue_file *ret,
                    struct err *e)
{
    auto_strbuf struct strbuf text = STRBUF_INIT;
    int r;

    *ret = (struct queue_file){0};
    diags_init(&ret->diags, a);
    if (!strcmp(path, "-"))
        r = io_read_fd(STDIN_FILENO, "standard input", LIMIT_FILE_BYTES, &text, e);
    else
        r = io_read_file(AT_FDCWD, path, LIMIT_FILE_BYTES, &text, e);
    if (r < 0)
        return r;
    const struct binder b = {.a = a, .ds = &ret->diags, .root = &day_table};
    if (yaml_read(a, path, text.buf, text.len, &ret->diags, &ret->doc) == 0) {
        if (ret->doc.n_roots == 1)
            read_day(&b, ret->doc.roots[0], seed, ret);
        else
            diag_pos(&ret->diags, (struct pos){0}, "", "E0110", NULL,
                     "must contain one document, not %zu", ret->doc.n_roots);
    }
    diags_sort(&ret->diags);
    return ret->diags.n_errors > 0 ? -EINVAL : 0;
}
