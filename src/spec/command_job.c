/* command_job.c - the job of a command line without a file: `muster run -n 4 -- CMD…`. */
#include <ctype.h>
#include <string.h>

#include "base/limits.h"
#include "spec/spec.h"
#include "spec/wrappers.h"

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash ? slash + 1 : path;
}

/* Does the argument after it say more than the program's own name? */
static bool is_interpreter(const char *name)
{
    static const char *const names[] = {"python",   "bash",      "sh",        "dash",  "zsh",
                                        "perl",     "ruby",      "node",      "julia", "Rscript",
                                        "torchrun", "deepspeed", "accelerate"};

    for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
        size_t n = strlen(names[i]);

        if (strncmp(name, names[i], n) == 0 && name[n + strspn(name + n, "0123456789.")] == '\0')
            return true;
    }
    return false;
}

static bool is_script(const char *word)
{
    size_t n = strlen(word);

    return word[0] != '-' && n > 3 &&
           (!strcmp(word + n - 3, ".py") || !strcmp(word + n - 3, ".sh"));
}

/* Of a launcher whose options are its own business: its script. */
static const char *script_of(const char *const *argv)
{
    for (size_t i = 1; argv[i]; i++)
        if (is_script(argv[i]))
            return base_name(argv[i]);
    return NULL;
}

/* What a person would call it: train for `nice python3 -u train.py`, pkg.train for `python3 -m
 * pkg.train`, train for `torchrun --nproc_per_node 2 train.py`. */
static const char *word_of(const char *const *argv)
{
    size_t n = 0, i = 1;

    while (argv[n])
        n++;
    size_t first = wrappers_end(argv, n);
    const char *const *v = argv[first] ? argv + first : argv;
    const char *program = base_name(v[0]), *script = script_of(v);

    if (!is_interpreter(program))
        return program;
    while (v[i] && v[i][0] == '-' && strcmp(v[i], "-c") != 0 && strcmp(v[i], "-m") != 0)
        i++;
    if (!v[i] || strcmp(v[i], "-c") == 0)
        return program;
    if (strcmp(v[i], "-m") == 0 && v[i + 1] && strncmp(v[i + 1], "torch.distributed.", 18) != 0)
        return v[i + 1];
    if (script)
        return script;
    return strpbrk(v[i], " =;\n") ? program : base_name(v[i]);
}

/* Lower case letters, digits and hyphens, as names are in every dialect; "run" if nothing is left.
 */
static const char *name_of(struct arena *a, const char *const *argv)
{
    const char *word = word_of(argv), *dot = strrchr(word, '.');
    size_t n = dot && dot > word && strlen(dot) <= 4 ? (size_t)(dot - word) : strlen(word);
    char *name = arena_strndup(a, word, n < LIMIT_NAME ? n : LIMIT_NAME);
    size_t len = 0;

    for (const char *p = name; *p; p++) {
        char c = (char)tolower((unsigned char)*p);

        if (isascii(c) && isalnum((unsigned char)c))
            name[len++] = c;
        else if (len > 0 && name[len - 1] != '-')
            name[len++] = '-';
    }
    while (len > 0 && name[len - 1] == '-')
        len--;
    name[len] = '\0';
    return len > 0 ? name : "run";
}

static struct role worker_of(struct arena *a, const struct command_job *job)
{
    struct port_request *port = ARENA_NEW(a, struct port_request);
    struct role role = spec_new_role("worker", job->mpi ? ROLE_HOST : ROLE_PLAIN);

    *port = (struct port_request){
        .label = "MASTER_PORT", .count = 1, .usual = 29500, .first_only = true};
    role.replicas = job->hosts;
    role.slots = job->n / job->hosts;
    role.workdir = job->dir;
    if (job->mpi)
        return role;
    role.argv = job->argv;
    role.ports = port;
    role.n_ports = 1;
    return role;
}

struct job_spec *spec_from_command(struct arena *a, const struct command_job *job)
{
    static const char *const none[] = {NULL};
    struct job_spec *spec = ARENA_NEW(a, struct job_spec);
    struct role *roles = ARENA_ARRAY(a, struct role, 2);
    size_t n = 0;

    if (job->mpi) {
        struct mpi_spec *mpi = ARENA_NEW(a, struct mpi_spec);

        mpi->program = job->argv;
        mpi->extra_args = none;
        spec->mpi = mpi;
        spec->implementation = job->implementation;
        roles[n] = spec_new_role("launcher", ROLE_LAUNCHER);
        roles[n++].workdir = job->dir;
    }
    roles[n++] = worker_of(a, job);
    spec->name = job->name ? job->name : name_of(a, job->argv);
    spec->dialect = "muster-v1";
    spec->framework = job->mpi ? FRAMEWORK_MPI : FRAMEWORK_NONE;
    spec->dir = job->dir;
    spec->roles = roles;
    spec->n_roles = n;
    spec->priority = -1;
    return spec;
}
