/* network_gate.h - --preflight: replicas count as ready only when they have reached each other.
 *
 * The reports of replicas that are open are held back until all have come; then the network between
 * them is tried (engine/preflight.h), what was measured is shown, and the reports go on. If some
 * could not reach another, its replica is refused instead, and the job has failed before it began.
 */
#ifndef FOREGROUND_NETWORK_GATE_H
#define FOREGROUND_NETWORK_GATE_H

#include "engine/engine.h"

struct network_gate;

struct network_gate_host {
    void (*observe)(void *ctx, const struct observation *o);
    void (*show)(void *ctx, const char *table);
    void *ctx;
};

/* plan must outlive it. */
struct network_gate *network_gate_new(const struct plan *plan,
                                      const struct network_gate_host *host);
void network_gate_free(struct network_gate *g); /* NULL is fine */

/* True: the observation is held back. en is the engine that reports it. */
bool network_gate_holds(struct network_gate *g, struct engine *en, const struct observation *o);
/* What the engine says. */
void network_gate_tried(struct network_gate *g, const struct net_tried *t);
void network_gate_explained(struct network_gate *g, const char *text);

#endif
