/* read.c - the journal back into events, and these into a job: what a restart begins with.
 *
 * The text may come from a disk that was full or from a hand that edited it, so nothing in it is
 * believed: numbers have ranges, an event has to fit the plan it is folded into.
 */
#include <stdio.h>
#include <string.h>

#include "base/num.h"
#include "base/signame.h"
#include "doc/json_read.h"
#include "job/fields.h"
#include "job/snapshot.h"
#include "journal/journal.h"

struct line {
    const struct node *map;
    const char *missing; /* the first key that is not there or out of its range; NULL: none */
};

static int64_t number(struct line *l, const char *key, int64_t min, int64_t max)
{
    const struct node *n = node_get(l->map, key);

    if (n && n->type == NODE_INT && n->i >= min && n->i <= max)
        return n->i;
    if (!l->missing)
        l->missing = key;
    return min;
}

static int64_t number_or(struct line *l, const char *key, int64_t fallback)
{
    return node_get(l->map, key) ? number(l, key, INT64_MIN, INT64_MAX) : fallback;
}

static bool truth(const struct line *l, const char *key)
{
    const struct node *n = node_get(l->map, key);

    return n && n->type == NODE_BOOL && n->i != 0;
}

/* NULL if it is null or not there. */
static const char *text_of(const struct line *l, const char *key)
{
    return node_text(node_get(l->map, key), NULL);
}

/* As signal_name() spells it; real-time signals have numbers only. */
static int signal_of(struct line *l)
{
    const char *name = text_of(l, "signal");
    int sig = name ? signal_number(name) : -1;
    uint32_t n;

    if (sig < 0 && name && !strncmp(name, "signal ", 7) && num_u32(name + 7, &n) == 0 && n < 128)
        sig = (int)n;
    if (sig < 0 && !l->missing)
        l->missing = "signal";
    return sig < 0 ? 0 : sig;
}

static enum cause_kind fate_of(struct line *l)
{
    const char *name = text_of(l, "fate");

    for (int k = CAUSE_NONE + 1; name && k <= CAUSE_LAST; k++)
        if (!strcmp(name, cause_kind_name((enum cause_kind)k)))
            return (enum cause_kind)k;
    if (name && !l->missing)
        l->missing = "fate";
    return CAUSE_NONE;
}

static struct ending ending_of(struct line *l)
{
    const struct node *code = node_get(l->map, "exit_code");
    struct ending end = {.known = true, .code = -1};

    if (node_get(l->map, "errno")) {
        const char *what = text_of(l, "what");
        end.exec_errno = -(int)number(l, "errno", 1, LIMIT_ERRNO);
        (void)snprintf(end.exec_what, sizeof(end.exec_what), "%s", what ? what : "");
        const char *program = text_of(l, "program");
        (void)snprintf(end.program, sizeof(end.program), "%s", program ? program : "");
    } else if (node_get(l->map, "signal")) {
        end.signal = signal_of(l);
    } else if (code && code->type == NODE_NULL) {
        end.known = false;
    } else {
        end.code = (int)number(l, "exit_code", 0, 255);
    }
    if (node_get(l->map, "init")) {
        const char *init = text_of(l, "init");
        (void)snprintf(end.init, sizeof(end.init), "%s", init ? init : "");
    }
    end.fate = fate_of(l);
    end.oom = truth(l, "oom");
    if (node_get(l->map, "oom_in"))
        end.oom_in = (uint32_t)number(l, "oom_in", 0, INT32_MAX) + 1;
    const char *left = text_of(l, "left");
    (void)snprintf(end.left, sizeof(end.left), "%s", left ? left : "");
    end.unobserved = truth(l, "unobserved");
    end.by_itself = truth(l, "by_itself");
    end.told = number_or(l, "told", 0);
    end.max_rss = number_or(l, "max_rss", -1);
    end.memory_limit = number_or(l, "memory_limit", -1);
    end.memory_peak = number_or(l, "memory_peak", -1);
    end.oom_nearby = truth(l, "oom_nearby");
    const char *memory_of = text_of(l, "memory_of");
    (void)snprintf(end.memory_of, sizeof(end.memory_of), "%s", memory_of ? memory_of : "");
    end.shm_size = number_or(l, "shm_size", 0);
    end.shm_free = number_or(l, "shm_free", 0);
    return end;
}

