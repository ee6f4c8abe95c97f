/* store.c - see store.h. The only file that knows SQLite.
 *
 * Not here: who decides what changes (daemon.c), the text of an event (journal/line.c).
 */
#include "daemon/store.h"

#include <fcntl.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

#define APPLICATION_ID 0x4d757374 /* "Must" */

enum change_kind { CHANGE_ADD, CHANGE_UPDATE, CHANGE_EVENT, CHANGE_REMOVE };

struct change {
    enum change_kind kind;
    int64_t number;
    struct stored job; /* ADD, UPDATE; its texts are heap */
    char *line;        /* EVENT */
    size_t len;
};

enum statement { ADD, UPDATE, EVENT, REMOVE, REMOVE_EVENTS, N_STATEMENTS };

static const char *const statements[N_STATEMENTS] = {
    [ADD] = "INSERT INTO job (number, id, name, dialect, queue, priority, paused, request, state, "
            "site, submitted, started, ended, outcome, exit_code, "
            "standing, turn, array, array_index) "
            "VALUES (?1,?2,?3,?4,?5,?6,?7,?8,?9,?10,?11,?12,?13,?14,?15,?16,?17,?18,?19)",
    [UPDATE] = "UPDATE job SET priority=?6, paused=?7, request=CASE ?9 WHEN 2 THEN '' ELSE request "
               "END, state=?9, site=?10, started=?12, ended=?13, outcome=?14, exit_code=?15, "
               "standing=?16, turn=?17 "
               "WHERE number=?1",
    [EVENT] = "INSERT INTO event (job, line) VALUES (?1, ?2)",
    [REMOVE] = "DELETE FROM job WHERE number=?1",
    [REMOVE_EVENTS] = "DELETE FROM event WHERE job=?1",
};

/* Each step makes the database of the version before it the next one. */
static const char *const migrations[STORE_VERSION] = {
    "CREATE TABLE job ("
    " number INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL UNIQUE, name TEXT NOT NULL,"
    " dialect TEXT NOT NULL, queue TEXT NOT NULL, priority INTEGER NOT NULL,"
    " paused INTEGER NOT NULL, request TEXT NOT NULL, state INTEGER NOT NULL, site TEXT NOT NULL,"
    " submitted INTEGER NOT NULL, started INTEGER NOT NULL, ended INTEGER NOT NULL,"
    " outcome TEXT NOT NULL, exit_code INTEGER NOT NULL) STRICT;"
    "CREATE TABLE event (n INTEGER PRIMARY KEY, job INTEGER NOT NULL, line TEXT NOT NULL) STRICT;"
    "CREATE INDEX event_job ON event (job, n);",
    "ALTER TABLE job ADD COLUMN standing INTEGER NOT NULL DEFAULT 0;"
    "ALTER TABLE job ADD COLUMN turn INTEGER NOT NULL DEFAULT 0;"
    "ALTER TABLE job ADD COLUMN array TEXT NOT NULL DEFAULT '';"
    "ALTER TABLE job ADD COLUMN array_index INTEGER NOT NULL DEFAULT 0;",
};

struct store {
    sqlite3 *db;
    sqlite3_stmt *stmts[N_STATEMENTS];
    struct change *v;
    size_t n, cap;
};

/* --- opening ---------------------------------------------------------------------------------- */

static int sqlite_errno(int code)
{
    switch (code & 0xff) {
    case SQLITE_FULL:
        return -ENOSPC;
    case SQLITE_READONLY:
    case SQLITE_PERM:
        return -EROFS;
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
        return -EBADMSG;
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
        return -EBUSY;
    default:
        return -EIO;
    }
}

static int db_error(struct store *s, const char *what, struct err *e)
{
    int code = sqlite3_extended_errcode(s->db);

    return err_set(e, sqlite_errno(code), "%s: %s", what, sqlite3_errmsg(s->db));
}

