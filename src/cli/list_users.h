/* list_users.h - `muster list --all-users`: what everybody may see of the jobs of all users. */
#ifndef CLI_LIST_USERS_H
#define CLI_LIST_USERS_H

#include "base/arena.h"

/* As a table, or as "json", "yaml" or "name". The exit code, after telling why. */
int list_users(struct arena *a, const char *output);

#endif
