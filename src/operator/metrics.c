/* metrics.c - see metrics.h. */
#include "operator/metrics.h"

#include <stdlib.h>
#include <string.h>

#include "base/limits.h"
#include "base/mem.h"

struct metrics_row { /* one of a kind and namespace */
    const struct served_kind *kind;
    char *namespace_;
    uint64_t n[TALLIES];
    uint64_t training[TALLIES]; /* those that training-operator counts, too */
};

static const struct {
    const char *name, *help;
    bool of_mpi; /* mpi-operator has it, too */
} tallies[TALLIES] = {
    [TALLY_CREATED] = {"created", "Number of jobs created", true},
    [TALLY_DELETED] = {"deleted", "Number of jobs deleted", false},
    [TALLY_SUCCESSFUL] = {"successful", "Number of jobs that succeeded", true},
    [TALLY_FAILED] = {"failed", "Number of jobs that failed", true},
    [TALLY_RESTARTED] = {"restarted", "Number of restarts of jobs", false},
};

/* --- counting --------------------------------------------------------------------------------- */

static bool is_kubeflow(const struct served_kind *kind)
{
    return strcmp(kind->group, "kubeflow.org") == 0;
}

static bool is_training(const struct served_kind *kind, const char *version)
{
    return is_kubeflow(kind) &&
           (kind->family == FAMILY_TRAINING || (version && strcmp(version, "v1") == 0));
}

static const char *framework_of(const struct served_kind *kind)
{
    if (kind->family == FAMILY_MPI)
        return "mpi";
    return strcmp(kind->kind, "TFJob") == 0 ? "tensorflow" : "pytorch";
}

static struct metrics_row *row_of(struct metrics *m, const struct served_kind *kind,
                                  const char *namespace_)
{
    for (size_t i = 0; i < m->n; i++)
        if (m->rows[i].kind == kind && strcmp(m->rows[i].namespace_, namespace_) == 0)
            return &m->rows[i];
    if (m->n >= LIMIT_METRIC_SERIES && *namespace_)
        return row_of(m, kind, "");
    GROW(m->rows, m->n, m->cap);
    m->rows[m->n] = (struct metrics_row){.kind = kind, .namespace_ = xstrdup(namespace_)};
    return &m->rows[m->n++];
}

void metrics_count(struct metrics *m, const struct served_kind *kind, const char *namespace_,
                   const char *version, enum tally what)
{
    struct metrics_row *row = row_of(m, kind, namespace_);

    row->n[what]++;
    row->training[what] += is_training(kind, version);
}

void metrics_condition(struct metrics *m, const struct served_kind *kind, const char *namespace_,
                       const char *version, const char *type, bool failed)
{
    static const struct {
        const char *type;
        enum tally what;
        bool t9k; /* its operator's word */
    } types[] = {
        {"Created", TALLY_CREATED, false},      {"Initialized", TALLY_CREATED, true},
        {"Restarting", TALLY_RESTARTED, false}, {"Succeeded", TALLY_SUCCESSFUL, false},
        {"Completed", TALLY_SUCCESSFUL, true},  {"Failed", TALLY_FAILED, false},
        {"Failed", TALLY_FAILED, true},         {"Accepted", TALLY_CREATED, false},
    };
    bool is_t9k = !is_kubeflow(kind) && kind->family != FAMILY_OWN;

    for (size_t i = 0; i < ARRAY_SIZE(types); i++)
        if (strcmp(types[i].type, type) == 0 && types[i].t9k == is_t9k &&
            !(failed && types[i].what == TALLY_SUCCESSFUL))
            metrics_count(m, kind, namespace_, version, types[i].what);
}

void metrics_release(struct metrics *m)
{
    for (size_t i = 0; i < m->n; i++)
        free(m->rows[i].namespace_);
    free(m->rows);
    *m = (struct metrics){0};
}

/* --- writing ---------------------------------------------------------------------------------- */

static void begin(struct strbuf *out, const char *name, const char *type, const char *help)
{
    strbuf_addf(out, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, type);
}

static void add_label(struct strbuf *out, const char *name, const char *value, bool first)
{
    strbuf_addf(out, "%s%s=\"", first ? "{" : ",", name);
    for (; *value; value++) {
        if (*value == '\\' || *value == '"')
            strbuf_addch(out, '\\');
        if (*value == '\n')
            strbuf_addstr(out, "\\n");
        else
            strbuf_addch(out, *value);
    }
    strbuf_addch(out, '"');
}

static void add_value(struct strbuf *out, const char *name, const char *type, const char *help,
                      uint64_t value)
{
    begin(out, name, type, help);
    strbuf_addf(out, "%s %llu\n", name, (unsigned long long)value);
}

