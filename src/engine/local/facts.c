/* facts.c - looking things up: the shim, the MPI, directories, limits.
 *
 * Which MPI an mpirun belongs to is told by the program it really is (orterun, prterun,
 * mpiexec.hydra): following links costs nothing, asking `mpirun --version` costs a process. It is
 * asked only when the name says nothing, as with a site's wrapper script.
 */
#include "engine/local/facts.h"

#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cgroup.h"
#include "base/clock.h"
#include "base/io.h"
#include "engine/local/machine.h"
#include "spec/command.h"

static bool is_dir(const char *path)
{
    struct stat st;

    return path && stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

static bool is_program(const char *path)
{
    struct stat st;

    return path && stat(path, &st) == 0 && S_ISREG(st.st_mode) && access(path, X_OK) == 0;
}

static int find_shim(struct arena *a, const char **ret, struct err *e)
{
    static const char *const places[] = {"muster-shim", "../libexec/muster/muster-shim"};
    char self[PATH_MAX];
    ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);

    if (n < 0)
        return err_sys(e, -errno, "cannot determine the path of muster");
    self[n] = '\0';
    *strrchr(self, '/') = '\0';
    for (size_t i = 0; i < ARRAY_SIZE(places); i++) {
        const char *path = arena_printf(a, "%s/%s", self, places[i]);
        if (is_program(path)) {
            *ret = path;
            return 0;
        }
    }
    return err_set(e, -ENOENT, "muster-shim not found in %s or %s/../libexec/muster", self, self);
}

static const char *env_get(const char *const *env, const char *name)
{
    size_t n = strlen(name);

    for (; *env; env++)
        if (strncmp(*env, name, n) == 0 && (*env)[n] == '=')
            return *env + n + 1;
    return NULL;
}

/* The job's own PATH counts where it sets one. */
static const char *job_path(const struct job_spec *spec, const char *const *env)
{
    for (size_t k = 0; k < spec->n_roles; k++)
        for (size_t i = 0; i < spec->roles[k].n_env; i++)
            if (strcmp(spec->roles[k].env[i].name, "PATH") == 0 && spec->roles[k].env[i].value)
                return spec->roles[k].env[i].value;
    const char *path = env_get(env, "PATH");
    return path ? path : "/usr/local/bin:/usr/bin:/bin";
}

/* Where commands are looked for: first in what stands for the job's image. */
static const char *search_path(struct arena *a, const struct job_spec *spec, const struct facts *f)
{
    const char *path = job_path(spec, f->caller.env);

    for (size_t k = 0; f->site.images && k < spec->n_roles; k++)
        if (f->site.images[k].prefix)
            return arena_printf(a, "%s/bin:%s", f->site.images[k].prefix, path);
    return path;
}

static const char *find_on_path(struct arena *a, const char *path, const char *name)
{
    while (*path) {
        size_t n = strcspn(path, ":");
        const char *full = arena_printf(a, "%.*s/%s", (int)n, path, name);
        if (n > 0 && is_program(full))
            return full;
        path += n + (path[n] == ':');
    }
    return NULL;
}

enum { VERSION_BYTES = 4096 };

