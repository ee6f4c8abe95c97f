/* openpai.c - every variable of an OpenPAI task, of both generations, exactly. */
#include "plan/test/seed.h"

struct expected {
    const char *name, *value;
};

static void check(struct seed *s, uint32_t process, const struct expected *want, size_t n)
{
    for (size_t i = 0; i < n; i++)
        is_str(seed_env(s, process, want[i].name),
               want[i].value ? arena_printf(s->arena, "%s (dialect)", want[i].value) : NULL,
               "1.3: %s", want[i].name);
}

/* What both generations have. Task worker-1 of two; SynPort has two numbers, http comes last. */
static const struct expected both[] = {
    {"PAI_USER_NAME", "ann"},
    {"PAI_USERNAME", "ann"},
    {"PAI_DEFAULT_FS_URI", ""},
    {"PAI_TASK_ROLE_COUNT", "1"},
    {"PAI_TASK_ROLES_NUM", "1"},
    {"PAI_JOB_TASK_ROLE_COUNT", "1"},
    {"PAI_TASK_ROLE_LIST", "worker"},
    {"PAI_JOB_TASK_ROLE_LIST", "worker"},
    {"PAI_TASKS_NUM", "2"},
    {"PAI_JOB_TASK_COUNT", "2"},
    {"PAI_TASK_ROLE_TASK_COUNT_worker", "2"},
    {"PAI_MIN_FAILED_TASK_COUNT_worker", "1"},
    {"PAI_CURRENT_TASK_ROLE_NAME", "worker"},
    {"PAI_CURRENT_TASK_ROLE_CURRENT_TASK_INDEX", "1"},
    {"PAI_TASK_INDEX", "1"},
    {"PAI_HOST_IP_worker_0", "127.1.0.1"},
    {"PAI_HOST_IP_worker_1", "127.1.0.2"},
    {"PAI_PORT_LIST_worker_0_SynPort", "20000,20001"},
    {"PAI_worker_0_SynPort_PORT", "20000,20001"},
    {"PAI_PORT_LIST_worker_1_http", "20007"},
    {"PAI_worker_1_http_PORT", "20007"},
    {"PAI_TASK_ROLE_worker_HOST_LIST", "127.1.0.1:20003,127.1.0.2:20007"},
    {"PAI_CURRENT_CONTAINER_IP", "127.1.0.2"},
    {"PAI_CONTAINER_HOST_IP", "127.1.0.2"},
    {"PAI_CURRENT_CONTAINER_PORT", "20007"},
    {"PAI_CONTAINER_HOST_PORT", "20007"},
    {"PAI_CONTAINER_SSH_PORT", "20006"},
    {"PAI_CONTAINER_HOST_SynPort_PORT_LIST", "20004,20005"},
    {"PAI_CONTAINER_HOST_PORT_LIST", "SynPort:20004,20005;ssh:20006;http:20007;"},
    {"NVIDIA_VISIBLE_DEVICES", "none"},
};

static const struct expected v2[] = {
    {"PAI_FRAMEWORK_NAME", "ann~job"},
    {"PAI_JOB_NAME", "ann~job"},
    {"PAI_VIRTUAL_CLUSTER", "default"},
    {"PAI_RESOURCE_worker", "0,4,8192,0"},
    {"PAI_MIN_SUCCEEDED_TASK_COUNT_worker", "2"},
    {"PAI_TASK_ROLE_INSTANCES", "worker:0,worker:1"},
    {"PAI_WORK_DIR", "/jobs"},
    {"HIVED_VISIBLE_DEVICES", "none"},
    {"FC_FRAMEWORK_NAMESPACE", "default"},
    {"FC_FRAMEWORK_NAME", "job"},
    {"FC_TASKROLE_NAME", "worker"},
    {"FC_TASK_INDEX", "1"},
    {"FC_CONFIGMAP_NAME", "job-attempt"},
    {"FC_POD_NAME", "job-worker-1"},
    {"FC_FRAMEWORK_UID", "ID"},
    {"FC_FRAMEWORK_ATTEMPT_ID", "0"},
    {"FC_FRAMEWORK_ATTEMPT_INSTANCE_UID", "0_ID"},
    {"FC_CONFIGMAP_UID", "ID"},
    {"FC_TASKROLE_UID", "ID-worker"},
    {"FC_TASK_UID", "ID-worker-1"},
    {"FC_TASK_ATTEMPT_ID", "0"},
    {"FC_POD_UID", "ID-worker-1"},
    {"FC_TASK_ATTEMPT_INSTANCE_UID", "0_ID-worker-1"},
    {"PAI_RESOURCE", NULL},
    {"APP_ID", NULL},
};

