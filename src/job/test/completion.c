/* completion.c - the counts that end a job: one row per story, in OpenPAI's order. */
#include "job/test/stage.h"
#include "job/verdict.h"

static const struct {
    const char *name, *cast, *play;
    const char *outcome; /* "-": still running */
    int exit_code;
    const char *cause, *trigger; /* replicas, or "-" */
    const char *stopped;         /* replicas, each with a space behind */
    const char *sentence;
} rows[] = {
    /* roles without counts: the first failure ends the job, success is when all have ended */
    {"default: all succeed", "worker 2 0 0", "worker-0=0@2 worker-1=0@3", "succeeded", 0, "-", "-",
     "", "every process exited with status 0"},
    {"default: one failure ends it", "worker 3 0 0", "worker-1=3@2", "failed", 3, "worker-1",
     "worker-1", "worker-0 worker-2 ", "failed: worker-1 exited with status 3"},
    {"default: one process of a replica is enough", "worker 2 0 0 2", "worker-1.1=3@2", "failed", 3,
     "worker-1", "worker-1", "worker-0 ", "worker-1 exited with status 3"},
    {"default: one success ends nothing", "worker 2 0 0", "worker-0=0@2", "-", 0, "-", "-", "", ""},

    /* seed-rules 3.7 */
    {"3.7: master ends with 0, the sleeping worker is stopped", "master 1 1 1, worker 1 1 1",
     "master-0=0@2", "succeeded", 0, "-", "master-0", "worker-0 ",
     "succeeded by its completion policy: master-0 exited with status 0"},
    {"3.7: master fails", "master 1 1 1, worker 1 1 1", "master-0=2@2", "failed", 2, "master-0",
     "master-0", "worker-0 ", "failed: master-0 exited with status 2"},
    {"3.7: the worker fails first", "master 1 1 1, worker 1 1 1", "worker-0=s9@2", "failed", 137,
     "worker-0", "worker-0", "master-0 ", "worker-0 was killed by SIGKILL"},

    /* seed-rules 0.32 */
    {"0.32: TensorflowJob: ps stopped when all workers ended", "worker 2 1 2, ps 1 1 -1",
     "worker-1=0@2 worker-0=0@3", "succeeded", 0, "-", "worker-0", "ps-0 ",
     "succeeded by its completion policy: all 2 worker replicas exited with status 0"},
    {"0.32: TensorflowJob: one worker is not all", "worker 2 1 2, ps 1 1 -1", "worker-1=0@2", "-",
     0, "-", "-", "", ""},
    {"0.32: TensorflowJob: a parameter server that ends with 0 ends nothing",
     "worker 2 1 2, ps 1 1 -1", "ps-0=0@2", "-", 0, "-", "-", "", ""},
    {"0.32: TensorflowJob: a parameter server fails", "worker 2 1 2, ps 1 1 -1", "ps-0=4@2",
     "failed", 4, "ps-0", "ps-0", "worker-0 worker-1 ", "ps-0 exited with status 4"},

    /* seed-rules 1.6: OpenPAI's order */
    {"1.6: the second failure ends it, the first is the cause", "worker 4 2 -1",
     "worker-2=3@2 worker-1=5@3", "failed", 3, "worker-2", "worker-1", "worker-0 worker-3 ",
     "worker-2 exited with status 3 after 1.0 s; the completion policy ended the job when worker-1 "
     "failed"},
    {"1.6: one of two tolerated failures", "worker 3 2 -1",
     "worker-1=3@2 worker-0=0@3 worker-2=0@4", "succeeded", 0, "-", "-", "",
     "succeeded by its completion policy although worker-1 exited with status 3"},
    {"1.6: a tolerated failure, then enough successes", "worker 4 2 2",
     "worker-0=1@2 worker-1=0@3 worker-2=0@4", "succeeded", 0, "-", "worker-2", "worker-3 ",
     "succeeded by its completion policy although worker-0 exited with status 1"},
    {"1.6: nothing triggers, all failed: succeeded all the same", "worker 3 -1 -1",
     "worker-0=1@2 worker-1=s11@3 worker-2=3@4", "succeeded", 0, "-", "-", "",
     "succeeded by its completion policy although 3 of 3 replicas failed, first worker-0 exited "
     "with status 1"},
    {"1.6: minSucceeded -1 and all end with 0", "worker 2 1 -1", "worker-0=0@2 worker-1=0@3",
     "succeeded", 0, "-", "-", "", "every process exited with status 0"},
    {"1.6: the earliest count wins, though it is told later", "master 1 1 1, worker 1 1 1",
     "worker-0=3@5+master-0=0@4", "succeeded", 0, "-", "master-0", "",
     "succeeded by its completion policy although worker-0 exited with status 3"},
    {"1.6: and the other way round", "master 1 1 1, worker 1 1 1", "master-0=0@5+worker-0=3@4",
     "failed", 3, "worker-0", "worker-0", "", "failed: worker-0 exited with status 3"},
    {"1.6: failed before succeeded at the same time", "master 1 1 1, worker 1 1 1",
     "master-0=0@5+worker-0=3@5", "failed", 3, "worker-0", "worker-0", "", "failed: worker-0"},
    {"1.6: the count is full at its wanted-th ending, whatever came after", "worker 4 2 1",
     "worker-0=1@2+worker-1=1@4+worker-2=1@3", "failed", 1, "worker-0", "worker-2", "worker-3 ",
     "when worker-2 failed"},
    {"1.6: the cause is the first failure in time, not in arrival", "worker 3 2 -1",
     "worker-1=5@4+worker-0=3@3", "failed", 3, "worker-0", "worker-1", "worker-2 ",
     "worker-0 exited with status 3"},
    {"1.6: default of the dialect: the first role that succeeds as a whole",
     "ps 1 1 1, worker 2 1 2", "worker-0=0@2 worker-1=0@3", "succeeded", 0, "-", "worker-1",
     "ps-0 ", "succeeded by its completion policy"},
    {"1.6: more wanted than there are never triggers", "worker 2 5 5", "worker-0=1@2 worker-1=0@3",
     "succeeded", 0, "-", "-", "", "although worker-0 exited with status 1"},

    /* openpai.md 4.2: the recipes of its manual */
    {"4.2 recipe: master-dominated: success", "master 1 1 1, worker 3 -1 -1",
     "worker-0=1@2 worker-1=0@3 master-0=0@4", "succeeded", 0, "-", "master-0", "worker-2 ",
     "succeeded by its completion policy although worker-0 exited with status 1"},
    {"4.2 recipe: master-dominated: all workers end", "master 1 1 1, worker 2 -1 -1",
     "worker-0=0@2 worker-1=0@3", "-", 0, "-", "-", "", ""},
    {"4.2 recipe: master-dominated: failure", "master 1 1 1, worker 2 -1 -1",
     "worker-0=0@2 master-0=3@3", "failed", 3, "master-0", "master-0", "worker-1 ",
     "failed: master-0 exited with status 3"},
    {"4.2 recipe: TensorFlow with ps: all workers", "ps 2 1 -1, worker 2 1 2",
     "worker-1=0@2 worker-0=0@3", "succeeded", 0, "-", "worker-0", "ps-0 ps-1 ",
     "succeeded by its completion policy: all 2 worker replicas exited with status 0"},
    {"4.2 recipe: TensorFlow with ps: one worker fails", "ps 2 1 -1, worker 2 1 2",
     "worker-1=0@2 worker-0=3@3", "failed", 3, "worker-0", "worker-0", "ps-0 ps-1 ",
     "failed: worker-0 exited with status 3"},
    {"4.2 recipe: TensorFlow with ps: a ps fails", "ps 2 1 -1, worker 2 1 2", "ps-1=3@2", "failed",
     3, "ps-1", "ps-1", "ps-0 worker-0 worker-1 ", "failed: ps-1 exited with status 3"},
    {"4.2 recipe: elastic: one success is enough", "worker 4 4 1",
     "worker-0=1@2 worker-1=1@3 worker-2=0@4", "succeeded", 0, "-", "worker-2", "worker-3 ",
     "succeeded by its completion policy although 2 of 4 replicas failed, first worker-0"},
    {"4.2 recipe: elastic: all fail", "worker 3 3 1", "worker-1=2@2 worker-0=1@3 worker-2=3@4",
     "failed", 2, "worker-1", "worker-2", "",
     "the completion policy ended the job when worker-2 failed"},
    {"4.2 recipe: map-reduce: as many failures as it bears", "mapper 10 3 -1",
     "mapper-0=1@2 mapper-1=1@3 mapper-2=0@4 mapper-3=0@4 mapper-4=0@4 mapper-5=0@4 mapper-6=0@4 "
     "mapper-7=0@4 mapper-8=0@4 mapper-9=0@4",
     "succeeded", 0, "-", "-", "", "although 2 of 10 replicas failed, first mapper-0"},
    {"4.2 recipe: map-reduce: one more", "mapper 4 3 -1", "mapper-0=1@2 mapper-1=1@3 mapper-2=5@4",
     "failed", 1, "mapper-0", "mapper-2", "mapper-3 ", "when mapper-2 failed"},

    /* replicas of several processes */
    {"a replica counts when all of it has ended", "worker 2 1 -1 2", "worker-0.0=3@2", "-", 0, "-",
     "-", "", ""},
    {"a replica has failed if one of its processes has", "worker 2 1 -1 2",
     "worker-0.0=3@2 worker-0.1=0@3", "failed", 3, "worker-0", "worker-0", "worker-1 ",
     "worker-0 exited with status 3"},
    {"a replica has succeeded if all of its processes have", "worker 2 1 1 2",
     "worker-0.0=0@2 worker-0.1=0@3", "succeeded", 0, "-", "worker-0", "worker-1 ",
     "succeeded by its completion policy: worker-0 exited with status 0"},

    /* what no rule tolerates */
    {"a replica that cannot be prepared", "worker 2 -1 -1", "worker-1=!@2", "failed", 125,
     "worker-1", "worker-1", "worker-0 ", "worker-1 could not be started (chdir /x)"},
    {"a replica that cannot be prepared, after a tolerated failure", "worker 3 -1 -1",
     "worker-0=3@2 worker-1=!@3", "failed", 125, "worker-1", "worker-1", "worker-2 ",
     "worker-1 could not be started (chdir /x)"},
    {"cancelled after a tolerated failure", "worker 2 -1 -1", "worker-1=3@2 cancel@3", "cancelled",
     130, "-", "-", "worker-0 ", "cancelled by SIGINT"},
    {"a count that was full before the cancel", "master 1 1 1, worker 1 1 1",
     "master-0=0@2+cancel@3", "succeeded", 0, "-", "master-0", "worker-0 ",
     "succeeded by its completion policy"},
    {"lost after a tolerated failure", "worker 2 -1 -1", "worker-1=3@2 lost@3", "failed", 125, "-",
     "-", "worker-0 ", "muster-shim"},
    {"a role without counts beside one with", "master 1 0 0, worker 2 -1 -1",
     "worker-0=1@2 worker-1=1@3 master-0=0@4", "succeeded", 0, "-", "-", "",
     "although 2 of 3 replicas failed, first worker-0"},
};

