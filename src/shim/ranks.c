/* ranks.c - MPI ranks, as their wrappers report them: who started, where, and how each one ended.
 *
 * Ranks belong to a launch: one call of mpirun. A launcher's script may have many of them, one
 * after the other or at once; their wrappers name theirs by a text that mpirun chose. The text may
 * come again (Hydra's is a port number): a rank that has been seen starts a new launch if all of
 * the old one are gone.
 *
 * A wrapper that is killed cannot report. Its rank dies with it and, having lost its parent,
 * becomes our child: then we see ourselves how it ended. Only if the wrapper had reaped it already
 * is the end unknown.
 */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/kernel.h"
#include "base/mem.h"
#include "shim/daemon.h"
#include "shim/group.h"
#include "shim/server.h"

struct launch {
    struct watch watch; /* of its mpirun */
    struct launch *older;
    struct launch_name name; /* number from 1; origin and id in text */
    uint32_t size, n_live;
    ns_t last_end;
    struct loss loss;
    int mpirun_fd;  /* its pidfd; -1: it has ended, or was not found */
    pid_t stand_in; /* of mpirun (mpirun.c); 0 = it has none */
    ns_t began;     /* of mpirun; 0 = unknown */
    int64_t program;
    bool over; /* muster knows that it has ended */
    struct taken *taken;
    unsigned char *seen; /* a bit per rank */
    char text[];
};

struct rank {
    struct child child;    /* first; our child only if its wrapper dies before it reaps it */
    struct client *client; /* its wrapper; NULL: gone */
    struct rank *prev, *next;
    struct launch *launch;
    uint32_t number;
    int pid_fd; /* -1 until it runs */
    struct daemon daemon;
    ns_t told; /* when that signalled it to end; 0 = it did not */
    ns_t started;
    bool forwarded;
    struct unlogged unlogged;
    char log[LIMIT_NAME + 64];
};

/* --- launches --------------------------------------------------------------------------------- */

static bool mark_seen(struct launch *l, uint32_t rank)
{
    bool seen = l->seen[rank / 8] & (1U << rank % 8);

    l->seen[rank / 8] |= (unsigned char)(1U << rank % 8);
    return seen;
}

static struct launch *launch_new(struct shim *s, const char *id, const char *origin, uint32_t size)
{
    size_t len = strlen(id) + 1, more = strlen(origin) + 1;
    struct launch *l = xcalloc(1, sizeof(*l) + len + more);

    memcpy(l->text, id, len);
    memcpy(l->text + len, origin, more);
    l->size = size;
    l->mpirun_fd = -1;
    l->seen = xcalloc(size / 8 + 1, 1);
    l->name =
        (struct launch_name){.number = s->newest_launch ? s->newest_launch->name.number + 1 : 1,
                             .id = l->text,
                             .origin = l->text + len};
    l->older = s->newest_launch;
    s->newest_launch = l;
    return l;
}

/* An origin that could not be found out does not tell two launches apart. */
static bool is_launch(const struct launch *l, const char *id, const char *origin)
{
    return strcmp(l->name.id, id) == 0 &&
           (!*origin || !*l->name.origin || strcmp(l->name.origin, origin) == 0);
}

static struct launch *launch_of(struct shim *s, const char *id, const char *origin, uint32_t size,
                                uint32_t rank)
{
    struct launch *l = s->newest_launch;

    while (l && !is_launch(l, id, origin))
        l = l->older;
    if (!l || l->size != size || (mark_seen(l, rank) && l->n_live == 0)) {
        l = launch_new(s, id, origin, size);
        (void)mark_seen(l, rank);
    }
    return l;
}

/* --- what muster is told ---------------------------------------------------------------------- */

static void tell_started(struct shim *s, const struct rank *k)
{
    struct strbuf *out = &s->link.out;
    size_t frame = report_begin(s, WIRE_RANK_STARTED);

    wire_put_u32(out, k->child.replica->id);
    launch_put(out, &k->launch->name);
    wire_put_u32(out, k->number);
    wire_put_u32(out, k->launch->size);
    wire_put_u32(out, (uint32_t)k->child.pid);
    wire_put_u32(out, k->forwarded);
    wire_put_i64(out, k->started);
    wire_put_str(out, k->log);
    wire_put_i64(out, k->launch->began);
    wire_put_i64(out, k->launch->program);
    report_end(s, frame);
}

