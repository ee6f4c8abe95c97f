/* words.c - what is taken out of shown text (secrets), and what is added to it (hints). */
#include "base/strvec.h"
#include "job/hint.h"
#include "job/mask.h"
#include "job/report.h"
#include "job/test/stage.h"
#include "job/verdict.h"

/* --- secrets -----------------------------------------------------------------------------------
 */

static const char *const texts[] = {
    "hunter2", "abcdef", "defghi", "no", "tab\there", "line one\nsecond\r\n\n", "", NULL};
static const struct secret_value values[] = {
    {.source = ENV_SECRET, .name = "s", .key = "k", .value = "from-a-directory\n"},
    {.source = ENV_CONFIG_MAP, .name = "c", .key = "k", .value = "not-a-secret"},
};

static void test_lines(void)
{
    static const struct {
        const char *line, *want, *name;
    } rows[] = {
        {"the password is hunter2!", "the password is ***!", "a value"},
        {"xhunter2y hunter2hunter2", "x***y ***", "inside a word, and twice in a row"},
        {"hunter", "hunter", "a part of it is none"},
        {"abcdefghi.", "***.", "values that overlap leave nothing"},
        {"no: know no_ no", "***: know no_ ***", "a short value only as a word of its own"},
        {"tab\\there", "***", "as it is shown: escaped"},
        {"is line one, second.", "is ***, ***.", "each line of a value"},
        {"from-a-directory", "***", "a value of a Secret, without the file's last newline"},
        {"not-a-secret", "not-a-secret", "a ConfigMap is none"},
        {"", "", "an empty line"},
    };
    struct stage st;

    stage_cast(&st, "worker 1 0 0", PLATFORM_MUSTER);
    st.spec.secret_texts = texts;
    st.facts.given.secrets = values;
    st.facts.given.n_secrets = 2;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        auto_strvec struct strvec lines = STRVEC_INIT;
        strvec_push(&lines, rows[i].line);
        mask_lines(&st.plan, &lines, false);
        is_str(lines.v[0], rows[i].want, "masked: %s", rows[i].name);
    }
    auto_strvec struct strvec cut = STRVEC_INIT;
    strvec_push(&cut, "nter2 is the rest");
    strvec_push(&cut, "nter2 is none");
    mask_lines(&st.plan, &cut, true);
    is_str(cut.v[0], "*** is the rest", "masked: the end of a value where the tail begins");
    is_str(cut.v[1], "nter2 is none", "masked: only there");
    stage_free(&st);
}

/* What a process's directory and environment are made of. */
static void set_facts(struct stage *st)
{
    static const char *const dirs[] = {"/d", "/d"}, *const caller_env[] = {"PATH=/bin", NULL};
    static const struct env_value path = {.name = "PATH", .value = "/bin", .origin = ORIGIN_CALLER};

    st->plan.workdirs = dirs;
    st->plan.passed_on = &path;
    st->plan.n_passed_on = 1;
    st->facts.site.scratch_dir = "/s";
    st->facts.caller.dir = "/";
    st->facts.caller.user = "u";
    st->facts.caller.env = caller_env;
}

static void test_sentences(void)
{
    static const char *const program[] = {"./train-hunter2", NULL};
    auto_strbuf struct strbuf text = STRBUF_INIT;
    struct stage st;

    stage_cast(&st, "worker 1 0 0", PLATFORM_MUSTER);
    set_facts(&st);
    st.spec.secret_texts = (const char *const[]){"hunter2", "127", "0", NULL};
    st.processes[0].argv = program;
    stage_begin(&st);
    struct observation o = stage_word(&st, "worker-0=!@2");
    o.end.exec_errno = -ENOENT;
    (void)snprintf(o.end.exec_what, sizeof(o.end.exec_what), "exec");
    (void)stage_report(&st, &o);
    stage_decide(&st, 2 * NS_PER_S);
    verdict_sentence(st.job, &text);
    has(text.buf, "worker-0 could not execute ./train-***: No such file",
        "masked: a verdict; numbers in it stay");

    auto_strbuf struct strbuf report = STRBUF_INIT;
    struct json j = JSON_COMPACT(&report);
    struct report_context ctx = {.engine = "local"};
    report_write(st.job, &ctx, &j);
    ok(strstr(report.buf, "hunter2") == NULL, "masked: the whole report");
    has(report.buf, "; ./train-*** was searched for in /d", "masked: where it was looked for");
    stage_free(&st);
}

