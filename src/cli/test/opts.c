/* opts.c - command lines: what is taken, what is left, what the user is told. */
#include "cli/cli.h"

#include <string.h>

#include "base/tap.h"

struct shared {
    int64_t level;
    bool deep;
};

struct values {
    bool flag, other;
    const char *text, *choice;
    int64_t number, time;
    struct strvec list;
    struct shared shared;
};

static const char *const choices[] = {"human", "json", NULL};
static const struct opt opts[] = {
    {"flag", 'f', OPT_FLAG, offsetof(struct values, flag), .help = "a flag"},
    {"other", 'g', OPT_FLAG, offsetof(struct values, other), .help = "another"},
    {"text", 0, OPT_STRING, offsetof(struct values, text), "FILE", .help = "a text"},
    {"output", 'o', OPT_CHOICE, offsetof(struct values, choice), .choices = choices,
     .help = "a choice"},
    {"number", 'n', OPT_INT, offsetof(struct values, number), "N", .help = "a number", .min = 1},
    {"grace", 0, OPT_DURATION, offsetof(struct values, time), "D", .help = "a duration"},
    {"set", 0, OPT_STRINGS, offsetof(struct values, list), "X", .help = "a list"},
    OPT_END,
};
static const struct opt shared_opts[] = {
    {"level", 'l', OPT_INT, offsetof(struct shared, level), "N", .help = "a shared number"},
    {"deep", 0, OPT_FLAG, offsetof(struct shared, deep), .help = "a shared flag"},
    OPT_END,
};
static const struct opt_part parts[] = {
    {"what is shared", shared_opts, offsetof(struct values, shared)},
    OPT_PART_END,
};
static const struct verb verb = {.name = "try",
                                 .synopsis = "FILE",
                                 .summary = "try things",
                                 .opts = opts,
                                 .parts = parts,
                                 .usage_exit = 2};

static char told[4096]; /* what went to stderr */

static int parse(const char *line, struct values *ret, struct operands *ret_ops)
{
    static char words[512];
    static char *argv[32];
    FILE *real = stderr;
    int argc = 0, r;
    char *save;

    snprintf(words, sizeof(words), "%s", line);
    for (char *w = strtok_r(words, " ", &save); w; w = strtok_r(NULL, " ", &save))
        argv[argc++] = w;
    memset(told, 0, sizeof(told));
    stderr = fmemopen(told, sizeof(told) - 1, "w");
    *ret = (struct values){.list = STRVEC_INIT};
    r = opts_parse(&verb, ret, argc, argv, ret_ops);
    fclose(stderr);
    stderr = real;
    return r;
}

static void test_taken(void)
{
    struct values v;
    struct operands ops;

    is_int(parse("try a -f --text t -o json b --number=7 --grace 1m30s --set x --set=y", &v, &ops),
           0, "every kind");
    ok(v.flag && !v.other, "flags");
    is_str(v.text, "t", "a text");
    is_str(v.choice, "json", "a choice");
    is_int(v.number, 7, "a number");
    is_int(v.time, 90000, "a duration");
    ok(v.list.n == 2 && !strcmp(v.list.v[0], "x") && !strcmp(v.list.v[1], "y"), "a list");
    ok(ops.n == 2 && !strcmp(ops.v[0], "a") && !strcmp(ops.v[1], "b"), "operands in between");
    ok(!ops.rest, "no --");
    strvec_release(&v.list);

    is_int(parse("try -fgn3 - -- -f x", &v, &ops), 0, "letters together, a value at their end");
    ok(v.flag && v.other && v.number == 3, "all of them");
    ok(ops.n == 1 && !strcmp(ops.v[0], "-"), "a lone dash is an operand");
    ok(ops.n_rest == 2 && !strcmp(ops.rest[0], "-f"), "what follows -- is left alone");
    is_int(parse("try -l 4 --deep --number 2", &v, &ops), 0, "options of a shared table");
    ok(v.shared.level == 4 && v.shared.deep && v.number == 2, "are stored in its structure");
    is_int(parse("try --", &v, &ops), 0, "nothing after --");
    ok(ops.rest && ops.n_rest == 0, "is told apart from no --");
}

static void test_refused(void)
{
    static const struct {
        const char *line, *message;
    } cases[] = {
        {"try --nubmer 3", "muster try: unknown option --nubmer, did you mean --number?\n"},
        {"try --levle 3", "muster try: unknown option --levle, did you mean --level?\n"},
        {"try --zzz=1", "muster try: unknown option --zzz\n"},
        {"try -x", "muster try: unknown option -x\n"},
        {"try --flag=1", "--flag takes no value"},
        {"try --text", "--text needs a value: FILE"},
        {"try -n", "--number needs a value: N"},
        {"try -n 0", "-n must be a number ≥ 1, not \"0\""},
        {"try -n 3x", "-n must be a number ≥ 1, not \"3x\""},
        {"try --grace 5x", "--grace must be a duration such as 500ms, 2s or 5m, not \"5x\""},
        {"try -o jsno", "--output must be one of human, json, not \"jsno\"; did you mean json?"},
        {"try -o qqqqqq", "--output must be one of human, json, not \"qqqqqq\""},
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct values v;
        struct operands ops;

        is_int(parse(cases[i].line, &v, &ops), -EINVAL, "%s", cases[i].line);
        has(told, cases[i].message, "says why");
        has(told, "try: muster try --help\n", "and where to look");
    }
}

static void test_help(void)
{
    char text[2048] = "";
    FILE *out = fmemopen(text, sizeof(text), "w");

    print_verb_help(&verb, out);
    fclose(out);
    has(text, "usage: muster try FILE\n\ntry things.\n", "usage");
    has(text, "  -f, --flag                a flag\n", "a flag");
    has(text, "  -o, --output human|json   a choice\n", "a choice");
    has(text, "      --text FILE           a text\n", "a text");
    has(text, "  -h, --help                show this help\n\nwhat is shared:\n", "help");
    has(text, "  -l, --level N             a shared number\n", "a shared option");
}

int main(void)
{
    test_taken();
    test_refused();
    test_help();
    return tap_done();
}