struct ending {
    bool known;
    int status;
    ns_t at;
    int64_t max_rss;
    ns_t told;
    int exec_error;      /* 0 or -errno */
    const char *program; /* that could not be executed, or NULL */
};

/* Whoever reads this tells one life of a rank from the next by their times: a clock that was set
 * back must not turn them round. */
static ns_t time_of_end(const struct rank *k, ns_t at)
{
    return at > k->started ? at : k->started;
}

/* orted stays as long as it has ranks. Hydra's proxy leaves when mpiexec is done with it, and may
 * be gone before a rank that failed is reported: only one that was killed is a loss. */
static bool has_lost_daemon(const struct rank *k)
{
    const struct daemon *d = &k->daemon;

    if (d->is_orted || d->is_mpirun)
        return daemon_is_dead(d);
    return !k->launch->over && daemon_was_killed(d);
}

/* The rank may have noticed before we were told of the daemon's end. */
static void check_daemon(struct shim *s, const struct rank *k, ns_t at)
{
    if (k->told == 0 && has_lost_daemon(k))
        daemon_lost(s, &k->launch->loss, &k->daemon, k->child.replica, &k->launch->name, at);
}

static void remember_daemon(struct launch *l, const struct rank *k)
{
    struct taken **last = &l->taken;

    while (*last && (*last)->daemon.pid != k->daemon.pid)
        last = &(*last)->next;
    if (*last || !k->daemon.is_orted)
        return;
    *last = xcalloc(1, sizeof(**last));
    **last = (struct taken){.daemon = k->daemon, .replica = k->child.replica};
}

/* Open MPI's mpirun tells all daemons to end their ranks, waits for them, and only then ends the
 * daemons. One that has ended while ranks elsewhere know nothing of it was not told by mpirun. */
static bool has_deserted(const struct shim *s, const struct launch *l, const struct replica *r)
{
    for (const struct rank *k = s->ranks; k; k = k->next)
        if (k->launch == l && k->child.replica != r && k->pid_fd >= 0 && k->told == 0)
            return true;
    return false;
}

static void daemon_left(struct shim *s, struct launch *l, pid_t pid, int status)
{
    for (const struct taken *t = l->taken; t; t = t->next) {
        if ((t->daemon.pid != pid && t->daemon.keeper != pid) || !has_deserted(s, l, t->replica))
            continue;
        daemon_lost(s, &l->loss, &t->daemon, t->replica, &l->name, clock_run());
        daemon_ended(s, &l->loss, &l->name, pid, status);
    }
}

void ranks_daemon_ended(struct shim *s, pid_t pid, int status)
{
    elsewhere_reaped(s, pid, status);
    if (!WIFSIGNALED(status) && WEXITSTATUS(status) <= 128) {
        for (struct launch *l = s->newest_launch; l; l = l->older)
            daemon_left(s, l, pid, status);
        return; /* its ranks were taken care of */
    }
    for (const struct rank *k = s->ranks; k; k = k->next)
        if ((k->daemon.pid == pid || k->daemon.keeper == pid) && k->told == 0)
            daemon_lost(s, &k->launch->loss, &k->daemon, k->child.replica, &k->launch->name,
                        clock_run());
    for (struct launch *l = s->newest_launch; l; l = l->older)
        daemon_ended(s, &l->loss, &l->name, pid, status);
}

static void tell_exited(struct shim *s, const struct rank *k, const struct ending *end)
{
    ns_t at = time_of_end(k, end->at);
    struct strbuf *out = &s->link.out;
    size_t frame = report_begin(s, WIRE_RANK_EXITED);
    char what[48];

    wire_put_u32(out, k->child.replica->id);
    launch_put(out, &k->launch->name);
    wire_put_u32(out, k->number);
    wire_put_u32(out, end->known);
    wire_put_u32(out, (uint32_t)end->status);
    wire_put_i64(out, at);
    wire_put_i64(out, end->max_rss);
    /* a wrapper that was killed together with its rank may have met the same killer */
    memory_put(out, s, k->child.replica, end->known ? end->status : SIGKILL);
    wire_put_i64(out, end->told);
    wire_put_u32(out, (uint32_t)end->exec_error);
    wire_put_str(out, end->program ? end->program : "");
    report_end(s, frame);
    snprintf(what, sizeof(what), "rank-%u.launch-%u", k->number, k->launch->name.number);
    shim_record(s, at, k->child.replica->name, what, end->known ? end->status : -1);
    if (end->told)
        remember_daemon(k->launch, k);
    k->launch->last_end = at > k->launch->last_end ? at : k->launch->last_end;
}

