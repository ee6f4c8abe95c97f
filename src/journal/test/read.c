/* read.c - the journal read back: every event as it was, and no line that could do harm. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "base/tap.h"
#include "journal/journal.h"

#define AT (INT64_C(1800000000123456789))

static const char *const argv[] = {"./train", NULL};
static const struct role role = {.name = "worker", .replicas = 2, .slots = 1, .argv = argv};
static const struct replica replicas[] = {
    {.name = "worker-0", .role = &role, .n_processes = 1},
    {.id = 1, .name = "worker-1", .role = &role, .index = 1, .first_process = 1, .n_processes = 1}};
static const struct process processes[] = {{.argv = argv, .rank = -1},
                                           {.id = 1, .replica = 1, .argv = argv, .rank = -1}};
static const struct job_spec spec = {.name = "j", .roles = &role, .n_roles = 1, .gang = true};
static const struct facts facts = {
    .site.run_id = "id", .site.run_dir = "/r", .site.isolation = "names"};
static const struct plan plan = {.spec = &spec,
                                 .facts = &facts,
                                 .replicas = replicas,
                                 .n_replicas = 2,
                                 .processes = processes,
                                 .n_processes = 2,
                                 .launcher = -1,
                                 .world = -1};
static const struct job_rules rules = {.grace_ms = 10000, .start_timeout_ms = 600000};

#define ENDING(...)                                                                                \
    {                                                                                              \
        .at = AT, .known = true, .max_rss = -1, .memory_limit = -1, .memory_peak = -1, __VA_ARGS__ \
    }

static const struct event samples[] = {
    {.type = EVENT_CREATED, .random = 4294967295},
    {.type = EVENT_OPEN, .replica = 1},
    {.type = EVENT_OPENED, .replica = 1},
    {.type = EVENT_START, .process = 1},
    {.type = EVENT_STARTED, .process = 1},
    {.type = EVENT_START_FAILED,
     .process = 1,
     .end = ENDING(.code = -1, .exec_errno = -ENOENT, .exec_what = "chdir /a \"b\"")},
    {.type = EVENT_EXITED, .process = 1, .end = ENDING(.code = 3)},
    {.type = EVENT_EXITED, .process = 1, .end = ENDING(.code = 4, .init = "fetch")},
    {.type = EVENT_EXITED,
     .again = true,
     .counted = true,
     .begin_at = AT + 7,
     .end = ENDING(.code = 1)},
    {.type = EVENT_START_FAILED,
     .again = true,
     .begin_at = AT,
     .end = ENDING(.code = -1, .exec_errno = -EAGAIN, .exec_what = "fork")},
    {.type = EVENT_EXITED, .process = 0, .end = ENDING(.code = -1, .signal = SIGSEGV)},
    {.type = EVENT_EXITED,
     .process = 0,
     .end = ENDING(.code = -1, .signal = 40)}, /* a real-time signal */
    {.type = EVENT_RANK_STARTED, .launch = 1, .rank = 3, .size = 4, .replica = 1, .log = "r\n.log"},
    {.type = EVENT_RANK_STARTED, .launch = 1, .rank = 3, .size = 4, .forwarded = true},
    {.type = EVENT_RANK_EXITED, .launch = 1, .rank = 3, .replica = 1, .end = ENDING(.code = 0)},
    {.type = EVENT_RANK_EXITED,
     .launch = 1,
     .rank = 3,
     .end = ENDING(.code = -1, .signal = SIGTERM, .told = AT - 5)},
    {.type = EVENT_BLAMED,
     .launch = 1,
     .rank = 3,
     .blame = BLAME_ABORT,
     .end = ENDING(.code = -256)},
    {.type = EVENT_BLAMED,
     .launch = 1,
     .replica = 1,
     .blame = BLAME_DAEMON,
     .end = ENDING(.code = -1, .signal = SIGKILL)},
    {.type = EVENT_CANCEL, .signal = SIGINT},
    {.type = EVENT_LOST, .silent = true},
    {.type = EVENT_STOP, .stop = STOP_NOT_READY, .stop_replica = 1},
    {.type = EVENT_STOP, .stop = STOP_CANCEL, .stop_replica = -1},
    {.type = EVENT_STOP, .stop = STOP_FAILURE, .stop_replica = -1},
    {.type = EVENT_STOP, .stop = STOP_STALLED, .stop_replica = -1},
    {.type = EVENT_STOP, .stop = STOP_COMPLETED, .stop_replica = -1},
    {.type = EVENT_KILL, .stop = STOP_FINISHED, .stop_replica = -1},
    {.type = EVENT_STOP, .stop = STOP_DEADLINE, .stop_replica = -1},
    {.type = EVENT_STOP, .stop = STOP_PAUSE, .stop_replica = -1},
    {.type = EVENT_ENDED},
    {.type = EVENT_ENDED,
     .cause = {.kind = CAUSE_EXIT,
               .replica = 1,
               .rank = 3,
               .process = -1,
               .launch = -1,
               .blame = BLAME_ABORT,
               .exit_code = 44,
               .end = ENDING(.code = 300, .init = "x", .memory_of = "/g")}},
    {.type = EVENT_RESTART, .process = 1},
    {.type = EVENT_ATTEMPT, .attempt = 2, .begin_at = AT + 5, .retry = true},
    {.type = EVENT_ATTEMPT, .attempt = 3, .begin_at = AT, .counted = true},
    {.type = EVENT_PAUSE},
    {.type = EVENT_PAUSED},
    {.type = EVENT_RESUME},
    {.type = EVENT_HELD},
    {.type = EVENT_KILL_ROLE, .role = 0},
    {.type = EVENT_WAITING, .replica = 1, .text = "GPUs", .needs = 4, .free = 2, .ahead = 3},
    {.type = EVENT_WAITING, .replica = WAITING_JOB, .free = -1},
    {.type = EVENT_UNKNOWN, .replica = 1},
    {.type = EVENT_SEEN, .replica = 1},
    {.type = EVENT_REMOVAL, .replica = 1, .text = "was deleted", .end.fate = CAUSE_GONE},
    {.type = EVENT_ADMITTED},
    {.type = EVENT_MPIRUN_ENDED, .launch = 1},
    {.type = EVENT_EXITED,
     .process = 0,
     .end = ENDING(.code = 0, .left = "mpiexec.hydra", .unobserved = true)},
    {.type = EVENT_EXITED, .process = 0, .end = ENDING(.code = 1, .by_itself = true)},
    {.type = EVENT_HUNG, .text = "worker-0 waits for worker-1"},
    {.type = EVENT_STOP, .stop = STOP_HANG, .stop_replica = -1},
};

