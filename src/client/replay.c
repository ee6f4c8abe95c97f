/* replay.c - see replay.h. */
#include "client/replay.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "doc/json_read.h"
#include "job/report.h"
#include "job/verdict.h"
#include "journal/away.h"
#include "journal/journal.h"
#include "rundir/outputs.h"
#include "rundir/rundir.h"

/* There is no record, or not this version's: whose run it was. */
static void fill_from_first_line(struct arena *a, int dir_fd, struct run_ref *ret)
{
    auto_strbuf struct strbuf text = STRBUF_INIT;

    if (journal_text(dir_fd, &text, NULL) < 0)
        return;
    const struct node *line = json_node(a, text.buf, strcspn(text.buf, "\n"));
    const struct node *at = node_get(line, "at"), *name = node_get(line, "job");
    ret->name = name && name->type == NODE_STRING ? name->text : "";
    ret->started = at && at->type == NODE_INT ? at->i : 0;
}

int replay_fill(struct arena *a, int dir_fd, const char *state, struct run_ref *ret, struct err *e)
{
    struct job *job = NULL;

    ret->state = state;
    int r = journal_load(a, dir_fd, &job, e);
    if (r < 0) {
        fill_from_first_line(a, dir_fd, ret);
        return r;
    }
    if (*job->plan->facts->site.run_id) /* its directory may have another name: --run-dir */
        ret->id = job->plan->facts->site.run_id;
    ret->name = job->plan->spec->name;
    ret->dialect = job->plan->spec->dialect ? job->plan->spec->dialect : "";
    ret->started = job->created;
    if (job->phase == JOB_ENDED) {
        auto_strbuf struct strbuf verdict = STRBUF_INIT;

        verdict_sentence(job, &verdict);
        ret->verdict = arena_strdup(a, verdict.buf);
        ret->state = outcome_name(job->outcome);
        ret->exit_code = job->exit_code;
        ret->ended = job->ended;
        ret->no_report = true;
    }
    job_free(job);
    return 0;
}

int replay_report(int dir_fd, const char *dir, struct strbuf *ret, struct err *e)
{
    auto_arena struct arena *a = arena_new();
    auto_strvec struct strvec outputs = STRVEC_INIT;
    struct json j = JSON_PRETTY(ret);
    bool served = faccessat(dir_fd, RUNDIR_SERVED, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
    struct job *job = NULL;

    int r = journal_load(a, dir_fd, &job, e);
    if (r < 0)
        return r;
    outputs_find(dir_fd, dir, &outputs);
    report_write(job,
                 &(struct report_context){.engine = job->plan->facts->site.engine,
                                          .recorded = true,
                                          .killed = !served && away_until(dir_fd) <= clock_real(),
                                          .aside = served && job->phase != JOB_ENDED
                                                       ? "the daemon that runs it is not running; "
                                                         "start it with `muster serve`"
                                                       : NULL,
                                          .outputs = (const char *const *)outputs.v},
                 &j);
    strbuf_addch(ret, '\n');
    job_free(job);
    return 0;
}
