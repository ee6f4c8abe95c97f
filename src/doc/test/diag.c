/* diag.c - diagnostics: counted, sorted, and shown below the line they are about. */
#include "doc/diag.h"

#include <stdlib.h>
#include <string.h>

#include "base/limits.h"
#include "base/strbuf.h"
#include "base/tap.h"

/* The line of `source` with a diagnostic at its column, as a person sees it. */
static char *shown(struct arena *a, const char *source, unsigned int line, unsigned int column)
{
    struct doc doc = {.file = "x", .source = source, .source_len = strlen(source)};
    struct diags ds;
    char *text, *second;
    size_t n;
    FILE *f = open_memstream(&text, &n);

    diags_init(&ds, a);
    diag_pos(&ds, (struct pos){line, column}, "", "E0101", NULL, "wrong");
    diag_print(f, "x", &doc, &ds.v[0], false);
    diags_release(&ds);
    fclose(f);
    second = strchr(text, '\n');
    second = arena_strdup(a, second ? second + 1 : "");
    free(text);
    return second;
}

static void test_shown(struct arena *a)
{
    static const struct {
        const char *source;
        unsigned int line, column;
        const char *want;
    } rows[] = {
        {"a: 1\nb: two\n", 2, 4, "    2 | b: two\n      |    ^~~\n"},
        {"a: 1\nb: two", 2, 4, "    2 | b: two\n      |    ^~~\n"},
        {"a: 1\r\nb: 2\r\n", 2, 1, "    2 | b: 2\n      | ^\n"},
        {"a:\tb\n", 1, 4, "    1 | a:    b\n      |       ^\n"},
        {"\tb\n", 1, 1, "    1 |     b\n      | ^\n"},
        {"日本: x\n", 1, 5, "    1 | 日本: x\n      |       ^\n"},
        {"e\xcc\x81: x\n", 1, 5, "    1 | e\xcc\x81: x\n      |    ^\n"},
        {"a: \x1b[31mx\n", 1, 9, "    1 | a: \\x1b[31mx\n      |            ^\n"},
        {"a: \xffz\n", 1, 5, "    1 | a: \\xffz\n      |        ^\n"},
        {"a:\n", 1, 3, "    1 | a:\n      |   ^\n"},
        {"", 1, 1, "    1 | \n      | ^\n"},
        {"a\n", 7, 1, ""},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
        is_str(shown(a, rows[i].source, rows[i].line, rows[i].column), rows[i].want, "line %zu", i);
}

static void test_long_line(struct arena *a)
{
    auto_strbuf struct strbuf sb = STRBUF_INIT;
    char *text;

    for (int i = 0; i < 5000; i++)
        strbuf_addstr(&sb, i == 3000 ? "X" : " ");
    text = shown(a, sb.buf, 1, 3001);
    ok(strlen(text) < 300, "a long line is cut");
    has(text, "X", "around its place");
    is_int(strchr(strchr(text, '\n') + 1, '^') - strchr(text, '\n') - 1,
           strchr(text, 'X') - text - (long)strlen("…") + 1, "and the caret stands below it");
}

static void test_collecting(struct arena *a)
{
    struct diags ds;
    struct diag *d;

    diags_init(&ds, a);
    diag_pos(&ds, (struct pos){0, 0}, "", "N0301", NULL, "nowhere");
    diag_pos(&ds, (struct pos){9, 1}, "", "W0101", NULL, "late");
    d = diag_pos(&ds, (struct pos){2, 5}, ".a", "E0101", "do\x1b", "with \x1b[31m %s", "é");
    is_str(d->message, "with \\x1b[31m é", "texts from a file cannot act on a terminal");
    is_str(d->hint, "do\\x1b", "nor can hints");
    diag_pos(&ds, (struct pos){2, 5}, "", "E0102", NULL, "second at the same place");
    ok(ds.n_errors == 2 && ds.n_warnings == 1, "counted by severity");
    diags_sort(&ds);
    is_str(ds.v[0].code, "E0101", "sorted by place");
    is_str(ds.v[1].code, "E0102", "in order where the place is the same");
    is_str(ds.v[3].code, "N0301", "without a place last");
    diag_pos(&ds, (struct pos){2, 5}, ".b", "E0102", NULL, "second at the same place");
    diag_pos(&ds, (struct pos){2, 5}, ".b", "E0102", NULL, "third at the same place");
    diag_pos(&ds, (struct pos){9, 1}, "", "W0101", NULL, "late");
    diag_pos(&ds, (struct pos){0, 0}, "", "N0301", NULL, "nowhere");
    diags_sort(&ds);
    ok(ds.n == 6 && ds.n_errors == 3 && ds.n_warnings == 1, "what is found twice is told once");
    ds.n = 4; /* as before */
    ds.n_errors = 2;
    for (int i = 0; i < 2 * LIMIT_DIAGS; i++)
        d = diag_pos(&ds, (struct pos){1, 1}, "", "E0101", NULL, "again");
    ok(!d && ds.n == LIMIT_DIAGS, "no more than the limit are kept");
    is_int(ds.n_errors, 2 + 2 * LIMIT_DIAGS, "all are counted");
    is_int(ds.n_dropped, 4 + LIMIT_DIAGS, "and the rest is known");
    diags_release(&ds);
}

int main(void)
{
    auto_arena struct arena *a = arena_new();

    test_shown(a);
    test_long_line(a);
    test_collecting(a);
    return tap_done();
}
