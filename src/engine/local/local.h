/* local.h - the engine that runs a job on this machine, through one muster-shim. */
#ifndef ENGINE_LOCAL_LOCAL_H
#define ENGINE_LOCAL_LOCAL_H

#include <uv.h>

#include "base/err.h"
#include "engine/engine.h"

/* Starts the shim in its namespaces and waits until it is ready (or has refused: -errno, e says what
 * to allow). stdin_fd: what a job of one process may read; -1 = /dev/null. The run directory of
 * plan->facts must exist. client must outlive the engine. */
int local_open(uv_loop_t *loop, const struct plan *plan, int stdin_fd,
               const struct engine_client *client, struct engine **ret, struct err *e);

#endif
