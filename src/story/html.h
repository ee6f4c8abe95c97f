/* html.h - a run as one HTML page to attach to a ticket: no script, no reference to anything
 * outside, light and dark by CSS, every text escaped, of bounded size.
 *
 * What may be in it: what the report says (its last lines of logs have secrets masked), the plan as
 * recorded (secrets are ***) without the variables that the job only inherited, and lines of logs
 * only where the job has no secrets.
 */
#ifndef STORY_HTML_H
#define STORY_HTML_H

#include "base/strbuf.h"
#include "base/strvec.h"
#include "doc/tree.h"
#include "story/series.h"
#include "story/story.h"

struct page_log {
    const char *name;
    const struct strvec *lines;
};

struct page {
    const char *name, *id, *dialect, *state; /* of the run */
    bool failed;
    const char *command_label, *command, *directory; /* how it was started; NULL: not known */
    ns_t made;                                       /* when the page is */
    const char *version, *host;                      /* of the muster that makes it */
    const struct node *report;                       /* CONTRACTS §4; NULL: it cannot be read */
    const struct node *plan;                         /* one of `jobs` of plan.json; NULL: none */
    const struct story *story;                       /* NULL: no journal */
    const struct series *usage;                      /* NULL: none */
    const struct page_log *logs;
    size_t n_logs;
    bool logs_withheld; /* there are secrets in the job */
};

void page_write(const struct page *p, struct strbuf *out);

/* --- parts ------------------------------------------------------------------------------------ */

/* As text of an element or an attribute: control characters visible, at most LIMIT_PAGE_TEXT bytes.
 */
void page_text(struct strbuf *out, const char *text);
/* charts.c: sections, nothing where there is nothing to show. */
void page_time_line(const struct page *p, struct strbuf *out);
void page_usage(const struct page *p, struct strbuf *out);
void page_ranks(const struct page *p, struct strbuf *out);
/* plan.c */
void page_plan(const struct page *p, struct strbuf *out);

#endif
