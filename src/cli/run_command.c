/* run_command.c - see run_command.h. Not here: the job itself (spec/command_job.c). */
#include "cli/run_command.h"

#include <errno.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/limits.h"
#include "base/num.h"
#include "base/strbuf.h"
#include "cli/other_files.h"
#include "cli/tell.h"
#include "engine/local/mpi_program.h"

static bool command_given(const struct command_options *o)
{
    return o->n > 0 || o->per_host > 0;
}

/* --- words that are not a job file --------------------------------------------------------------
 */

static bool ends_in(const char *text, const char *end)
{
    size_t n = strlen(text), m = strlen(end);

    return n > m && strcmp(text + n - m, end) == 0;
}

static bool is_script(const char *word)
{
    return ends_in(word, ".py") || ends_in(word, ".sh");
}

static bool is_job_file(const char *word)
{
    return ends_in(word, ".yaml") || ends_in(word, ".yml") || ends_in(word, ".json");
}

static bool is_executable(const char *path)
{
    struct stat st;

    return stat(path, &st) == 0 && S_ISREG(st.st_mode) && access(path, X_OK) == 0;
}

static bool is_on_path(const char *name)
{
    const char *path = getenv("PATH");

    while (path && *path) {
        size_t n = strcspn(path, ":");
        auto_strbuf struct strbuf full = STRBUF_INIT;

        strbuf_addf(&full, "%.*s/%s", (int)n, path, name);
        if (n && is_executable(full.buf))
            return true;
        path += n + (path[n] == ':');
    }
    return false;
}

/* Is this the beginning of a command rather than a job file? */
static bool is_command(const char *word)
{
    if (is_job_file(word))
        return false;
    if (is_script(word) || (strchr(word, '/') && is_executable(word)))
        return true;
    return access(word, F_OK) < 0 && !strchr(word, '/') && is_on_path(word);
}

bool command_begins_with(const struct command_options *o, const char *operand)
{
    return command_given(o) || is_command(operand);
}

static const char *interpreter_of(const char *word)
{
    if (is_executable(word) && strchr(word, '/'))
        return NULL;
    return ends_in(word, ".py") ? "python3" : ends_in(word, ".sh") ? "bash" : NULL;
}

/* "muster run -n 1 -- python3 train.py --lr 3" */
static void add_line(struct strbuf *out, int64_t n, int64_t hosts, char *const *v, int count)
{
    const char *interpreter = interpreter_of(v[0]);

    strbuf_addf(out, "muster run -n %lld ", (long long)n);
    if (hosts)
        strbuf_addf(out, "--hosts %lld ", (long long)hosts);
    strbuf_addf(out, "-- %s%s", interpreter ? interpreter : "", interpreter ? " " : "");
    for (int i = 0; i < count; i++) {
        strbuf_addstr(out, i ? " " : "");
        strbuf_add_shell_word(out, v[i]);
    }
}

/* A count that was written after the command, or 0. */
static int64_t count_at_end(const struct operands *ops)
{
    int64_t n;

    if (ops->n_rest < 3 || num_i64(ops->rest[ops->n_rest - 1], &n) < 0 || n < 1)
        return 0;
    return !strcmp(ops->rest[ops->n_rest - 2], "-n") || !strcmp(ops->rest[ops->n_rest - 2], "-np")
               ? n
               : 0;
}

/* A launcher of processes, whose place Muster takes. */
static bool is_launcher(const char *word)
{
    static const char *const names[] = {"mpirun", "mpiexec", "srun", "torchrun"};

    for (size_t i = 0; i < ARRAY_SIZE(names); i++)
        if (strcmp(word, names[i]) == 0)
            return true;
    return false;
}

/* Leaves the words of a launcher out, as far as they only say how many; false: they say more. */
static bool without_launcher(char *const *v, int count, int64_t *ret_n, int *ret_at)
{
    static const char *const counts[] = {
        "-np", "-n", "--np", "--ntasks", "--nproc-per-node", "--nproc_per_node"};
    int i = 1;

    *ret_n = 1;
    while (i + 1 < count && v[i][0] == '-') {
        size_t k = 0;

        while (k < ARRAY_SIZE(counts) && strcmp(v[i], counts[k]) != 0)
            k++;
        if (k == ARRAY_SIZE(counts) || num_i64(v[i + 1], ret_n) < 0 || *ret_n < 1)
            return false;
        i += 2;
    }
    *ret_at = i;
    return i < count && v[i][0] != '-';
}

/* The script that is to be run, with or without its interpreter: "batch.sh", "bash batch.sh". */
static const char *script_of(const struct operands *ops)
{
    bool named = !strcmp(ops->rest[0], "bash") || !strcmp(ops->rest[0], "sh");

    return ops->rest[named && ops->n_rest > 1];
}

