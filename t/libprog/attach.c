/* attach.c - a job whose master is killed, and another one that goes on with it.
 *
 *     attach FILE GO       the job of FILE: role a with 2 replicas that run until they are ended,
 *                          role b with 1 that exits with 7 when there is a file GO
 *
 * A muster-shim stands beside this program. The first master is a child that is killed once all
 * processes run. Then b ends, with nobody there. The second replays the journal, attaches, catches
 * up, and has to find out: who ended, with which code, and that nothing was started twice.
 */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <uv.h>

#include "base/io.h"
#include "base/mem.h"
#include "base/tap.h"
#include "dialect/dialect.h"
#include "engine/engine.h"
#include "engine/turn.h"
#include "rundir/rundir.h"
#include "shim/wire.h"

enum { MAX = 3, PATIENCE_MS = 60000 };

static struct master {
    uv_loop_t loop;
    struct job *job;
    struct journal *journal;
    struct engine *engine;
    struct turn *turn;
    uv_timer_t wake, patience;
    int started[MAX], released, refused;
    bool late, tell; /* tell: on stdout when all run */
    int told_fd;
} m;

static void take_turn(void *ctx);

static void on_wake(uv_timer_t *timer)
{
    take_turn(timer->data);
}

static void take_turn(void *ctx)
{
    ns_t at = turn_run(m.turn, clock_run()), now = clock_run();

    (void)ctx;
    if (at)
        (void)uv_timer_start(&m.wake, on_wake,
                             at > now ? (uint64_t)((at - now) / NS_PER_MS) + 1 : 0, 0);
    if (m.tell && m.job->n_running == MAX)
        (void)!write(m.told_fd, "up", 2);
}

static void observed(void *ctx, const struct observation *o)
{
    (void)ctx;
    if (o->kind == OBS_STARTED && o->process < MAX)
        m.started[o->process]++;
    turn_observe(m.turn, o);
}

static void note(void *ctx, const char *text)
{
    (void)ctx;
    (void)fprintf(stderr, "# %s\n", text);
}

static void released(void *ctx)
{
    (void)ctx;
    m.released++;
    uv_stop(&m.loop);
}

static void refused(void *ctx, const struct err *e)
{
    note(ctx, e->text);
    m.refused++;
    uv_stop(&m.loop);
}

static const struct engine_client client = {.observed = observed,
                                            .note = note,
                                            .turn = take_turn,
                                            .released = released,
                                            .refused = refused};
static const struct job_rules rules = {
    .grace_ms = 60000, .start_timeout_ms = 600000, .recovery_timeout_ms = 60000};

static void on_late(uv_timer_t *timer)
{
    m.late = true;
    uv_stop(timer->loop);
}

static void begin(const struct plan *plan)
{
    m.job = job_new(plan, &rules);
    (void)uv_loop_init(&m.loop);
    (void)uv_timer_init(&m.loop, &m.wake);
    (void)uv_timer_init(&m.loop, &m.patience);
    (void)uv_timer_start(&m.patience, on_late, PATIENCE_MS, 0);
}

static struct engine_open how_of(const struct plan *plan, const struct rundir *rd)
{
    return (struct engine_open){.loop = &m.loop,
                                .plan = plan,
                                .stdin_fd = -1,
                                .scratch_fd = rd->scratch_fd,
                                .logs_fd = rd->logs_fd,
                                .waits = true,
                                .client = &client};
}

/* --- the first -------------------------------------------------------------------------------- */

static _Noreturn void first_master(const struct plan *plan, const struct rundir *rd, int told_fd)
{
    struct err e;

    begin(plan);
    m.tell = true;
    m.told_fd = told_fd;
    const struct engine_open how = how_of(plan, rd);
    if (journal_open_jsonl(rd->fd, &m.journal, &e) < 0 ||
        engine_local.open(&how, &m.engine, &e) < 0)
        _exit(3);
    m.turn = turn_new(m.job, m.journal, m.engine, &(struct turn_host){0});
    turn_event(m.turn, &(struct event){.type = EVENT_CREATED, .at = clock_run()});
    take_turn(NULL);
    (void)uv_run(&m.loop, UV_RUN_DEFAULT);
    _exit(4); /* it is killed before */
}

/* --- others that come ------------------------------------------------------------------------- */

static int connect_to(const struct rundir *rd)
{
    struct sockaddr_un addr = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

    (void)snprintf(addr.sun_path, sizeof(addr.sun_path), "/proc/self/fd/%d/" WIRE_MASTER_SOCKET,
                   rd->scratch_fd);
    if (fd >= 0 && connect(fd, (struct sockaddr *)&addr, sizeof(addr)) == 0)
        return fd;
    if (fd >= 0)
        (void)close(fd);
    return -1;
}

/* The type of what is answered; 0: the connection is closed. */
static int answer_to(const struct rundir *rd, uint32_t version, char *text, size_t size)
{
    auto_strbuf struct strbuf out = STRBUF_INIT;
    size_t at = wire_frame_begin(&out, WIRE_ATTACH);
    char in[4096];
    enum wire_type type;
    struct wire_reader r;
    auto_close int fd = connect_to(rd);

    wire_put_u32(&out, version);
    wire_frame_end(&out, at);
    if (fd < 0 || io_write_all(fd, out.buf, out.len) < 0)
        return 0;
    ssize_t n = recv(fd, in, sizeof(in), 0);
    if (n <= 0 || wire_frame_next(in, (size_t)n, &type, &r) <= 0)
        return 0;
    (void)wire_get_u32(&r);
    (void)snprintf(text, size, "%s", type == WIRE_REFUSED ? wire_get_str(&r) : "");
    return (int)type;
}

