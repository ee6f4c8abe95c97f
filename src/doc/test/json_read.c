/* json_read.c - JSON text into trees: types, places, and what is wrong with a text and where. */
#include "doc/json_read.h"

#include <stdio.h>
#include <string.h>

#include "base/limits.h"
#include "base/strbuf.h"
#include "base/tap.h"

struct read {
    struct arena *a;
    struct diags ds;
    struct doc doc;
    const struct node *root;
};

static void read_text(struct read *rd, const char *text, size_t len, bool comments)
{
    rd->a = arena_new();
    diags_init(&rd->ds, rd->a);
    json_read(rd->a, "x.json", text, len, comments, &rd->ds, &rd->doc);
    rd->root = rd->doc.roots[0];
}

static void read_done(struct read *rd)
{
    diags_release(&rd->ds);
    arena_free(rd->a);
}

static void test_types(void)
{
    static const struct {
        const char *text;
        enum node_type type;
        int64_t i;
        double f;
    } rows[] = {
        {"null", NODE_NULL, 0, 0},
        {"true", NODE_BOOL, 1, 0},
        {"false", NODE_BOOL, 0, 0},
        {"0", NODE_INT, 0, 0},
        {"-0", NODE_INT, 0, 0},
        {"-17", NODE_INT, -17, 0},
        {"9223372036854775807", NODE_INT, INT64_MAX, 0},
        {"-9223372036854775808", NODE_INT, INT64_MIN, 0},
        {"9223372036854775808", NODE_FLOAT, 0, 9223372036854775808.0},
        {"1.5", NODE_FLOAT, 0, 1.5},
        {"-2E+3", NODE_FLOAT, 0, -2000},
        {"1e-400", NODE_FLOAT, 0, 0},
        {"\"12\"", NODE_STRING, 0, 0},
        {"{}", NODE_MAP, 0, 0},
        {"[ ]", NODE_SEQ, 0, 0},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        struct read rd;

        read_text(&rd, rows[i].text, strlen(rows[i].text), false);
        ok(rd.root->type == rows[i].type && rd.root->i == rows[i].i && rd.root->f == rows[i].f,
           "%s is %s", rows[i].text, node_type_words(rows[i].type));
        ok(rd.ds.n == 0 && !rd.doc.broken && rd.doc.n_roots == 1, "and nothing is told");
        read_done(&rd);
    }
}

static void test_strings(void)
{
    static const struct {
        const char *text, *meant;
        size_t len;
    } rows[] = {
        {"\"\"", "", 0},
        {"\"a\\\"\\\\\\/\\b\\f\\n\\r\\tz\"", "a\"\\/\b\f\n\r\tz", 10},
        {"\"\\u00e9\\u65E5\"", "é日", 5},
        {"\"\\ud83d\\uDE00!\"", "😀!", 5},
        {"\"a\\u0000b\"", "a\0b", 3},
        {"\"\x7f é\xe2\x80\xa8\"", "\x7f é\xe2\x80\xa8", 7},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        struct read rd;

        read_text(&rd, rows[i].text, strlen(rows[i].text), false);
        ok(rd.root->type == NODE_STRING && rd.root->len == rows[i].len &&
               memcmp(rd.root->text, rows[i].meant, rows[i].len) == 0,
           "string %zu", i);
        ok(rd.root->quoted && rd.ds.n == 0, "is quoted, and nothing is told");
        read_done(&rd);
    }
}

static void test_places(void)
{
    static const char text[] = "\xef\xbb\xbf// first\r\n"
                               "{\r\n"
                               "  \"spec\": {\"日本\": [1, /* two */ \"é\", {\"x\": null}]},\r\n"
                               "  \"last\": true // end\r\n"
                               "}\r\n";
    const struct node *n;
    struct read rd;

    read_text(&rd, text, strlen(text), true);
    is_int(rd.ds.n, 0, "a good text");
    ok(rd.root->pos.line == 2 && rd.root->pos.column == 1, "the root stands at its bracket");
    n = node_find(rd.root, "spec", "日本", NULL)->items[2];
    ok(n->pos.line == 3 && n->pos.column == 37, "columns count characters");
    is_str(node_path(rd.a, node_get(n, "x")), ".spec[\"日本\"][2].x", "a path");
    ok(node_label(node_get(rd.root, "last"))->pos.column == 3, "a key at its quote");
    ok(node_get(rd.root, "last")->pos.line == 4, "CRLF is one line end");
    read_done(&rd);
}

