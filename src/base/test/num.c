/* num.c - numbers, quantities and durations: the whole text or nothing. */
#include "base/num.h"

#include <errno.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/tap.h"

struct row {
    const char *text;
    int r;
    int64_t want;
};

static void test_rows(const char *what, int (*parse)(const char *, int64_t *),
                      const struct row *rows, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        int64_t v = -77;

        is_int(parse(rows[i].text, &v), rows[i].r, "%s(\"%s\")", what, rows[i].text);
        is_int(v, rows[i].r ? -77 : rows[i].want, "its value, untouched on failure");
    }
}

static const struct row integers[] = {
    {"0", 0, 0},
    {"-12", 0, -12},
    {"9223372036854775807", 0, INT64_MAX},
    {"-9223372036854775808", 0, INT64_MIN},
    {"9223372036854775808", -ERANGE, 0},
    {"99999999999999999999x", -EINVAL, 0},
    {"", -EINVAL, 0},
    {" 1", -EINVAL, 0},
    {"1 ", -EINVAL, 0},
    {"+1", -EINVAL, 0},
    {"-", -EINVAL, 0},
    {"0x10", -EINVAL, 0},
};

static const struct row millis[] = {
    {"100m", 0, 100},
    {"2", 0, 2000},
    {"0.5", 0, 500},
    {".5", 0, 500},
    {"1.5Gi", 0, INT64_C(1610612736000)},
    {"128e6", 0, INT64_C(128000000000)},
    {"1E3", 0, 1000000},
    {"1e-1", 0, 100},
    {"1e+2", 0, 100000},
    {"9P", 0, INT64_C(9000000000000000000)},
    {"1E", -ERANGE, 0},
    {"1n", 0, 1},
    {"0", 0, 0},
    {"-0", 0, 0},
    {"1.00000000000000000000000000000000001", 0, 1001},
    {"-1", -ERANGE, 0},
    {"1e400", -ERANGE, 0},
    {"1e99999999999999999999", -ERANGE, 0},
    {"99999999999999999999999999999999999999999999", -ERANGE, 0},
    {"8Ei", -ERANGE, 0},
    {"", -EINVAL, 0},
    {"Gi", -EINVAL, 0},
    {"1 Gi", -EINVAL, 0},
    {"1gi", -EINVAL, 0},
    {"1KI", -EINVAL, 0},
    {"1e", -EINVAL, 0},
    {"1.2.3", -EINVAL, 0},
    {"four", -EINVAL, 0},
};

static const struct row units[] = {
    {"4Gi", 0, INT64_C(4) << 30},
    {"4G", 0, INT64_C(4000000000)},
    {"400m", 0, 1},
    {"7Ei", 0, INT64_C(7) << 60},
    {"8Ei", -ERANGE, 0},
    {"9223372036854775807", 0, INT64_MAX},
    {"9223372036854775808", -ERANGE, 0},
};

static const struct row durations[] = {
    {"500ms", 0, 500},
    {"2s", 0, 2000},
    {"5m", 0, 300000},
    {"1h", 0, 3600000},
    {"1m30s", 0, 90000},
    {"1.5s", 0, 1500},
    {"0", 0, 0},
    {"0s", 0, 0},
    {"0.1ms", 0, 1},
    {"5", -EINVAL, 0},
    {"", -EINVAL, 0},
    {"s", -EINVAL, 0},
    {"-1s", -EINVAL, 0},
    {"1s ", -EINVAL, 0},
    {"1d", -EINVAL, 0},
    {"1hs", -EINVAL, 0},
    {"9999999999999h", -ERANGE, 0},
};

static const struct row option_durations[] = {
    {"5", 0, 5000},     {"0", 0, 0},        {"500ms", 0, 500},
    {"-1", -EINVAL, 0}, {"5x", -EINVAL, 0}, {"9223372036854775807", -ERANGE, 0},
};

static void test_words(void)
{
    static const struct {
        int64_t ms;
        const char *want;
    } spans[] = {{0, "0 ms"},           {999, "999 ms"},      {1234, "1.2 s"},
                 {59949, "59.9 s"},     {59950, "1 min 0 s"}, {185000, "3 min 5 s"},
                 {3600000, "1 h 0 min"}};
    static const struct {
        int64_t bytes;
        const char *want;
    } sizes[] = {{0, "0 B"},
                 {1023, "1023 B"},
                 {512 << 20, "512 MiB"},
                 {(INT64_C(3) << 30) / 2, "1.5 GiB"},
                 {INT64_MAX, "7.9 EiB"}};
    char out[DURATION_TEXT];

    for (size_t i = 0; i < ARRAY_SIZE(spans); i++)
        is_str(duration_text(spans[i].ms, out), spans[i].want, "%lld ms", (long long)spans[i].ms);
    for (size_t i = 0; i < ARRAY_SIZE(sizes); i++)
        is_str(bytes_text(sizes[i].bytes, out), sizes[i].want, "%lld", (long long)sizes[i].bytes);
    is_str(age_text(INT64_C(47) * 3600000, out), "47 h 0 min", "an age");
    is_str(age_text(INT64_C(49) * 3600000, out), "2 d", "of days");
    is_str(age_text(-1, out), "in the future", "of what has not begun yet");
}

static void test_clock(void)
{
    char out[CLOCK_TEXT];
    ns_t t = INT64_C(1794772800) * NS_PER_S + 123 * NS_PER_MS;

    is_str(clock_rfc3339(t, out), "2026-11-15T20:00:00.123Z", "a time as RFC 3339");
    is_str(clock_rfc3339(-5, out), "1970-01-01T00:00:00.000Z", "nothing is before 1970");
    ok(clock_real() > t - INT64_C(100) * 365 * 86400 * NS_PER_S, "there is a clock");
    ok(clock_mono() <= clock_mono(), "and one that never goes back");
}

int main(void)
{
    uint32_t u = 7;

    test_rows("num_i64", num_i64, integers, ARRAY_SIZE(integers));
    test_rows("quantity_milli", quantity_milli, millis, ARRAY_SIZE(millis));
    test_rows("quantity_units", quantity_units, units, ARRAY_SIZE(units));
    test_rows("duration_ms", duration_ms, durations, ARRAY_SIZE(durations));
    test_rows("duration_option_ms", duration_option_ms, option_durations,
              ARRAY_SIZE(option_durations));
    ok(num_u32("4294967295", &u) == 0 && u == UINT32_MAX, "the largest of 32 bits");
    is_int(num_u32("4294967296", &u), -ERANGE, "and no more");
    is_int(num_u32("-1", &u), -EINVAL, "digits only");
    test_words();
    test_clock();
    return tap_done();
}
