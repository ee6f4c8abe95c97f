/* planner.h - what the daemon needs of the command line: a submission made into a plan.
 *
 * A job is submitted as the words that were typed, the directory and the environment they were
 * typed in, and the text of its job file. Planning is done when the job starts, because ports are
 * leased then, and once more by a daemon that takes over from one that was killed: with what the
 * first had chosen (`site`) the result must be the same. Options belong to the command line, so it
 * hands its planner to the daemon.
 */
#ifndef DAEMON_PLANNER_H
#define DAEMON_PLANNER_H

#include "base/inherited.h"
#include "engine/survey.h"
#include "job/job.h"
#include "rundir/rundir.h"

struct submission { /* in an arena, which must outlive the plan */
    char **argv;    /* argv[0] is the verb; NULL-terminated, its order may be changed */
    int argc;
    const char *cwd;
    char **env; /* NULL-terminated */
    bool by_http;
    const char *file; /* text of the job file; NULL: none, argv has a command */
    size_t file_len;
    const struct inherited *inherited; /* umask and limits; NULL: those of the daemon */

    /* Chosen by the first planning; isolation NULL: nothing yet. */
    const char *isolation;
    const int *ports;
    size_t n_ports;
    /* Of an array; array NULL: it is alone. */
    const char *array, *name; /* id of its first job; its own name */
    int64_t array_index, array_count;
    char **vars; /* "lr=0.1", NULL-terminated */

    /* Its code as it was; NULL: it runs in the directory itself. */
    const char *snapshot;  /* name in the daemon's store */
    const char *code_root; /* what it is a copy of: absolute */
    const char *code;      /* the working copy, which is there */

    int64_t max_duration_ms; /* of its queue; 0: none */
    const char *const *gpus; /* per replica: what it may see, "0,3"; NULL: as planned */
};

struct planned {
    const struct plan *plan;
    struct job_rules rules;
    struct survey survey;    /* holds ports */
    int64_t hang_timeout_ms; /* 0: none */
    enum cause_kind cause;   /* on failure: what kind of refusal it is */
    void *kept;              /* what the planner needs for as long as the plan lives; or NULL */
    void (*release)(void *kept);
};
void planned_release(struct planned *p);

/* anyhow: plans although something is missing, to report a job that was never started. *ret begins
 * with survey = SURVEY_INIT. It is called in the submission's directory, with its environment. */
typedef int planner_fn(struct arena *a, struct submission *sub, const struct rundir *rd,
                       bool anyhow, struct planned *ret, struct err *e);

/* Keeps in the run directory what was planned, for those who ask later: the plan, and the job file
 * as it was. What cannot be written is not there. */
typedef void recorder_fn(const struct planned *p, const struct submission *sub, int run_fd);

/* Reads the JSON of a request: {"job":{"argv","cwd","env","inherited","file",…},…}. -EINVAL: it is
 * not one. */
int submission_read(struct arena *a, const char *json, size_t len, struct submission *ret,
                    struct err *e);
/* What planning has chosen, as JSON, and back. */
void site_write(struct strbuf *out, const struct plan *plan, const char *const *gpus,
                const struct submission *sub);
int site_read(struct arena *a, const char *json, struct submission *ret, struct err *e);

/* Calls the planner in the submission's directory, with its environment. */
int submission_plan(planner_fn *plan, struct arena *a, struct submission *sub,
                    const struct rundir *rd, bool anyhow, struct planned *ret, struct err *e);

#endif
