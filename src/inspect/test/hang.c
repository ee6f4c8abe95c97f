/* hang.c - which bytes are a sign of life, and the sentence about who waits for whom, on made-up
 * looks. */
#include <signal.h>
#include <string.h>
#include <sys/syscall.h>

#include "base/tap.h"
#include "inspect/hang.h"

static const char *const program[] = {"./train", NULL};
static const struct role roles[] = {
    {.name = "launcher", .kind = ROLE_LAUNCHER, .replicas = 1},
    {.name = "worker", .kind = ROLE_HOST, .replicas = 2},
};
static const struct job_spec spec = {.name = "j", .roles = roles, .n_roles = 2};
static const struct facts facts = {.site.run_id = "id", .site.run_dir = "/r"};
static const struct replica replicas[] = {
    {.id = 0, .name = "launcher-0", .role = &roles[0], .first_process = 0, .n_processes = 1},
    {.id = 1, .name = "worker-0", .role = &roles[1], .first_process = 1, .n_processes = 1},
    {.id = 2, .name = "worker-1", .role = &roles[1], .first_process = 2, .n_processes = 1},
};
static const struct process processes[] = {
    {.id = 0, .replica = 0, .rank = -1, .argv = program, .log = "l.log"},
    {.id = 1, .replica = 1, .rank = -1, .log = ""},
    {.id = 2, .replica = 2, .rank = -1, .log = ""},
};
static const struct plan plan = {.spec = &spec,
                                 .facts = &facts,
                                 .replicas = replicas,
                                 .n_replicas = 3,
                                 .processes = processes,
                                 .n_processes = 3,
                                 .launcher = 0,
                                 .world = 2};

static struct job *running_job(void)
{
    static const struct job_rules rules = {.grace_ms = 1000, .start_timeout_ms = 1000};
    struct job *job = job_new(&plan, &rules);

    job_apply(job, &(struct event){.type = EVENT_CREATED, .at = 1});
    for (uint32_t i = 0; i < 3; i++) {
        job_apply(job, &(struct event){.type = EVENT_START, .at = 1, .process = i});
        job_apply(job, &(struct event){.type = EVENT_STARTED, .at = 1, .process = i});
    }
    return job;
}

static void rank_event(struct job *job, enum event_type type, uint32_t rank)
{
    job_apply(job, &(struct event){.type = type,
                                   .at = 2,
                                   .launch = 1,
                                   .rank = rank,
                                   .size = 2,
                                   .replica = rank + 1,
                                   .log = "r.log",
                                   .end = {.known = true, .max_rss = -1}});
}

/* mpirun, a wrapper of ours, and two ranks. */
static void make_look(struct snapshot_process v[4], struct snapshot *ret)
{
    v[0] = (struct snapshot_process){
        .pid = 10, .replica = 0, .rank = -1, .bytes = 1, .command = "mpirun"};
    v[1] = (struct snapshot_process){
        .pid = 11, .replica = 1, .rank = 0, .bytes = 10, .ours = true, .command = "muster-rank"};
    v[2] =
        (struct snapshot_process){.pid = 12, .replica = 1, .rank = 0, .bytes = 100, .command = "a"};
    v[3] = (struct snapshot_process){
        .pid = 13, .replica = 2, .rank = 1, .bytes = 1000, .command = "b"};
    *ret = (struct snapshot){.v = v, .n = 4};
}

static void test_what_counts(void)
{
    struct job *job = running_job();
    struct snapshot_process v[4];
    struct snapshot lk;

    make_look(v, &lk);
    is_int(hang_kind(job, &lk, true), HANG_QUIET, "all ranks run: quiet");
    is_int(hang_life(HANG_QUIET, &lk).bytes, 1101, "everybody's bytes count but our own");
    rank_event(job, EVENT_RANK_STARTED, 0);
    rank_event(job, EVENT_RANK_STARTED, 1);
    is_int(hang_kind(job, &lk, true), HANG_QUIET, "ranks have started: quiet");
    rank_event(job, EVENT_RANK_EXITED, 0);
    is_int(hang_kind(job, &lk, true), HANG_RANKS_LEFT, "one has ended: ranks left");
    is_int(hang_life(HANG_RANKS_LEFT, &lk).bytes, 1100, "the launcher's bytes do not count");
    lk.n = 2;
    is_int(hang_kind(job, &lk, true), HANG_LAUNCHER_ALONE, "only a wrapper of ours is left: alone");
    is_int(hang_life(HANG_LAUNCHER_ALONE, &lk).bytes, 0, "no byte counts");
    is_int(hang_kind(job, &lk, false), HANG_RANKS_LEFT, "a launcher that never had a process");
    job_free(job);
}

