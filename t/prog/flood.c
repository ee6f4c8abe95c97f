/* flood.c - writes numbered lines as fast as it can, in pieces of any size.
 *
 *     flood SEED LINES               as the rank of the variable, half of it to stderr
 *     flood SEED LINES RANK [o|e]    that of the rank to stdout, or its part for stdout or stderr
 *
 * What is written depends on the arguments alone, so that it can be compared. A piece is 1 to 8000
 * bytes, begins with its number if there is room, and ends with a newline, or in one of four cases
 * without one; the last never has one. Some pieces are cut in two writes.
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { LONGEST = 8000 };

static uint64_t state;

static uint32_t next(uint32_t below)
{
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(state >> 33) % below;
}

static void put(int fd, const char *p, size_t n)
{
    while (n > 0) {
        ssize_t w = write(fd, p, n);

        if (w <= 0)
            exit(1);
        p += w;
        n -= (size_t)w;
    }
}

int main(int argc, char **argv)
{
    const char *rank = argc > 3 ? argv[3] : getenv("RANK");
    static char piece[LONGEST];

    if (argc < 3 || !rank)
        return 2;
    long lines = strtol(argv[2], NULL, 10);
    state = strtoull(argv[1], NULL, 10) * 1000003 + strtoull(rank, NULL, 10);
    for (long i = 0; i < lines; i++) {
        size_t n = 1 + next(LONGEST), cut = next(2) ? next((uint32_t)n) : n;
        int side = next(2) ? STDOUT_FILENO : STDERR_FILENO;
        bool skip = argc > 4 && side != (*argv[4] == 'o' ? STDOUT_FILENO : STDERR_FILENO);
        int fd = argc > 3 ? STDOUT_FILENO : side;
        char number[64];
        int len = snprintf(number, sizeof(number), "%s:%ld:", rank, i);

        memset(piece, 'a' + (int)next(26), n);
        memcpy(piece, number, (size_t)len < n ? (size_t)len : n);
        if (next(4) != 0 && i + 1 < lines)
            piece[n - 1] = '\n';
        if (skip)
            continue;
        put(fd, piece, cut);
        put(fd, piece + cut, n - cut);
    }
    return 0;
}
