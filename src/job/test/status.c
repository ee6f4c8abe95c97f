/* status.c - the status views of the dialects, word for word. */
#include "job/report.h"
#include "job/status.h"
#include "job/status_t9k.h"
#include "job/test/stage.h"

typedef void (*view)(const struct job *, struct json *);

static void written(const struct stage *st, view write, struct strbuf *out)
{
    struct json j = JSON_COMPACT(out);

    strbuf_truncate(out, 0);
    write(st->job, &j);
}

static void golden(const struct stage *st, view write, const char *want, const char *name)
{
    auto_strbuf struct strbuf got = STRBUF_INIT;

    written(st, write, &got);
    is_str(got.buf, want, "%s", name);
}

static void part(const struct stage *st, view write, const char *want, const char *name)
{
    auto_strbuf struct strbuf got = STRBUF_INIT;

    written(st, write, &got);
    has(got.buf, want, "%s", name);
}

/* --- OpenPAI -----------------------------------------------------------------------------------
 */

static const int http_numbers[] = {8000, 8001};
static const struct plan_port ports[] = {{.label = "http", .numbers = http_numbers, .n = 2}};

static void test_openpai_v1(void)
{
    static const struct pai_spec v1 = {.version = 1};
    struct stage st;

    stage_cast(&st, "master 1 1 1, worker 1 1 1", PLATFORM_OPENPAI);
    st.spec.pai = &v1;
    st.replicas[0].ports = ports;
    st.replicas[0].n_ports = 1;
    stage_begin(&st);
    stage_play(&st, "master-0=0@3");
    golden(&st, status_openpai,
           "{\"name\":\"j\",\"state\":\"SUCCEEDED\",\"executionType\":\"START\",\"retries\":0,"
           "\"createdTime\":1000,\"launchedTime\":1000,\"completedTime\":4000,\"appExitCode\":0,"
           "\"totalTaskNumber\":2,\"totalTaskRoleNumber\":2,"
           "\"jobStatus\":{\"state\":\"SUCCEEDED\",\"executionType\":\"START\",\"retries\":0,"
           "\"createdTime\":1000,\"launchedTime\":1000,\"completedTime\":4000,\"appExitCode\":0,"
           "\"appId\":\"id\",\"appCreatedTime\":1000,\"appLaunchedTime\":1000,"
           "\"appCompletedTime\":4000,\"appExitTriggerMessage\":"
           "\"SucceededTaskCount 1 has reached MinSucceededTaskCount 1 in the TaskRole\","
           "\"appExitTriggerTaskRoleName\":\"master\",\"appExitTriggerTaskIndex\":0,"
           "\"appExitType\":\"USER_SUCCESS\"},"
           "\"taskRoles\":{\"master\":{\"taskRoleStatus\":{\"name\":\"master\"},"
           "\"taskStatuses\":[{\"taskIndex\":0,\"taskState\":\"SUCCEEDED\","
           "\"containerId\":\"master-host-0\",\"containerIp\":\"127.1.0.2\","
           "\"containerPorts\":{\"http\":\"8000,8001\"},\"containerGpus\":null,"
           "\"containerLog\":\"/r/logs/x.log\",\"containerExitCode\":0,\"retries\":0}]},"
           "\"worker\":{\"taskRoleStatus\":{\"name\":\"worker\"},"
           "\"taskStatuses\":[{\"taskIndex\":0,\"taskState\":\"STOPPED\","
           "\"containerId\":\"worker-host-0\",\"containerIp\":\"127.1.0.3\",\"containerPorts\":{},"
           "\"containerGpus\":null,\"containerLog\":\"/r/logs/x.log\",\"containerExitCode\":-220,"
           "\"retries\":0}]}}}",
           "3.7: OpenPAI v1: the master succeeds, the sleeping worker is STOPPED");
    stage_free(&st);
}

/* One story, and a few words that have to be in the view. */
static void story(const char *cast, const char *play, view write, const char *const *wants)
{
    struct stage st;

    stage_cast(&st, cast, PLATFORM_MUSTER);
    stage_begin(&st);
    stage_play(&st, play);
    for (; *wants; wants++) {
        auto_strbuf struct strbuf name = STRBUF_INIT;
        strbuf_addf(&name, "%s: %s: %s", cast, play, *wants);
        part(&st, write, *wants, name.buf);
    }
    stage_free(&st);
}

