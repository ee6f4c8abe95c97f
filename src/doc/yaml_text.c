/* yaml_text.c - typing of plain scalars, and the causes of syntax errors.
 *
 * A YAML parser notices an error where it can go no further; people made it earlier: a tab, a
 * no-break space, a diff mark, a quote too many. The causes seen in real job files are looked for
 * here, after the fact. */
#include "doc/yaml_text.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/num.h"

/* --- plain scalars -------------------------------------------------------------------------- */

static bool one_of(const char *text, const char *const *words, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (strcmp(text, words[i]) == 0)
            return true;
    }
    return false;
}

static bool parse_int(const char *text, int64_t *ret)
{
    static const char *const digits[] = {[8] = "01234567", [16] = "0123456789abcdefABCDEF"};
    int base = text[0] == '0' && text[1] == 'o' ? 8 : text[0] == '0' && text[1] == 'x' ? 16 : 10;
    long long v;

    if (base == 10)
        return num_i64(text + (text[0] == '+' && text[1] != '-'), ret) == 0;
    text += 2;
    if (!*text || text[strspn(text, digits[base])])
        return false;
    errno = 0;
    v = strtoll(text, NULL, base);
    if (errno)
        return false;
    *ret = v;
    return true;
}

/* [-+]? ( \. [0-9]+ | [0-9]+ ( \. [0-9]* )? ) ( [eE] [-+]? [0-9]+ )? and the words for the rest. */
static bool parse_float(const char *text, double *ret)
{
    static const char *const inf[] = {".inf", ".Inf", ".INF"}, *const nan[] = {".nan", ".NaN",
                                                                               ".NAN"};
    static const char digits[] = "0123456789";
    const char *p = text + (*text == '-' || *text == '+');
    size_t whole, part = 0;

    if (one_of(p, inf, ARRAY_SIZE(inf))) {
        *ret = *text == '-' ? -INFINITY : INFINITY;
        return true;
    }
    if (one_of(text, nan, ARRAY_SIZE(nan))) {
        *ret = NAN;
        return true;
    }
    whole = strspn(p, digits);
    p += whole;
    if (*p == '.') {
        part = strspn(++p, digits);
        p += part;
    }
    if (!whole && !part)
        return false;
    if (*p == 'e' || *p == 'E') {
        p++;
        p += *p == '-' || *p == '+';
        if (!strspn(p, digits))
            return false;
        p += strspn(p, digits);
    }
    if (*p)
        return false;
    *ret = strtod(text, NULL);
    return true;
}

void yaml_type_plain(struct node *node)
{
    static const char *const nulls[] = {"", "~", "null", "Null", "NULL"};
    static const char *const yes[] = {"true", "True", "TRUE"};
    static const char *const no[] = {"false", "False", "FALSE"};
    const char *text = node->text;

    node->type = NODE_STRING;
    if (strlen(text) != node->len || !strchr("~nNtTfF.+-0123456789", *text))
        return; /* no word of the schema begins so; strchr() lets an empty text through */
    if (one_of(text, nulls, ARRAY_SIZE(nulls))) {
        node->type = NODE_NULL;
    } else if (one_of(text, yes, ARRAY_SIZE(yes))) {
        node->type = NODE_BOOL;
        node->i = 1;
    } else if (one_of(text, no, ARRAY_SIZE(no))) {
        node->type = NODE_BOOL;
    } else if (parse_int(text, &node->i)) {
        node->type = NODE_INT;
    } else if (parse_float(text, &node->f)) {
        node->type = NODE_FLOAT;
    }
}

/* --- syntax errors -------------------------------------------------------------------------- */

struct cause {
    const char *starts; /* what a line's text starts with, after its spaces if indented */
    bool indented, anywhere;
    const char *message, *hint;
};

/* The first line that shows a cause. Only lines up to the error can be one; tabs are legal in many
 * places, so that only one on the very line of the error is taken for it. */
