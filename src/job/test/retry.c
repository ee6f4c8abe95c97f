/* retry.c - what follows a failure, as tables: OpenPAI's order and classes (the
 * reference's 4.1, 4.2 and 4.4, seed row 1.5), restarts in place, deadlines, pauses; and that the
 * events alone give the state.
 *
 * A file's rule is "MAX" for an OpenPAI job, a role's is "POLICY LIMIT". Decisions are stage.h's
 * letters.
 */
#include "doc/json.h"
#include "job/exit_spec.h"
#include "job/report.h"
#include "job/test/stage.h"
#include "job/verdict.h"

#define N_OF(table) (sizeof(table) / sizeof((table)[0]))

/* --- the same events, the same state ---------------------------------------------------------- */

/* Everything that can be said of a job, in one text. */
static void describe(const struct job *job, struct strbuf *out)
{
    const struct report_context ctx = {.engine = "none"};
    struct json j = JSON_COMPACT(out);

    report_write(job, &ctx, &j);
    strbuf_addf(out, "\n%d %u %d %d %lld %lld %lld %lld %lld %lld", job->phase, job->attempt,
                job->begun, job->resumed, (long long)job->begin_at, (long long)job->running_at,
                (long long)job->stop_at, (long long)job->kill_at, (long long)job->deadline_from,
                (long long)job->paused_at);
    strbuf_addf(out, "\n%u %u %u %u %u %u %d %d %d %d %d", job->n_pending, job->n_backoff,
                job->n_starting, job->n_running, job->n_ended, job->n_up, job->first_failed,
                job->stop, job->cancel_signal, job->pause_wanted, job->lost);
    strbuf_addf(out, "\n%u %u %u %d %u %u", job->retries, job->retries_counted, job->retries_free,
                job->free_replica, job->n_past, job->launch_base);
    for (uint32_t i = 0; i < job->plan->n_processes; i++) {
        const struct proc *p = &job->procs[i];
        strbuf_addf(out, "\n%d %lld %lld %d %u %u %u %lld", p->state, (long long)p->started,
                    (long long)p->end.at, p->stop_asked, p->restarts, p->restarts_counted,
                    p->restarts_free, (long long)p->restart_at);
    }
}

static void is_its_events(const struct stage *st, const char *name)
{
    auto_strbuf struct strbuf one = STRBUF_INIT, two = STRBUF_INIT;
    struct job *again = job_new(&st->plan, &stage_rules);

    for (size_t i = 0; i < st->all.n; i++)
        job_apply(again, &st->all.v[i]);
    describe(st->job, &one);
    describe(again, &two);
    is_str(two.buf, one.buf, "%s: the events alone give the same state", name);
    job_free(again);
}

/* --- OpenPAI: the whole job ------------------------------------------------------------------- */

/* "A-counted": one letter per attempt that followed, c counted, f free. */
static void attempts_of(const struct stage *st, char *out, size_t size)
{
    size_t n = 0;

    for (size_t i = 0; i < st->all.n && n + 1 < size; i++)
        if (st->all.v[i].type == EVENT_ATTEMPT)
            out[n++] = !st->all.v[i].retry ? '-' : st->all.v[i].counted ? 'c' : 'f';
    out[n] = '\0';
}

/* The same failure over and over, until the job ends or has been tried ten times. */
static const struct {
    const char *name;
    int max;
    const char *how, *want;
    int exit_code;
} budgets[] = {
    {"4.1: no retries, an unknown failure", 0, "1", "", 1},
    {"4.1: two retries, then no more", 2, "1", "cc", 1},
    {"4.1: -1: as often as it takes", -1, "1", "cccccccccc", -1},
    {"4.1: -2: likewise", -2, "1", "cccccccccc", -1},
    {"4.1: -2: after a success too", -2, "0", "cccccccccc", -1},
    {"4.1: a success is not retried", 2, "0", "", 0},
    {"4.1: permanent: never, whatever the number", 5, "132", "", 132},
    {"4.1: permanent: not even with -1", -1, "220", "", 220},
    {"1.5: transient: not counted, but after three of the same replica one is", 0, "137", "fff",
     137},
    {"1.5: and it takes one of the budget", 1, "s15", "fffcfff", 143},
    {"4.4: 255 is unknown", 1, "255", "c", 255},
    {"4.4: a shell's 127 is a command not found", 3, "127", "", 127},
    {"4.1: could not be prepared: nobody's retry", 3, "!", "", 125},
};

