/* prefix.c - see prefix.h. */
#include "foreground/prefix.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

/* Neither so light that they vanish on white nor so dark that they do on black. Red is left to
 * errors. */
static const char *const basic[] = {"36", "35", "32"};
static const char *const many[] = {"38;5;31", "38;5;133", "38;5;71", "38;5;136",
                                   "38;5;37", "38;5;97",  "38;5;67", "38;5;173"};

/* Replicas of a role have colours in the order of their numbers; roles begin at different ones. */
static unsigned hue_of(const char *text, bool by_rank)
{
    size_t len = strcspn(text, "/"), role = len;
    unsigned hash = 0;

    while (role > 0 && text[role - 1] >= '0' && text[role - 1] <= '9')
        role--;
    for (size_t i = 0; i < role; i++)
        hash = hash * 31 + (unsigned char)text[i];
    if (by_rank && text[len] == '/')
        hash += (unsigned)strtoul(text + len + 1, NULL, 10);
    return hash + (unsigned)strtoul(text + role, NULL, 10);
}

static bool has_many_colours(void)
{
    const char *term = getenv("TERM");

    return term && strstr(term, "256color");
}

void prefix_init(struct prefix *p, const char *text, bool by_rank)
{
    /* names are ASCII */
    *p = (struct prefix){
        .text = xstrdup(text), .columns = (int)strlen(text), .hue = hue_of(text, by_rank)};
}

void prefix_release(struct prefix *p)
{
    free(p->text);
    p->text = NULL;
}

void prefix_add(struct strbuf *out, const struct prefix *p, bool colour, int columns)
{
    if (colour)
        strbuf_addf(out, "\033[%sm",
                    has_many_colours() ? many[p->hue % ARRAY_SIZE(many)]
                                       : basic[p->hue % ARRAY_SIZE(basic)]);
    strbuf_addf(out, "[%s]%s ", p->text, colour ? "\033[0m" : "");
    if (columns > p->columns)
        strbuf_addf(out, "%*s", columns - p->columns, "");
}