static int exec(struct store *s, const char *sql, const char *what, struct err *e)
{
    return sqlite3_exec(s->db, sql, NULL, NULL, NULL) == SQLITE_OK ? 0 : db_error(s, what, e);
}

static int64_t pragma(struct store *s, const char *sql)
{
    sqlite3_stmt *st = NULL;
    int64_t value = -1;

    if (sqlite3_prepare_v2(s->db, sql, -1, &st, NULL) == SQLITE_OK &&
        sqlite3_step(st) == SQLITE_ROW)
        value = sqlite3_column_int64(st, 0);
    (void)sqlite3_finalize(st);
    return value;
}

static int migrate(struct store *s, const char *path, struct err *e)
{
    int64_t version = pragma(s, "PRAGMA user_version"), id = pragma(s, "PRAGMA application_id");

    if (version < 0 || id < 0)
        return db_error(s, path, e);
    if ((id != 0 && id != APPLICATION_ID) || (id == 0 && version > 0))
        return err_set(e, -EBADMSG, "%s is not a database of muster", path);
    if (version > STORE_VERSION)
        return err_set(e, -EPROTO,
                       "%s has version %lld, this muster supports up to %d; use the muster that "
                       "wrote it, or a newer one",
                       path, (long long)version, STORE_VERSION);
    for (; version < STORE_VERSION; version++) {
        auto_strbuf struct strbuf sql = STRBUF_INIT;

        strbuf_addf(
            &sql, "BEGIN IMMEDIATE; %s PRAGMA user_version=%lld; PRAGMA application_id=%d; COMMIT",
            migrations[version], (long long)version + 1, APPLICATION_ID);
        int r = exec(s, sql.buf, path, e);
        if (r < 0)
            return r;
    }
    return 0;
}

static int check(struct store *s, const char *path, struct err *e)
{
    sqlite3_stmt *st = NULL;
    int r = sqlite3_prepare_v2(s->db, "PRAGMA quick_check(1)", -1, &st, NULL);
    const char *text = NULL;

    if (r == SQLITE_OK && sqlite3_step(st) == SQLITE_ROW)
        text = (const char *)sqlite3_column_text(st, 0);
    r = text && strcmp(text, "ok") == 0
            ? 0
            : err_set(e, -EBADMSG,
                      "%s is damaged: %s; move it away to start with an empty queue (run "
                      "directories are kept)",
                      path, text ? text : sqlite3_errmsg(s->db));
    (void)sqlite3_finalize(st);
    return r;
}

static int prepare(struct store *s, const char *path, struct err *e)
{
    for (size_t i = 0; i < N_STATEMENTS; i++)
        if (sqlite3_prepare_v3(s->db, statements[i], -1, SQLITE_PREPARE_PERSISTENT, &s->stmts[i],
                               NULL) != SQLITE_OK)
            return db_error(s, path, e);
    return 0;
}

int store_open(const char *path, struct store **ret, struct err *e)
{
    struct store *s = xcalloc(1, sizeof(*s));
    auto_close int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    int r = 0;

    if (fd < 0) { /* SQLite would make it readable by others */
        r = err_sys(e, -errno, "cannot open %s", path);
        store_close(s);
        return r;
    }
    if (sqlite3_open_v2(path, &s->db,
                        SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX,
                        NULL) != SQLITE_OK) {
        r = err_set(e, s->db ? sqlite_errno(sqlite3_errcode(s->db)) : -ENOMEM, "cannot open %s: %s",
                    path, s->db ? sqlite3_errmsg(s->db) : "out of memory");
        store_close(s);
        return r;
    }
    (void)sqlite3_busy_timeout(s->db, 2000);
    r = check(s, path, e);
    if (r == 0)
        r = exec(s, "PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL;", path, e);
    if (r == 0)
        r = migrate(s, path, e);
    if (r == 0)
        r = prepare(s, path, e);
    if (r < 0) {
        store_close(s);
        return r;
    }
    *ret = s;
    return 0;
}

