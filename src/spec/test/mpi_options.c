/* mpi_options.c - the table of mpirun's options, by what its readers ask. */
#include "spec/mpi_options.h"

#include <string.h>

#include "base/cleanup.h"
#include "base/tap.h"

static const struct {
    const char *word;
    int values; /* -1: not known */
    enum mpi_meaning meaning;
    const char *value; /* behind a `=` */
} rows[] = {
    {"-np", 1, MPI_MEANS_TOTAL, NULL},
    {"--np=4", 0, MPI_MEANS_TOTAL, "4"},
    {"-N", 1, MPI_MEANS_PER_NODE, NULL},
    {"-n", 1, MPI_MEANS_TOTAL, NULL},
    {"--map-by", 1, MPI_MEANS_MAP_BY, NULL},
    {"-pernode", 0, MPI_MEANS_ONE_PER_NODE, NULL},
    {"-mca", 2, MPI_MEANS_PARAMETER, NULL},
    {"-genv", 2, MPI_MEANS_OTHER, NULL},
    {"-x", 1, MPI_MEANS_EXPORT, NULL},
    {"--enable-recovery", 0, MPI_MEANS_RECOVERY, NULL},
    {"--min-np", 1, MPI_MEANS_OTHER, NULL},
    {"---np", -1, 0, NULL},
    {"np", -1, 0, NULL},
    {"-", -1, 0, NULL},
    {"--", -1, 0, NULL},
    {"-=3", -1, 0, "3"},
    {"", -1, 0, NULL},
    {"--nprocs", -1, 0, NULL},
};

static void test_options(void)
{
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        const char *value = "";
        const struct mpi_option *o = mpi_option_of(rows[i].word, &value);

        is_int(o != NULL, rows[i].values >= 0, "\"%s\" is known or not", rows[i].word);
        if (o)
            is_int(o->meaning, rows[i].meaning, "\"%s\": its meaning", rows[i].word);
        is_str(value ? value : "", rows[i].value ? rows[i].value : "", "\"%s\": its value",
               rows[i].word);
        is_int((long long)mpi_option_values(rows[i].word, NULL),
               rows[i].values > 0 ? rows[i].values : 0, "\"%s\": words that follow", rows[i].word);
    }
}

static void test_words(void)
{
    static const char *const env[] = {"-env", "A=b", "-genv", "A", "b=c", NULL};
    static const char *const args[] = {"-mca", "a", "b", "prog", NULL}, *const cut[] = {"-mca", "a",
                                                                                        NULL};

    is_int((long long)mpi_option_words(args), 3, "an option with both its values");
    is_int((long long)mpi_option_words(cut), 2, "as many as there are");
    is_int((long long)mpi_option_words(args + 3), 1, "a word that is none");
    is_int((long long)mpi_option_words(env), 2, "NAME=VALUE is one word");
    is_int((long long)mpi_option_words(env + 2), 3, "NAME VALUE are two");
}

static void test_others(void)
{
    const char *end = NULL, *count = mpi_ppr_count("ppr:12:node:PE=2", &end);

    ok(count && strncmp(count, "12:", 3) == 0 && end == count + 2, "a number per node");
    ok(!mpi_ppr_count("ppr:2:socket", &end) && !mpi_ppr_count("ppr:2:nodes", &end) &&
           !mpi_ppr_count("ppr:2", &end) && !mpi_ppr_count("slot", &end),
       "other mappings have none");
    ok(mpi_is_launcher("/opt/bin/mpirun") && mpi_is_launcher("mpiexec.hydra") &&
           mpi_is_launcher("horovodrun"),
       "launchers");
    ok(!mpi_is_launcher("mpirunner") && !mpi_is_launcher("mpirun/x") && !mpi_is_launcher(""),
       "and others");
}

int main(void)
{
    test_options();
    test_words();
    test_others();
    return tap_done();
}
