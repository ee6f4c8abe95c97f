/* resume.c - a job that goes on with its journal, and what is kept of where it runs. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/io.h"
#include "base/tap.h"
#include "journal/away.h"
#include "journal/journal.h"

static const char *const argv[] = {"./train", NULL};
static const struct role role = {.name = "worker", .replicas = 1, .slots = 1, .argv = argv};
static const struct replica replicas[] = {
    {.name = "worker-0", .role = &role, .n_processes = 1, .host = "worker-0", .address = ""}};
static const struct process processes[] = {{.argv = argv, .rank = -1, .log = "worker-0.log"}};
static const struct job_spec spec = {.name = "j", .roles = &role, .n_roles = 1};
static const struct facts facts = {
    .site.run_id = "id", .site.run_dir = "/r", .site.isolation = "pods", .site.engine = "sim"};
static const struct plan plan = {.spec = &spec,
                                 .facts = &facts,
                                 .replicas = replicas,
                                 .n_replicas = 1,
                                 .processes = processes,
                                 .n_processes = 1,
                                 .launcher = -1,
                                 .world = -1};
static const struct job_rules rules = {.grace_ms = 10000, .start_timeout_ms = 600000};

static void add(struct journal *jn, struct job *job, const struct event *ev)
{
    journal_add(jn, job, ev);
    job_apply(job, ev);
    ok(journal_commit(jn, NULL) == 0, "an event is written");
}

static struct job *resume(int dir, const struct job_rules *with, int *ret)
{
    struct job *job = job_new(&plan, with);

    *ret = journal_resume(dir, job, NULL);
    return job;
}

static void test_journal(int dir)
{
    struct job *job = job_new(&plan, &rules);
    struct journal *jn;
    int r;

    ok(journal_open_jsonl(dir, &jn, NULL) == 0, "a journal is made");
    add(jn, job, &(struct event){.type = EVENT_CREATED, .at = 1});
    add(jn, job, &(struct event){.type = EVENT_START, .at = 2});
    journal_close(jn);
    job_free(job);
    int fd = openat(dir, JOURNAL_NAME, O_WRONLY | O_APPEND);
    static const char torn[] = "{\"at\":3,\"event\":\"star";
    ok(io_write_all(fd, torn, sizeof(torn) - 1) == 0, "its writer is killed in a line");
    (void)close(fd);

    job = resume(dir, &rules, &r);
    is_int(r, 0, "another one goes on with it");
    is_int(job->procs[0].state, PROC_STARTING, "where it was");
    ok(journal_open_jsonl(dir, &jn, NULL) == 0, "it is opened again");
    add(jn, job, &(struct event){.type = EVENT_STARTED, .at = 4});
    journal_close(jn);
    job_free(job);
    job = resume(dir, &rules, &r);
    is_int(r, 0, "what follows a torn line can be read");
    is_int(job->procs[0].state, PROC_RUNNING, "all of it");
    job_free(job);
    job = resume(dir, &(struct job_rules){.grace_ms = 1}, &r);
    is_int(r, -ESTALE, "other rules are another job");
    job_free(job);
}

static void test_away(int dir)
{
    auto_arena struct arena *a = arena_new();
    struct away in = {.context = "c", .namespace_ = "n", .created = 5, .keep_s = 100}, out;
    struct stat st;

    is_int(away_read(a, dir, &out, NULL), -ENOENT, "a job that is here");
    is_int(away_until(dir), 0, "nobody keeps it");
    for (int i = 0; i < AWAY_KEY; i++)
        in.key[i] = (unsigned char)(i * 9);
    ok(away_write(dir, &in, NULL) == 0, "one that goes on elsewhere");
    ok(away_read(a, dir, &out, NULL) == 0, "is read back");
    is_str(out.context, "c", "its context");
    is_str(out.namespace_, "n", "its namespace");
    ok(out.created == 5 && out.keep_s == 100 && memcmp(in.key, out.key, AWAY_KEY) == 0, "the rest");
    ok(fstatat(dir, AWAY_NAME, &st, 0) == 0 && (st.st_mode & 077) == 0,
       "nobody else reads the key");
    const struct timespec old[2] = {{.tv_sec = 1000}, {.tv_sec = 1000}};
    (void)utimensat(dir, AWAY_NAME, old, 0);
    is_int(away_until(dir), 1100 * NS_PER_S, "it is kept from the last heartbeat on");
    away_touch(dir);
    ok(away_until(dir) > clock_real(), "a heartbeat");
    static const char *const bad[] = {"", "{}", "{\"created\":1,\"keep_seconds\":0,\"key\":\"00\"}",
                                      "{\"created\":1,\"keep_seconds\":9,\"key\":\"zz\"}"};
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        (void)io_write_atomic(dir, AWAY_NAME, bad[i], strlen(bad[i]), NULL);
        is_int(away_read(a, dir, &out, NULL), -EINVAL, "a damaged file: %s", bad[i]);
    }
    away_remove(dir);
    is_int(away_until(dir), 0, "its end");
}

int main(void)
{
    char path[] = "/tmp/resume.XXXXXX";

    if (!mkdtemp(path))
        return 1;
    auto_close int dir = open(path, O_RDONLY | O_DIRECTORY);
    test_journal(dir);
    test_away(dir);
    (void)io_remove_tree(AT_FDCWD, path, NULL);
    return tap_done();
}
