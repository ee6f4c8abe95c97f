/* hang.c - the watch: a look now and then, and the report; see hang.h. */
#include "inspect/hang.h"

#include <fcntl.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/io.h"
#include "base/limits.h"
#include "base/mem.h"
#include "job/mask.h"
#include "inspect/child.h"
#include "inspect/stack.h"
#include "inspect/waits.h"

enum { LOOKS_PER_TIMEOUT = 8, LOOK_MIN_MS = 50, LOOK_MAX_MS = 5000 };
enum { HEARTBEAT_CPU = 5 }; /* per cent of one processor that threads in the background may need */

struct hang {
    const struct job *job;
    struct hang_options opts;
    uv_timer_t timer;
    int64_t period_ms;
    ns_t looked, moved; /* the last look, and the last one at which something had happened */
    struct hang_life life, moved_life; /* at the last look, and when something had happened */
    bool had_processes;
    struct inspection *inspection; /* the report is being written; or NULL */
    ns_t told_at;                  /* when it was begun */
};

/* --- what counts ---------------------------------------------------------------------------------
 */

static bool launcher_alone(const struct job *job, const struct snapshot *lk)
{
    size_t others = 0, own = 0;

    if (job->plan->launcher < 0 || job->procs[job->plan->launcher].state != PROC_RUNNING)
        return false;
    int32_t replica = (int32_t)job->plan->processes[job->plan->launcher].replica;
    for (size_t i = 0; i < lk->n; i++) {
        own += !lk->v[i].ours && lk->v[i].replica == replica;
        others += !lk->v[i].ours && lk->v[i].replica != replica;
    }
    return own == 1 && others == 0;
}

static bool ranks_left(const struct job *job)
{
    const struct launch *l = job_last_launch(job);
    uint32_t ended = 0, running = 0;

    if (l)
        return l->ended > 0 && l->ended < l->started;
    for (uint32_t i = 0; i < job->plan->n_processes; i++) {
        if (job->plan->processes[i].rank < 0)
            continue;
        ended += job->procs[i].state == PROC_ENDED;
        running += job->procs[i].state == PROC_RUNNING;
    }
    return ended > 0 && running > 0;
}

enum hang_kind hang_kind(const struct job *job, const struct snapshot *lk, bool had_processes)
{
    if (had_processes && launcher_alone(job, lk))
        return HANG_LAUNCHER_ALONE;
    return ranks_left(job) ? HANG_RANKS_LEFT : HANG_QUIET;
}

struct hang_life hang_life(enum hang_kind kind, const struct snapshot *lk)
{
    struct hang_life sum = {0};

    for (size_t i = 0; i < lk->n; i++) {
        const struct snapshot_process *p = &lk->v[i];

        if (p->ours || kind == HANG_LAUNCHER_ALONE || (kind == HANG_RANKS_LEFT && p->rank < 0))
            continue;
        sum.bytes += p->bytes;
        sum.runs += p->runs;
        sum.cpu_ms += p->cpu_ms;
    }
    return sum;
}

bool hang_moved(struct hang_life before, struct hang_life now, int64_t ms)
{
    bool works = now.cpu_ms > before.cpu_ms + (uint64_t)ms * HEARTBEAT_CPU / 100;

    return now.bytes != before.bytes && (now.runs != before.runs || works);
}

/* --- the report ----------------------------------------------------------------------------------
 */

static const char *masked(struct arena *a, const struct plan *plan, const char *text)
{
    auto_strbuf struct strbuf sb = STRBUF_INIT;

    strbuf_addstr(&sb, text);
    mask_sentence(plan, &sb);
    return arena_strndup(a, sb.buf, sb.len);
}

/* Lines of a debugger, harmless for a terminal. What gdb says before its first stack (of
 * namespaces, of sources that are not there) is left out. */
static const char *clean_lines(struct arena *a, const struct strbuf *raw)
{
    auto_strbuf struct strbuf sb = STRBUF_INIT;
    const char *stack = strstr(raw->buf, "\nThread ");

    for (const char *p = stack ? stack + 1 : raw->buf; *p; p += strcspn(p, "\n"), p += *p == '\n') {
        strbuf_add_escaped(&sb, p, strcspn(p, "\n"));
        strbuf_addch(&sb, '\n');
    }
    return arena_strndup(a, sb.buf, sb.len);
}

/* A shell that waits for its command: there is nothing to see. */
static bool only_waits_for_child(const struct snapshot_process *p)
{
    return p->n_threads == 1 &&
           (p->threads[0].call == SYS_wait4 || p->threads[0].call == SYS_waitid);
}

