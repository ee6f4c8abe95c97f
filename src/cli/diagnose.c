/* diagnose.c - diagnostics of a job file on stderr, and whether stdout took all we wrote. */
#include "cli/diagnose.h"

#include <stdio.h>
#include <string.h>

#include "base/strbuf.h"
#include "cli/cli.h"

/* The next finding after i that says the same at another place, or n. */
static size_t next_equal(const struct diags *ds, size_t i)
{
    const struct diag *d = &ds->v[i];

    for (size_t k = i + 1; k < ds->n; k++)
        if (!strcmp(ds->v[k].code, d->code) && !strcmp(ds->v[k].message, d->message))
            return k;
    return ds->n;
}

static bool is_repeated(const struct diags *ds, size_t i)
{
    for (size_t k = 0; k < i; k++)
        if (next_equal(ds, k) == i)
            return true;
    return false;
}

/* "      = also at lines 20, 31 and 4 more" */
static void print_places(const struct diags *ds, size_t first, bool colour)
{
    enum { SHOWN = 5 };
    auto_strbuf struct strbuf lines = STRBUF_INIT;
    size_t n = 0;
    uint32_t last = ds->v[first].pos.line;

    for (size_t i = next_equal(ds, first); i < ds->n; i = next_equal(ds, i)) {
        if (ds->v[i].pos.line == last)
            continue;
        last = ds->v[i].pos.line;
        if (n++ < SHOWN)
            strbuf_addf(&lines, "%s%u", lines.len ? ", " : "", last);
    }
    if (n > SHOWN)
        strbuf_addf(&lines, " and %zu more", n - SHOWN);
    if (n > 0)
        fprintf(stderr, "%s      =%s also at line%s %s\n", colour ? "\033[34m" : "",
                colour ? "\033[0m" : "", n == 1 ? "" : "s", lines.buf);
}

void print_diagnostic(const struct job_file *jf, size_t i)
{
    bool colour = want_colour(stderr);

    if (is_repeated(&jf->diags, i))
        return;
    diag_print(stderr, jf->path, &jf->doc, &jf->diags.v[i], colour);
    print_places(&jf->diags, i, colour);
}

void print_diagnostics(const struct job_file *jf)
{
    auto_strbuf struct strbuf path = STRBUF_INIT;
    size_t notes = 0;

    strbuf_add_escaped(&path, jf->path, strlen(jf->path));
    for (size_t i = 0; i < jf->diags.n; i++) {
        if (jf->diags.v[i].severity == SEV_NOTE && jf->diags.n_errors)
            notes++;
        else
            print_diagnostic(jf, i);
    }
    if (notes)
        fprintf(stderr, "%s: %zu note%s hidden until the errors are fixed\n", path.buf, notes,
                notes == 1 ? " is" : "s are");
    if (jf->diags.n_dropped)
        fprintf(stderr, "%s: %zu more not shown\n", path.buf, jf->diags.n_dropped);
}

int finish_output(void)
{
    if (fflush(stdout) == 0 && !ferror(stdout))
        return EXIT_FINE;
    fprintf(stderr, "muster: cannot write the output: %s\n", err_reason(errno));
    return EXIT_FAILED;
}
