/* core.c - the job core without processes: staged reports in, decisions and verdicts out. */
#include <errno.h>
#include <signal.h>
#include <string.h>

#include "base/strbuf.h"
#include "base/tap.h"
#include "job/job.h"
#include "job/verdict.h"

#define SEC NS_PER_S

static const char *const program[] = {"./train", NULL};
static const char *const mpirun[] = {"mpirun", "./train", NULL};
static const struct mpi_spec mpi = {.program = program};
static const struct role roles[] = {
    {.name = "launcher", .kind = ROLE_LAUNCHER, .replicas = 1, .grace_s = -1},
    {.name = "worker", .kind = ROLE_HOST, .replicas = 2, .grace_s = -1},
    {.name = "worker", .kind = ROLE_PLAIN, .replicas = 1, .grace_s = -1},
};
static const struct job_spec mpi_job = {.name = "j",
                                        .platform = {.status = PLATFORM_T9K},
                                        .framework = FRAMEWORK_MPI,
                                        .roles = roles,
                                        .n_roles = 2,
                                        .mpi = &mpi};
static const struct job_spec plain_job = {.name = "p", .roles = roles + 2, .n_roles = 1};
static const struct facts facts = {.site.run_id = "id", .site.run_dir = "/r"};

static const struct replica mpi_replicas[] = {
    {.id = 0, .name = "launcher-0", .role = &roles[0], .first_process = 0, .n_processes = 1},
    {.id = 1,
     .name = "worker-0",
     .role = &roles[1],
     .role_index = 1,
     .first_process = 1,
     .n_processes = 1},
    {.id = 2,
     .name = "worker-1",
     .role = &roles[1],
     .role_index = 1,
     .index = 1,
     .first_process = 2,
     .n_processes = 1},
};
static const struct process mpi_processes[] = {
    {.id = 0, .replica = 0, .rank = -1, .argv = mpirun, .log = "launcher-0.log"},
    {.id = 1, .replica = 1, .rank = -1, .log = ""},
    {.id = 2, .replica = 2, .rank = -1, .log = ""},
};
static const struct plan mpi_plan = {.spec = &mpi_job,
                                     .facts = &facts,
                                     .replicas = mpi_replicas,
                                     .n_replicas = 3,
                                     .processes = mpi_processes,
                                     .n_processes = 3,
                                     .launcher = 0,
                                     .world = 2};

static const struct replica plain_replica = {
    .name = "worker-0", .role = &roles[2], .n_processes = 2};
static const struct process plain_processes[] = {
    {.id = 0, .rank = 0, .argv = program, .log = "a"},
    {.id = 1, .rank = 1, .argv = program, .log = "b"},
};
static const struct plan plain_plan = {.spec = &plain_job,
                                       .facts = &facts,
                                       .replicas = &plain_replica,
                                       .n_replicas = 1,
                                       .processes = plain_processes,
                                       .n_processes = 2,
                                       .launcher = -1,
                                       .world = 2};

static const struct job_rules rules = {
    .grace_ms = 10000, .start_timeout_ms = 600000, .recovery_timeout_ms = 60000};

/* --- a small stage ---------------------------------------------------------------------------- */

static struct job *begin(const struct plan *plan)
{
    struct job *job = job_new(plan, &rules);

    job_apply(job, &(struct event){.type = EVENT_CREATED, .at = 1 * SEC});
    return job;
}

/* Decides until nothing is due; returns the decisions as letters. */
static const char *decide(struct job *job, ns_t now)
{
    static char letters[64];
    static const char letter[] = {
        [EVENT_START] = 's', [EVENT_STOP] = 'T', [EVENT_KILL] = 'K', [EVENT_ENDED] = 'E'};
    size_t n = 0;

    for (;;) {
        struct events es = {0};
        job_decide(job, now, &es);
        for (size_t i = 0; i < es.n; i++) {
            letters[n++] = letter[es.v[i].type];
            job_apply(job, &es.v[i]);
        }
        bool idle = es.n == 0;
        events_release(&es);
        if (idle)
            break;
    }
    letters[n] = '\0';
    return letters;
}

static size_t report(struct job *job, const struct observation *o)
{
    struct events es = {0};

    job_observe(job, o, &es);
    size_t n = es.n;
    for (size_t i = 0; i < n; i++)
        job_apply(job, &es.v[i]);
    events_release(&es);
    return n;
}

static size_t started(struct job *job, uint32_t process, ns_t at)
{
    return report(job, &(struct observation){.kind = OBS_STARTED, .process = process, .at = at});
}

static struct ending how(int code, int sig)
{
    return (struct ending){.known = true, .code = sig ? -1 : code, .signal = sig, .max_rss = -1};
}

static size_t exited(struct job *job, uint32_t process, int code, int sig, ns_t at)
{
    return report(job,
                  &(struct observation){
                      .kind = OBS_EXITED, .process = process, .at = at, .end = how(code, sig)});
}

static size_t rank_started(struct job *job, uint32_t launch, uint32_t rank, ns_t at)
{
    return report(job, &(struct observation){.kind = OBS_RANK_STARTED,
                                             .launch = launch,
                                             .rank = rank,
                                             .size = 2,
                                             .replica = rank + 1,
                                             .log = "log",
                                             .at = at});
}

