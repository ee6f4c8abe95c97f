/* story.c - the time line of made-up runs: who failed first, attempts, restarts, pauses, groups. */
#include "story/story.h"

#include <string.h>

#include "base/mem.h"
#include "base/tap.h"
#include "base/utf8.h"
#include "journal/journal.h"

static struct {
    struct arena *a;
    struct job_spec spec;
    struct role role;
    struct facts facts;
    struct plan plan;
    struct job *job;
    struct strbuf journal;
    ns_t now;
} t = {.journal = STRBUF_INIT};

static void end(void)
{
    job_free(t.job);
    arena_free(t.a);
    strbuf_release(&t.journal);
}

static void emit(struct event ev)
{
    ev.at = t.now;
    ev.end.at = t.now;
    journal_line(&t.journal, t.job, &ev);
    job_apply(t.job, &ev);
}

/* n workers with a rank each, which all have started after a second. */
static void begin(uint32_t n)
{
    static const struct job_rules rules = {.grace_ms = 1000, .start_timeout_ms = 1000};
    static const char *const argv[] = {"true", NULL};

    if (t.a)
        end();
    t.a = arena_new();
    t.role = (struct role){.name = "worker", .replicas = (int)n};
    t.spec = (struct job_spec){.name = "j", .roles = &t.role, .n_roles = 1};
    t.facts = (struct facts){.site.run_id = "id", .site.run_dir = "/r"};
    struct replica *replicas = ARENA_ARRAY(t.a, struct replica, n);
    struct process *processes = ARENA_ARRAY(t.a, struct process, n);
    for (uint32_t i = 0; i < n; i++) {
        replicas[i] = (struct replica){.id = i,
                                       .index = (int)i,
                                       .name = arena_printf(t.a, "worker-%u", i),
                                       .role = &t.role,
                                       .first_process = i,
                                       .n_processes = 1};
        processes[i] =
            (struct process){.id = i, .replica = i, .rank = (int)i, .argv = argv, .log = "x.log"};
    }
    t.plan = (struct plan){.spec = &t.spec,
                           .facts = &t.facts,
                           .replicas = replicas,
                           .n_replicas = n,
                           .processes = processes,
                           .n_processes = n,
                           .launcher = -1,
                           .world = (int)n};
    t.job = job_new(&t.plan, &rules);
    t.now = 1000 * NS_PER_S;
    emit((struct event){.type = EVENT_CREATED});
    for (uint32_t i = 0; i < n; i++) {
        emit((struct event){.type = EVENT_START, .process = i});
        emit((struct event){.type = EVENT_STARTED, .process = i});
    }
}

static void exits(uint32_t process, int code, int sig)
{
    emit((struct event){.type = EVENT_EXITED,
                        .process = process,
                        .end = {.known = true,
                                .code = sig ? -1 : code,
                                .signal = sig,
                                .max_rss = -1,
                                .memory_limit = -1,
                                .memory_peak = -1}});
}

static struct cause cause_of(uint32_t process)
{
    return (struct cause){.kind = CAUSE_EXIT,
                          .replica = (int)process,
                          .rank = (int)process,
                          .process = (int)process,
                          .launch = -1,
                          .end = {.at = t.now, .known = true, .code = 7, .max_rss = -1},
                          .exit_code = 7};
}

static const struct story *story(void)
{
    return story_make(t.a, t.job, t.journal.buf, t.journal.len);
}

static const char *text(int columns)
{
    struct strbuf out = STRBUF_INIT;

    story_text(story(), columns, &out);
    const char *kept = arena_strdup(t.a, out.buf);
    strbuf_release(&out);
    return kept;
}

static int widest(const char *s)
{
    int width = 0, most = 0;

    for (size_t i = 0, len = strlen(s), n; i < len; i += n) {
        uint32_t c;

        n = utf8_decode(s + i, len - i, &c);
        width = c == '\n' ? 0 : width + utf8_width(c);
        most = width > most ? width : most;
    }
    return most;
}

static const struct cause no_cause = {
    .replica = -1, .rank = -1, .process = -1, .launch = -1, .exit_code = 0};

/* The process fails, and the others are stopped because of it. */
static void fail(uint32_t process, uint32_t n)
{
    t.now += 10 * NS_PER_S;
    exits(process, 7, 0);
    emit((struct event){.type = EVENT_STOP, .stop = STOP_FAILURE, .stop_replica = -1});
    t.now += NS_PER_S;
    for (uint32_t i = 0; i < n; i++)
        if (i != process)
            exits(i, 0, 15);
}

