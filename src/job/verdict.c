/* verdict.c - the sentences. Every fact in them comes from job.h's view; nothing is decided here.
 */
#include <signal.h>
#include <string.h>

#include "base/limits.h"
#include "base/num.h"
#include "base/signame.h"
#include "job/mask.h"
#include "job/verdict.h"
#include "job/verdict_mpi.h"

static void add_who(const struct job *job, const struct cause *c, struct strbuf *out)
{
    const struct process *p = c->process >= 0 ? &job->plan->processes[c->process] : NULL;

    if (*c->end.init)
        strbuf_addf(out, "init container %s of ", c->end.init);
    else if (c->rank >= 0)
        strbuf_addf(out, "rank %d on ", c->rank);
    if (p && p->task)
        strbuf_addf(out, "%s %d on ", p->task->type, p->task_index);
    strbuf_addstr(out, job->plan->replicas[c->replica].name);
}

static const char *init_program(const struct role *role, const char *name)
{
    for (size_t i = 0; i < role->n_init; i++)
        if (strcmp(role->init[i].name, name) == 0 && role->init[i].argv)
            return role->init[i].argv[0];
    return "its command";
}

const char *verdict_program(const struct job *job, const struct cause *c)
{
    const char *of_ranks = *c->end.program ? c->end.program : job->plan->facts->machine.program;

    /* a rank, or a launcher that was itself executed: then it is mpirun that could not */
    if (c->process < 0 || job->procs[c->process].end.exec_errno == 0)
        return of_ranks ? of_ranks : "its command";
    const struct process *p = &job->plan->processes[c->process];
    const struct missing *m = plan_missing(job->plan, p);
    if (m && !job->procs[c->process].started && job->procs[c->process].restarts == 0)
        return m->name;
    const char *shell = p->shell_kind == SHELL_SH ? "/bin/sh" : "bash";
    if (*c->end.init)
        return init_program(job->plan->replicas[p->replica].role, c->end.init);
    return p->argv ? p->argv[0] : p->shell ? shell : "its set-up";
}

static void add_exec(const struct job *job, const struct cause *c, struct strbuf *out)
{
    bool is_exec = strcmp(c->end.exec_what, "exec") == 0;

    strbuf_addstr(out, " could not ");
    if (is_exec) {
        strbuf_addstr(out, "execute ");
        strbuf_add_escaped(out, verdict_program(job, c), strlen(verdict_program(job, c)));
    } else {
        strbuf_addf(out, "be started (%s)", c->end.exec_what);
    }
    strbuf_addf(out, ": %s", verdict_exec_error(-c->end.exec_errno));
}

/* Only a shell, or whoever calls mpirun, says by its status what became of a command of its. */
static bool is_shell(const struct job *job, const struct cause *c)
{
    static const char *const shells[] = {"sh", "bash", "dash", "zsh", "ksh"};
    const struct process *p = c->process >= 0 ? &job->plan->processes[c->process] : NULL;

    if (!p)
        return false;
    if (p->shell || *c->end.init)
        return true;
    for (size_t i = 0; p->argv && p->argv[0] && i < ARRAY_SIZE(shells); i++)
        if (strcmp(basename(p->argv[0]), shells[i]) == 0)
            return true;
    return c->process == job->plan->launcher;
}

static void add_exit(const struct job *job, const struct cause *c, struct strbuf *out)
{
    /* Open MPI has errors of those numbers, one of them for a program that it does not find */
    bool may_be_mpirun = c->process >= 0 && c->process == job->plan->launcher && c->rank < 0;

    bool shell = is_shell(job, c);

    strbuf_addf(out, " exited with status %d", c->end.code);
    if (c->end.code == 127 && shell)
        strbuf_addstr(out, " (command not found)");
    else if (c->end.code == 126 && shell)
        strbuf_addstr(out, " (command cannot be executed)");
    else if (c->end.code == 124 && may_be_mpirun)
        strbuf_addstr(out, " (timed out)");
    else if (shell && !may_be_mpirun && c->end.code > 128 && c->end.code <= 128 + SIGSYS)
        strbuf_addf(out, " (128 + %s)", signal_name(c->end.code - 128));
    if (c->end.oom_in > 0 && c->end.oom_in <= job->plan->n_replicas)
        verdict_killed_inside(job, c, out);
    else
        verdict_killer_nearby(&c->end, out);
    if (may_be_mpirun)
        verdict_ranks(job, c, out);
}

