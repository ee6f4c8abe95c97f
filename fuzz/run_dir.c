/* run_dir.c - fuzzes what is read from a run directory: the record of a job, its journal, a
 * snapshot.
 *
 * The input is the record, an empty line, the journal, and if there is another empty line, a
 * snapshot. Whatever they say: no crash, no leak; what can be folded can be told, saved and loaded
 * again. */
#include <string.h>

#include "common.h"
#include "job/report.h"
#include "job/snapshot.h"
#include "journal/journal.h"
#include "journal/record.h"

struct part {
    const char *text;
    size_t len;
};

static struct part next_part(struct part *rest)
{
    const char *end = rest->len ? memmem(rest->text, rest->len, "\n\n", 2) : NULL;
    struct part p = {rest->text, end ? (size_t)(end - rest->text) + 1 : rest->len};

    rest->text += p.len + (end != NULL);
    rest->len -= p.len + (end != NULL);
    return p;
}

static void tell(const struct job *job)
{
    auto_strbuf struct strbuf sb = STRBUF_INIT;
    struct json j = JSON_COMPACT(&sb);

    report_write(job, &(struct report_context){.engine = "local", .recorded = true, .killed = true},
                 &j);
    MUST(sb.len > 0);
}

static void check_saved(const struct job *job, const struct job_rules *rules)
{
    auto_strbuf struct strbuf sb = STRBUF_INIT;
    struct job *again = NULL;
    struct err e;

    job_save(job, &sb);
    MUST(job_load(job->plan, rules, sb.buf, sb.len, &again, &e) == 0);
    tell(again);
    job_free(again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    auto_arena struct arena *a = arena_new();
    struct part rest = {(const char *)data, size};
    struct part record = next_part(&rest), journal = next_part(&rest);
    const struct plan *plan;
    struct job_rules rules;
    struct job *job, *loaded = NULL;
    struct err e;
    size_t len;

    if (record_read(a, record.text, record.len, &plan, &rules, &e) < 0)
        return 0;
    job = job_new(plan, &rules);
    (void)journal_replay(job, journal.text, journal.len, &len, &e);
    tell(job);
    check_saved(job, &rules);
    job_free(job);
    if (rest.len && job_load(plan, &rules, rest.text, rest.len, &loaded, &e) == 0) {
        tell(loaded);
        job_free(loaded);
    }
    return 0;
}
