/* runs.c - see runs.h: looking into the directories of runs. */
#include "client/runs.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/io.h"
#include "base/mem.h"
#include "base/nearest.h"
#include "doc/json_read.h"
#include "journal/away.h"
#include "journal/journal.h"
#include "client/ask.h"
#include "client/daemon.h"
#include "client/replay.h"
#include "client/served.h"
#include "rundir/places.h"
#include "rundir/retention.h"
#include "rundir/rundir.h"

#define REPORT_NAME "report.json"
#define RETRY_MS 20 /* between its last answer and its report, or its start and its socket */
#define RETRIES 250
#define NAMED 5 /* so many runs are named in an error */

static ns_t time_of(const struct node *node)
{
    return clock_of_rfc3339(node_text(node, ""));
}

/* --- one run ---------------------------------------------------------------------------------- */

static bool is_report(const struct node *root)
{
    const struct node *code = node_get(root, "exit_code");

    return *node_text(node_get(root, "outcome"), "") && code && code->type == NODE_INT &&
           code->i >= 0 && code->i <= UINT8_MAX;
}

/* The report, and its tree in the arena. Whatever a job has put in its place is an error. */
static int read_report(struct arena *a, int dir_fd, struct strbuf *ret,
                       const struct node **ret_root, struct err *e)
{
    auto_strbuf struct strbuf text = STRBUF_INIT;
    int r = io_read_regular(dir_fd, REPORT_NAME, LIMIT_REPORT_BYTES, &text, e);

    if (r < 0)
        return r;
    *ret_root = json_node(a, text.buf, text.len);
    if (!is_report(*ret_root))
        return err_set(e, -EBADMSG, REPORT_NAME " is not the report of a run");
    if (ret)
        strbuf_add(ret, text.buf, text.len);
    return 0;
}

static void fill_from_report(const struct node *root, struct run_ref *ret)
{
    const struct node *attempts = node_get(root, "attempts");

    ret->name = node_text(node_find(root, "job", "name", NULL), "");
    ret->dialect = node_text(node_find(root, "job", "dialect", NULL), "");
    ret->state = node_text(node_get(root, "outcome"), "");
    ret->verdict = node_text(node_get(root, "verdict"), "");
    ret->exit_code = (int)node_get(root, "exit_code")->i;
    if (*node_text(node_find(root, "job", "run_id", NULL), ""))
        ret->id = node_text(node_find(root, "job", "run_id", NULL), "");
    if (attempts && attempts->type == NODE_SEQ && attempts->n > 0) {
        ret->started = time_of(node_get(attempts->items[0], "started"));
        ret->ended = time_of(node_get(attempts->items[attempts->n - 1], "ended"));
    }
}

