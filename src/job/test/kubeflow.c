/* kubeflow.c - jobs of Kubeflow's kinds: what ends them, what is started again, what their status
 * says.
 *
 * Rows are named after the parts of kubeflow.md, the page of facts that they were worked out
 * from: 1.4 (conditions), 2 (suspension), 3.1 (restart rules, backoffLimit), 3.2 (PyTorchJob), 3.3
 * (TFJob).
 */
#include "job/conditions.h"
#include "job/status.h"
#include "job/test/stage.h"
#include "job/verdict.h"

#define N_OF(table) (sizeof(table) / sizeof((table)[0]))

/* --- how a condition is set --------------------------------------------------------------------
 */

/* Each step is a letter for the type (C R S P for Suspended, Y for Succeeded, F), + or -, a reason;
 * the time is its number. The result: type, status, last change, last update. */
static void test_setting(void)
{
    static const struct {
        const char *name, *steps;
        bool failed_is_last;
        const char *want;
    } rows[] = {
        {"1.4: the same again changes nothing", "C+a C+a", false, "C+1,1 "},
        {"1.4: the same for another reason keeps the time of its change", "C+a C+b", false,
         "C+1,2 "},
        {"1.4: what changes has a new time", "C+a C-a", false, "C-2,2 "},
        {"1.4: Restarting takes the place of Running", "C+a R+a S+a", false, "C+1,1 S+3,3 "},
        {"1.4: and Running that of Restarting", "C+a S+a R+a", false, "C+1,1 R+3,3 "},
        {"1.4: an end makes Running false, and leaves its times", "R+a Y+a", false, "R-1,1 Y+2,2 "},
        {"1.4: a failure too", "R+a F+a", false, "R-1,1 F+2,2 "},
        {"1.4: mpi-operator: success takes a failure back", "F+a Y+a", false, "F-1,1 Y+2,2 "},
        {"3.1: training operator: nothing is set after Failed", "F+a R+a Y+a", true, "F+1,1 "},
        {"1.4: what is set again is last in the list", "P+a R+a P-b", false, "R+2,2 P-3,3 "},
    };
    static const char letters[] = {
        [CONDITION_CREATED] = 'C',   [CONDITION_RUNNING] = 'R',   [CONDITION_RESTARTING] = 'S',
        [CONDITION_SUSPENDED] = 'P', [CONDITION_SUCCEEDED] = 'Y', [CONDITION_FAILED] = 'F'};

    for (size_t i = 0; i < N_OF(rows); i++) {
        struct conditions cs = {.failed_is_last = rows[i].failed_is_last};
        auto_strbuf struct strbuf got = STRBUF_INIT;
        ns_t at = 1;
        for (const char *p = rows[i].steps; *p; p += strspn(p, " ")) {
            enum condition_type type = 0;
            while (letters[type] != *p)
                type++;
            conditions_set(&cs, type, p[1] == '+', p[2] == 'a' ? "a" : "b", "m", at++);
            p += 3;
        }
        for (size_t k = 0; k < cs.n; k++)
            strbuf_addf(&got, "%c%c%d,%d ", letters[cs.v[k].type], cs.v[k].status ? '+' : '-',
                        (int)cs.v[k].changed, (int)cs.v[k].updated);
        is_str(got.buf, rows[i].want, "%s", rows[i].name);
    }
}

/* --- what ends a job ---------------------------------------------------------------------------
 */

/* policy: one letter per role, N never, F on failure, A always, X exit code; '!' before it: success
 * of its first replica decides. */
static void set_policies(struct stage *st, const char *policies)
{
    size_t k = 0;

    for (const char *p = policies; *p; p++) {
        struct role *role = &st->roles[k];
        if (*p == '!') {
            role->first_decides = true;
            continue;
        }
        role->restart = *p == 'F'   ? RESTART_ON_FAILURE
                        : *p == 'A' ? RESTART_ALWAYS
                        : *p == 'X' ? RESTART_EXIT_CODE
                                    : RESTART_NEVER;
        role->restart_limit = -1;
        k++;
    }
}

