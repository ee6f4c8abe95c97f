/* hint.c - see hint.h.
 *
 * A command that asks for PAI_HOST_IP_work_0 where the role is called worker ends with a KeyError
 * or an unbound variable. The plan knows what is set, and so which name was meant. A command that
 * calls horovodrun where there is none ends with 127; it stands for an mpirun line, and that can be
 * said. The frameworks' own last words about a port, an interface or a GPU say what is wrong, and
 * the plan knows what would be right. Their texts are those of real runs (t/frameworks/endings.t):
 * torch 1.13 and 2.15, mpi4py 4.1, Horovod 0.28. Where the table says so, they are of the source
 * only: the run would need a GPU.
 */
#include <ctype.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/mem.h"
#include "base/nearest.h"
#include "job/hint.h"
#include "job/mask.h"
#include "plan/horovod.h"

#define SHM_FULL_BYTES (64 * 1024) /* less than any library asks for */

static bool in_name(char c)
{
    return isalnum((unsigned char)c) || c == '_';
}

/* Names that somebody promises; any other word may be the program's own. */
static const struct promise {
    const char *begins;
    const char *by; /* who would have set it, where that is not the platform */
} promises[] = {
    {"PAI_", NULL},
    {"AZUREML_", NULL},
    {"AZ_BATCH", NULL},
    {"MASTER_", NULL},
    {"RANK", "torchrun or a PyTorch job"},
    {"WORLD_SIZE", "torchrun or a PyTorch job"},
    {"LOCAL_RANK", "torchrun or a PyTorch job"},
    {"TF_CONFIG", "a TensorFlow job"},
    {"OMPI_COMM_WORLD_", "Open MPI's mpirun"},
    {"PMI_", "MPICH's mpiexec"},
};

static const struct promise *promise_of(const char *name)
{
    for (size_t i = 0; i < ARRAY_SIZE(promises); i++)
        if (strncmp(name, promises[i].begins, strlen(promises[i].begins)) == 0)
            return &promises[i];
    return NULL;
}

/* --- which variable it was ---------------------------------------------------------------------
 */

/* KeyError: 'NAME' */
static const char *name_after(struct arena *a, const char *line, const char *words)
{
    const char *at = strstr(line, words);
    size_t n = 0;

    if (!at)
        return NULL;
    at += strlen(words);
    at += *at == '\'' || *at == '"';
    while (in_name(at[n]))
        n++;
    return arena_strndup(a, at, n);
}

/* bash: line 1: NAME: unbound variable */
static const char *name_before(struct arena *a, const char *line, const char *words)
{
    const char *end = strstr(line, words), *at = end;

    if (!end)
        return NULL;
    while (at > line && in_name(at[-1]))
        at--;
    return arena_strndup(a, at, (size_t)(end - at));
}

static const char *name_missed(struct arena *a, const char *line)
{
    const char *const found[] = {
        name_after(a, line, "KeyError: "),
        name_before(a, line, " expected, but not set"), /* torch */
        name_before(a, line, ": unbound variable"),
        name_before(a, line, ": parameter not set"),
    };

    for (size_t i = 0; i < ARRAY_SIZE(found); i++)
        if (found[i] && promise_of(found[i]))
            return found[i];
    return NULL;
}

/* --- what would have been there ----------------------------------------------------------------
 */

static uint32_t process_of_cause(const struct job *job)
{
    const struct cause *c = &job->cause;

    return c->process >= 0 ? (uint32_t)c->process : job->plan->replicas[c->replica].first_process;
}