/* Endings differ in what says nothing: an unknown one has no code. */
static bool same_ending(const struct ending *a, const struct ending *b)
{
    return a->known == b->known && a->code == b->code && a->signal == b->signal &&
           a->exec_errno == b->exec_errno && !strcmp(a->exec_what, b->exec_what) &&
           !strcmp(a->init, b->init) && a->oom == b->oom && a->told == b->told &&
           a->max_rss == b->max_rss && a->memory_limit == b->memory_limit &&
           a->memory_peak == b->memory_peak && a->oom_nearby == b->oom_nearby &&
           !strcmp(a->memory_of, b->memory_of) && a->shm_size == b->shm_size &&
           a->shm_free == b->shm_free && !strcmp(a->left, b->left) &&
           a->unobserved == b->unobserved && a->by_itself == b->by_itself;
}

static bool has_ending(enum event_type t)
{
    return t == EVENT_START_FAILED || t == EVENT_EXITED || t == EVENT_RANK_EXITED ||
           t == EVENT_BLAMED;
}

static bool same_text(const char *a, const char *b)
{
    return a && b ? !strcmp(a, b) : a == b;
}

static bool same_cause(const struct cause *a, const struct cause *b)
{
    return a->kind == b->kind && a->replica == b->replica && a->rank == b->rank &&
           a->process == b->process && a->launch == b->launch && a->blame == b->blame &&
           a->exit_code == b->exit_code && a->end.at == b->end.at && same_ending(&a->end, &b->end);
}

