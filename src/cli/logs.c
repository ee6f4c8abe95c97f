/* logs.c - `muster logs`: what the processes of a run wrote, from its log files.
 *
 * A log's name says whose it is:
 * REPLICA[.process-N][.task-N][.rank-N[.launch-N]][.attempt-N][.restart-N][.init-NAME].log. Lines of
 * several logs get the prefix that the live view gives them; a log that stands alone is shown byte by
 * byte. Nothing is altered: the output is the job's own.
 *
 * Following looks at the files a few times a second: that works for runs of other users and on every
 * file system, and ends when the run's lock says so.
 */
#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <regex.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/io.h"
#include "base/limits.h"
#include "base/mem.h"
#include "base/num.h"
#include "cli/diagnose.h"
#include "cli/target.h"
#include "cli/tell.h"
#include "journal/journal.h"

#define LOOK_MS 100
#define CHUNK (64 * 1024)

struct options {
    bool follow;
    const char *role, *grep;
    int64_t rank, attempt, since_ms;
};

struct log {
    char *name, *prefix; /* heap */
    bool chosen;
    off_t at;           /* so far it has been read */
    struct strbuf line; /* the line that is not finished */
};

struct view {
    const struct options *o;
    const char *replica; /* or NULL */
    int dir_fd, logs_fd;
    struct log *v;
    size_t n, cap, n_chosen;
    struct strvec shown_elsewhere; /* ranks whose lines their mpirun shows too */
    bool has_regex;
    regex_t regex;
};

static void view_release(struct view *view)
{
    for (size_t i = 0; i < view->n; i++) {
        free(view->v[i].name);
        free(view->v[i].prefix);
        strbuf_release(&view->v[i].line);
    }
    free(view->v);
    strvec_release(&view->shown_elsewhere);
    if (view->has_regex)
        regfree(&view->regex);
    if (view->logs_fd >= 0)
        (void)close(view->logs_fd);
    if (view->dir_fd >= 0)
        (void)close(view->dir_fd);
}

/* --- which logs ------------------------------------------------------------------------------- */

/* What a log's name says. */
struct owner {
    char replica[LIMIT_NAME + 16];
    size_t role_len; /* of replica, without the index */
    int64_t rank;    /* -1 = it is the replica's own */
    int64_t attempt;
    const char *init; /* "init-NAME.log", in the log's name; NULL: its replica's own */
};

/* The number behind a part ".WORD-" of the name, or `otherwise`. */
static int64_t part(const char *name, const char *word, int64_t otherwise)
{
    const char *at = strstr(name, word);
    uint32_t n;
    char digits[16];

    if (!at)
        return otherwise;
    at += strlen(word);
    (void)snprintf(digits, sizeof(digits), "%.*s", (int)strspn(at, "0123456789"), at);
    return num_u32(digits, &n) == 0 ? (int64_t)n : otherwise;
}

static bool parse_name(const char *name, struct owner *ret)
{
    static const char *const parts[] = {".rank-",    ".task-",   ".process-", ".attempt-",
                                        ".restart-", ".launch-", ".init-"};
    size_t len = strlen(name), n = len - 4;

    if (len < 5 || strcmp(name + n, ".log") != 0)
        return false;
    for (size_t i = 0; i < ARRAY_SIZE(parts); i++) { /* a role's own name may have dots */
        const char *at = strstr(name, parts[i]);
        if (at && (size_t)(at - name) < n)
            n = (size_t)(at - name);
    }
    if (n >= sizeof(ret->replica))
        return false;
    memcpy(ret->replica, name, n);
    ret->replica[n] = '\0';
    const char *dash = strrchr(ret->replica, '-');
    ret->role_len = dash ? (size_t)(dash - ret->replica) : n;
    ret->rank = part(name, ".rank-", -1);
    ret->attempt = part(name, ".attempt-", 1);
    const char *init = strstr(name + n, ".init-");
    ret->init = init ? init + 1 : NULL;
    return true;
}

static bool is_shown_elsewhere(const struct view *view, const char *name)
{
    for (size_t i = 0; i < view->shown_elsewhere.n; i++)
        if (strcmp(view->shown_elsewhere.v[i], name) == 0)
            return true;
    return false;
}

static bool is_old(const struct view *view, const char *name)
{
    struct stat st;

    return view->o->since_ms > 0 && fstatat(view->logs_fd, name, &st, 0) == 0 &&
           clock_real() / NS_PER_MS - st.st_mtime * INT64_C(1000) > view->o->since_ms;
}

static bool is_wanted(const struct view *view, const char *name, const struct owner *own)
{
    const struct options *o = view->o;

    if (view->replica && strcmp(view->replica, own->replica) != 0)
        return false;
    if (o->role &&
        (strlen(o->role) != own->role_len || strncmp(o->role, own->replica, own->role_len) != 0))
        return false;
    if (o->rank >= 0 && o->rank != own->rank)
        return false;
    if (o->attempt > 0 && o->attempt != own->attempt)
        return false;
    /* Asked for by name it is shown; among all others its lines would come twice. */
    return view->replica || o->role || o->rank >= 0 || !is_shown_elsewhere(view, name);
}

