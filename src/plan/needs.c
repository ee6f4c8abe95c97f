/* needs.c - see needs.h. */
#include "plan/needs.h"

#include <string.h>

#include "base/shellwords.h"
#include "plan/command.h"
#include "spec/command.h"
#include "spec/mpi_options.h"
#include "spec/wrappers.h"

#define DEPTH 8 /* commands that start commands */

struct scan {
    struct arena *a;
    struct need *v;
    size_t n, cap;
    struct need now; /* what is known of the command being looked at */
};

/* A word that only the shell knows. Compared by its address. */
static const char unknown[] = "?";

static void scan_words(struct scan *s, const char *const *w, size_t n, int depth);
static void scan_text(struct scan *s, const char *text, bool strict, int depth);

static void add(struct scan *s, enum need_kind kind, const char *name, const char *by)
{
    if (name == unknown || !*name || strstr(name, "***") || strchr(name, '$'))
        return;
    if (s->n == s->cap) {
        struct need *v = ARENA_ARRAY(s->a, struct need, s->cap * 2 + 8);

        if (s->n)
            memcpy(v, s->v, s->n * sizeof(*v));
        s->v = v;
        s->cap = s->cap * 2 + 8;
    }
    s->v[s->n] = s->now;
    s->v[s->n].kind = kind;
    s->v[s->n].name = name;
    s->v[s->n++].by = by;
}

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash ? slash + 1 : path;
}

static bool in_list(const char *const *list, size_t n, const char *word)
{
    for (size_t i = 0; i < n; i++)
        if (strcmp(list[i], word) == 0)
            return true;
    return false;
}
#define IN(list, word) in_list(list, ARRAY_SIZE(list), word)

static bool ends_in(const char *word, const char *end)
{
    size_t n = strlen(word), k = strlen(end);

    return n > k && strcmp(word + n - k, end) == 0;
}

/* --- commands that start commands ---------------------------------------------------------------
 */

/* env A=b CMD; options of it may change anything. */
static void scan_env(struct scan *s, const char *const *w, size_t n, int depth)
{
    size_t i = 1;

    for (; i < n && w[i] != unknown && strchr(w[i], '='); i++)
        if (strncmp(w[i], "PATH=", 5) == 0 || strncmp(w[i], "PYTHON", 6) == 0)
            return;
    if (i < n && w[i] != unknown && w[i][0] != '-')
        scan_words(s, w + i, n - i, depth + 1);
}

/* `nohup CMD`, `timeout 5m CMD`, `nice -n 5 CMD` */
static void scan_wrapped(struct scan *s, const char *const *w, size_t n, int depth)
{
    size_t i = strcmp(base_name(w[0]), PLAN_RANK_WRAPPER) == 0 ? 1 : wrapper_words(w, n);

    if (i < n && w[i] != unknown && w[i][0] != '-')
        scan_words(s, w + i, n - i, depth + 1);
}

/* The first word that is a Python script, of a launcher whose options are its own business. */
static void scan_for_script(struct scan *s, const char *const *w, size_t n, const char *by)
{
    for (size_t i = 1; i < n && w[i] != unknown; i++)
        if (w[i][0] != '-' && ends_in(w[i], ".py")) {
            add(s, NEED_SCRIPT, w[i], by);
            return;
        }
}

static void scan_python(struct scan *s, const char *const *w, size_t n)
{
    static const char *const launchers[] = {"torch.distributed.launch", "torch.distributed.run"};
    static const char flags[] = "bBdEiIOqsSuvx";

    for (size_t i = 1; i < n && w[i] != unknown; i++) {
        if (w[i][0] != '-') {
            add(s, NEED_SCRIPT, w[i], w[0]);
            return;
        }
        if (strcmp(w[i], "-m") == 0 && i + 1 < n && w[i + 1] != unknown) {
            add(s, NEED_MODULE, w[i + 1], w[0]);
            if (IN(launchers, w[i + 1]))
                scan_for_script(s, w + i + 1, n - i - 1, w[0]);
            return;
        }
        if (strcmp(w[i], "-W") == 0 || strcmp(w[i], "-X") == 0)
            i++;
        else if (!w[i][1] || w[i][1 + strspn(w[i] + 1, flags)])
            return;
    }
}

static void scan_shell(struct scan *s, const char *const *w, size_t n, int depth)
{
    static const char flags[] = "eilruvx";
    bool strict = false;

    for (size_t i = 1; i < n && w[i] != unknown; i++) {
        size_t len = strlen(w[i]);

        if (w[i][0] != '-') {
            add(s, NEED_SCRIPT, w[i], w[0]);
            return;
        }
        strict = strict || (w[i][1] != '-' && strchr(w[i], 'e'));
        if (w[i][1] != '-' && w[i][len - 1] == 'c') {
            if (i + 1 < n && w[i + 1] != unknown)
                scan_text(s, w[i + 1], strict, depth + 1);
            return;
        }
        if (strcmp(w[i], "-o") == 0)
            i++;
        else if (strcmp(w[i], "--login") != 0 && (!w[i][1] || w[i][1 + strspn(w[i] + 1, flags)]))
            return;
    }
}

