/* values.c - single values of Muster's own job file: durations, numbers that may be words,
 * commands. */
#include <string.h>

#include "base/num.h"
#include "dialect/muster/muster_v1.h"

int mv1_word(const char *word, const char *const *words)
{
    for (int i = 0; word && words[i]; i++) {
        if (strcmp(words[i], word) == 0)
            return i;
    }
    return -1;
}

bool mv1_duration(const struct binder *b, const struct node *node, int64_t *ret)
{
    bool text = node->type == NODE_STRING && strlen(node->text) == node->len;
    bool number = node->type == NODE_INT && node->i >= 0;
    int64_t ms;

    if (number && node->i == 0) {
        *ret = 0;
        return true;
    }
    if (!text || duration_ms(node->text, &ms) < 0) {
        diag_at(b->ds, node, "E0605",
                number ? arena_printf(b->a, "write %lds", (long)node->i)
                       : "write 90s, 10m or 1h30m",
                "`%s` must be a duration such as 10m, not %s", node->parent_key,
                node_words(b->a, node));
        return false;
    }
    *ret = ms / 1000 + (ms % 1000 != 0);
    return true;
}

static const char *numbers_or(struct arena *a, int32_t min, const char *const *words)
{
    const char *text = arena_printf(a, "a number ≥ %d", min);

    for (size_t i = 0; words[i]; i++)
        text = arena_printf(a, "%s%s`%s`", text, words[i + 1] ? ", " : " or ", words[i]);
    return text;
}

bool mv1_number(const struct binder *b, const struct node *node, int32_t min, int32_t max,
                const char *const *words, const int32_t *values, int32_t *ret)
{
    int place = node->type == NODE_STRING ? mv1_word(node->text, words) : -1;

    if (node->type == NODE_INT && node->i >= min && node->i <= max) {
        *ret = (int32_t)node->i;
        return true;
    }
    if (place >= 0) {
        *ret = values[place];
        return true;
    }
    if (node->type == NODE_INT && node->i > max)
        diag_at(b->ds, node, "E0203", NULL, "`%s` must be at most %d, not %s", node->parent_key,
                max, node->text);
    else
        bind_type_error(b, node->parent_key, numbers_or(b->a, min, words), NULL, node);
    return false;
}

/* Shells as the plan runs them: what a rank's program is has to be words. */
static const char *const *shell_argv(struct arena *a, enum shell_kind shell, const char *text)
{
    static const char *const shells[][8] = {
        [SHELL_SH] = {"/bin/sh", "-c"},
        [SHELL_BASH] = {"bash", "-c"},
        [SHELL_BASH_STRICT] = {"bash", "-o", "errexit", "-o", "nounset", "-o", "pipefail", "-c"},
    };
    const char **argv = ARENA_ARRAY(a, const char *, ARRAY_SIZE(shells[0]) + 2);
    size_t n = 0;

    for (; n < ARRAY_SIZE(shells[0]) && shells[shell][n]; n++)
        argv[n] = shells[shell][n];
    argv[n] = text;
    return argv;
}

const char *const *mv1_argv(const struct binder *b, const struct node *node, enum shell_kind shell)
{
    const char *const *argv = NULL;
    const char *text;

    if (node->type == NODE_SEQ) {
        if (!bind_strings(b, node->parent_key, node, &argv))
            return NULL;
        if (argv[0] && *argv[0])
            return argv;
    } else if (node->type != NODE_STRING) {
        bind_type_error(b, node->parent_key, "a string or a list of strings", NULL, node);
        return NULL;
    } else {
        if (!bind_string(b, node->parent_key, node, &text))
            return NULL;
        if (text[strspn(text, " \t\r\n")])
            return shell_argv(b->a, shell, text);
    }
    diag_at(b->ds, node, "E0104", NULL, "`%s` must not be empty", node->parent_key);
    return NULL;
}
