/* Who left with 0 while others needed it, and when that is told before the first failure. */
#include "job/early.h"
#include "base/cleanup.h"
#include "base/mem.h"
#include "job/test/stage.h"

static const char *const closed[] = {"Traceback (most recent call last):",
                                     "[rank0]: RuntimeError: Connection closed by peer. Look there",
                                     NULL};
static const char *const reset[] = {"ConnectionResetError: [Errno 104] reset by peer", NULL};
static const char *const library[] = {
    "redis.exceptions.ConnectionError: (104, 'Connection reset by peer')", NULL};
static const char *const database[] = {
    "psycopg2.OperationalError: 127.1.0.51:5432, own host w-host-0: connection reset by peer",
    NULL};
static const char *const address[] = {"OSError: 127.1.0.5:41: connection reset by peer", NULL};
static const char *const host[] = {"OSError: (w-host-3): connection reset by peer", NULL};
static const char *const by_rank[] = {"lost the connection to peer 3", NULL};
static const char *const other_rank[] = {"lost the connection to peer 31", NULL};
static const char *const own[] = {"ValueError: bad batch", NULL};

static const struct {
    const char *play;
    const char *const *tail;
    const char *other;
    const char *before, *says, *aside;
} rows[] = {
    {"w-3=0@3 w-0=1@5 down@6", closed, "",
     "rank 3 on w-3 ended with status 0 after 2.0 s while ranks 0 to 2 were still running",
     "RuntimeError: Connection closed by peer", ""},
    {"w-0=0@3 w-2=0@4 w-3=1@5 down@6", closed, NULL,
     "rank 0 on w-0 and 1 more ended with status 0 after 2.0 s while ranks 1 to 3 were still "
     "running",
     "RuntimeError: Connection closed by peer", ""},
    {"w-1=0@3 w-2=0@3 w-0=0@4 w-3=1@5 down@6", closed, "",
     "rank 1 on w-1 and 2 more ended with status 0 after 2.0 s while ranks 0 and 3 were still "
     "running",
     "RuntimeError: Connection closed by peer", ""},
    {"w-0=1@5+w-3=0@5 down@6", closed, "",
     "rank 3 on w-3 ended with status 0 after 4.0 s while ranks 0 to 2 were still running",
     "RuntimeError: Connection closed by peer", ""},
    {"w-3=0@3 w-0=1@5 down@6", own, "", "", "",
     "rank 3 on w-3 had already ended with status 0 after 2.0 s"},
    {"w-3=0@3 w-0=1@5 down@6", closed, "rank 1 on w-1 says: ValueError: x", "", "",
     "rank 3 on w-3 had already ended with status 0 after 2.0 s"},
    {"w-3=0@3 w-0=1@5 down@6", closed, "rank 3 on w-3 says: ValueError: x",
     "rank 3 on w-3 ended with status 0 after 2.0 s while ranks 0 to 2 were still running",
     "RuntimeError: Connection closed by peer", ""},
    {"w-3=0@3 w-0=s13@5 down@6", NULL, "",
     "rank 3 on w-3 ended with status 0 after 2.0 s while ranks 0 to 2 were still running", "", ""},
    {"w-3=0@3 w-0=1@5 down@6", reset, "",
     "rank 3 on w-3 ended with status 0 after 2.0 s while ranks 0 to 2 were still running",
     "ConnectionResetError: [Errno 104] reset by peer", ""},
    {"w-3=0@3 w-0=1@5 down@6", library, "", "",
     "redis.exceptions.ConnectionError: (104, 'Connection reset by peer')",
     "rank 3 on w-3 had already ended with status 0 after 2.0 s"},
    {"w-3=0@3 w-0=1@5 down@6", database, "", "",
     "psycopg2.OperationalError: 127.1.0.51:5432, own host w-host-0: connection reset by peer",
     "rank 3 on w-3 had already ended with status 0 after 2.0 s"},
    {"w-3=0@3 w-0=1@5 down@6", address, "",
     "rank 3 on w-3 ended with status 0 after 2.0 s while ranks 0 to 2 were still running",
     "OSError: 127.1.0.5:41: connection reset by peer", ""},
    {"w-3=0@3 w-0=1@5 down@6", host, "",
     "rank 3 on w-3 ended with status 0 after 2.0 s while ranks 0 to 2 were still running",
     "OSError: (w-host-3): connection reset by peer", ""},
    {"w-3=0@3 w-0=1@5 down@6", by_rank, "",
     "rank 3 on w-3 ended with status 0 after 2.0 s while ranks 0 to 2 were still running",
     "lost the connection to peer 3", ""},
    {"w-3=0@3 w-0=1@5 down@6", other_rank, "", "", "lost the connection to peer 31",
     "rank 3 on w-3 had already ended with status 0 after 2.0 s"},
    {"w-0=1@5 w-3=0@5 down@6", reset, "",
     "rank 3 on w-3 was ending with status 0 while ranks 0 to 2 were still running",
     "ConnectionResetError: [Errno 104] reset by peer", ""},
    {"w-0=1@5 w-3=0@5 down@6", library, "", "",
     "redis.exceptions.ConnectionError: (104, 'Connection reset by peer')",
     "rank 3 on w-3 was ending with status 0 at that time"},
    {"w-0=1@5 down@6", closed, "", "", "", ""},
    {"w-0=1@5 w-3=0@6 down@7", closed, "", "", "", ""}, /* it was stopped */
    {"w-0=1@5 w-3=0@5 down@6", closed, "",
     "rank 3 on w-3 was ending with status 0 while ranks 0 to 2 were still running",
     "RuntimeError: Connection closed by peer", ""},
    {"w-0=1@5 w-3=0@5 down@6", own, "", "", "", ""},
    {"w-0=1@5 w-3=0@5 w-1=0@5 down@6", closed, "", "", "", ""}, /* SIGTERM is trapped */
    {"w-3=0@3 cancel@5 down@6", closed, "", "", "", ""},
};

