/* signame.c - a table of our own: strsignal() speaks the locale's language and costs it, too. */
#include "base/signame.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"

static const struct sig {
    int number;
    const char *name, *words;
} sigs[] = {
    {SIGHUP, "SIGHUP", "hang-up"},
    {SIGINT, "SIGINT", "interrupted"},
    {SIGQUIT, "SIGQUIT", "quit"},
    {SIGILL, "SIGILL", "illegal instruction"},
    {SIGTRAP, "SIGTRAP", "trace trap"},
    {SIGABRT, "SIGABRT", "aborted"},
    {SIGBUS, "SIGBUS", "bus error"},
    {SIGFPE, "SIGFPE", "arithmetic exception"},
    {SIGKILL, "SIGKILL", "killed"},
    {SIGUSR1, "SIGUSR1", "user signal 1"},
    {SIGSEGV, "SIGSEGV", "segmentation fault"},
    {SIGUSR2, "SIGUSR2", "user signal 2"},
    {SIGPIPE, "SIGPIPE", "broken pipe"},
    {SIGALRM, "SIGALRM", "alarm clock"},
    {SIGTERM, "SIGTERM", "terminated"},
    {SIGSTKFLT, "SIGSTKFLT", "stack fault"},
    {SIGCHLD, "SIGCHLD", "child ended"},
    {SIGCONT, "SIGCONT", "continued"},
    {SIGSTOP, "SIGSTOP", "stopped"},
    {SIGTSTP, "SIGTSTP", "stopped from the terminal"},
    {SIGTTIN, "SIGTTIN", "stopped reading the terminal"},
    {SIGTTOU, "SIGTTOU", "stopped writing the terminal"},
    {SIGURG, "SIGURG", "urgent data"},
    {SIGXCPU, "SIGXCPU", "CPU time limit exceeded"},
    {SIGXFSZ, "SIGXFSZ", "file size limit exceeded"},
    {SIGVTALRM, "SIGVTALRM", "virtual timer expired"},
    {SIGPROF, "SIGPROF", "profiling timer expired"},
    {SIGWINCH, "SIGWINCH", "window changed"},
    {SIGIO, "SIGIO", "I/O possible"},
    {SIGPWR, "SIGPWR", "power failure"},
    {SIGSYS, "SIGSYS", "bad system call"},
};

static const struct sig *find(int number)
{
    for (size_t i = 0; i < ARRAY_SIZE(sigs); i++) {
        if (sigs[i].number == number)
            return &sigs[i];
    }
    return NULL;
}

/* Real-time signals have numbers only. */
static const char *unnamed(int number)
{
    static char texts[NSIG][16];

    if (number < 0 || number >= NSIG)
        return "unknown signal";
    snprintf(texts[number], sizeof(texts[number]), "signal %d", number);
    return texts[number];
}

const char *signal_name(int sig)
{
    const struct sig *s = find(sig);

    return s ? s->name : unnamed(sig);
}

bool signal_has_words(int sig)
{
    return find(sig) != NULL;
}

const char *signal_words(int sig)
{
    const struct sig *s = find(sig);

    return s ? s->words : unnamed(sig);
}

int signal_number(const char *name)
{
    for (size_t i = 0; i < ARRAY_SIZE(sigs); i++) {
        if (strcmp(name, sigs[i].name) == 0 || strcmp(name, sigs[i].name + 3) == 0)
            return sigs[i].number;
    }
    return -EINVAL;
}
