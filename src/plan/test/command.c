/* command.c - what is executed, and what hosts are called, on each platform. */
#include "plan/test/seed.h"

static void test_shells(void)
{
    static const struct {
        enum platform_kind platform;
        enum shell_kind kind;
        const char *want;
    } rows[] = {
        {PLATFORM_AZUREML_PREVIEW, SHELL_SH, "</bin/sh><-c><a b\nc>"},
        {PLATFORM_OPENPAI, SHELL_BASH, "<bash><-c><a b\nc>"},
        {PLATFORM_OPENPAI, SHELL_BASH_STRICT,
         "<bash><-o><errexit><-o><nounset><-o><pipefail><-c><a b\nc>"},
    };
    struct seed s;

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        seed_other(&s, rows[i].platform, FRAMEWORK_NONE, "a b\nc");
        s.roles[0].shell_kind = rows[i].kind;
        is_str(seed_exec(&s, 1), rows[i].want, "0.7: %s", platform_words[rows[i].platform]);
        s.roles[0].shell_secret = "a s3cret";
        ok(!strstr(seed_exec(&s, 1), "a b") && !strstr(seed_exec(&s, 1), "-c>") &&
               !strstr(seed_exec(&s, 1), "s3cret"),
           "0.7: %s: text with a secret is no word of it", platform_words[rows[i].platform]);
        arena_free(s.arena);
    }
    seed_init(&s);
    is_str(seed_exec(&s, 1), "", "a worker that waits executes nothing");
    has(seed_exec(&s, 0), "</usr/local/bin/mpirun><--prefix>", "0.7: t9k: an argv");
    arena_free(s.arena);
}

static void test_argv(void)
{
    static const char *const argv[] = {"echo",    "$(A)",    "$$(A)",      "$(NOBODY)",
                                       "$(HOME)", "$A $$ $", "x$(B)y$(A)", "$(MUSTER_INDEX)",
                                       "$(open",  "$()",     "$$$(A)",     NULL};
    static const struct env_entry env[] = {{.name = "A", .value = "1"},
                                           {.name = "B", .value = "$(A)2"}};
    struct seed s;

    seed_other(&s, PLATFORM_MPIJOB_V1ALPHA1, FRAMEWORK_NONE, NULL);
    s.roles[0].argv = argv;
    s.roles[0].env = env;
    s.roles[0].n_env = ARRAY_SIZE(env);
    has(seed_exec(&s, 1), "<echo><$(A)><$$(A)>", "0.7: t9k: passed literally");
    s.roles[0].expand_argv = true;
    is_str(seed_exec(&s, 1),
           "<echo><1><$(A)><$(NOBODY)><$(HOME)><$A $ $><x12y1><1><$(open><$()><$1>",
           "0.7: kubeflow: as the kubelet expands it");
    is_str(seed_plan(&s)->processes[0].argv[7], "0", "0.7: each process with its own values");
    arena_free(s.arena);
}

static void test_argv_secret(void)
{
    static const char *const argv[] = {"login", "--token=$(TOKEN)", NULL};
    static const struct env_entry env[] = {
        {.name = "TOKEN", .source = ENV_SECRET, .ref_name = "s", .ref_key = "k"}};
    static const struct secret_value given[] = {
        {.source = ENV_SECRET, .name = "s", .key = "k", .value = "s3cret"}};
    struct seed s;

    seed_other(&s, PLATFORM_MPIJOB_V1ALPHA1, FRAMEWORK_NONE, NULL);
    s.roles[0].argv = argv;
    s.roles[0].expand_argv = true;
    s.roles[0].env = env;
    s.roles[0].n_env = 1;
    s.facts.given.secrets = given;
    s.facts.given.n_secrets = 1;
    is_str(seed_exec(&s, 0), "<login><--token=s3cret>", "4.20: the value is passed");
    is_str(seed_plan(&s)->processes[0].argv[1], "--token=***", "4.20: and masked in the plan");
    has(seed_notes(&s), "warning: worker: the command takes a secret as an argument",
        "4.20: with a warning that others can read it");
    ok(!strstr(seed_notes(&s), "s3cret"), "4.20: which does not show it");
    arena_free(s.arena);
}

