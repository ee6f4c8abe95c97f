/* record.c - a job from its run directory: the record and the journal as they are written, after a
 * write that failed half-way, and damaged. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/io.h"
#include "base/mem.h"
#include "base/tap.h"
#include "job/report.h"
#include "journal/journal.h"
#include "journal/record.h"

static const char *const argv[] = {"mpirun", "-np", "2", "./train", NULL};
static const char *const resume[] = {"./again", NULL};
static const struct init_command inits[] = {{.name = "fetch", .argv = resume}};
static const struct role roles[] = {
    {.name = "launcher", .kind = ROLE_LAUNCHER, .replicas = 1, .slots = 1, .grace_s = 7},
    {.name = "worker",
     .kind = ROLE_HOST,
     .replicas = 2,
     .slots = 1,
     .grace_s = -1,
     .min_failed = -1,
     .restart = RESTART_ON_FAILURE,
     .restart_limit = 3,
     .init = inits,
     .n_init = 1}};
static const int numbers[] = {8000, 8001};
static const struct plan_port ports[] = {{.label = "http", .numbers = numbers, .n = 2}};
static const struct replica replicas[] = {
    {.name = "launcher-0", .host = "l", .address = "1", .role = &roles[0], .n_processes = 1},
    {.id = 1,
     .name = "worker-0",
     .host = "w0",
     .address = "2",
     .role = &roles[1],
     .role_index = 1,
     .first_process = 1,
     .n_processes = 1,
     .ports = ports,
     .n_ports = 1},
    {.id = 2,
     .name = "worker-1",
     .host = "w1",
     .address = "3",
     .role = &roles[1],
     .role_index = 1,
     .index = 1,
     .first_process = 2,
     .n_processes = 1}};
static const struct process processes[] = {
    {.argv = argv, .rank = -1, .log = "launcher-0.log", .resume_argv = resume},
    {.id = 1, .replica = 1, .rank = -1, .log = "worker-0.log"},
    {.id = 2, .replica = 2, .rank = -1, .log = "worker-1.log"}};
static const struct job_spec spec = {
    .name = "j",
    .dialect = "some-dialect",
    .platform = {.hosts = HOSTS_BY_JOB, .environment = PLATFORM_T9K, .status = PLATFORM_T9K},
    .framework = FRAMEWORK_MPI,
    .roles = roles,
    .n_roles = 2,
    .deadline_s = 99,
    .container = "c",
    .retry = {.max = 2}};
static const struct facts facts = {
    .site.run_id = "id", .site.run_dir = "/r", .site.isolation = "names"};
static const struct plan plan = {.spec = &spec,
                                 .facts = &facts,
                                 .replicas = replicas,
                                 .n_replicas = 3,
                                 .processes = processes,
                                 .n_processes = 3,
                                 .launcher = 0,
                                 .world = 2};
static const struct job_rules rules = {
    .grace_ms = 10000, .start_timeout_ms = 600000, .trust_launcher = true};

static int make_dir(char *path)
{
    if (!mkdtemp(path))
        return -1;
    return open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

static void happen(struct journal *jn, struct job *job, struct event ev)
{
    journal_add(jn, job, &ev);
    job_apply(job, &ev);
}

static bool same_report(const struct job *a, const struct job *b)
{
    auto_strbuf struct strbuf one = STRBUF_INIT, two = STRBUF_INIT;
    struct json j = JSON_COMPACT(&one), k = JSON_COMPACT(&two);
    const struct report_context ctx = {.engine = "local", .recorded = true};

    report_write(a, &ctx, &j);
    report_write(b, &ctx, &k);
    return one.len > 0 && strcmp(one.buf, two.buf) == 0;
}

static void check_loaded(int dir, const struct job *job, const char *when)
{
    auto_arena struct arena *a = arena_new();
    struct job *again = NULL;
    struct err e = {.text = ""};

    is_int(journal_load(a, dir, &again, &e), 0, "%s: the run directory gives a job", when);
    if (!again) {
        tap_diag("%s", e.text);
        return;
    }
    ok(same_report(job, again), "%s: with the same report", when);
    is_int(again->rules.grace_ms, 10000, "%s: and its rules", when);
    ok(again->rules.trust_launcher, "%s: all of them", when);
    is_str(plan_port(&again->plan->replicas[1], "http")->numbers[1] == 8001 ? "8001" : "", "8001",
           "%s: ports", when);
    is_str(again->plan->processes[0].argv[3], "./train", "%s: commands", when);
    ok(!again->plan->processes[1].argv, "%s: a host has none", when);
    job_free(again);
}

/* A file of this size may grow by so many bytes and no more; -1: as it likes. */
static void set_room(off_t size, long more)
{
    struct rlimit lim;

    (void)getrlimit(RLIMIT_FSIZE, &lim);
    lim.rlim_cur = more < 0 ? lim.rlim_max : (rlim_t)(size + more);
    (void)setrlimit(RLIMIT_FSIZE, &lim);
}

