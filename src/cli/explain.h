/* explain.h - the two ways a plan is shown. A run keeps the JSON of its own plan. */
#ifndef CLI_EXPLAIN_H
#define CLI_EXPLAIN_H

#include <stdio.h>

#include "dialect/dialect.h"
#include "doc/diag.h"
#include "doc/json.h"
#include "plan/plan.h"
#include "rundir/rundir.h"
#include "spec/adjust.h"

/* What is told beside the plan itself. */
struct explained {
    const char *path;              /* of the file; NULL: there is none */
    const struct diags *ds;        /* found in the file, or NULL */
    const struct changes *changes; /* made by options */
    size_t env_limit; /* explain_json: of a longer text, processes have no environment; 0: all */
};

/* Both: secrets are masked. */
void explain_json(struct json *j, struct arena *a, const struct plan *plan,
                  const struct explained *x);
void explain_page(FILE *out, struct arena *a, const struct plan *plan, const struct explained *x,
                  bool env);

/* What is run, kept in the run directory. Some environments grow with the number of processes
 * (TF_CONFIG): those of a large job are not all in it. */
int explain_record(int run_fd, const struct plan *plan, const struct job_file *jf,
                   const struct changes *changes, struct err *e);

/* The page's last part: nothing if there is nothing to say. */
void explain_notes(FILE *out, const struct plan *plan, const struct explained *x);

#endif
