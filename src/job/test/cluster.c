/* What only clusters have: a job that is not admitted yet, replicas that wait, that are out of
 * sight, that are gone. */
#include "job/report.h"
#include "job/test/stage.h"

#define AT(s) ((s)*NS_PER_S)

static void report_text(const struct job *job, struct strbuf *out)
{
    struct json j = JSON_COMPACT(out);

    strbuf_truncate(out, 0);
    report_write(job, &(struct report_context){.engine = "sim", .recorded = true}, &j);
}

static size_t say(struct stage *st, struct observation o)
{
    return stage_report(st, &o);
}

static void test_gone(void)
{
    auto_strbuf struct strbuf text = STRBUF_INIT;
    struct stage st;

    stage_cast(&st, "worker 2 0 0 2", PLATFORM_MUSTER);
    stage_begin(&st);
    is_int((int)say(&st, (struct observation){.kind = OBS_GONE, .replica = 1, .at = AT(5)}), 2,
           "a replica is gone: both its processes have ended");
    is_int((int)say(&st, (struct observation){.kind = OBS_GONE, .replica = 1, .at = AT(6)}), 0,
           "once");
    is_int((int)say(&st, (struct observation){.kind = OBS_GONE, .replica = 9, .at = AT(6)}), 0,
           "and one that is not of the plan never");
    stage_decide(&st, AT(6));
    stage_stop_all(&st, AT(7));
    is_int(st.job->phase, JOB_ENDED, "the job ends");
    is_str(cause_kind_name(st.job->cause.kind), "gone", "its cause");
    is_int(st.job->exit_code, 125, "its exit code");
    report_text(st.job, &text);
    has(text.buf, "worker-1 disappeared; how it ended is not known", "the verdict");
    ok(!strstr(text.buf, "SIGKILL"), "no signal is made up");
    has(text.buf, "\"kind\":\"gone\",\"exit_code\":125,\"signal\":null", "nor in the cause");
    stage_free(&st);
}

static void test_gone_is_restarted(void)
{
    static const struct {
        enum restart_policy policy;
        const char *name;
        bool again;
    } rows[] = {{RESTART_NEVER, "Never", false},
                {RESTART_ON_FAILURE, "OnFailure", true},
                {RESTART_EXIT_CODE, "ExitCode", true},
                {RESTART_BY_CLASS, "by class", true}};

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        struct stage st;

        stage_cast(&st, "worker 1 0 0", PLATFORM_MUSTER);
        st.roles[0].restart = rows[i].policy;
        st.roles[0].restart_limit = 1;
        stage_begin(&st);
        (void)say(&st, (struct observation){.kind = OBS_GONE, .at = AT(5)});
        is_int(st.job->procs[0].state == PROC_BACKOFF, rows[i].again, "%s: %s", rows[i].name,
               rows[i].again ? "it is made again" : "it is not");
        stage_free(&st);
    }
}

/* What the platform did is the cause; what it did it with (a signal) is not. */
static void test_fates(void)
{
    static const struct {
        enum cause_kind fate;
        const char *why, *kind, *words;
    } rows[] = {
        {CAUSE_EVICTED, "node n2: preempted", "evicted",
         "worker-1 was evicted: node n2: preempted"},
        {CAUSE_GONE, "its pod p was deleted", "gone",
         "worker-1 disappeared: its pod p was deleted"},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        auto_strbuf struct strbuf text = STRBUF_INIT;
        struct stage st;

        stage_cast(&st, "worker 2 0 0", PLATFORM_MUSTER);
        stage_begin(&st);
        (void)say(&st, (struct observation){.kind = OBS_EXITED,
                                            .process = 1,
                                            .at = AT(5),
                                            .text = rows[i].why,
                                            .end = {.known = true,
                                                    .code = -1,
                                                    .signal = SIGTERM,
                                                    .fate = rows[i].fate,
                                                    .max_rss = -1}});
        stage_decide(&st, AT(6));
        stage_stop_all(&st, AT(7));
        is_str(cause_kind_name(st.job->cause.kind), rows[i].kind, "%s", rows[i].kind);
        is_int(st.job->exit_code, 125, "its exit code is Muster's");
        report_text(st.job, &text);
        has(text.buf, rows[i].words, "the verdict has the platform's words");
        ok(!strstr(text.buf, "after "), "and nothing else after them");
        has(text.buf, "\"exit_code\":125,\"signal\":null", "SIGTERM is not the cause");
        stage_free(&st);
    }
}

