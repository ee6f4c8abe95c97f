/* stale_findings.h - findings about a file that an option has made untrue. */
#ifndef CLI_STALE_FINDINGS_H
#define CLI_STALE_FINDINGS_H

#include "cli/job_options.h"
#include "doc/diag.h"
#include "engine/engine.h"

/* Removes warnings and notes that no longer hold, or advise an option that was given. The file was
 * read before the job was adjusted; changes is what that did. What has no effect on one machine may
 * have one where the engine runs it. */
void drop_stale_findings(struct diags *ds, const struct job_options *o,
                         const struct changes *changes, const struct engine_class *engine);

#endif