static void find_shown_elsewhere(struct view *view)
{
    auto_strbuf struct strbuf text = STRBUF_INIT;
    const char *p, *nl;

    if (io_read_file(view->dir_fd, JOURNAL_NAME, LIMIT_REPORT_BYTES, &text, NULL) < 0)
        return;
    strvec_release(&view->shown_elsewhere);
    view->shown_elsewhere = (struct strvec)STRVEC_INIT;
    for (p = text.buf; (nl = strchr(p, '\n')); p = nl + 1) {
        if (!memmem(p, (size_t)(nl - p), "\"forwarded\":true", strlen("\"forwarded\":true")))
            continue;
        auto_arena struct arena *a = arena_new();
        const struct node *log = node_get(runs_json(a, p, (size_t)(nl - p)), "log");
        if (log && log->type == NODE_STRING)
            strvec_push(&view->shown_elsewhere, log->text);
    }
}

static int is_log(const struct dirent *d)
{
    struct owner own;

    return parse_name(d->d_name, &own);
}

static void add_log(struct view *view, const char *name)
{
    struct owner own;

    if (!parse_name(name, &own))
        return;
    for (size_t i = 0; i < view->n; i++)
        if (strcmp(view->v[i].name, name) == 0)
            return;
    GROW(view->v, view->n, view->cap);
    struct log *log = &view->v[view->n++];
    *log = (struct log){.name = xstrdup(name), .line = STRBUF_INIT};
    if (own.init)
        log->prefix = xasprintf("[%s/%.*s] ", own.replica, (int)strlen(own.init) - 4, own.init);
    else
        log->prefix = own.rank >= 0 ? xasprintf("[%s/%lld] ", own.replica, (long long)own.rank)
                                    : xasprintf("[%s] ", own.replica);
    log->chosen = is_wanted(view, name, &own) && !is_old(view, name);
    view->n_chosen += log->chosen;
}

static int compare(int64_t a, int64_t b)
{
    return a < b ? -1 : a > b;
}

/* worker-10 after worker-9, each with its attempts in their order. */
static int by_owner(const struct dirent **a, const struct dirent **b)
{
    struct owner x = {.rank = -1}, y = {.rank = -1};

    (void)parse_name((*a)->d_name, &x);
    (void)parse_name((*b)->d_name, &y);
    int r = strverscmp(x.replica, y.replica);
    if (r == 0)
        r = compare(x.rank, y.rank);
    if (r == 0)
        r = compare(x.attempt, y.attempt);
    if (r == 0)
        r = compare(!x.init, !y.init); /* they run first */
    if (r == 0)
        r = compare((int64_t)strlen((*a)->d_name), (int64_t)strlen((*b)->d_name));
    return r ? r : strverscmp((*a)->d_name, (*b)->d_name);
}

/* Looks at the names in a list first, so that what is new comes in order. */
static void look_for_logs(struct view *view)
{
    struct dirent **list = NULL;
    int n = scandirat(view->logs_fd, ".", &list, is_log, by_owner);

    if ((size_t)(n > 0 ? n : 0) != view->n)
        find_shown_elsewhere(view);
    for (int i = 0; i < n; i++) {
        add_log(view, list[i]->d_name);
        free(list[i]);
    }
    free(list);
}

/* --- showing ---------------------------------------------------------------------------------- */

static void show_line(struct view *view, struct log *log, bool prefixed)
{
    if (view->has_regex && regexec(&view->regex, log->line.buf, 0, NULL, 0) != 0)
        return;
    if (prefixed)
        (void)fputs(log->prefix, stdout);
    (void)fwrite(log->line.buf, 1, log->line.len, stdout);
    (void)putchar('\n');
}

static void show_bytes(struct view *view, struct log *log, const char *data, size_t n,
                       bool prefixed)
{
    if (!prefixed && !view->has_regex) {
        (void)fwrite(data, 1, n, stdout);
        return;
    }
    while (n > 0) {
        const char *nl = memchr(data, '\n', n);
        size_t len = nl ? (size_t)(nl - data) : n;
        strbuf_add(&log->line, data, len);
        if (nl || log->line.len > LIMIT_LINE_BYTES) {
            show_line(view, log, prefixed);
            strbuf_truncate(&log->line, 0);
        }
        data += len + (nl ? 1 : 0);
        n -= len + (nl ? 1 : 0);
    }
}

/* Everything that is new in it. False if nobody reads our output any more. */
static bool show_log(struct view *view, struct log *log, bool prefixed)
{
    auto_close int fd = openat(view->logs_fd, log->name, O_RDONLY | O_CLOEXEC);
    auto_free char *buf = xmalloc(CHUNK);
    ssize_t n;

    while (fd >= 0 && (n = pread(fd, buf, CHUNK, log->at)) > 0) {
        log->at += n;
        show_bytes(view, log, buf, (size_t)n, prefixed);
        if (ferror(stdout))
            return false;
    }
    return true;
}

