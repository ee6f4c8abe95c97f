/* kubernetes.c - the Kubernetes engine: what is asked for becomes pods, and frames to their shims.
 *
 * See parts.h for who does what.
 */
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "base/mem.h"
#include "doc/yaml_write.h"
#include "engine/frames.h"
#include "engine/kubernetes/apply.h"
#include "engine/kubernetes/code_map.h"
#include "engine/kubernetes/given.h"
#include "engine/kubernetes/jobs.h"
#include "engine/kubernetes/parts.h"
#include "engine/kubernetes/survey.h"
#include "shim/wire.h"

static struct kubernetes *of(struct engine *en)
{
    return (struct kubernetes *)en;
}

/* Without a directory of its own a process begins in its container's. */
static struct frame_place place(struct arena *a, const struct kubernetes *kb, uint32_t process,
                                struct start start)
{
    const struct plan *plan = kb->plan;
    const char *dir = plan_workdir(a, plan, &plan->replicas[plan->processes[process].replica]);

    return (struct frame_place){.cwd = dir ? dir : "",
                                .env = kube_process_env(a, plan, process, start)};
}

/* Nothing can be started in a run that is not there any more. */
static void refuse_gone(struct pod *p, uint32_t attempt)
{
    p->attempt = attempt;
    pod_refuse(p, CAUSE_UNSCHEDULABLE, p->kb->gone);
}

static void kubernetes_open_replica(struct engine *en, uint32_t replica, uint32_t attempt)
{
    auto_arena struct arena *a = arena_new();
    struct kubernetes *kb = of(en);
    struct pod *p = &kb->pods[replica];
    uint32_t first = kb->plan->replicas[replica].first_process;
    struct frame_place at = place(a, kb, first, (struct start){.attempt = attempt, .instance = 1});

    if (kb->gone) {
        refuse_gone(p, attempt);
        return;
    }
    if (p->state != POD_NONE && p->attempt == attempt && !p->reopen)
        return;
    p->reopen = false;
    cluster_want_pod(p, attempt);
    frame_open(pod_out(p), kb->plan, replica, attempt, &at);
    pod_flush(p);
}

/* Workers were started before all addresses were known, and their ranks may call each other. */
static void share_hosts(struct kubernetes *kb)
{
    for (uint32_t i = 0; i < kb->plan->n_replicas; i++) {
        if (!kb->pods[i].ready)
            continue;
        pod_put_clock(pod_out(&kb->pods[i])); /* nearer than what it got while it was started */
        pod_put_hosts(&kb->pods[i]);
        pod_flush(&kb->pods[i]);
    }
}

/* Its command waits for the workers, but its pod need not: it comes up beside theirs. Init
 * containers may expect what waits for the workers, so these wait, too. */
static void want_launcher(struct kubernetes *kb, uint32_t attempt)
{
    int32_t launcher = kb->plan->launcher;

    if (launcher < 0)
        return;
    struct pod *p = &kb->pods[kb->plan->processes[launcher].replica];
    if (pod_replica(p)->role->n_init == 0 && (p->state == POD_NONE || p->attempt != attempt))
        cluster_want_pod(p, attempt);
}

static void kubernetes_start(struct engine *en, uint32_t process, struct start start)
{
    auto_arena struct arena *a = arena_new();
    struct kubernetes *kb = of(en);
    struct pod *p = &kb->pods[kb->plan->processes[process].replica];
    struct frame_place at = place(a, kb, process, start);

    if (kb->gone) {
        refuse_gone(p, start.attempt);
        return;
    }
    if (kb->starts[process].attempt == start.attempt &&
        kb->starts[process].instance >= start.instance)
        return;
    if (p->state == POD_RUNS && p->removed && !p->ours && p->attempt == start.attempt) {
        kb->put_off[process] = start; /* in the next pod: this one takes along what starts in it */
        return;
    }
    kb->starts[process] = start;
    kb->running[process] = true;
    cluster_want_pod(p, start.attempt);
    want_launcher(kb, start.attempt);
    if ((int32_t)process == kb->plan->launcher)
        share_hosts(kb);
    pod_put_hosts(p);
    frame_spawn(pod_out(p), kb->plan, process, start, &at);
    pod_flush(p);
}

