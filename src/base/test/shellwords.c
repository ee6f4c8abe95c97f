/* shellwords.c - what is a word, where it stands, and that replacing one touches nothing else. */
#include "base/shellwords.h"

#include <string.h>

#include "base/cleanup.h"
#include "base/strbuf.h"
#include "base/tap.h"

/* Words separated by blanks: `!` before one that is not plain, `:` before one that begins a
 * command,
 * `=` before an assignment; `;` where a new command comes. */
static const char *shown(struct arena *a, const char *text)
{
    const struct shell_word *w;
    size_t n = shell_words(a, text, &w);
    auto_strbuf struct strbuf sb = STRBUF_INIT;

    for (size_t i = 0; i < n; i++)
        strbuf_addf(&sb, "%s%s%s%s%s[%s]", i ? " " : "",
                    i && w[i].command != w[i - 1].command ? "; " : "", w[i].begins ? ":" : "",
                    w[i].assignment ? "=" : "", w[i].plain ? "" : "!", w[i].text);
    return arena_strndup(a, sb.buf, sb.len);
}

static const struct {
    const char *text, *want;
} rows[] = {
    {"", ""},
    {"  \n\t ", ""},
    {"python train.py", ":[python] [train.py]"},
    {"a  b\tc\n", ":[a] [b] [c]"},
    {"a;b", ":[a] ; :[b]"},
    {"a && b || c | d & e", ":[a] ; :[b] ; :[c] ; :[d] ; :[e]"},
    {"a\nb", ":[a] ; :[b]"},
    {"a \\\n b", ":[a] [b]"},
    {"a\\\nb", ":[ab]"},
    {"X=1 Y='2 3' run $X", "=[X=1] =[Y=2 3] :[run] ![$X]"},
    {"run X=1", ":[run] [X=1]"},
    {"echo 'a b' \"c d\" e\\ f", ":[echo] [a b] [c d] [e f]"},
    {"echo \"$HOME\" ${A:-b c} $(date +%s) `ls -l` $1 $", ":[echo] ![\"$HOME\"] ![${A:-b c}] "
                                                          "![$(date +%s)] ![`ls -l`] ![$1] [$]"},
    {"echo $(echo ')' \")\") x", ":[echo] ![$(echo ')' \")\")] [x]"},
    {"a # b c\nd", ":[a] ; :[d]"},
    {"a b#c", ":[a] [b#c]"},
    {"a >out 2>&1 <in b", ":[a] [b]"},
    {"a 2>err 5 &>all c", ":[a] [5] [c]"},
    {"cat <<EOF x\nmpirun -np 4\nEOF\nb", ":[cat] [x] ; :[b]"},
    {"cat <<-'E O'\n\ta\n\tE O\nb", ":[cat] ; :[b]"},
    {"cat <<<word b", ":[cat] [b]"},
    {"if true; then a; fi", ":[if] ; :[true] ; :[then] ; :[a] ; :[fi]"},
    {"(a b) ; { c; }", ":[a] [b] ; :[{] ; :[c] ; :[}]"},
    {"echo 'open", ":[echo] !['open]"},
    {"echo \"open $(x", ":[echo] ![\"open $(x]"},
    {"echo \\", ":[echo] []"},
    {"a\r\nb", ":[a] ; :[b]"},
    {"echo $'a\\tb'", ":[echo] ![$'a\\tb']"},
    {"sleep 1000 &&  Your code\xc3\x94", ":[sleep] [1000] ; :[Your] [code\xc3\x94]"},
};

static void test_words(struct arena *a)
{
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
        is_str(shown(a, rows[i].text), rows[i].want, "%s", rows[i].text);
}

static void test_replace(struct arena *a)
{
    static const char text[] = "mpirun -np 16  --hostfile AZ\\\n  'x' # -np 16\n";
    const struct shell_word *w;
    size_t n = shell_words(a, text, &w);
    const char *with[6] = {[2] = "4", [4] = "\"$AZ\""};

    is_int((int)n, 6, "six words");
    is_str(shell_replace(a, text, w, n, with),
           "mpirun -np 4  --hostfile \"$AZ\"\\\n  'x' # -np 16\n", "only those words are replaced");
    is_str(shell_replace(a, text, w, n, (const char *[6]){0}), text, "none: the same text");
}

/* Files of redirections are words only where that is asked for, and never begin a command. */
static void test_targets(struct arena *a)
{
    static const char text[] = ">/a cat <<E 2>/b /c\nx >/d\nE\n";
    const struct shell_word *w;
    size_t n = shell_words_all(a, text, &w);
    const char *with[4] = {[0] = "/1", [2] = "/2", [3] = "/3"};

    is_int((int)n, 4, "two words and two targets; a here-document has none");
    ok(w[0].target && !w[0].begins && w[1].begins && w[2].target && !w[3].target,
       "targets are marked");
    is_str(shell_replace(a, text, w, n, with), ">/1 cat <<E 2>/2 /3\nx >/d\nE\n",
           "and can be replaced");
}

int main(void)
{
    auto_arena struct arena *a = arena_new();

    test_words(a);
    test_replace(a);
    test_targets(a);
    return tap_done();
}
