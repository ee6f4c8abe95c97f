/* hang_words.c - what a job that hangs looks like: a sentence, a page, a document. */
#include <string.h>

#include "base/num.h"
#include "base/signame.h"
#include "inspect/hang.h"
#include "inspect/waits.h"

/* --- the sentence --------------------------------------------------------------------------------
 */

void hang_add_name(const struct job *job, const struct snapshot_process *p, struct strbuf *out)
{
    if (p->rank >= 0)
        strbuf_addf(out, "rank %d on ", p->rank);
    if (p->replica >= 0)
        strbuf_addstr(out, job->plan->replicas[p->replica].name);
    else
        strbuf_addf(out, "process %d", (int)p->pid);
}

static bool same_name(const struct snapshot_process *a, const struct snapshot_process *b)
{
    return a->rank == b->rank && a->replica == b->replica;
}

static void add_place(const struct snapshot_socket *s, const struct snapshot_process *to,
                      struct strbuf *out)
{
    if (s->state == SOCKET_SYN_SENT)
        strbuf_addf(out, "connecting to %s, no reply", s->far);
    else if (s->state == SOCKET_CLOSE_WAIT)
        strbuf_addf(out, "connected to %s, which closed the connection", s->far);
    else if (to && !s->accepted)
        strbuf_addf(out, "connected to %s, which has not accepted it", s->far);
    else
        strbuf_addf(out, "connected to %s, waiting for data", s->far);
}

/* "rank 2 on worker-1 or rank 3 on worker-1", or how many there are. */
static void add_choices(const struct hang_seen *seen, const struct edge *e, struct strbuf *out)
{
    bool known = e->choices <= ARRAY_SIZE(e->owners);

    for (size_t i = 0; known && i < e->choices; i++)
        known = e->owners[i] >= 0;
    for (size_t i = 0; known && i < e->choices; i++) {
        strbuf_addstr(out, i == 0 ? "" : " or ");
        hang_add_name(seen->job, &seen->snapshot->v[e->owners[i]], out);
    }
    if (!known)
        strbuf_addf(out, "one of %zu connections", e->choices);
    strbuf_addstr(out, ": nothing comes");
}

static void add_edge(const struct hang_seen *seen, const struct edge *e, struct strbuf *out)
{
    const struct snapshot_process *to = owner_of(seen->snapshot, e->socket);

    hang_add_name(seen->job, e->from, out);
    if (e->socket->state == SOCKET_LISTEN) {
        strbuf_addf(out, " is waiting for a connection to %s", e->socket->local);
        return;
    }
    strbuf_addstr(out, " waits for ");
    if (e->choices > 1) {
        add_choices(seen, e, out);
        return;
    }
    if (to && !same_name(to, e->from))
        hang_add_name(seen->job, to, out);
    else
        strbuf_addstr(out, to ? "another process there" : "a process outside the job");
    strbuf_addstr(out, ": ");
    add_place(e->socket, to, out);
}

static void add_root(const struct hang_seen *seen, const struct snapshot_process *root,
                     struct strbuf *out)
{
    auto_arena struct arena *a = arena_new();

    if (root->n_threads == 0 || snapshot_is_stopped(root))
        return;
    strbuf_addstr(out, "; ");
    hang_add_name(seen->job, root, out);
    if (root->threads[0].call == CALL_RUNNING)
        strbuf_addstr(out, " itself is running");
    else
        strbuf_addf(out, " itself is in %s", snapshot_call_name(a, root->threads[0].call));
}

/* How many there were. */
static size_t add_edges(const struct hang_seen *seen, const char *before, struct strbuf *out)
{
    const struct snapshot *lk = seen->snapshot;
    bool ranks = snapshot_has_ranks(lk);
    size_t n = 0;

    for (size_t i = 0; i < lk->n; i++) {
        struct edge e = edge_of(lk, &lk->v[i]);

        if (!is_told(&lk->v[i], ranks) || !e.socket || n++ >= LIMIT_HANG_EDGES)
            continue;
        strbuf_addstr(out, n == 1 ? before : "; ");
        add_edge(seen, &e, out);
    }
    if (n > LIMIT_HANG_EDGES)
        strbuf_addf(out, "; %zu more wait", n - LIMIT_HANG_EDGES);
    const struct snapshot_process *root = n > 0 ? find_root(lk, ranks) : NULL;
    if (root)
        add_root(seen, root, out);
    return n;
}