static void test_hosts(void)
{
    static const struct {
        enum platform_kind platform;
        const char *role, *host;
    } rows[] = {
        {PLATFORM_OPENPAI, "worker", "worker-1"},
        {PLATFORM_OPENPAI, "ps_server", "psserver-1"},
        {PLATFORM_OPENPAI, "A.b~C", "abc-1"},
        {PLATFORM_OPENPAI, "._~", "role0-1"},
        {PLATFORM_AZUREML_PREVIEW, "worker", "worker-1"},
        {PLATFORM_AZUREML_PREVIEW, "parameter_server", "parameter-server-1"},
        {PLATFORM_MPIJOB_V1ALPHA1, "worker", "job-worker-1"},
        {PLATFORM_PYTORCHJOB, "master", "job-master-1"},
        {PLATFORM_T9K, "worker", "job-worker-1"},
    };
    struct seed s;

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        const char *both;

        seed_other(&s, rows[i].platform, FRAMEWORK_NONE, "true");
        s.roles[0].name = rows[i].role;
        both = arena_printf(s.arena, "127.1.0.2 %s %s-1", rows[i].host, rows[i].role);
        is_str(seed_plan(&s)->replicas[1].host, rows[i].host, "3.13: %s: %s",
               platform_words[rows[i].platform], rows[i].role);
        is_str(seed_plan(&s)->replicas[1].name, arena_printf(s.arena, "%s-1", rows[i].role),
               "3.13: a replica keeps the role's spelling");
        if (!strcmp(rows[i].host, seed_plan(&s)->replicas[1].name))
            both = arena_printf(s.arena, "127.1.0.2 %s\n", rows[i].host);
        has(seed_plan(&s)->hosts_file, both, "3.13: both names resolve");
        arena_free(s.arena);
    }
    seed_other(&s, PLATFORM_MPIJOB_V1ALPHA1, FRAMEWORK_MPI, "mpirun true");
    s.roles[0].kind = ROLE_LAUNCHER;
    s.roles[0].name = "launcher";
    s.roles[0].replicas = 1;
    s.roles[1].kind = ROLE_HOST;
    s.roles[1].shell = NULL;
    s.spec.n_roles = 2;
    is_str(seed_plan(&s)->replicas[0].host, "job-launcher", "3.13: a launcher has no number");
    is_str(seed_plan(&s)->hostfile, "job-worker-0 slots=1\njob-worker-1 slots=1\n",
           "3.13: the hostfile has the hosts' names");
    arena_free(s.arena);
}

/* What a later start of a process is told, where it writes, and what it runs after a pause. */
static void test_starts(void)
{
    static const char *const command[] = {"resume", "$(MUSTER_ATTEMPT)", NULL};
    static const char *const args[] = {"now", NULL};
    static const struct debug_role resume[] = {
        {.role = "launcher", .command = command, .args = args},
        {.role = "worker", .command = command}};
    static const struct {
        struct start start;
        const char *want;
    } names[] = {
        {{.attempt = 1, .instance = 1}, "launcher-0.log"},
        {{.attempt = 2, .instance = 1}, "launcher-0.attempt-2.log"},
        {{.attempt = 1, .instance = 3}, "launcher-0.restart-2.log"},
        {{.attempt = 4, .instance = 2, .resumed = true}, "launcher-0.attempt-4.restart-1.log"},
    };
    const struct start later = {.attempt = 2, .instance = 1, .resumed = true};
    const struct start retried = {.attempt = 2, .instance = 1};
    char log[PLAN_LOG_NAME];
    struct seed s;

    seed_init(&s);
    const struct plan *plan = seed_plan(&s);
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        is_str(plan_log_name(&plan->processes[0], names[i].start, log), names[i].want, "%s",
               names[i].want);
    is_str(plan_log_name(&plan->processes[1], later, log), "", "who only waits writes nothing");

    s.spec.resume_roles = resume;
    s.spec.n_resume_roles = 2;
    plan = seed_plan(&s);
    const char *const *argv = plan_exec_argv(s.arena, plan, &plan->processes[0], later);
    is_str(argv[0], "resume", "4.26: resumeSpecs: the launcher's command after a pause");
    is_str(argv[1], "2", "4.26: with its variables");
    is_str(argv[2], "now", "4.26: and args");
    ok(!argv[3], "4.26: and no more");
    argv = plan_exec_argv(s.arena, plan, &plan->processes[0], retried);
    ok(strcmp(argv[0], "resume") != 0, "4.26: not after a failure");
    argv = plan_exec_argv(s.arena, plan, &plan->processes[1], later);
    is_str(argv[0], "resume", "4.26: a worker's runs beside its waiting");
    ok(process_waits(&plan->processes[1], later), "4.26: which it does all the same");
    is_str(plan_log_name(&plan->processes[1], later, log), "worker-0.attempt-2.log",
           "4.26: and has a log");
    ok(!plan_exec_argv(s.arena, plan, &plan->processes[1], retried),
       "4.26: not after a failure either");
    is_str(plan_log_name(&plan->processes[1], retried, log), "", "4.26: then it writes nothing");
    arena_free(s.arena);
}

