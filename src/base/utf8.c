/* utf8.c - see utf8.h. The width table is coarse on purpose: it places carets, it sets no type. */
#include "base/utf8.h"

#include "base/cleanup.h"

size_t utf8_decode(const char *s, size_t n, uint32_t *ret)
{
    static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    const unsigned char *b = (const unsigned char *)s;
    uint32_t c = b[0];
    size_t len;

    if (c < 0x80) {
        *ret = c;
        return 1;
    }
    len = c >= 0xf0 && c < 0xf8 ? 4 : c >= 0xe0 ? 3 : c >= 0xc0 ? 2 : 0;
    if (!len || c >= 0xf8 || len > n)
        return 0;
    c &= 0x7fU >> len;
    for (size_t i = 1; i < len; i++) {
        if ((b[i] & 0xc0) != 0x80)
            return 0;
        c = c << 6 | (b[i] & 0x3f);
    }
    if (c < least[len] || c > 0x10ffff || (c >= 0xd800 && c < 0xe000))
        return 0;
    *ret = c;
    return len;
}

struct range {
    uint32_t first, last;
};

static int in_ranges(uint32_t c, const struct range *r, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (c >= r[i].first && c <= r[i].last)
            return 1;
    }
    return 0;
}

int utf8_width(uint32_t c)
{
    static const struct range zero[] = {
        {0x0300, 0x036f}, {0x0483, 0x0489}, {0x0591, 0x05bd},   {0x0610, 0x061a}, {0x064b, 0x065f},
        {0x1ab0, 0x1aff}, {0x1dc0, 0x1dff}, {0x200b, 0x200d},   {0x20d0, 0x20ff}, {0xfe00, 0xfe0f},
        {0xfe20, 0xfe2f}, {0xfeff, 0xfeff}, {0xe0100, 0xe01ef},
    };
    static const struct range wide[] = {
        {0x1100, 0x115f},   {0x2e80, 0x303e},   {0x3041, 0x33ff},   {0x3400, 0x4dbf},
        {0x4e00, 0x9fff},   {0xa000, 0xa4cf},   {0xa960, 0xa97f},   {0xac00, 0xd7a3},
        {0xf900, 0xfaff},   {0xfe30, 0xfe6f},   {0xff00, 0xff60},   {0xffe0, 0xffe6},
        {0x1f300, 0x1f64f}, {0x1f680, 0x1f6ff}, {0x1f900, 0x1faff}, {0x20000, 0x3fffd},
    };

    if (c < 0x300)
        return 1;
    if (in_ranges(c, zero, ARRAY_SIZE(zero)))
        return 0;
    return in_ranges(c, wide, ARRAY_SIZE(wide)) ? 2 : 1;
}

int utf8_is_control(uint32_t c)
{
    static const struct range acting[] = {
        {0x00, 0x1f},     {0x7f, 0x9f},     {0x061c, 0x061c}, {0x200b, 0x200b},
        {0x200e, 0x200f}, {0x2028, 0x202e}, {0x2060, 0x2069}, {0xfeff, 0xfeff},
    };

    return in_ranges(c, acting, ARRAY_SIZE(acting));
}
