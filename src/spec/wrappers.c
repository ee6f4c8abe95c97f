/* wrappers.c - see wrappers.h. An option that the table does not know counts as a flag. */
#include "spec/wrappers.h"

#include <stdbool.h>
#include <string.h>

#include "base/cleanup.h"

#define DEPTH 8 /* wrappers of wrappers */

static const struct wrapper {
    const char *name;
    const char *letters; /* short options with a value */
    const char *words;   /* long options with a value, each in blanks */
    size_t operands;     /* before the command */
    bool assignments;    /* NAME=VALUE before the command */
} wrappers[] = {
    {"env", "uC", " unset chdir ", 0, true},
    {"nice", "n", " adjustment ", 0, false},
    {"timeout", "ks", " kill-after signal ", 1, false},
    {"time", "fo", " format output ", 0, false},
    {"nohup", "", "", 0, false},
    {"setsid", "", "", 0, false},
    {"exec", "a", "", 0, false},
    {"stdbuf", "ioe", " input output error ", 0, false},
    {"ionice", "cn", " class classdata ", 0, false},
    {"chrt", "TPD", " sched-runtime sched-period sched-deadline ", 1, false},
    {"taskset", "", "", 1, false},
    {"numactl", "NmCipP",
     " cpunodebind membind physcpubind interleave preferred preferred-many weighted-interleave ", 0,
     false},
    {"strace", "abeEIoOPsSuUX", " expr output string-limit trace env user ", 0, false},
    {"valgrind", "", "", 0, false},
    {"catchsegv", "", "", 0, false},
    {"unbuffer", "", "", 0, false},
};

static const struct wrapper *wrapper_of(const char *program)
{
    const char *slash = strrchr(program, '/'), *name = slash ? slash + 1 : program;

    for (size_t i = 0; i < ARRAY_SIZE(wrappers); i++)
        if (strcmp(wrappers[i].name, name) == 0)
            return &wrappers[i];
    return NULL;
}

static bool has_word(const char *list, const char *word)
{
    size_t n = strlen(word);

    for (const char *at = list; n && (at = strstr(at, word)) != NULL; at++)
        if (at > list && at[-1] == ' ' && at[n] == ' ')
            return true;
    return false;
}

/* Does the value of the option stand in the next word? */
static bool takes_next(const struct wrapper *w, const char *option)
{
    if (option[1] == '-')
        return has_word(w->words, option + 2);
    return !option[2] && strchr(w->letters, option[1]);
}

size_t wrapper_words(const char *const *argv, size_t n)
{
    const struct wrapper *w = n ? wrapper_of(argv[0]) : NULL;
    size_t i = 1;

    if (!w)
        return 0;
    for (; i < n && argv[i][0] == '-' && argv[i][1]; i++) {
        if (strcmp(argv[i], "--") == 0) {
            i++;
            break;
        }
        if (w->assignments && (argv[i][1] == 'S' || strncmp(argv[i], "--split", 7) == 0))
            return n; /* a command line in one word */
        i += takes_next(w, argv[i]);
    }
    i += w->operands;
    while (w->assignments && i < n && strchr(argv[i], '='))
        i++;
    return i < n ? i : n;
}

size_t wrappers_end(const char *const *argv, size_t n)
{
    size_t at = 0, step;

    for (int depth = 0; depth < DEPTH && (step = wrapper_words(argv + at, n - at)) > 0; depth++)
        at += step;
    return at;
}
