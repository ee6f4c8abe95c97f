/* records.c - see records.h. */
#include "shim/records.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "base/limits.h"
#include "base/mem.h"

struct failure {
    uint32_t rank;
    ns_t at;
    bool known;
    struct record_end end;
    char host[LIMIT_NAME + 1];
};

struct mpirun {
    struct mpirun *older;
    char id[LIMIT_LAUNCH_ID + 1];
    uint32_t size, live;
    int64_t program;
    ns_t began, over;
    uint32_t ok, failed, stopped, lost;
    struct failure first[LIMIT_RECORD_FAILURES];
    uint32_t n_first;
    unsigned char *seen; /* a bit per rank */
};

struct record {
    struct mpirun *of;
    uint32_t rank;
    bool told;
    char host[LIMIT_NAME + 1];
};

struct records {
    struct mpirun *newest;
};

struct records *records_new(void)
{
    return xcalloc(1, sizeof(struct records));
}

static void mpirun_free(struct mpirun *m)
{
    free(m->seen);
    free(m);
}

void records_free(struct records *r)
{
    while (r && r->newest) {
        struct mpirun *m = r->newest;

        r->newest = m->older;
        mpirun_free(m);
    }
    free(r);
}

/* --- calls of mpirun -------------------------------------------------------------------------- */

static bool mark_seen(struct mpirun *m, uint32_t rank)
{
    unsigned char bit = (unsigned char)(1U << rank % 8);
    bool seen = m->seen[rank / 8] & bit;

    m->seen[rank / 8] |= bit;
    return seen;
}

static bool is_tried_again(const struct mpirun *m, const struct record_rank *by)
{
    bool other = m->program && by->program && m->program != by->program;

    return m->live == 0 && !other && by->size <= m->size;
}

/* What is over and need not be told any more: it was tried again, or did not fail. */
static void forget(struct records *r, const struct record_rank *next)
{
    struct mpirun **p = &r->newest;
    unsigned kept = 0;

    while (*p) {
        struct mpirun *m = *p;
        bool fine = m->failed == 0 && m->lost == 0;

        if (m->live == 0 &&
            (fine || is_tried_again(m, next) || ++kept >= LIMIT_RECORD_LAUNCHES - 1)) {
            *p = m->older;
            mpirun_free(m);
        } else {
            p = &m->older;
        }
    }
}

static struct mpirun *mpirun_new(struct records *r, const struct record_rank *rank, ns_t now)
{
    struct mpirun *m;

    forget(r, rank);
    m = xcalloc(1, sizeof(*m));
    snprintf(m->id, sizeof(m->id), "%s", rank->launch);
    m->size = rank->size;
    m->program = rank->program;
    m->began = now;
    m->seen = xcalloc(rank->size / 8 + 1, 1);
    m->older = r->newest;
    r->newest = m;
    return m;
}

/* An identifier may come again: Hydra's is a port number. */
static struct mpirun *mpirun_of(struct records *r, const struct record_rank *rank, ns_t now)
{
    struct mpirun *m = r->newest;

    while (m && (strcmp(m->id, rank->launch) != 0 || m->size != rank->size))
        m = m->older;
    if (!m || (mark_seen(m, rank->rank) && m->live == 0)) {
        m = mpirun_new(r, rank, now);
        (void)mark_seen(m, rank->rank);
    }
    return m;
}

/* --- ranks ------------------------------------------------------------------------------------ */

/* A host's name, and nothing that would have to be escaped. */
static void copy_host(char to[LIMIT_NAME + 1], const char *host)
{
    size_t n = 0;

    for (; *host && *host != '.' && n < LIMIT_NAME; host++)
        to[n++] = isalnum((unsigned char)*host) || *host == '-' ? *host : '?';
    to[n] = '\0';
}

struct record *records_begin(struct records *r, const struct record_rank *rank, ns_t now)
{
    struct record *k;

    if (rank->size == 0 || rank->size > LIMIT_PROCESSES || rank->rank >= rank->size ||
        strlen(rank->launch) > LIMIT_LAUNCH_ID)
        return NULL;
    k = xcalloc(1, sizeof(*k));
    k->of = mpirun_of(r, rank, now);
    k->of->live++;
    k->rank = rank->rank;
    copy_host(k->host, rank->host);
    return k;
}

