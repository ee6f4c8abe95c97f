/* mpi_program.c - what a command runs in the end: behind its wrappers, in its shell text or script,
 * in its Python script.
 *
 * Of a text that does more than start one program it is not known whether every process of the job
 * comes to the line that does: whoever started it has to say what is meant.
 */
#include "engine/local/mpi_program.h"

#include <ctype.h>
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/io.h"
#include "base/limits.h"
#include "base/shellwords.h"
#include "base/strbuf.h"
#include "engine/local/mpi_library.h"
#include "spec/mpi_options.h"
#include "spec/wrappers.h"

#define DEPTH 4 /* scripts that start scripts */

static const struct mpi_use nothing;

static struct mpi_use use_of_words(struct arena *a, const char *const *argv, size_t n,
                                   const struct mpi_place *place, int depth);

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash ? slash + 1 : path;
}

static const char *in_dir(struct arena *a, const struct mpi_place *place, const char *file)
{
    return *file == '/' ? file : arena_printf(a, "%s/%s", place->dir, file);
}

/* The text of a regular file, in the arena; NULL if there is none. */
static const char *text_of(struct arena *a, const char *path)
{
    auto_strbuf struct strbuf text = STRBUF_INIT;
    struct stat st;

    if (stat(path, &st) < 0 || !S_ISREG(st.st_mode) ||
        io_read_file(AT_FDCWD, path, LIMIT_FILE_BYTES, &text, NULL) < 0)
        return NULL;
    return arena_strndup(a, text.buf, text.len);
}

/* --- Python -------------------------------------------------------------------------------------
 */

static const char *const packages[] = {"mpi4py", "horovod"};

static const char *package_of(const char *module)
{
    for (size_t i = 0; i < ARRAY_SIZE(packages); i++) {
        size_t n = strlen(packages[i]);

        if (strncmp(module, packages[i], n) == 0 && !isalnum((unsigned char)module[n]) &&
            module[n] != '_')
            return packages[i];
    }
    return NULL;
}

/* "import mpi4py" or "from mpi4py import MPI" in one line without its indent. */
static const char *import_of(const char *line)
{
    static const char *const words[] = {"import ", "from "};

    for (size_t i = 0; i < ARRAY_SIZE(words); i++) {
        size_t n = strlen(words[i]);
        const char *package =
            strncmp(line, words[i], n) == 0 ? package_of(line + n + strspn(line + n, " ")) : NULL;

        if (package)
            return package;
    }
    return NULL;
}

/* An import that is indented may be for a case that does not occur; one that is tried is for a
 * program that can do without it. */
static const char *imported(const char *text, enum mpi_need *ret_need)
{
    const char *possible = NULL, *next;
    bool tried = false;

    for (const char *line = text; line; line = next) {
        size_t indent = strspn(line, " \t");
        const char *code = line + indent, *package = import_of(code), *end = strchr(line, '\n');

        next = end ? end + 1 : NULL;
        if (package && indent == 0) {
            *ret_need = MPI_NEED_LIKELY;
            return package;
        }
        if (package && !tried && !possible)
            possible = package;
        if (*code && *code != '\n' && *code != '\r')
            tried = strncmp(code, "try:", 4) == 0;
    }
    *ret_need = possible ? MPI_NEED_POSSIBLE : MPI_NEED_NONE;
    return possible;
}

static bool is_python(const char *program)
{
    const char *name = base_name(program);

    return strncmp(name, "python", 6) == 0 && name[6 + strspn(name + 6, "0123456789.")] == '\0';
}

/* Options of Python that take the next argument as their value. */
static bool takes_value(const char *option)
{
    return strcmp(option, "-W") == 0 || strcmp(option, "-X") == 0;
}

static struct mpi_use use_of_code(struct arena *a, const char *what, const char *code)
{
    enum mpi_need need;
    const char *package = imported(code, &need);

    if (!package)
        return nothing;
    return (struct mpi_use){
        .need = need,
        .what = what,
        .why = arena_printf(a, need == MPI_NEED_POSSIBLE ? "may import %s" : "imports %s", package),
    };
}

