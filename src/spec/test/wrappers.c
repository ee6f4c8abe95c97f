/* Where the command behind its wrappers begins. */
#include "spec/wrappers.h"

#include "base/cleanup.h"
#include "base/tap.h"

static size_t count(const char *const *argv)
{
    size_t n = 0;

    while (argv[n])
        n++;
    return n;
}

int main(void)
{
    static const struct {
        const char *argv[10];
        size_t step, end;
    } rows[] = {
        {{"./pi"}, 0, 0},
        {{"env", "./pi"}, 1, 1},
        {{"env", "A=1", "B=2", "./pi", "x=3"}, 3, 3},
        {{"/usr/bin/env", "-u", "A", "-i", "--chdir=/x", "B=2", "./pi"}, 6, 6},
        {{"env", "--unset", "A", "./pi"}, 3, 3},
        {{"env", "-S", "python3 -u", "x.py"}, 4, 4},
        {{"env"}, 1, 1},
        {{"env", "A=1"}, 2, 2},
        {{"nice", "./pi"}, 1, 1},
        {{"nice", "-n", "5", "./pi"}, 3, 3},
        {{"nice", "-n5", "./pi"}, 2, 2},
        {{"nice", "-5", "./pi"}, 2, 2},
        {{"timeout", "5m", "./pi"}, 2, 2},
        {{"timeout", "-k", "1", "--signal=INT", "5m", "./pi"}, 5, 5},
        {{"timeout", "--foreground", "--kill-after", "1", "5m", "./pi"}, 5, 5},
        {{"timeout", "5m"}, 2, 2},
        {{"taskset", "-c", "0-3", "./pi"}, 3, 3},
        {{"numactl", "-N", "0", "--membind=0", "./pi"}, 4, 4},
        {{"stdbuf", "-oL", "-e", "0", "./pi"}, 4, 4},
        {{"time", "-p", "nice", "env", "A=1", "./pi"}, 2, 5},
        {{"setsid", "--", "./pi"}, 2, 2},
        {{"python3", "nice"}, 0, 0},
        {{"nice", "-", "./pi"}, 1, 1},
    };
    const char *deep[20];

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        size_t n = count(rows[i].argv);

        is_int((long long)wrapper_words(rows[i].argv, n), (long long)rows[i].step, "row %zu", i);
        is_int((long long)wrappers_end(rows[i].argv, n), (long long)rows[i].end,
               "row %zu: behind all of them", i);
    }
    is_int((long long)wrapper_words(NULL, 0), 0, "no words");
    for (size_t i = 0; i < ARRAY_SIZE(deep); i++)
        deep[i] = "nice";
    is_int((long long)wrappers_end(deep, ARRAY_SIZE(deep)), 8, "not for ever");
    return tap_done();
}
