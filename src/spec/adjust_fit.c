/* adjust_fit.c - fewer processes in the same proportions: arithmetic only. */
#include "spec/adjust_parts.h"

/* The scale is a fraction of this; finer than any count it is applied to. */
#define WHOLE (INT64_C(1) << 20)

int64_t fit_total(const struct count *v, size_t n)
{
    int64_t total = 0;

    for (size_t i = 0; i < n; i++)
        total += (int64_t)v[i].replicas * v[i].width;
    return total;
}

/* At least two of what were several, unless even that is too much (least is then 1). */
static int32_t scaled(int32_t from, int64_t scale, int32_t least)
{
    int32_t floor = from < least ? from : least;
    int32_t value = (int32_t)(from * scale / WHOLE);

    return value < floor ? floor : value;
}

static void scale_all(const struct count *from, size_t n, int64_t scale, int32_t least_width,
                      struct count *ret)
{
    for (size_t i = 0; i < n; i++) {
        ret[i].replicas = scaled(from[i].replicas, scale, 2);
        ret[i].width = scaled(from[i].width, scale, least_width);
    }
}

/* What rounding down has left over goes to whole replicas first, then to wider ones. */
static void fill_up(const struct count *from, size_t n, int64_t target, struct count *v)
{
    int64_t total = fit_total(v, n), before;

    do {
        before = total;
        for (size_t i = 0; i < n; i++)
            if (v[i].replicas < from[i].replicas && total + v[i].width <= target) {
                v[i].replicas++;
                total += v[i].width;
            }
    } while (total > before);
    for (size_t i = 0; i < n; i++)
        if (v[i].width < from[i].width && total + v[i].replicas <= target) {
            v[i].width++;
            total += v[i].replicas;
        }
}

void fit_counts(const struct count *from, size_t n, int64_t target, struct count *ret)
{
    int64_t low = 0, high = WHOLE;
    int32_t least_width = 2;

    scale_all(from, n, 0, least_width, ret);
    if (fit_total(ret, n) > target)
        least_width = 1;
    while (low < high) { /* the largest scale that fits */
        int64_t middle = low + (high - low + 1) / 2;

        scale_all(from, n, middle, least_width, ret);
        if (fit_total(ret, n) <= target)
            low = middle;
        else
            high = middle - 1;
    }
    scale_all(from, n, low, least_width, ret);
    fill_up(from, n, target, ret);
}
