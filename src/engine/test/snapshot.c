/* snapshot.c - a directory is copied, copied again, changed, and pruned to what was changed. */
#include "engine/snapshot.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/io.h"
#include "base/strbuf.h"
#include "base/tap.h"

static char dir[] = "/tmp/muster-snapshot.XXXXXX";

static const char *in(const char *name)
{
    static char paths[4][128];
    static int at;

    at = (at + 1) % 4;
    (void)snprintf(paths[at], sizeof(paths[at]), "%s/%s", dir, name);
    return paths[at];
}

static void put(const char *name, const char *text)
{
    (void)io_write_atomic(AT_FDCWD, in(name), text, strlen(text), NULL);
}

static const char *get(const char *name)
{
    static struct strbuf text = STRBUF_INIT;

    strbuf_truncate(&text, 0);
    return io_read_file(AT_FDCWD, in(name), 4096, &text, NULL) < 0 ? "(none)" : text.buf;
}

static bool is_link(const char *name)
{
    struct stat st;

    return lstat(in(name), &st) == 0 && S_ISLNK(st.st_mode);
}

int main(void)
{
    struct stat st;
    struct err e;

    ok(mkdtemp(dir) != NULL, "a directory");
    ok(mkdir(in("code"), 0755) == 0 && mkdir(in("code/lib"), 0750) == 0 &&
           mkdir(in("code/data"), 0755) == 0 && mkdir(in("code/own"), 0755) == 0,
       "with code");
    put("code/run.sh", "run");
    put("code/lib/a", "library");
    put("code/data/big", "data");
    put("code/own/db", "database");
    put("code/.gitignore", "data/\n");
    put("outside", "outside");
    ok(chmod(in("code/run.sh"), 0755) == 0 && symlink("lib/a", in("code/inner")) == 0 &&
           symlink("../outside", in("code/outer")) == 0 && mkfifo(in("code/pipe"), 0600) == 0,
       "links and a pipe");

    is_int(snapshot_take(in("code"), in("snap"), in("code/own"), &e), 0, "a snapshot");
    is_str(get("snap/run.sh"), "run", "has the files");
    ok(stat(in("snap/run.sh"), &st) == 0 && (st.st_mode & 0777) == 0755, "with their modes");
    is_str(get("snap/lib/a"), "library", "those of directories, too");
    ok(is_link("snap/data"), "what is ignored is a link");
    is_str(get("snap/data/big"), "data", "to where it is");
    ok(is_link("snap/own"), "and so is what is to be left out");
    ok(is_link("snap/inner"), "links stay links");
    is_str(get("snap/outer"), "outside", "those that lead out still lead there");
    ok(lstat(in("snap/pipe"), &st) < 0, "pipes are left out");
    is_int(snapshot_take(in("code"), in("snap"), NULL, &e), -EEXIST, "not over another one");
    is_str(get("snap/run.sh"), "run", "which stays");
    put("code/run.sh", "changed");
    is_str(get("snap/run.sh"), "run", "it does not change with the directory");

    is_int(snapshot_copy(in("snap"), in("work"), &e), 0, "a working copy");
    is_str(get("work/lib/a"), "library", "has the files");
    put("work/run.sh", "new");
    put("work/result", "result");
    put("work/data/more", "more");
    ok(mkdir(in("work/lib/__pycache__"), 0755) == 0, "Python compiles");
    put("work/lib/__pycache__/a.pyc", "compiled");
    snapshot_prune(in("snap"), in("work"));
    is_str(get("work/run.sh"), "new", "what was changed is left");
    is_str(get("work/result"), "result", "and what is new");
    ok(lstat(in("work/lib"), &st) < 0, "what is as it was is removed");
    ok(lstat(in("work/inner"), &st) < 0 && lstat(in("work/data"), &st) < 0, "and so are links");
    is_str(get("code/data/more"), "more", "what was written through one is where it leads");
    is_str(get("snap/lib/a"), "library", "the snapshot is as it was");
    snapshot_prune(in("snap"), in("work"));
    is_str(get("work/result"), "result", "once more changes nothing");

    is_int(snapshot_copy(in("snap"), in("same"), &e), 0, "a copy that nobody changes");
    snapshot_prune(in("snap"), in("same"));
    ok(lstat(in("same"), &st) < 0, "is removed as a whole");
    is_int(snapshot_take(in("nowhere"), in("other"), NULL, &e), -ENOENT, "no such directory");
    ok(lstat(in("other"), &st) < 0, "leaves nothing");
    (void)io_remove_tree(AT_FDCWD, dir, NULL);
    return tap_done();
}