/* " (rank 2 on worker-1, status 0)" */
static void add_ended(const struct job *job, uint32_t rank, uint32_t replica,
                      const struct ending *end, struct strbuf *out)
{
    strbuf_addf(out, " (rank %u on %s, ", rank, job->plan->replicas[replica].name);
    if (end->signal)
        strbuf_addf(out, "%s)", signal_name(end->signal));
    else
        strbuf_addf(out, "status %d)", end->code);
}

/* Ranks that have ended and those that have not; a single one is why the others wait. */
static void add_rank_counts(const struct job *job, struct strbuf *out)
{
    const struct launch *l = job_last_launch(job);
    auto_strbuf struct strbuf who = STRBUF_INIT;
    uint32_t ended = 0, total = l ? l->size : 0;

    for (uint32_t i = 0; l && i < l->size; i++)
        if (l->ranks[i].state == PROC_ENDED && ended++ == 0)
            add_ended(job, i, l->ranks[i].replica, &l->ranks[i].end, &who);
    for (uint32_t i = 0; !l && i < job->plan->n_processes; i++) {
        const struct process *p = &job->plan->processes[i];

        total += p->rank >= 0;
        if (p->rank >= 0 && job->procs[i].state == PROC_ENDED && ended++ == 0)
            add_ended(job, (uint32_t)p->rank, p->replica, &job->procs[i].end, &who);
    }
    strbuf_addf(out, "%u of %u ranks %s ended%s; the others", ended, total,
                ended == 1 ? "has" : "have", ended == 1 ? who.buf : "");
}

void hang_sentence(const struct hang_seen *seen, struct strbuf *out)
{
    char time[DURATION_TEXT];

    (void)duration_text(seen->timeout_ms, time);
    switch (seen->kind) {
    case HANG_LAUNCHER_ALONE:
        strbuf_addf(out,
                    "the launcher has no child process left and no output for %s (--hang-timeout)",
                    time);
        break;
    case HANG_RANKS_LEFT:
        add_rank_counts(seen->job, out);
        strbuf_addf(out, " have not read or written a byte for %s (--hang-timeout)", time);
        break;
    case HANG_QUIET:
        if (seen->heartbeats) {
            strbuf_addf(
                out, "no output for %s, only heartbeats: no main thread has run (--hang-timeout)",
                time);
            break;
        }
        strbuf_addf(out, "no output and no byte read or written for %s (--hang-timeout)", time);
        break;
    }
    size_t told = hang_add_stopped(seen, out);
    told += add_edges(seen, told > 0 ? "; " : ": ", out);
    hang_add_places(seen, told > 0 ? "; " : ": ", out);
    strbuf_addstr(out, "; see " HANG_TEXT);
}

/* --- the page ------------------------------------------------------------------------------------
 */

static void text_threads(struct arena *a, const struct snapshot_process *p, struct strbuf *out)
{
    for (size_t i = 0; i < p->n_threads; i++) {
        const struct snapshot_thread *t = &p->threads[i];

        strbuf_addf(out, "  thread %d (", (int)t->tid);
        strbuf_add_escaped(out, t->name, strlen(t->name));
        strbuf_addf(out, ") state %c, %s", t->state, snapshot_call_name(a, t->call));
        if (*t->wchan)
            strbuf_addf(out, ", in the kernel at %s", t->wchan);
        strbuf_addch(out, '\n');
    }
    if (p->more_threads > 0)
        strbuf_addf(out, "  and %zu more threads\n", p->more_threads);
}

static void text_sockets(const struct hang_seen *seen, const struct snapshot_process *p,
                         struct strbuf *out)
{
    for (size_t i = 0; i < p->n_sockets; i++) {
        const struct snapshot_socket *s = &p->sockets[i];
        const struct snapshot_process *to = owner_of(seen->snapshot, s);

        strbuf_addf(out, "  fd %d %s ", s->fd, s->tcp ? "tcp" : "unix");
        strbuf_add_escaped(out, s->local, strlen(s->local));
        if (s->tcp && s->state != SOCKET_LISTEN)
            strbuf_addf(out, " -> %s", s->far);
        if (s->tcp)
            strbuf_addf(out, " %s", socket_state_name(s->state));
        if (s->unread > 0 || s->unsent > 0)
            strbuf_addf(out, ", %lu bytes unread, %lu unsent", s->unread, s->unsent);
        if (to) {
            strbuf_addstr(out, s->accepted ? ": " : ": not accepted by ");
            hang_add_name(seen->job, to, out);
            strbuf_addf(out, " (pid %d)", (int)to->pid);
        }
        strbuf_addch(out, '\n');
    }
    if (p->more_sockets > 0)
        strbuf_addf(out, "  and %zu more sockets\n", p->more_sockets);
}