void records_told(struct record *k)
{
    k->told = true;
}

static void leave(struct record *k, ns_t now)
{
    k->of->live--;
    k->of->over = now;
    free(k);
}

static void failed(const struct record *k, const struct record_end *end, ns_t now)
{
    struct mpirun *m = k->of;

    if (m->n_first == LIMIT_RECORD_FAILURES)
        return;
    m->first[m->n_first] = (struct failure){.rank = k->rank, .at = now, .known = end != NULL};
    if (end)
        m->first[m->n_first].end = *end;
    memcpy(m->first[m->n_first].host, k->host, sizeof(k->host));
    m->n_first++;
}

void records_end(struct records *r, struct record *k, const struct record_end *end, ns_t now)
{
    struct mpirun *m = k->of;

    (void)r;
    if (end->status == 0 && end->exec_error == 0) {
        m->ok++;
    } else if (end->told || k->told) {
        m->stopped++;
    } else {
        m->failed++;
        failed(k, end, now);
    }
    leave(k, now);
}

void records_lost(struct records *r, struct record *k, ns_t now)
{
    (void)r;
    if (k->told) {
        k->of->stopped++;
    } else {
        k->of->lost++;
        failed(k, NULL, now);
    }
    leave(k, now);
}

/* --- the line --------------------------------------------------------------------------------- */

static long long ago(ns_t at, ns_t now)
{
    return at > 0 && at < now ? (long long)((now - at) / NS_PER_MS) : 0;
}

static void add_failure(const struct failure *f, ns_t now, bool first, struct strbuf *out)
{
    int status = f->end.status;

    strbuf_addf(out, "%s{\"rank\":%u,\"host\":\"%s\",\"ago\":%lld", first ? "" : ",", f->rank,
                f->host, ago(f->at, now));
    if (f->end.exec_error)
        strbuf_addf(out, ",\"exec\":%d", -f->end.exec_error);
    if (f->known && WIFSIGNALED(status))
        strbuf_addf(out, ",\"signal\":%d", WTERMSIG(status));
    else if (f->known)
        strbuf_addf(out, ",\"code\":%d", WEXITSTATUS(status));
    strbuf_addstr(out, f->end.oom ? ",\"oom\":true}" : "}");
}

static void add_mpirun(const struct mpirun *m, ns_t now, bool first, struct strbuf *out)
{
    strbuf_addf(out,
                "%s{\"size\":%u,\"program\":%lld,\"began\":%lld,\"over\":%lld,\"ok\":%u,"
                "\"failed\":%u,\"stopped\":%u,\"lost\":%u,\"first\":[",
                first ? "" : ",", m->size, (long long)m->program, ago(m->began, now),
                m->live ? 0 : ago(m->over, now), m->ok, m->failed, m->stopped, m->lost);
    for (uint32_t i = 0; i < m->n_first; i++)
        add_failure(&m->first[i], now, i == 0, out);
    strbuf_addstr(out, "]}");
}

void records_write(const struct records *r, ns_t now, struct strbuf *out)
{
    const struct mpirun *in_order[LIMIT_RECORD_LAUNCHES];
    size_t n = 0;

    for (const struct mpirun *m = r->newest; m && n < ARRAY_SIZE(in_order); m = m->older)
        if (n == 0 || m->n_first > 0)
            in_order[n++] = m;
    while (n > 0) { /* oldest first; the oldest ones go if there is no room for all */
        auto_strbuf struct strbuf line = STRBUF_INIT;

        strbuf_addstr(&line, RECORDS_PREFIX "{\"launches\":[");
        for (size_t i = n; i > 0; i--)
            add_mpirun(in_order[i - 1], now, i == n, &line);
        strbuf_addstr(&line, "]}");
        if (line.len <= LIMIT_RECORD_BYTES || n == 1) {
            strbuf_add(out, line.buf, line.len);
            return;
        }
        n--;
    }
}
