/* line.c - an event as one line of JSON. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/io.h"
#include "base/mem.h"
#include "base/signame.h"
#include "doc/json.h"
#include "job/fields.h"
#include "job/verdict.h"
#include "journal/journal.h"
#include "journal/record.h"

static void add_ending(struct json *j, const struct ending *end)
{
    if (end->exec_errno) {
        json_kv_int(j, "errno", -end->exec_errno);
        json_kv_str(j, "what", end->exec_what);
        if (*end->program)
            json_kv_str(j, "program", end->program);
    } else if (!end->known) {
        json_kv_null(j, "exit_code");
    } else if (end->signal) {
        json_kv_str(j, "signal", signal_name(end->signal));
    } else {
        json_kv_int(j, "exit_code", end->code);
    }
    if (end->fate)
        json_kv_str(j, "fate", cause_kind_name(end->fate));
    if (*end->init)
        json_kv_str(j, "init", end->init);
    if (end->oom || end->oom_in || *end->memory_of) {
        if (end->oom)
            json_kv_bool(j, "oom", true);
        else if (end->oom_in)
            json_kv_int(j, "oom_in", end->oom_in - 1);
        json_kv_int(j, "memory_limit", end->memory_limit);
        json_kv_int(j, "memory_peak", end->memory_peak);
    }
    if (end->oom_nearby)
        json_kv_bool(j, "oom_nearby", true);
    if (*end->memory_of)
        json_kv_str(j, "memory_of", end->memory_of);
    if (end->shm_size > 0) {
        json_kv_int(j, "shm_size", end->shm_size);
        json_kv_int(j, "shm_free", end->shm_free);
    }
    if (*end->left)
        json_kv_str(j, "left", end->left);
    if (end->by_itself)
        json_kv_bool(j, "by_itself", true);
    if (end->unobserved)
        json_kv_bool(j, "unobserved", true);
    if (end->told)
        json_kv_int(j, "told", end->told);
    if (end->max_rss >= 0)
        json_kv_int(j, "max_rss", end->max_rss);
}

/* By which its record is known. */
static void add_mark(struct json *j, const struct job *job)
{
    auto_strbuf struct strbuf record = STRBUF_INIT;
    char mark[RECORD_MARK];

    record_write(&record, job->plan, &job->rules);
    json_kv_str(j, "plan", record_mark(record.buf, record.len, mark));
}

/* What the rules made of the end when it was seen. */
static void add_restart(struct json *j, const struct event *ev)
{
    if (!ev->again)
        return;
    json_key(j, "restart");
    json_object(j);
    json_kv_int(j, "at", ev->begin_at);
    json_kv_bool(j, "counted", ev->counted);
    json_end(j);
}

/* Codes of MPI_Abort are no exit statuses. */
static void add_status(struct json *j, const struct ending *end)
{
    if (end->known && end->signal)
        json_kv_str(j, "signal", signal_name(end->signal));
    else if (end->known)
        json_kv_int(j, "code", end->code);
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
    case EVENT_KILL_ROLE:
        (void)snprintf(who, sizeof(who), "%s", plan->spec->roles[ev->role].name);
        break;
    case EVENT_WAITING:
        if (ev->replica == WAITING_JOB)
            return;
        __attribute__((fallthrough));
    case EVENT_OPEN:
    case EVENT_OPENED:
    case EVENT_UNKNOWN:
    case EVENT_SEEN:
    case EVENT_REMOVAL:
        (void)snprintf(who, sizeof(who), "%s", plan->replicas[ev->replica].name);
        break;
    default:
        return;
    }
    json_kv_str(j, "who", who);
}

/* How it ended, in words: not read back, the cause says it all. */
static void add_outcome(struct json *j, const struct job *job, const struct cause *c)
{
    auto_strbuf struct strbuf text = STRBUF_INIT;

    json_kv_str(j, "outcome",
                outcome_name(c->kind == CAUSE_NONE        ? OUTCOME_SUCCEEDED
                             : c->kind == CAUSE_CANCELLED ? OUTCOME_CANCELLED
                                                          : OUTCOME_FAILED));
    json_kv_int(j, "status", c->exit_code);
    verdict_cause(job, c, &text);
    if (text.len > 0)
        json_kv_str(j, "verdict", text.buf);
}

const char *const journal_stops[] = {
    [STOP_NONE] = "none",           [STOP_FINISHED] = "finished",   [STOP_FAILURE] = "failure",
    [STOP_NOT_READY] = "not-ready", [STOP_STALLED] = "stalled",     [STOP_CANCEL] = "cancel",
    [STOP_LOST] = "lost",           [STOP_COMPLETED] = "completed", [STOP_DEADLINE] = "deadline",
    [STOP_PAUSE] = "pause",         [STOP_HANG] = "hang",           [STOP_DEBUG] = "debug",
};
const size_t journal_n_stops = ARRAY_SIZE(journal_stops);

/* The platform's words. */
static void add_why(struct json *j, const struct event *ev)
{
    if (ev->text)
        json_kv_str(j, "why", ev->text);
}