static void begin_mpi(struct stage *st)
{
    stage_cast(st, "launcher 1 0 0, worker 2 0 0", PLATFORM_MPIJOB_V2BETA1);
    st->plan.launcher = 0;
    st->roles[0].kind = ROLE_LAUNCHER;
    st->roles[1].kind = ROLE_HOST;
    st->processes[1].argv = st->processes[2].argv = NULL;
    stage_begin(st);
    stage_up(st, AT(2));
}

/* mpirun fails as soon as a host goes, while the host still has its grace period. */
static void test_removal(void)
{
    static const struct {
        int removed, rank_failed, launcher_code; /* seconds; 0: not */
        enum cause_kind fate, cause;
        const char *words;
    } rows[] = {
        {5, 0, 255, CAUSE_GONE, CAUSE_GONE, "failed: worker-1 disappeared: its pod p was deleted"},
        {5, 0, 255, CAUSE_EVICTED, CAUSE_EVICTED, "failed: worker-1 was evicted: its pod p was"},
        {5, 6, 9, CAUSE_GONE, CAUSE_GONE, "failed: worker-1 disappeared"}, /* it lost its peer */
        {5, 4, 9, CAUSE_GONE, CAUSE_EXIT, "failed: rank 0 on worker-0 exited with status 9"},
        {8, 0, 255, CAUSE_GONE, CAUSE_EXIT, "failed: launcher-0 exited with status 255"},
        {5, 0, 0, CAUSE_GONE, CAUSE_NONE, "succeeded"},
        {5, 0, 255, CAUSE_IMAGE, CAUSE_EXIT, "failed: launcher-0 exited"}, /* no removal */
        {0, 0, 255, CAUSE_NONE, CAUSE_EXIT, "failed: launcher-0 exited with status 255"},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        auto_strbuf struct strbuf text = STRBUF_INIT;
        int code = rows[i].launcher_code;
        struct stage st;

        begin_mpi(&st);
        for (uint32_t r = 0; r < 2; r++)
            (void)say(&st, (struct observation){.kind = OBS_RANK_STARTED,
                                                .launch = 1,
                                                .rank = r,
                                                .size = 2,
                                                .replica = r + 1,
                                                .log = "r.log",
                                                .at = AT(3)});
        for (int k = 0; rows[i].removed && k < 2; k++)
            is_int((int)say(&st, (struct observation){.kind = OBS_REMOVAL,
                                                      .replica = 2,
                                                      .at = AT(rows[i].removed),
                                                      .text = "its pod p was deleted",
                                                      .end.fate = rows[i].fate}),
                   k == 0 && rows[i].fate != CAUSE_IMAGE, "row %zu: is a removal new?", i);
        for (uint32_t r = 0; r < 2; r++)
            (void)say(&st, (struct observation){
                               .kind = OBS_RANK_EXITED,
                               .launch = 1,
                               .rank = r,
                               .at = AT(rows[i].rank_failed && r == 0 ? rows[i].rank_failed : 6),
                               .end = {.known = true,
                                       .code = r == 0 ? rows[i].rank_failed ? code : 0 : 0,
                                       .max_rss = -1}});
        stage_decide(&st, AT(6));
        (void)say(&st, (struct observation){.kind = OBS_EXITED,
                                            .process = 0,
                                            .at = AT(7),
                                            .end = {.known = true, .code = code, .max_rss = -1}});
        stage_decide(&st, AT(7));
        stage_stop_all(&st, AT(9));
        is_int(st.job->cause.kind, rows[i].cause, "row %zu: its cause", i);
        report_text(st.job, &text);
        has(text.buf, rows[i].words, "row %zu: the verdict", i);
        stage_free(&st);
    }
}

