/* needs.c - see needs.h. Where the answer is not certain (a path inside a volume, a directory of
 * PATH that only exists in the replica), the thing counts as present.
 */
#include "engine/local/needs.h"

#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/shebang.h"
#include "base/strvec.h"
#include "engine/local/mpi_program.h"
#include "plan/needs.h"

struct search { /* where one need is looked for */
    struct arena *a;
    const struct plan *plan;
    const struct need *need;
    const struct env_value *env;
    size_t n_env;
    const char *dirs[2];     /* the second is NULL or that of the workers */
    const char *interpreter; /* of a script that names a missing one */
};

static const char *variable(const struct search *in, const char *name)
{
    for (size_t i = 0; i < in->n_env; i++)
        if (strcmp(in->env[i].name, name) == 0)
            return in->env[i].value;
    return NULL;
}

static bool is_in(const char *path, const char *dir)
{
    size_t n = strlen(dir);

    while (n > 1 && dir[n - 1] == '/')
        n--;
    return strncmp(path, dir, n) == 0 && (path[n] == '/' || !path[n]);
}

/* Only the replica sees what its volumes hold. */
static bool is_mounted(const struct search *in, const char *path)
{
    for (size_t k = 0; k < in->plan->spec->n_roles; k++) {
        const struct role *role = &in->plan->spec->roles[k];

        for (size_t i = 0; i < role->n_mounts; i++)
            if (is_in(path, role->mounts[i].path))
                return true;
        for (size_t t = 0; t < role->n_init; t++)
            for (size_t i = 0; i < role->init[t].n_mounts; i++)
                if (is_in(path, role->init[t].mounts[i].path))
                    return true;
    }
    return false;
}

/* 0 = it is there, or may be; -ENOENT, -EACCES, -EISDIR, -ELIBACC (its interpreter is missing),
 * -ELIBBAD (that of its interpreter), -EILSEQ (that ends in a carriage return), as the shim tells
 * them. */
static int look_at(struct search *in, const char *path, bool program)
{
    char interpreter[PATH_MAX];
    struct stat st;
    int r;

    if (is_mounted(in, path) || is_in(path, in->plan->facts->site.run_dir) ||
        is_in(path, in->plan->facts->site.scratch_dir))
        return 0; /* it comes with the replica, or with the run */
    if (stat(path, &st) < 0)
        return errno == EACCES ? -EACCES : -ENOENT;
    if (!program)
        return 0;
    if (S_ISDIR(st.st_mode))
        return -EISDIR;
    if (!S_ISREG(st.st_mode) || access(path, X_OK) < 0)
        return -EACCES;
    r = shebang_check(path, interpreter, sizeof(interpreter));
    if (r < 0)
        in->interpreter = arena_strdup(in->a, interpreter);
    return r == -ENOENT ? -ELIBACC : r;
}

/* Relative to the working directory; ranks of mpirun begin in one of two. */
static int look_in_dirs(struct search *in, const char *name, bool program)
{
    int r = -ENOENT;

    if (*name == '/')
        return look_at(in, name, program);
    for (size_t i = 0; i < ARRAY_SIZE(in->dirs) && in->dirs[i]; i++) {
        int found = look_at(in, arena_printf(in->a, "%s/%s", in->dirs[i], name), program);

        if (found == 0)
            return 0;
        r = found == -ENOENT ? r : found;
    }
    return r;
}

/* What the run directory's bin will hold. */
static bool is_provided(const struct search *in, const char *name)
{
    return strcmp(name, "ssh") == 0 || strcmp(name, "rsh") == 0 ||
           strcmp(name, PLAN_RANK_WRAPPER) == 0 ||
           (strcmp(name, "python") == 0 && in->plan->facts->machine.python_link);
}

/* *ret_path (may be NULL): where it was found, or NULL. */
static int look_on_path(struct search *in, const char *name, bool program, const char **ret_path)
{
    const char *path = variable(in, "PATH");
    int result = -ENOENT;

    if (is_provided(in, name)) {
        if (ret_path)
            *ret_path = in->plan->facts->machine.python3;
        return 0;
    }
    for (path = path ? path : "/usr/local/bin:/usr/bin:/bin";; path++) {
        size_t n = strcspn(path, ":");
        const char *dir = arena_strndup(in->a, path, n);
        const char *full = arena_printf(in->a, "%s%s%s/%s", n && *dir == '/' ? "" : in->dirs[0],
                                        n && *dir != '/' ? "/" : "", dir, name);
        bool ours = is_in(full, in->plan->facts->site.scratch_dir); /* see is_provided() */
        int r = ours ? -ENOENT : look_at(in, full, program);

        r = r == -EISDIR ? -EACCES : r; /* which execvp() passes over, too */
        if (r == 0 && ret_path)
            *ret_path = full;
        if (r != -ENOENT && r != -EACCES)
            return r;
        result = r == -EACCES ? r : result;
        path += n;
        if (!*path)
            return result;
    }
}

