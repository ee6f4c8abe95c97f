/* mpi_library.c - the libraries an ELF program names.
 *
 * A program that names an MPI itself calls it. A library that pulls one in may do so for reasons of
 * its own (hdf5, a torch with an MPI backend), or be the program in all but name (lammps, gromacs).
 */
#include "engine/local/mpi_library.h"

#include <elf.h>
#include <endian.h>
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/limits.h"

/* A file in memory: every offset in it is the file's own claim. */
struct image {
    const unsigned char *bytes;
    size_t n;
};

static const void *at(const struct image *im, uint64_t offset, uint64_t size)
{
    return offset <= im->n && size <= im->n - offset ? im->bytes + offset : NULL;
}

static const char *text_at(const struct image *im, uint64_t offset)
{
    const char *text = at(im, offset, 1);

    return text && memchr(text, '\0', im->n - offset) ? text : NULL;
}

/* Where in the file an address of the loaded program lies; UINT64_MAX if it is in no segment. */
static uint64_t offset_of(const struct image *im, const Elf64_Ehdr *eh, uint64_t address)
{
    for (unsigned i = 0; i < eh->e_phnum; i++) {
        Elf64_Phdr ph;
        const void *p = at(im, eh->e_phoff + (uint64_t)i * sizeof(ph), sizeof(ph));

        if (!p)
            break;
        memcpy(&ph, p, sizeof(ph));
        if (ph.p_type == PT_LOAD && address >= ph.p_vaddr && address - ph.p_vaddr < ph.p_filesz)
            return address - ph.p_vaddr + ph.p_offset;
    }
    return UINT64_MAX;
}

static bool is_mpi_library(const char *name)
{
    static const char *const stems[] = {"libmpi.so",
                                        "libmpich.so",
                                        "libmpi_cxx.so",
                                        "libmpicxx.so",
                                        "libmpichcxx.so",
                                        "libmpichfort.so",
                                        "libmpi_mpifh.so",
                                        "libmpifort.so",
                                        "libmpi_usempi.so",
                                        "libmpi_usempif08.so",
                                        "libmpi_usempi_ignore_tkr.so"};

    for (size_t i = 0; i < ARRAY_SIZE(stems); i++)
        if (strncmp(name, stems[i], strlen(stems[i])) == 0)
            return true;
    return false;
}

/* The tags of one kind in the dynamic section; calls `each` with their values until it is true. */
static bool each_dynamic(const struct image *im, const Elf64_Phdr *dynamic, int64_t tag,
                         bool (*each)(void *ctx, uint64_t value), void *ctx)
{
    Elf64_Dyn d;

    for (uint64_t o = 0; o + sizeof(d) <= dynamic->p_filesz; o += sizeof(d)) {
        const void *p = at(im, dynamic->p_offset + o, sizeof(d));

        if (!p)
            return false;
        memcpy(&d, p, sizeof(d));
        if (d.d_tag == DT_NULL)
            return false;
        if (d.d_tag == tag && each(ctx, d.d_un.d_val))
            return true;
    }
    return false;
}

/* What a file says of the libraries that it needs. */
struct dynamic {
    struct arena *a;
    const struct image *im;
    uint64_t strings;
    const char *needed[LIMIT_LIBRARIES];
    size_t n;
    const char *search; /* RPATH or RUNPATH, or NULL */
};

static bool take_first(void *ctx, uint64_t value)
{
    *(uint64_t *)ctx = value;
    return true;
}

static const char *string_of(const struct dynamic *d, uint64_t value)
{
    return value <= UINT64_MAX - d->strings ? text_at(d->im, d->strings + value) : NULL;
}

static bool take_needed(void *ctx, uint64_t value)
{
    struct dynamic *d = ctx;
    const char *name = string_of(d, value);

    if (name && !strchr(name, '/'))
        d->needed[d->n++] = arena_strdup(d->a, name);
    return d->n == ARRAY_SIZE(d->needed);
}

static bool take_search(void *ctx, uint64_t value)
{
    struct dynamic *d = ctx;
    const char *text = string_of(d, value);

    d->search = text ? arena_strdup(d->a, text) : d->search;
    return text != NULL;
}

/* Only 64-bit files of this machine's byte order. */
static void read_image(struct dynamic *d)
{
    const struct image *im = d->im;
    Elf64_Ehdr eh;
    Elf64_Phdr ph = {0};
    uint64_t strings = UINT64_MAX;

    if (im->n < sizeof(eh))
        return;
    memcpy(&eh, im->bytes, sizeof(eh));
    if (memcmp(eh.e_ident, ELFMAG, SELFMAG) != 0 || eh.e_ident[EI_CLASS] != ELFCLASS64 ||
        eh.e_ident[EI_DATA] != (BYTE_ORDER == LITTLE_ENDIAN ? ELFDATA2LSB : ELFDATA2MSB))
        return;
    for (unsigned i = 0; i < eh.e_phnum && ph.p_type != PT_DYNAMIC; i++) {
        const void *p = at(im, eh.e_phoff + (uint64_t)i * sizeof(ph), sizeof(ph));

        if (!p)
            return;
        memcpy(&ph, p, sizeof(ph));
    }
    if (ph.p_type != PT_DYNAMIC || !each_dynamic(im, &ph, DT_STRTAB, take_first, &strings))
        return;
    d->strings = offset_of(im, &eh, strings);
    if (d->strings == UINT64_MAX)
        return;
    (void)each_dynamic(im, &ph, DT_NEEDED, take_needed, d);
    if (!each_dynamic(im, &ph, DT_RUNPATH, take_search, d))
        (void)each_dynamic(im, &ph, DT_RPATH, take_search, d);
}