static void test_budgets(void)
{
    for (size_t i = 0; i < N_OF(budgets); i++) {
        struct stage st;
        char got[32], word[64];
        stage_cast(&st, "w 2 1 2", PLATFORM_OPENPAI);
        st.spec.retry = (struct retry_policy){.by_class = true, .max = budgets[i].max};
        stage_begin(&st);
        for (int at = 100; at <= 1000 && st.job->phase != JOB_ENDED; at += 100) {
            (void)snprintf(word, sizeof(word), "w-0=%s@%d+w-1=0@%d", budgets[i].how, at, at);
            stage_play(&st, word);
            (void)snprintf(word, sizeof(word), "up@%d", at + 90);
            stage_play(&st, word);
        }
        attempts_of(&st, got, sizeof(got));
        is_str(got, budgets[i].want, "%s", budgets[i].name);
        is_int(st.job->phase == JOB_ENDED ? st.job->exit_code : -1, budgets[i].exit_code,
               "%s: exit code", budgets[i].name);
        is_its_events(&st, budgets[i].name);
        stage_free(&st);
    }
}

/* openpai.md 4.4: codes and what OpenPAI makes of them. */
static void test_classes(void)
{
    static const struct {
        enum failure_class class;
        const char *codes;
    } rows[] = {
        {FAILURE_TRANSIENT, "130 131 137 143 200 223 250 253"},
        {FAILURE_CONFLICT, "201 251"},
        {FAILURE_PERMANENT, "127 132 135 136 141 210 220 221 222 224 225 230 235 249 252 254"},
        {FAILURE_UNKNOWN, "1 2 7 126 128 134 139 199 202 219 236 248 255"},
    };

    for (size_t i = 0; i < N_OF(rows); i++)
        for (const char *p = rows[i].codes; *p; p += strspn(p, " ")) {
            char *end;
            struct ending e = {.known = true, .code = (int)strtol(p, &end, 10)};
            is_int((int)failure_class(&e), (int)rows[i].class, "4.4: %d", e.code);
            p = end;
        }
    static const struct {
        int code;
        const char *phrase, *type, *reaction;
    } specs[] = {
        {0, "Succeeded", "USER_SUCCESS", "NEVER_RETRY"},
        {1, "PAIRuntimeUnknownFailed", "UNKNOWN_FAILURE", "RETRY_TO_MAX"},
        {255, "PAIRuntimeUnknownFailed", "UNKNOWN_FAILURE", "RETRY_TO_MAX"},
        {127, "UserCommandExitWithError", "USER_FAILURE", "NEVER_RETRY"},
        {128, "ContainerMayFailDueToGpuDeviceEccError", "PLATFORM_FAILURE", "RETRY_TO_MAX"},
        {137, "ContainerSigKillReceived", "PLATFORM_FAILURE", "ALWAYS_RETRY"},
        {139, "ContainerSigSegvReceived", "UNKNOWN_FAILURE", "RETRY_TO_MAX"},
        {223, NULL, "PLATFORM_FAILURE", "ALWAYS_RETRY"},
        {229, NULL, "USER_FAILURE", "NEVER_RETRY"},
        {251, "JobGangAllocationTimeout", "RESOURCE_ALLOCATION_TIMEOUT", "ALWAYS_BACKOFF_RETRY"},
        {253, "ContainerPortConflict", "PLATFORM_FAILURE", "ALWAYS_RETRY"},
        {-210, "StopFrameworkRequested", "USER_STOP", "NEVER_RETRY"},
        {-220, "FrameworkAttemptCompletion", "USER_STOP", "NEVER_RETRY"},
        {-1001, "PodNodeLost", "PLATFORM_FAILURE", "ALWAYS_RETRY"},
        {-1004, "PodDeadlineExceeded", "USER_STOP", "NEVER_RETRY"},
        {-1200, "UserContainerDockerOOMKilled", "USER_FAILURE", "NEVER_RETRY"},
    };
    for (size_t i = 0; i < N_OF(specs); i++) {
        const struct exit_spec *spec = exit_spec(specs[i].code);
        is_str(spec->phrase ? spec->phrase : "-", specs[i].phrase ? specs[i].phrase : "-",
               "4.4: %d: phrase", specs[i].code);
        is_str(spec->type, specs[i].type, "4.4: %d: type", specs[i].code);
        is_str(failure_class_reaction(spec->class), specs[i].reaction, "4.4: %d: reaction",
               specs[i].code);
    }
    struct ending oom = {.known = true, .code = -1, .signal = 9, .oom = true};
    is_int((int)failure_class(&oom), FAILURE_PERMANENT, "4.4: -1200, out of memory");
    struct ending kill = {.known = true, .code = -1, .signal = 9};
    is_int((int)failure_class(&kill), FAILURE_TRANSIENT, "4.4: by a signal as by its code");
}

