/* clock.h - the only place that asks for the time; everything pure gets it as an argument. */
#ifndef BASE_CLOCK_H
#define BASE_CLOCK_H

#include <stdint.h>

typedef int64_t ns_t; /* nanoseconds: since 1970 (real, run) or since boot (mono) */

#define NS_PER_MS INT64_C(1000000)
#define NS_PER_S INT64_C(1000000000)

ns_t clock_real(void);
ns_t clock_mono(void);
ns_t clock_boot(void); /* since boot, sleep included: what the kernel dates processes by */

ns_t clock_cpu(void); /* what this thread has used of a processor */

/* The time of a run: looks like real time, but nobody can set it. It is the real time of the first
 * call, plus what has passed since, sleep included. All that a run compares, adds to or writes down
 * is in this time; see doc/design/faults.md. The processes of one run share the base, which one of
 * them makes and hands on. */
ns_t clock_run(void);
ns_t clock_run_base(void);
void clock_run_set_base(ns_t base);
void clock_run_set_now(ns_t run); /* a base of our own: another machine's run is there now */

/* "2026-11-15T20:00:00.123Z" */
#define CLOCK_TEXT 32
const char *clock_rfc3339(ns_t real, char out[CLOCK_TEXT]);
/* The time in such a text, with or without milliseconds; 0 if there is none. */
ns_t clock_of_rfc3339(const char *text);
/* "20:00:00.123" in local time, for people */
const char *clock_hms(ns_t real, char out[CLOCK_TEXT]);

#endif
