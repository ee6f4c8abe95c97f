/* stand_in.c - see stand_in.h. */
#include "shim/stand_in.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

int end_as_child(int status)
{
    struct rlimit no_core = {0};
    sigset_t only;
    int sig;

    if (!WIFSIGNALED(status))
        return WEXITSTATUS(status);
    sig = WTERMSIG(status);
    (void)setrlimit(RLIMIT_CORE, &no_core); /* the child has left one if that was wanted */
    (void)signal(sig, SIG_DFL);
    sigemptyset(&only);
    sigaddset(&only, sig);
    (void)raise(sig);
    sigprocmask(SIG_UNBLOCK, &only, NULL);
    return 128 + sig;
}

static bool is_ourselves(const char *path)
{
    struct stat self, other;

    return stat("/proc/self/exe", &self) == 0 && stat(path, &other) == 0 &&
           self.st_dev == other.st_dev && self.st_ino == other.st_ino;
}

bool find_next(const char *name, char *file, size_t size)
{
    const char *path = getenv("PATH"), *end;

    for (const char *dir = path ? path : "/usr/bin:/bin"; *dir; dir = *end ? end + 1 : end) {
        end = strchrnul(dir, ':');
        if ((size_t)snprintf(file, size, "%.*s/%s", (int)(end - dir), dir, name) < size &&
            access(file, X_OK) == 0 && !is_ourselves(file))
            return true;
    }
    return false;
}
