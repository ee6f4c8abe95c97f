/* daemon.c - see daemon.h. */
#include "shim/daemon.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/io.h"
#include "base/limits.h"
#include "base/procs.h"
#include "shim/server.h"

/* --- looking at it ------------------------------------------------------------------------------
 */

struct look {
    char name[MPIRUN_NAME], state;
    pid_t parent;
    unsigned long long began;
    bool killed; /* SIGKILL is on its way */
    int status;  /* of a zombie, as wait(2) gives it */
};

enum { FIELD_BEGAN = 22, FIELD_PENDING = 31, FIELD_STATUS = 52 };

/* The n-th field; p is at the third. */
static unsigned long long read_field(const char *p, int n)
{
    for (int i = 3; p && i < n; i++) {
        p = strchr(p, ' ');
        p = p ? p + 1 : NULL;
    }
    return p ? strtoull(p, NULL, 10) : 0;
}

/* "PID (NAME) STATE PARENT …"; false if there is no such process. */
static bool look_at(pid_t pid, struct look *ret)
{
    auto_strbuf struct strbuf stat = STRBUF_INIT;
    const char *open, *close;
    char path[64];

    snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
    if (pid <= 1 || io_read_file(AT_FDCWD, path, 4096, &stat, NULL) < 0)
        return false;
    open = strchr(stat.buf, '(');
    close = strrchr(stat.buf, ')');
    if (!open || !close || strlen(close) < 5)
        return false;
    snprintf(ret->name, sizeof(ret->name), "%.*s", (int)(close - open - 1), open + 1);
    ret->state = close[2];
    ret->parent = (pid_t)strtol(close + 4, NULL, 10);
    ret->began = read_field(close + 2, FIELD_BEGAN);
    ret->killed = read_field(close + 2, FIELD_PENDING) & (1ULL << (SIGKILL - 1));
    ret->status = (int)read_field(close + 2, FIELD_STATUS);
    return true;
}

static bool is_mpirun(const char *name)
{
    static const char *const begins[] = {"mpirun", "mpiexec", "orterun", "prterun"};

    for (size_t i = 0; i < ARRAY_SIZE(begins); i++)
        if (strncmp(name, begins[i], strlen(begins[i])) == 0)
            return true;
    return false;
}

/* Who is to be killed runs no instruction of its own any more. */
static bool has_ended(const struct look *look)
{
    return look->state == 'Z' || look->state == 'X' || look->killed;
}

struct daemon daemon_of(pid_t pid)
{
    struct look look;

    if (!look_at(pid, &look))
        return (struct daemon){0};
    return (struct daemon){.pid = pid,
                           .keeper = look.parent > 1 ? look.parent : 0,
                           .is_mpirun = is_mpirun(look.name),
                           .is_orted =
                               strcmp(look.name, "orted") == 0 || strcmp(look.name, "prted") == 0};
}

bool pid_is_dead(pid_t pid)
{
    struct look look;

    return !look_at(pid, &look) || has_ended(&look);
}

bool daemon_is_dead(const struct daemon *d)
{
    return d->pid && pid_is_dead(d->pid);
}

/* A shell ends with 128 and the signal that its command got. */
static bool ended_by_signal(const struct look *look)
{
    return look->killed ||
           (look->state == 'Z' && (WIFSIGNALED(look->status) || WEXITSTATUS(look->status) > 128));
}

bool daemon_was_killed(const struct daemon *d)
{
    struct look look;

    return d->pid && (look_at(d->pid, &look) || look_at(d->keeper, &look)) &&
           ended_by_signal(&look);
}

pid_t mpirun_stand_in(pid_t mpirun)
{
    struct look look, parent;

    if (!look_at(mpirun, &look) || !look_at(look.parent, &parent) || !is_mpirun(parent.name))
        return 0;
    return look.parent;
}

/* The kernel counts ticks since boot: the end of its tick. */
ns_t mpirun_began(pid_t mpirun)
{
    long hz = sysconf(_SC_CLK_TCK);
    struct look look;

    if (hz <= 0 || !look_at(mpirun, &look))
        return 0;
    ns_t tick = NS_PER_S / hz;
    ns_t age = clock_boot() - ((ns_t)look.began + 1) * tick;
    return clock_run() - (age > 0 ? age : 0);
}

