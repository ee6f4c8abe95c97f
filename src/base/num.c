/* num.c - strict text to number. Arithmetic is exact (128 bits, overflow checked): a quantity is
 * never the victim of a binary fraction. */
#include "base/num.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"

typedef unsigned __int128 wide_t;

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

int num_i64(const char *text, int64_t *ret)
{
    bool negative = *text == '-';
    int64_t v = 0;

    text += negative;
    if (!is_digit(*text))
        return -EINVAL;
    for (; is_digit(*text); text++) {
        int digit = *text - '0';

        if (__builtin_mul_overflow(v, 10, &v) ||
            __builtin_add_overflow(v, negative ? -digit : digit, &v)) {
            text += strspn(text, "0123456789");
            return *text ? -EINVAL : -ERANGE;
        }
    }
    if (*text)
        return -EINVAL;
    *ret = v;
    return 0;
}

int num_u32(const char *text, uint32_t *ret)
{
    int64_t v;
    int r;

    if (!is_digit(*text))
        return -EINVAL;
    r = num_i64(text, &v);
    if (r < 0)
        return r;
    if (v > UINT32_MAX)
        return -ERANGE;
    *ret = (uint32_t)v;
    return 0;
}

/* Digits with an optional fraction: value = mant / 10^frac. Digits beyond 128 bits are -ERANGE. */
static int decimal(const char **text, wide_t *mant, int *frac)
{
    const char *p = *text;
    bool any = false, dot = false, over = false;

    *mant = 0;
    *frac = 0;
    for (; is_digit(*p) || (*p == '.' && !dot); p++) {
        if (*p == '.') {
            dot = true;
            continue;
        }
        any = true;
        over = over || __builtin_mul_overflow(*mant, (wide_t)10, mant) ||
               __builtin_add_overflow(*mant, (wide_t)(*p - '0'), mant);
        *frac += dot;
    }
    *text = p;
    return !any ? -EINVAL : over ? -ERANGE : 0;
}

/* mant * 10^exp, rounded up, into *ret. */
static int scale10(wide_t mant, int exp, int64_t *ret)
{
    bool rest = false;

    for (; exp > 0 && mant; exp--) {
        if (__builtin_mul_overflow(mant, (wide_t)10, &mant))
            return -ERANGE;
    }
    for (; exp < 0 && mant; exp++) {
        rest = rest || mant % 10;
        mant /= 10;
    }
    mant += rest;
    if (mant > INT64_MAX)
        return -ERANGE;
    *ret = (int64_t)mant;
    return 0;
}

struct suffix {
    const char *text;
    int exp10, exp2;
};

static const struct suffix *find_suffix(const char *text)
{
    static const struct suffix suffixes[] = {
        {"", 0, 0},    {"n", -9, 0},  {"u", -6, 0},  {"m", -3, 0},  {"k", 3, 0},   {"M", 6, 0},
        {"G", 9, 0},   {"T", 12, 0},  {"P", 15, 0},  {"E", 18, 0},  {"Ki", 0, 10}, {"Mi", 0, 20},
        {"Gi", 0, 30}, {"Ti", 0, 40}, {"Pi", 0, 50}, {"Ei", 0, 60},
    };

    for (size_t i = 0; i < ARRAY_SIZE(suffixes); i++) {
        if (strcmp(text, suffixes[i].text) == 0)
            return &suffixes[i];
    }
    return NULL;
}

/* 1E3 has an exponent; 1E and 1Ei have suffixes. */
static bool has_exponent(const char *text)
{
    return (*text == 'e' || *text == 'E') && is_digit(text[1 + (text[1] == '-' || text[1] == '+')]);
}