static const struct {
    const char *name, *cast, *policies;
    int budget; /* -1: none is said */
    const char *play, *decisions;
    int exit_code; /* -1: has not ended */
    const char *sentence;
} rows[] = {
    /* success */
    {"3.2: PyTorchJob: the master's success is the job's", "master 1 0 1, worker 2 0 0", "FF", -1,
     "master-0=0@5", "sssTE", 0,
     "succeeded by its completion policy: master-0 exited with status 0"},
    {"3.2: PyTorchJob: that of all workers is not", "master 1 0 1, worker 2 0 0", "FF", -1,
     "worker-0=0@5 worker-1=0@6", "sss", -1, ""},
    {"3.2: PyTorchJob without master: all workers", "worker 2 0 2", "F", -1,
     "worker-0=0@5 worker-1=0@6", "ssE", 0, "every process exited with status 0"},
    {"3.2: PyTorchJob without master: one is not all", "worker 2 0 2", "F", -1, "worker-0=0@5",
     "ss", -1, ""},
    {"3.2: elastic PyTorchJob: any worker", "worker 3 0 1", "F", -1, "worker-1=0@5", "sssTE", 0,
     "succeeded by its completion policy: worker-1 exited with status 0"},
    {"3.3: TFJob: the chief decides", "chief 1 0 1, ps 1 0 0, worker 2 0 0", "NNN", -1,
     "worker-0=0@4 chief-0=0@5", "ssssTE", 0,
     "succeeded by its completion policy: chief-0 exited with status 0"},
    {"3.3: TFJob without chief: worker 0 decides", "ps 1 0 0, worker 3 0 0", "N!N", -1,
     "worker-0=0@5", "ssssTE", 0,
     "succeeded by its completion policy: worker-0 exited with status 0"},
    {"3.3: TFJob without chief: another worker does not", "ps 1 0 0, worker 3 0 0", "N!N", -1,
     "worker-1=0@5 worker-2=0@6", "ssss", -1, ""},
    {"3.3: TFJob, AllWorkers", "ps 1 0 0, worker 2 0 2", "NN", -1, "worker-0=0@5 worker-1=0@6",
     "sssTE", 0, "succeeded by its completion policy: all 2 worker replicas exited with status 0"},
    {"3.3: TFJob, AllWorkers: worker 0 alone is not enough", "ps 1 0 0, worker 2 0 2", "NN", -1,
     "worker-0=0@5", "sss", -1, ""},
    /* failure */
    {"3.1: Never: a failed worker fails the job", "master 1 0 1, worker 2 0 0", "NN", -1,
     "worker-1=3@5 down@6", "sssTE", 3, "failed: worker-1 exited with status 3"},
    {"3.3: TFJob: so does a failed parameter server", "ps 1 0 0, worker 2 0 0", "N!N", -1,
     "ps-0=3@5 down@6", "sssTE", 3, "failed: ps-0 exited with status 3"},
    {"3.3: TFJob: and a failed evaluator", "chief 1 0 1, evaluator 1 0 0", "NN", -1,
     "evaluator-0=3@5 down@6", "ssTE", 3, "failed: evaluator-0 exited with status 3"},
    {"3.3: TFJob, enableDynamicWorker: not a failed worker", "chief 1 0 1, worker 2 -1 0", "NN", -1,
     "worker-1=3@5 chief-0=0@6", "sssTE", 0,
     "succeeded by its completion policy although worker-1 exited with status 3"},
    {"3.3: TFJob: worker 0 fails, another one succeeds", "worker 2 0 0", "!N", -1,
     "worker-1=0@4 worker-0=3@5", "ssE", 3, "failed: worker-0 exited with status 3"},
    /* restarts */
    {"3.1: OnFailure: started again", "master 1 0 1, worker 1 0 0", "FF", 3,
     "worker-0=3@5 up@6 master-0=0@9", "ssrTE", 0, "; worker-0 was restarted once"},
    {"3.1: OnFailure: the master too", "master 1 0 1, worker 1 0 0", "FF", 3,
     "master-0=3@5 up@6 master-0=0@9", "ssrTE", 0, "; master-0 was restarted once"},
    {"3.1: ExitCode: 1 to 127 are for good", "worker 2 0 2", "X", 3, "worker-0=127@5 down@6",
     "ssTE", 127, "failed: worker-0 exited with status 127"},
    {"3.1: ExitCode: 128 and above are not", "worker 2 0 2", "X", 3,
     "worker-0=128@5 up@6 worker-0=1@7 down@8", "ssrTE", 1, "; worker-0 was restarted once"},
    {"3.1: ExitCode: a signal is 128 and more", "worker 2 0 2", "X", 3, "worker-0=s9@5 up@6", "ssr",
     -1, ""},
    {"3.1: backoffLimit 0", "worker 2 0 2", "F", 0, "worker-0=3@5 down@6", "ssTE", 3,
     "failed: worker-0 exited with status 3"},
    {"3.1: backoffLimit: of all replicas together", "worker 3 0 3", "F", 2,
     "worker-0=3@5 up@6 worker-1=4@7 up@8 worker-2=5@9 down@10", "sssrrTE", 5,
     "worker-2 exited with status 5 after 8.0 s; 2 replicas were restarted, in all 2 times, the "
     "job's limit"},
    {"3.1: backoffLimit: also of one alone", "worker 2 0 2", "F", 1,
     "worker-0=3@5 up@6 worker-0=4@7 down@8", "ssrTE", 4,
     "worker-0 was restarted once, the job's limit"},
    {"3.1: no backoffLimit: three times each, not for ever", "worker 2 0 2", "F", -1,
     "worker-0=3@5 up@6 worker-0=3@7 up@17 worker-0=3@18 up@38 worker-0=3@39 down@40", "ssrrrTE", 3,
     "worker-0 was restarted 3 times; the file sets no limit, the default is 3"},
    {"3.1: no backoffLimit: each for itself", "worker 2 0 2", "F", -1,
     "worker-0=3@5 worker-1=3@5 up@6 worker-0=0@7 worker-1=0@7", "ssrrE", 0,
     "2 replicas were restarted, in all 2 times"},
    {"3.1: Always: a failure", "ps 1 0 0, worker 1 0 0", "A!N", -1, "ps-0=3@5 up@6 worker-0=0@9",
     "ssrTE", 0, "; ps-0 was restarted once"},
    {"3.1: Always: a success that nobody counts is not repeated", "ps 1 0 0, worker 1 0 0", "A!N",
     -1, "ps-0=0@5 worker-0=0@6", "ssE", 0, "every process exited with status 0"},
    {"3.1: Always: unless a number says how often", "ps 1 0 0, worker 1 0 0", "A!N", 1,
     "ps-0=0@5 up@6 worker-0=0@7", "ssrTE", 0, "; ps-0 was restarted once"},
    {"3.1: Always: the success that the job waits for is one", "ps 1 0 0, worker 1 0 0", "A!A", 3,
     "worker-0=0@5", "ssTE", 0,
     "succeeded by its completion policy: worker-0 exited with status 0"},
    {"3.1: what cannot be prepared is not started again", "worker 2 0 2", "F", 3,
     "worker-0=!@5 down@6", "ssTE", 125, "could not be started"},
};

