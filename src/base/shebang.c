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
#include "base/err.h"

enum { NESTED = 5 }; /* scripts as interpreters of scripts, as the kernel counts them */

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
    char line[2][SHEBANG_BYTES], *name = NULL, *next = NULL;
    int r = first_line(path, line[0]) ? check_line(line[0], &name) : 0;

    /* an interpreter may be a script itself; a deeper nesting is refused by the kernel */
    for (int i = 1; r == 0 && name && *name && i < NESTED; i++) {
        if (!first_line(name, line[i % 2]))
            break;
        r = check_line(line[i % 2], &next) < 0 ? -ELIBBAD : 0;
        if (r < 0 || i + 1 < NESTED)
            name = next;
    }
    if (ret_interpreter && n > 0)
        (void)snprintf(ret_interpreter, n, "%s", name ? name : "");
    return r;
}

static bool is_elf(const char *path)
{
    auto_close int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    char magic[4];

    return fd >= 0 && read(fd, magic, sizeof(magic)) == sizeof(magic) &&
           memcmp(magic, "\177ELF", sizeof(magic)) == 0;
}

int shebang_error(const char *file, int error)
{
    if (error != ENOENT)
        return error;
    switch (shebang_check(file, NULL, 0)) {
    case -EILSEQ:
        return EILSEQ;
    case -ENOENT:
        return ELIBACC;
    case -ELIBBAD:
        return ELIBBAD;
    default:
        return is_elf(file) ? ELIBEXEC : error;
    }
}

const char *shebang_reason(int error)
{
    switch (error) {
    case EILSEQ:
        return "the interpreter in its first line ends in a carriage return (CRLF line endings)";
    case ELIBACC:
        return "the interpreter in its first line does not exist";
    case ELIBBAD:
        return "the interpreter in its first line is a script whose own interpreter does not exist";
    case ELIBEXEC:
        return "its dynamic loader does not exist (it was built for another system)";
    default:
        return err_start_reason(error);
    }
}
