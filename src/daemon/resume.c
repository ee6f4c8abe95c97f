/* resume.c - a job that a daemon before us has started: planned again, replayed, attached to.
 *
 * doc/design/daemon.md says why a job cannot be started twice.
 */
#include <string.h>
#include <time.h>

#include "base/io.h"
#include "daemon/finish.h"
#include "daemon/kill_points.h"
#include "daemon/parts.h"
#include "daemon/served_parts.h"
#include "journal/record.h"

#define ATTACH_TRIES 600 /* of a supervisor that is starting or ending, 5 ms each */

/* The journal begins with the mark of what was planned; if the same submission gives another plan
 * now, events would be folded into the wrong job. */
static int check_plan(const struct plan *plan, const struct job_rules *rules,
                      const struct strbuf *events, struct strbuf *record, struct err *e)
{
    auto_arena struct arena *a = arena_new();
    const char *nl = memchr(events->buf, '\n', events->len);
    struct event first;
    char mark[RECORD_MARK];

    if (!nl)
        return err_set(e, -EINVAL, "its journal has no event");
    int r = journal_read_line(a, events->buf, (size_t)(nl - events->buf), &first, e);
    if (r < 0)
        return r;
    record_write(record, plan, rules);
    if (!first.text || strcmp(first.text, record_mark(record->buf, record->len, mark)) != 0)
        return err_set(e, -ESTALE, "it is planned differently now");
    return 0;
}

/* What other verbs read; a daemon that was killed may not have written all of it. */
static int restore_copy(struct active *act, const struct strbuf *events,
                        const struct strbuf *record, struct err *e)
{
    int r = io_write_atomic(act->rd.fd, JOURNAL_NAME, events->buf, events->len, e);

    return r < 0 || record->len == 0
               ? r
               : io_write_atomic(act->rd.fd, RECORD_NAME, record->buf, record->len, e);
}

/* Before the loop runs: a supervisor that is just starting listens in a moment, one that is ending
 * is gone in one. */
static int attach(struct active *act, struct err *e)
{
    static const struct timespec moment = {.tv_nsec = 5 * NS_PER_MS};
    const struct engine_open how = served_engine(act);
    int r;

    for (int i = 0; (r = engine_local.attach(&how, &act->engine, e)) == -EAGAIN; i++)
        if (i == ATTACH_TRIES || nanosleep(&moment, NULL) < 0)
            break;
    return r;
}

/* Something of the job needs the supervisor that is gone. */
static bool is_lost(const struct job *job)
{
    return job->phase == JOB_HELD || job->n_running > 0 ||
           (job->n_up > 0 && job->phase != JOB_PAUSED && job->phase != JOB_ENDED);
}

static int take_over(struct active *act, const struct strbuf *events, struct err *e)
{
    struct served *s = act->served;
    struct submission typed, sub;
    auto_strbuf struct strbuf record = STRBUF_INIT;
    size_t len;
    int r = served_submission(act, &typed, &sub, e);

    if (r == 0)
        rundir_find_scratch(&act->rd);
    code_find(act->a, &act->rd, &sub);
    act->max_duration_ms = r == 0 ? sub.max_duration_ms : 0;
    if (r == 0)
        r = submission_plan(s->d->opts->plan, act->a, &sub, &act->rd, false, &act->planned, e);
    if (r == 0)
        r = check_plan(act->planned.plan, &act->planned.rules, events, &record, e);
    if (r == 0)
        r = rundir_adopt(&act->rd, e);
    if (r == 0)
        r = restore_copy(act, events, &record, e);
    if (r == 0)
        r = served_journal(act, e);
    if (r < 0)
        return r;
    act->job = job_new(act->planned.plan, &act->planned.rules);
    r = journal_replay(act->job, events->buf, events->len, &len, e);
    if (r < 0)
        return r;
    r = attach(act, e);
    if (r == 0) {
        kill_point(KILL_ADOPTED);
        act->is_local = true;
        served_turn(act);
    } else if (r == -ENOENT || r == -ECONNREFUSED || r == -ESRCH) {
        const struct engine_open how = served_engine(act);
        bool lost = is_lost(act->job);

        r = (lost ? &engine_nothing : &engine_local)->open(&how, &act->engine, e);
        if (r < 0)
            return r;
        act->is_local = !lost;
        served_turn(act);
        if (lost)
            served_observed(act, &(struct observation){.kind = OBS_LOST, .at = clock_run()});
    } else {
        return r;
    }
    s->stopping = act->job->cancel_signal != 0;
    if (act->job->deadline_from)
        s->since = clock_real() - (clock_run() - act->job->deadline_from);
    turn_catch_up(act->turn);
    return 0;
}

