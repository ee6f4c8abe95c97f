/* run_command.h - `muster run -n N -- CMD…`: what people type who come from torchrun, mpirun and
 * srun, and the line that works where that cannot be meant. */
#ifndef CLI_RUN_COMMAND_H
#define CLI_RUN_COMMAND_H

#include "cli/cli.h"
#include "plan/plan.h"

struct command_options {
    int64_t n, hosts, per_host; /* 0 = not given */
    const char *name;
    bool mpi, no_mpi;
    bool ignored; /* options of others that say what is so anyway */
};

/* Does the first operand begin a command? It does after a count of processes, and when it can be no
 * job file. */
bool command_begins_with(const struct command_options *o, const char *operand);

/* The options together with what is left on the command line: 0, or the exit code after telling the
 * user. Without a command: is the operand a job file, as far as its name tells? */
int command_check(const struct verb *verb, struct command_options *o, const struct operands *ops);

/* The job that they describe; 0, or the exit code after telling the user. */
int command_spec(const struct verb *verb, const struct command_options *o,
                 const struct operands *ops, struct arena *a, struct job_spec **ret);

/* -ENOENT unless the MPI that was found fits the program. */
int command_fits_mpi(const struct job_spec *spec, const struct facts *facts, struct err *e);

#endif
