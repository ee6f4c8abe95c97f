/* places.c - see places.h. */
#include "rundir/places.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pwd.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/limits.h"
#include "base/mem.h"

#define FRESH_LETTERS 6

/* --- looking ---------------------------------------------------------------------------------- */

bool places_is_private(const char *path)
{
    struct stat st;

    return lstat(path, &st) == 0 && S_ISDIR(st.st_mode) && st.st_uid == geteuid() &&
           (st.st_mode & 0777) == 0700; /* 000 would be private, and of no use */
}

/* 0 if the directory can be made and written to, or is there and can be; else -errno. */
static int can_write(const char *path)
{
    auto_free char *dir = xstrdup(path);
    struct stat st;

    while (stat(dir, &st) < 0) {
        char *slash = strrchr(dir, '/');
        if (errno != ENOENT || !slash)
            return -errno;
        slash[slash == dir] = '\0'; /* the root stays */
    }
    if (!S_ISDIR(st.st_mode))
        return -ENOTDIR;
    return faccessat(AT_FDCWD, dir, W_OK | X_OK, AT_EACCESS) < 0 ? -errno : 0;
}

const char *places_home(void)
{
    const char *home = getenv("MUSTER_HOME");

    return home && *home == '/' ? home : NULL;
}

/* The user's own directory for our state, or NULL if nothing says which it is. */
static char *state_home(void)
{
    const char *xdg = getenv("XDG_STATE_HOME"), *home = getenv("HOME");

    if (places_home())
        return xstrdup(places_home());
    if (xdg && *xdg == '/')
        return xasprintf("%s/muster", xdg);
    if (home && *home == '/')
        return xasprintf("%s/.local/state/muster", home);
    const struct passwd *pw = getpwuid(geteuid());
    return pw && *pw->pw_dir == '/' ? xasprintf("%s/.local/state/muster", pw->pw_dir) : NULL;
}

char *places_daemon_state(void)
{
    auto_free char *state = state_home();

    return state ? xasprintf("%s/daemon", state) : NULL;
}

/* $XDG_RUNTIME_DIR if it is set, as it is. */
static const char *runtime_dir(void)
{
    const char *xdg = getenv("XDG_RUNTIME_DIR");

    return xdg && *xdg == '/' ? xdg : NULL;
}

/* Why $XDG_RUNTIME_DIR cannot be used, or NULL. After `su` it is that of the user before. */
static const char *runtime_fault(const char *dir)
{
    auto_free char *ours = xasprintf("%s/muster", dir);
    struct stat st;

    if (stat(dir, &st) < 0)
        return errno == ENOENT ? "does not exist" : "cannot be used";
    if (!S_ISDIR(st.st_mode))
        return "is not a directory";
    if (st.st_uid != geteuid())
        return "belongs to another user";
    if (lstat(ours, &st) == 0 && !places_is_private(ours))
        return "has a `muster` that is not a directory of this user with mode 0700";
    return can_write(ours) < 0 ? "is not writable" : NULL;
}

void places_random(char *out, size_t n)
{
    static const char letters[] = "abcdefghjkmnpqrstuvwxyz23456789";

    for (size_t i = 0; i < n; i++)
        out[i] = letters[arc4random_uniform(sizeof(letters) - 1)];
    out[n] = '\0';
}

/* --- a private directory in /tmp -------------------------------------------------------------- */

static const char *tmp_dir(void)
{
    const char *dir = getenv("MUSTER_TMPDIR");

    return dir && *dir == '/' ? dir : "/tmp";
}

static char *tmp_home(void)
{
    return xasprintf("%s/muster-%u", tmp_dir(), geteuid());
}

/* Adds every /tmp/muster-UID.XXXXXX that is ours. */
static void add_fresh_homes(struct strvec *ret)
{
    auto_free char *prefix = xasprintf("muster-%u.", geteuid());
    DIR *dir = opendir(tmp_dir());
    const struct dirent *d;

    while (dir && (d = readdir(dir))) {
        auto_free char *path = xasprintf("%s/%s", tmp_dir(), d->d_name);
        if (strncmp(d->d_name, prefix, strlen(prefix)) == 0 && places_is_private(path))
            strvec_push(ret, path);
    }
    if (dir)
        (void)closedir(dir);
}

