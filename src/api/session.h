/* session.h - who may use the page: one-time keys and the sessions that they become.
 *
 * Only hashes are kept, and they are compared in constant time. The next daemon reads the sessions
 * again, so that an open page keeps working; keys are not kept.
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
#define SESSION_ID 17   /* the id of a session, with its NUL */

struct sessions {
    struct session {
        unsigned char hash[SHA256_BYTES];
        ns_t expires; /* real time */
        bool once;    /* a key */
    } v[LIMIT_SESSIONS];
    size_t n;
};

/* Makes a one-time key; if the table is full, the oldest entry is removed. False: no random numbers
 * are available. */
bool sessions_new_key(struct sessions *s, ns_t now, char key[SESSION_TEXT]);
/* Exchanges a key for the token of a new session and removes the key. False: the key is not known
 * or has expired. */
bool sessions_redeem(struct sessions *s, const char *key, ns_t now, char token[SESSION_TEXT],
                     ns_t *ret_expires);
/* Is this the token of a session that has not expired? */
bool sessions_check(const struct sessions *s, const char *token, ns_t now);
/* Writes the HMAC-SHA-256 of text with the hash of the session's token as its key: a client with
 * the token can check it. id: the first 16 digits of the SHA-256 of that hash. False: no
 * session has this id. */
bool sessions_prove(const struct sessions *s, const char *id, const char *text, ns_t now,
                    char proof[2 * SHA256_BYTES + 1]);
/* Removes expired keys and sessions; returns the number of those that are left. */
size_t sessions_expire(struct sessions *s, ns_t now);

/* Writes sessions as text without secrets, and reads them; -EINVAL: the text is damaged. */
void sessions_write(const struct sessions *s, struct strbuf *out);
int sessions_read(struct sessions *s, const char *text, ns_t now);

#endif
