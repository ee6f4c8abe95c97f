/* metrics.c - the daemon for Prometheus. What is counted begins with the daemon; what is
 * measured is of this moment. */
#include <string.h>
#include <sys/resource.h>

#include "api/parts.h"

static void head(struct strbuf *out, const char *name, const char *type, const char *help)
{
    strbuf_addf(out, "# HELP muster_%s %s\n# TYPE muster_%s %s\n", name, help, name, type);
}

/* A label's value: names of queues are words, but nobody promises. */
static void add_label(struct strbuf *out, const char *text)
{
    for (; *text; text++)
        if (*text == '\\' || *text == '"')
            strbuf_addf(out, "\\%c", *text);
        else if (*text == '\n')
            strbuf_addstr(out, "\\n");
        else
            strbuf_addch(out, *text);
}

struct group { /* of jobs */
    const char *queue, *state;
    int64_t n;
};

static void add_jobs(struct strbuf *out, struct api *api)
{
    auto_arena struct arena *a = arena_new();
    struct entries all;
    size_t n = 0;

    entries_all(api, a, &all);
    struct group *v = ARENA_ARRAY(a, struct group, LIMIT_METRIC_SERIES);
    for (size_t i = 0; i < all.n; i++) {
        const struct entry *en = &all.v[i];
        size_t k = 0;

        if (!en->served)
            continue;
        while (k < n && (strcmp(v[k].queue, en->queue) != 0 || strcmp(v[k].state, en->state) != 0))
            k++;
        if (k == n && n == LIMIT_METRIC_SERIES)
            continue;
        if (k == n)
            v[n++] = (struct group){.queue = en->queue, .state = en->state};
        v[k].n++;
    }
    head(out, "jobs", "gauge", "Jobs of the daemon by queue and state.");
    for (size_t k = 0; k < n; k++) {
        strbuf_addstr(out, "muster_jobs{queue=\"");
        add_label(out, v[k].queue);
        strbuf_addf(out, "\",state=\"%s\"} %lld\n", v[k].state, (long long)v[k].n);
    }
}

static void add_machine(struct strbuf *out, const struct daemon *d)
{
    struct machine_use u = machine_use(d);

    head(out, "cpus", "gauge", "CPUs that jobs may use.");
    strbuf_addf(out, "muster_cpus %.3f\n", (double)d->machine.has.v[QUEUE_CPU] / 1000);
    head(out, "cpus_used", "gauge", "CPUs that running jobs have requested.");
    strbuf_addf(out, "muster_cpus_used %.3f\n", (double)u.cpu / 1000);
    head(out, "gpus", "gauge", "GPUs that jobs may use.");
    strbuf_addf(out, "muster_gpus %d\n", __builtin_popcountll(d->machine.gpus));
    head(out, "gpus_used", "gauge", "GPUs that running jobs have.");
    strbuf_addf(out, "muster_gpus_used %lld\n", (long long)u.gpus);
}

static double seconds(struct timeval t)
{
    return (double)t.tv_sec + (double)t.tv_usec / 1e6;
}

static void add_process(struct strbuf *out)
{
    struct rusage usage = {0};
    size_t memory = 0;

    (void)uv_resident_set_memory(&memory);
    (void)getrusage(RUSAGE_SELF, &usage);
    strbuf_addstr(out, "# HELP process_cpu_seconds_total CPU time of the daemon.\n"
                       "# TYPE process_cpu_seconds_total counter\n");
    strbuf_addf(out, "process_cpu_seconds_total %.3f\n",
                seconds(usage.ru_utime) + seconds(usage.ru_stime));
    strbuf_addstr(out, "# HELP process_resident_memory_bytes Resident memory of the daemon.\n"
                       "# TYPE process_resident_memory_bytes gauge\n");
    strbuf_addf(out, "process_resident_memory_bytes %zu\n", memory);
}

static void add_histogram(struct strbuf *out, const char *name, const char *help,
                          const struct histogram *h)
{
    uint64_t n = 0;

    head(out, name, "histogram", help);
    for (size_t i = 0; i < h->n_bounds; i++) {
        n += h->counts[i];
        strbuf_addf(out, "muster_%s_bucket{le=\"%g\"} %llu\n", name, h->bounds[i],
                    (unsigned long long)n);
    }
    strbuf_addf(out, "muster_%s_bucket{le=\"+Inf\"} %llu\n", name, (unsigned long long)h->n);
    strbuf_addf(out, "muster_%s_sum %.6f\nmuster_%s_count %llu\n", name, h->sum, name,
                (unsigned long long)h->n);
}

void serve_metrics(struct call *c)
{
    const struct tally *t = &c->api->d->tally;
    struct strbuf *out = &c->answer->body;

    c->answer->type = "text/plain; version=0.0.4; charset=utf-8";
    add_jobs(out, c->api);
    head(out, "job_starts_total", "counter", "Jobs that this daemon has started.");
    strbuf_addf(out, "muster_job_starts_total %llu\n", (unsigned long long)t->starts);
    head(out, "job_ends_total", "counter", "Jobs whose end this daemon has recorded.");
    for (size_t i = 0; i < TALLY_OUTCOMES; i++)
        strbuf_addf(out, "muster_job_ends_total{outcome=\"%s\"} %llu\n", tally_outcomes[i],
                    (unsigned long long)t->ends[i]);
    add_histogram(out, "queue_wait_seconds", "From submission to start.", &t->wait);
    add_histogram(out, "commit_seconds", "Durations of commits to the database.", &t->commit);
    head(out, "http_requests_total", "counter", "HTTP requests that were answered.");
    strbuf_addf(out, "muster_http_requests_total %llu\n", (unsigned long long)c->api->n_requests);
    head(out, "http_streams", "gauge", "Streams of events that are open.");
    strbuf_addf(out, "muster_http_streams %u\n", c->api->n_watchers);
    add_machine(out, c->api->d);
    add_process(out);
}
