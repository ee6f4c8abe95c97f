/* store.c - what the system daemon must not forget: users, their jobs, and what was granted.
 *
 * A user's daemon has its own database, which says what its jobs are. This one says what they hold
 * of the machine: after a restart nobody else may say so. It is written without waiting for the
 * disk, because a machine that loses power has no jobs left.
 */
#include <fcntl.h>
#include <sqlite3.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "doc/json.h"
#include "doc/json_read.h"
#include "system/parts.h"

#define VERSION 1
#define APPLICATION_ID 1299542905 /* "Musy" */
#define TEXT_OF(x) #x
#define NUMBER(x) TEXT_OF(x)

enum statement { PUT_USER, PUT_JOB, DROP_JOB, N_STATEMENTS };

static const char *const statements[N_STATEMENTS] = {
    [PUT_USER] = "INSERT OR REPLACE INTO user VALUES (?1,?2,?3,?4)",
    [PUT_JOB] = "INSERT OR REPLACE INTO job VALUES (?1,?2,?3,?4,?5,?6,?7,?8)",
    [DROP_JOB] = "DELETE FROM job WHERE uid=?1 AND number=?2",
};

static const char schema[] =
    "BEGIN IMMEDIATE;"
    "CREATE TABLE user (uid INTEGER PRIMARY KEY, name TEXT NOT NULL, state_home TEXT NOT NULL,"
    " inherited TEXT NOT NULL) STRICT;"
    "CREATE TABLE job (uid INTEGER NOT NULL, number INTEGER NOT NULL, ord INTEGER NOT NULL,"
    " last_grant INTEGER NOT NULL, granted INTEGER NOT NULL, since INTEGER NOT NULL,"
    " gpus TEXT NOT NULL, line TEXT NOT NULL, PRIMARY KEY (uid, number)) STRICT, WITHOUT ROWID;"
    "PRAGMA user_version=" NUMBER(VERSION) "; PRAGMA application_id=" NUMBER(
        APPLICATION_ID) "; COMMIT";

struct sys_store {
    sqlite3 *db;
    sqlite3_stmt *stmts[N_STATEMENTS];
    bool open;   /* a transaction */
    bool failed; /* something of it could not be done */
};

/* --- opening ---------------------------------------------------------------------------------- */

static int db_error(struct sys_store *s, const char *what, struct err *e)
{
    return err_set(e, -EIO, "%s: %s", what, sqlite3_errmsg(s->db));
}

static bool exec(struct sys_store *s, const char *sql)
{
    return sqlite3_exec(s->db, sql, NULL, NULL, NULL) == SQLITE_OK;
}

static int64_t pragma(struct sys_store *s, const char *sql)
{
    sqlite3_stmt *st = NULL;
    int64_t value = -1;

    if (sqlite3_prepare_v2(s->db, sql, -1, &st, NULL) == SQLITE_OK &&
        sqlite3_step(st) == SQLITE_ROW)
        value = sqlite3_column_int64(st, 0);
    (void)sqlite3_finalize(st);
    return value;
}

static int prepare(struct sys_store *s, const char *path, struct err *e)
{
    if (!exec(s, "PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL"))
        return db_error(s, path, e);
    int64_t version = pragma(s, "PRAGMA user_version"), id = pragma(s, "PRAGMA application_id");
    if (version < 0 || id < 0)
        return db_error(s, path, e);
    if (version > VERSION)
        return err_set(e, -EPROTO, "%s has version %lld, this muster supports up to %d", path,
                       (long long)version, VERSION);
    if ((version > 0 && id != APPLICATION_ID) || (version == 0 && id != 0))
        return err_set(e, -EBADMSG, "%s is not a database of muster serve --system", path);
    if (version == 0 && !exec(s, schema))
        return db_error(s, path, e);
    for (size_t i = 0; i < N_STATEMENTS; i++)
        if (sqlite3_prepare_v3(s->db, statements[i], -1, SQLITE_PREPARE_PERSISTENT, &s->stmts[i],
                               NULL) != SQLITE_OK)
            return db_error(s, path, e);
    return 0;
}

int sys_store_open(const char *path, struct sys_store **ret, struct err *e)
{
    auto_close int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);

    if (fd < 0)
        return err_sys(e, -errno, "cannot open %s", path);
    struct sys_store *s = xcalloc(1, sizeof(*s));
    int r = sqlite3_open_v2(path, &s->db,
                            SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX,
                            NULL) == SQLITE_OK
                ? prepare(s, path, e)
                : db_error(s, path, e);
    if (r < 0) {
        sys_store_close(s);
        return r;
    }
    *ret = s;
    return 0;
}

void sys_store_close(struct sys_store *s)
{
    if (!s)
        return;
    for (size_t i = 0; i < N_STATEMENTS; i++)
        (void)sqlite3_finalize(s->stmts[i]);
    (void)sqlite3_close(s->db);
    free(s);
}

/* --- reading ---------------------------------------------------------------------------------- */

static const char *text_of(sqlite3_stmt *st, int column)
{
    const char *text = (const char *)sqlite3_column_text(st, column);

    return text ? text : "";
}

static void read_inherited(const char *text, struct inherited *ret)
{
    auto_arena struct arena *a = arena_new();
    const struct node *list = json_node(a, text, strlen(text));

    inherited_from_us(ret);
    ret->umask = 077;
    for (size_t i = 0; list && list->type == NODE_SEQ && i + 1 < list->n; i += 2)
        if (i / 2 < RLIM_NLIMITS && list->items[i]->type == NODE_INT &&
            list->items[i + 1]->type == NODE_INT)
            ret->limits[i / 2] =
                (struct rlimit){(rlim_t)list->items[i]->i, (rlim_t)list->items[i + 1]->i};
}

