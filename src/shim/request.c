/* request.c - what muster asks for, one function per frame.
 *
 * Not here: SPAWN (process.c).
 */
#include <errno.h>
#include <signal.h>
#include <string.h>

#include "base/mem.h"
#include "base/procs.h"
#include "shim/group.h"
#include "shim/feed.h"
#include "shim/overlay.h"
#include "shim/pod.h"
#include "shim/server.h"
#include "shim/shim.h"
#include "shim/trial.h"
#include "shim/volumes.h"

/* --- SETUP ------------------------------------------------------------------------------------ */

void refuse_frame(struct shim *s, const struct err *e)
{
    struct strbuf *out = &s->link.out;
    size_t frame = wire_frame_begin(out, WIRE_REFUSED);

    wire_put_u32(out, (uint32_t)e->code);
    wire_put_str(out, e->text);
    wire_frame_end(out, frame);
}

static void refuse(struct shim *s, const struct err *e)
{
    refuse_frame(s, e);
    s->over = true;
    s->exit_code = 1;
}

static void read_replicas(struct shim *s, struct wire_reader *r)
{
    uint32_t n = wire_get_u32(r);

    if (n > LIMIT_REPLICAS) {
        r->broken = true;
        return;
    }
    s->replicas = xcalloc(n, sizeof(*s->replicas));
    s->n_replicas = n;
    for (uint32_t i = 0; i < n; i++) {
        s->replicas[i] = (struct replica){
            .id = i,
            .name = xstrdup(wire_get_str(r)),
            .host = xstrdup(wire_get_str(r)),
            .address = xstrdup(wire_get_str(r)),
            .cpu_milli = wire_get_i64(r),
            .memory = wire_get_i64(r),
            .shm = wire_get_i64(r),
            .first_table = wire_get_u32(r),
            .n_tables = wire_get_u32(r),
            .mnt_fd = -1,
            .uts_fd = -1,
            .net_fd = -1,
        };
    }
}

void ready_frame(struct shim *s)
{
    struct strbuf *out = &s->link.out;
    size_t frame = wire_frame_begin(out, WIRE_READY);

    wire_put_u32(out, WIRE_VERSION);
    wire_put_u32(out, s->attempt);
    wire_put_strs(out, groups_dirs(s));
    wire_frame_end(out, frame);
}

static int handle_setup(struct shim *s, struct wire_reader *r)
{
    uint32_t version = wire_get_u32(r), flags;
    const char *hosts;
    struct err e = {0};

    if (s->is_set_up)
        return -EPROTO;
    if (version != WIRE_VERSION) {
        err_set(&e, -EPROTO, "muster has protocol version %u, its shim %u; reinstall both", version,
                WIRE_VERSION);
        refuse(s, &e);
        return 0;
    }
    flags = wire_get_u32(r);
    s->waits_for_master = (flags & SETUP_WAITS) || s->pod;
    if (s->pod)
        s->pod->unread = flags & SETUP_UNREAD;
    s->attempt = wire_get_u32(r);
    if (s->pod)
        clock_run_set_now(wire_get_i64(r));
    else
        clock_run_set_base(wire_get_i64(r));
    s->run_id = xstrdup(wire_get_str(r));
    s->run_dir = xstrdup(wire_get_str(r));
    free(s->scratch_dir); /* a pod's, which is the same */
    s->scratch_dir = xstrdup(wire_get_str(r));
    hosts = wire_get_str(r);
    read_replicas(s, r);
    overlay_read(s, r);
    volumes_read(s, r);
    if (r->broken)
        return -EPROTO;
    s->hosts = xstrdup(hosts);
    if (setup_run(s, s->run_dir, hosts, &e) < 0 || volumes_read_files(s, r, &e) < 0 ||
        server_open(s, &e) < 0 || master_listen(s, &e) < 0) {
        refuse(s, &e);
        return 0;
    }
    if (!wire_done(r))
        return -EPROTO;
    groups_make(s);
    s->is_set_up = true;
    ready_frame(s);
    /* now: a process of the job may kill or stop us, and then the job has begun */
    return link_flush(&s->link);
}

/* --- SIGNAL, STOP ----------------------------------------------------------------------------- */

struct scope {
    uint32_t kind, id;
};

static struct scope get_scope(struct wire_reader *r)
{
    struct scope scope = {.kind = wire_get_u32(r)};

    scope.id = wire_get_u32(r);
    return scope;
}

static bool in_scope(struct scope scope, const struct child *c)
{
    switch (scope.kind) {
    case SCOPE_ALL:
        return true;
    case SCOPE_REPLICA:
        return c->replica->id == scope.id;
    default:
        return c->is_main && c->process == scope.id;
    }
}

/* Whoever has no handler for a signal dies of it, or had ended before it came: a status of its own
 * is then its own. */