static void test_failure(void)
{
    begin(4);
    fail(2, 4);
    emit((struct event){.type = EVENT_ENDED, .cause = cause_of(2), .stop_replica = -1});
    const struct story *s = story();
    is_int(s->n_rows, 4, "a row each");
    is_int(s->rows[2].spans[0].end, STORY_FAILED_FIRST, "who failed first");
    is_int(s->rows[0].spans[0].end, STORY_STOPPED, "who was stopped");
    is_str(s->first, "worker-2/2", "by name");
    is_int(s->n_stopped, 3, "because of it: how many");
    ok(s->ended, "it has ended");
    is_int((s->to - s->from) / NS_PER_S, 11, "after so long");
    const char *shown = text(80);
    has(shown, "worker-2/2          |", "its line");
    has(shown, "X   | exit 7, failed first\n", "its end is marked, before that of the others");
    has(shown, "worker-0/0 + 1 more |", "those that look the same are one line");
    has(shown, "=| SIGTERM, stopped\n", "how they ended");
    has(shown, "3 others were stopped because of worker-2/2", "and why");
    is_int(widest(shown) <= 80, 1, "within 80 columns");
    is_int(widest(text(60)) <= 60, 1, "and within 60");
}

static void test_attempts(void)
{
    begin(2);
    fail(1, 2);
    emit((struct event){.type = EVENT_ATTEMPT,
                        .attempt = 2,
                        .begin_at = t.now + 5 * NS_PER_S,
                        .retry = true,
                        .counted = true,
                        .cause = cause_of(1),
                        .stop_replica = -1});
    t.now += 6 * NS_PER_S;
    for (uint32_t i = 0; i < 2; i++) {
        emit((struct event){.type = EVENT_START, .process = i});
        emit((struct event){.type = EVENT_STARTED, .process = i});
    }
    t.now += 10 * NS_PER_S;
    exits(0, 0, 0);
    exits(1, 0, 0);
    emit((struct event){.type = EVENT_ENDED, .cause = no_cause, .stop_replica = -1});
    const struct story *s = story();
    is_int(s->n_attempts, 2, "two attempts");
    is_str(s->attempts[0].why, "worker-1/1: exit 7", "why the first one ended");
    is_str(s->attempts[1].why, "", "the second one succeeded");
    is_int(s->rows[1].n, 2, "a span each");
    ok(!s->first, "in the end nobody failed");
    const char *shown = text(80);
    has(shown, "attempt", "attempts have a line");
    has(shown, "1                    ", "with the first");
    has(shown, "X", "the failure of the first is marked");
    has(shown, "exit 0; 2 starts", "and the end is that of the second");
    has(shown, "attempt 1: worker-1/1: exit 7", "each failure is named");
}

static void test_pause(void)
{
    begin(2);
    t.now += 10 * NS_PER_S;
    emit((struct event){.type = EVENT_PAUSE});
    emit((struct event){.type = EVENT_STOP, .stop = STOP_PAUSE, .stop_replica = -1});
    exits(0, 0, 15);
    exits(1, 0, 15);
    emit((struct event){.type = EVENT_PAUSED, .cause = no_cause, .stop_replica = -1});
    t.now += 10 * NS_PER_S;
    emit((struct event){.type = EVENT_RESUME});
    t.now += 10 * NS_PER_S;
    const struct story *s = story();
    is_int(s->n_pauses, 1, "a pause");
    is_int((s->pauses[0].to - s->pauses[0].from) / NS_PER_S, 10, "as long as it was");
    has(text(80), "paused", "has a line");
    has(text(80), "---", "of its own");
}

static void test_many(void)
{
    begin(4096);
    fail(3000, 4096);
    emit((struct event){.type = EVENT_ENDED, .cause = cause_of(3000), .stop_replica = -1});
    const char *shown = text(80);
    int lines = 0;
    for (const char *p = shown; *p; p++)
        lines += *p == '\n';
    ok(lines < 10, "4,096 ranks in %d lines", lines);
    has(shown, "worker-3000/3000 ", "with the one that failed");
    has(shown, "worker-3001/3001 + 1094 more", "and how many the others are");
    has(shown, "4095 others were stopped because of worker-3000/3000", "all of them");

    begin(100); /* none looks like its neighbour */
    for (uint32_t i = 0; i < 100; i++) {
        t.now += NS_PER_S;
        exits(i, (int)(i % 2 ? 3 : 4), 0);
    }
    emit((struct event){.type = EVENT_ENDED, .cause = cause_of(90), .stop_replica = -1});
    shown = text(80);
    lines = 0;
    for (const char *p = shown; *p; p++)
        lines += *p == '\n';
    ok(lines <= 24, "a hundred that differ in %d lines", lines);
    has(shown, "worker-90/90 ", "the first failure among them");
    has(shown, "80 more", "and the number of the others");
}

static void test_broken(void)
{
    auto_free char *cut = NULL;

    begin(2);
    fail(0, 2);
    cut = xstrndup(t.journal.buf, t.journal.len / 2);
    const struct story *s = story_make(t.a, t.job, cut, strlen(cut));
    ok(!s->ended, "half a journal is half a story");
    s = story_make(t.a, t.job, "garbage\n{}\n", 11);
    is_int(s->n_rows, 0, "garbage is none");
    struct strbuf out = STRBUF_INIT;
    story_text(s, 80, &out);
    is_int(out.len, 0, "and has no text");
    strbuf_release(&out);
}

int main(void)
{
    test_failure();
    test_attempts();
    test_pause();
    test_many();
    test_broken();
    end();
    return tap_done();
}
