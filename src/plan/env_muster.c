/* env_muster.c - what every process gets: the stated part of the caller's environment, and Muster's
 * own names, which tell a process where it is.
 */
#include <fnmatch.h>
#include <string.h>

#include "base/strbuf.h"
#include "plan/env.h"

/* The variables of the caller that reach a process. A '*' at the end stands for any ending. */
static const struct passed_on {
    const char *pattern;
    bool always; /* --clean-env leaves it: nothing works without, or nothing is told by it */
} passed_on[] = {
    {"PATH", true},         {"HOME", true},
    {"USER", true},         {"LANG", true},
    {"TERM", true},         {"TMPDIR", false},
    {"VIRTUAL_ENV", false}, {"CONDA_*", false},
    {"PYTHONPATH", false},  {"LD_LIBRARY_PATH", false},
    {"HTTP_PROXY", false},  {"http_proxy", false},
    {"HTTPS_PROXY", false}, {"https_proxy", false},
    {"FTP_PROXY", false},   {"ftp_proxy", false},
    {"ALL_PROXY", false},   {"all_proxy", false},
    {"NO_PROXY", false},    {"no_proxy", false},
};

static bool is_passed_on(struct arena *a, const struct facts *facts, const char *name, size_t n)
{
    if (facts->caller.inherit_all)
        return true;
    for (size_t i = 0; i < ARRAY_SIZE(passed_on); i++) {
        const char *pattern = passed_on[i].pattern;
        size_t len = strlen(pattern);
        bool star = pattern[len - 1] == '*';

        if (facts->caller.clean_env && !passed_on[i].always)
            continue;
        if (star ? n >= len - 1 && !memcmp(name, pattern, len - 1)
                 : n == len && !memcmp(name, pattern, n))
            return true;
    }
    for (const char *const *p = facts->caller.inherit_env; p && *p; p++)
        if (fnmatch(*p, arena_strndup(a, name, n), 0) == 0)
            return true;
    return false;
}

const char *caller_getenv(struct arena *a, const struct facts *facts, const char *name)
{
    size_t n = strlen(name);

    for (const char *const *e = facts->caller.env; e && *e && !facts->site.elsewhere; e++)
        if (**e == *name && !strncmp(*e, name, n) && (*e)[n] == '=')
            return !facts->caller.clean_env || is_passed_on(a, facts, name, n) ? *e + n + 1 : NULL;
    return NULL;
}

size_t env_passed_on(struct arena *a, const struct facts *facts, const struct env_value **ret)
{
    struct env_set set = {.arena = a};

    for (const char *const *e = facts->caller.env; e && *e && !facts->site.elsewhere; e++) {
        size_t n = strcspn(*e, "=");

        if (n && (*e)[n] && is_passed_on(a, facts, *e, n))
            env_put(&set, arena_strndup(a, *e, n), *e + n + 1, ORIGIN_CALLER, NULL);
    }
    *ret = set.v;
    return set.n;
}

void env_caller(struct env_set *set, const struct plan *plan, const struct process *process)
{
    (void)process;
    for (size_t i = 0; i < plan->n_passed_on; i++)
        env_put(set, plan->passed_on[i].name, plan->passed_on[i].value, ORIGIN_CALLER, NULL);
}

/* GPUs are shared out in the order of replicas. Pretended ones are only counted. */
const char *plan_gpus(struct arena *a, const struct plan *plan, const struct replica *replica)
{
    int64_t before = 0, all = 0, mine = replica->role->res.gpu;
    auto_strbuf struct strbuf sb = STRBUF_INIT;

    if (mine <= 0)
        return NULL;
    if (plan->facts->site.visible_gpus && !plan->facts->machine.gpus_pretended)
        return plan->facts->site.visible_gpus[replica->id];
    for (uint32_t i = 0; i < plan->n_replicas; i++) {
        int64_t gpu = plan->replicas[i].role->res.gpu;

        all += gpu > 0 ? gpu : 0;
        if (i + 1 == replica->id)
            before = all;
    }
    if (plan->facts->machine.gpus_pretended || all > plan->facts->machine.gpus)
        return "";
    for (int64_t i = before; i < before + mine; i++)
        strbuf_addf(&sb, "%s%lld", i > before ? "," : "", (long long)i);
    return arena_strndup(a, sb.buf, sb.len);
}

static void add_local(struct env_set *set, const struct plan *plan, const struct replica *rp)
{
    const char *run_dir = plan->facts->site.run_dir, *gpus = plan_gpus(set->arena, plan, rp);

    set->local = !plan->facts->site.elsewhere || !plan->facts->site.shim;
    env_put(set, "MUSTER_RUN_DIR", run_dir, ORIGIN_MUSTER, NULL);
    env_putf(set, ORIGIN_MUSTER, "MUSTER_PEERS", "%s/" PLAN_PEERS, run_dir);
    set->local = true;
    if (gpus)
        env_put(set, "CUDA_VISIBLE_DEVICES", gpus, ORIGIN_MUSTER,
                *gpus ? "its share of this machine's GPUs" : "fewer GPUs than the job requests");
    set->local = false;
}

void env_muster(struct env_set *set, const struct plan *plan, const struct process *process)
{
    const struct replica *rp = &plan->replicas[process->replica];
    const struct facts *facts = plan->facts;
    const struct {
        const char *name, *value;
    } own[] = {
        {"MUSTER_JOB", plan->spec->name},
        {"MUSTER_RUN_ID", facts->site.run_id},
        {"MUSTER_ROLE", rp->role->name},
        {"MUSTER_INDEX", arena_printf(set->arena, "%d", rp->index)},
        {"MUSTER_HOST", rp->host},
        {"MUSTER_ATTEMPT", arena_printf(set->arena, "%u", set->start.attempt)},
        {"HOSTNAME", rp->host},
        {"PDSH_RCMD_TYPE", "ssh"}, /* Debian's pdsh would take rsh, which nobody answers */
    };

    for (size_t i = 0; i < ARRAY_SIZE(own); i++)
        env_put(set, own[i].name, own[i].value, ORIGIN_MUSTER, NULL);
    add_local(set, plan, rp);
}
