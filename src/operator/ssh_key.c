/* ssh_key.c - see ssh_key.h. */
#include "operator/ssh_key.h"

#include <errno.h>
#include <string.h>

#include <openssl/core_names.h>
#include <openssl/ec.h>
#include <openssl/encoder.h>
#include <openssl/err.h>
#include <openssl/evp.h>

#include "base/base64.h"

#define CURVE "nistp521"
#define KEY_TYPE "ecdsa-sha2-" CURVE

enum { POINT_MAX = 1 + 2 * 66 }; /* uncompressed: 04, x, y */

static int failed(struct err *e, const char *what)
{
    char text[256];

    ERR_error_string_n(ERR_get_error(), text, sizeof(text));
    return err_set(e, -EIO, "cannot make a key for ssh: %s: %s", what, text);
}

/* As SEC 1 has it, which is what "EC PRIVATE KEY" says. */
static int private_text(struct arena *a, const EVP_PKEY *key, const char **ret, struct err *e)
{
    unsigned char *data = NULL;
    size_t n = 0;
    OSSL_ENCODER_CTX *ctx =
        OSSL_ENCODER_CTX_new_for_pkey(key, EVP_PKEY_KEYPAIR, "PEM", "type-specific", NULL);
    int done = ctx && OSSL_ENCODER_to_data(ctx, &data, &n);

    OSSL_ENCODER_CTX_free(ctx);
    if (!done)
        return failed(e, "its private half");
    *ret = arena_strndup(a, (const char *)data, n);
    OPENSSL_clear_free(data, n);
    return 0;
}

/* --- a line of authorized_keys ---------------------------------------------------------------- */

/* A string of RFC 4251: its length as four bytes, then its bytes. */
static unsigned char *put_string(unsigned char *to, const void *data, size_t n)
{
    for (int shift = 24; shift >= 0; shift -= 8)
        *to++ = (unsigned char)(n >> shift);
    memcpy(to, data, n);
    return to + n;
}

static int public_text(struct arena *a, const EVP_PKEY *key, const char **ret, struct err *e)
{
    unsigned char point[POINT_MAX], blob[3 * 4 + sizeof(KEY_TYPE) + sizeof(CURVE) + POINT_MAX];
    unsigned char *end = blob;
    size_t n = 0;
    char text[BASE64_TEXT(sizeof(blob))];

    if (!EVP_PKEY_get_octet_string_param(key, OSSL_PKEY_PARAM_PUB_KEY, point, sizeof(point), &n))
        return failed(e, "its public half");
    end = put_string(end, KEY_TYPE, strlen(KEY_TYPE));
    end = put_string(end, CURVE, strlen(CURVE));
    end = put_string(end, point, n);
    base64_encode(blob, (size_t)(end - blob), text);
    *ret = arena_printf(a, KEY_TYPE " %s\n", text);
    return 0;
}

int ssh_key_make(struct arena *a, const char **ret_private, const char **ret_public, struct err *e)
{
    EVP_PKEY *key = EVP_EC_gen("P-521");
    const char *private_half = NULL, *public_half = NULL;
    int r;

    if (!key)
        return failed(e, "EC P-521");
    r = private_text(a, key, &private_half, e);
    if (r == 0)
        r = public_text(a, key, &public_half, e);
    EVP_PKEY_free(key);
    if (r < 0)
        return r;
    *ret_private = private_half;
    *ret_public = public_half;
    return 0;
}
