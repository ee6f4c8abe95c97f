/* monitor.h - what the operator tells by HTTP: is it alive, is it ready, and its metrics.
 *
 *     /healthz   200 while its loop turns
 *     /readyz    200 once it knows the objects of the cluster, or waits for the lease; else 503
 *     /metrics   metrics.h
 */
#ifndef OPERATOR_MONITOR_H
#define OPERATOR_MONITOR_H

#include "operator/operator.h"

/* Listens where the options say. In a pod (op->access) without such options, where Kubeflow's
 * operators do. */
int monitor_begin(struct controller *op, struct err *e);
void monitor_end(struct controller *op);

/* Why it is not ready; NULL: it is. */
const char *monitor_not_ready(const struct controller *op);

#endif
