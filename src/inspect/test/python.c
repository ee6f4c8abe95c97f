/* Where a Python is: an interpreter is laid out in a memory of our own, as 3.11 lays it out, and
 * read; then with bytes changed at random, which must do no harm. A real one is read by
 * t/t0530-hang.t. */
#include <elf.h>
#include <stdlib.h>
#include <string.h>

#include "base/limits.h"
#include "base/tap.h"
#include "inspect/python.h"

#define BASE 0x400000ULL /* where the memory begins, for whoever reads it */

static uint8_t memory[16 * 1024];

static bool read_memory(const void *ctx, uint64_t at, void *to, size_t n)
{
    (void)ctx;
    if (at < BASE || n > sizeof(memory) || at - BASE > sizeof(memory) - n)
        return false;
    memcpy(to, memory + (at - BASE), n);
    return true;
}

static void put(uint64_t at, const void *from, size_t n)
{
    memcpy(memory + at, from, n);
}

static void put_pointer(uint64_t at, uint64_t to)
{
    to = to ? BASE + to : 0;
    put(at, &to, sizeof(to));
}

static void put_number(uint64_t at, uint64_t number, size_t n)
{
    put(at, &number, n);
}

enum { /* what is where */
       HEADERS = 0x40,
       DYNAMIC = 0x200,
       SYMBOLS = 0x300,
       STRINGS = 0x400,
       HASH = 0x500,
       VERSION = 0x600,
       RUNTIME = 0x700,
       INTERPRETER = 0x800,
       THREAD = 0x900,
       CFRAME = 0xa00,
       FRAMES = 0xb00, /* 0x100 each */
       CODES = 0x1000, /* 0x400 each */
       TEXTS = 0x2000, /* 0x100 each */
};

static uint32_t hash_of(const char *name)
{
    uint32_t hash = 5381;

    while (*name)
        hash = hash * 33 + (unsigned char)*name++;
    return hash;
}

static void put_object(void)
{
    static const char names[] = "\0_PyRuntime\0Py_Version";
    static const Elf64_Dyn dynamic[] = {{DT_SYMTAB, {BASE + SYMBOLS}},
                                        {DT_STRTAB, {BASE + STRINGS}},
                                        {DT_GNU_HASH, {BASE + HASH}},
                                        {DT_NULL, {0}}};
    static const Elf64_Sym symbols[] = {{0},
                                        {.st_name = 1, .st_value = BASE + RUNTIME},
                                        {.st_name = 12, .st_value = BASE + VERSION}};
    const uint32_t hash[] = {1,
                             1,
                             0,
                             0,
                             /* one bucket, no filter */ 1,
                             hash_of("_PyRuntime") & ~1U,
                             hash_of("Py_Version") | 1};
    const Elf64_Phdr headers[] = {{.p_type = PT_LOAD, .p_vaddr = BASE},
                                  {.p_type = PT_DYNAMIC, .p_vaddr = BASE + DYNAMIC}};
    Elf64_Ehdr head = {.e_phoff = HEADERS, .e_phnum = 2, .e_phentsize = sizeof(Elf64_Phdr)};

    memcpy(head.e_ident, ELFMAG, SELFMAG);
    head.e_ident[EI_CLASS] = ELFCLASS64;
    head.e_ident[EI_DATA] = ELFDATA2LSB;
    put(0, &head, sizeof(head));
    put(HEADERS, headers, sizeof(headers));
    put(DYNAMIC, dynamic, sizeof(dynamic));
    put(SYMBOLS, symbols, sizeof(symbols));
    put(STRINGS, names, sizeof(names));
    put(HASH, hash, sizeof(hash));
}

/* A string of one byte per character; not ASCII if wide. */
static uint64_t put_text(int i, const char *text, bool wide)
{
    uint64_t at = TEXTS + (uint64_t)i * 0x100;

    put_number(at + 16, strlen(text), 8);
    put_number(at + 32, 1 << 2 | 1 << 5 | (wide ? 0 : 1 << 6), 4);
    put(at + (wide ? 72 : 48), text, strlen(text));
    return at;
}

/* Code whose table of lines is given, and a frame of it that is at a unit of it. */
static void put_frame(int i, int texts, int32_t line, const char *lines, size_t n, uint64_t unit,
                      bool last)
{
    uint64_t frame = FRAMES + (uint64_t)i * 0x100, code = CODES + (uint64_t)i * 0x400;
    uint64_t table = code + 0x200;

    put_pointer(frame + 32, code);
    put_pointer(frame + 48, last ? 0 : frame + 0x100);
    put_pointer(frame + 56, code + 184 + 2 * unit);
    put_pointer(code + 112, TEXTS + (uint64_t)texts * 0x100);
    put_pointer(code + 128, TEXTS + (uint64_t)(texts + 1) * 0x100);
    put_pointer(code + 136, table);
    put_number(code + 72, (uint64_t)line, 4);
    put_number(table + 16, n, 8);
    put(table + 32, lines, n);
}

