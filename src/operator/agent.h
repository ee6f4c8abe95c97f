/* agent.h - what MPI jobs of v1 and before need besides their own images: a program that reaches
 * their workers, and a key. wants_mpi_old.c puts both into objects. */
#ifndef OPERATOR_AGENT_H
#define OPERATOR_AGENT_H

#include "base/arena.h"
#include "base/err.h"

/* muster-shim for pods, which lies beside this program: in base64, as an object has it. */
int agent_program(struct arena *a, const char **ret, struct err *e);

/* A new one, likewise. */
const char *agent_key(struct arena *a);

#endif
