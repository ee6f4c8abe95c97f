/* hang_stopped.c - who is stopped by a signal, in a job that hangs. Such a process is why it hangs,
 * whatever else stands still, so it is told first: also a daemon of mpirun or a wrapper of ours,
 * which are not spoken of otherwise. */
#include <string.h>

#include "base/limits.h"
#include "base/signame.h"
#include "inspect/hang.h"
#include "inspect/waits.h"

/* A rank by its name; what only serves ranks by its program and its replica. */
static void add_who(const struct hang_seen *seen, const struct snapshot_process *p,
                    struct strbuf *out)
{
    if (!is_told(p, snapshot_has_ranks(seen->snapshot))) {
        strbuf_add_escaped(out, p->threads[0].name, strlen(p->threads[0].name));
        strbuf_addstr(out, p->rank >= 0 ? " of " : " on ");
    }
    hang_add_name(seen->job, p, out);
}

void hang_add_stop(const struct snapshot_process *p, struct strbuf *out)
{
    strbuf_addstr(out, "stopped");
    if (p->stop_signal)
        strbuf_addf(out, " (%s)", signal_name(p->stop_signal));
}

/* The processes of one rank share its name: they are told once. */
static bool is_repeated(const struct snapshot *lk, size_t last)
{
    const struct snapshot_process *p = &lk->v[last];

    for (size_t i = 0; i < last; i++)
        if (snapshot_is_stopped(&lk->v[i]) && lk->v[i].rank == p->rank &&
            lk->v[i].replica == p->replica && lk->v[i].ours == p->ours &&
            (p->rank >= 0 || !strcmp(lk->v[i].threads[0].name, p->threads[0].name)))
            return true;
    return false;
}

size_t hang_add_stopped(const struct hang_seen *seen, struct strbuf *out)
{
    const struct snapshot *lk = seen->snapshot;
    size_t n = 0;

    for (size_t i = 0; i < lk->n; i++) {
        if (!snapshot_is_stopped(&lk->v[i]) || is_repeated(lk, i) || n++ >= LIMIT_HANG_PLACES)
            continue;
        strbuf_addstr(out, n == 1 ? ": " : "; ");
        add_who(seen, &lk->v[i], out);
        strbuf_addstr(out, " is ");
        hang_add_stop(&lk->v[i], out);
    }
    if (n > LIMIT_HANG_PLACES)
        strbuf_addf(out, "; %zu more are stopped", n - LIMIT_HANG_PLACES);
    return n;
}
