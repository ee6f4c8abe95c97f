/* pod_link.c - the shim in a pod: reached by exec of `muster-shim connect`, spoken to as the local
 * engine speaks to its own.
 *
 * The connection goes through the API server and may be lost at any time; the shim keeps what it
 * has to say, and its logs are asked for from where ours end.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/io.h"
#include "base/limits.h"
#include "base/mem.h"
#include "engine/frames.h"
#include "engine/kubernetes/parts.h"
#include "shim/wire.h"

enum { AGAIN_MS = 500 };

/* --- what is sent ----------------------------------------------------------------------------- */

static void put_setup(struct strbuf *out, const struct pod *p)
{
    const struct replica *rp = pod_replica(p);
    size_t frame = wire_frame_begin(out, WIRE_SETUP);

    wire_put_u32(out, WIRE_VERSION);
    wire_put_u32(out, SETUP_WAITS | (p->kb->owned ? SETUP_UNREAD : 0));
    wire_put_u32(out, p->attempt);
    wire_put_i64(out, clock_run());
    wire_put_str(out, p->kb->plan->facts->site.run_id);
    wire_put_str(out, POD_RUN_DIR);
    wire_put_str(out, POD_SCRATCH_DIR);
    wire_put_str(out, "");
    wire_put_u32(out, 1);
    wire_put_str(out, rp->name);
    wire_put_str(out, rp->host);
    wire_put_str(out, p->ip ? p->ip : "");
    for (int i = 0; i < 3; i++)
        wire_put_i64(out, -1); /* the kubelet has set the limits */
    wire_put_u32(out, 0);
    wire_put_u32(out, 0);
    wire_put_u32(out, 0); /* no layer */
    wire_put_str(out, "");
    wire_put_strs(out, NULL);
    wire_put_strs(out, NULL); /* no mounts, no files */
    wire_put_u32(out, 0);
    wire_put_u32(out, 0);
    wire_frame_end(out, frame);
}

static void put_bytes(struct strbuf *out, mode_t mode, const char *path, const void *data, size_t n)
{
    size_t frame = wire_frame_begin(out, WIRE_FILE);

    wire_put_u32(out, mode);
    wire_put_str(out, path);
    wire_put_bytes(out, data, n);
    wire_frame_end(out, frame);
}

static void put_file(struct strbuf *out, mode_t mode, const char *path, const char *text)
{
    if (text)
        put_bytes(out, mode, path, text, strlen(text));
}

/* A command of Azure ML finds the directories of its outputs. */
static void put_output_dirs(struct strbuf *out, const struct job_spec *spec)
{
    for (size_t i = 0; i < spec->n_values; i++) {
        const struct job_value *v = &spec->values[i];
        auto_free char *path = xasprintf(PLAN_OUTPUTS "/%s", v->name);

        if (v->kind == VALUE_OUTPUT)
            put_file(out, S_IFDIR | 0755, v->file ? PLAN_OUTPUTS : path, "");
    }
}

static void put_files(struct strbuf *out, const struct kubernetes *kb)
{
    /* stand-ins for what the image does not have are not made */
    static const char *const names[] = {
        "ssh",          "rsh",           PLAN_RANK_WRAPPER, "mpirun",
        "mpiexec",      "orterun",       "mpirun.openmpi",  "mpiexec.openmpi",
        "mpirun.mpich", "mpiexec.mpich", "mpiexec.hydra"};
    const struct plan *plan = kb->plan;

    for (size_t i = 0; i < (plan->calls_mpi ? ARRAY_SIZE(names) : 3); i++) {
        auto_free char *path = xasprintf("scratch/" PLAN_BIN "/%s", names[i]);
        put_file(out, S_IFLNK | 0777, path, POD_SHIM);
    }
    put_file(out, 0644, PLAN_HOSTFILE, plan->hostfile);
    if (plan->other_hostfile)
        put_file(out, 0644, plan->other_hostfile_name, plan->other_hostfile);
    put_file(out, 0644, PLAN_PEERS, plan->peers_json);
    put_output_dirs(out, plan->spec);
    if (plan->calls_mpi)
        put_bytes(out, 0600, "scratch/key", kb->away.key, sizeof(kb->away.key));
}

