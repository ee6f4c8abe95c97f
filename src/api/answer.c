/* answer.c - answers and errors as JSON, and what requests bring: bodies, numbers and texts. */
#include <stdarg.h>
#include <string.h>

#include "api/parts.h"
#include "base/mem.h"
#include "base/nearest.h"
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

/* --- names and words that are not known ------------------------------------------------------- */

#define WORDS_MOST 24 /* keys of a body, parameters of a path, states */

/* "a b c" as pointers into copy. */
static size_t split(char *copy, const char **ret)
{
    size_t n = 0;
    char *rest = NULL;

    for (char *w = strtok_r(copy, " ", &rest); w && n < WORDS_MOST; w = strtok_r(NULL, " ", &rest))
        ret[n++] = w;
    return n;
}

/* What may be meant, or all that there is. */
static void add_hint(const char *word, const char *const *known, size_t n, struct strbuf *out)
{
    const char *near = nearest_word(word, known, n);

    if (near) {
        strbuf_addf(out, "did you mean \"%s\"?", near);
        return;
    }
    strbuf_addstr(out, n ? "known: " : "none is known here");
    for (size_t i = 0; i < n; i++)
        strbuf_addf(out, "%s%s", i ? ", " : "", known[i]);
}

static bool is_known(const char *word, size_t len, const char *const *known, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (strlen(known[i]) == len && memcmp(known[i], word, len) == 0)
            return true;
    return false;
}

bool call_keys(struct call *c, const struct node *body, const char *known)
{
    auto_free char *copy = xstrdup(known);
    auto_strbuf struct strbuf hint = STRBUF_INIT;
    const char *words[WORDS_MOST];
    size_t n = split(copy, words);

    for (size_t i = 0; i < body->n; i++) {
        const struct node *key = body->pairs[i].key;

        if (is_known(key->text, key->len, words, n))
            continue;
        add_hint(key->text, words, n, &hint);
        answer_error(c->answer, 400, hint.buf, "unknown key \"%s\" at line %u, column %u",
                     key->text, key->pos.line, key->pos.column);
        return false;
    }
    return true;
}

struct parameters {
    struct call *c;
    const char *known[WORDS_MOST];
    size_t n;
    bool refused;
};

static bool check_parameter(void *ctx, const char *key, const char *value)
{
    struct parameters *p = ctx;
    auto_strbuf struct strbuf hint = STRBUF_INIT;

    (void)value;
    if (is_known(key, strlen(key), p->known, p->n))
        return true;
    add_hint(key, p->known, p->n, &hint);
    answer_error(p->c->answer, 400, hint.buf, "unknown parameter \"%s\"", key);
    p->refused = true;
    return false;
}

/* Text that cannot be decoded stays as it is; its reader refuses it. */
bool call_query(struct call *c, const char *known)
{
    auto_free char *copy = xstrdup(known);
    struct parameters p = {.c = c};

    p.n = split(copy, p.known);
    (void)http_query_each(c->rq->query, check_parameter, &p);
    return !p.refused;
}

bool call_words(struct call *c, const char *key, const char *list, const char *const *words,
                size_t n)
{
    for (const char *p = list; *p; p += strcspn(p, ",") + (p[strcspn(p, ",")] == ',')) {
        size_t len = strcspn(p, ",");
        auto_free char *word = xstrndup(p, len);
        auto_strbuf struct strbuf hint = STRBUF_INIT;

        if (is_known(p, len, words, n))
            continue;
        add_hint(word, words, n, &hint);
        answer_error(c->answer, 400, hint.buf, "unknown `%s` \"%s\"", key, word);
        return false;
    }
    return true;
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
