/* jobs.c - all jobs of the daemon: found by id and by number, added, forgotten.
 *
 * What jobs of an array have in common is there once. What only a job that has not ended needs is
 * freed with its end; thousands of rows stay.
 */
#include <string.h>

#include "base/mem.h"
#include "daemon/array.h"
#include "daemon/parts.h"

/* --- by id ------------------------------------------------------------------------------------ */

static uint32_t hash(const char *id)
{
    uint32_t h = 2166136261; /* FNV-1a */

    for (; *id; id++)
        h = (h ^ (uint8_t)*id) * 16777619;
    return h;
}

static struct served **bucket_of(const struct daemon *d, const char *id)
{
    return &d->buckets[hash(id) & (d->n_buckets - 1)];
}

static void add_id(struct daemon *d, struct served *s)
{
    struct served **bucket = bucket_of(d, s->row.id);

    s->next_id = *bucket;
    *bucket = s;
}

static void grow_buckets(struct daemon *d)
{
    free(d->buckets);
    d->n_buckets = d->n_buckets ? 2 * d->n_buckets : 64;
    d->buckets = xcalloc(d->n_buckets, sizeof(*d->buckets));
    for (size_t i = 0; i < d->n; i++)
        add_id(d, d->jobs[i]);
}

struct served *daemon_find(const struct daemon *d, const char *id)
{
    struct served *s = d->n_buckets ? *bucket_of(d, id) : NULL;

    while (s && strcmp(s->row.id, id) != 0)
        s = s->next_id;
    return s;
}

struct served *daemon_number(struct daemon *d, int64_t number)
{
    size_t low = 0, high = d->n;

    while (low < high) {
        size_t mid = low + (high - low) / 2;

        if (d->jobs[mid]->row.number == number)
            return d->jobs[mid];
        if (d->jobs[mid]->row.number < number)
            low = mid + 1;
        else
            high = mid;
    }
    return NULL;
}

/* --- what jobs of a submission have in common ------------------------------------------------- */

static void common_release(struct common *c)
{
    if (!c || --c->refs > 0)
        return;
    free(c->request);
    free(c->snapshot);
    free(c->roles);
    free(c->afters);
    free(c);
}

/* That of the job before, if it is of the same array, else a new one. */
static void set_common(struct daemon *d, struct served *s, const struct stored *row)
{
    const struct served *before = d->n ? d->jobs[d->n - 1] : NULL;
    size_t len = array_common(row->request);

    s->own = xstrdup(row->request + len);
    if (*s->own && before && before->common && before->common->len == len &&
        memcmp(before->common->request, row->request, len) == 0) {
        s->common = before->common;
        s->common->refs++;
    } else {
        s->common = xcalloc(1, sizeof(*s->common));
        s->common->refs = 1;
        s->common->request = xstrndup(row->request, len);
        s->common->len = len;
        served_read_needs(d, row->request, s->common);
    }
    s->snapshot = s->common->snapshot ? xstrdup(s->common->snapshot) : NULL;
}

void served_request(const struct served *s, struct strbuf *ret)
{
    if (s->common)
        strbuf_addf(ret, "%s%s", s->common->request, s->own);
}

void served_forget_needs(struct served *s)
{
    common_release(s->common);
    free(s->own);
    free((char *)(uintptr_t)s->row.site);
    s->common = NULL;
    s->own = NULL;
    s->d->n_changed++;
    s->row.site = xstrdup("");
}

/* --- the list --------------------------------------------------------------------------------- */

struct served *daemon_add(struct daemon *d, const struct stored *row)
{
    struct served *s = xcalloc(1, sizeof(*s));

    s->d = d;
    s->row = *row;
    s->row.id = xstrdup(row->id);
    s->row.name = xstrdup(row->name);
    s->row.dialect = xstrdup(row->dialect);
    s->row.queue = xstrdup(row->queue);
    s->row.request = "";
    s->row.site = xstrdup(row->site ? row->site : "");
    s->row.outcome = xstrdup(row->outcome ? row->outcome : "");
    s->row.array = xstrdup(row->array ? row->array : "");
    s->has_dir = *s->row.site != '\0';
    if (row->state != STORED_ENDED) {
        set_common(d, s, row);
        GROW(d->open, d->n_open, d->cap_open);
        d->open[d->n_open++] = s;
        d->n_changed++;
    }
    GROW(d->jobs, d->n, d->cap);
    d->jobs[d->n++] = s;
    if (d->n > d->n_buckets)
        grow_buckets(d);
    else
        add_id(d, s);
    return s;
}

static void forget_open(struct daemon *d, const struct served *s)
{
    for (size_t i = d->n_open; i-- > 0;)
        if (d->open[i] == s) {
            memmove(d->open + i, d->open + i + 1, (d->n_open - i - 1) * sizeof(*d->open));
            d->n_open--;
            return;
        }
}

void daemon_drop(struct daemon *d, struct served *s)
{
    struct served **p = bucket_of(d, s->row.id);

    while (*p != s)
        p = &(*p)->next_id;
    *p = s->next_id;
    forget_open(d, s);
    for (size_t i = d->n; i-- > 0;)
        if (d->jobs[i] == s) {
            memmove(d->jobs + i, d->jobs + i + 1, (d->n - i - 1) * sizeof(*d->jobs));
            d->n--;
            break;
        }
    for (p = &d->dirty; *p; p = &(*p)->next_dirty)
        if (*p == s) {
            *p = s->next_dirty;
            break;
        }
    member_dropped(s);
    served_free(s);
}

void served_free(struct served *s)
{
    if (!s)
        return;
    served_leave(s);
    common_release(s->common);
    free(s->own);
    free((char *)(uintptr_t)s->row.id);
    free((char *)(uintptr_t)s->row.name);
    free((char *)(uintptr_t)s->row.dialect);
    free((char *)(uintptr_t)s->row.queue);
    free((char *)(uintptr_t)s->row.site);
    free((char *)(uintptr_t)s->row.outcome);
    free((char *)(uintptr_t)s->row.array);
    free(s->snapshot);
    free(s->places);
    free(s->why);
    free(s);
}
