/* strbuf.c - growing strings, vectors of strings, arenas. */
#include "base/strbuf.h"

#include <stdint.h>
#include <string.h>

#include "base/arena.h"
#include "base/mem.h"
#include "base/strvec.h"
#include "base/tap.h"

static void test_growing(void)
{
    struct strbuf sb = STRBUF_INIT;
    auto_free char *taken = NULL;

    is_str(sb.buf, "", "an empty one is a string");
    for (int i = 0; i < 1000; i++)
        strbuf_addf(&sb, "%d,", i);
    is_int(sb.len, 3890, "a thousand numbers");
    is_int(strlen(sb.buf), sb.len, "terminated at its length");
    strbuf_consume(&sb, 3886);
    is_str(sb.buf, "999,", "what is consumed is gone");
    strbuf_add(&sb, "a\0b", 3);
    is_int(sb.len, 7, "a NUL is a byte like others");
    strbuf_truncate(&sb, 3);
    strbuf_truncate(&sb, 30);
    is_str(sb.buf, "999", "truncating makes it shorter only");
    taken = strbuf_detach(&sb);
    is_str(taken, "999", "what is detached is the caller's");
    is_str(sb.buf, "", "and no longer here");
    strbuf_consume(&sb, 5);
    strbuf_release(&sb);
    free(strbuf_detach(&sb));
    is_int(sb.len, 0, "an empty one can be consumed, released and detached");
}

static void test_escaping(void)
{
    static const struct {
        const char *in, *out;
        size_t n;
    } rows[] = {
        {"plain täxt 日本", "plain täxt 日本", 0},
        {"a\tb\n", "a\\tb\\n", 0},
        {"\x1b[31m\x7f", "\\x1b[31m\\x7f", 0},
        {"\xc2\x9b", "\\x9b", 0},
        {"\xff\xc3", "\\xff\\xc3", 0},
        {"a\0b", "a\\x00b", 3},
        {"\xe2\x80\xae", "\\u202e", 0},
        {"\xed\xa0\x80", "\\xed\\xa0\\x80", 0},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        auto_strbuf struct strbuf sb = STRBUF_INIT;

        strbuf_add_escaped(&sb, rows[i].in, rows[i].n ? rows[i].n : strlen(rows[i].in));
        is_str(sb.buf, rows[i].out, "escaped as %s", rows[i].out);
    }
}

static void test_shell_words(void)
{
    static const struct {
        const char *in, *out;
    } rows[] = {
        {"./random_walk", "./random_walk"},
        {"", "''"},
        {"two words", "'two words'"},
        {"it's", "'it'\\''s'"},
        {"^openib", "'^openib'"},
        {"--lr=0.1", "--lr=0.1"},
        {"A=b", "'A=b'"},
        {"~", "'~'"},
        {"$x", "'$x'"},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        auto_strbuf struct strbuf sb = STRBUF_INIT;

        strbuf_add_shell_word(&sb, rows[i].in);
        is_str(sb.buf, rows[i].out, "%s for a shell", rows[i].out);
    }
    auto_strbuf struct strbuf typed = STRBUF_INIT;
    strbuf_add_typed_word(&typed, "it's");
    is_str(typed.buf, "'it'\\''s'", "a word to type again");
    strbuf_truncate(&typed, 0);
    strbuf_add_typed_word(&typed, "a\033[31m'\\b");
    is_str(typed.buf, "$'a\\033[31m\\'\\\\b'",
           "control characters in it are not sent to a terminal");
}

static void test_strvec(void)
{
    struct strvec sv = STRVEC_INIT;

    ok(!sv.v[0], "an empty vector ends at once");
    for (int i = 0; i < 100; i++)
        strvec_pushf(&sv, "%d", i);
    strvec_push(&sv, "last");
    strvec_push_take(&sv, xstrdup("taken"));
    is_int(sv.n, 102, "all are counted");
    is_str(sv.v[99], "99", "and in their place");
    is_str(sv.v[101], "taken", "a string can be handed over");
    ok(!sv.v[102], "NULL ends them");
    strvec_release(&sv);
    strvec_release(&sv);
    is_int(sv.n, 0, "a released vector is empty");
}

static void test_arena(void)
{
    auto_arena struct arena *a = arena_new();
    char *big, *s = arena_printf(a, "%s-%d", "worker", 3);
    bool zero = true, aligned = true;

    is_str(s, "worker-3", "printf");
    for (int n = 254; n < 259; n++) { /* about where it does not fit at once */
        const char *long_one = arena_printf(a, "%*d", n, 7);

        is_int((int)strlen(long_one), n, "%d bytes", n);
        is_int(long_one[n - 1], '7', "the last of them");
    }
    is_str(arena_printf(a, "%s", ""), "", "nothing");
    is_str(arena_strndup(a, "abc", 2), "ab", "strndup");
    ok(!arena_strdup(a, NULL), "NULL stays NULL");
    big = arena_alloc(a, 1000000);
    for (size_t i = 0; i < 1000000; i++)
        zero = zero && big[i] == 0;
    for (size_t i = 1; i < 2000; i++) {
        unsigned char *p = arena_alloc(a, i % 37);

        aligned = aligned && (uintptr_t)p % _Alignof(max_align_t) == 0;
        for (size_t k = 0; k < i % 37; k++)
            zero = zero && p[k] == 0;
        memset(p, 0xff, i % 37);
    }
    ok(zero, "memory is zeroed");
    ok(aligned, "and aligned");
    is_str(s, "worker-3", "and nothing overlaps");
}

int main(void)
{
    test_growing();
    test_escaping();
    test_shell_words();
    test_strvec();
    test_arena();
    return tap_done();
}
