/* metrics.h - what Prometheus reads: upstream's counters under upstream's names, so that dashboards
 * and alerts of mpi-operator and training-operator go on working, and a few of ours.
 *
 * Pure but for the counters: everything else is handed in when it is written.
 */
#ifndef OPERATOR_METRICS_H
#define OPERATOR_METRICS_H

#include <stdint.h>

#include "base/strbuf.h"
#include "engine/kubernetes/client.h"
#include "operator/kinds.h"

enum tally {
    TALLY_CREATED,
    TALLY_DELETED,
    TALLY_SUCCESSFUL,
    TALLY_FAILED,
    TALLY_RESTARTED,
    TALLIES
};

struct metrics_row;
struct metrics {
    struct metrics_row *rows;
    size_t n, cap;
};
void metrics_release(struct metrics *m);

/* version: that it was written in; an MPIJob v1 is training-operator's, too. Beyond
 * LIMIT_METRIC_SERIES namespaces the rest is counted as namespace "". */
void metrics_count(struct metrics *m, const struct served_kind *kind, const char *namespace_,
                   const char *version, enum tally what);
/* The same for a condition that begins to hold, by its type; most count nothing. failed: the job
 * has the condition Failed, too, which matters for T9k's Completed. */
void metrics_condition(struct metrics *m, const struct served_kind *kind, const char *namespace_,
                       const char *version, const char *type, bool failed);

struct metrics_launcher {
    const char *name, *namespace_;
};

struct metrics_now { /* gauges */
    bool leader;
    size_t n_jobs, n_queued;
    const struct metrics_launcher *launchers; /* of MPIJobs of Kubeflow that have not ended */
    size_t n_launchers;
    struct kube_counts requests;
    uint64_t memory_bytes;
    double cpu_s, started_s;
};

/* Appends the text format of Prometheus, version 0.0.4. */
void metrics_write(const struct metrics *m, const struct metrics_now *now, struct strbuf *out);

#endif
