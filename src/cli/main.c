/* main.c - the command `muster`: finds the verb and runs it.
 *
 * Not here: anything a verb does, option parsing (opts.c), help (help.c).
 */
#include "cli/cli.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/resource.h>

#include "base/creation.h"
#include "base/io.h"
#include "base/limits.h"
#include "base/strbuf.h"
#include "cli/as_typed.h"
#include "cli/place.h"
#include "cli/tell.h"

static bool is_job_file(const char *word)
{
    const char *dot = strrchr(word, '.');

    return dot && (!strcmp(dot, ".yaml") || !strcmp(dot, ".yml") || !strcmp(dot, ".json"));
}

static int unknown_verb(const char *word)
{
    const char *near = nearest_verb(word), *line = NULL;
    auto_strbuf struct strbuf safe = STRBUF_INIT, text = STRBUF_INIT, typed = STRBUF_INIT;

    strbuf_add_escaped(&safe, word, strlen(word));
    if (habit_verb(word, &line))
        strbuf_addf(&text, "; use: %s", line);
    else if (is_job_file(word))
        strbuf_addf(&text, "; to run a job file: muster run %s", safe.buf);
    else if (near)
        strbuf_addf(&text, ", did you mean \"%s\"?", near);
    add_as_typed(&typed, text.buf);
    fprintf(stderr, "muster: unknown %s \"%s\"%s\n", word[0] == '-' ? "option" : "command",
            safe.buf, typed.buf);
    print_try("muster --help");
    return EXIT_USAGE;
}

/* Arguments and environment count too; the name of the program is the first thing on the stack. */
static bool has_stack(void)
{
    const char here = 0;
    uintptr_t top = getauxval(AT_EXECFN), used = top - (uintptr_t)&here;
    struct rlimit limit;

    if (!top || getrlimit(RLIMIT_STACK, &limit) < 0 || limit.rlim_cur == RLIM_INFINITY ||
        limit.rlim_cur >= used + LIMIT_STACK_LEAST)
        return true;
    tell_error("only %zu KiB of stack are left, at least %d KiB are required: raise the limit of "
               "the stack (ulimit -s)",
               limit.rlim_cur > used ? (size_t)(limit.rlim_cur - used) / 1024 : 0,
               LIMIT_STACK_LEAST / 1024);
    return false;
}

/* Relative to what? The daemon is in another directory than who asks it. */
static bool has_home(void)
{
    const char *home = getenv("MUSTER_HOME");

    if (!home || !*home || *home == '/')
        return true;
    tell_error("MUSTER_HOME must be an absolute path, not \"%s\"", home);
    return false;
}

int main(int argc, char **argv)
{
    if (!io_fill_streams())
        return EXIT_MUSTER; /* and no stream to say it on */
    io_survive_file_limit();
    creation_begin();
    set_typed(argv[0]);
    place_remember(argc, argv);
    /* A set-user-ID copy would hand its rights to whatever the caller's environment names. */
    if (getauxval(AT_SECURE)) {
        fputs("muster: refusing to run with privileges that the caller does not have\n", stderr);
        return EXIT_MUSTER;
    }
    if (argc < 2) {
        help_overview(stderr);
        return EXIT_USAGE;
    }
    if (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h")) {
        help_overview(stdout);
        return fflush(stdout) ? EXIT_FAILED : EXIT_FINE;
    }
    if (!strcmp(argv[1], "--version")) {
        printf("muster %s%s%s%s\n", muster_version, *muster_commit ? " (" : "", muster_commit,
               *muster_commit ? ")" : "");
        return fflush(stdout) ? EXIT_FAILED : EXIT_FINE;
    }

    const char *line = NULL;
    const struct verb *verb = find_verb(argv[1]), *meant = verb ? NULL : habit_verb(argv[1], &line);

    if (meant && !line)
        verb = meant;
    if (verb && !has_home())
        return verb->usage_exit;
    if (verb && !has_stack())
        return verb->usage_exit == EXIT_MUSTER ? EXIT_MUSTER : EXIT_FAILED;
    return verb ? verb->run(verb, argc - 1, argv + 1) : unknown_verb(argv[1]);
}