static size_t rank_exited(struct job *job, uint32_t launch, uint32_t rank, int code, int sig,
                          ns_t at)
{
    return report(job, &(struct observation){.kind = OBS_RANK_EXITED,
                                             .launch = launch,
                                             .rank = rank,
                                             .replica = rank + 1,
                                             .at = at,
                                             .end = how(code, sig)});
}

/* One that mpirun ended. */
static size_t rank_told(struct job *job, uint32_t launch, uint32_t rank, int sig, ns_t at)
{
    struct observation o = {.kind = OBS_RANK_EXITED,
                            .launch = launch,
                            .rank = rank,
                            .replica = rank + 1,
                            .at = at,
                            .end = how(0, sig)};

    o.end.told = at - 1;
    return report(job, &o);
}

/* The workers are up, and the launcher runs. */
static struct job *mpi_launched(void)
{
    struct job *job = begin(&mpi_plan);

    (void)decide(job, 1 * SEC);
    (void)started(job, 1, 1 * SEC);
    (void)started(job, 2, 1 * SEC);
    (void)decide(job, 1 * SEC);
    (void)started(job, 0, 1 * SEC);
    return job;
}

static struct job *mpi_running(void)
{
    struct job *job = mpi_launched();

    (void)rank_started(job, 1, 0, 2 * SEC);
    (void)rank_started(job, 1, 1, 2 * SEC);
    return job;
}

static void sentence_has(const struct job *job, const char *part)
{
    auto_strbuf struct strbuf sb = STRBUF_INIT;

    verdict_sentence(job, &sb);
    has(sb.buf, part, "the sentence says \"%s\"", part);
}

/* --- tests ------------------------------------------------------------------------------------ */

static void test_gate(void)
{
    struct job *job = begin(&mpi_plan);

    is_str(decide(job, 1 * SEC), "ss", "workers start first");
    is_str(decide(job, 1 * SEC), "", "deciding again at the same time adds nothing");
    is_int(job_wake(job), 601 * SEC, "the gate has a deadline");
    (void)started(job, 1, 1 * SEC);
    is_str(decide(job, 1 * SEC), "", "one worker is not enough");
    (void)started(job, 2, 1 * SEC);
    is_str(decide(job, 1 * SEC), "s", "all answer: the launcher starts");
    is_int(started(job, 2, 1 * SEC), 0, "a report that says nothing new is no event");
    is_int(started(job, 99, 1 * SEC), 0, "nor is one of an unknown process");
    job_free(job);

    job = begin(&mpi_plan);
    (void)decide(job, 1 * SEC);
    (void)started(job, 1, 1 * SEC);
    is_str(decide(job, 601 * SEC), "TE", "the gate expires");
    is_int(job->cause.kind, CAUSE_NOT_READY, "cause: not ready");
    is_int(job->cause.replica, 2, "of the worker that did not answer");
    is_int(job->exit_code, 125, "exit code 125");
    is_int(job_proc_outcome(job, 0), OUTCOME_NEVER_STARTED, "the launcher never started");
    job_free(job);
}

static void test_success(void)
{
    struct job *job = mpi_running();

    (void)rank_exited(job, 1, 0, 0, 0, 3 * SEC);
    (void)rank_exited(job, 1, 1, 0, 0, 3 * SEC);
    is_str(decide(job, 3 * SEC), "", "the launcher still lives");
    (void)exited(job, 0, 0, 0, 4 * SEC);
    is_str(decide(job, 4 * SEC), "E", "the job ends with its launcher");
    is_int(job->outcome, OUTCOME_SUCCEEDED, "succeeded");
    is_int(job->exit_code, 0, "exit code 0");
    is_int(job_replica(job, 1).outcome, OUTCOME_SUCCEEDED, "so did its workers");
    sentence_has(job, "2 ranks on 2 workers");
    is_str(decide(job, 5 * SEC), "", "an ended job decides nothing");
    job_free(job);
}

static void test_rank_fails(void)
{
    struct job *job = mpi_running();

    (void)rank_exited(job, 1, 1, 7, 0, 3 * SEC);
    (void)rank_told(job, 1, 0, SIGTERM, 4 * SEC);
    (void)exited(job, 0, 7, 0, 5 * SEC);
    is_str(decide(job, 5 * SEC), "E", "ends with mpirun");
    is_int(job->exit_code, 7, "the rank's code");
    is_int(job->cause.rank, 1, "the rank");
    is_int(job->cause.replica, 2, "its replica");
    is_int(job_rank_outcome(job, 0, 0), OUTCOME_STOPPED, "the other was stopped");
    is_int(job_replica(job, 1).outcome, OUTCOME_STOPPED, "and its replica");
    is_int(job_replica(job, 2).exit_code, 7, "the failed replica has the code");
    auto_strbuf struct strbuf stopped = STRBUF_INIT;
    verdict_stopped(job, &stopped);
    is_str(stopped.buf, "rank 0", "who was stopped is named");
    sentence_has(job, "rank 1 on worker-1 exited with status 7");
    job_free(job);
}

