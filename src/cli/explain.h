/* explain.h - the two ways a plan is shown. Internal to the verb. */
#ifndef CLI_EXPLAIN_H
#define CLI_EXPLAIN_H

#include <stdio.h>

#include "doc/diag.h"
#include "doc/json.h"
#include "plan/plan.h"

/* Both: ds, the diagnostics of the file called path, may be NULL. Secrets are masked. */
void explain_json(struct json *j, struct arena *a, const struct plan *plan, const struct diags *ds,
                  const char *path);
void explain_page(FILE *out, struct arena *a, const struct plan *plan, const struct diags *ds,
                  const char *path, bool env);

#endif