/* Beyond this many the cluster's DNS has to do: every pod would get a list of all. */
enum { HOSTS_AT_MOST = 512 };

void pod_put_hosts(struct pod *p)
{
    auto_strbuf struct strbuf peers = STRBUF_INIT, hosts = STRBUF_INIT;
    auto_arena struct arena *a = arena_new();
    const struct plan *plan = p->kb->plan;

    if (plan->n_replicas > HOSTS_AT_MOST && !plan->calls_mpi)
        return;
    for (uint32_t i = 0; i < plan->n_replicas; i++) {
        const char *names = plan_host_names(a, plan, &plan->replicas[i]);
        const char *ip = p->kb->pods[i].ip;

        if (!ip)
            continue;
        strbuf_addf(&hosts, "%s %s\n", ip, names);
        if (i == p->replica)
            continue;
        strbuf_addf(&peers, "%s %s\n", ip, ip);
        for (const char *name = names; *name; name += strspn(name, " ")) {
            size_t n = strcspn(name, " ");

            strbuf_addf(&peers, "%.*s %s\n", (int)n, name, ip);
            name += n;
        }
    }
    if (plan->calls_mpi)
        put_file(&p->out, 0600, "scratch/peers", peers.buf);
    put_file(&p->out, 0644, "hosts", hosts.buf);
}

static void put_follow(struct strbuf *out, const struct pod *p)
{
    size_t frame = wire_frame_begin(out, WIRE_FOLLOW);

    wire_put_u32(out, (uint32_t)p->n_logs);
    for (size_t i = 0; i < p->n_logs; i++) {
        wire_put_str(out, p->logs[i].name);
        wire_put_i64(out, p->logs[i].size);
    }
    wire_frame_end(out, frame);
}

struct strbuf *pod_out(struct pod *p)
{
    return &p->out;
}

void pod_flush(struct pod *p)
{
    if (!p->ready || !p->stream || p->out.len == 0)
        return;
    kube_stream_send(p->stream, p->out.buf, p->out.len);
    strbuf_truncate(&p->out, 0);
}

/* --- logs ------------------------------------------------------------------------------------- */

struct log_place *pod_log(struct pod *p, const char *name)
{
    for (size_t i = 0; i < p->n_logs; i++)
        if (strcmp(p->logs[i].name, name) == 0)
            return &p->logs[i];
    GROW(p->logs, p->n_logs, p->cap_logs);
    p->logs[p->n_logs] = (struct log_place){.name = xstrdup(name)};
    return &p->logs[p->n_logs++];
}

static int append(int dir_fd, const char *name, const char *data, size_t n)
{
    auto_close int fd =
        openat(dir_fd, name, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);

    return fd < 0 ? -errno : io_write_all(fd, data, n);
}

/* The marks of all pods are in one file: only whole lines go there. */
static int append_marks(struct pod *p, const char *data, size_t n)
{
    char *end;

    strbuf_add(&p->marks, data, n);
    end = memrchr(p->marks.buf, '\n', p->marks.len);
    if (!end)
        return 0;
    size_t whole = (size_t)(end - p->marks.buf) + 1;
    int r = append(p->kb->logs_fd, "../marks", p->marks.buf, whole);
    strbuf_consume(&p->marks, whole);
    return r;
}

static bool is_log_name(const char *name)
{
    return *name != '.' && !strchr(name, '/');
}