/* One that is there already, else a name that nobody can have guessed. */
static char *fresh_home(void)
{
    auto_strvec struct strvec there = STRVEC_INIT;
    char tail[FRESH_LETTERS + 1];

    add_fresh_homes(&there);
    if (there.n > 0)
        return xstrdup(there.v[0]);
    places_random(tail, FRESH_LETTERS);
    return xasprintf("%s/muster-%u.%s", tmp_dir(), geteuid(), tail);
}

/* --- choosing --------------------------------------------------------------------------------- */

/* Below MUSTER_HOME, or a directory of its own in /tmp if that path is too long for sockets: named
 * after the path, so that every muster with this home finds it. */
static char *home_scratch(void)
{
    const char *home = places_home();
    uint64_t h = UINT64_C(0xcbf29ce484222325); /* FNV-1a */

    if (strlen(home) <= LIMIT_HOME_PATH)
        return xasprintf("%s/run", home);
    for (const char *p = home; *p; p++)
        h = (h ^ (unsigned char)*p) * UINT64_C(0x100000001b3);
    return xasprintf("%s/muster-%u-%016llx", tmp_dir(), geteuid(), (unsigned long long)h);
}

char *places_scratch(struct strvec *notes)
{
    if (places_home())
        return home_scratch();
    const char *runtime = runtime_dir(), *fault = runtime ? runtime_fault(runtime) : NULL;
    struct stat st;

    if (runtime && !fault)
        return xasprintf("%s/muster", runtime);
    auto_free char *home = tmp_home();
    bool blocked = lstat(home, &st) == 0 && !places_is_private(home);
    char *ret = blocked ? fresh_home() : xstrdup(home);
    if (fault)
        strvec_pushf(notes, "XDG_RUNTIME_DIR %s %s; using %s", runtime, fault, ret);
    if (blocked)
        strvec_pushf(notes,
                     "%s is not a directory of uid %u with mode 0700; using %s (remove the first, "
                     "or set XDG_RUNTIME_DIR)",
                     home, geteuid(), ret);
    return ret;
}

char *places_runs(const char *scratch, struct strvec *notes)
{
    auto_free char *state = state_home();
    auto_free char *usual = state ? xasprintf("%s/runs", state) : NULL;
    int r = usual ? can_write(usual) : -ENOENT;

    if (r == 0)
        return TAKE_PTR(usual);
    char *ret = xasprintf("%s/state/runs", scratch);
    if (usual)
        strvec_pushf(notes,
                     "cannot write to %s: %s; keeping this run in %s (choose a place with "
                     "XDG_STATE_HOME or --run-dir)",
                     usual, strerror(-r), ret);
    else
        strvec_pushf(notes, "HOME is not set; keeping this run in %s", ret);
    return ret;
}

/* --- the daemon of all users ------------------------------------------------------------------ */

char *places_system(void)
{
    const char *dir = getenv("MUSTER_SYSTEM");

    if (places_home() || (dir && *dir != '/'))
        return NULL;
    return xstrdup(dir ? dir : "/run/muster");
}

/* Root makes it for this user. */
char *places_system_scratch(void)
{
    auto_free char *system = places_system();
    auto_free char *home = system ? xasprintf("%s/users/%u", system, geteuid()) : NULL;

    return home && places_is_private(home) ? xasprintf("%s/muster", home) : NULL;
}

/* --- looking for runs ------------------------------------------------------------------------- */

/* $XDG_RUNTIME_DIR is the caller's word, whosever it is: the runs there decide whom they answer. */
void places_all_scratch(struct strvec *ret)
{
    auto_free char *tmp = tmp_home(), *system = places_system_scratch();

    if (places_home()) {
        strvec_push_take(ret, home_scratch());
        return;
    }
    if (runtime_dir())
        strvec_pushf(ret, "%s/muster", runtime_dir());
    if (places_is_private(tmp))
        strvec_push(ret, tmp);
    add_fresh_homes(ret);
    if (system && (!runtime_dir() || strncmp(system, runtime_dir(), strlen(runtime_dir())) != 0))
        strvec_push(ret, system);
}

void places_all_runs(struct strvec *ret)
{
    auto_strvec struct strvec scratch = STRVEC_INIT;
    auto_free char *state = state_home();

    if (state)
        strvec_pushf(ret, "%s/runs", state);
    places_all_scratch(&scratch);
    for (size_t i = 0; i < scratch.n; i++)
        if (access(scratch.v[i], X_OK) == 0)
            strvec_pushf(ret, "%s/state/runs", scratch.v[i]);
}