static void add_places(struct arena *a, struct snapshot *lk)
{
    for (size_t i = 0; i < lk->n; i++) {
        struct snapshot_process *p = &lk->v[i];
        struct py_stack *s = ARENA_NEW(a, struct py_stack);

        if (p->ours || !*p->command || only_waits_for_child(p))
            continue;
        const char *why = python_of(a, p->pid, s);
        if (why && *why)
            p->no_python = why;
        if (why)
            continue;
        p->python = s;
        const struct py_thread *t = python_main(s, p->inner);
        const struct py_frame *f = t ? python_own(t) : NULL;
        if (!f)
            continue;
        const char *slash = strrchr(f->file, '/');
        p->place = (struct snapshot_place){.file = slash ? slash + 1 : f->file,
                                           .function = f->function,
                                           .line = f->line,
                                           .source = python_source(a, p->pid, f->file, f->line)};
    }
}

/* False: there is no debugger here. */
static bool add_stack(struct arena *a, struct snapshot_process *p, ns_t deadline)
{
    auto_strbuf struct strbuf raw = STRBUF_INIT;
    int64_t left = (deadline - clock_mono()) / NS_PER_MS;

    if (left <= 0) {
        p->stack = "(not collected: the time limit for stacks was reached)\n";
        return true;
    }
    enum stack_of what = p->python      ? STACK_OF_PYTHON
                         : p->no_python ? STACK_OF_UNKNOWN_PYTHON
                                        : STACK_OF_PROGRAM;
    if (!stack_of(p->pid, what, left < LIMIT_STACK_MS ? left : LIMIT_STACK_MS, &raw))
        return false;
    p->stack = clean_lines(a, &raw);
    p->inside = hang_inside(a, p->stack);
    return true;
}

/* Those first that are spoken of: a debugger takes seconds for a large program. */
static void add_stacks(struct arena *a, struct snapshot *lk)
{
    ns_t deadline = clock_mono() + LIMIT_STACKS_MS * NS_PER_MS;
    bool ranks = snapshot_has_ranks(lk);

    for (int first = 1; first >= 0; first--)
        for (size_t i = 0; i < lk->n; i++) {
            struct snapshot_process *p = &lk->v[i];

            if (!p->ours && *p->command && is_told(p, ranks) == first && !only_waits_for_child(p) &&
                !add_stack(a, p, deadline))
                return;
        }
}

/* Secrets of the job are in nothing that is written. */
static void mask_all(struct arena *a, const struct plan *plan, struct snapshot *lk)
{
    for (size_t i = 0; i < lk->n; i++) {
        struct snapshot_process *p = &lk->v[i];

        p->command = masked(a, plan, p->command);
        p->stack = p->stack ? masked(a, plan, p->stack) : NULL;
        p->place.source = p->place.source ? masked(a, plan, p->place.source) : NULL;
        for (size_t t = 0; p->python && t < p->python->n; t++)
            for (size_t k = 0; k < p->python->v[t].n; k++) {
                struct py_frame *f = &p->python->v[t].frames[k];

                f->file = masked(a, plan, f->file);
                f->function = masked(a, plan, f->function);
            }
    }
}

static int write_files(int run_fd, const struct hang_seen *seen, const char *sentence,
                       struct err *e)
{
    auto_strbuf struct strbuf text = STRBUF_INIT, json = STRBUF_INIT;
    struct json j = JSON_PRETTY(&json);

    hang_text(seen, sentence, &text);
    hang_json(seen, sentence, &j);
    strbuf_addch(&json, '\n');
    int r = io_write_atomic(run_fd, HANG_TEXT, text.buf, text.len, e);
    return r < 0 ? r : io_write_atomic(run_fd, HANG_JSON, json.buf, json.len, e);
}

/* Debuggers take seconds, and /proc of a process that hangs may take any time: the report is
 * written by a child, which has our memory and none of our descriptors but two. *ret: the sentence
 * for the core, a NUL, and what could not be written. */
static void report(struct arena *a, struct snapshot *lk, const struct hang_seen *seen, int run_fd,
                   struct strbuf *ret)
{
    const struct plan *plan = seen->job->plan;
    struct err e = {0};

    add_stacks(a, lk);
    mask_all(a, plan, lk);
    hang_sentence(seen, ret);
    mask_sentence(plan, ret);
    (void)write_files(run_fd, seen, ret->buf, &e);
    hang_table(seen, ret);
    mask_sentence(plan, ret);
    strbuf_addch(ret, '\0');
    strbuf_addstr(ret, e.text);
}

static const struct hang_seen *seen_now(struct hang *h, const struct snapshot *lk,
                                        enum hang_kind kind, ns_t now, struct hang_seen *ret)
{
    *ret = (struct hang_seen){.job = h->job,
                              .snapshot = lk,
                              .kind = kind,
                              .timeout_ms = h->opts.timeout_ms,
                              .at = now,
                              .heartbeats = h->life.bytes != h->moved_life.bytes};
    return ret;
}

static void tell(struct hang *h, const char *text, ns_t at)
{
    const struct observation o = {.kind = OBS_HUNG, .at = at, .text = text};

    h->opts.hung(h->opts.ctx, &o);
}