static bool take_output(struct pod *p, struct wire_reader *r)
{
    const char *name = wire_get_str(r);
    int64_t offset = wire_get_i64(r);
    size_t n;
    const char *data = wire_get_bytes(r, &n);

    if (!wire_done(r) || !is_log_name(name))
        return false;
    struct log_place *log = pod_log(p, name);
    if (offset != log->size)
        return offset < log->size; /* old; a gap makes no sense */
    int result = *name ? append(p->kb->logs_fd, name, data, n) : append_marks(p, data, n);
    if (result < 0 && p->kb->client->unlogged)
        p->kb->client->unlogged(
            p->kb->client->ctx,
            &(struct unlogged){
                .log = name, .error = result, .missing = (int64_t)n, .data = data, .n = n});
    log->size += (int64_t)n;
    return true;
}

/* --- what comes ------------------------------------------------------------------------------- */

void pod_put_clock(struct strbuf *out)
{
    size_t frame = wire_frame_begin(out, WIRE_CLOCK);

    wire_put_i64(out, clock_run());
    wire_frame_end(out, frame);
}

/* Not before the shim of an adopted pod has told all is it known whether it has its code. */
static void begin_requests(struct pod *p)
{
    if (pod_code_begin(p))
        return;
    p->ready = true;
    pod_flush(p);
}

static void take_ready(struct pod *p, struct wire_reader *r)
{
    auto_strbuf struct strbuf first = STRBUF_INIT;

    (void)wire_get_u32(r);
    if (wire_get_u32(r) == 0) { /* an adopted pod that nobody had spoken to */
        p->adopted = p->is_set_up = false;
        put_setup(&first, p);
        kube_stream_send(p->stream, first.buf, first.len);
        return;
    }
    p->heard = true;
    if (!p->is_set_up)
        pod_put_clock(&first);
    put_follow(&first, p);
    if (!p->is_set_up)
        put_files(&first, p->kb);
    else /* its answer is lost with the connection before: what comes twice does no harm */
        strbuf_add(&first, p->trying.buf, p->trying.len);
    p->is_set_up = true;
    p->refused = 0;
    p->lost_at = 0;
    pod_tell_sight(p, false);
    kube_stream_send(p->stream, first.buf, first.len);
    if (!p->adopted || p->has_code || p->told)
        begin_requests(p);
}

static void take_told(struct pod *p)
{
    bool waited = !p->ready && !p->told;

    p->told = true;
    p->has_code |= p->spoke;
    if (waited && !p->sending.on)
        begin_requests(p);
}

static bool is_of_replica(enum obs_kind kind)
{
    return kind == OBS_OPENED || kind == OBS_RANK_STARTED || kind == OBS_RANK_EXITED ||
           kind == OBS_BLAMED;
}

/* For a shim its container's limit is one of a group above. If it cannot see that group, and memory
 * ran out, and the container has a limit, it was that one. */
static void own_memory(const struct role *role, struct ending *end)
{
    int64_t limit = role->res.memory_limit;

    if (!end->oom || limit < 0 || (end->memory_limit >= 0 && end->memory_limit != limit))
        return;
    end->oom_nearby = false;
    end->memory_limit = limit;
    end->memory_of[0] = '\0';
}

static bool take_unlogged(struct pod *p, struct wire_reader *r)
{
    const struct engine_client *client = p->kb->client;
    struct unlogged u = {.log = wire_get_str(r), .error = (int)wire_get_u32(r)};

    u.is_err = wire_get_u32(r);
    u.missing = wire_get_i64(r);
    u.data = wire_get_bytes(r, &u.n);
    if (wire_done(r) && client->unlogged)
        client->unlogged(client->ctx, &u);
    return wire_done(r);
}

static bool take_tried(struct pod *p, struct wire_reader *r)
{
    struct kubernetes *kb = p->kb;
    struct net_tried t;

    if (!frame_tried(r, &t))
        return false;
    strbuf_truncate(&p->trying, 0);
    const char *ip = kb->pods[t.id % kb->plan->n_replicas].ip;
    t.address = ip ? ip : "?";
    if (kb->client->tried)
        kb->client->tried(kb->client->ctx, &t);
    return true;
}

