/* book.c - the jobs of all users, as their daemons have announced them.
 *
 * What a user's daemon says is a user's word: it is checked here, and nothing of it decides what a
 * job holds of the machine. Texts may be shown to other users, so they have no control characters.
 */
#include <string.h>

#include "base/mem.h"
#include "client/protocol.h"
#include "doc/json.h"
#include "doc/json_read.h"
#include "system/parts.h"

static const struct {
    const char *word;
    enum queue_state state;
} states[] = {{"waiting", QUEUE_WAITING},
              {"running", QUEUE_RUNNING},
              {"stopping", QUEUE_STOPPING},
              {"paused", QUEUE_PAUSED}};

void entry_free(struct job_entry *j)
{
    if (!j)
        return;
    free(j->line);
    free(j->id);
    free(j->name);
    free(j->queue);
    free(j->roles);
    free(j->places);
    free(j->why);
    free(j);
}

/* --- finding ---------------------------------------------------------------------------------- */

/* Where it is, or has to be put. */
static size_t place_of(const struct user *u, int64_t number)
{
    size_t low = 0, high = u->n;

    while (low < high) {
        size_t mid = low + (high - low) / 2;

        if (u->jobs[mid]->number < number)
            low = mid + 1;
        else
            high = mid;
    }
    return low;
}

static struct job_entry *find(const struct user *u, int64_t number)
{
    size_t i = place_of(u, number);

    return i < u->n && u->jobs[i]->number == number ? u->jobs[i] : NULL;
}

struct job_entry *book_find(const struct user *u, const char *id)
{
    for (size_t i = 0; i < u->n; i++)
        if (strcmp(u->jobs[i]->id, id) == 0)
            return u->jobs[i];
    return NULL;
}

static void insert(struct user *u, struct job_entry *j)
{
    size_t i = place_of(u, j->number);

    GROW(u->jobs, u->n, u->cap);
    memmove(u->jobs + i + 1, u->jobs + i, (u->n - i) * sizeof(*u->jobs));
    u->jobs[i] = j;
    u->n++;
}

static void drop(struct user *u, struct job_entry *j)
{
    size_t i = place_of(u, j->number);

    memmove(u->jobs + i, u->jobs + i + 1, (u->n - i - 1) * sizeof(*u->jobs));
    u->n--;
    sys_store_gone(u->sys->store, u->uid, j->number);
    entry_free(j);
    u->sys->changed = true;
}

/* --- reading a line --------------------------------------------------------------------------- */

static int64_t int_of(const struct node *map, const char *key)
{
    const struct node *n = node_get(map, key);

    return n && n->type == NODE_INT ? n->i : 0;
}

/* A number from 0 to most; -1: it is none. */
static int64_t within(const struct node *map, const char *key, int64_t most)
{
    int64_t n = int_of(map, key);

    return n >= 0 && n <= most ? n : -1;
}

/* A text of at most so many bytes, of which none may move a cursor; NULL: it is none. */
static char *text_of(const struct node *map, const char *key, size_t most)
{
    const struct node *n = node_get(map, key);

    if (!n || n->type != NODE_STRING || n->len > most || strlen(n->text) != n->len)
        return NULL;
    for (const char *p = n->text; *p; p++)
        if ((unsigned char)*p < 0x20 || *p == 0x7f)
            return NULL;
    return xstrdup(n->text);
}

static bool is_id(const char *text)
{
    return *text && strspn(text, "0123456789abcdefghijklmnopqrstuvwxyz-") == strlen(text);
}