static bool hint_variable(const struct job *job, const char *line, struct strbuf *out)
{
    auto_arena struct arena *a = arena_new();
    const struct env_value *env;
    const char *name = name_missed(a, line);

    if (!name)
        return false;
    size_t n = plan_env(a, job->plan, process_of_cause(job), FIRST_START, true, &env), n_known = 0;
    const char **known = ARENA_ARRAY(a, const char *, n + 1);
    for (size_t i = 0; i < n; i++) {
        if (strcmp(env[i].name, name) == 0)
            return false; /* it was set: the command itself has lost it */
        if (promise_of(env[i].name))
            known[n_known++] = env[i].name;
    }
    const char *near = nearest_word(name, known, n_known);
    strbuf_addf(out, "%s is not set in this job", name);
    if (near)
        strbuf_addf(out, "; closest match: %s", near);
    else if (promise_of(name)->by && !job->plan->spec->file && job->plan->spec->mpi)
        strbuf_addstr(out, ", which mpirun starts; without --mpi, muster run -n sets it");
    else if (promise_of(name)->by)
        strbuf_addf(out, ": %s sets it", promise_of(name)->by);
    return true;
}

/* --- horovodrun --------------------------------------------------------------------------------
 */

/* The command as a shell would read it. */
static const char *command_text(struct arena *a, const struct process *p)
{
    auto_strbuf struct strbuf text = STRBUF_INIT;

    if (p->shell)
        return p->shell;
    for (const char *const *word = p->argv; word && *word; word++) {
        strbuf_addstr(&text, word == p->argv ? "" : " ");
        strbuf_add_shell_word(&text, *word);
    }
    return arena_strndup(a, text.buf, text.len);
}

static bool is_missing(const char *line, const char *program)
{
    return strstr(line, program) && strstr(line, "not found");
}

static bool hint_horovodrun(const struct job *job, const char *const *tail, struct strbuf *out)
{
    const struct cause *c = &job->cause;
    bool missing = c->kind == CAUSE_EXEC;

    if (c->process < 0 || c->exit_code != 127)
        return false;
    for (; tail && *tail && !missing; tail++)
        missing = is_missing(*tail, "horovodrun");
    if (!missing)
        return false;
    auto_arena struct arena *a = arena_new();
    const char *text = command_text(a, &job->plan->processes[c->process]);
    const struct shell_word *words;
    size_t n = shell_words(a, text, &words);
    const char *line = horovod_as_mpirun(a, text, words, n);
    if (!line)
        return false;
    strbuf_addstr(out, "horovodrun is not installed; the equivalent with mpirun: ");
    strbuf_add_escaped(out, line, strlen(line));
    mask_sentence(job->plan, out);
    return true;
}

/* --- what frameworks say ------------------------------------------------------------------------
 */

/* The number behind one of the ways to write a port, or 0. */
static int port_in(const char *line)
{
    static const char *const ways[] = {"port: ", "port ", "]:", "0.0.0.0:", "127.0.0.1:"};

    for (size_t i = 0; i < ARRAY_SIZE(ways); i++) {
        const char *at = strcasestr(line, ways[i]);
        long n = at ? strtol(at + strlen(ways[i]), NULL, 10) : 0;

        if (n > 0 && n <= UINT16_MAX)
            return (int)n;
    }
    return 0;
}

/* Whose it is; with 0, the first that the job has. */
static const struct plan_port *reserved_port(const struct plan *plan, int number,
                                             const struct replica **ret)
{
    for (uint32_t i = 0; i < plan->n_replicas; i++)
        for (size_t k = 0; k < plan->replicas[i].n_ports; k++) {
            const struct plan_port *port = &plan->replicas[i].ports[k];

            for (int n = 0; n < port->n; n++)
                if (!number || port->numbers[n] == number) {
                    *ret = &plan->replicas[i];
                    return port;
                }
        }
    return NULL;
}

static void say_port(const struct job *job, const char *line, struct strbuf *out)
{
    int number = port_in(line);
    const struct replica *rp;
    const struct plan_port *port = reserved_port(job->plan, number, &rp);

    if (number && port) {
        strbuf_addf(out, "port %d belongs to %s (%s); two processes of this job listen on it",
                    number, rp->name, port->label);
        return;
    }
    strbuf_addstr(out, "all replicas share this machine's ports; ");
    if (number)
        strbuf_addf(out, "port %d is already in use", number);
    else
        strbuf_addstr(out, "that port is already in use");
    port = reserved_port(job->plan, 0, &rp);
    if (port)
        strbuf_addf(out, "; port %d is reserved for the job (%s of %s)", port->numbers[0],
                    port->label, rp->name);
}

