/* json_text.c - see json_text.h. */
#include "doc/json_text.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/limits.h"
#include "base/num.h"
#include "base/utf8.h"
#include "doc/text.h"

/* --- places and faults ---------------------------------------------------------------------- */

struct pos json_pos(struct json_in *in)
{
    const char *s = in->mark;
    struct pos pos = in->mark_pos;

    while (s < in->p) {
        unsigned char c = (unsigned char)*s;
        size_t brk = c >= 0x20 && c < 0x80 ? 0 : text_line_break(s, (size_t)(in->end - s));

        if (brk) {
            pos = (struct pos){pos.line + 1, 1};
            s += brk;
        } else {
            pos.column += (c & 0xc0) != 0x80;
            s++;
        }
    }
    in->mark = s;
    in->mark_pos = pos;
    return pos;
}

void json_fault(struct json_in *in, struct pos pos, const char *code, const char *hint,
                const char *message)
{
    in->b.doc->broken = true;
    if (in->b.stop)
        return;
    if (++in->n_faults > LIMIT_SYNTAX_FAULTS)
        build_stop(&in->b, pos, "errors in the text", LIMIT_SYNTAX_FAULTS);
    else
        diag_pos(in->b.ds, pos, "", code, hint, "%s", message);
}

void json_stop(struct json_in *in, struct pos pos, const char *code, const char *hint,
               const char *message)
{
    json_fault(in, pos, code, hint, message);
    in->b.stop = true;
}

const char *json_shown(struct json_in *in, const struct node *node)
{
    for (const struct node *n = node; n; n = n->parent) {
        if (n->parent_key && n->parent_key != n->text &&
            (strcmp(n->parent_key, "secrets") == 0 || strcmp(n->parent_key, "auth") == 0))
            return "…";
    }
    return arena_printf(in->b.a, "%.60s", node->text);
}

static size_t left(const struct json_in *in)
{
    return (size_t)(in->end - in->p);
}

static bool at(const struct json_in *in, const char *text)
{
    size_t n = strlen(text);

    return left(in) >= n && memcmp(in->p, text, n) == 0;
}

/* --- between the values --------------------------------------------------------------------- */

static void skip_line(struct json_in *in)
{
    while (in->p < in->end && *in->p != '\n' && *in->p != '\r')
        in->p++;
}

static void skip_comment(struct json_in *in)
{
    static const char hint[] = "write // or /* */", none[] = "remove the comment";
    struct pos pos = json_pos(in);
    const char *end;

    if (*in->p == '#')
        json_fault(in, pos, "E0130", in->comments ? hint : none, "JSON has no `#` comments");
    else if (!in->comments)
        json_fault(in, pos, "E0130", none, "a comment is not allowed here");
    if (*in->p == '#' || in->p[1] == '/') {
        skip_line(in);
        return;
    }
    end = memmem(in->p + 2, left(in) - 2, "*/", 2);
    if (end) {
        in->p = end + 2;
    } else {
        in->p = in->end;
        if (!in->quiet)
            json_stop(in, pos, "E0130", "add */", "unterminated comment");
        in->b.stop = true;
    }
}

/* Characters that look like a blank, as web pages and word processors leave them. */
static bool skip_odd_blank(struct json_in *in)
{
    static const struct {
        const char *bytes, *message;
    } blanks[] = {
        {"\xc2\xa0", "no-break space (U+00A0) is not allowed in JSON"},
        {"\xe2\x80\xaf", "narrow no-break space (U+202F) is not allowed in JSON"},
        {"\xe3\x80\x80", "ideographic space (U+3000) is not allowed in JSON"},
        {"\xe2\x80\x8b", "zero width space (U+200B) is not allowed in JSON"},
        {"\xef\xbb\xbf", "byte order mark (U+FEFF) is not allowed in JSON"},
    };

    for (size_t i = 0; i < ARRAY_SIZE(blanks); i++) {
        if (at(in, blanks[i].bytes)) {
            json_fault(in, json_pos(in), "E0120", "replace it with a space", blanks[i].message);
            while (at(in, blanks[i].bytes))
                in->p += strlen(blanks[i].bytes);
            return true;
        }
    }
    return false;
}

char json_blanks(struct json_in *in)
{
    while (in->p < in->end && !in->b.stop) {
        char c = *in->p;

        if (c == ' ' || c == '\t' || c == '\n' || c == '\r')
            in->p++;
        else if (c == '#' || at(in, "//") || at(in, "/*"))
            skip_comment(in);
        else if ((c & 0x80) == 0 || !skip_odd_blank(in))
            return c;
    }
    return '\0';
}

bool json_dots(struct json_in *in)
{
    static const char hint[] = "put in what was left out, or remove it";

    if (!at(in, "...") && !at(in, "…"))
        return false;
    json_fault(in, json_pos(in), "E0120", hint, "\"...\" is not JSON");
    if (*in->p == '.') {
        while (in->p < in->end && *in->p == '.')
            in->p++;
    } else {
        in->p += strlen("…");
    }
    return true;
}

/* --- strings -------------------------------------------------------------------------------- */

