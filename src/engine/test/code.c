/* code.c - which files are sent into pods: patterns, modes, links, limits. */
#include "engine/code.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/io.h"
#include "base/limits.h"
#include "base/strbuf.h"
#include "base/tap.h"
#include "engine/ignore.h"

static void test_ignore(void)
{
    static const struct {
        const char *rules, *path;
        bool dir, want;
    } rows[] = {
        {"*.pyc", "a/b.pyc", false, true},
        {"*.pyc", "a/b.py", false, false},
        {"# *.py\n\n", "a.py", false, false},
        {"data/", "data", true, true},
        {"data/", "x/data", true, true},
        {"data/", "data", false, false},
        {"/data", "data", true, true},
        {"/data", "x/data", true, false},
        {"a/b", "a/b", false, true},
        {"a/b", "x/a/b", false, false},
        {"a/*", "a/b/c", false, false},
        {"**/logs", "a/b/logs", true, true},
        {"**/logs", "logs", true, true},
        {"a/**", "a/b/c", false, true},
        {"a/**", "a", true, false},
        {"a/**/z", "a/z", false, true},
        {"a/**/z", "a/b/c/z", false, true},
        {"a/**/z", "a/b/c/y", false, false},
        {"*\n!keep.txt", "keep.txt", false, false},
        {"*\n!keep.txt", "other.txt", false, true},
        {"!keep.txt\n*", "keep.txt", false, true},
        {"*.o  \r\n", "x.o", false, true},
        {"\\#x", "#x", false, true},
        {"[ab].txt", "b.txt", false, true},
    };
    struct arena *a = arena_new();
    struct ignore ig;

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        ignore_parse(a, rows[i].rules, &ig);
        ok(ignore_has(&ig, rows[i].path, rows[i].dir) == rows[i].want, "pattern %zu: %s%s", i,
           rows[i].path, rows[i].want ? " is left out" : "");
    }
    arena_free(a);
}

static void put(const char *path, const char *text, mode_t mode)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

    if (fd < 0 || io_write_all(fd, text, strlen(text)) < 0 || fchmod(fd, mode) < 0)
        tap_diag("cannot write %s", path);
    (void)close(fd);
}

static const char *words(struct strbuf *sb, const struct code_list *list)
{
    for (size_t i = 0; i < list->n; i++) {
        const struct code_entry *v = &list->v[i];

        strbuf_addf(sb, "%s %c%03o %lld%s%s\n", v->to,
                    S_ISDIR(v->mode)   ? 'd'
                    : S_ISLNK(v->mode) ? 'l'
                                       : 'f',
                    S_ISLNK(v->mode) ? 0777 : v->mode & 0777, (long long)v->size,
                    v->target ? " " : "", v->target ? v->target : "");
    }
    return sb->buf;
}

