/* shellwords.c - see shellwords.h. One pass, one character of look-ahead and a list of words.
 *
 * Not here: expansion of any kind, and the shell's errors. Patterns (* ? [ ~) count as plain text.
 */
#include "base/shellwords.h"

#include <string.h>

#include "base/cleanup.h"
#include "base/limits.h"
#include "base/strbuf.h"

struct lexer {
    struct arena *arena;
    const char *text, *p;
    struct shell_word *v;
    size_t n, cap;
    uint32_t command;
    bool at_start;        /* the next word begins a command */
    bool redirects;       /* the next word is the target of a redirection */
    bool targets;         /* such words are wanted too */
    bool here;            /* ... and that is a here-document's mark */
    bool here_tabs;       /* <<-: its lines lose leading tabs */
    const char *marks[8]; /* of here-documents whose text begins after this line */
    bool marks_tabs[8];
    size_t n_marks;
};

/* --- pieces of a word ------------------------------------------------------------------------- */

static const char *skip_single(const char *p)
{
    const char *end = strchr(p, '\'');

    return end ? end + 1 : p + strlen(p);
}

static const char *skip_double(const char *p);

/* Behind the bracket that closes what was opened before p. Quotes inside are honoured. */
static const char *skip_nested(const char *p, char open, char close)
{
    int depth = 1;

    while (*p && depth > 0) {
        if (*p == '\\' && p[1])
            p += 2;
        else if (*p == '\'')
            p = skip_single(p + 1);
        else if (*p == '"')
            p = skip_double(p + 1);
        else {
            depth += (*p == open) - (*p == close);
            p++;
        }
    }
    return p;
}

static const char *skip_backquoted(const char *p)
{
    while (*p && *p != '`')
        p += *p == '\\' && p[1] ? 2 : 1;
    return *p ? p + 1 : p;
}

/* p is at a '$' or a '`'. Where what it expands ends; p + 1 if it expands nothing. */
static const char *skip_expansion(const char *p)
{
    static const char special[] = "@*#?!$-0123456789";

    if (*p == '`')
        return skip_backquoted(p + 1);
    if (p[1] == '(')
        return skip_nested(p + 2, '(', ')');
    if (p[1] == '{')
        return skip_nested(p + 2, '{', '}');
    if (p[1] && strchr(special, p[1]))
        return p + 2;
    p++;
    while ((*p >= 'a' && *p <= 'z') || (*p >= 'A' && *p <= 'Z') || *p == '_' ||
           (*p >= '0' && *p <= '9'))
        p++;
    return p;
}

static const char *skip_double(const char *p)
{
    while (*p && *p != '"') {
        if (*p == '\\' && p[1])
            p += 2;
        else if (*p == '$' || *p == '`')
            p = skip_expansion(p);
        else
            p++;
    }
    return *p ? p + 1 : p;
}

static bool ends_word(char c)
{
    return c == '\0' || strchr(" \t\r\n;&|<>()", c);
}

struct word {
    struct strbuf text;
    bool plain, quoted;
};

static const char *take_expansion(const char *p, struct word *w)
{
    const char *end = skip_expansion(p);

    if (end == p + 1)
        strbuf_addch(&w->text, *p);
    else
        w->plain = false;
    return end;
}

static const char *take_double(const char *p, struct word *w)
{
    while (*p && *p != '"') {
        if (*p == '\\' && p[1] && strchr("\"\\$`\n", p[1])) {
            if (p[1] != '\n')
                strbuf_addch(&w->text, p[1]);
            p += 2;
        } else if (*p == '$' || *p == '`') {
            p = take_expansion(p, w);
        } else {
            strbuf_addch(&w->text, *p++);
        }
    }
    if (!*p)
        w->plain = false; /* an open quote */
    return *p ? p + 1 : p;
}

/* One piece of a word from p on; gives where it ends. */
static const char *take_piece(const char *p, struct word *w)
{
    const char *end;

    switch (*p) {
    case '\\':
        w->quoted |= p[1] != '\n';
        if (p[1] && p[1] != '\n')
            strbuf_addch(&w->text, p[1]);
        return p[1] ? p + 2 : p + 1;
    case '\'':
        w->quoted = true;
        end = strchr(p + 1, '\'');
        if (!end) {
            w->plain = false;
            return p + strlen(p);
        }
        strbuf_add(&w->text, p + 1, (size_t)(end - p - 1));
        return end + 1;
    case '"':
        w->quoted = true;
        return take_double(p + 1, w);
    case '$':
        if (p[1] == '\'') {
            w->plain = false;
            w->quoted = true;
            return skip_single(p + 2);
        }
        return take_expansion(p, w);
    case '`':
        return take_expansion(p, w);
    default:
        strbuf_addch(&w->text, *p);
        return p + 1;
    }
}

/* --- words ------------------------------------------------------------------------------------ */

static bool is_assignment(const char *p, const char *end)
{
    const char *q = p;

    if ((*q >= '0' && *q <= '9') || *q == '=')
        return false;
    while (q < end && ((*q >= 'a' && *q <= 'z') || (*q >= 'A' && *q <= 'Z') || *q == '_' ||
                       (*q >= '0' && *q <= '9')))
        q++;
    return q < end && (*q == '=' || (*q == '+' && q[1] == '='));
}

/* After these the next word begins a command. */
static bool is_reserved(const char *text)
{
    static const char *const words[] = {"if", "then", "elif", "else",  "do", "while",
                                        "{",  "}",    "!",    "until", "fi", "done"};

    for (size_t i = 0; i < ARRAY_SIZE(words); i++)
        if (!strcmp(words[i], text))
            return true;
    return false;
}

