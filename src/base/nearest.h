/* nearest.h - "did you mean": the nearest known word by edit distance. */
#ifndef BASE_NEAREST_H
#define BASE_NEAREST_H

#include <stddef.h>

/* The one of words (n pointers, some may be NULL) that is near enough to word to be meant, or NULL.
 * Letter case, '-' and '_' count little; a swap of neighbours counts one. If none is near, the only
 * one that begins or ends with the word, or the word with it. */
const char *nearest_word(const char *word, const char *const *words, size_t n);

#endif
