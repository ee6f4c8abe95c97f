/* submit_daemon.h - `muster submit` for this machine: a job handed to the user's daemon.
 *
 * The same words are read twice: by the client, which checks the job and sends it, and by the
 * daemon, which plans it when it starts (submit_plan.c).
 */
#ifndef CLI_SUBMIT_DAEMON_H
#define CLI_SUBMIT_DAEMON_H

#include "cli/job_options.h"
#include "cli/run_command.h"
#include "daemon/planner.h"

struct submit_code;

struct submit_options {
    struct command_options command;
    int64_t grace_ms, start_timeout_ms, recovery_timeout_ms,
        hang_timeout_ms; /* grace -1: not given */
    const char *isolate, *on;
    bool trust_launcher, hold;

    int64_t count, priority, max_duration_ms; /* priority -1: not given */
    const char *queue;
    struct strvec after;
    struct strvec matrix;
    bool array_id, in_place, snapshot;
    bool replace, no_autostart, quiet;
    bool wait;    /* in a cluster */
    bool by_http; /* no option: it came so (serve_work.c) */

    struct job_options job;
};
#define SUBMIT_OPTIONS_INIT                                                                        \
    {                                                                                              \
        .grace_ms = -1, .start_timeout_ms = 600000, .recovery_timeout_ms = 60000,                  \
        .isolate = "auto", .count = 1, .priority = -1, .after = STRVEC_INIT,                       \
        .matrix = STRVEC_INIT, .job = JOB_OPTIONS_INIT                                             \
    }
void submit_options_release(struct submit_options *o);

extern const struct opt submit_opts[];
extern const struct opt_part submit_parts[];

/* What a job was made of by the words. */
struct submitted {
    struct job_file jf;          /* empty without a file */
    const struct job_spec *spec; /* adjusted; in the arena */
    struct changes changes;
};
void submitted_release(struct submitted *s);

/* Reads the job that the words describe; kept: its file's text as it was, or NULL. 0, or the exit
 * code after telling the user. */
int submit_read(const struct verb *verb, struct arena *a, struct submit_options *o,
                const struct operands *ops, const char *kept, size_t kept_len,
                struct submitted *ret);

/* words: the command line as it was, which the daemon reads again. Returns the exit code, after
 * telling why. */
int submit_to_daemon(const struct verb *verb, const struct strvec *words, struct submit_options *o,
                     const struct operands *ops);

/* Its parts: what is checked before a file is read (0 or the exit code), and the request. */
int submit_check_options(const struct verb *verb, const struct submit_options *o);
struct submit_code;
void submit_put_request(struct strbuf *out, const struct submit_options *o,
                        const struct submitted *s, const struct strvec *words, const char *cwd,
                        const struct submit_code *code);

/* For the daemon. */
int submit_plan(struct arena *a, struct submission *sub, const struct rundir *rd, bool anyhow,
                struct planned *ret, struct err *e);
void submit_record(const struct planned *p, const struct submission *sub, int run_fd);

#endif
