/* sha256.h - SHA-256 and HMAC-SHA-256 (FIPS 180-4, RFC 2104), for a shim that links libc only. */
#ifndef BASE_SHA256_H
#define BASE_SHA256_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SHA256_BYTES 32

struct sha256 {
    uint32_t state[8];
    uint64_t bytes;
    unsigned char block[64];
};

void sha256_begin(struct sha256 *h);
void sha256_add(struct sha256 *h, const void *data, size_t n);
void sha256_end(struct sha256 *h, unsigned char out[SHA256_BYTES]);

void hmac_sha256(const void *key, size_t key_len, const void *data, size_t n,
                 unsigned char out[SHA256_BYTES]);

/* Compares in a time that does not depend on the content. */
bool same_bytes(const void *a, const void *b, size_t n);

#endif
