/* slurm_script.c - fuzzes the reader of Slurm batch scripts: whatever the bytes are, the line that
 * is given as an answer is one line, its numbers fit together, and no shell syntax of the script is
 * in it. */
#include <string.h>

#include "cli/slurm_script.h"
#include "common.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct slurm_script s = SLURM_SCRIPT_INIT;
    struct strbuf line = STRBUF_INIT;
    char *text = strndup((const char *)data, size);

    MUST(text);
    bool found = slurm_script_read(text, &s);
    MUST(!found || strstr(text, "#SBATCH"));
    if (found) {
        MUST(s.tasks >= 1 && s.hosts >= 1 && s.tasks % s.hosts == 0);
        MUST(!strpbrk(s.step.buf, "\n$;&|`'\"<>"));
        slurm_script_line(&s, "batch.sh", &line);
        MUST(!strncmp(line.buf, "muster run -n ", 14) && !strchr(line.buf, '\n'));
    }
    strbuf_release(&line);
    slurm_script_release(&s);
    free(text);
    return 0;
}