/* --- hints -------------------------------------------------------------------------------------
 */

static const struct env_entry env[] = {
    {.name = "PAI_HOST_IP_worker_0", .value = "127.1.0.2"},
    {.name = "PAI_PORT_LIST_worker_0_SynPort", .value = "8000"},
    {.name = "MASTER_ADDR", .value = "127.1.0.2"},
};

static void begin_failed(struct stage *st)
{
    stage_cast(st, "worker 1 0 0", PLATFORM_MUSTER);
    st->roles[0].env = env;
    st->roles[0].n_env = sizeof(env) / sizeof(env[0]);
    set_facts(st);
    stage_begin(st);
    stage_play(st, "worker-0=1@2");
}

static void test_variables(void)
{
    static const struct {
        const char *line, *want, *name;
    } rows[] = {
        {"KeyError: 'PAI_HOST_IP_work_0'",
         "PAI_HOST_IP_work_0 is not set in this job; closest match: PAI_HOST_IP_worker_0",
         "a KeyError"},
        {"  KeyError: \"PAI_PORT_LIST_worker_0_SyncPort\"",
         "PAI_PORT_LIST_worker_0_SyncPort is not set in this job; closest match: "
         "PAI_PORT_LIST_worker_0_SynPort",
         "with the other quotes"},
        {"bash: line 1: MASTER_ADR: unbound variable",
         "MASTER_ADR is not set in this job; closest match: MASTER_ADDR", "bash -u"},
        {"/bin/sh: 1: MASTER_ADR: parameter not set",
         "MASTER_ADR is not set in this job; closest match: MASTER_ADDR", "sh -u"},
        {"KeyError: 'AZUREML_SOMETHING_ELSE'", "AZUREML_SOMETHING_ELSE is not set in this job",
         "nothing is near"},
        {"KeyError: 'MASTER_ADDR'", "", "a name that is set"},
        {"KeyError: 'learning_rate'", "", "a name of the program's own"},
        {"KeyError: 3", "", "no name"},
        {"KeyError: ", "", "nothing"},
        {": unbound variable", "", "nothing before"},
        {"fine", "", "no error"},
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct stage st;
        auto_strbuf struct strbuf hint = STRBUF_INIT;
        begin_failed(&st);
        hint_for(st.job, (const char *const[]){"first", rows[i].line, "last", NULL}, &hint);
        is_str(hint.buf, rows[i].want, "1.12: %s", rows[i].name);
        stage_free(&st);
    }
}

