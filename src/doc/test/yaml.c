/* yaml.c - YAML text into trees: types, places, aliases, merges, and what is wrong with a text. */
#include "doc/yaml.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/limits.h"
#include "base/strbuf.h"
#include "base/tap.h"

struct read {
    struct arena *a;
    struct diags ds;
    struct doc doc;
    int r;
};

static void read_text(struct read *rd, const char *text, size_t len)
{
    rd->a = arena_new();
    diags_init(&rd->ds, rd->a);
    rd->r = yaml_read(rd->a, "x.yaml", text, len, &rd->ds, &rd->doc);
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
    } rows[] = {
        {"", NODE_NULL, 0},
        {"~", NODE_NULL, 0},
        {"null", NODE_NULL, 0},
        {"true", NODE_BOOL, 1},
        {"False", NODE_BOOL, 0},
        {"yes", NODE_STRING, 0},
        {"on", NODE_STRING, 0},
        {"12", NODE_INT, 12},
        {"-7", NODE_INT, -7},
        {"+7", NODE_INT, 7},
        {"0x1F", NODE_INT, 31},
        {"0o17", NODE_INT, 15},
        {"017", NODE_INT, 17},
        {"0x", NODE_STRING, 0},
        {"1_000", NODE_STRING, 0},
        {"1.5", NODE_FLOAT, 0},
        {"1.", NODE_FLOAT, 0},
        {".5", NODE_FLOAT, 0},
        {"1e3", NODE_FLOAT, 0},
        {".inf", NODE_FLOAT, 0},
        {"-.INF", NODE_FLOAT, 0},
        {".nan", NODE_FLOAT, 0},
        {"1e", NODE_STRING, 0},
        {"100m", NODE_STRING, 0},
        {"99999999999999999999", NODE_FLOAT, 0},
        {"\"12\"", NODE_STRING, 0},
        {"'true'", NODE_STRING, 0},
        {"!!str 12", NODE_STRING, 0},
        {"!!int \"12\"", NODE_INT, 12},
        {"! 12", NODE_STRING, 0},
        {"{}", NODE_MAP, 0},
        {"[]", NODE_SEQ, 0},
        {"--", NODE_STRING, 0},
        {"+-1", NODE_STRING, 0},
        {"1:30", NODE_STRING, 0},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        char text[64];
        struct read rd;
        const struct node *v;

        snprintf(text, sizeof(text), "k: %s\n", rows[i].text);
        read_text(&rd, text, strlen(text));
        v = rd.doc.n_roots ? node_get(rd.doc.roots[0], "k") : NULL;
        ok(v && v->type == rows[i].type && v->i == rows[i].i, "%s is %s", rows[i].text,
           node_type_words(rows[i].type));
        read_done(&rd);
    }
}

static void test_places(void)
{
    static const char text[] = "# first\n"
                               "spec:\n"
                               "  worker: {replicas: 5}\n"
                               "  \"日本\": [a, 'é', b]\n"
                               "  list:\n"
                               "  - name: x\n"
                               "  - |\n"
                               "    two\n"
                               "    lines\n";
    struct read rd;
    const struct node *root, *n;

    read_text(&rd, text, strlen(text));
    root = rd.doc.roots[0];
    is_int(rd.r, 0, "a good text");
    ok(root->pos.line == 2 && root->pos.column == 1, "the root stands at its first key");
    n = node_find(root, "spec", "worker", "replicas", NULL);
    ok(n->pos.line == 3 && n->pos.column == 22, "a value at its first character");
    is_str(node_path(rd.a, n), ".spec.worker.replicas", "its path");
    ok(node_label(n)->pos.column == 12, "its key");
    n = node_find(root, "spec", "日本", NULL)->items[2];
    ok(n->pos.line == 4 && n->pos.column == 18, "columns count characters");
    is_str(node_path(rd.a, n), ".spec[\"日本\"][2]", "the path of an item");
    n = node_find(root, "spec", "list", NULL);
    ok(n->pos.line == 6 && n->pos.column == 3, "a list at its first dash");
    is_str(n->items[1]->text, "two\nlines\n", "a block");
    ok(n->items[1]->quoted, "counts as quoted");
    is_str(node_path(rd.a, root), ".", "the root's path");
    ok(!node_find(root, "spec", "none", "x", NULL), "what is not there");
    read_done(&rd);
}

