/* Which run is meant, and what is read of runs that have ended, whatever their files hold. */
#include "run/runs.h"

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
static const char *found(const char *word)
{
    static char text[LIMIT_ERR_TEXT];
    auto_arena struct arena *a = arena_new();
    struct run_ref run;
    struct err e;

    if (runs_find(a, word, &run, &e) < 0)
        (void)snprintf(text, sizeof(text), "%s", e.text);
    else
        (void)snprintf(text, sizeof(text), "%s %s %s %d", run.id, run.name, run.state,
                       run.exit_code);
    return text;
}

static void test_finding(void)
{
    is_str(found("20260101-000000-aaaa"), "20260101-000000-aaaa walk failed 7", "by id");
    is_str(found("20260101"), "20260101-000000-aaaa walk failed 7", "by its beginning");
    is_str(found("walk"), "20260101-000000-aaaa walk failed 7", "by name");
    has(found("2026010"), "\"2026010\" may be 4 runs: 20260104", "several: named, newest first");
    has(found("talk"), "did you mean walk?", "the nearest name");
    has(found("completely-different"), "there are: 20260104", "or what there is");
    has(found(""), "no run \"\"", "an empty word is no beginning");
    has(found(NULL), "no job is running; the last run was 20260104-000000-dddd", "none runs");
    has(found("/nowhere/at/all"), "No such file", "a directory that is not there");
    has(found("/usr/"), "is no run directory", "or is none");
}

static void test_damaged(void)
{
    auto_arena struct arena *a = arena_new();
    struct runs runs;

    is_str(found("20260102"), "20260102-000000-bbbb run-it lost -1", "only a journal: lost");
    is_str(found("20260103"), "20260103-000000-cccc  unreadable -1", "a report that is none");
    is_str(found("20260104"), "20260104-000000-dddd  lost -1", "nothing but logs");
    runs_list(a, &runs);
    is_int(runs.n, 4, "all of them are listed");
    is_int(runs.v[0].started, INT64_C(1767225600123) * NS_PER_MS, "a time with its milliseconds");
    is_int(runs.v[0].ended - runs.v[0].started, 2 * NS_PER_S, "and the end");
}

int main(void)
{
    struct err e;

    if (!mkdtemp(top))
        return 1;
    (void)setenv("XDG_STATE_HOME", top, 1);
    (void)setenv("XDG_RUNTIME_DIR", top, 1);
    has(found("walk"), "there are no runs", "nothing is there");
    is_str(found(NULL), "no job is running", "nothing at all");
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
    (void)io_remove_tree(AT_FDCWD, top, &e);
    return tap_done();
}
