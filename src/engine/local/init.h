/* init.h - init commands of replicas: each runs to its end before the next, and all of them before
 * the replica's own processes are started.
 *
 * For the shim an init command is one more process, with the number n_processes + replica. For the
 * job core there are none: a process whose replica is still at its init commands is starting, and
 * one that fails there has ended, with the init command's name in its ending. A replica whose
 * processes are started again runs them again only if they had failed, as a kubelet does.
 */
#ifndef ENGINE_LOCAL_INIT_H
#define ENGINE_LOCAL_INIT_H

#include "job/job.h"

struct inits;

struct inits_ops {
    void (*run)(void *ctx, uint32_t replica, size_t i, struct start start);
    void (*start)(void *ctx, uint32_t process, struct start start); /* all have ended well */
    void (*failed)(void *ctx, const struct observation *o);
    void *ctx;
};

/* NULL if no role has any. */
struct inits *inits_new(const struct plan *plan, const struct inits_ops *ops);
void inits_free(struct inits *in);

/* Is there something to run first? Then the process is started, or has failed, later. */
bool inits_before(struct inits *in, uint32_t process, struct start start);
/* Was it about an init command? Then it is dealt with. */
bool inits_observed(struct inits *in, const struct observation *o);

#endif