static bool same_event(const struct event *a, const struct event *b)
{
    bool stop = a->type == EVENT_STOP || a->type == EVENT_KILL;

    return a->type == b->type && a->at == b->at && a->process == b->process &&
           a->replica == b->replica && a->launch == b->launch && a->rank == b->rank &&
           a->size == b->size && a->forwarded == b->forwarded && same_text(a->log, b->log) &&
           a->signal == b->signal && a->stop == b->stop && a->attempt == b->attempt &&
           a->begin_at == b->begin_at && a->retry == b->retry && a->counted == b->counted &&
           a->random == b->random && a->silent == b->silent && a->role == b->role &&
           a->needs == b->needs && a->free == b->free && a->ahead == b->ahead &&
           a->again == b->again && same_cause(&a->cause, &b->cause) && a->blame == b->blame &&
           (a->type == EVENT_CREATED || same_text(a->text, b->text)) &&
           (!stop || a->stop_replica == b->stop_replica) &&
           (!has_ending(a->type) || same_ending(&a->end, &b->end));
}

static bool round_trip(struct arena *a, const struct job *job, const struct event *ev)
{
    auto_strbuf struct strbuf sb = STRBUF_INIT;
    struct event back;
    struct err e;

    journal_line(&sb, job, ev);
    if (journal_read_line(a, sb.buf, sb.len - 1, &back, &e) < 0) {
        tap_diag("%s", e.text);
        return false;
    }
    return same_event(ev, &back);
}

static void test_round_trips(void)
{
    auto_arena struct arena *a = arena_new();
    struct job *job = job_new(&plan, &rules);
    bool seen[EVENT_LAST + 1] = {false};

    for (size_t i = 0; i < ARRAY_SIZE(samples); i++) {
        struct event ev = samples[i];
        ev.at = AT;
        seen[ev.type] = true;
        ok(round_trip(a, job, &ev), "%s comes back (%zu)", event_type_name(ev.type), i);
    }
    for (int code = 0; code < 256; code += 51) {
        struct event ev = {.type = EVENT_EXITED, .at = AT, .end = ENDING(.code = 0)};
        ev.end.code = code;
        ev.end.max_rss = 4096 * code - 1;
        ok(round_trip(a, job, &ev), "code %d comes back", code);
    }
    struct event oom = {
        .type = EVENT_RANK_EXITED, .at = AT, .launch = 1, .end = ENDING(.code = -1)};
    oom.end.oom = true;
    oom.end.signal = SIGKILL;
    oom.end.memory_limit = 512 << 20;
    oom.end.memory_peak = 511 << 20;
    ok(round_trip(a, job, &oom), "out of memory comes back with limit and peak");
    oom.end.oom = false;
    oom.end.oom_in = 2;
    ok(round_trip(a, job, &oom), "so does another's, and where it was");
    oom.end = (struct ending){.at = AT,
                              .known = true,
                              .code = -1,
                              .signal = SIGKILL,
                              .oom = true,
                              .oom_nearby = true,
                              .memory_of = "/sys/fs/cgroup/x",
                              .max_rss = -1,
                              .memory_limit = 1 << 20,
                              .memory_peak = -1,
                              .shm_size = 64 << 20,
                              .shm_free = 4096};
    ok(round_trip(a, job, &oom), "so does whose memory it was, and what /dev/shm held");
    struct event unknown = {
        .type = EVENT_RANK_EXITED, .at = AT, .launch = 1, .end = ENDING(.code = -1)};
    unknown.end.known = false;
    ok(round_trip(a, job, &unknown), "an ending nobody knows comes back");
    for (int t = 0; t <= EVENT_LAST; t++)
        ok(seen[t], "there is a sample of %s", event_type_name((enum event_type)t));
    job_free(job);
}

