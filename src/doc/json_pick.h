/* json_pick.h - of a long JSON text, the part that is of interest, as a shorter JSON text.
 *
 * An API server sends objects of kilobytes of which a few fields are used. Reading the rest into a
 * tree costs most of the time that is spent on such an object; skipping it costs next to nothing.
 *
 *     static const char *const paths[] = {"metadata.name", "spec.containers.name", "status", NULL};
 *
 * A path names a member with all that is below it. Lists are passed through: a path goes on in each
 * of their items. Keys are compared as they are written, so one with escapes is never picked.
 */
#ifndef DOC_JSON_PICK_H
#define DOC_JSON_PICK_H

#include <stdbool.h>

#include "base/strbuf.h"

enum { JSON_PICK_PATHS = 48 }; /* at most; what is beyond them is not picked */

/* Appends what the paths (NULL at the end) name to out. False if the text is cut off or is no JSON
 * as far as it was looked at: out is as it was then. Faults in what is
 * skipped are not noticed. */
bool json_pick(const char *text, size_t n, const char *const *paths, struct strbuf *out);

#endif