static const char *verdict(const struct job *job)
{
    static struct strbuf text = STRBUF_INIT;

    strbuf_truncate(&text, 0);
    verdict_sentence(job, &text);
    return text.buf;
}

static const struct {
    const char *name, *cast;
    int max;
    const char *play, *decisions;
    int exit_code;
    const char *verdict;
} stories[] = {
    {"4.1: the second attempt succeeds", "w 2 1 2", 1, "w-0=3@5 down@6 up@7 w-0=0@9 w-1=0@9",
     "ssTAssE", 0, "succeeded at attempt 2: attempt 1 failed because w-0 exited with status 3"},
    {"4.1: the budget is used up", "w 2 1 2", 1, "w-0=3@5 down@6 up@7 w-1=4@9 down@10", "ssTAssTE",
     4, "failed after 2 attempts: w-1 exited with status 4 after 8.0 s"},
    {"4.2: judged by the task that made the count full", "w 3 2 3", 3, "w-0=1@5 w-1=132@6 down@7",
     "sssTE", 1,
     "failed: w-0 exited with status 1 after 4.0 s; the completion policy ended the job when w-1 "
     "failed"},
    {"4.2: and retried because of it", "w 3 2 3", 0, "w-0=132@5 w-1=137@6 down@7 cancel@8",
     "sssTAsssTE", 130,
     "cancelled by SIGINT (Ctrl-C) after 7.0 s; 1 retry not counted: OpenPAI treats exit "
     "status 137 as a platform failure"},
    {"1.5: what the platform retries whatever the number is told", "w 1 1 1", 0,
     "w-0=s9@5 up@6 w-0=s9@7 up@8 w-0=s9@9 up@10 w-0=s9@11", "sAsAsAsE", 137,
     "failed after 4 attempts: w-0 was killed by SIGKILL after 10.0 s; 3 retries not "
     "counted: "
     "OpenPAI treats exit status 137 as a platform failure"},
    {"1.5: also where it then succeeds", "w 1 1 1", 0, "w-0=143@5 up@6 w-0=0@7", "sAsE", 0,
     "succeeded at attempt 2: attempt 1 failed because w-0 exited with status 143; 1 retry not "
     "counted: "
     "OpenPAI treats exit status 143 as a platform failure"},
    {"4.2: success by rule is no failure", "w 2 -1 -1", 3, "w-0=1@5 w-1=1@6", "ssE", 0,
     "succeeded by its completion policy although 2 of 2 replicas failed, first w-0 exited with "
     "status 1"},
    {"1.5: a cancel is never transient", "w 2 1 2", 5, "cancel@5 down@6", "ssTE", 130,
     "cancelled by SIGINT (Ctrl-C) after 4.0 s"},
    {"1.5: also where it comes while a failure is cleared away", "w 2 1 2", 5,
     "w-0=s9@5 cancel@6 down@7", "ssTE", 137, "failed: w-0 was killed by SIGKILL after 4.0 s"},
    {"unknown is not failed: lost is not retried", "w 2 1 2", 5, "lost@5", "ssE", 125,
     "failed: the supervisor (muster-shim) was killed, which ended every process of the job after "
     "4.0 s"},
};

