/* rewrite.c - see rewrite.h. */
#include "dialect/rewrite.h"

#include <string.h>

#include "base/num.h"
#include "dialect/shell_call.h"

/* --- places --------------------------------------------------------------------------------- */

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

/* A position that moves through the source. */
struct cursor {
    const char *p;
    struct pos pos;
};

static void step(struct cursor *c)
{
    if (*c->p++ == '\n') {
        c->pos.line++;
        c->pos.column = 1;
    } else if (((unsigned char)*c->p & 0xc0) != 0x80) {
        c->pos.column++;
    }
}

static void skip_line(struct cursor *c)
{
    while (*c->p && *c->p != '\n')
        step(c);
}

static struct cursor find_place(const struct doc *doc, struct pos pos)
{
    struct cursor c = {doc->source, {1, 1}};

    while (*c.p && c.pos.line < pos.line) {
        skip_line(&c);
        if (*c.p)
            step(&c);
    }
    while (*c.p && *c.p != '\n' && c.pos.column < pos.column)
        step(&c);
    return c;
}

/* Folding only changes blanks, so the other characters stand in the source in the same order. Where
 * one differs there is an escape, a tag or an alias, and the scalar's own place has to do. */
struct pos rewrite_place(const struct doc *doc, const struct node *at, size_t offset)
{
    struct cursor c;

    if (!doc || offset > at->len)
        return at->pos;
    c = find_place(doc, at->pos);
    if (*c.p == '>' || *c.p == '|')
        skip_line(&c);
    else if (*c.p == '"' || *c.p == '\'')
        step(&c);
    for (size_t i = 0; i < at->len; i++) {
        if (is_blank(at->text[i]))
            continue;
        while (is_blank(*c.p))
            step(&c);
        if (*c.p != at->text[i])
            break;
        if (i >= offset)
            return c.pos;
        step(&c);
    }
    return at->pos;
}

/* The diagnostic that was just added belongs to a word of the text. */
static void put_place(const struct rewrite *rw, const char *text, size_t offset, struct diag *d)
{
    if (d && rw->at && strncmp(text, rw->at->text, strlen(text)) == 0)
        d->pos = rewrite_place(rw->doc, rw->at, offset);
}

/* --- bare names ----------------------------------------------------------------------------- */

static bool is_one_of(const char *text, const char *const *words, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (strcmp(text, words[i]) == 0)
            return true;
    }
    return false;
}

/* Words that are names of variables because the command or the option before them wants one. */
static bool wants_names(const char *program, const char *before)
{
    static const char *const programs[] = {"export", "unset",    "readonly", "declare", "typeset",
                                           "local",  "printenv", "read",     "for",     "getopts"};
    static const char *const options[] = {"-x",   "-u",        "-v",       "-genv",
                                          "-env", "-genvlist", "-envlist", "--env"};

    return is_one_of(program, programs, ARRAY_SIZE(programs)) ||
           is_one_of(before, options, ARRAY_SIZE(options));
}

static void mend_bare_names(const struct rewrite *rw, const char *text,
                            const struct shell_word *words, const struct shell_call *call,
                            const char **with)
{
    static const char *const names[] = {"AZUREML_MPI_HOSTFILE", "NODE_RANK", "MASTER_ADDR",
                                        "MASTER_PORT"};
    bool keep = rw->opts->keep_text;

    for (size_t i = 1; i < call->n; i++) {
        const struct shell_word *w = &call->words[i];

        if (!w->plain || w->quoted || !is_one_of(w->text, names, ARRAY_SIZE(names)) ||
            wants_names(call->program, call->words[i - 1].text))
            continue;
        put_place(rw, text, w->start,
                  diag_at(rw->ds, rw->at, "W0401",
                          arena_printf(rw->a, "use $%s in the file", w->text),
                          "the bare word %s %s replaced by \"$%s\"", w->text,
                          keep ? "would be" : "is", w->text));
        if (!keep)
            with[w - words] = arena_printf(rw->a, "\"$%s\"", w->text);
    }
}

/* --- a stray python --------------------------------------------------------------------------- */

static bool is_python(const struct shell_word *w)
{
    const char *slash = strrchr(w->text, '/'), *name = slash ? slash + 1 : w->text;

    if (!w->plain || strncmp(name, "python", 6) != 0)
        return false;
    return name[6 + strspn(name + 6, "0123456789.")] == '\0';
}

/* Where the launch utility's own options begin in the call; 0 if it does not call one. */
static size_t launch_options(const struct shell_call *call)
{
    static const char *const modules[] = {"torch.distributed.launch", "torch.distributed.run"};

    if (strcmp(call->program, "torchrun") == 0)
        return 1;
    for (size_t i = 1; is_python(&call->words[0]) && i + 1 < call->n; i++) {
        if (call->words[i].text[0] != '-')
            break;
        if (strcmp(call->words[i].text, "-m") == 0)
            return is_one_of(call->words[i + 1].text, modules, ARRAY_SIZE(modules)) ? i + 2 : 0;
    }
    return 0;
}