static const struct expected v1[] = {
    {"APP_ID", "application_ID"},
    {"FRAMEWORK_NAME", "ann~job"},
    {"HADOOP_USER_NAME", "ann"},
    {"PAI_CONTAINER_ID", "container_ID_1"},
    {"PAI_JOB_NAME", "job"},
    {"PAI_RESOURCE", "0,4,8192,64"},
    {"PAI_RESOURCE_worker", "0,4,8192,64"},
    {"PAI_MIN_SUCCEEDED_TASK_COUNT_worker", ""},
    {"PAI_TASK_ROLE_INDEX", "1"},
    {"PAI_TASK_ROLE_NAME", "worker"},
    {"PAI_TASK_ROLE_NUM", "2"},
    {"PAI_DATA_DIR", "hdfs://d"},
    {"PAI_OUTPUT_DIR", ""},
    {"PAI_CODE_DIR", ""},
    {"PAI_CURRENT_TASK_ROLE_TASK_COUNT", "2"},
    {"PAI_CURRENT_TASK_ROLE_CPU_COUNT", "4"},
    {"PAI_CURRENT_TASK_ROLE_MEM_MB", "8192"},
    {"PAI_CURRENT_TASK_ROLE_GPU_COUNT", "0"},
    {"PAI_CURRENT_TASK_ROLE_SHM_MB", "64"},
    {"PAI_CURRENT_TASK_ROLE_MIN_FAILED_TASK_COUNT", "1"},
    {"PAI_CURRENT_TASK_ROLE_MIN_SUCCEEDED_TASK_COUNT", ""},
    {"PAI_TASK_CPU_NUM", "4"},
    {"PAI_TASK_MEM_MB", "8192"},
    {"PAI_TASK_GPU_NUM", "0"},
    {"PAI_KILL_ALL_ON_COMPLETED_TASK_NUM", "0"},
    {"FC_TASK_INDEX", NULL},
};

static void test_generations(void)
{
    struct seed s;

    seed_openpai(&s, 2, "true");
    check(&s, 1, both, ARRAY_SIZE(both));
    check(&s, 1, v2, ARRAY_SIZE(v2));
    arena_free(s.arena);
    seed_openpai(&s, 1, "true");
    check(&s, 1, both, ARRAY_SIZE(both));
    check(&s, 1, v1, ARRAY_SIZE(v1));
    arena_free(s.arena);
}

static void test_roles(void)
{
    static const struct expected want[] = {
        {"PAI_TASK_ROLE_LIST", "worker,ps_Server"},
        {"PAI_TASK_ROLE_INSTANCES", "worker:0,worker:1,ps_Server:0,ps_Server:1"},
        {"PAI_CURRENT_TASK_ROLE_NAME", "ps_Server"},
        {"FC_TASKROLE_NAME", "psserver"},
        {"PAI_HOST_IP_ps_Server_1", "127.1.0.4"},
        {"PAI_HOST_IP_psserver_1", "127.1.0.4"},
        {"PAI_PORT_LIST_ps_Server_0_http", "20011"},
        {"PAI_PORT_LIST_psserver_0_http", "20011"},
        {"PAI_psserver_0_http_PORT", "20011"},
        {"PAI_TASK_ROLE_ps_Server_HOST_LIST", "127.1.0.3:20011,127.1.0.4:20015"},
        {"PAI_TASK_ROLE_psserver_HOST_LIST", "127.1.0.3:20011,127.1.0.4:20015"},
        {"PAI_TASK_ROLE_TASK_COUNT_ps_Server", "2"},
        {"PAI_TASK_ROLE_TASK_COUNT_psserver", "2"},
        {"PAI_RESOURCE_ps_Server", "2,4,8192,64"},
        {"PAI_VIRTUAL_CLUSTER", "vc1"},
    };
    static const struct node said;
    struct seed s;

    seed_openpai(&s, 2, "true");
    s.roles[1].name = "ps_Server";
    s.roles[1].res.gpu = 2;
    s.roles[1].res.shm_at = &said;
    s.spec.n_roles = 2;
    s.spec.queue = "vc1";
    check(&s, 2, want, ARRAY_SIZE(want));
    s.roles[1].name = "ps.server~1";
    is_str(seed_env(&s, 2, "PAI_HOST_IP_psserver1_0"), "127.1.0.3 (dialect)",
           "1.11: the form that a shell can use");
    is_str(seed_env(&s, 2, "PAI_HOST_IP_ps.server~1_0"), NULL, "1.11: and not the other");
    s.facts.machine.gpus = 4;
    is_str(seed_env(&s, 3, "NVIDIA_VISIBLE_DEVICES"), "2,3 (dialect)", "GPUs that are there");
    s.facts.machine.gpus_pretended = true;
    is_str(seed_env(&s, 3, "NVIDIA_VISIBLE_DEVICES"), "none (dialect)", "pretended ones are not");
    arena_free(s.arena);
}

static void test_job_envs(void)
{
    static const struct env_entry job[] = {{.name = "paiAzRDMA", .value = "true"},
                                           {.name = "PAI_JOB_NAME", .value = "mine"}};
    struct seed s;

    seed_openpai(&s, 1, "true");
    s.roles[0].env = job;
    s.roles[0].n_env = ARRAY_SIZE(job);
    is_str(seed_env(&s, 0, "paiAzRDMA"), "true (job)", "3.10: jobEnvs are exported as given");
    is_str(seed_env(&s, 0, "PAI_JOB_NAME"), "mine (job)", "3.10: and win");
    s.facts.caller.user = NULL;
    s.roles[0].n_env = 1;
    is_str(seed_env(&s, 0, "FRAMEWORK_NAME"), "user~job (dialect)", "somebody is the user");
    s.roles[0].min_failed = -1;
    is_str(seed_env(&s, 0, "PAI_MIN_FAILED_TASK_COUNT_worker"), " (dialect)",
           "a rule that is off is empty");
    s.roles[0].replicas = 2000;
    s.facts.site.ports = ARENA_ARRAY(s.arena, int, 8000);
    has(seed_env(&s, 1999, "PAI_HOST_IP_worker_1999"), "127.1.7.208", "many tasks");
    arena_free(s.arena);
}

int main(void)
{
    test_generations();
    test_roles();
    test_job_envs();
    return tap_done();
}
