/* early.c - see early.h. */
#include "job/early.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/num.h"
#include "job/hint.h"
#include "job/verdict.h"

enum { NAMED = 4 }; /* so many replicas are named one by one */

/* A socket is closed before its process has ended: a survivor that is quick may end before the one
 * that left. */
#define CLOSE_NS (50 * NS_PER_MS)

/* One that has closed its connections may still be cleaning up when the others are stopped. */
#define LEAVING_NS (500 * NS_PER_MS)

/* --- one member of the cause's world ------------------------------------------------------------
 */

struct member {
    bool is_of_world;
    int32_t rank; /* -1: none */
    uint32_t replica;
    enum proc_state state;
    ns_t started;
    const struct ending *end;
    bool stop_asked;
    bool put_off; /* it had ended before the stop, and was to be started again */
};

static uint32_t count_members(const struct job *job)
{
    int32_t launch = job->cause.launch;

    return launch >= 0 ? job->launches[launch].size : job->plan->n_processes;
}

/* Frameworks connect every process of a job. Without one, only ranks and the replicas of one role
 * are taken to belong together: a role that prepares something is expected to end first. */
static bool same_world(const struct job *job, const struct process *p)
{
    const struct process *failed = &job->plan->processes[job->cause.process];
    enum framework framework = job->plan->spec->framework;

    if (failed->rank >= 0 || p->rank >= 0)
        return failed->rank >= 0 && p->rank >= 0;
    if (framework == FRAMEWORK_PYTORCH || framework == FRAMEWORK_TENSORFLOW)
        return true;
    return job->plan->replicas[p->replica].role == job->plan->replicas[failed->replica].role;
}

static struct member member_at(const struct job *job, uint32_t i)
{
    if (job->cause.launch >= 0) {
        const struct rank *r = &job->launches[job->cause.launch].ranks[i];

        return (struct member){true,       (int32_t)i, r->replica,    r->state,
                               r->started, &r->end,    r->stop_asked, false};
    }
    const struct process *p = &job->plan->processes[i];
    const struct proc *proc = &job->procs[i];
    return (struct member){same_world(job, p) && !job_waits(job, i),
                           p->rank,
                           p->replica,
                           proc->state,
                           proc->started,
                           &proc->end,
                           proc->stop_asked,
                           proc->restart_at && proc->restart_at >= proc->end.at};
}

/* A launcher that left its ranks behind and a rank that left before MPI_Finalize are causes that
 * ended with 0. */
static bool is_cause(const struct job *job, uint32_t i)
{
    return (int32_t)i == (job->cause.launch >= 0 ? job->cause.rank : job->cause.process);
}

static bool left_early(const struct job *job, uint32_t i, const struct member *m)
{
    return !is_cause(job, i) && m->is_of_world && m->state == PROC_ENDED && !m->stop_asked &&
           ending_ok(m->end) && m->end->at < job->cause.end.at + CLOSE_NS;
}

/* SIGTERM was on its way, and it ended with 0 all the same. */
static bool was_leaving(const struct job *job, uint32_t i, const struct member *m)
{
    return !is_cause(job, i) && m->is_of_world && m->state == PROC_ENDED && m->stop_asked &&
           !m->put_off && ending_ok(m->end) && m->end->at < job->stop_at + LEAVING_NS;
}

static bool was_running(const struct member *m, ns_t at)
{
    return m->is_of_world && m->started && m->started <= at &&
           (m->state != PROC_ENDED || m->end->at > at);
}

/* --- finding ------------------------------------------------------------------------------------
 */

static void add_first(const struct job *job, const struct early *early, struct strbuf *out)
{
    struct member m = member_at(job, early->first);

    if (m.rank >= 0)
        strbuf_addf(out, "rank %d on ", m.rank);
    strbuf_addstr(out, job->plan->replicas[m.replica].name);
}

static void add_who(const struct job *job, const struct early *early, struct strbuf *out)
{
    add_first(job, early, out);
    if (early->n > 1)
        strbuf_addf(out, " and %u more", early->n - 1);
}

static bool is_its_own(const struct job *job, const struct early *early, const char *other)
{
    auto_strbuf struct strbuf who = STRBUF_INIT;

    add_first(job, early, &who);
    return strncmp(other, who.buf, who.len) == 0;
}

