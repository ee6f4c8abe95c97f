/* diagnose.c - diagnostics of a job file on stderr, and whether stdout took all we wrote. */
#include "cli/diagnose.h"

#include <stdio.h>
#include <string.h>

#include "cli/cli.h"

void print_diagnostics(const struct job_file *jf)
{
    bool colour = want_colour(stderr);
    size_t notes = 0;

    for (size_t i = 0; i < jf->diags.n; i++) {
        if (jf->diags.v[i].severity == SEV_NOTE && jf->diags.n_errors)
            notes++;
        else
            diag_print(stderr, jf->path, &jf->doc, &jf->diags.v[i], colour);
    }
    if (notes)
        fprintf(stderr, "%s: %zu note%s not shown as long as there are errors\n", jf->path, notes,
                notes == 1 ? " is" : "s are");
    if (jf->diags.n_dropped)
        fprintf(stderr, "%s: %zu more are not shown\n", jf->path, jf->diags.n_dropped);
}

int finish_output(void)
{
    if (fflush(stdout) == 0 && !ferror(stdout))
        return EXIT_FINE;
    fprintf(stderr, "muster: cannot write the output: %s\n", strerror(errno));
    return EXIT_FAILED;
}
