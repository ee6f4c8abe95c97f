/* status_kubeflow_story.c - a job of Kubeflow's kinds as the conditions that its operator would
 * set.
 *
 * Reasons and messages are those of the operators, letter by letter: kubeflow/mpi-operator's for
 * MPIJob, kubeflow/training-operator's for PyTorchJob and TFJob. The conditions are told as the
 * story of the job, one after the other. Where an operator forgets something that it documents (a
 * deadline of an MPIJob v1, restarts that are not counted), the condition says what the document
 * says.
 *
 * A launcher's end is an MPIJob's end, whatever became of its ranks: that is in the verdict.
 */
#include <ctype.h>
#include <string.h>

#include "job/status_kubeflow.h"
#include "job/verdict.h"

#define MPI_KIND(id, restarting)                                                                   \
    {                                                                                              \
        id, "MPIJob", "launcher", "MPIJob %p is created.", "MPIJob %p is running.", restarting,    \
            "MPIJob %p successfully completed.", "MPIJob %p has failed"                            \
    }

/* Of several rows for one platform the first whose deciding role the job has. */
static const struct kubeflow_kind kinds[] = {
    MPI_KIND(PLATFORM_MPIJOB_V1ALPHA2, "MPIJob %p is restarting."),
    MPI_KIND(PLATFORM_MPIJOB_V1, "MPIJob %p is restarting."),
    MPI_KIND(PLATFORM_MPIJOB_V2BETA1, NULL),
    {PLATFORM_PYTORCHJOB, "PyTorchJob", "master", "PyTorchJob %n is created.",
     "PyTorchJob %n is running.", "PyTorchJob %n is restarting because %c %r replica(s) failed.",
     "PyTorchJob %n is successfully completed.",
     "PyTorchJob %n is failed because %c %r replica(s) failed."},
    {PLATFORM_PYTORCHJOB, "PyTorchJob", "worker", "PyTorchJob %n is created.",
     "PyTorchJob %p is running.", "PyTorchJob %n is restarting because %c %r replica(s) failed.",
     "PyTorchJob %p successfully completed.",
     "PyTorchJob %n is failed because %c %r replica(s) failed."},
#define TF_KIND(decides)                                                                           \
    {                                                                                              \
        PLATFORM_TFJOB, "TFJob", decides, "TFJob %n is created.", "TFJob %p is running.",          \
            "TFJob %n is restarting because %r replica(s) failed.",                                \
            "TFJob %p successfully completed.",                                                    \
            "TFJob %p has failed because %c %r replica(s) failed."                                 \
    }
    TF_KIND("chief"),
    TF_KIND("master"),
    TF_KIND("worker"),
    TF_KIND("ps"),
};

static const struct kubeflow_kind *kind_of(const struct job_spec *spec)
{
    const struct kubeflow_kind *any = NULL;

    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        if (kinds[i].platform != spec->platform.status)
            continue;
        any = &kinds[i];
        if (spec_role(spec, kinds[i].decides))
            return any;
    }
    return any ? any : &kinds[0];
}

static bool has_launcher(const struct kubeflow_kind *kind)
{
    return strcmp(kind->decides, "launcher") == 0;
}

static bool is_v2beta1(const struct kubeflow_kind *kind)
{
    return has_launcher(kind) && !kind->restarting;
}

/* --- words -------------------------------------------------------------------------------------
 */

const char *kubeflow_role(struct arena *a, const char *role)
{
    char *word = arena_strdup(a, role);

    if (strcmp(role, "ps") == 0)
        return "PS";
    word[0] = (char)toupper((unsigned char)word[0]);
    return word;
}

static const char *message(const struct kubeflow_story *t, const char *text, const char *role,
                           uint32_t count)
{
    const struct job_spec *spec = t->job->plan->spec;
    auto_strbuf struct strbuf sb = STRBUF_INIT;

    for (const char *p = text; *p; p++) {
        if (*p != '%') {
            strbuf_addch(&sb, *p);
            continue;
        }
        p++;
        if (*p == 'p')
            strbuf_addf(&sb, "%s/", spec->namespace_ ? spec->namespace_ : "default");
        if (*p == 'p' || *p == 'n')
            strbuf_addstr(&sb, spec->name);
        else if (*p == 'r')
            strbuf_addstr(&sb, kubeflow_role(t->a, role));
        else
            strbuf_addf(&sb, "%u", count);
    }
    return arena_strndup(t->a, sb.buf, sb.len);
}

static void set(struct kubeflow_story *t, enum condition_type type, bool status, const char *why,
                const char *text, ns_t at)
{
    conditions_set(&t->cs, type, status, arena_printf(t->a, "%s%s", t->kind->name, why), text, at);
}

/* --- running and restarting --------------------------------------------------------------------
 */

static const struct role *role_of(const struct job *job, uint32_t process)
{
    return job->plan->replicas[job->plan->processes[process].replica].role;
}

