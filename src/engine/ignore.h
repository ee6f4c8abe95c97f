/* ignore.h - which files of a directory are left out: the patterns of .amlignore, or if there is no
 * such file those of .gitignore, at its top, as Azure ML reads them. Pure matching; patterns of
 * directories further down are not read.
 */
#ifndef ENGINE_IGNORE_H
#define ENGINE_IGNORE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"

struct ignore_rule;
struct ignore {
    const struct ignore_rule *rules;
    size_t n;
};

/* text: lines with patterns of gitignore(5). */
void ignore_parse(struct arena *a, const char *text, struct ignore *ret);

/* Is this path (without a slash at either end) left out? The last pattern that matches counts. What
 * is in a directory that is left out is, too: the caller does not look there. */
bool ignore_has(const struct ignore *ig, const char *path, bool is_dir);

#endif