static void add_cancelled(const struct job *job, struct strbuf *out)
{
    strbuf_addf(out, "cancelled by %s",
                job->cancel_asked ? "muster cancel" : signal_name(job->cancel_signal));
    if (job->cancel_signal == SIGINT)
        strbuf_addstr(out, " (Ctrl-C)");
}

/* What the platform did, in its own words where it has some. */
static void add_fate(const struct job *job, const struct cause *c, struct strbuf *out)
{
    bool late = c->process < 0 && c->launch < 0 && job->stop == STOP_NOT_READY;
    const char *why = c->end.fate || late ? job_why(job, (uint32_t)c->replica) : NULL;
    char text[DURATION_TEXT];

    if (c->kind == CAUSE_NOT_READY && why && !late) { /* "cannot reach …" */
        strbuf_addch(out, ' ');
        strbuf_add_escaped(out, why, strlen(why));
        return;
    }
    if (c->kind == CAUSE_IMAGE)
        strbuf_addstr(out, " could not get its image");
    else if (c->kind == CAUSE_EVICTED)
        strbuf_addstr(out, " was evicted");
    else if (c->kind == CAUSE_GONE)
        strbuf_addstr(out, why ? " disappeared" : " disappeared; how it ended is not known");
    else if (c->kind == CAUSE_UNSCHEDULABLE)
        strbuf_addstr(out, late ? " was not scheduled" : " was refused");
    else
        strbuf_addf(out, " did not %s", *c->end.init ? "end" : "answer");
    if (late)
        strbuf_addf(out, " within %s (--start-timeout)",
                    duration_text(job->rules.start_timeout_ms, text));
    if (!why)
        return;
    strbuf_addstr(out, ": ");
    strbuf_add_escaped(out, why, strlen(why));
}

static void add_cause(const struct job *job, const struct cause *c, struct strbuf *out)
{
    char text[DURATION_TEXT];

    if (job->refused) {
        strbuf_add_escaped(out, job->refused, strlen(job->refused));
        return;
    }
    switch (c->kind) {
    case CAUSE_NONE:
        return;
    case CAUSE_HANG:
        if (job->hung)
            strbuf_add(out, job->hung, strcspn(job->hung, "\n"));
        else
            strbuf_addstr(out, "it hung");
        return;
    case CAUSE_CANCELLED:
        add_cancelled(job, out);
        return;
    case CAUSE_DEADLINE:
        strbuf_addf(out, "exceeded its deadline of %s",
                    duration_text(job->plan->spec->deadline_s * 1000, text));
        return;
    case CAUSE_LOST:
        strbuf_addf(out, "the supervisor (muster-shim) %s, which ended every process of the job",
                    job->silent ? "did not respond and was killed" : "was killed");
        return;
    default:
        break;
    }
    if (verdict_no_ranks(c, out))
        return;
    verdict_mpirun(job, c, out);
    if (c->kind == CAUSE_NOT_READY && c->end.fate) /* its replica, not the process to come */
        strbuf_addstr(out, job->plan->replicas[c->replica].name);
    else
        add_who(job, c, out);
    if (verdict_blame(c, out))
        return;
    switch (c->kind) {
    case CAUSE_NOT_READY:
    case CAUSE_IMAGE:
    case CAUSE_UNSCHEDULABLE:
    case CAUSE_EVICTED:
    case CAUSE_GONE:
        add_fate(job, c, out);
        break;
    case CAUSE_EXEC:
        add_exec(job, c, out);
        break;
    case CAUSE_OOM:
        verdict_oom(&c->end, out);
        break;
    case CAUSE_SIGNAL:
        if (c->blame == BLAME_SIGNAL && c->end.code >= 0) { /* the launcher's script went on */
            add_exit(job, c, out);
            break;
        }
        strbuf_addf(out, " was killed by %s", signal_name(c->end.signal));
        if (c->end.signal != SIGKILL && signal_has_words(c->end.signal)) /* those are "killed" */
            strbuf_addf(out, " (%s)", signal_words(c->end.signal));
        if (c->end.oom_in > 0 && c->end.oom_in <= job->plan->n_replicas)
            verdict_killed_inside(job, c, out);
        break;
    default:
        add_exit(job, c, out);
        break;
    }
}