/* What the launcher's script does after its mpirun must not be taken for an mpirun that hangs. */
static void tell_over(struct shim *s, struct launch *l, ns_t at)
{
    struct strbuf *out = &s->link.out;
    size_t frame;

    if (l->over)
        return;
    l->over = true;
    frame = report_begin(s, WIRE_LAUNCH_OVER);
    launch_put(out, &l->name);
    wire_put_i64(out, at);
    launch_put_end(out, NULL, 0);
    report_end(s, frame);
}

/* Did it end under ranks that it had not told to? Hydra's may end before the last of its ranks have
 * reported, so only a stand-in that was killed, and took mpirun along, says it of that one. */
static void check_ranks(struct shim *s, struct launch *l, bool killed)
{
    for (const struct rank *k = s->ranks; k; k = k->next)
        if (k->launch == l && k->pid_fd >= 0 && k->told == 0 &&
            (killed || k->daemon.is_orted || k->daemon.is_mpirun))
            launch_signalled(s, &l->loss, &l->name, SIGKILL, clock_run());
}

/* Its stand-in reports its end and any signal but SIGKILL. */
static void check_mpirun(struct shim *s, struct launch *l)
{
    bool watched = server_stand_in(s, l->stand_in);
    bool ended = l->stand_in ? pid_is_dead(l->stand_in)
                             : l->mpirun_fd >= 0 &&
                                   poll(&(struct pollfd){l->mpirun_fd, POLLIN, 0}, 1, 0) > 0;

    if (ended)
        check_ranks(s, l, watched);
}

void ranks_check_mpiruns(struct shim *s)
{
    elsewhere_check(s);
    for (struct launch *l = s->newest_launch; l; l = l->older)
        if (l->n_live > 0)
            check_mpirun(s, l);
}

static void mpirun_ended(struct shim *s, struct watch *w)
{
    struct launch *l = (struct launch *)w;

    server_catch_up(s); /* what its ranks said before */
    check_mpirun(s, l);
    close(TAKE_FD(l->mpirun_fd));
    if (!server_stand_in(s, l->stand_in)) /* else that says when */
        tell_over(s, l, clock_run());
}

static void watch_mpirun(struct shim *s, struct launch *l, pid_t daemon)
{
    pid_t pid = daemon_mpirun(s, daemon);
    auto_close int fd = pid ? pidfd_open(pid, 0) : -1;

    l->watch.ready = mpirun_ended;
    l->stand_in = mpirun_stand_in(pid);
    const struct stand_in *known = server_stand_in(s, l->stand_in);
    l->began = known ? known->began : mpirun_began(pid);
    if (known && known->program)
        l->program = known->program;
    if (fd >= 0 && shim_watch(s, fd, &l->watch) == 0)
        l->mpirun_fd = TAKE_FD(fd);
}

/* Of a launch whose mpirun is in another pod: its supervisor sees the end (elsewhere.c). */
static bool is_elsewhere(const struct shim *s, const struct launch *l)
{
    return s->pod && *l->name.origin;
}

/* mpirun starts no rank before all its daemons have answered, and gives up if one is lost: there
 * may be no launch yet. Only a signal tells one that was killed from one that mpirun let go. */
void ranks_daemon_failed(struct shim *s, const struct child *daemon, pid_t agent,
                         const char *origin, int status)
{
    int sig = WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status) - 128;
    const struct daemon lost = {.pid = daemon->pid};
    struct launch *l = s->newest_launch;

    if (s->stopping || sig <= 0 || sig >= NSIG || !*origin)
        return;
    while (l && (l->over || strcmp(l->name.origin, origin) != 0))
        l = l->older;
    if (!l && s->newest_launch && s->newest_launch->name.number >= LIMIT_LAUNCHES)
        return;
    if (!l) {
        l = launch_new(s, "", origin, 0);
        watch_mpirun(s, l, agent);
    }
    daemon_lost(s, &l->loss, &lost, daemon->replica, &l->name, clock_run());
    daemon_ended(s, &l->loss, &l->name, daemon->pid, status);
    if (l->size == 0 && l->mpirun_fd < 0 && !is_elsewhere(s, l)) /* nobody would see its end */
        tell_over(s, l, clock_run());
}

