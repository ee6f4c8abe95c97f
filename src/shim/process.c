/* process.c - a main process: from SPAWN to EXITED, and the replica that only waits. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/io.h"
#include "base/mem.h"
#include "shim/daemon.h"
#include "shim/group.h"
#include "shim/pod.h"
#include "shim/shim.h"
#include "shim/volumes.h"

struct process {
    struct child child; /* first */
    int pidfd;
    bool is_init; /* of its replica: muster gives it a number as if it were one more process */
    bool stays;   /* its replica waits on when it has ended well */
    bool is_launcher;
    struct output *output;
};

struct request { /* the body of WIRE_SPAWN; strings are the link's */
    uint32_t process, instance, flags;
    struct replica *replica;
    const char *cwd, *log;
    const char **argv, **env;
    const char *script; /* SPAWN_SCRIPT, else NULL */
    uint32_t table;     /* SPAWN_INIT: of its mounts, 0: it has none of its own */
};

/* --- what muster is told ---------------------------------------------------------------------- */

static void send_started(struct shim *s, const struct request *rq, pid_t pid)
{
    struct strbuf *out = &s->link.out;
    size_t frame = report_begin(s, WIRE_STARTED);

    wire_put_u32(out, rq->process);
    wire_put_u32(out, rq->instance);
    wire_put_u32(out, (uint32_t)pid);
    wire_put_i64(out, clock_run());
    report_end(s, frame);
}

/* What failed, without the reason that err_sys() appends: the code has it. */
static void put_what(struct strbuf *out, const struct err *e)
{
    auto_free char *what = xstrdup(e->text), *reason = xasprintf(": %s", err_reason(-e->code));
    size_t n = strlen(what), cut = strlen(reason);

    if (n > cut && strcmp(what + n - cut, reason) == 0)
        what[n - cut] = '\0';
    wire_put_str(out, what);
}

static void send_failed(struct shim *s, const struct request *rq, const struct err *e)
{
    struct strbuf *out = &s->link.out;
    size_t frame = report_begin(s, WIRE_SPAWN_FAILED);

    wire_put_u32(out, rq->process);
    wire_put_u32(out, rq->instance);
    wire_put_u32(out, (uint32_t)e->code);
    put_what(out, e);
    wire_put_i64(out, clock_run());
    report_end(s, frame);
}

struct whose {
    uint32_t process, instance;
    bool is_launcher, told;
};

static void send_exited(struct shim *s, struct replica *r, struct whose whose, int status, ns_t at,
                        int64_t max_rss)
{
    struct strbuf *out = &s->link.out;
    size_t frame = report_begin(s, WIRE_EXITED);
    char left[MPIRUN_NAME];

    wire_put_u32(out, whose.process);
    wire_put_u32(out, whose.instance);
    wire_put_u32(out, (uint32_t)status);
    wire_put_i64(out, at);
    wire_put_i64(out, max_rss);
    memory_put(out, s, r, status);
    wire_put_str(out, whose.is_launcher ? mpirun_left(s, r, left) : "");
    wire_put_u32(out, whose.is_launcher && s->unobserved);
    wire_put_u32(out, !whose.told && WIFEXITED(status) && WEXITSTATUS(status) != 0);
    report_end(s, frame);
}

/* --- its end ---------------------------------------------------------------------------------- */

static void process_ended(struct shim *s, struct child *c, int status, int64_t max_rss)
{
    struct process *p = (struct process *)c;
    struct replica *r = c->replica;
    ns_t at = clock_run();
    char number[16];

    close(p->pidfd);
    output_detach(s, p->output);
    snprintf(number, sizeof(number), "%u", c->process);
    shim_record(s, at, r->name, p->is_init ? "init" : number, status);
    if (p->stays && status == 0 && !s->stopping) {
        r->n_main--;
        r->waits = r->stayed = true;
        r->waiting_process = c->process;
        r->waiting_instance = c->instance;
        free(p);
        return;
    }
    if (!p->is_init)
        pod_note_end(s, c->process, status);
    send_exited(s, r, (struct whose){c->process, c->instance, p->is_launcher, c->told}, status, at,
                max_rss);
    if (--r->n_main == 0)
        replica_condemn(s, r);
    free(p);
}