/* Each text has one thing wrong, at one place. */
static void test_wrong(void)
{
    static const struct {
        const char *text;
        const char *code;
        unsigned int line, column;
        bool broken;
        const char *message; /* part of it, or NULL */
    } rows[] = {
        {"{\"a\": 1\n \"b\": 2}", "E0121", 1, 8, true, "the number 1 (detected at 2:2)"},
        {"{\"a\": \"é\" // c\n\n  \"b\": 2}", "E0121", 1, 10, true, "(detected at 3:3)"},
        {"[[1] [2]]", "E0121", 1, 5, true, "a list"},
        {"[1, 2,\n]", "E0122", 1, 6, true, "`]`"},
        {"{\"a\": 1,}", "E0122", 1, 8, true, "`}`"},
        {"[,1]", "E0122", 1, 2, true, NULL},
        {"[1,,2]", "E0122", 1, 4, true, NULL},
        {"{'a': 1}", "E0123", 1, 2, true, "keys must be in double quotes"},
        {"[ 'a' ]", "E0123", 1, 3, true, "strings must be in double quotes"},
        {"[“a”]", "E0123", 1, 2, true, NULL},
        {"{a: 1}", "E0123", 1, 2, true, NULL},
        {"{\"a\": b/c}", "E0123", 1, 7, true, NULL},
        {"['a]", "E0123", 1, 2, true, NULL},
        {"{\"a\": [1,\n{\"b\": 2}\n", "E0124", 3, 1, true,
         "the list opened at 1:7 is not closed (nor"},
        {"{\"a\"", "E0124", 1, 5, true, "the object opened at 1:1 is not closed"},
        {"{\"a\":", "E0124", 1, 6, true, NULL},
        {"{", "E0124", 1, 2, true, NULL},
        {"[\"a\n\", 1]", "E0125", 1, 2, true, "unterminated string"},
        {"[\"a", "E0125", 1, 2, true, NULL},
        {"[\"a\\", "E0125", 1, 2, true, NULL},
        {"{\"a\": \"say \"hi\"\"}", "E0125", 1, 12, true, "after the end of the string"},
        {"[\"a\tb\"]", "E0126", 1, 4, true, "a tab"},
        {"[\"a\\qb\"]", "E0126", 1, 4, true, "\\q"},
        {"[\"\\u12g4\"]", "E0126", 1, 3, true, "four"},
        {"[\"é\\ud83dx\"]", "E0126", 1, 4, true, "\\ud83d"},
        {"[\"\\ud83d\\u0041\"]", "E0126", 1, 3, true, "unpaired surrogate"},
        {"[\"\\ude00\"]", "E0126", 1, 3, true, "unpaired surrogate"},
        {"[01]", "E0127", 1, 2, true, NULL},
        {"[+1]", "E0127", 1, 2, true, NULL},
        {"[.5]", "E0127", 1, 2, true, NULL},
        {"[1.]", "E0127", 1, 2, true, NULL},
        {"[1e]", "E0127", 1, 2, true, NULL},
        {"[-]", "E0127", 1, 2, true, NULL},
        {"[0x10]", "E0127", 1, 2, true, NULL},
        {"[2Gi]", "E0127", 1, 2, true, "2Gi"},
        {"[1e999]", "E0127", 1, 2, true, "too large"},
        {"[1}", "E0128", 1, 3, true, "the list opened at 1:1"},
        {"{\"a\": 1]", "E0128", 1, 8, true, NULL},
        {"{}}", "E0128", 1, 3, true, "unmatched"},
        {"\"jobEnvs\": {\n}", "E0129", 1, 10, true, "outside of any object"},
        {"{} {}", "E0129", 1, 4, true, NULL},
        {"{\"a\": 1,\n ...\n \"b\": 2}", "E0120", 2, 2, true, "\"...\" is not JSON"},
        {"[1, ...]", "E0120", 1, 5, true, NULL},
        {"{\"a\": ...}", "E0120", 1, 7, true, NULL},
        {"{{ x }}", "E0120", 1, 2, true, NULL},
        {"[:]", "E0120", 1, 2, true, NULL},
        {"{\"a\": 1: 2}", "E0120", 1, 8, true, NULL},
        {"[1,\xc2\xa0\xc2\xa0 2]", "E0120", 1, 4, true, "U+00A0"},
        {"]", "E0120", 1, 1, true, NULL},
        {" \n", "E0120", 1, 1, true, NULL},
        {"[1 /* ", "E0130", 1, 4, true, "unterminated comment"},
        {"[1, # x\n2]", "E0130", 1, 5, true, NULL},
        {"{\"a\" 1}", "E0131", 1, 5, true, "missing `:`"},
        {"{\"a\" = 1}", "E0131", 1, 5, true, "missing `:`"},
        {"{\"a\": , \"b\": 1}", "E0131", 1, 5, true, "has no value"},
        {"{\"a\"}", "E0131", 1, 5, true, "has no value"},
        {"[True]", "E0132", 1, 2, true, "True"},
        {"[NaN]", "E0132", 1, 2, true, NULL},
        {"{\"a\": 1, \"b\": 2, \"a\": 3}", "E0007", 1, 18, false, "first at line 1"},
        {"{\"a\": 1, \"b\": 2,\n\"a\": 1}", "W0001", 2, 1, false, "first at line 1"},
        {"{\"\\u0061\": 1, \"a\": true}", "E0007", 1, 15, false, NULL},
        {"{\"a\": {\"x\\u0000y\": 1}, \"a\": {\"x\\u0000z\": 1}}", "E0007", 1, 24, false, NULL},
        {"{\"secrets\": {\"k\": 0x12}}", "E0127", 1, 19, true, "… is not a JSON number"},
        {"{\"auth\": [\"x\" 2]}", "E0121", 1, 14, true, "after a string (detected"},
        {"[\"x\xff\"]", "E0002", 1, 4, true, "byte FF"},
        {"[\"é\x1b\"]", "E0002", 1, 4, true, "control character U+001B"},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        const struct diag *d;
        struct read rd;

        read_text(&rd, rows[i].text, strlen(rows[i].text), true);
        d = rd.ds.n ? &rd.ds.v[0] : &(struct diag){.code = "none", .message = ""};
        is_str(d->code, rows[i].code, "text %zu: %s: %s", i, rows[i].text, d->message);
        is_int(rd.ds.n, 1, "once");
        is_int(d->pos.line, rows[i].line, "line");
        is_int(d->pos.column, rows[i].column, "column");
        is_int(rd.doc.broken, rows[i].broken, "broken");
        has(d->message, rows[i].message ? rows[i].message : "", "what it says");
        read_done(&rd);
    }
}

