/* events.c - what happened to a job, from its journal. */
#include <fcntl.h>
#include <string.h>

#include "api/parts.h"
#include "client/timeline.h"
#include "doc/json_read.h"
#include "journal/journal.h"

/* "worker-1/3": a replica, and a rank of it; "launcher-0". */
static void kv_who(struct json *j, const char *who)
{
    const char *slash = strchr(who, '/');
    size_t n = slash ? (size_t)(slash - who) : strlen(who);

    json_key(j, "replica");
    if (n)
        json_strn(j, who, n);
    else
        json_null(j);
    json_key(j, "rank");
    if (slash && slash[1] >= '0' && slash[1] <= '9')
        json_int(j, strtoll(slash + 1, NULL, 10));
    else
        json_null(j);
}

/* attempt: the one that the line belongs to; an event may begin the next. */
static void put_event(struct json *j, const struct node *line, int64_t seq, int64_t *attempt)
{
    auto_strbuf struct strbuf text = STRBUF_INIT;
    const struct node *at = node_get(line, "at"), *number = node_get(line, "attempt");

    if (number && number->type == NODE_INT)
        *attempt = number->i;
    timeline_details(line, &text);
    json_object(j);
    json_kv_int(j, "seq", seq);
    kv_time(j, "at", at && at->type == NODE_INT ? at->i : 0);
    json_kv_str(j, "type", node_text(node_get(line, "event"), ""));
    kv_who(j, node_text(node_get(line, "who"), ""));
    json_kv_int(j, "attempt", *attempt);
    json_kv_str(j, "message", text.buf);
    json_end(j);
}

int64_t events_json(struct json *j, const char *journal, size_t len, int64_t after, int64_t most)
{
    const char *end = journal + len, *nl;
    int64_t seq = 0, attempt = 1, last = after, n = 0;

    json_array(j);
    for (; journal < end && n < most && (nl = memchr(journal, '\n', (size_t)(end - journal)));
         journal = nl + 1) {
        /* of lines that were seen before only the number of the attempt counts */
        bool old = ++seq <= after;

        if (old && !memmem(journal, (size_t)(nl - journal), "\"attempt\"", 9))
            continue;
        auto_arena struct arena *a = arena_new();
        const struct node *line = json_node(a, journal, (size_t)(nl - journal));
        const struct node *number = node_get(line, "attempt");

        if (old && number && number->type == NODE_INT)
            attempt = number->i;
        if (old || !line || line->type != NODE_MAP)
            continue;
        put_event(j, line, seq, &attempt);
        last = seq;
        n++;
    }
    json_end(j);
    return last;
}

void serve_events(struct call *c)
{
    auto_arena struct arena *a = arena_new();
    auto_strbuf struct strbuf text = STRBUF_INIT;
    struct entry en;
    int64_t after;
    struct err e;

    if (!call_entry(c, a, &en) || !call_number(c, "after", 0, UINT32_MAX, 0, &after))
        return;
    const char *dir = entry_dir(&en, a);
    auto_close int fd = dir ? open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
    if (fd >= 0 && journal_text(fd, &text, &e) < 0) {
        answer_error(c->answer, 503, NULL, "the journal of job %s cannot be read: %s", en.id,
                     e.text);
        return;
    }
    struct json j = answer_json(c->answer, 200);
    json_key(&j, "events");
    (void)events_json(&j, text.buf, text.len, after, LIMIT_API_EVENTS);
    json_end(&j);
}
