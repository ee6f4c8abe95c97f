/* expire.c - when objects are deleted, and what a batch Job says of its end. */
#include "operator/expire.h"

#include "operator/lives.h"
#include "operator/test/objects.h"

int main(void)
{
    auto_arena struct arena *a = arena_new();
    static const struct {
        const char *text, *at, *name;
    } rows[] = {
        {"spec: {runPolicy: {ttlSecondsAfterFinished: 90}}\n"
         "status: {completionTime: '2026-11-18T01:00:00Z'}\n",
         "2026-11-18T01:01:30Z", "after its time"},
        {"spec: {ttlSecondsAfterFinished: 0}\nstatus: {completionTime: '2026-11-18T01:00:00Z'}\n",
         "2026-11-18T01:00:00Z", "at once; in an older version"},
        {"spec: {runPolicy: {ttlSecondsAfterFinished: 90}}\nstatus: {}\n", "", "not ended"},
        {"spec: {runPolicy: {}}\nstatus: {completionTime: '2026-11-18T01:00:00Z'}\n", "",
         "for ever"},
    };
    const char *text = NULL;

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
        is_int(expire_at(object_of(a, rows[i].text)), clock_of_rfc3339(rows[i].at), "%s",
               rows[i].name);
    is_int(job_end_of(object_of(a, "status: {conditions: [{type: Suspended, status: 'True'}]}"),
                      &text),
           JOB_GOES_ON, "a Job that goes on");
    is_int(job_end_of(object_of(a, "status: {conditions: [{type: SuccessCriteriaMet, status: "
                                   "'True'}, {type: Complete, status: 'True'}]}"),
                      &text),
           JOB_COMPLETE, "one that is complete");
    is_int(job_end_of(object_of(a, "status: {conditions: [{type: Failed, status: 'True', reason: "
                                   "BackoffLimitExceeded, message: 'no more'}]}"),
                      &text),
           JOB_FAILED, "one that has failed");
    is_str(text, "no more", "in its words");
    return tap_done();
}
