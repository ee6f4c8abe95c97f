/* waits.c - who waits for whom; see waits.h. */
#include "inspect/waits.h"

const struct snapshot_process *owner_of(const struct snapshot *lk, const struct snapshot_socket *s)
{
    return s->owner >= 0 ? &lk->v[s->owner] : NULL;
}

static const struct snapshot_socket *by_fd(const struct snapshot_process *p, unsigned long fd)
{
    for (size_t i = 0; i < p->n_sockets; i++)
        if (p->sockets[i].tcp && (unsigned long)p->sockets[i].fd == fd)
            return &p->sockets[i];
    return NULL;
}

/* Could it be this one that a process waits for when it looks at all its sockets? 0 = no. A rank's
 * connection to its daemon is always there and always silent. */
static int rating(const struct snapshot *lk, const struct snapshot_process *p,
                  const struct snapshot_socket *s)
{
    const struct snapshot_process *to = owner_of(lk, s);

    if (!s->tcp || s->unread > 0 || to == p || (to && to->ours))
        return 0;
    if (to && to->rank < 0 && p->rank >= 0)
        return 0;
    switch (s->state) {
    case SOCKET_SYN_SENT:
        return 3;
    case SOCKET_ESTABLISHED:
    case SOCKET_CLOSE_WAIT:
        return 2;
    case SOCKET_LISTEN:
        return p->rank < 0; /* MPI's ranks all listen, whether or not anybody is to come */
    default:
        return 0;
    }
}

static bool has_choice(const struct edge *e, int32_t owner)
{
    for (size_t i = 0; i < e->choices && i < ARRAY_SIZE(e->owners); i++)
        if (e->owners[i] == owner && owner >= 0)
            return true;
    return false;
}

static void add_choice(struct edge *e, const struct snapshot_socket *s)
{
    if (has_choice(e, s->owner))
        return;
    if (e->choices < ARRAY_SIZE(e->owners))
        e->owners[e->choices] = s->owner;
    if (e->choices++ == 0)
        e->socket = s;
}

static struct edge any_of(const struct snapshot *lk, const struct snapshot_process *p)
{
    struct edge e = {.from = p};
    int best = 0;

    for (size_t i = 0; i < p->n_sockets; i++) {
        int r = rating(lk, p, &p->sockets[i]);

        if (r == 0 || r < best)
            continue;
        if (r > best)
            e = (struct edge){.from = p};
        best = r;
        add_choice(&e, &p->sockets[i]);
    }
    return e;
}

static struct edge edge_of_thread(const struct snapshot *lk, const struct snapshot_process *p,
                                  const struct snapshot_thread *t)
{
    enum wait_kind kind = snapshot_wait_kind(t->call);
    const struct snapshot_socket *s = by_fd(p, t->first);
    struct edge e = {.from = p};

    if (kind == WAIT_ANY)
        return any_of(lk, p);
    if (kind != WAIT_NOT && s)
        add_choice(&e, s);
    return e;
}

/* The main thread's word counts. Only if it waits for another thread, those that read a connection
 * are asked: others poll in the background of every MPI rank, which means nothing. */
struct edge edge_of(const struct snapshot *lk, const struct snapshot_process *p)
{
    struct edge e = {.from = p};

    if (snapshot_is_stopped(p)) /* it waits for whoever has stopped it */
        return e;
    if (p->n_threads > 0)
        e = edge_of_thread(lk, p, &p->threads[0]);
    if (p->n_threads == 0 || !snapshot_is_join(p->threads[0].call))
        return e;
    for (size_t i = 1; i < p->n_threads && !e.socket; i++)
        if (snapshot_wait_kind(p->threads[i].call) != WAIT_ANY)
            e = edge_of_thread(lk, p, &p->threads[i]);
    return e;
}

bool snapshot_has_ranks(const struct snapshot *lk)
{
    for (size_t i = 0; i < lk->n; i++)
        if (lk->v[i].rank >= 0 && !lk->v[i].ours)
            return true;
    return false;
}

bool is_told(const struct snapshot_process *p, bool ranks)
{
    return !p->ours && *p->command && (!ranks || p->rank >= 0);
}

static bool is_waited_for(const struct snapshot *lk, bool ranks, int32_t who)
{
    for (size_t i = 0; i < lk->n; i++) {
        struct edge e = edge_of(lk, &lk->v[i]);

        if (is_told(&lk->v[i], ranks) && has_choice(&e, who))
            return true;
    }
    return false;
}

const struct snapshot_process *find_root(const struct snapshot *lk, bool ranks)
{
    for (size_t i = 0; i < lk->n; i++)
        if (is_told(&lk->v[i], ranks) && !edge_of(lk, &lk->v[i]).socket &&
            is_waited_for(lk, ranks, (int32_t)i))
            return &lk->v[i];
    return NULL;
}
