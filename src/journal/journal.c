/* journal.c - the JSON lines journal of a foreground run. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/io.h"
#include "base/mem.h"
#include "base/signame.h"
#include "doc/json.h"
#include "journal/journal.h"

struct journal {
    int fd;
    struct strbuf batch;
};

int journal_open(int dirfd, struct journal **ret, struct err *e)
{
    int fd = openat(dirfd, JOURNAL_NAME, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);

    if (fd < 0)
        return err_sys(e, -errno, "cannot create %s", JOURNAL_NAME);
    struct journal *jn = xcalloc(1, sizeof(*jn));
    jn->fd = fd;
    jn->batch = (struct strbuf)STRBUF_INIT;
    *ret = jn;
    return 0;
}

void journal_close(struct journal *jn)
{
    if (!jn)
        return;
    (void)close(jn->fd);
    strbuf_release(&jn->batch);
    free(jn);
}

static void add_ending(struct json *j, const struct ending *end)
{
    if (end->exec_errno) {
        json_kv_int(j, "errno", -end->exec_errno);
        json_kv_str(j, "what", end->exec_what);
    } else if (!end->known) {
        json_kv_null(j, "exit_code");
    } else if (end->signal) {
        json_kv_str(j, "signal", signal_name(end->signal));
    } else {
        json_kv_int(j, "exit_code", end->code);
    }
    if (*end->init)
        json_kv_str(j, "init", end->init);
    if (end->oom || end->oom_in) {
        if (end->oom)
            json_kv_bool(j, "oom", true);
        else
            json_kv_int(j, "oom_in", end->oom_in - 1);
        json_kv_int(j, "memory_limit", end->memory_limit);
        json_kv_int(j, "memory_peak", end->memory_peak);
    }
    if (end->max_rss >= 0)
        json_kv_int(j, "max_rss", end->max_rss);
}

/* The name a person knows it by, so that the journal can be read without the plan. */
static void add_who(struct json *j, const struct job *job, const struct event *ev)
{
    const struct plan *plan = job->plan;
    const struct process *p = NULL;
    char who[LIMIT_NAME + 32];

    switch (ev->type) {
    case EVENT_START:
    case EVENT_RESTART:
    case EVENT_STARTED:
    case EVENT_START_FAILED:
    case EVENT_EXITED:
        p = &plan->processes[ev->process];
        if (p->rank >= 0)
            (void)snprintf(who, sizeof(who), "%s/%d", plan->replicas[p->replica].name, p->rank);
        else
            (void)snprintf(who, sizeof(who), "%s", plan->replicas[p->replica].name);
        break;
    case EVENT_RANK_STARTED:
    case EVENT_RANK_EXITED:
        (void)snprintf(who, sizeof(who), "%s/%u", plan->replicas[ev->replica].name, ev->rank);
        break;
    case EVENT_OPEN:
    case EVENT_OPENED:
        (void)snprintf(who, sizeof(who), "%s", plan->replicas[ev->replica].name);
        break;
    default:
        return;
    }
    json_kv_str(j, "who", who);
}

const char *const journal_stops[] = {
    [STOP_NONE] = "none",           [STOP_FINISHED] = "finished",   [STOP_FAILURE] = "failure",
    [STOP_NOT_READY] = "not-ready", [STOP_STALLED] = "stalled",     [STOP_CANCEL] = "cancel",
    [STOP_LOST] = "lost",           [STOP_COMPLETED] = "completed", [STOP_DEADLINE] = "deadline",
    [STOP_PAUSE] = "pause",         [STOP_HANG] = "hang",           [STOP_DEBUG] = "debug",
};
const size_t journal_n_stops = ARRAY_SIZE(journal_stops);

void journal_line(struct strbuf *out, const struct job *job, const struct event *ev)
{
    struct json j = JSON_COMPACT(out);

    json_object(&j);
    json_kv_int(&j, "at", ev->at);
    json_kv_str(&j, "event", event_type_name(ev->type));
    add_who(&j, job, ev);
    switch (ev->type) {
    case EVENT_CREATED:
        json_kv_int(&j, "version", 1);
        json_kv_str(&j, "job", job->plan->spec->name);
        json_kv_int(&j, "processes", job->plan->n_processes);
        json_kv_int(&j, "random", ev->random);
        break;
    case EVENT_OPEN:
    case EVENT_OPENED:
        json_kv_int(&j, "replica", ev->replica);
        break;
    case EVENT_START:
    case EVENT_STARTED:
    case EVENT_RESTART:
        json_kv_int(&j, "process", ev->process);
        break;
    case EVENT_START_FAILED:
    case EVENT_EXITED:
        json_kv_int(&j, "process", ev->process);
        add_ending(&j, &ev->end);
        break;
    case EVENT_RANK_STARTED:
    case EVENT_RANK_EXITED:
        json_kv_int(&j, "launch", ev->launch);
        json_kv_int(&j, "rank", ev->rank);
        json_kv_int(&j, "replica", ev->replica);
        if (ev->type == EVENT_RANK_EXITED) {
            add_ending(&j, &ev->end);
        } else {
            json_kv_int(&j, "size", ev->size);
            json_kv_bool(&j, "forwarded", ev->forwarded);
            json_kv_str(&j, "log", ev->log);
        }
        break;
    case EVENT_CANCEL:
        json_kv_str(&j, "signal", signal_name(ev->signal));
        break;
    case EVENT_HUNG:
        json_kv_str(&j, "text", ev->text);
        break;
    case EVENT_STOP:
    case EVENT_KILL:
        json_kv_str(&j, "reason", journal_stops[ev->stop]);
        if (ev->stop == STOP_NOT_READY)
            json_kv_int(&j, "replica", ev->stop_replica);
        break;
    case EVENT_ATTEMPT:
        json_kv_int(&j, "attempt", ev->attempt);
        json_kv_int(&j, "begin_at", ev->begin_at);
        json_kv_bool(&j, "retry", ev->retry);
        json_kv_bool(&j, "counted", ev->counted);
        break;
    case EVENT_PAUSE:
    case EVENT_PAUSED:
    case EVENT_RESUME:
    case EVENT_HELD:
    case EVENT_LOST:
    case EVENT_ENDED:
        break;
    }
    json_end(&j);
    strbuf_addch(out, '\n');
}

void journal_add(struct journal *jn, const struct job *job, const struct event *ev)
{
    journal_line(&jn->batch, job, ev);
}

int journal_commit(struct journal *jn, struct err *e)
{
    if (jn->batch.len == 0)
        return 0;
    int r = io_write_all(jn->fd, jn->batch.buf, jn->batch.len);
    if (r < 0)
        return err_sys(e, r, "cannot write %s", JOURNAL_NAME);
    strbuf_truncate(&jn->batch, 0);
    return 0;
}