static void load_user(struct system *sys, sqlite3_stmt *st)
{
    struct user *u = user_get(sys, (uid_t)sqlite3_column_int64(st, 0));

    free(u->name);
    free(u->state_home);
    u->name = xstrdup(text_of(st, 1));
    u->state_home = xstrdup(text_of(st, 2));
    read_inherited(text_of(st, 3), &u->inherited);
}

static void load_job(struct system *sys, sqlite3_stmt *st)
{
    const struct job_entry kept = {.number = sqlite3_column_int64(st, 1),
                                   .order = (uint64_t)sqlite3_column_int64(st, 2),
                                   .grant = (uint64_t)sqlite3_column_int64(st, 3),
                                   .granted = sqlite3_column_int(st, 4) != 0,
                                   .since = sqlite3_column_int64(st, 5)};

    book_load(sys, (uid_t)sqlite3_column_int64(st, 0), text_of(st, 7), &kept, text_of(st, 6));
}

static int each(struct system *sys, const char *sql,
                void (*fn)(struct system *sys, sqlite3_stmt *st), struct err *e)
{
    struct sys_store *s = sys->store;
    sqlite3_stmt *st = NULL;
    int r = sqlite3_prepare_v2(s->db, sql, -1, &st, NULL);

    while (r == SQLITE_OK || r == SQLITE_ROW) {
        r = sqlite3_step(st);
        if (r == SQLITE_ROW)
            fn(sys, st);
    }
    r = r == SQLITE_DONE ? 0 : db_error(s, "cannot read the database", e);
    (void)sqlite3_finalize(st);
    return r;
}

int sys_store_load(struct system *sys, struct err *e)
{
    int r = each(sys, "SELECT uid, name, state_home, inherited FROM user", load_user, e);

    return r < 0 ? r
                 : each(sys,
                        "SELECT uid, number, ord, last_grant, granted, since, gpus, line FROM job "
                        "ORDER BY uid, number",
                        load_job, e);
}

/* --- writing ---------------------------------------------------------------------------------- */

static sqlite3_stmt *begin(struct sys_store *s, enum statement which)
{
    if (!s->open && !s->failed) {
        s->open = exec(s, "BEGIN IMMEDIATE");
        s->failed = !s->open;
    }
    (void)sqlite3_reset(s->stmts[which]);
    return s->stmts[which];
}

static void step(struct sys_store *s, sqlite3_stmt *st)
{
    if (s->open && sqlite3_step(st) != SQLITE_DONE)
        s->failed = true;
    (void)sqlite3_reset(st);
}

void sys_store_user(struct sys_store *s, const struct user *u)
{
    auto_strbuf struct strbuf limits = STRBUF_INIT;
    struct json j = JSON_COMPACT(&limits);
    sqlite3_stmt *st = begin(s, PUT_USER);

    json_array(&j);
    for (int i = 0; i < RLIM_NLIMITS; i++) { /* RLIM_INFINITY comes back as it was */
        json_int(&j, (int64_t)u->inherited.limits[i].rlim_cur);
        json_int(&j, (int64_t)u->inherited.limits[i].rlim_max);
    }
    json_end(&j);
    (void)sqlite3_bind_int64(st, 1, u->uid);
    (void)sqlite3_bind_text(st, 2, u->name, -1, SQLITE_STATIC);
    (void)sqlite3_bind_text(st, 3, u->state_home, -1, SQLITE_STATIC);
    (void)sqlite3_bind_text(st, 4, limits.buf, -1, SQLITE_STATIC);
    step(s, st);
}

void sys_store_job(struct sys_store *s, uid_t uid, const struct job_entry *j)
{
    auto_strbuf struct strbuf gpus = STRBUF_INIT;
    sqlite3_stmt *st = begin(s, PUT_JOB);

    book_put_gpus(j, &gpus);
    (void)sqlite3_bind_int64(st, 1, uid);
    (void)sqlite3_bind_int64(st, 2, j->number);
    (void)sqlite3_bind_int64(st, 3, (int64_t)j->order);
    (void)sqlite3_bind_int64(st, 4, (int64_t)j->grant);
    (void)sqlite3_bind_int(st, 5, j->granted);
    (void)sqlite3_bind_int64(st, 6, j->since);
    (void)sqlite3_bind_text(st, 7, gpus.buf, -1, SQLITE_STATIC);
    (void)sqlite3_bind_text(st, 8, j->line, -1, SQLITE_STATIC);
    step(s, st);
}

void sys_store_gone(struct sys_store *s, uid_t uid, int64_t number)
{
    sqlite3_stmt *st = begin(s, DROP_JOB);

    (void)sqlite3_bind_int64(st, 1, uid);
    (void)sqlite3_bind_int64(st, 2, number);
    step(s, st);
}

bool sys_store_commit(struct sys_store *s, struct err *e)
{
    bool fine = !s->failed;

    if (!fine)
        (void)db_error(s, "cannot write the database", e);
    if (s->open && !exec(s, "COMMIT")) {
        if (fine)
            (void)db_error(s, "cannot write the database", e);
        fine = false;
        (void)exec(s, "ROLLBACK");
    }
    s->open = s->failed = false;
    return fine;
}
