/* pod_link.c - the shim in a pod: reached by exec of `muster-shim connect`, spoken to as the local
 * engine speaks to its own.
 *
 * The connection goes through the API server and may be lost at any time; the shim keeps what it
 * has to say, and its logs are asked for from where ours end.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/io.h"
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
    wire_put_u32(out, SETUP_WAITS);
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
    if (plan->calls_mpi)
        put_bytes(out, 0600, "scratch/key", kb->key, sizeof(kb->key));
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

static struct log_place *log_of(struct pod *p, const char *name)
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
    struct log_place *log = log_of(p, name);
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

static void take_ready(struct pod *p)
{
    auto_strbuf struct strbuf first = STRBUF_INIT;

    put_follow(&first, p);
    if (!p->is_set_up)
        put_files(&first, p->kb);
    p->is_set_up = p->ready = true;
    kube_stream_send(p->stream, first.buf, first.len);
    pod_flush(p);
}

static bool is_of_replica(enum obs_kind kind)
{
    return kind == OBS_OPENED || kind == OBS_RANK_STARTED || kind == OBS_RANK_EXITED ||
           kind == OBS_BLAMED;
}

/* A shim often cannot see the control group of its container. If memory ran out and the container
 * has a limit, it was that one. */
static void own_memory(const struct role *role, struct ending *end)
{
    if (!end->oom || end->memory_limit >= 0 || role->res.memory_limit < 0)
        return;
    end->oom_nearby = false;
    end->memory_limit = role->res.memory_limit;
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

/* Each pod has numbers of its own. */
static uint32_t number_launch(struct pod *p, const struct frame_launch *launch, bool starts)
{
    struct kubernetes *kb = p->kb;

    if (kb->launches_of != p->attempt)
        launches_clear(&kb->launches);
    kb->launches_of = p->attempt;
    return launches_number(
        &kb->launches, (struct launch_place){.replica = p->replica, .generation = p->generation},
        launch, starts);
}

static bool take_frame(struct pod *p, enum wire_type type, struct wire_reader *r)
{
    struct kubernetes *kb = p->kb;
    struct frame_launch launch = {0};
    struct observation o = {0};

    switch (type) {
    case WIRE_READY:
        take_ready(p);
        return true;
    case WIRE_REFUSED:
        (void)wire_get_u32(r);
        kb->client->note(kb->client->ctx, wire_get_str(r));
        return true;
    case WIRE_NOTE:
        kb->client->note(kb->client->ctx, wire_get_str(r));
        return true;
    case WIRE_OUTPUT:
        return take_output(p, r);
    case WIRE_UNLOGGED:
        return take_unlogged(p, r);
    case WIRE_HEARD:
    case WIRE_BYE:
        return true;
    default:
        break;
    }
    if (!frame_observation(type, r, &o, &launch))
        return false;
    o.attempt = p->attempt;
    if (launch.origin)
        o.launch = number_launch(p, &launch, o.kind == OBS_RANK_STARTED);
    if (is_of_replica(o.kind))
        o.replica = p->replica;
    if (o.kind == OBS_EXITED || o.kind == OBS_RANK_EXITED)
        own_memory(pod_replica(p)->role, &o.end);
    if (o.kind == OBS_EXITED || o.kind == OBS_SPAWN_FAILED)
        if (o.process < kb->plan->n_processes && o.instance == kb->starts[o.process].instance)
            kb->running[o.process] = false;
    kb->client->observed(kb->client->ctx, &o);
    return true;
}

static void on_data(void *ctx, int channel, const char *data, size_t n)
{
    struct pod *p = ctx;
    struct kubernetes *kb = p->kb;
    size_t used = 0;

    if (channel != STREAM_OUT)
        return; /* what connect itself has to say is the reason of its end */
    strbuf_add(&p->in, data, n);
    for (;;) {
        struct wire_reader body;
        enum wire_type type;
        long len = wire_frame_next(p->in.buf + used, p->in.len - used, &type, &body);

        if (len > 0 && !take_frame(p, type, &body))
            len = -EPROTO;
        if (len < 0)
            kb->client->note(kb->client->ctx, "the shim in a pod sent an invalid message");
        if (len <= 0)
            break;
        used += (size_t)len;
    }
    strbuf_consume(&p->in, used);
    kb->client->turn(kb->client->ctx);
}

/* --- the connection --------------------------------------------------------------------------- */

static void on_time(uv_timer_t *timer)
{
    pod_connect(timer->data);
}

static void on_ended(void *ctx, int status, const struct err *e)
{
    struct pod *p = ctx;

    (void)status;
    (void)e;
    p->stream = NULL;
    p->ready = false;
    strbuf_truncate(&p->in, 0);
    if (p->container_ended) {
        pod_container_ended(p);
        p->kb->client->turn(p->kb->client->ctx);
    } else if (p->state == POD_RUNS && !p->kb->releasing) {
        (void)uv_timer_start(p->timer, on_time, AGAIN_MS, 0);
    }
}

static void on_opened(void *ctx)
{
    struct pod *p = ctx;
    auto_strbuf struct strbuf first = STRBUF_INIT;

    if (p->is_set_up)
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
        &(struct stream_client){.opened = on_opened, .data = on_data, .ended = on_ended, .ctx = p});
}

void pod_close(struct pod *p)
{
    kube_stream_free(p->stream);
    p->stream = NULL;
    p->ready = false;
    if (p->timer)
        (void)uv_timer_stop(p->timer);
    strbuf_truncate(&p->in, 0);
    strbuf_truncate(&p->out, 0);
}

/* What was said before the end is on its way, if there is a connection: it ends, too. */
void pod_container_ended(struct pod *p)
{
    struct kubernetes *kb = p->kb;
    const struct replica *rp = pod_replica(p);

    if (p->stream || p->state == POD_ENDED)
        return;
    p->state = POD_ENDED;
    pod_close(p);
    for (uint32_t i = 0; i < rp->n_processes; i++) {
        uint32_t process = rp->first_process + i;
        struct observation o = {.kind = OBS_EXITED,
                                .at = p->end.at ? p->end.at : clock_run(),
                                .attempt = p->attempt,
                                .process = process,
                                .replica = p->replica,
                                .instance = kb->starts[process].instance,
                                .end = p->end};

        if (!kb->running[process])
            continue;
        kb->running[process] = false;
        if (!p->end.known)
            o.kind = OBS_GONE;
        kb->client->observed(kb->client->ctx, &o);
        if (o.kind == OBS_GONE)
            break;
    }
}