/* The only place where words of the job itself come in: a program's name, a directory. */
void verdict_cause(const struct job *job, const struct cause *c, struct strbuf *out)
{
    auto_strbuf struct strbuf text = STRBUF_INIT;

    add_cause(job, c, &text);
    mask_sentence(job->plan, &text);
    strbuf_addstr(out, text.buf);
}

/* Is this rank, started by Muster or by the mpirun that counts, one that was stopped? */
static bool rank_stopped(const struct job *job, int32_t launch, uint32_t rank)
{
    if (launch >= 0)
        return rank < job->launches[launch].size &&
               job_rank_outcome(job, (uint32_t)launch, rank) == OUTCOME_STOPPED;
    return rank < job->plan->n_processes && job->plan->processes[rank].rank == (int32_t)rank &&
           job_proc_outcome(job, rank) == OUTCOME_STOPPED;
}

void verdict_add_ranks(struct strbuf *list, bool first, uint32_t from, uint32_t to)
{
    strbuf_addf(list, "%s%u", first ? "" : ", ", from);
    if (to > from)
        strbuf_addf(list, to > from + 1 ? " to %u" : ", %u", to);
}

/* The last comma becomes "and". */
void verdict_end_ranks(struct strbuf *list)
{
    auto_strbuf struct strbuf whole = STRBUF_INIT;
    const char *comma = list->len > 0 ? strrchr(list->buf, ',') : NULL;

    if (!comma)
        return;
    strbuf_add(&whole, list->buf, (size_t)(comma - list->buf));
    strbuf_addf(&whole, " and%s", comma + 1);
    strbuf_release(list);
    strbuf_addstr(list, whole.buf);
}

static bool add_stopped_ranks(const struct job *job, struct strbuf *out)
{
    int32_t launch = job_judged_launch(job);
    auto_strbuf struct strbuf list = STRBUF_INIT;
    uint32_t size = launch >= 0 ? job->launches[launch].size : job->plan->n_processes, n = 0;

    for (uint32_t r = 0; r < size; r++) {
        uint32_t last = r;
        if (!rank_stopped(job, launch, r))
            continue;
        while (rank_stopped(job, launch, last + 1))
            last++;
        verdict_add_ranks(&list, n == 0, r, last);
        n += last - r + 1;
        r = last;
    }
    verdict_end_ranks(&list);
    if (n > 0)
        strbuf_addf(out, "rank%s %s", n == 1 ? "" : "s", list.buf);
    return n > 0;
}

/* Is this the replica that never came? */
static bool is_late(const struct job *job, uint32_t replica)
{
    return job->stop == STOP_NOT_READY && job->cause.process < 0 && job->cause.launch < 0 &&
           job->cause.replica == (int32_t)replica;
}

void verdict_stopped(const struct job *job, struct strbuf *out)
{
    bool any = add_stopped_ranks(job, out);

    for (uint32_t i = 0; i < job->plan->n_processes; i++) {
        const struct process *p = &job->plan->processes[i];
        if (p->rank >= 0 || job_waits(job, i) || job_proc_outcome(job, i) != OUTCOME_STOPPED ||
            is_late(job, p->replica))
            continue;
        strbuf_addstr(out, any ? ", " : "");
        if (p->task)
            strbuf_addf(out, "%s %d", p->task->type, p->task_index);
        else
            strbuf_addstr(out, job->plan->replicas[p->replica].name);
        any = true;
    }
}