static void test_openpai_v2(void)
{
    story("worker 1 1 1", "", status_openpai,
          (const char *const[]){"\"state\":\"RUNNING\"", "\"taskState\":\"RUNNING\"",
                                "\"completedTime\":null,\"appExitCode\":null",
                                "\"appExitTriggerMessage\":null", "\"appExitType\":null",
                                "\"containerExitCode\":null",
                                "\"retryDetails\":{\"user\":0,\"platform\":0,\"resource\":0}",
                                "\"attemptId\":0,\"attemptState\":\"RUNNING\"", NULL});
    story("worker 3 2 1", "worker-1=3@2 worker-0=5@3", status_openpai,
          (const char *const[]){
              "\"state\":\"FAILED\"", "\"appExitCode\":5",
              "\"FailedTaskCount 2 has reached MinFailedTaskCount 2 in the TaskRole\"",
              "\"appExitTriggerTaskRoleName\":\"worker\",\"appExitTriggerTaskIndex\":0",
              "\"taskIndex\":0,\"taskState\":\"FAILED\"",
              "\"taskIndex\":2,\"taskState\":\"STOPPED\"", "\"appExitType\":\"UNKNOWN_FAILURE\"",
              "\"containerExitCode\":3", NULL});
    story("worker 2 -1 -1", "worker-0=1@2 worker-1=s9@3", status_openpai,
          (const char *const[]){
              "\"state\":\"SUCCEEDED\"", "\"appExitCode\":0", "\"appExitTriggerTaskRoleName\":null",
              "\"taskIndex\":0,\"taskState\":\"FAILED\"", "\"containerExitCode\":137", NULL});
    story("worker 2 1 1", "cancel@2", status_openpai,
          (const char *const[]){"\"state\":\"STOPPED\"", "\"executionType\":\"STOP\"",
                                "\"appExitCode\":-210", "\"appExitType\":\"USER_STOP\"",
                                "\"containerExitCode\":-210", NULL});
    story("worker 2 1 1", "lost@2", status_openpai,
          (const char *const[]){"\"state\":\"FAILED\"", "\"appExitCode\":-1001",
                                "\"appExitType\":\"PLATFORM_FAILURE\"", NULL});
}

/* --- Azure ML ----------------------------------------------------------------------------------
 */

static void test_azureml(void)
{
    struct stage st;

    stage_cast(&st, "worker 2 0 0", PLATFORM_AZUREML_PREVIEW);
    st.spec.experiment = "tests";
    st.spec.target = "gpu-cluster";
    stage_begin(&st);
    golden(&st, status_azureml,
           "{\"name\":\"j\",\"experiment_name\":\"tests\",\"compute\":\"gpu-cluster\","
           "\"status\":\"Running\",\"startTimeUtc\":\"1970-01-01T00:00:01.000Z\","
           "\"endTimeUtc\":null,\"error\":null}",
           "0.32: Azure ML: Running");
    stage_play(&st, "worker-1=3@2");
    golden(&st, status_azureml,
           "{\"name\":\"j\",\"experiment_name\":\"tests\",\"compute\":\"gpu-cluster\","
           "\"status\":\"Failed\",\"startTimeUtc\":\"1970-01-01T00:00:01.000Z\","
           "\"endTimeUtc\":\"1970-01-01T00:00:03.000Z\",\"error\":{\"code\":\"UserError\","
           "\"message\":\"worker-1 exited with status 3\"}}",
           "0.32: Azure ML: Failed");
    stage_free(&st);
    story("worker 2 1 2, ps 1 1 -1", "worker-0=0@2 worker-1=0@2", status_azureml,
          (const char *const[]){"\"status\":\"Completed\"", "\"error\":null", NULL});
    story("worker 2 0 0", "cancel@2", status_azureml,
          (const char *const[]){"\"status\":\"Canceled\"", "\"error\":null", NULL});
    story("worker 2 0 0", "pause@2 down@3", status_azureml,
          (const char *const[]){"\"status\":\"Paused\"", "\"error\":null",
                                "\"startTimeUtc\":\"1970-01-01T00:00:01.000Z\"", NULL});
    story("worker 2 0 0", "pause@2 down@3", status_t9k,
          (const char *const[]){"\"phase\":\"Paused\"",
                                "\"message\":\"The job waits for its pods.\","
                                "\"lastTransitionTime\":\"1970-01-01T00:00:03.000Z\"",
                                NULL});
    story("worker 2 0 0", "lost@2", status_azureml,
          (const char *const[]){"\"status\":\"NotResponding\"", "\"code\":\"SystemError\"", NULL});
    story("worker 2 0 0", "worker-0=!@2", status_azureml,
          (const char *const[]){"\"status\":\"Failed\"", "\"code\":\"SystemError\"", NULL});
}

/* --- Kubeflow v1alpha1 -------------------------------------------------------------------------
 */

static void begin_mpi(struct stage *st)
{
    stage_cast(st, "launcher 1 0 0, worker 2 0 0", PLATFORM_MPIJOB_V1ALPHA1);
    st->plan.launcher = 0;
    st->roles[0].kind = ROLE_LAUNCHER;
    st->roles[1].kind = ROLE_HOST;
    st->processes[1].argv = NULL;
    st->processes[2].argv = NULL;
    stage_begin(st);
}

