/* aborts.c - see aborts.h.
 *
 *     MPI_ABORT was invoked on rank 3 in communicator MPI_COMM_WORLD     Open MPI, from mpirun
 *     with errorcode 256.
 *     Abort(256) on node 3 (rank 3 in comm 0): application called        MPICH, in the rank's own
 *       MPI_Abort(MPI_COMM_WORLD, 256) - process 3
 *     Abort(805980678) on node 2 (rank 2 in comm 0): Fatal error in      MPICH's error handler
 *       internal_Send: Invalid rank, error stack:
 *     The user-provided time limit for job execution has been reached    mpirun --timeout
 *     APPLICATION TIMED OUT, TIMEOUT = 3s                                MPIEXEC_TIMEOUT of Hydra
 */
#include "foreground/aborts.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/io.h"
#include "base/limits.h"

struct abort {
    enum blame_kind kind;
    long rank, code;
};

/* The number that follows the words, which are replaced by what follows it. */
static bool number_after(const char **text, const char *words, long *ret)
{
    const char *at = strstr(*text, words);
    char *end;

    if (!at)
        return false;
    *ret = strtol(at + strlen(words), &end, 10);
    if (end == at + strlen(words))
        return false;
    *text = end;
    return true;
}

static bool of_open_mpi(const char *text, struct abort *ret)
{
    return number_after(&text, "MPI_ABORT was invoked on rank ", &ret->rank) &&
           number_after(&text, "with errorcode ", &ret->code);
}

static bool of_mpich(const char *text, struct abort *ret)
{
    const char *call = strstr(text, "application called MPI_Abort(");

    return call && number_after(&call, ", ", &ret->code) &&
           number_after(&call, ") - process ", &ret->rank);
}

/* The number after "node" is the rank in MPI_COMM_WORLD, whatever the communicator is. */
static bool of_mpich_error(const char *text, struct abort *ret)
{
    const char *line = strstr(text, "Abort(");

    ret->kind = BLAME_ERROR;
    return line && number_after(&line, "Abort(", &ret->code) &&
           strncmp(line, ") on node ", strlen(") on node ")) == 0 &&
           number_after(&line, ") on node ", &ret->rank) &&
           strncmp(line, " (rank ", strlen(" (rank ")) == 0 && strstr(line, "): Fatal error in ");
}

/* It kills its rsh agents then, which looks as if somebody else did. */
static bool of_time_limit(const char *text, struct abort *ret)
{
    *ret = (struct abort){.kind = BLAME_TIMEOUT};
    return strstr(text, "time limit for job execution has been reached") ||
           strstr(text, "APPLICATION TIMED OUT, TIMEOUT = ");
}

static bool look_in(int logs_fd, const char *name, off_t from, struct abort *ret)
{
    char text[LIMIT_TAIL_BYTES + 1];
    struct stat st;
    auto_close int fd = name ? io_open_regular(logs_fd, name, O_RDONLY, 0) : -1;
    ssize_t n;

    if (fd < 0 || fstat(fd, &st) < 0)
        return false;
    if (st.st_size - from > LIMIT_TAIL_BYTES)
        from = st.st_size - LIMIT_TAIL_BYTES;
    n = pread(fd, text, LIMIT_TAIL_BYTES, from);
    text[n > 0 ? n : 0] = '\0';
    *ret = (struct abort){.kind = BLAME_ABORT};
    return of_open_mpi(text, ret) || of_mpich(text, ret) || of_mpich_error(text, ret) ||
           of_time_limit(text, ret);
}

/* Several ranks may have got an error: the others' follow from the first one. */
static bool look_in_ranks(int logs_fd, const struct launch *l, struct abort *ret)
{
    ns_t first = 0;

    for (uint32_t i = 0; i < l->size && i < LIMIT_OTHER_LOGS; i++) {
        struct abort found;

        if (!look_in(logs_fd, l->ranks[i].log, 0, &found) || (first && l->ranks[i].end.at >= first))
            continue;
        first = l->ranks[i].end.at;
        *ret = found;
    }
    return first > 0;
}

static const char *launcher_log(const struct job *job, char name[PLAN_LOG_NAME])
{
    uint32_t launcher = (uint32_t)job->plan->launcher;

    return plan_log_name(&job->plan->processes[launcher], job_start(job, launcher), name);
}

void aborts_follow(struct aborts *a, const struct job *job, const struct event *ev, int logs_fd)
{
    char name[PLAN_LOG_NAME];
    struct stat st;

    if (job->plan->launcher < 0 || (a->attempt == job->attempt && a->launch >= ev->launch))
        return;
    *a = (struct aborts){.attempt = job->attempt, .launch = ev->launch};
    if (fstatat(logs_fd, launcher_log(job, name), &st, 0) == 0)
        a->from = st.st_size;
}

static bool is_over(const struct job *job, const struct launch *l)
{
    if (!l || l->first_failed >= 0 || job->procs[job->plan->launcher].state != PROC_ENDED ||
        job->phase == JOB_ENDED)
        return false;
    for (uint32_t i = 0; i < l->size; i++)
        if (l->ranks[i].state == PROC_RUNNING)
            return false;
    return true;
}

/* When it was called at the latest: before mpirun told anybody to end. */
static ns_t time_of(const struct job *job, const struct launch *l, uint32_t rank)
{
    ns_t at = l->ranks[rank].end.at, launcher = job->procs[job->plan->launcher].end.at;

    for (uint32_t i = 0; i < l->size; i++)
        if (l->ranks[i].end.told && l->ranks[i].end.told < at)
            at = l->ranks[i].end.told;
    return at < launcher ? at : launcher;
}

bool aborts_find(struct aborts *a, const struct job *job, int logs_fd, struct observation *ret)
{
    const struct launch *l = job->plan->launcher >= 0 ? job_last_launch(job) : NULL;
    char name[PLAN_LOG_NAME];
    struct abort found;

    if (a->looked || !is_over(job, l))
        return false;
    a->looked = true;
    bool seen = look_in(logs_fd, launcher_log(job, name), a->from, &found) ||
                look_in_ranks(logs_fd, l, &found);
    if (!seen || found.rank < 0 || found.rank >= (long)l->size ||
        l->ranks[found.rank].state != PROC_ENDED)
        return false;
    *ret = (struct observation){.kind = OBS_BLAMED,
                                .at = time_of(job, l, (uint32_t)found.rank),
                                .launch = job->n_launches,
                                .rank = (uint32_t)found.rank,
                                .blame = found.kind,
                                .end = {.known = true, .code = (int)found.code, .max_rss = -1}};
    return true;
}