/* Several copies of a launcher: each would start all processes. One torchrun per host is usual. */
static int check_launcher(const struct verb *verb, const struct command_options *o,
                          const struct operands *ops, int64_t hosts)
{
    auto_strbuf struct strbuf line = STRBUF_INIT;
    bool per_host = strcmp(ops->rest[0], "torchrun") == 0;
    int64_t copies = o->n / (per_host ? hosts : 1), of_launcher;
    int at;

    if (copies < 2 || !is_launcher(ops->rest[0]))
        return 0;
    if (without_launcher(ops->rest, ops->n_rest, &of_launcher, &at)) {
        add_line(&line, o->n > of_launcher ? o->n : of_launcher, o->hosts, ops->rest + at,
                 ops->n_rest - at);
        return usage_error(verb,
                           "-n %lld would start %s %lld times; Muster starts the processes "
                           "itself: %s",
                           (long long)o->n, ops->rest[0], (long long)o->n, line.buf);
    }
    add_line(&line, per_host ? hosts : 1, per_host ? o->hosts : 0, ops->rest, ops->n_rest);
    return usage_error(verb, "-n %lld would start %s %lld times; to start it once%s: %s",
                       (long long)o->n, ops->rest[0], (long long)o->n,
                       per_host && hosts > 1 ? " on each host" : "", line.buf);
}

static int how_to_start(const struct verb *verb, const struct command_options *o,
                        const struct operands *ops)
{
    auto_strbuf struct strbuf line = STRBUF_INIT;
    int64_t n = count_at_end(ops), of_launcher;
    int at;

    if (tell_other_script(script_of(ops)))
        return verb->usage_exit;
    if (n) {
        add_line(&line, n, o->hosts, ops->rest, ops->n_rest - 2);
        return usage_error(verb, "-n must come before the command: %s", line.buf);
    }
    if (is_launcher(ops->rest[0]) && without_launcher(ops->rest, ops->n_rest, &of_launcher, &at)) {
        add_line(&line, of_launcher, o->hosts, ops->rest + at, ops->n_rest - at);
        return usage_error(verb, "Muster starts the processes itself, without %s: %s", ops->rest[0],
                           line.buf);
    }
    add_line(&line, o->hosts ? o->hosts : 1, o->hosts, ops->rest, ops->n_rest);
    return usage_error(verb, "the number of processes is missing; to start %s: %s", ops->rest[0],
                       line.buf);
}

static int check_file(const struct verb *verb, const struct command_options *o,
                      const struct operands *ops)
{
    if (ops->rest && ops->n_rest > 0)
        return how_to_start(verb, o, ops);
    if (ops->n != 1)
        return usage_error(verb,
                           ops->n == 0 ? "a job FILE is required, or -n N -- CMD…"
                                       : "%s takes one job FILE, not %d",
                           verb->name, ops->n);
    if (o->hosts)
        return usage_error(verb, "--hosts requires -n; the job file sets the number of replicas "
                                 "(use --scale ROLE=N to change it)");
    if (o->name || o->mpi || o->no_mpi)
        return usage_error(verb, "--%s requires -n", o->name ? "name" : o->mpi ? "mpi" : "no-mpi");
    return 0;
}

/* 'python3 train.py', one word for the shell. */
static bool is_line(const char *word)
{
    return strchr(word, ' ') && *word != ' ' && *word != '/' && *word != '.';
}

