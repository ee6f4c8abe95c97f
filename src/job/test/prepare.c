/* --start-timeout covers init containers: a process whose replica is still at them has not started.
 */
#include "base/cleanup.h"
#include "job/test/stage.h"
#include "job/verdict.h"

static const struct init_command inits[] = {{.name = "fetch"}};

/* Both were asked for, and nothing has started. */
static void begin(struct stage *st)
{
    struct event created = {.type = EVENT_CREATED, .at = NS_PER_S, .random = 4711};

    stage_cast(st, "a 1 0 0, b 1 0 0", PLATFORM_MUSTER);
    st->roles[1].init = inits;
    st->roles[1].n_init = 1;
    st->job = job_new(&st->plan, &stage_rules);
    stage_apply(st, &(struct events){.v = &created, .n = 1});
    stage_decide(st, NS_PER_S);
    stage_report(st, &(struct observation){.kind = OBS_STARTED, .process = 0, .at = NS_PER_S});
}

static void test_hangs(void)
{
    auto_strbuf struct strbuf text = STRBUF_INIT;
    struct stage st;
    struct ending killed = {.known = true, .code = -1, .signal = SIGTERM, .init = "fetch"};

    begin(&st);
    is_int(job_wake(st.job), 601 * NS_PER_S, "asked again when the time is over");
    stage_decide(&st, 600 * NS_PER_S);
    is_str(st.decisions, "ss", "not before");
    stage_decide(&st, 601 * NS_PER_S);
    is_str(st.decisions, "ssT", "then it is stopped");
    is_int(st.job->stop_replica, 1, "because of the replica that is not ready");
    for (uint32_t i = 0; i < 2; i++)
        stage_report(
            &st,
            &(struct observation){
                .kind = OBS_EXITED,
                .process = i,
                .at = 602 * NS_PER_S,
                .end = i ? killed : (struct ending){.known = true, .code = -1, .signal = SIGTERM}});
    stage_decide(&st, 602 * NS_PER_S);
    verdict_sentence(st.job, &text);
    is_str(text.buf,
           "failed: init container fetch of b-0 did not end within 10 min 0 s (--start-timeout)",
           "the init container is named");
    is_int(st.job->exit_code, 125, "125");
    stage_free(&st);
}

static void test_starts(void)
{
    struct stage st;

    begin(&st);
    stage_report(&st, &(struct observation){.kind = OBS_STARTED, .process = 1, .at = 5 * NS_PER_S});
    stage_decide(&st, 700 * NS_PER_S);
    is_str(st.decisions, "ss", "one that has started runs on");
    stage_free(&st);
    stage_cast(&st, "a 1 0 0, b 1 0 0", PLATFORM_MUSTER);
    stage_begin(&st);
    stage_decide(&st, 700 * NS_PER_S);
    is_str(st.decisions, "ss", "without init containers there is no such time");
    stage_free(&st);
}

int main(void)
{
    test_hangs();
    test_starts();
    return tap_done();
}
