/* acts.c - what changes a job: cancel, pause, resume, delete.
 *
 * A job of the daemon is changed as other verbs do it, by a request on its socket, so that what was
 * answered is in the database. A run in the foreground is asked on its own socket. Answers come
 * later; the client may have left by then.
 */
#include <string.h>

#include "api/parts.h"
#include "base/mem.h"
#include "client/ask.h"
#include "client/daemon.h"

struct act {
    struct api *api;
    struct http_exchange *x; /* NULL: gone */
    char *id;
    int status; /* of success */
};

static void on_gone(void *arg)
{
    ((struct act *)arg)->x = NULL;
}

static void add_headers(struct http_answer *a)
{
    strbuf_addstr(&a->headers, "X-Content-Type-Options: nosniff\r\n");
}

static void done(void *ctx, int r, const struct node *head, const struct err *e)
{
    struct act *act = ctx;
    struct http_answer answer = HTTP_ANSWER_INIT;
    const char *phase = node_text(node_get(head, "phase"), NULL);

    if (!phase)
        phase = node_text(node_get(node_get(head, "job"), "phase"), "");
    add_headers(&answer);
    if (r == -EPERM)
        answer_error(&answer, 409, NULL, "%s", e->text);
    else if (r < 0)
        answer_error(&answer, 503, NULL, "%s: %s", act->id, e->text);
    else if (act->status == 204) {
        answer.status = 204;
    } else {
        struct json j = answer_json(&answer, act->status);

        json_kv_str(&j, "phase", phase);
        json_end(&j);
    }
    if (act->x)
        http_finish(act->x, &answer);
    http_answer_release(&answer);
    free(act->id);
    free(act);
}

/* Where a request about the job goes. NULL: nobody is there. */
static char *socket_dir(const struct entry *en)
{
    auto_arena struct arena *a = arena_new();
    const char *dir;

    if (en->served)
        return daemon_socket_dir();
    dir = entry_dir(en, a);
    return dir ? xasprintf("%s/scratch", dir) : NULL;
}

static void request(struct call *c, const struct entry *en, const char *what, int status)
{
    auto_strbuf struct strbuf text = STRBUF_INIT;
    auto_free char *dir = socket_dir(en);
    struct json j = ask_begin(&text, what);
    struct act *act = xcalloc(1, sizeof(*act));

    if (en->served)
        json_kv_str(&j, "id", en->id);
    json_end(&j);
    *act = (struct act){.api = c->api, .x = c->x, .id = xstrdup(en->id), .status = status};
    http_defer(c->x, on_gone, act);
    ask_later(c->api, dir ? dir : "", &text, done, act);
}

static bool call_open(struct call *c, struct arena *a, struct entry *ret)
{
    if (!call_entry(c, a, ret))
        return false;
    if (!ret->outcome && strcmp(ret->state, "lost") != 0)
        return true;
    answer_error(c->answer, 409, NULL, "job %s has ended", ret->id);
    return false;
}

static void change(struct call *c, const char *what)
{
    auto_arena struct arena *a = arena_new();
    struct entry en;

    if (call_open(c, a, &en))
        request(c, &en, what, 202);
}

void serve_cancel(struct call *c)
{
    auto_arena struct arena *a = arena_new();
    const struct node *body = c->rq->body_len ? call_body(c, a) : NULL, *now;

    if (c->rq->body_len && !body)
        return;
    now = node_get(body, "now");
    if (now && now->type != NODE_BOOL)
        answer_error(c->answer, 400, NULL, "`now` must be true or false");
    else
        change(c, now && now->i ? "kill" : "cancel");
}

void serve_pause(struct call *c)
{
    change(c, "pause");
}

void serve_resume(struct call *c)
{
    change(c, "resume");
}

void serve_delete(struct call *c)
{
    auto_arena struct arena *a = arena_new();
    struct entry en;

    if (!call_entry(c, a, &en))
        return;
    if (!en.served)
        answer_error(c->answer, 409, "use `muster delete`",
                     "%s is a run in the foreground, which the daemon does not delete", en.id);
    else if (!en.outcome)
        answer_error(c->answer, 409, "cancel it first", "job %s has not ended", en.id);
    else
        request(c, &en, "forget", 204);
}
