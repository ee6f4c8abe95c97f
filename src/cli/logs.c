/* logs.c - `muster logs`: what the processes of a run wrote, from its log files.
 *
 * A log's name says whose it is:
 * REPLICA[.process-N][.task-TYPE-N][.rank-N[.launch-N]][.attempt-N][.restart-N][.init-NAME].log.
 * Lines of several logs get the prefix that the live view gives them; a log that stands alone is
 * shown byte by byte. Nothing is altered but progress bars, of which lines show the last state: the
 * output is the job's own.
 *
 * Following looks at the files a few times a second: that works for runs of other users and on
 * every file system, and ends when the run's lock says so.
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
#include "doc/json_read.h"
#include "base/num.h"
#include "cli/cluster_jobs.h"
#include "cli/diagnose.h"
#include "cli/logs_show.h"
#include "cli/target.h"
#include "cli/tell.h"
#include "engine/engine.h"
#include "journal/journal.h"
#include "rundir/log_name.h"
#include "rundir/lost_logs.h"

#define LOOK_MS 100
#define BAR_LOOKS 10 /* looks after which a progress bar that has moved becomes a line */

struct options {
    bool follow, timestamps;
    const char *role, *grep;
    int64_t rank, attempt, since_ms, tail;
    struct cluster_options cluster;
};

struct log {
    struct shown_log shown;
    bool chosen;
};

struct view {
    const struct options *o;
    const char *replica; /* or NULL */
    const char *part;    /* "init-NAME" or "TYPE-N", only the log of this one; or NULL */
    int dir_fd, logs_fd;
    struct log *v;
    size_t n, cap, n_chosen;
    struct strvec shown_elsewhere; /* ranks whose lines their mpirun shows too */
    regex_t regex;
    struct show_how how;
    struct marks *marks;
};

static void view_release(struct view *view)
{
    for (size_t i = 0; i < view->n; i++) {
        shown_log_release(&view->v[i].shown);
    }
    free(view->v);
    strvec_release(&view->shown_elsewhere);
    marks_free(view->marks);
    if (view->how.regex)
        regfree(&view->regex);
    if (view->logs_fd >= 0)
        (void)close(view->logs_fd);
    if (view->dir_fd >= 0)
        (void)close(view->dir_fd);
}

/* --- which logs ------------------------------------------------------------------------------- */

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

static bool is_wanted(const struct view *view, const char *name, const struct log_owner *own)
{
    const struct options *o = view->o;

    if (view->replica && strcmp(view->replica, own->replica) != 0)
        return false;
    if (o->role &&
        (strlen(o->role) != own->role_len || strncmp(o->role, own->replica, own->role_len) != 0))
        return false;
    if (o->rank >= 0 && o->rank != own->rank)
        return false;
    if (view->part && (!own->part || strlen(view->part) != own->part_len ||
                       strncmp(own->part, view->part, own->part_len) != 0))
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

    if (journal_text(view->dir_fd, &text, NULL) < 0)
        return;
    strvec_release(&view->shown_elsewhere);
    view->shown_elsewhere = (struct strvec)STRVEC_INIT;
    for (p = text.buf; (nl = strchr(p, '\n')); p = nl + 1) {
        if (!memmem(p, (size_t)(nl - p), "\"forwarded\":true", strlen("\"forwarded\":true")))
            continue;
        auto_arena struct arena *a = arena_new();
        struct event ev;
        if (journal_read_line(a, p, (size_t)(nl - p), &ev, NULL) == 0 && ev.forwarded && ev.log)
            strvec_push(&view->shown_elsewhere, ev.log);
    }
}

static int is_log(const struct dirent *d)
{
    struct log_owner own;

    return log_name_parse(d->d_name, &own);
}