static void test_frameworks(void)
{
    static const struct {
        const char *line, *want, *name;
    } rows[] = {
        {"ValueError: Error initializing torch.distributed using env:// rendezvous: environment "
         "variable RANK expected, but not set",
         "RANK is not set in this job: torchrun or a PyTorch job sets it", "torch's variable"},
        {"KeyError: 'TF_CONFIG'", "TF_CONFIG is not set in this job: a TensorFlow job sets it",
         "TensorFlow's variable"},
        {"torch.distributed.DistNetworkError: The server socket has failed to listen on any local "
         "network address. port: 29511, useIpv6: false, code: -98, name: EADDRINUSE",
         "all replicas share this machine's ports; port 29511 is already in use; port 8000 is "
         "reserved for the job (MASTER_PORT of worker-0)",
         "somebody else's port"},
        {"RuntimeError: The server socket has failed to bind to [::]:8000 (errno: 98 - Address "
         "already in use).",
         "port 8000 belongs to worker-0 (MASTER_PORT); two processes of this job listen on it",
         "the job's own port"},
        {"OSError: [Errno 98] Address already in use",
         "all replicas share this machine's ports; that port is already in use; port 8000 is "
         "reserved for the job (MASTER_PORT of worker-0)",
         "a port that is not told"},
        {"RuntimeError: [enforce fail at device.cc:84] ifa != nullptr. Unable to find address for: "
         "eth\0330",
         "network interface eth\\x1b0 not found; replicas use veth", "an interface"},
        {"Bootstrap : no socket interface found",
         "network interface of that name not found; replicas use veth", "NCCL's"},
        {"RuntimeError: No CUDA GPUs are available",
         "this machine has no GPU; use device \"cpu\" and backend \"gloo\"", "no GPU"},
        {"ModuleNotFoundError: No module named 'torch.distributed'",
         "torch is not installed for /usr/bin/python3; use --image NAME=ENV to run with a Python "
         "environment that has it",
         "a module"},
        {"ModuleNotFoundError: No module named ''",
         "it is not installed for /usr/bin/python3; use --image NAME=ENV to run with a Python "
         "environment that has it",
         "a module without a name"},
        {"RuntimeError: DataLoader worker (pid 7) is killed by signal: Bus error. It is possible "
         "that dataloader's workers are out of shared memory. insufficient shared memory (shm)",
         "shared memory (/dev/shm) may have been full", "/dev/shm"},
        {"RuntimeError: DataLoader worker (pid 8) is killed by signal: Bus error. It is possible "
         "that "
         "dataloader's workers are out of shared memory. Please try to raise your shared memory "
         "limit.",
         "shared memory (/dev/shm) may have been full", "torch 1.13's words"},
        {"horovod.common.exceptions.HorovodInternalError: Horovod has been shut down. This was "
         "caused by an",
         "another rank ended earlier, or Horovod detected a rank that never joined (see \"Missing "
         "ranks\" in its log)",
         "Horovod"},
        {"You may be using `mpiexec` or `mpirun` from a different MPI implementation.",
         "mpi4py was built for a different MPI than mpirun; each rank runs in its own world of "
         "size 1",
         "a mixed MPI"},
        {"}) with an unsupported type (<class 'tensorflow.python.distribute.values.PerReplica'>) "
         "to a "
         "Tensor.",
         "Keras 3 does not support fit() with several workers; install tf_keras and set "
         "TF_USE_LEGACY_KERAS=1",
         "Keras 3"},
        {"    map[i] = val_or_map.get(i, Std.NONE)",
         "torchrun of PyTorch 1.13 does not work with Python 3.11; install a newer PyTorch, or "
         "start the processes without torchrun",
         "torchrun of Debian 12"},
        {"ModuleNotFoundErr", "", "half a word"},
    };
    static const int number = 8000;
    static const struct plan_port port = {.label = "MASTER_PORT", .numbers = &number, .n = 1};

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct stage st;
        auto_strbuf struct strbuf hint = STRBUF_INIT;
        begin_failed(&st);
        st.roles[0].res.shm = 64 << 20;
        st.replicas[0].ports = &port;
        st.replicas[0].n_ports = 1;
        st.facts.site.interface = "veth";
        st.facts.machine.python = "/usr/bin/python3";
        st.spec.file = "job.yaml";
        hint_for(st.job, (const char *const[]){rows[i].line, "last", NULL}, &hint);
        is_str(hint.buf, rows[i].want, "7: %s", rows[i].name);
        stage_free(&st);
    }
}

