/* queue.c - the queue page: what the machine has, who uses it, who waits and why. */
#include <stdio.h>
#include <string.h>

#include "api/parts.h"

static bool holds(const struct served *s)
{
    return s->row.state == STORED_STARTED && s->act && !s->act->told &&
           s->row.standing != STANDING_RELEASED;
}

static void add_use(struct machine_use *u, const struct served *s)
{
    for (uint32_t i = 0; i < s->common->n_roles; i++) {
        const struct queue_role *r = &s->common->roles[i];

        u->cpu += r->each.v[QUEUE_CPU] * r->replicas;
        u->memory += r->each.v[QUEUE_MEMORY] * r->replicas;
    }
    for (uint32_t i = 0; s->places && i < s->common->n_replicas; i++)
        for (int bit = 0; bit < LIMIT_QUEUE_GPUS; bit++)
            if (s->places[i].gpus & UINT64_C(1) << bit) {
                u->gpus += u->gpu[bit] == NULL;
                u->gpu[bit] = s;
            }
}

struct machine_use machine_use(const struct daemon *d)
{
    struct machine_use u = {0};

    for (size_t i = 0; i < d->n; i++)
        if (holds(d->jobs[i]))
            add_use(&u, d->jobs[i]);
    return u;
}

static void put_number(struct json *j, const char *key, double number)
{
    char text[48];
    int n = snprintf(text, sizeof(text), "%.3f", number);

    while (text[n - 1] == '0')
        n--;
    json_key(j, key);
    json_raw(j, text, (size_t)(text[n - 1] == '.' ? n - 1 : n));
}

static void put_cpus(struct json *j, const char *key, int64_t milli)
{
    put_number(j, key, (double)milli / 1000);
}

static void put_machine(struct json *j, const struct daemon *d)
{
    struct machine_use u = machine_use(d);

    json_object(j);
    put_cpus(j, "cpus", d->machine.has.v[QUEUE_CPU]);
    json_kv_int(j, "memory", d->machine.has.v[QUEUE_MEMORY]);
    json_key(j, "gpus");
    json_array(j);
    for (int bit = 0; bit < LIMIT_QUEUE_GPUS; bit++) {
        if (!(d->machine.gpus & UINT64_C(1) << bit))
            continue;
        json_object(j);
        json_kv_int(j, "id", bit);
        json_kv_str(j, "job", u.gpu[bit] ? u.gpu[bit]->row.id : NULL);
        json_end(j);
    }
    json_end(j);
    json_key(j, "used");
    json_object(j);
    put_cpus(j, "cpus", u.cpu);
    json_kv_int(j, "memory", u.memory);
    json_kv_int(j, "gpus", u.gpus);
    json_end(j);
    json_end(j);
}

/* --- queues ----------------------------------------------------------------------------------- */

struct of_queue {
    const char *name;
    int64_t running, waiting, cpu, memory, gpus;
};

static struct of_queue *queue_named(struct of_queue *v, size_t *n, const char *name)
{
    size_t i = 0;

    while (i < *n && strcmp(v[i].name, name) != 0)
        i++;
    if (i == *n)
        v[(*n)++].name = name;
    return &v[i];
}

/* The largest part of the machine that it has. */
static double share_of(const struct daemon *d, const struct of_queue *q)
{
    const int64_t has[] = {d->machine.has.v[QUEUE_CPU], d->machine.has.v[QUEUE_MEMORY],
                           __builtin_popcountll(d->machine.gpus)};
    const int64_t uses[] = {q->cpu, q->memory, q->gpus};
    double most = 0;

    for (size_t i = 0; i < ARRAY_SIZE(has); i++)
        if (has[i] > 0 && (double)uses[i] / (double)has[i] > most)
            most = (double)uses[i] / (double)has[i];
    return most;
}

static const struct queue *configured(const struct daemon *d, const char *name)
{
    for (uint32_t i = 0; i < d->config.n_queues; i++)
        if (strcmp(d->config.queues[i].name, name) == 0)
            return &d->config.queues[i];
    return NULL;
}

static void kv_limit(struct json *j, const char *key, int64_t limit)
{
    json_key(j, key);
    if (limit == QUEUE_UNLIMITED)
        json_null(j);
    else
        json_int(j, limit);
}