static void test_tree(void)
{
    auto_strbuf struct strbuf sb = STRBUF_INIT;
    struct code_list list = {0};
    struct err e = {0};

    ok(mkdir("c", 0755) == 0 && mkdir("c/pkg", 0750) == 0 && mkdir("c/empty", 0700) == 0 &&
           mkdir("c/.git", 0755) == 0 && mkdir("c/data", 0755) == 0 &&
           mkfifo("c/fifo", 0600) == 0 && symlink("pkg/m.py", "c/link") == 0 &&
           symlink("../../x", "c/pkg/out") == 0 && symlink("../run.sh", "c/pkg/in") == 0,
       "a directory");
    put("c/run.sh", "#!/bin/sh\n", 0755);
    put("c/pkg/m.py", "x = 1\n", 0644);
    put("c/.git/config", "no", 0644);
    put("c/data/big", "no", 0644);
    put("c/.gitignore", "data/\n", 0644);
    put("one", "12345", 0600);
    is_int(code_add(&list, "c", "code", "", &e), 0, "is listed: %s", e.text);
    is_int(code_add(&list, "one", "inputs/x/one", "", &e), 0, "a single file");
    is_str(words(&sb, &list),
           "code d755 0\n"
           "code/.gitignore f644 6\n"
           "code/empty d700 0\n"
           "code/link l777 0 pkg/m.py\n"
           "code/pkg d750 0\n"
           "code/pkg/in l777 0 ../run.sh\n"
           "code/pkg/m.py f644 6\n"
           "code/pkg/out l777 0 ../../x\n"
           "code/run.sh f755 10\n"
           "inputs/x/one f600 5\n",
           "directories first, links as links, no pipe, no .git, and what is to be left out");
    is_int(list.bytes, 27, "how much it is");
    is_int(list.left_out, 1, "what is left out is counted");
    is_str(list.left_out_by, ".gitignore", "with the reason");
    is_str(list.first_out, "pkg/out", "and so is a link that leads out");
    is_int(list.leads_out, 1, "only that one");
    code_release(&list);
    put("c/.amlignore", "*.py\n", 0644);
    is_int(code_add(&list, "c", "code", "", &e), 0, ".amlignore");
    is_str(list.left_out_by, ".amlignore", "is read instead");
    is_int(list.left_out, 1, "alone");
    code_release(&list);
    is_int(code_add(&list, "nowhere", "code", "", &e), -ENOENT, "no such directory");
    has(e.text, "cannot access nowhere", "is named");
    if (geteuid() != 0) {
        put("c/run.sh", "", 0);
        is_int(code_add(&list, "c", "code", "", &e), -EACCES, "a file that cannot be read");
        has(e.text, "c/run.sh", "is named");
    }
    code_release(&list);
}

static void test_limits(void)
{
    struct code_list list = {0};
    struct err e = {0};

    ok(mkdir("big", 0755) == 0 && mkdir("big/data", 0755) == 0, "a directory");
    put("big/small", "x", 0644);
    put("big/data/a", "", 0644);
    put("big/data/b", "", 0644);
    ok(truncate("big/data/a", 200 << 20) == 0 && truncate("big/data/b", 56 << 20) == 0,
       "with more than can be sent");
    is_int(code_add(&list, "big", "code", "use --code-volume PVC", &e), -E2BIG, "is refused");
    is_str(e.text,
           "big has 257 MiB in 5 files; at most 256 MiB in 20000 files can be sent to the pods; "
           "largest: data (256 MiB), small (1 MiB); list what the job does not need in .amlignore, "
           "or use --code-volume PVC",
           "with what is large, and what to do");
    code_release(&list);
    ok(unlink("big/small") == 0, "without the last byte");
    is_int(code_add(&list, "big", "code", "", &e), 0, "just as much as can be sent: %s", e.text);
    is_int(code_add(&list, "one", "inputs/x/one", "", &e), -E2BIG, "all together count");
    code_release(&list);
    ok(mkdir("many", 0755) == 0 && mkdir("many/x", 0755) == 0, "a directory");
    for (int i = 0; i < LIMIT_CODE_FILES - 2; i++) {
        char path[64];

        (void)snprintf(path, sizeof(path), "many/x/%d", i);
        (void)close(open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
    }
    is_int(code_add(&list, "many", "code", "", &e), 0, "as many files as can be sent: %s", e.text);
    code_release(&list);
    put("many/y", "", 0600);
    is_int(code_add(&list, "many", "code", "", &e), -E2BIG, "one more");
    has(e.text, "largest: x (19999 files), y (1 files)", "where they are");
    code_release(&list);
}

int main(void)
{
    char dir[] = "/tmp/muster-code.XXXXXX";

    if (!mkdtemp(dir) || chdir(dir) < 0)
        return 1;
    test_ignore();
    test_tree();
    test_limits();
    ok(chdir("/") == 0, "out of it");
    is_int(io_remove_tree(AT_FDCWD, dir, NULL), 0, "removed");
    return tap_done();
}