static void play(struct stage *st, const char *cast, bool ranks, const char *words)
{
    stage_cast(st, cast, PLATFORM_MUSTER);
    for (uint32_t i = 0; ranks && i < st->plan.n_processes; i++)
        st->processes[i].rank = (int32_t)i;
    stage_begin(st);
    stage_play(st, words);
}

static void test_ranks(void)
{
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        auto_strbuf struct strbuf before = STRBUF_INIT, says = STRBUF_INIT, aside = STRBUF_INIT;
        struct stage st;

        play(&st, "w 4 0 0", true, rows[i].play);
        struct early early = early_find(st.job, rows[i].tail, rows[i].other);
        early_before(st.job, &early, &before);
        early_says(&early, &says);
        early_aside(st.job, &early, &aside);
        is_str(before.buf, rows[i].before, "%s: before", rows[i].play);
        is_str(says.buf, rows[i].says, "%s: says", rows[i].play);
        is_str(aside.buf, rows[i].aside, "%s: aside", rows[i].play);
        stage_free(&st);
    }
}

/* A role that prepares something ends first: only a framework makes one world of several roles. */
static void test_roles(void)
{
    for (int torch = 0; torch < 2; torch++) {
        auto_strbuf struct strbuf before = STRBUF_INIT;
        struct stage st;

        stage_cast(&st, "prep 1 0 0, w 2 0 0", PLATFORM_MUSTER);
        st.spec.framework = torch ? FRAMEWORK_PYTORCH : FRAMEWORK_NONE;
        stage_begin(&st);
        stage_play(&st, "prep-0=0@3 w-0=1@5 down@6");
        struct early early = early_find(st.job, closed, "");
        early_before(st.job, &early, &before);
        is_str(before.buf,
               torch ? "prep-0 ended with status 0 after 2.0 s while w-0, w-1 were still running"
                     : "",
               "another role, framework %s", framework_name(st.spec.framework));
        stage_free(&st);
    }
}

int main(void)
{
    test_ranks();
    test_roles();
    return tap_done();
}