static const struct cause *find_cause(const struct doc *doc, uint32_t line, struct pos *ret_at)
{
    static const struct cause causes[] = {
        {"\t", true, false, "a tab is used as indentation", "indent with spaces"},
        {"\xc2\xa0", true, true, "a no-break space (U+00A0) is used as indentation",
         "replace it with spaces"},
        {"...", false, false, "\"...\" ends a document, but no document has started",
         "remove this line"},
        {"```", true, false, "the file contains a Markdown code fence", "remove this line"},
        {"<<<<<<< ", false, true, "the file contains a merge conflict marker",
         "resolve the conflict"},
        {"+", false, true, "the file contains a diff marker \"+\"",
         "remove the first column of the pasted diff"},
    };
    const char *p = doc->source, *end = p + doc->source_len;

    for (uint32_t n = 1; p < end && n <= line; n++) {
        const char *eol = memchr(p, '\n', (size_t)(end - p));
        size_t spaces = strspn(p, " ");

        for (size_t i = 0; i < ARRAY_SIZE(causes); i++) {
            const struct cause *c = &causes[i];
            size_t skip = c->indented ? spaces : 0;

            if ((c->anywhere || n == line) &&
                strncmp(p + skip, c->starts, strlen(c->starts)) == 0) {
                *ret_at = (struct pos){n, (uint32_t)skip + 1};
                return c;
            }
        }
        p = eol ? eol + 1 : end;
    }
    return NULL;
}

/* libyaml's words for what happens most, in ours. at_context: the beginning is the better place. */
static const struct phrase {
    const char *problem;
    bool at_context, no_colon;
    const char *message, *hint;
} phrases[] = {
    {"mapping values are not allowed", false, false, "unexpected ':'",
     "quote the text, or check the indentation of this line and the line above"},
    {"did not find expected key", false, false, "expected a key or the end of the mapping",
     "keys of a mapping must start in the same column"},
    {"did not find expected '-' indicator", false, false, "expected \"- \" or the end of the list",
     "items of a list must start in the same column"},
    {"could not find expected ':'", true, true, "expected ':' after this key",
     "write \"key: value\", or quote the text"},
    {"found unexpected end of stream", true, false, "unterminated quoted string",
     "add the closing quote"},
    {"found unexpected document indicator", true, false, "unterminated quoted string",
     "add the closing quote"},
    {"did not find expected ',' or ']'", false, false, "expected ',' or ']'", NULL},
    {"did not find expected ',' or '}'", false, false, "expected ',' or '}'", NULL},
    {"found character that cannot start any token", false, false,
     "this character cannot start a value", "quote the value"},
    {"did not find expected alphabetic or numeric character", false, false,
     "`*` and `&` are special characters here", "quote the value"},
    {"found unexpected ':'", false, false, "unexpected ':' without a space after it",
     "add a space after it, or quote the text"},
    {"found unknown escape character", false, false, "unknown escape in a double-quoted string",
     "write \\\\ for a backslash, or use single quotes"},
};

/* The beginning of a line, or NULL. */
static const char *line_of(const struct doc *doc, uint32_t line)
{
    const char *p = doc->source, *end = p + doc->source_len;

    for (uint32_t n = 1; p && n < line; n++) {
        p = memchr(p, '\n', (size_t)(end - p));
        p = p ? p + 1 : NULL;
    }
    return p;
}

/* The character at a place, in characters as columns are; 0 if there is none. */
static char char_at(const struct doc *doc, struct pos at)
{
    const char *p = line_of(doc, at.line), *end = doc->source + doc->source_len;

    for (uint32_t n = 1; p && p < end && *p != '\n'; p++) {
        if (((unsigned char)*p & 0xc0) == 0x80) /* inside a character */
            continue;
        if (n++ == at.column)
            return *p;
    }
    return 0;
}

/* A line that became one text with the next because its own ':' is not there, or has no blank
 * behind it. */
static const char *joined_line_hint(struct arena *a, const struct doc *doc, struct pos at)
{
    const char *line = doc->source, *next = line, *end = line + doc->source_len, *colon;
    uint32_t number = 1;
    size_t len;

    for (uint32_t n = 1; n < at.line && next < end; n++) {
        const char *eol = memchr(next, '\n', (size_t)(end - next));

        if (next[strspn(next, " ")] != '\n') { /* an empty line is not the one */
            line = next;
            number = n;
        }
        next = eol ? eol + 1 : end;
    }
    len = strcspn(line, "\n");
    if (line == next || strspn(line, " ") != strspn(next, " ") ||
        strchr("-#", line[strspn(line, " ")]))
        return NULL;
    colon = memchr(line, ':', len);
    if (colon && colon + 1 < line + len && colon[1] != ' ')
        return arena_printf(a, "missing space after ':' in line %u", number);
    return colon ? NULL : arena_printf(a, "missing ':' in line %u", number);
}