static void test_launchers(void)
{
    static const struct {
        const char *tail[8], *want, *name;
    } rows[] = {
        {{"train_ddp.py FAILED", "Failures:", "  rank      : 2 (local_rank: 0)",
          "  exitcode  : 1 (pid: 6) ", "Root Cause (first observed failure):",
          "  rank      : 3 (local_rank: 1)", "  exitcode  : 7 (pid: 8) "},
         "torchrun reports that rank 3 failed first, with exit code 7",
         "torchrun: not the others that failed"},
        {{"Root Cause (first observed failure):", "  rank      : 1 (local_rank: 1)",
          "  exitcode  : -9 (pid: 8)"},
         "torchrun reports that rank 1 failed first, ended by SIGKILL",
         "torchrun: a signal"},
        {{"The first process to do so was:", "Process name: 2", "Exit code: 7"},
         "horovodrun reports that rank 2 failed first, with exit code 7",
         "horovodrun"},
        {{"Root Cause (first observed failure):", "  rank      : x", "  exitcode  : 7"},
         "",
         "no number"},
        {{"rank: 3", "exitcode: 7"}, "", "a program's own words"},
        {{"Root Cause (first observed failure):"}, "", "half of it"},
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct stage st;
        auto_strbuf struct strbuf hint = STRBUF_INIT;
        begin_failed(&st);
        hint_for(st.job, rows[i].tail, &hint);
        is_str(hint.buf, rows[i].want, "7: %s", rows[i].name);
        stage_free(&st);
    }
}

static void test_image_and_signal(void)
{
    static const struct image_place image = {.prefix = "/venv", .mapped = true};
    auto_strbuf struct strbuf hint = STRBUF_INIT;
    struct stage st;

    begin_failed(&st);
    st.facts.site.images = &image;
    hint_for(st.job, (const char *const[]){"/venv/bin/python: No module named torch", NULL}, &hint);
    is_str(hint.buf, "torch is not installed in /venv, which is used in place of the image",
           "7: a module that its image has not");
    stage_free(&st);
    stage_cast(&st, "worker 1 0 0", PLATFORM_MUSTER);
    stage_begin(&st);
    stage_play(&st, "worker-0=s7@2");
    strbuf_truncate(&hint, 0);
    hint_for(st.job, NULL, &hint);
    has(hint.buf, "(/dev/shm) may have been full", "7: a bus error");
    st.facts.machine.gpus = 2;
    strbuf_truncate(&hint, 0);
    hint_for(st.job, (const char *const[]){"No CUDA GPUs are available", NULL}, &hint);
    is_str(hint.buf, "this machine has 2 GPUs; the job must request them", "7: GPUs");
    stage_free(&st);
}

/* A launcher ends with a code of its own after the kernel has killed its rank. */
static void test_memory_inside(void)
{
    auto_strbuf struct strbuf text = STRBUF_INIT;
    struct stage st;

    begin_failed(&st);
    struct cause c = st.job->cause;
    c.end.oom_in = 1;
    c.end.memory_limit = 1200 << 20;
    verdict_cause(st.job, &c, &text);
    has(text.buf,
        "exited with status 1 (a process in it was killed: out of memory, limit 1200 MiB)",
        "7: a rank of a launcher's");
    stage_free(&st);
    stage_cast(&st, "launcher 1 0 0, worker 2 0 0", PLATFORM_MUSTER);
    stage_begin(&st);
    stage_play(&st, "launcher-0=1@2");
    c = st.job->cause;
    c.end.oom_in = 3;
    strbuf_truncate(&text, 0);
    verdict_cause(st.job, &c, &text);
    has(text.buf, "(a process in worker-1 was killed", "7: one that it started elsewhere");
    stage_free(&st);
}

