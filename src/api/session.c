/* session.c - see session.h. */
#include "api/session.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

static void hash_of(const char *text, unsigned char hash[SHA256_BYTES])
{
    struct sha256 h;

    sha256_begin(&h);
    sha256_add(&h, text, strlen(text));
    sha256_end(&h, hash);
}

static void in_hex(const unsigned char *bytes, size_t n, char *text)
{
    for (size_t i = 0; i < n; i++)
        (void)snprintf(text + 2 * i, 3, "%02x", bytes[i]);
}

static bool new_secret(char text[SESSION_TEXT])
{
    unsigned char bytes[SESSION_TEXT / 2];

    if (getrandom(bytes, sizeof(bytes), 0) != (ssize_t)sizeof(bytes))
        return false;
    in_hex(bytes, sizeof(bytes), text);
    return true;
}

static void drop(struct sessions *s, size_t i)
{
    s->n--;
    memmove(s->v + i, s->v + i + 1, (s->n - i) * sizeof(*s->v));
}

static bool add(struct sessions *s, ns_t expires, bool once, char text[SESSION_TEXT])
{
    if (!new_secret(text))
        return false;
    if (s->n == LIMIT_SESSIONS)
        drop(s, 0);
    struct session *one = &s->v[s->n++];
    *one = (struct session){.expires = expires, .once = once};
    hash_of(text, one->hash);
    return true;
}

bool sessions_new_key(struct sessions *s, ns_t now, char key[SESSION_TEXT])
{
    return add(s, now + LIMIT_KEY_S * NS_PER_S, true, key);
}

/* Looks at all of them, so that the time says nothing. -1: none. */
static int find(const struct sessions *s, const char *text, bool once, ns_t now)
{
    unsigned char hash[SHA256_BYTES];
    int found = -1;

    hash_of(text, hash);
    for (size_t i = 0; i < s->n; i++)
        if (same_bytes(s->v[i].hash, hash, sizeof(hash)) && s->v[i].once == once &&
            s->v[i].expires > now)
            found = (int)i;
    return found;
}

bool sessions_redeem(struct sessions *s, const char *key, ns_t now, char token[SESSION_TEXT],
                     ns_t *ret_expires)
{
    int i = find(s, key, true, now);

    if (i < 0)
        return false;
    drop(s, (size_t)i);
    *ret_expires = now + LIMIT_SESSION_S * NS_PER_S;
    return add(s, *ret_expires, false, token);
}

bool sessions_check(const struct sessions *s, const char *token, ns_t now)
{
    return find(s, token, false, now) >= 0;
}

bool sessions_prove(const struct sessions *s, const char *id, const char *text, ns_t now,
                    char proof[2 * SHA256_BYTES + 1])
{
    unsigned char hash[SHA256_BYTES];
    char its_id[SESSION_ID];
    struct sha256 h;

    for (size_t i = 0; i < s->n; i++) {
        if (s->v[i].once || s->v[i].expires <= now)
            continue;
        sha256_begin(&h);
        sha256_add(&h, s->v[i].hash, SHA256_BYTES);
        sha256_end(&h, hash);
        in_hex(hash, SESSION_ID / 2, its_id);
        if (strcmp(its_id, id) != 0)
            continue;
        hmac_sha256(s->v[i].hash, SHA256_BYTES, text, strlen(text), hash);
        in_hex(hash, SHA256_BYTES, proof);
        return true;
    }
    return false;
}

size_t sessions_expire(struct sessions *s, ns_t now)
{
    for (size_t i = s->n; i-- > 0;)
        if (s->v[i].expires <= now)
            drop(s, i);
    return s->n;
}

void sessions_write(const struct sessions *s, struct strbuf *out)
{
    for (size_t i = 0; i < s->n; i++) {
        if (s->v[i].once)
            continue;
        for (size_t k = 0; k < SHA256_BYTES; k++)
            strbuf_addf(out, "%02x", s->v[i].hash[k]);
        strbuf_addf(out, " %lld\n", (long long)(s->v[i].expires / NS_PER_S));
    }
}

int sessions_read(struct sessions *s, const char *text, ns_t now)
{
    s->n = 0;
    while (*text && s->n < LIMIT_SESSIONS) {
        struct session one = {0};
        const char *end = strchr(text, '\n');
        char *rest;

        for (size_t k = 0; k < SHA256_BYTES; k++, text += 2) {
            const char digits[] = {text[0], text[0] ? text[1] : '\0', '\0'};

            if (strspn(digits, "0123456789abcdef") < 2)
                return -EINVAL;
            one.hash[k] = (unsigned char)strtoul(digits, NULL, 16);
        }
        long long until = *text == ' ' ? strtoll(text + 1, &rest, 10) : -1;
        if (!end || until <= 0 || until > INT64_MAX / NS_PER_S || rest != end)
            return -EINVAL;
        one.expires = until * NS_PER_S;
        /* nobody may have made one that lasts longer than ours do */
        if (one.expires > now && one.expires <= now + LIMIT_SESSION_S * NS_PER_S)
            s->v[s->n++] = one;
        text = end + 1;
    }
    return 0;
}
