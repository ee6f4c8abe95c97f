/* num.h - strict text to number: the whole text or nothing, no locale, no leading space. */
#ifndef BASE_NUM_H
#define BASE_NUM_H

#include <stdbool.h>
#include <stdint.h>

int num_i64(const char *text, int64_t *ret);  /* 0, -EINVAL, -ERANGE */
int num_u32(const char *text, uint32_t *ret); /* decimal digits only */

/* A Kubernetes quantity ("100m", "2", "1.5Gi", "128e6"): in thousandths, rounded up.
 * 0, -EINVAL (no quantity), -ERANGE (does not fit or is negative). */
int quantity_milli(const char *text, int64_t *ret);
/* The same in whole units, rounded up. */
int quantity_units(const char *text, int64_t *ret);

/* "500ms", "2s", "5m", "1h", "1m30s", "1.5s"; "0" is allowed, a bare number is not. In
 * milliseconds. */
int duration_ms(const char *text, int64_t *ret);

/* The same for an option, where a bare number is seconds. */
int duration_option_ms(const char *text, int64_t *ret);

/* "1.2 s", "3 min 5 s" for people. */
#define DURATION_TEXT 32
const char *duration_text(int64_t ms, char out[DURATION_TEXT]);

/* The same of an age: days from two of them on; "in the future" if it is negative. */
const char *age_text(int64_t ms, char out[DURATION_TEXT]);

/* 512 MiB, 1.5 GiB … for people. */
const char *bytes_text(int64_t bytes, char out[DURATION_TEXT]);

#endif