static void test_torn(void)
{
    char path[] = "/tmp/muster-record-XXXXXX";
    auto_close int dir = make_dir(path);
    struct journal *jn = NULL;
    struct job *job = job_new(&plan, &rules);
    struct err e = {.text = ""};
    struct stat st = {0};

    is_int(journal_open_jsonl(dir, &jn, &e), 0, "a journal");
    happen(jn, job, (struct event){.type = EVENT_CREATED, .at = 1, .random = 3});
    is_int(journal_commit(jn, &e), 0, "the first event is written");
    check_loaded(dir, job, "at the beginning");

    struct job *before = job_new(&plan, &rules);
    job_apply(before, &(struct event){.type = EVENT_CREATED, .at = 1, .random = 3});
    (void)signal(SIGXFSZ, SIG_IGN);
    (void)fstatat(dir, JOURNAL_NAME, &st, 0);
    for (long room = 1; room < 60; room += 17) {
        set_room(st.st_size, room);
        if (room == 1)
            happen(jn, job, (struct event){.type = EVENT_START, .at = 2, .process = 1});
        is_int(journal_commit(jn, &e), -EFBIG, "room for %ld bytes only", room);
        set_room(st.st_size, -1);
        check_loaded(dir, before, "torn");
    }
    happen(jn, job, (struct event){.type = EVENT_STARTED, .at = 3, .process = 1});
    is_int(journal_commit(jn, &e), 0, "there is room again");
    check_loaded(dir, job, "mended");
    happen(jn, job, (struct event){.type = EVENT_CANCEL, .at = 4, .signal = SIGINT});
    is_int(journal_commit(jn, &e), 0, "and it goes on");
    check_loaded(dir, job, "going on");
    journal_close(jn);
    job_free(before);
    job_free(job);
    (void)io_remove_tree(AT_FDCWD, path, NULL);
}

static void put(int dir, const char *name, const char *text, size_t len)
{
    (void)io_write_atomic(dir, name, text, len, NULL);
}

static void test_strangers(void)
{
    char path[] = "/tmp/muster-record-XXXXXX", mark[RECORD_MARK];
    auto_close int dir = make_dir(path);
    auto_arena struct arena *a = arena_new();
    auto_strbuf struct strbuf record = STRBUF_INIT;
    struct job *job = NULL;
    struct err e = {.text = ""};

    record_write(&record, &plan, &rules);
    is_int(journal_load(a, dir, &job, &e), -ENOENT, "an empty directory");
    put(dir, RECORD_NAME, record.buf, record.len);
    is_int(journal_load(a, dir, &job, &e), -ENOENT, "no journal");
    put(dir, JOURNAL_NAME, "{\"at\":1,", 8);
    is_int(journal_load(a, dir, &job, &e), -EINVAL, "no whole event");
    auto_free char *line =
        xasprintf("{\"at\":1,\"event\":\"created\",\"version\":2,\"random\":1,\"plan\":\"%s\"}\n",
                  record_mark(record.buf, record.len, mark));
    put(dir, JOURNAL_NAME, line, strlen(line));
    is_int(journal_load(a, dir, &job, &e), 0, "one event");
    job_free(job);
    put(dir, RECORD_NAME, record.buf, record.len - 1);
    is_int(journal_load(a, dir, &job, &e), -EINVAL, "another record");
    has(e.text, "not of the job", "says so");
    (void)io_remove_tree(AT_FDCWD, path, NULL);
}

/* Whatever one byte of a record becomes, what is read of it can be told. */
static void test_damaged(void)
{
    auto_strbuf struct strbuf record = STRBUF_INIT;
    static const char bytes[] = "0:9-\"]}{x";
    int good = 0, refused = 0;

    record_write(&record, &plan, &rules);
    for (size_t i = 0; i < record.len; i++)
        for (size_t k = 0; k < sizeof(bytes) - 1; k++) {
            auto_arena struct arena *a = arena_new();
            const struct plan *read;
            struct job_rules r;
            struct err e;
            char was = record.buf[i];

            record.buf[i] = bytes[k];
            if (record_read(a, record.buf, record.len, &read, &r, &e) == 0) {
                struct job *job = job_new(read, &r);
                good += same_report(job, job);
                job_free(job);
            } else {
                refused++;
            }
            record.buf[i] = was;
        }
    ok(good > 0 && refused > 0, "%d damaged records were refused, %d could be read", refused, good);
}

int main(void)
{
    test_torn();
    test_strangers();
    test_damaged();
    return tap_done();
}
