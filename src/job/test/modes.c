/* modes.c - a job that is debugged, and one that is held after a failure, as tables; and that the
 * events alone give the state. Decisions are stage.h's letters.
 */
#include "job/test/stage.h"
#include "job/verdict.h"

#define N_OF(table) (sizeof(table) / sizeof((table)[0]))

static void is_its_events(const struct stage *st, const char *name)
{
    struct job *again = job_new(&st->plan, &stage_rules);
    const struct job *was = st->job;

    for (size_t i = 0; i < st->all.n; i++)
        job_apply(again, &st->all.v[i]);
    ok(again->phase == was->phase && again->attempt == was->attempt && again->stop == was->stop &&
           again->debugging == was->debugging && again->debug_over == was->debug_over &&
           again->hold_over == was->hold_over && again->held_at == was->held_at &&
           again->exit_code == was->exit_code && again->n_running == was->n_running &&
           again->resumed == was->resumed && again->pause_wanted == was->pause_wanted,
       "%s: the events alone give the same state", name);
    job_free(again);
}

static const struct {
    const char *name;
    bool debug, hold, paused;
    int retries;
    const char *play, *decisions;
    enum job_phase phase;
    int exit_code;
    const char *kind;
    uint32_t attempt;
    bool debugging;
} rows[] = {
    {"4.23: replicas come up and stay", true, false, false, 0, "wait@9999", "ss", JOB_RUNNING, 0,
     "none", 1, true},
    {"4.23: Ctrl-C ends it", true, false, false, 0, "cancel@5", "ssTE", JOB_ENDED, 130, "cancelled",
     1, true},
    {"4.23: resume begins the job", true, false, false, 0, "resume@5 up@6", "ssTAss", JOB_RUNNING,
     0, "none", 2, false},
    {"4.23: which then ends as it does", true, false, false, 0, "resume@5 up@6 w-0=0@7 w-1=0@8",
     "ssTAssE", JOB_ENDED, 0, "none", 2, false},
    {"4.23: twice is once", true, false, false, 0, "resume@5+resume@5 up@6 resume@7", "ssTAss",
     JOB_RUNNING, 0, "none", 2, false},
    {"4.23: it takes nothing of the budget", true, false, false, 1,
     "resume@5 up@6 w-0=1@7 down@8 up@20 w-0=1@21 down@22", "ssTAssTAssTE", JOB_ENDED, 1, "exit", 3,
     false},
    {"4.24: a command that fails beside it is a failure", true, false, false, 0, "w-0=3@5 down@6",
     "ssTE", JOB_ENDED, 3, "exit", 1, true},
    {"4.25: a pause does not end the debugging", true, false, false, 0,
     "pause@5 down@6 resume@7 up@8", "ssTPAss", JOB_RUNNING, 0, "none", 2, true},
    {"4.25: a file may start paused and be debugged then", true, false, true, 0,
     "resume@5 up@6 resume@7 up@8", "AssTAss", JOB_RUNNING, 0, "none", 2, false},
    {"4.25: nothing is resumed before it began", true, false, true, 0, "cancel@5 resume@5", "E",
     JOB_ENDED, 130, "cancelled", 1, true},
    {"4.23: its supervisor is lost", true, false, false, 0, "lost@5", "ssE", JOB_ENDED, 125, "lost",
     1, true},
    {"hold: after a failure, all stopped", false, true, false, 0, "w-0=3@5 down@6", "ssTH",
     JOB_HELD, 0, "none", 1, false},
    {"hold: nothing happens by itself", false, true, false, 5, "w-0=3@5 down@6 wait@9999", "ssTH",
     JOB_HELD, 0, "none", 1, false},
    {"hold: resume: the verdict", false, true, false, 0, "w-0=3@5 down@6 resume@9", "ssTHE",
     JOB_ENDED, 3, "exit", 1, false},
    {"hold: resume: the next attempt, held again", false, true, false, 1,
     "w-0=3@5 down@6 resume@9 up@30 w-1=4@31 down@32", "ssTHAssTH", JOB_HELD, 0, "none", 2, false},
    {"hold: cancel ends it, as failed", false, true, false, 5, "w-0=3@5 down@6 cancel@9", "ssTHE",
     JOB_ENDED, 3, "exit", 1, false},
    {"hold: it cannot be paused", false, true, false, 0, "w-0=3@5 down@6 pause@9", "ssTH", JOB_HELD,
     0, "none", 1, false},
    {"hold: the supervisor dies", false, true, false, 5, "w-0=3@5 down@6 lost@9", "ssTHE",
     JOB_ENDED, 3, "exit", 1, false},
    {"hold: what does not end is killed first", false, true, false, 0,
     "w-0=3@5 wait@6 wait@15 down@16", "ssTKH", JOB_HELD, 0, "none", 1, false},
    {"hold: a success is none of its business", false, true, false, 0, "w-0=0@5 w-1=0@6", "ssE",
     JOB_ENDED, 0, "none", 1, false},
    {"hold: nor a cancel", false, true, false, 0, "cancel@5 down@6", "ssTE", JOB_ENDED, 130,
     "cancelled", 1, false},
    {"hold: a pause that comes too late is forgotten", false, true, false, 1,
     "pause@5+w-0=3@5+w-1=0@5 resume@6 up@7", "ssHAss", JOB_RUNNING, 0, "none", 2, false},
    {"hold: nor a pause", false, true, false, 0, "pause@5 down@6", "ssTP", JOB_PAUSED, 0, "none", 2,
     false},
};