/* It has no report: it ended with its muster, or goes on without it. */
static void fill_left(struct arena *a, int dir_fd, struct run_ref *ret)
{
    ns_t until = away_until(dir_fd);
    bool kept = until > clock_real();
    struct err e;

    ret->served = faccessat(dir_fd, RUNDIR_SERVED, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
    if (replay_fill(a, dir_fd, kept ? "detached" : ret->served ? "no daemon" : "lost", ret, &e) < 0)
        ret->fault =
            arena_printf(a, "its report is missing and its journal cannot be read: %s", e.text);
    else if (ret->no_report)
        ret->fault = "its report is missing";
    else if (ret->served)
        ret->fault = "the daemon that runs it is not running; start it with `muster serve`";
    if (kept && ret->exit_code < 0)
        ret->kept_until = until;
}

/* Something is where its report should be: it has ended, and the journal may say how. */
static void fill_damaged(struct arena *a, int dir_fd, const struct err *report, struct run_ref *ret)
{
    int r = replay_fill(a, dir_fd, "unreadable", ret, NULL);

    ret->fault = arena_printf(a, "its report%s cannot be read: %s", r < 0 ? " and journal" : "",
                              report->text);
}

static bool fill_ended(struct arena *a, int dir_fd, struct run_ref *ret)
{
    const struct node *root;
    struct err e;
    int r = read_report(a, dir_fd, NULL, &root, &e);

    if (r == 0)
        fill_from_report(root, ret);
    else if (r != -ENOENT)
        fill_damaged(a, dir_fd, &e, ret);
    else if (faccessat(dir_fd, JOURNAL_NAME, F_OK, AT_SYMLINK_NOFOLLOW) == 0 ||
             faccessat(dir_fd, "logs", F_OK, 0) == 0)
        fill_left(a, dir_fd, ret);
    else
        return false;
    return true;
}

/* The run directory that a scratch directory belongs to, or "". */
static const char *dir_of_scratch(struct arena *a, int scratch_fd)
{
    char target[PATH_MAX];
    ssize_t n = readlinkat(scratch_fd, RUNDIR_LINK, target, sizeof(target));

    return n > 0 && n < (ssize_t)sizeof(target) ? arena_strndup(a, target, (size_t)n) : "";
}

/* It lives and does not answer: its files know whose it is. */
static void fill_stuck(struct arena *a, int scratch_fd, const struct answer *an,
                       struct run_ref *ret)
{
    if (!*ret->dir)
        ret->dir = dir_of_scratch(a, scratch_fd);
    auto_close int fd = *ret->dir ? open(ret->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
    ret->pid = an->pid;
    (void)replay_fill(a, fd, an->stopped ? "stopped" : "not responding", ret, NULL);
}

/* True if somebody lives behind this scratch directory. */
static bool fill_living(struct arena *a, const char *scratch, struct run_ref *ret)
{
    auto_strbuf struct strbuf request = STRBUF_INIT;
    auto_close int fd = open(scratch, O_PATH | O_DIRECTORY | O_CLOEXEC);
    struct json j = ask_begin(&request, "state");
    struct answer an = {.body = STRBUF_INIT};
    struct err e;

    json_end(&j);
    int r = fd < 0 ? -errno : ask(a, fd, &request, false, LIMIT_ASK_LIST_MS, &an, &e);
    strbuf_release(&an.body);
    ret->refused = r == -EPERM || r == -EACCES;
    ret->alive = r == 0 || r == -ETIMEDOUT || ret->refused;
    if (!ret->alive)
        return false;
    ret->scratch = arena_strdup(a, scratch);
    ret->state = "refused";
    if (r == -ETIMEDOUT)
        fill_stuck(a, fd, &an, ret);
    if (r == 0) {
        ret->id = answer_str(&an, "id");
        ret->name = answer_str(&an, "name");
        ret->dialect = answer_str(&an, "dialect");
        ret->state = answer_str(&an, "phase");
        ret->remark = answer_str(&an, "remark");
        ret->dir = answer_str(&an, "run_dir");
        ret->started = answer_int(&an, "started");
        ret->now = answer_int(&an, "now");
        ret->muster = an.pid;
    }
    return true;
}

static struct run_ref nothing_known(const char *id, const char *dir)
{
    return (struct run_ref){.id = id,
                            .name = "",
                            .dialect = "",
                            .dir = dir,
                            .state = "starting",
                            .remark = "",
                            .fault = "",
                            .verdict = "",
                            .exit_code = -1};
}

/* Its report is there before its directories are given back: it has ended, but for that. */
static void fill_ending(struct arena *a, int dir_fd, struct run_ref *ret)
{
    const struct node *root;

    if (read_report(a, dir_fd, NULL, &root, NULL) < 0)
        return;
    ret->name = node_text(node_find(root, "job", "name", NULL), "");
    ret->dialect = node_text(node_find(root, "job", "dialect", NULL), "");
    ret->state = "ending";
}

static void fill_locked(struct arena *a, int dir_fd, const char *dir, struct run_ref *ret)
{
    auto_free char *scratch = xasprintf("%s/scratch", dir);

    if (!fill_living(a, scratch, ret))
        fill_ending(a, dir_fd, ret);
    ret->served = faccessat(dir_fd, RUNDIR_SERVED, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
    ret->alive = true;
}

int runs_at(struct arena *a, const char *dir, struct run_ref *ret, struct err *e)
{
    auto_close int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    const char *slash = strrchr(dir, '/');

    if (fd < 0)
        return err_sys(e, -errno, "%s", dir);
    *ret = nothing_known(arena_strdup(a, slash ? slash + 1 : dir), arena_strdup(a, dir));
    if (flock(fd, LOCK_SH | LOCK_NB) < 0) {
        fill_locked(a, fd, dir, ret);
        return 0;
    }
    return fill_ended(a, fd, ret) ? 0 : err_set(e, -ENOENT, "%s is not a run directory", dir);
}

/* --- all runs --------------------------------------------------------------------------------- */

static int is_run(const struct dirent *d)
{
    return d->d_name[0] >= '0' && d->d_name[0] <= '9';
}

/* The slot of this id: 0, or its place in v and 1. */
static uint32_t *slot_of(const struct runs *runs, const char *id)
{
    size_t mask = 2 * runs->cap - 1;
    uint32_t at = 2166136261; /* FNV-1a */

    for (const char *p = id; *p; p++)
        at = (at ^ (uint8_t)*p) * 16777619;
    while (runs->slots[at & mask] && strcmp(runs->v[runs->slots[at & mask] - 1].id, id) != 0)
        at++;
    return &runs->slots[at & mask];
}

static void grow(struct arena *a, struct runs *runs)
{
    size_t cap = runs->cap ? 2 * runs->cap : 64;
    struct run_ref *v = arena_calloc(a, cap, sizeof(*v));

    if (runs->n)
        memcpy(v, runs->v, runs->n * sizeof(*v));
    runs->v = v;
    runs->cap = cap;
    runs->slots = arena_calloc(a, 2 * cap, sizeof(*runs->slots));
    for (size_t i = 0; i < runs->n; i++)
        *slot_of(runs, v[i].id) = (uint32_t)i + 1;
}

/* Unless there is one with its id. */
static void add(struct arena *a, struct runs *runs, const struct run_ref *ref)
{
    if (runs->n == runs->cap)
        grow(a, runs);
    uint32_t *slot = slot_of(runs, ref->id);
    if (*slot)
        return;
    runs->v[runs->n++] = *ref;
    *slot = (uint32_t)runs->n;
}

/* Is it alive? Then what is known of it. */
static bool living_at(struct arena *a, const char *dir, struct run_ref *ret)
{
    auto_close int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    if (fd < 0 || flock(fd, LOCK_SH | LOCK_NB) == 0 || errno != EWOULDBLOCK)
        return false;
    ret->dir = arena_strdup(a, dir);
    fill_locked(a, fd, dir, ret);
    return true;
}

enum which { RUNS_OF_HOME, LIVING_OF_HOME, LIVING_OF_SCRATCH };

static void add_each(struct arena *a, const char *home, enum which which, struct runs *runs)
{
    bool scratch = which == LIVING_OF_SCRATCH;

    struct dirent **list = NULL;
    int n = scandir(home, &list, is_run, alphasort);

    /* a scratch directory of another user's holds none of ours: $XDG_RUNTIME_DIR after `su` */
    if (n < 0 && errno != ENOENT && !scratch && runs->fault.code == 0)
        (void)err_sys(&runs->fault, -errno, "cannot read %s", home);
    for (int i = 0; i < n; i++) {
        auto_free char *path = xasprintf("%s/%s", home, list[i]->d_name);
        struct run_ref ref = nothing_known(arena_strdup(a, list[i]->d_name), "");
        if (scratch                   ? fill_living(a, path, &ref)
            : which == LIVING_OF_HOME ? living_at(a, path, &ref)
                                      : runs_at(a, path, &ref, NULL) == 0)
            add(a, runs, &ref);
        free(list[i]);
    }
    free(list);
}

/* An id has the start to the second, and is there whatever else is not. */
static ns_t start_of(const struct run_ref *r)
{
    return r->started ? r->started : r->submitted ? r->submitted : retention_id_time(r->id);
}

static int by_start(const void *a, const void *b)
{
    const struct run_ref *x = a, *y = b;
    ns_t s = start_of(x), t = start_of(y);

    return s != t ? (s < t ? -1 : 1) : strcmp(x->id, y->id);
}

/* --- jobs of the daemon ----------------------------------------------------------------------- */

static void add_served(struct arena *a, bool living, struct runs *runs)
{
    struct answer_lines jobs;
    struct err e;
    int r = daemon_jobs(a, &jobs, &e);

    if (r < 0) {
        runs->unlisted = daemon_unlisted(a, r, &e);
        return;
    }
    for (size_t i = 0; i < jobs.n; i++) {
        struct run_ref ref = nothing_known(node_text(node_get(jobs.v[i], "id"), ""), "");
        uint32_t there = runs->n ? *slot_of(runs, ref.id) : 0;

        served_fill(jobs.v[i], there ? &runs->v[there - 1] : &ref);
        if (!there && (ref.alive || !living))
            add(a, runs, &ref);
    }
}

static void list(struct arena *a, bool living, struct runs *ret)
{
    auto_strvec struct strvec homes = STRVEC_INIT, scratch = STRVEC_INIT;

    *ret = (struct runs){0};
    places_all_runs(&homes);
    places_all_scratch(&scratch);
    for (size_t i = 0; i < homes.n; i++)
        add_each(a, homes.v[i], living ? LIVING_OF_HOME : RUNS_OF_HOME, ret);
    for (size_t i = 0; i < scratch.n; i++) /* their directories may be anywhere: --run-dir */
        add_each(a, scratch.v[i], LIVING_OF_SCRATCH, ret);
    add_served(a, living, ret);
    if (ret->n)
        qsort(ret->v, ret->n, sizeof(*ret->v), by_start);
}

const char *runs_array(const struct runs *runs, const char *word)
{
    for (size_t i = 0; i < runs->n; i++)
        if (runs->v[i].array && strcmp(runs->v[i].id, word + 1) == 0)
            return runs->v[i].array;
    return word + 1;
}

bool runs_in_array(const struct run_ref *run, const char *array)
{
    return strcmp(run->array ? run->array : run->id, array) == 0;
}

void runs_list(struct arena *a, struct runs *ret)
{
    list(a, false, ret);
}

void runs_living(struct arena *a, struct runs *ret)
{
    list(a, true, ret);
}

/* --- the one that is meant -------------------------------------------------------------------- */

enum match { MATCH_ANY, MATCH_ALIVE, MATCH_ID, MATCH_NAME, MATCH_PREFIX };

static bool matches(const struct run_ref *ref, enum match how, const char *word)
{
    switch (how) {
    case MATCH_ANY:
        return true;
    case MATCH_ALIVE:
        return ref->alive && strcmp(ref->state, "ending") != 0;
    case MATCH_ID:
        return strcmp(ref->id, word) == 0;
    case MATCH_NAME:
        return strcmp(ref->name, word) == 0;
    case MATCH_PREFIX:
        return strncmp(ref->id, word, strlen(word)) == 0;
    }
    return false;
}

/* "20261116-… (mpi-example, running), …", the newest first. */
static void name_some(const struct runs *runs, enum match how, const char *word, struct strbuf *out)
{
    int named = 0;

    for (size_t i = runs->n; i-- > 0;) {
        const struct run_ref *r = &runs->v[i];
        if (!matches(r, how, word))
            continue;
        if (named == NAMED) {
            strbuf_addstr(out, ", …");
            return;
        }
        strbuf_addf(out, "%s%s (%s%s%s)", named++ ? ", " : "", r->id, r->name, *r->name ? ", " : "",
                    r->state);
    }
}

static int several(const struct runs *runs, enum match how, const char *word, size_t n,
                   struct err *e)
{
    auto_strbuf struct strbuf some = STRBUF_INIT;

    name_some(runs, how, word, &some);
    if (how == MATCH_ALIVE)
        return err_set(e, -EEXIST, "%zu jobs are running; give the id of one: %s", n, some.buf);
    return err_set(e, -EEXIST, "\"%s\" matches %zu runs: %s", word, n, some.buf);
}

/* 1 and the run, 0 if none matches, -EEXIST if several do and `want` does not say which. */
static int pick(const struct runs *runs, enum match how, const char *word, enum runs_want want,
                struct run_ref *ret, struct err *e)
{
    size_t n = 0, n_alive = 0;
    const struct run_ref *newest = NULL, *alive = NULL;

    for (size_t i = 0; i < runs->n; i++) {
        if (!matches(&runs->v[i], how, word))
            continue;
        n++;
        newest = &runs->v[i];
        n_alive += newest->alive;
        if (newest->alive)
            alive = newest;
    }
    if (n == 0)
        return 0;
    bool by_name = how == MATCH_NAME || how == MATCH_ANY;
    if (n > 1 &&
        (want == RUNS_ONLY || (want != RUNS_NEWEST && n_alive > 1) || (!by_name && n_alive != 1)))
        return several(runs, how, word, n, e);
    *ret = alive && (want != RUNS_NEWEST || !by_name) ? *alive : *newest;
    return 1;
}

/* As rundir_new_id() makes them: 20261117-102259-b78y. */
static bool is_id(const char *word)
{
    return strlen(word) == 20 && word[8] == '-' && word[15] == '-' &&
           strspn(word, "0123456789") == 8 && strspn(word + 9, "0123456789") == 6;
}

static int unknown(const struct runs *runs, const char *word, struct err *e)
{
    auto_free const char **words = xcalloc(runs->n * 2 + 1, sizeof(*words));
    auto_strbuf struct strbuf some = STRBUF_INIT;

    for (size_t i = 0; i < runs->n; i++) {
        words[2 * i] = runs->v[i].id;
        words[2 * i + 1] = *runs->v[i].name ? runs->v[i].name : NULL;
    }
    if (is_id(word) && !runs->unlisted)
        return err_set(e, -ENOENT,
                       "run %s not found; old runs without outputs are deleted automatically "
                       "(see `muster prune --help`)",
                       word);
    if (runs->unlisted)
        return err_set(e, -ENOENT, "run \"%s\" not found; %s", word, runs->unlisted);
    const char *near = nearest_word(word, words, runs->n * 2);
    if (near)
        return err_set(e, -ENOENT, "run \"%s\" not found; did you mean %s?", word, near);
    name_some(runs, MATCH_PREFIX, "", &some);
    if (some.len == 0)
        return err_set(e, -ENOENT, "run \"%s\" not found: there are no runs", word);
    return err_set(e, -ENOENT, "run \"%s\" not found; existing runs: %s", word, some.buf);
}

/* No word was given. */
static int find_unnamed(const struct runs *runs, enum runs_want want, struct run_ref *ret,
                        struct err *e)
{
    int r = 0;

    if (want == RUNS_LIVING || want == RUNS_LIVING_FIRST)
        r = pick(runs, MATCH_ALIVE, "", want, ret, e);
    if (r == 0 && want != RUNS_LIVING)
        r = pick(runs, MATCH_ANY, "", RUNS_NEWEST, ret, e);
    if (r != 0)
        return r < 0 ? r : 0;
    if (runs->unlisted)
        return err_set(e, -ENOENT, "no job is running; %s", runs->unlisted);
    if (want != RUNS_LIVING)
        return err_set(e, -ENOENT, "there are no runs");
    return runs->n == 0 ? err_set(e, -ENOENT, "no job is running")
                        : err_set(e, -ENOENT, "no job is running; the last run was %s (%s)",
                                  runs->v[runs->n - 1].id, runs->v[runs->n - 1].state);
}

/* By its whole path, whose last part is the id of a run that cannot say it itself. */
static int find_directory(struct arena *a, const char *word, struct run_ref *ret, struct err *e)
{
    auto_free char *path = realpath(word, NULL);

    return runs_at(a, path ? path : word, ret, e);
}

/* The run that is meant may be there. */
static int tell_fault(const struct runs *runs, struct err *e)
{
    return err_set(e, runs->fault.code, "%s", runs->fault.text);
}

static bool is_dots(const char *word)
{
    return strcmp(word, ".") == 0 || strcmp(word, "..") == 0;
}

/* A whole id needs no list, which is long where thousands of jobs wait. */
static bool find_id(struct arena *a, const char *id, struct run_ref *ret)
{
    auto_strvec struct strvec homes = STRVEC_INIT;
    const struct node *job = NULL;
    bool found = false;

    places_all_runs(&homes);
    *ret = nothing_known(arena_strdup(a, id), "");
    for (size_t i = 0; i < homes.n && !found; i++) {
        auto_free char *path = xasprintf("%s/%s", homes.v[i], id);

        found = runs_at(a, path, ret, NULL) == 0 && strcmp(ret->id, id) == 0;
    }
    if (!found)
        *ret = nothing_known(arena_strdup(a, id), "");
    if (daemon_ask_job(a, "job", id, LIMIT_ASK_MS, &job, NULL) == 0 && job) {
        served_fill(job, ret);
        found = true;
    }
    return found;
}

int runs_find(struct arena *a, const char *word, enum runs_want want, struct run_ref *ret,
              struct err *e)
{
    static const enum match order[] = {MATCH_ID, MATCH_NAME, MATCH_PREFIX};
    struct runs runs;

    /* what is to be deleted has to be named without a doubt */
    if (word && strchr(word, '/') && want == RUNS_ONLY)
        return runs_at(a, word, ret, e);
    if (word && want != RUNS_ONLY && (strchr(word, '/') || is_dots(word)))
        return find_directory(a, word, ret, e);
    if (word && is_id(word) && find_id(a, word, ret))
        return 0;
    runs_list(a, &runs);
    if (!word) {
        int r = find_unnamed(&runs, want, ret, e);
        return r == -ENOENT && runs.fault.code ? tell_fault(&runs, e) : r;
    }
    for (size_t i = 0; i < ARRAY_SIZE(order) && *word; i++) {
        int r = pick(&runs, order[i], word, want, ret, e);
        if (r != 0)
            return r < 0 ? r : 0;
    }
    if (*word && want != RUNS_ONLY && find_directory(a, word, ret, NULL) == 0)
        return 0;
    return runs.fault.code ? tell_fault(&runs, e) : unknown(&runs, word, e);
}

/* --- what it has to say ----------------------------------------------------------------------- */

int runs_open(const struct run_ref *run, bool wait, bool *ret_ended, struct err *e)
{
    auto_close int fd = open(run->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    if (fd < 0 && run->waiting)
        return err_set(e, -ENOENT, "it has not started yet%s%s", *run->waiting ? ": " : "",
                       run->waiting);
    if (fd < 0 && run->served && !*run->dir)
        return err_set(e, -ENOENT,
                       run->started ? "its run directory was removed"
                                    : "it ended before it was started");
    if (fd < 0)
        return err_sys(e, -errno, "%s", *run->dir ? run->dir : run->id);
    while (flock(fd, wait ? LOCK_SH : LOCK_SH | LOCK_NB) < 0) {
        if (errno == EINTR)
            continue;
        if (errno != EWOULDBLOCK)
            return err_sys(e, -errno, "%s", run->dir);
        *ret_ended = false;
        return TAKE_FD(fd);
    }
    *ret_ended = true;
    return TAKE_FD(fd);
}

bool runs_is_stuck(const struct run_ref *run, struct err *e)
{
    return run->pid != 0 && runs_ask(run, "state", NULL, e) == -ETIMEDOUT;
}

int runs_ask(const struct run_ref *run, const char *request, struct strbuf *ret_body, struct err *e)
{
    auto_arena struct arena *a = arena_new();
    auto_strbuf struct strbuf text = STRBUF_INIT;
    auto_free char *link = xasprintf("%s/scratch", run->dir);

    if (run->waiting)
        return served_ask(a, run, request, e);
    auto_close int fd = open(run->scratch ? run->scratch : link, O_PATH | O_DIRECTORY | O_CLOEXEC);
    struct json j = ask_begin(&text, request);
    struct answer an = {.body = STRBUF_INIT};

    json_end(&j);
    int r = fd < 0 ? err_sys(e, -errno, "%s does not respond", run->id)
                   : ask(a, fd, &text, false, LIMIT_ASK_MS, &an, e);
    if (r == 0 && ret_body)
        strbuf_add(ret_body, an.body.buf, an.body.len);
    strbuf_release(&an.body);
    return r;
}

/* Nobody listens there any more, or yet. */
static bool is_unanswered(int r)
{
    return r == -ENOENT || r == -ECONNREFUSED || r == -ECONNRESET;
}

static int look_again(struct arena *a, struct run_ref *run)
{
    struct run_ref now;

    if (find_id(a, run->id, &now) || (*run->dir && runs_at(a, run->dir, &now, NULL) == 0)) {
        *run = now;
        return 0;
    }
    return -ENOENT;
}

int runs_request(struct arena *a, struct run_ref *run, const char *request, struct err *e)
{
    for (int i = 0;; i++) {
        int r = runs_ask(run, request, NULL, e);

        if (!is_unanswered(r) || i == RETRIES)
            return r;
        (void)usleep(RETRY_MS * 1000);
        if (look_again(a, run) < 0)
            return r;
        if (!run->alive)
            return err_set(e, -ESRCH, "it has ended");
    }
}

static int report_of_ended(int fd, const struct run_ref *run, struct strbuf *ret, struct err *e)
{
    auto_arena struct arena *a = arena_new();
    const struct node *root;

    if (read_report(a, fd, ret, &root, NULL) == 0)
        return 0;
    int r = replay_report(fd, run->dir, ret, e);
    return r < 0 && *run->fault ? err_set(e, r, "%s", run->fault) : r;
}

/* Between the last answer of a run and its report lies a moment in which it has neither; the lock
 * tells when that is over. */
int runs_report(const struct run_ref *run, struct strbuf *ret, struct err *e)
{
    if (!*run->dir && run->served) {
        served_report(run, ret);
        return 0;
    }
    for (int i = 0;; i++) {
        bool ended = false;
        auto_close int fd = runs_open(run, false, &ended, e);
        if (fd < 0)
            return fd;
        if (ended)
            return report_of_ended(fd, run, ret, e);
        int r = runs_ask(run, "show", ret, e);
        if (!is_unanswered(r) || i == RETRIES)
            return r;
        (void)usleep(RETRY_MS * 1000);
    }
}