/* A host whose daemon was killed goes away while the job is held: that is no cause of it. */
static void test_gone_while_held(void)
{
    struct stage st;

    begin_mpi(&st);
    st.job->rules.hold = true;
    (void)say(&st, (struct observation){.kind = OBS_RANK_STARTED,
                                        .launch = 1,
                                        .size = 1,
                                        .replica = 2,
                                        .log = "r.log",
                                        .at = AT(3)});
    (void)say(&st, (struct observation){.kind = OBS_BLAMED,
                                        .launch = 1,
                                        .replica = 2,
                                        .blame = BLAME_DAEMON,
                                        .at = AT(5),
                                        .end = {.known = true, .signal = SIGKILL, .code = -1}});
    (void)say(&st, (struct observation){.kind = OBS_RANK_EXITED,
                                        .launch = 1,
                                        .at = AT(5),
                                        .end = {.known = true, .code = 1, .max_rss = -1}});
    (void)say(&st, (struct observation){.kind = OBS_EXITED,
                                        .at = AT(6),
                                        .end = {.known = true, .code = 1, .max_rss = -1}});
    stage_decide(&st, AT(6));
    is_int(st.job->phase, JOB_HELD, "its daemon was killed: held");
    (void)say(&st, (struct observation){
                       .kind = OBS_GONE, .replica = 2, .at = AT(15), .end.fate = CAUSE_GONE});
    (void)say(&st, (struct observation){.kind = OBS_CANCEL, .signal = SIGTERM, .at = AT(18)});
    stage_decide(&st, AT(18));
    is_int(st.job->phase, JOB_ENDED, "and cancelled");
    is_str(cause_kind_name(st.job->cause.kind), "signal", "the daemon is the cause");
    is_int(st.job->exit_code, 128 + SIGKILL, "and its signal");
    stage_free(&st);
}

static void test_refused(void)
{
    static const struct {
        enum cause_kind fate;
        const char *words;
    } rows[] = {
        {CAUSE_IMAGE, "worker-1 could not get its image: x: not found"},
        {CAUSE_UNSCHEDULABLE, "worker-1 was refused: x: not found"},
    };

    for (size_t i = 0; i < 4; i++) {
        auto_strbuf struct strbuf text = STRBUF_INIT;
        struct event created = {.type = EVENT_CREATED, .at = NS_PER_S};
        struct observation no = {.kind = OBS_REFUSED,
                                 .replica = 1,
                                 .at = AT(5),
                                 .text = "x: not found",
                                 .end = {.fate = rows[i / 2].fate}};
        struct stage st;

        stage_cast(&st, "worker 2 -1 0", PLATFORM_MUSTER); /* no failure ends it */
        st.spec.gang = i % 2;
        st.spec.retry = (struct retry_policy){.max = 3};
        st.roles[0].restart = RESTART_ALWAYS;
        st.roles[0].restart_limit = 3;
        st.job = job_new(&st.plan, &stage_rules);
        stage_apply(&st, &(struct events){.v = &created, .n = 1});
        stage_decide(&st, AT(1));
        is_int((int)say(&st, no), 1, "%s is refused", i % 2 ? "a replica of a gang" : "a replica");
        is_int((int)say(&st, no), 0, "once");
        stage_decide(&st, AT(6));
        stage_stop_all(&st, AT(7));
        is_int(st.job->phase, JOB_ENDED, "nothing is tried again");
        is_int(st.job->cause.kind, rows[i / 2].fate, "its cause");
        is_int(st.job->exit_code, 125, "its exit code");
        is_int(st.job->cause.replica, 1, "it is named");
        report_text(st.job, &text);
        has(text.buf, rows[i / 2].words, "the verdict");
        no.end.fate = CAUSE_EVICTED;
        stage_free(&st);
    }
}