static bool same_ending(const struct ending *a, const struct ending *b)
{
    return a->known == b->known && a->code == b->code && a->signal == b->signal &&
           a->exec_errno == b->exec_errno && a->oom == b->oom && a->fate == b->fate;
}

/* How many failed by themselves besides the cause, and how many of them as it did. */
static uint32_t count_failed(const struct job *job, uint32_t *ret_alike)
{
    const struct launch *l = job->cause.launch >= 0 ? &job->launches[job->cause.launch] : NULL;
    uint32_t failed = 0;

    *ret_alike = 0;
    for (uint32_t r = 0; l && r < l->size; r++)
        if ((int32_t)r != job->cause.rank &&
            job_rank_outcome(job, (uint32_t)job->cause.launch, r) == OUTCOME_FAILED) {
            failed++;
            *ret_alike += same_ending(&l->ranks[r].end, &job->cause.end);
        }
    for (uint32_t i = 0; !l && i < job->plan->n_processes; i++)
        if ((int32_t)i != job->cause.process && job_proc_outcome(job, i) == OUTCOME_FAILED) {
            failed++;
            *ret_alike += same_ending(&job->procs[i].end, &job->cause.end);
        }
    return failed;
}

void verdict_alike(const struct job *job, struct strbuf *out)
{
    bool ranks = job->cause.rank >= 0;
    uint32_t alike, failed;

    if (job->cause.launch < 0 && job->cause.process < 0)
        return;
    failed = count_failed(job, &alike);
    if (alike > 0)
        strbuf_addf(out, "%u more %s%s failed the same way", alike, ranks ? "rank" : "process",
                    alike == 1 ? ""
                    : ranks    ? "s"
                               : "es");
    if (failed > alike && alike > 0)
        strbuf_addf(out, ", %u in another", failed - alike);
    else if (failed > alike)
        strbuf_addf(out, "%u more %s%s failed in another way", failed, ranks ? "rank" : "process",
                    failed == 1 ? ""
                    : ranks     ? "s"
                                : "es");
}

static void add_count(struct strbuf *out, uint32_t n, const char *one)
{
    strbuf_addf(out, "%u %s%s", n, one, n == 1 ? "" : "s");
}

struct tally {
    uint32_t total, failed, stopped; /* replicas with a command of their own */
};

static struct tally count_replicas(const struct job *job)
{
    struct tally n = {0};

    for (uint32_t i = 0; i < job->plan->n_replicas; i++) {
        enum outcome o = job_replica(job, i).outcome;
        n.total++;
        n.failed += o == OUTCOME_FAILED;
        n.stopped += o == OUTCOME_STOPPED;
    }
    return n;
}

/* What made it a success: the replica that was waited for, or how many of its role were. */
static void add_trigger(const struct job *job, const struct trigger *t, struct strbuf *out)
{
    const struct replica *rp = &job->plan->replicas[t->replica];
    int32_t wanted = rp->role->min_succeeded;

    if (rp->role->n_tasks)
        strbuf_addf(out, ": all %u %s tasks exited with status 0", t->count,
                    rp->role->tasks[0].type);
    else if (wanted <= 1)
        strbuf_addf(out, ": %s exited with status 0", rp->name);
    else
        strbuf_addf(out, ": %s%d %s replicas exited with status 0",
                    wanted == rp->role->replicas ? "all " : "", wanted, rp->role->name);
}

/* A success that only the file's own counts make one. False: it needs no such words. */
static bool add_success_by_rule(const struct job *job, struct strbuf *out)
{
    if (!job->counted)
        return false;
    struct tally n = count_replicas(job);
    struct trigger t = job_trigger(job);
    struct cause first = job_first_failure(job);
    if (n.failed == 0 && (n.stopped == 0 || t.replica < 0))
        return false;
    strbuf_addstr(out, "succeeded by its completion policy");
    if (n.failed == 0)
        add_trigger(job, &t, out);
    else if (n.failed == 1)
        strbuf_addstr(out, " although ");
    else
        strbuf_addf(out, " although %u of %u replicas failed, first ", n.failed, n.total);
    if (n.failed > 0)
        verdict_cause(job, &first, out);
    return true;
}