static void kubernetes_signal(struct engine *en, int sig)
{
    struct kubernetes *kb = of(en);

    kb->told_to_end |= sig != SIGUSR1 && sig != SIGUSR2;
    for (uint32_t i = 0; i < kb->plan->n_replicas; i++) {
        struct pod *p = &kb->pods[i];

        if (sig != SIGUSR1 && sig != SIGUSR2)
            pod_unwanted(p);
        if (!p->ready)
            continue; /* nothing runs there that we know of */
        frame_signal(pod_out(p), kb->plan, sig);
        pod_flush(p);
    }
}

/* A pod that does not run, or whose shim does not answer, is deleted; it is gone then. */
static void kill_pod(struct pod *p)
{
    p->ours = true;
    if (p->state == POD_WANTED || p->state == POD_NONE || p->state == POD_ENDED) {
        p->state = p->state == POD_WANTED ? POD_NONE : p->state;
        return;
    }
    if (!p->ready) {
        cluster_delete_pod(p);
        return;
    }
    frame_kill(pod_out(p));
    pod_flush(p);
}

static void kubernetes_kill(struct engine *en)
{
    struct kubernetes *kb = of(en);

    kb->told_to_end = kb->killed = true;
    for (uint32_t i = 0; i < kb->plan->n_replicas; i++)
        kill_pod(&kb->pods[i]);
}

static void kubernetes_kill_role(struct engine *en, uint32_t role)
{
    struct kubernetes *kb = of(en);

    for (uint32_t i = 0; i < kb->plan->n_replicas; i++)
        if (kb->plan->replicas[i].role_index == role)
            kill_pod(&kb->pods[i]);
}

static void kubernetes_hold(struct engine *en)
{
    struct kubernetes *kb = of(en);

    for (uint32_t i = 0; i < kb->plan->n_replicas; i++) {
        struct pod *p = &kb->pods[i];

        if (!p->ready)
            continue;
        wire_frame_end(pod_out(p), wire_frame_begin(pod_out(p), WIRE_HOLD));
        pod_flush(p);
    }
}

static void kubernetes_clear(struct engine *en)
{
    struct kubernetes *kb = of(en);

    for (uint32_t i = 0; i < kb->plan->n_replicas; i++) {
        struct pod *p = &kb->pods[i];

        cluster_delete_pod(p);
        pod_close(p);
        p->state = POD_NONE;
    }
    memset(kb->put_off, 0, kb->plan->n_processes * sizeof(*kb->put_off));
    kb->told_to_end = kb->killed = false;
}

static void kubernetes_release(struct engine *en)
{
    struct kubernetes *kb = of(en);

    if (kb->owned) {
        owned_end(kb);
        return;
    }
    for (uint32_t i = 0; i < kb->plan->n_replicas; i++)
        pod_close(&kb->pods[i]);
    cluster_end(kb);
}

static void kubernetes_try(struct engine *en, const struct net_try *t)
{
    struct kubernetes *kb = of(en);
    struct pod *p = &kb->pods[t->replica];
    const char *ip = kb->pods[t->to].ip;

    strbuf_truncate(&p->trying, 0);
    frame_try(&p->trying, 0, t->to == t->replica ? "" : ip ? ip : "0.0.0.0", t);
    strbuf_add(pod_out(p), p->trying.buf, p->trying.len);
    pod_flush(p);
}

static void kubernetes_try_end(struct engine *en)
{
    struct kubernetes *kb = of(en);

    for (uint32_t i = 0; i < kb->plan->n_replicas; i++) {
        struct pod *p = &kb->pods[i];

        strbuf_truncate(&p->trying, 0);
        if (!p->ready)
            continue;
        frame_try_end(pod_out(p));
        pod_flush(p);
    }
}

static void kubernetes_detach(struct engine *en, int64_t keep_s)
{
    cluster_detach(of(en), keep_s);
}

static void kubernetes_status(const struct engine *en, struct strbuf *out)
{
    pods_status((const struct kubernetes *)en, out);
}