/* --- a job that is planned differently now ---------------------------------------------------- */

static void start_nothing(struct engine *en, uint32_t process, struct start start)
{
    (void)en;
    (void)process;
    (void)start;
}

static void open_nothing(struct engine *en, uint32_t replica, uint32_t attempt)
{
    (void)en;
    (void)replica;
    (void)attempt;
}

/* The record of a run has all that is needed to see how its processes end, to signal and to end
 * them, and nothing to start them with. */
static void only_watch(struct active *act)
{
    act->ops = *act->engine->ops;
    act->ops.start = start_nothing;
    act->ops.open = open_nothing;
    act->engine->ops = &act->ops;
    act->watched = true;
}

bool resume_is_stuck(const struct active *act)
{
    return act->watched && act->heard && !act->job->lost && act->job->phase != JOB_ENDED &&
           (act->job->n_starting > 0 || (act->job->gated && act->job->n_up == 0));
}

/* With its record instead of a plan. */
static int load_record(struct active *act, const struct strbuf *events, struct err *e)
{
    const struct rundir none = RUNDIR_INIT;
    int r;

    job_free(act->job);
    journal_close(act->journal);
    act->job = NULL;
    act->journal = NULL;
    rundir_release(&act->rd);
    act->rd = none;
    r = rundir_name(act->served->row.id, NULL, &act->rd, e);
    if (r == 0)
        rundir_find_scratch(&act->rd);
    if (r == 0)
        r = rundir_adopt(&act->rd, e);
    if (r == 0)
        r = restore_copy(act, events, &(struct strbuf)STRBUF_INIT, e);
    if (r == 0)
        r = journal_load(act->a, act->rd.fd, &act->job, e);
    if (r == 0)
        r = served_journal(act, e);
    if (r == 0)
        act->planned.plan = act->job->plan;
    return r;
}

static int watch(struct active *act, const struct strbuf *events, struct err *e)
{
    int r = load_record(act, events, e);

    if (r < 0)
        return r;
    if (attach(act, e) == 0) {
        only_watch(act);
        served_turn(act);
    } else {
        const struct engine_open how = served_engine(act);

        finish_kill_shim(act->rd.scratch_fd, act->served->row.id);
        (void)engine_nothing.open(&how, &act->engine, e);
        served_turn(act);
        if (act->job->phase != JOB_ENDED)
            served_observed(act, &(struct observation){.kind = OBS_LOST, .at = clock_run()});
    }
    act->served->stopping = act->job->cancel_signal != 0;
    turn_catch_up(act->turn);
    return 0;
}

void served_resume(struct served *s)
{
    struct active *act = served_active(s);
    auto_strbuf struct strbuf events = STRBUF_INIT;
    struct err e;

    admit_restore(s);
    int r = store_events(s->d->store, s->row.number, &events, &e);

    if (r == 0 && (r = take_over(act, &events, &e)) < 0) {
        daemon_note(s->d, "%s cannot be planned as before: %s; it continues, but cannot be retried",
                    s->row.id, e.text);
        r = watch(act, &events, &e);
    }
    if (r < 0) {
        daemon_note(s->d, "%s: %s", s->row.id, e.text);
        finish_refused(act, &e);
    }
}