static void text_python(const struct snapshot_process *p, struct strbuf *out)
{
    for (size_t i = 0; p->python && i < p->python->n; i++) {
        const struct py_thread *t = &p->python->v[i];

        strbuf_addf(out, "  Python, thread %lld inside\n", (long long)t->id);
        for (size_t k = 0; k < t->n; k++)
            strbuf_addf(out, "    %s:%d in %s\n", t->frames[k].file, t->frames[k].line,
                        t->frames[k].function);
    }
    if (p->no_python)
        strbuf_addf(out, "  no Python stack: %s\n", p->no_python);
}

static void text_stack(const struct snapshot_process *p, struct strbuf *out)
{
    for (const char *l = p->stack; l && *l; l += strcspn(l, "\n"), l += *l == '\n') {
        strbuf_addstr(out, "  | ");
        strbuf_add(out, l, strcspn(l, "\n"));
        strbuf_addch(out, '\n');
    }
}

void hang_text(const struct hang_seen *seen, const char *sentence, struct strbuf *out)
{
    auto_arena struct arena *a = arena_new();
    char when[CLOCK_TEXT];

    strbuf_addf(out, "%s %s\n%s\n", seen->job->plan->spec->name, clock_rfc3339(seen->at, when),
                sentence);
    for (size_t i = 0; i < seen->snapshot->n; i++) {
        const struct snapshot_process *p = &seen->snapshot->v[i];
        struct edge e = edge_of(seen->snapshot, p);

        if (p->ours || !*p->command)
            continue;
        strbuf_addch(out, '\n');
        hang_add_name(seen->job, p, out);
        strbuf_addf(out, ", pid %d (%d inside), cpu %llu ms, %llu bytes read and written\n  %s\n",
                    (int)p->pid, (int)p->inner, (unsigned long long)p->cpu_ms,
                    (unsigned long long)p->bytes, p->command);
        if (snapshot_is_stopped(p)) {
            strbuf_addstr(out, "  ");
            hang_add_stop(p, out);
            strbuf_addch(out, '\n');
        }
        if (e.socket) {
            strbuf_addstr(out, "  ");
            add_edge(seen, &e, out);
            strbuf_addch(out, '\n');
        }
        if (p->place.file || p->inside) {
            strbuf_addstr(out, "  ");
            hang_add_name(seen->job, p, out);
            hang_add_place(p, out);
            strbuf_addch(out, '\n');
        }
        text_threads(a, p, out);
        text_sockets(seen, p, out);
        text_python(p, out);
        text_stack(p, out);
    }
}

/* --- the document --------------------------------------------------------------------------------
 */

static void json_who(const struct hang_seen *seen, const struct snapshot_process *p, struct json *j)
{
    json_kv_str(j, "replica", p->replica >= 0 ? seen->job->plan->replicas[p->replica].name : NULL);
    if (p->rank >= 0)
        json_kv_int(j, "rank", p->rank);
    else
        json_kv_null(j, "rank");
    json_kv_int(j, "pid", p->pid);
}

static void json_threads(struct arena *a, const struct snapshot_process *p, struct json *j)
{
    json_key(j, "threads");
    json_array(j);
    for (size_t i = 0; i < p->n_threads; i++) {
        const struct snapshot_thread *t = &p->threads[i];

        json_object(j);
        json_kv_int(j, "tid", t->tid);
        json_kv_str(j, "name", t->name);
        json_key(j, "state");
        json_strn(j, &t->state, 1);
        json_kv_str(j, "wchan", *t->wchan ? t->wchan : NULL);
        json_kv_str(j, "syscall", snapshot_call_name(a, t->call));
        json_end(j);
    }
    json_end(j);
}

