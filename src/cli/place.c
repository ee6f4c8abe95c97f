/* place.c - see place.h. */
#include "cli/place.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"

static char **words;

void place_remember(int argc, char **argv)
{
    words = xcalloc((size_t)argc + 1, sizeof(*words));
    memcpy(words, argv, (size_t)argc * sizeof(*words));
}

/* Beside this program, then where it is installed; never through PATH. */
char *place_find(const char *name)
{
    static const char *const places[] = {"", "../libexec/muster/"};
    char self[PATH_MAX];
    ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);

    if (n <= 0)
        return NULL;
    self[n] = '\0';
    *strrchr(self, '/') = '\0';
    for (size_t i = 0; i < ARRAY_SIZE(places); i++) {
        auto_free char *file = xasprintf("%s/%smuster-%s", self, places[i], name);

        if (access(file, X_OK) == 0)
            return TAKE_PTR(file);
    }
    return NULL;
}

static void become(const char *name, char **argv)
{
    auto_free char *file = place_find(name);

    if (file)
        (void)execv(file, argv);
}

int place_engine(const char *name, const struct engine_class **ret, struct err *e)
{
    int r = engine_by_name(name, ret, e);

    if (r == -ENOSYS)
        become(name, words);
    return r;
}

int place_become(const char *name, char **argv, struct err *e)
{
    become(name, argv);
    return err_set(e, -ENOENT, "cannot start muster-%s: %s", name, strerror(errno));
}
