/* finish.c - see finish.h. */
#include "daemon/finish.h"

#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/io.h"
#include "base/mem.h"
#include "base/procs.h"
#include "daemon/kill_points.h"
#include "job/report.h"
#include "inspect/hang.h"
#include "rundir/azureml_dir.h"
#include "rundir/evidence.h"
#include "rundir/lost_logs.h"
#include "rundir/outputs.h"
#include "rundir/reserve.h"

static void write_report(struct active *act, const struct job *job)
{
    auto_strbuf struct strbuf sb = STRBUF_INIT, missing = STRBUF_INIT;
    auto_strvec struct strvec outputs = STRVEC_INIT;
    CLEANUP(evidence_release) struct evidence ev;
    struct json j = JSON_PRETTY(&sb);
    struct err e;

    code_prune(act);
    if (act->journal) /* else it was refused before it had any records */
        rundir_missing(&act->rd, &missing);
    if (missing.len == 0 && act->rd.logs_fd >= 0) {
        lost_logs(act->rd.logs_fd, job, act->gaps.v, act->gaps.n, &missing);
        if (missing.len > 0)
            strbuf_addstr(&missing, " while it ran");
    }
    evidence_gather(&ev, act->rd.logs_fd, job);
    outputs_find(act->rd.fd, act->rd.path, &outputs);
    struct report_context ctx = {.engine = engine_local.name,
                                 .gaps = act->gaps.v,
                                 .n_gaps = act->gaps.n,
                                 .outputs = (const char *const *)outputs.v,
                                 .aside = missing.buf};
    evidence_report(&ev, &ctx);
    report_write(job, &ctx, &j);
    strbuf_addch(&sb, '\n');
    reserve_release(act->rd.fd);
    if (io_write_atomic(act->rd.fd, "report.json", sb.buf, sb.len, &e) < 0)
        daemon_note(act->served->d, "%s: %s", act->served->row.id, e.text);
}

void finish_row(struct served *s, const char *outcome, int exit_code)
{
    free((char *)(uintptr_t)s->row.outcome);
    s->row.outcome = xstrdup(outcome);
    s->row.exit_code = exit_code;
    s->row.state = STORED_ENDED;
    s->row.ended = clock_real();
    tally_end(&s->d->tally, outcome);
    store_update(s->d->store, &s->row);
    served_mark(s);
}

static void note_end(struct active *act, const char *outcome, int exit_code)
{
    act->told = true;
    act->served->has_dir = true;
    /* others may start with the same commit */
    survey_release(&act->planned.survey);
    if (act->planned.plan && act->rd.fd >= 0)
        azureml_dir_finish(act->planned.plan);
    act->served->d->made_room = true;
    finish_row(act->served, outcome, exit_code);
}

void finish_tell(struct active *act)
{
    if (act->refusal.code) {
        finish_refused(act, &act->refusal);
        return;
    }
    write_report(act, act->job);
    kill_point(KILL_REPORT_WRITTEN);
    note_end(act, outcome_name(act->job->outcome), act->job->exit_code);
}

/* A plan to tell it with, although something is missing. NULL: not even that. */
static const struct plan *plan_anyhow(struct active *act)
{
    struct submission sub;
    struct planned planned = {.survey = SURVEY_INIT};
    auto_strbuf struct strbuf request = STRBUF_INIT;
    struct err e; /* its text becomes a part of the plan, where a level is not available */

    if (act->planned.plan)
        return act->planned.plan;
    served_request(act->served, &request);
    if (submission_read(act->a, request.buf, request.len, &sub, &e) < 0 ||
        submission_plan(act->served->d->opts->plan, act->a, &sub, &act->rd, true, &planned, &e) <
            0) {
        planned_release(&planned);
        return NULL;
    }
    planned_release(&act->planned);
    act->planned = planned;
    return planned.plan;
}

void finish_refused(struct active *act, const struct err *why)
{
    struct err reason = *why;
    enum cause_kind kind = act->planned.cause ? act->planned.cause : CAUSE_UNSCHEDULABLE;
    const struct plan *plan = plan_anyhow(act);
    struct err e;

    daemon_note(act->served->d, "%s could not be started: %s", act->served->row.id, reason.text);
    if (act->rd.fd < 0 && act->rd.path && rundir_make(&act->rd, &e) < 0)
        daemon_note(act->served->d, "%s: %s", act->served->row.id, e.text);
    if (plan && act->rd.fd >= 0) {
        struct job *job = job_refused(plan, kind, reason.text, clock_run());

        write_report(act, job);
        job_free(job);
    }
    note_end(act, outcome_name(OUTCOME_FAILED), 125);
}

static void on_closed(uv_handle_t *handle)
{
    free(handle);
}

void finish_release(struct active *act)
{
    struct served *s = act->served;

    control_free(act->control);
    hang_free(act->hang);
    usage_watch_remove(s->d->usage, act->usage);
    turn_free(act->turn);
    if (act->engine)
        act->engine->ops->free(act->engine);
    journal_close(act->journal);
    job_free(act->job);
    planned_release(&act->planned);
    log_gaps_release(&act->gaps);
    rundir_release(&act->rd);
    uv_close((uv_handle_t *)act->wake, on_closed);
    arena_free(act->a);
    free(act);
    s->act = NULL;
    s->d->n_active--;
}

void finish_leave(struct active *act)
{
    struct served *s = act->served;

    kill_point(KILL_END_COMMITTED);
    (void)journal_commit(act->journal ? act->journal : &journal_none, NULL);
    if (act->rd.scratch)
        (void)io_remove_tree(AT_FDCWD, act->rd.scratch, NULL);
    free(s->places);
    s->places = NULL;
    code_forget(s);
    finish_release(act);
    served_forget_needs(s);
    if (s->d->member) /* the system daemon hears of it now that the end is stored */
        s->d->queue_changed = true;
    retire_later(s->d);
}

void finish_kill_shim(int scratch_fd, const char *run_id)
{
    auto_strbuf struct strbuf text = STRBUF_INIT;
    char *end;

    if (io_read_regular(scratch_fd, "shim.pid", 64, &text, NULL) == 0) {
        pid_t pid = (pid_t)strtol(text.buf, &end, 10);
        unsigned long long since = strtoull(end, NULL, 10);

        if (pid > 1 && since && proc_start_time(pid) == since)
            (void)kill(pid, SIGKILL);
    }
    procs_sweep(run_id);
}
