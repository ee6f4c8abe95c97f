/* diagnose.h - what the verbs that read job files tell people on stderr, the same for all of them.
 */
#ifndef CLI_DIAGNOSE_H
#define CLI_DIAGNOSE_H

#include "dialect/dialect.h"

/* Every diagnostic of the file, in compiler style, and how many more there were. */
void print_diagnostics(const struct job_file *jf);

/* The i-th; what is equal but for its place is shown once, with the lines of the others. */
void print_diagnostic(const struct job_file *jf, size_t i);

/* Flushes stdout. EXIT_FINE, or EXIT_FAILED after telling that the output is not complete. */
int finish_output(void);

#endif