static void change_release(struct change *c)
{
    free((void *)(uintptr_t)c->job.id);
    free((void *)(uintptr_t)c->job.name);
    free((void *)(uintptr_t)c->job.dialect);
    free((void *)(uintptr_t)c->job.queue);
    free((void *)(uintptr_t)c->job.request);
    free((void *)(uintptr_t)c->job.site);
    free((void *)(uintptr_t)c->job.outcome);
    free((void *)(uintptr_t)c->job.array);
    free(c->line);
}

static void clear(struct store *s)
{
    for (size_t i = 0; i < s->n; i++)
        change_release(&s->v[i]);
    s->n = 0;
}

void store_close(struct store *s)
{
    if (!s)
        return;
    for (size_t i = 0; i < N_STATEMENTS; i++)
        (void)sqlite3_finalize(s->stmts[i]);
    (void)sqlite3_close(s->db);
    clear(s);
    free(s->v);
    free(s);
}

/* --- reading ---------------------------------------------------------------------------------- */

static const char *text_of(sqlite3_stmt *st, int column)
{
    const char *text = (const char *)sqlite3_column_text(st, column);

    return text ? text : "";
}

int store_each(struct store *s, void (*fn)(void *ctx, const struct stored *job), void *ctx,
               struct err *e)
{
    static const char sql[] =
        "SELECT number, id, name, dialect, queue, priority, paused, request, state, site, "
        "submitted, started, ended, outcome, exit_code, standing, turn, array, array_index "
        "FROM job ORDER BY number";
    sqlite3_stmt *st = NULL;
    int r = sqlite3_prepare_v2(s->db, sql, -1, &st, NULL);

    while (r == SQLITE_OK || r == SQLITE_ROW) {
        r = sqlite3_step(st);
        if (r != SQLITE_ROW)
            break;
        fn(ctx, &(struct stored){.number = sqlite3_column_int64(st, 0),
                                 .id = text_of(st, 1),
                                 .name = text_of(st, 2),
                                 .dialect = text_of(st, 3),
                                 .queue = text_of(st, 4),
                                 .priority = sqlite3_column_int(st, 5),
                                 .paused = sqlite3_column_int(st, 6) != 0,
                                 .request = text_of(st, 7),
                                 .state = (enum stored_state)sqlite3_column_int(st, 8),
                                 .site = text_of(st, 9),
                                 .submitted = sqlite3_column_int64(st, 10),
                                 .started = sqlite3_column_int64(st, 11),
                                 .ended = sqlite3_column_int64(st, 12),
                                 .outcome = text_of(st, 13),
                                 .exit_code = sqlite3_column_int(st, 14),
                                 .standing = (enum stored_standing)sqlite3_column_int(st, 15),
                                 .turn = sqlite3_column_int64(st, 16),
                                 .array = text_of(st, 17),
                                 .array_index = sqlite3_column_int64(st, 18)});
    }
    r = r == SQLITE_DONE ? 0 : db_error(s, "cannot read the jobs of the database", e);
    (void)sqlite3_finalize(st);
    return r;
}

int store_events(struct store *s, int64_t number, struct strbuf *ret, struct err *e)
{
    sqlite3_stmt *st = NULL;
    int r =
        sqlite3_prepare_v2(s->db, "SELECT line FROM event WHERE job=?1 ORDER BY n", -1, &st, NULL);

    if (r == SQLITE_OK)
        r = sqlite3_bind_int64(st, 1, number);
    while (r == SQLITE_OK || r == SQLITE_ROW) {
        r = sqlite3_step(st);
        if (r == SQLITE_ROW)
            strbuf_add(ret, text_of(st, 0), (size_t)sqlite3_column_bytes(st, 0));
    }
    r = r == SQLITE_DONE ? 0 : db_error(s, "cannot read the events of a job", e);
    (void)sqlite3_finalize(st);
    return r;
}

