/* check_record.c - what is left of a run has to be enough to tell its story.
 *
 * The job is made again from its record and its journal, as `muster show` does it for a run whose
 * muster was killed, and both have to give the same report.
 */
#include <string.h>

#include "engine/sim/inside.h"
#include "job/report.h"
#include "job/snapshot.h"
#include "journal/journal.h"
#include "journal/record.h"

static void report_of(const struct job *job, struct strbuf *out)
{
    struct json j = JSON_COMPACT(out);

    report_write(job, &(struct report_context){.engine = "sim", .recorded = true}, &j);
}

void check_snapshot(struct sim *s)
{
    auto_strbuf struct strbuf mine = STRBUF_INIT, its = STRBUF_INIT;
    struct job *job = NULL;
    struct err e;

    if (job_load(s->plan, s->rules, s->snapshot.buf, s->snapshot.len, &job, &e) < 0) {
        sim_break(s, "the snapshot cannot be read back: %s", e.text);
        return;
    }
    const char *field = sim_difference(s->job, job);
    if (field)
        sim_break(s, "the snapshot has another %s", field);
    report_of(s->job, &mine);
    report_of(job, &its);
    if (strcmp(mine.buf, its.buf) != 0)
        sim_break(s, "the snapshot gives another report");
    job_free(job);
}

void check_record(struct sim *s)
{
    auto_arena struct arena *a = arena_new();
    auto_strbuf struct strbuf record = STRBUF_INIT, mine = STRBUF_INIT, its = STRBUF_INIT;
    const struct plan *plan;
    struct job_rules rules;
    struct err e;
    size_t len;

    record_write(&record, s->plan, s->rules);
    if (record_read(a, record.buf, record.len, &plan, &rules, &e) < 0) {
        sim_break(s, "the record cannot be read back: %s", e.text);
        return;
    }
    struct job *job = job_new(plan, &rules);
    if (journal_replay(job, s->journal.buf, s->journal.len, &len, &e) < 0) {
        sim_break(s, "the journal does not fit the record: %s", e.text);
    } else {
        const char *field = sim_difference(s->job, job);
        if (field)
            sim_break(s, "made again from its record the job has another %s", field);
        report_of(s->job, &mine);
        report_of(job, &its);
        if (!*s->result->broken && strcmp(mine.buf, its.buf) != 0) {
            size_t i = 0;
            while (mine.buf[i] == its.buf[i])
                i++;
            sim_break(s, "its record gives another report: %.40s",
                      mine.buf + (i > 20 ? i - 20 : 0));
        }
    }
    job_free(job);
}