static void test_launcher_lies(void)
{
    struct job *job = mpi_running();

    (void)rank_exited(job, 1, 1, 0, SIGSEGV, 3 * SEC);
    (void)rank_exited(job, 1, 0, 0, 0, 3 * SEC);
    (void)exited(job, 0, 0, 0, 4 * SEC);
    (void)decide(job, 4 * SEC);
    is_int(job->exit_code, 128 + SIGSEGV, "mpirun said 0, the rank's signal counts");
    sentence_has(job, "the launcher still exited with status 0");
    job_free(job);

    job = mpi_running();
    job->rules.trust_launcher = true;
    (void)rank_exited(job, 1, 1, 3, 0, 3 * SEC);
    (void)exited(job, 0, 0, 0, 4 * SEC);
    (void)decide(job, 4 * SEC);
    is_int(job->outcome, OUTCOME_NONE, "a rank that lives is not left behind");
    (void)rank_exited(job, 1, 0, 0, SIGKILL, 4 * SEC);
    (void)decide(job, 4 * SEC);
    is_int(job->exit_code, 0, "--trust-launcher believes it");
    job_free(job);
}

/* Nobody failed, and mpirun ended them all. */
static struct job *mpi_stopped(int launcher_code)
{
    struct job *job = mpi_running();

    (void)rank_told(job, 1, 0, SIGTERM, 4 * SEC);
    (void)rank_told(job, 1, 1, SIGTERM, 4 * SEC);
    (void)exited(job, 0, launcher_code, 0, 5 * SEC);
    return job;
}

static void blamed(struct job *job, enum blame_kind kind, int code, int sig, ns_t at)
{
    (void)report(job, &(struct observation){.kind = OBS_BLAMED,
                                            .launch = 1,
                                            .rank = kind == BLAME_ABORT || kind == BLAME_ERROR,
                                            .replica = 2,
                                            .blame = kind,
                                            .at = at,
                                            .end = how(code, sig)});
}

static void test_left_behind(void)
{
    struct job *job = mpi_running();

    (void)exited(job, 0, 0, 0, 3 * SEC);
    is_str(decide(job, 3 * SEC), "K", "what a launcher leaves running is killed");
    (void)rank_exited(job, 1, 0, 0, SIGKILL, 4 * SEC);
    (void)rank_exited(job, 1, 1, 0, SIGKILL, 4 * SEC);
    (void)decide(job, 4 * SEC);
    is_int(job->exit_code, 1, "and its success is none");
    is_int(job->cause.replica, 0, "the launcher is the cause");
    is_int(job_rank_outcome(job, 0, 1), OUTCOME_STOPPED, "the ranks were stopped");
    sentence_has(job, "launcher-0 exited with status 0 while 2 ranks were running");
    job_free(job);

    job = mpi_running();
    (void)rank_exited(job, 1, 0, 0, 0, 3 * SEC);
    (void)rank_exited(job, 1, 1, 0, 0, 3 * SEC);
    struct observation end = {.kind = OBS_EXITED, .at = 4 * SEC, .end = how(0, 0)};
    memcpy(end.end.left, "mpiexec", sizeof("mpiexec"));
    (void)report(job, &end);
    (void)decide(job, 4 * SEC);
    is_int(job->exit_code, 1, "an mpirun that is left before it has ranks is no success, either");
    sentence_has(job, "launcher-0 exited with status 0 while mpiexec was running");
    job_free(job);

    job = mpi_stopped(124);
    (void)decide(job, 5 * SEC);
    is_int(job->exit_code, 124, "timeout's code");
    is_int(job->cause.rank, -1, "no rank that was stopped is the cause");
    sentence_has(job, "exited with status 124 (timed out); mpirun stopped 2 ranks");
    job_free(job);

    job = mpi_stopped(0);
    (void)decide(job, 5 * SEC);
    is_int(job->exit_code, 1, "0 over ranks that were stopped is no success either");
    job_free(job);
}

static void test_script_goes_on(void)
{
    struct job *job = mpi_running();

    (void)rank_exited(job, 1, 0, 0, 0, 3 * SEC);
    (void)rank_exited(job, 1, 1, 0, 0, 3 * SEC);
    is_int(report(job, &(struct observation){.kind = OBS_MPIRUN_ENDED, .launch = 1, .at = 3 * SEC}),
           1, "mpirun has ended");
    is_str(decide(job, 700 * SEC), "", "and its caller does something else");
    is_int(report(job, &(struct observation){.kind = OBS_MPIRUN_ENDED, .launch = 2, .at = 3 * SEC}),
           0, "an mpirun that there was not");
    (void)exited(job, 0, 3, 0, 701 * SEC);
    (void)decide(job, 701 * SEC);
    is_int(job->exit_code, 3, "whose status counts");
    job_free(job);
}

