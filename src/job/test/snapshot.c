/* A job is saved and loaded at every step of some plays; whatever becomes of the text, what is
 * loaded of it can be told. That nothing is forgotten is the simulation's to find. */
#include "job/report.h"
#include "job/snapshot.h"
#include "job/test/stage.h"

static void report_text(const struct job *job, struct strbuf *out)
{
    struct json j = JSON_COMPACT(out);

    strbuf_truncate(out, 0);
    report_write(job, &(struct report_context){.engine = "sim", .recorded = true}, &j);
}

/* One attempt that failed, a restart, a pause, a replica that waits. */
static void perform(struct stage *st)
{
    stage_cast(st, "worker 2 0 0 2", PLATFORM_OPENPAI);
    st->spec.gang = true;
    st->spec.retry = (struct retry_policy){.max = 2};
    stage_begin(st);
    stage_play(st, "worker-0.1=3@5");
    stage_up(st, 8 * NS_PER_S);
    (void)stage_report(
        st, &(struct observation){.kind = OBS_UNKNOWN, .replica = 1, .at = 9 * NS_PER_S});
    (void)stage_turns(st, "worker-1.0=s9@10");
}

static void test_again(void)
{
    auto_strbuf struct strbuf text = STRBUF_INIT, again = STRBUF_INIT, one = STRBUF_INIT,
                              two = STRBUF_INIT;
    struct job *job = NULL;
    struct stage st;
    struct err e = {.text = ""};

    perform(&st);
    job_save(st.job, &text);
    is_int(job_load(&st.plan, &stage_rules, text.buf, text.len, &job, &e), 0, "a job is loaded");
    if (!job) {
        tap_diag("%s", e.text);
        return;
    }
    job_save(job, &again);
    is_str(again.buf, text.buf, "and saved again, it gives the same text");
    report_text(st.job, &one);
    report_text(job, &two);
    is_str(two.buf, one.buf, "its report is the same");
    is_int((int)job->n_past, 1, "the attempt before is there");
    is_int(job->past[0].cause.exit_code, 3, "with its cause");
    job_free(job);
    stage_free(&st);
}

static void test_refused(void)
{
    auto_strbuf struct strbuf text = STRBUF_INIT;
    struct stage st;
    struct job *job;
    struct err e;

    perform(&st);
    job_save(st.job, &text);
    static const struct {
        const char *name, *text;
    } rows[] = {
        {"nothing", ""},
        {"no JSON", "x\n"},
        {"no version", "{\"process\":0}\n"},
        {"another version", "{\"snapshot\":2}\n"},
        {"a process too many", "{\"snapshot\":1}\n{\"process\":4}\n"},
        {"a rank of no launch", "{\"snapshot\":1}\n{\"rank\":0}\n"},
        {"a launch out of turn", "{\"snapshot\":1}\n{\"launch\":1}\n"},
        {"a replica too many", "{\"snapshot\":1}\n{\"replica\":2,\"gate\":0}\n"},
        {"a role too many", "{\"snapshot\":1}\n{\"role_killed\":1}\n"},
        {"a cause that is nobody", "{\"snapshot\":1,\"phase\":6,\"cause\":{\"kind\":\"exit\"}}\n"},
        {"an end without a cause", "{\"snapshot\":1,\"phase\":6}\n"},
        {"a state that there is not", "{\"snapshot\":1,\"phase\":7}\n"},
        {"a line that is cut", "{\"snapshot\":1}\n{\"process\":0"},
    };
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
        is_int(job_load(&st.plan, &stage_rules, rows[i].text, strlen(rows[i].text), &job, &e),
               -EINVAL, "refused: %s", rows[i].name);
    stage_free(&st);
}

static void test_damaged(void)
{
    auto_strbuf struct strbuf text = STRBUF_INIT, out = STRBUF_INIT;
    static const char bytes[] = "09-\"]}{x";
    int good = 0, refused = 0;
    struct stage st;

    perform(&st);
    job_save(st.job, &text);
    for (size_t i = 0; i < text.len; i++)
        for (size_t k = 0; k < sizeof(bytes) - 1; k++) {
            char was = text.buf[i];
            struct job *job = NULL;
            struct err e;

            text.buf[i] = bytes[k];
            if (job_load(&st.plan, &stage_rules, text.buf, text.len, &job, &e) == 0) {
                report_text(job, &out);
                good++;
                job_free(job);
            } else {
                refused++;
            }
            text.buf[i] = was;
        }
    ok(good > 0 && refused > 0, "%d damaged snapshots were refused, %d could be told", refused,
       good);
    stage_free(&st);
}

int main(void)
{
    test_again();
    test_refused();
    test_damaged();
    return tap_done();
}
