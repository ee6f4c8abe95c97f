/* errors.h - what is to be said of each diagnostic. The table is made from doc/errors.md by
 * tools/errors. */
#ifndef CLI_ERRORS_H
#define CLI_ERRORS_H

struct error_text {
    const char *code;    /* "E0107"; NULL ends the table */
    const char *meaning; /* one line */
    const char *text;    /* paragraphs for a terminal */
};
extern const struct error_text error_texts[];

#endif