static void test_nul(void)
{
    static const char text[] = "{\"a\":\n \"x\0y\"}";
    struct read rd;

    read_text(&rd, text, sizeof(text) - 1, true);
    ok(rd.ds.n == 1 && strcmp(rd.ds.v[0].code, "E0002") == 0, "a NUL byte is told, once");
    ok(rd.ds.v[0].pos.line == 2 && rd.ds.v[0].pos.column == 4, "where it is");
    read_done(&rd);
}

/* What is plainly meant is read as it is meant: all of it is told, and the kind of file is seen. */
static void test_several(void)
{
    static const char text[] = "{\n"
                               "  'jobName': \"x\"\n"
                               "  image: None,\n"
                               "  ...\n"
                               "  \"taskRoles\": [{\"n\": 007,}],\n"
                               "}\n";
    static const char *const codes[] = {"E0123", "E0121", "E0123", "E0132",
                                        "E0120", "E0127", "E0122", "E0122"};
    struct read rd;

    read_text(&rd, text, strlen(text), true);
    is_int(rd.ds.n, ARRAY_SIZE(codes), "all faults are told");
    for (size_t i = 0; i < rd.ds.n && i < ARRAY_SIZE(codes); i++)
        is_str(rd.ds.v[i].code, codes[i], "fault %zu: %s", i, rd.ds.v[i].message);
    is_str(node_get(rd.root, "jobName")->text, "x", "what is before and behind them is there");
    is_int(node_get(rd.root, "taskRoles")->n, 1, "in lists too");
    read_done(&rd);
}