/* The daemon is lost before any rank has started: mpirun gives up with a status of its own. */
static void test_blame_without_ranks(void)
{
    for (int code = 0; code < 2; code++) {
        struct job *job = begin(&mpi_plan);

        (void)decide(job, 1 * SEC);
        (void)started(job, 1, 1 * SEC);
        (void)started(job, 2, 1 * SEC);
        (void)decide(job, 1 * SEC);
        (void)started(job, 0, 1 * SEC);
        blamed(job, BLAME_SIGNAL, 0, SIGTERM, 2 * SEC);
        is_int((int)job->n_launches, 0, "a signal belongs to an mpirun that is known");
        blamed(job, BLAME_DAEMON, 0, SIGKILL, 2 * SEC);
        is_int((int)job->n_launches, 1, "a lost daemon makes one known");
        (void)exited(job, 0, code, 0, 3 * SEC);
        (void)decide(job, 3 * SEC);
        is_int(job->exit_code, 128 + SIGKILL, "that is the cause, the launcher ended with %d",
               code);
        is_int(job->cause.replica, 2, "and its replica");
        sentence_has(job, "worker-1 lost its MPI daemon (killed by SIGKILL)");
        job_free(job);
    }
}

static void test_blame(void)
{
    struct job *job = mpi_stopped(0);

    blamed(job, BLAME_ABORT, 256, 0, 4 * SEC - 1);
    (void)decide(job, 5 * SEC);
    is_int(job->exit_code, 1, "MPI_Abort with 256");
    is_int(job->cause.rank, 1, "of this rank");
    is_int(job_rank_outcome(job, 0, 1), OUTCOME_FAILED,
           "which failed, although it was told to end");
    sentence_has(job, "rank 1 on worker-1 called MPI_Abort with code 256");
    job_free(job);

    job = mpi_stopped(6);
    blamed(job, BLAME_ERROR, 805980678, 0, 4 * SEC - 1);
    (void)decide(job, 5 * SEC);
    is_int(job->exit_code, 6, "what MPI's error handler makes of an error");
    is_int(job->cause.rank, 1, "in this rank");
    sentence_has(job, "rank 1 on worker-1 was ended by an MPI error (exit status 6)");
    job_free(job);

    job = mpi_running();
    (void)rank_exited(job, 1, 1, 195, 0, 3 * SEC);
    blamed(job, BLAME_DAEMON, 0, SIGKILL, 3 * SEC);
    (void)rank_told(job, 1, 0, SIGTERM, 4 * SEC);
    (void)exited(job, 0, 1, 0, 5 * SEC);
    (void)decide(job, 5 * SEC);
    is_int(job->exit_code, 128 + SIGKILL, "a daemon that was killed");
    is_int(job->cause.rank, -1, "and no rank that lost it");
    sentence_has(job, "worker-1 lost its MPI daemon (killed by SIGKILL)");
    job_free(job);

    job = mpi_running();
    (void)rank_exited(job, 1, 1, 7, 0, 3 * SEC);
    blamed(job, BLAME_DAEMON, 0, SIGKILL, 3 * SEC + 1);
    (void)exited(job, 0, 1, 0, 5 * SEC);
    (void)rank_exited(job, 1, 0, 0, SIGKILL, 6 * SEC);
    (void)decide(job, 6 * SEC);
    is_int(job->exit_code, 7, "a rank that failed before the daemon did is the cause");
    job_free(job);

    job = mpi_running(); /* of the ranks on its host nothing may have been heard */
    (void)rank_exited(job, 1, 0, 0, 0, 3 * SEC);
    (void)rank_exited(job, 1, 1, 0, 0, 3 * SEC);
    blamed(job, BLAME_DAEMON, 0, SIGKILL, 4 * SEC);
    (void)exited(job, 0, 1, 0, 5 * SEC);
    (void)decide(job, 5 * SEC);
    is_int(job->exit_code, 128 + SIGKILL, "a lost daemon, and no rank that did not finish");
    job_free(job);

    job = mpi_stopped(1);
    blamed(job, BLAME_SIGNAL, 0, SIGTERM, 3 * SEC);
    (void)decide(job, 5 * SEC);
    is_int(job->exit_code, 1, "mpirun's own code");
    sentence_has(job, "mpirun was ended by SIGTERM and stopped 2 ranks");
    job_free(job);

    job = mpi_running();
    blamed(job, BLAME_AGENT, 0, SIGKILL, 3 * SEC);
    (void)exited(job, 0, 110, 0, 4 * SEC);
    (void)rank_exited(job, 1, 0, 0, SIGKILL, 5 * SEC);
    (void)rank_exited(job, 1, 1, 0, SIGKILL, 5 * SEC);
    blamed(job, BLAME_TIMEOUT, 0, 0, 4 * SEC);
    (void)decide(job, 5 * SEC);
    is_int(job->exit_code, 110, "mpirun's time limit, after which it kills its agents");
    sentence_has(job, "mpirun reached its own time limit and stopped 2 ranks");
    job_free(job);

    job = mpi_running();
    (void)rank_exited(job, 1, 1, 0, 0, 3 * SEC);
    (void)rank_told(job, 1, 0, SIGTERM, 4 * SEC);
    (void)exited(job, 0, 1, 0, 5 * SEC);
    (void)decide(job, 5 * SEC);
    is_int(job->cause.rank, 1, "a rank that left before mpirun ended the others");
    sentence_has(job, "rank 1 on worker-1 exited with status 0 while other ranks were running");
    job_free(job);
}