int64_t store_last_number(const struct store *s)
{
    sqlite3_stmt *st = NULL;
    int64_t n = 0;

    if (sqlite3_prepare_v2(s->db, "SELECT seq FROM sqlite_sequence WHERE name='job'", -1, &st,
                           NULL) == SQLITE_OK &&
        sqlite3_step(st) == SQLITE_ROW)
        n = sqlite3_column_int64(st, 0);
    (void)sqlite3_finalize(st);
    return n;
}

/* --- changing --------------------------------------------------------------------------------- */

static struct change *add_change(struct store *s, enum change_kind kind, int64_t number)
{
    GROW(s->v, s->n, s->cap);
    s->v[s->n] = (struct change){.kind = kind, .number = number};
    return &s->v[s->n++];
}

static void keep_job(struct change *c, const struct stored *job)
{
    c->job = *job;
    c->job.id = xstrdup(job->id);
    c->job.name = xstrdup(job->name);
    c->job.dialect = xstrdup(job->dialect);
    c->job.queue = xstrdup(job->queue);
    c->job.request = xstrdup(c->kind == CHANGE_ADD ? job->request : "");
    c->job.site = xstrdup(job->site ? job->site : "");
    c->job.outcome = xstrdup(job->outcome ? job->outcome : "");
    c->job.array = xstrdup(job->array ? job->array : "");
}

void store_add(struct store *s, const struct stored *job)
{
    keep_job(add_change(s, CHANGE_ADD, job->number), job);
}

void store_update(struct store *s, const struct stored *job)
{
    keep_job(add_change(s, CHANGE_UPDATE, job->number), job);
}

void store_remove(struct store *s, int64_t number)
{
    (void)add_change(s, CHANGE_REMOVE, number);
}

void store_add_event(struct store *s, int64_t number, const char *line, size_t len)
{
    struct change *c = add_change(s, CHANGE_EVENT, number);

    c->line = xstrndup(line, len);
    c->len = len;
}

void store_forget(struct store *s, int64_t number)
{
    size_t kept = 0;

    for (size_t i = 0; i < s->n; i++) {
        if (s->v[i].number == number)
            change_release(&s->v[i]);
        else
            s->v[kept++] = s->v[i];
    }
    s->n = kept;
}

bool store_has_changes(const struct store *s)
{
    return s->n > 0;
}

/* The text of a request is that of many jobs of an array, up to its end. */
static bool bind_request(sqlite3_stmt *st, const struct stored *j)
{
    auto_strbuf struct strbuf whole = STRBUF_INIT;

    strbuf_addf(&whole, "%s%s", j->shared ? j->shared : "", j->request);
    return sqlite3_bind_text(st, 8, whole.buf, (int)whole.len, SQLITE_TRANSIENT) == SQLITE_OK;
}

static bool bind_job(sqlite3_stmt *st, const struct stored *j, bool all)
{
    const struct {
        int at;
        const char *text;
    } texts[] = {{2, j->id},    {3, j->name},     {4, j->dialect}, {5, j->queue},
                 {10, j->site}, {14, j->outcome}, {18, j->array}};
    const struct {
        int at;
        int64_t value;
    } numbers[] = {{1, j->number},     {6, j->priority}, {7, j->paused},      {9, j->state},
                   {11, j->submitted}, {12, j->started}, {13, j->ended},      {15, j->exit_code},
                   {16, j->standing},  {17, j->turn},    {19, j->array_index}};
    bool ok = !all || bind_request(st, j);

    for (size_t i = 0; i < ARRAY_SIZE(texts); i++) /* an UPDATE has no place for some of them */
        if (all || texts[i].at == 10 || texts[i].at == 14)
            ok &= sqlite3_bind_text(st, texts[i].at, texts[i].text, -1, SQLITE_STATIC) == SQLITE_OK;
    for (size_t i = 0; i < ARRAY_SIZE(numbers); i++)
        if (all || (numbers[i].at != 11 && numbers[i].at != 19))
            ok &= sqlite3_bind_int64(st, numbers[i].at, numbers[i].value) == SQLITE_OK;
    return ok;
}

