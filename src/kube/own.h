/* own.h - names of Muster's own in a cluster. They begin with one domain, so that the owner of
 * another one changes it here. */
#ifndef KUBE_OWN_H
#define KUBE_OWN_H

#define OWN_DOMAIN "muster.internal" /* of labels, annotations and the kind */

/* The kind whose spec is a job file of muster/v1 (dialect/muster/own_kind.h). */
#define OWN_KIND "MusterJob"
#define OWN_PLURAL "musterjobs"
#define OWN_API_VERSION OWN_DOMAIN "/v1"

/* Annotations of a MusterJob. */
#define OWN_ORDER OWN_DOMAIN "/order"             /* of keys, which the cluster sorts */
#define OWN_CLAIMS OWN_DOMAIN "/claims"           /* NAME=CLAIM[:SUBPATH], one in a line */
#define OWN_CODE OWN_DOMAIN "/code"               /* a ConfigMap (engine/kubernetes/code_map.h) */
#define OWN_CODE_VOLUME OWN_DOMAIN "/code-volume" /* CLAIM[:SUBPATH] */

#endif
