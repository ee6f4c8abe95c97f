/* help.c - `muster help`: of muster, of a verb, and of what a diagnostic's code means. */
#include <ctype.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/nearest.h"
#include "base/num.h"
#include "cli/cli.h"
#include "cli/diagnose.h"
#include "cli/errors.h"

void help_overview(FILE *out)
{
    fputs("usage: muster VERB [OPTION…] …\n"
          "\n"
          "Muster runs distributed training job files on this machine, or as pods of a "
          "Kubernetes\ncluster (muster-kubernetes(7)).\n"
          "\n",
          out);
    for (size_t i = 0; verbs[i]; i++)
        fprintf(out, "  %-10s %s\n", verbs[i]->name, verbs[i]->summary);
    fputs("\nSee `muster VERB --help` for a verb, `muster help CODE` for a diagnostic, "
          "and\n`muster --version` for the version.\n",
          out);
}

const struct verb *find_verb(const char *name)
{
    for (size_t i = 0; verbs[i]; i++)
        if (strcmp(verbs[i]->name, name) == 0)
            return verbs[i];
    return NULL;
}

const char *nearest_verb(const char *word)
{
    const char *names[64];
    size_t n = 0;

    for (; n < ARRAY_SIZE(names) && verbs[n]; n++)
        names[n] = verbs[n]->name;
    return nearest_word(word, names, n);
}

/* "E0107", and "e107" too; -1 if the word is not meant to be a code. */
static int64_t code_number(const char *word)
{
    uint32_t n;

    if (!word[0] || !strchr("EWNewn", word[0]) || num_u32(word + 1, &n) < 0)
        return -1;
    return n;
}

/* The code that is meant or, if there is none, the nearest: another number counts more than another
 * letter. NULL: none is near. */
static const struct error_text *nearest_code(const char *word, int64_t number, bool *ret_exact)
{
    enum { NEAR = 2 * 10 };
    const struct error_text *best = NULL;
    int64_t least = NEAR;

    for (const struct error_text *t = error_texts; t->code; t++) {
        int64_t apart = code_number(t->code) - number;
        int64_t distance = 2 * (apart < 0 ? -apart : apart);

        distance += t->code[0] != toupper((unsigned char)word[0]);
        if (distance < least) {
            least = distance;
            best = t;
        }
    }
    *ret_exact = least == 0;
    return best;
}

static int help_code(const struct verb *verb, const char *word, int64_t number)
{
    bool exact;
    const struct error_text *t = nearest_code(word, number, &exact);

    if (!t)
        return usage_error(verb, "unknown diagnostic \"%.20s\"; see muster-errors(7) for a list",
                           word);
    if (!exact)
        return usage_error(verb, "unknown diagnostic \"%.20s\"; did you mean %s (%s)?", word,
                           t->code, t->meaning);
    printf("%s: %s\n\n%s", t->code, t->meaning, t->text);
    return finish_output();
}

static int run(const struct verb *verb, int argc, char **argv)
{
    static char option[] = "--help";
    struct operands ops;
    int64_t number;

    if (opts_parse(verb, NULL, argc, argv, &ops) < 0)
        return verb->usage_exit;
    if (ops.rest)
        return usage_error(verb, "-- is not allowed here");
    if (ops.n == 0) {
        help_overview(stdout);
        return finish_output();
    }
    number = code_number(ops.v[0]);
    if (number >= 0 && ops.n == 1)
        return help_code(verb, ops.v[0], number);

    const struct verb *other = find_verb(ops.v[0]);
    const char *near = other ? NULL : nearest_verb(ops.v[0]);

    if (!other)
        return usage_error(verb, "unknown verb \"%.40s\"%s%s%s", ops.v[0],
                           near ? ", did you mean \"" : "", near ? near : "", near ? "\"?" : "");
    if (ops.n > 2)
        return usage_error(verb, "exactly one verb or code is required");

    char *words[] = {ops.v[0], ops.n == 2 ? ops.v[1] : option, option, NULL};

    return other->run(other, 1 + ops.n, words);
}

static const struct opt opts[] = {OPT_END};

const struct verb verb_help = {
    .name = "help",
    .synopsis = "[VERB | CODE]",
    .summary = "show help for a verb or a diagnostic code",
    .about = "`muster help E0107` prints the entry of muster-errors(7) for E0107, `muster help "
             "run`\nthe output of `muster run --help`.",
    .opts = opts,
    .usage_exit = EXIT_USAGE,
    .run = run,
};