static const char *replica_name(const struct stage *st, int32_t replica)
{
    return replica < 0 ? "-" : st->plan.replicas[replica].name;
}

static void check_row(size_t i)
{
    struct stage st;
    auto_strbuf struct strbuf stopped = STRBUF_INIT, sentence = STRBUF_INIT;

    stage_cast(&st, rows[i].cast, PLATFORM_OPENPAI);
    stage_begin(&st);
    stage_play(&st, rows[i].play);
    const struct job *job = st.job;
    if (strcmp(rows[i].outcome, "-") == 0) {
        is_int(job->stop, STOP_NONE, "%s", rows[i].name);
        stage_free(&st);
        return;
    }
    is_int(job->phase, JOB_ENDED, "%s: it ends", rows[i].name);
    is_str(outcome_name(job->outcome), rows[i].outcome, "%s: outcome", rows[i].name);
    is_int(job->exit_code, rows[i].exit_code, "%s: exit code", rows[i].name);
    is_str(replica_name(&st, job->cause.replica), rows[i].cause, "%s: cause", rows[i].name);
    is_str(replica_name(&st, job_trigger(job).replica), rows[i].trigger, "%s: whose ending did it",
           rows[i].name);
    for (uint32_t r = 0; r < st.plan.n_replicas; r++)
        if (job_replica(job, r).outcome == OUTCOME_STOPPED)
            strbuf_addf(&stopped, "%s ", st.plan.replicas[r].name);
    is_str(stopped.buf, rows[i].stopped, "%s: who was stopped", rows[i].name);
    verdict_sentence(job, &sentence);
    has(sentence.buf, rows[i].sentence, "%s: the sentence", rows[i].name);
    stage_free(&st);
}

