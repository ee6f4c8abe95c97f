/* control.c - the control socket: what is asked becomes an observation, an answer or a refusal, and
 * a client that says nothing, or half of something, keeps nobody waiting.
 */
#include "foreground/control.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/io.h"
#include "client/protocol.h"
#include "job/test/stage.h"

static struct {
    uv_loop_t loop;
    int dir_fd, signal;
    struct stage st;
    struct control *control;
    struct strbuf posted; /* the kinds of observations, letters */
} t = {.posted = STRBUF_INIT};

static void post(void *ctx, const struct observation *o)
{
    (void)ctx;
    strbuf_addch(&t.posted, o->kind == OBS_CANCEL   ? 'c'
                            : o->kind == OBS_PAUSE  ? 'p'
                            : o->kind == OBS_RESUME ? 'r'
                                                    : '?');
    (void)stage_report(&t.st, o);
}

static void pass_signal(void *ctx, int sig)
{
    (void)ctx;
    t.signal = sig;
}

static int dial(void)
{
    struct sockaddr_un addr = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

    (void)snprintf(addr.sun_path, sizeof(addr.sun_path), "/proc/self/fd/%d/" CONTROL_SOCKET,
                   t.dir_fd);
    return connect(fd, (struct sockaddr *)&addr, sizeof(addr)) < 0 ? -1 : fd;
}

static void say(int fd, const char *head, uint32_t size)
{
    uint32_t sizes[2] = {size, 0};

    (void)!write(fd, sizes, sizeof(sizes));
    (void)!write(fd, head, strlen(head));
}

/* The head of the answer; "" while there is none. */
static const char *answer(int fd, char out[4096])
{
    size_t n = 0;

    for (int i = 0; i < 50; i++) {
        (void)uv_run(&t.loop, UV_RUN_NOWAIT);
        ssize_t r = read(fd, out + n, 4095 - n);
        n += r > 0 ? (size_t)r : 0;
    }
    out[n] = '\0';
    return n > CONTROL_HEADER ? out + CONTROL_HEADER : "";
}

static void asks(const char *request, const char *want, const char *posted)
{
    char head[256], out[4096];
    auto_close int fd = dial();

    (void)snprintf(head, sizeof(head), "{\"version\":1,%s}", request);
    strbuf_truncate(&t.posted, 0);
    say(fd, head, (uint32_t)strlen(head));
    has(answer(fd, out), want, "%s", request);
    is_str(t.posted.buf ? t.posted.buf : "", posted, "what the job hears of it");
}

static void test_requests(void)
{
    asks("\"request\":\"state\"", "\"phase\":\"running\"", "");
    asks("\"request\":\"resume\"", "j is not paused, held or debugged", "");
    asks("\"request\":\"signal\",\"signal\":10", "\"ok\":true", "");
    is_int(t.signal, 10, "a signal is passed on");
    asks("\"request\":\"signal\",\"signal\":1000", "must be a number from 1 to", "");
    asks("\"request\":\"exec\",\"replica\":\"w-0\",\"command\":\"true\"", "three descriptors", "");
    asks("\"request\":\"dance\"", "unknown request", "");
    asks("\"request\":7", "invalid request", "");
    asks("\"request\":\"pause\"", "\"ok\":true", "p");
    asks("\"request\":\"pause\"", "j is already paused", "");
    asks("\"request\":\"cancel\"", "\"ok\":true", "c");
    asks("\"request\":\"kill\"", "\"ok\":true", "cc");
    asks("\"request\":\"pause\"", "j is already ending", "");
}

static void test_rude_clients(void)
{
    static const char old[] = "{\"version\":9,\"request\":\"state\"}";
    char out[4096];
    auto_close int half = dial(), large = dial(), garbage = dial(), other = dial(), gone = dial();

    say(half, "{\"versi", 100);
    say(large, "", UINT32_MAX);
    say(garbage, "not JSON", 8);
    say(other, old, (uint32_t)strlen(old));
    say(gone, "{", 10);
    close(TAKE_FD(gone));
    is_str(answer(half, out), "", "half a request has no answer");
    has(answer(large, out), "a request must have at most", "one that is too large");
    has(answer(garbage, out), "invalid request", "one that is none");
    has(answer(other, out), "version 1, not 9", "another version");
    asks("\"request\":\"state\"", "\"ok\":true", "");
}

/* Who only connects is closed when others come, the oldest first. */
static void test_crowd(void)
{
    int fds[LIMIT_CONTROL_CLIENTS + 1];
    char byte;

    for (size_t i = 0; i < ARRAY_SIZE(fds); i++) {
        fds[i] = dial();
        (void)uv_run(&t.loop, UV_RUN_NOWAIT);
    }
    asks("\"request\":\"state\"", "\"ok\":true", "");
    is_int(read(fds[0], &byte, 1), 0, "the oldest was closed");
    ok(read(fds[ARRAY_SIZE(fds) - 1], &byte, 1) < 0 && errno == EAGAIN, "the newest was not");
    for (size_t i = 0; i < ARRAY_SIZE(fds); i++)
        close(fds[i]);
}

int main(void)
{
    static const struct engine_ops ops = {0};
    struct engine engine = {.ops = &ops};
    const struct control_host host = {
        .engine = &engine, .engine_name = "none", .post = post, .signal = pass_signal};
    struct control_host its = host;
    char place[] = "/tmp/muster-control-XXXXXX";
    struct event created = {.type = EVENT_CREATED, .at = NS_PER_S};
    struct err e;

    if (!mkdtemp(place))
        tap_skip_all("no place for a socket");
    t.dir_fd = open(place, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    stage_cast(&t.st, "w 2 0 0", PLATFORM_MUSTER);
    t.st.job = job_new(&t.st.plan, &stage_rules);
    stage_apply(&t.st, &(struct events){.v = &created, .n = 1});
    stage_decide(&t.st, NS_PER_S);
    stage_up(&t.st, NS_PER_S);
    its.job = t.st.job;
    its.scratch_fd = t.dir_fd;
    (void)uv_loop_init(&t.loop);
    is_int(control_open(&t.loop, &its, &t.control, &e), 0, "it listens");
    test_rude_clients();
    test_crowd();
    test_requests();
    control_free(t.control);
    (void)uv_run(&t.loop, UV_RUN_DEFAULT);
    is_int(uv_loop_close(&t.loop), 0, "and leaves nothing behind");
    ok(faccessat(t.dir_fd, CONTROL_SOCKET, F_OK, 0) < 0, "nor the socket");
    close(t.dir_fd);
    (void)rmdir(place);
    stage_free(&t.st);
    strbuf_release(&t.posted);
    return tap_done();
}
