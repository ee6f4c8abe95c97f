/* What stands in another program's place: the same end, and the next program of the same name. */
#include "shim/stand_in.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/io.h"
#include "base/tap.h"
#include "shim/mounts.h"

/* The status of a process that ends as one with the given status did. */
static int ends_as(int status)
{
    pid_t pid = fork();
    int got = -1;

    if (pid == 0) {
        (void)setrlimit(RLIMIT_CORE, &(struct rlimit){0});
        _exit(end_as_child(status));
    }
    (void)waitpid(pid, &got, 0);
    return got;
}

static void put(const char *dir, const char *name, mode_t mode)
{
    char path[256];

    (void)mkdir(dir, 0700);
    (void)snprintf(path, sizeof(path), "%s/%s", dir, name);
    int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, mode);
    (void)close(fd);
    (void)chmod(path, mode);
}

static void finds_next(void)
{
    char dir[] = "/tmp/stand-in.XXXXXX", path[600], file[256] = "", want[256], own[64];

    if (!mkdtemp(dir) || chdir(dir) < 0)
        abort();
    (void)snprintf(own, sizeof(own), "%s/own", dir);
    (void)mkdir(own, 0700);
    (void)snprintf(file, sizeof(file), "%s/tool", own);
    ok(symlink("/proc/self/exe", file) == 0, "a link to ourselves");
    put("plain", "tool", 0600);
    put("real", "tool", 0700);
    (void)snprintf(path, sizeof(path), "%s:%s/none:%s/plain:%s/real", own, dir, dir, dir);
    (void)setenv("PATH", path, 1);
    ok(find_next("tool", file, sizeof(file)), "there is another one");
    (void)snprintf(want, sizeof(want), "%s/real/tool", dir);
    is_str(file, want, "neither ourselves nor what cannot be executed");
    ok(!find_next("other", file, sizeof(file)), "a name that is not there");
    ok(!find_next("tool", file, 4), "no room for its path");
    ok(io_remove_tree(AT_FDCWD, dir, NULL) == 0, "cleared");
}

int main(void)
{
    struct mounts ms = {0};
    struct err e;

    is_int(WEXITSTATUS(ends_as(0)), 0, "success");
    is_int(WEXITSTATUS(ends_as(7 << 8)), 7, "an exit code");
    is_int(WTERMSIG(ends_as(SIGTERM)), SIGTERM, "a signal");
    is_int(WTERMSIG(ends_as(SIGKILL)), SIGKILL, "one that nobody can catch");
    is_int(WTERMSIG(ends_as(SIGSEGV)), SIGSEGV, "one that leaves a core");
    finds_next();

    ok(mount_is_below("/a/b", "/a") && mount_is_below("/a", "/"), "below a directory");
    ok(!mount_is_below("/a", "/a") && !mount_is_below("/ab", "/a"),
       "itself and a namesake are not");
    is_int(mounts_read(&ms, &e), 0, "the mounts of this process");
    bool proc = false, twice = false;
    for (size_t i = 0; i < ms.n; i++) {
        proc |= strcmp(ms.v[i].path, "/proc") == 0 && ms.v[i].pseudo;
        for (size_t k = i + 1; k < ms.n; k++)
            twice |= strcmp(ms.v[i].path, ms.v[k].path) == 0;
    }
    ok(proc, "/proc is the kernel's");
    ok(!twice, "a mount point is listed once");
    mounts_release(&ms);
    return tap_done();
}