static void add_utf8(struct strbuf *sb, uint32_t c)
{
    if (c < 0x80) {
        strbuf_addch(sb, (char)c);
        return;
    }
    if (c < 0x800) {
        strbuf_addch(sb, (char)(0xc0 | c >> 6));
    } else {
        if (c < 0x10000) {
            strbuf_addch(sb, (char)(0xe0 | c >> 12));
        } else {
            strbuf_addch(sb, (char)(0xf0 | c >> 18));
            strbuf_addch(sb, (char)(0x80 | (c >> 12 & 0x3f)));
        }
        strbuf_addch(sb, (char)(0x80 | (c >> 6 & 0x3f)));
    }
    strbuf_addch(sb, (char)(0x80 | (c & 0x3f)));
}

/* The unit that \uXXXX at s stands for, or -1. */
static int32_t unit(const char *s, const char *end)
{
    int32_t v = 0;

    if (end - s < 6 || s[0] != '\\' || s[1] != 'u')
        return -1;
    for (int i = 2; i < 6; i++) {
        char c = s[i];

        if (c >= '0' && c <= '9')
            v = v * 16 + (c - '0');
        else if ((c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F'))
            v = v * 16 + ((c | 0x20) - 'a' + 10);
        else
            return -1;
    }
    return v;
}

static bool is_high(int32_t u)
{
    return u >= 0xd800 && u < 0xdc00;
}

static bool is_low(int32_t u)
{
    return u >= 0xdc00 && u < 0xe000;
}

static void read_unicode(struct json_in *in)
{
    int32_t first = unit(in->p, in->end), second;

    if (first < 0) {
        json_fault(in, json_pos(in), "E0126", NULL, "\\u needs four hexadecimal digits");
        in->p += 2;
        return;
    }
    second = is_high(first) ? unit(in->p + 6, in->end) : -1;
    if (is_low(second)) {
        add_utf8(&in->text,
                 0x10000 + ((uint32_t)(first - 0xd800) << 10) + (uint32_t)(second - 0xdc00));
        in->p += 12;
        return;
    }
    if (is_high(first) || is_low(first)) {
        json_fault(in, json_pos(in), "E0126",
                   "characters above U+FFFF are written as two \\u escapes",
                   arena_printf(in->b.a, "unpaired surrogate \\u%04x", (unsigned int)first));
        first = 0xfffd;
    }
    add_utf8(&in->text, (uint32_t)first);
    in->p += 6;
}

static void read_escape(struct json_in *in)
{
    static const char names[] = "\"\\/bfnrt", meant[] = "\"\\/\b\f\n\r\t";
    char c = left(in) > 1 ? in->p[1] : '\n';
    const char *name = c ? strchr(names, c) : NULL;

    if (name) {
        strbuf_addch(&in->text, meant[name - names]);
        in->p += 2;
    } else if (c == 'u') {
        read_unicode(in);
    } else {
        uint32_t ignored;
        size_t n = left(in) > 1 ? utf8_decode(in->p + 1, left(in) - 1, &ignored) : 0;

        if (c != '\n' && c != '\r') /* else the string does not end, which is told */
            json_fault(in, json_pos(in), "E0126", "write \\\\ for a backslash",
                       arena_printf(in->b.a, "unknown escape \\%.*s", (int)n, in->p + 1));
        in->p++;
    }
}

void json_string(struct json_in *in, struct node *node)
{
    strbuf_truncate(&in->text, 0);
    in->p++;
    for (;;) {
        const char *run = in->p;

        while (in->p < in->end && *in->p != '"' && *in->p != '\\' && (unsigned char)*in->p >= 0x20)
            in->p++;
        strbuf_add(&in->text, run, (size_t)(in->p - run));
        if (in->p == in->end || *in->p == '\n' || *in->p == '\r') {
            if (in->p < in->end || !in->quiet)
                json_fault(in, node->pos, "E0125", "add the closing quote; write \\n for a newline",
                           "unterminated string");
            in->b.stop = true;
            break;
        }
        if (*in->p == '"') {
            in->p++;
            break;
        }
        if (*in->p == '\\') {
            read_escape(in);
        } else {
            json_fault(in, json_pos(in), "E0126", "write \\t", "a tab is not allowed in a string");
            strbuf_addch(&in->text, *in->p++);
        }
    }
    node->type = NODE_STRING;
    node->quoted = true;
    node->text = arena_strndup(in->b.a, in->text.buf, in->text.len);
    node->len = in->text.len;
}

/* --- numbers and words ---------------------------------------------------------------------- */

static void set_text(struct json_in *in, struct node *node, enum node_type type, const char *s,
                     size_t n)
{
    node->type = type;
    node->text = arena_strndup(in->b.a, s, n);
    node->len = n;
}

/* Text in quotes of another kind, as far as they are closed on the line. */
static bool read_other_quotes(struct json_in *in, struct node *node, const char *what)
{
    static const char *const quotes[][2] = {{"'", "'"}, {"`", "`"}, {"“", "”"},
                                            {"‘", "’"}, {"„", "“"}, {"«", "»"}};

    for (size_t i = 0; i < ARRAY_SIZE(quotes); i++) {
        size_t n = strlen(quotes[i][0]), line;
        const char *start = in->p + n, *close;

        if (!at(in, quotes[i][0]))
            continue;
        json_fault(in, node->pos, "E0123", "write \"…\"",
                   arena_printf(in->b.a, "%s must be in double quotes", what));
        skip_line(in);
        line = start < in->p ? (size_t)(in->p - start) : 0;
        close = memmem(start, line, quotes[i][1], strlen(quotes[i][1]));
        if (close) {
            set_text(in, node, NODE_STRING, start, (size_t)(close - start));
            in->p = close + strlen(quotes[i][1]);
        } else {
            in->b.stop = true;
        }
        return true;
    }
    return false;
}

static size_t digits(const char *s)
{
    return strspn(s, "0123456789");
}

/* -? ( 0 | [1-9][0-9]* ) ( \. [0-9]+ )? ( [eE] [-+]? [0-9]+ )? */
static bool is_number(const char *s, bool *ret_whole)
{
    s += *s == '-';
    if (!digits(s) || (*s == '0' && digits(s) > 1))
        return false;
    s += digits(s);
    *ret_whole = !*s;
    if (*s == '.') {
        if (!digits(++s))
            return false;
        s += digits(s);
    }
    if (*s == 'e' || *s == 'E') {
        s++;
        s += *s == '-' || *s == '+';
        if (!digits(s))
            return false;
        s += digits(s);
    }
    return !*s;
}

static const char *number_hint(const char *s)
{
    const char *d = s + (*s == '-' || *s == '+');

    if (*s == '+')
        return "remove the plus sign";
    if (*d == '0' && digits(d) > 1 && !d[digits(d)])
        return "remove the leading zeros";
    if (*d == '.')
        return "write a digit before the point";
    return "put it in double quotes if it is a string";
}

/* Types what begins like a number from its text. */
static void type_number(struct json_in *in, struct node *node)
{
    bool whole = false;

    if (!is_number(node->text, &whole)) {
        json_fault(in, node->pos, "E0127", number_hint(node->text),
                   arena_printf(in->b.a, "%s is not a JSON number", json_shown(in, node)));
        return;
    }
    if (whole && num_i64(node->text, &node->i) == 0) {
        node->type = NODE_INT;
        return;
    }
    node->type = NODE_FLOAT;
    node->f = strtod(node->text, NULL);
    if (!isfinite(node->f)) {
        node->f = 0;
        json_fault(in, node->pos, "E0127", NULL, "this number is too large");
    }
}

static void type_word(struct json_in *in, struct node *node, const char *what)
{
    static const struct {
        const char *word, *hint; /* no hint: a word of JSON */
        enum node_type type;
        int64_t i;
    } words[] = {
        {"true", NULL, NODE_BOOL, 1},
        {"false", NULL, NODE_BOOL, 0},
        {"null", NULL, NODE_NULL, 0},
        {"True", "write true", NODE_BOOL, 1},
        {"TRUE", "write true", NODE_BOOL, 1},
        {"False", "write false", NODE_BOOL, 0},
        {"FALSE", "write false", NODE_BOOL, 0},
        {"None", "write null", NODE_NULL, 0},
        {"Null", "write null", NODE_NULL, 0},
        {"NULL", "write null", NODE_NULL, 0},
        {"nil", "write null", NODE_NULL, 0},
        {"undefined", "write null", NODE_NULL, 0},
        {"NaN", "not a JSON number", NODE_NULL, 0},
        {"Infinity", "not a JSON number", NODE_NULL, 0},
    };

    for (size_t i = 0; i < ARRAY_SIZE(words); i++) {
        if (strcmp(node->text, words[i].word) != 0)
            continue;
        node->type = words[i].type;
        node->i = words[i].i;
        if (words[i].hint)
            json_fault(in, node->pos, "E0132", words[i].hint,
                       arena_printf(in->b.a, "%s is not a JSON literal", node->text));
        return;
    }
    json_fault(in, node->pos, "E0123", arena_printf(in->b.a, "write \"%s\"", json_shown(in, node)),
               arena_printf(in->b.a, "%s must be in double quotes", what));
}

void json_word(struct json_in *in, struct node *node, const char *what)
{
    const char *s = in->p;
    bool key = strcmp(what, "keys") == 0;

    if (read_other_quotes(in, node, what))
        return;
    while (in->p < in->end && (unsigned char)*in->p > ' ' && !strchr(",:[]{}\"", *in->p))
        in->p++;
    /* A comment may follow a word without a blank; a lone slash belongs to it. */
    for (const char *c = s; c + 1 < in->p; c++) {
        if (c > s && c[0] == '/' && (c[1] == '/' || c[1] == '*'))
            in->p = c;
    }
    set_text(in, node, NODE_STRING, s, (size_t)(in->p - s));
    if (key)
        json_fault(in, node->pos, "E0123", arena_printf(in->b.a, "write \"%.60s\"", node->text),
                   "keys must be in double quotes");
    else if (strchr("0123456789-+.", *s))
        type_number(in, node);
    else
        type_word(in, node, what);
}