static void test_last_try_counts(void)
{
    struct job *job = mpi_running();

    (void)rank_exited(job, 1, 1, 3, 0, 3 * SEC);
    (void)rank_exited(job, 1, 0, 0, SIGTERM, 3 * SEC);
    (void)rank_started(job, 2, 0, 4 * SEC);
    (void)rank_started(job, 2, 1, 4 * SEC);
    (void)rank_exited(job, 2, 0, 0, 0, 5 * SEC);
    (void)rank_exited(job, 2, 1, 0, 0, 5 * SEC);
    (void)exited(job, 0, 0, 0, 6 * SEC);
    (void)decide(job, 6 * SEC);
    is_int(job->exit_code, 0, "a script that tries mpirun again is judged by its last try");
    job_free(job);
}

static size_t world_started(struct job *job, uint32_t launch, uint32_t size, int64_t what,
                            ns_t began)
{
    size_t n = 0;

    for (uint32_t r = 0; r < size; r++)
        n += report(job, &(struct observation){.kind = OBS_RANK_STARTED,
                                               .launch = launch,
                                               .rank = r,
                                               .size = size,
                                               .replica = r + 1,
                                               .log = "log",
                                               .program = what,
                                               .began = began,
                                               .at = began + SEC});
    return n;
}

static size_t mpirun_ended(struct job *job, uint32_t launch, int code, int64_t what, ns_t at)
{
    return report(job, &(struct observation){.kind = OBS_MPIRUN_ENDED,
                                             .launch = launch,
                                             .end = how(code, 0),
                                             .program = what,
                                             .at = at});
}

/* The first mpirun, of program 1 with two ranks, fails at 4 s; the other is started at `began` and
 * ends well, and so does the launcher. */
static struct job *two_mpiruns(uint32_t size, int64_t what, ns_t began)
{
    struct job *job = mpi_launched();

    (void)world_started(job, 1, 2, 1, 1 * SEC);
    if (began < 4 * SEC)
        (void)world_started(job, 2, size, what, began);
    (void)rank_exited(job, 1, 1, 5, 0, 4 * SEC);
    (void)rank_told(job, 1, 0, SIGTERM, 4 * SEC);
    (void)mpirun_ended(job, 1, 5, 1, 5 * SEC);
    if (began >= 4 * SEC)
        (void)world_started(job, 2, size, what, began);
    for (uint32_t r = 0; r < size; r++)
        (void)rank_exited(job, 2, r, 0, 0, 9 * SEC);
    (void)mpirun_ended(job, 2, 0, what, 9 * SEC);
    (void)exited(job, 0, 0, 0, 10 * SEC);
    (void)decide(job, 10 * SEC);
    return job;
}

/* A daemon is lost before there are ranks, and mpirun hangs over that. */
static void test_hangs_without_ranks(void)
{
    struct job *job = mpi_launched();

    blamed(job, BLAME_DAEMON, 0, SIGKILL, 2 * SEC);
    is_str(decide(job, 3 * SEC), "", "mpirun gets its time");
    has(decide(job, 60 * SEC), "T", "then it is told to end");
    (void)exited(job, 0, 0, SIGTERM, 61 * SEC);
    (void)decide(job, 61 * SEC);
    is_int(job->exit_code, 128 + SIGKILL, "the daemon that was lost is the cause");
    sentence_has(job, "worker-1 lost its MPI daemon (killed by SIGKILL)");
    sentence_has(job, "; mpirun did not exit and was stopped");
    job_free(job);

    job = mpi_launched();
    blamed(job, BLAME_DAEMON, 0, SIGKILL, 2 * SEC);
    (void)mpirun_ended(job, 1, 1, 1, 3 * SEC);
    is_str(decide(job, 600 * SEC), "", "a script that goes on after its mpirun has its time");
    job_free(job);
}

/* A signal that mpirun passes on to its ranks, which end by it. */
static void test_passed_on(void)
{
    struct job *job = mpi_running();

    (void)rank_exited(job, 1, 0, 0, SIGUSR1, 3 * SEC);
    (void)rank_exited(job, 1, 1, 0, SIGUSR1, 3 * SEC + 1);
    blamed(job, BLAME_SIGNAL, 0, SIGUSR1, 3 * SEC - 1);
    (void)mpirun_ended(job, 1, 138, 1, 4 * SEC);
    (void)exited(job, 0, 124, 0, 4 * SEC);
    (void)decide(job, 4 * SEC);
    is_int(job->exit_code, 124, "the launcher's status");
    is_int(job->cause.rank, -1, "no rank is the cause");
    is_int(job_rank_outcome(job, 0, 1), OUTCOME_STOPPED, "the ranks were stopped");
    sentence_has(job, "mpirun received SIGUSR1 and passed it on, which ended 2 ranks; launcher-0 "
                      "exited with status 124 (timed out)");
    job_free(job);

    job = mpi_running();
    (void)mpirun_ended(job, 1, 0, 1, 3 * SEC);
    blamed(job, BLAME_SIGNAL, 0, SIGKILL, 3 * SEC);
    (void)rank_exited(job, 1, 0, 0, SIGKILL, 3 * SEC);
    (void)rank_exited(job, 1, 1, 0, SIGKILL, 3 * SEC);
    (void)exited(job, 0, 0, SIGKILL, 4 * SEC);
    (void)decide(job, 4 * SEC);
    is_int(job->exit_code, 137, "a launcher that is killed with its mpirun");
    sentence_has(job, "mpirun was ended by SIGKILL and stopped 2 ranks; launcher-0 was killed by "
                      "SIGKILL");
    job_free(job);
}