static bool may_answer(pid_t pid, int sig)
{
    static const char *const sets[] = {"SigCgt", "SigIgn", "SigBlk"};

    for (size_t i = 0; i < ARRAY_SIZE(sets); i++)
        if (proc_signal_set(pid, sets[i], sig))
            return true;
    return false;
}

/* Every main process leads a group of its own. */
static void signal_main(struct shim *s, struct scope scope, int sig)
{
    for (size_t i = 0; i < SHIM_BUCKETS; i++) {
        for (struct child *c = s->children[i]; c; c = c->next) {
            if (!c->is_main || !in_scope(scope, c))
                continue;
            c->told = c->told || may_answer(c->pid, sig);
            (void)kill(sig == SIGUSR1 || sig == SIGUSR2 ? c->pid : -c->pid, sig);
        }
    }
}

/* Everything is to end. Who waits for the command of a replica that outlived it need not any more.
 */
static void stop_staying(struct shim *s)
{
    s->stopping = true;
    for (uint32_t i = 0; i < s->n_replicas; i++)
        if (s->replicas[i].stayed)
            process_waiting_ended(s, &s->replicas[i]);
}

void signal_everything(struct shim *s, int sig)
{
    if (sig == SIGTERM)
        stop_staying(s);
    signal_main(s, (struct scope){.kind = SCOPE_ALL}, sig);
    ranks_signal(s, NULL, sig);
    if (sig == SIGTERM) /* what is stopped would take it only when it goes on */
        replicas_continue_all(s);
}

static int handle_signal(struct shim *s, struct wire_reader *r)
{
    struct scope scope = get_scope(r);
    uint32_t sig = wire_get_u32(r);

    if (!wire_done(r) || sig == 0 || sig >= NSIG)
        return -EPROTO;
    if (scope.kind == SCOPE_ALL) {
        signal_everything(s, (int)sig);
        return 0;
    }
    signal_main(s, scope, (int)sig);
    if (scope.kind == SCOPE_REPLICA && scope.id < s->n_replicas)
        ranks_signal(s, &s->replicas[scope.id], (int)sig);
    return 0;
}

static bool stops_replica(struct scope scope, const struct replica *r)
{
    switch (scope.kind) {
    case SCOPE_ALL:
        return true;
    case SCOPE_REPLICA:
        return r->id == scope.id;
    default:
        return r->waits && r->waiting_process == scope.id;
    }
}

static int handle_stop(struct shim *s, struct wire_reader *r)
{
    struct scope scope = get_scope(r);

    if (!wire_done(r))
        return -EPROTO;
    if (scope.kind == SCOPE_ALL)
        replicas_kill_all(s);
    else if (scope.kind == SCOPE_PROCESS)
        signal_main(s, scope, SIGKILL);
    for (uint32_t i = 0; i < s->n_replicas; i++) {
        struct replica *replica = &s->replicas[i];

        if (!stops_replica(scope, replica))
            continue;
        if (scope.kind != SCOPE_ALL)
            replica_condemn(s, replica);
        replica->expects = false;
        process_waiting_ended(s, replica);
    }
    replicas_purge(s);
    if (scope.kind == SCOPE_ALL)
        wire_frame_end(&s->link.out, wire_frame_begin(&s->link.out, WIRE_HEARD));
    return 0;
}

static int handle_hold(struct shim *s, struct wire_reader *r)
{
    if (!wire_done(r))
        return -EPROTO;
    s->held = true;
    return 0;
}

static int handle_end(struct shim *s, struct wire_reader *r)
{
    if (!wire_done(r))
        return -EPROTO;
    s->over = true;
    return 0;
}

/* ---------------------------------------------------------------------------------------------- */

int request_handle(struct shim *s, enum wire_type type, struct wire_reader *r)
{
    static int (*const handlers[])(struct shim *, struct wire_reader *) = {
        [WIRE_SETUP] = handle_setup,      [WIRE_SPAWN] = process_spawn,
        [WIRE_SIGNAL] = handle_signal,    [WIRE_STOP] = handle_stop,
        [WIRE_HOLD] = handle_hold,        [WIRE_END] = handle_end,
        [WIRE_ATTACH] = master_attach,    [WIRE_FILE] = pod_file,
        [WIRE_FOLLOW] = feed_follow,      [WIRE_MORE] = pod_more,
        [WIRE_FILES_END] = pod_files_end, [WIRE_TRY] = trial_begin,
        [WIRE_TRY_END] = trial_end,       [WIRE_CLOCK] = pod_clock,
    };

    if ((size_t)type >= ARRAY_SIZE(handlers) || !handlers[type])
        return -EPROTO;
    if (!s->is_set_up && type != WIRE_SETUP && type != WIRE_END && !(s->pod && type == WIRE_ATTACH))
        return -EPROTO;
    if (s->is_set_up && !s->greeted && type != WIRE_ATTACH)
        return -EPROTO;
    return handlers[type](s, r);
}