static void test_rows(void)
{
    for (size_t i = 0; i < N_OF(rows); i++) {
        struct stage st;
        stage_cast(&st, "w 2 0 0", PLATFORM_T9K);
        st.spec.retry.max = rows[i].retries;
        st.spec.debug = rows[i].debug;
        st.spec.pause = rows[i].paused;
        for (uint32_t p = 0; p < st.plan.n_processes; p++)
            st.processes[p].debug = rows[i].debug;
        stage_begin(&st);
        st.job->rules.hold = rows[i].hold;
        stage_play(&st, rows[i].play);
        is_str(st.decisions, rows[i].decisions, "%s: decisions", rows[i].name);
        is_str(job_phase_name(st.job->phase), job_phase_name(rows[i].phase), "%s: phase",
               rows[i].name);
        is_int(st.job->exit_code, rows[i].exit_code, "%s: exit code", rows[i].name);
        is_str(cause_kind_name(st.job->cause.kind), rows[i].kind, "%s: cause", rows[i].name);
        is_int((int)st.job->attempt, (int)rows[i].attempt, "%s: attempt", rows[i].name);
        is_int(st.job->debugging, rows[i].debugging, "%s: debugging", rows[i].name);
        is_its_events(&st, rows[i].name);
        stage_free(&st);
    }
}

/* What runs beside the waiting is given its grace. */
static void test_beside(void)
{
    static const char *const beside[] = {"jupyter", NULL};
    struct stage st;

    stage_cast(&st, "w 1 0 0", PLATFORM_T9K);
    st.spec.debug = true;
    st.processes[0].debug = true;
    st.processes[0].debug_argv = beside;
    stage_begin(&st);
    struct observation o = stage_word(&st, "cancel@5");
    (void)stage_report(&st, &o);
    stage_decide(&st, 6 * NS_PER_S);
    is_str(st.decisions, "sT", "4.24: a command beside the waiting is asked to end");
    stage_play(&st, "wait@16");
    is_str(st.decisions, "sTKE", "4.24: and killed after the grace period");
    stage_free(&st);

    stage_cast(&st, "w 1 0 0", PLATFORM_T9K);
    st.spec.debug = true;
    st.processes[0].debug = true;
    st.processes[0].debug_argv = beside;
    stage_begin(&st);
    o = stage_word(&st, "resume@5");
    (void)stage_report(&st, &o);
    stage_decide(&st, 5 * NS_PER_S);
    stage_play(&st, "cancel@6");
    is_str(st.decisions, "sTE", "4.23: a cancel on the way out of the debugging");
    is_int(st.job->exit_code, 130, "4.23: is believed");
    stage_free(&st);
}

/* An mpirun that a person calls by hand is not the job's. */
static void test_private(void)
{
    const struct observation rank = {
        .kind = OBS_RANK_STARTED, .launch = 1, .size = 2, .at = 7 * NS_PER_S, .log = "r.log"};
    auto_strbuf struct strbuf text = STRBUF_INIT;
    struct stage st;

    stage_cast(&st, "w 1 0 0", PLATFORM_T9K);
    st.spec.debug = true;
    st.processes[0].debug = true;
    stage_begin(&st);
    is_int((int)stage_report(&st, &rank), 0, "4.23: ranks of a job that is debugged");
    is_str(job_state_name(st.job), "debugging", "4.23: what it is called");
    stage_free(&st);

    stage_cast(&st, "w 1 0 0", PLATFORM_T9K);
    stage_begin(&st);
    st.job->rules.hold = true;
    stage_play(&st, "w-0=3@5");
    is_int((int)stage_report(&st, &rank), 0, "hold: ranks of a job that is held");
    verdict_held(st.job, &text);
    is_str(text.buf, "held: w-0 exited with status 3; its replicas are kept", "hold: in words");
    stage_free(&st);
}

int main(void)
{
    test_rows();
    test_beside();
    test_private();
    return tap_done();
}
