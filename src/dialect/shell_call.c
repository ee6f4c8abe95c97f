/* shell_call.c - see shell_call.h. What a wrapper's own options look like is a table. */
#include "dialect/shell_call.h"

#include <string.h>

#include "base/cleanup.h"

/* Programs whose arguments are a command line. */
static const struct wrapper {
    const char *name;
    const char *with_value; /* short options that take the next word */
    int n_args;             /* words between its options and the command */
} wrappers[] = {
    {"exec", "a", 0},     {"command", "", 0},  {"nohup", "", 0},     {"setsid", "", 0},
    {"time", "fo", 0},    {"env", "uCS", 0},   {"nice", "n", 0},     {"ionice", "cn", 0},
    {"stdbuf", "ioe", 0}, {"sudo", "ugCp", 0}, {"timeout", "ks", 1}, {"numactl", "NmCip", 0},
};

static const struct wrapper *wrapper_of(const char *program)
{
    for (size_t i = 0; i < ARRAY_SIZE(wrappers); i++) {
        if (strcmp(wrappers[i].name, program) == 0)
            return &wrappers[i];
    }
    return NULL;
}

static const char *base_name(const struct shell_word *word)
{
    const char *slash = strrchr(word->text, '/');

    if (!word->plain)
        return "";
    return slash ? slash + 1 : word->text;
}

/* How many words the wrapper at words[0] keeps for itself. */
static size_t own_words(const struct wrapper *w, const struct shell_word *words, size_t n)
{
    size_t i = 1;

    while (i < n && words[i].text[0] == '-' && words[i].text[1]) {
        const char *option = words[i].text;

        i += option[2] == '\0' && strchr(w->with_value, option[1]) ? 2 : 1;
        if (strcmp(option, "--") == 0)
            break;
    }
    while (i < n && strchr(words[i].text, '=')) /* env NAME=VALUE */
        i++;
    return i + (size_t)w->n_args;
}

bool shell_call_next(const struct shell_word *words, size_t n, size_t *at, struct shell_call *ret)
{
    size_t i = *at, end;
    const struct wrapper *w;

    while (i < n && words[i].assignment)
        i++;
    if (i == n) {
        *at = n;
        return false;
    }
    end = i;
    while (end < n && words[end].command == words[i].command)
        end++;
    *at = end;
    for (; (w = wrapper_of(base_name(&words[i])));) {
        size_t own = own_words(w, words + i, end - i);

        if (own >= end - i) /* nothing is left for it to run */
            break;
        i += own;
    }
    *ret = (struct shell_call){base_name(&words[i]), words + i, end - i};
    return true;
}

const char *shell_call_script(const struct shell_call *call)
{
    static const char *const shells[] = {"sh", "bash", "dash", "zsh"};
    bool is_shell = false;

    for (size_t i = 0; i < ARRAY_SIZE(shells); i++)
        is_shell = is_shell || strcmp(call->program, shells[i]) == 0;
    for (size_t i = 1; is_shell && i + 1 < call->n; i++) {
        const char *option = call->words[i].text;

        if (option[0] != '-')
            break;
        if (option[1] != '-' && strchr(option, 'c')) /* -c, -lc, -xec */
            return call->words[i + 1].plain ? call->words[i + 1].text : NULL;
        i += strcmp(option, "-o") == 0;
    }
    return NULL;
}
