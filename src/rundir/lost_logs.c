/* lost_logs.c - see lost_logs.h. */
#include "rundir/lost_logs.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

#include "base/limits.h"

struct lost {
    int logs_fd;
    const struct log_gap *gaps;
    size_t n_gaps, n;
    struct strbuf *names;
};

/* A log that nothing was written to is made when its process ends: not if there is no room. */
static bool has_room(int logs_fd)
{
    struct statvfs st;

    return fstatvfs(logs_fd, &st) < 0 || ((st.f_favail > 0 || st.f_files == 0) && st.f_bavail > 0);
}

static void look_for(struct lost *l, const char *log)
{
    struct stat st;

    if (!log || !*log || fstatat(l->logs_fd, log, &st, AT_SYMLINK_NOFOLLOW) == 0 || errno != ENOENT)
        return;
    for (size_t i = 0; i < l->n_gaps; i++)
        if (strcmp(l->gaps[i].log, log) == 0)
            return;
    if (l->n++ < LIMIT_GAPS_NAMED)
        strbuf_addf(l->names, "%s%s", l->n > 1 ? ", " : "", log);
}

static bool has_ended(const struct ending *end)
{
    return end->at && end->known && !end->exec_errno && !end->fate;
}

void lost_logs(int logs_fd, const struct job *job, const struct log_gap *gaps, size_t n_gaps,
               struct strbuf *out)
{
    auto_strbuf struct strbuf names = STRBUF_INIT;
    struct lost l = {.logs_fd = logs_fd, .gaps = gaps, .n_gaps = n_gaps, .names = &names};
    const struct launch *launch = job_last_launch(job);
    char name[PLAN_LOG_NAME];

    if (!has_room(logs_fd))
        return;
    for (uint32_t i = 0; i < job->plan->n_processes; i++)
        if (job->procs[i].state == PROC_ENDED && has_ended(&job->procs[i].end) &&
            !*job->procs[i].end.init && !job_waits(job, i))
            look_for(&l, plan_log_name(&job->plan->processes[i], job_start(job, i), name));
    for (uint32_t i = 0; launch && i < launch->size; i++)
        if (launch->ranks[i].state == PROC_ENDED && has_ended(&launch->ranks[i].end))
            look_for(&l, launch->ranks[i].log);
    if (l.n == 0)
        return;
    strbuf_addf(out, "its log%s %s", l.n > 1 ? "s" : "", names.buf);
    if (l.n > LIMIT_GAPS_NAMED)
        strbuf_addf(out, " and %zu more", l.n - LIMIT_GAPS_NAMED);
    strbuf_addstr(out, l.n > 1 ? " were removed" : " was removed");
}