/* Killed beside processes that ended otherwise: of a success and of another's failure. */
static void test_memory_aside(void)
{
    auto_strbuf struct strbuf text = STRBUF_INIT;
    struct stage st;

    stage_cast(&st, "w 3 0 0", PLATFORM_MUSTER);
    stage_begin(&st);
    stage_play(&st, "w-0=0@2 w-1=0@2 w-2=0@2");
    verdict_killed(st.job, &text);
    is_str(text.buf, "", "8: nothing was killed");
    st.job->procs[1].end.oom_in = 2;
    st.job->procs[1].end.memory_limit = 96 << 20;
    verdict_sentence(st.job, &text);
    is_str(text.buf,
           "succeeded: every process exited with status 0; a process in w-1 was killed: out of "
           "memory, limit 96 MiB",
           "8: a success says so");
    st.job->procs[0].end.oom_in = 2;
    st.job->procs[2].end.oom_in = 3;
    strbuf_truncate(&text, 0);
    verdict_killed(st.job, &text);
    is_str(text.buf, "; processes in w-1 and 1 more replica were killed: out of memory",
           "8: in two replicas");
    stage_free(&st);

    begin_failed(&st);
    st.job->cause.end.oom_in = st.job->procs[st.job->cause.process].end.oom_in = 1;
    strbuf_truncate(&text, 0);
    verdict_killed(st.job, &text);
    is_str(text.buf, "", "8: what the cause tells is not told twice");
    stage_free(&st);
}

static void test_other(void)
{
    static const char *const lost[] = {"HorovodInternalError: Horovod has been shut down. This",
                                       NULL};
    static const char *const raised[] = {"Traceback (most recent call last):", "  raise X",
                                         "torch.cuda.OutOfMemoryError: words", "atexit", NULL};
    static const char *const none[] = {"there was an Error: x", "Errors: 3", "", NULL};

    ok(hint_lost_others(lost), "7: a rank that has lost the others");
    ok(!hint_lost_others(raised) && !hint_lost_others(NULL), "7: one that has not");
    is_str(hint_exception(raised), "torch.cuda.OutOfMemoryError: words", "7: what it raised");
    is_str(hint_exception(lost), NULL, "7: to have lost others is no reason");
    is_str(hint_exception(none), NULL, "7: no exception");
}

/* What is said of a service outside the job is not said of a peer. */
static void test_foreign(void)
{
    static const char *const refused[] = {"ConnectionRefusedError: [Errno 111] Connection refused",
                                          NULL};
    static const char *const wandb[] = {"wandb: ERROR connection reset by peer", NULL};
    static const char *const peer[] = {"RuntimeError: Connection reset by peer", NULL};

    is_str(hint_lost_peer(refused), NULL, "9: nobody had listened there");
    is_str(hint_lost_peer(wandb), NULL, "9: a service");
    is_str(hint_lost_peer(peer), peer[0], "9: a peer");
}

/* 128 and what is above all signals are codes as any other. */
static void test_shell_codes(void)
{
    static const struct {
        int code;
        const char *want;
    } rows[] = {{127, " (command not found)"}, {128, ""}, {129, " (128 + SIGHUP)"},
                {159, " (128 + SIGSYS)"},      {160, ""}, {255, ""}};
    struct stage st;

    begin_failed(&st);
    st.processes[st.job->cause.process].shell = "its command";
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        auto_strbuf struct strbuf text = STRBUF_INIT, want = STRBUF_INIT;
        struct cause c = st.job->cause;
        c.end.code = rows[i].code;
        c.exit_code = rows[i].code;
        verdict_cause(st.job, &c, &text);
        strbuf_addf(&want, "worker-0 exited with status %d%s", rows[i].code, rows[i].want);
        is_str(text.buf, want.buf, "7: code %d", rows[i].code);
    }
    st.processes[st.job->cause.process].shell = NULL;
    for (int code = 127; code <= 139; code += 12) {
        auto_strbuf struct strbuf text = STRBUF_INIT, want = STRBUF_INIT;
        struct cause c = st.job->cause;
        c.end.code = c.exit_code = code;
        verdict_cause(st.job, &c, &text);
        strbuf_addf(&want, "worker-0 exited with status %d", code);
        is_str(text.buf, want.buf, "7: code %d of what is no shell", code);
    }
    stage_free(&st);
}

