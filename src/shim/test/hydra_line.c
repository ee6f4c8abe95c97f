/* hydra_line.c - where programs begin on Hydra's command line. */
#include "shim/hydra_line.h"

#include <string.h>

#include "base/cleanup.h"
#include "base/strbuf.h"
#include "base/tap.h"

static const struct {
    const char *line, *with; /* NULL: it is left alone */
} cases[] = {
    {"mpiexec ./a", "mpiexec W ./a"},
    {"mpiexec -n 4 ./a -n 5 : x", "mpiexec -n 4 W ./a -n 5 : W x"},
    {"mpiexec -n 2 ./a x : -n 2 -env B 2 ./b", "mpiexec -n 2 W ./a x : -n 2 -env B 2 W ./b"},
    {"mpiexec -genv A 1 -l -wdir /x -host h ./a", "mpiexec -genv A 1 -l -wdir /x -host h W ./a"},
    {"mpiexec --np=4 -bind-to core ./a", "mpiexec --np=4 -bind-to core W ./a"},
    {"mpiexec -f hosts -ppn 2 -n 4 sh -c x", "mpiexec -f hosts -ppn 2 -n 4 W sh -c x"},
    {"mpiexec -genv A -n -print-all-exitcodes ./a",
     "mpiexec -genv A -n -print-all-exitcodes W ./a"},
    {"mpiexec -n 4 /s/bin/W ./a", "mpiexec -n 4 /s/bin/W ./a"},
    {"mpiexec", NULL},
    {"mpiexec -n 4", NULL},
    {"mpiexec -version", NULL},
    {"mpiexec -configfile f", NULL},
    {"mpiexec -brand-new 3 -n 4 ./a", NULL},
    {"mpiexec -n 2 ./a :", NULL},
};

static void split(const char *line, struct strvec *ret)
{
    auto_free char *copy = strdup(line);
    char *rest = NULL;

    for (char *w = strtok_r(copy, " ", &rest); w; w = strtok_r(NULL, " ", &rest))
        strvec_push(ret, w);
}

int main(void)
{
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        auto_strvec struct strvec argv = STRVEC_INIT, line = STRVEC_INIT;
        auto_strbuf struct strbuf text = STRBUF_INIT;

        split(cases[i].line, &argv);
        bool known = hydra_line((const char *const *)argv.v, "W", &line);
        for (size_t k = 0; k < line.n; k++)
            strbuf_addf(&text, k ? " %s" : "%s", line.v[k]);
        if (cases[i].with)
            is_str(known ? text.buf : "", cases[i].with, "%s", cases[i].line);
        else
            ok(!known, "%s is left alone", cases[i].line);
    }
    ok(hydra_is_mpiexec("/usr/bin/mpiexec.hydra"), "Hydra's mpiexec");
    ok(hydra_is_mpiexec("/opt/mpich/bin/mpiexec.mpich"), "by MPICH's name");
    ok(!hydra_is_mpiexec("/opt/hydra/bin/orterun"), "a directory says nothing");
    return tap_done();
}