/* The launcher ends while its mpirun has no ranks yet, and we kill that. */
static void test_left_without_ranks(void)
{
    for (int trusts = 0; trusts < 2; trusts++) {
        struct job *job = begin(&mpi_plan);
        struct observation end = {.kind = OBS_EXITED, .at = 4 * SEC, .end = how(0, 0)};

        job->rules.trust_launcher = trusts;
        (void)decide(job, 1 * SEC);
        (void)started(job, 1, 1 * SEC);
        (void)started(job, 2, 1 * SEC);
        (void)decide(job, 1 * SEC);
        (void)started(job, 0, 1 * SEC);
        memcpy(end.end.left, "mpirun", sizeof("mpirun"));
        (void)report(job, &end);
        (void)mpirun_ended(job, 1, 137, 1, 4 * SEC + 1);
        (void)decide(job, 5 * SEC);
        is_int(job->exit_code, trusts ? 0 : 1, "an mpirun that we killed did not fail");
        sentence_has(job, trusts ? "(--trust-launcher), although mpirun was running"
                                 : "launcher-0 exited with status 0 while mpirun was running");
        job_free(job);
    }
}

static void test_tries(void)
{
    struct job *job = two_mpiruns(2, 1, 5 * SEC);

    is_int(job->exit_code, 0, "the same again, after it had ended");
    sentence_has(job, "; an earlier mpirun failed: rank 1 on worker-1 exited with status 5");
    job_free(job);
    job = two_mpiruns(1, 1, 6 * SEC);
    is_int(job->exit_code, 0, "with fewer ranks");
    job_free(job);
    job = two_mpiruns(1, 2, 6 * SEC);
    is_int(job->exit_code, 5, "another program excuses nothing");
    is_int(job->cause.launch, 0, "the first mpirun failed");
    is_int(job_rank_outcome(job, 0, 1), OUTCOME_FAILED, "with this rank");
    sentence_has(job, "rank 1 on worker-1 exited with status 5");
    job_free(job);
    job = two_mpiruns(2, 1, 2 * SEC);
    is_int(job->exit_code, 5, "nor does the same at the same time");
    job_free(job);
    job = two_mpiruns(2, 1, 4 * SEC);
    is_int(job->exit_code, 5, "nor one that was started before the first had ended");
    job_free(job);
    job = two_mpiruns(2, 1, 5 * SEC - 400 * NS_PER_MS);
    is_int(job->exit_code, 0, "unless that end was only noticed late");
    job_free(job);
}

/* mpirun train & mpirun train; wait $! */
static void test_returned(void)
{
    struct job *job = mpi_running();

    (void)rank_exited(job, 1, 1, 5, 0, 3 * SEC);
    (void)rank_told(job, 1, 0, SIGTERM, 3 * SEC);
    (void)mpirun_ended(job, 1, 5, 0, 3 * SEC);
    (void)rank_started(job, 2, 0, 4 * SEC);
    (void)rank_started(job, 2, 1, 4 * SEC);
    (void)rank_exited(job, 2, 0, 0, 0, 5 * SEC);
    (void)rank_exited(job, 2, 1, 0, 0, 5 * SEC);
    (void)exited(job, 0, 5, 0, 6 * SEC);
    (void)decide(job, 6 * SEC);
    is_int(job->exit_code, 5, "a launcher that returns a failed rank's status");
    is_int(job->cause.rank, 1, "fails because of that rank");
    job_free(job);
}

/* Hydra ends the ranks beside the one that left, and waits for the others. */
static void test_left_and_stalled(void)
{
    struct job *job = mpi_running();

    (void)rank_exited(job, 1, 1, 0, 0, 3 * SEC);
    is_str(decide(job, 200 * SEC), "", "a rank that ended with 0 is no failure");
    job_free(job);

    job = mpi_launched();
    (void)world_started(job, 1, 2, 1, 1 * SEC);
    (void)report(job, &(struct observation){.kind = OBS_RANK_STARTED,
                                            .launch = 1,
                                            .rank = 2,
                                            .size = 3,
                                            .replica = 1,
                                            .log = "log",
                                            .at = 2 * SEC});
    (void)rank_exited(job, 1, 1, 0, 0, 3 * SEC);
    (void)rank_told(job, 1, 0, SIGKILL, 4 * SEC);
    is_str(decide(job, 64 * SEC), "T", "mpirun ended one rank and waits for the other");
    (void)report(job, &(struct observation){.kind = OBS_RANK_EXITED,
                                            .launch = 1,
                                            .rank = 2,
                                            .replica = 1,
                                            .at = 65 * SEC,
                                            .end = how(0, SIGTERM)});
    (void)exited(job, 0, 0, SIGTERM, 65 * SEC);
    (void)decide(job, 65 * SEC);
    is_int(job->exit_code, 1, "that is a failure");
    is_int(job->cause.rank, 1, "of the one that left");
    sentence_has(job, "rank 1 on worker-1 exited with status 0 while other ranks were running");
    job_free(job);
}