static void test_success(void)
{
    static const char *const lines[] = {
        "<frozen importlib._bootstrap>:241: RuntimeWarning: suspicious MPI execution environment",
        "size 1", "KeyError: 'RANK'", NULL};
    auto_strbuf struct strbuf hint = STRBUF_INIT;
    struct stage st;

    stage_cast(&st, "worker 1 0 0", PLATFORM_MUSTER);
    stage_begin(&st);
    stage_play(&st, "worker-0=0@2");
    hint_for(st.job, lines, &hint);
    is_str(hint.buf,
           "but mpi4py was built for a different MPI than mpirun; each rank runs in its own world "
           "of size 1",
           "7: a success that is none");
    strbuf_truncate(&hint, 0);
    hint_for(st.job, lines + 1, &hint);
    is_str(hint.buf, "", "7: nothing else is said of a success");
    stage_free(&st);
}

static void test_where(void)
{
    auto_strbuf struct strbuf hint = STRBUF_INIT, report = STRBUF_INIT;
    struct json j = JSON_COMPACT(&report);
    struct report_context ctx = {
        .engine = "local", .log_tail = (const char *const[]){"KeyError: 'MASTER_PROT'", NULL}};
    struct stage st;

    begin_failed(&st);
    report_write(st.job, &ctx, &j);
    has(report.buf, "worker-0 exited with status 1 after 1.0 s; MASTER_PROT is not set in this job",
        "1.12: the verdict repeats it");
    hint_for(st.job, NULL, &hint);
    is_str(hint.buf, "", "1.12: no log, no hint");
    stage_free(&st);
}

static void command_hint(const char *const *argv, const char *shell, const char *how,
                         const char *line, struct strbuf *out)
{
    struct stage st;

    stage_cast(&st, "launcher 1 0 0", PLATFORM_AZUREML_PREVIEW);
    set_facts(&st);
    st.processes[0].argv = argv;
    st.processes[0].shell = shell;
    stage_begin(&st);
    struct observation o = stage_word(&st, how);
    if (o.kind == OBS_SPAWN_FAILED) {
        o.end.exec_errno = -ENOENT;
        (void)snprintf(o.end.exec_what, sizeof(o.end.exec_what), "exec");
    }
    (void)stage_report(&st, &o);
    stage_decide(&st, 2 * NS_PER_S);
    strbuf_truncate(out, 0);
    hint_for(st.job, (const char *const[]){line, NULL}, out);
    stage_free(&st);
}

static void test_horovodrun(void)
{
    static const char command[] =
        "cd src && horovodrun -np 16 --hostfile $AZUREML_MPI_HOSTFILE python train.py";
    static const char *const argv[] = {"horovodrun", "-np", "4", "python", "train it.py", NULL};
    static const char not_found[] = "bash: line 1: horovodrun: command not found";
    auto_strbuf struct strbuf hint = STRBUF_INIT;

    command_hint(NULL, command, "launcher-0=127@2", not_found, &hint);
    has(hint.buf, "horovodrun is not installed; the equivalent with mpirun: mpirun -np 16",
        "0.15: the line for mpirun");
    has(hint.buf, "--hostfile $AZUREML_MPI_HOSTFILE", "0.15: with its hosts");
    has(hint.buf, "-bind-to none -map-by slot", "0.15: with what horovodrun would have added");
    has(hint.buf, "python train.py", "0.15: and the program");
    command_hint(argv, NULL, "launcher-0=!@2", NULL, &hint);
    has(hint.buf, "mpirun -np 4", "0.15: without a shell");
    has(hint.buf, "python 'train it.py'", "0.15: with its quotes");
    command_hint(NULL, command, "launcher-0=1@2", not_found, &hint);
    is_str(hint.buf, "", "0.15: another code is another matter");
    command_hint(NULL, command, "launcher-0=127@2", "bash: line 1: cd: src: No such file", &hint);
    is_str(hint.buf, "", "0.15: so is another program");
    command_hint(NULL, "sh run.sh", "launcher-0=127@2", not_found, &hint);
    is_str(hint.buf, "horovodrun not found in PATH, /s/bin:/bin",
           "0.15: a line that is not in the file cannot be said");
}

