/* env_muster.c - what every process gets: the stated part of the caller's environment, and Muster's
 * own names, which tell a process where it is.
 */
#include <string.h>

#include "plan/env.h"

/* The variables of the caller that reach a process. A '*' at the end stands for any ending. */
static const char *const passed_on[] = {
    "PATH",       "HOME",        "USER",        "LANG",        "TERM",
    "TMPDIR",     "VIRTUAL_ENV", "CONDA_*",     "PYTHONPATH",  "LD_LIBRARY_PATH",
    "HTTP_PROXY", "http_proxy",  "HTTPS_PROXY", "https_proxy", "FTP_PROXY",
    "ftp_proxy",  "ALL_PROXY",   "all_proxy",   "NO_PROXY",    "no_proxy",
};

static bool is_passed_on(const char *name, size_t n)
{
    for (size_t i = 0; i < ARRAY_SIZE(passed_on); i++) {
        size_t len = strlen(passed_on[i]);
        bool star = passed_on[i][len - 1] == '*';

        if (star ? n >= len - 1 && !memcmp(name, passed_on[i], len - 1)
                 : n == len && !memcmp(name, passed_on[i], n))
            return true;
    }
    return false;
}

void env_caller(struct env_set *set, const struct plan *plan)
{
    for (const char *const *e = plan->facts->caller_env; *e; e++) {
        size_t n = strcspn(*e, "=");

        if ((*e)[n] && is_passed_on(*e, n))
            env_put(set, arena_strndup(set->arena, *e, n), *e + n + 1, ORIGIN_CALLER, NULL);
    }
}

void env_muster(struct env_set *set, const struct plan *plan, const struct process *process)
{
    const struct replica *rp = &plan->replicas[process->replica];
    const struct facts *facts = plan->facts;
    const struct {
        const char *name, *value;
    } own[] = {
        {"MUSTER_JOB", plan->spec->name},
        {"MUSTER_RUN_ID", facts->run_id},
        {"MUSTER_ROLE", rp->role->name},
        {"MUSTER_INDEX", arena_printf(set->arena, "%d", rp->index)},
        {"MUSTER_HOST", rp->host},
        {"MUSTER_ATTEMPT", "1"},
        {"MUSTER_RUN_DIR", facts->run_dir},
        {"MUSTER_PEERS", arena_printf(set->arena, "%s/" PLAN_PEERS, facts->run_dir)},
        {"HOSTNAME", rp->host},
    };

    for (size_t i = 0; i < ARRAY_SIZE(own); i++)
        env_put(set, own[i].name, own[i].value, ORIGIN_MUSTER, NULL);
    if (rp->role->res.gpu > 0)
        env_put(set, "CUDA_VISIBLE_DEVICES", "", ORIGIN_MUSTER, "no GPU is handed out");
}
