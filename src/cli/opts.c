/* opts.c - command lines by table: parsing, `--help`, and telling the user what was wrong.
 *
 * Not getopt: an unknown option gets the nearest known one, values are checked by their kind, and
 * the same table writes the help. Not here: what an option means (its verb's file).
 */
#include "cli/cli.h"

#include <stdarg.h>
#include <string.h>

#include "base/limits.h"
#include "base/mem.h"
#include "base/nearest.h"
#include "base/num.h"
#include "base/strbuf.h"
#include "cli/as_typed.h"

#define HELP_COLUMN 28 /* where an option's help begins */
#define HELP_WIDTH 79

/* Words of files and command lines cannot act on the terminal. */
static void print_safe(const char *verb, const char *fmt, va_list ap)
{
    auto_strbuf struct strbuf text = STRBUF_INIT, typed = STRBUF_INIT, safe = STRBUF_INIT;

    strbuf_vaddf(&text, fmt, ap);
    add_as_typed(&typed, text.buf);
    strbuf_add_escaped(&safe, typed.buf, typed.len);
    fprintf(stderr, "muster %s: %s\n", verb, safe.buf);
}

int usage_error(const struct verb *verb, const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    print_safe(verb->name, fmt, ap);
    va_end(ap);
    auto_strbuf struct strbuf line = STRBUF_INIT;
    strbuf_addf(&line, "muster %s --help", verb->name);
    print_try(line.buf);
    return verb->usage_exit;
}

void complain(const char *verb, const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    print_safe(verb, fmt, ap);
    va_end(ap);
}

bool want_colour(FILE *stream)
{
    const char *no_color = getenv("NO_COLOR");
    const char *term = getenv("TERM");

    return isatty(fileno(stream)) && !(no_color && *no_color) && !(term && !strcmp(term, "dumb"));
}

/* The verb's own table is part 0, the shared ones follow. */
static bool nth_part(const struct verb *verb, size_t i, struct opt_part *ret)
{
    if (i == 0)
        *ret = (struct opt_part){.heading = "options", .opts = verb->opts};
    else if (!verb->parts || !verb->parts[i - 1].opts)
        return false;
    else
        *ret = verb->parts[i - 1];
    return true;
}

/* --- help ---------------------------------------------------------------------------------------
 */

static void add_choices(struct strbuf *sb, const struct opt *o, const char *separator)
{
    for (size_t i = 0; o->choices[i]; i++)
        strbuf_addf(sb, "%s%s", i ? separator : "", o->choices[i]);
}

static void help_option(const struct opt *o, FILE *out)
{
    auto_strbuf struct strbuf sb = STRBUF_INIT;

    if (o->letter)
        strbuf_addf(&sb, "  -%c, --%s", o->letter, o->name);
    else
        strbuf_addf(&sb, "      --%s", o->name);
    if (o->kind != OPT_FLAG && o->kind != OPT_WORDS)
        strbuf_addch(&sb, ' ');
    if (o->kind == OPT_WORDS)
        strbuf_addf(&sb, "[=%s]", o->arg);
    else if (o->kind == OPT_CHOICE && !o->arg)
        add_choices(&sb, o, "|");
    else if (o->kind != OPT_FLAG)
        strbuf_addstr(&sb, o->arg);
    if (sb.len + 2 > HELP_COLUMN)
        fprintf(out, "%s\n%*s%s\n", sb.buf, HELP_COLUMN, "", o->help);
    else
        fprintf(out, "%-*s%s\n", HELP_COLUMN, sb.buf, o->help);
}

/* Paragraphs are one line each in the source; a terminal gets lines it can show. */
static void help_text(const char *text, FILE *out)
{
    size_t column = 0;

    fputc('\n', out);
    while (*text) {
        size_t n = strcspn(text, " \n");
        if (column > 0 && column + 1 + n > HELP_WIDTH) {
            fputc('\n', out);
            column = 0;
        }
        fprintf(out, "%s%.*s", column ? " " : "", (int)n, text);
        column += n + (column > 0);
        text += n;
        if (strncmp(text, "\n\n", 2) == 0) {
            fputs("\n\n", out);
            column = 0;
        }
        text += strspn(text, " \n");
    }
    fputc('\n', out);
}

