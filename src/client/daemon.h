/* daemon.h - asking the user's daemon: the same form as on a run's control socket (protocol.h), on
 * SCRATCH/daemon/control.sock.
 *
 *     {"version":1,"request":"submit","name","dialect","queue"|null,"target"|null (a queue, if
 *      there is one of that name, and `queue` is null),"priority","count",
 *      "matrix":[{"name","values":["…"]}] (a job for each combination),
 *      "unique":bool (no other job that has not ended has this name),"replace":bool,
 *      "after":["ID" or "ID:any"],"job":{"argv","cwd","env","inherited":{"umask","limits":[[soft,
 *      hard]…, in the order of getrlimit(), -1: none]},"file","needs","max_duration_ms"}}
 *                                        the body has their ids, each a line; they are in
 *                                        the database by then
 *     {…,"request":"list"}               the body has all jobs, each a line of JSON
 *     {…,"request":"job","id"}           {…,"job":{…}}: one of them
 *     {…,"request":"wait","id"}          the same, when it has ended
 *     {…,"request":"cancel","id"}, "kill", "pause", "resume"   the same
 *     {…,"request":"cancel","array":"ID"}, "kill", "pause", "resume"   the body has the ids of
 *                                        the jobs of the array that it changed, each a line
 *     {…,"request":"forget","id"}        {…}: a job that has ended is not listed any more
 *     {…,"request":"open","job"?}        {…,"url"}: the page, with a key that can be used once
 *
 * A job: {"id","name","dialect","phase" ("waiting", "paused", "running", "ending", "ended"),
 * "outcome","exit_code","queue","priority","submitted","started","ended" (ns, 0: not yet),
 * "waiting"}; one of an array also {"array" (id of its first job),"array_index",
 * "matrix":"lr=0.1 seed=1"}.
 * Jobs that run have a control socket of their own, as foreground runs do.
 */
#ifndef CLIENT_DAEMON_H
#define CLIENT_DAEMON_H

#include "base/strvec.h"
#include "client/ask.h"
#include "doc/json.h"

/* Where its socket is, as a heap string. */
char *daemon_socket_dir(void);
/* Where snapshots of code are, as a heap string; NULL: nothing says where. */
char *daemon_code_dir(void);

/* One question. -ENOENT, -ECONNREFUSED: there is no daemon; e says how to start one. limit_ms 0:
 * waits for the answer as long as it takes. */
int daemon_ask(struct arena *a, const struct strbuf *request, int limit_ms, struct answer *ret,
               struct err *e);

/* The same about one job; ret_job may be NULL, *ret_job lives in the arena. */
int daemon_ask_job(struct arena *a, const char *request, const char *id, int limit_ms,
                   const struct node **ret_job, struct err *e);

/* Asks for a change of all jobs of an array, by the id of one of them; ids: those that changed. */
int daemon_ask_array(struct arena *a, const char *request, const char *id, struct strvec *ids,
                     struct err *e);

/* All of its jobs, in the order of submission, in the arena. -errno: there is no daemon, or it does
 * not answer. */
int daemon_jobs(struct arena *a, struct answer_lines *ret, struct err *e);

/* What a daemon that ends leaves beside its database: how many jobs wait in it, as text. It is not
 * there while one runs, nor after one that was killed. */
#define DAEMON_WAITING "waiting"
#define DAEMON_DATABASE "jobs.db"

/* daemon_jobs() has failed with r and e: are there jobs that only a daemon can list? Then why they
 * are missing, in the arena; NULL: there are none. */
const char *daemon_unlisted(struct arena *a, int r, const struct err *e);

/* Starts program ("muster-serve") as a daemon of this user in a session of its own and waits until
 * it answers; where there is a system daemon, that starts it. What it says goes to a log file
 * beside its database. */
int daemon_start(const char *program, struct err *e);

/* The last line of the log of this user's daemon, or nothing if it was not written since then. */
void daemon_last_words(time_t since, struct strbuf *out);

/* In a child that is to become a daemon: leaves session, directory and descriptors of whoever
 * forked it, appends what it says to the file log, and executes program. Returns on failure, with
 * errno. */
void daemon_become(const char *program, char *const *argv, const char *log);

#endif
