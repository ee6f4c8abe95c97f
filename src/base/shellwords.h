/* shellwords.h - the words of a shell command, each with its place in the text.
 *
 * Enough of the shell's grammar to find out which program a line calls with which words, and to
 * replace one word without touching another byte. Nothing is expanded. Quotes, backslashes,
 * comments, operators (; & && || | newline, redirections, parentheses), $(…), `…`, ${…} and
 * here-documents are recognised; a word that holds an expansion is not plain.
 */
#ifndef BASE_SHELLWORDS_H
#define BASE_SHELLWORDS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"

struct shell_word {
    size_t start, end; /* in the text, quotes included */
    const char *text;  /* unquoted; of a word that is not plain: as it stands */
    bool plain;        /* no expansion or substitution in it */
    bool quoted;       /* some part was in quotes or behind a backslash */
    bool begins;       /* first word of a simple command, after assignments */
    bool assignment;   /* NAME=value before the command */
    bool target;       /* a redirection's; see shell_words_all() */
    uint32_t command;  /* number of the simple command it belongs to, from 0 */
};

/* Returns the number of words; *ret lives in the arena. Never fails: where the text stops making
 * sense (an open quote), the rest is one word that is not plain. */
size_t shell_words(struct arena *a, const char *text, const struct shell_word **ret);

/* The same with the files of redirections, which are no words of a command, among them. */
size_t shell_words_all(struct arena *a, const char *text, const struct shell_word **ret);

/* The text with words[i] replaced by `with`, for all i where with[i] is not NULL. */
char *shell_replace(struct arena *a, const char *text, const struct shell_word *words, size_t n,
                    const char *const *with);

#endif