static struct mpi_use use_of_module(struct arena *a, const char *python, const char *module)
{
    const char *package = package_of(module);

    if (!package)
        return nothing;
    return (struct mpi_use){
        .need = strcmp(package, "mpi4py") == 0 ? MPI_NEED_CERTAIN : MPI_NEED_LIKELY,
        .what = arena_printf(a, "%s -m %s", python, module),
        .why = arena_printf(a, "needs MPI"),
    };
}

static struct mpi_use use_of_python(struct arena *a, const char *const *argv, size_t n,
                                    const struct mpi_place *place)
{
    const char *code;
    size_t i = 1;

    while (i < n && argv[i][0] == '-' && strcmp(argv[i], "-m") != 0 && strcmp(argv[i], "-c") != 0)
        i += takes_value(argv[i]) ? 2 : 1;
    if (i >= n)
        return nothing;
    if (argv[i][0] != '-') {
        code = text_of(a, in_dir(a, place, argv[i]));
        return code ? use_of_code(a, argv[i], code) : nothing;
    }
    if (i + 1 >= n)
        return nothing;
    return argv[i][1] == 'm' ? use_of_module(a, argv[0], argv[i + 1])
                             : use_of_code(a, arena_printf(a, "%s -c", argv[0]), argv[i + 1]);
}

/* --- shells -------------------------------------------------------------------------------------
 */

static bool is_shell(const char *program)
{
    static const char *const names[] = {"sh", "bash", "dash", "zsh", "ksh"};

    for (size_t i = 0; i < ARRAY_SIZE(names); i++)
        if (strcmp(base_name(program), names[i]) == 0)
            return true;
    return false;
}

/* Words of the shell's grammar that a command may follow. */
static bool is_keyword(const char *word)
{
    static const char *const words[] = {"if", "then", "else", "elif", "while",
                                        "do", "!",    "{",    "until"};

    for (size_t i = 0; i < ARRAY_SIZE(words); i++)
        if (strcmp(word, words[i]) == 0)
            return true;
    return false;
}

/* One simple command of n words; `cd` moves the place of those that follow. */
static struct mpi_use use_of_simple(struct arena *a, const struct shell_word *v, size_t n,
                                    struct mpi_place *place, int depth)
{
    const char **argv = ARENA_ARRAY(a, const char *, n + 1);
    size_t first = 0, count = 0;

    while (first < n && (v[first].assignment || is_keyword(v[first].text)))
        first++;
    for (size_t i = first; i < n; i++)
        argv[count++] = v[i].text;
    if (count == 0 || !v[first].plain)
        return nothing;
    if (count == 2 && strcmp(argv[0], "cd") == 0) {
        place->dir = in_dir(a, place, argv[1]);
        return nothing;
    }
    return use_of_words(a, argv, count, place, depth + 1);
}

static struct mpi_use use_of_text(struct arena *a, const char *text, const struct mpi_place *place,
                                  int depth)
{
    struct mpi_place here = *place;
    const struct shell_word *v;
    size_t n = shell_words(a, text, &v), end;

    for (size_t i = 0; i < n; i = end) {
        for (end = i + 1; end < n && v[end].command == v[i].command;)
            end++;
        struct mpi_use use = use_of_simple(a, v + i, end - i, &here, depth);

        if (use.need == MPI_NEED_CERTAIN && (i > 0 || end < n))
            use.need = MPI_NEED_LIKELY;
        if (use.need != MPI_NEED_NONE)
            return use;
    }
    return nothing;
}

static struct mpi_use use_of_shell(struct arena *a, const char *const *argv, size_t n,
                                   const struct mpi_place *place, int depth)
{
    const char *text = NULL;
    size_t i = 1;

    for (; i < n && argv[i][0] == '-' && argv[i][1]; i++) {
        if (argv[i][1] != '-' && argv[i][strlen(argv[i]) - 1] == 'c')
            return i + 1 < n ? use_of_text(a, argv[i + 1], place, depth) : nothing;
        i += strcmp(argv[i], "-o") == 0;
    }
    if (i < n)
        text = text_of(a, in_dir(a, place, argv[i]));
    return text ? use_of_text(a, text, place, depth) : nothing;
}