static void test_comments(void)
{
    static const char text[] = "// a\n{\"u\": \"http://x/*y*/\", /* b */ \"n\": 1// c\n}";
    struct read rd;

    read_text(&rd, text, strlen(text), true);
    is_int(rd.ds.n, 0, "comments by flag");
    is_str(node_get(rd.root, "u")->text, "http://x/*y*/", "none in a string");
    is_int(node_get(rd.root, "n")->i, 1, "one right behind a number");
    read_done(&rd);
    read_text(&rd, text, strlen(text), false);
    is_int(rd.ds.n, 3, "without the flag each is told");
    is_str(rd.ds.v[0].code, "E0130", "by its code");
    read_done(&rd);
}

static void repeat(struct strbuf *sb, const char *text, int n)
{
    for (int i = 0; i < n; i++)
        strbuf_addstr(sb, text);
}

static void test_limits(void)
{
    auto_strbuf struct strbuf deep = STRBUF_INIT, items = STRBUF_INIT, keys = STRBUF_INIT;
    auto_strbuf struct strbuf faults = STRBUF_INIT, fits = STRBUF_INIT;
    const struct strbuf *all[] = {&deep, &items, &keys, &faults};
    struct read rd;

    repeat(&deep, "[", LIMIT_DEPTH + 1);
    strbuf_addstr(&items, "[0");
    repeat(&items, ",1", LIMIT_NODES);
    strbuf_addstr(&keys, "{\"\": 1");
    for (int i = 0; i < LIMIT_KEYS; i++)
        strbuf_addf(&keys, ",\"%d\":1", i);
    strbuf_addch(&keys, '}');
    strbuf_addch(&faults, '[');
    repeat(&faults, ",", 100);
    for (size_t i = 0; i < ARRAY_SIZE(all); i++) {
        read_text(&rd, all[i]->buf, all[i]->len, true);
        ok(rd.ds.n && strcmp(rd.ds.v[rd.ds.n - 1].code, "E0005") == 0, "limit %zu: %s", i,
           rd.ds.n ? rd.ds.v[rd.ds.n - 1].message : "none");
        ok(rd.doc.broken, "it is broken");
        read_done(&rd);
    }
    repeat(&fits, "[", LIMIT_DEPTH);
    repeat(&fits, "]", LIMIT_DEPTH);
    read_text(&rd, fits.buf, fits.len, true);
    is_int(rd.ds.n, 0, "as deep as allowed");
    read_done(&rd);
}

static void test_looks(void)
{
    static const struct {
        const char *file, *text;
        bool json;
    } rows[] = {
        {"a.json", "a: 1", true},
        {"a.JSONC", "x", true},
        {"a.json", " \n", false},
        {"a.yaml", "{\"a\": 1}", false},
        {"a.yml", "[1]", false},
        {"-", "{\"a\": 1}", true},
        {"job", "\xef\xbb\xbf [", true},
        {"job", "// {\n/* { */ {", true},
        {"job", "/* { ", false},
        {"job", "// {", false},
        {"job", "a: {}", false},
        {"a.json/job", "a: 1", false},
        {"", "", false},
        {"job", "\"a\": {}", false},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
        is_int(json_looks_like(rows[i].file, rows[i].text, strlen(rows[i].text)), rows[i].json,
               "%s with %s", rows[i].file, rows[i].text);
}

int main(void)
{
    test_types();
    test_strings();
    test_places();
    test_wrong();
    test_nul();
    test_several();
    test_comments();
    test_limits();
    test_looks();
    return tap_done();
}
