/* base64: the examples of RFC 4648, and texts that are none. */
#include "base/base64.h"

#include <errno.h>
#include <string.h>

#include "base/tap.h"

int main(void)
{
    static const struct {
        const char *text, *want; /* NULL: refused */
    } rows[] = {
        {"", ""},
        {"Zg==", "f"},
        {"Zm8=", "fo"},
        {"Zm9v", "foo"},
        {"Zm9vYg==", "foob"},
        {"Zm9vYmE=", "fooba"},
        {"Zm9vYmFy", "foobar"},
        {"Zm9v\nYmFy\n", "foobar"},
        {"/+8=", "\xff\xef"},
        {"Zg", NULL},
        {"Zg=", NULL},
        {"Z", NULL},
        {"Zg==Zg==", NULL},
        {"=", NULL},
        {"====", NULL},
        {"Zm9v====", NULL},
        {"Zm 9v", NULL},
        {"Zm9-", NULL},
        {"hunter2!", NULL},
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        size_t len = strlen(rows[i].text), n = 0;
        char out[64];
        int r = base64_decode(rows[i].text, len, out, &n);

        if (rows[i].want)
            ok(r == 0 && n == strlen(rows[i].want) && memcmp(out, rows[i].want, n) == 0 &&
                   n <= BASE64_ROOM(len),
               "row %zu", i);
        else
            is_int(r, -EINVAL, "row %zu is refused", i);
    }
    return tap_done();
}
