/* facts.c - looking things up: the shim, the MPI, directories, limits.
 *
 * Which MPI an mpirun belongs to is told by the program it really is (orterun, prterun,
 * mpiexec.hydra): following links costs nothing, asking `mpirun --version` costs a process. It is
 * asked only when the name says nothing, as with a site's wrapper script.
 */
#include "engine/local/facts.h"

#include <fcntl.h>
#include <limits.h>
#include <poll.h>
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
        return err_sys(e, -errno, "cannot find out where muster is");
    self[n] = '\0';
    *strrchr(self, '/') = '\0';
    for (size_t i = 0; i < ARRAY_SIZE(places); i++) {
        const char *path = arena_printf(a, "%s/%s", self, places[i]);
        if (is_program(path)) {
            *ret = path;
            return 0;
        }
    }
    return err_set(e, -ENOENT, "muster-shim is neither in %s nor in %s/../libexec/muster", self,
                   self);
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
    const char *path = job_path(spec, f->caller_env);

    for (size_t k = 0; f->images && k < spec->n_roles; k++)
        if (f->images[k].prefix)
            return arena_printf(a, "%s/bin:%s", f->images[k].prefix, path);
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
        ns_t deadline = clock_mono() + 2 * NS_PER_S;
        struct pollfd pfd = {.fd = fds[0], .events = POLLIN};
        char buf[512];
        ssize_t n = 1;
        while (n > 0 && out->len < 4096 && clock_mono() < deadline)
            if (poll(&pfd, 1, 100) > 0 && (n = read(fds[0], buf, sizeof(buf))) > 0)
                strbuf_add(out, buf, (size_t)n);
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

    if (!f->mpirun || f->mpi_version)
        return;
    ask_version(f->mpirun, &out);
    f->mpi_version = version_in_text(a, out.buf);
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

/* Only in the replica is there what its volumes hold. */
static bool is_mounted(const struct role *role, const char *path)
{
    for (size_t i = 0; i < role->n_mounts; i++) {
        size_t n = strlen(role->mounts[i].path);

        if (strncmp(path, role->mounts[i].path, n) == 0 && (path[n] == '/' || path[n] == '\0'))
            return true;
    }
    return false;
}

/* Can what the ranks run be executed where they would run it? Only asked when mpirun has failed
 * without starting a rank: options of mpirun may lead elsewhere. */
static int find_program(struct arena *a, const struct job_spec *spec, const struct facts *f)
{
    const char *program = f->program, *path = program;
    const struct role *worker = &spec->roles[spec->n_roles - 1];
    const char *dir = f->workdir_ok[spec->n_roles - 1] ? worker->workdir : spec->dir;

    if (!program || (f->python_link && strcmp(program, "python") == 0))
        return 0;
    if (!strchr(program, '/'))
        return find_on_path(a, search_path(a, spec, f), program) ? 0 : -ENOENT;
    if (*program != '/')
        path = arena_printf(a, "%s/%s", dir, program);
    if (is_mounted(worker, path) || is_program(path))
        return 0;
    return access(path, F_OK) < 0 ? -errno : -EACCES;
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

static void collect_mpi(struct arena *a, const struct job_spec *spec, struct facts *f)
{
    const struct mpi_spec *mpi = spec->mpi;
    static const char *const names[] = {"mpirun", "mpiexec"};
    static const char *const sshds[] = {"/usr/sbin/sshd", "/usr/bin/sshd", "/usr/local/sbin/sshd"};

    if (mpi && mpi->home) {
        const char *program = arena_printf(a, "%s/bin/mpirun", mpi->home);
        if (is_program(program)) {
            f->mpirun = program;
            f->mpi_home_ok = true;
        }
    }
    for (size_t i = 0; i < ARRAY_SIZE(names) && !f->mpirun; i++)
        f->mpirun = find_on_path(a, search_path(a, spec, f), names[i]);
    f->mpi = f->mpirun ? impl_of(f->mpirun) : MPI_NOT_FOUND;
    if (f->mpi == MPI_HYDRA)
        f->mpirun = hydra_beside_its_proxy(a, f->mpirun);
    f->program = rank_program(a, spec);
    f->program_errno = find_program(a, spec, f);
    if (!mpi) /* the job's own commands call it */
        return;
    if (mpi->home) {
        const char *daemon = f->mpi == MPI_OPEN_MPI_5 ? "prted" : "orted";
        f->mpi_prefix_ok = is_program(arena_printf(a, "%s/bin/%s", mpi->home, daemon));
    }
    f->sshd_ok = mpi->sshd_path && is_program(mpi->sshd_path);
    for (size_t i = 0; i < ARRAY_SIZE(sshds) && !f->sshd_found; i++)
        if (is_program(sshds[i]))
            f->sshd_found = sshds[i];
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

    f->horovodrun = find_on_path(a, path, "horovodrun") != NULL;
    f->python = find_on_path(a, path, "python");
    f->python3 = find_on_path(a, path, "python3");
    f->python_link = !f->python && f->python3;
    if (f->python3 && !(f->python && plan_calls_python(spec)))
        f->python = f->python3;
}

static int64_t gpus_wanted(const struct job_spec *spec)
{
    int64_t n = 0;

    for (size_t k = 0; k < spec->n_roles; k++)
        if (spec->roles[k].res.gpu > 0)
            n += spec->roles[k].res.gpu * spec->roles[k].replicas;
    return n;
}

int facts_require_gpus(const struct job_spec *spec, const struct facts *f, struct err *e)
{
    int64_t wanted = gpus_wanted(spec);

    if (wanted == 0 || (f->gpus >= wanted && !f->gpus_pretended))
        return 0;
    return err_set(e, -ENODEV, "the job asks for %lld GPU%s, this machine has %d (--require-gpus)",
                   (long long)wanted, wanted == 1 ? "" : "s", f->gpus_pretended ? 0 : f->gpus);
}

int facts_collect(struct arena *a, const struct job_spec *spec, const char *run_id,
                  const char *run_dir, const char *scratch_dir, struct facts *ret, struct err *e)
{
    char cwd[PATH_MAX];
    struct facts f = {
        .root = geteuid() == 0,
        .cpus = (int)sysconf(_SC_NPROCESSORS_ONLN),
        .memory = (int64_t)sysconf(_SC_PHYS_PAGES) * sysconf(_SC_PAGESIZE),
        .isolation = "names",
        .interface = "lo",
        .run_id = run_id,
        .run_dir = run_dir,
        .scratch_dir = scratch_dir,
        .caller_env = (const char *const *)environ,
        .images = ret->images,
    };
    int r = find_shim(a, &f.shim, e);

    if (r < 0)
        return r;
    if (!getcwd(cwd, sizeof(cwd)))
        return err_sys(e, -errno, "cannot find out the working directory");
    f.caller_dir = arena_strdup(a, cwd);
    f.workdir_ok = collect_workdirs(a, spec);
    f.user = machine_user(a);
    f.gpus = machine_gpus();
    f.interfaces = machine_interfaces(a);
    if (wants_rdma(spec))
        f.rdma_lacks = machine_lacks_rdma(a);
    collect_programs(a, spec, &f);
    if (spec_calls_mpi(spec))
        collect_mpi(a, spec, &f);
    if (wants_limits(spec)) {
        f.cgroup_limits = cgroup_usable(&f.cgroup_why);
    }
    *ret = f;
    return 0;
}
