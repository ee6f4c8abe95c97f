/* hang.h - does a job still do anything? And if not: who waits for whom.
 *
 * A job hangs if for the whole time nothing was written to a log and no byte was read or written by
 * its processes, as /proc/PID/io and their TCP connections count them. CPU time does not count:
 * ranks that wait for each other spin. Bytes prove nothing either if meanwhile no main thread has
 * run at all and hardly any processor time went by: TensorFlow's runtime sends heartbeats for ever
 * while the script stands still. Two situations are looked at more closely, because there some
 * bytes prove nothing:
 *   - a launcher that had processes and has none left: its own bytes do not count;
 *   - ranks of which some have ended and others have not: only theirs count, not their daemons'.
 *
 * Before the core hears of it and stops anything, hang.txt and hang.json are in the run directory.
 *
 *     hang.c       the watch
 *     hang_words.c what it looks like, in words and in JSON
 *     hang_stopped.c who is stopped by a signal
 *     hang_places.c where they are: Python's frames (python.h), what a debugger says (stack.h)
 *     waits.c      who waits for whom
 */
#ifndef INSPECT_HANG_H
#define INSPECT_HANG_H

#include <uv.h>

#include "doc/json.h"
#include "inspect/snapshot.h"
#include "job/job.h"
#include "rundir/rundir.h"

struct hang;

struct hang_options {
    int64_t timeout_ms;
    int run_fd;               /* the run directory */
    pid_t (*root)(void *ctx); /* below it are the job's processes; 0: there are none now */
    void (*hung)(void *ctx, const struct observation *o); /* OBS_HUNG */
    void (*note)(void *ctx, const char *text);
    void *ctx;
};

/* Watches until it is freed. */
struct hang *hang_new(uv_loop_t *loop, const struct job *job, const struct hang_options *opts);
void hang_free(struct hang *h); /* NULL is fine; the loop must turn once more afterwards */

/* --- pure, for tests ----------------------------------------------------------------------------
 */

enum hang_kind { HANG_QUIET, HANG_LAUNCHER_ALONE, HANG_RANKS_LEFT };

/* had_processes: the launcher was not always alone. */
enum hang_kind hang_kind(const struct job *job, const struct snapshot *lk, bool had_processes);
/* The sums over the processes that count then. */
struct hang_life {
    uint64_t bytes, runs, cpu_ms;
};
struct hang_life hang_life(enum hang_kind kind, const struct snapshot *lk);
/* Has something happened between two looks that are so far from each other? */
bool hang_moved(struct hang_life before, struct hang_life now, int64_t ms);

struct hang_seen {
    const struct job *job;
    const struct snapshot *snapshot;
    enum hang_kind kind;
    int64_t timeout_ms;
    ns_t at;
    bool heartbeats; /* there were bytes, and they proved nothing */
};

/* One sentence: what is missing, who is stopped, who waits for whom as far as sockets tell, and who
 * is where. */
void hang_sentence(const struct hang_seen *seen, struct strbuf *out);
/* The same as lines, "\n" before each, for a terminal. */
void hang_table(const struct hang_seen *seen, struct strbuf *out);
void hang_text(const struct hang_seen *seen, const char *sentence, struct strbuf *out);
void hang_json(const struct hang_seen *seen, const char *sentence, struct json *j);

/* The library that a process waits in, by a debugger's text; NULL: it does not show. */
const char *hang_inside(struct arena *a, const char *stack);

/* "rank 3 on worker-1" */
void hang_add_name(const struct job *job, const struct snapshot_process *p, struct strbuf *out);
/* ": rank 2 on worker-1 is stopped (SIGSTOP); ...", or nothing; how many are (hang_stopped.c). */
size_t hang_add_stopped(const struct hang_seen *seen, struct strbuf *out);
/* "stopped (SIGSTOP)", of a process that is. */
void hang_add_stop(const struct snapshot_process *p, struct strbuf *out);
/* " is at train.py:40 in step (time.sleep(60))" */
void hang_add_place(const struct snapshot_process *p, struct strbuf *out);
/* The same of all that it is known of, with before in front of it. */
void hang_add_places(const struct hang_seen *seen, const char *before, struct strbuf *out);

#endif