void print_verb_help(const struct verb *verb, FILE *out)
{
    static const struct opt help = {"help", 'h', OPT_FLAG, .help = "show this help"};

    fprintf(out, "usage: muster %s %s\n\n%s.\n", verb->name, verb->synopsis, verb->summary);
    if (verb->about)
        help_text(verb->about, out);
    struct opt_part part;

    for (size_t i = 0; nth_part(verb, i, &part); i++) {
        fprintf(out, "\n%s:\n", part.heading);
        for (const struct opt *o = part.opts; o->name; o++)
            if (o->help)
                help_option(o, out);
        if (i == 0)
            help_option(&help, out);
    }
}

/* --- parsing ------------------------------------------------------------------------------------
 */

struct parse {
    const struct verb *verb;
    char *target;
    int argc, i; /* i: the argument being looked at */
    char **argv;
};

/* The option of this name (n characters) or, if name is NULL, this letter. *ret_base gets the
 * structure that its offset is meant from. */
static const struct opt *find(const struct parse *p, const char *name, size_t n, char letter,
                              char **ret_base)
{
    struct opt_part part;

    for (size_t i = 0; nth_part(p->verb, i, &part); i++)
        for (const struct opt *o = part.opts; o->name; o++) {
            if (name ? strlen(o->name) != n || memcmp(o->name, name, n) != 0 : o->letter != letter)
                continue;
            *ret_base = p->target + part.offset;
            return o;
        }
    return NULL;
}

static int unknown_long(const struct verb *verb, const char *name, size_t n)
{
    const char *names[64];
    size_t count = 0;
    struct opt_part part;

    for (size_t i = 0; nth_part(verb, i, &part); i++)
        for (const struct opt *o = part.opts; o->name && count < ARRAY_SIZE(names); o++)
            if (o->help)
                names[count++] = o->name;

    auto_free char *word = xasprintf("--%.*s", (int)n, name);
    const char *near = nearest_word(word + 2, names, count), *answer = habit_option(verb, word);

    if (answer)
        usage_error(verb, "unknown option %s; %s", word, answer);
    else if (near)
        usage_error(verb, "unknown option %s, did you mean --%s?", word, near);
    else
        usage_error(verb, "unknown option %s", word);
    return -EINVAL;
}

static int store_choice(const struct parse *p, const struct opt *o, void *at, const char *text)
{
    size_t n = 0;

    for (; o->choices[n]; n++) {
        if (!strcmp(o->choices[n], text)) {
            *(const char **)at = o->choices[n];
            return 0;
        }
    }

    auto_strbuf struct strbuf all = STRBUF_INIT;
    const char *near = nearest_word(text, o->choices, n);

    add_choices(&all, o, ", ");
    if (near)
        usage_error(p->verb, "--%s must be one of %s, not \"%s\"; did you mean %s?", o->name,
                    all.buf, text, near);
    else
        usage_error(p->verb, "--%s must be one of %s, not \"%s\"", o->name, all.buf, text);
    return -EINVAL;
}

/* "-n" rather than "--processes". */
static const char *as_typed(const struct opt *o, char name[LIMIT_NAME])
{
    if (o->letter)
        (void)snprintf(name, LIMIT_NAME, "-%c", o->letter);
    else
        (void)snprintf(name, LIMIT_NAME, "--%s", o->name);
    return name;
}

static int store_int(const struct parse *p, const struct opt *o, void *at, const char *text)
{
    char name[LIMIT_NAME];
    int64_t value;

    if (num_i64(text, &value) < 0 || value < o->min) {
        usage_error(p->verb, "%s must be a number ≥ %lld, not \"%s\"", as_typed(o, name),
                    (long long)o->min, text);
        return -EINVAL;
    }
    *(int64_t *)at = value;
    return 0;
}

static int store_duration(const struct parse *p, const struct opt *o, void *at, const char *text)
{
    int64_t value;

    if (duration_option_ms(text, &value) < 0) {
        usage_error(p->verb, "--%s must be a duration such as 500ms, 2s or 5m, not \"%s\"", o->name,
                    text);
        return -EINVAL;
    }
    *(int64_t *)at = value;
    return 0;
}

