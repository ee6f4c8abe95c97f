/* What a person at the terminal is told while a job goes on, event by event. */
#include "foreground/news.h"

#include "job/test/stage.h"

/* The news of every event of a play, one line each. Events are applied once more, one by one,
 * because news are about the state right after an event. */
static char *news_of_play(const char *cast, const char *play, bool hold, bool pause,
                          enum restart_policy restart)
{
    struct job_rules rules = stage_rules;
    struct strbuf all = STRBUF_INIT;
    struct stage st;

    stage_cast(&st, cast, PLATFORM_MUSTER);
    st.spec.pause = pause;
    st.roles[0].restart = restart;
    st.roles[0].restart_limit = 1;
    rules.hold = hold;
    st.job = job_new(&st.plan, &rules);
    struct event created = {.type = EVENT_CREATED, .at = NS_PER_S};
    stage_apply(&st, &(struct events){.v = &created, .n = 1});
    stage_decide(&st, NS_PER_S);
    stage_up(&st, NS_PER_S);
    stage_play(&st, play);

    struct job *again = job_new(&st.plan, &rules);
    for (size_t i = 0; i < st.all.n; i++) {
        auto_strbuf struct strbuf line = STRBUF_INIT;

        job_apply(again, &st.all.v[i]);
        news_of(again, &st.all.v[i], &line);
        if (line.len > 0)
            strbuf_addf(&all, "%s\n", line.buf);
    }
    job_free(again);
    stage_free(&st);
    return strbuf_detach(&all);
}

int main(void)
{
    static const struct {
        const char *name, *play;
        bool hold, pause;
        enum restart_policy restart;
        const char *says[2]; /* in this order; NULL: nothing more */
    } rows[] = {
        {"a success", "w-0=0@5 w-1=0@6", false, false, RESTART_NEVER, {NULL}},
        {"a failure is the verdict's", "w-0=3@5", false, false, RESTART_NEVER, {NULL}},
        {"a restart", "w-0=3@5", false, false, RESTART_ON_FAILURE, {"w-0", "start"}},
        {"a failure that is held",
         "w-0=3@5",
         true,
         false,
         RESTART_NEVER,
         {"w-0 exited with status 3", "muster exec id w-0 -- sh"}},
        {"a pause", "pause@5 down@6", false, false, RESTART_NEVER, {"paused", "muster resume id"}},
        {"a job that begins paused",
         "wait@5",
         false,
         true,
         RESTART_NEVER,
         {"the job starts paused", "muster resume id"}},
        {"resumed",
         "pause@5 down@6 resume@7",
         false,
         false,
         RESTART_NEVER,
         {"muster resume id", "resumed: attempt 2 begins"}},
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        auto_free char *news =
            news_of_play("w 2 0 0", rows[i].play, rows[i].hold, rows[i].pause, rows[i].restart);
        const char *from = news;

        if (!rows[i].says[0])
            is_str(news, "", "%s: nothing is told", rows[i].name);
        for (size_t k = 0; k < 2 && rows[i].says[k]; k++) {
            has(from, rows[i].says[k], "%s: what is told, %zu", rows[i].name, k);
            from = strstr(from, rows[i].says[k]) ? strstr(from, rows[i].says[k]) : from;
        }
    }
    return tap_done();
}