static bool has_ranks(const struct launch *l, uint32_t replica)
{
    for (uint32_t i = 0; i < l->size; i++)
        if (l->ranks[i].state != PROC_PENDING && l->ranks[i].replica == replica)
            return true;
    return false;
}

/* What ranks ran on: workers; hosts, where roles differ. */
static void add_hosts(const struct job *job, struct strbuf *out)
{
    const struct launch *l = job_last_launch(job);
    const char *word = NULL;
    uint32_t hosts = 0;

    for (uint32_t i = 0; i < job->plan->n_replicas; i++) {
        const struct role *role = job->plan->replicas[i].role;
        if (l ? !has_ranks(l, i) : role->kind == ROLE_LAUNCHER && !role->hosts_ranks)
            continue;
        word = word && strcmp(word, role->name) != 0 ? "host" : role->name;
        hosts++;
    }
    add_count(out, hosts, word ? word : "worker");
}

static void add_success(const struct job *job, struct strbuf *out)
{
    const struct launch *l = job_last_launch(job);
    uint32_t ranks = l ? l->size : 0;

    if (job->rules.preflight_only) {
        strbuf_addstr(out, "passed its preflight; no command was started (--preflight=only)");
        return;
    }
    if (add_success_by_rule(job, out))
        return;
    for (uint32_t i = 0; !l && i < job->plan->n_processes; i++)
        ranks += job->plan->processes[i].rank >= 0;
    strbuf_addstr(out, "succeeded: ");
    if (verdict_trusted(job, out))
        return;
    if (ranks > 0) {
        add_count(out, ranks, "rank");
        strbuf_addstr(out, " on ");
        add_hosts(job, out);
        strbuf_addstr(out, " exited with status 0");
    } else {
        strbuf_addstr(out, "every process exited with status 0");
    }
    verdict_unobserved(job, out);
    verdict_earlier(job, out);
}

const char *verdict_aside(const struct job *job)
{
    if (job->silent && job->cause.kind != CAUSE_LOST)
        return "; the supervisor (muster-shim) did not respond and was killed";
    if (job->plan->launcher >= 0 && job->cause.blame == BLAME_NOTHING)
        return "; the launcher still exited with status 0";
    if (job->plan->launcher >= 0 && job->stop == STOP_STALLED)
        return "; mpirun did not exit and was stopped";
    if (job->plan->launcher < 0 || (job->cause.kind != CAUSE_NONE && job->cause.rank < 0))
        return "";
    const struct proc *p = &job->procs[job->plan->launcher];
    if (job->cause.rank >= 0 && p->state == PROC_ENDED && ending_ok(&p->end))
        return "; the launcher still exited with status 0";
    return "";
}

void verdict_rule(const struct job *job, struct strbuf *out)
{
    if (!job->counted || job->cause.process < 0)
        return;
    struct trigger t = job_trigger(job);
    if (t.replica >= 0 && t.replica != job->cause.replica)
        strbuf_addf(out, "; the completion policy ended the job when %s failed",
                    job->plan->replicas[t.replica].name);
}

/* The last attempt before this one that a failure ended, or NULL. */
static const struct job *failed_before(const struct job *job)
{
    for (uint32_t i = job->n_past; i > 0; i--)
        if (job->past[i - 1].outcome == OUTCOME_FAILED)
            return &job->past[i - 1];
    return NULL;
}

void verdict_retries(const struct job *job, struct strbuf *out)
{
    const struct job *before = failed_before(job);

    if (!before)
        return;
    strbuf_addf(out, "attempt %u failed because ", before->attempt);
    verdict_cause(before, &before->cause, out);
}

/* Why it was not restarted once more. */
static void add_restart_limit(const struct job *job, struct strbuf *out)
{
    int32_t p = job->cause.process;

    if (p < 0 || !job_restarts_spent(job, (uint32_t)p))
        return;
    if (job->plan->spec->has_restart_budget)
        strbuf_addstr(out, ", the job's limit");
    else if (job->plan->replicas[job->cause.replica].role->restart_limit < 0)
        strbuf_addf(out, "; the file sets no limit, the default is %d", LIMIT_RESTARTS);
}