/* The value times 10^scale. */
static int quantity(const char *text, int scale, int64_t *ret)
{
    const struct suffix *suffix;
    bool negative = *text == '-';
    wide_t mant;
    int64_t exp = 0, v;
    int frac, r, e;

    text += negative || *text == '+';
    r = decimal(&text, &mant, &frac);
    if (r == -EINVAL)
        return r;
    if (has_exponent(text)) {
        text += text[1] == '+' ? 2 : 1;
        e = num_i64(text, &exp);
        if (e < 0 || exp < -1000 || exp > 1000)
            return e == -EINVAL ? e : -ERANGE;
        text += strlen(text);
    }
    suffix = find_suffix(text);
    if (!suffix)
        return -EINVAL;
    if (r < 0 || frac > 1000 || __builtin_mul_overflow(mant, (wide_t)1 << suffix->exp2, &mant))
        return -ERANGE;
    r = scale10(mant, (int)exp + suffix->exp10 + scale - frac, &v);
    if (r < 0 || (negative && mant))
        return -ERANGE;
    *ret = v;
    return 0;
}

int quantity_milli(const char *text, int64_t *ret)
{
    return quantity(text, 3, ret);
}

int quantity_units(const char *text, int64_t *ret)
{
    return quantity(text, 0, ret);
}

int duration_ms(const char *text, int64_t *ret)
{
    static const struct unit {
        const char *text;
        int64_t ms;
    } units[] = {{"ms", 1}, {"s", 1000}, {"m", 60 * 1000}, {"h", 3600 * 1000}};
    int64_t sum = 0;

    if (strcmp(text, "0") == 0) {
        *ret = 0;
        return 0;
    }
    do {
        const struct unit *u = NULL;
        int64_t part;
        wide_t mant;
        int frac, r = decimal(&text, &mant, &frac);
        size_t len = strspn(text, "hms");

        if (r == -EINVAL)
            return r;
        for (size_t i = 0; i < ARRAY_SIZE(units) && !u; i++) {
            if (strlen(units[i].text) == len && strncmp(text, units[i].text, len) == 0)
                u = &units[i];
        }
        if (!u)
            return -EINVAL;
        text += len;
        if (r < 0 || frac > 1000 || __builtin_mul_overflow(mant, (wide_t)u->ms, &mant) ||
            scale10(mant, -frac, &part) < 0 || __builtin_add_overflow(sum, part, &sum))
            return -ERANGE;
    } while (*text);
    *ret = sum;
    return 0;
}

int duration_option_ms(const char *text, int64_t *ret)
{
    int64_t seconds;

    if (num_i64(text, &seconds) < 0 || seconds < 0)
        return duration_ms(text, ret);
    if (__builtin_mul_overflow(seconds, INT64_C(1000), &seconds))
        return -ERANGE;
    *ret = seconds;
    return 0;
}

const char *duration_text(int64_t ms, char out[DURATION_TEXT])
{
    long long s = (ms + 500) / 1000;

    if (ms < 1000)
        snprintf(out, DURATION_TEXT, "%lld ms", (long long)ms);
    else if (ms < 59950)
        snprintf(out, DURATION_TEXT, "%lld.%lld s", (long long)(ms + 50) / 1000,
                 (long long)(ms + 50) / 100 % 10);
    else if (s < 3600)
        snprintf(out, DURATION_TEXT, "%lld min %lld s", s / 60, s % 60);
    else
        snprintf(out, DURATION_TEXT, "%lld h %lld min", s / 3600, s / 60 % 60);
    return out;
}

const char *age_text(int64_t ms, char out[DURATION_TEXT])
{
    const int64_t day = INT64_C(24) * 3600 * 1000;

    if (ms < 0) { /* the clock was set back, or it was made elsewhere */
        snprintf(out, DURATION_TEXT, "in the future");
        return out;
    }
    if (ms < 2 * day)
        return duration_text(ms, out);
    snprintf(out, DURATION_TEXT, "%lld d", (long long)(ms / day));
    return out;
}

const char *bytes_text(int64_t bytes, char out[DURATION_TEXT])
{
    static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
    int64_t whole = bytes, rest = 0;
    size_t u = 0;

    while (whole >= 1024 && u + 1 < ARRAY_SIZE(units)) {
        rest = whole % 1024;
        whole /= 1024;
        u++;
    }
    if (rest * 10 / 1024 && whole < 100)
        snprintf(out, DURATION_TEXT, "%lld.%lld %s", (long long)whole,
                 (long long)(rest * 10 / 1024), units[u]);
    else
        snprintf(out, DURATION_TEXT, "%lld %s", (long long)whole, units[u]);
    return out;
}