/* What the platform takes away does not use up what the file allows, three times in a row. */
static void test_evicted_is_free(void)
{
    static const struct {
        enum cause_kind fate;
        int32_t limit;
        uint32_t restarts, counted;
    } rows[] = {
        {CAUSE_EVICTED, 2, 5, 2}, /* three free, one counted, and free again */
        {CAUSE_EVICTED, 0, 0, 0}, /* the file wants no restarts */
        {CAUSE_GONE, 2, 2, 2},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        struct stage st;
        uint32_t n = 0;

        stage_cast(&st, "worker 1 0 0", PLATFORM_MUSTER);
        st.roles[0].restart = RESTART_ON_FAILURE;
        st.roles[0].restart_limit = rows[i].limit;
        stage_begin(&st);
        for (; n < 5; n++) {
            (void)say(&st, (struct observation){
                               .kind = OBS_GONE, .at = AT(500 * n + 5), .end.fate = rows[i].fate});
            if (st.job->procs[0].state != PROC_BACKOFF)
                break;
            stage_decide(&st, AT(500 * n + 400));
            stage_up(&st, AT(500 * n + 401));
        }
        is_int((int)n, (int)rows[i].restarts, "%s, limit %d: restarted %u times",
               cause_kind_name(rows[i].fate), rows[i].limit, rows[i].restarts);
        is_int((int)st.job->procs[0].restarts_counted, (int)(n < 5 ? rows[i].counted : 1),
               "of which %u count", rows[i].counted);
        stage_free(&st);
    }
}

/* The whole job likewise, if the file allows another attempt at all. */
static void test_evicted_retries(void)
{
    for (int32_t max = 0; max < 2; max++) {
        struct stage st;

        stage_cast(&st, "worker 1 0 0", PLATFORM_MUSTER);
        st.spec.retry = (struct retry_policy){.max = max};
        stage_begin(&st);
        (void)say(&st,
                  (struct observation){.kind = OBS_GONE, .at = AT(5), .end.fate = CAUSE_EVICTED});
        stage_decide(&st, AT(6));
        is_int(st.job->attempt, max ? 2 : 1, "retries: %d", max);
        is_int((int)st.job->retries_counted, 0, "the eviction counts as none");
        stage_free(&st);
    }
}

/* A job that has succeeded misses nobody: who ends by itself keeps its time. */
static void test_late_for_success(void)
{
    struct observation w = {
        .kind = OBS_WAITING, .replica = 2, .at = AT(2), .text = "no node", .free = -1};
    struct event created = {.type = EVENT_CREATED, .at = NS_PER_S};
    struct job_rules rules = stage_rules;
    struct stage st;

    rules.start_timeout_ms = 4000;
    stage_cast(&st, "master 1 0 1, worker 1 0 0, ps 1 0 0", PLATFORM_PYTORCHJOB);
    st.roles[1].ends_alone = true;
    st.job = job_new(&st.plan, &rules);
    stage_apply(&st, &(struct events){.v = &created, .n = 1});
    stage_decide(&st, AT(1));
    for (uint32_t i = 0; i < 2; i++)
        (void)say(&st, (struct observation){.kind = OBS_STARTED, .process = i, .at = AT(2)});
    is_int((int)say(&st, w), 1, "one waits");
    is_int(job_wake(st.job) == AT(6), 1, "until the start timeout");
    (void)say(&st, (struct observation){
                       .kind = OBS_EXITED, .process = 0, .at = AT(3), .end = {.known = true}});
    stage_decide(&st, AT(3));
    is_int(job_wake(st.job) == AT(3) + stage_rules.grace_ms * NS_PER_MS, 1,
           "the job has succeeded: only the grace period counts");
    stage_decide(&st, AT(7));
    is_str(st.decisions, "sss", "nothing is stopped because of the one that did not come");
    stage_stop_all(&st, AT(3) + stage_rules.grace_ms * NS_PER_MS);
    is_int(st.job->exit_code, 0, "and it has succeeded");
    stage_free(&st);
}