/* Who is debugged waits, with the command that the file has for that beside it. */
static void test_debug(void)
{
    static const char *const notebook[] = {"jupyter", "$(MUSTER_ROLE)", NULL};
    const char *const *const idle[] = {
        (const char *const[]){"sleep", "inf", NULL},
        (const char *const[]){"/bin/sleep", "infinity", NULL},
        (const char *const[]){"/usr/sbin/sshd", "-D", NULL},
        (const char *const[]){"tail", "-f", "/dev/null", NULL},
    };
    const char *const *const busy[] = {
        (const char *const[]){"sleep", "5", NULL},
        (const char *const[]){"sleep", "inf", "1", NULL},
        (const char *const[]){"tail", "-f", NULL},
        (const char *const[]){"sleep", NULL},
    };
    static const char *const workers[] = {"worker", NULL};
    struct debug_role mode = {.role = "launcher", .command = notebook};
    const struct start start = {.attempt = 1, .instance = 1, .debug = true};
    const struct start over = {.attempt = 2, .instance = 1};
    char log[PLAN_LOG_NAME];
    struct seed s;

    seed_init(&s);
    s.spec.debug = true;
    const struct plan *plan = seed_plan(&s);
    const struct process *launcher = &plan->processes[0], *worker = &plan->processes[1];
    ok(process_waits(launcher, start) && process_waits(worker, start), "4.23: all of them wait");
    ok(!plan_exec_argv(s.arena, plan, launcher, start), "4.24: the launcher's default is to wait");
    is_str(plan_log_name(launcher, start, log), "", "4.24: without a log");
    ok(!process_waits(launcher, over), "4.23: when the debugging is over, it runs mpirun");
    is_str(plan_exec_argv(s.arena, plan, launcher, over)[0], "/usr/local/bin/mpirun", "4.23: so");

    s.spec.debug_roles = &mode;
    s.spec.n_debug_roles = 1;
    plan = seed_plan(&s);
    const char *const *argv = plan_exec_argv(s.arena, plan, &plan->processes[0], start);
    is_str(argv[0], "jupyter", "4.24: replicaSpecs: a command for the launcher");
    is_str(argv[1], "launcher", "4.24: with its variables");
    is_str(plan_log_name(&plan->processes[0], start, log), "launcher-0.log", "4.24: and its log");
    for (size_t i = 0; i < ARRAY_SIZE(idle); i++) {
        mode.command = idle[i];
        plan = seed_plan(&s);
        ok(!plan_exec_argv(s.arena, plan, &plan->processes[0], start),
           "4.24: %s %s is what a replica does anyway", idle[i][0], idle[i][1]);
        mode.command = busy[i];
        plan = seed_plan(&s);
        ok(plan_exec_argv(s.arena, plan, &plan->processes[0], start), "4.24: another %s is not",
           busy[i][0]);
    }

    s.spec.debug_only = workers;
    plan = seed_plan(&s);
    ok(!process_waits(&plan->processes[0], start), "--debug=worker: the launcher does not wait");
    arena_free(s.arena);
}

int main(void)
{
    test_shells();
    test_argv();
    test_argv_secret();
    test_hosts();
    test_starts();
    test_debug();
    return tap_done();
}
