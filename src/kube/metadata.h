/* metadata.h - what every Kubernetes object carries: metadata, read. Written: write.h. */
#ifndef KUBE_METADATA_H
#define KUBE_METADATA_H

#include "doc/bind.h"
#include "spec/spec.h"

/* Why a key has no effect: convert does not report what a cluster has written as lost. */
#define KUBE_SET_BY_CLUSTER "is set by the cluster"

struct kube_metadata {
    const struct node *at;
    const char *name, *generate, *namespace_;
};

/* The same keys; the lenient one warns of others, as old API servers kept them. */
extern const struct bind_table kube_metadata_table, kube_metadata_lenient_table;

/* Name and namespace of the job. Without a name, generateName gives one; without both it is an
 * error, and out->name stays NULL. */
void kube_lower_metadata(const struct binder *b, const struct kube_metadata *meta,
                         struct job_spec *out);

#endif