static void test_heartbeats(void)
{
    struct hang_life was = {.bytes = 100, .runs = 7, .cpu_ms = 50}, now = was;

    ok(!hang_moved(was, now, 1000), "nothing has happened");
    now.bytes++;
    ok(!hang_moved(was, now, 1000), "a byte, and no main thread has run: a heartbeat");
    now.cpu_ms += 50;
    ok(!hang_moved(was, now, 1000), "that takes a little time");
    now.cpu_ms++;
    ok(hang_moved(was, now, 1000), "other threads are at work");
    now = (struct hang_life){.bytes = 101, .runs = 8, .cpu_ms = 50};
    ok(hang_moved(was, now, 1000), "a main thread has run");
    now.bytes = was.bytes;
    ok(!hang_moved(was, now, 1000), "without a byte that is no sign: ranks spin");
}

struct story {
    const char *name;
    long call;
    unsigned long first;
    struct snapshot_socket sockets[2];
    size_t n;
    const char *words;
};

static void test_sentences(void)
{
#define CONNECTED .tcp = true, .local = "127.0.0.1:5", .far = "127.1.0.2:22"
    static const struct story stories[] = {
        {"reads",
         SYS_recvfrom,
         4,
         {{.fd = 3, CONNECTED, .state = SOCKET_ESTABLISHED, .owner = 0, .accepted = true},
          {.fd = 4, CONNECTED, .state = SOCKET_ESTABLISHED, .owner = 2, .accepted = true}},
         2,
         ": rank 1 on worker-1 waits for rank 0 on worker-0: connected to 127.1.0.2:22, waiting "
         "for data; see"},
        {"is not accepted",
         SYS_read,
         4,
         {{.fd = 4, CONNECTED, .state = SOCKET_ESTABLISHED, .owner = 2}},
         1,
         "connected to 127.1.0.2:22, which has not accepted it"},
        {"connects",
         SYS_connect,
         4,
         {{.fd = 4, CONNECTED, .state = SOCKET_SYN_SENT, .owner = -1}},
         1,
         "waits for a process outside the job: connecting to 127.1.0.2:22, no reply"},
        {"accepts",
         SYS_accept4,
         4,
         {{.fd = 4,
           .tcp = true,
           .local = "0.0.0.0:7",
           .far = "",
           .state = SOCKET_LISTEN,
           .owner = -1}},
         1,
         "rank 1 on worker-1 is waiting for a connection to 0.0.0.0:7"},
        {"polls: the daemon does not count beside a rank",
         SYS_ppoll,
         0,
         {{.fd = 3, CONNECTED, .state = SOCKET_ESTABLISHED, .owner = 0, .accepted = true},
          {.fd = 4, CONNECTED, .state = SOCKET_ESTABLISHED, .owner = 2, .accepted = true}},
         2,
         "waits for rank 0 on worker-0"},
        {"polls two",
         SYS_ppoll,
         0,
         {{.fd = 3, CONNECTED, .state = SOCKET_ESTABLISHED, .owner = -1},
          {.fd = 4, CONNECTED, .state = SOCKET_ESTABLISHED, .owner = 2, .accepted = true}},
         2,
         "waits for one of 2 connections: nothing comes"},
        {"something is there to be read: it does not wait for it",
         SYS_ppoll,
         0,
         {{.fd = 4, CONNECTED, .state = SOCKET_ESTABLISHED, .owner = 2, .unread = 1}},
         1,
         "(--hang-timeout); see hang.txt"},
        {"sleeps",
         SYS_futex,
         4,
         {{.fd = 4, CONNECTED, .state = 1, .owner = 2}},
         1,
         "(--hang-timeout); see hang.txt"},
    };
    struct job *job = running_job();

    for (size_t i = 0; i < ARRAY_SIZE(stories); i++) {
        auto_strbuf struct strbuf sb = STRBUF_INIT;
        struct snapshot_process v[4];
        struct snapshot lk;
        struct snapshot_thread main_thread = {.name = "b", .wchan = "", .state = 'S'};
        struct snapshot_socket sockets[2];

        make_look(v, &lk);
        memcpy(sockets, stories[i].sockets, sizeof(sockets));
        main_thread.call = stories[i].call;
        main_thread.first = stories[i].first;
        v[3].threads = &main_thread;
        v[3].n_threads = 1;
        v[3].sockets = sockets;
        v[3].n_sockets = stories[i].n;
        hang_sentence(&(struct hang_seen){.job = job, .snapshot = &lk, .timeout_ms = 2000}, &sb);
        has(sb.buf, stories[i].words, "%s", stories[i].name);
    }
    job_free(job);
}