/* --- the second ------------------------------------------------------------------------------- */

static void replay(const struct rundir *rd)
{
    auto_strbuf struct strbuf text = STRBUF_INIT;
    struct err e;
    size_t n;

    ok(io_read_file(rd->fd, JOURNAL_NAME, 1 << 20, &text, &e) == 0 &&
           journal_replay(m.job, text.buf, text.len, &n, &e) == 0,
       "the journal is replayed");
    is_int(m.job->n_running, MAX, "by it, all run");
}

static void second_master(const struct plan *plan, const struct rundir *rd)
{
    struct err e = {0};

    memset(&m, 0, sizeof(m));
    begin(plan);
    replay(rd);
    const struct engine_open how = how_of(plan, rd);
    if (!ok(engine_local.attach(&how, &m.engine, &e) == 0, "another attaches %s", e.text) ||
        !ok(journal_open_jsonl(rd->fd, &m.journal, &e) == 0, "and goes on with the journal"))
        return;
    m.turn = turn_new(m.job, m.journal, m.engine, &(struct turn_host){0});
    turn_catch_up(m.turn);
    take_turn(NULL);
    (void)uv_run(&m.loop, UV_RUN_DEFAULT);
    ok(!m.late && !m.refused && m.released == 1, "the job is released");
    is_int(m.job->phase, JOB_ENDED, "it has ended");
    is_int(m.job->outcome, OUTCOME_FAILED, "it has failed");
    is_int(m.job->exit_code, 7, "with the code of what ended meanwhile");
    is_int(m.job->cause.process, 2, "which is known");
    is_int(m.job->procs[0].end.signal, SIGTERM, "the others were stopped because of it");
    is_int(m.job->procs[1].end.signal, SIGTERM, "both");
    for (int i = 0; i < MAX; i++)
        ok(m.started[i] > 0 && m.job->procs[i].restarts == 0, "process %d was told, not restarted",
           i);
}

static void end_master(void)
{
    turn_free(m.turn);
    m.engine->ops->free(m.engine);
    journal_close(m.journal);
    uv_close((uv_handle_t *)&m.wake, NULL);
    uv_close((uv_handle_t *)&m.patience, NULL);
    (void)uv_run(&m.loop, UV_RUN_DEFAULT);
    is_int(uv_loop_close(&m.loop), 0, "nothing is left in the loop");
    job_free(m.job);
}

static bool wait_for_end_of_b(const struct rundir *rd)
{
    for (int i = 0; i < 600; i++) {
        auto_strbuf struct strbuf text = STRBUF_INIT;
        static const struct timespec moment = {.tv_nsec = 100000000};

        if (io_read_file(rd->fd, "exits", 1 << 20, &text, NULL) == 0 &&
            strstr(text.buf, "\texit\t7\n"))
            return true;
        (void)nanosleep(&moment, NULL);
    }
    return false;
}

static void script(const struct plan *plan, const struct rundir *rd, const char *go)
{
    int told[2];
    char word[8] = "", text[256] = "";
    struct stat st;

    if (!ok(pipe2(told, O_CLOEXEC) == 0, "a pipe"))
        return;
    pid_t pid = fork();
    if (pid == 0)
        first_master(plan, rd, told[1]);
    (void)close(told[1]);
    ok(read(told[0], word, 2) == 2, "the first master starts all");
    is_int(answer_to(rd, WIRE_VERSION, text, sizeof(text)), 0, "nobody else is let in meanwhile");
    (void)kill(pid, SIGKILL);
    (void)waitpid(pid, NULL, 0);
    ok(fstatat(rd->scratch_fd, WIRE_MASTER_SOCKET, &st, 0) == 0 && (st.st_mode & 0777) == 0600,
       "only its user can connect");
    int fd = open(go, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    ok(fd >= 0 && wait_for_end_of_b(rd), "it is killed; a process ends with nobody there");
    (void)close(fd);
    is_int(answer_to(rd, WIRE_VERSION + 1, text, sizeof(text)), WIRE_REFUSED,
           "another version is refused");
    has(text, "use the muster that started it", "in words");
    is_int(answer_to(rd, WIRE_VERSION, text, sizeof(text)), WIRE_READY, "the right one is not");
    second_master(plan, rd);
    end_master();
    ok(connect_to(rd) < 0, "the shim is gone with the job");
}

int main(int argc, char **argv)
{
    CLEANUP(survey_release) struct survey s = SURVEY_INIT;
    auto_arena struct arena *a = arena_new();
    auto_free char *id = rundir_new_id();
    const struct read_options opts = {0};
    struct rundir rd = RUNDIR_INIT;
    const struct plan *plan;
    struct job_file jf;
    struct err e;

    if (argc != 3 || job_file_read(a, argv[1], &opts, &jf, &e) < 0 || jf.n_jobs != 1 ||
        rundir_name(id, NULL, &rd, &e) < 0)
        return 2;
    (void)signal(SIGPIPE, SIG_IGN);
    const struct survey_request rq = {.use = SURVEY_RUN,
                                      .spec = jf.jobs[0],
                                      .run_id = rd.run_id,
                                      .run_dir = rd.path,
                                      .scratch_dir = rd.scratch,
                                      .isolate = "auto",
                                      .gpus = -1};
    if (engine_local.survey(a, &rq, &s, &e) < 0 ||
        engine_local.plan(a, jf.jobs[0], &s, &plan, &e) < 0 || rundir_make(&rd, &e) < 0 ||
        rundir_fill(&rd, plan, &e) < 0) {
        (void)fprintf(stderr, "%s\n", e.text);
        return 2;
    }
    script(plan, &rd, argv[2]);
    rundir_release(&rd);
    job_file_release(&jf);
    return tap_done();
}
