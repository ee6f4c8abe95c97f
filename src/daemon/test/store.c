/* store.c - what is committed is there again; what fails changes nothing; newer and damaged files
 * are refused. */
#include "daemon/store.h"

#include <fcntl.h>
#include <sqlite3.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/io.h"
#include "base/tap.h"

static char dir[] = "/tmp/muster-store.XXXXXX";
static char path[64];
static struct strbuf seen = STRBUF_INIT;

static void see(void *ctx, const struct stored *j)
{
    (void)ctx;
    strbuf_addf(&seen, "%lld:%s:%d:%d:%s:%s:%d ", (long long)j->number, j->id, j->priority,
                (int)j->state, j->request, j->outcome, j->exit_code);
}

static void see_new(void *ctx, const struct stored *j)
{
    (void)ctx;
    if (j->number == 7)
        strbuf_truncate(&seen, 0);
    strbuf_addf(&seen, "%lld:%d:%lld:%s:%lld ", (long long)j->number, (int)j->standing,
                (long long)j->turn, j->array, (long long)j->array_index);
}

static const char *jobs(struct store *s)
{
    strbuf_truncate(&seen, 0);
    (void)store_each(s, see, NULL, NULL);
    return seen.buf;
}

static struct stored job(int64_t number, const char *id)
{
    return (struct stored){.number = number,
                           .id = id,
                           .name = "n",
                           .dialect = "d",
                           .queue = "q",
                           .priority = 50,
                           .request = "{}",
                           .site = "",
                           .outcome = "",
                           .exit_code = -1};
}

/* As version 1 made it. */
static void old_version(void)
{
    static const char sql[] =
        "CREATE TABLE job ("
        " number INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL UNIQUE, name TEXT NOT NULL,"
        " dialect TEXT NOT NULL, queue TEXT NOT NULL, priority INTEGER NOT NULL,"
        " paused INTEGER NOT NULL, request TEXT NOT NULL, state INTEGER NOT NULL, site TEXT NOT "
        "NULL, submitted INTEGER NOT NULL, started INTEGER NOT NULL, ended INTEGER NOT NULL,"
        " outcome TEXT NOT NULL, exit_code INTEGER NOT NULL) STRICT;"
        "CREATE TABLE event (n INTEGER PRIMARY KEY, job INTEGER NOT NULL, line TEXT NOT NULL) "
        "STRICT; CREATE INDEX event_job ON event (job, n);"
        "INSERT INTO job VALUES (7,'old','n','d','q',60,0,'{}',1,'{}',1,2,0,'',-1);"
        "INSERT INTO event (job, line) VALUES (7, 'line');"
        "PRAGMA user_version=1; PRAGMA application_id=1299542900;";
    char old[96];
    sqlite3 *db = NULL;
    struct store *s = NULL;
    auto_strbuf struct strbuf events = STRBUF_INIT;
    struct err e;

    (void)snprintf(old, sizeof(old), "%s/old.db", dir);
    ok(sqlite3_open(old, &db) == SQLITE_OK && sqlite3_exec(db, sql, NULL, NULL, NULL) == SQLITE_OK,
       "a database of version 1");
    (void)sqlite3_close(db);
    is_int(store_open(old, &s, &e), 0, "is migrated");
    is_str(jobs(s), "7:old:60:1:{}::-1 ", "with its jobs");
    is_int(store_events(s, 7, &events, &e), 0, "and their events");
    is_str(events.buf, "line", "as they were");
    struct stored j = job(8, "new");
    j.array = "first";
    j.array_index = 3;
    store_add(s, &j);
    j.standing = STANDING_RELEASED;
    j.turn = 12;
    store_update(s, &j);
    is_int(store_commit(s, &e), 0, "jobs of today are added");
    store_close(s);
    is_int(store_open(old, &s, &e), 0, "it is opened again");
    (void)store_each(s, see_new, NULL, NULL);
    is_str(seen.buf, "7:0:0::0 8:2:12:first:3 ", "with all columns");
    store_close(s);
    (void)unlink(old);
}