static void test_rules(void)
{
    for (size_t i = 0; i < N_OF(rows); i++) {
        struct stage st;
        auto_strbuf struct strbuf sentence = STRBUF_INIT;
        stage_cast(&st, rows[i].cast, PLATFORM_TFJOB);
        set_policies(&st, rows[i].policies);
        st.spec.has_restart_budget = rows[i].budget >= 0;
        st.spec.restart_budget = rows[i].budget;
        stage_begin(&st);
        stage_play(&st, rows[i].play);
        is_str(st.decisions, rows[i].decisions, "%s: decisions", rows[i].name);
        is_int(st.job->phase == JOB_ENDED ? st.job->exit_code : -1, rows[i].exit_code,
               "%s: exit code", rows[i].name);
        if (st.job->phase == JOB_ENDED)
            verdict_sentence(st.job, &sentence);
        has(sentence.buf, rows[i].sentence, "%s: the sentence", rows[i].name);
        stage_free(&st);
    }
}

/* A pause gives the budget back, as it begins everything anew. */
static void test_budget_after_pause(void)
{
    struct stage st;

    stage_cast(&st, "worker 1 0 1", PLATFORM_PYTORCHJOB);
    set_policies(&st, "F");
    st.spec.has_restart_budget = true;
    st.spec.restart_budget = 1;
    stage_begin(&st);
    stage_play(&st, "worker-0=1@5 up@6 pause@7 down@8 resume@9 up@9 worker-0=1@10 up@11");
    is_str(st.decisions, "srTPAsr", "3.1: backoffLimit: what was before a pause does not count");
    stage_free(&st);
}

/* --- the status --------------------------------------------------------------------------------
 */

