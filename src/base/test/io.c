/* io.c - files: read within a limit, written in one step, removed without following links. */
#include "base/io.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "base/tap.h"

static void test_files(int dir)
{
    auto_strbuf struct strbuf sb = STRBUF_INIT;
    struct err e = {0};
    struct stat st;

    is_int(io_write_atomic(dir, "f", "hello", 5, &e), 0, "a file is written");
    is_int(io_write_atomic(dir, "f", "again", 5, &e), 0, "and replaced");
    ok(fstatat(dir, "f", &st, 0) == 0 && (st.st_mode & 0777) == 0600, "for its owner only");
    is_int(io_read_file(dir, "f", 5, &sb, &e), 0, "and read, as large as the limit");
    is_str(sb.buf, "again", "with its content");
    is_int(io_read_file(dir, "f", 4, &sb, &e), -EFBIG, "but not if it is larger");
    has(e.text, "limit of 4 bytes", "the limit is named");
    is_str(sb.buf, "again", "nothing is added then");
    is_int(io_read_file(dir, "none", 4, &sb, &e), -ENOENT, "a file that is not there");
    is_str(e.text, "cannot open none: No such file or directory", "says so");
    is_int(io_read_file(dir, ".", 4, &sb, &e), -EISDIR, "a directory is no file");
    is_int(io_write_atomic(dir, "none/f", "x", 1, &e), -ENOENT, "no directory, no file");
    is_int(io_read_regular(dir, "f", 5, &sb, &e), 0, "a regular file is read");
    is_str(sb.buf, "againagain", "with its content");
    ok(mkfifoat(dir, "fifo", 0600) == 0 && symlinkat("f", dir, "link") == 0, "a pipe and a link");
    is_int(io_read_regular(dir, "fifo", 5, &sb, &e), -EINVAL, "a pipe is not waited for");
    is_str(e.text, "fifo is not a regular file", "and told");
    is_int(io_read_regular(dir, "link", 5, &sb, &e), -ELOOP, "a link is not followed");
}

static void test_trees(int dir)
{
    char path[PATH_MAX], deep[PATH_MAX];
    struct err e = {0};

    ok(getcwd(path, sizeof(path)) != NULL, "there is a place");
    snprintf(deep, sizeof(deep), "%.2000s/t/a/b//c/", path);
    is_int(io_mkdir_p(deep, 0700, &e), 0, "directories, one below the other");
    is_int(io_mkdir_p(deep, 0700, &e), 0, "again is fine");
    is_int(io_mkdir_p("f/x", 0700, &e), -ENOTDIR, "not below a file");
    ok(symlinkat("../../f", dir, "t/a/link") == 0 && symlinkat("/", dir, "t/root") == 0, "links");
    is_int(io_remove_tree(dir, "t", &e), 0, "the tree is removed");
    is_int(faccessat(dir, "f", F_OK, 0), 0, "what a link led to is not");
    is_int(io_remove_tree(dir, "t", &e), 0, "a tree that is not there is fine");
    is_int(io_remove_tree(dir, "f", &e), 0, "a file is a tree too");
}

/* More than a pipe holds, into one that does not wait, with a slow reader. */
static void test_write_all(void)
{
    enum { N = 1 << 20 };
    auto_free char *data = calloc(1, N);
    size_t seen = 0;
    int p[2], status;
    pid_t reader;

    ok(pipe2(p, O_CLOEXEC) == 0 && io_set_nonblock(p[1]) == 0, "a pipe that does not wait");
    reader = fork();
    if (reader == 0) {
        char buf[65536];
        ssize_t r;

        close(p[1]);
        while ((r = read(p[0], buf, sizeof(buf))) > 0)
            seen += (size_t)r;
        _exit(seen == N ? 0 : 1);
    }
    close(p[0]);
    is_int(io_write_all(p[1], data, N), 0, "takes all");
    close(p[1]);
    ok(waitpid(reader, &status, 0) == reader && status == 0, "and all arrives");
    is_int(io_write_all(-1, "x", 1), -EBADF, "an error is an error");
}

static void test_read_until(void)
{
    auto_strbuf struct strbuf sb = STRBUF_INIT;
    ns_t later = clock_mono() + 3600 * NS_PER_S;
    int p[2];

    ok(pipe2(p, O_CLOEXEC) == 0 && write(p[1], "all", 3) == 3, "a pipe with something in it");
    ok(!io_read_until(p[0], later, 3, &sb) && sb.len == 3, "as much as there is room for");
    ok(!io_read_until(p[0], clock_mono() - 1, 100, &sb), "no time is left");
    ok(write(p[1], "more", 4) == 4 && !io_read_until(p[0], later, 4, &sb), "no room is left");
    close(p[1]);
    ok(io_read_until(p[0], later, 100, &sb), "its end");
    is_str(sb.buf, "allmore", "and all that was in it");
    close(p[0]);
}

int main(void)
{
    char place[] = "/tmp/muster-io-XXXXXX";
    auto_close int dir = -1;

    if (!mkdtemp(place) || chdir(place) < 0)
        tap_skip_all("no place for files");
    dir = open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    test_files(dir);
    test_trees(dir);
    test_write_all();
    test_read_until();
    is_int(io_remove_tree(AT_FDCWD, place, NULL), 0, "the place is removed");
    return tap_done();
}