/* --- a rank's life ---------------------------------------------------------------------------- */

static void rank_free(struct shim *s, struct rank *k)
{
    unlogged_tell(s, k->log, &k->unlogged);
    if (k->client)
        k->client->rank = NULL;
    if (--k->launch->n_live == 0 && k->launch->mpirun_fd < 0 && !is_elsewhere(s, k->launch))
        tell_over(s, k->launch, clock_run());
    if (k->prev)
        k->prev->next = k->next;
    else
        s->ranks = k->next;
    if (k->next)
        k->next->prev = k->prev;
    if (k->pid_fd >= 0)
        close(k->pid_fd);
    free(k);
}

static void orphan_ended(struct shim *s, struct child *c, int status, int64_t max_rss)
{
    struct rank *k = (struct rank *)c;
    struct ending end = {
        .known = true, .status = status, .at = clock_run(), .max_rss = max_rss, .told = k->told};

    /* SIGTERM and then, before the wrapper could say so, SIGKILL: that is how orted ends a rank */
    if (end.told == 0 && WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM)
        end.told = end.at;
    check_daemon(s, k, end.at);
    tell_exited(s, k, &end);
    rank_free(s, k);
}

/* Each attempt has a supervisor of its own, which knows its number from the replica's variables. */
static unsigned long attempt_of(const struct replica *r)
{
    static const char name[] = "MUSTER_ATTEMPT=";

    for (const char **v = r->env; v && *v; v++)
        if (strncmp(*v, name, strlen(name)) == 0)
            return strtoul(*v + strlen(name), NULL, 10);
    return 1;
}

static void name_log(struct rank *k)
{
    unsigned long attempt = attempt_of(k->child.replica);
    char which[32] = "", launch[32] = "";

    if (attempt > 1)
        snprintf(which, sizeof(which), ".attempt-%lu", attempt);
    if (k->launch->name.number > 1)
        snprintf(launch, sizeof(launch), ".launch-%u", k->launch->name.number);
    snprintf(k->log, sizeof(k->log), "%s.rank-%u%s%s.log", k->child.replica->name, k->number, which,
             launch);
}

/* mpiexec.hydra gives ranks the launcher's environment, and mpirun its MCA parameters; what says
 * where they are, and at level `none` what keeps them apart, comes from the replica. */
static bool is_of_place(const char *variable)
{
    static const char *const names[] = {
        "MUSTER_", "OMPI_MCA_btl_vader_backing_directory=", "OMPI_MCA_btl_sm_backing_directory="};

    for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
        if (strncmp(variable, names[i], strlen(names[i])) == 0)
            return true;
    }
    return false;
}

static void welcome(struct shim *s, struct client *c, int log_fd)
{
    const struct replica *r = c->rank->child.replica;
    int fds[2] = {log_fd, output_marks_fd(s)};
    auto_strbuf struct strbuf frame = STRBUF_INIT;
    auto_free const char **own = NULL;
    size_t begin = wire_frame_begin(&frame, WIRE_RANK_WELCOME), n = 0, i = 0;

    while (r->env && r->env[n])
        n++;
    own = xcalloc(n + 1, sizeof(*own));
    for (const char **v = r->env; v && *v; v++) {
        if (is_of_place(*v))
            own[i++] = *v;
    }
    wire_put_strs(&frame, own);
    wire_put_str(&frame, c->rank->log);
    wire_put_u32(&frame, log_fd < 0 ? (uint32_t)log_fd : 0);
    wire_put_i64(&frame, clock_run_base());
    wire_frame_end(&frame, begin);
    (void)packet_send(c->fd, &frame, fds, log_fd < 0 ? 0 : fds[1] < 0 ? 1 : 2);
}

