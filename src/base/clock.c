/* clock.c - see clock.h. */
#include "base/clock.h"

#include <stdio.h>
#include <time.h>

static ns_t now(clockid_t clock)
{
    struct timespec ts;

    clock_gettime(clock, &ts); /* cannot fail for these clocks */
    return (ns_t)ts.tv_sec * NS_PER_S + ts.tv_nsec;
}

ns_t clock_real(void)
{
    return now(CLOCK_REALTIME);
}

ns_t clock_mono(void)
{
    return now(CLOCK_MONOTONIC);
}

/* Times before 1970 do not occur; they are shown as 1970. */
static time_t split(ns_t real, unsigned int *ms)
{
    if (real < 0)
        real = 0;
    *ms = (unsigned int)(real % NS_PER_S / NS_PER_MS);
    return (time_t)(real / NS_PER_S);
}

const char *clock_rfc3339(ns_t real, char out[CLOCK_TEXT])
{
    unsigned int ms;
    time_t seconds = split(real, &ms);
    struct tm tm = {0};
    size_t n;

    gmtime_r(&seconds, &tm);
    n = strftime(out, CLOCK_TEXT, "%Y-%m-%dT%H:%M:%S", &tm);
    snprintf(out + n, CLOCK_TEXT - n, ".%03uZ", ms);
    return out;
}

const char *clock_hms(ns_t real, char out[CLOCK_TEXT])
{
    unsigned int ms;
    time_t seconds = split(real, &ms);
    struct tm tm = {0};
    size_t n;

    localtime_r(&seconds, &tm);
    n = strftime(out, CLOCK_TEXT, "%H:%M:%S", &tm);
    snprintf(out + n, CLOCK_TEXT - n, ".%03u", ms);
    return out;
}
