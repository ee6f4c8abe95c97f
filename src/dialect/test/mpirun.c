/* mpirun.c - what mpirun's options say about the job. */
#include "dialect/mpirun.h"

#include <errno.h>

#include "base/cleanup.h"
#include "base/tap.h"

int main(void)
{
    static const struct {
        const char *args[6];
        int32_t want;
        size_t bad;
    } rows[] = {
        {{"-N", "3", NULL}, 3, 0},
        {{"-npernode", "4", NULL}, 4, 0},
        {{"--npernode", "4", NULL}, 4, 0},
        {{"-ppn", "2", NULL}, 2, 0},
        {{"--map-by", "ppr:3:node", NULL}, 3, 0},
        {{"-map-by", "ppr:3:node:PE=2", NULL}, 3, 0},
        {{"-N", "3", "-N", "5", NULL}, 5, 0},
        {{"--map-by", "slot", NULL}, 0, 0},
        {{"--map-by", "ppr:3:socket", NULL}, 0, 0},
        {{"--map-by", "ppr:3", NULL}, 0, 0},
        {{"-bind-to", "none", NULL}, 0, 0},
        {{"-np", "3", NULL}, 0, 0},
        {{NULL}, 0, 0},
        {{"--oversubscribe", "-N", NULL}, -ENODATA, 1},
        {{"--map-by", NULL}, -ENODATA, 0},
        {{"-N", "three", NULL}, -EINVAL, 1},
        {{"-N", "0", NULL}, -EINVAL, 1},
        {{"-N", "4097", NULL}, -EINVAL, 1},
        {{"x", "--map-by", "ppr:x:node", NULL}, -EINVAL, 2},
        {{"--map-by", "ppr:11111111111111111111111:node", NULL}, -EINVAL, 1},
        {{"", "-", "--", "-N", "2", NULL}, 2, 0},
    };
    static const char *const one[] = {"-enable-recovery", NULL},
                             *const two[] = {"x", "--enable-recovery", NULL},
                             *const none[] = {"--max-restarts", "100", NULL};
    size_t bad = 99;

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        bad = 99;
        is_int(mpirun_slots(rows[i].args, &bad), rows[i].want, "row %zu", i);
        if (rows[i].want < 0)
            is_int(bad, rows[i].bad, "the argument at fault");
    }
    is_int(mpirun_slots(NULL, &bad), 0, "no arguments at all");
    ok(mpirun_recovers(one) && mpirun_recovers(two), "recovery is seen with one dash and two");
    ok(!mpirun_recovers(none) && !mpirun_recovers(NULL), "and not where it is not");
    return tap_done();
}
