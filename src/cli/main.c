/* main.c - the command `muster`: finds the verb and runs it.
 *
 * Not here: anything a verb does, option parsing (opts.c), help (help.c).
 */
#include "cli/cli.h"

#include <stdio.h>
#include <string.h>
#include <sys/auxv.h>

#ifndef MUSTER_VERSION
#define MUSTER_VERSION "0"
#endif

const struct verb *const verbs[] = {
    &verb_run,    &verb_validate, &verb_explain, &verb_convert, &verb_generate, &verb_list,
    &verb_show,   &verb_events,   &verb_logs,    &verb_wait,    &verb_cancel,   &verb_pause,
    &verb_resume, &verb_exec,     &verb_sim,     &verb_schema,  &verb_help,     NULL,
};

static int unknown_verb(const char *word)
{
    const char *near = nearest_verb(word);

    fprintf(stderr, "muster: unknown %s \"%s\"", word[0] == '-' ? "option" : "verb", word);
    if (near)
        fprintf(stderr, ", did you mean \"%s\"?", near);
    fputs("\ntry: muster --help\n", stderr);
    return EXIT_USAGE;
}

int main(int argc, char **argv)
{
    /* A set-user-ID copy would hand its rights to whatever the caller's environment names. */
    if (getauxval(AT_SECURE)) {
        fputs("muster: refuses to run with privileges its caller does not have\n", stderr);
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
        puts("muster " MUSTER_VERSION);
        return fflush(stdout) ? EXIT_FAILED : EXIT_FINE;
    }

    const struct verb *verb = find_verb(argv[1]);

    return verb ? verb->run(verb, argc - 1, argv + 1) : unknown_verb(argv[1]);
}
