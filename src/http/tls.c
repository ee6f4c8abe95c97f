/* tls.c - see tls.h. */
#include "http/tls.h"

#include <errno.h>
#include <stdlib.h>

#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

#include "base/mem.h"

struct tls_config {
    SSL_CTX *ctx;
};

struct tls_session {
    SSL *ssl;
    BIO *in, *out; /* of the network; the session's */
};

/* --- a certificate ---------------------------------------------------------------------------- */

static bool use_pair(SSL_CTX *ctx, const char *cert_text, const char *key_text)
{
    BIO *cert_bio = BIO_new_mem_buf(cert_text, -1), *key_bio = BIO_new_mem_buf(key_text, -1);
    X509 *cert = cert_bio ? PEM_read_bio_X509(cert_bio, NULL, NULL, NULL) : NULL;
    EVP_PKEY *key = key_bio ? PEM_read_bio_PrivateKey(key_bio, NULL, NULL, NULL) : NULL;
    bool done = cert && key && SSL_CTX_use_certificate(ctx, cert) == 1 &&
                SSL_CTX_use_PrivateKey(ctx, key) == 1 && SSL_CTX_check_private_key(ctx) == 1;

    /* the others of the file lead to one that the client knows */
    for (X509 *more; done && (more = PEM_read_bio_X509(cert_bio, NULL, NULL, NULL));) {
        done = SSL_CTX_add1_chain_cert(ctx, more) == 1;
        X509_free(more);
    }
    if (done)
        ERR_clear_error();
    X509_free(cert);
    EVP_PKEY_free(key);
    BIO_free(cert_bio);
    BIO_free(key_bio);
    return done;
}

int tls_config_new(const char *cert, const char *key, struct tls_config **ret, struct err *e)
{
    SSL_CTX *ctx = SSL_CTX_new(TLS_server_method());
    char text[256];

    if (!ctx || SSL_CTX_set_min_proto_version(ctx, TLS1_2_VERSION) != 1 ||
        !use_pair(ctx, cert, key)) {
        ERR_error_string_n(ERR_get_error(), text, sizeof(text));
        SSL_CTX_free(ctx);
        return err_set(e, -EINVAL, "cannot use the certificate: %s", text);
    }
    (void)SSL_CTX_set_options(ctx, SSL_OP_NO_RENEGOTIATION);
    (void)SSL_CTX_set_mode(ctx, SSL_MODE_RELEASE_BUFFERS);
    *ret = xcalloc(1, sizeof(**ret));
    (*ret)->ctx = ctx;
    return 0;
}

bool tls_config_is_for(const struct tls_config *c, const char *name)
{
    X509 *cert = c ? SSL_CTX_get0_certificate(c->ctx) : NULL;

    return cert &&
           (X509_check_host(cert, name, 0, 0, NULL) == 1 || X509_check_ip_asc(cert, name, 0) == 1);
}

void tls_config_free(struct tls_config *c)
{
    if (!c)
        return;
    SSL_CTX_free(c->ctx);
    free(c);
}

/* --- a connection ----------------------------------------------------------------------------- */

struct tls_session *tls_session_new(struct tls_config *c)
{
    struct tls_session *s = xcalloc(1, sizeof(*s));

    s->ssl = SSL_new(c->ctx);
    s->in = BIO_new(BIO_s_mem());
    s->out = BIO_new(BIO_s_mem());
    if (!s->ssl || !s->in || !s->out)
        abort(); /* out of memory */
    SSL_set_bio(s->ssl, s->in, s->out);
    SSL_set_accept_state(s->ssl);
    return s;
}

void tls_session_free(struct tls_session *s)
{
    if (!s)
        return;
    SSL_free(s->ssl);
    free(s);
}

static void drain(struct tls_session *s, struct strbuf *wire)
{
    char data[4096];
    int n;

    while ((n = BIO_read(s->out, data, sizeof(data))) > 0)
        strbuf_add(wire, data, (size_t)n);
}

bool tls_take(struct tls_session *s, const char *data, size_t n, struct strbuf *plain,
              struct strbuf *wire)
{
    char text[4096];
    int got, why;

    ERR_clear_error();
    if (n > 0 && BIO_write(s->in, data, (int)n) != (int)n)
        return false;
    while ((got = SSL_read(s->ssl, text, sizeof(text))) > 0)
        strbuf_add(plain, text, (size_t)got);
    why = SSL_get_error(s->ssl, got);
    drain(s, wire);
    ERR_clear_error();
    return why == SSL_ERROR_WANT_READ;
}

bool tls_give(struct tls_session *s, const char *data, size_t n, struct strbuf *wire)
{
    ERR_clear_error();
    for (size_t done = 0; done < n;) {
        size_t rest = n - done;
        int now = SSL_write(s->ssl, data + done, rest < 16384 ? (int)rest : 16384);

        if (now <= 0) {
            ERR_clear_error();
            return false;
        }
        done += (size_t)now;
        drain(s, wire);
    }
    return true;
}
