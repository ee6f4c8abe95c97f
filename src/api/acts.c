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
    void (*shape)(struct http_answer *a);
};

static void on_gone(void *arg)
{
    ((struct act *)arg)->x = NULL;
}

static void done(void *ctx, int r, const struct node *head, const struct err *e)
{
    struct act *act = ctx;
    struct http_answer answer = HTTP_ANSWER_INIT;
    const char *phase = node_text(node_get(head, "phase"), NULL);

    if (!phase)
        phase = node_text(node_get(node_get(head, "job"), "phase"), "");
    add_safe_headers(&answer);
    if (r == -EPERM)
        answer_error(&answer, 409, NULL, "%s", e->text);
    else if (r < 0)
        answer_error(&answer, 503, NULL, "%s: %s", act->id, e->text);
    if (r == 0) {
        struct json j = answer_json(&answer, act->status);

        json_kv_str(&j, "phase", phase);
        json_end(&j);
    }
    if (act->shape)
        act->shape(&answer);
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

void act_on(struct call *c, const struct entry *en, const char *what, int status,
            void (*shape)(struct http_answer *a))
{
    auto_strbuf struct strbuf text = STRBUF_INIT;
    auto_free char *dir = socket_dir(en);
    struct json j = ask_begin(&text, what);
    struct act *act = xcalloc(1, sizeof(*act));

    if (en->served)
        json_kv_str(&j, "id", en->id);
    json_end(&j);
    *act = (struct act){
        .api = c->api, .x = c->x, .id = xstrdup(en->id), .status = status, .shape = shape};
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
        act_on(c, &en, what, 202, NULL);
}

void serve_cancel(struct call *c)
{
    auto_arena struct arena *a = arena_new();
    const struct node *body = c->rq->body_len ? call_body(c, a) : NULL, *now;

    if (c->rq->body_len && (!body || !call_keys(c, body, "now")))
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

/* --- delete ----------------------------------------------------------------------------------- */

/* `muster delete` keeps a job with outputs: "…:\n  outputs: A, B". False: it said another thing. */
static bool refuse_outputs(struct http_answer *answer, const char *id, const char *complaints)
{
    static const char head[] = "\n  outputs: ";
    const char *list = strstr(complaints, head);

    if (!list)
        return false;
    list += strlen(head);
    answer_error(answer, 409, "requests do not delete outputs",
                 "job %s has outputs and is not deleted: %.*s", id, (int)strcspn(list, "\n"), list);
    return true;
}

/* "20261118-…: deleted", or why not. */
static void deleted(void *ctx, bool well, const struct strbuf *out, const struct strbuf *complaints)
{
    struct act *act = ctx;
    struct http_answer answer = HTTP_ANSWER_INIT;
    const char *why = strstr(complaints->buf, "error: ");

    add_safe_headers(&answer);
    answer.status = 204;
    if (!well)
        answer_error(&answer, 503, NULL, "%s is still being deleted", act->id);
    else if (!strstr(out->buf, ": deleted") && !refuse_outputs(&answer, act->id, complaints->buf))
        answer_error(&answer, 409, NULL, "%.*s",
                     (int)strcspn(why ? why + 7 : "cannot be deleted", "\n"),
                     why ? why + 7 : "cannot be deleted");
    if (act->x)
        http_finish(act->x, &answer);
    http_answer_release(&answer);
    free(act->id);
    free(act);
}

/* A tree may be large, so a process does it: that of the verb. */
void serve_delete(struct call *c)
{
    static char muster[] = "muster", verb[] = "delete";
    auto_arena struct arena *a = arena_new();
    auto_strbuf struct strbuf nothing = STRBUF_INIT;
    struct entry en;

    if (!call_entry(c, a, &en))
        return;
    if (!en.outcome && strcmp(en.state, "lost") != 0) {
        answer_error(c->answer, 409, "cancel it first", "job %s has not ended", en.id);
        return;
    }
    char *const argv[] = {muster, verb, arena_strdup(a, en.id), NULL};
    struct act *act = xcalloc(1, sizeof(*act));
    *act = (struct act){.api = c->api, .x = c->x, .id = xstrdup(en.id)};
    if (work_start(c->api, argv, &nothing, deleted, act)) {
        http_defer(c->x, on_gone, act);
        return;
    }
    answer_error(c->answer, 429, "try again", "%u processes are at work", c->api->n_works);
    free(act->id);
    free(act);
}