static void test_stories(void)
{
    for (size_t i = 0; i < N_OF(stories); i++) {
        struct stage st;
        stage_cast(&st, stories[i].cast, PLATFORM_OPENPAI);
        st.spec.retry = (struct retry_policy){.by_class = true, .max = stories[i].max};
        stage_begin(&st);
        stage_play(&st, stories[i].play);
        is_str(st.decisions, stories[i].decisions, "%s: decisions", stories[i].name);
        is_int(st.job->exit_code, stories[i].exit_code, "%s: exit code", stories[i].name);
        is_str(verdict(st.job), stories[i].verdict, "%s: verdict", stories[i].name);
        is_its_events(&st, stories[i].name);
        stage_free(&st);
    }
}

/* OpenPAI waits 60 to 900 s after a conflict, so that two gangs do not meet again. */
static void test_conflict(void)
{
    int64_t first = 0, distinct = 0;

    for (uint32_t random = 0; random < 50; random++) {
        struct stage st;
        stage_cast(&st, "w 1 1 1", PLATFORM_OPENPAI);
        st.spec.retry.by_class = true;
        stage_begin(&st);
        st.job->random = random;
        stage_play(&st, "w-0=201@5");
        int64_t wait = (st.job->begin_at - 5 * NS_PER_S) / NS_PER_S;
        if (wait < 60 || wait > 900 || st.job->phase != JOB_PENDING)
            ok(false, "4.1: conflict: 60 to 900 s, not %lld", (long long)wait);
        distinct += random > 0 && wait != first;
        first = random == 0 ? wait : first;
        if (random == 0) {
            is_str(st.decisions, "sA", "4.1: a conflict is retried");
            is_int(job_wake(st.job) == st.job->begin_at, 1, "4.1: and asked again when it is time");
            stage_decide(&st, st.job->begin_at - 1);
            is_str(st.decisions, "sA", "4.1: not before");
            stage_decide(&st, st.job->begin_at);
            is_str(st.decisions, "sAs", "4.1: then");
        }
        stage_free(&st);
    }
    ok(distinct > 40, "4.1: not all the same (%lld of 49)", (long long)distinct);
}

/* Whatever comes from an attempt that is over is not about this one. */
static void test_late(void)
{
    struct stage st;
    struct ending failed = {.known = true, .code = 1};

    stage_cast(&st, "w 2 1 2", PLATFORM_OPENPAI);
    st.spec.retry = (struct retry_policy){.by_class = true, .max = 5};
    stage_begin(&st);
    stage_play(&st, "w-0=3@5 down@6 up@7");
    is_int(st.job->attempt, 2, "the second attempt");
    is_int((int)stage_report(&st, &(struct observation){.kind = OBS_EXITED,
                                                        .attempt = 1,
                                                        .process = 1,
                                                        .at = 8 * NS_PER_S,
                                                        .end = failed}),
           0, "an ending of the first is not counted");
    is_int((int)stage_report(&st, &(struct observation){.kind = OBS_EXITED,
                                                        .attempt = 2,
                                                        .instance = 2,
                                                        .process = 1,
                                                        .at = 8 * NS_PER_S,
                                                        .end = failed}),
           0, "nor that of an instance that is not there");
    is_int((int)stage_report(&st, &(struct observation){.kind = OBS_EXITED,
                                                        .attempt = 2,
                                                        .instance = 1,
                                                        .process = 1,
                                                        .at = 8 * NS_PER_S,
                                                        .end = failed}),
           1, "one of the second is");
    stage_free(&st);
}

/* --- restarts in place ------------------------------------------------------------------------ */