static void json_sockets(const struct hang_seen *seen, const struct snapshot_process *p,
                         struct json *j)
{
    json_key(j, "sockets");
    json_array(j);
    for (size_t i = 0; i < p->n_sockets; i++) {
        const struct snapshot_socket *s = &p->sockets[i];
        const struct snapshot_process *to = owner_of(seen->snapshot, s);

        json_object(j);
        json_kv_int(j, "fd", s->fd);
        json_kv_str(j, "protocol", s->tcp ? "tcp" : "unix");
        json_kv_str(j, "local", s->local);
        json_kv_str(j, "peer", s->tcp && s->state != SOCKET_LISTEN ? s->far : NULL);
        json_kv_str(j, "state", s->tcp ? socket_state_name(s->state) : NULL);
        json_kv_int(j, "unread", (int64_t)s->unread);
        json_kv_int(j, "unsent", (int64_t)s->unsent);
        json_key(j, "peer_process");
        if (to) {
            json_object(j);
            json_who(seen, to, j);
            json_kv_bool(j, "accepted", s->accepted);
            json_end(j);
        } else {
            json_null(j);
        }
        json_end(j);
    }
    json_end(j);
}

static void json_place(const struct snapshot_process *p, struct json *j)
{
    json_key(j, "place");
    if (!p->place.file) {
        json_null(j);
        return;
    }
    json_object(j);
    json_kv_str(j, "file", p->place.file);
    json_kv_int(j, "line", p->place.line);
    json_kv_str(j, "function", p->place.function);
    json_kv_str(j, "source", p->place.source);
    json_end(j);
}

static void json_python(const struct snapshot_process *p, struct json *j)
{
    json_key(j, "python");
    json_array(j);
    for (size_t i = 0; p->python && i < p->python->n; i++) {
        const struct py_thread *t = &p->python->v[i];

        json_object(j);
        json_kv_int(j, "thread", t->id);
        json_key(j, "frames");
        json_array(j);
        for (size_t k = 0; k < t->n; k++) {
            json_object(j);
            json_kv_str(j, "file", t->frames[k].file);
            json_kv_int(j, "line", t->frames[k].line);
            json_kv_str(j, "function", t->frames[k].function);
            json_end(j);
        }
        json_end(j);
        json_end(j);
    }
    json_end(j);
}

static void json_process(struct arena *a, const struct hang_seen *seen,
                         const struct snapshot_process *p, struct json *j)
{
    struct edge e = edge_of(seen->snapshot, p);
    auto_strbuf struct strbuf waits = STRBUF_INIT;

    if (e.socket)
        add_edge(seen, &e, &waits);
    json_object(j);
    json_who(seen, p, j);
    json_kv_int(j, "inner_pid", p->inner);
    json_kv_str(j, "command", p->command);
    json_kv_int(j, "cpu_ms", (int64_t)p->cpu_ms);
    json_kv_int(j, "bytes", (int64_t)p->bytes);
    json_kv_str(j, "waits", e.socket ? waits.buf : NULL);
    json_kv_str(j, "waits_in", p->inside);
    json_place(p, j);
    json_threads(a, p, j);
    json_sockets(seen, p, j);
    json_python(p, j);
    json_kv_str(j, "stack", p->stack);
    json_end(j);
}

void hang_json(const struct hang_seen *seen, const char *sentence, struct json *j)
{
    static const char *const kinds[] = {[HANG_QUIET] = "quiet",
                                        [HANG_LAUNCHER_ALONE] = "launcher-alone",
                                        [HANG_RANKS_LEFT] = "ranks-left"};
    auto_arena struct arena *a = arena_new();
    char when[CLOCK_TEXT];

    json_object(j);
    json_kv_int(j, "version", 1);
    json_kv_str(j, "job", seen->job->plan->spec->name);
    json_kv_str(j, "at", clock_rfc3339(seen->at, when));
    json_kv_str(j, "kind", kinds[seen->kind]);
    json_kv_int(j, "timeout_ms", seen->timeout_ms);
    json_kv_str(j, "verdict", sentence);
    json_key(j, "processes");
    json_array(j);
    for (size_t i = 0; i < seen->snapshot->n; i++)
        if (!seen->snapshot->v[i].ours && *seen->snapshot->v[i].command)
            json_process(a, seen, &seen->snapshot->v[i], j);
    json_end(j);
    json_end(j);
}