static int store(const struct parse *p, const struct opt *o, char *base, const char *text)
{
    void *at = base + o->offset;

    switch (o->kind) {
    case OPT_FLAG:
        *(bool *)at = true;
        return 0;
    case OPT_STRING:
        *(const char **)at = text;
        return 0;
    case OPT_STRINGS:
    case OPT_WORDS:
        strvec_push(at, text);
        return 0;
    case OPT_INT:
        return store_int(p, o, at, text);
    case OPT_DURATION:
        return store_duration(p, o, at, text);
    case OPT_CHOICE:
        return store_choice(p, o, at, text);
    }
    return -EINVAL;
}

static void help_and_exit(const struct verb *verb) __attribute__((noreturn));
static void help_and_exit(const struct verb *verb)
{
    print_verb_help(verb, stdout);
    exit(fflush(stdout) ? EXIT_FAILED : EXIT_FINE);
}

/* An option's value: what stands in the same argument, else the next argument. */
static int store_next(struct parse *p, const struct opt *o, char *base, const char *inline_value)
{
    if (inline_value || o->kind == OPT_WORDS)
        return store(p, o, base, inline_value ? inline_value : "");
    if (p->i + 1 == p->argc) {
        usage_error(p->verb, "--%s needs a value: %s", o->name, o->arg ? o->arg : "a choice");
        return -EINVAL;
    }
    return store(p, o, base, p->argv[++p->i]);
}

static int parse_long(struct parse *p, const char *text)
{
    size_t n = strcspn(text, "=");
    const char *value = text[n] ? text + n + 1 : NULL;
    char *base = NULL;
    const struct opt *o = find(p, text, n, 0, &base);

    if (!strcmp(text, "help"))
        help_and_exit(p->verb);
    if (!o)
        return unknown_long(p->verb, text, n);
    if (o->kind != OPT_FLAG)
        return store_next(p, o, base, value);
    if (value) {
        usage_error(p->verb, "--%s takes no value", o->name);
        return -EINVAL;
    }
    return store(p, o, base, NULL);
}

/* Letters of flags may share an argument; the first one that takes a value takes the rest. */
static int parse_letters(struct parse *p, const char *text)
{
    auto_free char *whole = xasprintf("-%.*s", (int)strcspn(text, "="), text);
    const char *answer = habit_option(p->verb, whole);

    if (!strcmp(text, "h") && !find(p, NULL, 0, 'h', &(char *){NULL}))
        help_and_exit(p->verb);
    if (answer) {
        usage_error(p->verb, "unknown option %s; %s", whole, answer);
        return -EINVAL;
    }
    for (; *text; text++) {
        char *base = NULL;
        const struct opt *o = find(p, NULL, 0, *text, &base);

        if (!o) {
            usage_error(p->verb, "unknown option %s", whole);
            return -EINVAL;
        }
        if (o->kind != OPT_FLAG)
            return store_next(p, o, base, text[1] ? text + 1 : NULL);
        store(p, o, base, NULL);
    }
    return 0;
}

/* -np 4, as mpirun has it. */
static bool is_habit(const struct parse *p, const char *text)
{
    char *base = NULL;
    const struct opt *o = find(p, text, strcspn(text, "="), 0, &base);

    return o && !o->help;
}

int opts_parse(const struct verb *verb, void *target, int argc, char **argv, struct operands *ret)
{
    struct parse p = {.verb = verb, .target = target, .argc = argc, .argv = argv};
    struct operands ops = {.v = argv + 1};

    for (p.i = 1; p.i < argc; p.i++) {
        const char *arg = argv[p.i];
        int r = 0;

        if (!strcmp(arg, "--")) {
            ops.rest = argv + p.i + 1;
            ops.n_rest = argc - p.i - 1;
            break;
        }
        if (arg[0] != '-' || !arg[1]) {
            if (ops.n == 0 && verb->command_begins && verb->command_begins(target, arg)) {
                ops.rest = argv + p.i;
                ops.n_rest = argc - p.i;
                break;
            }
            ops.v[ops.n++] = argv[p.i];
        } else if (arg[1] == '-')
            r = parse_long(&p, arg + 2);
        else if (arg[2] && is_habit(&p, arg + 1))
            r = parse_long(&p, arg + 1);
        else
            r = parse_letters(&p, arg + 1);
        if (r < 0)
            return r;
    }
    *ret = ops;
    return 0;
}