static const struct {
    const char *name;
    enum restart_policy policy;
    int limit;
    const char *play, *decisions;
    int exit_code; /* -1: not ended */
    uint32_t restarts;
} restarts[] = {
    {"Never", RESTART_NEVER, 5, "w-0=1@5 down@6", "ssTE", 1, 0},
    {"OnFailure: at once", RESTART_ON_FAILURE, 3, "w-0=1@5 up@6 w-0=0@7 w-1=0@8", "ssrE", 0, 1},
    {"OnFailure: a success stays one", RESTART_ON_FAILURE, 3, "w-0=0@5 w-1=0@6", "ssE", 0, 0},
    {"OnFailure: the second after 10 s", RESTART_ON_FAILURE, 3, "w-0=1@5 up@6 w-0=1@7 wait@16",
     "ssr", -1, 1},
    {"OnFailure: and not later", RESTART_ON_FAILURE, 3, "w-0=1@5 up@6 w-0=1@7 wait@17", "ssrr", -1,
     2},
    {"OnFailure: the limit is reached", RESTART_ON_FAILURE, 1, "w-0=1@5 up@6 w-0=7@7 down@8",
     "ssrTE", 7, 1},
    {"OnFailure: its limit is none", RESTART_ON_FAILURE, 0, "w-0=1@5 down@6", "ssTE", 1, 0},
    {"Always: after a success too", RESTART_ALWAYS, 1, "w-0=0@5 up@6 w-0=0@7 w-1=0@7 up@8 w-1=0@9",
     "ssrrE", 0, 1},
    {"ExitCode: 127 is for good", RESTART_EXIT_CODE, 3, "w-0=127@5 down@6", "ssTE", 127, 0},
    {"ExitCode: 130 is not", RESTART_EXIT_CODE, 3, "w-0=130@5 up@6", "ssr", -1, 1},
    {"4.1: a task of no gang: unknown, counted", RESTART_BY_CLASS, 1, "w-0=1@5 up@6 w-0=1@7 down@8",
     "ssrTE", 1, 1},
    {"4.1: transient, not counted", RESTART_BY_CLASS, 0,
     "w-0=137@5 up@6 w-0=137@7 up@8 w-0=137@9 up@10 w-0=137@11 down@12", "ssrrrTE", 137, 3},
    {"4.1: permanent", RESTART_BY_CLASS, 3, "w-0=132@5 down@6", "ssTE", 132, 0},
    {"what could not be prepared is not restarted", RESTART_ALWAYS, 3, "w-0=!@5 down@6", "ssTE",
     125, 0},
    {"a cancel ends the waiting", RESTART_ON_FAILURE, 3, "w-0=1@5 up@6 w-0=1@7 cancel@8 down@9",
     "ssrTE", 130, 1},
    {"the failure of another does too", RESTART_ON_FAILURE, 1,
     "w-0=1@5 up@6 w-1=1@6 up@7 w-0=2@7 down@8", "ssrrTE", 2, 1},
};

static void test_restarts(void)
{
    for (size_t i = 0; i < N_OF(restarts); i++) {
        struct stage st;
        stage_cast(&st, "w 2 0 0", PLATFORM_MUSTER);
        st.roles[0].restart = restarts[i].policy;
        st.roles[0].restart_limit = restarts[i].limit;
        stage_begin(&st);
        stage_play(&st, restarts[i].play);
        is_str(st.decisions, restarts[i].decisions, "%s: decisions", restarts[i].name);
        is_int(st.job->phase == JOB_ENDED ? st.job->exit_code : -1, restarts[i].exit_code,
               "%s: exit code", restarts[i].name);
        is_int((int)job_replica(st.job, 0).restarts, (int)restarts[i].restarts, "%s: restarts",
               restarts[i].name);
        is_its_events(&st, restarts[i].name);
        stage_free(&st);
    }
}

/* CONTRACTS §7: at once, then after 10, 20, 40 … 300 s. */
static void test_backoff(void)
{
    static const int want[] = {0, 10, 20, 40, 80, 160, 300, 300};
    struct stage st;

    stage_cast(&st, "w 1 0 0", PLATFORM_MUSTER);
    st.roles[0].restart = RESTART_ON_FAILURE;
    st.roles[0].restart_limit = 100;
    stage_begin(&st);
    ns_t at = 5 * NS_PER_S;
    for (size_t i = 0; i < N_OF(want); i++) {
        (void)stage_report(
            &st,
            &(struct observation){.kind = OBS_EXITED, .at = at, .end = {.known = true, .code = 1}});
        is_int((int)((st.job->procs[0].restart_at - at) / NS_PER_S), want[i], "restart %zu after",
               i + 1);
        at = st.job->procs[0].restart_at;
        ok(job_wake(st.job) == at, "and asked then");
        stage_decide(&st, at);
        stage_up(&st, at);
    }
    stage_free(&st);
}