static bool is_free(const struct ending *e)
{
    enum failure_class class = failure_class(e);

    return class == FAILURE_TRANSIENT || class == FAILURE_CONFLICT;
}

/* What OpenPAI retries whatever the file says. A job with no retries that is tried four times needs
 * a word, or nobody can see why. */
static void add_uncounted(const struct job *job, struct strbuf *out)
{
    uint32_t retries = job->retries - job->retries_counted;
    const struct ending *why = NULL;
    const char *what = retries == 1 ? "retry" : "retries";

    for (uint32_t i = job->n_past; retries > 0 && !why && i > 0; i--) {
        const struct ending *e = job_judged_by(&job->past[i - 1]);
        why = e && is_free(e) ? e : NULL;
    }
    for (uint32_t i = 0; retries == 0 && !why && i < job->plan->n_processes; i++) {
        const struct proc *p = &job->procs[i];
        if (p->restarts > p->restarts_counted && p->state == PROC_ENDED && is_free(&p->end)) {
            why = &p->end;
            retries = p->restarts - p->restarts_counted;
            what = retries == 1 ? "restart" : "restarts";
        }
    }
    if (why)
        strbuf_addf(out, "; %u %s not counted: OpenPAI treats exit status %d as a platform failure",
                    retries, what, ending_exit_code(why));
}

void verdict_restarts(const struct job *job, struct strbuf *out)
{
    uint32_t n = 0, times = 0, first = 0;

    for (uint32_t i = 0; i < job->plan->n_replicas; i++) {
        uint32_t restarts = job_replica(job, i).restarts;
        first = restarts && !n ? i : first;
        n += restarts > 0;
        times += restarts;
    }
    if (n == 1)
        strbuf_addf(out, "; %s was restarted ", job->plan->replicas[first].name);
    else if (n > 1)
        strbuf_addf(out, "; %u replicas were restarted, in all ", n);
    if (n > 0) {
        strbuf_addf(out, times == 1 ? "once" : "%u times", times);
        add_restart_limit(job, out);
    }
    add_uncounted(job, out);
}

static void add_failed(const struct job *job, struct strbuf *out)
{
    if (job->retries > 0)
        strbuf_addf(out, "failed after %u attempts: ", job->retries + 1);
    else
        strbuf_addstr(out, "failed: ");
}

void verdict_held(const struct job *job, struct strbuf *out)
{
    struct cause c = job_cause(job);

    strbuf_addstr(out, "held: ");
    verdict_cause(job, &c, out);
    strbuf_addstr(out, "; its replicas are kept");
}

void verdict_sentence(const struct job *job, struct strbuf *out)
{
    verdict_sentence_after(job, "", "", out);
}

void verdict_sentence_after(const struct job *job, const char *before, const char *says,
                            struct strbuf *out)
{
    char text[DURATION_TEXT];
    const struct cause *c = &job->cause;

    if (c->kind == CAUSE_NONE && failed_before(job)) {
        strbuf_addf(out, "succeeded at attempt %u: ", job->attempt);
        verdict_retries(job, out);
    } else if (c->kind == CAUSE_NONE) {
        add_success(job, out);
    } else {
        if (c->kind != CAUSE_CANCELLED)
            add_failed(job, out);
        if (*before)
            strbuf_addf(out, "%s; then ", before);
        verdict_cause(job, c, out);
        if (c->end.at > job->created && c->kind != CAUSE_NOT_READY && c->kind != CAUSE_DEADLINE &&
            c->kind != CAUSE_HANG && c->kind != CAUSE_EXEC && !c->end.fate)
            strbuf_addf(out, " after %s",
                        duration_text((c->end.at - job->created) / NS_PER_MS, text));
        if (*says)
            strbuf_addf(out, ": %s", says);
    }
    strbuf_addstr(out, verdict_aside(job));
    if (c->kind != CAUSE_NONE)
        verdict_earlier(job, out);
    verdict_rule(job, out);
    verdict_restarts(job, out);
    verdict_killed(job, out);
}