static void read_dynamic(struct arena *a, const char *path, struct dynamic *ret)
{
    struct stat st;
    auto_close int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);

    *ret = (struct dynamic){.a = a};
    if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || st.st_size < 64)
        return;

    struct image im = {.n = (size_t)st.st_size};
    void *map = mmap(NULL, im.n, PROT_READ, MAP_PRIVATE, fd, 0);

    if (map == MAP_FAILED)
        return;
    im.bytes = map;
    ret->im = &im;
    read_image(ret);
    ret->im = NULL;
    (void)munmap(map, im.n);
}

/* --- where libraries are ------------------------------------------------------------------------
 */

struct search {
    struct arena *a;
    const char *library_path;
    size_t budget; /* files that may still be read */
};

/* A directory of RUNPATH: $ORIGIN is that of the file which names it. */
static const char *directory(struct arena *a, const char *text, size_t n, const char *of)
{
    static const char *const origins[] = {"$ORIGIN", "${ORIGIN}"};
    const char *slash = strrchr(of, '/');

    for (size_t i = 0; i < ARRAY_SIZE(origins); i++) {
        size_t k = strlen(origins[i]);

        if (n >= k && strncmp(text, origins[i], k) == 0)
            return arena_printf(a, "%.*s%.*s", slash ? (int)(slash - of) : 1, slash ? of : ".",
                                (int)(n - k), text + k);
    }
    return arena_strndup(a, text, n);
}

static const char *in_list(struct search *s, const char *list, const char *of, const char *name)
{
    while (list && *list) {
        size_t n = strcspn(list, ":");
        const char *path = arena_printf(s->a, "%s/%s", directory(s->a, list, n, of), name);

        if (n && access(path, R_OK) == 0)
            return path;
        list += n + (list[n] == ':');
    }
    return NULL;
}

static const char *find_library(struct search *s, const struct dynamic *d, const char *of,
                                const char *name)
{
    static const char places[] =
#if defined(__x86_64__)
        "/lib/x86_64-linux-gnu:/usr/lib/x86_64-linux-gnu:"
#elif defined(__aarch64__)
        "/lib/aarch64-linux-gnu:/usr/lib/aarch64-linux-gnu:"
#endif
        "/usr/local/lib:/lib64:/usr/lib64:/lib:/usr/lib";
    const char *path = in_list(s, d->search, of, name);

    path = path ? path : in_list(s, s->library_path, of, name);
    return path ? path : in_list(s, places, of, name);
}

/* Libraries of the system that never need an MPI: most programs have no others. */
static bool is_plain(const char *name)
{
    static const char *const stems[] = {"libc.so",    "libm.so",     "libpthread.so", "libdl.so",
                                        "librt.so",   "libgcc_s.so", "libstdc++.so",  "ld-linux",
                                        "linux-vdso", "libz.so",     "libgfortran.",  "libgomp.so"};

    for (size_t i = 0; i < ARRAY_SIZE(stems); i++)
        if (strncmp(name, stems[i], strlen(stems[i])) == 0)
            return true;
    return false;
}

static const char *mpi_of(struct search *s, const char *path, int depth, const char **ret_through)
{
    struct dynamic d;

    if (s->budget == 0)
        return NULL;
    s->budget--;
    read_dynamic(s->a, path, &d);
    *ret_through = NULL;
    for (size_t i = 0; i < d.n; i++)
        if (is_mpi_library(d.needed[i]))
            return d.needed[i];
    for (size_t i = 0; depth > 0 && i < d.n; i++) {
        const char *file = is_plain(d.needed[i]) ? NULL : find_library(s, &d, path, d.needed[i]);
        const char *deeper, *found = file ? mpi_of(s, file, depth - 1, &deeper) : NULL;

        if (found) {
            *ret_through = d.needed[i];
            return found;
        }
    }
    return NULL;
}

struct mpi_library mpi_library_of(struct arena *a, const char *program, const char *library_path)
{
    struct search s = {.a = a, .library_path = library_path, .budget = LIMIT_LIBRARIES};
    struct mpi_library ret = {0};

    ret.name = mpi_of(&s, program, LIMIT_LIBRARY_DEPTH, &ret.through);
    return ret;
}