static void test_aliases(void)
{
    static const char text[] = "base: &b {x: 1, y: {z: 2}}\n"
                               "copy: *b\n"
                               "merged:\n"
                               "  <<: [*b, {x: 8, w: 9}]\n"
                               "  y: 3\n";
    struct read rd;
    const struct node *copy, *merged;

    read_text(&rd, text, strlen(text));
    is_int(rd.r, 0, "anchors and merges");
    copy = node_get(rd.doc.roots[0], "copy");
    merged = node_get(rd.doc.roots[0], "merged");
    ok(node_equal(copy, node_get(rd.doc.roots[0], "base")), "an alias is a copy");
    ok(copy->pos.line == 2 && copy->pos.column == 7, "that stands where the alias does");
    is_str(node_path(rd.a, node_find(copy, "y", "z", NULL)), ".copy.y.z", "and has its own path");
    is_int(node_get(merged, "y")->i, 3, "a key of one's own wins over a merged one");
    is_int(node_get(merged, "x")->i, 1, "an earlier merge over a later one");
    is_int(node_get(merged, "w")->i, 9, "the rest is merged");
    is_int(merged->n, 3, "and that is all");
    read_done(&rd);
}

static void test_documents(void)
{
    static const char text[] = "\xef\xbb\xbf"
                               "a: 1\n---\n...\n---\nb: &x 2\n---\nc: *x\n";
    struct read rd;

    read_text(&rd, text, strlen(text));
    is_int(rd.doc.n_roots, 4, "several documents, one of them empty");
    ok(rd.doc.roots[0]->pos.column == 1, "a byte order mark is no column");
    is_int(rd.doc.roots[1]->type, NODE_NULL, "the empty one");
    ok(rd.r == -EINVAL && rd.ds.n_errors == 1, "anchors end with their document");
    read_done(&rd);
}

/* Each text has one thing wrong, at one place. */
static void test_wrong(void)
{
    static const struct {
        const char *text;
        unsigned int len; /* 0: strlen */
        const char *code;
        unsigned int line, column;
        bool broken;
    } rows[] = {
        {"a: 1\nb: [1, 2\n", 0, "E0001", 3, 1, true},
        {"a: b: c\n", 0, "E0001", 1, 5, true},
        {"a:\n\tb: 1\n", 0, "E0001", 2, 1, true},
        {"a: 1\n\xc2\xa0 b: 2\n c: 3\n", 0, "E0001", 2, 1, true},
        {"a: 1\n+b: 2\n  c: 3\n", 0, "E0001", 2, 1, true},
        {"...\na: 1\n", 0, "E0001", 1, 1, true},
        {"a: \"never ends\nb: 2\n", 0, "E0001", 1, 4, true},
        {"a: @x\n", 0, "E0001", 1, 4, true},
        {"a:\n  [\"\xc3\xa9 \"b\" c\"]\n", 0, "E0001", 2, 7, true},
        {"a: {b: \"x\"y}\n", 0, "E0001", 1, 10, true},
        {"a: [\"b\" \"c\"]\n", 0, "E0001", 1, 9, true},
        {"a: x\xffy\n", 0, "E0002", 1, 5, true},
        {"a: 1\nb: x\0y\n", 11, "E0002", 2, 5, true},
        {"é: 1\nü: x\x1by\n", 0, "E0002", 2, 5, true},
        {"\xff\xfe"
         "a\0",
         4, "E0002", 1, 1, true},
        {"a:\n  b: some text\n  more: c: 1\n", 0, "E0001", 3, 10, true},
        {"a:\n  b: 1\n  ...\n", 0, "E0001", 3, 3, true},
        {"a: {b: 1, c:}\n", 0, "E0001", 1, 12, true},
        {"```yaml\na: 1\n", 0, "E0001", 1, 1, true},
        {"a: *none\n", 0, "E0003", 1, 4, true},
        {"a: &a {b: *a}\n", 0, "E0004", 1, 11, true},
        {"a: 1\nb: 2\na: 3\n", 0, "E0007", 3, 1, false},
        {"a: 1\nb: 2\na: 1\n", 0, "W0001", 3, 1, false},
        {"a: {x: 1, y: [2]}\na: {y: [2], x: 1}\n", 0, "W0001", 2, 1, false},
        {"a: {{ .Name }}\n", 0, "E0008", 1, 5, false},
        {"? [a]\n: 1\n", 0, "E0008", 1, 3, false},
        {"<<: 5\n", 0, "E0107", 1, 5, false},
        {"a: !mine 5\n", 0, "W0002", 1, 4, false},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        size_t len = rows[i].len ? rows[i].len : strlen(rows[i].text);
        const struct diag *d;
        struct read rd;

        read_text(&rd, rows[i].text, len);
        d = rd.ds.n ? &rd.ds.v[0] : &(struct diag){.code = "none"};
        is_str(d->code, rows[i].code, "text %zu: %s", i, rd.ds.n ? d->message : "");
        is_int(rd.ds.n, 1, "once");
        is_int(d->pos.line, rows[i].line, "line");
        is_int(d->pos.column, rows[i].column, "column");
        is_int(rd.doc.broken, rows[i].broken, "broken");
        is_int(rd.r, d->severity == SEV_ERROR ? -EINVAL : 0, "result");
        read_done(&rd);
    }
}

