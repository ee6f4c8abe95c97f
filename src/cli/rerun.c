/* rerun.c - `muster rerun`: the command line of a run once more, in its directory. */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/io.h"
#include "base/mem.h"
#include "cli/diagnose.h"
#include "cli/target.h"
#include "cli/tell.h"
#include "rundir/command_line.h"

struct options {
    bool print;
};

static int print_command(const struct command_line *c)
{
    auto_strbuf struct strbuf text = STRBUF_INIT;

    strbuf_addstr(&text, "cd ");
    strbuf_add_typed_word(&text, c->cwd);
    strbuf_addstr(&text, " && ");
    command_line_text(c, &text);
    printf("%s\n", text.buf);
    return finish_output();
}

static int start(const struct command_line *c)
{
    auto_strbuf struct strbuf text = STRBUF_INIT, note = STRBUF_INIT;

    if (chdir(c->cwd) < 0) {
        tell_error("cannot change to %s, the working directory of the run: %s", c->cwd,
                   strerror(errno));
        return EXIT_MUSTER;
    }
    command_line_text(c, &text);
    strbuf_addf(&note, "in %s: %s", c->cwd, text.buf);
    tell_note(note.buf);

    /* Parsing changes the order of the words, so it gets a copy of the pointers. */
    auto_free char **argv = xcalloc(c->argv.n + 1, sizeof(*argv));
    memcpy(argv, c->argv.v, c->argv.n * sizeof(*argv));
    if (strcmp(argv[0], verb_submit.name) == 0)
        return verb_submit.run(&verb_submit, (int)c->argv.n, argv);
    return run_again((int)c->argv.n, argv);
}

static bool owner_is_other(int fd)
{
    struct stat st;

    return fstat(fd, &st) < 0 || st.st_uid != geteuid();
}

static int run_rerun(const struct verb *verb, int argc, char **argv)
{
    auto_arena struct arena *a = arena_new();
    auto_command struct command_line c = COMMAND_INIT;
    struct options o = {0};
    struct operands ops;
    struct run_ref run;
    struct err e;
    bool ended;
    int code = target_operands(verb, &o, argc, argv, 1, &ops);

    if (code == 0)
        code = target_find(verb, a, ops.n ? ops.v[0] : NULL, &run);
    if (code != 0)
        return code;
    /* Closed before the new run begins, with its lock: that one's end may remove this run. */
    int fd = runs_open(&run, false, &ended, &e), r = fd < 0 ? fd : command_line_read(fd, &c, &e);
    if (r == 0 && !o.print && owner_is_other(fd))
        r = err_set(&e, -EPERM,
                    "the run belongs to another user, whose command would run as you; use --print "
                    "to see it");
    if (fd >= 0)
        (void)close(fd);
    if (r < 0) {
        (void)target_failed(&run, &e);
        return EXIT_MUSTER;
    }
    return o.print ? print_command(&c) : start(&c);
}

static const struct opt opts[] = {
    {"print", 0, OPT_FLAG, offsetof(struct options, print),
     .help = "print the command line instead of running it"},
    OPT_END,
};

const struct verb verb_rerun = {
    .name = "rerun",
    .synopsis = "[--print] [ID]",
    .summary = "run a job again",
    .about = "Runs muster run or muster submit again with the same arguments in the same working "
             "directory, with the "
             "current job file and environment. Exits as muster run does.\n\n" TARGET_ABOUT_NEWEST,
    .opts = opts,
    .usage_exit = EXIT_MUSTER,
    .run = run_rerun,
};