static void say_interface(const struct job *job, const char *line, struct strbuf *out)
{
    const char *name = strstr(line, " for: ");
    size_t n = name ? strcspn(name + strlen(" for: "), " []") : 0;
    const char *interface = job->plan->facts->site.interface;

    strbuf_addstr(out, "network interface ");
    if (n)
        strbuf_add_escaped(out, name + strlen(" for: "), n);
    else
        strbuf_addstr(out, "of that name");
    strbuf_addf(out, " not found; replicas use %s", interface ? interface : "lo");
    mask_sentence(job->plan, out);
}

static void say_gpu(const struct job *job, const char *line, struct strbuf *out)
{
    int gpus = job->plan->facts->machine.gpus_pretended ? 0 : job->plan->facts->machine.gpus;

    (void)line;
    if (job->plan->facts->site.elsewhere)
        strbuf_addstr(out, "no GPU is visible in the container; the job must request one");
    else if (gpus > 0)
        strbuf_addf(out, "this machine has %d GPU%s; the job must request them", gpus,
                    gpus == 1 ? "" : "s");
    else
        strbuf_addstr(out, "this machine has no GPU; use device \"cpu\" and backend \"gloo\"");
}

static void say_module(const struct job *job, const char *line, struct strbuf *out)
{
    auto_arena struct arena *a = arena_new();
    const struct facts *facts = job->plan->facts;
    const struct replica *rp = &job->plan->replicas[job->cause.replica];
    const char *prefix = facts->site.images ? facts->site.images[rp->role_index].prefix : NULL;
    const char *module = name_after(a, line, "No module named ");

    strbuf_addf(out, "%s is not installed ", *module ? module : "it");
    if (prefix)
        strbuf_addf(out, "in %s, which is used in place of the image", prefix);
    else if (facts->site.elsewhere)
        strbuf_addf(out, "in the image %s", rp->role->image);
    else if (!job->plan->spec->file)
        strbuf_addf(out,
                    "for %s; install it (pip install %.*s) or activate the environment that has it",
                    facts->machine.python ? facts->machine.python : "this machine's Python",
                    *module ? (int)strcspn(module, ".") : 4, *module ? module : "NAME");
    else
        strbuf_addf(out,
                    "for %s; use --image NAME=ENV to run with a Python environment that has it",
                    facts->machine.python ? facts->machine.python : "this machine's Python");
}

/* Files without a name are gone with their process: a /dev/shm that is not full now may have been,
 * and torch (line) suspects it. */
static void say_memory(const struct job *job, const char *line, struct strbuf *out)
{
    const struct ending *e = &job->cause.end;
    int64_t of_job = job->plan->replicas[job->cause.replica].role->res.shm;

    if (e->shm_size <= 0) {
        strbuf_addstr(out, "shared memory (/dev/shm) may have been full");
        return;
    }
    bool full = e->shm_free < SHM_FULL_BYTES;
    if (full)
        strbuf_addf(out, "/dev/shm was full: %lld MiB", (long long)(e->shm_size >> 20));
    else if (line)
        strbuf_addf(out, "shared memory may have been full: /dev/shm has %lld MiB",
                    (long long)(e->shm_size >> 20));
    else
        strbuf_addf(out,
                    "/dev/shm was not full when the process had ended: %lld of %lld MiB were free",
                    (long long)(e->shm_free >> 20), (long long)(e->shm_size >> 20));
    if ((full || line) && of_job > 0)
        strbuf_addstr(out, ", the size that the job file sets");
    if (!full && !line)
        strbuf_addstr(out, "; a mapped file that was truncated gives the same signal");
}

/* A shell returns 128 and the signal. A program may return that number for a reason of its own, so
 * then a full /dev/shm has to agree. */
static bool met_bus_error(const struct cause *c)
{
    const struct ending *e = &c->end;

    if (c->kind == CAUSE_SIGNAL)
        return e->signal == SIGBUS;
    return c->kind == CAUSE_EXIT && e->code == 128 + SIGBUS && e->shm_size > 0 &&
           e->shm_free < SHM_FULL_BYTES;
}

