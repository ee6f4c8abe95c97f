/* answer.c - answers and errors as JSON, and what requests bring: bodies, numbers and texts. */
#include <stdarg.h>
#include <string.h>

#include "api/parts.h"
#include "base/num.h"
#include "doc/json_read.h"
#include "http/http_uri.h"

#define JSON_TYPE "application/json"

struct json answer_json(struct http_answer *a, int status)
{
    struct json j = JSON_COMPACT(&a->body);

    a->status = status;
    a->type = JSON_TYPE;
    strbuf_truncate(&a->body, 0);
    json_object(&j);
    return j;
}

static const char *code_of(int status)
{
    static const struct {
        int status;
        const char *code;
    } codes[] = {
        {400, "bad-request"}, {401, "unauthorized"},       {403, "forbidden"},
        {404, "not-found"},   {405, "method-not-allowed"}, {409, "conflict"},
        {410, "gone"},        {413, "too-large"},          {422, "invalid-job"},
        {429, "too-many"},    {503, "unavailable"},
    };

    for (size_t i = 0; i < ARRAY_SIZE(codes); i++)
        if (codes[i].status == status)
            return codes[i].code;
    return status < 500 ? "bad-request" : "internal";
}

void answer_error(struct http_answer *a, int status, const char *hint, const char *fmt, ...)
{
    auto_strbuf struct strbuf text = STRBUF_INIT;
    struct json j = answer_json(a, status);
    va_list ap;

    va_start(ap, fmt);
    strbuf_vaddf(&text, fmt, ap);
    va_end(ap);
    json_key(&j, "error");
    json_object(&j);
    json_kv_str(&j, "code", code_of(status));
    json_kv_str(&j, "message", text.buf);
    json_kv_str(&j, "hint", hint);
    json_end(&j);
    json_end(&j);
}

void kv_time(struct json *j, const char *key, ns_t at)
{
    char text[CLOCK_TEXT];

    json_kv_str(j, key, at ? clock_rfc3339(at, text) : NULL);
}

void kv_text(struct json *j, const char *key, const char *text)
{
    json_kv_str(j, key, text && *text ? text : NULL);
}

/* The writer places the comma; a number stands in for what is added. */
void json_raw(struct json *j, const char *text, size_t n)
{
    json_int(j, 0);
    strbuf_truncate(j->out, j->out->len - 1);
    strbuf_add(j->out, text, n);
}

const struct node *call_body(struct call *c, struct arena *a)
{
    struct diags ds;
    struct doc doc;
    const struct node *root = NULL;

    diags_init(&ds, a);
    if (c->rq->body_len > 0)
        json_read(a, "body", c->rq->body, c->rq->body_len, false, &ds, &doc);
    if (c->rq->body_len > 0 && !doc.broken && ds.n_errors == 0)
        root = doc.roots[0];
    if (c->rq->body_len == 0)
        answer_error(c->answer, 400, NULL, "the request must have a JSON body");
    else if (!root)
        answer_error(c->answer, 400, NULL, "invalid JSON at line %u, column %u: %s",
                     ds.n ? ds.v[0].pos.line : 1, ds.n ? ds.v[0].pos.column : 1,
                     ds.n ? ds.v[0].message : "cannot be read");
    else if (root->type != NODE_MAP)
        answer_error(c->answer, 400, NULL, "the body must be a JSON object, not %s",
                     node_type_words(root->type));
    diags_release(&ds);
    return root && root->type == NODE_MAP ? root : NULL;
}

bool call_text(struct call *c, const char *key, char *out, size_t room)
{
    int r = http_query(c->rq->query, key, out, room);

    if (r == 0)
        *out = '\0';
    if (r < 0)
        answer_error(c->answer, 400, NULL, "`%s` must be text of at most %zu bytes", key, room - 1);
    return r >= 0;
}

bool call_number(struct call *c, const char *key, int64_t least, int64_t most, int64_t otherwise,
                 int64_t *ret)
{
    char text[32];
    uint32_t n;
    int r = http_query(c->rq->query, key, text, sizeof(text));

    *ret = otherwise;
    if (r == 0 || (r > 0 && !*text))
        return true;
    if (r < 0 || num_u32(text, &n) < 0 || (int64_t)n < least || (int64_t)n > most) {
        answer_error(c->answer, 400, NULL, "`%s` must be a number from %lld to %lld", key,
                     (long long)least, (long long)most);
        return false;
    }
    *ret = n;
    return true;
}
