/* shebang.c - see shebang.h. The rules are those of Linux's fs/binfmt_script.c. */
#include "base/shebang.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"

/* False if the first line does not begin with "#!" or is longer than the kernel reads. The line is
 * without its newline. O_NONBLOCK: the path may be a pipe. */
static bool first_line(const char *path, char line[SHEBANG_BYTES])
{
    auto_close int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    struct stat st;
    ssize_t n = 0;

    if (fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode))
        n = read(fd, line, SHEBANG_BYTES - 1);
    if (n < 2 || line[0] != '#' || line[1] != '!')
        return false;
    line[n] = '\0';
    size_t len = strcspn(line, "\n");
    if (line[len] == '\0' && n == SHEBANG_BYTES - 1)
        return false;
    line[len] = '\0';
    return true;
}

static int check_line(char line[SHEBANG_BYTES], char **ret_interpreter)
{
    size_t len = strlen(line);
    char *name = line + 2 + strspn(line + 2, " \t");

    if (line[len - 1] == '\r' && access(name, F_OK) < 0) {
        line[len - 1] = '\0';
        name[strcspn(name, " \t")] = '\0';
        *ret_interpreter = name;
        return -EILSEQ;
    }
    name[strcspn(name, " \t")] = '\0';
    *ret_interpreter = name;
    return *name && access(name, F_OK) < 0 && (errno == ENOENT || errno == ENOTDIR) ? -ENOENT : 0;
}

int shebang_check(const char *path, char *ret_interpreter, size_t n)
{
    char line[SHEBANG_BYTES], *name = NULL;
    int r = first_line(path, line) ? check_line(line, &name) : 0;

    if (ret_interpreter && n > 0)
        (void)snprintf(ret_interpreter, n, "%s", name ? name : "");
    return r;
}