static void add_log(struct view *view, const char *name)
{
    struct log_owner own;

    if (!log_name_parse(name, &own))
        return;
    for (size_t i = 0; i < view->n; i++)
        if (strcmp(view->v[i].shown.name, name) == 0)
            return;
    GROW(view->v, view->n, view->cap);
    struct log *log = &view->v[view->n++];
    auto_free char *prefix =
        own.part        ? xasprintf("[%s/%.*s] ", own.replica, (int)own.part_len, own.part)
        : own.rank >= 0 ? xasprintf("[%s/%lld] ", own.replica, (long long)own.rank)
                        : xasprintf("[%s] ", own.replica);
    shown_log_init(&log->shown, name, prefix);
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
    struct log_owner x = {.rank = -1}, y = {.rank = -1};

    (void)log_name_parse((*a)->d_name, &x);
    (void)log_name_parse((*b)->d_name, &y);
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

static bool show_all(struct view *view)
{
    for (size_t i = 0; i < view->n; i++)
        if (view->v[i].chosen &&
            !shown_log_more(&view->v[i].shown, view->logs_fd, view->marks, &view->how))
            return false;
    return fflush(stdout) == 0;
}

/* Everything that is there, in the order of time. */
static void show_merged(struct view *view)
{
    for (;;) {
        struct log *next = NULL;
        int64_t oldest = 0;

        for (size_t i = 0; i < view->n; i++) {
            struct log *log = &view->v[i];
            int64_t ms = log->chosen ? shown_log_next(&log->shown, view->marks) : 0;

            if (log->chosen && (!next || ms < oldest)) {
                next = log;
                oldest = ms;
            }
        }
        if (!next)
            return;
        if (shown_log_step(&next->shown, view->logs_fd, view->marks, &view->how))
            continue;
        next->chosen = false; /* it is at its end */
        shown_log_end(&next->shown, view->marks, &view->how);
    }
}

static void show_bars(struct view *view)
{
    for (size_t i = 0; i < view->n; i++)
        shown_log_bars(&view->v[i].shown, view->marks, &view->how);
}

static void finish_lines(struct view *view)
{
    for (size_t i = 0; i < view->n; i++)
        shown_log_end(&view->v[i].shown, view->marks, &view->how);
}

static void skip_to_tail(struct view *view)
{
    for (size_t i = 0; i < view->n; i++)
        if (view->v[i].chosen)
            shown_log_tail(&view->v[i].shown, view->logs_fd, view->o->tail);
}

/* While more logs may come, one that is alone so far may not stay so, unless it was asked for. */
static bool want_prefix(const struct view *view, bool follow)
{
    return view->n_chosen > 1 || (follow && !view->replica && view->o->rank < 0);
}

/* Until the run has ended, and then once more: what it wrote last is in the files by then. */
static void follow(struct view *view, const struct run_ref *run)
{
    bool ended = false;
    unsigned looks = 0;

    while (!ended) {
        auto_close int lock = runs_open(run, false, &ended, NULL);
        ended |= lock < 0;
        look_for_logs(view);
        if (!show_all(view))
            return;
        if (++looks % BAR_LOOKS == 0)
            show_bars(view);
        if (!ended)
            (void)poll(NULL, 0, LOOK_MS);
    }
}

/* --- the verb --------------------------------------------------------------------------------- */

static int nothing_chosen(const struct view *view, const struct run_ref *run)
{
    auto_strbuf struct strbuf names = STRBUF_INIT;

    for (size_t i = 0; i < view->n && i < 8; i++)
        strbuf_addf(&names, "%s%s", i ? ", " : "", view->v[i].shown.name);
    if (view->n > 8)
        strbuf_addstr(&names, ", …");
    tell_error("%s has no matching log%s%s", run->id,
               view->n ? "; there are: " : ": it has no logs", names.buf);
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
        return usage_error(verb, "--grep: \"%s\" is not a valid regular expression: %s",
                           view->o->grep, why);
    }
    view->how.regex = &view->regex;
    return 0;
}

