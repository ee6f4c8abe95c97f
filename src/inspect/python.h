/* python.h - where the Python code of another process is, read from its memory.
 *
 * Nothing is asked of that process: it need not be able to answer, and it is not stopped. It should
 * stand still, as one that hangs does; of one that runs, some frames may be missing. Reading needs
 * no debugger, and what a Linux lets debuggers do with an ordinary user's processes (ptrace_scope)
 * it lets us do with those that we have started.
 *
 * Where what is in an interpreter is found differs with its version: 3.11 to 3.13 are known. Of
 * others, and of builds without the global lock, it is said that they are not.
 *
 *     python.c         threads, frames, lines: pure, over any memory
 *     python_find.c    an interpreter in a process, and its memory
 */
#ifndef INSPECT_PYTHON_H
#define INSPECT_PYTHON_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/arena.h"

struct py_frame {
    const char *file, *function;
    int line; /* 0 = not known */
};

struct py_thread {
    int64_t id; /* as the process itself sees it */
    struct py_frame *frames;
    size_t n; /* the innermost first */
};

struct py_stack {
    struct py_thread *v;
    size_t n;
};

/* False: something of it cannot be read. */
struct py_memory {
    bool (*read)(const void *ctx, uint64_t at, void *to, size_t n);
    const void *ctx;
};

/* What runs in the interpreter that is mapped at base. Returns NULL or why it cannot be told; ""
 * where there is no interpreter at all. */
const char *python_stack(struct arena *a, const struct py_memory *m, uint64_t base,
                         struct py_stack *ret);

/* The same of a process. */
const char *python_of(struct arena *a, pid_t pid, struct py_stack *ret);

/* What is written at a line of a file as that process sees it, without the spaces around it; NULL
 * if it cannot be read. */
const char *python_source(struct arena *a, pid_t pid, const char *file, int line);

/* Its main thread, or NULL. inner: the process as it sees itself. */
const struct py_thread *python_main(const struct py_stack *s, pid_t inner);

/* The place that says most to whoever has written the script: the innermost frame that is no
 * library's; if there is none, the innermost. NULL: there is no frame. */
const struct py_frame *python_own(const struct py_thread *t);

#endif
