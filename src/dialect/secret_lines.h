/* secret_lines.h - secrets in files that cannot be read to their end. */
#ifndef DIALECT_SECRET_LINES_H
#define DIALECT_SECRET_LINES_H

#include "base/strbuf.h"
#include "doc/diag.h"

/* A broken document is never lowered, so that no dialect can tell which of its lines hold a secret.
 * Goes by the text: what follows a key `secrets` or `auth` is not shown with a finding, and where
 * it names a Secret of Kubernetes, what follows `data` and `stringData`. */
void hide_secret_lines(const struct doc *doc, bool json, struct diags *ds);

/* A job file as somebody may see it: by the same rules, with *** in place of what would not
 * be shown. Its lines stay where they are. */
void mask_secret_lines(const char *text, size_t len, bool json, struct strbuf *out);

#endif