static void launcher_starts(struct stage *st)
{
    stage_decide(st, 2 * NS_PER_S);
    (void)stage_report(
        st, &(struct observation){.kind = OBS_STARTED, .process = 0, .at = 2 * NS_PER_S});
}

static void test_kubeflow(void)
{
    struct stage st;

    begin_mpi(&st);
    golden(&st, status_kubeflow_v1alpha1, "{\"workerReplicas\":2}",
           "Kubeflow v1alpha1: the workers are ready, the launcher is still to come");
    launcher_starts(&st);
    golden(&st, status_kubeflow_v1alpha1,
           "{\"launcherStatus\":\"Active\",\"workerReplicas\":2,"
           "\"startTime\":\"1970-01-01T00:00:02.000Z\"}",
           "Kubeflow v1alpha1: Active");
    stage_play(&st, "launcher-0=0@5");
    golden(&st, status_kubeflow_v1alpha1,
           "{\"launcherStatus\":\"Succeeded\",\"workerReplicas\":0,"
           "\"startTime\":\"1970-01-01T00:00:02.000Z\","
           "\"completionTime\":\"1970-01-01T00:00:05.000Z\"}",
           "Kubeflow v1alpha1: Succeeded");
    stage_free(&st);

    begin_mpi(&st);
    launcher_starts(&st);
    stage_play(&st, "launcher-0=1@5");
    golden(&st, status_kubeflow_v1alpha1,
           "{\"launcherStatus\":\"Failed\",\"workerReplicas\":0,"
           "\"startTime\":\"1970-01-01T00:00:02.000Z\"}",
           "Kubeflow v1alpha1: Failed");
    stage_free(&st);
}

/* --- T9k ---------------------------------------------------------------------------------------
 */

static void test_t9k(void)
{
    struct stage st;

    begin_mpi(&st);
    launcher_starts(&st);
    part(&st, status_t9k, "{\"phase\":\"Running\"", "4.29: Running");
    stage_play(&st, "pause@5");
    part(&st, status_t9k, "{\"phase\":\"Paused\"", "4.29: Paused");
    part(&st, status_t9k, "\"deleted\":3", "4.25: its replicas are gone");
    part(&st, status_t9k, "{\"type\":\"Paused\",\"status\":\"True\"", "4.28: its condition");
    stage_play(&st, "resume@7");
    part(&st, status_t9k, "{\"phase\":\"Resuming\"", "4.29: Resuming, until the gate opens");
    stage_play(&st, "up@8 up@9");
    part(&st, status_t9k, "{\"phase\":\"Running\"", "4.29: and Running again");
    part(&st, status_t9k, "{\"type\":\"Paused\",\"status\":\"False\"", "4.28: no longer paused");
    stage_play(&st, "lost@10");
    part(&st, status_t9k, "{\"phase\":\"Unknown\"", "4.29: Unknown, when nobody saw its end");
    part(&st, status_t9k, "\"unknown\":3", "4.33: nor that of its pods");
    stage_free(&st);

    begin_mpi(&st);
    launcher_starts(&st);
    st.job->rules.hold = true;
    stage_play(&st, "launcher-0=1@5");
    part(&st, status_t9k, "{\"phase\":\"Running\"", "hold: T9k's phase");
    part(&st, status_t9k, "{\"type\":\"Running\",\"status\":\"False\",\"reason\":\"Held\"",
         "hold: T9k's condition");
    stage_free(&st);

    begin_mpi(&st);
    st.roles[0].restart = RESTART_ON_FAILURE;
    st.roles[0].restart_limit = 3;
    launcher_starts(&st);
    stage_play(&st, "launcher-0=1@5 up@6");
    part(&st, status_t9k, "{\"type\":\"launcher\",\"restartCount\":1", "T9k: restarts are counted");
    part(&st, status_kubeflow_v1alpha1, "{\"launcherStatus\":\"Active\"",
         "Kubeflow v1alpha1: a launcher that is started again is active");
    stage_free(&st);
}

/* OpenPAI shows whose retries they were. */
static void test_retries(void)
{
    static const struct pai_spec v2 = {.version = 2};
    struct stage st;

    stage_cast(&st, "w 1 1 1", PLATFORM_OPENPAI);
    st.spec.pai = &v2;
    st.spec.retry = (struct retry_policy){.by_class = true, .max = 1};
    stage_begin(&st);
    stage_play(&st, "w-0=137@5 up@6 w-0=1@7 up@8 w-0=2@9");
    part(&st, status_openpai,
         "\"retries\":2,\"retryDetails\":{\"user\":1,\"platform\":1,\"resource\":0}",
         "1.5: the user's retries and the platform's, apart");
    part(&st, status_openpai, "\"appExitCode\":2", "4.1: the status is the last attempt's");
    part(&st, status_openpai,
         "\"appExitSpec\":{\"code\":2,\"phrase\":\"PAIRuntimeUnknownFailed\",\"type\":"
         "\"UNKNOWN_FAILURE\",\"behavior\":\"UNKNOWN\",\"reaction\":\"RETRY_TO_MAX\"},"
         "\"appExitDiagnostics\":\"w-0 exited with status 2\"",
         "4.4: with its exit spec");
    part(&st, status_openpai, "\"containerExitSpec\":{\"code\":2,", "4.4: and that of the task");
    part(&st, status_openpai, "\"state\":\"FAILED\",\"subState\":\"Completed\"", "4.3: subState");
    stage_free(&st);
}

