/* json_cut.c - fuzzes the taking of items out of a long JSON text, which a job may have written.
 *
 * All items are the text as it was but for blanks; a text that is cut has the items that
 * were asked for. */
#include <string.h>

#include "api/json_cut.h"
#include "common.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *text = (const char *)data;

    for (int depth = 1; depth < 3; depth++) {
        auto_strbuf struct strbuf all = STRBUF_INIT, some = STRBUF_INIT, none = STRBUF_INIT;
        size_t total = 0, again = 0;

        if (!json_cut(text, size, "p", depth, 0, SIZE_MAX, &all, &total)) {
            MUST(all.len == 0);
            continue;
        }
        MUST(all.len <= size + total);
        MUST(json_cut(text, size, "p", depth, total, 1, &none, &again) && again == total);
        MUST(json_cut(text, size, "p", depth, total / 2, 1, &some, &again) && again == total);
        MUST(none.len <= some.len && some.len <= all.len);
    }
    return 0;
}
