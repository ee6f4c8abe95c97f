/* logs.c - lines of a job's logs. What was read of a run's marks is kept for the next question. */
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>

#include "api/log_read.h"
#include "api/parts.h"
#include "base/mem.h"
#include "base/num.h"

#define KEPT 8 /* runs */

struct kept_logs {
    char *id;
    struct logs_of *lo;
    uint64_t used;
};

static struct kept_logs kept[KEPT];
static uint64_t uses;

static void forget(struct kept_logs *k)
{
    logs_free(k->lo);
    free(k->id);
    *k = (struct kept_logs){0};
}

void logs_forget_all(void)
{
    for (size_t i = 0; i < KEPT; i++)
        forget(&kept[i]);
}

struct logs_of *logs_for(const char *id, int dir_fd, struct err *e)
{
    struct kept_logs *oldest = &kept[0];

    for (size_t i = 0; i < KEPT; i++) {
        if (kept[i].id && strcmp(kept[i].id, id) == 0) {
            kept[i].used = ++uses;
            logs_look(kept[i].lo);
            return kept[i].lo;
        }
        if (kept[i].used < oldest->used)
            oldest = &kept[i];
    }
    forget(oldest);
    if (logs_open(dir_fd, &oldest->lo, e) < 0)
        return NULL;
    oldest->id = xstrdup(id);
    oldest->used = ++uses;
    logs_look(oldest->lo);
    return oldest->lo;
}

static void put_text(struct json *j, const struct log_line *l)
{
    json_object(j);
    kv_time(j, "at", l->at.ms * NS_PER_MS);
    json_kv_str(j, "replica", l->replica);
    json_key(j, "rank");
    if (l->rank >= 0)
        json_int(j, l->rank);
    else
        json_null(j);
    json_kv_int(j, "attempt", l->attempt);
    json_key(j, "text");
    json_strn(j, l->text, l->len - (l->len > 0 && l->text[l->len - 1] == '\r'));
    json_kv_str(j, "log", l->at.log);
    json_kv_int(j, "offset", (int64_t)l->at.offset);
    json_end(j);
}

void lines_json(struct json *j, const struct log_page *page)
{
    json_array(j);
    for (size_t i = 0; i < page->n; i++)
        put_text(j, &page->v[i]);
    json_end(j);
}

void kv_place(struct json *j, const char *key, const struct log_place *p)
{
    auto_strbuf struct strbuf text = STRBUF_INIT;

    log_place_write(&text, p);
    json_kv_str(j, key, text.buf);
}

static bool read_place(struct call *c, struct arena *a, const char *key, struct log_place *place,
                       const struct log_place **ret)
{
    char text[512];

    *ret = NULL;
    if (!call_text(c, key, text, sizeof(text)))
        return false;
    if (!*text)
        return true;
    if (!log_place_read(a, text, place)) {
        answer_error(c->answer, 400, NULL, "`%s` is not a cursor", key);
        return false;
    }
    *ret = place;
    return true;
}

bool run_has_ended(const struct entry *en, int dir_fd)
{
    if (en->outcome || strcmp(en->state, "lost") == 0)
        return true;
    if (en->served)
        return false;
    if (flock(dir_fd, LOCK_SH | LOCK_NB) < 0)
        return false;
    (void)flock(dir_fd, LOCK_UN);
    return true;
}

static void put_page(struct call *c, const struct log_wish *w, const struct log_page *page)
{
    struct json j = answer_json(c->answer, 200);

    json_key(&j, "lines");
    lines_json(&j, page);
    if (page->more_before || page->cut || w->after)
        kv_place(&j, "before", &page->first);
    else
        json_kv_null(&j, "before");
    kv_place(&j, "after", &page->last);
    json_kv_str(&j, "incomplete",
                page->cut ? "a part of the logs was searched; continue with the cursor" : NULL);
    json_end(&j);
}

void serve_logs(struct call *c)
{
    auto_arena struct arena *a = arena_new();
    struct log_place before, after;
    struct log_wish w = {0};
    char replica[CALL_SEGMENT], grep[512];
    struct log_page page;
    struct entry en;
    int64_t tail;
    struct err e;

    if (!call_entry(c, a, &en) || !call_text(c, "replica", replica, sizeof(replica)) ||
        !call_text(c, "grep", grep, sizeof(grep)) ||
        !call_number(c, "rank", 0, LIMIT_PROCESSES, -1, &w.rank) ||
        !call_number(c, "attempt", 1, UINT32_MAX, 0, &w.attempt) ||
        !call_number(c, "tail", 1, LIMIT_LOG_LINES, 200, &tail) ||
        !read_place(c, a, "before", &before, &w.before) ||
        !read_place(c, a, "after", &after, &w.after))
        return;
    if (w.before && w.after) {
        answer_error(c->answer, 400, NULL, "`before` and `after` cannot be used together");
        return;
    }
    auto_close int fd = entry_open(c, &en);
    struct logs_of *lo = fd < 0 ? NULL : logs_for(en.id, fd, &e);
    if (fd >= 0 && !lo)
        answer_error(c->answer, 404, NULL, "job %s: %s", en.id, e.text);
    if (!lo)
        return;
    w.replica = *replica ? replica : NULL;
    w.grep = *grep ? grep : NULL;
    w.most = (size_t)tail;
    w.ended = run_has_ended(&en, fd);
    w.now_ms = w.ended ? 0 : clock_real() / NS_PER_MS;
    logs_read(lo, a, &w, &page);
    put_page(c, &w, &page);
}
