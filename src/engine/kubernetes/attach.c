/* attach.c - a run that another muster has started: its pods are found again, and each of their
 * shims tells what happened meanwhile.
 *
 * Nothing is decided before all of them have: who failed first is asked of all reports together,
 * and what has not been started is known only then. A pod that does not answer in time is out of
 * sight, as at any other time.
 */
#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/io.h"
#include "base/limits.h"
#include "base/mem.h"
#include "base/num.h"
#include "engine/kubernetes/parts.h"

enum { LAUNCHES_BYTES = 64 * 1024 * 1024 };

/* --- what is here ----------------------------------------------------------------------------- */

/* Whose log it is: "worker-0.rank-1.attempt-2.log". */
static struct pod *owner_of(struct kubernetes *kb, const char *log, size_t n)
{
    struct pod *found = NULL;
    size_t best = 0;

    for (uint32_t i = 0; i < kb->plan->n_replicas; i++) {
        const char *name = kb->plan->replicas[i].name;
        size_t len = strlen(name);

        if (len > best && len < n && log[len] == '.' && strncmp(log, name, len) == 0) {
            found = &kb->pods[i];
            best = len;
        }
    }
    return found;
}

/* How much of each log is here: the shims send what follows. */
static void measure_logs(struct kubernetes *kb)
{
    int fd = openat(kb->logs_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *dir = fd < 0 ? NULL : fdopendir(fd);
    const struct dirent *d;
    struct stat st;

    while (dir && (d = readdir(dir))) {
        struct pod *p = *d->d_name == '.' ? NULL : owner_of(kb, d->d_name, strlen(d->d_name));

        if (p && fstatat(kb->logs_fd, d->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
            S_ISREG(st.st_mode))
            pod_log(p, d->d_name)->size = st.st_size;
    }
    if (dir)
        (void)closedir(dir);
}

static bool is_of_attempt(const char *log, size_t n, uint32_t attempt)
{
    static const char word[] = ".attempt-";
    const char *at = memmem(log, n, word, strlen(word));
    unsigned long of = at ? strtoul(at + strlen(word), NULL, 10) : 1;

    return of == attempt;
}

/* "MS OFFSET STREAM LOG\n" */
static void count_mark(struct kubernetes *kb, const char *line, size_t n)
{
    const char *log = line;

    for (int i = 0; i < 3 && log; i++)
        log = memchr(log, ' ', n - (size_t)(log - line)) ? strchr(log, ' ') + 1 : NULL;
    if (!log)
        return;
    size_t len = n - (size_t)(log - line);
    struct pod *p = owner_of(kb, log, len);
    if (p && is_of_attempt(log, len, kb->attempt))
        pod_log(p, "")->size += (int64_t)n + 1;
}

/* The marks of all pods are in one file: how much of it is each one's. */
static void measure_marks(struct kubernetes *kb)
{
    auto_close int fd = openat(kb->run_fd, "marks", O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    auto_strbuf struct strbuf in = STRBUF_INIT;
    static char chunk[64 * 1024]; /* too large for a small stack */
    ssize_t n;

    while (fd >= 0 && (n = read(fd, chunk, sizeof(chunk))) > 0) {
        const char *line, *nl;

        strbuf_add(&in, chunk, (size_t)n);
        line = in.buf;
        while ((nl = memchr(line, '\n', in.len - (size_t)(line - in.buf)))) {
            count_mark(kb, line, (size_t)(nl - line));
            line = nl + 1;
        }
        strbuf_consume(&in, (size_t)(line - in.buf));
    }
}

void attach_read_launches(struct kubernetes *kb, const struct job *job, char *lines)
{
    launches_read(&kb->launches, kb->attempt, job->n_launches, lines);
    kb->launches_of = kb->attempt;
}

static void read_launches(struct kubernetes *kb, const struct job *job)
{
    auto_strbuf struct strbuf text = STRBUF_INIT, again = STRBUF_INIT;

    if (io_read_regular(kb->run_fd, KUBE_LAUNCHES, LAUNCHES_BYTES, &text, NULL) < 0)
        return;
    attach_read_launches(kb, job, text.buf);
    launches_write(&kb->launches, kb->attempt, &again);
    (void)io_write_atomic(kb->run_fd, KUBE_LAUNCHES, again.buf, again.len, NULL);
}

void attach_prepare(struct kubernetes *kb, const struct job *job)
{
    kb->attaching = true;
    kb->attempt = job->attempt;
    for (uint32_t i = 0; i < kb->plan->n_processes; i++) {
        if (job->procs[i].state != PROC_RUNNING)
            continue;
        kb->starts[i] = job_start(job, i);
        kb->running[i] = true;
        kb->pods[kb->plan->processes[i].replica].was_running = true;
    }
    for (uint32_t i = 0; job->gated && i < kb->plan->n_replicas; i++)
        kb->pods[i].was_open = job->gates[i] == GATE_UP;
    measure_logs(kb);
    measure_marks(kb);
    read_launches(kb, job);
}

/* --- what is in the cluster ------------------------------------------------------------------- */

void attach_gone(struct kubernetes *kb)
{
    bool late = away_until(kb->run_fd) <= clock_real();

    kb->gone = late ? "the run was removed from the cluster because no muster was attached to it"
                    : "the run was deleted from the cluster";
    for (uint32_t i = 0; i < kb->plan->n_replicas; i++)
        if (kb->pods[i].was_running)
            kb->client->observed(kb->client->ctx, &(struct observation){.kind = OBS_GONE,
                                                                        .at = clock_run(),
                                                                        .attempt = kb->attempt,
                                                                        .replica = i,
                                                                        .end.fate = CAUSE_GONE,
                                                                        .text = kb->gone});
    attach_tell(kb);
    cluster_turn(kb);
}

/* Of several generations the last one counts; the others are on their way out. */
static void find_generation(struct kubernetes *kb, const char *const *firsts, const char *name)
{
    for (uint32_t i = 0; i < kb->plan->n_replicas; i++) {
        struct pod *p = &kb->pods[i];
        uint32_t generation = kube_pod_generation(name, firsts[i]);

        if (generation == 0)
            continue;
        if (generation > p->generation) {
            free(p->name);
            p->name = xstrdup(name);
            p->generation = generation;
        }
        return;
    }
}

/* Of an earlier attempt or generation, whose end was decided and perhaps not carried out. */
static void delete_leftover(struct kubernetes *kb, const char *name)
{
    auto_arena struct arena *a = arena_new();
    const char *rest = arena_printf(a, "pods/%s?gracePeriodSeconds=1", name);

    for (uint32_t i = 0; i < kb->plan->n_replicas; i++)
        if (kb->pods[i].name && strcmp(kb->pods[i].name, name) == 0)
            return;
    (void)kube_send(kb->api,
                    &(struct kube_request){.method = "DELETE", .path = kube_path(a, kb, rest)});
}

static void adopt(struct pod *p)
{
    p->attempt = p->kb->attempt;
    p->state = POD_CREATED;
    p->adopted = p->reopen = true;
    p->is_set_up = p->has_code = p->was_running || (p->was_open && p->generation == 1);
    if (p->generation > 1)
        pod_log(p, "")->size = 0; /* marks that come twice do no harm, missing ones would */
}

/* Its processes ran, and there is no such pod. */
static void miss(struct pod *p, const char *first)
{
    p->name = xstrdup(first);
    p->generation = 1;
    adopt(p);
    pod_is_missing(p);
}

static void on_time(uv_timer_t *timer)
{
    struct kubernetes *kb = timer->data;

    kb->late = true;
    cluster_turn(kb);
}

static const char *name_of(const struct node *pod)
{
    return node_text(node_find(pod, "metadata", "name", NULL), "");
}

static void listed(void *ctx, const struct kube_answer *answer)
{
    auto_arena struct arena *a = arena_new();
    struct kubernetes *kb = ctx;
    const struct node *items = node_get(answer->body, "items");
    const char **firsts = ARENA_ARRAY(a, const char *, kb->plan->n_replicas + 1);

    if (!kube_ok(answer) || !items || items->type != NODE_SEQ) {
        cluster_refuse(kb, answer->message);
        return;
    }
    for (uint32_t i = 0; i < kb->plan->n_replicas; i++)
        firsts[i] = kube_pod_name(a, &kb->run, &kb->plan->replicas[i], kb->attempt, 1);
    for (size_t i = 0; i < items->n; i++)
        find_generation(kb, firsts, name_of(items->items[i]));
    for (size_t i = 0; i < items->n; i++)
        delete_leftover(kb, name_of(items->items[i]));
    for (uint32_t i = 0; i < kb->plan->n_replicas; i++) {
        struct pod *p = &kb->pods[i];

        if (p->generation > 0)
            adopt(p);
        else if (p->was_running)
            miss(p, firsts[i]);
    }
    pods_watch(kb);
}

void attach_find_pods(struct kubernetes *kb)
{
    auto_arena struct arena *a = arena_new();
    const char *rest =
        arena_printf(a, "pods?labelSelector=%s", kube_query(a, kube_selector(a, &kb->run)));

    (void)kube_send(
        kb->api, &(struct kube_request){
                     .method = "GET", .path = kube_path(a, kb, rest), .done = listed, .ctx = kb});
}

void attach_synced(struct kubernetes *kb)
{
    if (!kb->attaching || uv_is_active((uv_handle_t *)kb->attach_timer))
        return;
    for (uint32_t i = 0; i < kb->plan->n_replicas; i++)
        if (kb->pods[i].adopted && !kb->pods[i].seen)
            pod_is_missing(&kb->pods[i]);
    (void)uv_timer_start(kb->attach_timer, on_time, LIMIT_UNSEEN_S * 1000, 0);
    cluster_turn(kb);
}

bool attach_is_done(const struct kubernetes *kb)
{
    if (!kb->late && !uv_is_active((uv_handle_t *)kb->attach_timer))
        return false; /* not all pods are listed */
    for (uint32_t i = 0; i < kb->plan->n_replicas; i++) {
        const struct pod *p = &kb->pods[i];

        if (p->asks || p->init_call ||
            (p->state == POD_RUNS && p->adopted && !p->told && (p->heard || !kb->late)))
            return false;
    }
    return true;
}

/* --- what happened meanwhile, in its order ---------------------------------------------------- */

struct deferred {
    struct pod *pod;
    enum wire_type type;
    ns_t at;
    size_t number; /* in the order of arrival */
    char *body;
    size_t n;
};

void attach_defer(struct pod *p, enum wire_type type, const struct wire_reader *body, ns_t at)
{
    struct kubernetes *kb = p->kb;
    size_t n = (size_t)(body->end - body->p);

    GROW(kb->deferred, kb->n_deferred, kb->cap_deferred);
    kb->deferred[kb->n_deferred] = (struct deferred){
        .pod = p, .type = type, .at = at, .number = kb->n_deferred, .body = xmalloc(n + 1), .n = n};
    memcpy(kb->deferred[kb->n_deferred++].body, body->p, n);
}

static int by_time(const void *a, const void *b)
{
    const struct deferred *x = a, *y = b;

    if (x->at != y->at)
        return x->at < y->at ? -1 : 1;
    return x->number < y->number ? -1 : x->number > y->number;
}

void attach_tell(struct kubernetes *kb)
{
    kb->attaching = false;
    (void)uv_timer_stop(kb->attach_timer);
    if (kb->n_deferred > 0)
        qsort(kb->deferred, kb->n_deferred, sizeof(*kb->deferred), by_time);
    for (size_t i = 0; i < kb->n_deferred; i++) {
        const struct deferred *d = &kb->deferred[i];
        struct wire_reader body = {.p = d->body, .end = d->body + d->n};

        pod_report(d->pod, d->type, &body);
    }
    attach_release(kb);
}

void attach_release(struct kubernetes *kb)
{
    for (size_t i = 0; i < kb->n_deferred; i++)
        free(kb->deferred[i].body);
    free(kb->deferred);
    kb->deferred = NULL;
    kb->n_deferred = kb->cap_deferred = 0;
}