/* "Running True PyTorchJobRunning 1 1 message;" per condition, then the counts as they stand. */
static void summary(const struct stage *st, struct strbuf *out)
{
    auto_strbuf struct strbuf text = STRBUF_INIT;
    struct json j = JSON_COMPACT(&text);

    status_kubeflow(st->job, &j);
    strbuf_addstr(out, text.buf);
}

static void golden(const struct stage *st, const char *want, const char *name)
{
    auto_strbuf struct strbuf got = STRBUF_INIT;

    summary(st, &got);
    is_str(got.buf, want, "%s", name);
}

static void part(const struct stage *st, const char *want, const char *name)
{
    auto_strbuf struct strbuf got = STRBUF_INIT;

    summary(st, &got);
    has(got.buf, want, "%s", name);
}

#define CONDITION(type, status, reason, message, updated, changed)                                 \
    "{\"type\":\"" type "\",\"status\":\"" status "\",\"reason\":\"" reason                        \
    "\",\"message\":\"" message "\",\"lastUpdateTime\":\"1970-01-01T00:00:" updated                \
    "Z\",\"lastTransitionTime\":\"1970-01-01T00:00:" changed "Z\"}"
#define SELECTOR(role)                                                                             \
    "\"selector\":\"training.kubeflow.org/job-name=j,training.kubeflow.org/operator-name="         \
    "pytorchjob-controller,training.kubeflow.org/replica-type=" role "\""

static void cast(struct stage *st, const char *roles, enum platform_kind platform,
                 const char *policies)
{
    stage_cast(st, roles, platform);
    st->spec.namespace_ = "ns";
    set_policies(st, policies);
}

static void test_pytorch(void)
{
    struct stage st;

    cast(&st, "master 1 0 1, worker 2 0 0", PLATFORM_PYTORCHJOB, "FF");
    stage_begin(&st);
    golden(&st,
           "{\"conditions\":[" CONDITION(
               "Created", "True", "PyTorchJobCreated", "PyTorchJob j is created.", "01",
               "01") "," CONDITION("Running", "True", "PyTorchJobRunning",
                                   "PyTorchJob j is running.", "01",
                                   "01") "],\"replicaStatuses\":{"
                                         "\"Master\":{\"active\":1," SELECTOR(
                                             "master") "},\"Worker\":{\"active\":"
                                                       "2," SELECTOR("worker") "}},"
                                                                               "\"startTim"
                                                                               "e\":"
                                                                               "\"1970-01-"
                                                                               "01T00:00:"
                                                                               "01Z\"}",
           "3.2: PyTorchJob: Running");
    stage_play(&st, "worker-1=3@5 up@6 worker-1=3@7");
    part(&st,
         CONDITION("Restarting", "True", "PyTorchJobRestarting",
                   "PyTorchJob j is restarting because 1 Worker replica(s) failed.", "07", "07"),
         "3.2: PyTorchJob: Restarting");
    part(&st, "\"Worker\":{\"active\":1,\"failed\":1", "3.2: PyTorchJob: and counted as failed");
    stage_play(&st, "up@17");
    part(&st,
         CONDITION("Created", "True", "PyTorchJobCreated", "PyTorchJob j is created.", "01",
                   "01") "," CONDITION("Running", "True", "PyTorchJobRunning",
                                       "PyTorchJob j is running.", "17", "17") "]",
         "3.2: PyTorchJob: Running again takes the place of Restarting");
    stage_play(&st, "master-0=0@20");
    golden(
        &st,
        "{\"conditions\":[" CONDITION(
            "Created", "True", "PyTorchJobCreated", "PyTorchJob j is created.", "01",
            "01") "," CONDITION("Running", "False", "PyTorchJobRunning", "PyTorchJob j is running.",
                                "17",
                                "17") "," CONDITION("Succeeded", "True", "PyTorchJobSucceeded",
                                                    "PyTorchJob j is successfully "
                                                    "completed.",
                                                    "20",
                                                    "20") "],"
                                                          "\"replicaStatuses\""
                                                          ":{"
                                                          "\"Master\":{"
                                                          "\"succeeded\":"
                                                          "1," SELECTOR(
                                                              "maste"
                                                              "r") "},\"Worker\":{\"succeeded\":"
                                                                   "2," SELECTOR("worker") "}},"
                                                                                           "\"sta"
                                                                                           "rtTim"
                                                                                           "e\":"
                                                                                           "\"197"
                                                                                           "0-01-"
                                                                                           "01T00"
                                                                                           ":00:"
                                                                                           "01Z\""
                                                                                           ","
                                                                                           "\"com"
                                                                                           "pleti"
                                                                                           "onTim"
                                                                                           "e\":"
                                                                                           "\"197"
                                                                                           "0-01-"
                                                                                           "01T00"
                                                                                           ":00:"
                                                                                           "20Z\""
                                                                                           "}",
        "3.2: PyTorchJob: Succeeded: those that are then stopped count as succeeded");
    stage_free(&st);

    cast(&st, "worker 2 0 2", PLATFORM_PYTORCHJOB, "N");
    stage_begin(&st);
    part(&st, "\"PyTorchJob ns/j is running.\"", "3.2: PyTorchJob without master: Running");
    stage_play(&st, "worker-0=0@4 worker-1=3@5");
    part(&st,
         CONDITION("Failed", "True", "PyTorchJobFailed",
                   "PyTorchJob j is failed because 1 Worker replica(s) failed.", "05", "05"),
         "3.2: PyTorchJob: Failed");
    part(&st, "\"Worker\":{\"succeeded\":1,\"failed\":1,", "3.2: PyTorchJob: one of each");
    stage_free(&st);
}

