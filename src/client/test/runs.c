/* Which run is meant, and what is read of runs that have ended, whatever their files hold. */
#include "client/runs.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/io.h"
#include "base/tap.h"

static char top[] = "/tmp/muster-runs.XXXXXX";

/* A run directory of this id with a file in it. */
static void make_run(const char *id, const char *file, const char *text)
{
    auto_strbuf struct strbuf path = STRBUF_INIT;
    struct err e;

    strbuf_addf(&path, "%s/muster/runs/%s/logs", top, id);
    if (io_mkdir_p(path.buf, 0700, &e) < 0)
        tap_diag("%s", e.text);
    strbuf_truncate(&path, path.len - strlen("/logs"));
    auto_close int fd = open(path.buf, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (file && io_write_atomic(fd, file, text, strlen(text), &e) < 0)
        tap_diag("%s", e.text);
}

/* "id state code" of the run that is meant, or the error. */
static const char *wanted(const char *word, enum runs_want want)
{
    static char text[LIMIT_ERR_TEXT];
    auto_arena struct arena *a = arena_new();
    struct run_ref run;
    struct err e;

    if (runs_find(a, word, want, &run, &e) < 0)
        (void)snprintf(text, sizeof(text), "%s", e.text);
    else
        (void)snprintf(text, sizeof(text), "%s %s %s %d", run.id, run.name, run.state,
                       run.exit_code);
    return text;
}

static const char *found(const char *word)
{
    return wanted(word, RUNS_NEWEST);
}

static const char *fault_of(const char *word)
{
    static char text[LIMIT_ERR_TEXT];
    auto_arena struct arena *a = arena_new();
    struct run_ref run;

    (void)snprintf(text, sizeof(text), "%s",
                   runs_find(a, word, RUNS_NEWEST, &run, NULL) < 0 ? "not found" : run.fault);
    return text;
}

static void test_finding(void)
{
    is_str(found("20260101-000000-aaaa"), "20260101-000000-aaaa walk failed 7", "by id");
    is_str(found("20260101"), "20260101-000000-aaaa walk failed 7", "by its beginning");
    is_str(found("walk"), "20260101-000000-aaaa walk failed 7", "by name");
    has(found("2026010"), "\"2026010\" matches 4 runs: 20260104", "several: named, newest first");
    has(found("talk"), "did you mean walk?", "the nearest name");
    has(found("completely-different"), "existing runs: 20260104", "or what there is");
    has(found(""), "run \"\" not found", "an empty word is no beginning");
    is_str(found(NULL), "20260104-000000-dddd  lost -1", "no word: the newest");
    has(wanted(NULL, RUNS_LIVING), "no job is running; the last run was 20260104-000000-dddd",
        "none runs");
    is_str(wanted(NULL, RUNS_LIVING_FIRST), "20260104-000000-dddd  lost -1", "then the newest");
    has(found("/nowhere/at/all"), "No such file", "a directory that is not there");
    has(found("/usr/"), "is not a run directory", "or is none");
}

/* Whatever a job has left in the place of its report. */
static void test_foreign(void)
{
    static const char *const codes[] = {"null", "\"7\"", "-1", "256", "1e308", "[]"};
    char text[128];

    for (size_t i = 0; i < ARRAY_SIZE(codes); i++) {
        snprintf(text, sizeof(text), "{\"outcome\":\"failed\",\"exit_code\":%s}", codes[i]);
        make_run("20260109-000000-ffff", "report.json", text);
        is_str(found("20260109"), "20260109-000000-ffff  unreadable -1",
               "a report with the exit code %s", codes[i]);
    }
}

static void test_damaged(void)
{
    auto_arena struct arena *a = arena_new();
    struct runs runs;

    is_str(found("20260102"), "20260102-000000-bbbb run-it lost -1", "only a journal: lost");
    is_str(found("20260103"), "20260103-000000-cccc  unreadable -1", "a report that is none");
    is_str(fault_of("20260103"),
           "its report and journal cannot be read: report.json is not the report of a run",
           "and why");
    is_str(fault_of("20260101"), "", "nothing is wrong with a report that is one");
    is_str(found("20260104"), "20260104-000000-dddd  lost -1", "nothing but logs");
    has(fault_of("20260104"),
        "its report is missing and its journal cannot be read: ", "neither is there");
    runs_list(a, &runs);
    is_int(runs.n, 4, "all of them are listed");
    is_str(runs.v[0].id, "20260102-000000-bbbb", "in the order of their start, not of their ids");
    is_int(runs.v[1].started, INT64_C(1767225600123) * NS_PER_MS, "a time with its milliseconds");
    is_int(runs.v[1].ended - runs.v[1].started, 2 * NS_PER_S, "and the end");
}

/* Two runs of one name; the ids do not say which was first. */
static void test_newest(void)
{
    make_run("20260105-000000-zzzz", "report.json",
             "{\"job\":{\"name\":\"twice\"},\"outcome\":\"failed\",\"exit_code\":1,"
             "\"attempts\":[{\"started\":\"2026-01-05T00:00:00.100Z\"}]}");
    make_run("20260105-000000-bbbb", "report.json",
             "{\"job\":{\"name\":\"twice\"},\"outcome\":\"succeeded\",\"exit_code\":0,"
             "\"attempts\":[{\"started\":\"2026-01-05T00:00:00.200Z\"}]}");
    is_str(found("twice"), "20260105-000000-bbbb twice succeeded 0", "of one name, the newest");
    is_str(found(NULL), "20260105-000000-bbbb twice succeeded 0", "also without a word");
    has(found("20260105"), "matches 2 runs", "the beginning of an id must be one run's");
    has(wanted("twice", RUNS_ONLY), "matches 2 runs", "nor is one removed for another");
    is_str(wanted("twice", RUNS_LIVING), "20260105-000000-bbbb twice succeeded 0",
           "none lives: the newest is told");
}

/* Pipes are not waited for, links not followed. */
static void test_traps(void)
{
    auto_strbuf struct strbuf path = STRBUF_INIT;

    make_run("20260106-000000-eeee", NULL, NULL);
    strbuf_addf(&path, "%s/muster/runs/20260106-000000-eeee/report.json", top);
    is_int(mkfifo(path.buf, 0600), 0, "a pipe in place of a report");
    is_str(found("20260106"), "20260106-000000-eeee  unreadable -1", "is not waited for");
    strbuf_truncate(&path, path.len - strlen("report.json"));
    strbuf_addstr(&path, "journal.jsonl");
    is_int(mkfifo(path.buf, 0600), 0, "nor one");
    is_str(found("20260106"), "20260106-000000-eeee  unreadable -1", "in place of a journal");
    is_str(fault_of("20260106"),
           "its report and journal cannot be read: report.json is not a regular file",
           "and why is told");
}

int main(void)
{
    struct err e;

    if (!mkdtemp(top))
        return 1;
    (void)setenv("XDG_STATE_HOME", top, 1);
    (void)setenv("XDG_RUNTIME_DIR", top, 1);
    (void)setenv("MUSTER_TMPDIR", top, 1);
    has(found("walk"), "there are no runs", "nothing is there");
    is_str(found(NULL), "there are no runs", "nothing at all");
    is_str(wanted(NULL, RUNS_LIVING), "no job is running", "nor one that runs");
    make_run("20260101-000000-aaaa", "report.json",
             "{\"job\":{\"name\":\"walk\",\"dialect\":\"x\",\"run_id\":\"20260101-000000-aaaa\"},"
             "\"outcome\":\"failed\",\"exit_code\":7,\"attempts\":[{\"started\":"
             "\"2026-01-01T00:00:00.123Z\",\"ended\":\"2026-01-01T00:00:02.123Z\"}]}");
    make_run("20260102-000000-bbbb", "journal.jsonl",
             "{\"at\":5,\"event\":\"created\",\"job\":\"run-it\"}\n{\"at\":");
    make_run("20260103-000000-cccc", "report.json",
             "{\"job\":[],\"outcome\":{},\"exit_code\":\"7\",\"attempts\":[3,{\"ended\":7}");
    make_run("20260104-000000-dddd", NULL, NULL);
    test_finding();
    test_damaged();
    test_newest();
    test_foreign();
    test_traps();
    (void)io_remove_tree(AT_FDCWD, top, &e);
    return tap_done();
}
