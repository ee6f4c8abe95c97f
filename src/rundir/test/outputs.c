/* Which files of a run directory are the job's, and which runs are removed. */
#include "rundir/outputs.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/io.h"
#include "base/limits.h"
#include "base/mem.h"
#include "base/tap.h"
#include "rundir/retention.h"

static char top[] = "/tmp/muster-outputs.XXXXXX";

static void test_rule(void)
{
    static const struct {
        const char *path;
        mode_t type;
        bool own;
    } rows[] = {
        {"report.json", S_IFREG, true},
        {"command.json", S_IFREG, true},
        {"journal.jsonl", S_IFREG, true},
        {"hostfile.hydra", S_IFREG, true},
        {"hang.txt", S_IFREG, true},
        {"report.json.123.tmp", S_IFREG, true},
        {"scratch", S_IFLNK, true},
        {"mpi/hostfile", S_IFREG, true},
        {"logs/worker-0.log", S_IFREG, true},
        {"logs/worker-0.rank-3.log", S_IFREG, true},
        {"logs/worker-0.log.index", S_IFREG, true},
        {"logs/.empty", S_IFREG, true},
        {"user_logs/std_log.txt", S_IFLNK, true},
        {"model.pt", S_IFREG, false},
        {"model.123.tmp", S_IFREG, false},
        {"report.json.tmp", S_IFREG, false},
        {"report.json", S_IFLNK, false},
        {"scratch", S_IFREG, false},
        {"outputs/model.pt", S_IFREG, false},
        {"outputs/report.json", S_IFREG, false},
        {"logs/metrics.csv", S_IFREG, false},
        {"logs/deeper/worker-0.log", S_IFREG, false},
        {"log/worker-0.log", S_IFREG, false},
        {"user_logs/mine.txt", S_IFREG, false},
        {"pipe", S_IFIFO, false},
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        is_int(outputs_is_own(rows[i].path, rows[i].type), rows[i].own, "%s is %s", rows[i].path,
               rows[i].own ? "ours" : "the job's");
}

static void put(int fd, const char *path)
{
    auto_free char *full = xasprintf("%s/run/%s", top, path);

    *strrchr(full, '/') = '\0';
    (void)io_mkdir_p(full, 0700, NULL);
    is_int(io_write_atomic(fd, path, "x", 1, NULL), 0, "%s is there", path);
}

static void test_finding(void)
{
    auto_free char *dir = xasprintf("%s/run", top);
    auto_strvec struct strvec found = STRVEC_INIT;

    (void)io_mkdir_p(dir, 0700, NULL);
    auto_close int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    put(fd, "report.json");
    put(fd, "logs/worker-0.log");
    is_int(mkdirat(fd, "outputs", 0700), 0, "an empty directory");
    ok(!outputs_any(fd), "nothing of the job's");
    put(fd, "outputs/model/weights");
    put(fd, "outputs/more");
    put(fd, "core");
    ok(outputs_any(fd), "now there is");
    outputs_find(fd, "/r", &found);
    is_int(found.n, 2, "each entry of the run directory once");
    is_str(found.v[0], "/r/core", "in order");
    is_str(found.v[1], "/r/outputs", "as a path");
    ok(outputs_size(fd) > 0, "it has a size");
}

/* "a d" - the ids of those that go. */
static const char *gone(const struct retention *policy)
{
    static char text[64];
    struct retained v[] = {
        {.id = "a", .started = 1 * NS_PER_S, .size = 100},
        {.id = "b", .started = 2 * NS_PER_S, .size = 100, .outputs = true},
        {.id = "c", .started = 3 * NS_PER_S, .size = 100, .alive = true},
        {.id = "d", .started = 4 * NS_PER_S, .size = 100},
        {.id = "e", .started = 5 * NS_PER_S, .size = 100},
    };
    struct retained_list list = {v, sizeof(v) / sizeof(v[0])};

    text[0] = '\0';
    retention_mark(policy, 10 * NS_PER_S, &list);
    for (size_t i = 0; i < list.n; i++)
        if (v[i].removed_for)
            (void)snprintf(text + strlen(text), sizeof(text) - strlen(text), "%s:%s ", v[i].id,
                           v[i].removed_for);
    return text;
}

static void test_retention(void)
{
    struct retention none = {-1, -1, -1, false}, p;

    is_str(gone(&none), "", "no limit, nothing goes");
    p = none, p.keep = 2;
    is_str(gone(&p), "a:number ", "the newest two without outputs stay");
    p.keep = 3;
    is_str(gone(&p), "a:number ", "one that lives is one of them");
    p.keep = 0;
    is_str(gone(&p), "a:number d:number e:number ", "none: not what lives, nor what has outputs");
    p.outputs = true;
    is_str(gone(&p), "a:number b:number d:number e:number ", "these too, if that is wanted");
    p = none, p.max_age_ms = 6000;
    is_str(gone(&p), "a:age ", "by age: exactly as old as the limit stays");
    p = none, p.max_size = 250;
    is_str(gone(&p), "a:size ", "by size: the oldest go");
    p.max_size = 0;
    is_str(gone(&p), "a:size d:size e:size ", "all of them");
}

static void test_age(void)
{
    static const struct {
        const char *text;
        int r;
        int64_t want;
    } rows[] = {
        {"30d", 0, INT64_C(30) * 24 * 3600 * 1000},
        {"1d12h", 0, INT64_C(36) * 3600 * 1000},
        {"36h", 0, INT64_C(36) * 3600 * 1000},
        {"90m", 0, 90 * 60 * 1000},
        {"0", 0, 0},
        {"0d", 0, 0},
        {"30", -EINVAL, 0},
        {"d", -EINVAL, 0},
        {"1d2d", -EINVAL, 0},
        {"-1d", -EINVAL, 0},
        {"", -EINVAL, 0},
        {"99999999999999d", -ERANGE, 0},
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        int64_t ms = 0;
        is_int(retention_age(rows[i].text, &ms), rows[i].r, "age \"%s\"", rows[i].text);
        is_int(ms, rows[i].want, "its value");
    }
    is_int(retention_id_time("19700101-000001-abcd"), NS_PER_S, "an id has its time");
    is_int(retention_id_time("elsewhere"), 0, "or none");
}

int main(void)
{
    if (!mkdtemp(top))
        return 1;
    test_rule();
    test_finding();
    test_retention();
    test_age();
    (void)io_remove_tree(AT_FDCWD, top, NULL);
    return tap_done();
}