static void test_limits(void)
{
    struct stage st;

    cast(&st, "worker 1 0 1", PLATFORM_PYTORCHJOB, "F");
    st.spec.has_restart_budget = true;
    st.spec.restart_budget = 1;
    stage_begin(&st);
    stage_play(&st, "worker-0=1@5 up@6 worker-0=1@7");
    part(&st,
         CONDITION("Failed", "True", "PyTorchJobFailed",
                   "Job j has failed because it has reached the specified backoff limit", "07",
                   "07"),
         "3.1: backoffLimit");
    stage_free(&st);

    cast(&st, "worker 1 0 1", PLATFORM_TFJOB, "N");
    st.spec.deadline_s = 10;
    stage_begin(&st);
    stage_play(&st, "wait@11 down@12");
    part(&st,
         CONDITION("Failed", "True", "TFJobFailed",
                   "Job j has failed because it was active longer than specified deadline", "12",
                   "12"),
         "3.1: activeDeadlineSeconds");
    stage_free(&st);

    cast(&st, "worker 1 0 1", PLATFORM_TFJOB, "N");
    stage_begin(&st);
    stage_play(&st, "cancel@5 down@6");
    part(&st, "\"TFJob ns/j has failed because it was cancelled by SIGINT (Ctrl-C).\"",
         "what no operator has words for");
    stage_free(&st);
}

static void test_tensorflow(void)
{
    struct stage st;

    cast(&st, "worker 2 0 0, ps 1 0 0, chief 1 0 1, evaluator 1 0 0", PLATFORM_TFJOB, "XNNN");
    stage_begin(&st);
    part(&st,
         "\"replicaStatuses\":{\"Chief\":{\"active\":1},\"Evaluator\":{\"active\":1},\"PS\":{"
         "\"active\":1},\"Worker\":{\"active\":2}}",
         "3.3: TFJob: roles by name");
    part(&st, CONDITION("Created", "True", "TFJobCreated", "TFJob j is created.", "01", "01"),
         "3.3: TFJob: Created");
    part(&st, CONDITION("Running", "True", "TFJobRunning", "TFJob ns/j is running.", "01", "01"),
         "3.3: TFJob: Running");
    stage_play(&st, "worker-1=137@5 up@6 worker-1=137@7");
    part(&st,
         CONDITION("Restarting", "True", "TFJobRestarting",
                   "TFJob j is restarting because Worker replica(s) failed.", "07", "07"),
         "3.3: TFJob: Restarting");
    stage_play(&st, "up@17 ps-0=2@20");
    part(&st,
         CONDITION("Failed", "True", "TFJobFailed",
                   "TFJob ns/j has failed because 1 PS replica(s) failed.", "20", "20"),
         "3.3: TFJob: Failed");
    stage_free(&st);

    cast(&st, "worker 2 0 0", PLATFORM_TFJOB, "!N");
    stage_begin(&st);
    stage_play(&st, "worker-0=0@5");
    part(&st,
         CONDITION("Succeeded", "True", "TFJobSucceeded", "TFJob ns/j successfully completed.",
                   "05", "05"),
         "3.3: TFJob: Succeeded");
    stage_free(&st);
}

