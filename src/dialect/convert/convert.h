/* convert.h - a job of one dialect as a document of another, and what of it is lost on the way.
 *
 * Losses are found, not declared: what was written is read again, and both jobs are compared; keys
 * of the source that the model does not hold are looked up in its tables. See
 * doc/design/convert.md.
 */
#ifndef DIALECT_CONVERT_CONVERT_H
#define DIALECT_CONVERT_CONVERT_H

#include "base/strbuf.h"
#include "dialect/dialect.h"
#include "dialect/convert/raise.h"

/* What can be written. */
struct target {
    const char *word, *id; /* "mpijob"; the dialect's */
    raise_fn *raise;
    bool torchrun;               /* several processes of a replica are started by that */
    enum platform_kind platform; /* whose variables its jobs get; PLATFORM_MUSTER: the source's */
};

/* By its word or its dialect's id; NULL if there is none. */
const struct target *convert_target(const char *word);

struct converting {
    const struct target *to;
    const struct job_spec *source; /* as the file has it */
    const struct job_spec *spec;   /* with what options changed */
    const struct diags *findings;  /* of the file: what was ignored is among them */
};

/* Appends the document to out as YAML. ret holds the losses, or why there is none: then -ENOTSUP is
 * returned (ret->refusal), or -EINVAL if what would be written is no good (with e set). */
int job_convert(struct arena *a, const struct converting *c, struct strbuf *out, struct losses *ret,
                struct err *e);

/* resolve.c: the job without what only its own platform could resolve. */
const struct job_spec *resolve_job(struct arena *a, const struct job_spec *spec, struct losses *ls);

/* source_losses.c: adds what of the source is neither in the model nor carried. */
void source_losses_find(struct arena *a, const struct converting *c, struct losses *ls);

#endif