static bool run_statement(sqlite3_stmt *st)
{
    bool ok = sqlite3_step(st) == SQLITE_DONE;

    (void)sqlite3_reset(st);
    (void)sqlite3_clear_bindings(st);
    return ok;
}

static bool remove_events(struct store *s, int64_t number)
{
    sqlite3_stmt *st = s->stmts[REMOVE_EVENTS];

    return sqlite3_bind_int64(st, 1, number) == SQLITE_OK && run_statement(st);
}

static bool write_change(struct store *s, const struct change *c)
{
    sqlite3_stmt *st;

    switch (c->kind) {
    case CHANGE_ADD:
    case CHANGE_UPDATE:
        st = s->stmts[c->kind == CHANGE_ADD ? ADD : UPDATE];
        return bind_job(st, &c->job, c->kind == CHANGE_ADD) && run_statement(st) &&
               (c->job.state != STORED_ENDED || remove_events(s, c->number));
    case CHANGE_EVENT:
        st = s->stmts[EVENT];
        return sqlite3_bind_int64(st, 1, c->number) == SQLITE_OK &&
               sqlite3_bind_text(st, 2, c->line, (int)c->len, SQLITE_STATIC) == SQLITE_OK &&
               run_statement(st);
    case CHANGE_REMOVE:
        st = s->stmts[REMOVE];
        return sqlite3_bind_int64(st, 1, c->number) == SQLITE_OK && run_statement(st) &&
               remove_events(s, c->number);
    }
    return true;
}

int store_commit(struct store *s, struct err *e)
{
    static const char what[] = "cannot write the database";

    if (s->n == 0)
        return 0;
    int r = exec(s, "BEGIN IMMEDIATE", what, e);
    for (size_t i = 0; i < s->n && r == 0; i++)
        if (!write_change(s, &s->v[i]))
            r = db_error(s, what, e);
    if (r == 0)
        r = exec(s, "COMMIT", what, e);
    if (r < 0) {
        (void)sqlite3_exec(s->db, "ROLLBACK", NULL, NULL, NULL); /* it may have been done already */
        return r;
    }
    clear(s);
    return 0;
}

/* --- the journal of a job --------------------------------------------------------------------- */

struct store_journal {
    struct journal journal;
    struct store *store;
    int64_t number;
    struct journal *copy;
};

static void journal_add_event(struct journal *jn, const struct job *job, const struct event *ev)
{
    struct store_journal *sj = (struct store_journal *)jn;
    auto_strbuf struct strbuf line = STRBUF_INIT;

    journal_line(&line, job, ev);
    store_add_event(sj->store, sj->number, line.buf, line.len);
    journal_add(sj->copy, job, ev);
}

/* The copy is for people and for other verbs: that it cannot be written stops nothing. */
static int journal_commit_all(struct journal *jn, struct err *e)
{
    struct store_journal *sj = (struct store_journal *)jn;
    int r = store_commit(sj->store, e);

    if (r == 0)
        (void)journal_commit(sj->copy, NULL);
    return r;
}

static void journal_close_copy(struct journal *jn)
{
    struct store_journal *sj = (struct store_journal *)jn;

    journal_close(sj->copy);
    free(sj);
}

struct journal *store_journal(struct store *s, int64_t number, struct journal *copy)
{
    static const struct journal_ops ops = {
        .add = journal_add_event, .commit = journal_commit_all, .close = journal_close_copy};
    struct store_journal *sj = xcalloc(1, sizeof(*sj));

    *sj = (struct store_journal){.journal.ops = &ops, .store = s, .number = number, .copy = copy};
    return &sj->journal;
}