/* Six ranks, of which two are elsewhere; a helper of one of them; mpirun. */
static void test_places(void)
{
    static const struct snapshot_place back = {"train.py", "<module>", 51, "loss.backward()"};
    static const struct snapshot_place sleeps = {"data.py", "Set.next", 7, NULL};
    struct job *job = running_job();
    auto_strbuf struct strbuf sb = STRBUF_INIT;
    struct snapshot_process v[8];
    struct snapshot lk = {.v = v, .n = ARRAY_SIZE(v)};
    const struct hang_seen seen = {.job = job, .snapshot = &lk, .timeout_ms = 2000};

    for (int i = 0; i < 8; i++)
        v[i] = (struct snapshot_process){
            .pid = 10 + i, .replica = 1 + i % 2, .rank = i, .command = "p", .place = back};
    v[4].place = sleeps;
    v[6] = (struct snapshot_process){
        .pid = 16, .parent = 14, .replica = 1, .rank = 4, .command = "p", .place = back};
    v[7].rank = -1;
    hang_sentence(
        &(struct hang_seen){.job = job, .snapshot = &lk, .timeout_ms = 2000, .heartbeats = true},
        &sb);
    has(sb.buf, "no output for 2.0 s, only heartbeats: no main thread has run",
        "heartbeats are told");
    strbuf_truncate(&sb, 0);
    hang_add_places(&seen, ": ", &sb);
    is_str(sb.buf,
           ": rank 4 on worker-0 is at data.py:7 in Set.next; ranks 0 to 3, 5 are at train.py:51 "
           "(loss.backward())",
           "the fewest first, ranks of one place together");
    strbuf_truncate(&sb, 0);
    v[0].inside = v[1].inside = v[2].inside = v[3].inside = "gloo";
    hang_add_places(&seen, "", &sb);
    has(sb.buf, "0 to 3, 5 are at", "what is known of some only is not said of all");
    strbuf_truncate(&sb, 0);
    v[5].inside = "gloo";
    hang_add_places(&seen, "", &sb);
    has(sb.buf, "ranks 0 to 3, 5 wait in gloo at train.py:51", "what is known of all is");
    strbuf_truncate(&sb, 0);
    for (int i = 0; i < 6; i++)
        v[i].place.line = i + 1;
    hang_add_places(&seen, "", &sb);
    has(sb.buf, "; 2 more are at other locations", "there is an end");
    job_free(job);
}

