/* other_files.h - files that people have and that are no job files. */
#ifndef CLI_OTHER_FILES_H
#define CLI_OTHER_FILES_H

#include "dialect/dialect.h"

#define KNOWN_KINDS                                                                                \
    "Azure ML command job, OpenPAI job (protocol version 1 or 2), Kubeflow MPIJob, PyTorchJob or " \
    "TFJob, T9k MPIJob, Muster job (muster-v1)"

/* Is it a Slurm batch script? Then says so, and what to type: its lines are no YAML worth a
 * diagnostic. */
bool tell_other_file(const struct job_file *jf);
/* The same for a script that was given as a command. */
bool tell_other_script(const char *path);
bool is_slurm_script(const char *path);

#endif