static void test_no_ranks(void)
{
    struct job *job = mpi_running();

    (void)rank_exited(job, 1, 0, 0, 0, 3 * SEC);
    (void)rank_exited(job, 1, 1, 0, 0, 3 * SEC);
    (void)mpirun_ended(job, 1, 0, 0, 3 * SEC);
    is_int(mpirun_ended(job, 2, 0, 0, 4 * SEC), 0, "one that starts nothing and ends with 0");
    is_int(mpirun_ended(job, 2, 1, 7, 4 * SEC), 1, "one that starts nothing and fails");
    (void)exited(job, 0, 0, 0, 5 * SEC);
    (void)decide(job, 5 * SEC);
    is_int(job->exit_code, 1, "is a failure");
    is_int(job->cause.rank, -1, "of no rank");
    sentence_has(job, "failed: mpirun exited with status 1 without starting a rank after");
    sentence_has(job, "; the launcher still exited with status 0");
    job_free(job);
}

static void test_gate_is_behind(void)
{
    struct job *job = mpi_running();

    (void)exited(job, 1, 0, 0, 3 * SEC);
    is_str(decide(job, 700 * SEC), "", "a worker that leaves a running job was ready all the same");
    job_free(job);
}

static void test_late_words(void)
{
    struct job *job = mpi_running();

    (void)rank_exited(job, 1, 1, 7, 0, 3 * SEC);
    is_int(rank_started(job, 1, 1, 2 * SEC), 0, "a late word of a start gives no second life");
    is_int(rank_started(job, 1, 1, 4 * SEC), 1, "a later start does");
    is_int(rank_exited(job, 1, 1, 7, 0, 3 * SEC), 0, "which a late word of an end does not end");
    is_int(job->launches[0].first_failed, -1, "the failure is mended");
    job_free(job);

    job = mpi_running();
    (void)rank_exited(job, 1, 1, 7, 0, 4 * SEC);
    (void)rank_exited(job, 1, 0, 5, 0, 3 * SEC);
    is_int(job->launches[0].first_failed, 0, "first is who failed first, not who was told first");
    is_int(job->launches[0].last_end, 4 * SEC, "and last who ended last");
    (void)rank_started(job, 1, 0, 5 * SEC);
    is_int(job->launches[0].first_failed, 1, "one is mended, the other is not");
    job_free(job);
}

static void test_stalled(void)
{
    struct job *job = mpi_running();

    (void)rank_exited(job, 1, 1, 7, 0, 3 * SEC);
    is_str(decide(job, 62 * SEC), "", "a failed rank alone does not end the job at once");
    job_activity(job, 30 * SEC);
    is_int(job_wake(job), 90 * SEC, "output postpones the end");
    is_str(decide(job, 90 * SEC), "T", "silence ends it");
    (void)rank_exited(job, 1, 0, 0, SIGTERM, 91 * SEC);
    is_str(decide(job, 99 * SEC), "", "mpirun has the grace period");
    is_str(decide(job, 100 * SEC), "K", "and is then killed");
    (void)exited(job, 0, 0, SIGKILL, 100 * SEC);
    is_str(decide(job, 100 * SEC), "E", "the end");
    is_int(job->exit_code, 7, "the first failure counts");
    is_int(job_proc_outcome(job, 0), OUTCOME_STOPPED, "mpirun was stopped");
    job_free(job);

    job = mpi_running();
    (void)rank_exited(job, 1, 1, 0, 0, 3 * SEC);
    (void)rank_exited(job, 1, 0, 0, 0, 3 * SEC);
    is_str(decide(job, 13 * SEC), "T", "an mpirun without ranks is stopped after the grace period");
    (void)exited(job, 0, 1, 0, 14 * SEC);
    (void)decide(job, 14 * SEC);
    is_int(job->exit_code, 0, "every rank ended with 0: so does the job");
    job_free(job);
}