/* The line of a word that is no key, for want of a blank or of an indentation. */
static const char *no_colon_hint(const struct doc *doc, struct pos at)
{
    const char *line = doc->source, *end = line + doc->source_len, *before = NULL;
    size_t n, len;

    for (uint32_t i = 1; i < at.line && line < end; i++) {
        const char *eol = memchr(line, '\n', (size_t)(end - line));

        before = line;
        line = eol ? eol + 1 : end;
    }
    len = strcspn(line, "\n");
    n = strspn(line, " ");
    if (line[n] == '-' && n + 1 < len && !strchr("- ", line[n + 1]))
        return "add a space after '-'";
    n += strcspn(line + n, ": \n");
    if (line[n] == ':' && n + 1 < len)
        return "add a space after ':'";
    n = before ? (size_t)(line - before) - 1 : 0;
    while (n > 0 && strchr(" -+\r", before[n - 1]))
        n--;
    if (n > 1 && strchr("|>", before[n - 1]) && before[n - 2] == ' ')
        return "indent the text deeper than the line with `|` or `>`";
    return NULL;
}

/* ["say "hi""]: what follows a closing quote at once shows that the quote was not meant to close.
 */
static bool closed_too_early(const struct doc *doc, const struct yaml_problem *p)
{
    static const char start[] = "did not find expected ','";
    struct pos before = {p->at.line, p->at.column - 1};

    return strncmp(p->problem, start, strlen(start)) == 0 && p->at.column > 1 &&
           char_at(doc, before) == '"';
}

/* A line of dots where documents leave something out. */
static bool is_left_out(const struct doc *doc, struct pos at)
{
    const char *p = at.line ? line_of(doc, at.line) : NULL;
    size_t dots;

    if (!p)
        return false;
    p += strspn(p, " ");
    dots = strspn(p, ".");
    return dots > 1 && strchr("\r\n", p[dots]);
}

/* What was meant, where a line of dots or a single character tells it. */
static bool report_meant(const struct doc *doc, const struct yaml_problem *p, struct diags *ds)
{
    struct pos at = p->at;

    if (is_left_out(doc, p->context_at)) {
        diag_pos(ds, p->context_at, "", "E0001", "replace them with the real content",
                 "\"...\" is a placeholder for omitted content");
        return true;
    }
    if (closed_too_early(doc, p)) {
        at.column--;
        diag_pos(ds, at, "", "E0001",
                 "write \\\" for a quote inside the string, or use single quotes",
                 "unexpected text after the closing quote");
        return true;
    }
    return false;
}

void yaml_report_syntax(const struct doc *doc, const struct yaml_problem *p, struct diags *ds)
{
    struct pos at = p->at.line ? p->at : p->context_at;
    const struct cause *cause = find_cause(doc, at.line, &at);
    const char *hint;

    if (cause) {
        diag_pos(ds, at, "", "E0001", cause->hint, "%s", cause->message);
        return;
    }
    if (report_meant(doc, p, ds))
        return;
    if (!at.line)
        at = (struct pos){1, 1};
    for (size_t i = 0; i < ARRAY_SIZE(phrases); i++) {
        const struct phrase *ph = &phrases[i];

        if (strncmp(p->problem, ph->problem, strlen(ph->problem)) != 0)
            continue;
        if (ph->at_context && p->context_at.line)
            at = p->context_at;
        hint = i == 0         ? joined_line_hint(ds->arena, doc, at)
               : ph->no_colon ? no_colon_hint(doc, at)
                              : NULL;
        hint = hint ? hint : ph->hint;
        if (!hint && p->context_at.line)
            hint = arena_printf(ds->arena, "for what was opened at %u:%u", p->context_at.line,
                                p->context_at.column);
        diag_pos(ds, at, "", "E0001", hint, "%s", ph->message);
        return;
    }
    diag_pos(ds, at, "", "E0001", NULL, "%s%s%s", p->context ? p->context : "",
             p->context ? ": " : "", p->problem);
}
