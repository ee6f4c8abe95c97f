/* schema_mdoc.c - the keys of a dialect for a manual page, from its bind tables. */
#include <string.h>

#include "doc/schema.h"

/* Text for mdoc: its own characters are escaped. A line is never begun by any of it. */
static void add_text(struct strbuf *out, const char *text)
{
    for (; *text; text++) {
        if (*text == '\\')
            strbuf_addstr(out, "\\e");
        else if (*text == '-')
            strbuf_addstr(out, "\\-");
        else if (*text == '"')
            strbuf_addstr(out, "\\(dq");
        else if (*text == '`' || *text == '\'')
            strbuf_addstr(out, "\\(aq");
        else
            strbuf_addch(out, *text);
    }
}

/* A new sentence, a new line: that is how mdoc wants it. */
static void add_sentences(struct strbuf *out, const char *text)
{
    strbuf_addstr(out, "\\&");
    for (const char *end; (end = strstr(text, ". ")); text = end + 2) {
        auto_free char *part = strndup(text, (size_t)(end - text) + 1);

        if (part)
            add_text(out, part);
        strbuf_addstr(out, "\n\\&");
    }
    add_text(out, text);
    strbuf_addch(out, '\n');
}

static void add_words(struct strbuf *out, const char *const *words)
{
    for (size_t i = 0; words[i]; i++) {
        if (i)
            strbuf_addstr(out, words[i + 1] ? ", " : " or ");
        add_text(out, words[i]);
    }
}

static void add_number(struct strbuf *out, const struct bind_field *f)
{
    strbuf_addstr(out, "an integer");
    if (f->min >= f->max)
        return;
    if (f->max == INT32_MAX)
        strbuf_addf(out, " from %d on", f->min);
    else
        strbuf_addf(out, " from %d to %d", f->min, f->max);
}

/* "an integer from 1 on, or a mapping": what a value may be. */
static void add_type(struct strbuf *out, const struct bind_field *f, unsigned takes)
{
    static const struct {
        unsigned takes;
        const char *words;
    } types[] = {
        {TAKES_INT, NULL},
        {TAKES_STRING, "a string"},
        {TAKES_NUMBER, "a number"},
        {TAKES_BOOL, "true or false"},
        {TAKES_STRINGS, "a list of strings"},
        {TAKES_LIST, "a list"},
        {TAKES_MAP, "a mapping"},
    };
    bool more = false;

    for (size_t i = 0; i < ARRAY_SIZE(types); i++) {
        if (!(takes & types[i].takes))
            continue;
        if (more)
            strbuf_addstr(out, ", or ");
        if (types[i].takes == TAKES_INT)
            add_number(out, f);
        else if (types[i].takes == TAKES_STRING && f->words)
            add_words(out, f->words);
        else
            strbuf_addstr(out, types[i].words);
        more = true;
    }
    if (!more)
        strbuf_addstr(out, "anything");
}

static const char *path_of(const struct schema_part *parts, size_t n, const struct bind_table *t)
{
    for (size_t i = 0; i < n; i++) {
        if (parts[i].table == t)
            return parts[i].path;
    }
    return "";
}

static void add_field(struct strbuf *out, const struct schema_part *parts, size_t n,
                      const struct bind_field *f)
{
    bool mapped = f->kind != BIND_KNOWN && f->kind != BIND_NOTED;

    strbuf_addstr(out, ".It Cm ");
    add_text(out, f->key);
    strbuf_addch(out, '\n');
    if (f->doc)
        add_sentences(out, f->doc);
    if (f->kind == BIND_KNOWN)
        strbuf_addstr(out, "Accepted; has no effect on a run.\n");
    if (f->kind == BIND_NOTED) {
        strbuf_addstr(out, "Ignored, with a note: it ");
        add_text(out, f->why ? f->why : "has no effect in a local run");
        strbuf_addstr(out, ".\n");
    }
    if (!mapped)
        return;
    strbuf_addstr(out, ".Pq ");
    if (f->by_name)
        strbuf_addstr(out, "a mapping from names to ");
    add_type(out, f, schema_takes(f));
    if (f->required)
        strbuf_addstr(out, "; required");
    if (f->table) {
        strbuf_addstr(out, "; see ");
        add_text(out, path_of(parts, n, f->table));
    }
    strbuf_addch(out, '\n');
}

void schema_mdoc(struct strbuf *out, const struct bind_table *root)
{
    auto_arena struct arena *a = arena_new();
    struct schema_part parts[SCHEMA_PARTS_MAX];
    size_t n = schema_parts(a, root, parts);

    for (size_t i = 0; i < n; i++) {
        const struct bind_table *t = parts[i].table;

        strbuf_addstr(out, ".Ss ");
        add_text(out, *parts[i].path ? parts[i].path : "The document");
        strbuf_addstr(out, "\\&\n.Bl -tag -width indent\n");
        for (size_t k = 0; k < t->n; k++)
            add_field(out, parts, n, &t->fields[k]);
        strbuf_addf(out, ".El\n.Pp\nAny other key is %s.\n",
                    t->lenient ? "ignored, with a warning" : "an error");
    }
}
