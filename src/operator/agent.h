/* agent.h - what pods of MPI jobs get besides their own images: a program that records how ranks
 * end, and in v1 and before reaches the workers, too; and a key. wants_agent.c puts both into
 * objects. */
#ifndef OPERATOR_AGENT_H
#define OPERATOR_AGENT_H

#include "base/arena.h"
#include "base/err.h"

#define AGENT_SHIM "muster-shim-pod"    /* all of muster-shim */
#define AGENT_RECORDER "muster-records" /* the part of it that records */

/* One of these, which lie beside this program: in base64, as an object has it. */
int agent_program(struct arena *a, const char *name, const char **ret, struct err *e);

/* A new one, likewise. */
const char *agent_key(struct arena *a);

#endif