static void begin_mpi(struct stage *st, enum platform_kind platform, enum restart_policy policy)
{
    cast(st, "launcher 1 0 0, worker 2 0 0", platform, "NN");
    st->plan.launcher = 0;
    st->roles[0].kind = ROLE_LAUNCHER;
    st->roles[0].restart = policy;
    st->roles[1].kind = ROLE_HOST;
    st->processes[1].argv = st->processes[2].argv = NULL;
    stage_begin(st);
    stage_up(st, 2 * NS_PER_S);
}

static void test_mpi(void)
{
    struct stage st;

    begin_mpi(&st, PLATFORM_MPIJOB_V2BETA1, RESTART_NEVER);
    golden(&st,
           "{\"conditions\":[" CONDITION(
               "Created", "True", "MPIJobCreated", "MPIJob ns/j is created.", "01",
               "01") "," CONDITION("Running", "True", "MPIJobRunning", "MPIJob ns/j is running.",
                                   "02",
                                   "02") "],\"replicaStatuses\":{"
                                         "\"Launcher\":{\"active\":1},\"Worker\":{\"active\":2}},"
                                         "\"startTime\":\"1970-01-01T00:00:01Z\"}",
           "1.4: MPIJob v2beta1: Running");
    stage_play(&st, "launcher-0=0@5");
    part(&st,
         CONDITION("Running", "False", "MPIJobRunning", "MPIJob ns/j is running.", "02",
                   "02") "," CONDITION("Succeeded", "True", "MPIJobSucceeded",
                                       "MPIJob ns/j successfully completed.", "05",
                                       "05") "],\"replicaStatuses\":{"
                                             "\"Launcher\":{\"succeeded\":1},\"Worker\":{}},",
         "1.4: MPIJob v2beta1: Succeeded");
    part(&st, "\"completionTime\":\"1970-01-01T00:00:05Z\"}", "1.4: MPIJob: completionTime");
    stage_free(&st);

    begin_mpi(&st, PLATFORM_MPIJOB_V2BETA1, RESTART_NEVER);
    stage_play(&st, "launcher-0=3@5");
    part(&st,
         CONDITION("Failed", "True", "BackoffLimitExceeded/Error",
                   "Job has reached the specified backoff limit: launcher-0 exited with status 3",
                   "05", "05"),
         "1.4: MPIJob v2beta1: Failed, with the last pod's reason");
    part(&st, "\"Launcher\":{\"failed\":1}", "1.4: MPIJob v2beta1: the launcher failed");
    stage_free(&st);

    begin_mpi(&st, PLATFORM_MPIJOB_V2BETA1, RESTART_ON_FAILURE);
    stage_play(&st, "launcher-0=3@5 up@6 launcher-0=3@7");
    part(&st, CONDITION("Running", "True", "MPIJobRunning", "MPIJob ns/j is running.", "02", "02"),
         "1.4: MPIJob v2beta1: Restarting is not used");
    stage_free(&st);

    begin_mpi(&st, PLATFORM_MPIJOB_V2BETA1, RESTART_NEVER);
    st.spec.deadline_s = 3;
    stage_play(&st, "wait@6 down@7");
    part(&st,
         CONDITION("Failed", "True", "DeadlineExceeded",
                   "Job was active longer than specified deadline", "07", "07"),
         "1.4: MPIJob v2beta1: the launcher Job's deadline");
    stage_free(&st);
}

