/* prefix.h - what stands before a line: "[worker-2] " or, for a rank, "[worker-2/7] ".
 *
 * That is a contract. Only on a terminal prefixes are aligned, and have a colour: that of the
 * replica, the same in every run, and another one than its neighbours have. Where a job has one
 * replica alone, its ranks have colours of their own.
 */
#ifndef FOREGROUND_PREFIX_H
#define FOREGROUND_PREFIX_H

#include <stdbool.h>

#include "base/strbuf.h"

struct prefix {
    char *text;  /* heap */
    int columns; /* of the text */
    unsigned hue;
};

/* text is REPLICA, or REPLICA/RANK. by_rank: the rank decides about the colour too. */
void prefix_init(struct prefix *p, const char *text, bool by_rank);
void prefix_release(struct prefix *p);

/* Adds "[text] ", filled with blanks as if the text had so many columns. */
void prefix_add(struct strbuf *out, const struct prefix *p, bool colour, int columns);

#endif