/* Since when its state is Running: a launcher with all its workers, else the first replica of the
 * role that decides. 0 = not yet. */
static ns_t ran_at(const struct kubeflow_story *t, const struct job *job)
{
    ns_t at = 0;

    if (has_launcher(t->kind))
        return job->running_at;
    for (uint32_t i = 0; i < job->plan->n_processes; i++)
        if (strcmp(role_of(job, i)->name, t->kind->decides) == 0 && job->procs[i].started &&
            (at == 0 || job->procs[i].started < at))
            at = job->procs[i].started;
    return at;
}

struct restarted { /* the process that was, or will be, started again last */
    int32_t process;
    uint32_t waiting; /* so many of its role have not been yet */
    ns_t at;          /* when it ended, or was started again */
};

static bool waits_for_restart(const struct proc *p)
{
    return p->state == PROC_BACKOFF || (p->state == PROC_STARTING && p->restarts > 0);
}

static struct restarted last_restarted(const struct job *job)
{
    struct restarted r = {.process = -1};
    bool waiting = false;

    for (uint32_t i = 0; i < job->plan->n_processes; i++) {
        const struct proc *p = &job->procs[i];
        bool waits = waits_for_restart(p);
        ns_t at = p->state == PROC_BACKOFF ? p->end.at : waits ? p->restart_at : p->started;
        if ((p->restarts == 0 && !waits) || (waiting && !waits) || (waits == waiting && at < r.at))
            continue;
        waiting = waits;
        r.process = (int32_t)i;
        r.at = at;
    }
    for (uint32_t i = 0; waiting && i < job->plan->n_processes; i++)
        r.waiting += waits_for_restart(&job->procs[i]) &&
                     role_of(job, i) == role_of(job, (uint32_t)r.process);
    return r;
}

static void tell_running(struct kubeflow_story *t, const struct job *job)
{
    ns_t at = ran_at(t, job);
    struct restarted r = last_restarted(job);

    if (at && r.process >= 0 && r.at < at)
        at = r.at; /* the times of a process are those of its last start */
    if (at)
        set(t, CONDITION_RUNNING, true, "Running", message(t, t->kind->running, "", 0), at);
    if (r.process < 0 || !t->kind->restarting)
        return;
    set(t, CONDITION_RESTARTING, true, "Restarting",
        message(t, t->kind->restarting, role_of(job, (uint32_t)r.process)->name,
                r.waiting ? r.waiting : 1),
        r.at);
    if (r.waiting == 0)
        set(t, CONDITION_RUNNING, true, "Running", message(t, t->kind->running, "", 0), r.at);
}

/* --- suspension --------------------------------------------------------------------------------
 */

static void tell_suspended(struct kubeflow_story *t, ns_t at)
{
    const struct condition *running = conditions_get(&t->cs, CONDITION_RUNNING);
    bool v2beta1 = is_v2beta1(t->kind);
    const char *text = arena_printf(t->a, "%s %s is suspended.", t->kind->name,
                                    v2beta1 ? message(t, "%p", "", 0) : t->job->plan->spec->name);

    if (v2beta1)
        set(t, CONDITION_SUSPENDED, true, "Suspended", "MPIJob suspended", at);
    if (v2beta1 || (running && running->status))
        set(t, CONDITION_RUNNING, false, "Suspended", text, at);
    if (!v2beta1)
        set(t, CONDITION_SUSPENDED, true, "Suspended", text, at);
}

static void tell_resumed(struct kubeflow_story *t, ns_t at)
{
    set(t, CONDITION_SUSPENDED, false, "Resumed",
        is_v2beta1(t->kind)
            ? "MPIJob resumed"
            : arena_printf(t->a, "%s %s is resumed.", t->kind->name, t->job->plan->spec->name),
        at);
}

/* --- the end -----------------------------------------------------------------------------------
 */

bool kubeflow_succeeded(const struct kubeflow_story *t)
{
    const struct job *job = t->job;
    int32_t launcher = job->plan->launcher;

    if (!has_launcher(t->kind) || launcher < 0)
        return job->outcome == OUTCOME_SUCCEEDED;
    const struct proc *p = &job->procs[launcher];
    return p->state == PROC_ENDED && !p->stop_asked && ending_ok(&p->end);
}

ns_t kubeflow_completed(const struct kubeflow_story *t)
{
    struct trigger by = job_trigger(t->job);
    int32_t launcher = t->job->plan->launcher;

    if (by.outcome != OUTCOME_NONE)
        return by.at;
    if (has_launcher(t->kind) && launcher >= 0 && kubeflow_succeeded(t))
        return t->job->procs[launcher].end.at;
    return t->job->ended;
}

static uint32_t n_failed(const struct job *job, const struct role *role)
{
    uint32_t n = 0;

    for (uint32_t i = 0; i < job->plan->n_replicas; i++)
        n += job->plan->replicas[i].role == role && job_replica(job, i).outcome == OUTCOME_FAILED;
    return n;
}

