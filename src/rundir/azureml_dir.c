/* azureml_dir.c - see azureml_dir.h. */
#include "rundir/azureml_dir.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/mem.h"

static int make_dir(int fd, const char *name, struct err *e)
{
    return mkdirat(fd, name, 0700) < 0 && errno != EEXIST
               ? err_sys(e, -errno, "cannot create %s in the run directory", name)
               : 0;
}

static int make_outputs(int run_fd, const struct job_spec *spec, struct err *e)
{
    int r = make_dir(run_fd, PLAN_OUTPUTS, e);

    for (size_t i = 0; i < spec->n_values && r == 0; i++) {
        const struct job_value *v = &spec->values[i];
        char path[sizeof(PLAN_OUTPUTS) + 256];

        if (v->kind != VALUE_OUTPUT || v->file || v->here)
            continue;
        (void)snprintf(path, sizeof(path), PLAN_OUTPUTS "/%s", v->name);
        r = make_dir(run_fd, path, e);
    }
    return r;
}

static bool is_command_job(const struct plan *plan)
{
    return plan->spec->platform.environment == PLATFORM_AZUREML;
}

/* Where ./outputs leads; false if there is no link of that name. */
static bool read_link(const struct plan *plan, char path[PATH_MAX], char target[PATH_MAX])
{
    ssize_t n = -1;

    if (snprintf(path, PATH_MAX, "%s/" PLAN_OUTPUTS, plan->workdirs[0]) < PATH_MAX)
        n = readlink(path, target, PATH_MAX - 1);
    if (n >= 0)
        target[n] = '\0';
    return n >= 0;
}

enum owner { OWNER_OTHER, OWNER_DEAD_RUN, OWNER_LIVING_RUN };

/* Whose a link to `target` is. A run that was killed leaves its link behind; one that lives holds
 * its directory's lock. *ret_run: the run's directory, if it is one. */
static enum owner owner_of(const char *target, char **ret_run)
{
    auto_free char *dir = xstrdup(target);
    char *slash = strrchr(dir, '/');

    if (!slash || strcmp(slash, "/" PLAN_OUTPUTS) != 0)
        return OWNER_OTHER;
    *slash = '\0';

    auto_close int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    if (fd < 0)
        return errno == ENOENT && strstr(dir, "/muster/runs/") ? OWNER_DEAD_RUN : OWNER_OTHER;
    if (faccessat(fd, PLAN_PEERS, F_OK, 0) < 0)
        return OWNER_OTHER;
    *ret_run = TAKE_PTR(dir);
    return flock(fd, LOCK_EX | LOCK_NB) == 0 ? OWNER_DEAD_RUN : OWNER_LIVING_RUN;
}

/* Two runs in one directory would have one ./outputs: files of the second would become the first's,
 * or be lost when that ends. */
static int link_outputs(const struct plan *plan, struct err *e)
{
    char path[PATH_MAX], target[PATH_MAX];
    auto_free char *ours = xasprintf("%s/" PLAN_OUTPUTS, plan->facts->site.run_dir);
    auto_free char *run = NULL;

    if (plan->facts->site.elsewhere)
        return 0;
    if (read_link(plan, path, target)) {
        enum owner owner = owner_of(target, &run);
        const char *id = run ? strrchr(run, '/') + 1 : "";

        if (owner == OWNER_LIVING_RUN)
            return err_set(e, -EBUSY,
                           "%s belongs to run %s, which is still running; wait for it (muster wait "
                           "%s), or run a copy of the directory (--workdir DIR)",
                           path, id, id);
        if (owner == OWNER_DEAD_RUN)
            (void)unlink(path);
    }
    if (symlink(ours, path) < 0)
        return 0; /* no reason not to run: the command may not want it */
    return 0;
}

void azureml_dir_finish(const struct plan *plan)
{
    char path[PATH_MAX], target[PATH_MAX];
    auto_free char *ours = xasprintf("%s/" PLAN_OUTPUTS, plan->facts->site.run_dir);

    if (is_command_job(plan) && read_link(plan, path, target) && strcmp(target, ours) == 0)
        (void)unlink(path);
}

static int link_log(int fd, const char *name, const char *log, struct err *e)
{
    char target[PLAN_LOG_NAME + 16];

    (void)snprintf(target, sizeof(target), "../logs/%s", log);
    return symlinkat(target, fd, name) < 0
               ? err_sys(e, -errno, "cannot link " AZUREML_USER_LOGS "/%s", name)
               : 0;
}

/* At least two digits, as many as the last number needs. */
static int digits(uint32_t n)
{
    int width = 2;

    for (uint32_t k = 100; k <= n - (n > 0) && width < 10; k *= 10)
        width++;
    return width;
}

/* Ranks fill the nodes one after the other. */
static int link_ranks(int fd, const struct plan *plan, struct err *e)
{
    int r = link_log(fd, "mpi_log.txt", plan->processes[plan->launcher].log, e);
    const struct replica *node = &plan->replicas[0];
    int width = digits((uint32_t)plan->world);

    while (node->role->kind != ROLE_HOST)
        node++;
    for (int32_t rank = 0; rank < plan->world && r == 0; rank++) {
        char name[64], log[PLAN_LOG_NAME];

        (void)snprintf(name, sizeof(name), "std_log_process_%0*d.txt", width, rank);
        (void)snprintf(log, sizeof(log), "%s.rank-%d.log", node[rank / node->role->slots].name,
                       rank);
        r = link_log(fd, name, log, e);
    }
    return r;
}

/* Of tasks, the number among those of their type. */
static int link_processes(int fd, const struct plan *plan, struct err *e)
{
    int width = digits(plan->n_processes), r = 0;

    for (uint32_t i = 0; i < plan->n_processes && r == 0; i++) {
        const struct process *p = &plan->processes[i];
        char name[64];

        (void)snprintf(name, sizeof(name), "std_log_process_%0*u%s%s.txt", width,
                       p->task ? (uint32_t)p->task_index : i, p->task && p->task->serves ? "_" : "",
                       p->task && p->task->serves ? p->task->type : "");
        if (*p->log)
            r = link_log(fd, name, p->log, e);
    }
    return r;
}

int azureml_dir_fill(int run_fd, const struct plan *plan, struct err *e)
{
    const struct job_spec *spec = plan->spec;
    int r = 0;

    if (!is_command_job(plan))
        return 0;
    r = make_outputs(run_fd, spec, e);
    if (r == 0)
        r = make_dir(run_fd, AZUREML_USER_LOGS, e);
    if (r < 0)
        return r;
    r = link_outputs(plan, e);
    if (r < 0)
        return r;

    auto_close int fd = openat(run_fd, AZUREML_USER_LOGS, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    if (fd < 0)
        return err_sys(e, -errno, "cannot open " AZUREML_USER_LOGS);
    if (plan->launcher >= 0)
        return link_ranks(fd, plan, e);
    if (plan->n_processes == 1 && spec->framework == FRAMEWORK_NONE)
        return link_log(fd, "std_log.txt", plan->processes[0].log, e);
    return link_processes(fd, plan, e);
}
