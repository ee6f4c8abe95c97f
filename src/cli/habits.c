/* habits.c - verbs of other tools: which of ours is meant. Their options: option_habits.c. */
#include "cli/cli.h"

#include <string.h>

static const struct {
    const char *word;
    const char *verb; /* ours */
    const char *line; /* what to type; NULL: the word is accepted in its place */
} habits[] = {
    {"ps", "list", NULL},
    {"ls", "list", NULL},
    {"get", "list", "muster list, muster show RUN"},
    {"jobs", "list", "muster list"},
    {"squeue", "list", "muster list"},
    {"describe", "show", "muster show RUN"},
    {"status", "show", "muster show RUN"},
    {"inspect", "show", "muster show RUN"},
    {"history", "list", "muster list --all"},
    {"version", "help", "muster --version"},
    {"-v", "help", "muster --version"},
    {"-V", "help", "muster --version"},
    {"log", "logs", "muster logs RUN"},
    {"tail", "logs", "muster logs -f RUN"},
    {"job", "run", "muster run FILE, muster list, muster show RUN"},
    {"train", "run", "muster run FILE"},
    {"-n", "run", "muster run -n N -- CMD…"},
    {"-np", "run", "muster run -n N -- CMD…"},
    {"-f", "run", "muster run FILE"},
    {"create", "run", "muster run FILE"},
    {"start", "run", "muster run FILE"},
    {"launch", "run", "muster run FILE"},
    {"torchrun", "run", "muster run -n N -- python3 SCRIPT"},
    {"mpirun", "run", "muster run -n N -- PROGRAM"},
    {"mpiexec", "run", "muster run -n N -- PROGRAM"},
    {"srun", "run", "muster run -n N -- PROGRAM"},
    {"sbatch", "run", "muster run FILE"},
    {"stop", "cancel", "muster cancel RUN"},
    {"kill", "cancel", "muster cancel RUN"},
    {"scancel", "cancel", "muster cancel RUN"},
    {"rm", "delete", "muster delete RUN"},
    {"remove", "delete", "muster delete RUN"},
    {"clean", "prune", "muster prune"},
    {"restart", "rerun", "muster rerun RUN"},
    {"retry", "rerun", "muster rerun RUN"},
    {"ssh", "exec", "muster exec RUN REPLICA -- CMD…"},
    {"lint", "validate", "muster validate FILE…"},
    {"check", "validate", "muster validate FILE…"},
    {"plan", "explain", "muster explain FILE"},
};

const struct verb *habit_verb(const char *word, const char **ret_line)
{
    for (size_t i = 0; i < ARRAY_SIZE(habits); i++)
        if (strcmp(habits[i].word, word) == 0) {
            *ret_line = habits[i].line;
            return find_verb(habits[i].verb);
        }
    return NULL;
}