/* Each pod has numbers of its own. Ours are kept before the job hears of them. */
static uint32_t number_launch(struct pod *p, const struct frame_launch *launch, bool starts)
{
    struct kubernetes *kb = p->kb;
    const struct launch_place at = {.replica = p->replica, .generation = p->generation};
    auto_strbuf struct strbuf line = STRBUF_INIT;

    if (kb->launches_of != p->attempt)
        launches_clear(&kb->launches);
    kb->launches_of = p->attempt;
    size_t seen = kb->launches.seen;
    uint32_t number = launches_number(&kb->launches, at, launch, starts);
    if (kb->launches.seen > seen) {
        launches_line(&line, p->attempt, number, at, launch);
        (void)append(kb->run_fd, KUBE_LAUNCHES, line.buf, line.len);
    }
    return number;
}

static bool is_end(enum obs_kind kind)
{
    return kind == OBS_EXITED || kind == OBS_RANK_EXITED;
}

/* SIGTERM and SIGKILL are what a container is ended with, and all that is in it. */
static bool may_be_removal(const struct observation *o)
{
    int sig = o->end.signal ? o->end.signal : o->end.code - 128;
    bool of_daemon = o->blame == BLAME_DAEMON || o->blame == BLAME_AGENT;

    return (is_end(o->kind) || of_daemon) && o->end.known && !o->end.oom && o->end.told == 0 &&
           (sig == SIGTERM || sig == SIGKILL);
}

/* What ends after its pod began to be removed has ended because of that, whatever its status. */
static void explain_end(const struct pod *p, struct observation *o)
{
    if (!is_end(o->kind) || !p->removed || p->ours || o->end.oom ||
        (!may_be_removal(o) && o->at < p->removed_at))
        return;
    o->end.fate = p->removed;
    o->text = p->why;
}

/* An mpirun that failed without a rank is known by its end alone. */
static bool begins_launch(const struct observation *o)
{
    return o->kind == OBS_RANK_STARTED || o->kind == OBS_BLAMED ||
           (o->kind == OBS_MPIRUN_ENDED && o->end.known);
}

/* What its own pod says of an mpirun that was ended because its launcher was over, or by us: that
 * is no cause of anything, and would be dated before what other pods saw. */
static bool is_our_signal(const struct kubernetes *kb, const struct observation *o,
                          const struct frame_launch *launch)
{
    int32_t launcher = kb->plan->launcher;

    if (o->kind != OBS_BLAMED || launch->number != 0)
        return false;
    return (launcher >= 0 && !kb->running[launcher]) ||
           (kb->told_to_end && (kb->killed || o->end.signal != SIGKILL));
}

enum took { TOOK_ALL, TOOK_NOTHING, TOOK_WRONG };

static void take_end(struct pod *p, const struct observation *o)
{
    struct kubernetes *kb = p->kb;

    if ((o->kind == OBS_EXITED || o->kind == OBS_SPAWN_FAILED) &&
        o->process < kb->plan->n_processes && o->instance == kb->starts[o->process].instance)
        kb->running[o->process] = false;
}

/* NOTHING: first the API server is asked. */
static enum took take_observation(struct pod *p, enum wire_type type, struct wire_reader *r)
{
    struct kubernetes *kb = p->kb;
    struct frame_launch launch = {0};
    struct observation o = {0};
    const struct wire_reader body = *r;