/* Takes "worker-0", and what stands before its lines: "worker-0/1", "[worker-0/1]". */
static void choose_replica(struct arena *a, struct view *view, struct options *o, const char *word)
{
    const char *from = word + (*word == '['), *slash = strchr(from, '/');
    size_t n = strcspn(from, "]");
    uint32_t rank;

    view->replica = arena_strndup(a, from, slash ? (size_t)(slash - from) : n);
    if (!slash)
        return;
    view->part = arena_strndup(a, slash + 1, n - (size_t)(slash + 1 - from));
    if (num_u32(view->part, &rank) == 0) {
        o->rank = rank;
        view->part = NULL;
    }
}

/* A word that names no run may name a replica of the newest one. */
static bool is_replica_of(struct arena *a, const struct run_ref *run, const char *word)
{
    struct view view = {.dir_fd = -1, .logs_fd = -1};
    struct options o;
    bool ended, found = false;
    auto_close int dir_fd = runs_open(run, false, &ended, NULL);
    auto_close int logs_fd =
        dir_fd < 0 ? -1 : openat(dir_fd, "logs", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    struct dirent **list = NULL;
    int n = logs_fd < 0 ? 0 : scandirat(logs_fd, ".", &list, is_log, NULL);

    choose_replica(a, &view, &o, word);
    for (int i = 0; i < n; i++) {
        struct log_owner own;

        found = found ||
                (log_name_parse(list[i]->d_name, &own) && strcmp(own.replica, view.replica) == 0);
        free(list[i]);
    }
    free(list);
    return found;
}

/* [ID [REPLICA]], or the replica alone. */
static int find_run(const struct verb *verb, struct arena *a, const struct operands *ops,
                    struct run_ref *ret, const char **ret_replica)
{
    const char *word = ops->n ? ops->v[0] : NULL;

    *ret_replica = ops->n > 1 ? ops->v[1] : NULL;
    if (ops->n == 1 && runs_find(a, word, RUNS_NEWEST, ret, NULL) < 0 &&
        runs_find(a, NULL, RUNS_NEWEST, ret, NULL) == 0 && is_replica_of(a, ret, word)) {
        *ret_replica = word;
        return 0;
    }
    return target_find(verb, a, word, ret);
}

/* What of the logs is not there any more; true if something is not. */
static bool tell_lost(struct arena *a, const struct view *view, const struct run_ref *run)
{
    auto_strbuf struct strbuf text = STRBUF_INIT, lost = STRBUF_INIT;
    struct job *job = NULL;

    if (runs_report(run, &text, NULL) == 0) {
        const struct node *gaps = node_get(json_node(a, text.buf, text.len), "logs_incomplete");

        for (size_t i = 0; gaps && gaps->type == NODE_SEQ && i < gaps->n; i++)
            strbuf_addf(&lost, "%s%s is incomplete: %s", i ? "; " : "",
                        node_text(node_get(gaps->items[i], "log"), "?"),
                        node_text(node_get(gaps->items[i], "reason"), "?"));
    }
    if (lost.len == 0 && journal_load(a, view->dir_fd, &job, NULL) == 0) {
        if (strcmp(job->plan->facts->site.engine, engine_local.name) == 0)
            lost_logs(view->logs_fd, job, NULL, 0, &lost);
        job_free(job);
    }
    if (lost.len == 0)
        return false;
    strbuf_truncate(&text, 0);
    strbuf_add_escaped(&text, lost.buf, lost.len);
    tell_error("%s: %s", run->id, text.buf);
    return true;
}

/* An option that needs the log files, which are on this machine only; or NULL. */
static const char *of_files(const struct options *o)
{
    const struct {
        const char *name;
        bool given;
    } rows[] = {
        {"--role", o->role != NULL},     {"--rank", o->rank >= 0},
        {"--attempt", o->attempt > 0},   {"--grep", o->grep != NULL},
        {"--since", o->since_ms > 0},    {"--tail", o->tail >= 0},
        {"--timestamps", o->timestamps},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
        if (rows[i].given)
            return rows[i].name;
    return NULL;
}

static int run_logs(const struct verb *verb, int argc, char **argv)
{
    auto_arena struct arena *a = arena_new();
    struct options o = {.rank = -1, .tail = -1};
    CLEANUP(view_release)
    struct view view = {.o = &o, .dir_fd = -1, .logs_fd = -1, .shown_elsewhere = STRVEC_INIT};
    struct operands ops;
    struct cluster cluster;
    struct run_ref run;
    const char *replica = NULL;
    struct err e;
    bool ended;
    int code = target_operands(verb, &o, argc, argv, 2, &ops);

    if (code == 0)
        code = cluster_choose(verb, &o.cluster, of_files(&o), &cluster);
    if (code == 0 && cluster.place)
        return cluster_logs(verb, &cluster, &ops, o.follow);
    if (code == 0)
        code = compile(verb, &view);
    if (code == 0)
        code = find_run(verb, a, &ops, &run, &replica);
    if (code != 0)
        return code;
    if (replica)
        choose_replica(a, &view, &o, replica);
    view.dir_fd = runs_open(&run, false, &ended, &e);
    if (view.dir_fd < 0)
        return target_failed(&run, &e);
    view.logs_fd = openat(view.dir_fd, "logs", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (view.logs_fd < 0 && ended) {
        (void)err_sys(&e, -errno, "cannot open its logs");
        return target_failed(&run, &e);
    }
    look_for_logs(&view);
    bool follows = o.follow && !ended;
    view.how.prefixed = want_prefix(&view, follows);
    view.how.timestamps = o.timestamps;
    view.marks = marks_new(view.dir_fd, o.timestamps);
    if (view.n_chosen == 0 && !follows && (view.replica || o.role || o.rank >= 0 || o.attempt))
        return nothing_chosen(&view, &run);
    if (o.tail >= 0)
        skip_to_tail(&view);
    if (follows)
        follow(&view, &run);
    else if (o.timestamps)
        show_merged(&view);
    else
        (void)show_all(&view);
    finish_lines(&view);
    if (run.kept_until)
        tell_note("the job is detached; muster attach fetches the rest of its output");
    code = finish_output();
    if (code == 0 && (ended || follows) && tell_lost(a, &view, &run))
        code = EXIT_FAILED;
    return code;
}

static const struct opt opts[] = {
    {"follow", 'f', OPT_FLAG, offsetof(struct options, follow),
     .help = "follow until the run has ended"},
    {"role", 0, OPT_STRING, offsetof(struct options, role), .arg = "ROLE",
     .help = "show only logs of this role"},
    {"rank", 0, OPT_INT, offsetof(struct options, rank), .arg = "N",
     .help = "show only the log of this rank"},
    {"attempt", 0, OPT_INT, offsetof(struct options, attempt), .arg = "N",
     .help = "show only logs of this attempt", .min = 1},
    {"grep", 0, OPT_STRING, offsetof(struct options, grep), .arg = "ERE",
     .help = "show only lines that match this extended regular expression"},
    {"since", 0, OPT_DURATION, offsetof(struct options, since_ms), .arg = "D",
     .help = "show only logs written to within the last D"},
    {"tail", 0, OPT_INT, offsetof(struct options, tail), .arg = "N",
     .help = "show only the last N lines of each log"},
    {"timestamps", 0, OPT_FLAG, offsetof(struct options, timestamps),
     .help = "show when each line was written"},
    OPT_END,
};
static const struct opt_part parts[] = {CLUSTER_PART(struct options, cluster), OPT_PART_END};

const struct verb verb_logs = {
    .name = "logs",
    .synopsis = "[OPTION…] [ID] [REPLICA]",
    .summary = "show the output of a job's processes",
    .about =
        "Lines of several logs are prefixed as by muster run, with [worker-2], [worker-2/7] for "
        "a rank, or [node-2/ps-0] for a task; a single log is shown without prefixes. Logs are "
        "shown one after the other, with "
        "--timestamps in order of time, with -f as they grow. A rank whose output mpirun also "
        "prints is shown only if requested. REPLICA may be the prefix of a line, such as "
        "worker-2/7; without ID it refers to the newest run.\n\n" TARGET_ABOUT_NEWEST,
    .opts = opts,
    .parts = parts,
    .usage_exit = EXIT_USAGE,
    .run = run_logs,
};
