/* submit.c - submissions, validate and explain: a worker process reads the job file.
 *
 * The request goes to it as it came, with what is asked of it; its answer comes back as status and
 * body (cli/serve_work.c). A job that is submitted goes over the daemon's socket, as from any other
 * `muster submit`.
 */
#include <string.h>

#include "api/parts.h"
#include "base/mem.h"
#include "doc/json_read.h"
#include "doc/json_write.h"

struct job_request {
    struct api *api;
    struct http_exchange *x; /* NULL: gone */
    void (*shape)(struct http_answer *a);
};

static void on_gone(void *arg)
{
    ((struct job_request *)arg)->x = NULL;
}

/* "muster: error: TEXT" of the worker's own complaints. */
static void add_complaint(struct strbuf *out, const struct strbuf *complaints)
{
    static const char *const heads[] = {"muster: ", "error: "};
    const char *text = complaints->buf;
    size_t n;

    for (size_t i = 0; i < ARRAY_SIZE(heads); i++)
        if (strncmp(text, heads[i], strlen(heads[i])) == 0)
            text += strlen(heads[i]);
    n = strcspn(text, "\n");
    if (n > 0)
        strbuf_add(out, text, n);
    else
        strbuf_addstr(out, "the job file could not be read");
}

static void worked(void *ctx, bool well, const struct strbuf *out, const struct strbuf *complaints)
{
    struct job_request *jr = ctx;
    auto_arena struct arena *a = arena_new();
    struct http_answer answer = HTTP_ANSWER_INIT;
    auto_strbuf struct strbuf text = STRBUF_INIT;
    const struct node *root = well ? json_node(a, out->buf, out->len) : NULL;
    const struct node *status = node_get(root, "status"), *body = node_get(root, "body");

    add_safe_headers(&answer);
    add_complaint(&text, complaints);
    if (status && status->type == NODE_INT && body) {
        answer.status = (int)status->i;
        answer.type = "application/json";
        json_write(&answer.body, body);
    } else if (well) {
        answer_error(&answer, 500, NULL, "%s", text.buf);
    } else {
        answer_error(&answer, 422, NULL, "the job file takes too long to read");
    }
    if (jr->shape)
        jr->shape(&answer);
    if (jr->x)
        http_finish(jr->x, &answer);
    http_answer_release(&answer);
    free(jr);
}

void work_for_call(struct call *c, const char *what, const char *request, size_t len,
                   void (*shape)(struct http_answer *a))
{
    static char muster[] = "muster", serve[] = "serve", work[] = "--work";
    char *const argv[] = {muster, serve, work, NULL};
    auto_strbuf struct strbuf text = STRBUF_INIT;
    struct json j = JSON_COMPACT(&text);
    struct job_request *jr = xcalloc(1, sizeof(*jr));

    json_object(&j);
    json_kv_str(&j, "what", what);
    json_key(&j, "request");
    json_raw(&j, request, len);
    json_end(&j);
    *jr = (struct job_request){.api = c->api, .x = c->x, .shape = shape};
    if (!work_start(c->api, argv, &text, worked, jr)) {
        free(jr);
        answer_error(c->answer, 429, "try again", "%u job files are being read", c->api->n_works);
        return;
    }
    http_defer(c->x, on_gone, jr);
}

static void hand_over(struct call *c, const char *what, const char *keys)
{
    auto_arena struct arena *a = arena_new();
    const struct node *body = call_body(c, a);

    if (body && call_keys(c, body, keys))
        work_for_call(c, what, c->rq->body, c->rq->body_len, NULL);
}

void serve_submit(struct call *c)
{
    hand_over(c, "submit", "text name argv options dialect cwd queue priority count replace");
}

void serve_validate(struct call *c)
{
    hand_over(c, "validate", "text name dialect");
}

void serve_explain(struct call *c)
{
    hand_over(c, "explain", "text name options dialect cwd");
}