static int kubernetes_log_open(struct engine *en, const char *name)
{
    int fd = openat(of(en)->logs_fd, name, O_RDONLY | O_CLOEXEC);

    return fd < 0 ? -errno : fd;
}

/* --- beginning and end ------------------------------------------------------------------------ */

static void on_closed(uv_handle_t *handle)
{
    free(handle);
}

static uv_timer_t *timer_new(uv_loop_t *loop, void *data)
{
    uv_timer_t *timer = xcalloc(1, sizeof(*timer));

    (void)uv_timer_init(loop, timer);
    timer->data = data;
    return timer;
}

static void kubernetes_free(struct engine *en)
{
    struct kubernetes *kb = of(en);

    if (!kb)
        return;
    for (uint32_t i = 0; i < kb->plan->n_replicas; i++) {
        struct pod *p = &kb->pods[i];

        pod_close(p);
        uv_close((uv_handle_t *)p->timer, on_closed);
        for (size_t k = 0; k < p->n_logs; k++)
            free(p->logs[k].name);
        free(p->logs);
        strbuf_release(&p->in);
        strbuf_release(&p->out);
        strbuf_release(&p->marks);
        strbuf_release(&p->trying);
        free(p->name);
        free(p->ip);
        free(p->waits_for);
        free(p->news_reason);
        free(p->news_text);
        free(p->why);
    }
    kube_watch_free(kb->watch);
    events_end(kb);
    uv_close((uv_handle_t *)kb->events_timer, on_closed);
    uv_close((uv_handle_t *)kb->attach_timer, on_closed);
    (void)uv_timer_stop(kb->heartbeat);
    uv_close((uv_handle_t *)kb->heartbeat, on_closed);
    kube_client_free(kb->api);
    free(kb->pods);
    free(kb->starts);
    free(kb->running);
    launches_clear(&kb->launches);
    attach_release(kb);
    code_release(&kb->code);
    free(kb->put_off);
    if (kb->run_fd >= 0)
        (void)close(kb->run_fd);
    arena_free(kb->arena);
    free(kb);
}

static const struct engine_ops kubernetes_ops = {
    .open = kubernetes_open_replica,
    .start = kubernetes_start,
    .signal = kubernetes_signal,
    .kill = kubernetes_kill,
    .kill_role = kubernetes_kill_role,
    .hold = kubernetes_hold,
    .clear = kubernetes_clear,
    .release = kubernetes_release,
    .detach = kubernetes_detach,
    .free = kubernetes_free,
    .exec = kubernetes_exec,
    .exec_stop = kubernetes_exec_stop,
    .log_open = kubernetes_log_open,
    .status = kubernetes_status,
    .try = kubernetes_try,
    .try_end = kubernetes_try_end,
    .explain_unreachable = kubernetes_explain_unreachable,
};

struct kubernetes *kubernetes_new(const struct engine_open *how)
{
    struct kubernetes *kb = xcalloc(1, sizeof(*kb));
    const struct plan *plan = how->plan;

    *kb = (struct kubernetes){
        .engine.ops = &kubernetes_ops,
        .plan = plan,
        .client = how->client,
        .loop = how->loop,
        .logs_fd = how->logs_fd,
        .run_fd = openat(how->logs_fd, "..", O_RDONLY | O_DIRECTORY | O_CLOEXEC),
        .arena = arena_new(),
        .pods = xcalloc(plan->n_replicas + 1, sizeof(*kb->pods)),
        .starts = xcalloc(plan->n_processes + 1, sizeof(*kb->starts)),
        .running = xcalloc(plan->n_processes + 1, sizeof(*kb->running)),
        .put_off = xcalloc(plan->n_processes + 1, sizeof(*kb->put_off)),
        .heartbeat = timer_new(how->loop, kb),
        .events_timer = timer_new(how->loop, kb),
        .attach_timer = timer_new(how->loop, kb),
    };
    for (uint32_t i = 0; i < plan->n_replicas; i++)
        kb->pods[i] = (struct pod){.kb = kb,
                                   .replica = i,
                                   .init_log = -1,
                                   .in = STRBUF_INIT,
                                   .out = STRBUF_INIT,
                                   .marks = STRBUF_INIT,
                                   .trying = STRBUF_INIT,
                                   .timer = timer_new(how->loop, &kb->pods[i])};
    kb->run = (struct kube_run){.plan = plan, .name = plan->facts->site.service};
    return kb;
}