static const struct {
    const char *line, *says;
} bad[] = {
    {"", "not a JSON object"},
    {"[1]", "not a JSON object"},
    {"{\"at\":1,\"event\":\"exited\"", "not a JSON object"},
    {"{\"at\":1}", "no known event"},
    {"{\"at\":1,\"event\":\"exploded\"}", "no known event"},
    {"{\"event\":\"ended\"}", "\"at\""},
    {"{\"at\":-5,\"event\":\"ended\"}", "\"at\""},
    {"{\"at\":1,\"event\":\"created\",\"version\":1,\"random\":1}", "\"version\""},
    {"{\"at\":1,\"event\":\"attempt\",\"attempt\":0}", "\"attempt\""},
    {"{\"at\":1,\"event\":\"start\"}", "\"process\""},
    {"{\"at\":1,\"event\":\"start\",\"process\":-1}", "\"process\""},
    {"{\"at\":1,\"event\":\"start\",\"process\":\"0\"}", "\"process\""},
    {"{\"at\":1,\"event\":\"start\",\"process\":99999999999}", "\"process\""},
    {"{\"at\":1,\"event\":\"exited\",\"process\":0}", "\"exit_code\""},
    {"{\"at\":1,\"event\":\"exited\",\"process\":0,\"exit_code\":256}", "\"exit_code\""},
    {"{\"at\":1,\"event\":\"exited\",\"process\":0,\"signal\":\"SIGFOO\"}", "\"signal\""},
    {"{\"at\":1,\"event\":\"exited\",\"process\":0,\"errno\":0}", "\"errno\""},
    {"{\"at\":1,\"event\":\"rank-started\",\"launch\":0,\"rank\":0,\"replica\":0}", "\"launch\""},
    {"{\"at\":1,\"event\":\"stop\",\"reason\":\"boredom\"}", "\"reason\""},
    {"{\"at\":1,\"event\":\"ended\"}", "\"cause\""},
    {"{\"at\":1,\"event\":\"ended\",\"cause\":{\"kind\":\"boredom\"}}", "\"cause\""},
    {"{\"at\":1,\"event\":\"ended\",\"cause\":{\"kind\":\"exit\",\"blame\":99}}", "\"cause\""},
    {"{\"at\":1,\"event\":\"exited\",\"process\":0,\"exit_code\":1,\"restart\":{}}", "\"restart\""},
};

static void test_bad_lines(void)
{
    auto_arena struct arena *a = arena_new();

    for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
        struct event ev;
        struct err e = {.text = ""};
        is_int(journal_read_line(a, bad[i].line, strlen(bad[i].line), &ev, &e), -EINVAL,
               "refused: %s", bad[i].line);
        has(e.text, bad[i].says, "says why");
    }
}

#define CREATED                                                                                    \
    "{\"at\":1,\"event\":\"created\",\"version\":2,\"job\":\"j\",\"processes\":2,\"random\":7}\n"
#define LAUNCHED                                                                                   \
    "{\"at\":2,\"event\":\"rank-started\",\"launch\":1,\"rank\":0,\"replica\":1,\"size\":2,"       \
    "\"log\":\"a\"}\n"

