/* own_kind.h - MusterJob: an object of a cluster whose spec is a job file of muster/v1.
 *
 *     apiVersion: muster.internal/v1
 *     kind: MusterJob
 *     metadata: {name: my-training}
 *     spec:
 *       roles: {worker: {replicas: 2, image: …, command: python train.py}}
 *
 * The spec has no apiVersion, and no name but to differ from the object's. An API server sorts the
 * keys of mappings; where the order means something (roles: ranks are counted in it; env: one
 * variable may use another), the annotation OWN_ORDER has it: {"roles": ["worker", "ps"]}.
 *
 * Pure. Nodes that are made have no place; those of the object keep theirs.
 */
#ifndef DIALECT_MUSTER_OWN_KIND_H
#define DIALECT_MUSTER_OWN_KIND_H

#include "doc/bind.h"
#include "doc/make.h"

bool own_kind_is(const struct node *root);

/* The job file that the object holds, with positions; NULL after a diagnostic. */
const struct node *own_kind_file(const struct binder *b, const struct node *object);

/* An object that holds this job file. name: of the object, as the cluster allows it; namespace_: or
 * NULL. What the file says is not copied. */
struct node *own_kind_object(struct arena *a, const struct node *file, const char *name,
                             const char *namespace_);

#endif
