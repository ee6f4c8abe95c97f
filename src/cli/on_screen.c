/* on_screen.c - see on_screen.h. When in doubt, no: a reason that is told twice does no harm. */
#include "cli/on_screen.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/io.h"

static bool same_terminal(void)
{
    struct stat out, err;

    return isatty(STDOUT_FILENO) && isatty(STDERR_FILENO) && fstat(STDOUT_FILENO, &out) == 0 &&
           fstat(STDERR_FILENO, &err) == 0 && out.st_rdev == err.st_rdev;
}

/* How many rows the file takes on a terminal; more than `most` need not be counted. */
static long rows_of(int dir, const char *name, long columns, long most)
{
    auto_close int fd = io_open_regular(dir, name, O_RDONLY, 0);
    char text[4096];
    long rows = 0, column = 0;

    if (fd < 0)
        return most + 1;
    for (ssize_t n; rows <= most && (n = read(fd, text, sizeof(text))) > 0;)
        for (ssize_t i = 0; i < n; i++) {
            column = text[i] == '\n' ? 0 : column + 1;
            rows += text[i] == '\n' || column % columns == 0;
        }
    return rows;
}

bool output_on_screen(int logs_fd)
{
    struct winsize size = {0};
    int fd = same_terminal() ? openat(logs_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
    DIR *dir = fd >= 0 ? fdopendir(fd) : NULL;
    long rows = 0, most;

    if (!dir) {
        if (fd >= 0)
            (void)close(fd);
        return false;
    }
    (void)ioctl(STDOUT_FILENO, TIOCGWINSZ, &size);
    most = (size.ws_row ? size.ws_row : 24) / 2;
    for (struct dirent *e; rows <= most && (e = readdir(dir));)
        if (e->d_name[0] != '.')
            rows += rows_of(logs_fd, e->d_name, size.ws_col ? size.ws_col : 80, most);
    (void)closedir(dir);
    return rows <= most;
}