static void overwrite(const char *bytes, size_t n, off_t at)
{
    auto_close int fd = open(path, O_WRONLY | O_CLOEXEC);

    ok(fd >= 0 && pwrite(fd, bytes, n, at) == (ssize_t)n, "the file is changed");
}

static void keeps(void)
{
    struct store *s = NULL;
    struct stored a = job(1, "a"), b = job(2, "b");
    auto_strbuf struct strbuf events = STRBUF_INIT;
    struct stat st;
    struct err e;

    is_int(store_open(path, &s, &e), 0, "a new database");
    ok(stat(path, &st) == 0 && (st.st_mode & 0777) == 0600, "that nobody else can read");
    store_add(s, &a);
    store_add(s, &b);
    store_add_event(s, 1, "one\n", 4);
    ok(store_has_changes(s), "changes wait");
    is_str(jobs(s), "", "and are not there before the commit");
    is_int(store_commit(s, &e), 0, "commit");
    ok(!store_has_changes(s), "none is left");
    store_add_event(s, 1, "two\n", 4);
    store_add_event(s, 2, "other\n", 6);
    is_int(store_commit(s, &e), 0, "another");
    store_close(s);

    is_int(store_open(path, &s, &e), 0, "opened again");
    is_str(jobs(s), "1:a:50:0:{}::-1 2:b:50:0:{}::-1 ", "both are there");
    is_int(store_events(s, 1, &events, &e), 0, "events");
    is_str(events.buf, "one\ntwo\n", "of the one job, in order");

    a.state = STORED_ENDED;
    a.outcome = "failed";
    a.exit_code = 7;
    store_update(s, &a);
    store_remove(s, 2);
    is_int(store_commit(s, &e), 0, "one has ended, one is removed");
    is_str(jobs(s), "1:a:50:2::failed:7 ", "its outcome is kept, its request is not");
    strbuf_truncate(&events, 0);
    (void)store_events(s, 1, &events, &e);
    is_str(events.buf, "", "nor are its events");
    is_int(store_last_number(s), 2, "numbers are not given twice");
    store_close(s);
}

/* Two jobs with one id cannot be: a commit that fails, whatever the reason. */
static void fails(void)
{
    struct store *s = NULL;
    struct stored c = job(3, "c"), again = job(4, "c");
    struct err e;

    is_int(store_open(path, &s, &e), 0, "open");
    store_add(s, &c);
    store_add(s, &again);
    ok(store_commit(s, &e) < 0, "a commit that fails: %s", e.text);
    is_str(jobs(s), "1:a:50:2::failed:7 ", "changes nothing");
    ok(store_has_changes(s), "and keeps the changes");
    store_forget(s, 4);
    is_int(store_commit(s, &e), 0, "without the bad one it succeeds");
    is_str(jobs(s), "1:a:50:2::failed:7 3:c:50:0:{}::-1 ", "with the other");
    store_close(s);
}

static void refuses(void)
{
    struct store *s = NULL;
    struct err e;

    overwrite("\0\0\0\x63", 4, 60); /* user_version 99 */
    is_int(store_open(path, &s, &e), -EPROTO, "a newer database");
    ok(strstr(e.text, "has version 99, this muster supports up to 2") != NULL, "%s", e.text);
    overwrite("\0\0\0\x02", 4, 60);
    overwrite("abcd", 4, 68);
    is_int(store_open(path, &s, &e), -EBADMSG, "that of another program: %s", e.text);
    overwrite("Must", 4, 68);
    is_int(store_open(path, &s, &e), 0, "as it was");
    store_close(s);
    overwrite("this is no database at all", 26, 0);
    is_int(store_open(path, &s, &e), -EBADMSG, "one that is damaged: %s", e.text);
}

int main(void)
{
    ok(mkdtemp(dir) != NULL, "a directory");
    (void)snprintf(path, sizeof(path), "%s/jobs.db", dir);
    keeps();
    old_version();
    fails();
    refuses();
    (void)io_remove_tree(AT_FDCWD, dir, NULL);
    strbuf_release(&seen);
    return tap_done();
}