static void add_fate(struct json *j, const struct event *ev)
{
    if (ev->end.fate)
        json_kv_str(j, "fate", cause_kind_name(ev->end.fate));
}

/* Of an mpirun: when it was started, and what it runs. */
static void add_mpirun(struct json *j, const struct event *ev)
{
    if (ev->began)
        json_kv_int(j, "began", ev->began);
    if (ev->program)
        json_kv_int(j, "program", ev->program);
}

static void add_rank(struct json *j, const struct event *ev)
{
    json_kv_int(j, "launch", ev->launch);
    json_kv_int(j, "rank", ev->rank);
    json_kv_int(j, "replica", ev->replica);
    if (ev->type == EVENT_RANK_EXITED) {
        add_ending(j, &ev->end);
        add_why(j, ev);
        return;
    }
    json_kv_int(j, "size", ev->size);
    json_kv_bool(j, "forwarded", ev->forwarded);
    json_kv_str(j, "log", ev->log);
    add_mpirun(j, ev);
}

static void add_waiting(struct json *j, const struct event *ev)
{
    if (ev->replica != WAITING_JOB)
        json_kv_int(j, "replica", ev->replica);
    json_kv_str(j, "what", ev->text);
    json_kv_int(j, "needs", ev->needs);
    json_kv_int(j, "free", ev->free);
    json_kv_int(j, "ahead", ev->ahead);
    add_fate(j, ev);
}

void journal_line(struct strbuf *out, const struct job *job, const struct event *ev)
{
    struct json j = JSON_COMPACT(out);

    json_object(&j);
    json_kv_int(&j, "at", ev->at);
    json_kv_str(&j, "event", event_type_name(ev->type));
    add_who(&j, job, ev);
    switch (ev->type) {
    case EVENT_CREATED:
        json_kv_int(&j, "version", JOURNAL_VERSION);
        json_kv_str(&j, "job", job->plan->spec->name);
        json_kv_int(&j, "processes", job->plan->n_processes);
        json_kv_int(&j, "random", ev->random);
        add_mark(&j, job);
        break;
    case EVENT_OPEN:
    case EVENT_OPENED:
    case EVENT_UNKNOWN:
    case EVENT_SEEN:
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
        add_why(&j, ev);
        add_restart(&j, ev);
        break;
    case EVENT_BLAMED:
        json_kv_int(&j, "launch", ev->launch);
        json_kv_str(&j, "what", blame_kind_name(ev->blame));
        json_kv_int(&j, "rank", ev->rank);
        json_kv_int(&j, "replica", ev->replica);
        add_status(&j, &ev->end);
        break;
    case EVENT_MPIRUN_ENDED:
        json_kv_int(&j, "launch", ev->launch);
        if (ev->end.known)
            add_status(&j, &ev->end);
        if (ev->end.unobserved)
            json_kv_bool(&j, "unobserved", true);
        add_mpirun(&j, ev);
        break;
    case EVENT_RANK_STARTED:
    case EVENT_RANK_EXITED:
        add_rank(&j, ev);
        break;
    case EVENT_CANCEL:
        json_kv_str(&j, "signal", signal_name(ev->signal));
        json_kv_bool(&j, "requested", ev->asked);
        break;
    case EVENT_HUNG:
        json_kv_str(&j, "text", ev->text);
        break;
    case EVENT_STOP:
    case EVENT_KILL:
        json_kv_str(&j, "reason", journal_stops[ev->stop]);
        if (ev->stop == STOP_NOT_READY)
            json_kv_int(&j, "replica", ev->stop_replica);
        add_fate(&j, ev);
        add_why(&j, ev);
        break;
    case EVENT_REMOVAL:
        json_kv_int(&j, "replica", ev->replica);
        add_fate(&j, ev);
        add_why(&j, ev);
        break;
    case EVENT_WAITING:
        add_waiting(&j, ev);
        break;
    case EVENT_KILL_ROLE:
        json_kv_int(&j, "role", ev->role);
        break;
    case EVENT_ATTEMPT:
        json_kv_int(&j, "attempt", ev->attempt);
        json_kv_int(&j, "begin_at", ev->begin_at);
        json_kv_bool(&j, "retry", ev->retry);
        json_kv_bool(&j, "counted", ev->counted);
        cause_write(&j, "cause", &ev->cause);
        break;
    case EVENT_PAUSED:
        cause_write(&j, "cause", &ev->cause);
        break;
    case EVENT_PAUSE:
        add_why(&j, ev);
        break;
    case EVENT_RESUME:
    case EVENT_HELD:
    case EVENT_ADMITTED:
        break;
    case EVENT_ENDED:
        add_outcome(&j, job, &ev->cause);
        cause_write(&j, "cause", &ev->cause);
        break;
    case EVENT_LOST:
        json_kv_bool(&j, "silent", ev->silent);
        break;
    }
    json_end(&j);
    strbuf_addch(out, '\n');
}