static int word_index(const char *word, const char *const *words, size_t n)
{
    for (size_t i = 0; word && i < n; i++)
        if (!strcmp(words[i], word))
            return (int)i;
    return -1;
}

static void read_stop(struct line *l, struct event *ev)
{
    int reason = word_index(text_of(l, "reason"), journal_stops, journal_n_stops);

    if (reason < 0 && !l->missing)
        l->missing = "reason";
    ev->stop = reason < 0 ? STOP_NONE : (enum stop_reason)reason;
    if (ev->stop == STOP_NOT_READY)
        ev->stop_replica = (int32_t)number(l, "replica", 0, LIMIT_REPLICAS - 1);
    ev->end.fate = fate_of(l);
    ev->text = text_of(l, "why");
}

static void read_mpirun(struct line *l, struct event *ev)
{
    if (node_get(l->map, "began"))
        ev->began = number(l, "began", 0, INT64_MAX);
    if (node_get(l->map, "program"))
        ev->program = number(l, "program", 0, INT64_MAX);
}

/* "signal", "code" or neither. */
static struct ending read_status(struct line *l)
{
    struct ending end = {
        .known = true, .code = -1, .max_rss = -1, .memory_limit = -1, .memory_peak = -1};

    if (node_get(l->map, "signal"))
        end.signal = signal_of(l);
    else if (node_get(l->map, "code"))
        end.code = (int)number(l, "code", INT32_MIN, INT32_MAX);
    else
        end.known = false;
    return end;
}

static void read_rank(struct line *l, struct event *ev)
{
    ev->launch = (uint32_t)number(l, "launch", 1, LIMIT_LAUNCHES);
    ev->rank = (uint32_t)number(l, "rank", 0, LIMIT_PROCESSES - 1);
    ev->replica = (uint32_t)number(l, "replica", 0, LIMIT_REPLICAS - 1);
    if (ev->type == EVENT_RANK_EXITED) {
        ev->end = ending_of(l);
        ev->text = text_of(l, "why");
        return;
    }
    ev->size = (uint32_t)number(l, "size", 0, LIMIT_PROCESSES);
    ev->log = text_of(l, "log");
    ev->forwarded = truth(l, "forwarded");
    read_mpirun(l, ev);
}

static void read_blame(struct line *l, struct event *ev)
{
    const char *what = text_of(l, "what");

    ev->launch = (uint32_t)number(l, "launch", 1, LIMIT_LAUNCHES);
    ev->rank = (uint32_t)number(l, "rank", 0, LIMIT_PROCESSES - 1);
    ev->replica = (uint32_t)number(l, "replica", 0, LIMIT_REPLICAS - 1);
    ev->end = read_status(l);
    for (int k = BLAME_NONE + 1; what && k <= BLAME_LAST; k++)
        if (!strcmp(what, blame_kind_name((enum blame_kind)k)))
            ev->blame = (enum blame_kind)k;
    if (ev->blame == BLAME_NONE && !l->missing)
        l->missing = "what";
}

/* A process that is to be started again. */
static void read_restart(struct line *l, struct event *ev)
{
    struct line inner = {.map = node_get(l->map, "restart")};

    if (!inner.map)
        return;
    ev->again = true;
    ev->begin_at = number(&inner, "at", 0, INT64_MAX);
    ev->counted = truth(&inner, "counted");
    if (inner.missing && !l->missing)
        l->missing = "restart";
}

static void read_cause(struct line *l, struct event *ev)
{
    const char *bad = cause_read(node_get(l->map, "cause"), &ev->cause);

    if (bad && !l->missing)
        l->missing = "cause";
}

