/* The evidence of a failure: last lines of the right log, of earlier attempts too, without secrets.
 */
#include "rundir/evidence.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/io.h"
#include "job/test/stage.h"

static int logs_fd;

static void put(const char *name, const char *text)
{
    (void)io_write_atomic(logs_fd, name, text, strlen(text), NULL);
}

static const char *line(const struct strvec *lines, size_t i)
{
    return i < lines->n ? lines->v[i] : "(none)";
}

static void of_failure(void)
{
    static const char *const secrets[] = {"hunter2", NULL};
    struct evidence ev;
    struct stage st;

    stage_cast(&st, "w 2 0 0", PLATFORM_MUSTER);
    st.spec.secret_texts = secrets;
    st.processes[0].log = "w-0.log";
    st.processes[1].log = "w-1.log";
    stage_begin(&st);
    put("w-0.log", "fine\n");
    put("w-1.log", "logged in with hunter2\nloss is NaN\n");

    evidence_gather(&ev, logs_fd, st.job);
    ok(!ev.log && ev.tail.n == 0, "of a job that runs there is none");
    evidence_release(&ev);

    stage_play(&st, "w-1=3@5");
    evidence_gather(&ev, logs_fd, st.job);
    is_str(ev.log, "w-1.log", "the log of whoever failed");
    is_str(line(&ev.tail, 0), "logged in with ***", "without its secret");
    is_str(line(&ev.tail, 1), "loss is NaN", "its last line");
    evidence_release(&ev);
    stage_free(&st);
}

/* The first to end only lost the others: another one raised the exception. */
static void of_another(void)
{
    struct evidence ev;
    struct stage st;

    stage_cast(&st, "w 2 0 0", PLATFORM_MUSTER);
    st.processes[0].log = "w-0.log";
    st.processes[1].log = "w-1.log";
    stage_begin(&st);
    put("w-0.log", "RuntimeError: Connection closed by peer\n");
    put("w-1.log", "Traceback (most recent call last):\nValueError: bad batch\n");
    stage_play(&st, "w-0=1@5+w-1=1@5");
    evidence_gather(&ev, logs_fd, st.job);
    is_str(ev.other.buf, "w-1 says: ValueError: bad batch", "who says why");
    evidence_release(&ev);
    stage_free(&st);
}

static void of_attempts(void)
{
    struct report_context ctx = {0};
    struct evidence ev;
    struct stage st;

    stage_cast(&st, "w 1 0 0", PLATFORM_MUSTER);
    st.spec.retry.max = 1;
    st.processes[0].log = "w-0.log";
    stage_begin(&st);
    put("w-0.log", "the first\n");
    put("w-0.attempt-2.log", "the second\n");
    stage_play(&st, "w-0=3@5 wait@9 up@10 w-0=4@20");
    is_int(st.job->n_past, 1, "two attempts");
    evidence_gather(&ev, logs_fd, st.job);
    evidence_report(&ev, &ctx);
    is_str(ctx.log_tail[0], "the second", "of the last one");
    is_str(ctx.past_tails[0][0], "the first", "of the one before");
    evidence_release(&ev);
    stage_free(&st);
}

int main(void)
{
    char dir[] = "/tmp/evidence.XXXXXX";
    struct err e;

    if (!mkdtemp(dir))
        return 1;
    logs_fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    of_failure();
    of_another();
    of_attempts();
    ok(io_remove_tree(AT_FDCWD, dir, &e) == 0, "cleared");
    return tap_done();
}
