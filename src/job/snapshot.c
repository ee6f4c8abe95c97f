/* snapshot.c - see snapshot.h: the tables, and saving. Counts are not saved: they follow from the
 * rest. */
#include "job/snapshot_parts.h"

static const struct field job_fields[] = {
    F(struct job, attempt, FIELD_U32, 1),
    F(struct job, resumed, FIELD_BOOL, 0),
    F(struct job, debugging, FIELD_BOOL, 0),
    F(struct job, created, FIELD_I64, 0),
    F(struct job, admitted, FIELD_BOOL, 1),
    F(struct job, cancel_signal, FIELD_INT, 0),
    F(struct job, cancel_asked, FIELD_BOOL, 0),
    F(struct job, cancel_again, FIELD_BOOL, 0),
    F(struct job, lost, FIELD_BOOL, 0),
    F(struct job, silent, FIELD_BOOL, 0),
    F(struct job, pause_wanted, FIELD_BOOL, 0),
    F(struct job, paused_at, FIELD_I64, 0),
    F(struct job, deadline_from, FIELD_I64, 0),
    F(struct job, random, FIELD_U32, 0),
    F(struct job, activity, FIELD_I64, 0),
    F(struct job, retries, FIELD_U32, 0),
    F(struct job, retries_counted, FIELD_U32, 0),
    F(struct job, retries_free, FIELD_U32, 0),
    F(struct job, free_replica, FIELD_INT, -1),
    /* of the attempt */
    F_ENUM(struct job, phase, JOB_ENDED),
    F(struct job, begun, FIELD_BOOL, 0),
    F(struct job, begin_at, FIELD_I64, 0),
    F(struct job, running_at, FIELD_I64, 0),
    F(struct job, stop_at, FIELD_I64, 0),
    F(struct job, kill_at, FIELD_I64, 0),
    F(struct job, ended, FIELD_I64, 0),
    F(struct job, restarts_counted, FIELD_U32, 0),
    F(struct job, launch_base, FIELD_U32, 0),
    F(struct job, first_failed, FIELD_INT, -1),
    F_ENUM(struct job, stop, STOP_DEBUG),
    F(struct job, stop_replica, FIELD_INT, -1),
    F_ENUM(struct job, stop_fate, CAUSE_LAST),
    F(struct job, hung, FIELD_TEXT, 0),
    F(struct job, refused, FIELD_TEXT, 0),
    F_ENUM(struct job, refused_kind, CAUSE_LAST),
    F(struct job, debug_over, FIELD_BOOL, 0),
    F(struct job, held_at, FIELD_I64, 0),
    F(struct job, hold_over, FIELD_BOOL, 0),
    F_ENUM(struct job, outcome, OUTCOME_CANCELLED),
    F(struct job, exit_code, FIELD_INT, 0),
};
const struct fields snapshot_job = FIELDS(job_fields);

static const struct field proc_fields[] = {
    F_ENUM(struct proc, state, PROC_ENDED),         F(struct proc, started, FIELD_I64, 0),
    F(struct proc, stop_asked, FIELD_BOOL, 0),      F(struct proc, restarts, FIELD_U32, 0),
    F(struct proc, restarts_counted, FIELD_U32, 0), F(struct proc, restarts_free, FIELD_U32, 0),
    F(struct proc, restart_at, FIELD_I64, 0),
};
const struct fields snapshot_proc = FIELDS(proc_fields);

static const struct field rank_fields[] = {
    F_ENUM(struct rank, state, PROC_ENDED),     F(struct rank, replica, FIELD_U32, 0),
    F(struct rank, incarnations, FIELD_U32, 0), F(struct rank, forwarded, FIELD_BOOL, 0),
    F(struct rank, started, FIELD_I64, 0),      F(struct rank, stop_asked, FIELD_BOOL, 0),
    F(struct rank, log, FIELD_TEXT, 0),
};
const struct fields snapshot_rank = FIELDS(rank_fields);

static const struct field launch_fields[] = {
    F(struct launch, size, FIELD_U32, 0),     F(struct launch, first_failed, FIELD_INT, -1),
    F(struct launch, last_end, FIELD_I64, 0), F(struct launch, over, FIELD_I64, 0),
    F(struct launch, began, FIELD_I64, 0),    F(struct launch, program, FIELD_I64, 0),
    F(struct launch, code, FIELD_INT, 0),     F(struct launch, unwatched, FIELD_BOOL, 0),
};
const struct fields snapshot_launch = FIELDS(launch_fields);

static const struct field blame_fields[] = {
    F_ENUM(struct blame, kind, BLAME_LAST),
    F(struct blame, at, FIELD_I64, 0),
    F(struct blame, rank, FIELD_U32, 0),
    F(struct blame, replica, FIELD_U32, 0),
};
const struct fields snapshot_blame = FIELDS(blame_fields);