/* Options that lead ranks elsewhere, and flags; every other one may have a value that is not known.
 */
static void scan_mpirun(struct scan *s, const char *const *w, size_t n, int depth)
{
    static const char *const elsewhere[] = {"-wdir",  "--wdir",           "-wd", "--wd",   "-path",
                                            "--path", "--preload-binary", "-s",  "--chdir"};
    static const char *const flags[] = {"--allow-run-as-root",
                                        "-allow-run-as-root",
                                        "--oversubscribe",
                                        "-oversubscribe",
                                        "--tag-output",
                                        "-tag-output",
                                        "--enable-recovery",
                                        "-enable-recovery",
                                        "--verbose",
                                        "-v",
                                        "--nooversubscribe",
                                        "--display-map",
                                        "--report-bindings",
                                        "-report-bindings",
                                        "--disable-cache",
                                        "--bynode",
                                        "-bynode",
                                        "--gloo",
                                        "--mpi",
                                        "-q"};
    bool clear = true;
    size_t i = 1;

    while (i < n && w[i] != unknown && w[i][0] == '-') {
        const char *value;
        const struct mpi_option *o = mpi_option_of(w[i], &value);
        size_t words = 1 + mpi_option_values(w[i], i + 1 < n ? w[i + 1] : NULL);

        if (IN(elsewhere, w[i]))
            return;
        if (o && o->meaning == MPI_MEANS_EXPORT && i + 1 < n && !strncmp(w[i + 1], "PATH=", 5))
            return;
        clear = o || IN(flags, w[i]);
        for (size_t k = 1; k < words && i + k < n; k++)
            clear = clear && w[i + k] != unknown;
        i += words;
    }
    if (i >= n || w[i] == unknown || !clear)
        return;
    s->now.of_ranks = true;
    scan_words(s, w + i, n - i, depth + 1);
    s->now.of_ranks = false;
}

static bool is_python(const char *name)
{
    return strncmp(name, "python", 6) == 0 && !name[6 + strspn(name + 6, "0123456789.")];
}

static void scan_words(struct scan *s, const char *const *w, size_t n, int depth)
{
    static const char *const shells[] = {"sh", "bash", "dash"};
    static const char *const launchers[] = {"torchrun", "deepspeed"};
    static const char *const of_shell[] = {"exec", "time"};
    const char *name;

    if (n == 0 || w[0] == unknown || depth > DEPTH)
        return;
    name = base_name(w[0]);
    if (!IN(of_shell, w[0]))
        add(s, NEED_PROGRAM, w[0], NULL);
    if (strcmp(name, "env") == 0)
        scan_env(s, w, n, depth);
    else if (strcmp(name, PLAN_RANK_WRAPPER) == 0 || wrapper_words(w, n) > 0)
        scan_wrapped(s, w, n, depth);
    else if (is_python(name))
        scan_python(s, w, n);
    else if (IN(shells, name))
        scan_shell(s, w, n, depth);
    else if (mpi_is_launcher(w[0]))
        scan_mpirun(s, w, n, depth);
    else if (IN(launchers, name))
        scan_for_script(s, w, n, w[0]);
}

/* --- a shell's text -----------------------------------------------------------------------------
 */

/* What follows the word at `end`, up to `next` (NULL: the end of the text): is it only "&&"? */
static bool only_and(const char *text, size_t end, const struct shell_word *next)
{
    size_t n = next ? next->start - end : strlen(text + end);
    const char *gap = text + end;
    bool and = false;

    for (size_t i = 0; i < n; i++) {
        if (gap[i] == '&' && gap[i + 1] == '&') {
            and = true;
            i++;
        } else if (next ? strchr(";|&\n()", gap[i]) != NULL : strchr("|&", gap[i]) != NULL) {
            return false;
        }
    }
    return and || !next;
}

/* Does the text fail if the command that ends before word `next` does? */
static bool text_fails(const char *text, const struct shell_word *v, size_t n, size_t next,
                       bool strict)
{
    if (strict && next < n) {
        size_t end = v[next - 1].end;
        const char *bar = strpbrk(text + end, "|&;\n");

        return bar && (*bar == ';' || *bar == '\n' || (bar[0] == '&' && bar[1] == '&'));
    }
    for (; next < n; next++)
        if (v[next].command != v[next - 1].command && !only_and(text, v[next - 1].end, &v[next]))
            return false;
    return only_and(text, v[n - 1].end, NULL);
}

/* Commands after which everything is as it was. */
static bool is_inert(const char *name)
{
    static const char *const names[] = {
        "echo",   "printf", "sleep", "true",       ":",        "date",  "pwd",     "ls",
        "ulimit", "umask",  "set",   "export",     "whoami",   "id",    "uname",   "nproc",
        "free",   "df",     "env",   "nvidia-smi", "hostname", "which", "ifconfig"};

    return IN(names, name);
}