pid_t daemon_mpirun(const struct shim *s, pid_t pid)
{
    struct look look;

    for (int i = 0; i < LIMIT_ANCESTORS && pid != s->pid && look_at(pid, &look); i++) {
        pid_t agent = command_agent(s, pid);

        if (is_mpirun(look.name))
            return pid;
        pid = agent ? agent : look.parent;
    }
    return 0;
}

pid_t mpirun_above(pid_t pid)
{
    struct look look;

    for (int i = 0; i < LIMIT_ANCESTORS && look_at(pid, &look); i++, pid = look.parent)
        if (is_mpirun(look.name))
            return pid;
    return 0;
}

enum { HOST_BYTES = 65 }; /* Linux has no longer names */

/* A process id comes again, with another time. */
void mpirun_origin(pid_t pid, char text[LIMIT_LAUNCH_ID + 1])
{
    char host[HOST_BYTES] = "";
    pid_t mpirun = mpirun_above(pid);
    struct look look;

    text[0] = '\0';
    if (!mpirun || !look_at(mpirun, &look) || gethostname(host, sizeof(host) - 1) < 0)
        return;
    snprintf(text, LIMIT_LAUNCH_ID + 1, "%s/%d/%llu", host, (int)mpirun, look.began);
}

struct search {
    const struct shim *s;
    const struct replica *replica;
    char *name;
};

static void take_mpirun(pid_t pid, void *ctx)
{
    const struct search *f = ctx;
    struct look look;

    if (!*f->name && look_at(pid, &look) && is_mpirun(look.name) && !has_ended(&look) &&
        replica_of_pid(f->s, pid) == f->replica)
        snprintf(f->name, MPIRUN_NAME, "%s", look.name);
}

const char *mpirun_left(const struct shim *s, const struct replica *r, char name[MPIRUN_NAME])
{
    *name = '\0';
    procs_each(take_mpirun, &(struct search){s, r, name});
    return name;
}

/* --- telling ------------------------------------------------------------------------------------
 */

void launch_put(struct strbuf *out, const struct launch_name *name)
{
    wire_put_u32(out, name->number);
    wire_put_str(out, name->origin);
    wire_put_str(out, name->id);
}

void launch_put_end(struct strbuf *out, const struct stand_in *of, int status)
{
    wire_put_u32(out, of != NULL);
    wire_put_u32(out, (uint32_t)status);
    wire_put_i64(out, of ? of->began : 0);
    wire_put_i64(out, of ? of->program : 0);
    wire_put_u32(out, of && !of->observed);
}

static void tell(struct shim *s, const struct loss *loss, const struct launch_name *launch,
                 int status)
{
    struct strbuf *out = &s->link.out;
    size_t frame = report_begin(s, WIRE_LAUNCH_BLAMED);

    launch_put(out, launch);
    wire_put_u32(out, loss->why);
    wire_put_u32(out, loss->replica);
    wire_put_u32(out, status != 0);
    wire_put_u32(out, (uint32_t)status);
    wire_put_i64(out, loss->at);
    report_end(s, frame);
}

void daemon_lost(struct shim *s, struct loss *loss, const struct daemon *d, const struct replica *r,
                 const struct launch_name *launch, ns_t at)
{
    bool cut = command_was_cut(s, d->pid) || command_was_cut(s, d->keeper);

    if (loss->told)
        return;
    *loss = (struct loss){.told = true,
                          .pid = d->pid,
                          .keeper = d->keeper,
                          .why = d->is_mpirun ? LAUNCH_SIGNAL
                                 : cut        ? LAUNCH_AGENT
                                              : LAUNCH_DAEMON,
                          .replica = r->id,
                          .at = at};
    tell(s, loss, launch, d->is_mpirun ? SIGKILL : 0); /* anything else it lives to pass on */
}

/* A shell ends with 128 and the signal that its command got. */
void daemon_ended(struct shim *s, struct loss *loss, const struct launch_name *launch, pid_t pid,
                  int status)
{
    int sig = WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status) - 128;

    bool by_signal = sig > 0 && sig < NSIG;

    if ((loss->pid != pid && loss->keeper != pid) || (!by_signal && WEXITSTATUS(status) == 0))
        return;
    loss->pid = loss->keeper = 0;
    tell(s, loss, launch, by_signal ? sig : status);
}

void launch_signalled(struct shim *s, struct loss *loss, const struct launch_name *launch, int sig,
                      ns_t at)
{
    if (loss->told)
        return;
    *loss = (struct loss){.told = true, .why = LAUNCH_SIGNAL, .at = at};
    tell(s, loss, launch, sig);
}