/* A stop by rule is a stop like any other: SIGTERM, the grace period, SIGKILL. */
static void test_grace(void)
{
    struct stage st;

    stage_cast(&st, "master 1 1 1, worker 1 1 1", PLATFORM_OPENPAI);
    stage_begin(&st);
    struct observation o = stage_word(&st, "master-0=0@2");
    (void)stage_report(&st, &o);
    stage_decide(&st, 2 * NS_PER_S);
    is_str(st.decisions, "ssT", "a full count stops the others");
    is_int(job_wake(st.job), 12 * NS_PER_S, "they have the grace period");
    stage_decide(&st, 12 * NS_PER_S);
    is_str(st.decisions, "ssTK", "and are then killed");
    o = stage_word(&st, "worker-0=s9@12");
    (void)stage_report(&st, &o);
    stage_decide(&st, 12 * NS_PER_S);
    is_str(st.decisions, "ssTKE", "the end");
    is_int(st.job->exit_code, 0, "succeeded");
    is_int(job_stopped_by(st.job), 0, "the worker was stopped because of the master");
    stage_free(&st);
}

/* Who ends by itself is left alone at first, and nothing begins any more. */
static void test_left_alone(void)
{
    struct stage st;

    stage_cast(&st, "master 1 0 1, worker 2 0 0, ps 1 0 0", PLATFORM_PYTORCHJOB);
    st.roles[1].ends_alone = true;
    st.roles[1].restart = RESTART_ON_FAILURE;
    st.roles[1].restart_limit = 3;
    stage_begin(&st);
    struct observation o = stage_word(&st, "master-0=0@2");
    (void)stage_report(&st, &o);
    stage_decide(&st, 2 * NS_PER_S);
    is_str(st.decisions, "ssss", "the master has succeeded: the workers may end by themselves");
    is_int(job_wake(st.job), 12 * NS_PER_S, "they have the grace period for it");
    o = stage_word(&st, "worker-0=1@3");
    (void)stage_report(&st, &o);
    stage_decide(&st, 3 * NS_PER_S);
    is_str(st.decisions, "ssss", "one that fails then is not started again");
    is_int(job_wake(st.job), 12 * NS_PER_S, "nor waited for");
    o = stage_word(&st, "worker-1=0@4");
    (void)stage_report(&st, &o);
    stage_decide(&st, 4 * NS_PER_S);
    is_str(st.decisions, "ssssT", "none is left: who serves others is stopped");
    stage_play(&st, "down@5");
    is_int(st.job->phase, JOB_ENDED, "the end");
    is_int(st.job->exit_code, 0, "succeeded");
    is_int(job_replica(st.job, 2).outcome, OUTCOME_SUCCEEDED, "the worker was not stopped");
    stage_free(&st);

    stage_cast(&st, "master 1 0 1, worker 1 0 0", PLATFORM_PYTORCHJOB);
    st.roles[1].ends_alone = true;
    stage_begin(&st);
    o = stage_word(&st, "master-0=0@2");
    (void)stage_report(&st, &o);
    stage_decide(&st, 11 * NS_PER_S);
    is_str(st.decisions, "ss", "not yet");
    stage_decide(&st, 12 * NS_PER_S);
    is_str(st.decisions, "ssT", "one that does not end is stopped after the grace period");
    stage_free(&st);

    stage_cast(&st, "master 1 0 1, worker 1 0 0", PLATFORM_PYTORCHJOB);
    st.roles[1].ends_alone = true;
    stage_begin(&st);
    stage_play(&st, "master-0=0@2 cancel@3");
    is_str(outcome_name(st.job->outcome), "succeeded", "a cancel stops it, and changes nothing");
    is_int(st.job->stop, STOP_COMPLETED, "by its rule");
    stage_free(&st);
}