/* What no operator has words for: lost, cancelled, hung, never ready. */
static const char *other_failure(const struct kubeflow_story *t)
{
    auto_strbuf struct strbuf sb = STRBUF_INIT;

    strbuf_addf(&sb, "%s %s has failed because %s", t->kind->name, message(t, "%p", "", 0),
                t->job->cause.kind == CAUSE_CANCELLED ? "it was " : "");
    verdict_cause(t->job, &t->job->cause, &sb);
    strbuf_addch(&sb, '.');
    return arena_strndup(t->a, sb.buf, sb.len);
}

/* The words of the launcher's Job; where its pods are kept, those of the last one are added. */
static void tell_launcher_job_failed(struct kubeflow_story *t, ns_t at)
{
    const struct job *job = t->job;
    const struct role *role = role_of(job, (uint32_t)job->plan->launcher);
    auto_strbuf struct strbuf text = STRBUF_INIT;
    const char *reason = "BackoffLimitExceeded";

    strbuf_addstr(&text, "Job has reached the specified backoff limit");
    if (job->cause.kind == CAUSE_DEADLINE) {
        reason = "DeadlineExceeded";
        strbuf_truncate(&text, 0);
        strbuf_addstr(&text, "Job was active longer than specified deadline");
    } else if (role->restart == RESTART_NEVER) {
        bool oom = job->cause.kind == CAUSE_OOM;
        reason = oom ? "BackoffLimitExceeded/OOMKilled" : "BackoffLimitExceeded/Error";
        strbuf_addstr(&text, ": ");
        verdict_cause(job, &job->cause, &text);
    }
    conditions_set(&t->cs, CONDITION_FAILED, true, reason, arena_strdup(t->a, text.buf), at);
}

static void tell_failed(struct kubeflow_story *t, ns_t at)
{
    const struct job *job = t->job;
    const struct cause *c = &job->cause;
    const char *name = job->plan->spec->name, *text;
    bool told = c->kind == CAUSE_DEADLINE || c->process >= 0 || c->rank >= 0;

    if (is_v2beta1(t->kind) && told && job->plan->launcher >= 0) {
        tell_launcher_job_failed(t, at);
        return;
    }
    if (!told)
        text = other_failure(t);
    else if (c->kind == CAUSE_DEADLINE)
        text = arena_printf(
            t->a, "Job %s has failed because it was active longer than specified deadline", name);
    else if (has_launcher(t->kind))
        text = message(t, t->kind->failed, "", 0);
    else if (job->plan->spec->has_restart_budget && c->process >= 0 &&
             job_restarts_spent(job, (uint32_t)c->process))
        text = arena_printf(
            t->a, "Job %s has failed because it has reached the specified backoff limit", name);
    else
        text = message(t, t->kind->failed, job->plan->replicas[c->replica].role->name,
                       n_failed(job, job->plan->replicas[c->replica].role));
    set(t, CONDITION_FAILED, true, "Failed", text, at);
}

static void tell_end(struct kubeflow_story *t)
{
    ns_t at = kubeflow_completed(t);

    if (kubeflow_succeeded(t))
        set(t, CONDITION_SUCCEEDED, true, "Succeeded", message(t, t->kind->succeeded, "", 0), at);
    else
        tell_failed(t, at);
    if (is_v2beta1(t->kind) && !conditions_get(&t->cs, CONDITION_RUNNING))
        set(t, CONDITION_RUNNING, false, "Running",
            message(t, "MPIJob %p is finished but Running condition was never set.", "", 0), at);
}

static void tell(struct kubeflow_story *t)
{
    const struct job *job = t->job;

    set(t, CONDITION_CREATED, true, "Created", message(t, t->kind->created, "", 0), job->created);
    if (job->plan->spec->pause)
        tell_suspended(t, job->created);
    for (uint32_t i = 0; i < job->n_past; i++) {
        const struct job *was = &job->past[i];
        if (was->resumed && conditions_get(&t->cs, CONDITION_SUSPENDED))
            tell_resumed(t, was->begin_at);
        tell_running(t, was);
        if (was->stop == STOP_PAUSE)
            tell_suspended(t, was->ended);
    }
    if (job->phase == JOB_PAUSED)
        return;
    if (job->resumed && conditions_get(&t->cs, CONDITION_SUSPENDED))
        tell_resumed(t, job->begin_at);
    tell_running(t, job);
    if (job->phase == JOB_ENDED)
        tell_end(t);
}

void kubeflow_tell(struct arena *a, const struct job *job, struct kubeflow_story *ret)
{
    *ret = (struct kubeflow_story){.job = job, .kind = kind_of(job->plan->spec), .a = a};
    ret->cs.failed_is_last = !has_launcher(ret->kind);
    tell(ret);
}
