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