static void next_command(struct lexer *lx)
{
    if (!lx->at_start)
        lx->command++;
    lx->at_start = true;
}

static void add_word(struct lexer *lx, const struct shell_word *word)
{
    if (lx->n == lx->cap) {
        struct shell_word *v = ARENA_ARRAY(lx->arena, struct shell_word, lx->cap * 2 + 32);

        if (lx->n)
            memcpy(v, lx->v, lx->n * sizeof(*v));
        lx->v = v;
        lx->cap = lx->cap * 2 + 32;
    }
    lx->v[lx->n++] = *word;
}

static void end_redirection(struct lexer *lx, const char *target)
{
    if (lx->here && lx->n_marks < ARRAY_SIZE(lx->marks)) {
        lx->marks_tabs[lx->n_marks] = lx->here_tabs;
        lx->marks[lx->n_marks++] = target;
    }
    lx->redirects = lx->here = lx->here_tabs = false;
}

static void take_word(struct lexer *lx)
{
    struct word w = {.text = STRBUF_INIT, .plain = true};
    const char *start = lx->p, *end = start;

    while (!ends_word(*lx->p)) {
        bool continued = lx->p[0] == '\\' && lx->p[1] == '\n';

        lx->p = take_piece(lx->p, &w);
        if (!continued)
            end = lx->p;
    }

    struct shell_word word = {
        .start = (size_t)(start - lx->text),
        .end = (size_t)(end - lx->text),
        .plain = w.plain,
        .quoted = w.quoted,
        .command = lx->command,
    };
    bool number = strspn(start, "0123456789") == (size_t)(lx->p - start);

    if (w.plain)
        word.text = arena_strndup(lx->arena, w.text.buf, w.text.len);
    else
        word.text = arena_strndup(lx->arena, start, (size_t)(end - start));
    strbuf_release(&w.text);
    if (lx->redirects) {
        word.target = true;
        if (lx->targets && !lx->here)
            add_word(lx, &word);
        end_redirection(lx, word.text);
        return;
    }
    if (number && (*lx->p == '<' || *lx->p == '>'))
        return; /* 2>file: the number of a descriptor */
    if (lx->at_start && is_assignment(start, lx->p)) {
        word.assignment = true;
        add_word(lx, &word);
        return;
    }
    word.begins = lx->at_start;
    lx->at_start = false;
    add_word(lx, &word);
    if (word.begins && !word.quoted && is_reserved(word.text))
        next_command(lx);
}

/* --- between words ---------------------------------------------------------------------------- */

/* p is at the start of the line behind the one that asked for here-documents. */
static void skip_here_documents(struct lexer *lx)
{
    for (size_t i = 0; i < lx->n_marks; i++) {
        size_t n = strlen(lx->marks[i]);

        while (*lx->p) {
            const char *line = lx->p, *end = strchrnul(line, '\n');

            lx->p = *end ? end + 1 : end;
            if (lx->marks_tabs[i])
                line += strspn(line, "\t");
            if ((size_t)(end - line) == n && !strncmp(line, lx->marks[i], n))
                break;
        }
    }
    lx->n_marks = 0;
}

static void take_redirection(struct lexer *lx)
{
    const char *p = lx->p;

    lx->redirects = true;
    lx->here = p[0] == '<' && p[1] == '<' && p[2] != '<';
    lx->here_tabs = lx->here && p[2] == '-';
    p += strspn(p, "<>");
    if (*p == '&' || *p == '|' || lx->here_tabs)
        p++;
    lx->p = p;
}

static void take_operator(struct lexer *lx)
{
    const char *p = lx->p;

    if (*p == '<' || *p == '>') {
        take_redirection(lx);
        return;
    }
    lx->p++;
    if (*p == '&' && p[1] == '>') { /* &>file */
        take_redirection(lx);
        return;
    }
    lx->redirects = lx->here = false;
    next_command(lx);
    if (*p == '\n')
        skip_here_documents(lx);
}

static size_t all_words(struct lexer lx, const struct shell_word **ret)
{
    while (*lx.p) {
        if (*lx.p == ' ' || *lx.p == '\t' || *lx.p == '\r')
            lx.p++;
        else if (lx.p[0] == '\\' && lx.p[1] == '\n')
            lx.p += 2;
        else if (*lx.p == '#')
            lx.p = strchrnul(lx.p, '\n');
        else if (ends_word(*lx.p))
            take_operator(&lx);
        else
            take_word(&lx);
    }
    *ret = lx.v;
    return lx.n;
}

size_t shell_words(struct arena *a, const char *text, const struct shell_word **ret)
{
    return all_words((struct lexer){.arena = a, .text = text, .p = text, .at_start = true}, ret);
}

size_t shell_words_all(struct arena *a, const char *text, const struct shell_word **ret)
{
    return all_words(
        (struct lexer){.arena = a, .text = text, .p = text, .at_start = true, .targets = true},
        ret);
}

char *shell_replace(struct arena *a, const char *text, const struct shell_word *words, size_t n,
                    const char *const *with)
{
    auto_strbuf struct strbuf sb = STRBUF_INIT;
    size_t done = 0;

    for (size_t i = 0; i < n; i++) {
        if (!with[i])
            continue;
        strbuf_add(&sb, text + done, words[i].start - done);
        strbuf_addstr(&sb, with[i]);
        done = words[i].end;
    }
    strbuf_addstr(&sb, text + done);
    return arena_strndup(a, sb.buf, sb.len);
}