    if (!frame_observation(type, r, &o, &launch))
        return TOOK_WRONG;
    p->spoke |= o.kind == OBS_OPENED || o.kind == OBS_STARTED || o.kind == OBS_SPAWN_FAILED ||
                o.kind == OBS_EXITED;
    if (kb->attaching) {
        attach_defer(p, type, &body, o.at);
        take_end(p, &o);
        return TOOK_ALL;
    }
    o.attempt = p->attempt;
    if (launch.origin)
        o.launch = number_launch(p, &launch, begins_launch(&o));
    if (is_our_signal(kb, &o, &launch))
        return TOOK_ALL;
    if (o.kind == OBS_BLAMED)
        o.at = launches_blamed(&kb->launches, o.launch, launch.number == 0, o.at);
    if (is_of_replica(o.kind))
        o.replica = p->replica;
    if (is_end(o.kind))
        own_memory(pod_replica(p)->role, &o.end);
    if (may_be_removal(&o) && !p->removed && !p->ours && !p->asked) {
        p->ended_at = o.at;
        return TOOK_NOTHING;
    }
    explain_end(p, &o);
    take_end(p, &o);
    kb->client->observed(kb->client->ctx, &o);
    return TOOK_ALL;
}

void pod_report(struct pod *p, enum wire_type type, struct wire_reader *r)
{
    bool asked = p->asked;

    p->asked = true; /* its object has just been listed */
    (void)take_observation(p, type, r);
    p->asked = asked;
}

static enum took take_frame(struct pod *p, enum wire_type type, struct wire_reader *r)
{
    struct kubernetes *kb = p->kb;

    switch (type) {
    case WIRE_READY:
        take_ready(p, r);
        return TOOK_ALL;
    case WIRE_TOLD:
        take_told(p);
        return TOOK_ALL;
    case WIRE_REFUSED:
        (void)wire_get_u32(r);
        kb->client->note(kb->client->ctx, wire_get_str(r));
        return TOOK_ALL;
    case WIRE_NOTE:
        kb->client->note(kb->client->ctx, wire_get_str(r));
        return TOOK_ALL;
    case WIRE_OUTPUT:
        return take_output(p, r) ? TOOK_ALL : TOOK_WRONG;
    case WIRE_UNLOGGED:
        return take_unlogged(p, r) ? TOOK_ALL : TOOK_WRONG;
    case WIRE_FILES:
        return pod_code_answer(p, r) ? TOOK_ALL : TOOK_WRONG;
    case WIRE_TRIED:
        return take_tried(p, r) ? TOOK_ALL : TOOK_WRONG;
    case WIRE_HEARD:
    case WIRE_BYE:
        return TOOK_ALL;
    default:
        return take_observation(p, type, r);
    }
}

static void ask(struct pod *p);
static void reject(struct pod *p);

static void take_frames(struct pod *p)
{
    struct kubernetes *kb = p->kb;
    size_t used = 0;

    while (!p->asks) {
        struct wire_reader body;
        enum wire_type type;
        long len = wire_frame_next(p->in.buf + used, p->in.len - used, &type, &body);
        enum took took = len > 0 ? take_frame(p, type, &body) : TOOK_ALL;

        if (p->state == POD_ENDED)
            break; /* it was given up, with all that is left of it */
        if (took == TOOK_NOTHING) {
            ask(p);
            break;
        }
        if (len < 0 || took == TOOK_WRONG) {
            reject(p);
            return;
        }
        if (len <= 0)
            break;
        used += (size_t)len;
    }
    strbuf_consume(&p->in, used < p->in.len ? used : p->in.len);
    cluster_turn(kb);
}

static void on_data(void *ctx, int channel, const char *data, size_t n)
{
    struct pod *p = ctx;

    if (channel != STREAM_OUT)
        return; /* what connect itself has to say is the reason of its end */
    strbuf_add(&p->in, data, n);
    take_frames(p);
}

/* --- who ended it? ---------------------------------------------------------------------------- */

static void link_ended(struct pod *p);

static void answered(void *ctx, const struct kube_answer *answer)
{
    struct pod *p = ctx;
    const struct node *items = node_get(answer->body, "items");
    bool listed = kube_ok(answer) && items && items->type == NODE_SEQ;

    if (!p->asks || p->kb->releasing)
        return;
    p->asks = false;
    p->asked = true;
    /* with the connection still there, or what it left, nothing of this ends the pod yet */
    if (listed && items->n == 1)
        pod_look(p, items->items[0]);
    else if (listed)
        pod_is_missing(p);
    take_frames(p);
    if (!p->stream)
        link_ended(p);
}

