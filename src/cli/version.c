/* version.c - which muster this is. */
#include "cli/cli.h"

#ifndef MUSTER_VERSION
#define MUSTER_VERSION "0"
#endif
#ifndef MUSTER_COMMIT
#define MUSTER_COMMIT ""
#endif

const char *const muster_version = MUSTER_VERSION;
const char *const muster_commit = MUSTER_COMMIT;
