/* greet.c - see greet.h. */
#include "shim/greet.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/sha256.h"

struct proof {
    unsigned char bytes[SHA256_BYTES];
};

static struct proof prove(const unsigned char *key, const char *who, const unsigned char *first,
                          const unsigned char *second)
{
    unsigned char text[16 + 2 * GREET_NUMBER] = {0};
    struct proof p;

    (void)snprintf((char *)text, 16, "%s", who);
    memcpy(text + 16, first, GREET_NUMBER);
    memcpy(text + 16 + GREET_NUMBER, second, GREET_NUMBER);
    hmac_sha256(key, PEER_KEY_BYTES, text, sizeof(text), p.bytes);
    return p;
}

static bool transmit(int sock, const void *data, size_t n)
{
    return send(sock, data, n, MSG_NOSIGNAL) == (ssize_t)n; /* few bytes: there is room for them */
}

static bool receive(int sock, void *data, size_t n)
{
    return recv(sock, data, n, MSG_WAITALL) == (ssize_t)n;
}

bool greet_number(unsigned char ret[GREET_NUMBER])
{
    return getrandom(ret, GREET_NUMBER, 0) == GREET_NUMBER;
}

bool greet_check(const unsigned char key[PEER_KEY_BYTES], const unsigned char number[GREET_NUMBER],
                 const unsigned char answer[GREET_ANSWER_BYTES], unsigned char ret[GREET_PROOF])
{
    struct proof p = prove(key, "client", number, answer);

    if (!same_bytes(p.bytes, answer + GREET_NUMBER, GREET_PROOF))
        return false;
    p = prove(key, "server", answer, number);
    memcpy(ret, p.bytes, GREET_PROOF);
    return true;
}

bool greet_answer(int sock, const unsigned char key[PEER_KEY_BYTES])
{
    unsigned char number[GREET_NUMBER], answer[GREET_ANSWER_BYTES], proof[GREET_PROOF];

    return greet_number(number) && transmit(sock, number, sizeof(number)) &&
           receive(sock, answer, sizeof(answer)) && greet_check(key, number, answer, proof) &&
           transmit(sock, proof, sizeof(proof));
}

bool greet_ask(int sock, const unsigned char key[PEER_KEY_BYTES])
{
    unsigned char mine[GREET_NUMBER], theirs[GREET_NUMBER];
    struct proof sent, got, expected;

    if (!greet_number(mine) || !receive(sock, theirs, sizeof(theirs)))
        return false;
    sent = prove(key, "client", theirs, mine);
    expected = prove(key, "server", mine, theirs);
    return transmit(sock, mine, sizeof(mine)) && transmit(sock, sent.bytes, sizeof(sent.bytes)) &&
           receive(sock, got.bytes, sizeof(got.bytes)) &&
           same_bytes(expected.bytes, got.bytes, sizeof(got.bytes));
}

bool greet_key(const char *file, unsigned char key[PEER_KEY_BYTES])
{
    auto_close int fd = open(file, O_RDONLY | O_CLOEXEC); /* Secrets are mounted as links */

    return fd >= 0 && read(fd, key, PEER_KEY_BYTES) == PEER_KEY_BYTES;
}