/* Whoever ends with 0 although it was stopped was leaving by itself. Several of them rather trap
 * SIGTERM. */
static struct early find_leaving(const struct job *job)
{
    struct early found = {.leaving = true};

    for (uint32_t i = 0; i < count_members(job); i++) {
        struct member m = member_at(job, i);

        if (!was_leaving(job, i, &m))
            continue;
        found.first = i;
        found.n++;
    }
    found.found = found.n == 1;
    return found.found ? found : (struct early){0};
}

/* "rank 3", "rank3", "peer 3"; -1: of any rank */
static bool names_rank(const char *line, int32_t rank)
{
    static const char *const words[] = {"rank ", "rank", "peer "};

    for (size_t i = 0; i < ARRAY_SIZE(words); i++)
        for (const char *p = strcasestr(line, words[i]); p; p = strcasestr(p + 1, words[i])) {
            char *end;
            const char *number = p + strlen(words[i]);

            if (isdigit((unsigned char)*number) && (rank < 0 || strtol(number, &end, 10) == rank))
                return true;
        }
    return false;
}

static bool has_word(const char *line, const char *word)
{
    size_t n = word ? strlen(word) : 0;

    for (const char *p = n ? strstr(line, word) : NULL; p; p = strstr(p + 1, word))
        if ((p == line || !isalnum((unsigned char)p[-1])) && !isalnum((unsigned char)p[n]))
            return true;
    return false;
}

/* Is the lost peer certainly a rank of this job? */
static bool is_of_job(const struct job *job, const struct early *early, const char *line)
{
    struct member first = member_at(job, early->first);

    if (hint_is_of_framework(line) || (first.rank >= 0 && names_rank(line, first.rank)))
        return true;
    for (uint32_t i = 0; i < job->plan->n_replicas; i++) {
        const struct replica *r = &job->plan->replicas[i];
        bool other = (int32_t)i != job->cause.replica; /* a log's prefix may name its own host */

        if (has_word(line, r->address) ||
            (other && (has_word(line, r->name) || has_word(line, r->host))))
            return true;
    }
    return false;
}

/* "10.1.2.3", not as a part of a longer number or version. */
static bool has_address(const char *line)
{
    for (const char *p = line; *p; p += strcspn(p, " \t")) {
        char text[INET_ADDRSTRLEN];
        struct in_addr ip;

        p += strspn(p, " \t([{<'\"=/@");
        size_t n = strspn(p, "0123456789.");
        if (n == 0 || n >= sizeof(text))
            continue;
        memcpy(text, p, n);
        text[n - (p[n - 1] == '.')] = '\0'; /* the end of a sentence */
        if (inet_pton(AF_INET, text, &ip) == 1)
            return true;
    }
    return false;
}

