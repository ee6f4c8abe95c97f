/* hosts.c - see hosts.h. */
#include "engine/local/hosts.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/mem.h"

struct word {
    const char *at;
    size_t n;
};

struct words {
    struct word *v;
    size_t n, cap;
};

/* The next word of a line, or n = 0 at its end or a comment. *at moves behind it. */
static struct word next_word(const char **at)
{
    *at += strspn(*at, " \t\r");
    struct word w = {*at, strcspn(*at, " \t\r\n#")};
    *at += w.n;
    return w;
}

static const char *next_line(const char *at)
{
    at += strcspn(at, "\n");
    return *at ? at + 1 : at;
}

/* Host names have no case. */
static int compare(const void *a, const void *b)
{
    const struct word *x = a, *y = b;
    int order = strncasecmp(x->at, y->at, x->n < y->n ? x->n : y->n);

    return order ? order : (x->n > y->n) - (x->n < y->n);
}

static struct words names_of(const char *hosts)
{
    struct words names = {0};

    for (const char *line = hosts; *line; line = next_line(line)) {
        const char *at = line;

        (void)next_word(&at);
        for (struct word w; (w = next_word(&at)).n > 0;) {
            GROW(names.v, names.n, names.cap);
            names.v[names.n++] = w;
        }
    }
    if (names.n > 0)
        qsort(names.v, names.n, sizeof(*names.v), compare);
    return names;
}

void hosts_add_machine(struct strbuf *out, const char *job, const char *machine)
{
    struct words taken = names_of(job);

    for (const char *line = machine; *line; line = next_line(line)) {
        const char *at = line;
        struct word address = next_word(&at);
        bool any = false;

        for (struct word w; (w = next_word(&at)).n > 0;) {
            if (taken.n > 0 && bsearch(&w, taken.v, taken.n, sizeof(w), compare))
                continue;
            if (!any)
                strbuf_add(out, address.at, address.n);
            strbuf_addf(out, " %.*s", (int)w.n, w.at);
            any = true;
        }
        if (any)
            strbuf_addstr(out, "\n");
    }
    free(taken.v);
}
