/* events.c - `muster events`: everything that happened to a run, from its journal. */
#include <string.h>

#include "base/io.h"
#include "base/limits.h"
#include "cli/diagnose.h"
#include "cli/target.h"
#include "client/timeline.h"
#include "journal/journal.h"

struct options {
    const char *output;
};

static int run_events(const struct verb *verb, int argc, char **argv)
{
    auto_arena struct arena *a = arena_new();
    auto_strbuf struct strbuf text = STRBUF_INIT;
    auto_strvec struct strvec lines = STRVEC_INIT;
    struct options o = {.output = "human"};
    struct operands ops;
    struct run_ref run;
    struct err e;
    bool ended;
    int code = target_operands(verb, &o, argc, argv, 1, &ops);

    if (code == 0)
        code = target_find(verb, a, ops.n ? ops.v[0] : NULL, &run);
    if (code != 0)
        return code;
    auto_close int fd = runs_open(&run, false, &ended, &e);
    if (fd < 0 || journal_text(fd, &text, &e) < 0)
        return target_failed(&run, &e);
    if (strcmp(o.output, "json") == 0) {
        (void)fwrite(text.buf, 1, text.len, stdout);
        return finish_output();
    }
    timeline_words(text.buf, text.len, false, &lines);
    for (size_t i = 0; i < lines.n; i++)
        printf("%s\n", lines.v[i]);
    return finish_output();
}

static const char *const outputs[] = {"human", "json", NULL};

static const struct opt opts[] = {
    {"output", 'o', OPT_CHOICE, offsetof(struct options, output), .choices = outputs,
     .help = "human (default), or json: the journal, one JSON object per line"},
    OPT_END,
};

const struct verb verb_events = {
    .name = "events",
    .synopsis = "[-o human|json] [ID]",
    .summary = "show the events of a job",
    .about = "Prints one line per event and decision with the local time, also for runs that have "
             "ended.\n\n" TARGET_ABOUT_NEWEST,
    .opts = opts,
    .usage_exit = EXIT_USAGE,
    .run = run_events,
};