/* A conflict is tried again after a while: how long is told. */
static void test_retry_delay(void)
{
    struct stage st;

    stage_cast(&st, "w 1 1 1", PLATFORM_OPENPAI);
    st.spec.retry.by_class = true;
    stage_begin(&st);
    part(&st, status_openpai, "\"subState\":\"AttemptRunning\"", "4.3: it runs");
    stage_play(&st, "w-0=201@5");
    part(&st, status_openpai, "\"state\":\"WAITING\",\"subState\":\"AttemptCreationPending\"",
         "4.3: it waits for its next attempt");
    auto_strbuf struct strbuf want = STRBUF_INIT;
    strbuf_addf(&want, "\"retryDelayTime\":%lld,",
                (long long)((st.job->begin_at - 5 * NS_PER_S) / NS_PER_S));
    part(&st, status_openpai, want.buf, "4.1: retryDelayTime");
    stage_free(&st);
}

/* --- Muster's own ------------------------------------------------------------------------------
 */

static void test_muster(void)
{
    struct stage st;

    stage_cast(&st, "ps 1 0 0, worker 3 0 0", PLATFORM_MUSTER);
    stage_begin(&st);
    golden(&st, status_muster,
           "{\"phase\":\"running\",\"attempt\":1,\"roles\":{\"ps\":{\"replicas\":1,\"running\":1},"
           "\"worker\":{\"replicas\":3,\"running\":3}}}",
           "while it runs");
    stage_play(&st, "worker-0=0@2 worker-1=7@3");
    golden(&st, status_muster,
           "{\"phase\":\"failed\",\"attempt\":1,\"roles\":{\"ps\":{\"replicas\":1,\"stopped\":1},"
           "\"worker\":{\"replicas\":3,\"succeeded\":1,\"failed\":1,\"stopped\":1}}}",
           "the end: each replica under one word");
    stage_free(&st);
}

/* --- which view a job gets ---------------------------------------------------------------------
 */

static void test_choice(void)
{
    static const struct {
        enum platform_kind platform;
        const char *want;
    } rows[] = {
        {PLATFORM_T9K, "\"status\":{\"phase\":\"Succeeded\",\"conditions\""},
        {PLATFORM_OPENPAI, "\"status\":{\"name\":\"j\",\"state\":\"SUCCEEDED\""},
        {PLATFORM_AZUREML_PREVIEW, "\"status\":\"Completed\""},
        {PLATFORM_AZUREML, "\"status\":\"Completed\""},
        {PLATFORM_MPIJOB_V1ALPHA1, "\"status\":{\"workerReplicas\":0}"},
        {PLATFORM_MUSTER,
         "\"status\":{\"phase\":\"succeeded\",\"attempt\":1,\"roles\":{\"worker\":{"},
        {PLATFORM_MPIJOB_V1ALPHA2, "\"reason\":\"MPIJobSucceeded\""},
        {PLATFORM_MPIJOB_V1, "\"reason\":\"MPIJobSucceeded\""},
        {PLATFORM_MPIJOB_V2BETA1, "\"reason\":\"MPIJobSucceeded\""},
        {PLATFORM_PYTORCHJOB, "\"reason\":\"PyTorchJobSucceeded\""},
        {PLATFORM_TFJOB, "\"reason\":\"TFJobSucceeded\""},
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct stage st;
        auto_strbuf struct strbuf text = STRBUF_INIT;
        struct json j = JSON_COMPACT(&text);
        struct report_context ctx = {.engine = "local"};
        stage_cast(&st, "worker 1 0 0", rows[i].platform);
        stage_begin(&st);
        stage_play(&st, "worker-0=0@2");
        report_write(st.job, &ctx, &j);
        has(text.buf, rows[i].want, "the report of %s has its own view",
            platform_words[rows[i].platform]);
        stage_free(&st);
    }
}

int main(void)
{
    test_openpai_v1();
    test_openpai_v2();
    test_azureml();
    test_kubeflow();
    test_t9k();
    test_muster();
    test_retries();
    test_retry_delay();
    test_choice();
    return tap_done();
}