/* A process ended as if somebody had removed its pod. The news of that come by another connection,
 * and may be later. */
static void ask(struct pod *p)
{
    p->asks = true;
    cluster_ask_pod(p, answered);
}

/* --- the connection --------------------------------------------------------------------------- */

static void on_time(uv_timer_t *timer)
{
    pod_connect(timer->data);
}

/* Nobody can say how it ended, and nobody will: its node is away, and its time is over. */
static bool is_given_up(const struct pod *p)
{
    return p->removed && p->unseen && clock_mono() > p->gone_by;
}

static void link_ended(struct pod *p)
{
    struct kubernetes *kb = p->kb;

    strbuf_truncate(&p->in, 0);
    if (p->state == POD_RUNS && !p->container_ended && is_given_up(p)) {
        p->container_ended = true;
        p->end = ENDING_UNKNOWN;
    }
    if (p->container_ended) {
        pod_container_ended(p);
    } else if (p->state == POD_RUNS && !kb->releasing) {
        ns_t now = clock_mono();

        p->lost_at = p->lost_at ? p->lost_at : now;
        if (p->is_set_up && now > p->lost_at + LIMIT_UNSEEN_S * NS_PER_S)
            pod_tell_sight(p, true);
        (void)uv_timer_start(p->timer, on_time, AGAIN_MS << p->invalid, 0);
    }
    cluster_turn(kb);
}

/* What comes after a message that makes no sense cannot be understood either. Its reports are kept:
 * another connection may bring them. */
static void reject(struct pod *p)
{
    struct kubernetes *kb = p->kb;

    kube_stream_free(p->stream);
    p->stream = NULL;
    p->ready = p->heard = p->asks = false;
    pod_code_stop(p);
    p->invalid++;
    if (p->invalid == 1) {
        auto_free char *text = xasprintf(
            "the supervisor in pod %s sent an invalid message; connecting again", p->name);
        kb->client->note(kb->client->ctx, text);
    }
    if (p->invalid >= LIMIT_INVALID_FRAMES && !p->container_ended) {
        cluster_delete_pod(p);
        free(p->why);
        p->why = xasprintf("the supervisor in pod %s sent %d invalid messages", p->name,
                           LIMIT_INVALID_FRAMES);
        p->container_ended = true;
        p->end = ENDING_UNKNOWN;
        p->end.fate = CAUSE_GONE;
    }
    link_ended(p);
}

enum { REFUSALS_TOLD = 5 }; /* a kubelet may need a moment after it has started a container */

static void on_ended(void *ctx, int status, const struct err *e)
{
    struct pod *p = ctx;

    (void)status;
    if (!p->is_set_up && e && e->code == -EACCES) {
        auto_free char *text = xasprintf("cannot run a command in pod %s: %s", p->name, e->text);
        cluster_lacks_right(p->kb, text);
    }
    if (!p->is_set_up && ++p->refused == REFUSALS_TOLD) {
        auto_free char *text = xasprintf("cannot run a command in pod %s; trying again%s%s",
                                         p->name, e ? ": " : "", e ? e->text : "");
        p->kb->client->note(p->kb->client->ctx, text);
    }
    p->stream = NULL;
    p->ready = p->heard = false;
    pod_code_stop(p);
    if (p->kb->owned && p->kb->releasing)
        owned_left(p->kb);
    else if (!p->asks)
        link_ended(p);
}

static void on_room(void *ctx)
{
    pod_code_more(ctx);
}

static void on_opened(void *ctx)
{
    struct pod *p = ctx;
    auto_strbuf struct strbuf first = STRBUF_INIT;

    if (p->is_set_up || p->adopted)
        frame_attach(&first);
    else
        put_setup(&first, p);
    kube_stream_send(p->stream, first.buf, first.len);
}