int kubernetes_finish_open(struct kubernetes *kb, int r, struct engine **ret)
{
    if (r < 0)
        kubernetes_free(&kb->engine);
    else
        *ret = &kb->engine;
    return r;
}

static int kubernetes_open(const struct engine_open *how, struct engine **ret, struct err *e)
{
    struct kubernetes *kb = kubernetes_new(how);
    const struct site *site = &how->plan->facts->site;

    kb->away = (struct away){
        .context = site->context, .namespace_ = site->namespace_, .keep_s = KUBE_ANCHOR_S};
    (void)!getrandom(kb->away.key, sizeof(kb->away.key), 0);
    int r = kubernetes_access(kb->arena, site->context, site->namespace_, &kb->access, e);
    if (r == 0)
        r = pod_code_list(kb, e);
    if (r == 0)
        r = away_write(kb->run_fd, &kb->away, e);
    if (r == 0)
        r = cluster_begin(kb, e);
    if (r == 0)
        pod_code_tell(kb);
    return kubernetes_finish_open(kb, r, ret);
}

static int kubernetes_attach(const struct engine_open *how, struct engine **ret, struct err *e)
{
    struct kubernetes *kb = kubernetes_new(how);
    const struct site *site = &how->plan->facts->site;

    int r = away_read(kb->arena, kb->run_fd, &kb->away, e);
    if (r == 0)
        r = kubernetes_access(kb->arena, site->context, site->namespace_, &kb->access, e);
    if (r == 0) {
        if (pod_code_list(kb, e) < 0) /* only pods that are created from now on need it */
            kb->no_code = arena_strdup(kb->arena, e->text);
        attach_prepare(kb, how->job);
        r = cluster_attach(kb, e);
    }
    return kubernetes_finish_open(kb, r, ret);
}

static void add_manifest(struct strbuf *out, const struct node *object)
{
    strbuf_addstr(out, "---\n");
    yaml_write(out, object);
}

static void kubernetes_manifests(struct arena *a, const struct plan *plan, struct strbuf *out)
{
    const struct kube_run run = {.plan = plan, .name = kube_run_name(a, plan->facts->site.run_id)};
    const struct given_object *given;
    size_t n = given_objects(a, &run, GIVEN_MASKED, &given);

    strbuf_addf(
        out,
        "# `muster run` also creates the ConfigMap %s with the program muster-shim, and makes\n"
        "# the Job the owner of all other objects.\n",
        run.name);
    add_manifest(out, kube_anchor(a, &run));
    add_manifest(out, kube_service(a, &run));
    if (plan->facts->site.gang)
        add_manifest(out, kube_pod_group(a, &run));
    for (size_t i = 0; i < n; i++)
        add_manifest(out, given[i].object);
    for (uint32_t i = 0; i < plan->n_replicas; i++)
        add_manifest(out, kube_pod(a, &run, &plan->replicas[i], 1, 1));
}

static int kubernetes_pack(struct arena *a, const struct plan *plan, const char *name,
                           const char *option, const struct node **ret, struct err *e)
{
    const char *from = plan->facts->site.code_from;
    struct code_list list = {0};
    int r = 0;

    *ret = NULL;
    if (from)
        r = code_add(&list, from, POD_CODE, option, e);
    if (from && r == 0)
        r = code_map_make(a, &list, name, option, ret, e);
    code_release(&list);
    return r;
}

const struct engine_class engine_kubernetes = {
    .name = "kubernetes",
    .has_images = true,
    .detaches = true,
    .survey = kubernetes_survey,
    .plan = kubernetes_plan,
    .manifests = kubernetes_manifests,
    .pack = kubernetes_pack,
    .open = kubernetes_open,
    .attach = kubernetes_attach,
    .apply = kubernetes_apply,
    .jobs = kubernetes_jobs,
};
