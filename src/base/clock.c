/* clock.c - see clock.h. */
#include "base/clock.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static ns_t now(clockid_t clock)
{
    struct timespec ts;

    clock_gettime(clock, &ts); /* cannot fail for these clocks */
    return (ns_t)ts.tv_sec * NS_PER_S + ts.tv_nsec;
}

/* A test's fault point: MUSTER_FAULT=clock:FILE, seconds that somebody has set the clock by. */
static ns_t fault_shift(void)
{
    ns_t shift = 0;
#ifdef MUSTER_FAULTS
    const char *fault = getenv("MUSTER_FAULT");
    FILE *f = fault && strncmp(fault, "clock:", 6) == 0 ? fopen(fault + 6, "re") : NULL;
    char text[32];

    if (f && fgets(text, sizeof(text), f))
        shift = strtol(text, NULL, 10) * NS_PER_S;
    if (f)
        (void)fclose(f);
#endif
    return shift;
}

ns_t clock_real(void)
{
    return now(CLOCK_REALTIME) + fault_shift();
}

ns_t clock_mono(void)
{
    return now(CLOCK_MONOTONIC);
}

ns_t clock_boot(void)
{
    return now(CLOCK_BOOTTIME);
}

ns_t clock_cpu(void)
{
    return now(CLOCK_THREAD_CPUTIME_ID);
}

static ns_t run_base;

ns_t clock_run_base(void)
{
    if (run_base == 0)
        run_base = clock_real() - now(CLOCK_BOOTTIME);
    return run_base;
}

void clock_run_set_base(ns_t base)
{
    run_base = base;
}

void clock_run_set_now(ns_t run)
{
    run_base = run - now(CLOCK_BOOTTIME);
}

ns_t clock_run(void)
{
    return clock_run_base() + now(CLOCK_BOOTTIME);
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

ns_t clock_of_rfc3339(const char *text)
{
    struct tm tm = {0};
    const char *rest = strptime(text, "%Y-%m-%dT%H:%M:%S", &tm);
    ns_t ms = 0;

    if (!rest)
        return 0;
    for (int i = 1; i <= 3 && rest[0] == '.' && rest[i] >= '0' && rest[i] <= '9'; i++)
        ms = ms * 10 + (rest[i] - '0');
    return (ns_t)timegm(&tm) * NS_PER_S + ms * NS_PER_MS;
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
