/* sim_queue.c - `muster sim --queue FILE`: a simulated day of a queue, and what came of it. */
#include "cli/sim_queue.h"

#include <stdio.h>

#include "base/num.h"
#include "cli/cli.h"
#include "cli/queue_file.h"
#include "doc/json.h"

/* The resource that a queue's use is told by: GPUs, if there are any. */
static enum queue_resource main_resource(const struct day_result *r)
{
    return r->total.v[QUEUE_GPU] > 0 ? QUEUE_GPU : QUEUE_CPU;
}

static double part(double of, double all)
{
    return all > 0 ? of / all : 0;
}

static const char *time_text(ns_t t, char out[DURATION_TEXT])
{
    return duration_text(t / NS_PER_MS, out);
}

/* --- for people ------------------------------------------------------------------------------- */

static void print_queues(const struct day *day, const struct day_result *r)
{
    enum queue_resource main = main_resource(r);
    char mean[DURATION_TEXT], p95[DURATION_TEXT];

    printf("\n%-16s %8s %8s %14s %14s %8s\n", "QUEUE", "JOBS", "STARTED", "MEAN WAIT", "P95 WAIT",
           main == QUEUE_GPU ? "OF GPUS" : "OF CPUS");
    for (uint32_t q = 0; q < day->n_queues; q++) {
        const struct day_queue *x = &r->queues[q];
        printf("%-16s %8u %8u %14s %14s %7.1f%%\n", day->queues[q].name, x->jobs, x->started,
               time_text(x->mean_wait, mean), time_text(x->p95_wait, p95),
               100 * part(x->used[main], r->used[main]));
    }
}

static void print_result(const struct queue_file *qf, const struct day_result *r)
{
    const struct day *day = &qf->day;
    char a[DURATION_TEXT], b[DURATION_TEXT], c[DURATION_TEXT];
    bool first = true;

    printf("%u job%s on %u machine%s, %s simulated\n", day->n_jobs, day->n_jobs == 1 ? "" : "s",
           day->n_machines, day->n_machines == 1 ? "" : "s", time_text(r->end, a));
    printf("started      %u (%u backfilled), %u preempted, %u over their maximum duration\n",
           r->started, r->backfilled, r->preemptions, r->exceeded);
    printf("wait         mean %s, p95 %s, longest %s\n", time_text(r->mean_wait, a),
           time_text(r->p95_wait, b), time_text(r->longest_wait, c));
    printf("utilisation ");
    for (int x = 0; x < QUEUE_RESOURCES; x++)
        if (r->total.v[x] > 0) {
            printf("%s %s %.1f%%", first ? "" : ",", queue_resource_names[x],
                   100 * r->utilisation[x]);
            first = false;
        }
    printf("\nlongest queue %u job%s, %llu decisions\n", r->most_waiting,
           r->most_waiting == 1 ? "" : "s", (unsigned long long)r->decisions);
    print_queues(day, r);
    if (r->started < day->n_jobs)
        printf("\nnot started: %u\n", day->n_jobs - r->started);
    for (uint32_t i = 0; i < r->n_unstarted_told; i++) {
        uint32_t job = r->unstarted_jobs[i];
        printf("  job %u%s%s%s: %s\n", job + 1, qf->names[job] ? " (" : "",
               qf->names[job] ? qf->names[job] : "", qf->names[job] ? ")" : "", r->unstarted[i]);
    }
}

/* --- for programs ----------------------------------------------------------------------------- */

static void kv_seconds(struct json *j, const char *key, ns_t t)
{
    int64_t ms = t / NS_PER_MS;

    json_key(j, key);
    json_double(j, (double)ms / 1000);
}

/* Fractions of all there was, or of all that was used. */
static void kv_fractions(struct json *j, const char *key, const double *of, const double *all)
{
    json_key(j, key);
    json_object(j);
    for (int r = 0; r < QUEUE_RESOURCES; r++) {
        json_key(j, queue_resource_names[r]);
        json_double(j, all ? part(of[r], all[r]) : of[r]);
    }
    json_end(j);
}

static void json_queues(struct json *j, const struct day *day, const struct day_result *r)
{
    json_key(j, "queues");
    json_array(j);
    for (uint32_t q = 0; q < day->n_queues; q++) {
        const struct day_queue *x = &r->queues[q];
        json_object(j);
        json_kv_str(j, "name", day->queues[q].name);
        json_kv_int(j, "jobs", x->jobs);
        json_kv_int(j, "started", x->started);
        kv_seconds(j, "mean_wait_s", x->mean_wait);
        kv_seconds(j, "p95_wait_s", x->p95_wait);
        kv_fractions(j, "share", x->used, r->used);
        json_end(j);
    }
    json_end(j);
}

static void print_json(const struct queue_file *qf, const struct day_result *r)
{
    auto_strbuf struct strbuf sb = STRBUF_INIT;
    struct json j = JSON_PRETTY(&sb);

    json_object(&j);
    json_kv_int(&j, "jobs", qf->day.n_jobs);
    json_kv_int(&j, "machines", qf->day.n_machines);
    kv_seconds(&j, "simulated_s", r->end);
    json_kv_int(&j, "started", r->started);
    json_kv_int(&j, "backfilled", r->backfilled);
    json_kv_int(&j, "preemptions", r->preemptions);
    json_kv_int(&j, "exceeded", r->exceeded);
    kv_seconds(&j, "mean_wait_s", r->mean_wait);
    kv_seconds(&j, "p95_wait_s", r->p95_wait);
    kv_seconds(&j, "longest_wait_s", r->longest_wait);
    json_kv_int(&j, "longest_queue", r->most_waiting);
    json_kv_int(&j, "decisions", (int64_t)r->decisions);
    kv_fractions(&j, "utilisation", r->utilisation, NULL);
    json_queues(&j, &qf->day, r);
    json_key(&j, "not_started");
    json_array(&j);
    for (uint32_t i = 0; i < r->n_unstarted_told; i++) {
        json_object(&j);
        json_kv_int(&j, "job", r->unstarted_jobs[i] + INT64_C(1));
        json_kv_str(&j, "name", qf->names[r->unstarted_jobs[i]]);
        json_kv_str(&j, "why", r->unstarted[i]);
        json_end(&j);
    }
    json_end(&j);
    json_end(&j);
    puts(sb.buf);
}

int sim_queue(const char *path, int64_t seed, bool json)
{
    auto_arena struct arena *a = arena_new();
    struct queue_file qf;
    struct day_result res;
    struct err e;
    int r = queue_file_read(a, path, seed, &qf, &e);

    if (r < 0 && qf.diags.n_errors == 0)
        complain("sim", "%s", e.text);
    for (size_t i = 0; i < qf.diags.n; i++)
        diag_print(stderr, path, &qf.doc, &qf.diags.v[i], want_colour(stderr));
    if (r == 0) {
        day_play(&qf.day, NULL, a, &res);
        if (json)
            print_json(&qf, &res);
        else
            print_result(&qf, &res);
    }
    diags_release(&qf.diags);
    return r < 0 ? EXIT_USAGE : EXIT_FINE;
}