/* --- the gate of a gang ------------------------------------------------------------------------
 */

static size_t opened(struct stage *st, uint32_t replica)
{
    return stage_report(
        st, &(struct observation){.kind = OBS_OPENED, .replica = replica, .at = NS_PER_S});
}

static void begin_gang(struct stage *st, const char *cast)
{
    static const struct job_rules rules = {.grace_ms = 10000, .start_timeout_ms = 600000};

    stage_cast(st, cast, PLATFORM_OPENPAI);
    st->spec.gang = true;
    st->job = job_new(&st->plan, &rules);
    job_apply(st->job, &(struct event){.type = EVENT_CREATED, .at = NS_PER_S});
    stage_decide(st, NS_PER_S);
}

static void test_gate(void)
{
    struct stage st;

    begin_gang(&st, "worker 3 1 -1 2");
    is_str(st.decisions, "ooo", "3.12: every replica of a gang is made before any command starts");
    is_int(job_wake(st.job), 601 * NS_PER_S, "3.12: within a bound");
    is_int(opened(&st, 0), 1, "3.12: one answers");
    is_int(opened(&st, 0), 0, "3.12: and says nothing new the second time");
    is_int(opened(&st, 7), 0, "3.12: nor does one that does not exist");
    is_int(opened(&st, 2), 1, "3.12: another one");
    stage_decide(&st, 2 * NS_PER_S);
    is_str(st.decisions, "ooo", "3.12: nothing starts while one is missing");
    (void)opened(&st, 1);
    stage_decide(&st, 2 * NS_PER_S);
    is_str(st.decisions, "ooossssss", "3.12: all answer: all processes start");
    is_int(job_wake(st.job), 0, "3.12: the bound is over");
    stage_free(&st);

    begin_gang(&st, "master 1 1 1, worker 2 -1 -1");
    (void)opened(&st, 0);
    (void)opened(&st, 2);
    stage_decide(&st, 601 * NS_PER_S);
    is_str(st.decisions, "oooTE", "3.12: the gate expires");
    is_int(st.job->cause.kind, CAUSE_NOT_READY, "3.12: not ready");
    is_int(st.job->cause.replica, 1, "3.12: the replica is named");
    is_int(st.job->exit_code, 125, "3.12: exit code 125");
    is_int(job_proc_outcome(st.job, 0), OUTCOME_NEVER_STARTED, "3.12: no command had started");
    stage_free(&st);
}

