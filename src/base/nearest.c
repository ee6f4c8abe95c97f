/* nearest.c - optimal string alignment distance in quarters of an edit, with a bound that grows
 * with the word: "replicas" for "replcas" is help, "image" for "name" is noise. */
#include "base/nearest.h"

#include <stdbool.h>
#include <string.h>
#include <strings.h>

enum { EDIT = 4, SLIGHT = 1, WORD_MAX = 64 };

static bool is_joint(char c)
{
    return c == '-' || c == '_';
}

static char lower(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

static unsigned int add_cost(char c)
{
    return is_joint(c) ? SLIGHT : EDIT;
}

static unsigned int change_cost(char a, char b)
{
    if (a == b)
        return 0;
    return lower(a) == lower(b) || (is_joint(a) && is_joint(b)) ? SLIGHT : EDIT;
}

static unsigned int least(unsigned int a, unsigned int b)
{
    return a < b ? a : b;
}

static unsigned int distance(const char *a, size_t na, const char *b, size_t nb)
{
    unsigned int rows[3][WORD_MAX + 1] = {0};
    unsigned int *before = rows[0], *above = rows[1], *row = rows[2];

    for (size_t j = 1; j <= nb; j++)
        above[j] = above[j - 1] + add_cost(b[j - 1]);
    for (size_t i = 1; i <= na; i++) {
        unsigned int *spare = before;

        row[0] = above[0] + add_cost(a[i - 1]);
        for (size_t j = 1; j <= nb; j++) {
            row[j] = above[j - 1] + change_cost(a[i - 1], b[j - 1]);
            row[j] = least(row[j], above[j] + add_cost(a[i - 1]));
            row[j] = least(row[j], row[j - 1] + add_cost(b[j - 1]));
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                row[j] = least(row[j], before[j - 2] + EDIT);
        }
        before = above;
        above = row;
        row = spare;
    }
    return above[nb];
}

/* Is one the end or the beginning of the other? Letter case does not count. */
static bool is_part(const char *a, size_t na, const char *b, size_t nb)
{
    enum { SHORTEST = 5 };

    if (na > nb)
        return is_part(b, nb, a, na);
    return na >= SHORTEST && (strncasecmp(a, b, na) == 0 || strncasecmp(a, b + nb - na, na) == 0);
}

/* retryCount for jobRetryCount, IntelMPI for Intel: the only word that begins or ends like that. */
static const char *only_part(const char *word, size_t len, const char *const *words, size_t n)
{
    const char *only = NULL;

    for (size_t i = 0; i < n; i++) {
        if (!words[i] || !is_part(word, len, words[i], strlen(words[i])))
            continue;
        if (only)
            return NULL;
        only = words[i];
    }
    return only;
}

const char *nearest_word(const char *word, const char *const *words, size_t n)
{
    size_t len = strlen(word);
    unsigned int bound = EDIT * (unsigned int)(len < 6 ? 1 : len / 3);
    const char *best = NULL;

    if (len == 0 || len > WORD_MAX)
        return NULL;
    for (size_t i = 0; i < n; i++) {
        size_t other = words[i] ? strlen(words[i]) : 0;
        unsigned int d;

        if (other == 0 || other > WORD_MAX)
            continue;
        if (other == len && memcmp(word, words[i], len) == 0)
            return words[i]; /* the usual case, and the cheap one */
        d = distance(word, len, words[i], other);
        if (d < bound || (d == bound && !best)) {
            bound = d;
            best = words[i];
        }
    }
    return best ? best : only_part(word, len, words, n);
}
