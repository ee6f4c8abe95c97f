/* names.c - the words for the job core's enums, each table beside nothing else. */
#include "base/signame.h"
#include "job/job.h"

const char *outcome_name(enum outcome o)
{
    static const char *const names[] = {
        [OUTCOME_NONE] = "none",
        [OUTCOME_SUCCEEDED] = "succeeded",
        [OUTCOME_FAILED] = "failed",
        [OUTCOME_STOPPED] = "stopped",
        [OUTCOME_NEVER_STARTED] = "never-started",
        [OUTCOME_CANCELLED] = "cancelled",
    };
    return names[o];
}

const char *cause_kind_name(enum cause_kind k)
{
    static const char *const names[] = {
        [CAUSE_NONE] = "none",
        [CAUSE_DEADLINE] = "deadline",
        [CAUSE_EXIT] = "exit",
        [CAUSE_SIGNAL] = "signal",
        [CAUSE_OOM] = "oom",
        [CAUSE_EXEC] = "exec",
        [CAUSE_NOT_READY] = "not-ready",
        [CAUSE_HANG] = "hang",
        [CAUSE_CANCELLED] = "cancelled",
        [CAUSE_LOST] = "lost",
        [CAUSE_GONE] = "gone",
        [CAUSE_PORT] = "port",
        [CAUSE_SECRET] = "secret",
        [CAUSE_IMAGE] = "image",
        [CAUSE_UNSCHEDULABLE] = "unschedulable",
        [CAUSE_EVICTED] = "evicted",
    };
    return names[k];
}

const char *blame_kind_name(enum blame_kind k)
{
    static const char *const names[] = {
        [BLAME_NONE] = "none",       [BLAME_ABORT] = "abort", [BLAME_EARLY] = "early",
        [BLAME_DAEMON] = "daemon",   [BLAME_AGENT] = "agent", [BLAME_SIGNAL] = "signal",
        [BLAME_TIMEOUT] = "timeout", [BLAME_ERROR] = "error", [BLAME_NOTHING] = "nothing",
    };
    return names[k];
}

const char *job_phase_name(enum job_phase p)
{
    static const char *const names[] = {
        [JOB_PENDING] = "pending", [JOB_RUNNING] = "running", [JOB_STOPPING] = "stopping",
        [JOB_KILLING] = "killing", [JOB_PAUSED] = "paused",   [JOB_HELD] = "held",
        [JOB_ENDED] = "ended",
    };
    return names[p];
}

const char *job_state_name(const struct job *job)
{
    if (job->debugging && job->phase == JOB_RUNNING)
        return "debugging";
    return job_phase_name(job->phase);
}

const char *job_live_state_name(const struct job *job)
{
    return job->phase == JOB_ENDED ? "ending" : job_state_name(job);
}

const char *event_type_name(enum event_type t)
{
    static const char *const names[] = {
        [EVENT_CREATED] = "created",
        [EVENT_OPEN] = "open",
        [EVENT_OPENED] = "opened",
        [EVENT_START] = "start",
        [EVENT_STARTED] = "started",
        [EVENT_START_FAILED] = "start-failed",
        [EVENT_EXITED] = "exited",
        [EVENT_RANK_STARTED] = "rank-started",
        [EVENT_RANK_EXITED] = "rank-exited",
        [EVENT_CANCEL] = "cancel",
        [EVENT_LOST] = "lost",
        [EVENT_HUNG] = "hung",
        [EVENT_STOP] = "stop",
        [EVENT_KILL] = "kill",
        [EVENT_ENDED] = "ended",
        [EVENT_RESTART] = "restart",
        [EVENT_ATTEMPT] = "attempt",
        [EVENT_PAUSE] = "pause",
        [EVENT_PAUSED] = "paused",
        [EVENT_RESUME] = "resume",
        [EVENT_HELD] = "held",
        [EVENT_KILL_ROLE] = "kill-role",
        [EVENT_BLAMED] = "blamed",
        [EVENT_WAITING] = "waiting",
        [EVENT_UNKNOWN] = "unknown",
        [EVENT_SEEN] = "seen",
        [EVENT_ADMITTED] = "admitted",
        [EVENT_MPIRUN_ENDED] = "mpirun-ended",
        [EVENT_REMOVAL] = "removal",
    };
    return names[t];
}

const char *ending_words(struct arena *a, const struct ending *e)
{
    if (e->fate != CAUSE_NONE)
        return cause_kind_name(e->fate);
    if (e->exec_errno == ENDING_NOT_STARTED)
        return "not started";
    if (e->exec_errno)
        return "could not be executed";
    if (!e->known)
        return "exit status unknown";
    if (e->oom)
        return "out of memory";
    if (e->signal)
        return signal_name(e->signal);
    return arena_printf(a, "exit %d", e->code);
}
