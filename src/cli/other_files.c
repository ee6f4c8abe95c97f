/* other_files.c - see other_files.h. */
#include "cli/other_files.h"

#include <fcntl.h>
#include <sys/stat.h>

#include "base/io.h"
#include "base/limits.h"
#include "cli/as_typed.h"
#include "cli/slurm_script.h"
#include "cli/tell.h"

static bool tell_slurm(const char *path, const char *text)
{
    CLEANUP(slurm_script_release) struct slurm_script s = SLURM_SCRIPT_INIT;
    auto_strbuf struct strbuf line = STRBUF_INIT;

    if (!slurm_script_read(text, &s))
        return false;
    slurm_script_line(&s, path, &line);
    tell_error("%s: Slurm batch script; #SBATCH options are not read", path);
    print_try(line.buf);
    return true;
}

/* A pipe is not waited for. */
static bool read_script(const char *path, struct strbuf *text)
{
    struct stat st;

    return stat(path, &st) == 0 && S_ISREG(st.st_mode) &&
           io_read_file(AT_FDCWD, path, LIMIT_FILE_BYTES, text, NULL) == 0;
}

bool tell_other_file(const struct job_file *jf)
{
    return jf->doc.source && tell_slurm(jf->path, jf->doc.source);
}

bool tell_other_script(const char *path)
{
    auto_strbuf struct strbuf text = STRBUF_INIT;

    return read_script(path, &text) && tell_slurm(path, text.buf);
}

bool is_slurm_script(const char *path)
{
    CLEANUP(slurm_script_release) struct slurm_script s = SLURM_SCRIPT_INIT;
    auto_strbuf struct strbuf text = STRBUF_INIT;

    return read_script(path, &text) && slurm_script_read(text.buf, &s);
}