static bool is_builtin(const char *name)
{
    static const char *const names[] = {"echo", "printf", "true",   ":",    "pwd",
                                        "set",  "export", "ulimit", "umask"};

    return IN(names, name);
}

/* Words of the shell itself, with which nothing is certain any more. */
static bool is_syntax(const char *name)
{
    static const char *const names[] = {
        "if",       "then",    "else",     "elif",   "fi",      "for",     "while",   "until",
        "do",       "done",    "case",     "esac",   "select",  "in",      "{",       "}",
        "!",        "[[",      "[",        "test",   "cd",      "pushd",   "popd",    "source",
        ".",        "eval",    "trap",     "read",   "let",     "declare", "typeset", "local",
        "alias",    "unalias", "hash",     "enable", "shift",   "wait",    "kill",    "return",
        "exit",     "break",   "continue", "unset",  "command", "type",    "shopt",   "function",
        "readonly", "mapfile", "builtin",  "false",  "getopts", "((",
    };

    return IN(names, name);
}

/* Names that are looked for elsewhere from now on. */
static bool moves_search(const struct shell_word *v, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (strchr(v[i].text, '=') &&
            (!strncmp(v[i].text, "PATH=", 5) || !strncmp(v[i].text, "PYTHON", 6) ||
             !strncmp(v[i].text, "LD_", 3)))
            return true;
    return false;
}

static bool is_strict(const struct shell_word *v, size_t n)
{
    for (size_t i = 1; i < n; i++)
        if (v[i].text[0] == '-' && (strchr(v[i].text, 'e') || !strcmp(v[i].text, "errexit")))
            return true;
    return false;
}

static const char *const *plain_words(struct arena *a, const struct shell_word *v, size_t n)
{
    const char **w = ARENA_ARRAY(a, const char *, n + 1);

    for (size_t i = 0; i < n; i++)
        w[i] = v[i].plain && (v[i].quoted || !strpbrk(v[i].text, "*?[~{")) ? v[i].text : unknown;
    return w;
}

static void scan_text(struct scan *s, const char *text, bool strict, int depth)
{
    const struct shell_word *v;
    size_t n = shell_words(s->a, text, &v);
    bool decides = s->now.decides;

    if (strstr(text, "()") || strstr(text, "<<") || depth > DEPTH)
        return;
    for (size_t i = 0, end; i < n; i = end) {
        size_t first = i;

        for (end = i + 1; end < n && v[end].command == v[i].command;)
            end++;
        while (first < end && v[first].assignment)
            first++;
        const char *const *w = plain_words(s->a, v + first, end - first);

        if (moves_search(v + i, end - i) ||
            (i > 0 && memchr(text + v[i - 1].end, '(', v[i].start - v[i - 1].end)))
            break;
        if (i == 0 && memchr(text, '(', v[0].start))
            break;
        if (first == end)
            continue;
        if (w[0] == unknown || is_syntax(w[0]))
            break;
        strict = strict || (!strcmp(w[0], "set") && is_strict(v + first, end - first));
        s->now.decides = decides && text_fails(text, v, n, end, strict);
        if (!is_builtin(w[0]))
            scan_words(s, w, end - first, depth);
        if (!is_inert(w[0]))
            break;
    }
    s->now.decides = decides;
}

/* --- the job ------------------------------------------------------------------------------------
 */

static size_t count(const char *const *words)
{
    size_t n = 0;

    while (words[n])
        n++;
    return n;
}

/* An init container that only waits or prints. */
static bool changes_nothing(struct arena *a, const char *const *argv)
{
    const char *const *plain = shell_plain(a, argv);

    return plain && plain[0] && is_inert(base_name(plain[0]));
}

static void scan_role(struct scan *s, const struct plan *plan, const struct replica *r)
{
    const struct process *p = &plan->processes[r->first_process];
    const struct role *role = r->role;
    bool decides = true;

    s->now = (struct need){.replica = r, .init = -1, .decides = true};
    for (size_t i = 0; i < role->n_init; i++)
        if (plan_runs_init(plan, r, i, PLAN_START(plan))) {
            const char *const *argv = role->init[i].argv;

            s->now.init = (int)i;
            s->now.decides = decides;
            if (argv && argv[0])
                scan_words(s, argv, count(argv), 0);
            decides = decides && changes_nothing(s->a, argv);
        }
    s->now.init = -1;
    s->now.decides = decides; /* what an init container makes, nobody knows */
    if (process_waits(p, PLAN_START(plan)))
        return;
    if (p->shell)
        scan_text(s, p->shell, p->shell_kind == SHELL_BASH_STRICT, 0);
    else if (p->argv && p->argv[0])
        scan_words(s, p->argv, count(p->argv), 0);
}

size_t plan_needs(struct arena *a, const struct plan *plan, const struct need **ret)
{
    struct scan s = {.a = a};

    for (uint32_t i = 0; i < plan->n_replicas; i++)
        if (plan->replicas[i].index == 0 && plan->replicas[i].n_processes > 0)
            scan_role(&s, plan, &plan->replicas[i]);
    *ret = s.v;
    return s.n;
}