int rank_hello(struct shim *s, struct client *c, struct packet *p)
{
    uint32_t number = wire_get_u32(&p->body), size = wire_get_u32(&p->body);
    bool forwarded = wire_get_u32(&p->body);
    pid_t daemon = (pid_t)wire_get_u32(&p->body);
    const char *id = wire_get_str(&p->body), *origin = wire_get_str(&p->body);
    int64_t program = wire_get_i64(&p->body);
    struct replica *r = replica_of_pid(s, c->pid);
    auto_close int log_fd = -1;
    struct rank *k;

    if (!wire_done(&p->body) || c->command || c->rank || !r || size > LIMIT_PROCESSES ||
        number >= size || strlen(id) > LIMIT_LAUNCH_ID || strlen(origin) > LIMIT_LAUNCH_ID ||
        (s->newest_launch && s->newest_launch->name.number >= LIMIT_LAUNCHES))
        return -EPROTO;
    k = xcalloc(1, sizeof(*k));
    *k = (struct rank){
        .next = s->ranks,
        .child = {.replica = r, .ended = orphan_ended},
        .client = c,
        .launch = launch_of(s, id, origin, size, number),
        .number = number,
        .pid_fd = -1,
        .daemon = daemon_of(daemon),
        .forwarded = forwarded,
    };
    if (s->ranks)
        s->ranks->prev = k;
    s->ranks = k;
    command_observed(s, k->daemon.pid);
    command_observed(s, k->daemon.keeper);
    if (k->launch->program == 0)
        k->launch->program = program;
    if (k->launch->n_live++ == 0 && k->launch->mpirun_fd < 0 && !k->launch->over)
        watch_mpirun(s, k->launch, daemon);
    c->rank = k;
    /* Now, before it can run: its wrapper's time of its end is then never earlier. */
    k->started = clock_run();
    if (k->started <= k->launch->last_end)
        k->started = k->launch->last_end + 1;
    name_log(k);
    log_fd = output_open_log(s, k->log);
    welcome(s, c, log_fd);
    return 0;
}

int rank_runs(struct shim *s, struct client *c, struct packet *p)
{
    uint32_t pid = wire_get_u32(&p->body);

    if (!wire_done(&p->body) || !c->rank || c->rank->pid_fd >= 0 || p->n_fds != 1 || pid == 0 ||
        pid > INT32_MAX || child_find(s, (pid_t)pid))
        return -EPROTO;
    c->rank->child.pid = (pid_t)pid;
    c->rank->pid_fd = TAKE_FD(p->fds[0]);
    child_add(s, &c->rank->child);
    tell_started(s, c->rank);
    return 0;
}

int rank_unlogged(struct shim *s, struct client *c, struct packet *p)
{
    int error = (int)wire_get_u32(&p->body);
    bool is_err = wire_get_u32(&p->body);
    int64_t missing = wire_get_i64(&p->body);
    size_t n;
    const char *data = wire_get_bytes(&p->body, &n);

    if (!wire_done(&p->body) || !c->rank || missing < (int64_t)n || error >= 0)
        return -EPROTO;
    c->rank->unlogged.error = error;
    unlogged_add(s, c->rank->log, &c->rank->unlogged, is_err, missing, data, n);
    return 0;
}

/* A wrapper's word for when it was, as far as it can be true. */
static ns_t within(ns_t at, ns_t first, ns_t last)
{
    return at < first ? first : at > last ? last : at;
}

int rank_told(struct client *c, struct packet *p)
{
    ns_t at = wire_get_i64(&p->body);

    if (!wire_done(&p->body) || !c->rank || at <= 0)
        return -EPROTO;
    c->rank->told = within(at, c->rank->started, clock_run());
    return 0;
}

/* --- mpirun itself, as its stand-in reports it --------------------------------------------------
 */

int mpirun_hello(struct client *c, struct packet *p)
{
    struct stand_in in = {.program = wire_get_i64(&p->body), .observed = wire_get_u32(&p->body)};

    in.began = within(wire_get_i64(&p->body), 1, clock_run());
    if (!wire_done(&p->body) || c->command || c->rank || c->mpirun || in.program < 0)
        return -EPROTO;
    c->mpirun = xcalloc(1, sizeof(*c->mpirun));
    *c->mpirun = in;
    return 0;
}

/* It failed and had no ranks here. If it has asked for daemons in other pods, the engine knows
 * whether it had some there. */
static void tell_without_ranks(struct shim *s, const struct client *c, int status, ns_t at)
{
    const struct launch_name *name = elsewhere_name(s, c->pid);
    const struct stand_in *in = c->mpirun;
    struct strbuf *out = &s->link.out;
    size_t frame;

    if (status == 0 ||
        (!name && s->newest_launch && s->newest_launch->name.number >= LIMIT_LAUNCHES))
        return;
    if (!name) {
        struct launch *l = launch_new(s, "", "", 0);

        l->over = true;
        name = &l->name;
    }
    frame = report_begin(s, WIRE_LAUNCH_OVER);
    launch_put(out, name);
    wire_put_i64(out, at);
    launch_put_end(out, in, status);
    report_end(s, frame);
}

