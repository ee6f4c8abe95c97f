/* json_text.h - the parts of the JSON reader that look at characters: blanks, comments, strings,
 * numbers, and what people write instead of them.
 *
 * The cursor only moves forward. A fault whose meaning is plain (a word without quotes, a trailing
 * comma) is told and read as it was meant, so that one reading tells all of them; the document is
 * broken all the same. Any other fault stops the reader.
 */
#ifndef DOC_JSON_TEXT_H
#define DOC_JSON_TEXT_H

#include "base/strbuf.h"
#include "doc/build.h"

struct json_in {
    struct builder b;
    const char *p, *end; /* what is still to be read */
    const char *mark;    /* a place that has been counted already … */
    struct pos mark_pos; /* … and which it is */
    bool comments;       /* allowed? */
    bool quiet;          /* the text was cut at a bad byte: that is told, the end it makes is not */
    int n_faults;
    struct strbuf text; /* of the string that is being read */
};

/* The cursor's place. */
struct pos json_pos(struct json_in *in);

/* Tells a fault; after LIMIT_SYNTAX_FAULTS of them the reader stops. hint may be NULL. */
void json_fault(struct json_in *in, struct pos pos, const char *code, const char *hint,
                const char *message);
void json_stop(struct json_in *in, struct pos pos, const char *code, const char *hint,
               const char *message);

/* The node's text for a message, cut; "…" for what may be a secret: the value of a key `secrets` or
 * `auth`, or something in it. */
const char *json_shown(struct json_in *in, const struct node *node);

/* Skips blanks and comments. Returns the character that follows, '\0' at the end or if stopped. */
char json_blanks(struct json_in *in);

/* Tells and skips an ellipsis. */
bool json_dots(struct json_in *in);

/* Reads the string at the cursor, which is at its '"', into the node. */
void json_string(struct json_in *in, struct node *node);

/* Reads the number, the word or the text in other quotes at the cursor into the node, and tells
 * what is wrong with it: what is no number and no word of JSON becomes a string. `what` is
 * "strings" or "keys". The cursor is at none of ,:[]{}" and not at the end. */
void json_word(struct json_in *in, struct node *node, const char *what);

#endif
