/* owned.h - the engine for a job that is an object of the cluster: a MusterJob of the operator.
 *
 * What differs from `muster run --on kubernetes`:
 *
 *   - The object owns the job's pods, so there is no anchor and no heartbeat: the job goes on for
 *     as long as somebody wants the object, whether or not an operator is there.
 *   - The state of the job is its caller's. An engine always attaches: pods that are there are
 *     adopted, and their shims report what happened meanwhile, before client->turn is called.
 *   - There is no run directory. Logs are read as those of containers, and shims send none.
 *   - release() ends the shims and keeps their pods, whose containers have the exit status of their
 *     replicas, unless the job asks for all of them to be cleaned up.
 *   - client->refused is called if the API server refuses what pods need; then the caller frees the
 *     engine, and may open another one later.
 */
#ifndef ENGINE_KUBERNETES_OWNED_H
#define ENGINE_KUBERNETES_OWNED_H

#include "engine/engine.h"
#include "engine/kubernetes/access.h"
#include "engine/code.h"
#include "engine/kubernetes/objects.h"
#include "journal/away.h"

struct kube_owned {
    struct kube_owner owner;          /* copied */
    const struct kube_access *access; /* must outlive the engine */
    unsigned char key[AWAY_KEY];      /* the same for every engine of the job */
    const char *launches;             /* as kubernetes_owned_launches() wrote it; or NULL */
    struct code_list code;            /* what pods are sent; the engine's from then on */
};

/* how->job is the job as it was kept; its scratch and logs directories are not used. */
int kubernetes_open_owned(const struct engine_open *how, const struct kube_owned *owned,
                          struct engine **ret, struct err *e);

/* Which mpirun has which number: to be kept with the state of the job. */
void kubernetes_owned_launches(const struct engine *en, struct strbuf *out);

/* The name of the replica's pod of that attempt; NULL: it has none. Valid until the next call of
 * the engine. */
const char *kubernetes_owned_pod(const struct engine *en, uint32_t replica, uint32_t attempt,
                                 const char **ret_container);

#endif