/* Output of `PROGRAM --version`, at most two seconds of it. */
static void ask_version(const char *program, struct strbuf *out)
{
    int fds[2];
    pid_t pid;
    posix_spawn_file_actions_t fa;
    auto_strvec struct strvec argv = STRVEC_INIT;

    strvec_push(&argv, program);
    strvec_push(&argv, "--version");
    if (pipe2(fds, O_CLOEXEC) < 0)
        return;
    (void)posix_spawn_file_actions_init(&fa);
    (void)posix_spawn_file_actions_adddup2(&fa, fds[1], STDOUT_FILENO);
    (void)posix_spawn_file_actions_addopen(&fa, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
    (void)posix_spawn_file_actions_addopen(&fa, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    int r = posix_spawn(&pid, program, &fa, NULL, argv.v, environ);
    (void)posix_spawn_file_actions_destroy(&fa);
    (void)close(fds[1]);
    if (r == 0) {
        (void)io_read_until(fds[0], clock_mono() + 2 * NS_PER_S, VERSION_BYTES, out);
        (void)kill(pid, SIGKILL);
        (void)waitpid(pid, NULL, 0);
    }
    (void)close(fds[0]);
}

static enum mpi_impl impl_of_text(const char *text)
{
    if (strstr(text, "Intel(R) MPI"))
        return MPI_INTEL;
    if (strstr(text, "HYDRA"))
        return MPI_HYDRA;
    if (strstr(text, "prte") || strstr(text, "PRRTE") || strstr(text, "(Open MPI) 5"))
        return MPI_OPEN_MPI_5;
    if (strstr(text, "(Open MPI)") || strstr(text, "(OpenRTE)"))
        return MPI_OPEN_MPI_4;
    return MPI_UNKNOWN;
}

/* The first thing that looks like one: "mpirun (Open MPI) 4.1.4", "Version:      4.0.2". */
static const char *version_in_text(struct arena *a, const char *text)
{
    static const char digits[] = "0123456789";

    for (const char *p = strpbrk(text, digits); p; p = strpbrk(p, digits)) {
        size_t major = strspn(p, digits), n = strspn(p, "0123456789.");

        if (p[major] == '.' && strchr(digits, p[major + 1]) && p[major + 1]) {
            while (p[n - 1] == '.')
                n--;
            return arena_strndup(a, p, n);
        }
        p += n;
    }
    return NULL;
}

void facts_ask_mpi_version(struct arena *a, struct facts *f)
{
    auto_strbuf struct strbuf out = STRBUF_INIT;

    if (!f->machine.mpirun || f->machine.mpi_version)
        return;
    ask_version(f->machine.mpirun, &out);
    f->machine.mpi_version = version_in_text(a, out.buf);
}

static enum mpi_impl impl_of(const char *program)
{
    static const struct {
        const char *name;
        enum mpi_impl impl;
    } names[] = {
        {"orterun", MPI_OPEN_MPI_4}, {"mpirun.openmpi", MPI_OPEN_MPI_4},
        {"prterun", MPI_OPEN_MPI_5}, {"mpiexec.hydra", MPI_HYDRA},
        {"mpirun.mpich", MPI_HYDRA},
    };
    char real[PATH_MAX];

    if (!realpath(program, real))
        return MPI_UNKNOWN;
    const char *base = strrchr(real, '/') + 1;
    for (size_t i = 0; i < ARRAY_SIZE(names); i++)
        if (strcmp(base, names[i].name) == 0)
            return names[i].impl;
    auto_strbuf struct strbuf out = STRBUF_INIT;
    ask_version(program, &out);
    return impl_of_text(out.buf);
}

/* The program of an mpirun line that is composed, or that is all of the launcher's command. */
static const char *rank_program(struct arena *a, const struct job_spec *spec)
{
    const struct role *launcher = spec_role(spec, "launcher");
    const char *const text[] = {"sh", "-c", launcher ? launcher->shell : NULL, NULL};
    const char *const *line = shell_plain(a, launcher && launcher->argv ? launcher->argv : text);
    const char *home;
    size_t n;

    if (spec->mpi)
        return spec->mpi->program[0];
    n = launcher && line[0] && line != text ? mpirun_split(a, line, &home) : 0;
    return n && !strchr(line[n], '$') ? line[n] : NULL;
}

/* Hydra looks for its proxy in the directory it is called in; a link to it may stand alone. */
static const char *hydra_beside_its_proxy(struct arena *a, const char *program)
{
    char real[PATH_MAX];
    const char *proxy =
        arena_printf(a, "%.*s/hydra_pmi_proxy", (int)(strrchr(program, '/') - program), program);

    if (is_program(proxy) || !realpath(program, real))
        return program;
    return arena_strdup(a, real);
}

/* What Debian calls the launcher of one implementation, whichever `mpirun` is. */
static const char *own_name(const char *implementation, size_t i)
{
    static const char *const open_mpi[] = {"mpirun.openmpi", "orterun"};
    static const char *const hydra[] = {"mpirun.mpich", "mpiexec.hydra"};

    return strcmp(implementation, "OpenMPI") == 0 ? open_mpi[i] : hydra[i];
}

static void collect_mpi(struct arena *a, const struct job_spec *spec, struct facts *f)
{
    const struct mpi_spec *mpi = spec->mpi;
    static const char *const names[] = {"mpirun", "mpiexec"};
    static const char *const sshds[] = {"/usr/sbin/sshd", "/usr/bin/sshd", "/usr/local/sbin/sshd"};

    if (mpi && mpi->home) {
        const char *program = arena_printf(a, "%s/bin/mpirun", mpi->home);
        if (is_program(program)) {
            f->machine.mpirun = program;
            f->machine.mpi_home_ok = true;
        }
    }
    for (size_t i = 0; i < 2 && !f->machine.mpirun && mpi && spec->implementation; i++)
        f->machine.mpirun =
            find_on_path(a, search_path(a, spec, f), own_name(spec->implementation, i));
    for (size_t i = 0; i < ARRAY_SIZE(names) && !f->machine.mpirun; i++)
        f->machine.mpirun = find_on_path(a, search_path(a, spec, f), names[i]);
    f->machine.mpi = f->machine.mpirun ? impl_of(f->machine.mpirun) : MPI_NOT_FOUND;
    if (f->machine.mpi == MPI_HYDRA)
        f->machine.mpirun = hydra_beside_its_proxy(a, f->machine.mpirun);
    f->machine.program = rank_program(a, spec);
    if (!mpi) /* the job's own commands call it */
        return;
    if (mpi->home) {
        const char *daemon = f->machine.mpi == MPI_OPEN_MPI_5 ? "prted" : "orted";
        f->machine.mpi_prefix_ok = is_program(arena_printf(a, "%s/bin/%s", mpi->home, daemon));
    }
    f->machine.sshd_ok = mpi->sshd_path && is_program(mpi->sshd_path);
    for (size_t i = 0; i < ARRAY_SIZE(sshds) && !f->machine.sshd_found; i++)
        if (is_program(sshds[i]))
            f->machine.sshd_found = sshds[i];
}

static const bool *collect_workdirs(struct arena *a, const struct job_spec *spec)
{
    bool *found = ARENA_ARRAY(a, bool, spec->n_roles + 1);

    for (size_t k = 0; k < spec->n_roles; k++) {
        const char *dir = spec->roles[k].workdir;
        if (dir && *dir != '/' && spec->dir)
            dir = arena_printf(a, "%s/%s", spec->dir, dir);
        found[k] = is_dir(dir);
    }
    return found;
}

static bool wants_limits(const struct job_spec *spec)
{
    for (size_t k = 0; k < spec->n_roles; k++)
        if (spec->roles[k].res.cpu_limit_milli > 0 || spec->roles[k].res.memory_limit > 0)
            return true;
    return false;
}

static bool wants_rdma(const struct job_spec *spec)
{
    for (size_t k = 0; k < spec->n_roles; k++)
        for (size_t i = 0; i < spec->roles[k].n_env; i++) {
            const struct env_entry *env = &spec->roles[k].env[i];
            if (strcmp(env->name, "paiAzRDMA") == 0 && env->value &&
                strcasecmp(env->value, "true") == 0)
                return true;
        }
    return false;
}

/* What commands may call without saying where it is. */
static void collect_programs(struct arena *a, const struct job_spec *spec, struct facts *f)
{
    const char *path = search_path(a, spec, f);

    f->machine.horovodrun = find_on_path(a, path, "horovodrun") != NULL;
    f->machine.python = find_on_path(a, path, "python");
    f->machine.python3 = find_on_path(a, path, "python3");
    f->machine.python_link = !f->machine.python && f->machine.python3;
    if (f->machine.python3 && !(f->machine.python && plan_calls_python(spec)))
        f->machine.python = f->machine.python3;
}

static int64_t gpus_wanted(const struct job_spec *spec)
{
    int64_t n = 0;

    for (size_t k = 0; k < spec->n_roles; k++) {
        const struct role *role = &spec->roles[k];

        if (role->res.gpu > 0)
            n += role->res.gpu * role->replicas;
        else if (!spec->file && role->kind != ROLE_LAUNCHER) /* `run -n`: one for each process */
            n += (int64_t)role->slots * role->replicas;
    }
    return n;
}

int facts_require_gpus(const struct job_spec *spec, const struct facts *f, struct err *e)
{
    int64_t wanted = gpus_wanted(spec);

    if (wanted == 0 || (f->machine.gpus >= wanted && !f->machine.gpus_pretended))
        return 0;
    return err_set(e, -ENODEV, "the job requests %lld GPU%s, this machine has %d (--require-gpus)",
                   (long long)wanted, wanted == 1 ? "" : "s",
                   f->machine.gpus_pretended ? 0 : f->machine.gpus);
}

int facts_collect(struct arena *a, const struct job_spec *spec, const char *run_id,
                  const char *run_dir, const char *scratch_dir, struct facts *ret, struct err *e)
{
    char cwd[PATH_MAX];
    struct facts f = {
        .machine.root = geteuid() == 0,
        .machine.cpus = (int)sysconf(_SC_NPROCESSORS_ONLN),
        .machine.memory = (int64_t)sysconf(_SC_PHYS_PAGES) * sysconf(_SC_PAGESIZE),
        .site.isolation = "names",
        .site.interface = "lo",
        .site.run_id = run_id,
        .site.run_dir = run_dir,
        .site.scratch_dir = scratch_dir,
        .caller.env = (const char *const *)environ,
        .site.images = ret->site.images,
    };
    int r = find_shim(a, &f.site.shim, e);

    if (r < 0)
        return r;
    if (!getcwd(cwd, sizeof(cwd)))
        return err_sys(e, -errno, "cannot determine the working directory");
    f.caller.dir = arena_strdup(a, cwd);
    f.machine.workdir_ok = collect_workdirs(a, spec);
    f.caller.user = machine_user(a);
    f.machine.gpus = machine_gpus();
    f.site.interfaces = machine_interfaces(a);
    if (wants_rdma(spec))
        f.machine.rdma_lacks = machine_lacks_rdma(a);
    collect_programs(a, spec, &f);
    if (spec_calls_mpi(spec))
        collect_mpi(a, spec, &f);
    if (wants_limits(spec)) {
        f.machine.cgroup_limits = cgroup_usable(&f.machine.cgroup_why);
    }
    *ret = f;
    return 0;
}