static void say_mpi(const struct job *job, const char *line, struct strbuf *out)
{
    (void)job, (void)line;
    strbuf_addstr(out, "mpi4py was built for a different MPI than mpirun; each rank runs in its "
                       "own world of size 1");
}

static void say_horovod(const struct job *job, const char *line, struct strbuf *out)
{
    (void)job, (void)line;
    strbuf_addstr(out, "another rank ended earlier, or Horovod detected a rank that never joined "
                       "(see \"Missing ranks\" in its log)");
}

static void say_keras(const struct job *job, const char *line, struct strbuf *out)
{
    (void)job, (void)line;
    strbuf_addstr(out, "Keras 3 does not support fit() with several workers; install tf_keras and "
                       "set TF_USE_LEGACY_KERAS=1");
}

static void say_launcher(const struct job *job, const char *line, struct strbuf *out)
{
    (void)job, (void)line;
    strbuf_addstr(out, "torchrun of PyTorch 1.13 does not work with Python 3.11; install a newer "
                       "PyTorch, or start the processes without torchrun");
}

static const struct known {
    const char *words;
    void (*say)(const struct job *job, const char *line, struct strbuf *out);
} known[] = {
    {"address already in use", say_port},
    {"EADDRINUSE", say_port},
    {"Unable to find address for: ", say_interface},
    {"Unable to find interface for: ", say_interface},
    {"no socket interface found", say_interface}, /* NCCL, of its source */
    {"Torch not compiled with CUDA enabled", say_gpu},
    {"No CUDA GPUs are available", say_gpu},
    {"Found no NVIDIA driver", say_gpu}, /* torch, of its source */
    {"no CUDA-capable device", say_gpu}, /* CUDA, of its manual */
    {"doesn't have NCCL built in", say_gpu},
    {"requires at least one CUDA device", say_gpu},
    {"only supported with GPUs, no GPUs found", say_gpu}, /* torch 2.0 to 2.14, of its source */
    {"No module named ", say_module},
    {"unexpected bus error", say_memory}, /* torch's DataLoader */
    {"insufficient shared memory", say_memory},
    {"out of shared memory", say_memory},
    {"suspicious MPI execution environment", say_mpi},
    {"from a different MPI implementation", say_mpi},
    {"Horovod has been shut down", say_horovod},
    {"val_or_map.get(i, Std.NONE)", say_launcher}, /* Debian's python3-torch */
    {"unsupported type (<class 'tensorflow.python.distribute.values.PerReplica", say_keras},
};

static bool hint_known(const struct job *job, const char *line, struct strbuf *out)
{
    for (size_t i = 0; i < ARRAY_SIZE(known); i++)
        if (strcasestr(line, known[i].words)) {
            known[i].say(job, line, out);
            return true;
        }
    return false;
}

/* -----------------------------------------------------------------------------------------------
 */

/* mpi4py's own warning. Each rank is alone, and may well end with 0. */
static void warn_mpi(const char *const *lines, struct strbuf *out)
{
    for (; lines && *lines; lines++)
        if (strstr(*lines, "suspicious MPI execution environment")) {
            strbuf_addstr(out, "but ");
            say_mpi(NULL, NULL, out);
            return;
        }
}

void hint_for(const struct job *job, const char *const *tail, struct strbuf *out)
{
    size_t n = 0;

    if (job->outcome == OUTCOME_SUCCEEDED)
        warn_mpi(tail, out);
    if (job->cause.replica < 0)
        return;
    if (hint_horovodrun(job, tail, out) || hint_interpreter(job, tail, out) ||
        hint_missing(job, tail, out) || hint_launcher(tail, out))
        return;
    while (tail && tail[n])
        n++;
    while (n-- > 0) /* the last words of a program are why it ended */
        if (hint_variable(job, tail[n], out) || hint_known(job, tail[n], out))
            return;
    if (met_bus_error(&job->cause))
        say_memory(job, NULL, out);
}
