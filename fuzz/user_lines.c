/* user_lines.c - fuzzes what users' daemons say to the system daemon, and what is decided then.
 *
 * Three users send lines: the first byte of each says who; "!" breaks a user's link, and the next
 * line makes a new one. Whatever they are: jobs that hold something hold no more than the machine
 * has, no GPU twice, and only what was granted; what others are shown has no control characters. */
#include <string.h>

#include "base/mem.h"
#include "common.h"
#include "doc/json_read.h"
#include "system/parts.h"

#define USERS 3
#define CPUS 4000
#define MEMORY (INT64_C(1) << 35)
#define GPUS 0xf

/* --- in place of the files that are not fuzzed ------------------------------------------------ */

struct peer {
    int none;
};
static struct peer links[USERS];
static struct system sys;
static uint64_t started; /* the last grant that was sent */

void peer_send(struct peer *p, const struct strbuf *line)
{
    auto_arena struct arena *a = arena_new();
    const struct node *root = json_node(a, line->buf, line->len), *grant = node_get(root, "grant");

    MUST(p >= links && p < links + USERS && root && root->type == NODE_MAP);
    if (grant)
        started = (uint64_t)grant->i;
}

void peers_started(struct user *u, const char *why_not)
{
    MUST(u->told && !why_not);
}

void sys_store_job(struct sys_store *s, uid_t uid, const struct job_entry *j)
{
    MUST(!s && uid < USERS && j->line);
}

void sys_store_gone(struct sys_store *s, uid_t uid, int64_t number)
{
    MUST(!s && uid < USERS && number > 0);
}

void system_note(struct system *s, const char *fmt, ...)
{
    MUST(s && fmt);
}

struct user *user_get(struct system *s, uid_t uid)
{
    return s->users[uid];
}

void daemon_machine(const struct daemon_config *c, int64_t cpus, int64_t memory, int64_t gpus,
                    struct queue_machine *ret)
{
    MUST(c && !cpus && !memory && !gpus);
    *ret = (struct queue_machine){
        .name = "this machine",
        .has.v = {[QUEUE_CPU] = CPUS, [QUEUE_MEMORY] = MEMORY, [QUEUE_PORT] = 100},
        .gpus = GPUS};
}

static int configure(struct arena *a, struct daemon_config *ret)
{
    struct queue *queues = ARENA_ARRAY(a, struct queue, 2);

    *ret = (struct daemon_config)DAEMON_CONFIG_INIT;
    if (!sys.last_order) /* an input that begins with "q" */
        return 0;
    for (int i = 0; i < 2; i++)
        queues[i] =
            (struct queue){.name = i ? "a" : "b",
                           .weight = 1,
                           .priority = i,
                           .preemptible = true,
                           .quota.v = {QUEUE_UNLIMITED, QUEUE_UNLIMITED, 2, QUEUE_UNLIMITED}};
    ret->queues = queues;
    ret->n_queues = 2;
    ret->preemption = QUEUE_PREEMPT_REQUEUE;
    return 0;
}

/* --- what must be so -------------------------------------------------------------------------- */

static void check_places(const struct job_entry *j, int64_t *held, uint64_t *gpus)
{
    uint32_t at = 0;

    MUST(j->places && j->grant > 0 && j->grant <= sys.last_grant);
    for (uint32_t i = 0; i < j->n_roles; i++)
        for (uint32_t k = 0; k < j->roles[i].replicas; k++, at++) {
            for (int r = 0; r < QUEUE_RESOURCES; r++)
                held[r] += j->roles[i].each.v[r];
            MUST(!(*gpus & j->places[at].gpus));
            *gpus |= j->places[at].gpus;
            MUST(__builtin_popcountll(j->places[at].gpus) == j->roles[i].each.v[QUEUE_GPU]);
        }
    MUST(at == j->n_replicas);
}

static void check(void)
{
    int64_t held[QUEUE_RESOURCES] = {0};
    uint64_t gpus = 0;

    for (size_t i = 0; i < USERS; i++)
        for (size_t k = 0; k < sys.users[i]->n; k++) {
            const struct job_entry *j = sys.users[i]->jobs[k];

            MUST(k == 0 || sys.users[i]->jobs[k - 1]->number < j->number);
            if (j->granted)
                check_places(j, held, &gpus);
        }
    MUST(held[QUEUE_CPU] <= CPUS && held[QUEUE_MEMORY] <= MEMORY && !(gpus & ~(uint64_t)GPUS));
}

static void check_list(void)
{
    auto_strbuf struct strbuf text = STRBUF_INIT;

    decide_explain(&sys);
    book_list(&sys, NULL, &text);
    for (size_t i = 0; i < text.len; i++)
        MUST((unsigned char)text.buf[i] >= 0x20 || text.buf[i] == '\n');
}

/* --- the input -------------------------------------------------------------------------------- */

static void begin(bool queues)
{
    static const struct system_options opts = {.configure = configure};
    static bool is_made;

    if (!is_made) {
        MUST(uv_loop_init(&sys.loop) == 0);
        (void)uv_timer_init(&sys.loop, &sys.queue_timer);
        (void)uv_timer_init(&sys.loop, &sys.why_timer);
        sys.queue_timer.data = sys.why_timer.data = &sys;
        sys.users = xcalloc(USERS, sizeof(*sys.users));
        sys.n_users = USERS;
        sys.opts = &opts;
        is_made = true;
    }
    for (uid_t i = 0; i < USERS; i++) {
        sys.users[i] = xcalloc(1, sizeof(**sys.users));
        *sys.users[i] =
            (struct user){.sys = &sys, .uid = i, .name = xstrdup("u"), .link = &links[i]};
    }
    sys.last_grant = sys.promised = started = 0;
    sys.last_order = queues;
    MUST(decide_configure(&sys, NULL) == 0);
}

static void end(void)
{
    for (size_t i = 0; i < USERS; i++) {
        for (size_t k = 0; k < sys.users[i]->n; k++)
            entry_free(sys.users[i]->jobs[k]);
        free(sys.users[i]->jobs);
        free(sys.users[i]->name);
        free(sys.users[i]);
    }
    arena_free(sys.config_arena);
    sys.config_arena = NULL;
}

static void take(const char *line, size_t len)
{
    uid_t uid = len ? (unsigned char)line[0] % USERS : 0;
    struct user *u = sys.users[uid];

    if (!u->link) {
        u->link = &links[uid];
        book_link_made(u);
    }
    if (len < 2 || line[1] == '!' || book_line(u, line + 1, len - 1, NULL) < 0) {
        u->link = NULL;
        u->told = false;
        sys.changed = true;
    }
    if (sys.changed)
        decide(&sys);
    check();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *p = (const char *)data, *stop = p + size;

    begin(size > 0 && *p == 'q');
    while (p < stop) {
        const char *nl = memchr(p, '\n', (size_t)(stop - p));
        size_t len = (size_t)((nl ? nl : stop) - p);

        take(p, len);
        p += len + 1;
    }
    check_list();
    MUST(started == sys.last_grant); /* all of them were sent */
    end();
    return 0;
}