static bool is_assignment(const char *word)
{
    size_t n = strspn(word, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_");

    return n > 0 && word[n] == '=';
}

int command_check(const struct verb *verb, struct command_options *o, const struct operands *ops)
{
    int64_t hosts = o->hosts ? o->hosts : 1;

    if (!command_given(o))
        return check_file(verb, o, ops);
    if (o->n && o->per_host && o->n != o->per_host * hosts)
        return usage_error(verb, "-n %lld does not match %lld processes per host on %lld hosts",
                           (long long)o->n, (long long)o->per_host, (long long)hosts);
    if (o->mpi && o->no_mpi)
        return usage_error(verb, "--mpi and --no-mpi cannot be used together");
    if (ops->n > 0 || (ops->rest && ops->n_rest > 0 && is_job_file(ops->rest[0])))
        return usage_error(verb,
                           "-n starts copies of a command; to run the job file: muster run %s "
                           "(--scale ROLE=N and --nproc ROLE=N change its size)",
                           ops->n > 0 ? ops->v[0] : ops->rest[0]);
    if (!ops->rest || ops->n_rest == 0)
        return usage_error(verb, "-n requires a command: muster run -n N -- CMD…");
    if (access(ops->rest[0], F_OK) < 0 && is_line(ops->rest[0]))
        return usage_error(verb,
                           "the command must not be quoted as a whole: muster run -n %lld -- %s",
                           (long long)(o->n ? o->n : o->per_host * hosts), ops->rest[0]);
    if (is_assignment(ops->rest[0]))
        return usage_error(verb, "set variables before muster: %s muster run …", ops->rest[0]);
    if (o->per_host > LIMIT_SLOTS || hosts > LIMIT_REPLICAS)
        return usage_error(verb, "at most %d hosts with %d processes each", LIMIT_REPLICAS,
                           LIMIT_SLOTS);
    if (o->per_host)
        o->n = o->per_host * hosts;
    if (o->n > LIMIT_PROCESSES || hosts > LIMIT_REPLICAS || o->n / hosts > LIMIT_SLOTS)
        return usage_error(verb, "at most %d processes on at most %d hosts, %d on each",
                           LIMIT_PROCESSES, LIMIT_REPLICAS, LIMIT_SLOTS);
    if (o->n % hosts != 0)
        return usage_error(verb, "-n %lld is not a multiple of --hosts %lld", (long long)o->n,
                           (long long)hosts);
    return check_launcher(verb, o, ops, hosts);
}

/* --- the job ------------------------------------------------------------------------------------
 */

/* As torchrun starts it: a Python script that is not a program itself. */
static const char *const *with_interpreter(struct arena *a, const struct operands *ops)
{
    const char **argv = ARENA_ARRAY(a, const char *, (size_t)ops->n_rest + 2);
    const char *interpreter = interpreter_of(ops->rest[0]);
    int n = 0;

    if (interpreter) {
        auto_strbuf struct strbuf text = STRBUF_INIT;

        strbuf_addf(&text, "%s is started with %s", ops->rest[0], interpreter);
        tell_note(text.buf);
        argv[n++] = interpreter;
    }
    if (is_slurm_script(script_of(ops))) {
        auto_strbuf struct strbuf text = STRBUF_INIT;

        strbuf_addf(&text, "the #SBATCH options of %s are not read", script_of(ops));
        tell_note(text.buf);
    }
    for (int i = 0; i < ops->n_rest; i++)
        argv[n++] = ops->rest[i];
    return argv;
}

/* Several copies of an MPI program without a launcher are several worlds of one rank. */
static int decide_mpi(const struct command_options *o, struct arena *a, struct command_job *job)
{
    const struct mpi_place place = {
        .dir = job->dir, .path = getenv("PATH"), .library_path = getenv("LD_LIBRARY_PATH")};
    const struct mpi_use use = mpi_program_use(a, job->argv, &place);
    auto_strbuf struct strbuf text = STRBUF_INIT;

    job->mpi = o->mpi;
    job->implementation = use.implementation;
    if (o->mpi || o->no_mpi || job->n == 1 || use.need == MPI_NEED_NONE)
        return 0;
    if (use.need == MPI_NEED_LIKELY) {
        tell_error("%s %s: use --mpi to start one MPI world with mpirun, or --no-mpi to start %d "
                   "separate processes",
                   use.what, use.why, job->n);
        return EXIT_MUSTER;
    }
    if (use.need == MPI_NEED_POSSIBLE) {
        strbuf_addf(&text,
                    "%s %s: if it uses MPI, each of the %d processes has a world of size 1; use "
                    "--mpi to start one world, or --no-mpi to silence this warning",
                    use.what, use.why, job->n);
        tell_warning(text.buf);
        return 0;
    }
    job->mpi = true;
    strbuf_addf(&text,
                "%s %s: started as one MPI world with mpirun (--no-mpi: %d separate processes)",
                use.what, use.why, job->n);
    tell_note(text.buf);
    return 0;
}

/* A name is part of host names and paths. */
static int check_name(const struct verb *verb, const char *name)
{
    size_t n = name ? strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789-") : 1;

    if (!name || (n > 0 && n <= LIMIT_NAME && !name[n] && *name != '-' && name[n - 1] != '-'))
        return 0;
    return usage_error(verb,
                       "--name must be lower case letters, digits and hyphens (at most %d), not "
                       "\"%s\"",
                       LIMIT_NAME, name);
}

int command_spec(const struct verb *verb, const struct command_options *o,
                 const struct operands *ops, struct arena *a, struct job_spec **ret)
{
    char cwd[PATH_MAX];
    struct command_job job = {
        .n = (int32_t)o->n, .hosts = (int32_t)(o->hosts ? o->hosts : 1), .name = o->name};
    int code = check_name(verb, o->name);

    if (code)
        return code;
    if (!getcwd(cwd, sizeof(cwd))) {
        tell_error("cannot determine the working directory: %s", strerror(errno));
        return EXIT_MUSTER;
    }
    job.dir = arena_strdup(a, cwd);
    job.argv = with_interpreter(a, ops);
    code = decide_mpi(o, a, &job);
    if (code)
        return code;
    *ret = spec_from_command(a, &job);
    return 0;
}

int command_fits_mpi(const struct job_spec *spec, const struct facts *facts, struct err *e)
{
    bool hydra = facts->machine.mpi == MPI_HYDRA || facts->machine.mpi == MPI_INTEL;
    bool wants_hydra = spec->implementation && strcmp(spec->implementation, "MPICH") == 0;

    if (!spec->mpi)
        return 0;
    if (!facts->machine.mpirun)
        return err_set(e, -ENOENT, "mpirun not found; install openmpi-bin or mpich");
    if (!spec->implementation || wants_hydra == hydra)
        return 0;
    return err_set(e, -ENOENT, "%s is linked with %s, but mpirun is %s; install the mpirun of %s",
                   spec->mpi->program[0], wants_hydra ? "MPICH" : "Open MPI",
                   hydra ? "MPICH" : "Open MPI", wants_hydra ? "MPICH" : "Open MPI");
}
