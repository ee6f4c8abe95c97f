/* Where runs go if the usual places cannot be used, and whether they are found there. */
#include "rundir/places.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/io.h"
#include "base/mem.h"
#include "base/tap.h"

static char top[] = "/tmp/muster-places.XXXXXX";

static char *below(const char *name)
{
    return xasprintf("%s/%s", top, name);
}

/* The runs' home that is chosen, and the notes about both. */
static char *chosen(struct strvec *notes)
{
    auto_free char *scratch = places_scratch(notes);

    return places_runs(scratch, notes);
}

static bool has_word(const struct strvec *v, const char *word)
{
    for (size_t i = 0; i < v->n; i++)
        if (strstr(v->v[i], word))
            return true;
    return false;
}

static void test_usual(void)
{
    auto_free char *home = below("home"), *run = below("run"),
                   *want = below("home/.local/state/muster/runs");
    auto_strvec struct strvec notes = STRVEC_INIT, all = STRVEC_INIT;

    (void)unsetenv("XDG_STATE_HOME");
    (void)setenv("HOME", home, 1);
    (void)setenv("XDG_RUNTIME_DIR", run, 1);
    auto_free char *runs = chosen(&notes), *scratch = places_scratch(&notes);
    is_str(runs, want, "the usual place");
    ok(strncmp(scratch, run, strlen(run)) == 0, "and that of sockets");
    is_int(notes.n, 0, "without a word");
    places_all_runs(&all);
    ok(has_word(&all, want), "it is looked at");
    ok(access(want, F_OK) < 0, "nothing is made");
}

static void test_no_state(void)
{
    auto_free char *file = below("file"), *run = below("run"),
                   *want = below("run/muster/state/runs");
    auto_strvec struct strvec notes = STRVEC_INIT, all = STRVEC_INIT;

    (void)setenv("XDG_STATE_HOME", file, 1); /* also root cannot write there */
    (void)setenv("XDG_RUNTIME_DIR", run, 1);
    auto_free char *runs = chosen(&notes);
    is_str(runs, want, "state that cannot be written: beside the sockets");
    ok(has_word(&notes, "Not a directory"), "the reason is told");
    ok(has_word(&notes, want), "and the place");
    is_int(io_mkdir_p(want, 0700, NULL), 0, "a run makes it");
    places_all_runs(&all);
    ok(has_word(&all, want), "it is looked at");
    (void)unsetenv("XDG_STATE_HOME");
}

static void test_runtime(void)
{
    auto_free char *none = below("none"), *file = below("file"), *open_dir = below("open");
    const char *const bad[] = {none, file, open_dir};
    static const char *const why[] = {"does not exist", "is not a directory", "mode 0700"};

    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        auto_strvec struct strvec notes = STRVEC_INIT;
        (void)setenv("XDG_RUNTIME_DIR", bad[i], 1);
        auto_free char *scratch = places_scratch(&notes);
        ok(strncmp(scratch, "/tmp/muster-", 12) == 0, "XDG_RUNTIME_DIR that %s: /tmp", why[i]);
        ok(has_word(&notes, why[i]), "the reason is told");
    }
}

static void test_private(void)
{
    auto_free char *link = below("link"), *run = below("run"), *open_dir = below("open/muster"),
                   *file = below("file");

    ok(places_is_private(run), "0700 and ours");
    ok(!places_is_private(open_dir), "open to others");
    ok(!places_is_private(file), "no directory");
    ok(chmod(run, 0) == 0 && !places_is_private(run), "closed to ourselves");
    ok(chmod(run, 0700) == 0 && places_is_private(run), "and open again");
    ok(symlink(run, link) == 0 && !places_is_private(link), "a symbolic link");
}

int main(void)
{
    if (!mkdtemp(top))
        return 1;
    auto_free char *home = below("home"), *run = below("run"), *open_dir = below("open/muster");
    (void)io_mkdir_p(home, 0700, NULL);
    (void)io_mkdir_p(run, 0700, NULL);
    (void)io_mkdir_p(open_dir, 0700, NULL);
    (void)chmod(open_dir, 0755);
    auto_close int fd = open(top, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    (void)io_write_atomic(fd, "file", "", 0, NULL);
    test_usual();
    test_no_state();
    test_runtime();
    test_private();
    (void)io_remove_tree(AT_FDCWD, top, NULL);
    return tap_done();
}