/* The child has ended. One that was killed has left nothing: the sentence without it will do. */
static void on_report(void *ctx, const char *text, size_t n)
{
    struct hang *h = ctx;

    h->inspection = NULL;
    if (n == 0) {
        tell(h, "no output and no byte read or written (--hang-timeout); no report could be made",
             h->told_at);
        return;
    }
    const char *lack = text + strlen(text) + 1;
    if (lack < text + n && *lack)
        h->opts.note(h->opts.ctx, lack);
    tell(h, text, h->told_at);
}

struct work { /* of the child */
    struct arena *a;
    struct snapshot *snapshot;
    const struct hang_seen *seen;
    bool looked; /* by the parent */
};

static void look_closer(struct arena *a, struct snapshot *lk)
{
    snapshot_closer(a, lk);
    add_places(a, lk);
}

/* Yama lets nobody but an ancestor read the memory of a process: us, and no child of ours. */
static bool only_ancestors_read(void)
{
    auto_strbuf struct strbuf scope = STRBUF_INIT;

    return geteuid() != 0 &&
           io_read_file(AT_FDCWD, "/proc/sys/kernel/yama/ptrace_scope", 16, &scope, NULL) == 0 &&
           *scope.buf > '0';
}

static void in_child(void *arg, int run_fd, struct strbuf *out)
{
    const struct work *w = arg;

    if (!w->looked)
        look_closer(w->a, w->snapshot);
    report(w->a, w->snapshot, w->seen, run_fd, out);
}

static void inspect_it(struct hang *h, struct arena *a, struct snapshot *lk, enum hang_kind kind,
                       ns_t now)
{
    struct hang_seen seen;
    struct work w = {.a = a,
                     .snapshot = lk,
                     .seen = seen_now(h, lk, kind, now, &seen),
                     .looked = only_ancestors_read()};

    if (w.looked)
        look_closer(a, lk);

    h->moved = h->told_at = now; /* the core may have reasons not to listen */
    h->inspection = inspection_new(h->timer.loop, h->opts.run_fd, in_child, &w, on_report, h);
    if (!h->inspection)
        on_report(h, "", 0);
}

/* --- the watch -----------------------------------------------------------------------------------
 */

static ns_t later(ns_t a, ns_t b)
{
    return a > b ? a : b;
}

/* Were we away ourselves (a laptop asleep, muster stopped)? Then the job may have been, too. */
static bool was_away(const struct hang *h, ns_t now)
{
    return h->looked != 0 && now - h->looked > (2 * h->period_ms + h->opts.timeout_ms) * NS_PER_MS;
}

static void on_look(uv_timer_t *timer)
{
    struct hang *h = timer->data;
    auto_arena struct arena *a = NULL;
    ns_t now = clock_run();
    struct snapshot lk;

    if (h->job->stop != STOP_NONE || h->inspection)
        return;
    bool away = was_away(h, now);
    h->looked = now;
    if (h->job->phase != JOB_RUNNING || h->job->n_backoff > 0 || h->job->debugging || away)
        h->moved = now; /* what waits to be started again, or for somebody, does not hang */
    pid_t root = h->opts.root(h->opts.ctx);
    if (h->job->phase != JOB_RUNNING || h->job->debugging || root <= 0) {
        h->had_processes = false;
        return;
    }
    a = arena_new();
    snapshot_at(a, h->job->plan, root, &lk);
    enum hang_kind kind = hang_kind(h->job, &lk, h->had_processes);
    struct hang_life life = hang_life(kind, &lk);
    if (h->job->plan->launcher >= 0 && !launcher_alone(h->job, &lk))
        h->had_processes = true;
    if (hang_moved(h->life, life, h->period_ms)) {
        h->moved = now;
        h->moved_life = life;
    }
    h->life = life;
    ns_t last = later(later(h->moved, h->job->activity), h->job->running_at);
    if (now - last >= h->opts.timeout_ms * NS_PER_MS)
        inspect_it(h, a, &lk, kind, now);
}

struct hang *hang_new(uv_loop_t *loop, const struct job *job, const struct hang_options *opts)
{
    struct hang *h = xcalloc(1, sizeof(*h));

    h->job = job;
    h->opts = *opts;
    h->period_ms = opts->timeout_ms / LOOKS_PER_TIMEOUT;
    if (h->period_ms < LOOK_MIN_MS)
        h->period_ms = LOOK_MIN_MS;
    if (h->period_ms > LOOK_MAX_MS)
        h->period_ms = LOOK_MAX_MS;
    (void)uv_timer_init(loop, &h->timer);
    h->timer.data = h;
    (void)uv_timer_start(&h->timer, on_look, (uint64_t)h->period_ms, (uint64_t)h->period_ms);
    return h;
}

static void on_closed(uv_handle_t *handle)
{
    free(handle->data);
}

void hang_free(struct hang *h)
{
    if (!h)
        return;
    inspection_stop(h->inspection);
    uv_close((uv_handle_t *)&h->timer, on_closed);
}
