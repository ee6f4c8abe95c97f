/* cli.h - verbs and their options: one verb, one file, one `const struct verb`.
 *
 * A verb's option table drives parsing and `--help` (and later the manual page and completion).
 * Values are stored at an offset of the verb's own options structure, so that no option is a
 * global.
 */
#ifndef CLI_CLI_H
#define CLI_CLI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/strvec.h"

/* Exit codes of CONTRACTS §1. */
enum { EXIT_FINE = 0, EXIT_FAILED = 1, EXIT_USAGE = 2, EXIT_MUSTER = 125 };

enum opt_kind {
    OPT_FLAG,     /* bool */
    OPT_STRING,   /* const char * */
    OPT_INT,      /* int64_t, at least min */
    OPT_DURATION, /* int64_t milliseconds */
    OPT_CHOICE,   /* const char *, one of choices */
    OPT_STRINGS,  /* struct strvec: may be given several times */
    OPT_WORDS,    /* the same; a value has to be attached with "=", without one it is "" */
};

struct opt {
    const char *name; /* without the dashes */
    char letter;      /* or 0 */
    enum opt_kind kind;
    size_t offset;
    const char *arg;            /* "FILE", shown in --help; NULL for a flag */
    const char *help;           /* one line, lower case, no full stop; NULL: a habit from another
                                   tool, accepted but not shown, also with a single dash */
    const char *const *choices; /* OPT_CHOICE, NULL-terminated */
    int64_t min;                /* OPT_INT */
};
#define OPT_END                                                                                    \
    {                                                                                              \
        .name = NULL                                                                               \
    }

/* A table that several verbs share: its values are in a structure of its own inside the verb's. */
struct opt_part {
    const char *heading; /* of this part in --help */
    const struct opt *opts;
    size_t offset; /* of the shared structure in the verb's */
};
#define OPT_PART_END                                                                               \
    {                                                                                              \
        .opts = NULL                                                                               \
    }

struct verb {
    const char *name;
    const char *synopsis; /* "FILE…", after the verb's name */
    const char *summary;  /* one line */
    const char *about;    /* paragraphs of --help, or NULL */
    const struct opt *opts;
    const struct opt_part *parts; /* shared tables, ended by OPT_PART_END; or NULL */
    int usage_exit;               /* EXIT_USAGE, or EXIT_MUSTER for run */
    int (*run)(const struct verb *verb, int argc, char **argv); /* argv[0] is the verb */
    /* Asked at the first operand: does it begin a command whose options are its own? Or NULL. */
    bool (*command_begins)(const void *options, const char *operand);
};

extern const struct verb *const verbs[]; /* NULL-terminated */
extern const struct verb verb_run, verb_validate, verb_explain, verb_convert, verb_generate,
    verb_schema;
extern const struct verb verb_list, verb_show, verb_events, verb_logs, verb_wait, verb_cancel,
    verb_attach, verb_pause, verb_resume, verb_exec, verb_rerun, verb_delete, verb_prune, verb_open,
    verb_sim, verb_apply, verb_operator, verb_submit, verb_serve, verb_doctor, verb_help;

/* `run` with these words, for rerun: a run directory that is there already is left alone. */
int run_again(int argc, char **argv);

const struct verb *find_verb(const char *name);
const char *nearest_verb(const char *word); /* or NULL */
void help_overview(FILE *out);              /* muster --help */

/* The verb that somebody means who comes from another tool, or NULL. *ret_line: what to type
 * instead; NULL if the word is accepted as it is. */
const struct verb *habit_verb(const char *word, const char **ret_line);

/* What to do instead of an option of another tool ("-x", "--hostfile"), or NULL. */
const char *habit_option(const struct verb *verb, const char *option);

extern const char *const muster_version, *const muster_commit; /* commit: "" if it is not known */

/* What is left on the command line after the options. */
struct operands {
    char **v; /* before "--" */
    int n;
    char **rest; /* after "--"; NULL if there was no "--" */
    int n_rest;
};

/* Parses argv[1..] by verb->opts and verb->parts into target (already set to the defaults). Options
 * and operands may be mixed; `--name=value` and `--name value`, `-n 3` and `-n3`. "-h"/"--help"
 * prints the help and exits 0. Returns 0, or -EINVAL after telling the user on stderr (unknown
 * options get the nearest). ret->v is storage inside argv, which is reordered. */
int opts_parse(const struct verb *verb, void *target, int argc, char **argv, struct operands *ret);

void print_verb_help(const struct verb *verb, FILE *out);

/* "muster VERB: message" and "try: muster VERB --help" on stderr; returns verb->usage_exit. */
int usage_error(const struct verb *verb, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

/* "muster VERB: message" on stderr. What is in the message cannot act on the terminal, in both. */
void complain(const char *verb, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Colour for a stream: a terminal, and neither NO_COLOR nor TERM=dumb. */
bool want_colour(FILE *stream);

#endif