/* Four ranks of which one is stopped, with its wrapper, a shell of its and a daemon. */
static void test_stopped(void)
{
    struct job *job = running_job();
    auto_strbuf struct strbuf sb = STRBUF_INIT;
    struct snapshot_thread runs = {.name = "train", .wchan = "", .state = 'S', .call = SYS_pause};
    struct snapshot_thread stopped = runs, reads = runs;
    struct snapshot_thread daemon = {.name = "orted", .wchan = "", .state = 'T'};
    struct snapshot_thread wrapper = {.name = "muster-rank", .wchan = "", .state = 'T'};
    struct snapshot_socket to_3 = {
        .fd = 4, CONNECTED, .state = SOCKET_ESTABLISHED, .owner = 3, .accepted = true};
    struct snapshot_process v[7];
    struct snapshot lk = {.v = v, .n = 4};
    const struct hang_seen seen = {.job = job, .snapshot = &lk, .timeout_ms = 2000};

    stopped.state = 'T';
    stopped.call = SYS_ppoll;
    reads.call = SYS_ppoll;
    for (int i = 0; i < 7; i++)
        v[i] = (struct snapshot_process){.pid = 10 + i,
                                         .replica = 1 + i % 2,
                                         .rank = i,
                                         .command = "p",
                                         .threads = &runs,
                                         .n_threads = 1};
    v[0].threads = &reads;
    v[0].sockets = &to_3;
    v[0].n_sockets = 1;
    v[3].threads = &stopped;
    v[3].stop_signal = SIGSTOP;
    v[3].sockets = &to_3;
    v[3].n_sockets = 1;
    hang_sentence(&seen, &sb);
    is_str(
        sb.buf,
        "no output and no byte read or written for 2.0 s (--hang-timeout): rank 3 on worker-1 is "
        "stopped (SIGSTOP); rank 0 on worker-0 waits for rank 3 on worker-1: connected to "
        "127.1.0.2:22, waiting for data; see hang.txt",
        "who is stopped is told first, and waits for nobody");
    strbuf_truncate(&sb, 0);
    hang_table(&seen, &sb);
    has(sb.buf, "\nrank 3 on worker-1             stopped (SIGSTOP)", "also in the table");

    lk.n = 7;
    v[4] = v[5] = v[6] = v[3];
    v[4].pid = 14; /* a process of the same rank */
    v[5].threads = &daemon;
    v[5].rank = -1;
    v[5].stop_signal = 0;
    v[6].threads = &wrapper;
    v[6].ours = true;
    strbuf_truncate(&sb, 0);
    (void)hang_add_stopped(&seen, &sb);
    is_str(
        sb.buf,
        ": rank 3 on worker-1 is stopped (SIGSTOP); orted on worker-1 is stopped; muster-rank of "
        "rank 3 on worker-1 is stopped (SIGSTOP)",
        "a rank once, and who serves it");
    job_free(job);
}

static void test_inside(void)
{
    static const struct {
        const char *text, *inside;
    } rows[] = {
        {"Thread 1 (LWP 5):\n#0  0x1 in sched_yield ()\n#1  0x2 in PMPI_Mprobe () from l.so\n",
         "MPI_Mprobe"},
        {"Thread 1 (LWP 5):\n#0  MPI_Recv (buf=0x0)\n", "MPI_Recv"},
        {"Thread 2 (LWP 6):\n#1  0x2 in MPI_Wait ()\n\nThread 1 (LWP 5):\n#0  0x1 in pause ()\n",
         NULL},
        {"Thread 1 (LWP 5):\n#0  0x1 in OMPI_X ()\n", NULL},
        {"Thread 2 (LWP 6):\n#6  0x7 in gloo::transport::tcp::UnboundBuffer::waitRecv(int*) ()\n",
         "gloo"},
        {"ptrace: Operation not permitted.\n", NULL},
        {"", NULL},
    };
    auto_arena struct arena *a = arena_new();

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
        is_str(hang_inside(a, rows[i].text), rows[i].inside, "a debugger's text %zu", i);
}

/* The core: one observation, one stop, exit code 124. */
static void test_core(void)
{
    struct job *job = running_job();
    struct events es = {0};
    const struct observation o = {.kind = OBS_HUNG, .at = 5, .text = "who waits"};

    job_observe(job, &o, &es);
    is_int(es.n, 1, "news");
    job_apply(job, &es.v[0]);
    events_release(&es);
    job_observe(job, &o, &es);
    is_int(es.n, 0, "only once");
    job_decide(job, 5, &es);
    is_int(es.n, 1, "one decision");
    is_int(es.v[0].type, EVENT_STOP, "to stop");
    is_int(es.v[0].stop, STOP_HANG, "because it hangs");
    job_apply(job, &es.v[0]);
    events_release(&es);
    struct cause c = job_cause(job);
    is_int(c.kind, CAUSE_HANG, "the cause");
    is_int(c.exit_code, 124, "its exit code");
    is_int(c.replica, -1, "nobody's");
    job_free(job);
}

int main(void)
{
    test_what_counts();
    test_heartbeats();
    test_sentences();
    test_places();
    test_stopped();
    test_inside();
    test_core();
    return tap_done();
}