/* The script's index in the call: the first word that is no option nor an option's value. 0 if what
 * runs need not be a Python script. */
static size_t launch_script(const struct shell_call *call, size_t i)
{
    static const char *const flags[] = {"--use_env", "--use-env", "--standalone", "-h", "--help"};
    static const char *const other[] = {"--no_python", "--no-python", "--module", "-m"};

    while (i < call->n && call->words[i].text[0] == '-') {
        const char *option = call->words[i].text;

        if (is_one_of(option, other, ARRAY_SIZE(other)))
            return 0;
        i += is_one_of(option, flags, ARRAY_SIZE(flags)) || strchr(option, '=') ? 1 : 2;
    }
    return i < call->n ? i : 0;
}

/* Takes the blanks behind the word with it. */
static void drop_word(const char *text, struct shell_word *w, const char **with)
{
    while (text[w->end] == ' ' || text[w->end] == '\t')
        w->end++;
    *with = "";
}

static void mend_stray_python(const struct rewrite *rw, const char *text, struct shell_word *words,
                              const struct shell_call *call, const char **with)
{
    size_t options = launch_options(call), script = options ? launch_script(call, options) : 0;
    const char *utility = options > 1 ? call->words[options - 1].text : call->program;
    const struct shell_word *stray;

    if (!script || script + 1 >= call->n)
        return;
    stray = &call->words[script];
    if (!is_python(stray) || call->words[script + 1].text[0] == '-')
        return;
    put_place(rw, text, stray->start,
              diag_at(rw->ds, rw->at, "W0402",
                      arena_printf(rw->a, "%s runs the script with Python itself", utility),
                      "the word `%s` before the script %s removed: %s would run it as the script",
                      stray->text, rw->opts->keep_text ? "would be" : "is", utility));
    if (!rw->opts->keep_text)
        drop_word(text, &words[stray - words], &with[stray - words]);
}

const char *rewrite_command(const struct rewrite *rw, const char *text)
{
    const struct shell_word *found;
    size_t n = shell_words(rw->a, text, &found), at = 0;
    struct shell_word *words = ARENA_ARRAY(rw->a, struct shell_word, n + 1);
    const char **with = ARENA_ARRAY(rw->a, const char *, n + 1);
    struct shell_call call;
    bool changed = false;

    if (n)
        memcpy(words, found, n * sizeof(*words));
    while (shell_call_next(words, n, &at, &call)) {
        mend_bare_names(rw, text, words, &call, with);
        mend_stray_python(rw, text, words, &call, with);
    }
    for (size_t i = 0; i < n; i++)
        changed = changed || with[i];
    return changed ? shell_replace(rw->a, text, words, n, with) : text;
}

/* --- waiting for the others by hand --------------------------------------------------------- */

/* "1000", "10m", "1h" as sleep reads them; 0 if it is none of these. */
static int64_t sleep_seconds(const char *text)
{
    int64_t ms = 0;
    uint32_t seconds = 0;

    if (num_u32(text, &seconds) == 0)
        return seconds;
    return duration_ms(text, &ms) == 0 ? ms / 1000 : 0;
}

/* Behind what joins a command to the next: `&&`, `;` or the end of a line. NULL: something else
 * does. */
static const char *behind_joint(const char *p)
{
    while (*p == ' ' || *p == '\t' || (p[0] == '\\' && p[1] == '\n'))
        p += *p == '\\' ? 2 : 1;
    if (p[0] == '&' && p[1] == '&')
        p += 2;
    else if (*p == ';' || *p == '\r' || *p == '\n')
        p++;
    else
        return NULL;
    return p + strspn(p, " \t\r\n");
}

const char *rewrite_start_sleep(const struct rewrite *rw, const char *text)
{
    enum { SHORT = 60 }; /* seconds; less may be meant */
    const struct shell_word *w;
    size_t n = shell_words(rw->a, text, &w);
    const char *rest;
    bool drop = rw->opts->skip_start_sleep;

    if (n < 3 || !w[0].begins || strcmp(w[0].text, "sleep") != 0 || !w[1].plain ||
        w[1].command != w[0].command || w[2].command == w[1].command ||
        sleep_seconds(w[1].text) < SHORT)
        return text;
    rest = behind_joint(text + w[1].end);
    if (!rest)
        return text;
    put_place(rw, text, w[0].start,
              diag_at(rw->ds, rw->at, "W0403", drop ? NULL : "use --skip-start-sleep to remove it",
                      "leading `sleep %.20s` %s: no command starts before every replica is ready",
                      w[1].text, drop ? "is dropped" : "is not needed"));
    return drop ? rest : text;
}