static void test_late(void)
{
    auto_strbuf struct strbuf text = STRBUF_INIT;
    struct observation w = {.kind = OBS_WAITING,
                            .replica = 0,
                            .at = AT(100),
                            .text = "0/3 nodes are available",
                            .free = -1,
                            .end.fate = CAUSE_UNSCHEDULABLE};
    struct event created = {.type = EVENT_CREATED, .at = NS_PER_S};
    struct job_rules rules = stage_rules;
    struct stage st;

    rules.start_timeout_ms = 60000;
    stage_cast(&st, "worker 1 0 0", PLATFORM_MUSTER);
    st.job = job_new(&st.plan, &rules);
    stage_apply(&st, &(struct events){.v = &created, .n = 1});
    stage_decide(&st, AT(1));
    is_int((int)say(&st, w), 1, "a replica that no other one waits for waits");
    w.text = "0/4 nodes are available";
    w.at = AT(140);
    is_int((int)say(&st, w), 1, "for something else now");
    is_int(job_wake(st.job) == AT(160), 1, "its time runs from the first reason on");
    stage_decide(&st, AT(159));
    is_str(st.decisions, "s", "it is not late yet");
    stage_decide(&st, AT(160));
    stage_stop_all(&st, AT(161));
    is_str(cause_kind_name(st.job->cause.kind), "unschedulable", "it is: its cause");
    is_int(st.job->exit_code, 125, "its exit code");
    report_text(st.job, &text);
    has(text.buf,
        "failed: worker-0 was not scheduled within 1 min 0 s (--start-timeout): 0/4 nodes are "
        "available",
        "the verdict has the last reason");
    stage_free(&st);
    strbuf_truncate(&text, 0);

    stage_cast(&st, "worker 3 0 0", PLATFORM_MUSTER);
    st.spec.gang = true;
    st.job = job_new(&st.plan, &rules);
    stage_apply(&st, &(struct events){.v = &created, .n = 1});
    stage_decide(&st, AT(1));
    w.replica = 1;
    w.text = "ContainerCreating";
    w.end.fate = CAUSE_NONE;
    (void)say(&st, w);
    waiting_summary(st.job, &text);
    is_str(text.buf, "1 of 3 workers pending: ContainerCreating", "one waits");
    w.replica = 2;
    (void)say(&st, w);
    strbuf_truncate(&text, 0);
    waiting_summary(st.job, &text);
    is_str(text.buf, "2 of 3 workers pending: ContainerCreating", "two wait for the same");
    w.text = "FailedMount: nfs";
    (void)say(&st, w);
    strbuf_truncate(&text, 0);
    waiting_summary(st.job, &text);
    is_str(text.buf,
           "1 of 3 workers pending: ContainerCreating; 1 of 3 workers pending: FailedMount: nfs",
           "now for two things");
    stage_decide(&st, AT(61));
    stage_stop_all(&st, AT(62));
    is_str(cause_kind_name(st.job->cause.kind), "not-ready", "without a fate it is not ready");
    report_text(st.job, &text);
    has(text.buf, "worker-1 did not answer within 1 min 0 s (--start-timeout): ContainerCreating",
        "one that said why is named");
    stage_free(&st);
}

static void test_unknown(void)
{
    auto_strbuf struct strbuf text = STRBUF_INIT;
    struct observation lost = {.kind = OBS_UNKNOWN, .replica = 1, .at = AT(5)};
    struct observation there = {.kind = OBS_STARTED, .process = 1, .instance = 1, .at = AT(1)};
    struct stage st;

    stage_cast(&st, "worker 2 0 0", PLATFORM_MUSTER);
    st.roles[0].restart = RESTART_ALWAYS;
    st.roles[0].restart_limit = 3;
    stage_begin(&st);
    char before[256];
    (void)snprintf(before, sizeof(before), "%s", st.decisions);
    is_int((int)say(&st, lost), 1, "out of sight");
    is_int((int)say(&st, lost), 0, "that is told once");
    stage_decide(&st, AT(100000));
    is_str(st.decisions, before, "nothing follows from it, however long it lasts");
    is_int(st.job->procs[1].state, PROC_RUNNING, "the process is what it was");
    report_text(st.job, &text);
    has(text.buf, "\"unseen_since\":\"1970-01-01T00:00:05.000Z\"", "the report says since when");
    is_int((int)say(&st, there), 1, "it is heard of again");
    ok(!st.job->sight[1].lost, "and in sight");
    is_int((int)say(&st, lost), 0, "the old report comes late: it stays in sight");
    lost.at = AT(9);
    is_int((int)say(&st, lost), 1, "lost again");
    (void)say(&st, (struct observation){.kind = OBS_EXITED,
                                        .process = 1,
                                        .at = AT(8),
                                        .end = {.known = true, .code = 3, .max_rss = -1}});
    ok(!st.job->sight[1].lost, "its end is heard of, too");
    is_int(st.job->procs[1].state, PROC_BACKOFF, "and has its consequence");
    lost.replica = 7;
    is_int((int)say(&st, lost), 0, "a replica that is not of the plan");
    stage_free(&st);
}

