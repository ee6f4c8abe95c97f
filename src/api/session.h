/* session.h - who may use the page: one-time keys and the sessions that they become.
 *
 * Only hashes are kept, and compared in constant time. A daemon that replaces one that was killed
 * reads the sessions again, so that a page that is open goes on; keys are forgotten.
 */
#ifndef API_SESSION_H
#define API_SESSION_H

#include <stdbool.h>
#include <stddef.h>

#include "base/clock.h"
#include "base/limits.h"
#include "base/sha256.h"
#include "base/strbuf.h"

#define SESSION_TEXT 65 /* a key or a token, with its NUL */
#define SESSION_ID 17   /* what a page names its session by, with its NUL */

struct sessions {
    struct session {
        unsigned char hash[SHA256_BYTES];
        ns_t expires; /* real time */
        bool once;    /* a key */
    } v[LIMIT_SESSIONS];
    size_t n;
};

/* A new key. The oldest entry makes room. False: no random numbers can be had. */
bool sessions_new_key(struct sessions *s, ns_t now, char key[SESSION_TEXT]);
/* Makes a session of a key, which is used up. False: there is no such key (any more). */
bool sessions_redeem(struct sessions *s, const char *key, ns_t now, char token[SESSION_TEXT],
                     ns_t *ret_expires);
bool sessions_check(const struct sessions *s, const char *token, ns_t now);
/* HMAC-SHA-256 of text, keyed with the hash of the token: who knows the token can check it. The id
 * is the first 16 digits of the SHA-256 of that hash. False: there is no such session. */
bool sessions_prove(const struct sessions *s, const char *id, const char *text, ns_t now,
                    char proof[2 * SHA256_BYTES + 1]);
/* Forgets what has expired; returns how many are left. */
size_t sessions_expire(struct sessions *s, ns_t now);

/* As text without secrets, and back: -EINVAL. */
void sessions_write(const struct sessions *s, struct strbuf *out);
int sessions_read(struct sessions *s, const char *text, ns_t now);

#endif
