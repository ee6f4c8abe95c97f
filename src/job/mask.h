/* mask.h - the values of a job's secrets, taken out of text that is shown.
 *
 * A value is looked for as it stands, each of its lines by itself (a log is shown line by line),
 * with control characters escaped as they are in everything that is shown. A value of fewer than
 * MASK_WHOLE_WORDS characters is taken out of a log's lines only where it stands as a word of its
 * own, and out of Muster's own sentences not at all: "1" would else make every number unreadable.
 *
 * A value that a program has turned into something else first (base64, URL encoding) is not found.
 * The job's own log is never changed.
 */
#ifndef JOB_MASK_H
#define JOB_MASK_H

#include "base/strbuf.h"
#include "base/strvec.h"
#include "plan/plan.h"

#define MASK_WHOLE_WORDS 4

/* "***" for every value in one of our own sentences. */
void mask_sentence(const struct plan *plan, struct strbuf *text);

/* The same for lines of a log. first_is_cut: the first line is only the end of one, and may begin
 * in the middle of a value. */
void mask_lines(const struct plan *plan, struct strvec *lines, bool first_is_cut);

#endif
