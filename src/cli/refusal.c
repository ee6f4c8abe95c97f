/* refusal.c - see refusal.h. The plan is made as `explain` makes it, which needs none of what is
 * missing. */
#include "cli/refusal.h"

#include "base/strbuf.h"
#include "cli/cli.h"
#include "cli/tell.h"
#include "job/report.h"

static int write_report(const struct refusal *r, enum cause_kind kind, const char *why,
                        struct err *e)
{
    auto_arena struct arena *a = arena_new();
    auto_strbuf struct strbuf sb = STRBUF_INIT;
    struct json j = JSON_PRETTY(&sb);
    CLEANUP(survey_release) struct survey s = SURVEY_INIT;
    struct survey_request rq = job_survey(r->options, r->spec, SURVEY_ANYHOW);
    const struct report_context ctx = {.engine = r->engine->name};
    const struct plan *plan = NULL;

    rq.isolate = r->isolate;
    rq.run_id = r->run_id;
    rq.run_dir = rq.scratch_dir = "";
    /* what cannot be looked up is left out: it may be the very reason */
    (void)r->engine->survey(a, &rq, &s, e);
    if (plan_build(a, r->spec, &s.facts, &plan, NULL) < 0) {
        struct plan *nobody = ARENA_NEW(a, struct plan); /* a report without replicas, then */
        *nobody = (struct plan){.spec = r->spec, .facts = &s.facts, .launcher = -1, .world = -1};
        plan = nobody;
    }
    struct job *job = job_refused(plan, kind, why, clock_run());
    report_write(job, &ctx, &j);
    job_free(job);
    strbuf_addch(&sb, '\n');
    return tell_write_file(r->report, sb.buf, sb.len, e);
}

/* The first thing that is missing ends a survey; `explain` lists the others too. */
static void tell_others(const struct refusal *r)
{
    auto_arena struct arena *a = arena_new();
    auto_strbuf struct strbuf text = STRBUF_INIT;
    CLEANUP(survey_release) struct survey s = SURVEY_INIT;
    struct survey_request rq = job_survey(r->options, r->spec, SURVEY_SHOW);
    const struct plan *plan = NULL;
    struct err e;

    rq.isolate = r->isolate;
    rq.run_id = r->run_id;
    rq.run_dir = rq.scratch_dir = "/RUN_DIR"; /* nothing is in it */
    if (r->engine->survey(a, &rq, &s, &e) < 0 || r->engine->plan(a, r->spec, &s, &plan, &e) < 0)
        return;
    size_t n = s.warnings.n;
    for (size_t i = 0; i < plan->n_notes; i++)
        n += plan->notes[i].severity == SEV_WARNING && plan->notes[i].weight <= NOTE_REPLACED;
    if (n < 2)
        return;
    strbuf_addf(&text, "%zu more warning%s: see `muster explain ", n - 1, n == 2 ? "" : "s");
    strbuf_add_shell_word(&text, r->file);
    strbuf_addch(&text, '`');
    tell_note(text.buf);
}

int refusal_tell(const struct refusal *r, enum cause_kind kind, const char *what,
                 const struct err *why)
{
    auto_strbuf struct strbuf text = STRBUF_INIT;
    struct err e;

    if (what)
        strbuf_addf(&text, "%s: ", what);
    strbuf_addstr(&text, why->text);
    tell_error("%s", text.buf);
    if (r->file && r->spec)
        tell_others(r);
    if (r->report && r->spec && write_report(r, kind, text.buf, &e) < 0)
        tell_error("the report could not be written: %s", e.text);
    return EXIT_MUSTER;
}
