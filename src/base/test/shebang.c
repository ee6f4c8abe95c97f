/* shebang.c - what the first line of a script names, and what is missing. */
#include "base/shebang.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/io.h"
#include "base/tap.h"

static void check(const char *content, int want, const char *want_name, const char *what)
{
    char name[SHEBANG_BYTES];

    is_int(io_write_atomic(AT_FDCWD, "script", content, strlen(content), NULL), 0, "%s", what);
    is_int(shebang_check("script", name, sizeof(name)), want, "%s", what);
    is_str(name, want_name, "%s", what);
}

static void put(const char *name, const char *content)
{
    is_int(io_write_atomic(AT_FDCWD, name, content, strlen(content), NULL), 0, "%s is made", name);
}

int main(void)
{
    char dir[] = "/tmp/shebang.XXXXXX", name[5], longer[2 * SHEBANG_BYTES];

    if (!mkdtemp(dir) || chdir(dir) < 0)
        return 1;
    check("#!/bin/sh\necho\n", 0, "/bin/sh", "an interpreter that exists");
    check("#! \t/bin/sh -e\n", 0, "/bin/sh", "with blanks and an argument");
    check("#!/bin/sh", 0, "/bin/sh", "without a newline");
    check("#!/no/such/sh\n", -ENOENT, "/no/such/sh", "one that does not exist");
    check("#!/bin/sh/x -e\n", -ENOENT, "/bin/sh/x", "one below a file");
    check("#!/bin/sh\r\necho\r\n", -EILSEQ, "/bin/sh", "CRLF");
    check("#!/usr/bin/env python3\r\n", -EILSEQ, "/usr/bin/env", "CRLF after an argument");
    check("#!/no/such/sh\r\n", -EILSEQ, "/no/such/sh", "CRLF comes before a missing file");
    is_int(shebang_error("script", ENOENT), EILSEQ, "as an error");
    check("#!./good\n", -ENOENT, "./good", "a relative one");
    is_int(shebang_error("script", ENOENT), ELIBACC, "as an error");
    is_int(shebang_error("script", EACCES), EACCES, "another error stays");
    is_int(shebang_error("nothing", ENOENT), ENOENT, "so does that of a file that is not there");
    put("bad", "#!/no/such/python -x\n");
    check("#!./bad\n", -ELIBBAD, "/no/such/python", "the interpreter's own does not exist");
    is_int(shebang_error("script", ENOENT), ELIBBAD, "as an error");
    put("crlf", "#!/bin/sh\r\n");
    check("#!./crlf\n", -ELIBBAD, "/bin/sh", "or ends in a carriage return");
    put("good", "#!/bin/sh\n");
    check("#!./good\n", 0, "/bin/sh", "a script as an interpreter is fine");
    check("#!./script\n", 0, "./script", "one that is its own interpreter is the kernel's matter");
    put("elf", "\177ELF and more");
    is_int(shebang_error("elf", ENOENT), ELIBEXEC, "a binary without a loader");
    has(shebang_reason(ELIBBAD), "own interpreter does not exist", "in words");
    has(shebang_reason(EAGAIN), "ulimit -u", "a limit on processes");
    check("echo\r\n", 0, "", "no script");
    check("", 0, "", "an empty file");
    check("#!\n", 0, "", "nothing is named");
    memset(longer, 'x', sizeof(longer) - 1);
    longer[sizeof(longer) - 1] = '\0';
    memcpy(longer, "#!/", 3);
    check(longer, 0, "", "a line that is longer than the kernel reads");

    check("#!/bin/sh\n", 0, "/bin/sh", "once more");
    is_int(shebang_check("script", name, sizeof(name)), 0, "into a short buffer");
    is_str(name, "/bin", "it is cut");
    is_int(shebang_check("script", NULL, 0), 0, "into none");
    is_int(shebang_check("none", name, sizeof(name)), 0, "a file that does not exist");
    is_str(name, "", "names nothing");
    ok(mkfifo("fifo", 0600) == 0 && shebang_check("fifo", NULL, 0) == 0, "a pipe is not read");
    is_int(shebang_check(".", NULL, 0), 0, "nor a directory");
    is_int(io_remove_tree(AT_FDCWD, dir, NULL), 0, "nothing is left");
    return tap_done();
}