void pod_connect(struct pod *p)
{
    auto_arena struct arena *a = arena_new();
    struct kubernetes *kb = p->kb;
    const struct node *pod = kube_pod(a, &kb->run, pod_replica(p), p->attempt, p->generation);
    const char *path = arena_printf(
        a,
        "pods/%s/exec?container=%s&command=%s&command=connect&command=%s&stdin=1&stdout=1&stderr=1",
        p->name, kube_container_name(pod), kube_query(a, POD_SHIM), kube_query(a, POD_RUN_DIR));

    if (p->stream || p->state != POD_RUNS)
        return;
    p->stream = kube_stream_new(
        kb->api, kb->loop, kube_path(a, kb, path),
        &(struct stream_client){
            .opened = on_opened, .data = on_data, .ended = on_ended, .room = on_room, .ctx = p});
}

void pod_close(struct pod *p)
{
    kube_stream_free(p->stream);
    p->stream = NULL;
    p->ready = p->heard = p->asks = false;
    pod_init_forget(p);
    pod_code_stop(p);
    if (p->timer)
        (void)uv_timer_stop(p->timer);
    strbuf_truncate(&p->in, 0);
    strbuf_truncate(&p->out, 0);
}

/* A replica of a gang whose container ended before any command was asked for. */
static void tell_unstarted(struct pod *p)
{
    struct kubernetes *kb = p->kb;
    uint32_t first = pod_replica(p)->first_process;

    if (kb->running[first] || p->is_set_up)
        return;
    kb->client->observed(kb->client->ctx, &(struct observation){.kind = OBS_SPAWN_FAILED,
                                                                .at = clock_run(),
                                                                .attempt = p->attempt,
                                                                .process = first,
                                                                .replica = p->replica,
                                                                .text = p->why,
                                                                .end = p->end});
}

/* What was to be started again in the pod that is gone now; or is not any more. */
static void start_put_off(struct pod *p)
{
    struct kubernetes *kb = p->kb;
    const struct replica *rp = pod_replica(p);

    for (uint32_t i = 0; i < rp->n_processes; i++) {
        uint32_t process = rp->first_process + i;
        struct start start = kb->put_off[process];

        kb->put_off[process] = (struct start){0};
        if (start.attempt && !p->ours)
            kb->engine.ops->start(&kb->engine, process, start);
        else if (start.attempt)
            kb->client->observed(kb->client->ctx, &(struct observation){.kind = OBS_EXITED,
                                                                        .at = clock_run(),
                                                                        .attempt = start.attempt,
                                                                        .process = process,
                                                                        .instance = start.instance,
                                                                        .end = ENDING_UNKNOWN});
    }
}

/* What was said before the end is on its way, if there is a connection: it ends, too. */
void pod_container_ended(struct pod *p)
{
    struct kubernetes *kb = p->kb;
    const struct replica *rp = pod_replica(p);

    if (p->stream || p->asks || p->state == POD_ENDED)
        return;
    p->state = POD_ENDED;
    pod_close(p);
    if (p->removed && !p->ours && !p->end.oom)
        p->end.fate = p->removed;
    tell_unstarted(p);
    for (uint32_t i = 0; i < rp->n_processes; i++) {
        uint32_t process = rp->first_process + i;
        struct observation o = {.kind = OBS_EXITED,
                                .at = p->end.at ? p->end.at : clock_run(),
                                .attempt = p->attempt,
                                .process = process,
                                .replica = p->replica,
                                .instance = kb->starts[process].instance,
                                .text = p->end.fate ? p->why : NULL,
                                .end = p->end};

        if (!kb->running[process] && !*p->end.init)
            continue;
        if (!kb->running[process])
            o.kind = OBS_SPAWN_FAILED; /* it was not asked for yet */
        kb->running[process] = false;
        if (!p->end.known && !*p->end.init)
            o.kind = OBS_GONE;
        kb->client->observed(kb->client->ctx, &o);
        if (o.kind == OBS_GONE)
            break;
    }
    start_put_off(p);
}
