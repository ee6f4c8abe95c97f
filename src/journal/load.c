/* load.c - a job again, from what its run directory holds. */
#include <string.h>

#include "base/io.h"
#include "journal/journal.h"
#include "journal/record.h"

int journal_text(int dirfd, struct strbuf *ret, struct err *e)
{
    int r = io_read_regular(dirfd, JOURNAL_NAME, LIMIT_REPORT_BYTES, ret, e);
    const char *nl = r == 0 ? memrchr(ret->buf, '\n', ret->len) : NULL;

    strbuf_truncate(ret, nl ? (size_t)(nl - ret->buf) + 1 : 0);
    return r;
}

/* Does the journal begin with this record's job? */
static int check_mark(const struct strbuf *journal, const struct strbuf *record, struct err *e)
{
    auto_arena struct arena *a = arena_new();
    const char *nl = memchr(journal->buf, '\n', journal->len);
    char mark[RECORD_MARK];
    struct event first;

    if (!nl)
        return err_set(e, -EINVAL, "%s has no event yet", JOURNAL_NAME);
    int r = journal_read_line(a, journal->buf, (size_t)(nl - journal->buf), &first, e);
    if (r < 0)
        return r;
    if (first.type != EVENT_CREATED || !first.text ||
        strcmp(first.text, record_mark(record->buf, record->len, mark)) != 0)
        return err_set(e, -EINVAL, "%s is not of the job of %s", RECORD_NAME, JOURNAL_NAME);
    return 0;
}

int journal_load(struct arena *a, int dirfd, struct job **ret, struct err *e)
{
    auto_strbuf struct strbuf record = STRBUF_INIT, journal = STRBUF_INIT;
    const struct plan *plan = NULL;
    struct job_rules rules;
    size_t len;

    int r = io_read_regular(dirfd, RECORD_NAME, LIMIT_REPORT_BYTES, &record, e);
    if (r == 0)
        r = journal_text(dirfd, &journal, e);
    if (r == 0)
        r = check_mark(&journal, &record, e);
    if (r == 0)
        r = record_read(a, record.buf, record.len, &plan, &rules, e);
    if (r < 0)
        return r;
    struct job *job = job_new(plan, &rules);
    r = journal_replay(job, journal.buf, journal.len, &len, e);
    if (r < 0) {
        job_free(job);
        return r;
    }
    *ret = job;
    return 0;
}

int journal_resume(int dirfd, struct job *job, struct err *e)
{
    auto_strbuf struct strbuf record = STRBUF_INIT, journal = STRBUF_INIT, own = STRBUF_INIT;
    size_t len;

    int r = io_read_regular(dirfd, RECORD_NAME, LIMIT_REPORT_BYTES, &record, e);
    if (r == 0)
        r = journal_text(dirfd, &journal, e);
    if (r == 0)
        r = check_mark(&journal, &record, e);
    if (r < 0)
        return r;
    record_write(&own, job->plan, &job->rules);
    if (own.len != record.len || memcmp(own.buf, record.buf, own.len) != 0)
        return err_set(e, -ESTALE, "the job is not planned as it was recorded in %s", RECORD_NAME);
    return journal_replay(job, journal.buf, journal.len, &len, e);
}