static void read_waiting(struct line *l, struct event *ev)
{
    ev->replica = node_get(l->map, "replica")
                      ? (uint32_t)number(l, "replica", 0, LIMIT_REPLICAS - 1)
                      : WAITING_JOB;
    ev->text = text_of(l, "what");
    ev->needs = number(l, "needs", 0, INT64_MAX);
    ev->free = number(l, "free", -1, INT64_MAX);
    ev->ahead = (uint32_t)number(l, "ahead", 0, UINT32_MAX);
    ev->end.fate = fate_of(l);
}

static void read_fields(struct line *l, struct event *ev)
{
    switch (ev->type) {
    case EVENT_CREATED:
        (void)number(l, "version", JOURNAL_VERSION, JOURNAL_VERSION);
        ev->random = (uint32_t)number(l, "random", 0, UINT32_MAX);
        ev->text = text_of(l, "plan");
        break;
    case EVENT_WAITING:
        read_waiting(l, ev);
        break;
    case EVENT_REMOVAL:
        ev->replica = (uint32_t)number(l, "replica", 0, LIMIT_REPLICAS - 1);
        ev->end.fate = fate_of(l);
        ev->text = text_of(l, "why");
        break;
    case EVENT_ADMITTED:
        break;
    case EVENT_OPEN:
    case EVENT_OPENED:
    case EVENT_UNKNOWN:
    case EVENT_SEEN:
        ev->replica = (uint32_t)number(l, "replica", 0, LIMIT_REPLICAS - 1);
        break;
    case EVENT_START:
    case EVENT_STARTED:
    case EVENT_RESTART:
    case EVENT_START_FAILED:
    case EVENT_EXITED:
        ev->process = (uint32_t)number(l, "process", 0, LIMIT_PROCESSES - 1);
        if (ev->type == EVENT_START_FAILED || ev->type == EVENT_EXITED)
            ev->end = ending_of(l);
        ev->text = text_of(l, "why");
        read_restart(l, ev);
        break;
    case EVENT_RANK_STARTED:
    case EVENT_RANK_EXITED:
        read_rank(l, ev);
        break;
    case EVENT_BLAMED:
        read_blame(l, ev);
        break;
    case EVENT_MPIRUN_ENDED:
        ev->launch = (uint32_t)number(l, "launch", 1, LIMIT_LAUNCHES);
        ev->end = read_status(l);
        if (node_get(l->map, "unobserved"))
            ev->end.unobserved = truth(l, "unobserved");
        read_mpirun(l, ev);
        break;
    case EVENT_CANCEL:
        ev->signal = signal_of(l);
        ev->asked = truth(l, "requested");
        break;
    case EVENT_HUNG:
        ev->text = text_of(l, "text");
        if (!ev->text && !l->missing)
            l->missing = "text";
        break;
    case EVENT_STOP:
    case EVENT_KILL:
        read_stop(l, ev);
        break;
    case EVENT_KILL_ROLE:
        ev->role = (uint32_t)number(l, "role", 0, LIMIT_REPLICAS - 1);
        break;
    case EVENT_ATTEMPT:
        ev->attempt = (uint32_t)number(l, "attempt", 1, UINT32_MAX);
        ev->begin_at = number(l, "begin_at", 0, INT64_MAX);
        ev->retry = truth(l, "retry");
        ev->counted = truth(l, "counted");
        read_cause(l, ev);
        break;
    case EVENT_PAUSED:
    case EVENT_ENDED:
        read_cause(l, ev);
        break;
    case EVENT_PAUSE:
        ev->text = text_of(l, "why");
        break;
    case EVENT_RESUME:
    case EVENT_HELD:
        break;
    case EVENT_LOST:
        ev->silent = truth(l, "silent");
        break;
    }
}

static int type_of(const char *word)
{
    for (int t = 0; word && t <= EVENT_LAST; t++)
        if (!strcmp(event_type_name((enum event_type)t), word))
            return t;
    return -1;
}