void process_waiting_ended(struct shim *s, struct replica *r)
{
    if (!r->waits)
        return;
    r->waits = false;
    send_exited(s, r, (struct whose){r->waiting_process, r->waiting_instance, false, false}, 0,
                clock_run(), 0);
}

/* --- its start -------------------------------------------------------------------------------- */

/* The replica's first process says what an agent's command finds there. One block holds the array
 * and its strings. */
static const char **copy_env(const char **env)
{
    size_t n = 0, bytes = 0;
    const char **copy;
    char *text;

    for (; env[n]; n++)
        bytes += strlen(env[n]) + 1;
    copy = xmalloc((n + 1) * sizeof(*copy) + bytes);
    text = (char *)(copy + n + 1);
    for (size_t i = 0; i < n; i++) {
        copy[i] = text;
        text = stpcpy(text, env[i]) + 1;
    }
    copy[n] = NULL;
    return copy;
}

/* The script as a file without a name that nobody can change. */
static int open_script(const char *script, int *ret_fd, struct err *e)
{
    auto_close int fd = memfd_create("script", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    int r = fd < 0 ? -errno : io_write_all(fd, script, strlen(script));

    if (r == 0 &&
        (lseek(fd, 0, SEEK_SET) < 0 ||
         fcntl(fd, F_ADD_SEALS, F_SEAL_WRITE | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) < 0))
        r = -errno;
    /* spawn_process() wants it above the place it gets */
    if (r == 0 && (*ret_fd = fcntl(fd, F_DUPFD_CLOEXEC, WIRE_SCRIPT_FD + 1)) < 0)
        r = -errno;
    return r < 0 ? err_set(e, r, "keep the script") : 0;
}

/* Where an init command sees what its replica's own processes do not. */
static int open_view(struct shim *s, const struct request *rq, int *ret_fd, struct err *e)
{
    if (rq->table == 0 || s->level == LEVEL_NONE ||
        s->tables[rq->replica->first_table + rq->table].n == 0)
        return 0;
    int fd = replica_view(s, rq->replica, rq->table, e);
    if (fd < 0)
        return fd;
    *ret_fd = fd;
    return 0;
}

struct pipes { /* of stdout and stderr; -1 where there is none */
    int read[2], write[2];
};

static void pipes_close(struct pipes *p)
{
    for (int i = 0; i < 2; i++) {
        if (p->read[i] >= 0)
            close(p->read[i]);
        if (p->write[i] >= 0)
            close(p->write[i]);
    }
}

static int make_pipe(struct shim *s, struct pipes *p, int i)
{
    int fds[2];

    while (pipe2(fds, O_CLOEXEC) < 0) {
        if (errno != EMFILE || !output_spare_fd(s))
            return -errno;
    }
    p->read[i] = fds[0];
    p->write[i] = fds[1];
    (void)fcntl(fds[0], F_SETFL, O_NONBLOCK);
    return 0;
}

static int start(struct shim *s, const struct request *rq, struct err *e)
{
    int r;
    struct process *p;
    CLEANUP(pipes_close) struct pipes pipes = {.read = {-1, -1}, .write = {-1, -1}};
    auto_close int script_fd = -1, view_fd = -1;
    struct spawn sp;
    int pidfd;
    pid_t pid;

    if (!output_log_name_ok(rq->log))
        return err_set(e, -EINVAL, "open log %s", rq->log);
    if (rq->script && open_script(rq->script, &script_fd, e) < 0)
        return e->code;
    if (open_view(s, rq, &view_fd, e) < 0)
        return e->code;
    r = make_pipe(s, &pipes, 0);
    if (r < 0)
        return err_set(e, r, "pipe");
    /* without it both streams share the first: descriptors that run short are for processes */
    if ((rlim_t)pipes.read[0] < s->files.rlim_max / 4)
        (void)make_pipe(s, &pipes, 1);
    sp = (struct spawn){
        .replica = rq->replica,
        .cwd = rq->cwd,
        .argv = rq->argv,
        .env = rq->env,
        .fds = {rq->flags & SPAWN_STDIN ? s->stdin_fd : s->null_fd, pipes.write[0],
                pipes.write[pipes.write[1] >= 0 ? 1 : 0]},
        .mnt_fd = view_fd > 0 ? view_fd : 0,
        .script_fd = rq->script ? script_fd : 0,
    };
    do
        r = spawn_process(s, &sp, &pid, &pidfd, e);
    while (r == -EMFILE && output_spare_fd(s));
    if (r < 0)
        return r;
    p = xcalloc(1, sizeof(*p));
    p->child = (struct child){
        .pid = pid,
        .replica = rq->replica,
        .is_main = true,
        .process = rq->process,
        .instance = rq->instance,
        .ended = process_ended,
    };
    p->pidfd = pidfd;
    p->is_init = rq->flags & SPAWN_INIT;
    p->stays = rq->flags & SPAWN_STAY;
    p->is_launcher = rq->flags & SPAWN_LAUNCHER;
    shim_watch_end(s, pidfd, pid);
    p->output = output_new(s, pipes.read, rq->log);
    pipes.read[0] = pipes.read[1] = -1;
    child_add(s, &p->child);
    rq->replica->n_main++;
    send_started(s, rq, pid);
    return 0;
}

static int wait_inside(struct shim *s, const struct request *rq)
{
    rq->replica->waits = true;
    rq->replica->waiting_process = rq->process;
    rq->replica->waiting_instance = rq->instance;
    send_started(s, rq, 0);
    return 0;
}

/* It answers from here on; its main process is started once all the others do too. */
static int open_only(struct shim *s, const struct request *rq)
{
    struct strbuf *out = &s->link.out;
    size_t frame = report_begin(s, WIRE_OPENED);

    rq->replica->expects = true;
    wire_put_u32(out, rq->replica->id);
    wire_put_i64(out, clock_run());
    report_end(s, frame);
    return 0;
}

/* A test's fault point: the named replica never answers. */
static bool is_mute(const struct replica *r)
{
#ifdef MUSTER_FAULTS
    const char *fault = getenv("MUSTER_FAULT");

    return fault && strncmp(fault, "gate:", 5) == 0 && strcmp(fault + 5, r->name) == 0;
#else
    (void)r;
    return false;
#endif
}

static void begin(struct shim *s, const struct request *rq)
{
    struct err e = {0};
    int r;

    if (is_mute(rq->replica))
        return;
    r = replica_open(s, rq->replica, &e);
    if (r == 0 && !rq->replica->env && !(rq->flags & SPAWN_INIT)) {
        rq->replica->env = copy_env(rq->env);
        rq->replica->cwd = xstrdup(rq->cwd);
    }
    if (!(rq->flags & SPAWN_INIT))
        rq->replica->expects = false;
    if (r == 0)
        r = rq->flags & SPAWN_OPEN ? open_only(s, rq)
            : rq->argv[0]          ? start(s, rq, &e)
                                   : wait_inside(s, rq);
    if (r < 0)
        send_failed(s, rq, &e);
}

/* A new master says again what may not have been done. */
static bool is_known(struct shim *s, const struct request *rq)
{
    if (!s->waits_for_master || (rq->flags & SPAWN_OPEN) ||
        history_instance(&s->history, rq->process) < rq->instance)
        return false;
    history_put_process(&s->history, rq->process, &s->link.out);
    return true;
}

int process_spawn(struct shim *s, struct wire_reader *r)
{
    struct request rq = {.process = wire_get_u32(r)};
    uint32_t replica;
    int result = -EPROTO;

    rq.instance = wire_get_u32(r);
    replica = wire_get_u32(r);
    rq.flags = wire_get_u32(r);
    rq.cwd = wire_get_str(r);
    rq.log = wire_get_str(r);
    rq.argv = wire_get_strs(r);
    rq.env = wire_get_strs(r);
    if (rq.flags & SPAWN_SCRIPT)
        rq.script = wire_get_str(r);
    if (rq.flags & SPAWN_INIT)
        rq.table = wire_get_u32(r);
    if (s->pod)
        pod_adapt(s, &rq.cwd, &rq.env);
    if (s->pod && (rq.flags & SPAWN_EXPAND))
        pod_expand(rq.argv, (const char *const *)rq.env);
    if (wire_done(r) && replica < s->n_replicas &&
        (rq.table == 0 || rq.table < s->replicas[replica].n_tables)) {
        rq.replica = &s->replicas[replica];
        if (!is_known(s, &rq))
            begin(s, &rq);
        result = 0;
    }
    free(rq.argv);
    free(rq.env);
    return result;
}