static void test_launcher_fails_first(void)
{
    struct job *job = mpi_running();

    (void)exited(job, 0, 0, SIGKILL, 3 * SEC);
    (void)rank_exited(job, 1, 0, 0, SIGTERM, 4 * SEC);
    (void)rank_exited(job, 1, 1, 0, SIGKILL, 4 * SEC);
    (void)decide(job, 4 * SEC);
    is_int(job->cause.replica, 0, "the launcher is the cause");
    is_int(job->exit_code, 137, "with its signal");
    is_int(job_rank_outcome(job, 0, 0), OUTCOME_STOPPED, "its ranks were stopped");
    job_free(job);

    job = begin(&mpi_plan);
    (void)decide(job, 1 * SEC);
    (void)started(job, 1, 1 * SEC);
    (void)started(job, 2, 1 * SEC);
    (void)decide(job, 1 * SEC);
    struct observation o = {.kind = OBS_SPAWN_FAILED, .process = 0, .at = 2 * SEC};
    o.end = (struct ending){.known = true, .exec_errno = -ENOENT, .exec_what = "exec"};
    (void)report(job, &o);
    (void)decide(job, 2 * SEC);
    is_int(job->exit_code, 127, "a command that is not there is 127");
    is_int(job->cause.kind, CAUSE_EXEC, "kind exec");
    sentence_has(job, "could not execute mpirun: No such file or directory");
    job_free(job);
}

/* A program that is known to be missing before anything was started. */
static void test_known_missing(void)
{
    struct observation o = {.kind = OBS_SPAWN_FAILED, .process = 1, .at = 1 * SEC};
    struct job *job = begin(&plain_plan);

    o.end = (struct ending){.known = true, .code = -1, .exec_errno = -EACCES, .exec_what = "exec"};
    (void)report(job, &o);
    is_str(decide(job, 1 * SEC), "TE", "known missing: nothing is started, and the job ends");
    is_int(job->exit_code, 126, "known missing: not executable is 126");
    is_int(job->cause.kind, CAUSE_EXEC, "known missing: kind exec");
    is_int(job_proc_outcome(job, 0), OUTCOME_NEVER_STARTED,
           "known missing: the other never started");
    job_free(job);

    job = begin(&plain_plan);
    (void)decide(job, 1 * SEC);
    (void)started(job, 1, 1 * SEC);
    (void)exited(job, 1, 0, 0, 2 * SEC);
    o.at = 3 * SEC;
    is_int((int)report(job, &o), 0, "known missing: said too late, it is nonsense");
    job_free(job);
}

static void test_plain(void)
{
    struct job *job = begin(&plain_plan);

    is_str(decide(job, 1 * SEC), "ss", "without a launcher all start at once");
    (void)started(job, 0, 1 * SEC);
    (void)started(job, 1, 1 * SEC);
    (void)exited(job, 1, 3, 0, 2 * SEC);
    is_str(decide(job, 2 * SEC), "T", "the first failure stops the others");
    (void)exited(job, 0, 0, SIGTERM, 3 * SEC);
    is_str(decide(job, 3 * SEC), "E", "then it ends");
    is_int(job->exit_code, 3, "with its code");
    is_int(job->cause.rank, 1, "and its rank");
    is_int(job_proc_outcome(job, 0), OUTCOME_STOPPED, "the other was stopped");
    job_free(job);
}

static void test_cancel_and_loss(void)
{
    struct observation cancel = {.kind = OBS_CANCEL, .signal = SIGINT, .at = 3 * SEC};
    struct job *job = mpi_running();

    (void)report(job, &cancel);
    is_str(decide(job, 3 * SEC), "T", "a cancel stops");
    (void)report(job, &cancel);
    is_str(decide(job, 3 * SEC), "K", "a second one kills");
    is_int(report(job, &cancel), 0, "a third one says nothing new");
    (void)exited(job, 0, 0, SIGKILL, 3 * SEC);
    (void)rank_exited(job, 1, 0, 0, SIGKILL, 3 * SEC);
    is_str(decide(job, 3 * SEC), "", "a rank still lives");
    is_str(decide(job, 8 * SEC), "E", "but is not waited for for ever");
    is_int(job->outcome, OUTCOME_CANCELLED, "cancelled");
    is_int(job->exit_code, 130, "130");
    job_free(job);

    job = mpi_running();
    (void)report(job, &(struct observation){.kind = OBS_LOST, .at = 3 * SEC});
    is_str(decide(job, 3 * SEC), "E", "a lost job is over");
    is_int(job->cause.kind, CAUSE_LOST, "lost");
    is_int(job->exit_code, 125, "125");
    job_free(job);

    job = mpi_running();
    (void)rank_exited(job, 1, 0, 9, 0, 2 * SEC);
    (void)report(job, &cancel);
    (void)decide(job, 3 * SEC);
    (void)exited(job, 0, 1, 0, 4 * SEC);
    (void)rank_exited(job, 1, 1, 0, SIGTERM, 4 * SEC);
    (void)decide(job, 4 * SEC);
    is_int(job->exit_code, 9, "a failure before the cancel stays the first failure");
    job_free(job);
}

int main(void)
{
    test_gate();
    test_success();
    test_rank_fails();
    test_launcher_lies();
    test_left_behind();
    test_left_without_ranks();
    test_hangs_without_ranks();
    test_passed_on();
    test_script_goes_on();
    test_blame();
    test_blame_without_ranks();
    test_last_try_counts();
    test_tries();
    test_returned();
    test_left_and_stalled();
    test_no_ranks();
    test_gate_is_behind();
    test_late_words();
    test_stalled();
    test_launcher_fails_first();
    test_known_missing();
    test_plain();
    test_cancel_and_loss();
    return tap_done();
}