int journal_read_line(struct arena *a, const char *line, size_t len, struct event *ret,
                      struct err *e)
{
    struct diags ds;
    struct doc doc = {0};

    diags_init(&ds, a);
    json_read(a, JOURNAL_NAME, line, len, false, &ds, &doc);
    bool good = ds.n_errors == 0 && doc.n_roots == 1 && doc.roots[0]->type == NODE_MAP;
    diags_release(&ds);
    if (!good)
        return err_set(e, -EINVAL, "%s: a line is not a JSON object", JOURNAL_NAME);

    struct line l = {.map = doc.roots[0]};
    int type = type_of(text_of(&l, "event"));
    if (type < 0)
        return err_set(e, -EINVAL, "%s: a line has no known event", JOURNAL_NAME);
    struct event ev = {.type = (enum event_type)type, .stop_replica = -1};
    ev.at = number(&l, "at", 0, INT64_MAX);
    read_fields(&l, &ev);
    ev.end.at = ev.at;
    if (l.missing)
        return err_set(e, -EINVAL, "%s: event %s: \"%s\" is missing or invalid", JOURNAL_NAME,
                       event_type_name(ev.type), l.missing);
    *ret = ev;
    return 0;
}

static bool rank_fits(const struct job *job, const struct event *ev)
{
    if (ev->replica >= job->plan->n_replicas || ev->launch < 1)
        return false;
    if (ev->type == EVENT_RANK_STARTED)
        return ev->launch <= job->n_launches + 1;
    if (ev->type == EVENT_BLAMED && (ev->blame == BLAME_DAEMON || ev->blame == BLAME_AGENT))
        return ev->launch <= job->n_launches + 1; /* perhaps before any rank */
    return ev->launch <= job->n_launches && ev->rank < job->launches[ev->launch - 1].size;
}

bool journal_fits(const struct job *job, const struct event *ev)
{
    switch (ev->type) {
    case EVENT_OPEN:
    case EVENT_OPENED:
        return job->gated && ev->replica < job->plan->n_replicas;
    case EVENT_WAITING:
        return ev->replica == WAITING_JOB || ev->replica < job->plan->n_replicas;
    case EVENT_UNKNOWN:
    case EVENT_SEEN:
    case EVENT_REMOVAL:
        return ev->replica < job->plan->n_replicas;
    case EVENT_START:
    case EVENT_STARTED:
    case EVENT_RESTART:
    case EVENT_START_FAILED:
    case EVENT_EXITED:
        return ev->process < job->plan->n_processes;
    case EVENT_RANK_STARTED:
    case EVENT_RANK_EXITED:
    case EVENT_BLAMED:
        return rank_fits(job, ev);
    case EVENT_MPIRUN_ENDED:
        return ev->launch >= 1 && ev->launch <= job->n_launches + 1;
    case EVENT_KILL_ROLE:
        return ev->role < job->plan->spec->n_roles;
    case EVENT_STOP:
    case EVENT_KILL:
        return ev->stop_replica < (int32_t)job->plan->n_replicas;
    case EVENT_ENDED:
    case EVENT_ATTEMPT:
    case EVENT_PAUSED:
        return job_cause_fits(job, &ev->cause);
    default:
        return true;
    }
}

int journal_replay(struct job *job, const char *text, size_t len, size_t *ret_len, struct err *e)
{
    auto_arena struct arena *a = arena_new();
    size_t done = 0;

    for (unsigned n = 1; done < len; n++) {
        const char *end = memchr(text + done, '\n', len - done);
        struct event ev = {0};

        if (!end)
            break;
        int r = journal_read_line(a, text + done, (size_t)(end - text) - done, &ev, e);
        if (r == 0 && !journal_fits(job, &ev))
            r = err_set(e, -EINVAL, "%s: event %s does not belong to this job", JOURNAL_NAME,
                        event_type_name(ev.type));
        if (r < 0)
            return err_wrap(e, r, "line %u", n);
        job_apply(job, &ev);
        done = (size_t)(end - text) + 1;
    }
    *ret_len = done;
    return 0;
}