static void test_mpi_others(void)
{
    struct stage st;

    begin_mpi(&st, PLATFORM_MPIJOB_V1ALPHA2, RESTART_ON_FAILURE);
    stage_play(&st, "launcher-0=3@5 up@6 launcher-0=3@7");
    part(&st,
         CONDITION("Restarting", "True", "MPIJobRestarting", "MPIJob ns/j is restarting.", "07",
                   "07"),
         "1.2: MPIJob v1alpha2: Restarting");
    stage_free(&st);

    begin_mpi(&st, PLATFORM_MPIJOB_V1, RESTART_NEVER);
    stage_play(&st, "launcher-0=3@5");
    part(&st, CONDITION("Failed", "True", "MPIJobFailed", "MPIJob ns/j has failed", "05", "05"),
         "1.3: MPIJob v1: Failed");
    stage_free(&st);

    /* a launcher that is believed by its operator, and not by Muster */
    begin_mpi(&st, PLATFORM_MPIJOB_V1, RESTART_NEVER);
    (void)stage_report(&st, &(struct observation){.kind = OBS_RANK_STARTED,
                                                  .at = 3 * NS_PER_S,
                                                  .replica = 1,
                                                  .launch = 1,
                                                  .size = 1,
                                                  .log = "r.log"});
    (void)stage_report(&st, &(struct observation){.kind = OBS_RANK_EXITED,
                                                  .at = 4 * NS_PER_S,
                                                  .replica = 1,
                                                  .launch = 1,
                                                  .end = {.known = true, .code = 9}});
    stage_play(&st, "launcher-0=0@5");
    is_int(st.job->exit_code, 9, "1.3: MPIJob: a failed rank is the run's exit code");
    part(&st, "\"type\":\"Succeeded\",\"status\":\"True\"", "1.3: MPIJob: and not the status");
    stage_free(&st);

    begin_mpi(&st, PLATFORM_MPIJOB_V2BETA1, RESTART_NEVER);
    stage_play(&st, "lost@5");
    part(&st, "\"type\":\"Failed\",\"status\":\"True\",\"reason\":\"MPIJobFailed\"",
         "MPIJob v2beta1: lost");
    stage_free(&st);

    cast(&st, "launcher 1 0 0", PLATFORM_MPIJOB_V2BETA1, "N");
    st.plan.launcher = 0;
    st.roles[0].kind = ROLE_LAUNCHER;
    st.job = job_new(&st.plan, &stage_rules);
    job_apply(st.job, &(struct event){.type = EVENT_CREATED, .at = NS_PER_S});
    stage_decide(&st, NS_PER_S);
    stage_play(&st, "launcher-0=0@2");
    part(&st,
         CONDITION("Running", "False", "MPIJobRunning",
                   "MPIJob ns/j is finished but Running condition was never set.", "02", "02"),
         "1.4: MPIJob v2beta1: over before it was seen to run");
    stage_free(&st);
}

static void test_suspended(void)
{
    struct stage st;

    begin_mpi(&st, PLATFORM_MPIJOB_V2BETA1, RESTART_NEVER);
    stage_play(&st, "pause@5 down@6");
    part(&st,
         CONDITION("Suspended", "True", "MPIJobSuspended", "MPIJob suspended", "06",
                   "06") "," CONDITION("Running", "False", "MPIJobSuspended",
                                       "MPIJob ns/j is suspended.", "06", "06") "]",
         "2: MPIJob v2beta1: Suspended");
    part(&st, "\"replicaStatuses\":{\"Launcher\":{},\"Worker\":{}}", "2: nothing is active");
    stage_play(&st, "resume@7 up@8 up@8");
    part(&st,
         CONDITION("Suspended", "False", "MPIJobResumed", "MPIJob resumed", "07",
                   "07") "," CONDITION("Running", "True", "MPIJobRunning",
                                       "MPIJob ns/j is running.", "08", "08") "]",
         "2: MPIJob v2beta1: resumed");
    part(&st, "\"startTime\":\"1970-01-01T00:00:07Z\"", "2: startTime begins anew");
    stage_free(&st);

    cast(&st, "worker 2 0 2", PLATFORM_PYTORCHJOB, "F");
    st.spec.pause = true;
    stage_begin(&st);
    part(&st,
         CONDITION("Suspended", "True", "PyTorchJobSuspended", "PyTorchJob j is suspended.", "01",
                   "01") "],\"replicaStatuses\":{\"Worker\":{" SELECTOR("worker") "}}}",
         "3.1: PyTorchJob: created suspended, not started");
    stage_play(&st, "resume@7 up@8");
    part(&st,
         CONDITION("Suspended", "False", "PyTorchJobResumed", "PyTorchJob j is resumed.", "07",
                   "07"),
         "3.1: PyTorchJob: resumed");
    stage_play(&st, "pause@9 down@10");
    part(&st,
         CONDITION("Running", "False", "PyTorchJobSuspended", "PyTorchJob j is suspended.", "10",
                   "10"),
         "3.1: PyTorchJob: suspended while running");
    stage_free(&st);
}

int main(void)
{
    test_setting();
    test_rules();
    test_budget_after_pause();
    test_pytorch();
    test_limits();
    test_tensorflow();
    test_mpi();
    test_mpi_others();
    test_suspended();
    return tap_done();
}
