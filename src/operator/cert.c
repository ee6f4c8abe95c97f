/* cert.c - see cert.h. */
#include "operator/cert.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include <openssl/ec.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/x509v3.h>

#include "base/cleanup.h"

static void free_key(EVP_PKEY **key)
{
    EVP_PKEY_free(*key);
}

static void free_cert(X509 **cert)
{
    X509_free(*cert);
}

static void free_bio(BIO **bio)
{
    BIO_free(*bio);
}
#define auto_key CLEANUP(free_key)
#define auto_cert CLEANUP(free_cert)
#define auto_bio CLEANUP(free_bio)

static int failed(struct err *e, const char *what)
{
    char text[256];

    ERR_error_string_n(ERR_get_error(), text, sizeof(text));
    return err_set(e, -EIO, "cannot make the webhook's certificate: %s: %s", what, text);
}

/* --- making ----------------------------------------------------------------------------------- */

static bool add_extension(X509 *cert, int nid, const char *value)
{
    X509V3_CTX ctx;
    X509_EXTENSION *extension;
    bool done;

    X509V3_set_ctx_nodb(&ctx);
    X509V3_set_ctx(&ctx, cert, cert, NULL, NULL, 0);
    extension = X509V3_EXT_conf_nid(NULL, &ctx, nid, value);
    done = extension && X509_add_ext(cert, extension, -1);
    X509_EXTENSION_free(extension);
    return done;
}

/* A number that no other one of the same name has: the API server's TLS tells them apart by it. */
static bool put_serial(X509 *cert)
{
    unsigned char bytes[16];
    BIGNUM *number;
    bool done;

    if (RAND_bytes(bytes, sizeof(bytes)) != 1)
        return false;
    bytes[0] &= 0x7f;
    number = BN_bin2bn(bytes, sizeof(bytes), NULL);
    done = number && BN_to_ASN1_INTEGER(number, X509_get_serialNumber(cert));
    BN_free(number);
    return done;
}

static bool fill(X509 *cert, EVP_PKEY *key, const char *name, const char *dns)
{
    enum { V3 = 2, HOUR_S = 3600 }; /* clocks of two machines differ */
    X509_NAME *subject = X509_get_subject_name(cert);

    return X509_set_version(cert, V3) && put_serial(cert) &&
           X509_gmtime_adj(X509_getm_notBefore(cert), -HOUR_S) &&
           X509_time_adj_ex(X509_getm_notAfter(cert), CERT_DAYS, 0, NULL) &&
           X509_NAME_add_entry_by_txt(subject, "CN", MBSTRING_ASC, (const unsigned char *)name, -1,
                                      -1, 0) &&
           X509_set_issuer_name(cert, subject) && X509_set_pubkey(cert, key) &&
           add_extension(cert, NID_basic_constraints, "critical,CA:TRUE") &&
           add_extension(cert, NID_key_usage, "critical,digitalSignature,keyCertSign") &&
           add_extension(cert, NID_ext_key_usage, "serverAuth") &&
           add_extension(cert, NID_subject_alt_name, dns) && X509_sign(cert, key, EVP_sha256());
}

static const char *text_of(struct arena *a, BIO *bio)
{
    char *data;
    long n = BIO_get_mem_data(bio, &data);

    return n > 0 ? arena_strndup(a, data, (size_t)n) : NULL;
}

int cert_make(struct arena *a, const char *name, const char **ret_cert, const char **ret_key,
              struct err *e)
{
    auto_key EVP_PKEY *key = EVP_EC_gen("P-256");
    auto_cert X509 *cert = X509_new();
    auto_bio BIO *cert_text = BIO_new(BIO_s_mem()), *key_text = BIO_new(BIO_s_mem());
    /* the common name has at most 64 characters */
    const char *common = strlen(name) <= 64 ? name : "muster-operator";

    if (!key || !cert || !cert_text || !key_text)
        return failed(e, "its key");
    if (!fill(cert, key, common, arena_printf(a, "DNS:%s", name)))
        return failed(e, "its fields");
    if (!PEM_write_bio_X509(cert_text, cert) ||
        !PEM_write_bio_PKCS8PrivateKey(key_text, key, NULL, NULL, 0, NULL, NULL))
        return failed(e, "its text");
    *ret_cert = text_of(a, cert_text);
    *ret_key = text_of(a, key_text);
    return 0;
}

/* --- checking --------------------------------------------------------------------------------- */

int cert_check(const char *cert_text, const char *key_text, const char *name, int64_t *ret_days,
               struct err *e)
{
    auto_bio BIO *cert_bio = BIO_new_mem_buf(cert_text, -1);
    auto_bio BIO *key_bio = BIO_new_mem_buf(key_text, -1);
    auto_cert X509 *cert = cert_bio ? PEM_read_bio_X509(cert_bio, NULL, NULL, NULL) : NULL;
    auto_key EVP_PKEY *key = key_bio ? PEM_read_bio_PrivateKey(key_bio, NULL, NULL, NULL) : NULL;
    int days, seconds;

    ERR_clear_error();
    if (!cert || !key)
        return err_set(e, -EINVAL, "it is not a certificate and its key");
    if (X509_check_private_key(cert, key) != 1)
        return err_set(e, -EINVAL, "the key belongs to another certificate");
    if (X509_check_host(cert, name, strlen(name), 0, NULL) != 1)
        return err_set(e, -EINVAL, "the certificate is not for %s", name);
    if (!ASN1_TIME_diff(&days, &seconds, NULL, X509_get0_notAfter(cert)))
        return err_set(e, -EINVAL, "the certificate has no end");
    if (days < 0 || seconds < 0)
        return err_set(e, -EINVAL, "the certificate has expired");
    *ret_days = days;
    return 0;
}