static void test_gate_exceptions(void)
{
    struct stage st;

    begin_gang(&st, "worker 1 1 1");
    is_str(st.decisions, "s", "3.12: a gang of one has nobody to wait for");
    stage_free(&st);

    begin_gang(&st, "worker 2 -1 -1");
    struct observation o = stage_word(&st, "worker-1=!@2");
    is_int(stage_report(&st, &o), 1, "3.12: a replica cannot be made");
    stage_decide(&st, 2 * NS_PER_S);
    is_str(st.decisions, "ooTE", "3.12: that ends the job at once");
    is_int(st.job->exit_code, 125, "3.12: with 125");
    is_int(st.job->cause.replica, 1, "3.12: and its name");
    stage_free(&st);

    begin_gang(&st, "worker 2 1 1");
    o = stage_word(&st, "cancel@2");
    (void)stage_report(&st, &o);
    stage_decide(&st, 2 * NS_PER_S);
    is_str(st.decisions, "ooTE", "3.12: cancelled at the gate");
    is_int(st.job->exit_code, 130, "3.12: 130");
    stage_free(&st);

    stage_cast(&st, "worker 2 0 0", PLATFORM_MUSTER);
    stage_begin(&st);
    is_str(st.decisions, "ss", "3.12: a job that is no gang starts at once");
    is_int(opened(&st, 0), 0, "3.12: and knows nothing of gates");
    stage_free(&st);
}

int main(void)
{
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        check_row(i);
    test_grace();
    test_left_alone();
    test_gate();
    test_gate_exceptions();
    return tap_done();
}