static void test_waiting(void)
{
    auto_strbuf struct strbuf text = STRBUF_INIT;
    struct observation w = {.kind = OBS_WAITING,
                            .replica = 1,
                            .at = AT(2),
                            .text = "GPUs",
                            .needs = 4,
                            .free = 2,
                            .ahead = 3};
    struct event created = {.type = EVENT_CREATED, .at = NS_PER_S};
    struct stage st;

    stage_cast(&st, "worker 2 0 0", PLATFORM_MUSTER);
    st.job = job_new(&st.plan, &stage_rules);
    stage_apply(&st, &(struct events){.v = &created, .n = 1});
    is_int((int)say(&st, w), 0, "nothing waits that was not asked for");
    stage_decide(&st, AT(1));
    is_int((int)say(&st, w), 1, "a replica waits");
    is_int((int)say(&st, w), 0, "the same again is nothing new");
    report_text(st.job, &text);
    has(text.buf, "\"waiting\":\"needs 4 GPUs, 2 free; ahead: 3 jobs\"", "the report has it");
    w.free = 3;
    w.ahead = 1;
    is_int((int)say(&st, w), 1, "another number is");
    waiting_text(job_first_waiting(st.job), &text);
    has(text.buf, "needs 4 GPUs, 3 free; ahead: 1 job", "in words");
    stage_decide(&st, AT(10));
    is_int(st.job->stop, STOP_NONE, "waiting is no failure");
    (void)say(&st, (struct observation){.kind = OBS_STARTED, .process = 1, .at = AT(11)});
    ok(!job_waiting(st.job, 1), "it has come");
    is_int((int)say(&st, w), 0, "what is told late is not believed");
    w.text = NULL;
    is_int((int)say(&st, w), 0, "nor that it no longer waits");
    stage_free(&st);
}

static void test_admission(void)
{
    struct job_rules rules = stage_rules;
    struct event created = {.type = EVENT_CREATED, .at = NS_PER_S};
    struct observation w = {
        .kind = OBS_WAITING, .replica = WAITING_JOB, .at = AT(1), .text = "quota exceeded"};
    struct stage st;

    rules.queued = true;
    rules.start_timeout_ms = 5000;
    stage_cast(&st, "worker 2 0 0", PLATFORM_MUSTER);
    st.spec.gang = true;
    st.job = job_new(&st.plan, &rules);
    stage_apply(&st, &(struct events){.v = &created, .n = 1});
    stage_decide(&st, AT(1));
    is_int((int)say(&st, w), 1, "it waits for its place");
    stage_decide(&st, AT(1000));
    is_str(st.decisions, "", "nothing starts, and nothing is late, before it is admitted");
    is_int(job_wake(st.job), 0, "there is no time to wake up for");
    is_int((int)say(&st, (struct observation){.kind = OBS_ADMITTED, .at = AT(1000)}), 1,
           "admitted");
    is_int((int)say(&st, (struct observation){.kind = OBS_ADMITTED, .at = AT(1001)}), 0, "once");
    ok(!job_waiting(st.job, WAITING_JOB), "it waits no more");
    stage_decide(&st, AT(1002));
    is_str(st.decisions, "oo", "its replicas are made");
    stage_decide(&st, AT(1006));
    is_str(st.decisions, "ooTE", "and have the whole start timeout from then on");
    stage_free(&st);

    stage_cast(&st, "worker 1 0 0", PLATFORM_MUSTER);
    st.job = job_new(&st.plan, &rules);
    stage_apply(&st, &(struct events){.v = &created, .n = 1});
    (void)say(&st, (struct observation){.kind = OBS_CANCEL, .signal = SIGTERM, .at = AT(2)});
    stage_decide(&st, AT(2));
    is_int(st.job->exit_code, 143, "one that is not admitted can be cancelled");
    stage_free(&st);
}

int main(void)
{
    test_gone();
    test_gone_is_restarted();
    test_fates();
    test_removal();
    test_gone_while_held();
    test_refused();
    test_evicted_is_free();
    test_evicted_retries();
    test_late();
    test_late_for_success();
    test_unknown();
    test_waiting();
    test_admission();
    return tap_done();
}
