/* clock.h - the only place that asks for the time; everything pure gets it as an argument. */
#ifndef BASE_CLOCK_H
#define BASE_CLOCK_H

#include <stdint.h>

typedef int64_t ns_t; /* nanoseconds: since 1970 (real) or since boot (mono) */

#define NS_PER_MS INT64_C(1000000)
#define NS_PER_S INT64_C(1000000000)

ns_t clock_real(void);
ns_t clock_mono(void);

/* "2026-11-15T20:00:00.123Z" */
#define CLOCK_TEXT 32
const char *clock_rfc3339(ns_t real, char out[CLOCK_TEXT]);
/* "20:00:00.123" in local time, for people */
const char *clock_hms(ns_t real, char out[CLOCK_TEXT]);

#endif