static const struct field sight_fields[] = {
    F(struct sight, lost, FIELD_BOOL, 0), F(struct sight, since, FIELD_I64, 0),
    F_ENUM(struct sight, removed, CAUSE_LAST), F(struct sight, removed_at, FIELD_I64, 0)};
const struct fields snapshot_sight = FIELDS(sight_fields);

static const struct field waiting_fields[] = {
    F(struct wait_reason, what, FIELD_TEXT, 0),
    F(struct wait_reason, needs, FIELD_I64, 0),
    F(struct wait_reason, free, FIELD_I64, 0),
    F(struct wait_reason, ahead, FIELD_U32, 0),
    F_ENUM(struct wait_reason, fate, CAUSE_LAST),
    {.key = "waits_since", .type = FIELD_I64, .at = offsetof(struct wait_reason, since)}};
const struct fields snapshot_waiting = FIELDS(waiting_fields);

/* --- saving ----------------------------------------------------------------------------------- */

static void begin_line(struct json *j, struct strbuf *out, const char *key, uint32_t number)
{
    *j = (struct json)JSON_COMPACT(out);
    json_object(j);
    json_kv_int(j, key, number);
}

static void end_line(struct json *j)
{
    json_end(j);
    strbuf_addch(j->out, '\n');
}

/* An ending that was ever set has its time. */
static void add_end(struct json *j, const struct ending *e)
{
    if (e->at)
        ending_write(j, "end", e);
}

static void save_procs(const struct job *job, struct strbuf *out)
{
    struct json j;

    for (uint32_t i = 0; i < job->plan->n_processes; i++) {
        const struct proc *p = &job->procs[i];

        if (p->state == PROC_PENDING && !p->end.at)
            continue;
        begin_line(&j, out, "process", i);
        fields_write(&j, &snapshot_proc, p);
        add_end(&j, &p->end);
        end_line(&j);
    }
}

static void save_replicas(const struct job *job, struct strbuf *out)
{
    struct json j;

    for (uint32_t i = 0; i < job->plan->n_replicas; i++) {
        enum gate_state gate = job->gated ? job->gates[i] : GATE_CLOSED;
        const struct wait_reason *w = job_waiting(job, i);

        if (gate == GATE_CLOSED && !job->sight[i].since && !job->sight[i].removed && !w &&
            !job_why(job, i))
            continue;
        begin_line(&j, out, "replica", i);
        json_kv_int(&j, "gate", gate);
        fields_write(&j, &snapshot_sight, &job->sight[i]);
        if (w)
            fields_write(&j, &snapshot_waiting, w);
        if (job_why(job, i))
            json_kv_str(&j, "why", job_why(job, i));
        end_line(&j);
    }
    for (uint32_t k = 0; k < job->plan->spec->n_roles; k++)
        if (job->role_killed[k]) {
            begin_line(&j, out, "role_killed", k);
            end_line(&j);
        }
}

static void save_launch(const struct launch *l, uint32_t number, struct strbuf *out)
{
    struct json j;

    begin_line(&j, out, "launch", number);
    fields_write(&j, &snapshot_launch, l);
    if (l->blame.kind != BLAME_NONE) {
        json_key(&j, "blame");
        json_object(&j);
        fields_write(&j, &snapshot_blame, &l->blame);
        ending_write(&j, "end", &l->blame.end);
        json_end(&j);
    }
    end_line(&j);
    for (uint32_t r = 0; r < l->size; r++) {
        if (l->ranks[r].state == PROC_PENDING)
            continue;
        begin_line(&j, out, "rank", r);
        fields_write(&j, &snapshot_rank, &l->ranks[r]);
        add_end(&j, &l->ranks[r].end);
        end_line(&j);
    }
}

static void save_one(const struct job *job, struct strbuf *out)
{
    const struct wait_reason *w = job_waiting(job, WAITING_JOB);
    struct json j;

    begin_line(&j, out, "snapshot", SNAPSHOT_VERSION);
    json_kv_int(&j, "past", job->n_past);
    fields_write(&j, &snapshot_job, job);
    if (job->phase == JOB_ENDED)
        cause_write(&j, "cause", &job->cause);
    if (w) {
        json_key(&j, "waiting");
        json_object(&j);
        fields_write(&j, &snapshot_waiting, w);
        json_end(&j);
    }
    end_line(&j);
    save_procs(job, out);
    save_replicas(job, out);
    for (uint32_t l = 0; l < job->n_launches; l++)
        save_launch(&job->launches[l], l, out);
}

void job_save(const struct job *job, struct strbuf *out)
{
    for (uint32_t i = 0; i < job->n_past; i++)
        save_one(&job->past[i], out);
    save_one(job, out);
}