static void put_quota(struct json *j, const struct queue *conf)
{
    const int64_t *v = conf ? conf->quota.v : NULL;

    if (!v || (v[QUEUE_CPU] == QUEUE_UNLIMITED && v[QUEUE_MEMORY] == QUEUE_UNLIMITED &&
               v[QUEUE_GPU] == QUEUE_UNLIMITED)) {
        json_null(j);
        return;
    }
    json_object(j);
    if (v[QUEUE_CPU] == QUEUE_UNLIMITED)
        json_kv_null(j, "cpus");
    else
        put_cpus(j, "cpus", v[QUEUE_CPU]);
    kv_limit(j, "memory", v[QUEUE_MEMORY]);
    kv_limit(j, "gpus", v[QUEUE_GPU]);
    json_end(j);
}

static void put_queue(struct json *j, const struct daemon *d, const struct of_queue *q)
{
    const struct queue *conf = configured(d, q->name);

    json_object(j);
    json_kv_str(j, "name", q->name);
    json_kv_int(j, "weight", conf ? conf->weight : 1);
    json_kv_int(j, "priority", conf ? conf->priority : 0);
    json_key(j, "quota");
    put_quota(j, conf);
    put_number(j, "share", share_of(d, q));
    json_kv_int(j, "running", q->running);
    json_kv_int(j, "waiting", q->waiting);
    json_end(j);
}

static void put_queues(struct json *j, const struct daemon *d, struct arena *a)
{
    struct of_queue *v = ARENA_ARRAY(a, struct of_queue, d->n + d->config.n_queues + 2);
    size_t n = 0;

    for (uint32_t i = 0; i < d->config.n_queues; i++)
        (void)queue_named(v, &n, d->config.queues[i].name);
    if (n == 0)
        (void)queue_named(v, &n, "default");
    for (size_t i = 0; i < d->n; i++) {
        const struct served *s = d->jobs[i];
        struct machine_use u = {0};

        if (s->row.state == STORED_ENDED)
            continue;
        struct of_queue *q = queue_named(v, &n, s->row.queue);
        q->waiting += s->row.state == STORED_WAITING || s->row.standing == STANDING_RELEASED;
        if (!holds(s))
            continue;
        add_use(&u, s);
        q->running++;
        q->cpu += u.cpu;
        q->memory += u.memory;
        q->gpus += u.gpus;
    }
    json_array(j);
    for (size_t i = 0; i < n; i++)
        put_queue(j, d, &v[i]);
    json_end(j);
}

/* --- jobs ------------------------------------------------------------------------------------- */

static int by_place(const void *a, const void *b)
{
    const struct entry *x = a, *y = b;

    if ((x->place == 0) != (y->place == 0))
        return x->place == 0 ? 1 : -1;
    if (x->place != y->place)
        return x->place < y->place ? -1 : 1;
    return strcmp(x->id, y->id);
}

static void put_jobs(struct json *j, struct api *api, struct arena *a, struct entry *v, size_t n)
{
    json_array(j);
    for (size_t i = 0; i < n && i < LIMIT_API_PAGE; i++) {
        entry_detail(api, a, &v[i]);
        entry_json(j, &v[i]);
    }
    json_end(j);
}

void serve_queue(struct call *c)
{
    auto_arena struct arena *a = arena_new();
    struct entries all;
    size_t n_waiting = 0, n_running = 0;

    entries_all(c->api, a, &all);
    struct entry *waiting = ARENA_ARRAY(a, struct entry, all.n + 1);
    struct entry *running = ARENA_ARRAY(a, struct entry, all.n + 1);
    for (size_t i = 0; i < all.n; i++) {
        struct entry *en = &all.v[i];

        if (!en->served || en->outcome)
            continue;
        if (en->served->row.state == STORED_WAITING ||
            en->served->row.standing == STANDING_RELEASED)
            waiting[n_waiting++] = *en;
        else
            running[n_running++] = *en;
    }
    qsort(waiting, n_waiting, sizeof(*waiting), by_place);
    struct json j = answer_json(c->answer, 200);
    json_key(&j, "machine");
    put_machine(&j, c->api->d);
    json_key(&j, "queues");
    put_queues(&j, c->api->d, a);
    json_key(&j, "running");
    put_jobs(&j, c->api, a, running, n_running);
    json_key(&j, "waiting");
    put_jobs(&j, c->api, a, waiting, n_waiting);
    json_end(&j);
}
