/* option_habits.c - options of torchrun, mpirun, srun and kubectl that `run` does not have: what to
 * do instead. Those that mean the same are accepted (run.c's table, without a help text). */
#include "cli/cli.h"

#include <string.h>

#define ON_THIS_MACHINE "use --hosts H: all hosts are on this machine"
#define SET_BY_MUSTER "Muster sets this for every process"
#define ENVIRONMENT "your environment is passed on: NAME=VALUE muster run …"
#define KEEP_MPIRUN "to use mpirun's own options: muster run -n 1 -- mpirun …"

static const struct {
    const char *options; /* separated by blanks */
    const char *answer;
} option_habits[] = {
    {"-H -host --host -hosts -hostfile --hostfile -machinefile --machinefile --nodelist",
     ON_THIS_MACHINE},
    {"-N --nodes -ppn -perhost --npernode -npernode --ntasks-per-node",
     "use --hosts H with -n N: N processes are spread evenly over H hosts"},
    {"-x --env -e -genv -genvall --export", ENVIRONMENT},
    {"--node-rank --node_rank --master-addr --master_addr --master-port --master_port "
     "--rdzv-endpoint --rdzv_endpoint --rdzv-backend --rdzv_backend --rdzv-id --rdzv_id",
     SET_BY_MUSTER},
    {"--bind-to -bind-to --map-by -map-by --rank-by -mca --mca --prefix --rankfile --display-map "
     "--report-bindings --cpu-bind",
     KEEP_MPIRUN},
    {"--output-filename -output-filename -o --output --error --log-dir --log_dir --redirects --tee",
     "each process has its own log: muster logs"},
    {"--input --inputs", "to set an input: --set inputs.NAME=VALUE, or inputs.NAME.path=PATH"},
    {"-f --file --filename", "to run a job file: muster run FILE"},
    {"-m --module", "to start a module: muster run -n N -- python3 -m MODULE"},
    {"--dry-run", "to see what would happen: muster explain FILE"},
    {"-d --detach --background", "to run in the background: nohup muster run … &"},
    {"-p --partition --account --qos --queue", "there is no queue; the job starts at once"},
    {"-t --time --timeout", "to limit the time: timeout 2h muster run …"},
    {"-v --verbose", "more is shown by `muster explain FILE` and `muster events`"},
    {"--max-restarts --max_restarts", "a job without a file is not restarted"},
    {"--namespace --context --kubeconfig", "the job runs on this machine"},
};

const char *habit_option(const struct verb *verb, const char *option)
{
    size_t n = strlen(option);

    for (size_t i = 0; strcmp(verb->name, "run") == 0 && i < ARRAY_SIZE(option_habits); i++)
        for (const char *at = option_habits[i].options; (at = strstr(at, option)); at += n)
            if ((at == option_habits[i].options || at[-1] == ' ') && (!at[n] || at[n] == ' '))
                return option_habits[i].answer;
    return NULL;
}