static bool show_all(struct view *view, bool prefixed)
{
    for (size_t i = 0; i < view->n; i++)
        if (view->v[i].chosen && !show_log(view, &view->v[i], prefixed))
            return false;
    return fflush(stdout) == 0;
}

static void finish_lines(struct view *view, bool prefixed)
{
    for (size_t i = 0; i < view->n; i++)
        if (view->v[i].line.len > 0)
            show_line(view, &view->v[i], prefixed);
}

/* While more logs may come, one that is alone so far may not stay so, unless it was asked for. */
static bool want_prefix(const struct view *view, bool follow)
{
    return view->n_chosen > 1 || (follow && !view->replica && view->o->rank < 0);
}

/* Until the run has ended, and then once more: what it wrote last is in the files by then. */
static void follow(struct view *view, const struct run_ref *run, bool prefixed)
{
    bool ended = false;

    while (!ended) {
        auto_close int lock = runs_open(run, false, &ended, NULL);
        ended |= lock < 0;
        look_for_logs(view);
        if (!show_all(view, prefixed))
            return;
        if (!ended)
            (void)poll(NULL, 0, LOOK_MS);
    }
}

/* --- the verb --------------------------------------------------------------------------------- */

static int nothing_chosen(const struct view *view, const struct run_ref *run)
{
    auto_strbuf struct strbuf names = STRBUF_INIT;

    for (size_t i = 0; i < view->n && i < 8; i++)
        strbuf_addf(&names, "%s%s", i ? ", " : "", view->v[i].name);
    if (view->n > 8)
        strbuf_addstr(&names, ", …");
    tell_error("%s has no such log%s%s", run->id,
               view->n ? "; there are: " : ": it has none at all", names.buf);
    return EXIT_FAILED;
}

static int compile(const struct verb *verb, struct view *view)
{
    char why[128];

    if (!view->o->grep)
        return 0;
    int r = regcomp(&view->regex, view->o->grep, REG_EXTENDED | REG_NOSUB);
    if (r != 0) {
        (void)regerror(r, &view->regex, why, sizeof(why));
        return usage_error(verb, "--grep: \"%s\" is no regular expression: %s", view->o->grep, why);
    }
    view->has_regex = true;
    return 0;
}

static int run_logs(const struct verb *verb, int argc, char **argv)
{
    auto_arena struct arena *a = arena_new();
    struct options o = {.rank = -1};
    CLEANUP(view_release)
    struct view view = {.o = &o, .dir_fd = -1, .logs_fd = -1, .shown_elsewhere = STRVEC_INIT};
    struct operands ops;
    struct run_ref run;
    struct err e;
    bool ended;
    int code = target_operands(verb, &o, argc, argv, 2, &ops);

    if (code == 0)
        code = compile(verb, &view);
    if (code == 0)
        code = target_find(verb, a, ops.n ? ops.v[0] : NULL, &run);
    if (code != 0)
        return code;
    view.replica = ops.n > 1 ? ops.v[1] : NULL;
    view.dir_fd = runs_open(&run, false, &ended, &e);
    if (view.dir_fd < 0)
        return target_failed(&run, &e);
    view.logs_fd = openat(view.dir_fd, "logs", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    look_for_logs(&view);
    bool follows = o.follow && !ended, prefixed = want_prefix(&view, follows);
    if (view.n_chosen == 0 && !follows && (view.replica || o.role || o.rank >= 0 || o.attempt))
        return nothing_chosen(&view, &run);
    if (follows)
        follow(&view, &run, prefixed);
    else
        (void)show_all(&view, prefixed);
    finish_lines(&view, prefixed);
    return finish_output();
}

static const struct opt opts[] = {
    {"follow", 'f', OPT_FLAG, offsetof(struct options, follow),
     .help = "go on until the run has ended"},
    {"role", 0, OPT_STRING, offsetof(struct options, role), .arg = "ROLE",
     .help = "only logs of this role"},
    {"rank", 0, OPT_INT, offsetof(struct options, rank), .arg = "N",
     .help = "only the log of this rank"},
    {"attempt", 0, OPT_INT, offsetof(struct options, attempt), .arg = "N",
     .help = "only logs of this attempt", .min = 1},
    {"grep", 0, OPT_STRING, offsetof(struct options, grep), .arg = "ERE",
     .help = "only lines that match this extended regular expression"},
    {"since", 0, OPT_DURATION, offsetof(struct options, since_ms), .arg = "D",
     .help = "only logs that were written to in the last D"},
    OPT_END,
};

const struct verb verb_logs = {
    .name = "logs",
    .synopsis = "[OPTION…] [ID [REPLICA]]",
    .summary = "show what the processes of a job wrote",
    .about = "Lines of several logs have the prefix that muster run gives them, [worker-2] or "
             "[worker-2/7] for a rank; a single log is shown as it is. Logs come one after the "
             "other, with -f as they grow. A rank whose mpirun shows its output too is left out "
             "unless it is asked for.\n"
             "\n" TARGET_ABOUT,
    .opts = opts,
    .usage_exit = EXIT_USAGE,
    .run = run_logs,
};
