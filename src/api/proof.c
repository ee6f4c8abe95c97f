/* proof.c - the daemon proves to a page that it knows its session, before the page sends the token.
 *
 * While the daemon is down somebody else may listen on its port and wait for the tokens of pages
 * that connect again. Such a page asks for this first; an answer needs the hash of the token, which
 * only the daemon's file has. The port is part of what is signed, so that nobody can have the
 * daemon answer for another port.
 */
#include <string.h>

#include "api/parts.h"

#define NONCE 32

static bool is_hex(const struct node *n, size_t len)
{
    return n && n->type == NODE_STRING && strlen(n->text) == len &&
           strspn(n->text, "0123456789abcdef") == len;
}

void serve_proof(struct call *c)
{
    auto_arena struct arena *a = arena_new();
    auto_strbuf struct strbuf text = STRBUF_INIT;
    const struct node *body = call_body(c, a);
    const struct node *id = node_get(body, "id"), *nonce = node_get(body, "nonce");
    struct http_server *server = c->api->at[LISTEN_LOCAL].server;
    char proof[2 * SHA256_BYTES + 1];

    if (!body || !call_keys(c, body, "id nonce"))
        return;
    if (!is_hex(id, SESSION_ID - 1) || !is_hex(nonce, NONCE)) {
        answer_error(c->answer, 400, NULL,
                     "`id` must have 16 and `nonce` 32 hexadecimal digits in lower case");
        return;
    }
    strbuf_addf(&text, "muster-session\n127.0.0.1:%d\n%s", server ? http_server_port(server) : 0,
                nonce->text);
    if (!server || !sessions_prove(&c->api->sessions, id->text, text.buf, clock_real(), proof)) {
        answer_error(c->answer, 404, "run `muster open` for a new session", "session not found");
        return;
    }
    struct json j = answer_json(c->answer, 200);
    json_kv_str(&j, "proof", proof);
    json_end(&j);
}
