/* session.c - keys, sessions, what is kept of them, and the proof that the daemon knows one. */
#include "api/session.h"

#include <string.h>

#include "base/tap.h"

#define NOW (1000 * NS_PER_S)

static void test_life(void)
{
    static struct sessions s;
    char key[SESSION_TEXT], token[SESSION_TEXT];
    ns_t expires;

    ok(sessions_new_key(&s, NOW, key), "a key");
    ok(!sessions_check(&s, key, NOW), "which is no token");
    ok(!sessions_redeem(&s, key, NOW + LIMIT_KEY_S * NS_PER_S, token, &expires),
       "not after its time");
    ok(sessions_redeem(&s, key, NOW, token, &expires), "but within it");
    ok(!sessions_redeem(&s, key, NOW, token, &expires), "and only once");
    ok(sessions_check(&s, token, expires - 1) && !sessions_check(&s, token, expires),
       "a token is valid until it expires");
    ok(sessions_expire(&s, expires) == 0, "then it is forgotten");
}

static void test_kept(void)
{
    static struct sessions s, t;
    char key[SESSION_TEXT], token[SESSION_TEXT];
    auto_strbuf struct strbuf text = STRBUF_INIT;
    ns_t expires;

    sessions_new_key(&s, NOW, key);
    sessions_redeem(&s, key, NOW, token, &expires);
    sessions_new_key(&s, NOW, key);
    sessions_write(&s, &text);
    ok(!strstr(text.buf, token) && !strstr(text.buf, key), "no secret is written");
    ok(sessions_read(&t, text.buf, NOW) == 0 && t.n == 1, "sessions are read, keys are not");
    ok(sessions_check(&t, token, NOW), "the token is valid still");
    ok(sessions_read(&t, "zz", NOW) < 0, "what nobody wrote is refused");
}

static void test_proof(void)
{
    static struct sessions s;
    char proof[2 * SHA256_BYTES + 1] = "";
    const char *text = "muster-session\n127.0.0.1:8080\n00000000000000000000000000000000";

    /* the token is "abc"; id and proof were computed with Python's hashlib and hmac */
    sessions_read(&s,
                  "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
                  " 2000\n",
                  NOW);
    ok(s.n == 1, "a session of which the token is known");
    ok(sessions_prove(&s, "4f8b42c22dd3729b", text, NOW, proof), "is found by its id");
    is_str(proof, "aeb0812b1527a6e30271a403117111802ad0a8d7f002bb4e910d84f89a7ee02d",
           "and the proof is HMAC-SHA-256");
    ok(!sessions_prove(&s, "0000000000000000", text, NOW, proof), "another id is not found");
    ok(!sessions_prove(&s, "4f8b42c22dd3729b", text, 2000 * NS_PER_S, proof),
       "nor is one that has expired");
}

int main(void)
{
    test_life();
    test_kept();
    test_proof();
    return tap_done();
}