static bool read_role(const struct node *n, struct queue_role *ret)
{
    if (n->type != NODE_SEQ || n->n != 5)
        return false;
    for (size_t i = 0; i < n->n; i++)
        if (n->items[i]->type != NODE_INT || n->items[i]->i < 0 ||
            n->items[i]->i > INT64_MAX / LIMIT_REPLICAS)
            return false;
    if (n->items[0]->i > LIMIT_REPLICAS)
        return false;
    *ret = (struct queue_role){.replicas = (uint32_t)n->items[0]->i,
                               .each.v = {[QUEUE_CPU] = n->items[1]->i,
                                          [QUEUE_MEMORY] = n->items[2]->i,
                                          [QUEUE_GPU] = n->items[3]->i,
                                          [QUEUE_PORT] = n->items[4]->i}};
    return true;
}

static bool read_roles(const struct node *list, struct job_entry *ret)
{
    if (!list || list->type != NODE_SEQ || list->n > LIMIT_REPLICAS)
        return false;
    ret->roles = xcalloc(list->n + 1, sizeof(*ret->roles));
    for (size_t i = 0; i < list->n; i++) {
        if (!read_role(list->items[i], &ret->roles[i]))
            return false;
        ret->n_replicas += ret->roles[i].replicas;
        if (ret->n_replicas > LIMIT_REPLICAS)
            return false;
    }
    ret->n_roles = (uint32_t)list->n;
    return true;
}

static bool read_state(const struct node *root, struct job_entry *ret)
{
    const char *word = node_text(node_get(root, "state"), "");

    for (size_t i = 0; i < ARRAY_SIZE(states); i++)
        if (strcmp(states[i].word, word) == 0) {
            ret->state = states[i].state;
            return true;
        }
    return false;
}

/* NULL: it is no job. */
static struct job_entry *read_job(const struct node *root, const char *text, size_t len)
{
    struct job_entry *j = xcalloc(1, sizeof(*j));

    *j = (struct job_entry){.number = int_of(root, "job"),
                            .line = xstrndup(text, len),
                            .id = text_of(root, "id", 64),
                            .name = text_of(root, "name", 256),
                            .queue = text_of(root, "queue", 256),
                            .priority = (int)within(root, "priority", 100),
                            .submitted = within(root, "submitted", INT64_MAX / 2),
                            .max_duration = within(root, "max_ms", LIMIT_USER_DURATION_MS),
                            .ahead = UINT32_MAX};
    if (j->number > 0 && j->id && is_id(j->id) && j->name && j->queue && j->priority >= 0 &&
        j->submitted >= 0 && j->max_duration >= 0 && read_state(root, j) &&
        read_roles(node_get(root, "roles"), j)) {
        j->max_duration *= NS_PER_MS;
        return j;
    }
    entry_free(j);
    return NULL;
}

/* --- what it holds ---------------------------------------------------------------------------- */

static void release(struct job_entry *j)
{
    free(j->places);
    j->places = NULL;
    j->granted = j->stopping = false;
}

/* What was decided about it stays; a job whose roles are others than before is another job. */
static void keep(struct job_entry *old, struct job_entry *j)
{
    j->order = old->order;
    j->grant = old->grant;
    j->since = old->since;
    j->why = old->why;
    old->why = NULL;
    j->ahead = old->ahead;
    if (!old->granted)
        return;
    if (old->n_replicas != j->n_replicas || old->n_roles != j->n_roles ||
        memcmp(old->roles, j->roles, j->n_roles * sizeof(*j->roles)) != 0) {
        free(j->roles); /* it holds what it was granted, whatever it says now */
        j->roles = old->roles;
        j->n_roles = old->n_roles;
        j->n_replicas = old->n_replicas;
        old->roles = NULL;
    }
    j->granted = true;
    j->stopping = old->stopping;
    j->places = old->places;
    old->places = NULL;
}

static void send_start(struct user *u, const struct job_entry *j)
{
    auto_strbuf struct strbuf line = STRBUF_INIT;

    strbuf_addf(&line, "{\"start\":%lld,\"grant\":%llu,\"gpus\":", (long long)j->number,
                (unsigned long long)j->grant);
    book_put_gpus(j, &line);
    strbuf_addch(&line, '}');
    peer_send(u->link, &line);
}