/* --- programs -----------------------------------------------------------------------------------
 */

/* The file that would be executed, or NULL. */
static const char *find_file(struct arena *a, const char *program, const struct mpi_place *place)
{
    const char *path = place->path;

    if (strchr(program, '/'))
        return in_dir(a, place, program);
    while (path && *path) {
        size_t n = strcspn(path, ":");
        const char *full = arena_printf(a, "%.*s/%s", (int)n, path, program);

        if (n && access(full, X_OK) == 0)
            return full;
        path += n + (path[n] == ':');
    }
    return NULL;
}

/* MPICH and what is binary compatible with it call theirs libmpi.so.12 as well. */
static const char *implementation_of(const char *library)
{
    if (strncmp(library, "libmpich", 8) == 0 || strcmp(library, "libmpi.so.12") == 0 ||
        strncmp(library, "libmpifort.so", 13) == 0 || strncmp(library, "libmpicxx.so", 12) == 0)
        return "MPICH";
    return strncmp(library, "libmpi", 6) == 0 ? "OpenMPI" : NULL;
}

/* A script that names its interpreter: `#!/bin/sh`, `#!/usr/bin/env -S python3 -u`. */
static struct mpi_use use_of_script(struct arena *a, const char *name, const char *file,
                                    const struct mpi_place *place, int depth)
{
    char magic[2];
    auto_close int fd = open(file, O_RDONLY | O_CLOEXEC | O_NONBLOCK);

    if (fd < 0 || read(fd, magic, 2) != 2 || magic[0] != '#' || magic[1] != '!')
        return nothing;

    const char *text = text_of(a, file);
    const char *line = text ? arena_strndup(a, text, strcspn(text, "\r\n")) : "";

    if (strstr(line, "python"))
        return use_of_code(a, name, text);
    for (const char *word = line + strcspn(line, "/ "); *word; word += strcspn(word, "/ ")) {
        word += strspn(word, "/ ");
        if (is_shell(arena_strndup(a, word, strcspn(word, " "))))
            return use_of_text(a, text, place, depth);
    }
    return nothing;
}

static struct mpi_use use_of_file(struct arena *a, const char *name, const char *file,
                                  const struct mpi_place *place, int depth)
{
    const struct mpi_library library = mpi_library_of(a, file, place->library_path);

    if (!library.name)
        return use_of_script(a, name, file, place, depth);
    if (library.through)
        return (struct mpi_use){
            .need = MPI_NEED_POSSIBLE,
            .what = name,
            .why =
                arena_printf(a, "is linked with %s, which needs %s", library.through, library.name),
            .implementation = implementation_of(library.name),
        };
    return (struct mpi_use){
        .need = MPI_NEED_CERTAIN,
        .what = name,
        .why = arena_printf(a, "is linked with %s", library.name),
        .implementation = implementation_of(library.name),
    };
}

static struct mpi_use use_of_words(struct arena *a, const char *const *argv, size_t n,
                                   const struct mpi_place *place, int depth)
{
    size_t first = wrappers_end(argv, n);
    const char *file;

    argv += first;
    n -= first;
    if (n == 0 || depth > DEPTH || mpi_is_launcher(argv[0]))
        return nothing;
    if (is_python(argv[0]))
        return use_of_python(a, argv, n, place);
    if (is_shell(argv[0]))
        return use_of_shell(a, argv, n, place, depth);
    file = find_file(a, argv[0], place);
    return file ? use_of_file(a, argv[0], file, place, depth) : nothing;
}

struct mpi_use mpi_program_use(struct arena *a, const char *const *argv,
                               const struct mpi_place *place)
{
    size_t n = 0;

    while (argv[n])
        n++;
    return use_of_words(a, argv, n, place, 0);
}

struct mpi_use mpi_text_use(struct arena *a, const char *text, const struct mpi_place *place)
{
    return use_of_text(a, text, place, 0);
}
