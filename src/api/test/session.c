/* session.c - one-time keys and sessions. */
#include "api/session.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/tap.h"

#define NOW (INT64_C(1800000000) * NS_PER_S)

static void keys(void)
{
    struct sessions s = {0};
    char key[SESSION_TEXT], token[SESSION_TEXT], other[SESSION_TEXT];
    ns_t expires = 0;

    ok(sessions_new_key(&s, NOW, key) && strlen(key) == 64, "a key");
    ok(!sessions_check(&s, key, NOW), "is no session");
    ok(!sessions_redeem(&s, "nonsense", NOW, token, &expires), "another text is no key");
    ok(sessions_redeem(&s, key, NOW, token, &expires), "it becomes a session");
    is_int((expires - NOW) / NS_PER_S, LIMIT_SESSION_S, "for so long");
    ok(!sessions_redeem(&s, key, NOW, other, &expires), "once");
    ok(sessions_check(&s, token, NOW + 1) && !sessions_check(&s, key, NOW), "which counts");
    ok(!sessions_redeem(&s, token, NOW, other, &expires), "and is no key");
    ok(!sessions_check(&s, "", NOW), "nothing is no session");
    ok(!sessions_check(&s, token, NOW + LIMIT_SESSION_S * NS_PER_S), "it ends");
    (void)sessions_new_key(&s, NOW, key);
    ok(!sessions_redeem(&s, key, NOW + LIMIT_KEY_S * NS_PER_S, other, &expires),
       "a key runs out unused");
    is_int((long)sessions_expire(&s, NOW + LIMIT_KEY_S * NS_PER_S), 1, "and is forgotten");
}

static void room(void)
{
    struct sessions s = {0};
    char key[SESSION_TEXT], first[SESSION_TEXT];
    ns_t expires;

    (void)sessions_new_key(&s, NOW, first);
    for (int i = 0; i < LIMIT_SESSIONS; i++)
        (void)sessions_new_key(&s, NOW, key);
    is_int((long)s.n, LIMIT_SESSIONS, "no more than the limit");
    ok(!sessions_redeem(&s, first, NOW, key, &expires), "the oldest made room");
}

static void kept(void)
{
    struct sessions s = {0}, again = {0};
    auto_strbuf struct strbuf text = STRBUF_INIT;
    char key[SESSION_TEXT], token[SESSION_TEXT], unused[SESSION_TEXT];
    ns_t expires;

    (void)sessions_new_key(&s, NOW, key);
    (void)sessions_redeem(&s, key, NOW, token, &expires);
    (void)sessions_new_key(&s, NOW, unused);
    sessions_write(&s, &text);
    ok(!strstr(text.buf, token) && !strstr(text.buf, unused), "no secret is written");
    is_int(sessions_read(&again, text.buf, NOW), 0, "it can be read");
    ok(sessions_check(&again, token, NOW), "the session goes on");
    ok(!sessions_redeem(&again, unused, NOW, key, &expires), "keys do not");
    (void)sessions_read(&again, text.buf, NOW - 2 * NS_PER_S);
    is_int((long)again.n, 0, "one that lasts too long is nobody's");
    for (size_t n = 0; n < text.len; n++) {
        auto_free char *part = strndup(text.buf, n);

        if (n > 0 && sessions_read(&again, part, NOW) == 0)
            ok(false, "cut off after %zu", n);
    }
    is_int(sessions_read(&again, "zz", NOW), -EINVAL, "nonsense");
}

#define EARLY (1000 * NS_PER_S)

static void proof(void)
{
    static struct sessions s;
    char text_of[2 * SHA256_BYTES + 1] = "";
    const char *text = "muster-session\n127.0.0.1:8080\n00000000000000000000000000000000";

    /* the token is "abc"; id and proof were computed with Python's hashlib and hmac */
    sessions_read(&s,
                  "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
                  " 2000\n",
                  EARLY);
    ok(s.n == 1, "a session of which the token is known");
    ok(sessions_prove(&s, "4f8b42c22dd3729b", text, EARLY, text_of), "is found by its id");
    is_str(text_of, "aeb0812b1527a6e30271a403117111802ad0a8d7f002bb4e910d84f89a7ee02d",
           "and the proof is HMAC-SHA-256");
    ok(!sessions_prove(&s, "0000000000000000", text, EARLY, text_of), "another id is not found");
    ok(!sessions_prove(&s, "4f8b42c22dd3729b", text, 2000 * NS_PER_S, text_of),
       "nor is one that has expired");
}

int main(void)
{
    keys();
    room();
    kept();
    proof();
    return tap_done();
}