/* "redis.exceptions.ConnectionError: …": an exception of a library, not one of Python's own. */
static bool is_of_library(const char *line)
{
    size_t n = strspn(line, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.");

    return n > 0 && line[n] == ':' && memchr(line, '.', n);
}

/* Is it about somebody else, a database or another rank? A plain "Connection reset by peer" may be
 * about either: who left is told first then, because that was first. */
static bool is_of_other(const char *line)
{
    return has_address(line) || is_of_library(line) || names_rank(line, -1);
}

struct early early_find(const struct job *job, const char *const *tail, const char *other)
{
    const struct cause *c = &job->cause;
    struct early found = {0};

    if ((c->kind != CAUSE_EXIT && c->kind != CAUSE_SIGNAL) || *c->end.init ||
        (c->launch < 0 && c->process < 0))
        return found;
    for (uint32_t i = 0; i < count_members(job); i++) {
        struct member m = member_at(job, i);

        if (!left_early(job, i, &m))
            continue;
        if (!found.found || m.end->at < member_at(job, found.first).end->at)
            found.first = i;
        found.found = true;
        found.n++;
    }
    if (!found.found)
        found = find_leaving(job);
    bool explained = found.found && other && *other && !is_its_own(job, &found, other);
    if (found.found && !explained)
        found.says = hint_lost_peer(tail);
    if (found.found && !explained && !found.says && c->end.signal == SIGPIPE)
        found.says = "";
    found.explains = found.says && (is_of_job(job, &found, found.says) || !is_of_other(found.says));
    return found.leaving && !found.says ? (struct early){0} : found;
}

const struct ending *early_ending(const struct job *job, const struct early *early)
{
    return member_at(job, early->first).end;
}

uint32_t early_replica(const struct job *job, const struct early *early)
{
    return member_at(job, early->first).replica;
}

int32_t early_rank(const struct job *job, const struct early *early)
{
    return member_at(job, early->first).rank;
}

/* --- words --------------------------------------------------------------------------------------
 */

/* Did it run on when the first had left? */
static bool runs_on(const struct job *job, const struct early *early, uint32_t i)
{
    struct member m = i < count_members(job) ? member_at(job, i) : (struct member){0};
    ns_t at = early_ending(job, early)->at, failed = job->cause.end.at;

    return i != early->first && was_running(&m, at < failed ? at : failed - 1);
}

/* "ranks 0 to 2 and 5" */
static uint32_t add_ranks(const struct job *job, const struct early *early, struct strbuf *out)
{
    uint32_t n = 0;

    for (uint32_t i = 0; i < count_members(job); i++) {
        uint32_t last = i;

        if (!runs_on(job, early, i))
            continue;
        while (runs_on(job, early, last + 1))
            last++;
        verdict_add_ranks(out, n == 0, (uint32_t)member_at(job, i).rank,
                          (uint32_t)member_at(job, last).rank);
        n += last - i + 1;
        i = last;
    }
    verdict_end_ranks(out);
    return n;
}

/* "worker-0, worker-1 and 3 more" */
static uint32_t add_replicas(const struct job *job, const struct early *early, struct strbuf *out)
{
    uint32_t n = 0;

    for (uint32_t i = 0; i < count_members(job); i++)
        if (runs_on(job, early, i) && n++ < NAMED)
            strbuf_addf(out, "%s%s", n > 1 ? ", " : "",
                        job->plan->replicas[member_at(job, i).replica].name);
    if (n > NAMED)
        strbuf_addf(out, " and %u more", n - NAMED);
    return n;
}

void early_before(const struct job *job, const struct early *early, struct strbuf *out)
{
    auto_strbuf struct strbuf others = STRBUF_INIT;
    char text[DURATION_TEXT];

    if (!early->found || !early->explains)
        return;
    ns_t at = early_ending(job, early)->at;
    bool ranks = early_rank(job, early) >= 0;
    uint32_t n = ranks ? add_ranks(job, early, &others) : add_replicas(job, early, &others);
    add_who(job, early, out);
    if (early->leaving)
        strbuf_addstr(out, " was ending with status 0");
    else
        strbuf_addf(out, " ended with status 0 after %s",
                    duration_text((at - job->created) / NS_PER_MS, text));
    if (n > 0) /* else the others were started later, or again */
        strbuf_addf(out, " while %s%s %s still running",
                    !ranks   ? ""
                    : n == 1 ? "rank "
                             : "ranks ",
                    others.buf, n == 1 ? "was" : "were");
}

/* "[rank2]: RuntimeError: … Connection closed by peer [127.0.0.1]:45281. This is typically …" */
void early_says(const struct early *early, struct strbuf *out)
{
    const char *line = early->found && early->says ? early->says : "";
    const char *prefix = strncmp(line, "[rank", 5) == 0 ? strstr(line, "]: ") : NULL;

    line = prefix ? prefix + 3 : line;
    const char *end = strstr(line, ". ");
    strbuf_add(out, line, end ? (size_t)(end - line) : strlen(line));
}

void early_aside(const struct job *job, const struct early *early, struct strbuf *out)
{
    char text[DURATION_TEXT];

    if (!early->found || early->explains || (early_rank(job, early) < 0 && !early->says))
        return;
    add_who(job, early, out);
    if (early->leaving)
        strbuf_addstr(out, " was ending with status 0 at that time");
    else
        strbuf_addf(out, " had already ended with status 0 after %s",
                    duration_text((early_ending(job, early)->at - job->created) / NS_PER_MS, text));
}