/* A daemon that has just come does not know of grants: one that it has not carried out is said
 * again, and a job of which nothing runs has given back what it had. */
static void settle(struct user *u, struct job_entry *j, uint64_t seen)
{
    bool holds = j->state == QUEUE_RUNNING || j->state == QUEUE_STOPPING;

    if (!j->granted || holds)
        return;
    if (seen == j->grant || (!u->told && j->state == QUEUE_PAUSED))
        release(j);
    else if (!u->told)
        send_start(u, j);
}

/* What a user may type must not cut the daemon off from the queue. */
static int refuse_job(struct user *u, int64_t number, struct err *e)
{
    auto_strbuf struct strbuf line = STRBUF_INIT;

    if (number <= 0)
        return err_set(e, -EPROTO, "sent a job that cannot be read");
    strbuf_addf(&line,
                "{\"why\":%lld,\"text\":\"cannot be queued: its name, its queue, its priority or "
                "what it requests is out of range\"}",
                (long long)number);
    peer_send(u->link, &line);
    return 0;
}

static int take_job(struct user *u, const struct node *root, const char *text, size_t len,
                    struct err *e)
{
    struct job_entry *j = read_job(root, text, len), *old;

    if (!j)
        return refuse_job(u, int_of(root, "job"), e);
    old = find(u, j->number);
    if (!old && u->n >= LIMIT_JOBS_OF_USER) {
        entry_free(j);
        return err_set(e, -E2BIG, "has more than %d jobs", LIMIT_JOBS_OF_USER);
    }
    if (old) {
        keep(old, j);
        u->jobs[place_of(u, j->number)] = j;
        entry_free(old);
    } else {
        j->order = ++u->sys->last_order;
        insert(u, j);
        if (j->state != QUEUE_WAITING && j->state != QUEUE_PAUSED)
            system_note(u->sys, "%s: %s runs without having been started by the queue", u->name,
                        j->id);
    }
    j->said = true;
    settle(u, j, (uint64_t)int_of(root, "grant"));
    sys_store_job(u->sys->store, u->uid, j);
    u->sys->changed = true;
    return 0;
}

/* Jobs that its daemon does not know have ended while we were not there, or were deleted. */
static void all_told(struct user *u)
{
    u->told = true;
    for (size_t i = u->n; i-- > 0;)
        if (!u->jobs[i]->said)
            drop(u, u->jobs[i]);
    u->sys->changed = true;
    peers_started(u, NULL);
}

int book_line(struct user *u, const char *text, size_t len, struct err *e)
{
    auto_arena struct arena *a = arena_new();
    const struct node *root = json_node(a, text, len);
    int64_t gone = int_of(root, "gone");

    if (int_of(root, "job"))
        return take_job(u, root, text, len, e);
    if (gone) {
        struct job_entry *j = find(u, gone);

        if (j)
            drop(u, j);
        return 0;
    }
    if (!node_get(root, "told"))
        return err_set(e, -EPROTO, "sent a line that is not understood");
    all_told(u);
    return 0;
}

void book_link_made(struct user *u)
{
    for (size_t i = 0; i < u->n; i++) /* a stop may have been lost with the link before */
        u->jobs[i]->said = u->jobs[i]->stopping = false;
    u->told = false;
}

/* --- the store -------------------------------------------------------------------------------- */

void book_put_gpus(const struct job_entry *j, struct strbuf *out)
{
    struct json w = JSON_COMPACT(out);

    json_array(&w);
    for (uint32_t i = 0; j->places && i < j->n_replicas; i++) {
        auto_strbuf struct strbuf ids = STRBUF_INIT;

        for (int bit = 0; bit < LIMIT_QUEUE_GPUS; bit++)
            if (j->places[i].gpus & UINT64_C(1) << bit)
                strbuf_addf(&ids, "%s%d", ids.len ? "," : "", bit);
        json_str(&w, ids.buf);
    }
    json_end(&w);
}