static const struct {
    const char *name, *text;
    int result;
    size_t len; /* of what counts */
} whole[] = {
    {"an empty journal", "", 0, 0},
    {"one line", CREATED, 0, sizeof(CREATED) - 1},
    {"a torn last line is left out", CREATED "{\"at\":2,\"ev", 0, sizeof(CREATED) - 1},
    {"a last line without its newline too", CREATED "{\"at\":2,\"event\":\"ended\"}", 0,
     sizeof(CREATED) - 1},
    {"a torn line in the middle is none", "{\"at\":2,\"ev\n" CREATED, -EINVAL, 0},
    {"a process that the plan does not have",
     CREATED "{\"at\":2,\"event\":\"start\",\"process\":2}\n", -EINVAL, 0},
    {"a replica that it does not have", CREATED "{\"at\":2,\"event\":\"open\",\"replica\":2}\n",
     -EINVAL, 0},
    {"an mpirun out of turn",
     CREATED "{\"at\":2,\"event\":\"rank-started\",\"launch\":2,\"rank\":0,\"replica\":0,"
             "\"size\":1}\n",
     -EINVAL, 0},
    {"the end of a rank that never was",
     CREATED LAUNCHED "{\"at\":3,\"event\":\"rank-exited\",\"launch\":1,\"rank\":2,"
                      "\"replica\":1,\"exit_code\":0}\n",
     -EINVAL, 0},
    {"a stop for a replica that is not there",
     CREATED "{\"at\":2,\"event\":\"stop\",\"reason\":\"not-ready\",\"replica\":7}\n", -EINVAL, 0},
    {"an end because of a replica that is not there",
     CREATED "{\"at\":2,\"event\":\"ended\",\"cause\":{\"kind\":\"exit\",\"replica\":2}}\n",
     -EINVAL, 0},
    {"an end because of nobody",
     CREATED "{\"at\":2,\"event\":\"ended\",\"cause\":{\"kind\":\"exit\"}}\n", -EINVAL, 0},
    {"an end because of a rank that never was",
     CREATED LAUNCHED "{\"at\":3,\"event\":\"ended\",\"cause\":{\"kind\":\"exit\",\"replica\":1,"
                      "\"launch\":0,\"rank\":2}}\n",
     -EINVAL, 0},
};

static void test_replay(void)
{
    for (size_t i = 0; i < ARRAY_SIZE(whole); i++) {
        struct job *job = job_new(&plan, &rules);
        struct err e;
        size_t len = 0;
        is_int(journal_replay(job, whole[i].text, strlen(whole[i].text), &len, &e), whole[i].result,
               "replay: %s", whole[i].name);
        is_int(len, whole[i].len, "so much of it counts");
        job_free(job);
    }
}

/* What the rules of this version make of an end is not what counts: the role restarts nothing, and
 * the launcher's code would be another. */
static void test_stored_policy(void)
{
    static const char text[] =
        CREATED "{\"at\":2,\"event\":\"start\",\"process\":0}\n"
                "{\"at\":3,\"event\":\"started\",\"process\":0}\n"
                "{\"at\":4,\"event\":\"exited\",\"process\":0,\"exit_code\":0,"
                "\"restart\":{\"at\":99,\"counted\":true}}\n";
    static const char end[] =
        "{\"at\":5,\"event\":\"ended\",\"cause\":{\"kind\":\"oom\",\"replica\":1,\"process\":1,"
        "\"exit_code\":42}}\n";
    struct job *job = job_new(&plan, &rules);
    size_t len;
    struct err e;

    is_int(journal_replay(job, text, sizeof(text) - 1, &len, &e), 0, "a restart by another rule");
    is_int(job->procs[0].state, PROC_BACKOFF, "is kept: the process waits to be started again");
    is_int(job->procs[0].restart_at, 99, "at the time that was written");
    is_int(job->procs[0].restarts_counted, 1, "and it counts");
    is_int(journal_replay(job, end, sizeof(end) - 1, &len, &e), 0, "an end judged by another rule");
    is_int(job->outcome, OUTCOME_FAILED, "is kept: it failed although nothing did");
    is_int(job->exit_code, 42, "with the code that was written");
    is_int(job->cause.kind, CAUSE_OOM, "for the reason that was written");
    job_free(job);
}

int main(void)
{
    test_stored_policy();
    test_round_trips();
    test_bad_lines();
    test_replay();
    return tap_done();
}
