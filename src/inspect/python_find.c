/* python_find.c - an interpreter in a process, and that process's memory; see python.h. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>

#include "base/io.h"
#include "base/limits.h"
#include "base/mem.h"
#include "inspect/python.h"

#define SOURCE_SHOWN 72 /* bytes of a line */

static bool read_memory(const void *ctx, uint64_t at, void *to, size_t n)
{
    struct iovec here = {.iov_base = to, .iov_len = n};
    struct iovec there = {.iov_base = (void *)(uintptr_t)at,
                          .iov_len = n}; /* not ours to look at */

    return process_vm_readv(*(const pid_t *)ctx, &here, 1, &there, 1, 0) == (ssize_t)n;
}

static bool begins(const char *name, const char *with)
{
    return strncmp(name, with, strlen(with)) == 0;
}

/* "55d3…-55d4… r--p 00000000 08:01 1234   /usr/bin/python3.11": where the file begins, if it is an
 * interpreter's. */
static uint64_t interpreter_in(const char *line, size_t n)
{
    const char *slash = memrchr(line, '/', n);
    char *end;
    uint64_t base = strtoull(line, &end, 16), offset;

    if (!slash || (!begins(slash + 1, "python") && !begins(slash + 1, "libpython")))
        return 0;
    end += strcspn(end, " ");                    /* the end of the mapping */
    end += *end ? 1 + strcspn(end + 1, " ") : 0; /* its rights */
    offset = strtoull(end, NULL, 16);
    return offset == 0 ? base : 0;
}

const char *python_of(struct arena *a, pid_t pid, struct py_stack *ret)
{
    auto_strbuf struct strbuf maps = STRBUF_INIT;
    struct py_memory m = {.read = read_memory, .ctx = &pid};
    const char *why = "";
    char path[64], byte;

    (void)snprintf(path, sizeof(path), "/proc/%d/maps", (int)pid);
    if (io_read_file(AT_FDCWD, path, LIMIT_PY_MAPS, &maps, NULL) < 0)
        return "";
    for (const char *p = maps.buf; *p; p += strcspn(p, "\n"), p += *p == '\n') {
        uint64_t base = interpreter_in(p, strcspn(p, "\n"));

        if (!base)
            continue;
        if (!read_memory(&pid, base, &byte, 1))
            return arena_printf(a, "its memory cannot be read: %s", strerror(errno));
        why = python_stack(a, &m, base, ret);
        if (!why || *why)
            return why;
    }
    return why;
}

static const char *nth_line(const char *text, int line)
{
    for (; line > 1 && *text; line--) {
        text += strcspn(text, "\n");
        text += *text == '\n';
    }
    return text + strspn(text, " \t");
}

const char *python_source(struct arena *a, pid_t pid, const char *file, int line)
{
    auto_strbuf struct strbuf text = STRBUF_INIT, clean = STRBUF_INIT;
    auto_free char *path =
        xasprintf("/proc/%d/%s%s", (int)pid, *file == '/' ? "root" : "cwd/", file);
    auto_close int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    struct stat st;

    if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || line <= 0 ||
        io_read_fd(fd, file, LIMIT_PY_SOURCE, &text, NULL) < 0)
        return NULL;
    const char *at = nth_line(text.buf, line);
    size_t n = strcspn(at, "\r\n");
    if (n == 0)
        return NULL;
    strbuf_add_escaped(&clean, at, n < SOURCE_SHOWN ? n : SOURCE_SHOWN);
    return arena_printf(a, "%s%s", clean.buf, n > SOURCE_SHOWN ? "…" : "");
}