static void add_seconds(struct strbuf *out, const char *name, const char *type, const char *help,
                        double value)
{
    begin(out, name, type, help);
    strbuf_addf(out, "%s %.2f\n", name, value);
}

/* mpi-operator's have no labels. */
static void add_mpi(struct strbuf *out, const struct metrics *m, enum tally what)
{
    char name[64];
    uint64_t sum = 0;

    for (size_t i = 0; i < m->n; i++)
        if (is_kubeflow(m->rows[i].kind) && m->rows[i].kind->family == FAMILY_MPI)
            sum += m->rows[i].n[what];
    (void)snprintf(name, sizeof(name), "mpi_operator_jobs_%s_total", tallies[what].name);
    add_value(out, name, "counter", tallies[what].help, sum);
}

static void add_training(struct strbuf *out, const struct metrics *m, enum tally what)
{
    char name[64];

    (void)snprintf(name, sizeof(name), "training_operator_jobs_%s_total", tallies[what].name);
    begin(out, name, "counter", tallies[what].help);
    for (size_t i = 0; i < m->n; i++) {
        const struct metrics_row *row = &m->rows[i];

        if (row->training[what] == 0)
            continue;
        strbuf_addstr(out, name);
        add_label(out, "framework", framework_of(row->kind), true);
        add_label(out, "job_namespace", row->namespace_, false);
        strbuf_addf(out, "} %llu\n", (unsigned long long)row->training[what]);
    }
}

/* All kinds, those that no operator of Kubeflow counts included. */
static void add_ours(struct strbuf *out, const struct metrics *m, enum tally what)
{
    char name[64];

    (void)snprintf(name, sizeof(name), "muster_operator_jobs_%s_total", tallies[what].name);
    begin(out, name, "counter", tallies[what].help);
    for (size_t i = 0; i < m->n; i++) {
        const struct metrics_row *row = &m->rows[i];
        auto_free char *kind = NULL;

        if (row->n[what] == 0)
            continue;
        kind = xasprintf("%s.%s", row->kind->plural, row->kind->group);
        strbuf_addstr(out, name);
        add_label(out, "kind", kind, true);
        add_label(out, "job_namespace", row->namespace_, false);
        strbuf_addf(out, "} %llu\n", (unsigned long long)row->n[what]);
    }
}

static void add_launchers(struct strbuf *out, const struct metrics_now *now)
{
    begin(out, "mpi_operator_job_info", "gauge", "MPIJobs that have not ended, by launcher");
    for (size_t i = 0; i < now->n_launchers; i++) {
        strbuf_addstr(out, "mpi_operator_job_info");
        add_label(out, "launcher", now->launchers[i].name, true);
        add_label(out, "namespace", now->launchers[i].namespace_, false);
        strbuf_addstr(out, "} 1\n");
    }
}

static void add_requests(struct strbuf *out, const struct kube_counts *c)
{
    static const char name[] = "muster_operator_requests_total";
    const struct {
        const char *result;
        uint64_t n;
    } results[] = {{"ok", c->answered - c->refused - c->failed},
                   {"refused", c->refused},
                   {"failed", c->failed},
                   {"unanswered", c->unanswered}};

    begin(out, name, "counter", "Requests to the API server that have ended, by result");
    for (size_t i = 0; i < ARRAY_SIZE(results); i++) {
        strbuf_addstr(out, name);
        add_label(out, "result", results[i].result, true);
        strbuf_addf(out, "} %llu\n", (unsigned long long)results[i].n);
    }
    add_value(out, "muster_operator_requests_in_flight", "gauge",
              "Requests to the API server without an answer", c->under_way);
    add_value(out, "muster_operator_requests_waiting", "gauge",
              "Requests that wait for others to end", c->waiting);
}

void metrics_write(const struct metrics *m, const struct metrics_now *now, struct strbuf *out)
{
    for (enum tally t = 0; t < TALLIES; t++) {
        if (tallies[t].of_mpi)
            add_mpi(out, m, t);
        add_training(out, m, t);
        add_ours(out, m, t);
    }
    add_launchers(out, now);
    add_value(out, "mpi_operator_is_leader", "gauge", "1 if this operator is the leader",
              now->leader);
    add_value(out, "muster_operator_jobs", "gauge", "Jobs in the cluster, ended ones included",
              now->n_jobs);
    add_value(out, "muster_operator_queue_length", "gauge", "Jobs that wait for their turn",
              now->n_queued);
    add_requests(out, &now->requests);
    add_value(out, "process_resident_memory_bytes", "gauge", "Resident memory in bytes",
              now->memory_bytes);
    add_seconds(out, "process_cpu_seconds_total", "counter", "CPU time in seconds", now->cpu_s);
    add_seconds(out, "process_start_time_seconds", "gauge", "Start of the process since 1970",
                now->started_s);
}
