/* sha256.c - the examples of FIPS 180-4 and RFC 4231. */
#include "base/sha256.h"

#include <stdio.h>
#include <string.h>

#include "base/tap.h"

static const char *hex(const unsigned char *p)
{
    static char text[2 * SHA256_BYTES + 1];

    for (int i = 0; i < SHA256_BYTES; i++)
        snprintf(text + 2 * i, 3, "%02x", p[i]);
    return text;
}

static const char *hash(const char *data, size_t n, size_t piece)
{
    unsigned char out[SHA256_BYTES];
    struct sha256 h;

    sha256_begin(&h);
    for (size_t i = 0; i < n; i += piece)
        sha256_add(&h, data + i, n - i < piece ? n - i : piece);
    sha256_end(&h, out);
    return hex(out);
}

static const char *hmac(const char *key, size_t key_len, const char *data)
{
    unsigned char out[SHA256_BYTES];

    hmac_sha256(key, key_len, data, strlen(data), out);
    return hex(out);
}

int main(void)
{
    static const char two_blocks[] = "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq";
    char as[1000], keys[131];

    memset(as, 'a', sizeof(as));
    memset(keys, 0xaa, sizeof(keys));
    is_str(hash("", 0, 1), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
           "nothing");
    is_str(hash("abc", 3, 1), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad",
           "abc");
    for (size_t piece = 1; piece <= 64; piece += 9)
        is_str(hash(two_blocks, 56, piece),
               "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1",
               "two blocks, %zu bytes at a time", piece);
    is_str(hash(as, 1000, 300), "41edece42d63e8d9bf515a9ba6932e1c20cbc9f5a5d134645adb5db1b9737ea3",
           "a thousand bytes");
    is_str(hmac("Jefe", 4, "what do ya want for nothing?"),
           "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843", "HMAC");
    is_str(hmac(keys, 131, "Test Using Larger Than Block-Size Key - Hash Key First"),
           "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54", "HMAC, long key");
    ok(same_bytes("abc", "abc", 3), "same");
    ok(!same_bytes("abc", "abd", 3) && !same_bytes("bbc", "abc", 3), "not the same");
    return tap_done();
}
