/* as_typed.c - see as_typed.h. */
#include "cli/as_typed.h"

#include <string.h>

#include "base/mem.h"
#include "cli/cli.h"

#define NAME "muster"
#define LETTERS "abcdefghijklmnopqrstuvwxyz"

static const char *typed; /* NULL: found on PATH, `muster` works */

void set_typed(const char *argv0)
{
    typed = argv0 && strchr(argv0, '/') ? argv0 : NULL;
}

/* Is it the command's name, and not a word of a sentence or a part of a path? */
static bool is_command(const char *text, const char *at)
{
    const char *next = at + strlen(NAME);
    size_t n;

    if ((at > text && !strchr(" `:(", at[-1])) || *next++ != ' ')
        return false;
    if (strncmp(next, "--", 2) == 0)
        return true;
    n = strspn(next, LETTERS);
    auto_free char *word = xstrndup(next, n);
    return find_verb(word) && (!next[n] || strchr(" `,;:)", next[n]));
}

void add_as_typed(struct strbuf *out, const char *text)
{
    const char *from = text, *at = typed ? strstr(text, NAME) : NULL;

    for (; at; at = strstr(at + strlen(NAME), NAME)) {
        if (!is_command(text, at))
            continue;
        strbuf_add(out, from, (size_t)(at - from));
        strbuf_add_shell_word(out, typed);
        from = at + strlen(NAME);
    }
    strbuf_addstr(out, from);
}

void print_try(const char *line)
{
    auto_strbuf struct strbuf text = STRBUF_INIT, safe = STRBUF_INIT;

    add_as_typed(&text, line);
    strbuf_add_escaped(&safe, text.buf, text.len);
    (void)fprintf(stderr, "try: %s\n", safe.buf);
}