static void read_places(const char *gpus, struct job_entry *j)
{
    auto_arena struct arena *a = arena_new();
    const struct node *list = json_node(a, gpus, strlen(gpus));

    j->places = xcalloc(j->n_replicas + 1, sizeof(*j->places));
    for (size_t i = 0; list && list->type == NODE_SEQ && i < list->n && i < j->n_replicas; i++)
        for (const char *p = node_text(list->items[i], ""); *p;) {
            char *end;
            unsigned long bit = strtoul(p, &end, 10);

            if (end == p || bit >= LIMIT_QUEUE_GPUS)
                break;
            j->places[i].gpus |= UINT64_C(1) << bit;
            p = end + (*end == ',');
        }
}

void book_load(struct system *sys, uid_t uid, const char *line, const struct job_entry *kept,
               const char *gpus)
{
    auto_arena struct arena *a = arena_new();
    struct job_entry *j = read_job(json_node(a, line, strlen(line)), line, strlen(line));
    struct user *u = user_get(sys, uid);

    if (!j || j->number != kept->number || find(u, j->number)) {
        entry_free(j);
        return;
    }
    j->order = kept->order;
    j->grant = kept->grant;
    j->granted = kept->granted;
    j->since = kept->since;
    if (j->granted)
        read_places(gpus, j);
    if (j->order > sys->last_order)
        sys->last_order = j->order;
    if (j->grant > sys->last_grant)
        sys->last_grant = j->grant;
    insert(u, j);
}

/* --- showing ---------------------------------------------------------------------------------- */

static void put_needs(struct json *w, const struct job_entry *j)
{
    int64_t sum[QUEUE_RESOURCES] = {0};

    for (uint32_t i = 0; i < j->n_roles; i++)
        for (int r = 0; r < QUEUE_RESOURCES; r++)
            sum[r] += j->roles[i].each.v[r] * j->roles[i].replicas;
    json_key(w, "needs");
    json_object(w);
    json_kv_int(w, "cpus_milli", sum[QUEUE_CPU]);
    json_kv_int(w, "memory", sum[QUEUE_MEMORY]);
    json_kv_int(w, "gpus", sum[QUEUE_GPU]);
    json_end(w);
}

static const char *phase_of(const struct job_entry *j)
{
    if (j->granted)
        return j->stopping || j->state == QUEUE_STOPPING ? "stopping" : "running";
    for (size_t i = 0; i < ARRAY_SIZE(states); i++)
        if (states[i].state == j->state)
            return states[i].word;
    return "";
}

static void put_public(struct strbuf *out, const struct user *u, const struct job_entry *j)
{
    struct json w = JSON_COMPACT(out);
    bool waits = !j->granted && j->state == QUEUE_WAITING;

    json_object(&w);
    json_kv_str(&w, "id", j->id);
    json_kv_str(&w, "user", u->name);
    json_kv_int(&w, "uid", u->uid);
    json_kv_str(&w, "name", j->name);
    json_kv_str(&w, "phase", phase_of(j));
    json_kv_str(&w, "queue", j->queue);
    json_kv_int(&w, "priority", j->priority);
    json_kv_int(&w, "submitted", j->submitted);
    json_kv_int(&w, "started", j->granted ? j->since : 0);
    put_needs(&w, j);
    json_key(&w, "place");
    if (waits && j->ahead != UINT32_MAX)
        json_int(&w, (int64_t)j->ahead + 1);
    else
        json_null(&w);
    json_kv_str(&w, "waiting", waits ? j->why : NULL);
    json_end(&w);
    strbuf_addch(out, '\n');
}

void book_list(struct system *sys, const char *id, struct strbuf *out)
{
    for (size_t i = 0; i < sys->n_users; i++)
        for (size_t k = 0; k < sys->users[i]->n; k++)
            if (!id || strcmp(sys->users[i]->jobs[k]->id, id) == 0)
                put_public(out, sys->users[i], sys->users[i]->jobs[k]);
}
