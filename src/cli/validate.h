/* validate.h - the verdict on a job file as `validate -o json` has it. */
#ifndef CLI_VALIDATE_H
#define CLI_VALIDATE_H

#include "doc/diag.h"
#include "doc/json.h"

/* One element of `files`. */
void validate_json(struct json *j, const char *path, const char *verdict, const char *dialect,
                   const struct diag *v, size_t n);
/* The key `diagnostics` of it. */
void diagnostics_json(struct json *j, const struct diag *v, size_t n);

#endif