static void put_interpreter(void)
{
    memset(memory, 0, sizeof(memory));
    put_object();
    put_number(VERSION, 0x030b02f0, 8);
    put_pointer(RUNTIME + 40, INTERPRETER);
    put_pointer(INTERPRETER + 16, THREAD);
    put_number(THREAD + 160, 7, 8);
    put_pointer(THREAD + 56, CFRAME);
    put_pointer(CFRAME + 8, FRAMES);
    (void)put_text(0, "/usr/lib/python3/dist-packages/x.py", false);
    (void)put_text(1, "Tensor.backward", false);
    (void)put_text(2, "/home/tr\xe4n.py", true);
    (void)put_text(3, "<module>", false);
    /* one unit at 10; two a line further; three 200 lines back, with columns; one nowhere */
    put_frame(0, 0, 10, "\x80\x01\xd9\x01\x02", 5, 2, false);
    put_frame(1, 2, 300, "\xf2\x51\x06\x01\x02\x03\xf8", 7, 2, true);
}

static struct py_stack read_all(struct arena *a, const char **why)
{
    static const struct py_memory m = {.read = read_memory};
    struct py_stack s = {0};

    *why = python_stack(a, &m, BASE, &s);
    return s;
}

static void test_frames(void)
{
    auto_arena struct arena *a = arena_new();
    const char *why;

    put_interpreter();
    struct py_stack s = read_all(a, &why);
    ok(why == NULL, "it is read");
    is_int(s.n, 1, "one thread");
    const struct py_thread *t = python_main(&s, 7);
    ok(t && t->n == 2, "two frames");
    if (!t || t->n != 2)
        return;
    is_str(t->frames[0].function, "Tensor.backward", "the innermost function");
    is_int(t->frames[0].line, 11, "its line: one further");
    is_str(t->frames[1].file, "/home/trän.py", "a name that is not ASCII");
    is_int(t->frames[1].line, 100, "a line before the one before");
    ok(python_own(t) == &t->frames[1], "the script's own frame is not the library's");
    ok(python_main(&s, 8) == t, "after a fork the number may be the parent's");
    put_pointer(FRAMES + 56, CODES + 184 + 2 * 90);
    s = read_all(a, &why);
    is_int(s.v[0].frames[0].line, 0, "behind the table's end no line is known");
    put_pointer(FRAMES + 0x100 + 48, FRAMES);
    s = read_all(a, &why);
    is_int(s.v[0].n, LIMIT_PY_FRAMES, "frames that go round end");
    put_pointer(THREAD + 8, THREAD);
    s = read_all(a, &why);
    is_int(s.n, LIMIT_SNAPSHOT_THREADS, "so do threads");
}

static void test_reasons(void)
{
    auto_arena struct arena *a = arena_new();
    const char *why;

    put_interpreter();
    put_number(VERSION, 0x030e00f0, 8);
    (void)read_all(a, &why);
    is_str(why, "its Python is 3.14, whose stacks cannot be read", "too new");
    put_number(HASH + 24, hash_of("no_Version") | 1, 4);
    (void)read_all(a, &why);
    is_str(why, "its Python is older than 3.11", "too old");
    put_number(HASH + 20, hash_of("another") & ~1U, 4);
    (void)read_all(a, &why);
    is_str(why, "", "no Python at all");
    memory[0] = 0;
    (void)read_all(a, &why);
    is_str(why, "", "no program at all");
}

/* Whatever is there: an end, and no harm. */
static void test_nonsense(void)
{
    const char *seed = getenv("MUSTER_TEST_SEED");
    unsigned state = seed ? (unsigned)strtoul(seed, NULL, 10) : 1;
    int rounds = 20000, read = 0;

    for (int i = 0; i < rounds; i++) {
        auto_arena struct arena *a = arena_new();
        const char *why;

        put_interpreter();
        for (int k = 0; k < 4; k++) {
            state = state * 1103515245 + 12345;
            memory[(state >> 8) % 0x2400] = (uint8_t)(state >> 16);
        }
        (void)read_all(a, &why);
        read += !why;
    }
    ok(read > rounds / 2, "%d of %d memories with wrong bytes could be read", read, rounds);
}

int main(void)
{
    test_frames();
    test_reasons();
    test_nonsense();
    return tap_done();
}
