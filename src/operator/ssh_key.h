/* ssh_key.h - a key pair for ssh between the pods of one job: ECDSA on P-521, as mpi-operator makes
 * it. */
#ifndef OPERATOR_SSH_KEY_H
#define OPERATOR_SSH_KEY_H

#include "base/arena.h"
#include "base/err.h"

/* private: PEM, "EC PRIVATE KEY"; public: a line of authorized_keys. */
int ssh_key_make(struct arena *a, const char **ret_private, const char **ret_public, struct err *e);

#endif