/* A launcher that is started again is judged by its own ranks, and waits for the old ones to go. */
static void test_launcher(void)
{
    static struct role launcher = {.name = "launcher",
                                   .kind = ROLE_LAUNCHER,
                                   .replicas = 1,
                                   .slots = 1,
                                   .restart = RESTART_ON_FAILURE,
                                   .restart_limit = 1,
                                   .grace_s = -1};
    struct stage st;
    struct observation rank = {
        .kind = OBS_RANK_STARTED, .at = 2 * NS_PER_S, .launch = 1, .size = 1, .log = "r.log"};

    stage_cast(&st, "w 1 0 0", PLATFORM_MPIJOB_V1ALPHA1);
    st.roles[0] = launcher;
    st.plan.launcher = 0;
    stage_begin(&st);
    (void)stage_report(&st, &rank);
    stage_play(&st, "w-0=1@5");
    is_str(st.decisions, "s", "a rank of the old mpirun lives: not yet");
    ok(job_wake(st.job) == 15 * NS_PER_S, "but no longer than the grace period");
    rank.kind = OBS_RANK_EXITED;
    rank.end = (struct ending){.known = true, .code = 1};
    rank.at = 6 * NS_PER_S;
    (void)stage_report(&st, &rank);
    stage_play(&st, "wait@6 up@6");
    is_str(st.decisions, "sr", "then it is");
    ok(job_last_launch(st.job) == NULL, "and has no ranks yet");
    stage_decide(&st, 40 * NS_PER_S);
    is_str(st.decisions, "sr", "the old ones do not make it a stalled one");
    stage_play(&st, "w-0=0@41");
    is_int(st.job->exit_code, 0, "nor a failed one");
    is_str(verdict(st.job),
           "succeeded: every process exited with status 0; MPI ranks were not observed; w-0 was "
           "restarted once",
           "the verdict tells it");
    is_its_events(&st, "a launcher");
    stage_free(&st);
}

/* --- deadline, pause -------------------------------------------------------------------------- */

static const struct {
    const char *name;
    int deadline_s, retries;
    bool paused;
    const char *play, *decisions;
    enum job_phase phase;
    int exit_code;
    const char *kind;
    uint32_t attempt;
} times[] = {
    {"deadline: not yet", 10, 0, false, "wait@10", "ss", JOB_RUNNING, 0, "none", 1},
    {"deadline: 124", 10, 0, false, "wait@11 down@12", "ssTE", JOB_ENDED, 124, "deadline", 1},
    {"deadline: not retried", 10, -1, false, "wait@11 down@12", "ssTE", JOB_ENDED, 124, "deadline",
     1},
    {"deadline: over all attempts", 10, 3, false, "w-0=1@6 down@7 up@7 wait@11 down@12", "ssTAssTE",
     JOB_ENDED, 124, "deadline", 2},
    {"deadline: a failure before it stays the cause", 10, 0, false, "w-0=3@6 wait@11 down@12",
     "ssTE", JOB_ENDED, 3, "exit", 1},
    {"deadline: what ended before it has ended", 10, 0, false, "w-0=0@5 w-1=0@6 wait@20", "ssE",
     JOB_ENDED, 0, "none", 1},
    {"4.25: pause stops all", 0, 0, false, "pause@5", "ssTP", JOB_PAUSED, 0, "none", 2},
    {"4.25: and kills what does not end", 0, 0, false, "pause@5 wait@6 wait@15", "ssTKP",
     JOB_PAUSED, 0, "none", 2},
    {"4.25: resume starts all again", 0, 0, false, "pause@5 down@6 resume@7 up@7", "ssTPAss",
     JOB_RUNNING, 0, "none", 2},
    {"4.25: resume while it is being stopped", 0, 0, false, "pause@5 resume@6 down@7", "ssTPAss",
     JOB_PENDING, 0, "none", 2},
    {"4.25: twice the same is once", 0, 0, false, "pause@5+pause@5 down@6 resume@7+resume@7 up@7",
     "ssTPAss", JOB_RUNNING, 0, "none", 2},
    {"4.25: resume of what is not paused", 0, 0, false, "resume@5", "ss", JOB_RUNNING, 0, "none",
     1},
    {"4.25: it takes nothing of the budget", 0, 1, false,
     "pause@5 down@6 resume@7 up@7 w-0=1@8 down@9 up@10 w-0=0@11 w-1=0@11", "ssTPAssTAssE",
     JOB_ENDED, 0, "none", 3},
    {"4.25: cancel while paused", 0, 0, false, "pause@5 down@6 cancel@7", "ssTPE", JOB_ENDED, 130,
     "cancelled", 2},
    {"4.25: cancel while it is being paused", 0, 0, false, "pause@5 cancel@6 down@7", "ssTE",
     JOB_ENDED, 130, "cancelled", 1},
    {"4.25: what ended with 0 while it is being paused runs again", 0, 0, false,
     "pause@5 w-0=0@6 w-1=0@6", "ssTP", JOB_PAUSED, 0, "none", 2},
    {"4.25: a failure before the pause is one", 0, 0, false, "w-0=1@5+pause@5 down@6", "ssTE",
     JOB_ENDED, 1, "exit", 1},
    {"4.25: a pause while the next attempt is prepared", 0, 3, false, "w-0=1@5 pause@6 down@7",
     "ssTATP", JOB_PAUSED, 0, "none", 2},
    {"4.25: a file may start paused", 0, 0, true, "wait@9", "", JOB_PAUSED, 0, "none", 1},
    {"4.25: and is resumed", 0, 0, true, "resume@5 up@6", "Ass", JOB_RUNNING, 0, "none", 1},
    {"4.25: or cancelled", 0, 0, true, "cancel@5", "E", JOB_ENDED, 130, "cancelled", 1},
    {"deadline: a pause begins it anew", 10, 0, false, "pause@8 down@9 resume@20 up@20 wait@29",
     "ssTPAss", JOB_RUNNING, 0, "none", 2},
};

