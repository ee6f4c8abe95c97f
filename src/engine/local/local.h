/* local.h - the engine that runs a job on this machine, through one muster-shim. */
#ifndef ENGINE_LOCAL_LOCAL_H
#define ENGINE_LOCAL_LOCAL_H

#include <uv.h>

#include "base/err.h"
#include "engine/engine.h"

/* Starts the shim in its namespaces. -errno: these cannot be had, e says what to allow; what the
 * shim itself finds missing is told by client->refused. The run directory of plan->facts must
 * exist. */
int local_open(const struct engine_open *how, struct engine **ret, struct err *e);

/* Connects to the shim of a run that was opened with `waits` and whose muster is gone. -ENOENT,
 * -ECONNREFUSED: there is none. -EAGAIN: it lives, and does not listen yet or is ending. */
int local_attach(const struct engine_open *how, struct engine **ret, struct err *e);

extern const struct engine_here local_here;

#endif
