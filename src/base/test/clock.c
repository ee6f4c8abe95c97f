/* clock.c - the time of a run: real time at first, then its own. */
#include "base/clock.h"

#include <stdlib.h>

#include "base/tap.h"

static ns_t apart(ns_t a, ns_t b)
{
    return llabs(a - b);
}

int main(void)
{
    char text[CLOCK_TEXT];
    ns_t base = clock_run_base(), first = clock_run();

    ok(apart(first, clock_real()) < 60 * NS_PER_S, "begins as real time");
    is_int(clock_run_base(), base, "the base is made once");
    for (int i = 0; i < 1000; i++) {
        ns_t next = clock_run();

        if (next < first)
            ok(0, "goes back");
        first = next;
    }
    /* what another process of the run has made */
    clock_run_set_base(base - 3600 * NS_PER_S);
    ok(apart(clock_run() + 3600 * NS_PER_S, first) < 60 * NS_PER_S, "a base that was handed on");
    ok(apart(clock_real(), first) < 60 * NS_PER_S, "real time stays what it is");
    is_str(clock_rfc3339(1500 * NS_PER_MS, text), "1970-01-01T00:00:01.500Z",
           "shown like real time");
    is_int(clock_of_rfc3339(text), 1500 * NS_PER_MS, "and read again");
    is_int(clock_of_rfc3339("1970-01-01T00:00:02Z"), 2 * NS_PER_S, "without milliseconds");
    is_int(clock_of_rfc3339("soon"), 0, "no time");
    return tap_done();
}