static void test_interpreter(void)
{
    static const struct {
        const char *how, *line, *want, *name;
    } rows[] = {
        {"launcher-0=127@2", "bash: line 1: ./x: cannot execute: required file not found",
         "the first line of ./x names an interpreter that does not exist, or it ends in a carriage "
         "return (CRLF line endings)",
         "by bash 5.2"},
        {"launcher-0=126@2", "bash: ./x: /bin/sh^M: bad interpreter: No such file or directory",
         "the script has CRLF line endings: convert it with dos2unix, or with sed -i 's/\\r$//'",
         "by bash before"},
        {"launcher-0=127@2", "env: 'python3\\r': No such file or directory",
         "the script has CRLF line endings: convert it with dos2unix, or with sed -i 's/\\r$//'",
         "by env"},
        {"launcher-0=1@2", "bash: line 1: ./x: cannot execute: required file not found", "",
         "another code"},
    };
    auto_strbuf struct strbuf hint = STRBUF_INIT;

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        command_hint(NULL, "x", rows[i].how, rows[i].line, &hint);
        is_str(hint.buf, rows[i].want, "interpreter: %s", rows[i].name);
    }
    has(verdict_exec_error(EILSEQ), "CRLF", "interpreter: in the verdict");
    has(verdict_exec_error(EAGAIN), "too many processes (ulimit -u", "a limit on processes");
    is_str(verdict_exec_error(EACCES), "Permission denied", "interpreter: other errors stay");
}

static void test_missing(void)
{
    static const struct {
        const char *how, *line, *want, *name;
    } rows[] = {
        {"launcher-0=127@2", "bash: line 1: trian: command not found",
         "trian not found in PATH, /s/bin:/bin", "by bash"},
        {"launcher-0=127@2", "/bin/sh: 1: ./trian: not found", "./trian was searched for in /d",
         "by sh"},
        {"launcher-0=127@2", "env: 'trian': No such file or directory",
         "trian not found in PATH, /s/bin:/bin", "by env"},
        {"launcher-0=134@2", "Executable: ./trian", "./trian was searched for in /d",
         "by Open MPI"},
        {"launcher-0=255@2",
         "[proxy:0:0@h] HYDU_create_process (launch.c:73): execvp error on file trian (No such "
         "file or directory)",
         "trian not found in PATH, /s/bin:/bin", "by Hydra"},
        {"launcher-0=255@2", "[proxy:0:0@h] execvp error on file trian (Permission denied)", "",
         "unless it is another error"},
        {"launcher-0=127@2", "bash: line 1: /opt/trian: No such file or directory", "",
         "a path says where it is itself"},
        {"launcher-0=1@2", "cat: data: No such file or directory", "", "another code"},
        {"launcher-0=127@2", ": not found", "", "no name"},
        {"launcher-0=127@2", "", "", "no words"},
    };
    auto_strbuf struct strbuf hint = STRBUF_INIT;

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        command_hint(NULL, "x", rows[i].how, rows[i].line, &hint);
        is_str(hint.buf, rows[i].want, "missing: %s", rows[i].name);
    }
}

int main(void)
{
    test_lines();
    test_sentences();
    test_variables();
    test_frameworks();
    test_launchers();
    test_image_and_signal();
    test_foreign();
    test_shell_codes();
    test_success();
    test_other();
    test_memory_inside();
    test_memory_aside();
    test_where();
    test_horovodrun();
    test_interpreter();
    test_missing();
    return tap_done();
}