/* A line that has become one with the next. */
static void test_joined(void)
{
    static const struct {
        const char *text, *hint;
    } rows[] = {
        {"a:\n  b 1\n  c: 2\n", "missing ':' in line 2"},
        {"a:\n  b:1\n  c: 2\n", "missing space after ':' in line 2"},
        {"a:\n  b 1\n\n  c: 2\n", "missing ':' in line 2"},
        {"a:\n  - b 1\n    c: 2\n", "quote the text"},
        {"a: b: c\n", "quote the text"},
        {"a: b\n  c: 2\n", "quote the text"},
        {"a:\n  b:1\nc: 2\n", ""},
        {"a: 1\nb:2\nc: 3\n", "add a space after ':'"},
        {"a: 1\n-b\n-c\n", "add a space after '-'"},
        {"a: |\nb c\nd: 1\n", "indent the text deeper"},
        {"a: [*.py]\n", "quote the value"},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        struct read rd;

        read_text(&rd, rows[i].text, strlen(rows[i].text));
        has(rd.ds.n && rd.ds.v[0].hint ? rd.ds.v[0].hint : "", rows[i].hint, "joined lines, %zu",
            i);
        read_done(&rd);
    }
}

static void repeat(struct strbuf *sb, const char *text, int n)
{
    for (int i = 0; i < n; i++)
        strbuf_addstr(sb, text);
}

static void test_limits(void)
{
    auto_strbuf struct strbuf deep = STRBUF_INIT, fits = STRBUF_INIT, laughs = STRBUF_INIT;
    auto_strbuf struct strbuf keys = STRBUF_INIT, docs = STRBUF_INIT, anchors = STRBUF_INIT;
    const struct strbuf *all[] = {&deep, &laughs, &keys, &docs, &anchors};
    struct read rd;

    repeat(&deep, "[", LIMIT_DEPTH + 1);
    strbuf_addstr(&laughs, "a0: &a0 [x, x, x, x, x, x, x, x, x]\n");
    for (int i = 1; i < 9; i++) {
        strbuf_addf(&laughs, "a%d: &a%d [", i, i);
        for (int k = 0; k < 9; k++)
            strbuf_addf(&laughs, "*a%d, ", i - 1);
        strbuf_addstr(&laughs, "]\n");
    }
    for (int i = 0; i <= LIMIT_KEYS; i++)
        strbuf_addf(&keys, "k%d: 1\n", i);
    repeat(&docs, "--- a\n", LIMIT_DOCUMENTS + 1);
    for (int i = 0; i <= LIMIT_ANCHORS; i++)
        strbuf_addf(&anchors, "- &a%d 1\n", i);
    for (size_t i = 0; i < ARRAY_SIZE(all); i++) {
        read_text(&rd, all[i]->buf, all[i]->len);
        ok(rd.ds.n == 1 && strcmp(rd.ds.v[0].code, "E0005") == 0, "limit %zu: %s", i,
           rd.ds.n ? rd.ds.v[0].message : "none");
        read_done(&rd);
    }
    repeat(&fits, "[", LIMIT_DEPTH);
    repeat(&fits, "]", LIMIT_DEPTH);
    read_text(&rd, fits.buf, fits.len);
    is_int(rd.r, 0, "as deep as allowed");
    read_done(&rd);
}

/* What was read before an error is kept: it tells what kind of file it was meant to be. */
static void test_partial(void)
{
    static const char text[] = "kind: MPIJob\nspec:\n  worker: [1, 2\nx: }\n";
    struct read rd;

    read_text(&rd, text, strlen(text));
    is_int(rd.r, -EINVAL, "a broken text");
    is_str(node_get(rd.doc.roots[0], "kind")->text, "MPIJob", "its beginning is there");
    is_int(node_find(rd.doc.roots[0], "spec", "worker", NULL)->n, 2, "as far as it was read");
    read_done(&rd);
}

int main(void)
{
    test_types();
    test_places();
    test_aliases();
    test_documents();
    test_wrong();
    test_joined();
    test_limits();
    test_partial();
    return tap_done();
}