static int look_for_program(struct search *in, const char *name, const char **ret_path)
{
    int r;

    if (!strchr(name, '/'))
        return look_on_path(in, name, true, ret_path);
    r = look_in_dirs(in, name, true);
    if (r == 0 && ret_path)
        *ret_path = *name == '/' ? name : arena_printf(in->a, "%s/%s", in->dirs[0], name);
    return r;
}

/* A shell looks for a script without a slash on PATH, too. */
static int look_for_script(struct search *in, const struct need *need)
{
    int r = look_in_dirs(in, need->name, false);

    if (r == -ENOENT && !strchr(need->name, '/') && strstr(need->by, "sh"))
        r = look_on_path(in, need->name, false, NULL);
    return r;
}

/* --- modules ------------------------------------------------------------------------------------
 */

static const char *const *environment(struct search *in)
{
    const char **v = ARENA_ARRAY(in->a, const char *, in->n_env + 1);

    for (size_t i = 0; i < in->n_env; i++)
        v[i] = arena_printf(in->a, "%s=%s", in->env[i].name, in->env[i].value);
    return v;
}

/* The exit code of a program, -1 if it takes too long. */
static int run_briefly(const char *const *argv, const char *const *env, const char *dir)
{
    posix_spawn_file_actions_t fa;
    int status = -1;
    pid_t pid;

    (void)posix_spawn_file_actions_init(&fa);
    for (int fd = 0; fd < 3; fd++)
        (void)posix_spawn_file_actions_addopen(&fa, fd, "/dev/null", O_RDWR, 0);
    (void)posix_spawn_file_actions_addchdir_np(&fa, dir);
    int r = posix_spawn(&pid, argv[0], &fa, NULL, (void *)(uintptr_t)argv, (void *)(uintptr_t)env);
    (void)posix_spawn_file_actions_destroy(&fa);
    if (r != 0)
        return -1;
    auto_close int fd = pidfd_open(pid, 0);
    struct pollfd pfd = {.fd = fd, .events = POLLIN};
    while ((r = poll(&pfd, 1, LIMIT_MODULE_MS)) < 0 && errno == EINTR)
        ;
    if (r <= 0)
        (void)kill(pid, SIGKILL); /* our unreaped child */
    (void)waitpid(pid, &status, 0);
    return r > 0 && WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/* Only the package is looked for: to find what is inside it Python would have to import it. */
static int look_for_module(struct search *in, const struct need *need)
{
    static const char text[] = "import sys, importlib.util as u\n"
                               "sys.exit(0 if u.find_spec(sys.argv[1]) else 42)";
    const char *python = NULL;
    const char *package = arena_strndup(in->a, need->name, strcspn(need->name, "."));

    if (look_for_program(in, need->by, &python) != 0 || !python || !*package)
        return 0; /* told of the interpreter */
    const char *const argv[] = {python, "-c", text, package, NULL};

    return run_briefly(argv, environment(in), in->dirs[0]) == 42 ? -ENOENT : 0;
}

/* --- all of them --------------------------------------------------------------------------------
 */

static const char *worker_dir(struct arena *a, const struct plan *plan)
{
    for (uint32_t i = 0; i < plan->n_replicas; i++)
        if (plan->replicas[i].role->kind == ROLE_HOST)
            return plan_workdir(a, plan, &plan->replicas[i]);
    return NULL;
}

static void find_place(struct search *in)
{
    const struct plan *plan = in->plan;
    const struct replica *r = in->need->replica;
    int init = in->need->init;

    in->n_env = init < 0
                    ? plan_env(in->a, plan, r->first_process, FIRST_START, false, &in->env)
                    : plan_init_env(in->a, plan, r, (size_t)init, FIRST_START, false, &in->env);
    in->dirs[0] =
        init < 0 ? plan_workdir(in->a, plan, r) : plan_init_workdir(in->a, plan, r, (size_t)init);
    in->dirs[1] = in->need->of_ranks ? worker_dir(in->a, plan) : NULL;
}

static int look_for(struct search *in)
{
    switch (in->need->kind) {
    case NEED_PROGRAM:
        return look_for_program(in, in->need->name, NULL);
    case NEED_SCRIPT:
        return look_for_script(in, in->need);
    case NEED_MODULE:
        break;
    }
    return look_for_module(in, in->need);
}

static void look_up(struct arena *a, const struct plan *plan, struct facts *facts)
{
    const struct need *needs;
    size_t n = plan_needs(a, plan, &needs);
    struct missing *v = ARENA_ARRAY(a, struct missing, n);

    facts->machine.n_missing = 0;
    facts->machine.program_errno = 0;
    for (size_t i = 0; i < n; i++) {
        const struct need *need = &needs[i];
        struct search in = {.a = a, .plan = plan, .need = need};
        bool module = need->kind == NEED_MODULE;

        find_place(&in);
        int r = look_for(&in);

        if (r < 0 && need->of_ranks && need->kind == NEED_PROGRAM)
            facts->machine.program_errno = r == -EACCES || r == -EISDIR ? -EACCES : -ENOENT;
        if (r < 0)
            v[facts->machine.n_missing++] = (struct missing){
                .role = need->replica->role_index,
                .init = need->init,
                .name = module ? arena_printf(a, "%s -m %s", need->by, need->name) : need->name,
                .by = need->by,
                .dir = in.dirs[0],
                .module = module ? need->name : NULL,
                .interpreter = in.interpreter,
                .code = r,
                .decides = need->decides && !plan->spec->debug && !plan->spec->pause,
                .in_dir = r == -ENOENT && !module && !need->by && !strchr(need->name, '/') &&
                          access(arena_printf(a, "%s/%s", in.dirs[0], need->name), X_OK) == 0,
            };
    }
    facts->machine.missing = v;
}

/* --- MPI programs that no launcher starts -------------------------------------------------------
 */

static bool starts_several(const struct plan *plan, const struct replica *r)
{
    return r->index == 0 && r->n_processes > 0 && (int64_t)r->n_processes * r->role->replicas > 1 &&
           !process_waits(&plan->processes[r->first_process], PLAN_START(plan));
}

static const char *why_alone(struct arena *a, const struct plan *plan, const struct replica *r)
{
    const struct process *p = &plan->processes[r->first_process];
    const struct need need = {.replica = r, .init = -1};
    struct search in = {.a = a, .plan = plan, .need = &need};
    struct mpi_use use = {0};

    find_place(&in);
    const struct mpi_place place = {.dir = in.dirs[0],
                                    .path = variable(&in, "PATH"),
                                    .library_path = variable(&in, "LD_LIBRARY_PATH")};

    if (p->shell)
        use = mpi_text_use(a, p->shell, &place);
    else if (p->argv && p->argv[0])
        use = mpi_program_use(a, p->argv, &place);
    if (use.need != MPI_NEED_CERTAIN && use.need != MPI_NEED_LIKELY)
        return NULL;
    return arena_printf(a, "%s %s", use.what, use.why);
}

/* A command line without a file was decided on before (cli/run_command.c). */
static bool look_for_alone(struct arena *a, const struct plan *plan, struct facts *facts)
{
    const char **why = ARENA_ARRAY(a, const char *, plan->spec->n_roles);
    bool any = false;

    facts->machine.alone = why;
    if (!plan->spec->file || plan->spec->mpi || plan->spec->framework == FRAMEWORK_MPI)
        return false;
    for (uint32_t i = 0; i < plan->n_replicas; i++)
        if (starts_several(plan, &plan->replicas[i])) {
            uint32_t role = plan->replicas[i].role_index;

            why[role] = why_alone(a, plan, &plan->replicas[i]);
            any = any || why[role];
        }
    return any;
}

int plan_checked(struct arena *a, const struct job_spec *spec, struct facts *facts,
                 const struct plan **ret, struct err *e)
{
    const struct plan *plan;
    int r = plan_build(a, spec, facts, &plan, e);

    if (r < 0)
        return r;
    look_up(a, plan, facts);
    bool alone = look_for_alone(a, plan, facts);

    if (facts->machine.n_missing > 0 || alone)
        r = plan_build(a, spec, facts, &plan, e); /* again, with what is to be told */
    if (r == 0)
        *ret = plan;
    return r;
}