static void mpirun_over(struct shim *s, struct client *c, int status, ns_t at, bool killed)
{
    bool had_ranks = false;

    for (struct launch *l = s->newest_launch; l; l = l->older) {
        if (l->stand_in != c->pid || l->over)
            continue;
        had_ranks = true;
        if (killed)
            check_ranks(s, l, true);
        tell_over(s, l, at);
    }
    if (!had_ranks)
        tell_without_ranks(s, c, status, at);
    free(c->mpirun);
    c->mpirun = NULL;
}

int mpirun_end(struct shim *s, struct client *c, struct packet *p)
{
    int status = (int)wire_get_u32(&p->body);
    ns_t at = wire_get_i64(&p->body);
    auto_strbuf struct strbuf ack = STRBUF_INIT;

    if (!wire_done(&p->body) || !c->mpirun)
        return -EPROTO;
    mpirun_over(s, c, status, within(at, 1, clock_run()), false);
    wire_frame_end(&ack, wire_frame_begin(&ack, WIRE_RANK_ACK));
    (void)packet_send(c->fd, &ack, NULL, 0);
    return 0;
}

void mpirun_lost(struct shim *s, struct client *c)
{
    (void)elsewhere_signalled(s, c->pid, SIGKILL, clock_run());
    mpirun_over(s, c, SIGKILL, clock_run(), true);
}

int mpirun_signal(struct shim *s, const struct client *c, struct packet *p)
{
    int sig = (int)wire_get_u32(&p->body);
    ns_t at = wire_get_i64(&p->body);

    if (!wire_done(&p->body) || sig <= 0 || sig > SIGRTMAX)
        return -EPROTO;
    if (elsewhere_signalled(s, c->pid, sig, within(at, 1, clock_run())))
        return 0;
    for (struct launch *l = s->newest_launch; l; l = l->older)
        if (l->stand_in == c->pid && (l->n_live > 0 || at <= l->last_end) && !l->over)
            launch_signalled(s, &l->loss, &l->name, sig, within(at, 1, clock_run()));
    return 0;
}

int rank_exit(struct shim *s, struct client *c, struct packet *p)
{
    auto_strbuf struct strbuf ack = STRBUF_INIT;
    struct ending end = {.known = true, .status = (int)wire_get_u32(&p->body)};

    end.at = wire_get_i64(&p->body);
    end.max_rss = wire_get_i64(&p->body);
    end.told = wire_get_i64(&p->body);
    end.exec_error = (int)wire_get_u32(&p->body);
    end.program = wire_get_str(&p->body);
    if (!wire_done(&p->body) || !c->rank || c->rank->pid_fd < 0 || end.exec_error > 0 ||
        end.exec_error < -LIMIT_ERRNO)
        return -EPROTO;
    end.at = within(end.at, c->rank->started, clock_run());
    if (end.told)
        end.told = within(end.told, c->rank->started, end.at);
    if (end.told == 0 && end.status != 0)
        check_daemon(s, c->rank, end.at);
    tell_exited(s, c->rank, &end);
    (void)child_take(s, c->rank->child.pid);
    rank_free(s, c->rank);
    wire_frame_end(&ack, wire_frame_begin(&ack, WIRE_RANK_ACK));
    (void)packet_send(c->fd, &ack, NULL, 0);
    return 0;
}

void rank_lost(struct shim *s, struct client *c)
{
    struct rank *k = c->rank;
    struct ending unknown = {.at = clock_run(), .told = k->told};

    if (k->pid_fd < 0) { /* it has never run */
        rank_free(s, k);
    } else if (pidfd_send_signal(k->pid_fd, SIGKILL, NULL, 0) == 0) {
        k->client = NULL; /* dying or dead, and ours to reap */
    } else {
        (void)child_take(s, k->child.pid);
        tell_exited(s, k, &unknown);
        rank_free(s, k);
    }
}

void ranks_signal(struct shim *s, const struct replica *r, int sig)
{
    for (const struct rank *k = s->ranks; k; k = k->next) {
        if ((!r || k->child.replica == r) && k->pid_fd >= 0)
            (void)pidfd_send_signal(k->pid_fd, sig, NULL, 0);
    }
}