static void test_times(void)
{
    for (size_t i = 0; i < N_OF(times); i++) {
        struct stage st;
        stage_cast(&st, "w 2 0 0", PLATFORM_T9K);
        st.spec.deadline_s = times[i].deadline_s;
        st.spec.retry.max = times[i].retries;
        st.spec.pause = times[i].paused;
        stage_begin(&st);
        stage_play(&st, times[i].play);
        is_str(st.decisions, times[i].decisions, "%s: decisions", times[i].name);
        is_int((int)st.job->phase, (int)times[i].phase, "%s: phase", times[i].name);
        is_int(st.job->exit_code, times[i].exit_code, "%s: exit code", times[i].name);
        is_str(cause_kind_name(st.job->cause.kind), times[i].kind, "%s: cause", times[i].name);
        is_int((int)st.job->attempt, (int)times[i].attempt, "%s: attempt", times[i].name);
        if (st.job->phase == JOB_PAUSED)
            ok(st.job->n_running + st.job->n_starting == 0, "%s: nothing runs", times[i].name);
        is_its_events(&st, times[i].name);
        stage_free(&st);
    }
}

/* A job that fails at once, for ever: not more than its machine can bear. */
static void test_pace(void)
{
    static const int64_t want[] = {0, 0, 0, 1000, 2000, 4000, 8000, 16000, 32000, 60000, 60000};
    struct stage st;

    stage_cast(&st, "w 1 0 0", PLATFORM_MUSTER);
    st.spec.retry.max = -2;
    stage_begin(&st);
    for (size_t i = 0; i < N_OF(want); i++) {
        st.job->retries = (uint32_t)i;
        is_int(job_retry(st.job).delay_ms, want[i], "retry %zu waits for so long", i + 1);
    }
    stage_free(&st);
}

/* Long stories keep their first and their latest chapters. */
static void test_many(void)
{
    struct stage st;
    char word[32];

    stage_cast(&st, "w 1 0 0", PLATFORM_MUSTER);
    st.spec.retry.max = -1;
    stage_begin(&st);
    for (int at = 100; at <= 30000; at += 100) {
        (void)snprintf(word, sizeof(word), "w-0=1@%d up@%d", at, at + 90);
        stage_play(&st, word);
    }
    is_int((int)st.job->attempt, 301, "300 retries");
    is_int((int)st.job->n_past, LIMIT_ATTEMPTS, "the past is limited");
    is_int((int)st.job->past[0].attempt, 1, "the first is kept");
    is_int((int)st.job->past[LIMIT_ATTEMPTS - 1].attempt, 300, "and the last");
    stage_free(&st);
}

int main(void)
{
    test_classes();
    test_budgets();
    test_stories();
    test_conflict();
    test_late();
    test_restarts();
    test_backoff();
    test_launcher();
    test_times();
    test_pace();
    test_many();
    return tap_done();
}
