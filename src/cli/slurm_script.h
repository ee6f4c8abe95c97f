/* slurm_script.h - what a Slurm batch script asks for, as far as a command line of `muster run` can
 * say it. */
#ifndef CLI_SLURM_SCRIPT_H
#define CLI_SLURM_SCRIPT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/strbuf.h"

struct slurm_script {
    int64_t tasks, hosts; /* 1 at least; hosts divides tasks */
    bool launches;        /* it calls srun or mpirun */
    struct strbuf
        step; /* what it starts with them; empty: nothing, several things, or shell syntax */
};
#define SLURM_SCRIPT_INIT                                                                          \
    {                                                                                              \
        .tasks = 1, .hosts = 1, .step = STRBUF_INIT                                                \
    }
void slurm_script_release(struct slurm_script *s);

/* False if the text has no #SBATCH lines; *ret is untouched then. */
bool slurm_script_read(const char *text, struct slurm_script *ret);

/* "muster run -n 4 --hosts 2 -- python3 train.py": what to type instead of `sbatch PATH`. */
void slurm_script_line(const struct slurm_script *s, const char *path, struct strbuf *out);

#endif
