/* main.c - runs a fuzzer's function once for every file named: the corpus as a test, with no clang.
 */
#include <fcntl.h>
#include <string.h>

#include "../common.h"
#include "base/io.h"
#include "base/strbuf.h"

__attribute__((weak)) int LLVMFuzzerInitialize(int *argc, char ***argv);

int main(int argc, char **argv)
{
    if (LLVMFuzzerInitialize)
        LLVMFuzzerInitialize(&argc, &argv);
    for (int i = 1; i < argc; i++) {
        auto_strbuf struct strbuf text = STRBUF_INIT;
        struct err e;

        if (strncmp(argv[i], "--", 2) == 0)
            continue;
        if (io_read_file(AT_FDCWD, argv[i], LIMIT_FILE_BYTES, &text, &e) < 0) {
            fprintf(stderr, "%s\n", e.text);
            return 1;
        }
        fprintf(stderr, "%s\n", argv[i]);
        LLVMFuzzerTestOneInput((const uint8_t *)text.buf, text.len);
    }
    return 0;
}
